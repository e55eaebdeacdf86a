"""Ledgers of sessions that name none live in memory for a test: syncing costs nothing there, and what they do is the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


def in_shared_memory(monkeypatch: pytest.MonkeyPatch, otherwise: Path) -> None:
    """Temporary files go to the system's shared memory where there is one."""
    shared = Path("/dev/shm")
    monkeypatch.setattr(tempfile, "tempdir", str(shared) if shared.is_dir() else str(otherwise))


@pytest.fixture
def ledgers_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that open many sessions."""
    in_shared_memory(monkeypatch, tmp_path)
