"""Mechanisms with finitely many losses, as pairs of atoms: randomized response, pure privacy, discrete Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.atoms import Atoms, AtomsPair
from deniable.accounting.pld.floats import TINY, U, float_above, float_below
from deniable.exact import Interval, exp, ln


def _enclosed(value: Interval | Fraction) -> tuple[float, float]:
    if isinstance(value, Fraction):
        return float_below(value), float_above(value)
    return float_below(value.lower), float_above(value.upper)


def pair_of_atoms(
    atoms: Iterable[tuple[Interval | Fraction, Interval | Fraction]],
    *,
    infinite: Interval | Fraction = Fraction(0),
    lattice: float = 0.0,
) -> AtomsPair:
    """A pair from (loss, mass) in ascending order of loss."""
    sides = []
    listed = [(_enclosed(loss), _enclosed(mass)) for loss, mass in atoms]
    for side in (0, 1):
        loss = np.array([each[0][side] for each in listed])
        mass = np.array([max(each[1][side], 0.0) for each in listed])
        sides.append(Atoms(loss, mass, _enclosed(infinite)[side]))
    return AtomsPair(sides[0], sides[1], lattice=lattice)


def pure(epsilon: Fraction) -> AtomsPair:
    """Any epsilon-private mechanism: two answers, epsilon apart (Kairouz, Oh and Viswanath 2015)."""
    high = 1 / (1 + exp(-epsilon, 80))
    return pair_of_atoms([(-epsilon, 1 - high), (epsilon, high)], lattice=float(epsilon))


def leak(chance: Fraction) -> AtomsPair:
    """Everything is shown with this probability, nothing otherwise."""
    return pair_of_atoms([(Fraction(0), 1 - chance)], infinite=chance)


def randomized_response(truth: Fraction, categories: int) -> AtomsPair:
    """Keep the truth with probability `truth`, else any of the other categories alike."""
    other = (1 - truth) / (categories - 1)
    loss = ln(truth / other, 80)
    middle: list[tuple[Interval | Fraction, Interval | Fraction]] = []
    if categories > 2:
        middle = [(Fraction(0), other * (categories - 2))]
    return pair_of_atoms([(-loss, other), *middle, (loss, truth)], lattice=float(loss.lower))


def discrete_gaussian(scale: Fraction, shift: int) -> AtomsPair:
    """Noise e^(-k^2/(2 scale^2)) on the integers, shifted: the loss at k is shift (shift - 2 k)/(2 scale^2)."""
    deviation = float(scale)
    far = math.ceil(14.5 * deviation)
    reach = far + min(shift, 3 * far) + 2  # beyond lies less than 1e-45
    k = np.arange(reach, -reach - 1, -1, dtype=np.int64).astype(np.float64)
    exponent = k * k / 2 / deviation / deviation
    weight = np.exp(-exponent)
    total = float(weight.sum())
    mass, blur = weight / total, U * (80 + 8 * exponent + math.log2(len(k)))
    tail = 4 * float(mass[0]) * (1 + deviation) + TINY
    unit = float(Fraction(shift) / (2 * scale**2))
    loss = unit * (shift - 2 * k)
    lift = 6 * U * np.abs(loss)
    below = Atoms(loss - lift, mass * (1 - blur) * (1 - 2 * tail))
    above = Atoms(loss + lift, mass * (1 + blur) + TINY, tail)
    return AtomsPair(below, above, lattice=unit * (1 if shift % 2 else 2) * (1 - 4 * U))
