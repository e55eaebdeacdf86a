"""Which columns cannot be missing, because a filter let only rows through on which they are there.

A comparison with a missing value is unknown, and a filter keeps only rows on which its condition is true. Knowing this lets a
mean share the count of all rows instead of paying for a count of its own, and NOT IN be answered.
"""

from __future__ import annotations

from deniable.plan.analysis import facts
from deniable.plan.expression import And, Arithmetic, Column, Compare, Expression, In, IsNull, Like, Literal, Not
from deniable.plan.functions.numeric import Clamp
from deniable.plan.nodes import Filter, Relation
from deniable.plan.relation import schema


def may_be_missing(source: Relation, of: Expression) -> bool:
    """Whether some row may lack a value of `of`: its facts allow it, and no filter rules it out."""
    return facts(of, schema(source)).nullable and not strict_columns(of) <= present_columns(source)


_UNKNOWN = frozenset(("",))
"""Stands for "not only plain columns": no column has this name, so it is never among those known to be present."""


def present_columns(source: Relation) -> frozenset[str]:
    """The columns that are present in every row of a filtered relation."""
    names: frozenset[str] = frozenset()
    while isinstance(source, Filter):
        names |= _implied(source.condition)
        source = source.source
    return names


def strict_columns(expression: Expression) -> frozenset[str]:
    """Columns that suffice for the expression to be present: it is missing only when one of them is."""
    match expression:
        case Column(name):
            return frozenset((name,))
        case Arithmetic(_, left, right):
            return _operand(left) | _operand(right)
        case Clamp(value):
            return strict_columns(value)
        case _:
            return _UNKNOWN


def _operand(expression: Expression) -> frozenset[str]:
    return frozenset() if isinstance(expression, Literal) else strict_columns(expression)


def _implied(condition: Expression) -> frozenset[str]:
    match condition:
        case And(parts):
            return frozenset().union(*(_implied(part) for part in parts))
        case Compare(_, left, right):
            return _mentioned(left) | _mentioned(right)
        case In(value) | Like(value) | Not(IsNull(value)):
            return _mentioned(value)
        case _:
            return frozenset()


def _mentioned(expression: Expression) -> frozenset[str]:
    """Columns that must be present for the expression to be."""
    match expression:
        case Column(name):
            return frozenset((name,))
        case Arithmetic(_, left, right):
            return _mentioned(left) | _mentioned(right)
        case Clamp(value):
            return _mentioned(value)
        case _:
            return frozenset()
