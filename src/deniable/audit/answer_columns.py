"""What can be seen of an answer, as named columns: values, bits, keys, order, types, lengths, missing values and errors.

An answer may be a number, a vector, a table, a record or an error; every draw becomes one entry of every column. Events are sets
of values of one column. What stands in a column for a draw is a function of that draw's answer alone (the two-halves test rests
on it): a column that an answer does not have reads `ABSENT` and NaN, whatever the other draws were.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ENTRIES = 12
_LONG = 400
_WHOLE = 64
ABSENT = "nothing there"
NUMBER = "a number"


@dataclass(frozen=True, slots=True)
class Failure:
    """The answer was an error: an observer sees its class and its text, without the places of objects in memory."""

    kind: str
    text: str = ""

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """As it is seen; a text that cannot be made is none."""
        try:
            text = without_addresses(str(error))
        except Exception:
            text = ""
        return cls(type(error).__name__, text)


@dataclass(frozen=True, slots=True)
class SampleColumn:
    """One thing seen of every draw: as a number (NaN where it is none) and, where it has few values, as a name."""

    numbers: NDArray[np.float64] | None
    names: NDArray[Any] | None

    def part(self, where: slice) -> SampleColumn:
        """Some of the draws."""
        return SampleColumn(*(None if each is None else each[where] for each in (self.numbers, self.names)))


Sample = dict[str, SampleColumn]


def columns(outputs: Sequence[Any] | NDArray[Any]) -> Sample:
    """All columns of a list of answers, one entry per draw."""
    if isinstance(outputs, np.ndarray) and outputs.ndim == 1 and outputs.dtype.kind in "iufb":
        return _batch(outputs)
    seen = [dict(_flat("answer", output)) for output in outputs]
    paths = dict.fromkeys(path for each in seen for path in each)
    found: Sample = {}
    for path in paths:
        found |= _column(path, [each.get(path, ABSENT) for each in seen])
    return found


def _batch(outputs: NDArray[Any]) -> Sample:
    """An array of answers, one number each. Its type is one of all draws together, so it says nothing about a draw."""
    if outputs.dtype.kind == "b":
        return {"answer": SampleColumn(None, outputs.astype(str))}
    return _numeric("answer", outputs.astype(np.float64), np.ones(len(outputs), dtype=np.bool_))


def _column(path: str, values: list[Any]) -> Sample:
    numeric = np.array([_is_number(value) for value in values])
    numbers = np.array([_double(value) if is_one else math.nan for value, is_one in zip(values, numeric, strict=True)])
    if numeric.all():
        return _numeric(path, numbers, numeric)
    names = np.array([NUMBER if is_one else _name(value) for value, is_one in zip(values, numeric, strict=True)])
    return {path: SampleColumn(None, names)} | ({} if not numeric.any() else _numeric(path, numbers, numeric, names))


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool | np.bool_ | complex)


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def without_addresses(text: str) -> str:
    """A text without the places of objects in memory, which are not the same twice."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _name(value: Any) -> str:
    text = without_addresses(value if isinstance(value, str) else repr(value))
    return text if len(text) <= _LONG else f"{text[:_LONG]}… ({hashlib.sha256(text.encode()).hexdigest()[:16]})"


def _numeric(path: str, numbers: NDArray[np.float64], numeric: NDArray[np.bool_], names: Any = None) -> Sample:
    """Numbers and their bits: what kind, which sign (zero has two), how large, where the lowest bit that is set stands."""
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    mantissas, exponents = np.frexp(finite)
    whole = np.abs(mantissas * 2.0**53).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1)) + exponents - 53
    kinds = np.select(
        [~numeric, np.isnan(numbers), np.isposinf(numbers), np.isneginf(numbers), (numbers == 0) & np.signbit(numbers)],
        [ABSENT, "NaN", "inf", "-inf", "-0.0"],
        default="finite",
    )
    return {
        path: SampleColumn(numbers, names),
        f"{path}: kind of number": SampleColumn(None, kinds),
        f"{path}: exponent": SampleColumn(np.where(np.isfinite(numbers), exponents, math.nan), None),
        f"{path}: place of the lowest bit": SampleColumn(np.where(numeric & (finite != 0), lowest, math.nan), None),
    }


