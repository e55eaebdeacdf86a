"""Random plans over random data with odd cells: DuckDB's integers are the reference engine's, exactly.

Many more are compared in `test_neighbours`, on data and on data without one unit.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from tests.engines.random_plans import KEY, UNITS, as_values, codebook, plans, tables

_LOOSE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def _compare(kind: str, data: st.DataObject) -> None:
    book = codebook(kind)
    rows = data.draw(tables(kind))
    engine, reference = DuckDBEngine(rows, book, key=KEY, threads=1), ReferenceEngine(rows, book, key=KEY)
    try:
        for _ in range(3):
            plan = data.draw(plans(book))
            assert as_values(engine.run(plan)) == as_values(reference.run(plan))
    finally:
        engine.close()


def _compare_kept(kind: str, data: st.DataObject) -> None:
    """A plan whose bounded rows are kept, and a smaller plan that may read them, give the integers of the rows themselves."""
    book = codebook(kind)
    rows = data.draw(tables(kind))
    engine, reference = DuckDBEngine(rows, book, key=KEY, threads=1), ReferenceEngine(rows, book, key=KEY)
    try:
        plan = data.draw(plans(book))
        engine.prepare(plan)
        engine.prepare(plan)
        assert len(engine._connection().kept) == 1
        smaller = replace(plan, aggregates=plan.aggregates[:3])
        for asked in (plan, smaller, data.draw(plans(book))):
            assert as_values(engine.run(asked)) == as_values(reference.run(asked))
    finally:
        engine.close()


@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=4, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_kept_rows_give_the_same_integers(kind: str, data: st.DataObject) -> None:
    _compare_kept(kind, data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=8, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_kept_rows_give_the_same_integers_for_many_plans(kind: str, data: st.DataObject) -> None:
    _compare_kept(kind, data)


@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=5, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_a_few_random_plans_agree(kind: str, data: st.DataObject) -> None:
    _compare(kind, data)
