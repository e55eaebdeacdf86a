"""The two halves of a mean: how far all values lie above the lower bound, and how far below the upper one.

With `T` the sum of values in [low, high], low <= 0 <= high, and `W` the number of the same rows, the halves are `T - low * W` and
`high * W - T`. A row adds to the first what it leaves of the second, so it moves both together by the width of the bounds,
wherever its value lies. `docs/theory/halves.md` has the proofs; engines return `T` and `W` and know nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.plan.analysis import facts
from deniable.plan.expression import Arithmetic, Expression, Literal, Operator
from deniable.plan.facts import LARGEST, Kind
from deniable.plan.nodes import Relation, RowCount, Total
from deniable.plan.presence import may_be_missing
from deniable.plan.relation import schema

Integers: TypeAlias = NDArray[np.int64]

_WIDEST = 2**31
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


def halves_of(total: Total, count: RowCount, source: Relation) -> Halves | None:
    """The halves of a total and a count; None where the two are not known to be of the same rows, weighed and bounded alike."""
    of = _centred(total.of)
    if of is None or not _same_rows(of, count, source):
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
    parts = _parts(total, count)
    if parts is None or not high - low <= _WIDEST // max(parts):
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


def _same_rows(of: Expression, count: RowCount, source: Relation) -> bool:
    return not may_be_missing(source, of) if count.of is None else count.of == of


def _parts(total: Total, count: RowCount) -> tuple[int, int] | None:
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
