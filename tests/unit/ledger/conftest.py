"""A fresh state folder for every test, and a ledger of epsilon 1 in a fresh file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deniable.accounting import budget
from deniable.ledger import Ledger, Terms, fingerprint
from tests.servers import POSTGRES


@pytest.fixture(autouse=True)
def _state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def terms() -> Callable[..., Terms]:
    def make(**changes: object) -> Terms:
        stated = {
            "dataset": "visits",
            "unit": "patient",
            "budget": budget(epsilon=1),
            "codebook": fingerprint("columns: {}"),
        }
        return Terms(**{**stated, **changes})

    return make


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


@pytest.fixture(params=["file", pytest.param("PostgreSQL", marks=POSTGRES)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where a ledger can live; a module whose `path` is this asks everything of each."""
    if request.param == "file":
        return tmp_path / "visits.ledger"
    server = request.getfixturevalue("postgres")
    return str(server.url(ledger=server.fresh("ledger")))


@pytest.fixture
def ledger(path: Path, terms: Callable[..., Terms]) -> Ledger:
    return Ledger.open(path, terms=terms())
