"""What every network synthesizer shares: rows with their units, released one-way tables, and one plan of costs for a whole run.

Guarantee: the run asks its compositor for the declared costs, in their order, and for nothing else; all of them are one cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core.compositor import Compositor
from deniable.core.distance import Distance, Linear
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.cost import Cost
from deniable.engines.engine import RowTable
from deniable.exact.guards import Real, positive
from deniable.models.encoding import GRID
from deniable.models.network import WEIGHT_STEPS, Network, check_network
from deniable.models.task import TotalNoise, planned_task
from deniable.models.training import DensePath
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy
from deniable.synth.attribute import Attributes
from deniable.synth.fitted import row_vectors
from deniable.synth.fitted.mixture import MODES
from deniable.synth.fitted.row_vectors import FEW_CELLS, RowVectors
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.measured.coded import CellRows, Contribution, Read

Whole = Any

assert (row_vectors.GRID, row_vectors.WEIGHT_STEPS) == (GRID, WEIGHT_STEPS), (
    "both halves must read the same whole numbers"
)


@dataclass(frozen=True, slots=True, eq=False)
class NetworkData:
    """Where a network synthesizer reads its rows: the space, how rows become cells, and how far one unit moves them."""

    space: Space
    read: Read
    attributes: Attributes
    moved: Contribution
    apart: int | None = None
    """The place of a column of the rows that is none of the attributes."""

    def cells(self, rows: PrivateRows) -> tuple[Whole, ...]:
        """The columns of cells, in their order, without the one that is apart."""
        return tuple(rows.codes[name] for place, name in enumerate(sorted(rows.codes)) if place != self.apart)

    def without(self, place: int) -> NetworkData:
        """All columns but this one."""
        kept = tuple(column for at, column in enumerate(self.attributes.columns) if at != place)
        return NetworkData(self.space, self.read, Attributes(kept), self.moved, place)

    def tables_noise(self, multiplier: Real) -> TotalNoise:
        """Noise on all one-way tables together: a unit's rows are in one cell of each, at worst all in the same."""
        return TotalNoise.of(len(self.attributes.columns) * self.moved.rows**2, multiplier)

    def task(
        self,
        costs: Sequence[Cost],
        run: Callable[[Compositor], TwinMeasurements],
        recipe: str,
        replaced: Sequence[Cost] | None = None,
    ) -> Mechanism:
        """The mechanism on tables that reads them once and lets `run` ask for these costs."""
        inner = planned_task(self.space, costs=costs, run=run, recipe=recipe, replaced=replaced)

        moved = Linear(Fraction(self.moved.moves))

        def function(data: Any, entropy: Entropy) -> Any:
            return inner.function(row_table(self.read(data)), entropy)

        def privacy_map(d_in: Distance) -> Cost:
            return inner.privacy_map(moved(d_in))

        return Mechanism(self.space, function, privacy_map, recipe=recipe)

    def release_tables(self, compositor: Compositor, noise: TotalNoise) -> list[Marginal]:
        """The one-way tables of all columns, with noise, as one answer."""
        answered = compositor.release(
            noise.total(self.space, lambda rows: one_way_tables(self.cells(rows), self.attributes))
        )
        ends = np.cumsum(self.attributes.sizes)[:-1]
        return [
            Marginal((place,), np.asarray(part, dtype=np.int64), noise.scale)
            for place, part in enumerate(np.split(answered, ends))
        ]


def row_table(cells: CellRows) -> RowTable:
    """Rows of cells as models read them, whole units together."""
    order = slice(None) if cells.labels is None else np.argsort(cells.labels, kind="stable")
    columns = {f"c{place:04d}": column[order] for place, column in enumerate(cells.columns)}
    missing = {name: np.zeros(len(column), dtype=bool) for name, column in columns.items()}
    return RowTable(None if cells.labels is None else cells.labels[order], columns, missing)


def one_way_tables(cells: Sequence[Whole], attributes: Attributes) -> Whole:
    """How many rows each cell of each column has, one column after another."""
    pairs = zip(cells, attributes.sizes, strict=True)
    return np.concatenate([np.bincount(column, minlength=size) for column, size in pairs])


def with_features(rows: PrivateRows, features: Any, truth: Any) -> PrivateRows:
    """The same units with what a network reads of them."""
    return PrivateRows(rows.codes, rows.count, rows.starts, rows.labels, {"features": features, "truth": truth})


def public_rows(vectors: Any, truth: float) -> PrivateRows:
    """Generated rows for a discriminator: each a unit of its own, with nothing private about it."""
    return PrivateRows({}, len(vectors), None, None, {"features": vectors, "truth": np.full((len(vectors), 1), truth)})


def most_width(attributes: Attributes) -> int:
    """The most entries a row's vector can have, whatever tables are released."""
    modes = [column.ordered and column.present > FEW_CELLS for column in attributes.columns]
    return 1 + sum(MODES + 2 if each else size for each, size in zip(modes, attributes.sizes, strict=True))


def discriminator(vectors: RowVectors, hidden: int, link: Any) -> DensePath:
    """A network of one hidden layer on whole numbers, at its public starting weights."""
    width = 1 + vectors.width
    network = Network((hidden,))
    return DensePath(network.sizes(width, 1), tuple(network.start(width, 1)), link)


def check_widths(attributes: Attributes, hidden: int, clip_steps: int, rows: int, outputs: int = 1) -> None:
    """Refuse, before there is a price, networks whose sums could leave the exact range."""
    sizes = (most_width(attributes), hidden, outputs) if hidden else (most_width(attributes), outputs)
    check_network(sizes, clip_steps, rows)


def clip_steps_of(clip: Real, grid: int) -> int:
    """The clip in whole steps of a gradient."""
    return max(int(positive(clip=clip) * grid), 1)
