"""Cells put together before pairs are measured: neighbouring cells of a number, rare categories; from released counts only."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.synth.attribute import Attribute

RARE = 3.0
"""A category is rare when its noisy count is below this many times the scale of the noise."""
MOST_GROUPS = 64
"""A column of numbers has at most about so many groups."""
_WIDTH = 2.0


def group_sums(groups: Sequence[int] | NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of the values of each group's cells."""
    return np.asarray(np.bincount(np.asarray(groups), weights=np.asarray(values, dtype=float)), dtype=np.float64)


def grouping(attribute: Attribute, counts: NDArray[np.float64], scale: float, total: float) -> tuple[int, ...]:
    """The group of every cell, numbered from 0; the same counts give the same groups.

    Neighbouring cells of numbers and times are joined until a group holds 2·sqrt(total·scale) rows, the size at which noise and
    coarseness cost about the same. Rare categories become one group, and missing values are a category.
    """
    known = np.maximum(counts, 0.0)
    if attribute.ordered:
        least = max(total / MOST_GROUPS, _WIDTH * sqrt(max(total, 0.0) * scale), RARE * scale)
        groups = _neighbours(known[: attribute.present], least)
        if attribute.missing:
            rare = known[-1] < RARE * scale
            groups.append(groups[-1] if rare else groups[-1] + 1)
        return tuple(groups)
    return _frequent(known, RARE * scale)


def _neighbours(known: NDArray[np.float64], least: float) -> list[int]:
    groups, group, held = [], 0, 0.0
    for place, count in enumerate(known.tolist()):
        if place and (held >= least or (count >= least and held > 0)):
            group, held = group + 1, 0.0
        groups.append(group)
        held += count
    if group and held < least / 2:  # what is left over joins its neighbour
        groups = [min(each, group - 1) for each in groups]
    return groups


def _frequent(known: NDArray[np.float64], rare: float) -> tuple[int, ...]:
    numbers, groups = 0, []
    for count in known.tolist():
        groups.append(-1 if count < rare else numbers)
        numbers += count >= rare
    return tuple(numbers if each < 0 else each for each in groups)
