"""Counts of rows by public groups: histogram, mode and distribution function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core.cells import cells, countable
from deniable.core.distance import Distance
from deniable.core.domain import Booleans, Categories, Domain, Lattice, Numbers
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, positive, rational
from deniable.kernels import Law, Sensitivity, noise_of
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.mechanisms.additive import additive_utility, noisy_values
from deniable.mechanisms.grid import values_of
from deniable.mechanisms.lattice_norms import added_or_removed, counts_apart, rows_of
from deniable.mechanisms.noisy_max import MaxNoise, contest_cost, winner
from deniable.mechanisms.tree import NoisyTree, tree_depth, tree_nodes, tree_sums
from deniable.noise import Entropy

Counting: TypeAlias = Callable[[Any], NDArray[np.int64]]
Edges: TypeAlias = Sequence[Real] | NDArray[np.float64]


@step
def private_histogram(space: Space, *, scale: Real, edges: Edges | None = None, law: Law = Law.LAPLACE) -> Mechanism:
    """Noisy counts of public groups of rows: a dictionary for categories, an array for numbers between `edges`.

    Bin i holds the numbers from edges[i] up to, not including, edges[i+1]; numbers outside and missing ones are not counted. The
    groups are public, so empty ones are shown as well.

    Guarantee: that of the noise; one row added or removed moves one count by one (L1 1, L2 1), a changed row two (L1 2, L2 √2).
    """
    element = rows_of(space, "private_histogram").element
    labels, counted = _groups(element, edges)
    noise, groups = noise_of(law, positive(scale=scale)), _bins(edges) if labels is None else len(labels)

    def answer(data: Any, entropy: Entropy) -> Any:
        noisy = noisy_values(counted(data), noise=noise, entropy=entropy)
        return noisy if labels is None else dict(zip(labels, noisy.tolist(), strict=True))

    return Mechanism(
        space,
        answer,
        lambda d_in: noise.cost(counts_apart(space.metric, d_in)),
        additive_utility(noise, step=Fraction(1), size=groups),
    )


@step
def private_mode(space: Space, *, scale: Real, noise: MaxNoise = MaxNoise.GUMBEL) -> Mechanism:
    """The category most rows have, by report noisy max on the counts.

    Guarantee: spread / scale; adding or removing rows moves all counts one way (spread: rows), changing a row does not (two per
    row).
    """
    element = rows_of(space, "private_mode").element
    labels, counted = _groups(element, None)
    if labels is None:
        raise SpaceMismatch(f"private_mode needs public categories, got {element!r}")
    width, names = positive(scale=scale), labels

    def answer(data: Any, entropy: Entropy) -> Hashable:
        return names[winner(counted(data), noise=noise, scale=width, entropy=entropy)]

    return Mechanism(
        space,
        answer,
        lambda d_in: contest_cost(Fraction(added_or_removed(space.metric, d_in)), width, noise),
        Utility("count below the largest", lambda beta: exponential_score_error(beta, count=len(names), scale=width)),
    )


@step
def private_cdf(space: Space, *, edges: Edges, scale: Real, branching: int = 16, law: Law = Law.LAPLACE) -> Mechanism:
    """The distribution of numbers between public `edges`, as a `NoisyTree` over the bins: its `cdf()`, ranges and quantiles.

    Guarantee: that of the noise on every level of the tree; one row added or removed moves one count per level by one.
    """
    element, base = rows_of(space, "private_cdf").element, integer(branching=branching, least=2)
    _, counted = _groups(element, edges)
    noise, size = noise_of(law, positive(scale=scale)), len(edges) - 1
    depth = tree_depth(size, base)

    def release(data: Any, entropy: Entropy) -> NoisyTree:
        exact = tree_sums(counted(data), base)
        flat = noisy_values(np.concatenate(exact), noise=noise, entropy=entropy)
        levels = np.split(flat, np.cumsum([level.size for level in exact])[:-1])
        return NoisyTree(tuple(levels), base, size, 1.0)

    def cost(d_in: Distance) -> Cost:
        apart = counts_apart(space.metric, d_in)
        levels = Sensitivity(l0=depth * apart.l0, l1=depth * apart.l1, linf=apart.linf)
        return noise.cost(levels)

    return Mechanism(
        space,
        release,
        cost,
        additive_utility(noise, step=Fraction(1), size=tree_nodes(size, base), what="measured node"),
    )


def _bins(edges: Edges | None) -> int:
    return 0 if edges is None else len(edges) - 1


def _groups(element: Domain, edges: Edges | None) -> tuple[tuple[Hashable, ...] | None, Counting]:
    """The public groups' names (None for bins) and the function that counts them."""
    if edges is not None:
        if not isinstance(element, Numbers | Lattice):
            raise SpaceMismatch(f"edges cut numbers, got {element!r}")
        return None, _binned(element, _borders(edges))
    match element:
        case Booleans(missing=False):
            return (True, False), _by_label((True, False))
        case Categories(values):
            return values, _by_label(values)
        case _:
            raise SpaceMismatch(f"counting needs public categories, or edges for numbers, got {element!r}")


def _by_label(labels: tuple[Hashable, ...]) -> Counting:
    def counted(data: Any) -> NDArray[np.int64]:
        found = Counter(map(countable, cells(data)))
        return np.array([found[countable(label)] for label in labels], dtype=np.int64)

    return counted


def _borders(edges: Edges) -> NDArray[np.float64]:
    numbers = edges if isinstance(edges, np.ndarray) else [float(rational(edge=edge)) for edge in edges]
    borders = np.asarray(numbers, dtype=np.float64)
    if not (borders.ndim == 1 and borders.size > 1 and bool((np.diff(borders) > 0).all())):
        raise InvalidArgument(f"edges must be increasing and at least two, got {borders.tolist()[:8]}")
    return borders


def _binned(element: Numbers | Lattice, borders: NDArray[np.float64]) -> Counting:
    locate = _even if _evenly_spaced(borders) else _searched

    def counted(data: Any) -> NDArray[np.int64]:
        values = values_of(data, element)
        inside = values[(values >= borders[0]) & (values < borders[-1])]
        return np.bincount(locate(borders, inside), minlength=len(borders) - 1).astype(np.int64)

    return counted


def _evenly_spaced(borders: NDArray[np.float64]) -> bool:
    """So even that arithmetic finds the right bin or a direct neighbour of it."""
    width = (borders[-1] - borders[0]) / (len(borders) - 1)
    ideal = borders[0] + width * np.arange(len(borders))
    return bool(np.isfinite(width) and (np.abs(borders - ideal) < width / 16).all())


def _searched(borders: NDArray[np.float64], values: NDArray[Any]) -> NDArray[np.int64]:
    return np.searchsorted(borders, values, side="right").astype(np.int64) - 1


def _even(borders: NDArray[np.float64], values: NDArray[Any]) -> NDArray[np.int64]:
    """The bin by arithmetic, then put right by the borders themselves: the same bins as a search."""
    width = (borders[-1] - borders[0]) / (len(borders) - 1)
    place: NDArray[np.int64] = np.clip(((values - borders[0]) / width).astype(np.int64), 0, len(borders) - 2)
    place -= values < borders[place]
    place += values >= borders[place + 1]
    return place
