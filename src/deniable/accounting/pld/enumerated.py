"""Compositions with few outcomes, added up outcome by outcome: no grid, no transform, nothing lost but the last digits.

Promise: atoms above stay above the truth and atoms below stay below it, because every rounding of a loss or a mass goes that way
(docs/theory/pld.md); the profile grows with both.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from deniable.accounting.pld.atoms import Atoms, AtomsPair
from deniable.accounting.pld.floats import Floats, U
from deniable.accounting.pld.laplace import DiscreteLaplacePair
from deniable.accounting.pld.pair import Pair
from deniable.accounting.pld.sampled import SampledBackPair, SampledPair

_MOST = 1 << 18
_ALIKE = 2.0**-44


@lru_cache(maxsize=64)
def enumerated(steps: tuple[tuple[Pair, int], ...]) -> AtomsPair | None:
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
