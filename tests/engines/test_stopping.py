"""A statement is stopped at its public time limit, or when somebody interrupts: the charge stands, the rest is as said."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deniable as dp
from deniable import cli
from deniable.engines import connect
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.limit import stoppable
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.errors import EngineFailed, InvalidArgument, Retired, Unanswered
from deniable.plan.codebook import Codebook
from tests.engines.random_plans import KEY

BOOK = {"unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "t", "variables": {"p": "integer"}}
ENDLESS = "SELECT COUNT(*) AS cell_0 FROM range(1000000000000000) WHERE hash(range) = 5"
QUESTION = "SELECT COUNT(*) AS n FROM t"


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Every statement of a plan runs for years."""
    with monkeypatch.context() as patch:
        patch.setattr(SqlStatement, "text", lambda *_: ENDLESS)
        yield patch


@pytest.fixture
def interrupt() -> Iterator[Any]:
    """Presses Ctrl-C once the engine is at work."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press() -> None:
        while not any(thread.name == "deniable engine" for thread in threading.enumerate()):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    yield lambda: threading.Thread(target=press, daemon=True).start()
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_an_interrupt_and_stays_charged(
    interrupt: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = dp.Dataset({"p": [1, 2]}, codebook=BOOK).session(dp.budget(epsilon=1), ledger=tmp_path / "l")
    with monkeypatch.context() as patch:
        patch.setattr(SqlStatement, "text", lambda *_: ENDLESS)
        interrupt()
        with pytest.raises(KeyboardInterrupt, match="interrupted; it stays charged"):
            session.sql(QUESTION, epsilon=0.25, request="r")
    assert session.spent.loss * 4 == 1
    with pytest.raises(Unanswered):
        session.sql(QUESTION, epsilon=0.25, request="r")
    assert session.sql(QUESTION, epsilon=0.5).keys == ()  # type: ignore[union-attr]


def test_the_command_line_says_so_and_ends_with_130(
    interrupt: Any, endless: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("p\n1\n")
    Path("t.yaml").write_text(Codebook.from_record(BOOK).to_yaml())
    monkeypatch.setattr("deniable.engines.duckdb.conform", lambda *_: frozenset())
    words = ["sql", "t.csv", QUESTION, "--codebook", "t.yaml", "--ledger", "l", "--epsilon", "1"]
    interrupt()
    with pytest.raises(SystemExit) as stopped:
        cli.main([*words, "--budget-epsilon", "1"])
    assert stopped.value.code == 130
    assert capsys.readouterr().err.strip() == "deniable: interrupted; what was charged stays charged"


def test_a_statement_over_its_limit_stays_charged_and_retires_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dp.Dataset({"p": [1, 2]}, codebook=BOOK, time_limit=1)
    session = data.session(dp.budget(epsilon=1))
    with monkeypatch.context() as patch:
        patch.setattr(SqlStatement, "text", lambda *_: ENDLESS)
        with pytest.raises(EngineFailed) as failed:
            session.sql(QUESTION, epsilon=0.25)
    assert str(failed.value) == str(EngineFailed())
    assert session.spent.loss * 4 == 1
    with pytest.raises(Retired):
        session.sql("SELECT COUNT(p) AS n FROM t", epsilon=0.25)
    assert data.session(dp.budget(epsilon=1)).sql(QUESTION, epsilon=1).keys == ()  # type: ignore[union-attr]


@pytest.mark.parametrize("limit", [0, 0.5, -1, float("nan"), float("inf"), "1", True, 2_147_484])
def test_a_limit_is_a_public_number_of_seconds(limit: Any) -> None:
    with pytest.raises(InvalidArgument, match="time_limit"):
        dp.Dataset({"p": [1]}, codebook=BOOK, time_limit=limit)


def test_every_engine_of_ours_has_a_limit() -> None:
    engine = connect({"p": [1]}, Codebook.from_record(BOOK), key=KEY)
    assert isinstance(engine, DuckDBEngine)
    assert engine._seconds == 3600


def test_an_order_to_stop_that_comes_too_early_is_given_again() -> None:
    begun, stop = threading.Event(), threading.Event()
    orders = []

    def order() -> None:
        orders.append(begun.is_set())
        if begun.is_set():
            stop.set()
        begun.set()

    def work() -> None:
        begun.wait()
        stop.wait()

    with pytest.raises(EngineFailed):
        stoppable(work, order, seconds=0)
    assert orders == [False, True]


@pytest.mark.parametrize("error", [ValueError("x"), KeyError(1), SystemExit(3)])
def test_what_the_work_raises_is_raised(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        stoppable(work, lambda: None, seconds=60)
