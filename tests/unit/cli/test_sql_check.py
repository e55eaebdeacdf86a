"""`deniable sql check`: refused questions, prices, a limit and a comparison, from the codebook alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

import deniable as dp
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
PUBLIC = """      bed: {type: integer, bounds: [0, 9]}
  wards:
    public: true
    variables:
      name: {type: string}
      beds: {type: integer, bounds: [0, 9]}
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
    assert "1. epsilon = 0.1; n ± 30" in said
    assert "2. epsilon" in said
    assert said.strip().splitlines()[-1].startswith("in all: epsilon = 0.")


def test_a_plan_over_its_limit_is_code_four(folder, capsys):
    assert code("--most", "epsilon=0.15") == 4
    assert "more than the limit, epsilon = 0.15" in capsys.readouterr().out


def test_a_changed_plan_is_code_three_with_the_difference(folder, capsys):
    run("--most", "epsilon=0.5")
    (folder / "before.txt").write_text(capsys.readouterr().out, encoding="utf-8")
    run("--most", "epsilon=0.5", "--against", "before.txt")
    capsys.readouterr()
    (folder / "plan.sql").write_text(PLAN.replace("epsilon: 0.1", "epsilon: 0.2"), encoding="utf-8")
    assert code("--most", "epsilon=0.5", "--against", "before.txt") == 3
    assert "+1. epsilon = 0.2" in capsys.readouterr().out


STAGED = "SELECT count(*) AS n FROM visits WHERE minutes > (SELECT avg(minutes) FROM visits)"


def test_stages_are_priced_together_and_cost_what_a_session_charges(folder, capsys):
    (folder / "plan.sql").write_text(f"-- epsilon: 0.3\n{STAGED};{PLAN}", encoding="utf-8")
    run("--most", "epsilon=0.9")
    said = capsys.readouterr().out
    assert "1. epsilon = 0.3 in 2 stages; avg(minutes) ± " in said
    assert f"; n ± 20; no groups\n   {STAGED}" in said
    assert "in all: epsilon = 0.492957" in said
    assert code("--most", "epsilon=0.25") == 4
    data = dp.Dataset({"patient": [1, 2], "ward": ["A", "A"], "minutes": [3, 4]}, codebook=folder / "visits.yaml")
    session = data.session(dp.budget(epsilon=1))
    session.sql(STAGED, epsilon=Fraction(3, 10))
    assert session.spent.loss == Fraction(3, 10)


def test_a_stage_over_rows_of_a_public_table_is_not_priced_without_them(folder, capsys):
    (folder / "visits.yaml").write_text(BOOK + PUBLIC, encoding="utf-8")
    asked = "SELECT name FROM wards WHERE beds > (SELECT sum(minutes) FROM visits v WHERE v.bed = wards.beds)"
    (folder / "plan.sql").write_text(f"-- epsilon: 0.3\n{asked}", encoding="utf-8")
    assert code("--most", "epsilon=0.9") == 1
    assert "cannot be priced without that table" in capsys.readouterr().err


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
