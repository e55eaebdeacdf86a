"""Joint vectors as SQL: features of each bounded row, what a unit's rows add, the cut to a length, the sum over units.

Guarantee: whole numbers only, but for one square root, which is a first guess and is mended in whole numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sqlglot import exp

from deniable.engines.engine import Integers
from deniable.engines.order import OrderKey
from deniable.engines.results import Fetched
from deniable.engines.sql.expressions import Expressions
from deniable.engines.sql.groups import Groups
from deniable.engines.sql.relations import Relations, named, over
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.engines.unit_rows import checked_vector
from deniable.plan.nodes import UnitVector
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import Tree, add, bigint, binary, call, case, cast, column, multiply, number

_MENDS: tuple[tuple[type[exp.Expression], int], ...] = ((exp.GT, -1), (exp.LT, 1), (exp.LT, 1))
"""A guessed root whose square is too large is one less, one whose square is too small one more, twice."""


def vector_statement(plan: UnitVector, relations: Relations, profile: Profile, key: OrderKey) -> SqlStatement:
    """One row with a cell for every entry."""
    _, columns = checked_vector(plan)
    groups = Groups(plan.rows.bounded, relations, profile, key)
    rows, units, held = groups.bounded_rows()
    codes = over([*map(column, units), *(named(column(held[of]), name) for name, of in plan.rows.columns)], rows)
    write = Expressions(columns, profile)
    features = [
        named(bigint(write.on(feature, Fraction(1))), f"feature_{i}") for i, feature in enumerate(plan.features)
    ]
    parts = _parts(plan, over([*map(column, units), *features], codes), units, profile)
    lengths = _lengths(parts, len(plan.entries))
    names = tuple(f"cell_{place}" for place in range(len(plan.entries)))
    cells = [named(groups.whole_sum(_cut(f"part_{i}", plan.norm, profile)), name) for i, name in enumerate(names)]
    return SqlStatement(over(cells, lengths), names)


def fetched_vector(table: Fetched, statement: SqlStatement) -> Integers:
    """The cells of the one row."""
    return np.array([int(np.ma.getdata(table[name])[0]) for name in statement.cells], dtype=np.int64)


def _parts(plan: UnitVector, features: exp.Select, units: tuple[str, ...], profile: Profile) -> exp.Select:
    """What each unit adds to every entry."""
    products = []
    for entry in plan.entries:
        first, *others = (column(f"feature_{place}") for place in entry)
        products.append(multiply(first, others[0]) if others else first)
    sums = [profile.wide_sum(product) for product in products] if units else products
    cells = [exp.Coalesce(this=total, expressions=[number(0)]) for total in sums]
    parts = over([named(bigint(cell), f"part_{place}") for place, cell in enumerate(cells)], features)
    return parts.group_by(*map(column, units), copy=False) if units else parts


def _lengths(parts: exp.Select, count: int) -> exp.Select:
    """The parts with their squared length and the least whole number that is at least its root."""
    names = [f"part_{place}" for place in range(count)]
    found = over([*map(column, names), named(_square(names), "square")], parts)
    guess = bigint(call("FLOOR", call("SQRT", cast(column("square"), "DOUBLE"))))
    names.append("square")
    found = over([*map(column, names), named(guess, "root")], found)
    for wrong, by in _MENDS:
        off = binary(wrong, multiply(column("root"), column("root")), column("square"))
        mended = case([(off, add(column("root"), number(by)))], column("root"))
        found = over([*map(column, names), named(mended, "root")], found)
    return found


def _square(names: list[str]) -> Tree:
    """The sum of squares, halves first, so that no engine meets a deep expression."""
    if len(names) == 1:
        return multiply(column(names[0]), column(names[0]))
    half = len(names) // 2
    return add(_square(names[:half]), _square(names[half:]))


def _cut(part: str, norm: int, profile: Profile) -> Tree:
    """A part as it is, or shortened towards zero where the unit's length is above `norm`."""
    length = case([(binary(exp.GT, column("root"), number(norm)), column("root"))], number(norm))
    shorter = profile.quotient(multiply(exp.Abs(this=column(part)), number(norm)), length)
    signed = case(
        [(binary(exp.LT, column(part), number(0)), multiply(number(-1), bigint(shorter)))], bigint(shorter.copy())
    )
    return case([(binary(exp.LTE, column("square"), number(norm * norm)), column(part))], signed)
