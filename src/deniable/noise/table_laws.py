"""The laws that tables are made of, in fixed-point lower bounds.

Each law is given as certified integer lower bounds of 2**bits * P(outcome).

A law is given by unnormalised masses: lower bounds in units of 2**-places, one bound on how much each may lack, and an
upper bound of everything beyond the listed outcomes. Dividing a lower bound by the upper bound of the total gives a lower
bound of the probability; no constant such as pi is ever needed.

Fixed-point lower bounds, in plain integers.

A number with `places` binary places is an integer counting units of 2**-places. Everything here rounds down and says by
how many units at most, so that whatever is built on it can be proved to stay below the true value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.exact import exp

EXP_LOSS = 2
"""`exp_below` is less than this many units below the true value."""


def exp_below(exponent: Fraction, places: int) -> int:
    """An integer at most 2**places * exp(-exponent), for exponent >= 0, and less than `EXP_LOSS` units below it."""
    if exponent > places:  # e**-x < 2**-x: the value is below one unit
        return 0
    lower = exp(-exponent, places + 1).lower
    return (lower.numerator << places) // lower.denominator


def geometric_ladder(*, step: Fraction, count: int, places: int) -> list[int]:
    """Lower bounds of exp(-j*step) for j below `count`, within `ladder_loss(count)` units."""
    ratio, value = exp_below(step, places), 1 << places
    rungs = []
    for _ in range(count):
        rungs.append(value)
        value = value * ratio >> places
    return rungs


def gaussian_ladder(*, start: Fraction, step: Fraction, count: int, places: int) -> list[int]:
    """Lower bounds of exp(-(start + j*step)**2 / 2) for j below `count`, within `ladder_loss(count)` units."""
    value = exp_below(start * start / 2, places)
    ratio = exp_below(start * step + step * step / 2, places)
    curve = exp_below(step * step, places)
    rungs = []
    for _ in range(count):
        rungs.append(value)
        value = value * ratio >> places
        ratio = ratio * curve >> places
    return rungs


def ladder_loss(count: int) -> int:
    """How many units a rung of a ladder of `count` rungs can lie below the truth.

    All factors are at most one, so a product loses at most what its factors lose and one unit for rounding. The ratio at
    rung j therefore loses at most 2 + 3j units and the value there at most 2 + (3 + 3) + ... , less than 2 + 3j(j + 1).
    """
    return 2 + 3 * count * (count + 1)


_GUARD = 40
"""Binary places beyond the bits asked for; ladders of 2**12 rungs lose about 2**26 units."""


def normalised(masses: list[int], *, loss: int, rest: int, bits: int) -> list[int]:
    """Lower bounds of 2**bits * P: every total is at most the sum of the bounds, all losses, and the rest."""
    total = sum(masses) + loss * len(masses) + rest
    return [(mass << bits) // total for mass in masses]


def _interleaved(inner: Sequence[int], outer: Sequence[int]) -> list[int]:
    """inner[0], outer[0], inner[1], outer[1], ...; `inner` may be one longer."""
    out = [0] * (len(inner) + len(outer))
    out[::2], out[1::2] = inner, outer
    return out


def signed(index: int) -> int:
    """Outcome numbers 0, 1, 2, 3, 4 stand for 0, -1, 1, -2, 2."""
    return index >> 1 if not index & 1 else ~(index >> 1)


def _geometric_count(step: Fraction, bits: int) -> int:
    """How many steps until exp(-i*step) is below 2**-bits (ln 2 < 7/10)."""
    return math.ceil(Fraction(bits * 7, 10) / step) + 1


def _geometric_rest(mass: int, step: Fraction) -> int:
    """Upper bound of mass + mass*e**-step + ...: 1 / (1 - e**-x) <= 1 + 1/x."""
    return mass * math.ceil(1 + 1 / step)


@dataclass(frozen=True, slots=True)
class Geometric:
    """P(i) proportional to exp(-i*step), on all i >= 0 or on those below `size`."""

    step: Fraction
    size: int | None = None

    def bounds(self, bits: int) -> list[int]:
        count = _geometric_count(self.step, bits)
        count = count if self.size is None else min(count, self.size)
        loss = ladder_loss(count)
        ladder = geometric_ladder(step=self.step, count=count + 1, places=bits + _GUARD)
        rest = 0 if count == self.size else _geometric_rest(ladder.pop() + loss, self.step)
        return normalised(ladder[:count], loss=loss, rest=rest, bits=bits)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The discrete Laplace law of scale `scale` in blocks of `width`: P(2i) ~ q**(i*width), P(2i+1) ~ q * q**(i*width).

    Read by `signed`, outcome 2i is the block of `width` values from i*width up, outcome 2i+1 its mirror image from
    -1 - i*width down; the factor q = exp(-shift/scale) is what the shift by one costs. With shift 0 this is the law of
    the continuous Laplace variable rounded down. `sides` limits both, for truncation.
    """

    scale: Fraction
    width: int = 1
    shift: int = 1
    sides: tuple[int, int] | None = None

    def bounds(self, bits: int) -> list[int]:
        step, places = self.width / self.scale, bits + _GUARD
        count = _geometric_count(step, bits)
        upper, lower = (count, count) if self.sides is None else (min(count, side) for side in self.sides)
        loss = ladder_loss(upper)
        ladder = geometric_ladder(step=step, count=upper + 1, places=places)
        factor = exp_below(self.shift / self.scale, places)
        masses = _interleaved(ladder[:upper], [mass * factor >> places for mass in ladder[:lower]])
        rest = 0 if (upper, lower) == self.sides else 2 * _geometric_rest(ladder[upper] + loss, step)
        return normalised(masses, loss=loss + 3, rest=rest, bits=bits)


