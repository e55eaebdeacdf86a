"""Which files a data set is made of: those its engine took, never what a cell says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import deniable as dp
from deniable.release.registry import Registry

BOOK = {
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "table": "t",
    "variables": {"p": "integer", "s": "string"},
}
CELLS = ["SECRET " * 100, "/" * 5000, "\0", "", "~", "..", "\ud800", "nul", "x" * 256]


def _files(source: Any) -> list[str]:
    data = dp.Dataset(source, codebook=BOOK)
    found = [path.name for path in data._files]
    data.close()
    return found


@pytest.mark.parametrize("cell", CELLS, ids=range(len(CELLS)))
def test_a_cell_is_no_file_name(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    stat = os.stat
    monkeypatch.setattr(os, "stat", lambda path, *a, **k: (looked.append(path), stat(path, *a, **k))[1])
    for columns in ({"p": [1, 2], "s": ["short", cell]}, {"p": [1], "s": (cell,)}, {"t": {"p": [1], "s": [cell]}}):
        assert _files(columns) == []
    assert not [path for path in looked if os.fspath(path) == cell]


def test_a_cell_that_names_a_file_does_not_make_it_part_of_the_data(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not data")
    data = dp.Dataset({"p": [1], "s": [str(secret)]}, codebook=BOOK, name="t")
    for place in ("a", "b"):  # one file under two ledgers would be noted
        data.session(dp.budget(epsilon=1), ledger=tmp_path / f"{place}.ledger")
    assert Registry().copies() == ()
    assert data._files == ()


def test_files_are_those_the_curator_named(tmp_path: Path) -> None:
    text = tmp_path / "t.csv"
    text.write_text("p,s\n1,a\n")
    assert _files(text) == _files(str(text)) == _files({"t": [text]}) == _files(dp.TextFile(text)) == ["t.csv"]
