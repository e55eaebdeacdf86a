"""Functions as group keys: where their values are public, all groups are shown, empty or not, with their exact rows."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

import deniable as dp
from deniable.engines.reference import ReferenceEngine
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.release.session import Session
from deniable.testing import Silent

BOOK = {
    "unit": {"id": "who", "groups": 1, "rows_per_group": 1},
    "table": "people",
    "variables": {
        "who": "integer",
        "age": {"type": "integer", "bounds": [0, 100]},
        "height": {"type": "number", "bounds": [-1, 2], "step": 0.25},
        "born": {"type": "date", "bounds": ["2023-11-20", "2024-02-03"]},
        "seen": {"type": "timestamp", "bounds": ["2024-01-30 22:00:00", "2024-02-01 03:00:00"]},
        "said": "boolean",
        "code": {"type": "integer", "bounds": [0, 5000]},
    },
}
ROWS: dict[str, list[Any]] = {
    "who": list(range(8)),
    "age": [0, 9, 10, 37, 99, 100, None, 41],
    "height": [-1, -0.25, 0, 0.75, 2, 1.25, 0.25, None],
    "born": [date(2023, 11, 20), date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 3), None, *[date(2024, 1, 9)] * 3],
    "seen": [datetime(2024, 1, 30, 22), datetime(2024, 1, 31, 5, 59), datetime(2024, 2, 1, 3), None]
    + [datetime(2024, 1, 31, 23, 30)] * 4,
    "said": [True, False, None, True, False, True, True, False],
    "code": [7, 8, 10, 7, 4999, 11, None, 0],
}


@pytest.fixture(scope="module", params=["DuckDB", "reference"])
def session(request: pytest.FixtureRequest) -> Session:
    book = Codebook.from_record(BOOK)
    source = ReferenceEngine({"people": ROWS}, book, key=5) if request.param == "reference" else ROWS
    return dp.Dataset(source, codebook=book).session(dp.budget(epsilon=10**6), entropy=Silent())


def counted(session: Session, key: str, where: str = "TRUE") -> dict[Any, int]:
    answer = session.sql(f"SELECT {key} AS k, COUNT(*) AS n FROM people WHERE {where} GROUP BY k", epsilon=100)
    return {row["k"]: row["n"] for row in answer.table}  # type: ignore[union-attr]


def test_width_buckets_are_public_keys(session: Session) -> None:
    found = counted(session, "WIDTH_BUCKET(age, 0, 100, 10)")
    assert found == {**dict.fromkeys(range(1, 12), 0), 1: 2, 2: 1, 4: 1, 5: 1, 10: 1, 11: 1}
    assert counted(session, "WIDTH_BUCKET(height, -0.5, 1, 4)") == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 2}


@pytest.mark.parametrize(
    "wrong", ["age, 10, 0, 3", "age, 0, 10, 0", "age, 0, 10, 2.5", "age, 0, age, 3", "said, 0, 1, 2"]
)
def test_buckets_that_mean_nothing_are_refused(session: Session, wrong: str) -> None:
    with pytest.raises(QueryRefused):
        session.sql(f"SELECT COUNT(*) AS n FROM people WHERE WIDTH_BUCKET({wrong}) = 1", epsilon=1)


def test_tens_are_public_keys(session: Session) -> None:
    tens = {**dict.fromkeys(range(0, 101, 10), 0), 0: 2, 10: 1, 30: 1, 40: 1, 90: 1, 100: 1}
    assert counted(session, "FLOOR(age / 10) * 10") == tens
    assert counted(session, "COALESCE(FLOOR(age / 50) * 50, -1)") == {-1: 1, 0: 5, 50: 1, 100: 1}
    assert counted(session, "CASE WHEN age < 40 THEN 7 WHEN age < 500 THEN 70 ELSE 700 END") == {7: 4, 70: 3, 700: 1}


def test_conditions_cut_the_tens(session: Session) -> None:
    answer = session.sql(
        "SELECT FLOOR(age / 10) * 10 AS k, COUNT(*) AS n FROM people WHERE age BETWEEN 25 AND 50 GROUP BY k",
        epsilon=100,
    )
    assert [(row["k"], row["n"]) for row in answer.table] == [(20, 0), (30, 1), (40, 1), (50, 0)]  # type: ignore[union-attr]


def test_texts_that_conditions_make_few_are_public_keys(session: Session) -> None:
    """All texts of the number are too many to declare; those that the condition lets through are not."""
    assert counted(session, "CAST(code AS TEXT)", "code BETWEEN 7 AND 10") == {"10": 1, "7": 2, "8": 1, "9": 0}


def test_keys_that_are_always_missing_are_declared_ones_with_noise_alone(session: Session) -> None:
    assert counted(session, "age", "age IS NULL") == dict.fromkeys(range(101), 0)
    assert counted(session, "age + 1", "age IS NULL") == dict.fromkeys(range(1, 102), 0)
    assert set(counted(session, "born", "born IS NULL").values()) == {0}
    assert counted(session, "NULLIF(age, age)") == dict.fromkeys(range(101), 0)


def test_a_key_of_constants_has_one_group(session: Session) -> None:
    assert counted(session, "COALESCE(0.5, 2)") == {0.5: 8}
    assert len(session.sql("SELECT COALESCE(0.5, 2) AS k, COUNT(*) AS n FROM people GROUP BY k", epsilon=1).table) == 1  # type: ignore[union-attr]


def test_dates_as_text_are_public_keys(session: Session) -> None:
    months = {"2023-11": 1, "2023-12": 1, "2024-01": 4, "2024-02": 1}
    assert counted(session, "STRFTIME(born, '%Y-%m')") == months
    assert counted(session, "TO_CHAR(born, 'YYYY-MM')") == months
    assert counted(session, "STRFTIME(born, '%m')") == {"01": 4, "02": 1, "11": 1, "12": 1}
    found = counted(session, "STRFTIME(seen, '%d %H')")
    assert len(found) == 30, "every hour from the first to the last"
    assert {text: rows for text, rows in found.items() if rows} == {"30 22": 1, "31 05": 1, "01 03": 1, "31 23": 4}
    assert sum(counted(session, "CAST(born AS VARCHAR)").values()) == 7


def test_two_patterns_of_to_char_are_two_keys(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    """The parser writes both as TO_CHAR(born), and says so to whoever listens."""
    asked = "SELECT TO_CHAR(born, 'YYYY') AS y, TO_CHAR(born, 'MM') AS m, COUNT(*) AS n FROM people GROUP BY 1, 2"
    rows = [row for row in session.sql(asked, epsilon=100).table if row["n"]]  # type: ignore[union-attr]
    assert [(row["y"], row["m"], row["n"]) for row in rows] == [
        ("2023", "11", 1), ("2023", "12", 1), ("2024", "01", 4), ("2024", "02", 1),
    ]  # fmt: skip
    with pytest.raises(QueryRefused, match=r"column 8: "):
        session.sql(
            "SELECT TO_CHAR(born, 'MM') AS m, COUNT(*) AS n FROM people GROUP BY TO_CHAR(born, 'YYYY')", epsilon=1
        )
    assert not caplog.records


@pytest.mark.parametrize("wrong", ["born, '%H'", "born, '%B'", "born, '%Y x'", "born, ''", "age, '%Y'", "born, who"])
def test_formats_that_engines_write_differently_are_refused(session: Session, wrong: str) -> None:
    with pytest.raises(QueryRefused):
        session.sql(f"SELECT COUNT(*) AS n FROM people WHERE STRFTIME({wrong}) = '1'", epsilon=1)


def test_numbers_and_truths_as_text_and_as_numbers(session: Session) -> None:
    assert counted(session, "CAST(age % 3 AS VARCHAR)") == {"0": 3, "1": 3, "2": 1}
    assert counted(session, "CAST(said AS VARCHAR)") == {"false": 3, "true": 4}
    found = counted(session, "CAST(said AS INTEGER) + TRY_CAST(FLOOR(height) AS BIGINT)")
    assert found == {-1: 1, 0: 1, 1: 2, 2: 2, 3: 0}


@pytest.mark.parametrize(
    "wrong", ["height AS INTEGER", "height AS VARCHAR", "seen AS VARCHAR", "born AS INTEGER", "age AS CHAR(2)"]
)
def test_casts_that_engines_do_differently_are_refused(session: Session, wrong: str) -> None:
    with pytest.raises(QueryRefused):
        session.sql(f"SELECT COUNT(CAST({wrong})) AS n FROM people", epsilon=1, dialect="postgres")
