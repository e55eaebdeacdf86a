"""Losses as exact rationals that only ever round up, and an amount of loss with its delta: what a filter adds up.

A reading that is rational and simple stays what it is, so ten charges of one tenth fill a budget of one. Any other reading is
rounded up to a multiple of `1/GRID`: sums stay exact, and small, however many charges there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from deniable import exact
from deniable.exact import Interval, loss_text

GRID = 2**64 * 3**6 * 5**28 * 7**2 * 11**2 * 13**2 * 17 * 19 * 23 * 29 * 31 * 37
"""Decimals of 28 places and fractions with every denominator up to 40 lie on the grid; its step is below 1e-51."""

LARGEST_EXPONENT = 4096
"""Beyond this the exponential is not worth its digits: every caller has an answer without it."""

_BITS = 192


def round_up(value: Fraction) -> Fraction:
    """The smallest number on the grid that is at least `value`."""
    return value if GRID % value.denominator == 0 else Fraction(-(-value.numerator * GRID // value.denominator), GRID)


def round_down(value: Fraction) -> Fraction:
    """The largest number on the grid that is at most `value`: for limits, which round down."""
    return -round_up(-value)


def exp(x: Fraction) -> Interval:
    """e to the `x`, enclosed more tightly than the grid's step for losses of ordinary size."""
    return exact.exp(x, _BITS)


def expm1(x: Fraction) -> Interval:
    """e to the `x`, less one."""
    return exact.expm1(x, _BITS)


def ln(x: Fraction) -> Interval:
    """The natural logarithm of `x` above 0."""
    return exact.ln(x, _BITS)


@dataclass(frozen=True, slots=True)
class Spend:
    """`loss` in the unit of a measure (epsilon, rho, ...) and `delta`; both exact, both add.

    `unit` is for people: the rule that reads a cost writes it down, and no comparison looks at it.
    """

    loss: Fraction
    delta: Fraction = Fraction(0)
    unit: str = field(default="", compare=False)

    def __add__(self, other: Spend) -> Spend:
        return Spend(self.loss + other.loss, self.delta + other.delta, self.unit or other.unit)

    def __sub__(self, other: Spend) -> Spend:
        return Spend(self.loss - other.loss, self.delta - other.delta, self.unit or other.unit)

    def times(self, count: int) -> Spend:
        """This much, `count` times."""
        return replace(self, loss=self.loss * count, delta=self.delta * count)

    def __le__(self, other: Spend) -> bool:
        return self.loss <= other.loss and self.delta <= other.delta

    @classmethod
    def zero(cls) -> Spend:
        """What public information costs."""
        return NOTHING

    @classmethod
    def total(cls, spends: Iterable[Spend]) -> Spend:
        """Everything together."""
        return sum(spends, NOTHING)

    @classmethod
    def worst(cls, spends: Iterable[Spend]) -> Spend:
        """The least amount that covers each of these."""
        losses = [NOTHING, *spends]
        return cls(max(each.loss for each in losses), max(each.delta for each in losses))

    @classmethod
    def mixed(cls, parts: Iterable[tuple[Fraction, Spend]]) -> Spend:
        """One of these, drawn with these chances: the worst loss, the average delta."""
        drawn = list(parts)
        average = sum((chance * each.delta for chance, each in drawn), Fraction(0))
        return cls(max((each.loss for _, each in drawn), default=Fraction(0)), round_up(average))

    def __str__(self) -> str:
        return self.shown()

    def shown(self, *, downwards: bool = False) -> str:
        """For people, to six digits: "epsilon = 0.5, delta = 1e-6"; rounded up, or downwards for what is left."""
        return loss_text(self.unit or "loss", self.loss, self.delta, downwards=downwards)

    def to_record(self) -> dict[str, str]:
        """As text that loses nothing."""
        return {"loss": str(self.loss), "delta": str(self.delta)}

    @classmethod
    def from_record(cls, record: dict[str, str]) -> Spend:
        """Read back what `to_record` wrote."""
        return cls(Fraction(record["loss"]), Fraction(record["delta"]))


NOTHING = Spend(Fraction(0))
"""What public information costs."""
