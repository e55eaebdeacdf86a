"""The mechanisms of a synthesizer: noisy tables, noisy scores, and private choices, on rows of cells.

Guarantee: each moves by what its docstring says when one unit comes or goes; the neighbour tests hold it to that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor, grouped
from deniable.core.gate import PrivacyFilter
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.cost import Cost, Exponential
from deniable.kernels import Noise, Sensitivity
from deniable.mechanisms.additive import noisy_values
from deniable.noise import Entropy, exponential_choice
from deniable.synth.attribute import Attributes
from deniable.synth.fitted.stored import Marginal
from deniable.synth.measured.allowance import Allowance
from deniable.synth.measured.coded import CellRows, Cells, Contribution

Groups = Sequence[Sequence[int]]
Integers = NDArray[np.int64]


def grouped_rows(rows: CellRows, groups: Groups) -> CellRows:
    """The rows with every cell replaced by its group."""
    return rows.mapped(groups)


def exact_table(rows: Cells, places: tuple[int, ...], sizes: tuple[int, ...]) -> Integers:
    """The counts of a table. One unit moves at most as many cells, and each by as much, as it has rows."""
    return rows.table(places, sizes).reshape(sizes)


def distances(rows: Cells, expected: Sequence[tuple[tuple[int, ...], Integers]]) -> Integers:
    """For each table the sum of |count - expected| over its cells; `expected` are whole numbers that were released or are public.

    One row moves one count by one, hence each sum by at most one: one unit moves each as far as its rows go.
    """
    rows.fetch(places for places, _ in expected)
    sums = [int(np.abs(exact_table(rows, places, table.shape) - table).sum()) for places, table in expected]
    return np.array(sums, dtype=np.int64)


class Measurer:
    """Rows of cells behind the filter of one synthesizer: everything that leaves was charged to it first.

    Guarantee: all answers together cost the allowance, however tables, choices and scales were picked from earlier answers.
    """

    def __init__(
        self,
        rows: Cells,
        space: Space,
        attributes: Attributes,
        allowance: Allowance,
        moved: Contribution,
        entropy: Entropy,
        gate: PrivacyFilter | None = None,
        spent: float = 0.0,
    ) -> None:
        """With a `gate`, the share `spent` of the allowance was charged to it already."""
        self.attributes, self.allowance, self.moved = attributes, allowance, moved
        self._compositor = Compositor(rows, space, gate or PrivacyFilter(allowance.rule), Fraction(1), entropy)
        self._left, self._cells = 1.0 - spent, list[Integers | None]()

    def recut(self, attributes: Attributes, cells: Sequence[Sequence[int] | None], spent: float) -> Measurer:
        """The same rows behind the same filter, with cells cut anew (the new cell of every old one); shares are of what is left."""
        anew = copy(self)
        anew.attributes, anew._left = attributes, self._left * (1 - spent)
        anew._cells = [None if each is None else np.array(each, dtype=np.int64) for each in cells]
        return anew

    def noise(self, share: float) -> Noise:
        """The noise on a table that this share of what is left pays for."""
        return self.allowance.noise(share * self._left, self.moved.table)

    def table(self, places: tuple[int, ...], share: float, *, groups: Groups | None = None) -> Marginal:
        """A noisy table of cells, or of groups, for this share of the allowance."""
        sizes = _sizes(self.attributes, places, groups)
        noise = self.noise(share)

        def counts(rows: Cells) -> Integers:
            return exact_table(rows if groups is None else rows.mapped(groups), places, sizes)

        noisy = self._noisy(counts, noise, self.moved.table)
        return Marginal(places, noisy, noise.scale, noise.law.name.lower(), groups is not None)

    def scores(
        self, expected: Sequence[tuple[tuple[int, ...], Integers]], share: float, *, groups: Groups
    ) -> tuple[Integers, Fraction]:
        """How far each table is from what is expected of it, in rows, with noise; and the scale of that noise."""
        noise = self.allowance.noise(share * self._left, self.moved.total, tables=len(expected))
        moved = self.moved.totals(len(expected))
        return self._noisy(lambda rows: distances(rows.mapped(groups), expected), noise, moved), noise.scale

    def choice(self, scores: Callable[[Cells], Sequence[int]], share: float, *, sensitivity: int | None = None) -> int:
        """The place of a score that is about the largest. `sensitivity` is how far one unit moves each; its rows if not given."""
        eta = self.allowance.eta(share * self._left)
        spread = 2 * (self.moved.total.linf if sensitivity is None else sensitivity)

        def function(rows: Cells, entropy: Entropy) -> int:
            return exponential_choice(list(scores(rows)), Fraction(spread) / eta, entropy)

        return int(self._release(function, Exponential(eta=eta)))

    def _noisy(self, counts: Callable[[Cells], Integers], noise: Noise, moved: Sensitivity) -> Integers:
        def function(rows: Cells, entropy: Entropy) -> Integers:
            return noisy_values(counts(rows), noise=noise, entropy=entropy)

        return np.asarray(self._release(function, noise.cost(moved)))

    def _release(self, function: Callable[[Cells, Entropy], Any], cost: Cost) -> Any:
        def recut(rows: Cells, entropy: Entropy) -> Any:
            return function(self._recut(rows), entropy)

        return self._compositor.release(Mechanism(self._compositor.space, recut, lambda d_in: grouped(cost, d_in)))

    def _recut(self, rows: Cells) -> Cells:
        """Every row with its new cells; row by row, so one unit moves as many rows as before."""
        return rows.mapped(self._cells) if self._cells else rows


def _sizes(attributes: Attributes, places: tuple[int, ...], groups: Groups | None) -> tuple[int, ...]:
    if groups is None:
        return tuple(attributes.sizes[place] for place in places)
    return tuple(max(groups[place]) + 1 for place in places)
