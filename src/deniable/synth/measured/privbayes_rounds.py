"""PrivBayes: a network chosen by how much parents tell about a child, then one noisy table for every child with its parents.

Scores are exact whole numbers whose sensitivity holds for every data set when a row comes or goes, whatever the number of rows;
`docs/theory/dependence-scores.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import ceil, log, log1p

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.synth.fitted.mwem_model import noisy_rows
from deniable.synth.fitted.stored import Marginal, TwinMeasurements, ungrouped
from deniable.synth.measured.coded import Cells, Contribution
from deniable.synth.measured.table_noise import Measurer

TOTAL, STRUCTURE = 0.04, 0.3
USEFUL = 4.0
"""A table is useful when its cells hold, on average, this many times the scale of its noise."""
MOST_FAMILY_CELLS = 1 << 22
"""A child and its parents have at most so many cells together."""
Family = tuple[int, tuple[int, ...]]


def measure_privbayes(
    measurer: Measurer, *, degree: int, score: str, most_rows: int, network: Sequence[Family] | None
) -> TwinMeasurements:
    """The number of rows, a network of at most `degree` parents (unless one is given), and the tables of its families."""
    attributes = measurer.attributes
    found = [measurer.table((), TOTAL)]
    structure = 0.0 if network is not None or len(attributes.columns) == 1 else STRUCTURE
    share = (1 - TOTAL - structure) / len(attributes.columns)
    cap = min(noisy_rows(found) / (USEFUL * float(measurer.noise(share).scale)), MOST_FAMILY_CELLS)
    families = list(network) if network is not None else _network(measurer, structure, degree, cap, score, most_rows)
    tables: list[Marginal] = [measurer.table((*parents, child), share) for child, parents in families]
    return TwinMeasurements(
        "privbayes",
        attributes,
        (*found, *tables),
        ungrouped(attributes),
        network=tuple(families),
        options={"score": score},
    )


def _network(measurer: Measurer, structure: float, degree: int, cap: float, score: str, most_rows: int) -> list[Family]:
    columns = len(measurer.attributes.columns)
    families: list[Family] = [(0, ())]
    for _ in range(1, columns):
        placed = [child for child, _ in families]
        open_ = [place for place in range(columns) if place not in placed]
        candidates = [(child, parents) for child in open_ for parents in _parents(measurer, child, placed, degree, cap)]
        function, sensitivity = _score(score, measurer.moved, most_rows)

        def scores(rows: Cells, among: Sequence[Family] = candidates, each: Score = function) -> list[int]:
            rows.fetch((*parents, child) for child, parents in among)
            return [each(_family_table(rows, measurer, family)) for family in among]

        families.append(candidates[measurer.choice(scores, structure / (columns - 1), sensitivity=sensitivity)])
    return families


def _parents(measurer: Measurer, child: int, placed: list[int], degree: int, cap: float) -> list[tuple[int, ...]]:
    """Sets of parents whose table is still useful, the larger ones first; none where not even one parent is."""
    cells = measurer.attributes.cells
    useful = [
        parents
        for size in range(1, degree + 1)
        for parents in combinations(sorted(placed), size)
        if cells((*parents, child)) <= cap
    ]
    return useful or [()]


def _family_table(rows: Cells, measurer: Measurer, family: Family) -> NDArray[np.int64]:
    child, parents = family
    sizes = measurer.attributes.sizes
    places = (*parents, child)
    table = rows.table(places, tuple(sizes[place] for place in places))
    return table.reshape(-1, sizes[child])


Score = Callable[[NDArray[np.int64]], int]


def _score(name: str, moved: Contribution, most_rows: int) -> tuple[Score, int]:
    match name:
        case "r":
            return distance_score, 4 * moved.table.l1
        case "mi":
            return (lambda table: information_score(table, most_rows)), ceil(moved.table.l1 * steepest(most_rows)) + 2
        case _:
            raise InvalidArgument(f'score must be "mi" or "r", got {name!r}')


def distance_score(table: NDArray[np.int64]) -> int:
    """The whole part of the sum of |n_ab - n_a·n_b/n|, computed exactly. One row more or less moves the sum by at most 4."""
    total = int(table.sum())
    if not total:
        return 0
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if total < 1 << 30:
        return int(np.abs(total * table - np.outer(rows, columns)).sum() // total)
    exact = abs(total * table.astype(object) - np.outer(rows.astype(object), columns.astype(object)))
    return int(exact.sum() // total)


def information_score(table: NDArray[np.int64], most_rows: int) -> int:
    """The number of rows times the mutual information (in nats), to the nearest whole number.

    x·ln x is continued by its last slope beyond `most_rows`, so that one row moves the sum by at most `steepest(most_rows)`
    whatever the data; up to that many rows it is the mutual information itself.
    """
    total = table.sum()
    parts = _entropy(table, most_rows) - _entropy(table.sum(axis=1), most_rows) - _entropy(table.sum(axis=0), most_rows)
    return int(np.floor(parts + _entropy(np.array([total]), most_rows)))


def _entropy(counts: NDArray[np.int64], most_rows: int) -> float:
    held = np.minimum(counts, most_rows).astype(float)
    plain = held * np.log(np.maximum(held, 1.0))
    return float((plain + (counts - held) * steepest(most_rows)).sum())


def steepest(rows: int) -> float:
    """How far x·ln x rises from `rows` to one row more: the most that one row can move."""
    return log(rows + 1) + rows * log1p(1 / rows) if rows else 0.0
