"""How far one unit can move each integer of a plan: the (L0, L1, Linf) triple, from public facts alone.

`docs/theory/contribution-bounds.md` has the proofs. For changed rows (REPLACE) a unit leaves and another comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from deniable.cost import Neighbours
from deniable.errors import QueryRefused
from deniable.exact.figures import counted
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.plan.analysis import checked_facts, facts
from deniable.plan.arithmetic import clamp_ends
from deniable.plan.even_weights import Spread, fine_step
from deniable.plan.expression import Arithmetic, Expression, Literal, Operator
from deniable.plan.facts import LARGEST, Facts, Kind
from deniable.plan.nodes import (
    Aggregate,
    ByOrder,
    Distinct,
    GroupAgg,
    Histogram,
    KeyColumn,
    Level,
    Relation,
    RowCount,
    Total,
    Units,
)
from deniable.plan.relation import Shape, schema, shape

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one unit can do on one level of a plan: touch `groups` of `cells` groups, with `total` rows in all.

    Units are bounded in the groups by all keys: there one unit is in at most `kept` groups, with `rows` rows in each. At
    most `merged` of those fall into one group of this level.
    """

    groups: int
    cells: int | None
    rows: int | None
    total: int | None
    kept: int
    merged: int


def finer(apart: Sensitivity, spread: Spread | None) -> Sensitivity:
    """The same distances in the finer steps of rows that are spread."""
    if spread is None:
        return apart
    linf, step = apart.linf * spread.scale, fine_step(apart.step, spread)
    return Sensitivity(l0=apart.l0, l1=apart.l1 * spread.scale, linf=linf, step=step)


def sensitivities(plan: GroupAgg, level: Level | None = None) -> dict[str, Sensitivity]:
    """The triple of every aggregate on one level (all keys unless named), for the plan's own unit and neighbours.

    Guarantee: on any two data sets that differ in one unit, each aggregate of an engine's Result differs by at most
    its triple.
    """
    below = checked(plan)
    return {name: sensitivity(aggregate, plan, below, level) for name, aggregate in plan.aggregates}


def checked(plan: GroupAgg) -> Shape:
    """The shape a plan aggregates; refuses keys, orders and aggregates that do not fit it."""
    below = shape(plan.source)
    if below.unit is None:
        raise QueryRefused(
            "public-query", "this query reads public tables only and needs no privacy", rewrite="ask it as public"
        )
    for key in plan.keys:
        _checked_key(key, below)
    for expression in plan.inputs:
        checked_facts(expression, below.columns)
    if isinstance(plan.bounding.choice, ByOrder):
        order = checked_facts(plan.bounding.choice.expression, below.columns)
        if order.kind in (Kind.STRING, Kind.BOOLEAN):
            raise QueryRefused(
                "no-order", f"{order.kind.value}s have no order; choose first or last by a number or date"
            )
    return below


def _checked_key(key: KeyColumn, below: Shape) -> None:
    known = checked_facts(key.expression, below.columns)
    wanted: dict[Kind, type] = {Kind.NUMBER: int, Kind.BOOLEAN: bool, Kind.STRING: str}
    for value in key.domain or ():
        if known.kind in wanted and type(value) is not wanted[known.kind]:
            raise QueryRefused(
                "type-mismatch", f"key {key.name}: {value!r} is not a {known.kind.value} as engines hold it"
            )
    if key.domain is not None and len(set(key.domain)) != len(key.domain):
        raise QueryRefused("bad-constant", f"key {key.name}: declared values must differ")


def limits(plan: GroupAgg, below: Shape, level: Level | None = None) -> Limits:
    """How much one unit can do on one level of this plan; by all keys unless named."""
    bounding = plan.bounding
    inside = [key for key in plan.keys if level is None or key.name in level]
    cells, beside = _cells(inside), _cells([key for key in plan.keys if key not in inside])
    total = _least(bounding.rows_per_unit, below.most_rows)
    kept = _least(bounding.groups if plan.keys else 1, _cells(plan.keys), total)
    assert kept is not None
    groups, merged = _least(kept, cells), _least(kept, beside)
    assert groups is not None
    assert merged is not None
    return Limits(groups, cells, _least(bounding.rows_per_group, total), total, kept, merged)


def _cells(keys: Sequence[KeyColumn]) -> int | None:
    """How many groups these keys make; unknown when one is observed."""
    sizes = [None if key.domain is None else len(key.domain) + key.keep_missing for key in keys]
    return None if None in sizes else prod(size for size in sizes if size is not None)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def sensitivity(aggregate: Aggregate, plan: GroupAgg, below: Shape, level: Level | None = None) -> Sensitivity:
    """The triple of one aggregate on one level; by all keys unless named."""
    within = limits(plan, below, level)
    assert below.unit is not None
    replaced = below.unit.neighbours is Neighbours.REPLACE
    match aggregate:
        case Units(of):
            _known(of, below)
            return _counted(1, replace(within, kept=within.groups, merged=1), replaced)
        case RowCount(most, of, spread):
            _known(of, below)
            each = _least(most, within.rows, spread.rows if spread else None)
            return finer(_counted(each or most, within, replaced), spread)
        case Distinct(of, most):
            known = facts(of, below.columns)
            return _counted(_least(most, within.rows, _values(known)) or most, within, replaced, _values(known))
        case Histogram(of, bins):
            return _binned(facts(of, below.columns), bins, aggregate.spread, within, replaced)
        case Total():
            return _summed(aggregate, facts(aggregate.of, below.columns), within, replaced)
        case _:
            assert_never(aggregate)


