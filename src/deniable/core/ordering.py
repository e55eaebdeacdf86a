"""Keys in an order that says nothing about the data: numbers, then texts, then tuples, then the rest by type and text.

Which of two keys comes first depends on these two alone, never on what other keys there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Real
from typing import Any


def public_order(keys: Iterable[Hashable]) -> list[Any]:
    """The keys sorted."""
    found: list[Any] = list(keys)
    return sorted(found) if set(map(type, found)) <= {str} else sorted(found, key=public_rank)


def public_rank(key: Any) -> tuple[Any, ...]:
    """What a key is sorted by."""
    if isinstance(key, Real) and key == key:  # NaN sorts nowhere
        return 0, key
    if isinstance(key, str):
        return 1, str.__str__(key)
    if isinstance(key, tuple):
        return 2, tuple(map(public_rank, key))
    return 3, type(key).__name__, _text(key)


def _text(key: Any) -> str:
    try:
        return repr(key)
    except Exception:
        return ""
