"""Keys in an order that says nothing about the data: sorted by value, or by type and text when values do not compare."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


def public_order(keys: Iterable[Hashable]) -> list[Any]:
    """The keys sorted; the order depends on the keys alone."""
    found: list[Any] = list(keys)
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda key: (type(key).__name__, repr(key)))
