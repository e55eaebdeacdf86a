"""The neighbour test: remove one person, and the integers under every accepted query move by no more than was declared."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from deniable.engines import connect
from deniable.engines.engine import Engine, Result
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import GroupAgg
from deniable.plan.sensitivity import sensitivities
from deniable.query import compile_query
from deniable.query.sql import compile_statement, public_tables, read
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import world
from tests.sql_grammar import BOOK, Grammar, Nobody, tables, tried

_KEY = 2**200 + 12345
_TIGHT = {"clinic": ("patient_id", 2, 3), "shop": ("customer_id", 2, 2)}
"""Bounds that do bind."""


@cache
def _book(name: str) -> Codebook:
    unit, groups, rows = _TIGHT[name]
    return Codebook.from_record(
        {**world(name).codebook, "unit": {"id": unit, "groups": groups, "rows_per_group": rows}}
    )


@cache
def _engine(name: str, removed: int | None) -> Engine:
    """The tables; without the rows that carry one identifier when it is `removed` (rows linked to them go with them)."""
    tables = {}
    for table, columns in world(name).tables.items():
        unit = columns.get(_TIGHT[name][0])
        keep = [True] * len(next(iter(columns.values()))) if unit is None else [each != removed for each in unit]
        tables[table] = {c: [v for v, kept in zip(cells, keep, strict=True) if kept] for c, cells in columns.items()}
    return connect(tables, _book(name), key=_KEY)


def _cells(result: Result, name: str, place: int) -> dict[tuple[Any, ...], int]:
    groups = list(zip(*result.keys.values(), strict=True)) if result.keys else [()] * result.groups
    if name in result.columns:
        cells = zip(groups, result.columns[name], result.level, strict=True)
        return {group: int(value) for group, value, level in cells if level == place}
    found = result.histograms[name]
    return {
        (*groups[int(group)], int(at)): int(count)
        for group, at, count in zip(found.group, found.bin, found.count, strict=True)
        if result.level[int(group)] == place
    }


_CORPUS = [
    (name, query) for name, query in ANSWERED if name in _TIGHT and public_tables(read(query), _book(name)) is None
]
_PRIVATE = [
    *_CORPUS[::3],
    (
        "clinic",
        "SELECT specialty, SUM(duration, contribution_bounds_per_group => (5, 40)) AS s FROM visits GROUP BY specialty",
    ),
    ("clinic", "SELECT city, COUNT(*, contribution_bounds_per_group => (0, 2)) AS n FROM visits GROUP BY city"),
    ("clinic", "SELECT city, AVG(cost, contribution_bounds_per_group => (100, 300)) AS a FROM visits GROUP BY city"),
    ("clinic", "SELECT AVG(m) AS a FROM (SELECT patient_id, AVG(cost - 500) AS m FROM visits GROUP BY patient_id) t"),
    ("clinic", "SELECT city, urgent, COUNT(*) AS n, SUM(duration) AS s FROM visits GROUP BY CUBE (city, urgent)"),
]


def _moves_little(plan: GroupAgg, full: Result, fewer: Result) -> None:
    """Every column, on every level, moves within its triple."""
    for place, level in enumerate(plan.grouping):
        for column, bound in sensitivities(plan, level).items():
            before, after = _cells(full, column, place), _cells(fewer, column, place)
            moved = np.array([before.get(cell, 0) - after.get(cell, 0) for cell in before.keys() | after.keys()])
            assert np.count_nonzero(moved) <= bound.l0
            assert np.abs(moved).sum() <= bound.l1
            assert np.abs(moved).max(initial=0) <= bound.linf


@pytest.mark.parametrize(("name", "query"), _PRIVATE)
def test_one_person_moves_the_integers_by_at_most_the_declared_amounts(name: str, query: str) -> None:
    book = _book(name)
    assert book.unit is not None
    plan = compile_query(compile_statement(read(query), book, Nobody()).query, book.unit).plan
    full = _engine(name, None).run(plan)
    for person in (3, 40):
        _moves_little(plan, full, _engine(name, person).run(plan))


@pytest.mark.slow
def test_one_person_moves_random_accepted_queries_by_at_most_the_declared_amounts() -> None:
    """The grammar's own queries, over tables whose units reach every bound."""
    engines = [_without(person) for person in (None, 2, 7)]
    grammar, run = Grammar(4), 0
    while run < 60:
        private = tried(grammar.query())[1]
        if private is None:
            continue
        assert BOOK.unit is not None
        plan = compile_query(private.query, BOOK.unit).plan
        full, *others = (engine.run(plan) for engine in engines)
        for fewer in others:
            _moves_little(plan, full, fewer)
        run += 1


def _without(person: int | None) -> Engine:
    everyone = tables()
    for name in ("t", "u"):
        kept = [person is None or uid != person for uid in everyone[name]["uid"]]
        everyone[name] = {c: [v for v, k in zip(cells, kept, strict=True) if k] for c, cells in everyone[name].items()}
    return connect(everyone, BOOK, key=_KEY)
