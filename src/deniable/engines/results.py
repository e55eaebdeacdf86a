"""Results in their one form: groups sorted by key, integers in int64, whatever order an engine found them in.

The reference engine hands over cells, an SQL engine NumPy columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from deniable.engines.engine import Integers, KeyValue, Result, SparseHistogram
from deniable.plan.analysis import facts
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import GroupAgg, Histogram, RowCount, Total, Units
from deniable.plan.relation import schema

Place: TypeAlias = tuple[int, tuple[KeyValue, ...]]
"""A group: its level's place among the plan's, and all its keys, None for those outside the level."""
Fetched: TypeAlias = dict[str, Any]
"""Column name to NumPy array, masked where values are missing: `key_0`, ..., then `cell_0`, ... (and `bin`).

A plan with levels has `rolled_0`, ... too: one where the key is outside the row's level.
"""

_ELSEWHERE = "a statement found a group that the main one has not"


def held(value: object, known: Facts) -> KeyValue:
    """A value as results hold it: a number as its integer on the grid."""
    if isinstance(value, Fraction):
        return int(value / known.step)
    assert value is None or isinstance(value, bool | str | date | datetime)
    return value


def key_rank(key: Sequence[KeyValue]) -> tuple[Any, ...]:
    """The order of groups: key by key, missing first."""
    return tuple((value is not None, value) for value in key)


def place_rank(place: Place) -> tuple[Any, ...]:
    """The order of groups: level by level, then by key."""
    return (place[0], key_rank(place[1]))


def assembled(plan: GroupAgg, groups: Sequence[Place], cells: Mapping[str, Sequence[Any]]) -> Result:
    """A result from the groups as found and, for every aggregate, one entry per group."""
    order = sorted(range(len(groups)), key=lambda index: place_rank(groups[index]))
    columns, histograms = {}, {}
    for name, aggregate in plan.aggregates:
        if isinstance(aggregate, Histogram):
            histograms[name] = _sparse_bins([cells[name][index] for index in order])
        else:
            columns[name] = np.array([cells[name][index] for index in order], dtype=np.int64)
    keys = {key.name: tuple(groups[index][1][place] for index in order) for place, key in enumerate(plan.keys)}
    level = np.array([groups[index][0] for index in order], dtype=np.int64)
    return Result(len(groups), level, keys, columns, histograms)


def _sparse_bins(groups: Sequence[Mapping[int, int]]) -> SparseHistogram:
    entries = [
        (group, place, bins[place]) for group, bins in enumerate(groups) for place in sorted(bins) if bins[place]
    ]
    table = np.array(entries, dtype=np.int64).reshape(-1, 3)
    return SparseHistogram(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def python_values(column: Any, kind: Kind) -> list[KeyValue]:
    """A fetched column as Python values, None where missing."""
    values: list[Any] = np.ma.getdata(column).tolist()
    if kind is Kind.DATE:
        values = [value.date() if isinstance(value, datetime) else value for value in values]
    absent = np.ma.getmaskarray(column)
    if absent.any():
        values = [None if gone else value for value, gone in zip(values, absent.tolist(), strict=True)]
    return values


def fetched_result(plan: GroupAgg, main: Fetched, others: Mapping[str, Fetched]) -> Result:
    """The result of a plan from its main statement and those of its distinct counts and histograms."""
    known = [facts(key.expression, schema(plan.source)).kind for key in plan.keys]
    main = _with_totals(plan, main)
    lists = [python_values(main[f"key_{index}"], kind) for index, kind in enumerate(known)]
    levels = _levels(plan, main)
    order = _order(plan, main, lists, levels)
    count = len(order)
    added = [name for name, aggregate in plan.aggregates if isinstance(aggregate, RowCount | Units | Total)]
    columns = {name: _whole(main[f"cell_{index}"])[order] for index, name in enumerate(added)}
    keys = {key.name: _taken(values, order) for key, values in zip(plan.keys, lists, strict=True)}
    level = levels[order] if lists else np.zeros(1, dtype=np.int64)  # one group even where no row was fetched
    histograms = {}
    for name, table in others.items():
        groups = np.argsort(order)[_rows_of(plan, known, (main, levels), (table, _levels(plan, table)))]
        if isinstance(dict(plan.aggregates)[name], Histogram):
            histograms[name] = _sparse(groups, _whole(table["bin"]), _whole(table["cell_0"]))
        else:
            columns[name] = np.zeros(count, dtype=np.int64)
            columns[name][groups] = _whole(table["cell_0"])
    ordered = {name: columns[name] for name, _ in plan.aggregates if name in columns}
    return Result(count, level, keys, ordered, histograms)


def _taken(values: list[KeyValue], order: Integers) -> tuple[KeyValue, ...]:
    return itemgetter(*order.tolist())(values) if len(order) > 1 else tuple(values)


def _rows_of(
    plan: GroupAgg, known: Sequence[Kind], main: tuple[Fetched, Integers], other: tuple[Fetched, Integers]
) -> Integers:
    """Which row of the main statement has the level and the keys of each row of another; every one is there."""
    mine, theirs = main[1], other[1]
    if not plan.keys:
        return np.zeros(len(theirs), dtype=np.int64)
    for index, kind in enumerate(known):
        codes, asked = _key_codes(main[0][f"key_{index}"], other[0][f"key_{index}"], kind)
        size = int(codes.max(initial=0)) + 1  # both factors are numbers of rows: their product stays below 2**63
        mine, theirs = _codes(mine * size + codes, theirs * size + asked)
    return np.argsort(mine)[theirs]


def _key_codes(mine: Any, theirs: Any, kind: Kind) -> tuple[Integers, Integers]:
    """Two columns of keys as numbers, equal where they are; what stands in the second stands in the first."""
    if all(np.ma.getdata(each).dtype.kind in "iu" and not np.ma.getmaskarray(each).any() for each in (mine, theirs)):
        return _codes(_whole(mine), _whole(theirs))
    values = python_values(mine, kind)
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    first, second = ([places[value] for value in each] for each in (values, python_values(theirs, kind)))
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def _codes(mine: Integers, theirs: Integers) -> tuple[Integers, Integers]:
    """Each number's place among the different ones of the first column; looked up where they lie close together."""
    different, codes = np.unique(mine, return_inverse=True)
    if not theirs.size:
        return codes, theirs
    start, end = int(different[0]), int(different[-1])
    assert start <= int(theirs.min()), _ELSEWHERE
    assert int(theirs.max()) <= end, _ELSEWHERE
    if end - start < 4 * theirs.size:
        places = np.zeros(end - start + 1, dtype=np.int64)
        places[different - start] = np.arange(different.size)
        asked = places[theirs - start]
    else:
        asked = np.searchsorted(different, theirs)
    assert np.array_equal(different[asked], theirs), _ELSEWHERE
    return codes, asked


