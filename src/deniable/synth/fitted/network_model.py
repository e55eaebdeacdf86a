"""From a stored generator to records, and from a stored classifier to the label of every record (QUAIL)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deniable.synth.fitted.agreement import weighted_total
from deniable.synth.fitted.generator import Generator, softmax
from deniable.synth.fitted.pair_model import RECORDS
from deniable.synth.fitted.record_model import Codes, RecordModel, conditional
from deniable.synth.fitted.row_vectors import GRID, WEIGHT_STEPS, RowVectors, vectors_of_record
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.fitted.twin_randomness import WordSource

Fit = Callable[[TwinMeasurements], tuple[RecordModel, tuple[str, ...]]]


def fit_network(stored: TwinMeasurements, source: WordSource) -> tuple[RecordModel, tuple[str, ...]]:
    """Records drawn from the generator, as many as are not seen to be rounded."""
    ones = stored.ones()
    total = max(weighted_total([float(t.counts.sum()) for t in ones], [t.counts.size * t.variance for t in ones]), 1.0)
    weights = [np.array(each) for each in stored.options["generator"]]
    generator = Generator(vectors_of_record(stored.options["vectors"]), weights, weights)
    count = int(min(max(2 * total, RECORDS[0]), RECORDS[1]))
    drawn = generator.draw(count, source, averaged=True)
    columns = generator.vectors.cells(drawn.hard)
    return _model(stored, columns, total), ()


def fit_quail(stored: TwinMeasurements, source: WordSource, fit: Fit) -> tuple[RecordModel, tuple[str, ...]]:
    """Records of the base model, each with a label drawn by what the classifier says of it."""
    told = stored.options
    base, notes = fit(TwinMeasurements.from_record(told["base"]))
    count = int(min(max(2 * base.total, RECORDS[0]), RECORDS[1]))
    cells = base.cells(count, source)
    chances = class_chances(vectors_of_record(told["vectors"]), cells, told["classifier"])
    target = int(told["target"])
    label = _drawn(chances, source)
    return _model(stored, (*cells[:target], label, *cells[target:]), base.total), notes


def class_chances(vectors: RowVectors, cells: tuple[Codes, ...], weights: list[list[float]]) -> Codes:
    """For every row the chance of each class, in whole steps."""
    scores = vectors.vectors(cells) @ np.array(weights, dtype=np.float64) / (GRID * WEIGHT_STEPS)
    return np.rint(softmax(scores) * GRID).astype(np.int64)


def _drawn(chances: Codes, source: WordSource) -> Codes:
    """One class for every row; rows with the same chances share them to the nearest row."""
    known, place = np.unique(chances, axis=0, return_inverse=True)
    return conditional(place.ravel(), known.astype(np.float64), source)


def _model(stored: TwinMeasurements, columns: tuple[Codes, ...], total: float) -> RecordModel:
    within = tuple(np.ones(size) for size in stored.attributes.sizes)
    weights = np.full(len(columns[0]), 1 / len(columns[0]))
    return RecordModel(stored.attributes, stored.groups, within, columns, weights, total)
