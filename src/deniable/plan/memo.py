"""A function of immutable values, computed once for each object: public facts of a plan are asked for again and again.

Objects are told apart by identity, not by equality, because comparing two large plans costs more than it saves. An entry
holds its object, so an identity cannot be given to another one while it is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")

_MOST = 4096
"""When so many are remembered, all are forgotten."""


def remembered(function: Callable[[Given], Result]) -> Callable[[Given], Result]:
    """`function` with its results kept by the identity of what it is given, which must never change."""
    kept: dict[int, tuple[Given, Result]] = {}

    @wraps(function)
    def recalled(given: Given) -> Result:
        found = kept.get(id(given))
        if found is not None and found[0] is given:
            return found[1]
        result = function(given)
        if len(kept) >= _MOST:
            kept.clear()
        kept[id(given)] = (given, result)
        return result

    return recalled
