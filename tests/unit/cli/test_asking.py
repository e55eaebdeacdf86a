"""The shell's way to the main job: codebook, price, query, budget; JSON everywhere, exit codes that mean something."""

import json
from fractions import Fraction

import pytest

from deniable.cli import asking, main
from deniable.cli.demo_data import VISITS_CODEBOOK, visits
from deniable.engines.parquet import write_arrays
from deniable.errors import InvalidArgument

SMARTNOISE = """
"":
  PUMS:
    PUMS:
      max_ids: 3
      pid: {private_id: True, type: int}
      age: {type: int, lower: 0, upper: 100}
      income: {type: float, lower: 0, upper: 500000}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    write_arrays(visits(patients=300), tmp_path / "visits.parquet")
    (tmp_path / "visits.yaml").write_text(VISITS_CODEBOOK)
    return tmp_path


def run(capsys, *words):
    """What a command prints, its errors, and its exit code."""
    code = 0
    try:
        main(words)
    except SystemExit as stop:
        code = stop.code or 0
    out, err = capsys.readouterr()
    return out, err, code


ASK = ["visits.parquet", "--codebook", "visits.yaml", "--ledger", "v.ledger", "--budget-epsilon", "2"]
QUESTION = ["--where", "duration > 0", "--by", "specialty", "--agg", "n=count()", "--agg", "avg=mean(duration)"]


def test_a_price_is_free_and_a_query_is_charged_once(capsys, place):
    out, _, code = run(capsys, "price", *ASK, *QUESTION, "--epsilon", "0.5", "--json")
    assert code == 0
    assert json.loads(out)["epsilon"] == 0.5
    for _ in range(2):
        out, _, code = run(capsys, "query", *ASK, *QUESTION, "--epsilon", "0.5", "--json")
        assert code == 0
    answer = json.loads(out)
    assert [column["name"] for column in answer["release"]["columns"]] == ["n", "avg"]
    out, _, code = run(capsys, "budget", "v.ledger", "--json")
    (cap,) = json.loads(out)
    assert cap["spent"]["loss"] == "1/2"
    out, _, code = run(capsys, "budget", "v.ledger")
    assert "0.5" in out


def test_text_answers_show_error_receipt_and_what_is_left(capsys, place):
    out, _, code = run(capsys, "query", *ASK, *QUESTION, "--epsilon", "1")
    assert code == 0
    for said in ("±", "Guarantee: epsilon = 1", "receipt", "left: epsilon = 1"):
        assert said in out


def test_over_budget_has_an_exit_code_of_its_own(capsys, place):
    out, err, code = run(capsys, "query", *ASK, "--agg", "n=count()", "--epsilon", "5")
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert "nothing was spent, ask for less" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--agg", "n=count()", "--epsilon", "-1"], "positive"),
        (["--agg", "n=count()"], "say what it may cost: --epsilon"),
        (["--agg", "count", "--epsilon", "1"], "name=function(column)"),
        (["--agg", "n=nope(x)", "--epsilon", "1"], "not an aggregate"),
        (["--agg", "n=mean(nope)", "--epsilon", "1"], "unknown-column"),
        (["--agg", "q=quantile(duration)", "--epsilon", "1"], "column and a number"),
        (["--agg", "n=count()", "--accuracy", "n", "--epsilon", "1"], "name=number"),
    ],
)
def test_bad_words_get_one_line_and_exit_code_one(capsys, place, words, says):
    out, err, code = run(capsys, "query", *ASK, *words)
    assert code == 1
    assert says in err
    assert err.count("\n") == 1
    assert out == ""


def test_a_new_ledger_needs_its_budget_and_a_missing_codebook_is_said(capsys, place):
    bare = ["visits.parquet", "--codebook", "visits.yaml", "--ledger", "new.ledger"]
    _, err, code = run(capsys, "query", *bare, "--agg", "n=count()", "--epsilon", "1")
    assert (code, "--budget-epsilon" in err) == (1, True)
    _, err, code = run(
        capsys,
        "query",
        "visits.parquet",
        "--codebook",
        "no.yaml",
        "--ledger",
        "l",
        "--agg",
        "n=count()",
        "--epsilon",
        "1",
    )
    assert (code, "codebook init" in err) == (1, True)


def test_quantiles_top_k_and_wanted_accuracy(capsys, place):
    words = ["--by", "specialty", "--agg", "n=count()", "--accuracy", "n=60", "--json"]
    out, _, code = run(capsys, "price", *ASK, *words)
    assert code == 0
    assert json.loads(out)["errors"]["n"]["within"] <= 60
    words = ["--agg", "p=quantile(duration, 0.9)", "--agg", "t=top_k(specialty, 2)", "--epsilon", "1", "--json"]
    out, _, code = run(capsys, "query", *ASK, *words)
    columns = {column["name"]: column["values"] for column in json.loads(out)["release"]["columns"]}
    assert len(columns["t"][0]) == 2


def test_codebook_drafts_from_names_alone(capsys, place):
    (place / "new.csv").write_text('who,"a b",city\n1,secret,Lyon\n')
    out, _, code = run(capsys, "codebook", "init", "new.csv")
    assert code == 0
    assert '"a b": {type: string}' in out
    assert "secret" not in out
    assert "Lyon" not in out
    (place / "draft.yaml").write_text(out)
    _, err, code = run(capsys, "codebook", "check", "draft.yaml")
    assert code == 1
    assert "line 8: unit.id: it is still ???; write the column that names the person" in err
    filled = out.replace("id: ???", "id: who").replace(": ???", ": 1")
    (place / "filled.yaml").write_text(filled)
    out, _, code = run(capsys, "codebook", "check", "filled.yaml")
    assert (code, "unit: one who" in out) == (0, True)
    out, _, code = run(capsys, "codebook", "init", "visits.parquet")
    assert 'patient_id: {type: integer, bounds: "???"}' in out
    assert run(capsys, "codebook", "init", "visits*.parquet")[0] == out
    (place / "people.csv").write_text("who;sex\n1;f\n")
    both, _, code = run(capsys, "codebook", "init", "new.csv,persons=people.csv")
    assert (code, "name: new" in both, "persons:\n    variables:\n      who: {type: string}" in both) == (0, True, True)
    (place / "both.yaml").write_text(both.replace("id: ???", "id: who").replace(": ???", ": 1"))
    assert "persons" in run(capsys, "codebook", "check", "both.yaml")[0]
    assert "there is no file 'gone.csv'" in run(capsys, "codebook", "init", "new.csv,gone.csv")[1]
    assert run(capsys, "codebook", "init", ",")[2] == 1
    out, _, _ = run(capsys, "codebook", "check", "visits.yaml")
    assert "unit: one patient_id, in at most 4 groups, 5 rows in each" in out
    assert "unbounded" not in out


def test_a_datasheet_is_a_page_for_readers(capsys, place):
    out, _, code = run(capsys, "codebook", "datasheet", "visits.yaml")
    assert code == 0
    assert "Protected unit: one patient\\_id, in at most 4 groups, 5 rows in each" in out
    assert "the longest bookable slot in minutes" in out
    (place / "odd.yaml").write_text(VISITS_CODEBOOK.replace("made-up hospital visits", '"<b>x</b> | y"'))
    out, _, code = run(capsys, "codebook", "datasheet", "odd.yaml")
    assert "<b>" not in out


def test_codebook_check_says_the_line(capsys, place):
    (place / "bad.yaml").write_text("format: 1\ntables:\n  t:\n    variables:\n      x: {type: integr}\n")
    _, err, code = run(capsys, "codebook", "check", "bad.yaml")
    assert code == 1
    assert "5" in err


def test_smartnoise_metadata_is_imported(capsys, place):
    (place / "meta.yaml").write_text(SMARTNOISE)
    out, _, code = run(capsys, "codebook", "import", "meta.yaml", "--output", "imported.yaml")
    assert code == 0
    out, _, code = run(capsys, "codebook", "check", "imported.yaml", "--json")
    record = json.loads(out)
    assert record["unit"] == {"id": "pid", "groups": 3, "rows_per_group": 3}
    assert record["tables"]["PUMS"]["variables"]["age"]["bounds"] == [0, 100]
    _, err, code = run(capsys, "codebook", "import", "visits.yaml")
    assert code == 1
    assert err.count("\n") == 1


def test_every_word_of_payment_reaches_the_ledger(capsys, place):
    """`--rho` is charged as rho, `--budget-delta` and `--budget-rho` are the budget that the ledger keeps."""
    where = ["visits.parquet", "--codebook", "visits.yaml"]
    budget = ["--ledger", "rho.ledger", "--budget-rho", "0.5", "--budget-delta", "1e-6"]
    _, _, code = run(capsys, "query", *where, *budget, "--agg", "n=count()", "--rho", "0.01")
    assert code == 0
    out, _, _ = run(capsys, "budget", "rho.ledger", "--json")
    (cap,) = json.loads(out)
    assert (cap["limit"]["loss"], cap["limit"]["delta"]) == ("1/2", "1/1000000")
    assert Fraction(99, 10**4) < Fraction(cap["spent"]["loss"]) <= Fraction(1, 100), "a scale is rounded up a little"
    budget = ["--ledger", "epsilon.ledger", "--budget-epsilon", "2", "--budget-delta", "1e-5"]
    for words in (["query", *where], ["price", *where]):
        _, _, code = run(capsys, *words, *budget, "--agg", "n=count()", "--epsilon", "0.25")
        assert code == 0
    out, _, _ = run(capsys, "budget", "epsilon.ledger", "--json")
    (cap,) = json.loads(out)
    assert (cap["unit"], cap["spent"]["loss"], cap["limit"]["loss"]) == ("epsilon", "1/4", "2")
    assert 0 < Fraction(cap["left"]["delta"]) < Fraction(1, 10**5), "what is kept for thresholds"
    _, _, code = run(
        capsys, "sql", where[0], "SELECT COUNT(*) AS n FROM visits", *where[1:], *budget, "--epsilon", "0.5"
    )
    assert code == 0
    out, _, _ = run(capsys, "budget", "epsilon.ledger", "--json")
    assert json.loads(out)[0]["spent"]["loss"] == "3/4"


def test_a_wanted_error_may_be_a_share_and_a_missing_price_is_asked_for_in_the_words_of_the_shell():
    assert asking.wanted_or_shares(["n=5%", "avg = 2.5"]) == {"n": "5%", "avg": 2.5}
    with pytest.raises(InvalidArgument, match=r"got \['n=five'\]"):
        asking.wanted_or_shares(["m=5%", "n=five"])
    with pytest.raises(InvalidArgument, match=r"--epsilon 0\.1 or --rho"):
        asking.payment(None, None, None, 0.95, 1000)
    assert asking.payment(0.5, None, None, 0.95, 1000)["epsilon"] == 0.5