def _known(of: Expression | None, below: Shape) -> None:
    if of is not None:
        facts(of, below.columns)


def _values(known: Facts) -> int | None:
    if known.kind is Kind.BOOLEAN:
        return 2
    if known.categories is not None:
        return len(known.categories)
    return known.ends[1] - known.ends[0] + 1 if known.bounded else None


def _counted(each: int, within: Limits, replaced: bool, most: int | None = None) -> Sensitivity:
    """Counts: one unit adds 0 to `each` to a group by all keys, never more than `most` to a group of this level.

    A unit that replaces another can only cancel within a group.
    """
    linf = _least(within.merged * each, within.total, most)
    assert linf is not None
    l1 = _least(within.kept * each, within.groups * linf, within.total)
    assert l1 is not None
    if not replaced:
        return Sensitivity(l0=within.groups, l1=l1, linf=linf)
    l0 = _least(2 * within.groups, within.cells)
    assert l0 is not None
    return Sensitivity(l0=l0, l1=min(2 * l1, l0 * linf), linf=linf)


def _binned(known: Facts, bins: int, spread: Spread, within: Limits, replaced: bool) -> Sensitivity:
    """One unit's bins in a group are whole steps, none negative, which come to at most those of its rows that count."""
    if (
        known.kind is not Kind.NUMBER
        or known.step != 1
        or not known.bounded
        or known.ends[0] < 0
        or known.ends[1] >= bins
    ):
        raise QueryRefused("bad-histogram", f"a histogram needs whole numbers from 0 to {bins - 1}, got {known}")
    each = _least(spread.rows, within.rows) or spread.rows
    touched = within.kept * (_least(bins, within.rows, spread.whole) or bins)
    total, linf = _least(within.kept * each, within.total), _least(within.merged * each, within.total)
    assert total is not None
    assert linf is not None
    factor = 2 if replaced else 1
    l0 = min(factor * touched, (within.cells or factor * touched) * bins)
    return finer(Sensitivity(l0=l0, l1=factor * total, linf=linf), spread)


def total_ends(aggregate: Total, known: Facts) -> tuple[int, int]:
    """What one unit's sum in one group is clipped to, on the grid."""
    if known.kind is not Kind.NUMBER or not known.bounded:
        raise QueryRefused(
            "unbounded",
            "a sum needs a number with declared bounds",
            rewrite="declare bounds in the codebook, or write clamp(x, lower, upper)",
        )
    if aggregate.spread is not None and not aggregate.spread.whole * max(map(abs, known.ends)) < LARGEST:
        raise QueryRefused(
            "too-wide",
            f"what {counted(aggregate.spread.rows, 'row')} of this column can add is beyond what sums are kept to",
            rewrite="declare tighter bounds, a coarser step, or fewer rows of one unit",
        )
    return clamp_ends(fine_step(known.step, aggregate.spread), aggregate.lower, aggregate.upper)


def _summed(aggregate: Total, known: Facts, within: Limits, replaced: bool) -> Sensitivity:
    """Sums: a unit of r rows that count adds between r times the least and r times the most of a row, clipped.

    Spread rows weigh no more in all than those that count, so the same interval holds for them, in finer steps.
    """
    clip_low, clip_high = total_ends(aggregate, known)
    spread, step = aggregate.spread, fine_step(known.step, aggregate.spread)
    least, most = (end * (spread.scale if spread else 1) for end in known.ends)
    low, high = clip_low, clip_high
    rows = _least(within.rows, spread.rows if spread else None)
    if rows is not None:
        low = min(max(min(least, rows * least), clip_low), clip_high)
        high = min(max(max(most, rows * most), clip_low), clip_high)
    # A group a unit is not in gets nothing from it, so zero is always among what a unit adds.
    low, high = min(low, 0), max(high, 0)
    l1 = within.kept * max(-low, high)
    if within.total is not None and clip_low <= 0 <= clip_high:
        l1 = min(l1, within.total * max(abs(least), abs(most)))
    if not replaced:
        return Sensitivity(l0=within.groups, l1=l1, linf=within.merged * max(-low, high), step=step)
    l0, linf = _least(2 * within.groups, within.cells), within.merged * (high - low)
    assert l0 is not None
    return Sensitivity(l0=l0, l1=min(2 * l1, l0 * linf), linf=linf, step=step)


