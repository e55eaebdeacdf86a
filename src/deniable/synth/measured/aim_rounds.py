"""AIM: tables of up to three columns chosen one after another where the model is worst, with noise that is halved when it hides
what is left to learn; all in one filter of rho, which ends it."""

from __future__ import annotations

import json
from itertools import combinations
from math import pi, prod, sqrt

import numpy as np

from deniable.plan.unit_tables import MOST_TABLE_CELLS
from deniable.synth.fitted.pair_choice import shares
from deniable.synth.fitted.pair_model import fit_tables
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.fitted.twin_randomness import ReleasedWords
from deniable.synth.measured.coded import Cells
from deniable.synth.measured.pair_rounds import ONES, expectation
from deniable.synth.measured.table_noise import Integers, Measurer, distances

RECORDS, TREE_CELLS = 30_000, 1 << 15
"""The size of the model between two rounds; what is made of the whole release at the end has its own."""
CHOOSING = 0.1
"""The share of a round that pays for its choice; the table has the rest."""
MOST_CELLS = 20_000
"""Tables with more groups than this are not in the workload, nor those that no engine would count."""


def measure_aim(measurer: Measurer, *, rounds: int, degree: int, focus: tuple[int, ...]) -> TwinMeasurements:
    """One-way tables, then tables of up to `degree` columns; at most `rounds` at first, fewer where noise has to be halved."""
    attributes = measurer.attributes
    columns = len(attributes.columns)
    weights = shares([float(size) for size in attributes.sizes])
    first = ONES if columns > 1 else 1.0
    ones = [measurer.table((place,), first * share) for place, share in enumerate(weights)]
    groups, _ = expectation(measurer, ones, [])
    stored = TwinMeasurements("aim", attributes, tuple(ones), groups)
    workload = [
        places
        for size in range(2, min(degree, columns) + 1)
        for places in combinations(range(columns), size)
        if prod(stored.group_sizes(places)) <= MOST_CELLS and attributes.cells(places) <= MOST_TABLE_CELLS
    ]
    left, share = 1 - first, (1 - first) / rounds
    model = _model(stored)
    while workload and left > 1e-6:
        share = left if left < 2 * share else share
        chosen = workload[_choice(measurer, stored, model, workload, share, focus)]
        table = measurer.table(chosen, share * (1 - CHOOSING), groups=groups)
        before, left = model.group_table(chosen), left - share
        stored = _with(stored, table)
        model = _model(stored)
        learnt = float(np.abs(model.group_table(chosen) - before).sum())
        if learnt <= sqrt(2 / pi) * float(table.scale) * table.counts.size:
            share *= 4  # half the noise: what is left to learn is hidden by it
    return stored


def _model(stored: TwinMeasurements) -> RecordModel:
    """The model of what has been measured so far; fixed by it."""
    source = ReleasedWords(json.dumps([stored.method, stored.attributes.names, len(stored.marginals)]))
    return fit_tables(stored, source, records=RECORDS, most=TREE_CELLS)[0]


def _with(stored: TwinMeasurements, table: Marginal) -> TwinMeasurements:
    return TwinMeasurements(stored.method, stored.attributes, (*stored.marginals, table), stored.groups)


def _choice(
    measurer: Measurer,
    stored: TwinMeasurements,
    model: RecordModel,
    workload: list[tuple[int, ...]],
    share: float,
    focus: tuple[int, ...],
) -> int:
    """The table that is worst beyond the noise of measuring it. A focus column counts double, so scores may move twice as far."""
    noise = sqrt(2 / pi) * float(measurer.noise(share * (1 - CHOOSING)).scale)
    expected = [(places, np.rint(model.group_table(places)).astype(np.int64)) for places in workload]
    counts = [2 if set(places) & set(focus) else 1 for places in workload]

    def scores(rows: Cells) -> list[int]:
        return _wrong(rows, stored, expected, counts, noise)

    return measurer.choice(scores, share * CHOOSING, sensitivity=max(counts) * measurer.moved.table.l1)


def _wrong(
    rows: Cells,
    stored: TwinMeasurements,
    expected: list[tuple[tuple[int, ...], Integers]],
    counts: list[int],
    noise: float,
) -> list[int]:
    found = distances(rows.mapped(stored.groups), expected)
    return [
        int(times) * (int(distance) - round(noise * table.size))
        for distance, times, (_, table) in zip(found, counts, expected, strict=True)
    ]
