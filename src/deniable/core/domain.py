"""Sets of values. A domain's fields are public facts about the data, never data; `value in domain` tests membership.

Numbers on a grid are *carried as whole numbers of steps* (`Lattice`), so sums and noise are integer arithmetic; people
read them as `steps * step`. Membership never raises, whatever the value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from deniable.core.cells import cells, missing, whole
from deniable.core.graph_data import Graphs
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.guards import Real, integer, positive, rational


def _total(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A membership test that says no where it would raise."""

    @functools.wraps(test)
    def answer(domain: Any, value: Any) -> bool:
        try:
            return bool(test(domain, value))
        except Exception:
            return False

    return answer


def _whole(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    value.__index__()
    return True


def _check_bounds(lower: Any, upper: Any) -> None:
    if lower is not None and upper is not None and not lower <= upper:
        raise InvalidArgument(f"lower must not exceed upper, got {lower!r} > {upper!r}")


@dataclass(frozen=True, slots=True)
class Numbers:
    """Floating-point numbers as they come: NaN, infinities and None included unless `missing` is False."""

    lower: Fraction | None = None
    upper: Fraction | None = None
    missing: bool = True

    def __post_init__(self) -> None:
        _check_bounds(self.lower, self.upper)

    @_total
    def __contains__(self, value: Any) -> bool:
        if isinstance(value, bool | str | bytes):
            return False
        if missing(value):
            return self.missing
        number = float(value)
        above = self.lower is None or number == math.inf or (math.isfinite(number) and Fraction(number) >= self.lower)
        below = self.upper is None or number == -math.inf or (math.isfinite(number) and Fraction(number) <= self.upper)
        return above and below and (self.missing or math.isfinite(number))


@dataclass(frozen=True, slots=True)
class Lattice:
    """Whole multiples of `step`, carried as the number of steps; `lower` and `upper` are counted in steps too."""

    step: Fraction = Fraction(1)
    lower: int | None = None
    upper: int | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        positive(step=self.step)
        _check_bounds(self.lower, self.upper)

    @_total
    def __contains__(self, value: Any) -> bool:
        if missing(value):
            return self.missing
        if not _whole(value):
            return False
        steps = int(value)
        return (self.lower is None or steps >= self.lower) and (self.upper is None or steps <= self.upper)

    def read(self, steps: int) -> int | float:
        """The number a person reads for a count of steps: a whole number when the step is one."""
        top, bottom = int(steps) * self.step.numerator, self.step.denominator
        return top if bottom == 1 else top / bottom


@dataclass(frozen=True, slots=True)
class Booleans:
    """True and False."""

    missing: bool = False

    @_total
    def __contains__(self, value: Any) -> bool:
        if missing(value):
            return self.missing
        return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


@dataclass(frozen=True, slots=True)
class Texts:
    """Any text."""

    missing: bool = True

    @_total
    def __contains__(self, value: Any) -> bool:
        return self.missing if missing(value) else isinstance(value, str)


@dataclass(frozen=True, slots=True)
class Categories:
    """One of a public list of values, in public order."""

    values: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(value, Hashable) for value in self.values):
            raise InvalidArgument(f"a category must be hashable (a text, a number, a tuple), got {self.values!r}")
        if not self.values or len(set(self.values)) != len(self.values):
            raise InvalidArgument(f"categories must be distinct and at least one, got {self.values!r}")

    @_total
    def __contains__(self, value: Any) -> bool:
        return value in self.values


