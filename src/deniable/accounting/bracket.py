"""A number we do not know exactly, but know well: two floats that are proved to enclose the truth.

Whatever is read from a cost as a float is a `Bracket`. Its upper end is the one to promise, so that is what it prints and
converts to; its lower end says how much tighter any other method could be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact import down, up

_PRINTED = Context(prec=6, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True, repr=False)
class Bracket:
    """Floats `lower` and `upper` with the truth between them; `float(bracket)` is the upper end.

    Comparisons are certain ones: `bracket <= x` when the whole bracket is, so `not bracket <= x` does not mean `bracket > x`.
    """

    lower: float
    upper: float
    note: str = field(default="", compare=False)
    """Why the ends lie further apart than was asked for, if they do."""

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidArgument(f"a bracket needs lower <= upper, got [{self.lower!r}, {self.upper!r}]")

    @classmethod
    def around(cls, lower: Fraction, upper: Fraction) -> Bracket:
        """The smallest floats that enclose two exact numbers."""
        return cls(down(lower), up(upper))

    @property
    def gap(self) -> float:
        """How far the ends lie apart, relative to the upper one (0 for an exact number, never above 1 for a loss)."""
        if self.lower == self.upper:
            return 0.0
        return (self.upper - self.lower) / abs(self.upper) if 0 < abs(self.upper) < math.inf else math.inf

    def __float__(self) -> float:
        return self.upper

    def __contains__(self, value: float | Fraction) -> bool:
        return self.lower <= value <= self.upper

    def __le__(self, other: float | Fraction | Bracket) -> bool:
        return self.upper <= (other.lower if isinstance(other, Bracket) else other)

    def __lt__(self, other: float | Fraction | Bracket) -> bool:
        return self.upper < (other.lower if isinstance(other, Bracket) else other)

    def __ge__(self, other: float | Fraction | Bracket) -> bool:
        return self.lower >= (other.upper if isinstance(other, Bracket) else other)

    def __gt__(self, other: float | Fraction | Bracket) -> bool:
        return self.lower > (other.upper if isinstance(other, Bracket) else other)

    def __repr__(self) -> str:
        """The upper end, rounded up to six significant digits."""
        if math.isinf(self.upper) or self.upper == 0:
            return repr(self.upper)
        return repr(float(_PRINTED.create_decimal(Decimal(self.upper))))

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        with localcontext(rounding=ROUND_CEILING):
            return format(Decimal(self.upper), spec)


def together(found: Sequence[Bracket]) -> Bracket:
    """Several sound brackets of one number."""
    best = min(found, key=lambda each: each.upper)
    return Bracket(min(best.upper, max(each.lower for each in found)), best.upper, _notes(found))


def worst_of(found: Sequence[Bracket]) -> Bracket:
    """The largest of several numbers."""
    return Bracket(max(each.lower for each in found), max(each.upper for each in found), _notes(found))


def at_least(witnesses: Sequence[Bracket], found: Bracket) -> Bracket:
    """A number that none of the others is above."""
    lower = max((each.lower for each in witnesses), default=0.0)
    return Bracket(min(found.upper, lower), found.upper, _notes([found, *witnesses]))


def _notes(found: Sequence[Bracket]) -> str:
    """Why a bracket is wider than asked, of several: each reason once."""
    return "; ".join(dict.fromkeys(each.note for each in found if each.note))
