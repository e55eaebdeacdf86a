"""A name that `deniable` does not have is answered with the nearest right one, or with where it has gone."""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec

_ELSEWHERE = {
    "avg": "mean",
    "average": "mean",
    "stddev": "std",
    "stdev": "std",
    "var": "variance",
    "nunique": "count_distinct",
    "distinct": "count_distinct",
    "min": "minimum",
    "max": "maximum",
    "len": "count",
    "size": "count",
    "percentile": "quantile",
    "hist": "histogram",
    "corr": "correlation",
    "cov": "covariance",
    "Table": "Dataset",
    "open": "Dataset",
}
"""What other libraries and SQL call what is here."""

_RENAMED = {"Filter": "deniable.calculus.PrivacyFilter"}
"""Names of earlier versions that are nearest to something else by now."""

_ROOMS = ("calculus", "errors", "accounting", "attacks", "noise")
"""Where a name that is not at the front door may live, the likeliest first."""


def refusal(name: str, public: Sequence[str]) -> Exception:
    """The error for `deniable.<name>`: an `AttributeError`, or an `ImportError` with the same text in `from deniable import`."""
    if find_spec(f"deniable.{name}") is not None:  # Python asks for it here before it imports a package of ours
        return AttributeError(f"deniable.{name} is loaded by: import deniable.{name}", name=name)
    text = f"deniable has no public name {name!r}; {_advice(name, public)}"
    return ImportError(text, name="deniable") if _importing() else AttributeError(text, name=name)


def _importing() -> bool:
    """Whether the name was asked for by `from deniable import name`, where Python would replace an AttributeError's text."""
    frame = sys._getframe(3)
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def _advice(name: str, public: Sequence[str]) -> str:
    if name.startswith("_"):
        return "dir(deniable) lists them"
    if _ELSEWHERE.get(name) in public:
        return f"did you mean deniable.{_ELSEWHERE[name]}?"
    if name in _RENAMED:
        return f"it is {_RENAMED[name]}"
    rooms = {room: import_module(f"deniable.{room}").__all__ for room in _ROOMS}
    for room, names in rooms.items():
        if name in names:
            return f"it is deniable.{room}.{name}"
    everywhere = {plain: f"deniable.{room}.{plain}" for room in reversed(_ROOMS) for plain in rooms[room]}
    everywhere |= {plain: f"deniable.{plain}" for plain in public}
    near = get_close_matches(name, everywhere, n=1)
    return f"did you mean {everywhere[near[0]]}?" if near else "dir(deniable) lists them"
