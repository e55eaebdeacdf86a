"""One form for plans that say the same: what the release store and the ledger compare and record.

Two writings of a query that meet in this form share one stored answer; two that do not are charged twice, which is
always safe. The form never changes what a plan means, missing values included.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar

from deniable.plan.codebook import Codebook
from deniable.plan.expression import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    Literal,
    Not,
    Operator,
    Or,
)
from deniable.plan.nodes import Filter, GroupAgg, Join, Project, Relation, Scan, Union, UnitAgg, ValueTable
from deniable.plan.relation import entering

Node = TypeVar("Node")

_STORED_NAMES = {"RowCount": "Rows"}
"""Names of nodes in stored forms, where the class was named anew since; a stored form never changes."""

_TURNED = {Comparison.MORE: Comparison.LESS, Comparison.AT_LEAST: Comparison.AT_MOST}
_OPPOSITE = {
    Comparison.EQUAL: Comparison.NOT_EQUAL,
    Comparison.NOT_EQUAL: Comparison.EQUAL,
    Comparison.LESS: Comparison.AT_LEAST,
    Comparison.AT_LEAST: Comparison.LESS,
    Comparison.MORE: Comparison.AT_MOST,
    Comparison.AT_MOST: Comparison.MORE,
}


def record(node: object) -> Any:
    """A plan or expression as plain JSON values; the codebook inside a Scan is left to its own record."""
    if isinstance(node, Codebook):
        return None
    if isinstance(node, Enum):
        return node.value
    if isinstance(node, bool | str) or node is None:
        return node
    if isinstance(node, int):
        return {"integer": str(node)}
    if isinstance(node, Fraction):
        return {"number": str(node)}
    if isinstance(node, datetime):
        return {"timestamp": node.isoformat(" ")}
    if isinstance(node, date):
        return {"date": node.isoformat()}
    if isinstance(node, tuple):
        return [record(part) for part in node]
    if isinstance(node, ValueTable):
        return _value_table(node)
    assert is_dataclass(node), f"a plan holds no {type(node).__name__}"
    entries = {field.name: record(getattr(node, field.name)) for field in fields(node)}
    if isinstance(node, Join) and any(limited := entering(node)):
        entries["rows of a unit"] = record(limited)
    return {"node": node_name(node)} | {name: value for name, value in entries.items() if value is not None}


def node_name(node: object) -> str:
    """The name of a node in stored forms and explanations."""
    kind = type(node).__name__
    return _STORED_NAMES.get(kind, kind)


def _value_table(table: ValueTable) -> Any:
    """A table of values by what it holds; what an earlier stage will release is known by the stage's own record."""
    held = "" if table.rows is None else hashlib.sha256(repr(table.rows).encode()).hexdigest()
    return {"node": "ValueTable", "name": table.name, "columns": record(table.columns), "rows": held}


def text(node: object) -> str:
    """The record as one line of text, always the same for the same node."""
    return json.dumps(record(node), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def identity(plan: GroupAgg) -> str:
    """The text that all writings of one plan share; public, so it may be hashed, stored and compared.

    It says how equal rows are told apart where some are kept: answers of versions that kept them together are other answers.
    """
    kept = plan.bounding.rows_per_group is not None or plan.bounding.rows_per_unit is not None
    return text(canonical(plan)) + (" equal rows are numbered" if kept else "")


def canonical(plan: GroupAgg) -> GroupAgg:
    """The plan in its one form."""
    return replace(_expressions(plan), source=canonical_relation(plan.source))


def canonical_relation(relation: Relation) -> Relation:
    """A relation in its one form: filters merged, unions in order, expressions normal."""
    match relation:
        case Scan() | ValueTable():
            return relation
        case Filter(source, condition):
            below = canonical_relation(source)
            if isinstance(below, Filter):
                return Filter(below.source, normal(And((below.condition, condition))))
            return Filter(below, normal(condition))
        case Project(source) | UnitAgg(source):
            return replace(_expressions(relation), source=canonical_relation(source))
        case Join(left, right, on, _, condition):
            return replace(
                relation,
                left=canonical_relation(left),
                right=canonical_relation(right),
                on=tuple(sorted(set(on))),
                condition=None if condition is None else normal(condition),
            )
        case Union(sources):
            return Union(tuple(sorted((canonical_relation(source) for source in sources), key=text)))


def _expressions(node: Node) -> Node:
    """A node with every expression directly in its fields made normal."""
    changed: Node = _mapped(node, normal)
    return changed


def _mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    changed = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name != "source":
            changed[field.name] = _deep(value, change)
    return replace(node, **changed)


def _deep(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Expression):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_deep(part, change) for part in value)
    if is_dataclass(value) and not isinstance(value, type | Codebook | Relation):
        return _mapped(value, change)
    return value


def with_parts(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same expression with every part directly inside it changed."""
    changed: Expression = _mapped(expression, change)
    return changed


def rename_columns(expression: Expression, name_of: Callable[[str], str]) -> Expression:
    """The same expression over columns of other names."""
    if isinstance(expression, Column):
        return Column(name_of(expression.name))
    return with_parts(expression, lambda part: rename_columns(part, name_of))


def normal(expression: Expression) -> Expression:
    """An expression in its one form, with the same value on every row."""
    inner: Expression = _mapped(expression, normal) if fields(expression) else expression
    match inner:
        case And(parts):
            return _joined(And, parts)
        case Or(parts):
            return _joined(Or, parts)
        case Not(Not(value)):
            return value
        case Not(And(parts)):
            return normal(Or(tuple(Not(part) for part in parts)))
        case Not(Or(parts)):
            return normal(And(tuple(Not(part) for part in parts)))
        case Not(Compare(comparison, left, right)):
            return normal(Compare(_OPPOSITE[comparison], left, right))
        case Compare(comparison, left, right) if comparison in _TURNED:
            return Compare(_TURNED[comparison], right, left)
        case Compare((Comparison.EQUAL | Comparison.NOT_EQUAL) as comparison, left, right):
            return Compare(comparison, *sorted((left, right), key=text))
        case Arithmetic(operator, Literal(Fraction() as left), Literal(Fraction() as right)):
            return Literal(_folded(operator, left, right))
        case Arithmetic((Operator.ADD | Operator.MULTIPLY) as operator, left, right):
            return Arithmetic(operator, *sorted((left, right), key=text))
        case In(value, (only,)):
            return Compare(Comparison.EQUAL, *sorted((value, only), key=text))
        case In(value, among):
            return In(value, tuple(sorted(set(among), key=text)))
        case Case(((Literal(True), result), *_), _):
            return result
        case _:
            return inner


def _joined(kind: type[And] | type[Or], parts: tuple[Expression, ...]) -> Expression:
    flat: dict[str, Expression] = {}
    for part in parts:
        for inner in part.parts if isinstance(part, kind) else (part,):
            flat[text(inner)] = inner
    if len(flat) == 1:
        return next(iter(flat.values()))
    return kind(tuple(flat[key] for key in sorted(flat)))


def _folded(operator: Operator, left: Fraction, right: Fraction) -> Fraction:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
