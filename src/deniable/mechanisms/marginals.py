"""Several noisy answers about the same numbers, made one: inverse-variance weights, and marginals that agree with one another.

Post-processing: it costs nothing. `docs/theory/totals.md` has the proof that the marginals are the best linear unbiased ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import number_of

Floats: TypeAlias = NDArray[np.float64]
Axes: TypeAlias = tuple[str, ...]
_MOST_AXES = 12


@dataclass(frozen=True, slots=True)
class Combination:
    """One estimate from several, and its variance."""

    value: float
    variance: float


def combine(values: Sequence[float], *, variances: Sequence[float]) -> Combination:
    """Several independent noisy answers about one number, weighted by the inverse of their variances.

    A variance of zero is an exact answer, which then stands alone.

    Guarantee: post-processing, it costs nothing; among linear unbiased estimates it has the least variance.
    """
    answers, noise = _numbers(values=values), _numbers(variances=variances)
    if not (answers.ndim == 1 and answers.size == noise.size >= 1 and (noise >= 0).all()):
        raise InvalidArgument("combine needs as many variances, none below zero, as answers, and at least one of each")
    if (noise == 0).any():
        return Combination(float(answers[noise == 0].mean()), 0.0)
    weights = noise.min() / noise
    return Combination(float((weights * answers).sum() / weights.sum()), float(noise.min() / weights.sum()))


@dataclass(frozen=True, slots=True)
class ConsistentMarginals:
    """One table for each set of axes that was measured: every two agree on the axes they share. Each cell with its variance."""

    tables: Mapping[Axes, Floats]
    variances: Mapping[Axes, float]


def consistent_marginals(measured: Mapping[Axes, Any], *, variances: Mapping[Axes, float]) -> ConsistentMarginals:
    """Noisy marginals of one table, made to agree: counts by ("sex", "age") and by ("age", "town") then have the same ages.

    Each array has one dimension for every name in its key, in that order; `variances` is the noise of each cell of a table.

    Guarantee: post-processing, it costs nothing; among linear unbiased estimates every cell has the least variance.
    """
    tables = {axes: _numbers(**{f"marginal {axes}": cells}) for axes, cells in measured.items()}
    sizes = _sizes(tables)
    noise = {axes: _variance(variances, axes) for axes in tables}
    effects = {axes: _effect(axes, tables, noise, sizes) for axes in _closed(tables)}
    fitted, spread = {}, {}
    for axes in tables:
        fitted[axes] = sum(
            (_placed(effects[part][0], part, axes) / _cells(axes, part, sizes) for part in _subsets(axes)),
            np.zeros(tuple(sizes[name] for name in axes)),
        )
        spread[axes] = sum(
            effects[part][1] * prod(1 - 1 / sizes[name] for name in part) / _cells(axes, part, sizes) ** 2
            for part in _subsets(axes)
        )
    return ConsistentMarginals(fitted, spread)


def _effect(axes: Axes, tables: Mapping[Axes, Floats], noise: Mapping[Axes, float], sizes: Mapping[str, int]) -> Any:
    """What is particular to these axes, from every table that has them, and the variance of the marginal it is read off."""
    found, weights = [], []
    for whole, cells in tables.items():
        if set(axes) <= set(whole):
            marginal = cells.sum(axis=tuple(i for i, name in enumerate(whole) if name not in axes))
            order = [name for name in whole if name in axes]
            marginal = np.transpose(marginal, [order.index(name) for name in axes])
            for place in range(len(axes)):
                marginal = marginal - marginal.mean(axis=place, keepdims=True)
            found.append(marginal)
            weights.append(1 / (noise[whole] * _cells(whole, axes, sizes)))
    shared = sum(weight * part for weight, part in zip(weights, found, strict=True)) / sum(weights)
    return shared, 1 / sum(weights)


def _placed(effect: Floats, axes: Axes, whole: Axes) -> Floats:
    """An effect with the dimensions of a table that holds its axes, in that table's order."""
    order = [name for name in whole if name in axes]
    turned = np.transpose(effect, [axes.index(name) for name in order])
    return turned[tuple(slice(None) if name in axes else np.newaxis for name in whole)]


def _cells(whole: Axes, part: Axes, sizes: Mapping[str, int]) -> int:
    """How many cells of a table fall into one cell of its marginal."""
    return prod(sizes[name] for name in whole if name not in part)


def _subsets(axes: Axes) -> list[Axes]:
    ordered = sorted(axes)
    return list(chain.from_iterable(combinations(ordered, count) for count in range(len(ordered) + 1)))


def _closed(tables: Mapping[Axes, Floats]) -> list[Axes]:
    """Every set of axes that lies in some table."""
    return list(dict.fromkeys(part for axes in tables for part in _subsets(axes)))


def _sizes(tables: Mapping[Axes, Floats]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    if not tables:
        raise InvalidArgument("consistent_marginals needs at least one marginal, got none")
    for axes, cells in tables.items():
        if len(set(axes)) != len(axes) or cells.ndim != len(axes) or not cells.size or len(axes) > _MOST_AXES:
            raise InvalidArgument(f"marginal {axes} needs one dimension, not empty, for each of its names")
        for name, size in zip(axes, cells.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise InvalidArgument(
                    f"axis {name!r} has {number_of(sizes[name], 'place')} in one marginal and {size} in another"
                )
    return sizes


def _variance(variances: Mapping[Axes, float], axes: Axes) -> float:
    value = variances.get(axes)
    if not (isinstance(value, int | float) and 0 < value < np.inf):
        raise InvalidArgument(f"marginal {axes} needs the variance of its noise, above zero, got {value!r}")
    return float(value)


def _numbers(**given: Any) -> Floats:
    ((name, values),) = given.items()
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be numbers, got {values!r}") from None
    if not np.isfinite(numbers).all():
        raise InvalidArgument(f"{name} must be finite numbers")
    return numbers
