"""Both halves of a mean, made of an engine's own integers: one unit moves them no further than the price says.

Every tiny unit there is, with several rows, missing values and two groups, is put beside others on every engine; units are
taken away or replaced. Some unit moves as far as it may, and faults planted in the rule are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import deniable as dp
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.query.compile import CompiledQuery, compile_query
from deniable.query.measurements import HalvedMean
from tests.engines.random_plans import KEY, cells

Row = tuple[int, str, int | None]
"""Who, group, value."""

_BOOK = """
format: 1
name: halves
unit: {unit}
tables:
  t:
    variables:
      who: integer
      k: {{type: string, categories: [a, b]}}
      x: {{type: integer, bounds: [-2, 3]}}
      y: {{type: number, bounds: [-1, 1.5], step: 0.5, missing: {{impute: 0}}}}
      wide: {{type: integer, bounds: [-1048576, 1048576]}}
"""
UNITS = {
    "one row of one": "{id: who, groups: 1, rows_per_group: 1}",
    "two rows in two groups": "{id: who, groups: 2, rows_per_group: 2}",
    "three rows in all": "{id: who, groups: 2, rows_per_group: 2, rows: 3}",
    "rows": "rows",
    "changed rows": "changed rows",
}
MEANS = {
    "of a number that may be missing": dp.mean("x"),
    "of a number that is there": dp.mean("y"),
    "of a condition": dp.mean("x > 0"),
    "of some rows": dp.mean("case when y > 0 then x end"),
    "of a wide number": dp.mean("wide"),
    "of a shifted number": dp.mean("x * 3 + 40"),
}


def _book(unit: str) -> Codebook:
    return Codebook.from_yaml(_BOOK.format(unit=UNITS[unit]))


def _columns(rows: Sequence[Row]) -> dict[str, dict[str, list[Any]]]:
    values = [row[2] for row in rows]
    numbers = {"x": 1, "y": 0.5, "wide": 600_000}
    table = {name: [None if v is None else v * size for v in values] for name, size in numbers.items()}
    return {"t": {"who": [row[0] for row in rows], "k": [row[1] for row in rows], **table}}


def _compiled(book: Codebook, mean: Any, *, keyed: bool, kept: bool) -> tuple[CompiledQuery, HalvedMean]:
    session = dp.Dataset(_columns([(1, "a", 1)])["t"], codebook=book).session(dp.budget(epsilon=1))
    query = session.query().group_by("k") if keyed else session.query()
    query = query.keeping(first="who") if kept else query
    compiled = compile_query(query.agg(m=mean, n=dp.count()), book.unit)
    (found,) = compiled.measurements.means
    return compiled, found


def _moves(compiled: CompiledQuery, mean: HalvedMean, here: Engine, there: Engine) -> list[int]:
    """How far each half of each group moves."""
    columns = []
    for engine in (here, there):
        result = engine.run(compiled.plan)
        columns.append([cells(result, key.column) for key in (mean.total, mean.count)])
    groups = sorted({group for pair in columns for column in pair for group in column}, key=repr)
    halves = [
        mean.halves.of(*(np.array([column.get(group, 0) for group in groups], dtype=np.int64) for column in pair))
        for pair in columns
    ]
    return [size for size in np.abs(halves[0] - halves[1]).ravel().tolist() if size]


def _holds(moved: list[int], mean: HalvedMean) -> bool:
    apart = mean.sensitivity
    return len(moved) <= apart.l0 and sum(moved) <= apart.l1 and max(moved, default=0) <= apart.linf


_OTHERS: list[Row] = [(9, "a", 3), (9, "a", 0), (9, "a", None), (8, "b", -2)]
_VALUES = (None, -2, 1, 3)


_MOST = {"two rows in two groups": 4, "three rows in all": 3}
"""Rows that a unit needs to move as far as it may."""


def _neighbours(unit: str, most: int) -> Iterator[tuple[list[Row], list[Row]]]:
    """A table with one unit more, or with one of its rows replaced."""
    alone = [[(1, group, value)] for group in "ab" for value in _VALUES]
    if unit == "changed rows":
        yield from combinations(alone, 2)
    elif unit == "rows":
        yield from ((rows, []) for rows in alone)
    else:
        for size in range(1, most + 1):
            kinds = [(1, group, value) for group, value in product("ab", _VALUES)]
            yield from ((list(rows), []) for rows in combinations_with_replacement(kinds, size))


def _law(
    unit: str, mean: Any, *, keyed: bool, kept: bool = False, engine: Any = ReferenceEngine, most: int = 3
) -> tuple[bool, bool]:
    """Whether the law holds on all neighbours, and whether some pair moves as far as it may."""
    book = _book(unit)
    compiled, found = _compiled(book, mean, keyed=keyed, kept=kept)
    holds, attained = True, False
    for mine, other in _neighbours(unit, most):
        here, there = (engine(_columns([*_OTHERS, *rows]), book, key=KEY) for rows in (mine, other))
        moved = _moves(compiled, found, here, there)
        holds, attained = holds and _holds(moved, found), attained or sum(moved) == found.sensitivity.l1
        here.close()
        there.close()
    return holds, attained


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mean", MEANS)
def test_one_unit_moves_both_halves_together_by_no_more_than_one_of_them(unit: str, mean: str) -> None:
    holds, attained = _law(unit, MEANS[mean], keyed=True, most=_MOST.get(unit, 2))
    assert holds
    assert attained


@pytest.mark.parametrize("mean", ["of a number that may be missing", "of a wide number"])
def test_the_same_holds_without_keys_where_rows_are_kept_and_on_an_sql_engine(mean: str) -> None:
    two = "two rows in two groups"
    assert _law(two, MEANS[mean], keyed=False) == (True, True)
    assert _law(two, MEANS[mean], keyed=True, kept=True, most=4) == (True, True)
    assert _law("changed rows", MEANS[mean], keyed=False) == (True, True)
    assert _law(two, MEANS[mean], keyed=True, engine=DuckDBEngine, most=2)[0]


def test_engines_give_the_same_halves() -> None:
    book, rows = _book("two rows in two groups"), [*_OTHERS, (1, "a", 3), (1, "a", None), (1, "a", -2), (1, "b", 1)]
    for mean in MEANS.values():
        compiled, found = _compiled(book, mean, keyed=True, kept=False)
        engines = [kind(_columns(rows), book, key=KEY) for kind in (ReferenceEngine, DuckDBEngine)]
        assert not _moves(compiled, found, *engines)


# The same law on faults planted in it ------------------------------------------------------------------------------------


def _planted(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> bool:
    """Whether the law still holds where every half of a mean is changed."""
    right = _compiled

    def wrong(*given: Any, **named: Any) -> tuple[CompiledQuery, HalvedMean]:
        compiled, found = right(*given, **named)
        halves = replace(found.halves, **{name: change(found.halves) for name, change in changed.items()})
        return compiled, replace(found, halves=halves)

    monkeypatch.setitem(globals(), "_compiled", wrong)
    return _law("one row of one", MEANS["of a number that is there"], keyed=True, most=2)[0]


def test_bounds_that_are_narrower_than_the_values_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the lower bound one step too high, so that a value can lie below it."""
    assert not _planted(monkeypatch, low=lambda halves: halves.low + 1)


def test_bounds_that_are_wider_than_the_price_says_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _planted(monkeypatch, high=lambda halves: halves.high + 1)


def test_a_count_in_other_parts_than_the_total_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _planted(monkeypatch, row_steps=lambda halves: 2 * halves.row_steps)


def test_half_the_common_distance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = HalvedMean.__getattribute__

    def half(self: HalvedMean, name: str) -> Any:
        value = right(self, name)
        return replace(value, l1=value.l1 // 2) if name == "sensitivity" else value

    monkeypatch.setattr(HalvedMean, "__getattribute__", half)
    assert not _law("one row of one", MEANS["of a number that may be missing"], keyed=True, most=1)[0]
