"""Compositions as one pair: few atoms listed, many convolved, atoms beside a Gaussian shifted.

Compositions with few outcomes, added up outcome by outcome: no grid, no transform, nothing lost but the last digits.

Promise: atoms above stay above the truth and atoms below stay below it, because every rounding of a loss or a mass goes that way
(docs/theory/pld.md); the profile grows with both.

A composition taken as one pair: for a sample that several releases see, or for disjoint parts with several releases each.

Its profile is tabulated once, with as many tilts as it takes; between the points of the table the bounds stay sound: chords above a
convex function from above, lines P(S) - x Q(S) of tabulated events from below.

Releases with few outcomes beside others: the few are added up one by one, the others shifted by each of their losses.

With m the masses of the few under P at their losses l and f the profile of the others, delta(epsilon) is the sum of
m f(epsilon - l), and m at infinity besides (docs/theory/pld.md): no atom has to lie on a grid. As f falls, bounds keep their
directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from deniable.accounting.pld.atom_pairs import Atoms, AtomsPair
from deniable.accounting.pld.convolution import ComposedLoss, Steps, View, crossing, look, read
from deniable.accounting.pld.laplace_pairs import DiscreteLaplacePair
from deniable.accounting.pld.outward import MOST_WORK, TINY, Beyond, Floats, Meter, U
from deniable.accounting.pld.pair import Pair
from deniable.accounting.pld.saddle_point import PairSurvey, estimate
from deniable.accounting.pld.sampled_pairs import SampledBackPair, SampledPair

_MOST = 1 << 18
_ALIKE = 2.0**-44


@lru_cache(maxsize=64)
def enumerate_atoms(steps: tuple[tuple[Pair, int], ...]) -> AtomsPair | None:
    """The whole composition as one pair of atoms; None when some release has too many losses, or all together do."""
    sides: list[Atoms] = []
    for side in (-1.0, +1.0):
        whole = Atoms(np.zeros(1), np.ones(1))
        for pair, times in steps:
            law = atoms_of(pair, side)
            power = None if law is None else _power(law, times, side)
            joined = None if power is None else _both(whole, power, side)
            if joined is None:
                return None
            whole = joined
        sides.append(whole)
    return AtomsPair(sides[0], sides[1])


def atoms_of(pair: Pair, side: float) -> Atoms | None:
    """A law of finitely many losses, bounded from the given side; None for any other."""
    match pair:
        case AtomsPair():
            return pair.above if side > 0 else pair.below
        case DiscreteLaplacePair():
            return _discrete_laplace(pair, side)
        case SampledPair(AtomsPair() | DiscreteLaplacePair(), _, _):
            return _sampled(pair, side)
        case SampledBackPair(AtomsPair() | DiscreteLaplacePair(), _, _):
            return _sampled_back(pair, side)
        case _:
            return None


def _moved(loss: Floats, mass: Floats, infinite: float, side: float, rounding: float) -> Atoms:
    """Atoms, moved to a side by `rounding`, which is relative for masses and relative to 1 + |loss| for losses."""
    order = np.argsort(loss, kind="stable")
    moved = loss[order] + side * rounding * (1 + np.abs(loss[order]))
    return Atoms(moved, mass[order] * (1 + side * rounding), infinite * (1 + side * rounding))


def _discrete_laplace(pair: DiscreteLaplacePair, side: float) -> Atoms | None:
    """The losses a (shift - 2t), t = 0 .. shift: nothing beyond either end of the shift is told apart."""
    if pair.shift > 4000:
        return None
    a, t = (pair.high if side > 0 else pair.low), np.arange(pair.shift + 1, dtype=np.float64)
    mass = -np.expm1(-a) / (1 + np.exp(-a)) * np.exp(-a * t)
    mass[0], mass[-1] = 1 / (1 + np.exp(-a)), np.exp(-a * pair.shift) / (1 + np.exp(-a))
    return _moved(a * (pair.shift - 2 * t), mass, 0.0, side, U * (64 + 8 * a * pair.shift))


def _sampled(pair: SampledPair, side: float) -> Atoms | None:
    """(1-q) Q + q P against Q: a loss l becomes ln(1 - q + q e^l); where only Q answers, the loss is ln(1 - q)."""
    base, rate = atoms_of(pair.base, side), pair.high if side > 0 else pair.low
    behind = atoms_of(pair.base.swapped, side)
    if base is None or behind is None or rate == 1 or float(np.abs(base.loss).max()) > 300:
        return None
    loss, mass = np.log1p(rate * np.expm1(base.loss)), base.mass * ((1 - rate) * np.exp(-base.loss) + rate)
    if behind.infinite > 0:
        loss, mass = np.append(loss, np.log1p(-rate)), np.append(mass, (1 - rate) * behind.infinite)
    return _moved(loss, mass, rate * base.infinite, side, _wear(base, rate))


def _sampled_back(pair: SampledBackPair, side: float) -> Atoms | None:
    """P against (1-q) P + q Q: a loss l becomes -ln(1 - q + q e^-l), an infinite one -ln(1 - q)."""
    base, rate = atoms_of(pair.base, side), pair.high if side > 0 else pair.low
    if base is None or rate == 1 or float(np.abs(base.loss).max()) > 300:
        return None
    loss, mass = -np.log1p(rate * np.expm1(-base.loss)), base.mass
    if base.infinite > 0:
        loss, mass = np.append(loss, -np.log1p(-rate)), np.append(mass, base.infinite)
    return _moved(loss, mass, 0.0, side, _wear(base, rate))


def _wear(base: Atoms, rate: float) -> float:
    """A mass falls with its loss, and the rate is known to a float only: bounds both, and the rounding of the formulas."""
    return U * (200 + 64 * float(np.abs(base.loss).max())) * (1 + 1 / (1 - rate))


def _power(law: Atoms, times: int, side: float) -> Atoms | None:
    found: Atoms | None = Atoms(np.zeros(1), np.ones(1))
    square: Atoms | None = law
    while times and found is not None and square is not None:
        if times & 1:
            found = _both(found, square, side)
        times >>= 1
        square = _both(square, square, side) if times else square
    return None if square is None else found


def _both(one: Atoms, two: Atoms, side: float) -> Atoms | None:
    """Two independent laws together: losses add, masses multiply; losses alike to thirteen digits become one."""
    if len(one.loss) * len(two.loss) > _MOST:
        return None
    size = 4 * U * np.add.outer(np.abs(one.loss), np.abs(two.loss))
    loss = (np.add.outer(one.loss, two.loss) + side * size).reshape(-1)
    mass = np.multiply.outer(one.mass, two.mass).reshape(-1)
    order = np.argsort(loss, kind="stable")
    loss, mass = loss[order], mass[order]
    wide = max(float(np.abs(loss).max()), 1e-12) * _ALIKE
    starts = np.flatnonzero(np.diff(np.floor(loss / wide), prepend=-np.inf))
    ends = np.append(starts[1:], len(loss)) - 1
    together = np.add.reduceat(mass, starts) * (1 + side * U * (4 + int((ends - starts).max())))
    infinite = one.infinite * (float(two.mass.sum()) + two.infinite) + float(one.mass.sum()) * two.infinite
    infinite *= 1 + side * U * (8 + len(one.mass) + len(two.mass))
    return Atoms(loss[ends] if side > 0 else loss[starts], together, infinite)


_SHARES = (0.05, 0.03, 0.01)
_RUNGS = 120
_FALL = 0.12
"""Between two points delta falls by about this share: a chord is then within two thousandths of the curve."""
_DEPTHS = (
    0.5,
    1,
    1.5,
    2.1,
    2.8,
    3.6,
    4.5,
    5.5,
    6.6,
    7.8,
    9.2,
    10.8,
    12.6,
    14.6,
    17,
    20,
    23,
    27,
    32,
    38,
    45,
    53,
    62,
    72,
)
"""Natural logarithms of 1/delta, close enough that neighbouring tilts see well in between; the last is 5e-32."""


class NestedPair:
    """Steps in one direction, as one pair; `swapped` is the other direction."""

    kink = 0.0
    lattice = 0.0

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.ceiling = math.fsum(times * pair.ceiling for pair, times in steps) * (1 + 1e-14)
        kept = math.fsum(times * math.log1p(-min(pair.infinite, 0.5)) for pair, times in steps)
        self.infinite = -math.expm1(kept) * (1 - 1e-12)
        self._table: tuple[Floats, Floats, Floats, Floats] | None = None
        self._back: NestedPair | None = None
        self._meter = Meter(10 * MOST_WORK)

    @property
    def swapped(self) -> NestedPair:
        """The other direction, made once: its table is costly, and steps that are their own swap need no second one."""
        if self._back is None:
            back = tuple((pair.swapped, times) for pair, times in self.steps)
            same = all(pair is other for (pair, _), (other, _) in zip(self.steps, back, strict=True))
            self._back = self if same else NestedPair(back)
            self._back._back = self
        return self._back

    def upper(self, epsilon: Floats) -> Floats:
        points, profile, _, _ = self._tabulated()
        place = np.clip(np.searchsorted(points, epsilon, side="right") - 1, 0, len(points) - 2)
        left, right = points[place], points[place + 1]
        share = np.clip(np.expm1(epsilon - left) / np.expm1(right - left), 0.0, 1.0)
        chord = profile[place] + (profile[place + 1] - profile[place]) * share
        beyond = np.where(epsilon >= self.ceiling, profile[-1] if self.infinite > 0 else TINY, profile[-1])
        return np.where(epsilon < points[-1], chord * (1 + 1e-13), beyond) + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        points, _, chance, other = self._tabulated()
        place = np.clip(np.searchsorted(points, at), 0, len(points) - 1)
        value = chance[place] - np.exp(epsilon) * other[place] * (1 + 1e-13)
        return np.maximum(value, -1.0) - TINY

    def _tabulated(self) -> tuple[Floats, Floats, Floats, Floats]:
        if self._table is None:
            try:
                self._table = self._made()
            except (Beyond, ArithmeticError):  # nothing is known, which is sound
                points = np.array([0.0, 1.0])
                self._table = points, np.ones(2), np.zeros(2), np.zeros(2)
        return self._table

    def _made(self) -> tuple[Floats, Floats, Floats, Floats]:
        points, readings = self._points()
        upper, chance, other = np.ones_like(points), np.zeros_like(points), np.zeros_like(points)
        best = np.zeros_like(points)
        centers = np.array([center for center, _ in readings])
        for row, epsilon in enumerate(points):
            close = int(np.searchsorted(centers, epsilon))
            for reading in (each for _, near in readings[max(close - 1, 0) : close + 1] for each in near):
                upper[row] = min(upper[row], reading.upper(float(epsilon)))
                p, q = reading.below.event(float(epsilon))
                p = max(p + reading.below.infinite, 0.0)
                if p - math.exp(epsilon) * q > best[row]:
                    best[row], chance[row], other[row] = p - math.exp(epsilon) * q, p, q
        return points, np.minimum.accumulate(upper), chance, other

    def _points(self) -> tuple[Floats, list[tuple[float, list[ComposedLoss]]]]:
        """Losses from 0 to where next to nothing is left, and readings centred among them, for each depth of delta."""
        readings = [(0.0, self._read(look(self.steps, epsilon=0.0)))]
        for depth in _DEPTHS:
            view = look(self.steps, log_delta=-depth)
            if view.epsilon >= self.ceiling * 0.9999:
                break
            if view.epsilon > readings[-1][0]:
                readings.append((view.epsilon, self._read(view)))
        small = max(min(each.upper(0.0) for each in readings[0][1]), 1e-12) * 1e-2
        rungs = [0.0, *(small * 1.05 ** np.arange(_RUNGS))]
        for (low, _), (high, near) in pairwise(readings):
            rungs += np.arange(low, high, _FALL / near[0].view.tilt).tolist()
        top = max(readings[-1][0], 2 * small)
        return np.unique([rung for rung in rungs if rung < top] + [top]), readings

    def _read(self, view: View) -> list[ComposedLoss]:
        """On several grids: where atoms fall between the points of one, another serves better; every one is sound."""
        return [read(self.steps, view, share, self._meter) for share in _SHARES]


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
    few = enumerate_atoms(tuple(step for step, known in zip(steps, listed, strict=True) if known))
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
    survey = PairSurvey([view.survey.sketches[row] for row in parts.others], [view.times[row] for row in parts.others])
    at = survey.cumulants(view.tilt)
    return replace(
        view,
        survey=survey,
        at=at,
        times=tuple(view.times[row] for row in parts.others),
        epsilon=estimate(at, view.tilt)[0],
    )
