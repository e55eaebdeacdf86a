"""What a plot is made of. Marks are records: checked when built, drawn by `plot`.

Numbers may be int, float, Fraction, Decimal or an array's elements. A value that is not finite is a gap in a line and
is left out elsewhere: released values never make a drawing fail. Lengths that do not match are the caller's mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deniable.errors import InvalidArgument

Numbers = Iterable[Any]


def floats(values: Numbers, name: str) -> tuple[float, ...]:
    """The values as floats; what is no number at all is refused with its value."""
    try:
        return tuple(_float(value) for value in values)
    except TypeError as problem:
        raise InvalidArgument(f"{name} must be a sequence of numbers: {problem}") from None


def _float(value: Any) -> float:
    if isinstance(value, str | bytes | bool):
        raise TypeError(f"got {value!r}")
    try:
        return float(value)
    except OverflowError:  # an exact number beyond the largest float
        return float("inf") if value > 0 else float("-inf")


def same_length(**named: tuple[object, ...]) -> None:
    """Refuse sequences of different lengths, naming them."""
    lengths = {name: len(values) for name, values in named.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidArgument(f"sequences must have the same length, but {found}")


class _Curve:
    """Shared by marks with an x and a y for each point."""

    __slots__ = ()
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", floats(self.x, "x"))
        object.__setattr__(self, "y", floats(self.y, "y"))
        same_length(x=self.x, y=self.y)


@dataclass(frozen=True, slots=True)
class Line(_Curve):
    """A line through the points, in the order given."""

    x: Any
    y: Any
    label: str = ""


@dataclass(frozen=True, slots=True)
class StepLine(_Curve):
    """A step line: each y holds from its x up to the next."""

    x: Any
    y: Any
    label: str = ""


@dataclass(frozen=True, slots=True)
class Stems(_Curve):
    """A thin bar from zero to each point: masses of a discrete distribution."""

    x: Any
    y: Any
    label: str = ""


@dataclass(frozen=True, slots=True)
class Points:
    """Points, with error bars where `lower` and `upper` are given."""

    x: Any
    y: Any
    lower: Any = None
    upper: Any = None
    label: str = ""

    def __post_init__(self) -> None:
        x, y = floats(self.x, "x"), floats(self.y, "y")
        lower = y if self.lower is None else floats(self.lower, "lower")
        upper = y if self.upper is None else floats(self.upper, "upper")
        same_length(x=x, y=y, lower=lower, upper=upper)
        for name, value in (("x", x), ("y", y), ("lower", lower), ("upper", upper)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class ShadedBand:
    """The shaded region between two curves."""

    x: Any
    lower: Any
    upper: Any
    label: str = ""

    def __post_init__(self) -> None:
        for name in ("x", "lower", "upper"):
            object.__setattr__(self, name, floats(getattr(self, name), name))
        same_length(x=self.x, lower=self.lower, upper=self.upper)


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A dashed reference line across the frame, at a given x or a given y, with its text beside it."""

    x: Any = None
    y: Any = None
    label: str = ""

    def __post_init__(self) -> None:
        if (self.x is None) == (self.y is None):
            raise InvalidArgument(f"a rule needs x or y and not both, got x={self.x!r} and y={self.y!r}")
        name = "x" if self.y is None else "y"
        object.__setattr__(self, name, floats([getattr(self, name)], name)[0])


Mark = Line | StepLine | Stems | Points | ShadedBand | ReferenceLine