def _gaussian_count(scale: Fraction, bits: int) -> int:
    """How many steps until exp(-(k/scale)**2 / 2) is below 2**-bits."""
    return math.isqrt(math.ceil(scale * scale * bits * 7 / 5)) + 1


def _gaussian_rest(mass: int, scale: Fraction, count: int) -> int:
    """Upper bound of twice the tail from `count` on: each mass is at most e**-(count/scale**2) of the one before."""
    return 2 * mass * math.ceil(1 + scale * scale / count)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw:
    """P(k) proportional to exp(-k**2 / (2 scale**2)), outcomes read by `signed`."""

    scale: Fraction

    def bounds(self, bits: int) -> list[int]:
        count = _gaussian_count(self.scale, bits)
        loss = ladder_loss(count + 1)
        ladder = gaussian_ladder(start=Fraction(0), step=1 / self.scale, count=count + 1, places=bits + _GUARD)
        rest = _gaussian_rest(ladder[count] + loss, self.scale, count)
        return normalised(_interleaved(ladder[:count], ladder[1:count]), loss=loss, rest=rest, bits=bits)


@dataclass(frozen=True, slots=True)
class RoundedGaussianLaw:
    """P(k) ~ Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale), outcomes read by `signed`; on |k| <= radius where that is given.

    A small scale is computed on a finer lattice: an odd number of fine cells make up one cell exactly.
    """

    scale: Fraction
    radius: int | None = None

    def bounds(self, bits: int) -> list[int]:
        least = math.isqrt(bits * 7 // 5) + 2  # keeps k/scale**2 below one, as `_cell_masses` needs
        cells = 1 + 2 * math.ceil((least / self.scale - 1) / 2) if self.scale < least else 1
        fine = self.scale * cells
        masses, loss = _cell_masses(fine, bits=bits, places=bits + _GUARD)
        rest = _gaussian_rest(masses[-1] + loss, fine, len(masses) - 1)
        half, sums = _cell_sums(masses[:-1], cells)
        if self.radius is not None and self.radius < len(half):
            complete = cells == 1 or self.radius < len(half) - 1  # the last cell listed may lack some of its fine ones
            half, rest = half[: self.radius + 1], 0 if complete else rest
        return normalised(_interleaved(half, half[1:]), loss=loss * sums, rest=rest, bits=bits)


def _cell_sums(masses: list[int], cells: int) -> tuple[list[int], int]:
    """The masses of wide cells 0, 1, 2, ... from those of fine cells, and how many fine ones any of them can hold."""
    if cells == 1:
        return masses, 1
    reach = cells // 2
    wide = [masses[0] + 2 * sum(masses[1 : reach + 1])]
    wide += [sum(masses[start : start + cells]) for start in range(reach + 1, len(masses), cells)]
    return wide, 2 * min(cells, len(masses))


def _cell_masses(scale: Fraction, *, bits: int, places: int) -> tuple[list[int], int]:
    """Lower bounds, up to one common factor, of the normal mass of cells 0, 1, 2, ...; and what each may lack.

    With a = k/scale**2, the mass of cell k is exp(-k**2/(2 scale**2)) times the integral over |y| < 1/2 of
    cosh(a*y) * exp((1/4 - y*y)/(2 scale**2)): a power series in a*a whose coefficients are positive and do not depend on k.
    Since a is below one, Horner's rule adds at most a few units per term to what the coefficients lack (one per term).
    """
    count = _gaussian_count(scale, bits)
    ladder = gaussian_ladder(start=Fraction(0), step=1 / scale, count=count + 1, places=places)
    fourth = scale**4
    unit = (fourth.denominator << (places + 64)) // fourth.numerator
    series = _cell_series(scale, largest=count * count * unit >> 64, places=places)
    masses = []
    for k, height in enumerate(ladder):
        square, value = k * k * unit >> 64, 0
        for coefficient in series:
            value = coefficient + (value * square >> places)
        masses.append(height * value >> places)
    return masses, 2 * ladder_loss(count + 1) + 2 * places * places


def _cell_series(scale: Fraction, *, largest: int, places: int) -> list[int]:
    """Coefficients, highest power first, of the integral of cosh(a*y) exp((1/4 - y*y)/(2 scale**2)) over |y| < 1/2.

    The coefficient of a**(2i) is the sum over n of t(n)/(2i)!, t(0) = 2**(-2i)/(2i+1), t(n+1) = t(n)/(8 scale**2 (i+n+3/2)).
    Powers are taken until `largest`, the greatest a*a, makes them vanish.
    """
    curve = scale * scale * 4
    coefficients, power, i = [], 1 << places, 0
    while power:
        term, total, n = (1 << places) // ((2 * i + 1) << (2 * i)), 0, 0
        while term:
            total += term
            term, n = term * curve.denominator // (curve.numerator * (2 * i + 2 * n + 3)), n + 1
        coefficients.append(total // math.factorial(2 * i))
        i += 1
        power = (largest**i << places) // (math.factorial(2 * i) << (places * i)) >> (2 * i)
    return coefficients[::-1]


@dataclass(frozen=True, slots=True)
class Steps:
    """Step heights over a Gaussian: outcome h (read by `signed`) is a block of `width` lattice cells or points.

    P(h) is proportional to exp(-near**2 / (2 scale**2)), near the block's least distance from zero. Cells reach half a
    step further in than points: block 0 touches zero, block i > 0 starts at i*width - inset, block -(i+1) at
    i*width + 1 - inset, with inset 1/2 for cells and 0 for points. Blocks beyond `radius` are left out where it is given.
    """

    scale: Fraction
    width: int
    inset: Fraction
    radius: int | None = None

    def near(self, block: int) -> Fraction:
        """The least distance from zero in this block."""
        if block > 0:
            return block * self.width - self.inset
        return -(block + 1) * self.width + 1 - self.inset if block < 0 else Fraction(0)

    def distances(self, blocks: Iterable[int]) -> list[float]:
        """`near` of each block in scales, rounded once: a quotient of integers is the float of a fraction, without the fraction."""
        over, parts = self.scale.denominator, self.inset.denominator
        under, width, inset = self.scale.numerator * parts, self.width * parts, self.inset.numerator
        first = parts - width - inset
        return [
            over * (block * width - inset if block > 0 else first - block * width if block else 0) / under
            for block in blocks
        ]

    def bounds(self, bits: int) -> list[int]:
        places, step = bits + _GUARD, self.width / self.scale
        count = _gaussian_count(1 / step, bits) + 1
        upper, lower, complete = count, count, False
        if self.radius is not None and self.radius // self.width < count:
            upper, lower, complete = self.radius // self.width + 1, (self.radius - 1) // self.width + 1, True
        above = gaussian_ladder(start=self.near(1) / self.scale, step=step, count=upper, places=places)
        below = gaussian_ladder(start=self.near(-1) / self.scale, step=step, count=lower, places=places)
        loss, first_left_out = ladder_loss(upper + 1), above.pop()  # its mirror image is lower
        rest = 0 if complete else _gaussian_rest(first_left_out + loss, 1 / step, count - 1)
        return normalised(_interleaved([1 << places, *above], below), loss=loss, rest=rest, bits=bits)


@dataclass(frozen=True, slots=True)
class Rational:
    """P(i) = weights[i] / sum(weights), whole-numbered weights."""

    weights: tuple[int, ...]

    def bounds(self, bits: int) -> list[int]:
        return normalised(list(self.weights), loss=0, rest=0, bits=bits)
