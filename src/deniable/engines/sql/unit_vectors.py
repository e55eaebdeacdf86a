"""Joint vectors as SQL: features of each bounded row, what a unit's rows add, the cut to a length, the sum over units.
Tables of counts as SQL: cells of each bounded row, counted for all levels in one pass.

Guarantee: whole numbers only, but for one square root, which is a first guess and is mended in whole numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sqlglot import exp

from deniable.engines.engine import Integers, SparseTable
from deniable.engines.order import OrderKey
from deniable.engines.results import Fetched
from deniable.engines.sql.expressions import Expressions
from deniable.engines.sql.groups import Groups
from deniable.engines.sql.relations import Relations
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.engines.unit_rows import checked_tables, checked_vector
from deniable.plan.nodes import UnitVector
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import (
    Tree,
    add,
    bigint,
    binary,
    call,
    case,
    cast,
    clamped,
    column,
    multiply,
    named,
    number,
    over,
    subtract,
)
from deniable.plan.unit_tables import UnitTables

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


def tables_statement(plan: UnitTables, relations: Relations, profile: Profile, key: OrderKey) -> SqlStatement:
    """One row for every occupied cell of every level; columns that are not of its level are missing in it."""
    checked_tables(plan)
    rows, _, held = Groups(plan.rows.bounded, relations, profile, key).bounded_rows()
    names = [f"cell_{place}" for place in range(len(plan.cuts))]
    cells = [
        named(_cell(column(held[of]), cuts), name)
        for name, (_, of), cuts in zip(names, plan.rows.columns, plan.cuts, strict=True)
    ]
    used = {place for level in plan.levels for place in level}
    shown = [column(name) if place in used else named(bigint(exp.Null()), name) for place, name in enumerate(names)]
    found = over([*shown, named(bigint(exp.Count(this=exp.Star())), "held")], over(cells, rows))
    levels: list[Tree] = [exp.Tuple(expressions=[column(names[place]) for place in level]) for level in plan.levels]
    found.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=levels)]))
    return SqlStatement(found, (*names, "held"))


def fetched_tables(plan: UnitTables, table: Fetched, statement: SqlStatement) -> list[SparseTable]:
    """The rows of the statement, parted by their levels: a column is missing where it is not of the level."""
    columns = [np.ma.asarray(table[name]) for name in statement.cells]
    held = np.ma.getdata(columns.pop()).astype(np.int64)
    absent = [np.ma.getmaskarray(each) for each in columns]
    found = []
    for level in plan.levels:
        here = held > 0
        for place, gone in enumerate(absent):
            here = here & (gone != (place in level))
        cells = tuple(np.ma.getdata(columns[place])[here].astype(np.int64) for place in level)
        found.append(SparseTable(cells, held[here]))
    return found


def _cell(value: Tree, cuts: tuple[int, ...]) -> Tree:
    """How many of the cuts are not above a value: arithmetic where they are neighbours, else halves first."""
    if not cuts:
        return bigint(number(0))
    if cuts[-1] - cuts[0] == len(cuts) - 1:
        return bigint(clamped(subtract(value, number(cuts[0] - 1)), 0, len(cuts)))
    return bigint(_between(value, cuts, 0, len(cuts)))


def _between(value: Tree, cuts: tuple[int, ...], low: int, high: int) -> Tree:
    if low == high:
        return number(low)
    middle = (low + high + 1) // 2
    below = binary(exp.LT, value.copy(), number(cuts[middle - 1]))
    return case([(below, _between(value, cuts, low, middle - 1))], _between(value, cuts, middle, high))
