"""Public facts are looked at before a charge: data that is closed, gone or replaced costs nothing; stored answers stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import deniable as dp
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook

BOOK = {"unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "t", "variables": {"p": "integer"}}
FIRST, SECOND = "SELECT COUNT(*) AS n FROM t", "SELECT COUNT(p) AS n FROM t"


def _parquet(path: Path, rows: int) -> Path:
    duckdb.execute(f"COPY (SELECT range AS p FROM range({rows})) TO '{path}' (FORMAT parquet)")
    return path


def _spoilt(data: dp.Dataset, spoil: Any, says: str) -> None:
    """One answer; then the data is spoilt: it is shown again, and a new question is refused at no cost."""
    session = data.session(dp.budget(epsilon=1))
    first = session.sql(FIRST, epsilon=0.25)
    spoil()
    spent = session.spent
    for _ in range(2):
        with pytest.raises(InvalidArgument, match=f"{says}; nothing was spent"):
            session.sql(SECOND, epsilon=0.25)
    assert session.spent == spent
    assert str(session.sql(FIRST, epsilon=0.25)) == str(first)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "t.parquet", 9)
    _spoilt(dp.Dataset(path, codebook=BOOK), path.unlink, "the file t.parquet is gone")


def test_a_file_that_was_replaced(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "t.parquet", 9)
    data = dp.Dataset(path, codebook=BOOK)
    _spoilt(
        data,
        lambda: _parquet(tmp_path / "new", 99).replace(path),
        "the file t.parquet was replaced after it was opened",
    )


def test_a_file_that_was_written_over(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "t.parquet", 9)
    data = dp.Dataset(path, codebook=BOOK)
    _spoilt(
        data, lambda: path.write_bytes(path.read_bytes() + b" "), "the file t.parquet was replaced after it was opened"
    )


def test_a_data_set_that_is_closed(tmp_path: Path) -> None:
    book = Codebook.from_record(BOOK)
    for source in (
        {"p": [1]},
        _parquet(tmp_path / "t.parquet", 9),
        ReferenceEngine({"t": {"p": [1]}}, book, key=bytes(32)),
    ):
        data = dp.Dataset(source, codebook=book)
        _spoilt(data, data.close, "the data set is closed")


def test_a_text_file_may_go(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("p\n1\n2\n")
    session = dp.Dataset(path, codebook=BOOK).session(dp.budget(epsilon=1))
    path.unlink()
    session.sql(FIRST, epsilon=1)
    assert session.spent.loss == 1
