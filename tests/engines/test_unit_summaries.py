"""Medians and modes of one unit's rows on every short list of values: engines against the standard library."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import median_low, multimode
from typing import Any

import pytest

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Bounding, GroupAgg, KeyColumn, Total, UnitAgg, Units, UnitSummary, UnitValue, scan
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
      who: {type: integer, bounds: [0, 400]}
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


def _truth(summary: UnitSummary, cells: list[Any]) -> Any:
    present = [cell for cell in cells if cell is not None]
    if not present:
        return None
    return median_low(present) if summary is UnitSummary.MEDIAN else min(multimode(present))


def _values(engine: Engine, summary: UnitSummary, name: str) -> dict[int, Any]:
    """The summary of each unit, as the key of its own group."""
    keys = (KeyColumn("who", Column("who")), KeyColumn("found", Column("found"), keep_missing=True))
    rows = UnitAgg(scan(BOOK, "t"), (("who", Column("who")),), (UnitValue("found", summary, Column(name)),))
    result = engine.run(GroupAgg(rows, keys, Bounding(groups=1), (("units", Units()),)))
    return dict(zip(result.keys["who"], result.keys["found"], strict=True))


@pytest.mark.parametrize("kind", [ReferenceEngine, DuckDBEngine])
@pytest.mark.parametrize(
    ("summary", "name"), [(UnitSummary.MEDIAN, "x"), *((UnitSummary.MODE, n) for n in ("x", "word", "truth"))]
)
def test_medians_and_modes_are_the_standard_librarys_on_every_short_list(
    kind: Any, summary: UnitSummary, name: str
) -> None:
    engine = kind({"t": TABLE}, BOOK, key=KEY)
    try:
        found = _values(engine, summary, name)
    finally:
        engine.close()
    lists: dict[int, list[Any]] = {who: [] for who in range(len(LISTS))}
    for who, cell in zip(TABLE["who"], TABLE[name], strict=True):
        lists[who].append(cell)
    assert found == {who: _truth(summary, cells) for who, cells in lists.items()}


@pytest.mark.parametrize("summary", [UnitSummary.MEDIAN, UnitSummary.MODE])
def test_bounds_limit_medians_and_modes(summary: UnitSummary) -> None:
    value = UnitValue("found", summary, Column("x"), Fraction(2), Fraction(3))
    plan = GroupAgg(
        UnitAgg(scan(BOOK, "t"), (), (value,)), (), Bounding(groups=1),
        (("sum", Total(Column("found"), Fraction(0), Fraction(9))),),
    )  # fmt: skip
    found = [_truth(summary, cells) for cells in LISTS]
    wanted = sum(min(max(cell, 2), 3) for cell in found if cell is not None)
    for engine in (ReferenceEngine({"t": TABLE}, BOOK, key=KEY), DuckDBEngine({"t": TABLE}, BOOK, key=KEY)):
        assert list(engine.run(plan).columns["sum"]) == [wanted]
        engine.close()
