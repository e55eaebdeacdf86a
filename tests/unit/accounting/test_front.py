"""The front of accounting is lazy: each name has one home, type checkers see the same names, and building needs no theorem."""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

from deniable import accounting


@pytest.mark.parametrize("name", accounting.__all__)
def test_every_name_is_found_and_kept(name):
    value = getattr(accounting, name)
    assert vars(accounting)[name] is value
    assert inspect.getdoc(value)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(inspect.getsource(accounting))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted(seen) == accounting.__all__ == dir(accounting)


def test_no_name_is_hidden_by_a_module():
    modules = {module.name for module in pkgutil.iter_modules(accounting.__path__)}
    assert modules & set(accounting._PLACES) == set()


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="has no public name 'epsilom'"):
        _ = accounting.epsilom


def loaded(code):
    program = (
        f"import json, sys; {code}; print(json.dumps([name for name in sys.modules if name.startswith('deniable.')]))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout))


def test_a_mechanism_is_built_without_theorems_and_read_with_them():
    theorems = {"deniable.accounting.theorems", "deniable.accounting.pld.convolution", "deniable.accounting.filters"}
    built = "import deniable as dp; noise = dp.calculus.laplace(scale=1)"
    assert loaded(built) & theorems == set()
    read = loaded(f"{built}; dp.epsilon(dp.costs.Laplace(scale=1), delta=0.1)")
    assert read & theorems == theorems - {"deniable.accounting.filters"}
    assert not any(name.startswith("deniable.svg") for name in read)
