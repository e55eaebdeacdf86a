"""The shape of the package may only improve: each number of `python3 dev.py shape` has a limit, which is lowered with it.

Where a feature needs another module, raise the limit in the same commit, so that everybody sees it.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import shape

LIMITS = {
    "modules": 570,
    "public names in dp": 60,
    "double class names": 0,
    "double file names": 0,
    "import cycles": 0,
    "modules that one other uses and could hold": 24,
    "files under 40 lines": 12,
    "files above 400 lines": 1,
    "lines the type checker is told to ignore": 46,
    "files run by a grouped count": 95,
    "files run by the same in SQL": 102,
    "modules loaded by the first calculus": 53,
    "modules loaded by the first data set": 101,
}
USED_ONCE = {
    "a theorem, an algorithm or a method of its own": (
        "accounting.gaussian_profiles < accounting.closed_forms",
        "accounting.measures.bounded_range < accounting.strength",
        "accounting.measures.characteristic < accounting.strength",
        "accounting.measures.whole < accounting.strength",
        "kernels.gaussian_laws < kernels.integer_noise",
        "models.centring < models.descent",
        "models.objective < models.logistic",
        "query.aggregates.quotient < query.sql.aggregates",
        "synth.measured.engine_cells < synth.measured.coded",
        "synth.measured.pate_ctgan_rounds < synth.network_synthesis",
        "synth.measured.quail_rounds < synth.network_synthesis",
        "testing.neighbours < testing.couplings",
    ),
    "a layer of the session, each about one kind of question": (
        "release.session_models < release.session",
        "release.session_overview < release.session",
        "release.session_queries < release.session_mechanisms",
        "release.session_synthesis < release.session",
    ),
    "loaded when it is first asked for": (
        "release.first_look < release.session_overview",
        "release.plot < release.answer",
        "release.slice_choice < release.session_overview",
        "release.twin_scores < release.session_synthesis",
    ),
    "a part of the server that is switched on by itself": (
        "server.protection < server.web",
        "server.schedules < server.running",
        "server.web < server.running",
        "server.webhooks < server.running",
    ),
}
SMALL = {
    "__main__": "Python asks for it",
    "calculus": "two packages under one name",
    "cli.app": "needs typer, which a command alone loads",
    "cli.data": "a command is one file",
    "deciding.yaml_records": "the one reader of YAML records",
    "kernels.unit_sensitivity": "the one record of sensitivity; plans load it without any noise",
    "plan.functions.catalogue": "the table of functions",
    "plan.memo": "a tool, no rule of plans",
    "plan.value_tables": "a guarantee about plans, used by stages",
    "release.stored_answers": "how any stored answer is opened",
    "server.ticks": "the one clock of the server",
    "version": "read before the package is",
}
LARGE = {
    "cost": "a closed union stands in one file",
}


@pytest.fixture(scope="module")
def measured():
    """In a process of its own: which files run depends on what was run before."""
    root = Path(__file__).parents[2]
    answer = subprocess.run(
        [sys.executable, "-m", "tests.shape", "--json"], cwd=root, capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def test_each_number_has_its_limit(measured):
    assert measured["counts"].keys() == LIMITS.keys()


@pytest.mark.parametrize("label", LIMITS)
def test_no_number_grows(measured, label):
    number = measured["counts"][label]
    assert number <= LIMITS[label], f"{label}: {number}, at most {LIMITS[label]}; {measured['names'].get(label, '')}"


def test_small_large_and_lonely_files_have_a_reason(measured):
    """Rule nine of the house: a new one is merged, or its reason is written down here; a reason no longer needed goes."""
    assert set(measured["names"]["modules that one other uses and could hold"]) == {
        pair for pairs in USED_ONCE.values() for pair in pairs
    }
    assert set(measured["names"]["files under 40 lines"]) == SMALL.keys()
    assert set(measured["names"]["files above 400 lines"]) == LARGE.keys()


def test_a_module_that_one_other_uses_is_found_unless_both_are_too_long():
    graph = {"d.a.x": {"d.a.y", "d.b.z"}, "d.a.w": {"d.a.v"}, "d.a.u": {"d.a.v"}, "d.a.y": set(), "d.b.z": set()}
    graph["d.a.v"] = set()
    assert shape.used_once(graph, size=lambda _: 200) == ["d.a.y < d.a.x"]
    assert shape.used_once(graph, size=lambda _: 201) == []


def modules(**texts):
    return {f"a.{name}": ast.parse(text) for name, text in texts.items()}


def graph_of(found):
    return {name: set(shape.imports(tree, found)) for name, tree in found.items()}


def test_imports_in_functions_count_and_those_for_types_do_not():
    found = modules(
        x="from a.y import f",
        y="def f():\n    try:\n        from a import x\n    except ImportError:\n        import a.z\n",
        z="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a.x import g\nimport json, a.w",
        w="from a.z import h",
    )
    found["a"] = ast.parse("")
    graph = graph_of(found)
    assert graph == {"a.x": {"a.y"}, "a.y": {"a.x", "a.z"}, "a.z": {"a.w"}, "a.w": {"a.z"}, "a": set()}
    assert shape.cycles(graph) == [["a.w", "a.z"], ["a.x", "a.y"]]
    assert shape.cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_a_class_name_in_two_modules_is_double():
    found = modules(x="class A: ...\nclass B: ...", y="def f():\n    class A: ...", z="B = 1")
    assert shape.double_classes(found) == ["A"]


def test_files_run_are_those_of_the_package_in_which_something_was_called():
    from deniable.exact.guards import integer

    assert shape.files_run(lambda: json.dumps([1])) == set()
    assert "exact/guards.py" in shape.files_run(lambda: integer(n=1))
    assert sys.getprofile() is None


def test_duckdb_is_opened_by_engines_alone():
    """Whoever imports the library can open a database; the engines' connections are hardened."""
    opening = [
        name
        for name, tree in shape.trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and any(alias.name == "duckdb" for alias in node.names)
    ]
    assert opening
    assert all(name.startswith("deniable.engines.") for name in opening), opening
