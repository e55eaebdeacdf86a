"""Conditions taken apart: the parts that must all hold, equalities between two tables, and what all branches of an OR share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from deniable.query.sql.source import FromClause, Name


def conjuncts(condition: Any) -> list[exp.Expression]:
    """Every part of a condition that must hold, and what all branches of an OR have in common."""
    if condition is None:
        return []
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return [part for side in (condition.this, condition.expression) for part in conjuncts(side)]
    return [condition, *_shared(condition)]


def _shared(condition: exp.Expression) -> list[exp.Expression]:
    """Equalities that stand in every branch of an OR: they follow from it, and may join tables."""
    if not isinstance(condition, exp.Or):
        return []
    branches = [conjuncts(branch) for branch in condition.flatten()]
    others = [{part.sql() for part in branch} for branch in branches[1:]]
    return [
        part
        for part in branches[0]
        if isinstance(part, exp.EQ) and is_column_pair(part) and all(part.sql() in other for other in others)
    ]


def is_column_pair(part: exp.Expression) -> bool:
    """Whether a condition is an equality of two columns."""
    return isinstance(part, exp.EQ) and all(isinstance(side, exp.Column) for side in (part.this, part.expression))


def pairs_between(
    left: FromClause, right: FromClause, parts: Iterable[exp.Expression]
) -> list[tuple[exp.Expression, tuple[Name, Name]]]:
    """The equalities among `parts` that match a column of `left` with one of `right`."""
    found = []
    for part in parts:
        if not is_column_pair(part):
            continue
        for one, other in ((part.this, part.expression), (part.expression, part.this)):
            here, there = left.found(one), right.found(other)
            crossed = left.found(other) or right.found(one)
            if len(here) == 1 and len(there) == 1 and not crossed:
                found.append((part, (here[0], there[0])))
                break
    return found


def reads_only(part: exp.Expression, source: FromClause) -> bool:
    """Whether every column of a condition is known to `source`; a condition with a sub-query is not."""
    if part.find(exp.Select) is not None:
        return False
    return all(source.found(column) for column in part.find_all(exp.Column))
