"""Expressions from text: `parse("duration > 0")`. Whatever is not in the language is refused with its place."""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot

from deniable.errors import QueryRefused
from deniable.exact.guards import shown
from deniable.plan.analysis import facts
from deniable.plan.expression import Column, Expression, depth
from deniable.plan.facts import Facts
from deniable.plan.translate import Translator
from deniable.plan.wording import unread, unspaced

LONGEST_TEXT = 20_000
"""Longer expressions are refused before they are parsed."""

DEEPEST = 60
"""Expressions nested deeper are refused: every engine can take this much."""


def parse(text: str, *, schema: Mapping[str, Facts] | None = None, dialect: str = "duckdb") -> Expression:
    """The expression written in `text`; with a `schema`, names and types are checked too."""
    if not isinstance(text, str) or not text.strip():
        raise QueryRefused("empty", f'an expression is text such as "year > 2007", got {_named(text)}')
    if schema is not None and text in schema:
        return Column(text)
    if len(text) > LONGEST_TEXT:
        raise QueryRefused("too-long", f"an expression may have {LONGEST_TEXT} characters, got {len(text)}")
    try:
        trees = sqlglot.parse(text, dialect=dialect)
        if len(trees) != 1 or trees[0] is None:
            raise QueryRefused("several-statements", "expected one expression")
        if schema is not None and isinstance(trees[0], sqlglot.exp.Alias):
            raise unspaced(text, schema)
        translated = Translator(text=text, schema=schema).expression(trees[0])
        if depth(translated) > DEEPEST:
            raise RecursionError
        if schema is not None:
            facts(translated, schema)
    except sqlglot.errors.SqlglotError as error:
        raise unread(error, text, "an expression", names=schema or ()) from None
    except RecursionError:
        raise QueryRefused(
            "too-deep", "the expression is nested too deeply", rewrite="derive parts of it first"
        ) from None
    return translated


def _named(value: object) -> str:
    return "a function" if callable(value) else shown(value)
