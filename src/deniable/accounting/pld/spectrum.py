"""Tilted transforms of composed losses and their errors.

Which frequencies of a composition matter. After many steps almost none do: powers of numbers below one vanish.

Promise: every frequency left out is bounded by the number returned with the choice.

The composition of measures on a grid, in the frequency domain, with every error bounded.

delta(epsilon) = e^K sum over j of n_j e^(-s l_j) (1 - e^(epsilon - l_j))+, with n the tilted composition and e^K its scale, is
summed
in closed form frequency by frequency, or from suffix sums where all frequencies matter. Bounded and added: what wraps around
the window (Chernoff), the frequencies left out, and the rounding of the masses, of the transform, of its powers and of the sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deniable.accounting.pld.discretization import LossGrid
from deniable.accounting.pld.outward import (
    MOST_PLACES,
    MOST_TERMS,
    Beyond,
    Floats,
    Integers,
    Meter,
    U,
    fft_error,
    suffix_sums,
)
from deniable.accounting.pld.saddle_point import Tilted, TiltedPart, log_kernel, log_moment, tilt_measure

_NEGLIGIBLE = -36.0
_NOTHING = -45.0


class TooFine(Beyond):
    """This grid would take too many frequencies."""


class _Decay:
    """Upper bounds for |x(w)| of one tilted part, over ranges of frequencies w (in turns per step).

    Two bounds, the smaller counts. Low frequencies: 1 - |x(w)|^2 = 2 E sin^2(w D/2) >= (2 w^2/pi^2) E[D^2; |D| <= pi/w], D the
    difference of two independent draws; pairs in one block of places count. High ones: |x| at the points of a short
    transform, plus what it can grow between them, for |x'| <= E |place|.
    """

    def __init__(self, part: Tilted) -> None:
        self.part = part
        spread = float(part.mass @ np.abs(part.place)) * (1 + 1e-9)
        self.size = 1 << min(max(4, math.ceil(math.log2(12 * spread + 1))), 16)
        folded = np.bincount(part.place % self.size, weights=part.mass, minlength=self.size)
        self.sizes = np.abs(np.fft.rfft(folded))
        self.growth = spread * math.pi / self.size + 1e-9

    def log_bound(self, low: float, high: float) -> float:
        """A bound for ln |x| over low <= turns <= high <= 1/2, times the part's count."""
        first, last = math.floor(low * self.size), math.ceil(high * self.size)
        sampled = float(self.sizes[first : last + 1].max()) + self.growth
        square = 1 - 8 * low * low * self._spread(max(math.floor(0.5 / high), 1))
        bound = min(sampled, math.sqrt(max(square, 0.0) + 1e-12), 1.0)
        return self.part.times * math.log(bound)

    def _spread(self, length: int) -> float:
        """At most E[D^2; |D| <= length]."""
        part = self.part
        block = part.place // (length + 1)
        starts = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
        inside = (part.place - block * (length + 1)).astype(np.float64)
        mass = np.add.reduceat(part.mass, starts)
        first = np.add.reduceat(part.mass * inside, starts)
        second = np.add.reduceat(part.mass * inside * inside, starts)
        return 2 * float(np.maximum(mass * second * (1 - 1e-12) - first**2 * (1 + 1e-12), 0).sum()) * (1 - 1e-9)


def band(parts: Sequence[Tilted], size: int) -> tuple[int, float]:
    """How many frequencies of a transform of length `size` to keep, and a bound for the size of each of the others."""
    everything, left_out = size // 2 + 1, 0.0
    decays = [_Decay(part) for part in parts]
    edges = [2.0**-power for power in range(1, max(2, math.floor(math.log2(size)) - 3))]
    worst, count = -math.inf, everything
    for high, low in pairwise(edges):
        worst = max(worst, _log_bound(decays, low, high, _NOTHING - math.log(size)))
        if worst > _NEGLIGIBLE - math.log(size):
            break
        count, left_out = math.ceil(low * size), math.exp(worst)
    work = count * sum(len(part.place) + 300 for part in parts)
    if count < everything and work < min(MOST_TERMS, 200 * size * len(parts)):
        return count, left_out
    if size > MOST_PLACES:
        raise TooFine("the grid is too fine")
    return everything, 0.0


def _log_bound(decays: Sequence[_Decay], low: float, high: float, enough: float) -> float:
    """A bound for ln of the product of all; no part makes it larger, so that the first few do once they reach `enough`."""
    total = 0.0
    for decay in decays:
        total += decay.log_bound(low, high)
        if total < enough:
            break
    return total * (1 - 1e-12)


