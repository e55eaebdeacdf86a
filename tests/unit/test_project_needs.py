"""A missing engine is a skip on a laptop and a failure in CI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

import pytest
from _pytest.outcomes import Failed, Skipped

from dev import ROOT
from tests.needs import require, require_module


@pytest.mark.parametrize(("ci", "outcome"), [("true", Failed), ("", Skipped)])
def test_a_missing_tool_fails_only_in_ci(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no-such-tool is missing"):
        require("no-such-tool")
    with pytest.raises(outcome, match="no_such_package is missing"):
        require_module("no_such_package")


def test_what_is_there_is_found(monkeypatch, tmp_path):
    tool = tmp_path / "bin" / "some-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert require("some-tool") == tool
    assert require_module("sys") is sys


def test_nothing_is_imported_at_the_top_that_one_system_lacks():
    """Else no test can start there, however many of them it could run."""
    top = re.compile(r"^(?:import|from) (?:fcntl|grp|pwd|resource|termios|msvcrt|winreg)\b", re.MULTILINE)
    files = [ROOT / "dev.py", *(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    assert [path.name for path in files if top.search(path.read_text(encoding="utf-8"))] == []
    assert top.search("import os\nimport pwd\n")


def test_every_mark_is_known_without_its_plug_in():
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert {each.partition(":")[0] for each in known["markers"]} == {"slow", "xdist_group"}


GROUPED = """
import os, pathlib, pytest

@pytest.mark.xdist_group("server")
@pytest.mark.parametrize("number", range(8))
def test_one(number):
    pathlib.Path(f"{number}.worker").write_text(os.environ["PYTEST_XDIST_WORKER"])
"""


@pytest.mark.slow
def test_tests_of_one_server_share_one_worker(tmp_path):
    """Else every worker starts every server: the pinned pytest and pytest-xdist must agree on how tests are grouped."""
    (tmp_path / "test_grouped.py").write_text(GROUPED)
    words = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "-c", os.devnull]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    subprocess.run(
        [sys.executable, *words, "test_grouped.py"], cwd=tmp_path, env=clean, check=True, capture_output=True
    )
    workers = [path.read_text() for path in tmp_path.glob("*.worker")]
    assert len(workers) == 8
    assert len(set(workers)) == 1
