"""A b-ary tree of noisy counts over ordered bins: range counts, the distribution function and every quantile from one release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.distance import Distance
from deniable.core.domain import Vectors
from deniable.core.mechanism import Mechanism
from deniable.core.metric import L1
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, positive
from deniable.kernels import Law, Sensitivity, noise_of
from deniable.kernels.rank_scores import share
from deniable.mechanisms.additive import additive_utility, noisy_values
from deniable.mechanisms.carried import MOST_LEAVES, carried, exact_sums
from deniable.mechanisms.hierarchy import Consistent, consistent
from deniable.mechanisms.lattice_norms import norms
from deniable.noise import Entropy


@dataclass(frozen=True)
class NoisyTree:
    """Noisy counts level by level from the root, over `size` ordered bins; read it as often as you like."""

    levels: tuple[NDArray[np.int64], ...]
    branching: int
    size: int
    unit: float

    @cached_property
    def estimates(self) -> Consistent:
        """The best estimates of all counts, parents equal to the sum of their children (in the numbers people read)."""
        parents = [np.arange(level.size) // self.branching for level in self.levels[1:]]
        return consistent(
            [level * self.unit for level in self.levels], variances=[1.0] * len(self.levels), parents=parents
        )

    @property
    def counts(self) -> NDArray[np.float64]:
        """The estimated count of every bin."""
        return self.estimates.levels[-1][: self.size]

    def between(self, first: int, last: int) -> float:
        """The estimated count of bins first, ..., last - 1."""
        if not 0 <= first <= last <= self.size:
            raise InvalidArgument(f"bins run from 0 to {self.size}, got {first!r} to {last!r}")
        return float(self.counts[first:last].sum())

    def cdf(self) -> NDArray[np.float64]:
        """The estimated share of values in each bin or a lower one: between 0 and 1, never decreasing."""
        sums = np.maximum.accumulate(np.cumsum(self.counts))
        top = max(float(sums[-1]), 1e-300)
        return np.clip(sums / top, 0.0, 1.0)

    def quantiles(self, qs: Sequence[Real]) -> list[int]:
        """For each share the first bin at which the estimated distribution function reaches it."""
        steps = self.cdf()
        return [min(int(np.searchsorted(steps, float(share(q)), side="left")), self.size - 1) for q in qs]


@step
def noisy_tree(space: Space, *, scale: Real, branching: int = 16, law: Law = Law.LAPLACE) -> Mechanism:
    """Noise on every node of a tree of sums over a vector of counts: a `NoisyTree`.

    Guarantee: that of the noise on all levels together; a change of d in L1 changes every level by at most d, so the L1
    sensitivity is levels·d and the squared L2 sensitivity levels·d². Making it consistent costs nothing.
    """
    if not (isinstance(space.domain, Vectors) and space.metric == L1()):
        raise SpaceMismatch(f"noisy_tree needs a vector of counts compared by L1, got {space!r}")
    values, width, base = carried(space, "noisy_tree"), positive(scale=scale), integer(branching=branching, least=2)
    size = space.domain.length
    if not 1 <= size <= MOST_LEAVES:
        raise InvalidArgument(f"noisy_tree needs between one bin and {MOST_LEAVES}, got {size}")
    noise, depth = noise_of(law, width / values.step), tree_depth(size, base)

    def release(data: Any, entropy: Entropy) -> NoisyTree:
        exact = tree_sums(values.steps(data), base)
        flat = noisy_values(np.concatenate(exact), noise=noise, entropy=entropy)
        levels = np.split(flat, np.cumsum([level.size for level in exact])[:-1])
        return NoisyTree(tuple(levels), base, size, float(values.step))

    def cost(d_in: Distance) -> Cost:
        leaf = norms(space.metric, d_in, step=values.step, size=size)
        apart = Sensitivity(l0=depth * leaf.l0, l1=depth * leaf.l1, linf=leaf.l1)
        return noise.cost(apart)

    return Mechanism(
        space,
        release,
        cost,
        additive_utility(noise, step=values.step, size=tree_nodes(size, base), what="measured node"),
    )


def tree_depth(size: int, branching: int) -> int:
    """How many levels a tree over `size` leaves has, root and leaves included."""
    depth, reach = 1, 1
    while reach < size:
        depth, reach = depth + 1, reach * branching
    return depth


def tree_nodes(size: int, branching: int) -> int:
    """How many nodes are measured: those of `tree_sums`, the empty ones that fill up a family included."""
    nodes, families = 1, size
    for _ in range(tree_depth(size, branching) - 1):
        families = math.ceil(families / branching)
        nodes += families * branching
    return nodes


def tree_sums(leaves: NDArray[np.int64], branching: int) -> list[NDArray[np.int64]]:
    """The sums of every level from the root down; levels are padded with empty nodes to whole families.

    Exact; a sum beyond int64 is kept at its ends, which moves no two of them further apart.
    """
    return exact_sums(leaves, lambda part: _levels(part, branching))


def _levels(leaves: NDArray[np.int64], branching: int) -> list[NDArray[np.int64]]:
    levels = [leaves]
    for _ in range(tree_depth(leaves.size, branching) - 1):
        families = math.ceil(levels[0].size / branching)
        padded = np.zeros(families * branching, dtype=np.int64)
        padded[: levels[0].size] = levels[0]
        levels[0] = padded
        levels.insert(0, padded.reshape(families, branching).sum(axis=1))
    return levels
