"""`PrivacyLoss`: the privacy loss distribution of a cost, to be asked for delta, epsilon and whole curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from deniable.accounting.bracket import Bracket
from deniable.accounting.pld.composition import Steps
from deniable.accounting.pld.direction import Direction
from deniable.accounting.pld.floats import float_above, float_below
from deniable.accounting.pld.reading import steps_of
from deniable.accounting.profiles import leak
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative, probability

GAP = 1e-4
"""How far apart the ends of a bracket may lie, relative to the upper one, unless asked otherwise."""


class PrivacyLoss:
    """What a cost's answers say about one unit, as a distribution of losses; made once, asked often.

    Guarantee: brackets enclose the reading of the cost's dominating pairs, composed over all its releases. The queries may be
    chosen
    along the way, their losses are fixed beforehand. Both directions (a unit removed, a unit added) are read; the worse one counts.
    """

    def __init__(self, cost: Cost) -> None:
        steps, leaks = steps_of(cost)
        back: Steps = tuple((pair.swapped, times) for pair, times in steps)
        one_way = all(pair is other for (pair, _), (other, _) in zip(steps, back, strict=True))
        self.directions = (Direction(steps),) if one_way else (Direction(steps), Direction(back))
        self._leak = leak(leaks)

    def delta(self, epsilon: Real, *, gap: float = GAP) -> Bracket:
        """The least delta such that the cost is (epsilon, delta)-private."""
        loss, worst = nonnegative(epsilon=epsilon), Bracket(0.0, 0.0)
        with np.errstate(all="ignore"):
            for direction in self.directions:
                worst = _worse(worst, direction.delta(_around(loss), gap=_checked(gap), enough=worst.lower))
        found = Bracket.around(
            _with(self._leak.lower, Fraction(worst.lower)),
            min(_with(self._leak.upper, Fraction(worst.upper)), Fraction(1)),
        )
        return replace(found, note=worst.note if found.gap > gap else "")

    def epsilon(self, delta: Real, *, gap: float = GAP) -> Bracket:
        """The least epsilon such that the cost is (epsilon, delta)-private; infinite if no finite one is."""
        chance, worst = probability(delta=delta), Bracket(0.0, 0.0)
        if chance == 1:
            return worst
        if self._leak.lower == 1:
            return Bracket(math.inf, math.inf)
        least, most = _without(self._leak.upper, chance), _without(self._leak.lower, chance)
        if most < 0 or (most == 0 and not self._bounded()):
            return Bracket(math.inf, math.inf)
        target = max(float_below(least), 0.0), max(float_above(most), 1e-300)
        with np.errstate(all="ignore"):
            for direction in self.directions:
                worst = _worse(worst, direction.epsilon(target, gap=_checked(gap), enough=worst.lower))
        return worst if worst.gap > gap else replace(worst, note="")

    def profile(self, epsilons: Sequence[Real], *, gap: float = 1e-3) -> tuple[Bracket, ...]:
        """delta at each of these epsilons."""
        return tuple(self.delta(epsilon, gap=gap) for epsilon in epsilons)

    def _bounded(self) -> bool:
        return all(math.isfinite(direction.ceiling) for direction in self.directions)


def _worse(one: Bracket, other: Bracket) -> Bracket:
    """The larger of two numbers; what is said of the one with the larger upper end holds for both."""
    note = max(one, other, key=lambda each: (each.upper, each.note)).note
    return Bracket(max(one.lower, other.lower), max(one.upper, other.upper), note)


def _checked(gap: float) -> float:
    if not 0 < gap < 1:
        raise InvalidArgument(f"gap must be between 0 and 1, got {gap!r}")
    return gap


def _around(value: Fraction) -> tuple[float, float]:
    return float_below(value), float_above(value)


def _with(leak: Fraction, rest: Fraction) -> Fraction:
    """Both: leaked, or else the rest."""
    return leak + (1 - leak) * rest


def _without(leak: Fraction, total: Fraction) -> Fraction:
    """What is left of a total when the leak is taken out."""
    return (total - leak) / (1 - leak) if leak < 1 else Fraction(-1)
