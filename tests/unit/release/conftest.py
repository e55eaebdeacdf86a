"""A fresh state folder for every test, and a ledger of epsilon 1 in a fresh file."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.accounting import budget
from deniable.ledger import Ledger, Terms, fingerprint


@pytest.fixture(autouse=True)
def _state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    terms = Terms(dataset="visits", unit="patient", budget=budget(epsilon=1), codebook=fingerprint("columns: {}"))
    return Ledger.open(tmp_path / "visits.ledger", terms=terms)
