"""The profile of what tells nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.exact import Interval


@dataclass(frozen=True, slots=True)
class NothingProfile:
    """Public information."""

    theorem: ClassVar[str] = "nothing private was used"

    def delta(self, epsilon: Fraction) -> Interval:
        return Interval.point(0)

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        return 0.0

    def ceiling(self) -> Fraction:
        return Fraction(0)
