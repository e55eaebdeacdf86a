"""Even weights: a unit with more rows in a group than may count is spread evenly over all of them, in whole numbers.

Of a unit with `n` rows in a group, `rows` of which may count, every row weighs `rows / n` (one where `n` is not larger), in
every aggregate alike: quotients of two of them are averages, nothing is drawn, and no row is preferred to another.
`docs/theory/even-weights.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniable.exact.guards import integer
from deniable.plan.arithmetic import rounded_quotient

FINEST = 10
"""Parts of rows are kept to so many binary places."""

_ENOUGH = 30
"""Where one row already spans so many binary places of its own grid, none are added."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A unit with more than `rows` rows in a group counts as `rows` rows, spread evenly over all it has there.

    What it adds is in steps of 2**-bits of the aggregate's own step. A missing value, and a row that a condition of the
    aggregate leaves out, adds nothing but is one of the `n` rows.
    Numbers that are measured `together`, under one norm, are cut towards zero; others go to the nearest step.
    Guarantee: if every row's value lies in [a, b], the part of a unit in a group lies in
    [min(a, 0), max(b, 0)] * rows * 2**bits, whatever its rows are; and if every row's values together have a norm of at most c,
    the parts measured together have a norm of at most c * rows * 2**bits.
    """

    rows: int
    bits: int
    together: bool = False

    def __post_init__(self) -> None:
        integer(least=1, rows=self.rows)
        integer(least=0, bits=self.bits)

    @property
    def scale(self) -> int:
        """Steps of a whole row."""
        return 1 << self.bits

    @property
    def whole(self) -> int:
        """Steps of all the rows that may count."""
        return self.rows << self.bits

    def part(self, total: int, n: int) -> int:
        """What a unit with `n` rows adds whose values come to `total`: to the nearest step, halves away from zero, or cut."""
        if n <= self.rows:
            return total * self.scale
        if not self.together:
            return rounded_quotient(self.whole * total, n)
        size = self.whole * abs(total) // n
        return size if total >= 0 else -size

    def up_to(self, position: int, n: int) -> int:
        """What the first `position` of a unit's `n` rows in order weigh together; bins are differences of this.

        Guarantee: it rises from 0 to `whole`, so the parts of one unit in all bins are not negative and come to at most that.
        """
        if n <= self.rows:
            return position * self.scale
        return (2 * self.whole * position + n - 1) // (2 * n)


def fine_bits(most: int) -> int:
    """How many binary places the parts of a number get that one row moves by at most `most` steps.

    Ten for all but wide columns, whose own grid is fine enough; so no sum grows beyond what engines and samplers hold.
    """
    return max(0, min(FINEST, _ENOUGH - most.bit_length()))


def fine_step(step: Fraction, spread: Spread | None) -> Fraction:
    """The step of an aggregate: of its values, or finer where rows are spread."""
    return step if spread is None else step / spread.scale
