"""The privacy loss distribution of a cost, one direction at a time.

One direction of a comparison (a unit removed, say): epsilon and delta of a composition, refined until the bracket is narrow.

`PrivacyLoss`: the privacy loss distribution of a cost, to be asked for delta, epsilon and whole curves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from deniable.accounting.bracket import Bracket
from deniable.accounting.pld.composite_pairs import Shifted, enumerate_atoms, split
from deniable.accounting.pld.convolution import ComposedLoss, Single, Steps, View, look, read
from deniable.accounting.pld.cost_pairs import steps_of
from deniable.accounting.pld.outward import TINY, Beyond, Meter, float_above, float_below
from deniable.accounting.profiles import leak
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative, probability

_ATTEMPTS = 7
_PATIENCE = 2
"""A reading stops when so many refinements in all have brought little."""
_FINEST = "no finer grid brings the ends of the bracket closer"


@dataclass(frozen=True, slots=True)
class Direction:
    """Pairs with counts, all in one direction.

    Guarantee: the composition's true profile lies within every bracket that is returned. Targets come as two floats around the
    true one, which may not be a float.
    """

    steps: Steps

    @property
    def ceiling(self) -> float:
        """No finite loss of the composition exceeds this."""
        return math.fsum(times * pair.ceiling for pair, times in self.steps) * (1 + 1e-14)

    def infinite(self) -> tuple[float, float]:
        """Bounds for the mass where only P can answer."""
        low = math.fsum(times * math.log1p(-pair.infinite) for pair, times in self.steps if pair.infinite < 1)
        tops = [float(pair.upper(np.array([min(pair.ceiling, 1e300)]))[0]) for pair, _ in self.steps]
        tops = [top if top > 4 * TINY else 0.0 for top in tops]  # so much `upper` adds for underflow alone
        high = math.fsum(
            count * math.log1p(-top) if top < 1 else -math.inf for top, (_, count) in zip(tops, self.steps, strict=True)
        )
        certain = any(pair.infinite >= 1 for pair, _ in self.steps)
        return (1.0 if certain else -math.expm1(low) * (1 - 1e-12)), -math.expm1(high) * (1 + 1e-12)

    def epsilon(self, target: tuple[float, float], *, gap: float, enough: float = 0.0) -> Bracket:
        """Where the profile falls to the target; a bracket all below `enough` need not be narrow."""
        least, most = self.infinite()
        if not self.steps or least > target[1]:
            return Bracket(math.inf, math.inf) if self.steps else Bracket(0.0, 0.0)
        top = self.ceiling if most <= target[0] else math.inf
        best = Bracket(min(max(self._near_ceiling(target[1], gap), 0.0), top), top)
        if _done(best, gap, enough):
            return best
        try:
            for found in self._epsilons(target, best, gap, enough, least):
                best = found
                if _done(best, gap, enough):
                    return best
        except (Beyond, ArithmeticError) as reason:
            return replace(best, note=_note(reason))
        return replace(best, note=_FINEST)

    def _epsilons(
        self, target: tuple[float, float], best: Bracket, gap: float, enough: float, least: float
    ) -> Iterator[Bracket]:
        """Ever narrower brackets, until refining does not help any more."""
        goal, aim = math.log(max(target[0] - least, target[0] * 1e-9, 1e-300)), None
        share, stalled, meter = _first_share(gap, enough), 0, Meter()
        seen: View | Single | None = None
        for _ in range(_ATTEMPTS):
            seen = seen or self._view(epsilon=aim, log_delta=goal)
            profile = self._profile(share, seen, meter)
            below = enough > 0 and profile.upper(enough) <= target[0]
            low, high = (0.0, enough) if below else profile.losses(target)
            before, best = best, _tighter(best, low, high)
            yield best
            if isinstance(profile, Single):
                return
            if math.isfinite(high) and abs(high - profile.view.epsilon) * profile.view.tilt > 3:
                aim, seen = high, None
            elif isinstance(profile, Shifted) and profile.exact:
                return
            stalled += best.gap > 0.7 * before.gap
            if stalled > _PATIENCE:
                return
            share = _finer(share, best.gap, gap)

    def delta(self, epsilon: tuple[float, float], *, gap: float, enough: float = 0.0) -> Bracket:
        """The profile at a loss of at least 0."""
        least, most = self.infinite()
        if epsilon[0] >= self.ceiling or not self.steps:
            return Bracket(least, max(most, least)) if self.steps else Bracket(0.0, 0.0)
        most = min(most - math.expm1(epsilon[0] - self.ceiling), 1.0) * (1 + 1e-12)  # no loss is further from epsilon
        best = Bracket(least, max(most, least))
        try:
            for found in self._deltas(epsilon, best, gap, enough):
                best = found
                if _done(best, gap, enough):
                    return best
        except (Beyond, ArithmeticError) as reason:
            return replace(best, note=_note(reason))
        return replace(best, note=_FINEST)

    def _deltas(self, epsilon: tuple[float, float], best: Bracket, gap: float, enough: float) -> Iterator[Bracket]:
        """Ever narrower brackets, until refining does not help any more."""
        share, stalled, meter = _first_share(gap, enough), 0, Meter()
        seen = self._view(epsilon=epsilon[0], log_delta=None)
        for _ in range(_ATTEMPTS):
            profile = self._profile(share, seen, meter)
            high = profile.upper(epsilon[0])
            before, best = best, _tighter(best, 0.0 if high <= enough else profile.lower(epsilon[1]), high)
            yield best
            stalled += best.gap > 0.7 * before.gap
            if isinstance(profile, Single) or (isinstance(profile, Shifted) and profile.exact) or stalled > _PATIENCE:
                return
            share = _finer(share, best.gap, gap)

    def _view(self, *, epsilon: float | None, log_delta: float | None) -> View | Single:
        """Where to look; one pair once, and few outcomes, need no grid and are the profile already."""
        if len(self.steps) == 1 and self.steps[0][1] == 1:
            return Single(self.steps[0][0])
        few = enumerate_atoms(self.steps)
        return Single(few) if few is not None else look(self.steps, epsilon=epsilon, log_delta=log_delta)

    def _profile(self, share: float, seen: View | Single, meter: Meter) -> ComposedLoss | Single | Shifted:
        if isinstance(seen, Single):
            return seen
        parts = split(self.steps)
        return Shifted(self.steps, parts, seen, share, meter) if parts else read(self.steps, seen, share, meter)

    def _near_ceiling(self, target: float, gap: float) -> float:
        """A lower bound by the event that every loss is close to its ceiling: delta >= P(S) (1 - e^(epsilon - all of them))."""
        if math.isinf(self.ceiling):
            return 0.0
        mass, losses = 0.0, 0.0
        for pair, times in self.steps:
            loss = pair.ceiling * (1 - gap / 4)
            # there Q(S) is at least P(S) e^-ceiling, so P(S) is at least this share of P(S) - Q(S)
            chance = float(pair.line(np.array([loss]), np.zeros(1))[0]) / -math.expm1(-pair.ceiling) * (1 - 1e-12)
            if not chance > 0:
                return 0.0
            mass += times * math.log(chance)
            losses += times * loss
        share = math.exp(math.log(target) - mass) if math.log(target) < mass else 1.0
        return losses * (1 - 1e-14) + math.log1p(-share) * (1 + 1e-12) if share < 0.999 else 0.0


def _tighter(best: Bracket, low: float, high: float) -> Bracket:
    """Both brackets hold the truth; should rounding make them miss each other by a hair, the older upper end stands."""
    upper = min(best.upper, high)
    lower = max(best.lower, low)
    return Bracket(lower, upper) if lower <= upper else best


def _note(reason: Exception) -> str:
    return str(reason) if isinstance(reason, Beyond) else "the losses are beyond floats"


def _share(gap: float) -> float:
    return min(max(1.2 * math.sqrt(gap), 1e-3), 0.1)


def _first_share(gap: float, enough: float) -> float:
    """The direction that does not decide is often told by a coarse reading already."""
    return min(4 * _share(gap), 0.1) if enough > 0 else _share(gap)


def _finer(share: float, have: float, want: float) -> float:
    return max(share * min(max(0.8 * math.sqrt(want / have), 0.2), 0.7), 5e-4)


def _done(bracket: Bracket, gap: float, enough: float) -> bool:
    narrow = math.isfinite(bracket.upper) and bracket.upper - bracket.lower <= gap * bracket.upper
    return narrow or bracket.upper <= enough


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


def delta(cost: Cost, *, epsilon: Real, gap: float = GAP) -> Bracket:
    """The least delta such that the cost is (epsilon, delta)-private, with a bracket whose ends lie within a relative `gap`.

    Guarantee: the upper end is sound; the lower end is not above the truth of the worst mechanism with this cost.
    """
    return PrivacyLoss(cost).delta(epsilon, gap=gap)


def epsilon(cost: Cost, *, delta: Real, gap: float = GAP) -> Bracket:
    """The least epsilon such that the cost is (epsilon, delta)-private, with a bracket whose ends lie within a relative `gap`.

    Guarantee: the upper end is sound; the lower end is not above the truth of the worst mechanism with this cost.
    """
    return PrivacyLoss(cost).epsilon(delta, gap=gap)
