"""Every public constructor that touches privacy says what it guarantees."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

import deniable as dp

LAYERS = ("deniable.transformations", "deniable.mechanisms", "deniable.query.aggregates")


def constructors() -> dict[str, object]:
    """The public functions of the layers that touch privacy, by full name: from the façade and from the packages."""
    public = [getattr(dp, name) for name in dp.__all__]
    for package in LAYERS[:2]:
        module = import_module(package)
        public += [getattr(module, name) for name in getattr(module, "__all__", [])]
    found = [value for value in public if inspect.isfunction(value) and value.__module__.startswith(LAYERS)]
    return {f"{value.__module__}.{value.__qualname__}": value for value in found}


CONSTRUCTORS = constructors()


@pytest.mark.parametrize("name", sorted(CONSTRUCTORS))
def test_guarantee_is_stated(name):
    assert "Guarantee:" in (inspect.getdoc(CONSTRUCTORS[name]) or ""), f"{name} needs a `Guarantee:` line"
