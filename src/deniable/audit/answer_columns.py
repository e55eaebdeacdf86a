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
    """The answer was an error: its class is what an observer sees. The text is part of it too, without numbers of lines."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One thing seen of every draw: as a number (NaN where it is none) and, where it has few values, as a name."""

    numbers: NDArray[np.float64] | None
    names: NDArray[Any] | None

    def part(self, where: slice) -> AnswerColumn:
        """Some of the draws."""
        return AnswerColumn(*(None if each is None else each[where] for each in (self.numbers, self.names)))


Sample = dict[str, AnswerColumn]


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
    """An array of answers, one number each."""
    kind = {"answer: type": AnswerColumn(None, np.full(len(outputs), str(outputs.dtype)))}
    if outputs.dtype.kind == "b":
        return kind | {"answer": AnswerColumn(None, outputs.astype(str))}
    return kind | _numeric("answer", outputs.astype(np.float64), np.ones(len(outputs), dtype=np.bool_))


def _column(path: str, values: list[Any]) -> Sample:
    numeric = np.array([_is_number(value) for value in values])
    numbers = np.array([_double(value) if is_one else math.nan for value, is_one in zip(values, numeric, strict=True)])
    if numeric.all():
        return _numeric(path, numbers, numeric)
    names = np.array([NUMBER if is_one else _name(value) for value, is_one in zip(values, numeric, strict=True)])
    return {path: AnswerColumn(None, names)} | ({} if not numeric.any() else _numeric(path, numbers, numeric, names))


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool | np.bool_ | complex)


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def _name(value: Any) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", value if isinstance(value, str) else repr(value))
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
        path: AnswerColumn(numbers, names),
        f"{path}: kind of number": AnswerColumn(None, kinds),
        f"{path}: exponent": AnswerColumn(np.where(numeric, exponents, math.nan), None),
        f"{path}: place of the lowest bit": AnswerColumn(np.where(numeric & (finite != 0), lowest, math.nan), None),
    }


def seen(answer: Any) -> list[tuple[str, str]]:
    """Everything that can be seen of one answer, as text."""
    return [(path, _name(repr(value))) for path, value in _flat("answer", answer)]


# One answer ---------------------------------------------------------------------------------------------------------------


def _flat(path: str, value: Any) -> list[tuple[str, Any]]:
    """An answer as (path, scalar) pairs."""
    if isinstance(value, Failure):
        return [("error", value.kind)]
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
        seen.append((f"{path}: place of the largest", float(np.argmax(numbers))))
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
