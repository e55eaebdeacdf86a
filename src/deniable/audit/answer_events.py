"""Events: sets of answers that may tell two neighbours apart, described so that a person understands them.

Candidates are made from the draws that are only used for choosing: half-lines and intervals on a grid of quantiles, single values,
and unions of cells ordered by how much more often they were seen on one side than on the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.audit.answer_columns import ABSENT, NUMBER, Sample, SampleColumn

_CELLS = 24
_ATOMS = 400
_SHOWN, _EXAMPLES = 6, 3
_PLACES = ("first", "second", "third", "fourth")
_EXPONENT, _LOWEST, _KIND = ": exponent", ": place of the lowest bit", ": kind of number"


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """The answers whose column `of` lies in one of the `intervals` (low, high], or is one of the `names`.

    An interval without a lower end holds minus infinity too.
    """

    of: str
    intervals: tuple[tuple[float, float], ...] = ()
    names: tuple[str, ...] = ()
    said: str = field(default="", repr=False, compare=False)
    """The event in words, where its names are too long to be read; otherwise `str` finds words of its own."""

    def count(self, sample: Sample, *, draws: int) -> int:
        """In how many of these draws it happened; where the column is not there, every draw reads as absent."""
        return int(self._holds(sample.get(self.of, SampleColumn(None, None)), draws).sum())

    def _holds(self, column: SampleColumn, draws: int) -> NDArray[np.bool_]:
        found = np.zeros(draws, dtype=np.bool_)
        if column.names is not None:
            found |= np.isin(column.names, self.names)
        elif (ABSENT if column.numbers is None else NUMBER) in self.names:
            found[:] = True
        if self.intervals and column.numbers is not None:
            for low, high in self.intervals:
                found |= ((column.numbers > low) | (low == -math.inf)) & (column.numbers <= high)
        return found

    def __str__(self) -> str:
        return self.said or event_text(self.of, self.intervals, self.names)

    def record(self) -> dict[str, Any]:
        """As plain JSON; an end that is not finite is null."""
        ends = [[end if math.isfinite(end) else None for end in pair] for pair in self.intervals]
        return {"column": self.of, "intervals": ends, "names": list(self.names), "text": str(self)}


@dataclass(frozen=True, slots=True)
class Candidates:
    """Many events of one column, with their counts on both sides; `event(k)` writes down the k-th."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    event: Callable[[int], AnswerEvent]
    alternatives: float
    """The logarithm of how many events could have been here instead: the best of many looks better than it is."""
    middle: int | None = None
    """Of numbers: the half-line that half of all answers lie in, as nearly as can be; the best event for noise that is added."""


def candidates(left: Sample, right: Sample) -> Iterator[Candidates]:
    """All events worth looking at: columns that are the same in every draw have none.

    A column that is not there reads as one that no draw has, and columns come by their names: whether a later draw has one
    makes no difference.
    """
    sizes = [_size(sample) for sample in (left, right)]
    for name in sorted({*left, *right}, key=lambda name: (": " in name, name)):
        sides = [sample.get(name) for sample in (left, right)]
        yield from _of_names(name, sides, sizes)
        yield from _of_numbers(name, sides, sizes)


def _size(sample: Sample) -> int:
    column = next(iter(sample.values()))
    return len(column.names if column.names is not None else column.numbers)  # type: ignore[arg-type]


def _listed(side: SampleColumn | None, size: int) -> NDArray[Any]:
    if side is not None and side.names is not None:
        return side.names
    return np.full(size, ABSENT if side is None or side.numbers is None else NUMBER)


def _of_names(name: str, sides: list[SampleColumn | None], sizes: list[int]) -> Iterator[Candidates]:
    if name.endswith((_EXPONENT, _LOWEST)) or all(side is not None and side.names is None for side in sides):
        return
    present = [_listed(side, size) for side, size in zip(sides, sizes, strict=True)]
    values, codes = np.unique(np.concatenate(present), return_inverse=True)
    split = len(present[0])
    a, b = (np.bincount(part, minlength=len(values)) for part in (codes[:split], codes[split:]))
    if len(values) < 2:
        return
    kept = np.argsort(-(a + b), kind="stable")[:_ATOMS]
    a, b, values = a[kept], b[kept], values[kept]
    yield Candidates(a, b, lambda k: AnswerEvent(name, names=(str(values[k]),)), math.log(len(values)))
    yield from _unions(a, b, lambda cells: AnswerEvent(name, names=tuple(str(values[cell]) for cell in cells)))


