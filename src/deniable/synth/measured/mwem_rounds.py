"""MWEM: round after round, choose the k-way table that the model gets most wrong, measure it, and learn from all of them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import combinations
from math import pi, sqrt
from typing import cast

import numpy as np

from deniable.synth.fitted.mwem_model import Goals, advanced, cell_numbers, domain_columns, noisy_rows
from deniable.synth.fitted.record_model import Floats
from deniable.synth.fitted.stored import Marginal, TwinMeasurements, ungrouped
from deniable.synth.measured.coded import Cells
from deniable.synth.measured.table_noise import Integers, Measurer, distances

TOTAL = 0.05
"""The share of the number of rows; each round halves its own between choosing and measuring."""


def measure_mwem(measurer: Measurer, *, rounds: int, degree: int) -> TwinMeasurements:
    """The noisy number of rows, then `rounds` tables of up to `degree` columns, each chosen where the model is worst."""
    attributes = measurer.attributes
    columns = len(attributes.columns)
    workload = [places for k in range(1, min(degree, columns) + 1) for places in combinations(range(columns), k)]
    share = (1 - TOTAL) / (2 * rounds)
    found: list[Marginal] = [measurer.table((), TOTAL)]
    total = noisy_rows(found)
    noise = float(measurer.noise(share).scale) * sqrt(2 / pi)
    grid = domain_columns(attributes)
    weights, goals = np.full(grid[0].size, 1 / grid[0].size), cast("Goals", ())
    numbers = {places: cell_numbers(grid, _blank(measurer, places)) for places in workload}
    for _ in range(rounds):
        expected = [(places, _expected(measurer, places, numbers[places], weights, total)) for places in workload]
        penalties = [round(noise * table.size) for _, table in expected]
        chosen = measurer.choice(partial(_wrong, expected=expected, penalties=penalties), share)
        found.append(measurer.table(workload[chosen], share))
        weights, goals, _ = advanced(grid, weights, goals, found[-1])
    return TwinMeasurements("mwem", attributes, tuple(found), ungrouped(attributes))


def _wrong(rows: Cells, expected: list[tuple[tuple[int, ...], Integers]], penalties: list[int]) -> list[int]:
    """How wrong the model is about each table, beyond what measuring it would add in noise."""
    return [int(distance) - penalty for distance, penalty in zip(distances(rows, expected), penalties, strict=True)]


def _blank(measurer: Measurer, places: tuple[int, ...]) -> Marginal:
    sizes = tuple(measurer.attributes.sizes[place] for place in places)
    return Marginal(places, np.zeros(sizes, dtype=np.int64), Fraction(1))


def _expected(
    measurer: Measurer, places: tuple[int, ...], numbers: Integers, weights: Floats, total: float
) -> Integers:
    """What the model expects of a table, in whole rows: from released numbers only."""
    sizes = tuple(measurer.attributes.sizes[place] for place in places)
    held = np.bincount(numbers, weights=weights, minlength=measurer.attributes.cells(places))
    return np.asarray(np.rint(total * held), dtype=np.int64).reshape(sizes)
