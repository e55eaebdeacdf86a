"""How far one unit can move whole numbers: the one record that noise, thresholds, mechanisms and plans share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """One unit moves at most `l0` numbers, each by at most `linf`, all together by at most `l1`; integers in steps of `step`.

    `squares` is a bound on the sum of the squares where more is known of it than the other three imply.
    """

    l0: int
    l1: int
    linf: int
    squares: int | None = None
    step: Fraction = Fraction(1)

    @property
    def l2_squared(self) -> int:
        """The square of the L2 distance: at most l1 * linf, at most l0 * linf**2, and at most what is known of it."""
        implied = min(self.l1 * self.linf, self.l0 * self.linf**2)
        return implied if self.squares is None else min(implied, self.squares)