def _of_numbers(name: str, sides: list[SampleColumn | None], sizes: list[int]) -> Iterator[Candidates]:
    numbers = [
        np.full(size, math.nan) if side is None or side.numbers is None else side.numbers
        for side, size in zip(sides, sizes, strict=True)
    ]
    finite = [each[~np.isnan(each)] for each in numbers]
    pooled = np.concatenate(finite)
    if pooled.size == 0 or (
        pooled.min() == pooled.max() and finite[0].size == numbers[0].size and finite[1].size == numbers[1].size
    ):
        return
    ends = _grid(pooled)
    a, b = (np.bincount(np.searchsorted(ends, each, side="left"), minlength=len(ends)) for each in finite)
    lows = np.concatenate([[-np.inf], ends[:-1]])
    starts, stops = np.triu_indices(len(ends))
    sums = [np.concatenate([[0], np.cumsum(each)]) for each in (a, b)]
    counts = [each[stops + 1] - each[starts] for each in sums]
    yield Candidates(
        counts[0],
        counts[1],
        lambda k: AnswerEvent(name, ((float(lows[starts[k]]), float(ends[stops[k]])),)),
        math.log(len(starts)),
        _nearest_half(a + b),  # half-lines come first
    )
    yield from _unions(a, b, lambda cells: AnswerEvent(name, _joined(lows, ends, cells)))


def _nearest_half(counts: NDArray[np.int64]) -> int:
    """The place up to which most nearly half of the counts lie, short of all of them."""
    below = np.cumsum(counts)
    return int(np.argmin(np.abs(2 * below[:-1] - below[-1]))) if len(counts) > 1 else 0


