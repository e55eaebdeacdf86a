"""The exactness gate: with no noise, bounds that do not bind and values on the grid, an answer is the plain aggregate.

Every aggregate, under every kind of unit, with declared and observed keys, through the public API, on DuckDB and on the
reference engine; the plain aggregates are computed here, by the statistics module and by hand.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.release.dataset import Dataset
from deniable.testing import Silent

UNITS = {
    "rows": "rows",
    "changed rows": "changed rows",
    "identifier": "{id: who, groups: 9, rows_per_group: 99}",
    "identifier and month": "{id: who, period: {column: day, length: month}, groups: 9, rows_per_group: 99}",
}
BOOK = """
format: 1
name: gate
unit: %s
tables:
  gate:
    variables:
      who: {type: integer}
      kind: {type: string, categories: [a, b, c]}
      word: {type: string}
      day: {type: date, bounds: [2024-01-01, 2024-12-31]}
      x: {type: number, bounds: [0, 8], step: 0.25, missing: {impute: 0}}
      y: {type: integer, bounds: [-5, 5], missing: {impute: 0}}
"""
EDGES = [0, 2, 5, 8]

row = st.tuples(
    st.integers(1, 4),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["u", "v", "w"]),
    st.sampled_from([date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 28)]),
    st.integers(0, 32).map(lambda quarter: quarter / 4),
    st.integers(-5, 5),
)


def plain(rows: list[Any], unit: str) -> dict[str, Any]:
    """What the query asks, without any privacy."""
    xs, ys = [r[4] for r in rows], [r[5] for r in rows]
    units = {"identifier": len({r[0] for r in rows}), "identifier and month": len({(r[0], r[3].month) for r in rows})}
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    return {
        "n": len(rows),
        "with_x": len(rows),
        "units": units.get(unit, len(rows)),
        "words": len({r[2] for r in rows}),
        "total": sum(xs),
        "below": sum(ys),
        "avg": mean_x,
        "var": statistics.pvariance(xs),
        "sd": statistics.pstdev(xs),
        "cov": statistics.fmean([(x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)]),
        "bins": [sum(low <= x < high or x == high == 8 for x in xs) for low, high in pairwise(EDGES)],
    }


ASKED: dict[str, Any] = {
    "n": dp.count(),
    "with_x": dp.count("x"),
    "units": dp.count_distinct(),
    "words": dp.count_distinct("word"),
    "total": dp.sum("x"),
    "below": dp.sum("y"),
    "avg": dp.mean("x"),
    "var": dp.variance("x"),
    "sd": dp.std("x"),
    "cov": dp.covariance("x", "y"),
    "bins": dp.histogram("x", edges=EDGES),
}


def _duckdb(tables: Any, book: Codebook) -> Engine:
    return DuckDBEngine(tables, book, key=5, threads=1)


def _reference(tables: Any, book: Codebook) -> Engine:
    return ReferenceEngine(tables, book, key=5)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("connect", [_duckdb, _reference], ids=["DuckDB", "reference"])
@settings(max_examples=3, deadline=None)
@given(rows=st.lists(row, min_size=1, max_size=25))
def test_without_noise_every_aggregate_is_the_plain_one(
    unit: str, connect: Callable[..., Engine], rows: list[Any]
) -> None:
    book = Codebook.from_yaml(BOOK % UNITS[unit])
    names = ("who", "kind", "word", "day", "x", "y")
    tables = {"gate": {name: [r[i] for r in rows] for i, name in enumerate(names)}}
    engine = connect(tables, book)
    session = Dataset(engine, codebook=book).session(dp.budget(epsilon=10**6, delta=0.5), entropy=Silent())
    answers = [
        session.query().group_by("kind").agg(**ASKED).release(epsilon=1000),
        session.query().group_by("word").agg(**ASKED).release(epsilon=1000, delta=0.4),
        session.query().agg(**ASKED).release(epsilon=1000),
    ]
    engine.close()
    for place, answer in zip((1, 2, None), answers, strict=True):
        found = {
            group: {name: answer.columns[name].values[i] for name in ASKED} for i, group in enumerate(answer.groups)
        }
        for group, values in found.items():
            mine = [r for r in rows if place is None or r[place] == group[0]]
            if mine:
                for name, wanted in plain(mine, unit).items():
                    assert values[name] == pytest.approx(wanted, abs=1e-9), (unit, group, name)
            else:
                assert (values["n"], values["units"], values["total"]) == (0, 0, 0)
        if place == 1:
            assert [group[0] for group in found] == ["a", "b", "c"]
        if place == 2:
            shown = Counter(r[2] for r in rows)
            assert {group[0] for group in found} <= set(shown)
