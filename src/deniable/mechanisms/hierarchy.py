"""Noisy counts along a hierarchy of public keys, and made consistent: every parent equals the sum of its children.

Keys are tuples; a key's ancestors are its beginnings, so ("US", "CA", "Alpine") belongs to ("US", "CA"), ("US",) and ().
Two passes give the best linear unbiased estimate for every tree and any mixture of noise levels: up, each node weighs its own
measurement against the sum of its children; down, what a parent is short of is shared among the children in proportion to how
uncertain they are. Post-processing: it costs nothing, and no estimate gets worse.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core.distance import Distance
from deniable.core.domain import Keyed
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import number_of
from deniable.exact.guards import Real, positive
from deniable.kernels import Law, Sensitivity, noise_of
from deniable.kernels.integer_noise import joint_error
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.carried import MOST_LEAVES, carried, exact_sums
from deniable.mechanisms.lattice_norms import norms
from deniable.noise import Entropy

Floats: TypeAlias = NDArray[np.float64]
Parents: TypeAlias = NDArray[np.int64]
Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Consistent:
    """One estimate per node, level by level from the root, with its variance."""

    levels: tuple[Floats, ...]
    variances: tuple[Floats, ...]


def consistent(
    measured: Sequence[Any], *, variances: Sequence[float | Floats], parents: Sequence[Parents]
) -> Consistent:
    """The best estimates given noisy values level by level.

    `variances[l]` is the noise of the nodes of level l, one number or one per node (zero: known exactly); `parents[l]` gives for
    each node of level l + 1 the place of its parent in level l. Every node above the last level needs a child.

    Guarantee: post-processing, it costs nothing; among linear unbiased estimates each one has the least variance.
    """
    levels = [np.asarray(level, dtype=np.float64) for level in measured]
    if not (len(levels) == len(variances) == len(parents) + 1):
        raise InvalidArgument(
            f"a tree of {number_of(len(levels), 'level')} needs as many variances and one list of parents fewer, "
            f"got {len(variances)} and {len(parents)}"
        )
    noise = [
        np.broadcast_to(np.asarray(v, dtype=np.float64), level.shape)
        for v, level in zip(variances, levels, strict=True)
    ]
    upward, spread = _up(levels, noise, parents)
    return _down(upward, spread, parents)


def _up(levels: list[Floats], noise: list[Floats], parents: Sequence[Parents]) -> tuple[list[Floats], list[Floats]]:
    """From the leaves: each node's estimate from itself and all below, with its variance."""
    estimates, spreads = [levels[-1]], [noise[-1]]
    for depth in range(len(levels) - 2, -1, -1):
        below = _sums(estimates[0], parents[depth], levels[depth].size)
        below_spread = _sums(spreads[0], parents[depth], levels[depth].size)
        weight = _ratio(below_spread, below_spread + noise[depth])  # of the node's own measurement
        estimates.insert(0, weight * levels[depth] + (1 - weight) * below)
        spreads.insert(0, weight * noise[depth])
    return estimates, spreads


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, and zero where both are."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _down(estimates: list[Floats], spreads: list[Floats], parents: Sequence[Parents]) -> Consistent:
    """From the root: children share what their parent's final estimate differs from their sum."""
    final, uncertain = [estimates[0]], [spreads[0]]
    for depth, parent in enumerate(parents):
        child, spread = estimates[depth + 1], spreads[depth + 1]
        size = final[depth].size
        total = _sums(spread, parent, size)
        part = _ratio(spread, total[parent])
        short = final[depth] - _sums(child, parent, size)
        final.append(child + part * short[parent])
        uncertain.append(spread * (1 - part) + part**2 * uncertain[depth][parent])
    return Consistent(tuple(final), tuple(uncertain))


def _sums(values: Floats, parent: Parents, size: int) -> Floats:
    return np.bincount(parent, weights=values, minlength=size).astype(np.float64)


def whole_counts(estimate: Consistent, *, parents: Sequence[Parents]) -> tuple[NDArray[np.int64], ...]:
    """Whole, nonnegative counts close to the estimates, in which every parent equals the sum of its children.

    From the root down: children get the whole part of their (nonnegative, rescaled) estimates, and what is left goes to the
    largest remainders.

    Guarantee: post-processing, it costs nothing.
    """
    levels = [np.maximum(np.rint(estimate.levels[0]), 0).astype(np.int64)]
    for depth, parent in enumerate(parents):
        levels.append(_apportioned(levels[depth], np.maximum(estimate.levels[depth + 1], 0.0), parent))
    return tuple(levels)


def _apportioned(totals: NDArray[np.int64], wanted: Floats, parent: Parents) -> NDArray[np.int64]:
    sums, sizes = _sums(wanted, parent, totals.size), np.bincount(parent, minlength=totals.size)
    even = 1.0 / np.maximum(sizes, 1)
    share = np.where(sums[parent] > 0, wanted / np.where(sums > 0, sums, 1.0)[parent], even[parent])
    exact = share * totals[parent]
    counts = np.floor(exact).astype(np.int64)
    short = totals - np.bincount(parent, weights=counts, minlength=totals.size).astype(np.int64)
    order = np.lexsort((np.arange(parent.size), -(exact - counts), parent))
    first = np.searchsorted(parent[order], np.arange(totals.size), side="left")
    rank = np.empty(parent.size, dtype=np.int64)
    rank[order] = np.arange(parent.size) - first[parent[order]]
    return counts + (rank < short[parent])


