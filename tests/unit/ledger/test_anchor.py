"""Anchors: forward only, found again by the ledger's id and by its place, and honest when they cannot be written."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deniable.cost import Bounded
from deniable.errors import LedgerError
from deniable.ledger import Ledger
from deniable.ledger.anchor import FolderAnchor, Mark, Unanchored, state_folder

TENTH = Bounded(epsilon=0.1)


def test_an_anchor_only_moves_forward(tmp_path: Path):
    anchor = FolderAnchor(tmp_path / "anchors")
    assert anchor.last("abc") is None
    for count in (1, 2, 7, 3, 12, 11):
        anchor.advance("abc", Mark(count, f"{count:064x}"))
    assert anchor.last("abc") == Mark(12, f"{12:064x}")
    assert anchor.last("other") is None


def test_many_at_once_end_at_the_furthest_mark(tmp_path: Path):
    anchor = FolderAnchor(tmp_path / "anchors")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda count: anchor.advance("abc", Mark(count, f"{count:064x}")), range(1, 60)))
    assert anchor.last("abc") == Mark(59, f"{59:064x}")


def test_a_place_remembers_who_lives_there(tmp_path: Path):
    anchor = FolderAnchor(tmp_path / "anchors")
    assert anchor.living_at("/data/a") is None
    anchor.settle("abc", "/data/a")
    anchor.settle("abc", "/data/a")
    anchor.settle("xyz", "/data/b")
    assert anchor.living_at("/data/a") == "abc"
    assert anchor.living_at("/data/b") == "xyz"
    anchor.settle("new", "/data/a")
    assert anchor.living_at("/data/a") == "new"


def test_the_default_is_the_users_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ledger: Ledger):
    folder = tmp_path / "state" / "deniable" / "anchors"
    assert state_folder() / "anchors" == folder
    assert [entry.name for entry in (folder / ledger.id).iterdir()] == [f"{1:012}-{ledger.mark.head}"]
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    assert state_folder().is_absolute()
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_folder().name == "deniable"


def test_a_moved_ledger_keeps_its_anchor(ledger: Ledger, path: Path, tmp_path: Path, terms):
    ledger.charge(TENTH)
    path.rename(tmp_path / "moved.ledger")
    moved = Ledger.open(tmp_path / "moved.ledger", terms=terms())
    assert moved.id == ledger.id
    moved.charge(TENTH)


def test_a_copy_cannot_be_used_beside_the_original(ledger: Ledger, path: Path, tmp_path: Path, terms):
    shutil.copy(path, tmp_path / "copy.ledger")
    copied = Ledger.open(tmp_path / "copy.ledger", terms=terms())
    copied.charge(TENTH)
    with pytest.raises(LedgerError, match="a copy of it was used"):
        ledger.charge(TENTH)


def test_a_fresh_ledger_in_the_place_of_a_used_one_is_refused(ledger: Ledger, path: Path, tmp_path: Path, terms):
    ledger.charge(Bounded(epsilon=1))
    Ledger.open(tmp_path / "fresh.ledger", terms=terms())
    (tmp_path / "fresh.ledger").replace(path)
    with pytest.raises(LedgerError, match=f"ledger {ledger.id[:12]} lived at"):
        Ledger.open(path, terms=terms())


def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path, path: Path, terms):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LedgerError, match="set XDG_STATE_HOME, or give anchor=") as refusal:
        Ledger.open(path, terms=terms(), anchor=FolderAnchor(tmp_path / "file" / "anchors"))
    assert "\n" not in str(refusal.value)


def test_a_charge_whose_anchor_cannot_follow_stands_but_is_not_run(ledger: Ledger, tmp_path: Path, path: Path, terms):
    other = Ledger.open(path, terms=terms(), anchor=FolderAnchor(tmp_path / "second"))
    shutil.rmtree(tmp_path / "second" / other.id)
    (tmp_path / "second" / other.id).write_text("in the way")
    ran = []
    with pytest.raises(LedgerError):
        other.answer(TENTH, lambda: ran.append(1) or b"")  # type: ignore[func-returns-value]
    assert ran == []
    del ledger


def test_unanchored_remembers_nothing(tmp_path: Path, terms):
    ledger = Ledger.open(tmp_path / "x.ledger", terms=terms(), anchor=Unanchored())
    ledger.charge(TENTH)
    (tmp_path / "x.ledger").unlink()
    assert Ledger.open(tmp_path / "x.ledger", terms=terms(), anchor=Unanchored()).spent.loss == 0
