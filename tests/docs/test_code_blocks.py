"""Every Python block on every page runs: the blocks of a page, in order, as one script in an empty folder."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT, blocks, pages

WITH_CODE = [page for page in pages() if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = {"__name__": "__main__"}
    for line, code in blocks(page):
        exec(compile("\n" * line + code, ROOT / page, "exec"), names)


def test_the_readme_has_code():
    assert "README.md" in WITH_CODE


def test_line_numbers_are_those_of_the_page(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("# Title\n\n```python\n1 / 0\n```\n\n- item\n  ```python\n  x = 1\n  ```\n")
    monkeypatch.setattr("tests.docs.pages.ROOT", tmp_path)
    assert blocks("page.md") == [(3, "1 / 0\n"), (8, "x = 1\n")]
