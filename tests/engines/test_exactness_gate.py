"""The exactness gate: with no noise, bounds that do not bind and values on the grid, an answer is the plain aggregate.

Every aggregate, under every kind of unit, with declared and observed keys, through the public API, on DuckDB and on the
reference engine; the plain aggregates are computed here, by the statistics module and by hand. Order statistics are held
against the ranks of the rows, and a choice among the most frequent against their counts: of equals any is right.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from importlib import import_module
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
from deniable.query import columns
from deniable.query.columns import AnswerColumn
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
      z: {type: number, bounds: [-1000, 9000], step: 0.001, bins: [-1000, 0, 10, 500, 9000], missing: {impute: 0}}
"""
NAMES = ("who", "kind", "word", "day", "x", "y", "z")
EDGES = [0, 2, 5, 8]

row = st.tuples(
    st.integers(1, 4),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["u", "v", "w"]),
    st.sampled_from([date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 28)]),
    st.integers(0, 32).map(lambda quarter: quarter / 4),
    st.integers(-5, 5),
    st.one_of(
        st.sampled_from([-1000, 0, 10, 500, 9000]),
        st.integers(-1000, 9000),
        st.integers(0, 9000).map(lambda m: m / 1000),
    ),
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


@pytest.fixture(autouse=True, scope="module")
def _every_cell_shown() -> Iterator[None]:
    """A cell whose interval is all of the public range is shown as well: here the value itself is held against the truth."""

    def shown(*given: Any, within: object = None) -> AnswerColumn:
        return columns.interval_column(*given)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("spread", "mean"):
            patch.setattr(import_module(f"deniable.query.aggregates.{name}"), "interval_column", shown)
        yield


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
    for place, found in _answers(ASKED, rows, unit, connect):
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


WITHIN = {"x": 0.0, "y": 0.0, "z": 10_000 / 1024}
"""How far a candidate for a quantile may lie from any value: nothing on a grid of few steps, else a part of the bounds' width."""

QUANTILES = {
    f"{column}_{percent}": (column, percent / 100, dp.quantile(column, percent / 100))
    for column in WITHIN
    for percent in (5, 25, 50, 90)
}
CHOSEN: dict[str, Any] = {name: asked for name, (_, _, asked) in QUANTILES.items()} | {
    "median": dp.median("y"),
    "first": dp.top_k("kind", 1),
    "order": dp.top_k("kind", 3),
    "bins": dp.histogram("z"),
}
BINS = [-1000, 0, 10, 500, 9000]


def right_by_rank(value: float, of: list[float], q: float, within: float) -> bool:
    """At most a share q of the values lies below, at most 1 - q above, give or take `within` in the value."""
    below, above = sum(v < value - within for v in of), sum(v > value + within for v in of)
    return below <= q * len(of) + 1e-9 and above <= (1 - q) * len(of) + 1e-9


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("connect", [_duckdb, _reference], ids=["DuckDB", "reference"])
@settings(max_examples=3, deadline=None)
@given(rows=st.lists(row, min_size=1, max_size=25))
def test_without_noise_quantiles_and_the_most_frequent_are_right_by_rank(
    unit: str, connect: Callable[..., Engine], rows: list[Any]
) -> None:
    for place, found in _answers(CHOSEN, rows, unit, connect):
        for group, values in found.items():
            mine = [r for r in rows if place is None or r[place] == group[0]]
            for name, (column, q, _) in QUANTILES.items():
                cells = [r[NAMES.index(column)] for r in mine]
                assert right_by_rank(values[name], cells, q, WITHIN[column]), (unit, group, name, values[name])
            assert right_by_rank(values["median"], [r[5] for r in mine], 0.5, 0)
            counts = Counter(r[1] for r in mine)
            assert [counts[value] for value in values["order"]] == sorted((counts[k] for k in "abc"), reverse=True)
            assert sorted(values["order"]) == ["a", "b", "c"]
            assert [counts[value] for value in values["first"]] == [max(counts.values(), default=0)]
            zs = [r[6] for r in mine]
            assert values["bins"] == [
                sum(low <= z < high or z == high == 9000 for z in zs) for low, high in pairwise(BINS)
            ]


def test_a_wrong_rank_would_be_seen() -> None:
    values = [0.0, 1.0, 1.0, 2.0, 5.0]
    assert [v for v in (0, 1, 2, 5) if right_by_rank(v, values, 0.5, 0)] == [1]
    assert [v for v in (0, 1, 2, 5) if right_by_rank(v, values, 0.8, 0)] == [2, 5]
    assert not right_by_rank(3.9, values, 0.5, 1)
    assert right_by_rank(1.9, values, 0.5, 1)


def _answers(
    asked: dict[str, Any], rows: list[Any], unit: str, connect: Callable[..., Engine]
) -> list[tuple[int | None, dict[Any, dict[str, Any]]]]:
    """By declared keys, by observed keys and without keys: the place of the key in a row, and the values of each group."""
    book = Codebook.from_yaml(BOOK % UNITS[unit])
    engine = connect({"gate": {name: [r[i] for r in rows] for i, name in enumerate(NAMES)}}, book)
    session = Dataset(engine, codebook=book).session(dp.budget(epsilon=10**6, delta=0.5), entropy=Silent())
    answers = [
        session.query().group_by("kind").agg(**asked).release(epsilon=1000),
        session.query().group_by("word").agg(**asked).release(epsilon=1000, delta=0.09),
        session.query().agg(**asked).release(epsilon=1000),
    ]
    engine.close()
    return [
        (
            place,
            {group: {name: answer.columns[name].values[i] for name in asked} for i, group in enumerate(answer.groups)},
        )
        for place, answer in zip((1, 2, None), answers, strict=True)
    ]
