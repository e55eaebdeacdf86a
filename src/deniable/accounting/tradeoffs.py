"""The trade-off curve of a cost: the least type II error of any test at each type I error (Dong, Roth and Su 2022).

It is the largest of the lines 1 - delta(e) - e^e alpha and e^-e (1 - delta(e) - alpha) over all e >= 0. Every e gives a sound line,
so floats may look for the best one and exact arithmetic evaluates it, rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable.accounting.adjacency import neighbours_of
from deniable.accounting.composition import Pairs
from deniable.accounting.theorems import epsilon, tightest
from deniable.cost import Cost
from deniable.errors import Unaccountable
from deniable.exact import down, exp, up
from deniable.exact.guards import Real, integer, probability

if TYPE_CHECKING:
    from deniable.plots import Figure

_ROUGH = 1e-3
_ROUGHER = 3e-2
_COARSE = 12
_STEPS = 10
_BITS = 80
_FAINT = Fraction(1, 10**12)
_FAR = 700.0
_KINKS = 8


@dataclass(frozen=True, slots=True)
class TradeOff:
    """`curve(alpha)` is the least rate of misses of any test with false alarms at most `alpha`, rounded down.

    Guarantee: no attacker who tells two neighbouring data sets apart misses less often; sound for losses fixed beforehand.
    """

    cost: Cost

    def __call__(self, alpha: Real) -> float:
        """The least rate of misses at this rate of false alarms."""
        level = probability(alpha=alpha)
        most = self._reach()
        kinks = self._kinks()
        if level == 0:
            return max(0.0, down(max(self._steep(e, level) for e in (most, *kinks))))
        near = min(most, math.log(1 / float(level)))
        steep = _peak(lambda e: 1 - self._about(e) - math.exp(e) * float(level), near)
        flat = _peak(lambda e: math.exp(-e) * (1 - self._about(e) - float(level)), most)
        lines = [line(e, level) for e in (steep, flat, *kinks) for line in (self._steep, self._flat)]
        return max(0.0, down(max(lines)))

    def power(self, alpha: Real) -> float:
        """The most true alarms any test has at this rate of false ones, rounded up."""
        return min(1.0, up(1 - Fraction(self(alpha))))

    def supports(self, count: int = 60) -> list[tuple[float, float]]:
        """So many points (epsilon, delta) of the profile, from 0 to where nothing is left; each makes two lines below the curve."""
        reach = self._reach()
        losses = [reach * (k / (count - 1)) ** 2 for k in range(integer(count=count, least=2))]
        return [(loss, self._delta(loss)) for loss in losses]

    def plot(self, *, points: int = 40) -> Figure:
        """The curve, as the largest of the lines that `points` points of the profile give, and the line of no information."""
        from deniable.plots import tradeoff_curve

        lines = self.supports(points)
        alphas = sorted({(k / 80) ** 2 for k in range(81)} | {1 - (k / 80) ** 2 for k in range(81)})
        return tradeoff_curve(alphas, misses=[largest_line(lines, alpha) for alpha in alphas])

    def _reach(self) -> float:
        """Beyond this epsilon there is nothing left to gain: delta is next to what it never falls below."""
        found = float(epsilon(self.cost, delta=_FAINT))
        if math.isinf(found):
            least = Fraction(self._delta(_FAR))
            found = float(epsilon(self.cost, delta=min(Fraction(1), least + (1 - least) * _FAINT)))
        return min([found if math.isfinite(found) else _FAR, *self._kinks()[:1]])

    def _kinks(self) -> list[float]:
        """Where the curve of a pure loss beside a leak turns, the outermost first; of many such losses a few."""
        try:
            pairs = Pairs.of(self.cost)
        except Unaccountable:
            return []
        step, times = pairs.losses[0] if len(pairs.losses) == 1 else (pairs.plain, 1)
        return [up((times - 2 * k) * step) for k in range(min(times // 2 + 1, _KINKS))]

    def _delta(self, e: float) -> float:
        return _delta_at(self.cost, e, _ROUGH)

    def _about(self, e: float) -> float:
        """Delta well enough to choose an epsilon by; every choice is sound."""
        return _delta_at(self.cost, e, _ROUGHER)

    def _steep(self, e: float, level: Fraction) -> Fraction:
        if level and e > _FAR:  # a line that is hardly ever above zero: saying nothing is sound
            return Fraction(0)
        delta = Fraction(self._delta(e))
        return 1 - delta - (exp(Fraction(e), _BITS).upper * level if level else 0)

    def _flat(self, e: float, level: Fraction) -> Fraction:
        rest = 1 - Fraction(self._delta(e)) - level
        return exp(-Fraction(e), _BITS).lower * rest if rest > 0 and e <= _FAR else Fraction(0)


@lru_cache(maxsize=4096)
def _delta_at(cost: Cost, e: float, gap: float) -> float:
    return tightest(cost).delta(Fraction(e), gap).upper


def largest_line(supports: Sequence[tuple[float, float]], alpha: float) -> float:
    """The largest at `alpha` of the lines 1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha); for drawing."""
    steep = max(1 - delta - math.exp(min(epsilon, 700.0)) * alpha for epsilon, delta in supports)
    flat = max(math.exp(-epsilon) * (1 - delta - alpha) for epsilon, delta in supports)
    return max(0.0, steep, flat)


def tradeoff(cost: Cost) -> TradeOff:
    """The trade-off curve of a cost."""
    neighbours_of(cost)
    return TradeOff(cost)


def _peak(value: Callable[[float], float], reach: float) -> float:
    """Where a function with one peak on [0, reach] is about largest: the best of a few places, then golden section around it."""
    places = [reach * k / _COARSE for k in range(_COARSE + 1)]
    best = max(range(len(places)), key=lambda k: value(places[k]))
    low, high, ratio = places[max(best - 1, 0)], places[min(best + 1, _COARSE)], (math.sqrt(5) - 1) / 2
    first, second = high - ratio * (high - low), low + ratio * (high - low)
    at_first, at_second = value(first), value(second)
    for _ in range(_STEPS):
        if at_first > at_second:
            high, second, at_second = second, first, at_first
            first = high - ratio * (high - low)
            at_first = value(first)
        else:
            low, first, at_first = first, second, at_second
            second = low + ratio * (high - low)
            at_second = value(second)
    return max((value(each), each) for each in (places[best], first, second))[1]
