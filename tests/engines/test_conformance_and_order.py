"""The kit every engine must pass, and the keyed order it relies on."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.engines import conformance, kit
from deniable.engines.duckdb_profile import DuckDBProfile, without_unsound_optimizers
from deniable.engines.order import MASK, mixed, order_key, rank, start, words
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.errors import InvalidArgument
from deniable.plan.facts import Facts, Kind
from deniable.plan.sql_trees import call

PROFILE = DuckDBProfile()
KEY = order_key(bytes(range(32)))


def _executed(text: str) -> dict[str, Any]:
    connection = duckdb.connect()
    without_unsound_optimizers(connection)
    return dict(connection.execute(text).fetchnumpy())


def _execute(statement: SqlStatement) -> dict[str, Any]:
    return _executed(statement.text(PROFILE))


def test_the_whole_kit_holds_on_duckdb() -> None:
    assert conformance.differences(conformance.Kit(PROFILE, _execute)) == []


def test_the_kit_finds_the_joins_that_duckdb_leaves_out() -> None:
    """The planted fault: DuckDB with all of its optimizers, in a version that removes joins."""
    optimizers = {name for (name,) in duckdb.sql("SELECT name FROM duckdb_optimizers()").fetchall()}
    plain = conformance.Kit(
        PROFILE, lambda statement: dict(duckdb.connect().execute(statement.text(PROFILE)).fetchnumpy())
    )
    found = conformance.differences(plain)
    assert found == (["rows that a join repeats (values)"] if "join_elimination" in optimizers else [])


def test_the_quick_digests_are_the_reference_engines() -> None:
    reference = kit.kit_reference()
    rows = reference.public(kit.probed_rows(kit.QUICK))
    result = reference.run(kit.quick_plan())
    digests = conformance.row_digest(list(rows.values())), conformance.result_digest(result)
    assert digests == conformance.QUICK_DIGESTS
    assert conformance.quick_digests(conformance.Kit(PROFILE, _execute)) == conformance.QUICK_DIGESTS


def test_no_probe_says_the_same_of_every_row() -> None:
    """A probe that is missing everywhere, or one number, would see no fault."""
    reference = kit.kit_reference()
    for probe in kit.PROBES:
        found = reference.public(kit.probed_rows((probe,)))[probe]
        assert len(set(found)) >= 2, probe


class _OtherDuckDB(DuckDBProfile):
    """An engine that hashes texts without their case."""

    def text_number(self, value: Any) -> Any:
        return super().text_number(call("lower", value))


def test_an_engine_that_differs_is_refused_by_name() -> None:
    other = _OtherDuckDB()
    with pytest.raises(InvalidArgument, match="groups by name"):
        conformance.conform("DuckDB of tomorrow", other, lambda s: _executed(s.text(other)))


@given(st.integers(0, MASK))
def test_mixing_is_a_permutation(state: int) -> None:
    """Every step can be undone, so no two states meet."""
    (a, b, c), (d, e, f) = KEY.multipliers, KEY.addends
    back = (mixed(state, KEY) - f) * pow(c, -1, 2**31) & MASK
    back = _unshift(back, 13)
    back = (back - e) * pow(b, -1, 2**31) & MASK
    back = _unshift(back, 15)
    assert (back - d) * pow(a, -1, 2**31) & MASK == state


def _unshift(value: int, bits: int) -> int:
    found = value
    for _ in range(31 // bits + 1):
        found = value ^ (found >> bits)
    return found


@pytest.mark.parametrize(
    "known",
    [
        Facts(Kind.NUMBER), Facts(Kind.NUMBER, lower=-3, upper=9), Facts(Kind.BOOLEAN), Facts(Kind.STRING),
    ],
)  # fmt: skip
def test_different_values_have_different_words(known: Facts) -> None:
    values: list[Any] = [None]
    if known.kind is Kind.NUMBER:
        edges = range(-3, 10) if known.bounded else (0, 1, -1, MASK, MASK + 1, 2**62, -(2**63), 2**63 - 1)
        values += [Fraction(value) for value in edges]
    elif known.kind is Kind.BOOLEAN:
        values += [True, False]
    else:
        values += ["", "a", "b", "é"]
    found = [words(value, known, KEY) for value in values]
    assert len(set(found)) == len(values)
    assert all(0 <= word <= MASK for entry in found for word in entry)


@pytest.mark.parametrize(
    ("known", "values"),
    [
        (Facts(Kind.NUMBER), [Fraction(v) for v in (-(2**63), -(2**62) - 1, -(2**31), -1, 0, 1, MASK, MASK + 1, 2**62, 2**63 - 1)]),
        (Facts(Kind.NUMBER, lower=-3, upper=9), [Fraction(v) for v in range(-3, 10)]),
        (Facts(Kind.BOOLEAN), [False, True]),
        (Facts(Kind.DATE, lower=0, upper=40000), [date(1970, 1, 1), date(1999, 12, 31), date(2024, 2, 29)]),
        (
            Facts(Kind.TIMESTAMP, lower=0, upper=2**52),
            [datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 59), datetime(1999, 12, 31, 1, 2, 3, 4), datetime(2024, 2, 29)],
        ),
    ],
)  # fmt: skip
def test_words_sort_as_their_values_do_and_the_missing_one_is_last(known: Facts, values: list[Any]) -> None:
    """SQL breaks ties of the hash by the value, Python by its words: both must mean the same order."""
    found = [words(value, known, KEY) for value in [*values, None]]
    assert found == sorted(found)
    assert len(set(found)) == len(found)


def test_no_group_is_favoured_over_all_units() -> None:
    """2000 units choose 2 of 10 groups: each group is chosen 400 times, give or take (six standard deviations)."""
    known = Facts(Kind.NUMBER, lower=0, upper=9)
    chosen = [0] * 10
    for unit in range(2000):
        state = start(words(Fraction(unit), Facts(Kind.NUMBER), KEY), KEY)
        order = sorted(range(10), key=lambda g: rank(state, words(Fraction(g), known, KEY), KEY))
        for group in order[:2]:
            chosen[group] += 1
    assert all(abs(count - 400) < 6 * (2000 * 0.2 * 0.8) ** 0.5 for count in chosen)
