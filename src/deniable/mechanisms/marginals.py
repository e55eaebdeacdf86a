"""Several noisy answers about the same numbers, made one: inverse-variance weights, and marginals that agree with one another.

Post-processing: it costs nothing. `docs/theory/totals.md` has the proof that the marginals are the best linear unbiased ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.kernels.residuals import NoisyTable, residuals

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
    _check_sizes(tables)
    found = residuals(NoisyTable(axes, cells, _variance(variances, axes)) for axes, cells in tables.items())
    return ConsistentMarginals(
        {axes: found.table(axes) for axes in tables}, {axes: found.variance(axes) for axes in tables}
    )


def _check_sizes(tables: Mapping[Axes, Floats]) -> None:
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
