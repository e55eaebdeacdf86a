"""From stored measurements to a model: one function for each method. What it does is fixed by what was released."""

from __future__ import annotations

import json
import warnings
from contextlib import AbstractContextManager
from math import prod
from typing import Any

import numpy as np

from deniable.errors import InvalidArgument
from deniable.exact.figures import counted
from deniable.exact.guards import shown
from deniable.synth.fitted.agreement import agreed_tables, noisy_tables, simplex, weighted_total
from deniable.synth.fitted.clique_tree import CliqueTree, cliques, even_tree
from deniable.synth.fitted.generator import Generator, softmax
from deniable.synth.fitted.mwem_model import fit_mwem, noisy_rows
from deniable.synth.fitted.pair_model import fit_tables, record_count
from deniable.synth.fitted.record_model import Codes, Floats, RecordModel, conditional
from deniable.synth.fitted.row_vectors import GRID, WEIGHT_STEPS, RowVectors, vectors_of_record
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.fitted.twin_randomness import ReleasedWords, WordSource

MBI_CELLS = 1 << 24
"""The cliques of a graphical model of `mbi` have at most so many cells together."""
MBI_METHODS = ("pairs", "tree", "aim")
"""The methods whose measurements are noisy tables of groups and nothing else."""


def fit(stored: TwinMeasurements) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of these measurements, and what a reader should know about its fit. The same measurements give the same model."""
    source = ReleasedWords(json.dumps(stored.to_record(), sort_keys=True))
    match stored.method:
        case "pairs" | "tree" | "aim":
            return fit_tables(stored, source)
        case "mwem":
            return fit_mwem(stored)
        case "privbayes":
            return fit_privbayes(stored, source)
        case "ctgan" | "pate-ctgan":
            return fit_network(stored, source)
        case "quail":
            return fit_quail(stored, source)
        case _:
            raise InvalidArgument(f"measurements of an unknown method {stored.method!r}; this version cannot fit them")


def refit(stored: TwinMeasurements, model: str) -> tuple[RecordModel, tuple[str, ...]]:
    """Another model of the same measurements; so far that of the package `mbi`."""
    if model != "mbi":
        raise InvalidArgument(f'model must be "mbi", got {shown(model)}; the twin\'s own model is the twin itself')
    return fit_mbi(stored, ReleasedWords(json.dumps(stored.to_record(), sort_keys=True)))


def fit_mbi(stored: TwinMeasurements, source: WordSource) -> tuple[RecordModel, tuple[str, ...]]:
    """Records of the graphical model that is nearest to the noisy tables, weighed by their noise, as the package `mbi` finds it.

    It is exact in larger cliques than a twin's own tree, and takes minutes where that takes a second.
    """
    if stored.method not in MBI_METHODS:
        raise InvalidArgument(f"mbi fits tables of {', '.join(MBI_METHODS)}; this twin was made by {stored.method}")
    tables = list(noisy_tables(stored))
    sizes = stored.group_sizes(range(len(stored.groups)))
    held = cliques([table.axes for table in tables], sizes)
    cells = sum(prod(sizes[place] for place in clique) for clique in held)
    if cells > MBI_CELLS:
        raise InvalidArgument(
            f"the cliques of these tables have {counted(cells, 'cell')}, above {MBI_CELLS:,}; the twin's own model holds what fits"
        )
    tree = even_tree(held, sizes)
    package, exact = _package()
    with exact:
        domain = package.Domain([str(place) for place in range(len(sizes))], sizes)
        measured = [
            package.LinearMeasurement(table.cells.ravel(), tuple(map(str, table.axes)), stddev=table.variance**0.5)
            for table in tables
        ]
        total = max(agreed_tables(stored).total, 1.0)
        model = package.estimation.MirrorDescent().estimate(domain, measured, known_total=total)
        _take(tree, model)
    fitted, notes = fit_tables(stored, source, tree=tree)
    return fitted, (*notes, f"Fitted by mbi: cliques of {counted(cells, 'cell')} in all.")


def _take(tree: CliqueTree, model: Any) -> None:
    """The model's table of every clique, in shares."""
    for clique, table in zip(tree.cliques, tree.tables, strict=True):
        names = [str(place) for place in clique]
        found = np.maximum(np.asarray(model.project(names).transpose(names).values, dtype=np.float64), 0.0)
        table[...] = found / found.sum()


def _package() -> tuple[Any, AbstractContextManager[Any]]:
    """The package, and a context in which it computes in double precision without changing that for anybody else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of single precision, which the context mends
            import jax
            import mbi
    except ImportError:
        raise InvalidArgument("fitting by mbi needs the package: pip install 'deniable[mbi]'") from None
    return mbi, jax.enable_x64(True)


def fit_privbayes(stored: TwinMeasurements, source: WordSource) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of a PrivBayes synthesizer: records drawn from its network, ancestors first, so many that rounding is not seen."""
    total = noisy_rows(stored.marginals)
    count = record_count(total)
    tables = {table.places: table for table in stored.marginals if table.places}
    columns: dict[int, Codes] = {}
    for child, parents in stored.network:
        given = np.zeros(count, dtype=np.int64)
        for parent in parents:
            given = given * stored.attributes.sizes[parent] + columns[parent]
        columns[child] = conditional(given, _chances(tables[(*parents, child)], total), source)
    return _model(stored, tuple(columns[place] for place in sorted(columns)), total), ()


def _chances(table: Marginal, total: float) -> Floats:
    """The child's chances for every combination of parents; the whole column's where a combination has no rows."""
    counts = simplex(table.counts.astype(float), total).reshape(-1, table.counts.shape[-1])
    sums = counts.sum(axis=1, keepdims=True)
    return np.where(sums > 0, counts, counts.sum(axis=0, keepdims=True))


def fit_network(stored: TwinMeasurements, source: WordSource) -> tuple[RecordModel, tuple[str, ...]]:
    """Records drawn from the generator, as many as are not seen to be rounded."""
    ones = stored.ones()
    total = max(weighted_total([float(t.counts.sum()) for t in ones], [t.counts.size * t.variance for t in ones]), 1.0)
    weights = [np.array(each) for each in stored.options["generator"]]
    generator = Generator(vectors_of_record(stored.options["vectors"]), weights, weights)
    count = record_count(total)
    drawn = generator.draw(count, source, averaged=True)
    columns = generator.vectors.cells(drawn.hard)
    return _model(stored, columns, total), ()


def fit_quail(stored: TwinMeasurements, source: WordSource) -> tuple[RecordModel, tuple[str, ...]]:
    """Records of the base model (QUAIL), each with a label drawn by what the classifier says of it."""
    told = stored.options
    base, notes = fit(TwinMeasurements.from_record(told["base"]))
    count = record_count(base.total)
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