@dataclass(frozen=True, slots=True)
class Anything:
    """Every value: what a user-made transformation may accept or return."""

    label: str = "anything"

    @_total
    def __contains__(self, value: Any) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Rows:
    """Lists (or one-dimensional arrays) of elements; `size` when the number of rows is public."""

    element: Domain
    size: int | None = None

    def __post_init__(self) -> None:
        _check_domain(self.element)
        if self.size is not None:
            integer(size=self.size, least=0)

    @_total
    def __contains__(self, value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        rows = list(value)
        return (self.size is None or len(rows) == self.size) and all(row in self.element for row in rows)


@dataclass(frozen=True, slots=True)
class Ball:
    """A public bound on a vector's norm: within `radius` of `origin` in L_p, p being 1, 2 or None for infinity.

    The origin is one number for all entries, or one for each.
    """

    radius: Fraction
    p: int | None = 2
    origin: Fraction | tuple[Fraction, ...] = Fraction(0)

    def __post_init__(self) -> None:
        positive(radius=self.radius)
        if self.p not in (1, 2, None):
            raise InvalidArgument(f"a norm bound is for p = 1, 2 or None (infinity), got {self.p!r}")
        if isinstance(self.origin, list | tuple):
            object.__setattr__(self, "origin", tuple(rational(origin=each) for each in self.origin))

    def centre(self, length: int) -> tuple[Fraction, ...]:
        """The origin of vectors of this length, entry by entry."""
        return self.origin if isinstance(self.origin, tuple) else (self.origin,) * length

    def norm(self, parts: Iterable[Fraction]) -> Fraction:
        """The norm of some entries, its square for p = 2: exact."""
        sizes = [abs(part) for part in parts]
        if self.p == 1:
            return sum(sizes, Fraction(0))
        return sum((size * size for size in sizes), Fraction(0)) if self.p == 2 else max(sizes, default=Fraction(0))


@dataclass(frozen=True, slots=True)
class Vectors:
    """Sequences of a public `length`; within `ball` when that is set."""

    element: Domain
    length: int
    ball: Ball | None = None

    def __post_init__(self) -> None:
        _check_domain(self.element)
        integer(length=self.length, least=0)
        if self.ball is not None and len(self.ball.centre(self.length)) != self.length:
            raise InvalidArgument(
                f"the ball's origin must have {number_of(self.length, 'entry', 'entries')}, got {self.ball.origin!r}"
            )

    @_total
    def __contains__(self, value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        entries = list(value)
        if len(entries) != self.length or not all(entry in self.element for entry in entries):
            return False
        return self.ball is None or self._inside(entries, self.ball)

    def _inside(self, entries: list[Any], ball: Ball) -> bool:
        step = self.element.step if isinstance(self.element, Lattice) else Fraction(1)
        centre = ball.centre(self.length)
        away = ball.norm(Fraction(entry) * step - origin for entry, origin in zip(entries, centre, strict=True))
        return away <= (ball.radius**2 if ball.p == 2 else ball.radius)


@dataclass(frozen=True, slots=True)
class Keyed:
    """One value per public key: a partition, or a table of results. `keys` None: keys come from data and are private."""

    element: Domain
    keys: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        _check_domain(self.element)

    @_total
    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, Mapping):
            return False
        if self.keys is not None and set(value) != set(self.keys):
            return False
        return all(part in self.element for part in value.values())


@dataclass(frozen=True, slots=True)
class Pieces:
    """A stream: pieces that arrive one after another, each a member of `element`. How many there are is public."""

    element: Domain

    def __post_init__(self) -> None:
        _check_domain(self.element)

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        return all(piece in self.element for piece in value)


@dataclass(frozen=True, slots=True)
class Frame:
    """A data frame: named columns of one length, each with its own domain."""

    columns: Mapping[str, Domain] = field(hash=False)
    size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise InvalidArgument(
                f"columns come as {{name: domain}}, such as {{'age': integers()}}, got {self.columns!r}"
            )
        object.__setattr__(self, "columns", dict(self.columns))
        for each in self.columns.values():
            _check_domain(each)

    def __hash__(self) -> int:
        return hash((Frame, tuple(self.columns.items()), self.size))

    @_total
    def __contains__(self, value: Any) -> bool:
        names = set(value.keys())
        lengths = {len(value[name]) for name in self.columns}
        if names != set(self.columns) or len(lengths) > 1:
            return False
        if self.size is not None and lengths and lengths != {self.size}:
            return False
        return all(cell in domain for name, domain in self.columns.items() for cell in value[name])


@dataclass(frozen=True, slots=True)
class Frames:
    """Several data frames under public names, about the same people."""

    tables: Mapping[str, Frame] = field(hash=False)

    def __hash__(self) -> int:
        return hash((Frames, tuple(self.tables.items())))

    @_total
    def __contains__(self, value: Any) -> bool:
        names = set(value.keys())
        return names == set(self.tables) and all(value[name] in table for name, table in self.tables.items())


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables a codebook allows. Their rows are held by an engine and never seen; `codebook` is the hash of all public facts."""

    name: str
    codebook: str

    def __contains__(self, value: Any) -> bool:
        return getattr(value, "tables", None) == self


Domain: TypeAlias = (
    Numbers
    | Lattice
    | Booleans
    | Texts
    | Categories
    | Anything
    | Rows
    | Vectors
    | Keyed
    | Pieces
    | Frame
    | Frames
    | Graphs
    | Tables
)


def _check_domain(values: object) -> None:
    if not isinstance(values, Domain):
        raise InvalidArgument(f"values come from a domain, such as integers(lower=0, upper=10), got {values!r}")


def shown(value: Any, domain: Domain) -> Any:
    """A value as people read it: whole numbers of steps become the numbers they stand for; what is carried as it is stays."""
    if not _coarse(domain):
        return value
    match domain:
        case Lattice():
            steps = whole(value)
            return value if steps is None else domain.read(steps)
        case Rows() | Vectors():
            return [shown(each, domain.element) for each in cells(value)]
        case Keyed():
            return {key: shown(each, domain.element) for key, each in value.items()}
        case Frame():
            return {name: shown(value[name], Rows(each)) for name, each in domain.columns.items()}
        case _:
            return value


def _coarse(domain: Domain) -> bool:
    """Is some number here carried in steps other than one?"""
    match domain:
        case Lattice():
            return domain.step != 1
        case Rows() | Vectors() | Keyed():
            return _coarse(domain.element)
        case Frame():
            return any(map(_coarse, domain.columns.values()))
        case _:
            return False


def numbers(*, lower: Real | None = None, upper: Real | None = None, missing: bool = True) -> Numbers:
    """Numbers as they come in files: NaN, infinities and None are members unless `missing=False`."""
    low = None if lower is None else rational(lower=lower)
    high = None if upper is None else rational(upper=upper)
    return Numbers(low, high, missing)


def integers(*, lower: int | None = None, upper: int | None = None, missing: bool = False) -> Lattice:
    """Whole numbers, with public bounds where they are known."""
    low = None if lower is None else integer(lower=lower)
    high = None if upper is None else integer(upper=upper)
    return Lattice(Fraction(1), low, high, missing)


def categories(values: Iterable[Hashable]) -> Categories:
    """A public list of the values a cell may take."""
    return Categories(tuple(values))
