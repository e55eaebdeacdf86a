"""The landing page: its picture is what its block draws, and the navigation is by reader, with every page in it once."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import ROOT, blocks

READERS = ["Start here", "Tables and SQL", "Calculus and accounting", "Operating", "Theory", "Project"]


def texts(svg: str) -> list[str]:
    """The words of a drawing; numbers are noisy."""
    return [text for text in re.findall(r">([^<>]+)</text>", svg) if re.search("[a-z]", text)]


def test_the_picture_on_the_landing_page_is_what_its_block_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for _, code in blocks("docs/index.md"):
            exec(code, names)
    drawn = texts(names["picture"].svg)  # type: ignore[attr-defined]
    assert drawn == texts((ROOT / "docs/first-answer.svg").read_text(encoding="utf-8"))
    assert {"north", "south", "west"} <= set(drawn)


def navigation() -> list[dict[str, list[object]]]:
    found = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert isinstance(found, list)
    return found


def test_the_navigation_is_by_reader_and_the_first_tour_comes_first() -> None:
    heads = [head for part in navigation() for head in part]
    assert [head for head in heads if head in READERS] == READERS
    assert [next(iter(entry.values())) for entry in navigation()[0]["Start here"][:2]] == ["index.md", "students.md"]


def test_every_page_at_the_top_of_the_folder_is_in_the_navigation_once() -> None:
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("nav:")[1])
    top = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert sorted(set(listed)) == sorted(listed)
    assert top <= set(listed)
