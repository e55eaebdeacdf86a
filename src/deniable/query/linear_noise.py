"""How far independent noises can move a linear form of released numbers, or a quotient of two such forms.

`docs/theory/released-forms.md` has the proofs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import numpy as np

from deniable.kernels import ColumnNoise, HalvesNoise, Law, Noise
from deniable.query.columns import Floats
from deniable.query.noise_sum import HALVINGS, NoiseSum, normal_width, subgaussian_width

Ends: TypeAlias = tuple[float, float]

EVERYWHERE = (-inf, inf)
SLACK = 1 + 1e-9
"""Rounding of floats, against us."""

_TILTS = np.linspace(0.05, 0.98, 16)
"""Where the exponential bound on a sum of Laplace noises is tried, as parts of the largest exponent it has."""


@dataclass(frozen=True, slots=True)
class ReleasedNumber:
    """A released number: its interval, and, where it is one measurement, its noise and how far showing it may move it."""

    ends: Ends
    value: float | None
    noise: ColumnNoise | None = None
    step: Fraction = Fraction(1)
    rounding: float = 0.0
    measured: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A constant and multiples of released numbers: of each item the one it names, or the sum or mean of those it lists."""

    terms: tuple[tuple[Fraction, int, str], ...] = ()
    constant: Fraction = Fraction(0)

    def plus(self, other: LinearForm, sign: int = 1) -> LinearForm:
        """The sum, or the difference."""
        return LinearForm((*self.terms, *other.times(Fraction(sign)).terms), self.constant + sign * other.constant)

    def times(self, factor: Fraction) -> LinearForm:
        """A multiple."""
        return LinearForm(tuple((factor * c, item, how) for c, item, how in self.terms), factor * self.constant)


@dataclass(frozen=True, slots=True)
class QuotientForm:
    """One linear form over another."""

    top: LinearForm
    bottom: LinearForm


Form: TypeAlias = LinearForm | QuotientForm


@dataclass(frozen=True, slots=True)
class NoisyForms:
    """The independent noises of some measurements, and the multiples of them that one or two forms take."""

    noises: tuple[Noise, ...]
    steps: Floats
    rounding: Floats
    rows: tuple[Floats, ...]

    @classmethod
    def of(cls, weights: Sequence[Mapping[int, Fraction]], cells: Sequence[ReleasedNumber]) -> NoisyForms:
        """The noises of forms; two columns that show one measurement have one noise."""
        places: dict[tuple[Any, ...], ReleasedNumber] = {}
        sums: list[dict[tuple[Any, ...], Fraction]] = [{} for _ in weights]
        for row, total in zip(weights, sums, strict=True):
            for place, factor in row.items():
                places[cells[place].measured] = cells[place]
                total[cells[place].measured] = total.get(cells[place].measured, Fraction(0)) + factor
        draws = [(key, noise) for key, each in places.items() for noise in _draws(each.noise)]
        rows = tuple(np.array([float(total.get(key, 0)) for key, _ in draws]) for total in sums)
        steps = np.array([float(places[key].step) for key, _ in draws])
        first = [place == 0 or draws[place - 1][0] != key for place, (key, _) in enumerate(draws)]
        rounding = [places[key].rounding if new else 0.0 for (key, _), new in zip(draws, first, strict=True)]
        return cls(tuple(noise for _, noise in draws), steps, np.array(rounding), rows)

    def reach(self, row: Floats, beta: Fraction) -> float:
        """A distance that the noise of a form surpasses with probability at most beta."""
        found = float(np.min(self._reaches(row[None, :], self._tilts(row), beta)))
        if len(self.noises) > 4:  # two counts from halves carry four
            return found
        several = NoiseSum(self.noises, tuple(Fraction(step) for step in self.steps))
        return min(
            found, float(several.quantile([np.array([c]) for c in row], beta)[0]) + float(abs(row) @ self.rounding)
        )

    def quotient(self, top: float, bottom: float, *, value: float, beta: Fraction) -> Ends:
        """All quotients t for which top less t times bottom may be noise; every number where the divisor may be nought."""
        a, b = self.rows
        if abs(bottom) <= self.reach(b, beta) * SLACK:
            return EVERYWHERE
        start = top / bottom
        tilts = self._tilts(a - start * b)
        width = max(self.reach(a - start * b, beta), abs(top) * 1e-9, 1e-300) / abs(bottom)

        def beyond(t: Floats, at: Floats) -> Any:
            rows = a[None, :] - t[:, None] * b[None, :]
            return np.abs(top - t * bottom) > self._reaches(rows, at, beta) * SLACK

        low, high = (self._end(start, sign * width, beyond, tilts) for sign in (-1, 1))
        return min(low, value), max(high, value)

    def _end(self, start: float, width: float, beyond: Any, tilts: Floats) -> float:
        """From `start` outwards, the nearest place at which one of the bounds no longer explains the distance."""
        there = start + width * 2.0 ** np.arange(-3, 40)
        passed = beyond(np.repeat(there, len(tilts)), np.tile(tilts, len(there))).reshape(len(there), len(tilts))
        found = passed.any(axis=0)
        if not found.any():
            return inf if width > 0 else -inf
        inner, outer = np.full(found.sum(), start), there[passed.argmax(axis=0)][found]
        for _ in range(HALVINGS):
            middle = (inner + outer) / 2
            gone = beyond(middle, tilts[found])
            inner, outer = np.where(gone, inner, middle), np.where(gone, middle, outer)
        return float(outer.min() if width > 0 else outer.max())

    def _tilts(self, row: Floats) -> Floats:
        """Exponents for the bound on a sum of Laplace noises; one, of no meaning, for other laws."""
        largest = float(np.max(np.abs(row) * self.steps * np.array([float(noise.scale) for noise in self.noises])))
        return _TILTS / largest if self._laplace and largest > 0 else np.ones(1)

    @property
    def _laplace(self) -> bool:
        return all(noise.law is Law.LAPLACE for noise in self.noises)

    def _reaches(self, rows: Floats, tilts: Floats, beta: Fraction) -> Floats:
        """For each exponent a distance that the noise surpasses with probability at most beta; `rows` has one row for each."""
        sizes = np.abs(rows) * self.steps[None, :]
        rounded = np.abs(rows) @ self.rounding
        if self._laplace:
            scales = np.array([float(noise.scale) for noise in self.noises])
            return np.asarray(_exponential_bound(sizes * tilts[:, None], scales, beta) / tilts + rounded)
        root = np.sqrt(
            (sizes * np.array([float(noise.scale) for noise in self.noises])) ** 2 @ np.ones(len(self.noises))
        )
        laws = {noise.law for noise in self.noises}
        if laws == {Law.GAUSSIAN}:
            return np.asarray(normal_width(beta) * root + sizes.sum(axis=1) / 2 + rounded)
        if laws == {Law.DISCRETE_GAUSSIAN}:
            return np.asarray(subgaussian_width(beta) * root + rounded)
        apart = {noise: float(noise.error(beta / len(self.noises))) for noise in set(self.noises)}
        return np.asarray(sizes @ np.array([apart[noise] for noise in self.noises]) + rounded)


