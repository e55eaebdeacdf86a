"""Every public constructor that touches privacy says what it guarantees."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

import deniable as dp

LAYERS = ("deniable.transformations", "deniable.mechanisms", "deniable.query.aggregates")


def places() -> set[str]:
    """Where the public names of these layers live, as module:attribute: from the façade and from the packages."""
    found = {place for place in dp._PUBLIC.values() if place.startswith(LAYERS) and ":" in place}
    for package in LAYERS[:2]:
        found |= {f"{package}:{name}" for name in getattr(import_module(package), "__all__", [])}
    return found


@pytest.mark.parametrize("place", sorted(places()))
def test_guarantee_is_stated(place):
    module, _, name = place.partition(":")
    value = getattr(import_module(module), name)
    if inspect.isfunction(value):
        assert "Guarantee:" in (inspect.getdoc(value) or ""), f"{place} needs a `Guarantee:` line"
