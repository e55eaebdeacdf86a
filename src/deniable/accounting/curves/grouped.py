"""Several units at once, from the curve of one: the weak triangle inequality of Rényi divergences, step by step.

D_a(P|R) <= (a - 1/p)/(a - 1) D_(p a)(P|Q) + D_(q (a - 1/p))(Q|R) with 1/p + 1/q = 1 (Mironov 2017, proposition 11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.curves.curve import Curve

_MANY = tuple(1 + Fraction(k, 8) for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 56))
_FEW = (Fraction(3, 2), Fraction(2), Fraction(3))
_ONE = (Fraction(2),)


@dataclass(frozen=True, slots=True)
class GroupedCurve:
    """The divergence between data sets `size` steps apart."""

    base: Curve
    size: int

    def at(self, order: Fraction) -> Fraction | None:
        if self.size == 1:
            return self.base.at(order)
        half = self.size // 2
        first, second = GroupedCurve(self.base, half), GroupedCurve(self.base, self.size - half)
        found = []
        for p in self._choices:
            left = first.at(p * order)
            right = second.at(p / (p - 1) * (order - 1 / p))
            if left is not None and right is not None:
                found.append((order - 1 / p) / (order - 1) * left + right)
        return min(found, default=None)

    @property
    def values(self) -> int:
        """How many values of the base one value takes."""
        half = self.size // 2
        if not half:
            return 1
        parts = (GroupedCurve(self.base, each).values for each in {half, self.size - half})
        return len(self._choices) * sum(parts) * (2 if 2 * half == self.size else 1)

    @property
    def _choices(self) -> tuple[Fraction, ...]:  # the tree of choices stays small
        return _MANY if self.size <= 4 else _FEW if self.size <= 16 else _ONE

    def estimate(self, order: float) -> float:
        if self.size == 1:
            return self.base.estimate(order)
        half = self.size // 2
        first, second = GroupedCurve(self.base, half), GroupedCurve(self.base, self.size - half)
        found = math.inf
        for p in map(float, self._choices):
            left, right = first.estimate(p * order), second.estimate(p / (p - 1) * (order - 1 / p))
            found = min(found, (order - 1 / p) / (order - 1) * left + right)
        return found


@dataclass(frozen=True, slots=True)
class DoubledCurve:
    """The same from one value: both halves of a group at twice the order, again and again; a smaller half takes idle steps.

    p = q = 2 above, and the second order 2a - 1 raised to 2a, as divergences rise with the order.
    """

    base: Curve
    size: int

    def at(self, order: Fraction) -> Fraction | None:
        factor = Fraction(1)
        for _ in range((self.size - 1).bit_length()):
            factor, order = factor * (1 + (order - Fraction(1, 2)) / (order - 1)), 2 * order
        found = self.base.at(order)
        return None if found is None else factor * found

    def estimate(self, order: float) -> float:
        factor = 1.0
        for _ in range((self.size - 1).bit_length()):
            factor, order = factor * (1 + (order - 0.5) / (order - 1)), 2 * order
        return factor * self.base.estimate(order)
