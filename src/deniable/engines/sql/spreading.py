"""Even weights as SQL: one grouping by unit and group, then whole numbers only; the same integers as `plan.even_weights`.

Guarantee: products are formed in at least 126 bits, which the plan's check keeps them within; division is of numbers that are
not negative, where every engine rounds alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deniable.engines.sql.keyed_order import ROWS_THERE
from deniable.plan.even_weights import Spread
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import (
    Tree,
    add,
    bigint,
    binary,
    case,
    cast,
    column,
    missing,
    multiply,
    named,
    number,
    over,
    paren,
    present,
    scaled,
    subtract,
)


def part_tree(total: Tree, spread: Spread, profile: Profile, *, signed: bool = False) -> Tree:
    """What a unit adds to a group whose values come to `total` (a wide number), where all rows are those of one unit and group.

    The same as `Spread.part`.
    """
    rows = exp.Count(this=exp.Star())
    size: Tree = exp.Abs(this=total.copy()) if signed else total.copy()
    if spread.together:
        part = profile.wide_quotient(multiply(size, number(spread.whole)), rows)
    else:
        top = add(multiply(size, number(2 * spread.whole)), rows)
        part = profile.wide_quotient(top, multiply(rows.copy(), number(2)))
    if signed:
        below = binary(exp.LT, total.copy(), number(0))
        part = case([(below, paren(exp.Neg(this=paren(part))))], part.copy())
    return case([(_few(rows.copy(), spread), scaled(total, spread.scale))], part)


def counted_bins(
    rows: exp.Select, units: Sequence[str], keys: Sequence[str], value: str, spread: Spread, profile: Profile
) -> exp.Select:
    """The same bins as `spread_bins`, from rows that have beside them how many of their unit are in their group.

    Most units have no more than may count: their rows are whole, and need not be put in order.
    """
    few = _few(column(ROWS_THERE), spread)
    whole = over([*map(column, [*keys, value]), named(bigint(number(spread.scale)), "kept")], rows.copy())
    whole = whole.where(few, present(column(value)), copy=False)
    others = over([*map(column, [*units, *keys, value])], rows).where(exp.Not(this=paren(few.copy())), copy=False)
    spread_out = spread_bins(others, units, keys, value, spread, profile)
    return over([*map(column, [*keys, value, "kept"])], exp.union(whole, spread_out, distinct=False, copy=False))


def _few(rows: Tree, spread: Spread) -> Tree:
    return binary(exp.LTE, rows, number(spread.rows))


def spread_bins(
    rows: exp.Select, units: Sequence[str], keys: Sequence[str], value: str, spread: Spread, profile: Profile
) -> exp.Select:
    """Keys, bin and `kept` of every unit and group, for the bins it is in: its rows there, or their part of those that count.

    A row without a bin is one of the unit's rows, after all others. The same as differences of `Spread.up_to`.
    """
    whole = [*units, *keys]
    counted = named(exp.Count(this=exp.Star()), "rows_here")
    bins = over([*map(column, [*whole, value]), counted], rows)
    bins = bins.group_by(*map(column, [*whole, value]), copy=False)
    total = exp.Window(this=exp.Sum(this=column("rows_here")), partition_by=[column(name) for name in whole])
    in_bins = case([(missing(column(value)), number(0))], column("rows_here"))
    upto = exp.Window(
        this=exp.Sum(this=in_bins),
        partition_by=[column(name) for name in whole],
        order=exp.Order(expressions=[exp.Ordered(this=column(value))]),
    )
    kept = [column(name) for name in [*keys, value, "rows_here"]]
    placed = over([*kept, named(bigint(total), "rows_all"), named(bigint(upto), "rows_upto")], bins)
    before = subtract(column("rows_upto"), column("rows_here"))
    between = subtract(_up_to(column("rows_upto"), spread, profile), _up_to(before, spread, profile))
    part = case([(_few(column("rows_all"), spread), scaled(column("rows_here"), spread.scale))], between)
    filled = over([*map(column, [*keys, value]), named(part, "kept")], placed)
    filled = filled.where(present(column(value)), copy=False)
    positive = binary(exp.GT, column("kept"), number(0))
    return over([*map(column, [*keys, value, "kept"])], filled).where(positive, copy=False)


def _up_to(position: Tree, spread: Spread, profile: Profile) -> Tree:
    """What the rows up to a position weigh together."""
    rows = column("rows_all")
    top = multiply(cast(position, profile.wide), number(2 * spread.whole))
    return profile.wide_quotient(subtract(add(top, rows), number(1)), multiply(rows.copy(), number(2)))
