"""A missing engine is a skip on a laptop and a failure in CI."""

from __future__ import annotations

import sys

import pytest
from _pytest.outcomes import Failed, Skipped

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
