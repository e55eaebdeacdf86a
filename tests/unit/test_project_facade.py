"""The façade: quick to import, lazy, every public name documented and with one meaning."""

from __future__ import annotations

import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

import deniable as dp
from docs.stub import STUB, stub

PUBLIC = [name for name in dp.__all__ if name != "__version__"]


def fresh(code: str) -> object:
    """What a fresh interpreter prints as JSON, so that this process's imports do not hide anything."""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def test_import_is_quick_and_loads_nothing_heavy():
    code = (
        "import json, sys, time; before = time.process_time(); import deniable; "
        "print(json.dumps([time.process_time() - before, sorted(sys.modules)]))"
    )
    seconds, modules = fresh(code)
    assert seconds < 0.3
    roots = {module.partition(".")[0] for module in modules}
    assert roots.isdisjoint(
        {
            "numpy",
            "scipy",
            "duckdb",
            "sqlglot",
            "typer",
            "rich",
            "pandas",
            "polars",
            "pyarrow",
            "pyspark",
            "psycopg",
            "yaml",
            "fastapi",
            "starlette",
            "uvicorn",
            "httpx",
            "jinja2",
            "pydantic",
        }
    )
    assert [module for module in modules if module.startswith("deniable.")] == ["deniable.version"]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_is_reachable_and_documented(name):
    assert inspect.getdoc(getattr(dp, name)), f"dp.{name} needs a docstring"


def test_each_name_has_one_meaning():
    places = {}
    for name in PUBLIC:
        places.setdefault(dp._PUBLIC[name], []).append(name)
    assert {place: names for place, names in places.items() if len(names) > 1} == {}
    meanings = {}
    for name in PUBLIC:
        meanings.setdefault(id(getattr(dp, name)), []).append(name)
    assert [names for names in meanings.values() if len(names) > 1] == []


def test_the_types_of_the_facade_are_those_of_the_table():
    assert STUB.read_text(encoding="utf-8") == stub(), "write them again with: python -m docs.stub"


def test_no_public_name_is_hidden_by_a_module():
    modules = {module.name for module in pkgutil.iter_modules(dp.__path__)}
    hidden = [name for name in PUBLIC if name in modules and dp._PUBLIC[name] != f"deniable.{name}"]
    assert hidden == []


@pytest.mark.parametrize("module", sorted(module.name for module in pkgutil.iter_modules(dp.__path__)))
def test_every_part_can_be_imported_first(module):
    """Parts load one another when they are used; whichever comes first, all of them come."""
    assert (
        fresh(f"import json; from deniable import {module}; print(json.dumps({module}.__name__))")
        == f"deniable.{module}"
    )


def test_directory_is_the_public_names():
    assert dir(dp) == sorted(dp.__all__)


def test_few_names_at_the_front_door():
    assert len(dp.__all__) <= 60
    assert [
        name for name in PUBLIC if isinstance(getattr(dp, name), type) and issubclass(getattr(dp, name), Exception)
    ] == ["DeniableError"]


def test_what_the_calculus_holds_is_there_and_nowhere_else():
    """A name of both is an aggregate here and a transformation there; everything else has one place."""
    both = set(dp.calculus.__all__) & set(PUBLIC)
    assert {name for name in both if dp._PUBLIC[name].partition(":")[0] != "deniable.query.aggregates"} == set()
    assert all(getattr(dp, name) is not getattr(dp.calculus, name) for name in both)


def test_the_calculus_is_whole():
    for package in (dp.calculus.core, dp.calculus.mechanisms, dp.calculus.transformations):
        assert set(package.__all__) <= set(dp.calculus.__all__)
        assert all(getattr(dp.calculus, name) is getattr(package, name) for name in package.__all__)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("laplace", "it is deniable.calculus.laplace"),
        ("InvalidArgument", "it is deniable.errors.InvalidArgument"),
        ("strength", "it is deniable.accounting.strength"),
        ("laplce", "did you mean deniable.calculus.laplace?"),
        ("Datset", "did you mean deniable.Dataset?"),
        ("Filter", "it is deniable.calculus.PrivacyFilter"),
        ("qqqqqq", "dir(deniable) lists them"),
    ],
)
def test_a_name_that_is_elsewhere_is_answered_with_its_place(name, advice):
    text = f"deniable has no public name {name!r}; {advice}"
    with pytest.raises(AttributeError) as asked:
        getattr(dp, name)
    assert str(asked.value) == text
    with pytest.raises(ImportError) as imported:
        exec(f"from deniable import {name}")
    assert str(imported.value) == text
    assert not hasattr(dp, name)


def test_costs_is_the_module_of_costs():
    import deniable.cost

    assert dp.costs is deniable.cost


def test_modules_named_on_pages_are_there_in_a_fresh_process():
    names = [
        "accounting.classic.classic_gaussian_scale",
        "accounting.designs.tree_cost",
        "accounting.composition.basic",
    ]
    for name in names:
        assert fresh(f"import json, deniable as dp; print(json.dumps(callable(dp.{name})))") is True