def fast_size(least: int) -> int:
    """The least power of two that is at least this: for such lengths the error of a transform is a theorem."""
    return 1 << max(6, (least - 1).bit_length())


Complexes = NDArray[np.complex128]

_MANY = 2048
_ALONE = 1 << 14


@dataclass(frozen=True, slots=True)
class LossWindow:
    """Losses from `start` steps after the sum of offsets on, `size` of them.

    `above` and `below` are further tilts that bound well what lies outside, or fractions of them do: a grid may put a little
    mass beyond a law's largest loss, which a large tilt would see first. Answers are wanted around the loss `near`.
    """

    start: int
    size: int
    above: float
    below: float
    near: float


def _turns(product: Integers, size: int) -> Complexes:
    """e^(2 pi i product/size), the product first reduced exactly."""
    angle = (2 * math.pi / size) * np.remainder(product, size)
    return np.cos(angle) + 1j * np.sin(angle)


def _low_frequencies(part: Tilted, count: int, size: int) -> tuple[Complexes, float]:
    """The first `count` coefficients of a transform of length `size`, term by term, and a bound for the error of each."""
    block = math.isqrt(count - 1) + 1
    rows, place = -(-count // block), part.place % size
    coarse = _powers(block * place % size, rows, size) * part.mass
    fine = _powers(place, block, size).T
    factors = rows.bit_length() + block.bit_length()
    return _product(coarse, fine).reshape(-1)[:count], U * (12 + 35 * factors + 4 * len(part.place))


def _powers(place: Integers, count: int, size: int) -> Complexes:
    """Rows k < count of e^(-2 pi i k place/size): products of one factor for every binary digit of k."""
    table = np.ones((1, len(place)), dtype=np.complex128)
    while len(table) < count:
        table = np.concatenate([table, table * _turns(-len(table) * place, size)])
    return table[:count]


def _product(left: Complexes, right: Complexes) -> Complexes:
    """left @ right, a small product in pieces too short for threads: waking them would take longer than all the work."""
    total = np.zeros((len(left), right.shape[1]), dtype=np.complex128)
    if total.size > _ALONE:
        return left @ right
    length = _ALONE // total.size
    for first in range(0, len(right), length):
        total += left[:, first : first + length] @ right[first : first + length]
    return total


def _all_frequencies(part: Tilted, size: int) -> tuple[Complexes, float]:
    """All coefficients of the real transform of length `size`, and a bound for the error of each."""
    folded = np.bincount(part.place % size, weights=part.mass, minlength=size)
    return np.fft.rfft(folded), fft_error(size) * math.sqrt(size) * float(np.linalg.norm(folded)) + 8 * U


class Spectrum:
    """Guarantee: `delta(epsilon)` encloses the finite part of the composition's profile; `infinite` is its mass at infinity."""

    def __init__(
        self,
        parts: Sequence[TiltedPart],
        *,
        grid: LossGrid,
        tilt: float,
        window: LossWindow,
        meter: Meter | None = None,
    ) -> None:
        self.grid, self.tilt, self.window, self.meter = grid, tilt, window, meter or Meter()
        self.step = grid.step
        self.offset = sum(part.times * part.measure.offset for part in parts)
        each = [tilt_measure(part, tilt) for part in parts]
        self.log_scale = math.fsum(part.times * part.log_total for part in each)
        self.scale_error = 8 * U * math.fsum(abs(part.times * part.log_total) for part in each)
        self.center = sum(part.times * part.center for part in each)
        self.infinite = _infinite(parts)
        self.count, left_out = band(each, window.size)
        self.meter.take(sum(self._work(part) for part in each) + 60 * self.count)
        self.outside = self._outside(parts, left_out)
        product, error = self._composed(each)
        self._fold(product, error)
        self._sums = _SuffixSums(self, product) if self.count > _MANY and self._whole else None

    def _work(self, part: Tilted) -> int:
        """About the operations that one part takes."""
        terms = 5 * self.window.size.bit_length() if self._whole else 8 * (len(part.place) + 300)
        return self.count * (terms + 60)

    @property
    def _whole(self) -> bool:
        return self.count == self.window.size // 2 + 1

    def loss(self, index: int) -> float:
        """The loss at a place of the composition's grid."""
        return (self.offset + self.grid.stride * index) * self.grid.quantum

    def from_start(self) -> Complexes:
        """The phases that move a place counted from the centre to one counted from the window's start."""
        frequency = np.arange(self.count, dtype=np.int64)
        return _turns(frequency * ((self.window.start - self.center) % self.window.size), self.window.size)

    def _composed(self, parts: Sequence[Tilted]) -> tuple[Complexes, Floats]:
        """The product of all powers of coefficients, and a bound for each error."""
        exponent = np.zeros(self.count, dtype=np.complex128)
        largest, wear, drift = np.zeros(self.count), np.zeros(self.count), 0.0
        for part in parts:
            transform = _all_frequencies(part, self.window.size) if self._whole else None
            values, error = transform or _low_frequencies(part, self.count, self.window.size)
            logs = np.log(values)
            exponent += part.times * logs
            largest += part.times * np.log(np.abs(values) + error)
            wear += part.times * np.abs(logs)
            drift += part.times * part.rounding
        product = np.exp(exponent)
        product[~np.isfinite(product)] = 0.0
        wear = np.where(np.isfinite(wear), U * (24 + 24 * wear), 1.0) + math.expm1(drift)
        return product, np.exp(largest) * (1 + wear) - np.abs(product) * (1 - wear)

    def _fold(self, product: Complexes, error: Floats) -> None:
        """Put the kernel's dependence on frequency into the coefficients, once for e^(-s u) and once for e^(-(s+1) u)."""
        size, step = self.window.size, self.step
        frequency = np.arange(self.count, dtype=np.int64)
        twice = np.where((frequency == 0) | (2 * frequency == size), 1.0, 2.0) / size
        angle = 2 * math.pi / size * frequency
        start = self.from_start()
        self._parts, self._residues, lengths = [], [], []
        for rate in (self.tilt, self.tilt + 1):
            real = -math.expm1(-rate * step) * np.cos(angle) + 2 * np.sin(angle / 2) ** 2
            gap = real - 1j * (math.exp(-rate * step) * np.sin(angle))  # 1 - e^(-rate step + i angle)
            self._parts.append(twice * product / gap)
            self._residues.append(float(np.sum((self._parts[-1] * start).real)))
            lengths.append(np.abs(gap))
        between = math.exp(-self.tilt * step) * -math.expm1(-step) / (lengths[0] * lengths[1])
        self._error_near = float(np.sum(twice * error * (between + step / lengths[1]))) * (1 + 1e-9)
        self._error_far = float(np.sum(twice * error * (1 / lengths[0] + 1 / lengths[1]))) * (1 + 1e-9)
        self._magnitude = float(np.sum(np.abs(self._parts[0])) + np.sum(np.abs(self._parts[1])))

    def _outside(self, parts: Sequence[TiltedPart], left_out: float) -> float:
        """What lies outside the window, and what the frequencies left out can do, in units of delta over the scale."""
        window, base = self.window, self.log_scale - self.scale_error
        top, bottom = self.loss(window.start + window.size), self.loss(window.start)
        over = min(log_moment(parts, self.tilt + more) - more * top for more in _fractions(window.above)) - base
        under = min(log_moment(parts, self.tilt - less) + less * bottom for less in _fractions(window.below)) - base
        mass = sum(math.exp(min(end + 1e-9, 0.0)) for end in (over, under)) + left_out * window.size
        return mass * math.exp(log_kernel(self.tilt)) * (1 + 1e-9)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds from below and above for the finite part at epsilon."""
        first = self._first_above(epsilon)
        error = self._error_near + self._fade(first) * self._error_far
        terms, rounding = self._sums_from(first, epsilon)
        value, error = terms[0] - terms[1], error + rounding + self.outside
        scale, slack = self._scale(epsilon)
        return max(scale * (value - error) / slack, 0.0), max(scale * (value + error) * slack, 0.0)

    def event(self, loss: float) -> tuple[float, float]:
        """Of the event that the loss exceeds this one: at most its finite mass under P, at least that under Q."""
        first = self._first_above(loss)
        terms, rounding = self._sums_from(first, loss)
        error = 2 * self._error_far + rounding + self.outside / math.exp(log_kernel(self.tilt))
        scale, slack = self._scale(loss)
        chance = max(scale * (terms[0] - error) / slack, 0.0)
        return chance, max(scale * (terms[1] + error) * slack, 0.0) * math.exp(-loss) * (1 + 1e-12)

    def _scale(self, epsilon: float) -> tuple[float, float]:
        """What undoes the tilt at a loss, and a factor for its rounding error."""
        scale = math.exp(min(self.log_scale - self.tilt * epsilon, 700.0))
        return scale, 1 + 4 * self.scale_error + 8 * U * (self.tilt * abs(epsilon) + abs(self.log_scale)) + 1e-14

    def _first_above(self, epsilon: float) -> int:
        """The first place of the window with a loss above epsilon (or its end)."""
        first = (math.floor(epsilon / self.grid.quantum) - self.offset) // self.grid.stride + 1
        first += (self.loss(first) <= epsilon) - (self.loss(first - 1) > epsilon)
        return min(max(first, self.window.start), self.window.start + self.window.size)

    def _fade(self, first: int) -> float:
        return math.exp(-self.tilt * self.step * (self.window.start + self.window.size - first))

    def _sums_from(self, first: int, epsilon: float) -> tuple[list[float], float]:
        """The sums over losses from `first` on of tilted mass times e^(-s u), and times e^(-(s+1) u), u = loss - epsilon.

        Also what rounding may do to their difference; the errors of the coefficients are not in it.
        """
        tilt, step, past = self.tilt, self.step, self.loss(first) - epsilon
        length = self.window.start + self.window.size - first
        if length == 0:
            return [0.0, 0.0], 0.0
        rounding = U * (100 + 4 * math.log2(self.count + 1) + 8 * (tilt + 1) * (abs(past) + step)) * self._magnitude
        if self._sums is not None and self._sums.reaches(epsilon):
            terms, more = self._sums.at(first - self.window.start, epsilon)
            return terms, rounding + more
        self.meter.take(60 * self.count)
        frequency = np.arange(self.count, dtype=np.int64)
        phase = _turns(frequency * ((first - self.center) % self.window.size), self.window.size)
        terms = []
        for rate, part, residue in zip((tilt, tilt + 1), self._parts, self._residues, strict=True):
            inside = float(np.sum((part * phase).real)) - math.exp(-rate * step * length) * residue
            terms.append(math.exp(-rate * past) * inside)
        return terms, rounding


class _SuffixSums:
    """The tilted composition itself, summed from the top with both kernels: answers without going through all frequencies."""

    _FAR = 500.0

    def __init__(self, spectrum: Spectrum, product: Complexes) -> None:
        size, step, tilt = spectrum.window.size, spectrum.step, spectrum.tilt
        self.tilt, self.near = tilt, spectrum.window.near
        masses = np.fft.irfft(product * spectrum.from_start(), size)
        past = np.arange(size) * step + (spectrum.loss(spectrum.window.start) - self.near)
        self._sums, self._sizes = [], []
        for rate in (tilt, tilt + 1):
            terms = masses * np.exp(np.clip(-rate * past, -700.0, 700.0))
            self._sums.append(suffix_sums(terms))
            self._sizes.append(suffix_sums(np.abs(terms)))
        top = math.exp(log_kernel(tilt))
        norm = math.sqrt(top * (top + 1 / (step * tilt * (tilt + 1))))
        self.error = norm * fft_error(size) * float(np.linalg.norm(masses)) + size * math.exp(-self._FAR)
        self.rounding = U * (40 + 8 * math.sqrt(size) + 4 * 700)

    def reaches(self, epsilon: float) -> bool:
        return (self.tilt + 1) * abs(epsilon - self.near) < self._FAR / 2

    def at(self, place: int, epsilon: float) -> tuple[list[float], float]:
        factors = [math.exp(rate * (epsilon - self.near)) for rate in (self.tilt, self.tilt + 1)]
        terms = [factor * float(sums[place]) for factor, sums in zip(factors, self._sums, strict=True)]
        size = sum(factor * float(sizes[place]) for factor, sizes in zip(factors, self._sizes, strict=True))
        return terms, self.error + self.rounding * size


def _fractions(tilt: float) -> Floats:
    return np.asarray(tilt * 0.75 ** np.arange(10), dtype=np.float64)


def _infinite(parts: Sequence[TiltedPart]) -> float:
    """The composition's mass at infinity (what is owed counts against it), as the nearest float."""
    finite = gained = owed = 0.0
    for part in parts:
        total, times = float(part.measure.mass.sum()), part.times
        finite += times * math.log(total) if total > 0 else -math.inf
        if part.measure.infinite > 0:
            gained += times * math.log1p(part.measure.infinite / total) if total > 0 else math.inf
        else:
            owed -= times * part.measure.infinite
    return math.exp(min(finite, 1.0)) * math.expm1(min(gained, 700.0)) - owed
