"""Lazy packages: every public name is found in its home, none is hidden by a module, and nothing loads before it is used."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from deniable.lazy import LazyPackage, lazy_package, stub_names

PACKAGES = ["accounting", "accounting.pld", "core", "mechanisms", "noise", "transformations"]
NAMES = [(f"deniable.{package}", name) for package in PACKAGES for name in import_module(f"deniable.{package}").__all__]


def loaded(code: str) -> set[str]:
    """The modules of the package that a fresh interpreter has loaded after this code."""
    program = (
        f"{code}\nimport json, sys\nprint(json.dumps([name for name in sys.modules if name.startswith('deniable.')]))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout))


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_name_is_found_in_its_home(package, name):
    room = import_module(package)
    home, attribute = room._homes[name]
    value = getattr(room, name)
    if isinstance(value, ModuleType):
        assert value is sys.modules[f"{home}.{attribute}"]
    else:
        assert value is getattr(import_module(home), attribute)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_stub_is_the_list(package):
    room = import_module(f"deniable.{package}")
    homes, public = stub_names(Path(room.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    assert set(homes) == set(public) == set(dir(room))
    assert len(set(public)) == len(public)
    assert inspect.getdoc(room)


@pytest.mark.parametrize("package", PACKAGES)
def test_loading_a_package_loads_none_of_its_parts(package):
    name = f"deniable.{package}"
    assert not any(each.startswith(f"{name}.") for each in loaded(f"import {name}"))


@pytest.mark.parametrize("first", ["import deniable.mechanisms.best_of", "from deniable.mechanisms import best_of", ""])
def test_a_function_is_not_hidden_by_the_module_of_its_name(first):
    code = f"{first}\nfrom deniable.mechanisms import best_of\nfrom deniable.mechanisms.best_of import first_above\n"
    assert "deniable.mechanisms.best_of" in loaded(f"{code}assert callable(best_of) and callable(first_above)")


def test_everything_can_be_imported_at_once():
    code = (
        "from deniable.mechanisms import *\nimport deniable.mechanisms as m\nassert set(m.__all__) <= set(globals())\n"
    )
    assert loaded(f"{code}assert best_of is m.best_of and callable(best_of)")


def test_an_unknown_name_is_refused_and_a_module_is_still_found():
    room = import_module("deniable.mechanisms")
    with pytest.raises(
        AttributeError,
        match=r"deniable.mechanisms has no public name 'laplase'; did you mean deniable.mechanisms.laplace\?",
    ):
        _ = room.laplase
    from deniable.mechanisms import additive

    assert isinstance(additive, ModuleType)


ROOMS = ("accounting", "attacks", "audit", "calculus", "ledger", "models", "noise")


@pytest.mark.parametrize("room", ROOMS)
def test_a_misspelt_name_is_answered_with_the_nearest(room):
    package = import_module(f"deniable.{room}")
    name = max(package.__all__, key=len)
    with pytest.raises(AttributeError, match=rf"deniable.{room} has no public name '{name}s'; did you mean") as refusal:
        getattr(package, name + "s")
    assert f"deniable.{room}.{name}?" in str(refusal.value)


def test_a_name_can_be_replaced_for_a_test(monkeypatch):
    room = import_module("deniable.mechanisms")
    monkeypatch.setattr(room, "laplace", 3)
    assert room.laplace == 3


def test_a_stub_names_homes_and_the_public(tmp_path, monkeypatch):
    (tmp_path / "wing").mkdir()
    (tmp_path / "wing" / "__init__.py").write_text("from deniable.lazy import lazy_package\n\nlazy_package(__name__)\n")
    stub = "from math import inf, pi\nfrom wing import door\nfrom wing.door import door as gate\n__all__ = ['pi', 'door', 'gate']\n"
    (tmp_path / "wing" / "__init__.pyi").write_text(stub)
    (tmp_path / "wing" / "door.py").write_text("door = 'a gate'\n")
    assert stub_names(stub)[0]["gate"] == ("wing.door", "door")
    monkeypatch.syspath_prepend(tmp_path)
    wing = import_module("wing")
    try:
        assert isinstance(wing, LazyPackage)
        assert (wing.gate, wing.door.door, dir(wing)) == ("a gate", "a gate", ["door", "gate", "pi"])
        with pytest.raises(AttributeError, match="inf"):
            _ = wing.inf
    finally:
        for name in ("wing", "wing.door"):
            sys.modules.pop(name, None)


def test_a_package_without_a_list_is_a_mistake():
    import_module("deniable.engines")
    with pytest.raises(FileNotFoundError):
        lazy_package("deniable.engines")


def test_the_calculus_loads_what_it_builds_and_theorems_when_a_loss_is_read():
    built = loaded("import deniable as dp\ndp.calculus.laplace(scale=1)")
    assert "deniable.mechanisms.additive" in built
    unused = {
        "transformations.sums",
        "mechanisms.top_k",
        "core.compositor",
        "accounting.theorems",
        "accounting.filters",
    }
    assert built.isdisjoint(f"deniable.{name}" for name in unused)
    read = loaded("import deniable as dp\ndp.epsilon(dp.costs.Gaussian(scale=1, sensitivity=1), delta=0.1)")
    assert "deniable.accounting.theorems" in read
    assert "deniable.accounting.pld.convolution" not in read  # a Gaussian has a closed form
    assert not any(name.startswith(("deniable.svg", "deniable.plots")) for name in read)


def test_the_calculus_has_the_names_of_its_rooms():
    calculus, core = import_module("deniable.calculus"), import_module("deniable.core")
    assert dir(calculus) == calculus.__all__
    assert set(core.__all__) <= set(calculus.__all__)
    assert calculus.Mechanism is core.Mechanism
    with pytest.raises(AttributeError, match="laplase"):
        _ = calculus.laplase