def _grid(pooled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Right ends of cells: each value one cell where there are few, quantiles and the most frequent values where there are many."""
    values, counts = np.unique(pooled, return_counts=True)
    if len(values) > 2 * _CELLS:
        often = values[np.argsort(-counts, kind="stable")[:4]] if counts.max() > len(pooled) / 50 else values[:0]
        below = values[np.maximum(np.searchsorted(values, often) - 1, 0)]
        quantiles = np.quantile(pooled, np.arange(1, _CELLS) / _CELLS, method="lower")
        rare = np.quantile(pooled, [0.002, 0.01, 0.99, 0.998], method="lower")
        values = np.unique(np.concatenate([quantiles, rare, often, below, [values[_nearest_half(counts)]]]))
    return np.concatenate([values[values < pooled.max()], [np.inf]])


def _unions(
    a: NDArray[np.int64], b: NDArray[np.int64], event: Callable[[list[int]], AnswerEvent]
) -> Iterator[Candidates]:
    """The cells seen more often on one side than on the other, then the next: the shape of every best test."""
    if len(a) < 3:
        return
    order = np.argsort(-np.log((a + 0.5) / (b + 0.5)), kind="stable")
    for way in (order, order[::-1]):
        found = way.copy()
        yield Candidates(
            np.cumsum(a[found]),
            np.cumsum(b[found]),
            lambda k, found=found: event(sorted(found[: k + 1].tolist())),  # type: ignore[misc]
            len(a) * math.log(2),
        )


def _joined(lows: Any, ends: Any, cells: list[int]) -> tuple[tuple[float, float], ...]:
    """Cells side by side are one interval."""
    joined: list[tuple[float, float]] = []
    for cell in cells:
        low, high = float(lows[cell]), float(ends[cell])
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return tuple(joined)


# In words -----------------------------------------------------------------------------------------------------------------


def event_text(of: str, intervals: Sequence[tuple[float, float]], names: Sequence[str]) -> str:
    """The event that column `of` of an answer lies in one of the intervals (low, high], or is one of the names."""
    for ending, words in ((_EXPONENT, _sizes_text), (_LOWEST, _multiples_text)):
        if of.endswith(ending) and intervals:
            return words(subject_words(of.removesuffix(ending)), intervals)
    what, verb = subject_words(of.removesuffix(_KIND)), "are" if of.endswith(": keys") else "is"
    if of == "error" and ABSENT in names:
        return "there is no error" if len(names) == 1 else "there is no error, or another one than usual"
    if names:
        return f"{what} {verb} {names_text(names)}"
    return f"{what} is {_either([_interval_text(low, high) for low, high in intervals])}"


def subject_words(of: str) -> str:
    """What a column shows, as the subject of a sentence; a part of an answer is written as Python writes it."""
    path, mark, aspect = of.partition(": ")
    owner = path if "[" in path else f"the {path}"
    return f"the {aspect} of {owner}" if mark else owner


def _either(parts: Sequence[str]) -> str:
    """One of these, of which the first few are said; a comma stands before "or" where a part has an "and" of its own."""
    shown = [*parts[:_SHOWN], *([f"in one of {len(parts) - _SHOWN} more ranges"] if len(parts) > _SHOWN else [])]
    return (", or " if any(" and " in part for part in shown) else " or ").join(shown)


def names_text(names: Sequence[str]) -> str:
    """Values by name: whole numbers as runs, many lists by what stands in each place, of many others the first few."""
    if len(names) > 1 and all(name.removeprefix("-").isdecimal() for name in names):
        return _numbers_text(sorted(map(int, names)))
    plain = {ABSENT: "not there", NUMBER: "a number", "finite": "a finite number"}
    shown = [plain.get(name, name) for name in names]
    if len(names) <= _SHOWN:
        return f"one of {', '.join(shown)}" if len(names) > 1 else shown[0]
    such = f"such as {', '.join(shown[: _EXAMPLES - 1])} and {shown[_EXAMPLES - 1]}"
    places = _places_text(names)
    return f"one of {len(names)} {'lists' if places else 'values'} {such}{places}"


def _places_text(names: Sequence[str]) -> str:
    """Of lists of a few whole numbers: between which ends each place lies; nothing of anything else."""
    if not all(re.fullmatch(r"\[-?\d+(, -?\d+)*\]", name) for name in names):
        return ""
    lists = [list(map(int, name[1:-1].split(", "))) for name in names]
    if len({len(each) for each in lists}) > 1 or len(lists[0]) > len(_PLACES):
        return ""
    ends = [(min(column), max(column)) for column in zip(*lists, strict=True)]
    said = [
        f"{low if low == high else f'{low} to {high}'} in the {place} place"
        for (low, high), place in zip(ends, _PLACES, strict=False)
    ]
    return f", with {', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else f", with {said[0]}"


def _numbers_text(numbers: list[int]) -> str:
    """Whole numbers, those that follow one another as a run, and those at equal steps as such."""
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 3 and len(steps) == 1 and (step := steps.pop()) > 1:
        first, second, *_, last = numbers
        every = f"a multiple of {step} from {first} to {last}"
        return every if first % step == 0 else f"{first}, {second} and so on up to {last}"
    starts = [k for k, number in enumerate(numbers) if k == 0 or numbers[k - 1] != number - 1]
    runs = [numbers[k:end] for k, end in pairwise([*starts, len(numbers)])]
    shown = [f"{run[0]}" if len(run) == 1 else f"from {run[0]} to {run[-1]}" for run in runs[:_SHOWN]]
    rest = sum(map(len, runs[_SHOWN:]))
    return " or ".join([*shown, *([f"one of {rest} more up to {numbers[-1]}"] if rest else [])])


def _interval_text(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "a number"
    if math.isinf(low):
        return f"at most {high:.10g}"
    if math.isinf(high):
        return f"above {low:.10g}"
    return f"above {low:.10g} and at most {high:.10g}"


def _power_text(exponent: float) -> str:
    """A power of two: as a number where that is short."""
    place = math.floor(exponent)
    return f"{2.0**place:g}" if -4 <= place <= 16 else f"2**{place}"


def _sizes_text(what: str, intervals: Sequence[tuple[float, float]]) -> str:
    """A binary exponent e says 2**(e - 1) <= |x| < 2**e; that of zero is 0."""
    sizes = _either([_size_text(low, high) for low, high in intervals])
    if intervals[0] == (-math.inf, math.inf):
        return f"{what} is a finite number"
    return f"{what} is {sizes} in absolute value" if len(intervals) == 1 else f"{what} is in absolute value {sizes}"


def _size_text(low: float, high: float) -> str:
    parts = [] if math.isinf(low) else [f"at least {_power_text(low)}" + (", or zero," if low < 0 else "")]
    return " and ".join([*parts, *([] if math.isinf(high) else [f"below {_power_text(high)}"])])


def _multiples_text(what: str, intervals: Sequence[tuple[float, float]]) -> str:
    """The lowest bit that is set stands at k or above: a multiple of 2**k that is not zero."""
    if len(intervals) > 1:
        return f"the largest power of two that divides {what} is {_either([_powers_text(*each) for each in intervals])}"
    low, high = intervals[0]
    if math.isfinite(high - low) and math.floor(high) - math.floor(low) == 1:
        return f"{what} is an odd multiple of {_power_text(high)}"
    parts = [] if math.isinf(low) else [f"a multiple of {_power_text(low + 1)} other than zero"]
    parts += [] if math.isinf(high) else [f"no multiple of {_power_text(high + 1)}"]
    return f"{what} is {' and '.join(parts) or 'not zero'}"


def _powers_text(low: float, high: float) -> str:
    """The powers of two above that of `low`, up to that of `high`."""
    first, last = (None if math.isinf(low) else math.floor(low) + 1), (None if math.isinf(high) else math.floor(high))
    if first is None or last is None:
        return f"at least {_power_text(first)}" if first is not None else f"at most {_power_text(high)}"
    return _power_text(first) if first == last else f"from {_power_text(first)} to {_power_text(last)}"