# The halves of a mean -------------------------------------------------------------------------------------------------
# With T the sum of values in [low, high], low <= 0 <= high, and W the number of the same rows, the halves are T - low * W and
# high * W - T. A row adds to the first what it leaves of the second, so it moves both together by the width of the bounds,
# wherever its value lies. `docs/theory/halves.md` has the proofs; engines return T and W and know nothing of it.

_WIDEST_HALVES = 2**31
"""Halves of a column with more steps between its bounds would not hold a group of 2**30 rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """The halves of one total and one count, in whole steps of `step`; at most `rows` rows of a unit count in a group.

    A value lies between `low` and `high` steps of its column, each of which is `scale` of these. A step of the total is
    `total_steps` of these, and one of the count `row_steps` for each step of the column.
    Guarantee: in a group by all keys, what a unit with `n` rows adds to both halves has absolute values of at most
    `min(rows, n) * width * scale` together.
    """

    low: int
    high: int
    rows: int
    scale: int
    total_steps: int
    row_steps: int
    step: Fraction

    @property
    def width(self) -> int:
        """Steps of the column between its bounds."""
        return self.high - self.low

    @property
    def total_step(self) -> Fraction:
        """What one step of the halves' difference stands for: the sum of distances from the middle of the bounds is half of it."""
        return self.step / 2

    @property
    def count_step(self) -> Fraction:
        """What one step of the halves' sum stands for, in rows."""
        return Fraction(1, self.width * self.scale)

    def of(self, total: Integers, count: Integers) -> Integers:
        """Both halves, one row each, exactly; beyond 2**62 they are kept there, which moves nothing further than it was."""
        most = max(int(np.abs(column.astype(np.float64)).max(initial=0.0)) for column in (total, count))
        kind = np.int64 if most * max(self.total_steps, self.width * self.row_steps) < 2**60 else object
        t, w = total.astype(kind) * self.total_steps, count.astype(kind) * self.row_steps
        found = np.stack([t - self.low * w, self.high * w - t])
        limited: Integers = np.clip(found, -LARGEST, LARGEST).astype(np.int64)
        return limited


def halves_of(total: Total, count: RowCount, source: Relation, *, complete: bool) -> Halves | None:
    """The halves of a total and a count; None where the two are not known to be of the same rows, weighed and bounded alike.

    `complete` says that no row lacks what the total adds up, so that a count of all rows is one of the same rows.
    """
    of = _centred(total.of)
    if of is None or not (complete if count.of is None else count.of == of):
        return None
    known = facts(total.of, schema(source))
    if known.kind is not Kind.NUMBER or not known.bounded:
        return None
    low, high = known.ends
    if not (low <= 0 <= high and low < high):
        return None
    rows = count.most
    if (total.lower, total.upper) != (rows * low * known.step, rows * high * known.step):
        return None
    parts = _parts_of_both(total, count)
    if parts is None or not high - low <= _WIDEST_HALVES // max(parts):
        return None
    scale = max(parts)
    found = Halves(
        low=low,
        high=high,
        rows=rows,
        scale=scale,
        total_steps=scale // parts[0],
        row_steps=scale // parts[1],
        step=known.step / scale,
    )
    return found if count.spread is None or _rounds_within(found) else None


def _centred(of: Expression) -> Expression | None:
    """What distances from a public number are distances of."""
    match of:
        case Arithmetic(Operator.SUBTRACT, left, Literal()):
            return left
        case _:
            return None


def _parts_of_both(total: Total, count: RowCount) -> tuple[int, int] | None:
    """In how many parts of its own step each is measured, where a unit with too many rows is weighed alike in both."""
    spread, rows = total.spread, count.spread
    if any(each is not None and (each.together or each.rows != count.most) for each in (spread, rows)):
        return None
    if rows is None:  # of all rows of a unit a whole number counts
        return (1, 1) if spread is None else (spread.scale, 1) if count.of is None else None
    return None if spread is None or rows.scale % spread.scale else (spread.scale, rows.scale)


def _rounds_within(halves: Halves) -> bool:
    """Whether a total and a count that are rounded apart leave both halves within the width of the rows that count."""
    farthest = max(halves.high, -halves.low)
    return (halves.total_steps == 1 and farthest == 1) or halves.total_steps + farthest <= halves.width


def halves_sensitivity(halves: Halves, plan: GroupAgg, below: Shape, level: Level | None = None) -> Sensitivity:
    """The one triple of both halves of a mean on one level, as two numbers in every group; by all keys unless named.

    Guarantee: on any two data sets that differ in one unit, both halves of all groups together differ by at most its `l1`.
    """
    within = limits(plan, below, level)
    assert below.unit is not None
    replaced = below.unit.neighbours is Neighbours.REPLACE
    rows = _counted(_least(halves.rows, within.rows) or halves.rows, within, replaced=False)
    moved = _counted(halves.rows, within, replaced)
    size = halves.width * halves.scale * (2 if replaced else 1)
    return Sensitivity(l0=2 * moved.l0, l1=rows.l1 * size, linf=rows.linf * size, step=halves.step)
