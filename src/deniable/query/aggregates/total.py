"""Sums of bounded numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, rational
from deniable.query.aggregates.aggregate import Aggregate, CommandForm, Of, Output, Registration
from deniable.query.aggregates.count import Plain
from deniable.query.aggregates.measuring import Measuring


@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """The sum of a bounded number; what one unit adds to a group is clipped to `clip` (None: to what the query's rows can add)."""

    of: Of
    clip: tuple[Fraction, Fraction] | None = None

    def measure(self, measuring: Measuring) -> Output:
        """One clipped total."""
        return Plain(measuring.total(measuring.read(self.of), self.clip))

    def clip_note(self, name: str) -> str | None:
        """What one unit's part is clipped to, where the aggregate says so itself."""
        if self.clip is None:
            return None
        lower, upper = (f"{float(end):g}" for end in self.clip)
        return f"what it adds to {name} is clipped to [{lower}, {upper}]"


def sum(of: Of, *, clip: tuple[Real, Real] | None = None) -> Sum:
    """The sum of a number whose bounds the codebook (or the expression) declares.

    Guarantee: what one unit adds to a group is clipped to `clip`, by default to `rows` times the bounds, in exact integers.
    """
    if clip is None:
        return Sum(of)
    lower, upper = rational(lower=clip[0]), rational(upper=clip[1])
    if not lower < upper:
        raise InvalidArgument(f"clip must be two rising numbers, got {clip!r}")
    return Sum(of, (lower, upper))


REGISTRATION = Registration(
    sql={exp.Sum: lambda call: call.answer(Sum(call.of()))},
    command={"sum": CommandForm(sum)},
    sql_names=("SUM",),
)
