"""Medians, quantiles and modes of one unit's rows on every short list of values: engines against the standard library."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import median_low, multimode
from typing import Any

import pytest

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine
from deniable.engines.reference import ReferenceEngine
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Bounding, GroupAgg, KeyColumn, Total, UnitAgg, Units, UnitSummary, UnitValue, scan
from deniable.plan.relation import schema
from tests.engines.random_plans import KEY

LISTS = [list(cells) for size in range(1, 5) for cells in product((None, 1, 2, 4), repeat=size)]
"""Every list of up to four cells, each missing or one of three values: one unit each."""

BOOK = Codebook.from_yaml(
    """
unit: {id: who, groups: 1, rows_per_group: 9}
tables:
  t:
    unit: who
    variables:
      who: {type: integer, bounds: [0, 400], outside: missing}
      x: {type: integer, bounds: [0, 9]}
      word: string
      truth: boolean
"""
)
WORDS = {None: None, 1: "B", 2: "a", 4: "É"}
ROWS = [(who, cell) for who, cells in enumerate(LISTS) for cell in cells]
TABLE: dict[str, list[Any]] = {
    "who": [who for who, _ in ROWS],
    "x": [cell for _, cell in ROWS],
    "word": [WORDS[cell] for _, cell in ROWS],
    "truth": [None if cell is None else cell > 1 for _, cell in ROWS],
}


def _truth(value: UnitValue, cells: list[Any]) -> Any:
    present = sorted(cell for cell in cells if cell is not None)
    if not present:
        return None
    if value.share is not None:  # the least value with at least that share of all at or below it
        return next(each for each in present if sum(other <= each for other in present) >= value.share * len(present))
    return median_low(present) if value.summary is UnitSummary.MEDIAN else min(multimode(present))


def _values(engine: Engine, value: UnitValue) -> dict[int, Any]:
    """The summary of each unit, as the key of its own group."""
    keys = (KeyColumn("who", Column("who")), KeyColumn("found", Column("found"), keep_missing=True))
    rows = UnitAgg(scan(BOOK, "t"), (("who", Column("who")),), (value,))
    result = engine.run(GroupAgg(rows, keys, Bounding(groups=1), (("units", Units()),)))
    return dict(zip(result.keys["who"], result.keys["found"], strict=True))


ASKED = {
    "median": UnitValue("found", UnitSummary.MEDIAN, Column("x")),
    **{
        f"quantile {share}": UnitValue("found", UnitSummary.QUANTILE, Column("x"), share=Fraction(share))
        for share in ("0", "1/4", "1/3", "0.51", "0.999999", "1")
    },
    **{f"mode of {name}": UnitValue("found", UnitSummary.MODE, Column(name)) for name in ("x", "word", "truth")},
}


@pytest.mark.parametrize("kind", [ReferenceEngine, DuckDBEngine])
def test_medians_quantiles_and_modes_are_the_standard_librarys_on_every_short_list(kind: Any) -> None:
    engine = kind({"t": TABLE}, BOOK, key=KEY)
    try:
        answers = {name: _values(engine, value) for name, value in ASKED.items()}
    finally:
        engine.close()
    for name, value in ASKED.items():
        assert isinstance(value.of, Column)
        lists: dict[int, list[Any]] = {who: [] for who in range(len(LISTS))}
        for who, cell in zip(TABLE["who"], TABLE[value.of.name], strict=True):
            lists[who].append(cell)
        assert answers[name] == {who: _truth(value, cells) for who, cells in lists.items()}, name


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2), Fraction(1, 10**6 + 1), None])
def test_a_share_that_no_engine_counts_is_refused(share: Fraction | None) -> None:
    value = UnitValue("found", UnitSummary.QUANTILE, Column("x"), share=share)
    with pytest.raises(QueryRefused, match="share"):
        schema(UnitAgg(scan(BOOK, "t"), (("who", Column("who")),), (value,)))


@pytest.mark.parametrize("summary", [UnitSummary.MEDIAN, UnitSummary.MODE])
def test_bounds_limit_medians_and_modes(summary: UnitSummary) -> None:
    value = UnitValue("found", summary, Column("x"), Fraction(2), Fraction(3))
    plan = GroupAgg(
        UnitAgg(scan(BOOK, "t"), (), (value,)), (), Bounding(groups=1),
        (("sum", Total(Column("found"), Fraction(0), Fraction(9))),),
    )  # fmt: skip
    found = [_truth(value, cells) for cells in LISTS]
    wanted = sum(min(max(cell, 2), 3) for cell in found if cell is not None)
    for engine in (ReferenceEngine({"t": TABLE}, BOOK, key=KEY), DuckDBEngine({"t": TABLE}, BOOK, key=KEY)):
        assert list(engine.run(plan).columns["sum"]) == [wanted]
        engine.close()
