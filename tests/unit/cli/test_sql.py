"""`deniable sql`: the same answers, explanations and refusals from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.cli import main

_BOOK = """
unit: {id: person, groups: 2, rows_per_group: 2}
table: visits
variables:
  person: integer
  kind: {type: string, categories: [a, b]}
  minutes: {type: integer, bounds: [0, 60]}
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    lines = [f"{i // 2},{'ab'[i % 2]},{i % 61}" for i in range(200)]
    (tmp_path / "visits.csv").write_text("person,kind,minutes\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "visits.yaml").write_text(_BOOK, encoding="utf-8")
    options = ["--codebook", str(tmp_path / "visits.yaml"), "--ledger", str(tmp_path / "visits.ledger")]
    return [str(tmp_path / "visits.csv"), *options, "--budget-epsilon", "2"]


def _said(capsys: pytest.CaptureFixture[str], words: list[str], text: str, *more: str) -> str:
    try:
        main(["sql", words[0], text, *words[1:], *more])
    except SystemExit as left:
        if left.code:
            raise
    return capsys.readouterr().out


def test_a_query_is_answered_and_charged_and_another_view_is_free(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    query = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind"
    first = _said(capsys, words, query, "--epsilon", "0.5")
    again = _said(capsys, words, f"{query} ORDER BY n DESC LIMIT 1", "--epsilon", "0.5")
    assert "Guarantee: epsilon = 0.5" in first
    assert "left: epsilon = 1.5" in first
    assert "left: epsilon = 1.5" in again


def test_explain_spends_nothing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "protects  one person" in _said(capsys, words, "EXPLAIN DP SELECT AVG(minutes) FROM visits")


def test_a_refusal_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["sql", words[0], "SELECT * FROM visits", *words[1:], "--epsilon", "0.5"])
    assert left.value.code == 1
    assert capsys.readouterr().err.startswith("deniable: rows at line 1")
