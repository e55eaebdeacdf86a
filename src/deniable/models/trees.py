"""Decision trees and forests with private splits (docs/theory/split-scores.md).

A split is chosen by the exponential mechanism over public candidates (every category against the rest, and thresholds spread
evenly between declared bounds), scored by how many rows its two sides would classify rightly, of which one row changes one. Leaves
are noisy counts. In a forest people, not rows, are dealt to trees by a keyed hash of each unit alone, so each unit is in one tree
and the trees together cost what one of them costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, log2
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor, grouped
from deniable.core.mechanism import Mechanism
from deniable.cost import Cost, DiscreteLaplace, Exponential
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.guards import Real, integer, positive
from deniable.models.encoding import Feature, Whole
from deniable.models.estimator import Estimator, RowsReading
from deniable.models.fitted_trees import Cut, FittedTrees, Node
from deniable.models.task import planned_task
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy, discrete_laplaces, exponential_choice

Floats = NDArray[np.float64]

SCORES = ("correct", "gini", "information")
_FINE = 1 << 10
"""Steps of a score to one row, for scores that are no counts."""


def candidates(features: tuple[Feature, ...], thresholds: int) -> tuple[Cut, ...]:
    """Every cut that may be chosen, from public facts alone."""
    cuts: list[Cut] = []
    for each in features:
        if not each.is_number:
            places = range(1 if len(each.values) == 2 else 0, len(each.values))
            cuts += [Cut(each.name, place, True) for place in places]
            continue
        width = each.upper - each.lower
        inner = {each.lower + width * step // (thresholds + 1) for step in range(1, thresholds + 1)}
        logs = {each.lower + width // 2**step for step in range(1, 13)}
        cuts += [Cut(each.name, place, False) for place in sorted(inner | logs) if each.lower <= place < each.upper]
    return tuple(cuts)


def split_scores(
    rows: PrivateRows, classes: Whole, number: int, cuts: tuple[Cut, ...], kind: str, cap: int
) -> list[int]:
    """How good each cut is for these rows, in whole steps; `score_range` says how far one row moves it.

    "correct" counts the rows that the larger class on each side has. "gini" is the sum over both sides of (squared class counts) /
    (rows). "information" is minus the entropy of the two sides, in bits times rows, with class counts cut to `cap`.
    """
    found = []
    for cut in cuts:
        yes = cut.holds(rows.codes)
        sides = [np.bincount(classes[side], minlength=number)[:number] for side in (yes, ~yes)]
        found.append(sum(side_score(side.tolist(), kind, cap) for side in sides))
    return found


def side_score(counts: list[int], kind: str, cap: int) -> int:
    """The score of one side of a cut from its class counts."""
    if kind == "correct":
        return max(counts)
    if kind == "gini":
        total = sum(counts)
        return sum(count * count for count in counts) * _FINE // total if total else 0
    kept = [min(count, cap) for count in counts]
    return floor((sum(count * log2(count) for count in kept if count) - _plogp(sum(kept))) * _FINE)


def _plogp(total: int) -> float:
    return total * log2(total) if total else 0.0


def score_range(kind: str, classes: int, cap: int) -> tuple[int, int]:
    """Steps to one row, and how far apart one row can move any two scores: its largest change less its smallest.

    "correct" grows by 0 or 1. "gini" moves by at most 1 either way. "information" falls by 0 up to log2(rows + 1) + 1/ln 2, where
    the rows are at most `cap` in every class; two steps more for its rounding.
    """
    if kind == "correct":
        return 1, 1
    if kind == "gini":
        return _FINE, 2 * _FINE
    return _FINE, ceil((log2(classes * cap + 1) + 1.4427) * _FINE) + 2


@dataclass(frozen=True, slots=True)
class TreePlan:
    """What one tree asks for: a choice at each place of each level, then one table of leaf counts."""

    depth: int
    scale: Fraction
    """The scale of a choice, in rows: a candidate one row better is e**(1/scale) times as likely."""
    per_unit: int
    steps: int
    """Steps of a score to one row: 1 for counts."""
    spread: int
    """How far apart one row can move two scores, in steps."""

    @property
    def choice(self) -> Cost:
        """What the choices of one level cost: a row is in one place of each level; its choice has a loss range of spread/scale."""
        return Exponential(eta=Fraction(self.per_unit * self.spread) / (self.scale * self.steps))

    @property
    def leaves(self) -> Cost:
        """What the table of leaf counts costs: one row is in one cell."""
        return DiscreteLaplace(scale=self.scale * self.depth, sensitivity=self.per_unit, coordinates=self.per_unit)

    @property
    def costs(self) -> list[Cost]:
        """The whole tree, in order."""
        return [self.choice] * self.depth + [self.leaves]


@dataclass(frozen=True, slots=True)
class DecisionTree(Estimator):
    """A tree of private splits, `depth` levels deep; leaves hold noisy class counts, and predictions are their smoothed shares.

    `split` is "correct" (rows classified rightly), "gini" or "information"; `thresholds` is how many even cuts a number has.

    Guarantee: a row meets one choice per level and one leaf; all of them are charged as one list.
    """

    depth: int = field(default=4, kw_only=True)
    split: str = field(default="gini", kw_only=True)
    thresholds: int = field(default=15, kw_only=True)
    cap: int = field(default=100_000, kw_only=True)
    """The public number of rows of one class from which on "information" counts no more."""

    title: ClassVar[str] = "decision tree"

    def check(self) -> None:
        integer(depth=self.depth, least=1, greatest=12)
        integer(thresholds=self.thresholds, least=1, greatest=255)
        integer(cap=self.cap, least=1, greatest=2**26)  # entropies of larger counts are not exact to a step
        if self.split not in SCORES:
            raise InvalidArgument(f"split must be one of {', '.join(SCORES)}, got {self.split!r}")

    def step_count(self, reading: RowsReading) -> int:
        return self.depth + 1

    def plan(self, reading: RowsReading, multiplier: Real) -> TreePlan:
        """Scales for this multiplier."""
        steps, spread = score_range(self.split, len(reading.target_classes()), self.cap)
        return TreePlan(self.depth, positive(multiplier=multiplier), reading.per_unit, steps, spread)

    def cuts(self, reading: RowsReading) -> tuple[Cut, ...]:
        """The cuts to choose from; the one that all rows pass where every feature has one value, as found bounds may say."""
        first = reading.features[0]
        return candidates(reading.features, self.thresholds) or (Cut(first.name, first.upper, False),)

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        plan = self.plan(reading, multiplier)
        cuts = self.cuts(reading)

        def run(compositor: Compositor) -> FittedTrees:
            return fitted_trees(self, reading, Growing(self, reading, plan, cuts).trees(compositor, [None]), plan)

        return planned_task(reading.space, costs=plan.costs, run=run, recipe=self.recipe())

    def forecast(self, reading: RowsReading, multiplier: float) -> str:
        choices = number_of(len(self.cuts(reading)), "candidate")
        return f"a split may be worse than the best by about {multiplier:.4g} rows times the log of {choices}"


@dataclass(frozen=True, slots=True)
class RandomForest(DecisionTree):
    """Several trees, each of its own people: every unit is dealt to one tree by a keyed hash of the unit alone.

    Guarantee: a unit is in one tree, so all trees together cost what one costs.
    """

    trees: int = field(default=8, kw_only=True)
    depth: int = field(default=5, kw_only=True)

    title: ClassVar[str] = "random forest"

    def check(self) -> None:
        DecisionTree.check(self)
        integer(trees=self.trees, least=1, greatest=1024)

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        plan = self.plan(reading, multiplier)
        cuts = self.cuts(reading)

        def prepare(rows: PrivateRows) -> None:
            rows.kept["part"] = part_of_row(rows, self.trees).astype(np.float64)

        def run(compositor: Compositor) -> FittedTrees:
            parts: list[int | None] = list(range(self.trees))
            return fitted_trees(self, reading, Growing(self, reading, plan, cuts).trees(compositor, parts), plan)

        return planned_task(reading.space, costs=plan.costs, run=run, recipe=self.recipe(), prepare=prepare)


def part_of_row(rows: PrivateRows, parts: int) -> Whole:
    """The part of each row's unit: by its keyed label, or where rows are units by a hash of the row's own codes.

    Guarantee: nobody else's rows change a unit's part; rows that are alike stay together.
    """
    if rows.labels is not None:
        return rows.labels % parts
    mixed = np.zeros(rows.count, dtype=np.uint64)
    for name in sorted(rows.codes):
        mixed = (mixed ^ rows.codes[name].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(parts)).astype(np.int64)


Path = tuple[tuple[Cut, bool], ...]
"""The answers that lead from the root of a tree to a place in it."""


@dataclass(frozen=True, slots=True)
class Growing:
    """Trees while they grow: all places of one level, over all trees, hold each row at most once, so they are one choice."""

    model: DecisionTree
    reading: RowsReading
    plan: TreePlan
    cuts: tuple[Cut, ...]

    def trees(self, compositor: Compositor, parts: list[int | None]) -> tuple[tuple[Node, ...], ...]:
        """One tree for each part of the people (None: all of them), level by level."""
        places: list[tuple[int | None, Path]] = [(part, ()) for part in parts]
        chosen: dict[tuple[int | None, Path], Cut] = {}
        for _ in range(self.plan.depth):
            following = []
            for (part, path), found in zip(places, compositor.release(self._choice(places)), strict=True):
                cut = chosen[part, path] = self.cuts[found]
                following += [(part, (*path, (cut, True))), (part, (*path, (cut, False)))]
            places = following
        counts = compositor.release(self._leaves(places))
        leaves = {place: tuple(float(count) for count in row) for place, row in zip(places, counts, strict=True)}
        return tuple(_nodes(part, chosen, leaves) for part in parts)

    def _choice(self, places: list[tuple[int | None, Path]]) -> Mechanism:
        """One cut for each place of a level, by the exponential mechanism."""
        number, target, plan = len(self.reading.target_classes()), self._target, self.plan

        def function(rows: PrivateRows, entropy: Entropy) -> list[int]:
            chosen = []
            for place in places:
                inside = members(rows, *place)
                codes = {name: column[inside] for name, column in rows.codes.items()}
                part = PrivateRows(codes, int(inside.sum()), None, None)
                scores = split_scores(part, codes[target], number, self.cuts, self.model.split, self.model.cap)
                chosen.append(exponential_choice(scores, plan.scale * plan.steps, entropy))
            return chosen

        return Mechanism(self.reading.space, function, lambda d_in: grouped(plan.choice, d_in))

    def _leaves(self, places: list[tuple[int | None, Path]]) -> Mechanism:
        """The class counts of every leaf, with Laplace noise."""
        number, target, plan = len(self.reading.target_classes()), self._target, self.plan

        def function(rows: PrivateRows, entropy: Entropy) -> Whole:
            classes = rows.codes[target]
            counts = [np.bincount(classes[members(rows, *place)], minlength=number)[:number] for place in places]
            table = np.stack(counts).astype(np.int64)
            return table + discrete_laplaces(plan.scale * plan.depth, table.size, entropy).reshape(table.shape)

        return Mechanism(self.reading.space, function, lambda d_in: grouped(plan.leaves, d_in))

    @property
    def _target(self) -> str:
        assert self.reading.target is not None
        return self.reading.target.name


def members(rows: PrivateRows, part: int | None, path: Path) -> NDArray[np.bool_]:
    """Which rows are in a place of a tree."""
    held = np.ones(rows.count, dtype=bool) if part is None else rows.kept["part"] == part
    for cut, answer in path:
        held &= cut.holds(rows.codes) == answer
    return held


def _nodes(part: int | None, chosen: Mapping[Any, Cut], leaves: Mapping[Any, tuple[float, ...]]) -> tuple[Node, ...]:
    """The tree as a list of nodes, the root first."""
    nodes: list[Node] = []

    def add(path: tuple[tuple[Cut, bool], ...]) -> int:
        place = len(nodes)
        if (part, path) in leaves:
            nodes.append(Node(None, leaves[part, path]))
            return place
        cut = chosen[part, path]
        nodes.append(Node(cut))
        yes, no = add((*path, (cut, True))), add((*path, (cut, False)))
        nodes[place] = Node(cut, (), yes, no)
        return place

    add(())
    return tuple(nodes)


def fitted_trees(
    model: DecisionTree, reading: RowsReading, trees: tuple[tuple[Node, ...], ...], plan: TreePlan
) -> FittedTrees:
    """The record of what was grown."""
    leaf = float(plan.scale * plan.depth)
    return FittedTrees(
        estimator=model.title,
        features=reading.features,
        target=reading.target,
        settings=model.settings(),
        noise=(
            f"splits by the exponential mechanism of scale {float(plan.scale):.4g} rows; "
            f"Laplace noise of scale {leaf:.4g} on leaf counts"
        ),
        trees=trees,
        spread=leaf,
    )
