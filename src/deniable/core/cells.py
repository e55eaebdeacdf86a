"""Cells of any kind read without an error: what a cell becomes depends on that cell alone, and nothing it holds may raise.

Cells that a metric calls equal (1 and 1.0, None and NaN, 0.0 and -0.0) become the same; True is not 1. Keys have one public
order, numbers, then texts, then tuples, then the rest by type and text: which of two comes first depends on these two alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from numbers import Rational, Real
from typing import Any
from uuid import UUID

_TRUSTED = frozenset({"builtins", "datetime", "decimal", "fractions", "numpy", "pandas", "uuid", "zoneinfo"})
"""Modules whose types hash and compare without surprises; of other types each hash and comparison is guarded."""
_KEYS = frozenset({bytes, date, datetime, time, timedelta, UUID})
"""What else, beside texts and numbers, may be shown as a key."""


def missing(value: Any) -> bool:
    """None, or a value that is not equal to itself (NaN in any spelling) or cannot say (pandas' NA). Never raises."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except Exception:  # NA has no truth value; an array has many, and is a row of its own
        return not _has_length(value)


def _has_length(value: Any) -> bool:
    return any("__len__" in vars(kind) for kind in type(value).__mro__)


def number(cell: Any) -> float:
    """One cell as a double; NaN when it is none. Whole numbers too large for a double become infinite."""
    if type(cell) is float or type(cell) is int:
        return _double(cell)
    try:
        if isinstance(cell, str | bytes) or _has_length(cell) or missing(cell):
            return math.nan
        return _double(cell)
    except Exception:
        return math.nan


def _double(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def whole(cell: Any) -> int | None:
    """One cell as a whole number, exactly; None when it is none."""
    if type(cell) is int:
        return cell
    try:
        if isinstance(cell, str | bytes) or _has_length(cell) or missing(cell):
            return None
        count = int(cell)
        return count if bool(count == cell) else None
    except Exception:
        return None


def cells(data: Any) -> list[Any]:
    """A column as a list of Python values; what is no column has none."""
    try:
        return list(data.tolist()) if hasattr(data, "tolist") else list(data)
    except Exception:
        return []


def row_total(data: Any) -> int:
    """How many rows a column has."""
    try:
        return len(data)
    except Exception:
        return len(cells(data))


def table(data: Any, names: Iterable[str]) -> dict[str, Any]:
    """The named columns of a frame, all of one length: as they are, or, where one is absent or short, filled with missing cells."""
    found = {name: entry(data, name, ()) for name in names}
    lengths = {name: row_total(column) for name, column in found.items()}
    longest = max(lengths.values(), default=0)
    if all(length == longest for length in lengths.values()):
        return found
    return {name: cells(column) + [None] * (longest - lengths[name]) for name, column in found.items()}


def entry(data: Any, name: Any, nothing: Any) -> Any:
    """What a mapping holds under a name, `nothing` where it has no such entry or is no mapping."""
    try:
        return data[name]
    except Exception:
        return nothing


def names_of(data: Any) -> list[Any]:
    """The keys of a mapping; what is none has none."""
    return cells(data) if isinstance(data, Mapping) else []


def parts(row: Any) -> list[Any]:
    """What a row that is a collection holds; a text or a number holds nothing."""
    try:
        return [] if isinstance(row, str | bytes) or not isinstance(row, Iterable) else cells(row)
    except Exception:
        return []


def items(row: Any) -> list[Any]:
    """What a row that is a collection holds; a text, a number or a date is one item, a missing row holds none."""
    try:
        alone = isinstance(row, str | bytes) or not isinstance(row, Iterable)
    except Exception:
        return []
    return parts(row) if not alone else [] if missing(row) else [row]


class OpaqueCell:
    """A value of an unknown type, which may fail to hash or to compare: then it equals itself alone."""

    __slots__ = ("code", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.code = value, _code(value)

    def __hash__(self) -> int:
        return self.code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueCell):
            return False
        try:
            return self.value is other.value or bool(self.value == other.value)
        except Exception:
            return False

    def __repr__(self) -> str:
        return f"OpaqueCell({type(self.value).__name__})"


def _code(value: Any) -> int:
    try:
        return hash(value)
    except Exception:
        return hash(type(value).__name__)


def countable(row: Any) -> Any:
    """A row in a form that can be counted: missing values are all alike, -0.0 is 0.0, and True is not 1."""
    if type(row) is str or type(row) is int:
        return row
    try:
        return _countable(row)
    except Exception:  # a list that holds itself, a dictionary whose keys do not sort
        return OpaqueCell(row)


def _countable(row: Any) -> Any:
    if isinstance(row, bool) or type(row).__name__ in ("bool", "bool_"):
        return (bool, bool(row))
    if isinstance(row, str):
        return str.__str__(row)  # a subclass may hash and compare as it likes
    if isinstance(row, int):
        return int.__int__(row)
    if isinstance(row, float):
        return None if math.isnan(row) else float.__float__(row)
    if isinstance(row, Mapping):
        return tuple((name, countable(cell)) for name, cell in sorted(row.items()))
    if isinstance(row, list | tuple) or (hasattr(row, "tolist") and getattr(row, "ndim", 0) != 0):
        return tuple(countable(cell) for cell in row)
    if isinstance(row, set | frozenset):
        return (set, frozenset(countable(cell) for cell in row))
    if missing(row):
        return None
    return row if type(row).__module__.split(".")[0] in _TRUSTED and _hashable(row) else OpaqueCell(row)


def _hashable(row: Any) -> bool:
    try:
        hash(row)
    except Exception:
        return False
    return True


def key(cell: Any) -> Hashable | None:
    """A cell as a key that may be shown, the same for all equal cells: text, a number in its simplest form, a date, or a tuple
    of such. None for a missing cell, and for one that is no key (a list, an object)."""
    if type(cell) is str or type(cell) is int:
        return cell
    try:
        return _key(cell)
    except Exception:
        return None


def _key(cell: Any) -> Hashable | None:
    if isinstance(cell, str):
        return str.__str__(cell)
    if missing(cell):
        return None
    if isinstance(cell, tuple):
        parts = tuple(key(each) for each in cell)
        return None if any(part is None for part in parts) else parts
    if isinstance(cell, Real) or type(cell).__module__ == "decimal" or type(cell).__name__ in ("bool", "bool_"):
        return _simplest(cell)
    return cell if type(cell) in _KEYS else None


def _simplest(cell: Any) -> Hashable:
    """A whole number, else a double where that is exact, else a fraction; infinities stay."""
    near = float(cell)
    if math.isinf(near) and not isinstance(cell, Rational):
        return near
    exact = Fraction(cell) if isinstance(cell, Rational) or type(cell).__module__ == "decimal" else Fraction(near)
    if exact.denominator == 1:
        return int(exact)
    return near if Fraction(near) == exact else exact


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
