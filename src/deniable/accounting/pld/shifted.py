"""Releases with few outcomes beside others: the few are added up one by one, the others shifted by each of their losses.

With m the masses of the few under P at their losses l and f the profile of the others, delta(epsilon) is the sum of
m f(epsilon - l), and m at infinity besides (docs/theory/pld.md): no atom has to lie on a grid. As f falls, bounds keep their
directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from deniable.accounting.pld.atoms import Atoms, AtomsPair
from deniable.accounting.pld.composition import Steps, View, crossing, read
from deniable.accounting.pld.enumerated import atoms_of, enumerated
from deniable.accounting.pld.floats import Floats, U
from deniable.accounting.pld.limits import Meter
from deniable.accounting.pld.pair import Pair
from deniable.accounting.pld.survey import Survey, estimate

_WEAR = 1e-13
_MOST_BESIDE_ONE = 1 << 14
_MOST_BESIDE_MANY = 1 << 9


@dataclass(frozen=True, slots=True)
class Split:
    """The releases with few outcomes as one pair, and the rows of the others."""

    few: AtomsPair
    others: tuple[int, ...]


def split(steps: Steps) -> Split | None:
    """Part the steps, if some have few outcomes, all of those together do, and some have not."""
    listed = [atoms_of(pair, +1.0) is not None for pair, _ in steps]
    others = tuple(row for row, known in enumerate(listed) if not known)
    if not others or len(others) == len(steps):
        return None
    few = enumerated(tuple(step for step, known in zip(steps, listed, strict=True) if known))
    once = len(others) == 1 and steps[others[0]][1] == 1
    most = _MOST_BESIDE_ONE if once else _MOST_BESIDE_MANY
    return None if few is None or len(few.above.loss) > most else Split(few, others)


class Shifted:
    """The profile of a composition that was split; `exact` if no grid was needed."""

    def __init__(self, steps: Steps, parts: Split, view: View, share: float, meter: Meter) -> None:
        self.view, self._few = view, parts.few
        others = tuple(steps[row] for row in parts.others)
        self.exact = len(others) == 1 and others[0][1] == 1
        self._pair = others[0][0]
        self._rest = None if self.exact else read(others, _seen(view, parts), share, meter)

    def upper(self, epsilon: float) -> float:
        """At least delta(epsilon)."""
        atoms = self._few.above
        return min(1.0, (_sum(atoms, self._each(epsilon - atoms.loss, +1)) + atoms.infinite) * (1 + _WEAR))

    def lower(self, epsilon: float) -> float:
        """At most delta(epsilon)."""
        atoms = self._few.below
        return max(0.0, (_sum(atoms, self._each(epsilon - atoms.loss, -1)) + atoms.infinite) * (1 - _WEAR))

    def losses(self, target: tuple[float, float]) -> tuple[float, float]:
        """Where the profile falls to a target between these two: at most the one, at least the other."""
        guess, slope = self.view.epsilon, self.view.tilt
        low, _ = crossing(self.lower, target[1], guess=guess, slope=slope)
        _, high = crossing(self.upper, target[0], guess=guess, slope=slope)
        return low, high

    def _each(self, epsilon: Floats, side: int) -> Floats:
        """The profile of the others at losses of either sign, bounded from one side; the differences are a rounding off."""
        epsilon = epsilon - side * 4 * U * (np.abs(epsilon) + abs(self._few.ceiling))
        if self._rest is None:
            return _profile(self._pair, epsilon, side)
        ask = self._rest.upper if side > 0 else self._rest.lower
        return np.array([ask(each) for each in epsilon.tolist()])


def _sum(atoms: Atoms, values: Floats) -> float:
    return math.fsum((atoms.mass * values).tolist())


def _profile(pair: Pair, epsilon: Floats, side: int) -> Floats:
    """f(x) at any x = e^epsilon; below one by 1 - x + x g(1/x), g the swapped pair's."""
    size, ahead = np.abs(epsilon), epsilon >= 0
    found = np.zeros_like(epsilon)
    for here, each in ((ahead, pair), (~ahead, pair.swapped)):
        at = size[here]
        found[here] = each.upper(at) if side > 0 else np.maximum(each.line(at, at), each.infinite)
    shrink = np.exp(-size)
    turned = -np.expm1(-size) + shrink * found + side * 32 * U
    whole: Floats = np.where(ahead, found, turned)
    return np.clip(whole, 0.0, 1.0)


def _seen(view: View, parts: Split) -> View:
    """The same tilt, looked at from the others alone; how small the answer is stays what it was."""
    survey = Survey([view.survey.sketches[row] for row in parts.others], [view.times[row] for row in parts.others])
    at = survey.cumulants(view.tilt)
    return replace(
        view,
        survey=survey,
        at=at,
        times=tuple(view.times[row] for row in parts.others),
        epsilon=estimate(at, view.tilt)[0],
    )
