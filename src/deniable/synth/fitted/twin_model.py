"""From stored measurements to a model: one function for each method. What it does is fixed by what was released."""

from __future__ import annotations

import json

import numpy as np

from deniable.errors import InvalidArgument
from deniable.synth.fitted.agreement import simplex
from deniable.synth.fitted.aim_model import fit_aim
from deniable.synth.fitted.mwem_model import fit_mwem, noisy_rows
from deniable.synth.fitted.network_model import fit_network, fit_quail
from deniable.synth.fitted.pair_model import RECORDS, fit_pairs
from deniable.synth.fitted.record_model import Codes, Floats, RecordModel, conditional
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.fitted.twin_randomness import ReleasedWords, WordSource


def fit(stored: TwinMeasurements) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of these measurements, and what a reader should know about its fit. The same measurements give the same model."""
    source = ReleasedWords(json.dumps(stored.to_record(), sort_keys=True))
    match stored.method:
        case "pairs" | "tree":
            return fit_pairs(stored, source)
        case "mwem":
            return fit_mwem(stored)
        case "privbayes":
            return fit_privbayes(stored, source)
        case "aim":
            return fit_aim(stored)
        case "ctgan" | "pate-ctgan":
            return fit_network(stored, source)
        case "quail":
            return fit_quail(stored, source, fit)
        case _:
            raise InvalidArgument(f"measurements of an unknown method {stored.method!r}; this version cannot fit them")


def fit_privbayes(stored: TwinMeasurements, source: WordSource) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of a PrivBayes synthesizer: records drawn from its network, ancestors first, so many that rounding is not seen."""
    total = noisy_rows(stored.marginals)
    count = int(min(max(2 * total, RECORDS[0]), RECORDS[1]))
    tables = {table.places: table for table in stored.marginals if table.places}
    columns: dict[int, Codes] = {}
    for child, parents in stored.network:
        given = np.zeros(count, dtype=np.int64)
        for parent in parents:
            given = given * stored.attributes.sizes[parent] + columns[parent]
        columns[child] = conditional(given, _chances(tables[(*parents, child)], total), source)
    within = tuple(np.ones(size) for size in stored.attributes.sizes)
    records = tuple(columns[place] for place in sorted(columns))
    weights = np.full(count, 1 / count)
    return RecordModel(stored.attributes, stored.groups, within, records, weights, total), ()


def _chances(table: Marginal, total: float) -> Floats:
    """The child's chances for every combination of parents; the whole column's where a combination has no rows."""
    counts = simplex(table.counts.astype(float), total).reshape(-1, table.counts.shape[-1])
    sums = counts.sum(axis=1, keepdims=True)
    return np.where(sums > 0, counts, counts.sum(axis=0, keepdims=True))
