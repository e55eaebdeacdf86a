"""k-means in whole numbers: every round releases, for each cluster, its noisy number of rows and their noisy sums.

Starting centres are public. In which cluster a row lies is decided exactly, from the row and the released centres alone. What is
known of private rows' clusters is what was released; labels are given to public rows only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, integer, positive
from deniable.models.encoding import GRID, Encoding, Whole
from deniable.models.estimator import MOST_STEPS, RowsReader, RowsReading
from deniable.models.fitted import FittedModel
from deniable.models.task import TotalNoise, planned_task
from deniable.models.unit_totals import PrivateRows, check_cut, check_exact, norm_square, root_up, weighted

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KMeans(RowsReader):
    """Rows in `clusters` groups around centres, by Lloyd's rounds on exact sums with normal noise.

    To choose the number of clusters, give several to `session.best_of` with score="calinski_harabasz".

    Guarantee: one charge for all rounds; a unit moves each round's totals by at most the declared length.
    """

    clusters: int = 3
    rounds: int = field(default=6, kw_only=True)

    title: ClassVar[str] = "k-means"

    def check(self) -> None:
        integer(clusters=self.clusters, least=1, greatest=1000)
        integer(rounds=self.rounds, least=1, greatest=MOST_STEPS)

    def step_count(self, reading: RowsReading) -> int:
        return self.rounds

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        noise = self.noise(reading, multiplier)
        norm = root_up(noise.square)

        def prepare(rows: PrivateRows) -> None:
            rows.kept["features"] = reading.encoding.floats(rows.codes, rows.count)

        def run(compositor: Compositor) -> FittedClusters:
            centres, totals = starting_centres(self.clusters, reading.encoding), np.zeros((1, 1))
            for _ in range(self.rounds):
                asked = noise.total(reading.space, partial(cluster_totals, centres=centres, norm=norm))
                totals = compositor.release(asked).astype(np.float64) / GRID
                centres = moved_centres(centres, totals, float(noise.scale) / GRID)
            return _fitted(self, reading, centres, totals, noise)

        costs = [noise.cost] * self.rounds
        return planned_task(reading.space, costs=costs, run=run, recipe=self.recipe(), prepare=prepare)

    def noise(self, reading: RowsReading, multiplier: Real) -> TotalNoise:
        """Noise such that all rounds together cost as one answer with this multiplier."""
        one = GRID**2 * (reading.encoding.most + 1)
        square = norm_square(one, reading.per_unit)
        check_exact("a distance", 4 * GRID**2 * reading.encoding.width)
        if reading.per_unit > 1:
            check_cut(entry=GRID * reading.per_unit, square=square * reading.per_unit, norm=root_up(square))
        return TotalNoise.of(square, positive(multiplier=multiplier) * exact_root(self.rounds, 40).upper)


def starting_centres(clusters: int, encoding: Encoding) -> Whole:
    """Public centres, one for each cluster: numbers spread by a hash over their range, categories in equal shares."""
    centres = np.zeros((clusters, encoding.width), dtype=np.int64)
    centres[:, 0] = GRID
    for cluster in range(clusters):
        place = 1
        for each in encoding.features:
            for column in range(each.width):
                digest = hashlib.blake2b(f"{cluster} {each.name} {column}".encode(), digest_size=8).digest()
                share = int.from_bytes(digest, "big") % (2 * GRID + 1)
                centres[cluster, place] = (share - GRID) * 3 // 4 if each.is_number else share // (2 * len(each.values))
                place += 1
    return centres


def nearest(features: Floats, centres: Whole) -> Whole:
    """The nearest centre of each row, the first of equally near ones; exact, all numbers being whole and below 2**53."""
    middle = centres.astype(np.float64)
    apart = (middle * middle).sum(axis=1)[None, :] - 2 * (features @ middle.T)
    return np.asarray(apart.argmin(axis=1).astype(np.int64), dtype=np.int64)


def cluster_totals(rows: PrivateRows, centres: Whole, *, norm: int) -> Whole:
    """Of each cluster the sums of its rows' columns (the first is their number), and of their squared lengths."""
    features = rows.kept["features"]
    squares = (features * features).sum(axis=1, keepdims=True) // (GRID * _longest(features.shape[1]))
    chosen = (nearest(features, centres)[:, None] == np.arange(len(centres))[None, :]).astype(np.float64)
    return weighted(rows, np.concatenate([features, squares], axis=1), chosen, norm=norm)


def _longest(width: int) -> int:
    """Squared lengths are counted in units of this many: no row is longer than its number of columns."""
    return width


def moved_centres(centres: Whole, totals: Floats, spread: float) -> Whole:
    """The noisy means; a cluster that may be empty keeps its centre."""
    counts = totals[0]
    means = totals[:-1].T / np.maximum(counts, 1)[:, None]
    kept = counts[:, None] > 4 * spread
    fresh = np.clip(np.rint(np.where(kept, means * GRID, centres)), -GRID, GRID).astype(np.int64)
    fresh[:, 0] = GRID
    return fresh


def _fitted(model: KMeans, reading: RowsReading, centres: Whole, totals: Floats, noise: TotalNoise) -> FittedClusters:
    counts, width = np.maximum(totals[0], 1), reading.encoding.width
    means = centres.astype(np.float64) / GRID
    whole = (means * counts[:, None]).sum(axis=0) / counts.sum()
    between = float((counts * ((means - whole) ** 2).sum(axis=1)).sum())
    within = max(float(totals[-1].sum()) * _longest(width) - float((counts * (means**2).sum(axis=1)).sum()), 1e-9)
    groups = model.clusters
    ratio = between / max(groups - 1, 1) / (within / max(counts.sum() - groups, 1)) if groups > 1 else 0.0
    return FittedClusters(
        estimator=model.title,
        features=reading.features,
        target=None,
        settings=model.settings(),
        noise=f"rounded normal noise of scale {float(noise.scale) / GRID:.6g} rows on the totals of each round",
        centres=tuple(tuple(int(entry) for entry in row) for row in centres),
        counts=tuple(float(count) for count in totals[0]),
        calinski_harabasz=float(ratio),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedClusters(FittedModel):
    """Centres on the scale of -1 to 1 in steps of 1/GRID, the noisy sizes of the clusters, and how far apart they are."""

    centres: tuple[tuple[int, ...], ...]
    counts: tuple[float, ...]
    calinski_harabasz: float

    def results(self) -> Mapping[str, float]:
        return {f"rows in cluster {place}": count for place, count in enumerate(self.counts)}

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        features = Encoding(self.features).floats(codes, count)
        return nearest(features, np.array(self.centres, dtype=np.int64))[:, None]

    def predict(self, frame: Any) -> Any:
        """The cluster of each row of a public frame."""
        return self.public_outputs(frame)[:, 0]

    def centre(self, cluster: int) -> dict[str, float]:
        """A centre by column: numbers in their own unit, categories as shares."""
        found, place = {}, 1
        for each in self.features:
            for label in each.labels:
                share = self.centres[cluster][place] / GRID
                found[label] = each.middle + each.half_width * share if each.is_number else share
                place += 1
        return found
