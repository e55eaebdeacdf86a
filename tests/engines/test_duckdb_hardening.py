"""The embedded engine is closed to the world, tells nothing in its errors, and leaves nothing behind."""

from __future__ import annotations

import os
import threading
from contextlib import nullcontext, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from deniable.engines import connect
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.order import order_key
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.errors import EngineFailed, InvalidArgument, QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Bounding, GroupAgg, RowCount, Total, Units, scan
from tests.engines.random_plans import KEY, as_values
from tests.interleaving import Meeting

BOOK = Codebook.from_yaml(
    """
unit: {id: who, groups: 1, rows_per_group: 1}
tables:
  t: {variables: {who: integer, v: {type: integer, bounds: [0, 9]}}}
  p: {public: true, variables: {town: string, size: integer}}
"""
)
DATA: dict[str, dict[str, list[Any]]] = {
    "t": {"who": [1, 2, 3], "v": [1, 2, 30]},
    "p": {"town": ["b", "a", None], "size": [2, 1, 3]},
}
PLAN = GroupAgg(
    scan(BOOK, "t"),
    (),
    Bounding(groups=1),
    (("u", Units()), ("n", RowCount(1)), ("s", Total(Column("v"), Fraction(0), Fraction(9)))),
)


def _raw(engine: DuckDBEngine) -> duckdb.DuckDBPyConnection:
    assert engine._opened is not None
    return engine._opened.connection


@pytest.mark.parametrize(
    "statement",
    [
        "SET threads = 1", "SET enable_external_access = true", "INSTALL httpfs", "LOAD httpfs", "ATTACH 'x.db'",
        "COPY (SELECT 1) TO 'x.csv'", "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')",
        "SELECT * FROM 'https://localhost/x.parquet'", "SELECT * FROM DATA",
    ],
)  # fmt: skip
def test_the_connection_is_locked(statement: str) -> None:
    engine = DuckDBEngine(DATA, BOOK, key=KEY)
    with pytest.raises(duckdb.Error):
        _raw(engine).execute(statement)
    engine.close()


def test_an_engine_error_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine(DATA, BOOK, key=KEY)
    monkeypatch.setattr(SqlStatement, "text", lambda *_: "SELECT CAST('Alice has 42' AS INTEGER)")
    with pytest.raises(EngineFailed) as failed:
        engine.run(PLAN)
    assert "Alice" not in repr(failed.value)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    engine.close()


def test_temporary_files_go_to_a_private_folder_that_is_removed() -> None:
    engine = DuckDBEngine(DATA, BOOK, key=KEY)
    ((folder,),) = _raw(engine).execute("SELECT current_setting('temp_directory')").fetchall()
    assert Path(folder).stat().st_mode & 0o077 == 0
    engine.close()
    assert not Path(folder).exists()


def test_nothing_is_shown_and_a_closed_engine_says_so() -> None:
    engine = DuckDBEngine(DATA, BOOK, key=KEY)
    assert repr(engine) == "DuckDBEngine(t, p)"
    assert repr(engine.run(PLAN)) == "Result(private)"
    assert "secret" in repr(order_key(KEY))
    engine.close()
    with pytest.raises(InvalidArgument, match="closed"):
        engine.run(PLAN)


def test_public_rows_are_given_and_private_ones_are_not() -> None:
    engine = connect(DATA, BOOK, key=KEY)
    assert engine.public(scan(BOOK, "p")) == {"town": (None, "a", "b"), "size": (3, 1, 2)}
    with pytest.raises(QueryRefused, match="private"):
        engine.public(scan(BOOK, "t"))
    engine.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of the planted fault
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("locked", [True, False], ids=["as it is", "without its lock"])
def test_threads_share_one_engine(locked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of every statement a thread waits for another: one comes only if the engine's lock is taken away."""
    engine, meeting = connect(DATA, BOOK, key=KEY), Meeting()
    wanted, found, fetch = as_values(engine.run(PLAN)), [], DuckDBEngine._fetched

    def fetched(*args: Any) -> Any:
        meeting.wait()
        return fetch(*args)

    monkeypatch.setattr(DuckDBEngine, "_fetched", fetched)
    if not locked:
        monkeypatch.setattr(DuckDBEngine, "_alone", lambda _: nullcontext())

    def ask() -> None:
        with suppress(EngineFailed):
            found.append(as_values(engine.run(PLAN)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meeting.met is not locked
    assert not locked or found == [wanted] * 8
    engine.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_its_own_connection() -> None:
    engine = connect(DATA, BOOK, key=KEY)
    wanted = as_values(engine.run(PLAN))
    child = os.fork()
    if child == 0:
        os._exit(0 if as_values(engine.run(PLAN)) == wanted else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert as_values(engine.run(PLAN)) == wanted
    engine.close()


def test_sums_saturate_instead_of_failing() -> None:
    book = Codebook.from_yaml("unit: rows\nvariables: {v: {type: integer, bounds: [0, 2000000000000000]}}")
    total = Total(Column("v"), Fraction(0), Fraction(2 * 10**15))
    engine = connect({"v": [2 * 10**15] * 4000}, book, key=KEY)
    result = engine.run(GroupAgg(scan(book), (), Bounding(groups=1), (("s", total),)))
    assert result.columns["s"].tolist() == [2**62]
    engine.close()


@pytest.mark.parametrize("key", [b"short", "text", -1, True, None])
def test_an_order_key_needs_secret_bytes(key: Any) -> None:
    with pytest.raises(InvalidArgument):
        connect(DATA, BOOK, key=key)