@dataclass(frozen=True)
class Spine:
    """The levels of a hierarchy: every level's keys in public order and, below the root, the place of each key's parent."""

    keys: tuple[tuple[Key, ...], ...]
    parents: tuple[NDArray[np.int64], ...]

    def sums(self, leaves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The counts of every level, from the counts of the last: exact, those beyond int64 kept at its ends."""
        return exact_sums(leaves, self._levels)

    def _levels(self, leaves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        levels = [leaves]
        for parent, names in zip(reversed(self.parents), reversed(self.keys[:-1]), strict=True):
            level = np.zeros(len(names), dtype=np.int64)
            np.add.at(level, parent, levels[0])
            levels.insert(0, level)
        return levels


@dataclass(frozen=True)
class NoisySpine:
    """Noisy counts at every level of a hierarchy; `estimates` and `whole` make them consistent, at no cost."""

    spine: Spine
    measured: tuple[NDArray[np.int64], ...]
    scales: tuple[Fraction, ...]
    unit: float

    @cached_property
    def _consistent(self) -> Consistent:
        return consistent(
            [level * self.unit for level in self.measured],
            variances=[float(scale) ** 2 for scale in self.scales],
            parents=self.spine.parents,
        )

    def estimates(self) -> dict[Key, float]:
        """The best estimate for every key of every level; a parent equals the sum of its children."""
        return self._named(self._consistent.levels)

    def whole(self) -> dict[Key, int]:
        """Whole, nonnegative counts that add up along the hierarchy."""
        return self._named(whole_counts(self._consistent, parents=self.spine.parents))

    def _named(self, levels: Sequence[NDArray[Any]]) -> dict[Key, Any]:
        return {
            key: value
            for names, level in zip(self.spine.keys, levels, strict=True)
            for key, value in zip(names, level.tolist(), strict=True)
        }


@step
def noisy_hierarchy(space: Space, *, scales: Sequence[Real], law: Law = Law.LAPLACE) -> Mechanism:
    """Noise on the counts of every level of a hierarchy, `scales` from the root down: a `NoisySpine`.

    Guarantee: the sum of the levels' costs; a change of d in L1 changes the counts of each level by at most d.
    Edge cases: keys are public tuples of one length; as many scales as that length plus one.
    """
    values, widths = carried(space, "noisy_hierarchy"), [positive(scale=scale) for scale in scales]
    spine = _spine(space)
    if len(widths) != len(spine.keys):
        raise InvalidArgument(f"scales must be {len(spine.keys)} numbers, from the root down, got {len(widths)}")
    steps = tuple(width / values.step for width in widths)
    noises = [noise_of(law, scale) for scale in steps]
    measured = [(noise, len(names)) for noise, names in zip(noises, spine.keys, strict=True)]

    def release(data: Any, entropy: Entropy) -> NoisySpine:
        exact = spine.sums(values.steps(data))
        noisy = [noisy_values(level, noise=noise, entropy=entropy) for level, noise in zip(exact, noises, strict=True)]
        return NoisySpine(spine, tuple(noisy), steps, float(values.step))

    def cost(d_in: Distance) -> Cost:
        leaf = norms(space.metric, d_in, step=values.step, size=values.size)
        level = Sensitivity(l0=leaf.l0, l1=leaf.l1, linf=leaf.l1)
        return composed([noise.cost(level) for noise in noises[:-1]] + [noises[-1].cost(leaf)])

    return Mechanism(
        space,
        release,
        cost,
        Utility(
            "value of each measured count, at the noisiest level",
            lambda beta: noise_of(law, max(steps)).error(beta) * values.step,
            lambda beta: joint_error(measured, beta) * values.step,
        ),
    )


def _spine(space: Space) -> Spine:
    domain = space.domain
    keys = domain.keys if isinstance(domain, Keyed) else None
    if not keys or not all(isinstance(key, tuple) for key in keys) or len({len(key) for key in keys}) != 1:  # type: ignore[arg-type]
        raise SpaceMismatch(f"noisy_hierarchy needs public keys that are tuples of one length, got {domain!r}")
    if not len(keys) <= MOST_LEAVES:
        raise InvalidArgument(f"noisy_hierarchy needs at most {MOST_LEAVES} keys, got {len(keys)}")
    leaves: tuple[Key, ...] = keys  # type: ignore[assignment]
    levels = [tuple(dict.fromkeys(key[:depth] for key in leaves)) for depth in range(len(leaves[0]))] + [leaves]
    parents = []
    for above, below in pairwise(levels):
        places = {key: place for place, key in enumerate(above)}
        parents.append(np.array([places[key[:-1]] for key in below], dtype=np.int64))
    return Spine(tuple(levels), tuple(parents))
