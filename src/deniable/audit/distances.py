"""Is one distance at most another of the same kind?"""

from __future__ import annotations

from typing import Any

from deniable.core import Distance, Root, Triple


def within(apart: Distance, limit: Distance) -> bool:
    """Is one distance at most another of the same kind?"""
    if isinstance(apart, Triple) and isinstance(limit, Triple):
        return apart <= limit
    if isinstance(apart, Root) or isinstance(limit, Root):
        return bool(_square(apart) <= _square(limit))
    return bool(apart <= limit)  # type: ignore[operator]


def _square(d: Distance) -> Any:
    return d.square if isinstance(d, Root) else d * d  # type: ignore[operator]
