"""A fresh clone sets itself up, notices a half-made environment, and needs no network the second time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST"))}
    command = [sys.executable, "dev.py", *words]
    return subprocess.run(command, cwd=folder, env={**kept, **more}, capture_output=True, text=True, check=False)


def test_two_words_set_everything_up(tmp_path):
    clone = tmp_path / "clone"
    left_out = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "*_cache", "tests", ".hypothesis", "site")
    shutil.copytree(ROOT, clone, ignore=left_out)
    (clone / ".venv").mkdir()  # as an interrupted first run leaves it

    first = run(clone, "demo", PYTHONPATH="/nowhere", VIRTUAL_ENV="/nowhere")
    assert first.returncode == 0, first.stderr
    assert "remaking .venv" in first.stdout
    assert "Guarantee" in first.stdout

    second = run(clone, "demo", PIP_NO_INDEX="1", PIP_INDEX_URL="", PIP_FIND_LINKS="", PIP_EXTRA_INDEX_URL="")
    assert second.returncode == 0, second.stderr
    assert "dev.py" not in second.stdout

    wrong = run(clone, "demo", "--no-such-option")
    assert wrong.returncode == 2
