"""`deniable sql check`: refused questions, prices, a limit and a comparison, from the codebook alone."""

from __future__ import annotations

import pytest

from deniable.cli import main

BOOK = """
name: visits
unit: {id: patient, groups: 1, rows_per_group: 1}
tables:
  visits:
    variables:
      patient: {type: integer}
      ward: {type: string, categories: [A, "B;C"]}
      minutes: {type: number, bounds: [0, 60], step: 1}
"""
PLAN = """
-- epsilon: 0.1
SELECT ward, count(*) AS n FROM visits WHERE ward = 'B;C' GROUP BY ward; -- a remark; with a semicolon
-- accuracy: m=2
SELECT avg(minutes) AS m FROM visits;
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "visits.yaml").write_text(BOOK, encoding="utf-8")
    (tmp_path / "plan.sql").write_text(PLAN, encoding="utf-8")
    return tmp_path


def run(*more):
    main(["sql", "check", "plan.sql", "--codebook", "visits.yaml", *more])


def code(*more):
    with pytest.raises(SystemExit) as stopped:
        run(*more)
    return stopped.value.code


def test_a_plan_within_its_limit(folder, capsys):
    run("--most", "epsilon=0.5")
    said = capsys.readouterr().out
    assert "1. epsilon 0.1; n ± 30" in said
    assert "2. epsilon" in said
    assert said.strip().splitlines()[-1].startswith("in all: epsilon 0.")


def test_a_plan_over_its_limit_is_code_four(folder, capsys):
    assert code("--most", "epsilon=0.15") == 4
    assert "more than the limit, epsilon 0.15" in capsys.readouterr().out


def test_a_changed_plan_is_code_three_with_the_difference(folder, capsys):
    run("--most", "epsilon=0.5")
    (folder / "before.txt").write_text(capsys.readouterr().out, encoding="utf-8")
    run("--most", "epsilon=0.5", "--against", "before.txt")
    capsys.readouterr()
    (folder / "plan.sql").write_text(PLAN.replace("epsilon: 0.1", "epsilon: 0.2"), encoding="utf-8")
    assert code("--most", "epsilon=0.5", "--against", "before.txt") == 3
    assert "+1. epsilon 0.2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("plan", "most", "words"),
    [
        ("SELECT count(*) FROM visits", "epsilon=1", "say what"),
        ("-- epsilon: x\nSELECT count(*) FROM visits", "epsilon=1", "expected a number"),
        ("-- epsilon: 0\nSELECT count(*) FROM visits", "epsilon=1", "epsilon"),
        ("-- epsilon: 1\nSELECT patient FROM visits", "epsilon=1", "single rows are private"),
        ("-- epsilon: 1\n;", "epsilon=1", "holds no question"),
        (PLAN, "people=1", "--most is written"),
        (PLAN, "epsilon", "name=number"),
    ],
)
def test_what_is_wrong_is_said(folder, capsys, plan, most, words):
    (folder / "plan.sql").write_text(plan, encoding="utf-8")
    assert code("--most", most) == 1
    assert words in capsys.readouterr().err


def test_no_file_is_said(folder, capsys):
    (folder / "plan.sql").unlink()
    assert code("--most", "epsilon=1") == 1
    assert "no questions can be read" in capsys.readouterr().err
