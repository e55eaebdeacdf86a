"""A newcomer's mistakes: each gets one line that says what to do, from Python and from a shell, and costs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deniable as dp
from deniable.cli import main
from deniable.cli.demo_data import VISITS_CODEBOOK, visits
from deniable.engines.parquet import write_arrays
from deniable.errors import DeniableError, EngineFailed
from deniable.release.session import Session
from tests.servers import POSTGRES

CLINICS = """  clinics:
    variables:
      clinic: {type: integer}
      patient_id: {type: integer}
"""
UNBOUNDED = VISITS_CODEBOOK.replace("bounds: [0, 240], step: 0.25, ", "step: 0.25, ")
NO_NUMBER = VISITS_CODEBOOK.replace("[0, 240]", "[.nan, 240]")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    write_arrays(visits(patients=60), tmp_path / "visits.parquet")
    for name, text in {"visits": VISITS_CODEBOOK, "unbounded": UNBOUNDED, "nan": NO_NUMBER}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def session(codebook: str = "visits.yaml") -> Session:
    return dp.Dataset("visits.parquet", codebook=codebook).session(dp.budget(epsilon=1))


def two_tables() -> Session:
    book = dp.Codebook.from_yaml(VISITS_CODEBOOK + CLINICS)
    tables = {"visits": "visits.parquet", "clinics": {"clinic": [1], "patient_id": [1]}}
    return dp.Dataset(tables, codebook=book).session(dp.budget(epsilon=1))


def _not_along_a_link() -> Any:
    asked = two_tables()
    clinics = asked.query("clinics").select(clinic="clinic")
    return asked.query("visits").join(clinics, on={"age": "clinic"}).agg(n=dp.count()).price(epsilon=1)


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "no codebook": (lambda: dp.Dataset("visits.parquet"), "`deniable codebook init` drafts one"),
    "a missing codebook": (
        lambda: dp.Dataset("visits.parquet", codebook="nope.yaml"),
        "`deniable codebook init` drafts one",
    ),
    "a missing file": (lambda: dp.Dataset("nope.parquet", codebook="visits.yaml"), "give a Parquet or CSV file"),
    "an unknown column": (
        lambda: session().query().agg(m=dp.mean("durration")).price(epsilon=1),
        "columns here: patient_id, specialty, day, age, duration",
    ),
    "an unknown key": (lambda: session().query().group_by("speciality"), "columns here: patient_id, specialty"),
    "over budget": (lambda: session().query().agg(n=dp.count()).release(epsilon=5), "ask for less or stop here"),
    "a negative epsilon": (
        lambda: session().query().agg(n=dp.count()).release(epsilon=-1),
        "epsilon must be positive, got -1",
    ),
    "a negative budget": (lambda: dp.budget(epsilon=-1), "epsilon must not be negative, got -1"),
    "bounds that are no numbers": (
        lambda: session("nan.yaml"),
        "nan.yaml, line 14: .*must be a finite number, got nan",
    ),
    "an unbounded column": (
        lambda: session("unbounded.yaml").query().agg(m=dp.mean("duration")).price(epsilon=1),
        "declare lower and upper in the codebook, or write clamp",
    ),
    "a join not along a link": (_not_along_a_link, "link"),
    "the same in SQL": (
        lambda: two_tables().sql("SELECT COUNT(*) FROM visits JOIN clinics ON visits.age = clinics.clinic", epsilon=1),
        "link",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_line_from_python(mistake: str) -> None:
    make, says = MISTAKES[mistake]
    with pytest.raises(DeniableError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str, int]:
    code: Any = 0
    try:
        main(words)
    except SystemExit as stop:
        code = stop.code or 0
    out, err = capsys.readouterr()
    return out, err, code


ASK = ["--ledger", "l", "--budget-epsilon", "1", "--agg", "n=count()"]
SHELL: dict[str, tuple[list[str], int, str]] = {
    "no codebook": (["query", "visits.parquet", *ASK, "--epsilon", "1"], 2, "Missing option '--codebook'"),
    "a missing codebook": (
        ["query", "visits.parquet", "--codebook", "no.yaml", *ASK, "--epsilon", "1"], 1, "codebook init",
    ),
    "a missing file": (["query", "no.parquet", "--codebook", "visits.yaml", *ASK, "--epsilon", "1"], 1, "no file"),
    "an unknown column": (
        ["query", "visits.parquet", "--codebook", "visits.yaml", *ASK, "--where", "x > 1", "--epsilon", "1"], 1, "columns here",
    ),
    "over budget": (["query", "visits.parquet", "--codebook", "visits.yaml", *ASK, "--epsilon", "5"], 4, "ask for less"),
    "a negative epsilon": (
        ["query", "visits.parquet", "--codebook", "visits.yaml", *ASK, "--epsilon", "-1"], 1, "must be positive",
    ),
    "an epsilon that is no number": (
        ["price", "visits.parquet", "--codebook", "visits.yaml", *ASK, "--epsilon", "one"], 2, "--epsilon",
    ),
    "bounds that are no numbers": (
        ["query", "visits.parquet", "--codebook", "nan.yaml", *ASK, "--epsilon", "1"], 1, "line 14",
    ),
    "an unbounded column": (
        ["query", "visits.parquet", "--codebook", "unbounded.yaml", *ASK, "--agg", "m=mean(duration)", "--epsilon", "1"],
        1, "clamp(",
    ),
    "a join in SQL": (
        ["sql", "visits.parquet", "SELECT COUNT(*) FROM visits JOIN clinics ON age = clinic", "--codebook", "visits.yaml",
         "--ledger", "l", "--budget-epsilon", "1", "--epsilon", "1"], 1, "clinics",
    ),
    "an unknown word": (["budget", "l", "--colour"], 2, "--colour"),
    "no ledger": (["budget", "nowhere.ledger"], 1, "holds no ledger"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", SHELL)
def test_one_line_and_an_exit_code_from_a_shell(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, wanted, says = SHELL[mistake]
    out, err, code = run(capsys, *words)
    assert (code, out) == (wanted, "")
    assert says in err
    assert err.startswith("deniable: ")
    assert err.count("\n") == 1


def test_charged_and_not_answered_has_an_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise EngineFailed

    monkeypatch.setattr("deniable.engines.duckdb.DuckDBEngine.run", broken)
    out, err, code = run(capsys, "query", "visits.parquet", "--codebook", "visits.yaml", *ASK, "--epsilon", "1")
    assert (code, out, err.count("\n")) == (5, "", 1)
    assert "stays charged" in err


def test_json_everywhere(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """Every command prints JSON and nothing else with --json."""
    asked = ["visits.parquet", "--codebook", "visits.yaml", *ASK]
    paid = ["--codebook", "visits.yaml", "--ledger", "l", "--epsilon", "0.1"]
    (place / "meta.yaml").write_text('"":\n  P:\n    P:\n      pid: {private_id: True, type: int}\n')
    _, _, code = run(capsys, "query", *asked, "--epsilon", "0.1")
    assert code == 0
    (row,) = json.loads(run(capsys, "release", "show", "l", "--json")[0])
    request = row["request"]
    commands = [
        ["price", *asked, "--epsilon", "0.1"],
        ["query", *asked, "--epsilon", "0.1"],
        ["sql", "visits.parquet", "SELECT COUNT(*) AS n FROM visits", *paid],
        ["sql", "visits.parquet", "EXPLAIN DP SELECT COUNT(*) AS n FROM visits", *paid],
        ["budget", "l"],
        ["codebook", "init", "visits.parquet"],
        ["codebook", "check", "visits.yaml"],
        ["codebook", "datasheet", "visits.yaml"],
        ["codebook", "import", "meta.yaml"],
        ["release", "show", "l", request],
        ["release", "table", "l", request],
        ["release", "export", "l", request],
        ["ledger", "verify", "l"],
        ["ledger", "export", "l"],
        ["ledger", "backup", "l", "copy"],
        ["ledger", "copies"],
    ]  # fmt: skip
    for words in commands:
        out, err, code = run(capsys, *words, "--json")
        assert (code, err) == (0, ""), words
        json.loads(out)


@pytest.mark.parametrize("words", [["--help"], ["query", "--help"], ["budget", "nowhere"]])
def test_no_colours_where_there_is_no_terminal(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "deniable", *words], capture_output=True, check=False)
    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("place_of_ledger", [pytest.param("PostgreSQL", marks=POSTGRES)])
def test_a_ledger_in_postgresql_from_a_shell(
    place_of_ledger: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    server = request.getfixturevalue("postgres")
    url = server.url(ledger=server.fresh("ledger"))
    asked = ["visits.parquet", "--codebook", "visits.yaml", "--agg", "n=count()", "--epsilon", "0.25"]
    _, err, code = run(capsys, "query", *asked, "--ledger", url)
    assert (code, "--budget-epsilon" in err) == (1, True)
    out, _, code = run(capsys, "query", *asked, "--ledger", url, "--budget-epsilon", "1", "--json")
    assert code == 0
    out, _, code = run(capsys, "budget", url, "--json")
    assert json.loads(out)[0]["spent"]["loss"] == "1/4"
    (row,) = json.loads(run(capsys, "release", "show", url, "--json")[0])
    assert run(capsys, "release", "table", url, row["request"])[2] == 0


def test_a_delta_for_a_ledger_that_has_a_budget_is_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["query", "visits.parquet", "--codebook", "visits.yaml", "--ledger", "l", "--agg", "n=count()"]
    assert run(capsys, *asked, "--budget-epsilon", "1", "--epsilon", "0.25")[2] == 0
    _, err, code = run(capsys, *asked, "--epsilon", "0.25", "--budget-delta", "1e-6", "--by", "age")
    assert code == 1
    assert (
        "has a budget already, epsilon = 1; a curator changes it: deniable ledger amend l --budget-delta 1e-06" in err
    )
    _, err, _ = run(capsys, "ledger", "amend", "l", "--budget-delta", "1e-6", "--reason", "keys")
    assert err == ""
    assert run(capsys, *asked, "--epsilon", "0.25", "--by", "age")[2] == 0


def test_every_row_is_counted_as_sql_writes_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["price", "visits.parquet", "--codebook", "visits.yaml", "--ledger", "l", "--budget-epsilon", "1"]
    plain, starred = (run(capsys, *asked, "--epsilon", "1", "--agg", word) for word in ("n=count()", "n=count(*)"))
    assert plain == starred
    assert plain[2] == 0


def test_a_draft_leaves_out_the_column_without_a_name(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "rows.csv").write_text(",person,wage\n0,7,100\n")  # what pandas writes without index=False
    out, _, code = run(capsys, "codebook", "init", "rows.csv")
    assert code == 0
    assert '""' not in out
    assert "unit: rows" in out
    filled = out.replace("id: ???", "id: person").replace("groups: ???", "groups: 1")
    (place / "rows.yaml").write_text(filled.replace("rows_per_group: ???", "rows_per_group: 1"))
    assert run(capsys, "codebook", "check", "rows.yaml")[2] == 0
    assert run(capsys, "data", "check", "rows.csv", "--codebook", "rows.yaml")[2] == 0
