"""Joins: conditions taken apart, the columns that ON, USING and WHERE match, and an order in which all tables meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.nodes import JoinKind
from deniable.query.sql.env import Env
from deniable.query.sql.source import FromClause, Name, joined, refused


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
    for part in filter(is_column_pair, parts):
        match [(left.found(side), right.found(side)) for side in (part.this, part.expression)]:
            case [([here], []), ([], [there])] | [([], [there]), ([here], [])]:
                found.append((part, (here, there)))
    return found


def reads_only(part: exp.Expression, source: FromClause) -> bool:
    """Whether every column of a condition is known to `source`; a condition with a sub-query is not."""
    if part.find(exp.Select) is not None:
        return False
    return all(source.found(column) for column in part.find_all(exp.Column))


_JOIN_CLAUSES = {"this", "on", "using", "side", "kind"}


def check_join(join: exp.Expression, env: Env) -> None:
    for name, value in join.args.items():
        if value and name not in _JOIN_CLAUSES:
            said = str(value).upper() if name == "method" else name.upper()
            raise refused(join, env.text, "join-kind", f"{said} JOIN is not answered", "write JOIN ... ON a = b")


def connected(pool: list[FromClause], conditions: list[exp.Expression]) -> FromClause:
    """Inner joins in an order in which each table meets one it is matched with; what is left over is a cross join."""
    current, waiting = pool[0], pool[1:]
    while waiting:
        refusal: QueryRefused | None = None
        equal = [part for part in conditions if is_column_pair(part)]
        matched = [(other, pairs_between(current, other, equal)) for other in waiting]
        for other, found in sorted(matched, key=lambda entry: not entry[1]):
            try:
                together = joined(current, other, [pair for _, pair in found], JoinKind.INNER)
            except QueryRefused as error:
                refusal = refusal or error
                continue
            used = {id(part) for part, _ in found}
            conditions[:] = [part for part in conditions if id(part) not in used]
            current, waiting = together, [each for each in waiting if each is not other]
            break
        else:
            assert refusal is not None
            raise refusal
    return current


def using_pairs(
    left: FromClause, right: FromClause, join: exp.Expression, env: Env
) -> tuple[list[tuple[Name, Name]], list[str]]:
    hidden = [name.name for name in join.args["using"]]
    pairs = []
    for name in hidden:
        node = exp.column(name)
        here, there = left.found(node), right.found(node)
        if len(here) != 1 or len(there) != 1:
            raise refused(join, env.text, "unknown-column", f"USING ({name}) needs one such column on each side")
        pairs.append((here[0], there[0]))
    return pairs, hidden
