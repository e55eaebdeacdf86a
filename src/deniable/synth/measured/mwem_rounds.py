"""MWEM: round after round, choose the k-way table that the model gets most wrong, measure it, and learn from all of them."""

from __future__ import annotations

from itertools import combinations
from math import pi, sqrt

import numpy as np

from deniable.synth.fitted.mwem_model import cell_numbers, domain_columns, noisy_rows, rounds_of
from deniable.synth.fitted.record_model import Floats
from deniable.synth.fitted.stored import Marginal, Measurements, ungrouped
from deniable.synth.measured.coded import CellRows
from deniable.synth.measured.table_noise import Integers, Measurer, distances

TOTAL = 0.05
"""The share of the number of rows; each round halves its own between choosing and measuring."""


def measure_mwem(measurer: Measurer, *, rounds: int, degree: int) -> Measurements:
    """The noisy number of rows, then `rounds` tables of up to `degree` columns, each chosen where the model is worst."""
    attributes = measurer.attributes
    columns = len(attributes.columns)
    workload = [places for k in range(1, min(degree, columns) + 1) for places in combinations(range(columns), k)]
    share = (1 - TOTAL) / (2 * rounds)
    found: list[Marginal] = [measurer.table((), TOTAL)]
    total = noisy_rows(found)
    noise = float(measurer.allowance.noise(share, measurer.moved).scale) * sqrt(2 / pi)
    for _ in range(rounds):
        weights, _, _ = rounds_of(attributes, found[1:])
        expected = [(places, _expected(measurer, places, weights, total)) for places in workload]
        penalties = [round(noise * table.size) for _, table in expected]
        chosen = measurer.choice(lambda rows, e=expected, p=penalties: _wrong(rows, e, p), share)  # type: ignore[misc]
        found.append(measurer.table(workload[chosen], share))
    return Measurements("mwem", attributes, tuple(found), ungrouped(attributes))


def _wrong(rows: CellRows, expected: list[tuple[tuple[int, ...], Integers]], penalties: list[int]) -> list[int]:
    """How wrong the model is about each table, beyond what measuring it would add in noise."""
    return [int(distance) - penalty for distance, penalty in zip(distances(rows, expected), penalties, strict=True)]


def _expected(measurer: Measurer, places: tuple[int, ...], weights: Floats, total: float) -> Integers:
    sizes = tuple(measurer.attributes.sizes[place] for place in places)
    blank = Marginal(places, np.zeros(sizes, dtype=np.int64), measurer.allowance.noise(1, measurer.moved).scale)
    codes = cell_numbers(domain_columns(measurer.attributes), blank)
    held = np.bincount(codes, weights=weights, minlength=blank.counts.size)
    return np.asarray(np.rint(total * held), dtype=np.int64).reshape(sizes)