def whole(answer: Any) -> str:
    """All of an answer as one text: equal where they look the same, not where a type, key, order or sign of zero differs."""
    match answer:
        case Failure(kind, text):
            return f"error {kind}: {text}"
        case None | bool() | str() | bytes() | int() | float() if type(answer).__module__ == "builtins":
            return repr(answer)
        case np.generic():
            return f"{answer.item()!r} ({answer.dtype})"
        case np.ndarray():
            return f"{whole(answer.tolist())} ({answer.dtype})"
        case Mapping():
            inside = ", ".join(f"{whole(key)}: {whole(value)}" for key, value in answer.items())
            return f"{_prefix(answer, dict)}{{{inside}}}"
        case Set():
            return f"{_prefix(answer, set)}{{{', '.join(sorted(map(whole, answer)))}}}"
        case list() | tuple():
            ends = "[]" if isinstance(answer, list) else "()"
            return f"{_prefix(answer, list, tuple)}{ends[0]}{', '.join(map(whole, answer))}{ends[1]}"
    if is_dataclass(answer) and not isinstance(answer, type):
        inside = ", ".join(f"{field.name}={whole(getattr(answer, field.name))}" for field in fields(answer))
        return f"{type(answer).__name__}({inside})"
    return f"{type(answer).__name__} {without_addresses(repr(answer))}"


def is_plain(answer: Any) -> bool:
    """Whether an answer is a value and nothing more: numbers, text, containers of such and frozen records."""
    if answer is None or isinstance(answer, str | bytes | Number | np.ndarray | np.generic):
        return True
    if isinstance(answer, Mapping):
        return all(map(is_plain, answer.values()))
    if isinstance(answer, Set | list | tuple):
        return all(map(is_plain, answer))
    made: Any = getattr(type(answer), "__dataclass_params__", None)
    return made is not None and made.frozen and all(is_plain(getattr(answer, field.name)) for field in fields(answer))


def _prefix(answer: Any, *plain: type) -> str:
    return "" if type(answer) in plain else type(answer).__name__


# One answer ---------------------------------------------------------------------------------------------------------------


def _flat(path: str, value: Any) -> list[tuple[str, Any]]:
    """An answer as (path, scalar) pairs."""
    if isinstance(value, Failure):
        return [("error", value.kind), ("error: text", _name(value.text))]
    if value is None or isinstance(value, str | bytes | bool | np.bool_):
        return [(path, value if not isinstance(value, np.bool_) else bool(value))]
    if isinstance(value, Number):
        return [(path, value), (f"{path}: type", type(value).__name__)]
    for kinds, read in _CONTAINERS:
        if isinstance(value, kinds):
            return [(f"{path}: type", type(value).__name__), *read(path, value)]
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
        return [(f"{path}: type", type(value).__name__), *_mapping(path, named)]
    return [(f"{path}: type", type(value).__name__), (path, _name(value))]


def _mapping(path: str, value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    keys = [_name(key) for key in value]
    entries = [pair for key in list(value)[:_ENTRIES] for pair in _flat(f"{path}[{_name(key)}]", value[key])]
    return [
        (f"{path}: number of keys", len(keys)),
        (f"{path}: keys", repr(sorted(keys))),
        (f"{path}: order of keys", repr(keys)),
        *entries,
    ]


def _set(path: str, value: Set[Any]) -> list[tuple[str, Any]]:
    return [(f"{path}: number of keys", len(value)), (f"{path}: keys", repr(sorted(map(_name, value))))]


def _array(path: str, value: NDArray[Any]) -> list[tuple[str, Any]]:
    seen: list[tuple[str, Any]] = [
        (f"{path}: type of entries", str(value.dtype)),
        (f"{path}: shape", repr(value.shape)),
    ]
    return seen + _sequence(path, value.reshape(-1).tolist())


def _sequence(path: str, value: Sequence[Any]) -> list[tuple[str, Any]]:
    seen: list[tuple[str, Any]] = [(f"{path}: length", len(value))]
    if len(value) <= _WHOLE:
        seen.append((path, _name(repr(list(value)))))
    for index, entry in enumerate(value[:_ENTRIES]):
        seen += _flat(f"{path}[{index}]", entry)
    if len(value) > 1 and all(isinstance(entry, Number) and not isinstance(entry, complex) for entry in value):
        numbers = list(map(_double, value))
        seen.append((f"{path}: sum", math.fsum(numbers) if all(map(math.isfinite, numbers)) else math.nan))
        seen.append((f"{path}: position of the largest number", float(np.argmax(numbers))))
        steps = pairwise(numbers[:_ENTRIES])
        seen += [
            (f"{path}[{index + 1}] - {path}[{index}]", after - before) for index, (before, after) in enumerate(steps)
        ]
    return seen


_CONTAINERS: list[tuple[Any, Callable[[str, Any], list[tuple[str, Any]]]]] = [
    (Mapping, _mapping),
    (Set, _set),
    (np.ndarray, _array),
    (Sequence, _sequence),
]