def _draws(noise: ColumnNoise | None) -> tuple[Noise, ...]:
    """The independent draws that a released number carries, all in its steps: two where it was measured in halves."""
    if noise is None:
        return ()
    return (noise.half, noise.half) if isinstance(noise, HalvesNoise) else (noise,)


def _exponential_bound(exponents: Floats, scales: Floats, beta: Fraction) -> Floats:
    """ln(2 / beta) and the logarithms of the moment generating functions of discrete Laplace noises; infinite beyond."""
    inside = exponents < (1 / scales)[None, :] * (1 - 1e-12)
    safe = np.where(inside, exponents, 0.0)
    fall = (1 / scales)[None, :]
    logs = 2 * np.log(-np.expm1(-fall)) - np.log(-np.expm1(safe - fall)) - np.log(-np.expm1(-safe - fall))
    total = np.sum(np.where(inside, logs, np.inf), axis=1) + np.log(2 / float(beta))
    return np.asarray(total)


def form_ends(
    form: Form, items: Sequence[Any], value: float | None, cells: Sequence[ReleasedNumber], beta: Fraction
) -> Ends | None:
    """The interval of one cell of a computed column; None where a number it rests on has no known noise."""
    parts = (form,) if isinstance(form, LinearForm) else (form.top, form.bottom)
    if value is None:
        return EVERYWHERE
    weights = [weights for each in parts if (weights := _weights(each, items, cells)) is not None]
    if len(weights) < len(parts):
        return None
    numbers = [cells[place] for each in weights for place in each]
    if isinstance(form, LinearForm) and form.constant == 0 and [*weights[0].values()] == [1]:
        return numbers[0].ends
    if any(each.noise is None for each in numbers):
        return None
    if not numbers:
        return value, value
    noises = NoisyForms.of(weights, cells)
    if isinstance(form, LinearForm):
        reach = noises.reach(noises.rows[0], beta) * SLACK + abs(value) * 1e-12
        return value - reach, value + reach
    tops = [
        float(each.constant) + sum(float(c) * (cells[place].value or 0.0) for place, c in row.items())
        for each, row in zip(parts, weights, strict=True)
    ]
    return noises.quotient(*tops, value=value, beta=beta)


def _weights(form: LinearForm, items: Sequence[Any], cells: Sequence[ReleasedNumber]) -> dict[int, Fraction] | None:
    """The released numbers a form is of at one row, by their place, with what each is multiplied by.

    None where a term rests on none that is there, such as the other side of an outer join.
    """
    found: dict[int, Fraction] = {}
    for factor, item, how in form.terms:
        given = [items[item]] if how == "one" else json.loads((items[item] or "[]").replace("None", "null"))
        places = [place for place in given if place is not None and cells[place].value is not None]
        if not places:
            return None
        for place in places:
            found[place] = found.get(place, Fraction(0)) + factor / (len(places) if how == "mean" else 1)
    return found
