"""`docs/coverage.md` and `docs/errata.md` tell the truth: every id is there, every name and every test exists."""

from __future__ import annotations

import importlib

import pytest

from tests.docs.pages import is_a_test, quoted, resolved, rows

SECTIONS = {"C": 8, "M": 13, "A": 11, "T": 9, "L": 9, "S": 7, "K": 9, "D": 8}
CAPABILITIES = [f"{letter}{number:02}" for letter, count in SECTIONS.items() for number in range(1, count + 1)]
ERRATA = [f"E{number}" for number in range(1, 35)]
COVERAGE_ROWS = rows("docs/coverage.md")
ERRATA_ROWS = rows("docs/errata.md")


def reached(name: str) -> object:
    """What a public name of the façade stands for; a command is looked up among the commands."""
    if name.startswith("deniable "):
        return importlib.import_module("deniable.cli").COMMANDS[name.split()[1]]
    return resolved(name)


def test_every_capability_has_one_row():
    assert [row[0] for row in COVERAGE_ROWS] == CAPABILITIES


def test_every_erratum_has_one_row():
    assert [row[0] for row in ERRATA_ROWS] == ERRATA


@pytest.mark.parametrize("row", COVERAGE_ROWS, ids=lambda row: row[0])
def test_coverage_row(row):
    _, description, status, names, tests = row
    assert description
    assert status in {"planned", "done"}
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


def test_the_check_notices_what_does_not_exist():
    here = "tests/docs/test_coverage_and_errata.py"
    assert is_a_test(f"{here}::test_coverage_row[C01]")
    assert not is_a_test(f"{here}::test_of_nothing")
    assert not is_a_test(f"{here}::reached")
    assert not is_a_test("tests/docs/test_missing.py::test_coverage_row")
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        reached("dp.no_such_name")
