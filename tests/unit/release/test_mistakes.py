"""What newcomers get wrong is answered with one line that helps, and costs nothing; odd cells are told to the curator alone.

The mistakes are in `tests.mistakes`.
"""

from __future__ import annotations

import copy
import csv
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

import deniable as dp
from deniable import cli, misnamed
from deniable.errors import DeniableError
from deniable.query import Query
from tests import mistakes
from tests.mistakes_kit import names

PARSER = {name for name, each in vars(exp).items() if isinstance(each, type) and issubclass(each, exp.Expression)}
PLAIN = {
    "Column",
    "Table",
    "Select",
    "Date",
    "Count",
    "Sum",
    "Mean",
    "Text",
    "Number",
    "Query",
    "Dataset",
    "JSON",
    "In",
    "Not",
    "And",
    "Or",
}


def test_there_are_at_least_a_hundred_and_fourteen():
    parts = (mistakes.CALLS, mistakes.RIGHT, mistakes.SHELL, mistakes.ODD_TEXTS, mistakes.ODD_VALUES)
    assert sum(map(len, parts)) >= 114
    assert len(mistakes.ODD_TEXTS) + len(mistakes.ODD_VALUES) >= 51
    assert len(mistakes.CALLS) >= 63


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return names(tmp_path_factory.mktemp("mistakes"))


def tried(code, known, folder, monkeypatch):
    monkeypatch.chdir(folder)
    return eval(code, {}, known)


@pytest.mark.parametrize("mistake", mistakes.CALLS)
def test_a_mistake_is_answered_with_one_line_that_helps(mistake, known, tmp_path, monkeypatch):
    code, words = mistakes.CALLS[mistake]
    folder = known["text"]("tail,x\n1,2\n", "flights.csv").path.parent
    with pytest.raises((DeniableError, TypeError, AttributeError)) as caught:
        tried(code, known, folder, monkeypatch)
    said = str(caught.value)
    assert [word for word in words if word not in said] == [], said
    assert "\n" not in said
    assert len(said) < 400
    assert not set(re.findall(r"\b[A-Z][a-z]+[A-Za-z]*\b", said)) & (PARSER - PLAIN), "a parser's class name"
    assert "object has no attribute" not in said
    assert "positional argument" not in said


def test_names_of_other_libraries_are_no_attributes(known):
    """They are answered when they are asked for; `hasattr`, completion and notebooks see only what is there."""
    query = known["s"].query("flights")
    for owner in (query, known["s"], known["data"], query.agg(n=dp.count()).price(epsilon=1)):
        for name in ("groupby", "filter", "df", "_repr_mimebundle_", "_ipython_canary_method_should_not_exist_"):
            assert not hasattr(owner, name)
            assert name not in dir(owner)
    assert copy.copy(query) == query


def test_what_is_advised_is_there():
    """Every verb of ours in an advice is a method of the class it is advised for, every aggregate is public."""
    verbs = {word for advice in misnamed._QUERY.values() for word in re.findall(r"(?<![\w.])(\w+)\(", advice)}
    functions = {"dp", "cast", "coalesce", "width_bucket", "date_trunc"}
    for verb in verbs - functions:
        assert hasattr(Query, verb), verb
    for advice in misnamed._QUERY.values():
        for aggregate in re.findall(r"dp\.(\w+)", advice):
            assert aggregate in dp.__all__
    for theirs in (*misnamed._QUERY, *misnamed._SESSION):
        assert theirs not in dir(Query) or theirs in misnamed._VERBS or "(" in theirs, theirs


def test_no_mistake_was_charged(known):
    assert known["s"].history.entries == ()


@pytest.mark.parametrize("what", mistakes.RIGHT)
def test_what_is_no_mistake_is_answered(what, tmp_path, monkeypatch):
    code, wanted = mistakes.RIGHT[what]
    found = tried(code, names(tmp_path), tmp_path, monkeypatch)
    assert float(found) == pytest.approx(float(wanted), rel=0.2)


@pytest.mark.parametrize("mistake", mistakes.SHELL)
def test_a_mistake_in_the_shell_is_one_line_and_an_exit_code(mistake, tmp_path, monkeypatch, capsys):
    words, code, wanted = mistakes.SHELL[mistake]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "b.csv").write_text("a\n1\n")
    (tmp_path / "latin.csv").write_bytes(b"caf\xe9\n1\n")
    unit = "unit: {id: a, groups: 1, rows_per_group: 1}"
    (tmp_path / "ab.yaml").write_text(
        f"name: x\n{unit}\ntables: {{a: {{variables: {{a: integer}}}}, b: {{variables: {{a: integer}}}}}}\n"
    )
    (tmp_path / "a.yaml").write_text(f"name: x\n{unit}\ntable: x\nvariables: {{a: integer}}\n")
    with pytest.raises(SystemExit) as stop:
        cli.main(words.split())
    said = "".join(capsys.readouterr())
    assert (stop.value.code, said.count("\n")) == (code, 1), said
    assert [word for word in wanted if word not in said] == [], said
    assert not (tmp_path / "l").exists()


@pytest.fixture(scope="module")
def odd_texts(tmp_path_factory):
    """All odd texts as one row of one file, a column for each."""
    path = tmp_path_factory.mktemp("odd") / "x.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        names = [*mistakes.ODD_TEXTS]
        csv.writer(file).writerows([["id", *names], ["1", *(mistakes.ODD_TEXTS[name][1] for name in names)]])
    return opened(path, mistakes.ODD_TEXTS)


@pytest.fixture(scope="module")
def odd_values():
    known = {"Decimal": Decimal, "date": date, "datetime": datetime, "UTC": UTC, "pd": pd, "np": np}
    cells = {name: [eval(entry[1], {}, known)] for name, entry in mistakes.ODD_VALUES.items()}
    return opened({"id": [1], **cells}, mistakes.ODD_VALUES)


def opened(source, entries):
    variables = {"id": "integer", **{name: entry[0] for name, entry in entries.items()}}
    unit = {"id": "id", "groups": 1, "rows_per_group": 1}
    data = dp.Dataset(source, codebook={"name": "x", "unit": unit, "table": "x", "variables": variables})
    return data.session(dp.budget(epsilon=10_000)), data.check().findings


def seen(opened, name, kept, words):
    """Whether an odd cell is counted, and what the curator is told of it."""
    session, findings = opened
    assert session.query().agg(n=dp.count(name)).release(epsilon=90).value() == int(kept)
    found = [line for line in findings if line.startswith(f"x: {name}:")]
    assert (len(found), words in "".join(found)) == (1 if words else 0, True), found


@pytest.mark.parametrize("what", mistakes.ODD_TEXTS)
def test_an_odd_text_is_read_or_the_curator_is_told(what, odd_texts):
    _, _, kept, words = mistakes.ODD_TEXTS[what]
    seen(odd_texts, what, kept, words)


@pytest.mark.parametrize("what", mistakes.ODD_VALUES)
def test_an_odd_value_is_read_or_the_curator_is_told(what, odd_values):
    _, _, kept, words = mistakes.ODD_VALUES[what]
    seen(odd_values, what, kept, words)
