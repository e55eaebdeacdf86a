"""Sums of bounded numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from deniable.errors import InvalidArgument
from deniable.exact.figures import counted
from deniable.exact.guards import Real, rational
from deniable.query.aggregates.aggregate import Aggregate, CommandForm, Of, Output, Registration
from deniable.query.aggregates.count import Plain
from deniable.query.aggregates.measuring import TOTAL, Clip, Measuring


@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """The sum of a bounded number; the rows of a unit with too many weigh less, or (`clip`) its total is clipped."""

    of: Of
    clip: Clip = None

    def measure(self, measuring: Measuring) -> Output:
        """One total."""
        return Plain(measuring.total(measuring.read(self.of), self.clip))

    def clip_note(self, name: str, rows: int) -> str | None:
        """What one unit's part is clipped to, where the aggregate says so itself."""
        if self.clip is None:
            return None
        if self.clip == TOTAL:
            return f"what it adds to {name} is clipped to what {counted(rows, 'row')} can add"
        lower, upper = (f"{float(end):g}" for end in self.clip)
        return f"what it adds to {name} is clipped to [{lower}, {upper}]"


def sum(of: Of, *, clip: tuple[Real, Real] | Literal["total"] | None = None) -> Sum:
    """The sum of a number whose bounds the codebook (or the expression) declares.

    A unit with more rows in a group than the query's `rows` counts as so many, spread evenly over all it has. Instead its
    total can be clipped, to two numbers or (`"total"`) to what `rows` rows can add: that loses less where only the sum is asked.
    Guarantee: what one unit adds to a group lies within `clip`, by default within `rows` times the bounds, in exact integers.
    """
    if clip is None or clip == TOTAL:
        return Sum(of, clip)
    if not (isinstance(clip, tuple | list) and len(clip) == 2):
        raise InvalidArgument(f"clip must be two rising numbers or 'total', got {clip!r}")
    lower, upper = rational(lower=clip[0]), rational(upper=clip[1])
    if not lower < upper:
        raise InvalidArgument(f"clip must be two rising numbers, got {clip!r}")
    return Sum(of, (lower, upper))


REGISTRATION = Registration(
    sql={exp.Sum: lambda call: call.answer(Sum(call.of()))},
    command={"sum": CommandForm(sum)},
    sql_names=("SUM",),
)