def _levels(plan: GroupAgg, table: Fetched) -> Integers:
    """The place of every row's level among the plan's."""
    if plan.levels is None:
        return np.zeros(len(next(iter(table.values()))) if table else 1, dtype=np.int64)
    names = [key.name for key in plan.keys]
    flags = {tuple(name not in level for name in names): place for place, level in enumerate(plan.levels)}
    rolled = zip(*((_whole(table[f"rolled_{index}"]) != 0).tolist() for index in range(len(names))), strict=True)
    return np.array([flags[row] for row in rolled], dtype=np.int64)


def _with_totals(plan: GroupAgg, main: Fetched) -> Fetched:
    """The grand total has a row even where an engine, finding nothing to add up, gives none."""
    if plan.levels is None or () not in plan.levels:
        return main
    rolled = np.array([_whole(main[f"rolled_{index}"]) for index in range(len(plan.keys))])
    if rolled.all(axis=0).any():
        return main
    zero = np.zeros(1, dtype=np.int64)
    more: Fetched = {f"key_{index}": _with_none(main[f"key_{index}"]) for index in range(len(plan.keys))}
    more |= {f"rolled_{index}": np.append(rolled[index], zero + 1) for index in range(len(plan.keys))}
    more |= {name: np.append(_whole(column), zero) for name, column in main.items() if name.startswith("cell_")}
    return more


def _with_none(column: Any) -> Any:
    values = np.empty(len(column) + 1, dtype=object)
    values[:-1] = np.ma.getdata(column).tolist()
    return np.ma.array(values, mask=[*np.ma.getmaskarray(column).tolist(), True])


def _order(plan: GroupAgg, main: Fetched, lists: list[list[KeyValue]], levels: Integers) -> Integers:
    if not lists:
        return np.zeros(1, dtype=np.int64)
    first = main["key_0"]
    whole = np.ma.getdata(first).dtype.kind in "iu" and not np.ma.getmaskarray(first).any()
    if len(lists) == 1 and plan.levels is None and whole:
        return np.argsort(np.ma.getdata(first), kind="stable")
    rows = list(zip(levels.tolist(), zip(*lists, strict=True), strict=True))
    return np.array(sorted(range(len(rows)), key=lambda index: place_rank(rows[index])), dtype=np.int64)


def _whole(column: Any) -> Integers:
    values = np.ma.getdata(column)
    assert values.dtype.kind in "iu", "an engine returned something other than integers"
    return values.astype(np.int64)


def _sparse(groups: Integers, bins: Integers, counts: Integers) -> SparseHistogram:
    """Sorted by group, then bin; each pair stands once. One number for both sorts several times as fast as two columns."""
    first = int(bins.min(initial=0))
    width = int(bins.max(initial=0)) - first + 1
    together = (int(groups.max(initial=0)) + 1) * width < 2**62
    order = np.argsort(groups * width + (bins - first)) if together else np.lexsort((bins, groups))
    return SparseHistogram(groups[order], bins[order], counts[order])
