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
        for p in _MANY if self.size <= 4 else _FEW if self.size <= 16 else _ONE:  # the tree of choices stays small
            left = first.at(p * order)
            right = second.at(p / (p - 1) * (order - 1 / p))
            if left is not None and right is not None:
                found.append((order - 1 / p) / (order - 1) * left + right)
        return min(found, default=None)

    def estimate(self, order: float) -> float:
        found = self.at(max(1 + Fraction(1, 1024), Fraction(order).limit_denominator(1024)))
        return math.inf if found is None else float(found)
