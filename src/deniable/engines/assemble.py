"""Results in their one form: groups sorted by key, integers in int64, whatever order an engine found them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from deniable.engines.engine import KeyValue, Result, SparseHistogram
from deniable.plan.facts import Facts
from deniable.plan.nodes import GroupAgg, Histogram


def held(value: object, known: Facts) -> KeyValue:
    """A value as results hold it: a number as its integer on the grid."""
    if isinstance(value, Fraction):
        return int(value / known.step)
    assert value is None or isinstance(value, bool | str | date | datetime)
    return value


def key_rank(key: Sequence[KeyValue]) -> tuple[Any, ...]:
    """The order of groups: key by key, missing first."""
    return tuple((value is not None, value) for value in key)


Place: TypeAlias = tuple[int, tuple[KeyValue, ...]]
"""A group: its level's place among the plan's, and all its keys, None for those outside the level."""


def place_rank(place: Place) -> tuple[Any, ...]:
    """The order of groups: level by level, then by key."""
    return (place[0], key_rank(place[1]))


def assembled(plan: GroupAgg, groups: Sequence[Place], cells: Mapping[str, Sequence[Any]]) -> Result:
    """A result from the groups as found and, for every aggregate, one entry per group."""
    order = sorted(range(len(groups)), key=lambda index: place_rank(groups[index]))
    columns, histograms = {}, {}
    for name, aggregate in plan.aggregates:
        if isinstance(aggregate, Histogram):
            histograms[name] = _sparse([cells[name][index] for index in order])
        else:
            columns[name] = np.array([cells[name][index] for index in order], dtype=np.int64)
    keys = {key.name: tuple(groups[index][1][place] for index in order) for place, key in enumerate(plan.keys)}
    level = np.array([groups[index][0] for index in order], dtype=np.int64)
    return Result(len(groups), level, keys, columns, histograms)


def _sparse(groups: Sequence[Mapping[int, int]]) -> SparseHistogram:
    entries = [
        (group, place, bins[place]) for group, bins in enumerate(groups) for place in sorted(bins) if bins[place]
    ]
    table = np.array(entries, dtype=np.int64).reshape(-1, 3)
    return SparseHistogram(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())
