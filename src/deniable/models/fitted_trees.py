"""Grown trees: questions about one row, noisy leaf counts, and the shares that are predicted from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.exact.guards import Real
from deniable.models.encoding import GRID, Feature, Whole
from deniable.models.fitted import FittedModel
from deniable.models.inference import Branch, trees_expression


@dataclass(frozen=True, slots=True)
class Cut:
    """A question about one row: is the code of `feature` equal to `place` (a category) or at most `place` (a number)?"""

    feature: str
    place: int
    equal: bool

    def holds(self, codes: Mapping[str, Whole]) -> NDArray[np.bool_]:
        """The answer for every row."""
        column = codes[self.feature]
        return column == self.place if self.equal else column <= self.place


@dataclass(frozen=True, slots=True)
class Node:
    """A place in a tree: the cut whose answer leads on, or None in a leaf, whose noisy class counts are `counts`."""

    cut: Cut | None
    counts: tuple[float, ...] = ()
    yes: int = -1
    no: int = -1


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf: the answers that lead to it, and of every class its noisy number of rows with an interval."""

    path: tuple[str, ...]
    counts: Mapping[Any, float]
    intervals: Mapping[Any, tuple[float, float]]


def laplace_reach(scale: float, terms: int, confidence: float) -> float:
    """How far the sum of so many whole Laplace numbers is from zero at most, but for the rest of the confidence.

    Of one number its exact law; of several Chernoff's bound: the moments' own series is known, and any exponent gives a bound.
    """
    ratio, rest = exp(-1 / scale), 1 - confidence
    if terms == 1:
        return max(float(ceil(scale * log(2 / (rest * (1 + ratio))))) - 1, 0.0)
    found = inf
    for place in range(1, 200):
        power = place / (200 * scale)
        moment = 2 * log(1 - ratio) - log(1 - exp(power - 1 / scale)) - log(1 - ratio * exp(-power))
        found = min(found, (terms * moment + log(2 / rest)) / power)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTrees(FittedModel):
    """One tree or several; each gives a row the smoothed class shares of its leaf, and these are averaged.

    Counts below the noise count for nothing: a leaf's shares are drawn towards equal ones by the size of its noise.
    """

    trees: tuple[tuple[Node, ...], ...]
    spread: float

    def results(self) -> Mapping[str, float]:
        leaves = [node.counts for node in self.trees[0] if node.cut is None]
        return {f"rows with {value}": sum(counts[k] for counts in leaves) for k, value in enumerate(self.classes)}

    def interval(self, confidence: Real = 0.95) -> Mapping[str, tuple[float, float]]:
        """How many rows of each class the first tree was grown from: for the noise of its leaves, which add up."""
        FittedModel.interval(self, confidence)
        leaves = sum(node.cut is None for node in self.trees[0])
        reach = laplace_reach(self.spread, leaves, float(confidence))
        return {name: (value - reach, value + reach) for name, value in self.results().items()}

    def leaves(self, *, tree: int = 0, confidence: Real = 0.95) -> list[Leaf]:
        """The leaves of one tree, each class with an interval for how many of the tree's rows ended there.

        Intervals are for the noise, one by one. That the splits were chosen from the same rows, and how far the rows stand for
        others, is not in them.
        """
        FittedModel.interval(self, confidence)
        reach, found = laplace_reach(self.spread, 1, float(confidence)), list[Leaf]()
        known, nodes = {each.name: each for each in self.features}, self.trees[tree]

        def add(place: int, path: tuple[str, ...]) -> None:
            node = nodes[place]
            if node.cut is None:
                named = dict(zip(self.classes, node.counts, strict=True))
                found.append(Leaf(path, named, {name: (each - reach, each + reach) for name, each in named.items()}))
                return
            said = cut_text(node.cut, known[node.cut.feature])
            add(node.yes, (*path, said))
            add(node.no, (*path, f"not {said}"))

        add(0, ())
        return found

    @property
    def sampler(self) -> str:
        if len(self.trees) == 1:
            return "none: every answer is about all rows"
        return f"every unit is in one of {len(self.trees)} parts, by keyed hash"

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        total = np.zeros((count, len(self.classes)), dtype=np.int64)
        for tree in self.trees:
            shares = np.array([self.shares(node) for node in tree], dtype=np.int64)
            total += shares[self.leaf_of(tree, codes, count)]
        return total // len(self.trees)

    def leaf_of(self, tree: tuple[Node, ...], codes: Mapping[str, Whole], count: int) -> Whole:
        """The node in which each row ends."""
        here = np.zeros(count, dtype=np.int64)
        for place, node in enumerate(tree):  # children stand after their parents
            if node.cut is None:
                continue
            inside = here == place
            yes = node.cut.holds(codes)
            here = np.where(inside, np.where(yes, node.yes, node.no), here)
        return here

    def expression(self, *, of: Any = None) -> Any:
        place, known = self.class_place(of), {each.name: each for each in self.features}
        return trees_expression(self.features, [self._branch(tree, 0, place, known) for tree in self.trees])

    def _branch(self, tree: tuple[Node, ...], at: int, place: int, known: Mapping[str, Feature]) -> Branch:
        node = tree[at]
        if node.cut is None:
            return Branch(Fraction(self.shares(node)[place], GRID * len(self.trees)))
        yes, no = (self._branch(tree, child, place, known) for child in (node.yes, node.no))
        return Branch(Fraction(0), known[node.cut.feature], node.cut.place, node.cut.equal, yes, no)

    def shares(self, node: Node) -> list[int]:
        """The chance of each class in a leaf, in steps of 1/GRID, cut downwards."""
        if node.cut is not None:
            return [0] * len(self.classes)
        counts = np.maximum(np.array(node.counts), 0) + max(self.spread, 1)
        return [int(share) for share in np.floor(counts / counts.sum() * GRID)]

    def text(self) -> str:
        """The first tree, one line for each node."""
        known = {each.name: each for each in self.features}
        lines: list[str] = []

        def add(place: int, indent: str) -> None:
            node = self.trees[0][place]
            if node.cut is None:
                shares = ", ".join(
                    f"{value}: {share / GRID:.2f}" for value, share in zip(self.classes, self.shares(node), strict=True)
                )
                lines.append(f"{indent}{shares}")
                return
            lines.append(f"{indent}if {cut_text(node.cut, known[node.cut.feature])}")
            add(node.yes, indent + "  ")
            lines.append(f"{indent}else")
            add(node.no, indent + "  ")

        add(0, "")
        return "\n".join(lines)


def cut_text(cut: Cut, known: Feature) -> str:
    """A cut in words."""
    if cut.equal:
        return f"{cut.feature} = {known.values[cut.place]}"
    return f"{cut.feature} <= {float(cut.place * known.step):g}"
