"""Joins as FROM writes them: which clauses are answered, which columns USING matches, and an order in which tables meet."""

from __future__ import annotations

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.nodes import JoinKind
from deniable.query.sql.conjuncts import pairs_between
from deniable.query.sql.env import Env
from deniable.query.sql.source import FromClause, Name, joined, refused

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
        matched = [(other, pairs_between(current, other, conditions)) for other in waiting]
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
