"""What an SQL engine returns, turned into a Result: NumPy columns in, the one sorted form out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from deniable.engines.assemble import key_rank
from deniable.engines.engine import Integers, KeyValue, Result, SparseHistogram
from deniable.plan.analysis import facts
from deniable.plan.facts import Kind
from deniable.plan.nodes import GroupAgg, Histogram, Rows, Total, Units
from deniable.plan.relation import schema

Fetched: TypeAlias = dict[str, Any]
"""Column name to NumPy array, masked where values are missing: `key_0`, ..., then `cell_0`, ... (and `bin`)."""


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
    lists = [python_values(main[f"key_{index}"], kind) for index, kind in enumerate(known)]
    order = _order(main, lists)
    count = len(order)
    added = [name for name, aggregate in plan.aggregates if isinstance(aggregate, Rows | Units | Total)]
    columns = {name: _whole(main[f"cell_{index}"])[order] for index, name in enumerate(added)}
    keys = {key.name: _taken(values, order) for key, values in zip(plan.keys, lists, strict=True)}
    places = {group: index for index, group in enumerate(zip(*keys.values(), strict=True))} if keys and others else {}
    histograms = {}
    for name, table in others.items():
        entries = [python_values(table[f"key_{index}"], kind) for index, kind in enumerate(known)]
        rows = len(table["cell_0"])
        at = [places[group] for group in zip(*entries, strict=True)] if entries else [0] * rows
        groups = np.array(at, dtype=np.int64)
        if isinstance(dict(plan.aggregates)[name], Histogram):
            histograms[name] = _sparse(groups, _whole(table["bin"]), _whole(table["cell_0"]))
        else:
            columns[name] = np.zeros(count, dtype=np.int64)
            columns[name][groups] = _whole(table["cell_0"])
    ordered = {name: columns[name] for name, _ in plan.aggregates if name in columns}
    return Result(count, keys, ordered, histograms)


def _taken(values: list[KeyValue], order: Integers) -> tuple[KeyValue, ...]:
    return itemgetter(*order.tolist())(values) if len(order) > 1 else tuple(values)


def _order(main: Fetched, lists: list[list[KeyValue]]) -> Integers:
    if not lists:
        return np.zeros(1, dtype=np.int64)
    first = main["key_0"]
    if len(lists) == 1 and np.ma.getdata(first).dtype.kind in "iu" and not np.ma.getmaskarray(first).any():
        return np.argsort(np.ma.getdata(first), kind="stable")
    rows = list(zip(*lists, strict=True))
    return np.array(sorted(range(len(rows)), key=lambda index: key_rank(rows[index])), dtype=np.int64)


def _whole(column: Any) -> Integers:
    values = np.ma.getdata(column)
    assert values.dtype.kind in "iu", "an engine returned something other than integers"
    return values.astype(np.int64)


def _sparse(groups: Integers, bins: Integers, counts: Integers) -> SparseHistogram:
    order = np.lexsort((bins, groups))
    return SparseHistogram(groups[order], bins[order], counts[order])
