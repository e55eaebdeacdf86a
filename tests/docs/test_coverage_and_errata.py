"""`docs/coverage.md`, `docs/errata.md` and `docs/defects.md` tell the truth: every id is there, every name and test exists."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re

import pytest

import deniable as dp
from tests.docs.pages import ROOT, is_a_test, quoted, resolved, rows

SECTIONS = {"C": 8, "M": 13, "A": 11, "T": 9, "L": 9, "S": 7, "K": 9, "D": 8, "X": 24}
CAPABILITIES = [f"{letter}{number:02}" for letter, count in SECTIONS.items() for number in range(1, count + 1)]
ERRATA = [f"E{number}" for number in range(1, 35)]
COVERAGE_ROWS = rows("docs/coverage.md")
ERRATA_ROWS = rows("docs/errata.md")
DEFECTS_ROWS = [row for row in rows("docs/defects.md") if row[0] != "defect"]


def reached(name: str) -> object:
    """What a public name of the façade stands for; a command, and its second word, are looked up among the commands."""
    if not name.startswith("deniable "):
        return resolved(name)
    _, first, *second = name.split()
    command = importlib.import_module("deniable.cli").COMMANDS[first]
    known = importlib.import_module(command.module).app.registered_commands if second else []
    inner = {each.name or each.callback.__name__: each for each in known}
    return inner[second[0]] if second else command


def test_every_capability_has_one_row_in_order():
    assert [row[0] for row in COVERAGE_ROWS] == CAPABILITIES


def test_every_erratum_has_one_row():
    assert [row[0] for row in ERRATA_ROWS] == ERRATA


@pytest.mark.parametrize("row", COVERAGE_ROWS, ids=lambda row: row[0])
def test_coverage_row(row):
    _, description, status, missing, names, tests = row
    assert description
    assert status == ("planned" if missing else "done")
    assert [test for test in quoted(tests) if not is_a_test(test)] == []
    for name in quoted(names):
        assert reached(name) is not None
    if status == "done":
        assert quoted(names)
        assert quoted(tests)


@pytest.mark.parametrize("row", ERRATA_ROWS, ids=lambda row: row[0])
def test_errata_row(row):
    _, where, what, status, tests = row
    assert where
    assert what
    assert status in {"planned", "done"}
    assert [test for test in quoted(tests) if not is_a_test(test)] == []
    if status == "done":
        assert quoted(tests)


@pytest.mark.parametrize("row", DEFECTS_ROWS, ids=lambda row: row[0])
def test_defects_row(row):
    defect, what, since, tests = row
    assert defect
    assert what
    assert since
    assert quoted(tests)
    assert [test for test in quoted(tests) if not is_a_test(test)] == []


def test_no_defect_has_two_rows():
    names = [row[0] for row in DEFECTS_ROWS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("page", ["docs/guarantee.md", "docs/known-issues.md", "ARCHITECTURE.md"])
def test_no_page_promises_a_server_before_there_is_one(page):
    """What is written here holds today: until there is `deniable.server`, a server is named as planned."""
    sentences = re.split(r"(?<=[.;:)|])\s", " ".join((ROOT / page).read_text(encoding="utf-8").split()))
    promised = [each for each in sentences if re.search(r"\bserver\b", each) and "planned" not in each]
    assert importlib.util.find_spec("deniable.server") or promised == []


def test_the_check_notices_what_does_not_exist():
    here = "tests/docs/test_coverage_and_errata.py"
    assert is_a_test(f"{here}::test_coverage_row[C01]")
    assert not is_a_test(f"{here}::test_of_nothing")
    assert not is_a_test(f"{here}::reached")
    assert not is_a_test("tests/docs/test_missing.py::test_coverage_row")
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        reached("dp.no_such_name")
    with pytest.raises(KeyError):
        reached("deniable codebook no-such-word")


@pytest.mark.parametrize("gate", [dp.calculus.Odometer, dp.calculus.PrivacyFilter])
def test_a_reading_of_what_was_charged_says_when_it_holds(gate):
    """A list of charges read as one cost is a statement about losses fixed beforehand; a filter's own promise is its limit."""
    page = (ROOT / "docs/accounting.md").read_text(encoding="utf-8")
    assert "Nor does `dp.epsilon(meter.gate.charged" in page
    assert "losses fixed beforehand" in " ".join(inspect.getdoc(gate.charged).split())


@pytest.mark.parametrize("words", ["time limit", "fills the disk"])
def test_what_no_charge_covers_is_written_down(words):
    """Whether a query stops at a limit depends on the data and is paid for by nobody: the guarantee has to say so."""
    page = (ROOT / "docs/guarantee.md").read_text(encoding="utf-8")
    assert words in page
