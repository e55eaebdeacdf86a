"""Fitted models in SQL: `prediction('request')` is what the model stored under that request predicts for a row.

With a second argument, `prediction('request', 'yes')`, it is the chance of that class; the last class if none is named. The columns
the model needs must be in sight where it is called.

Guarantee: the model was released before; the call becomes a row map of the plan, so the query costs what it costs without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from deniable.errors import DeniableError, QueryRefused
from deniable.plan.expression import Expression
from deniable.plan.translate import PREDICTION
from deniable.query.sql.source import refused
from deniable.query.sql.sql_parser import Statement

Models = Callable[[str], Any]
"""The fitted model that was stored under a request."""


def bind_predictions(statement: Statement, models: Models) -> None:
    """Mark every call of a model in the statement's tree with the expression it stands for; refuse what is no model."""
    for node in statement.tree.find_all(exp.Anonymous) if PREDICTION in statement.text.lower() else ():
        if str(node.this).lower() == PREDICTION:
            node.meta[PREDICTION] = _expression(node, statement.text, models)


def _expression(node: exp.Anonymous, text: str, models: Models) -> Expression:
    said = [_constant(argument) for argument in node.expressions]
    if not 1 <= len(said) <= 2 or not isinstance(said[0], str) or None in said:
        raise refused(
            node, text, "bad-constant", "prediction takes the request of a stored model and, of a classifier, a class",
            "write prediction('my-model') or prediction('my-model', 'yes')",
        )  # fmt: skip
    try:
        model = models(said[0])
        if not hasattr(model, "expression"):
            raise refused(node, text, "no-model", f"what is stored under {said[0]!r} is no model that predicts rows")
        found: Expression = model.expression(of=said[1] if len(said) == 2 else None)
    except QueryRefused:
        raise
    except DeniableError as error:
        raise refused(node, text, "no-model", str(error).splitlines()[0]) from None
    return found


def _constant(node: exp.Expression) -> str | bool | None:
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    return bool(node.this) if isinstance(node, exp.Boolean) else None
