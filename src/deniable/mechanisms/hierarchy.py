"""Noisy counts of a tree made consistent: every parent equals the sum of its children, and no estimate gets worse.

Two passes give the best linear unbiased estimate for every tree and any mixture of noise levels: up, each node weighs its own
measurement against the sum of its children; down, what a parent is short of is shared among the children in proportion to how
uncertain they are. Post-processing: it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument

Floats: TypeAlias = NDArray[np.float64]
Parents: TypeAlias = NDArray[np.int64]


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
            f"a tree of {len(levels)} levels needs as many variances and one list of parents fewer, "
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
