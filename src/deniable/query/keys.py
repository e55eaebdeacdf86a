"""Group keys: declared ones are all shown, empty or not; observed ones only where enough units share them.

A key is declared when the analyst lists its values, or when the codebook makes them finite: categories, truth values, bins, a
bounded whole number, a function of one, a bounded date cut to a period. Keys are never read from data to decide this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from deniable.engines.evaluate import evaluate
from deniable.errors import InvalidArgument, QueryRefused
from deniable.exact import number_of
from deniable.exact.guards import rational
from deniable.plan.analysis import facts
from deniable.plan.canonical import with_parts
from deniable.plan.expression import Arithmetic, Case, Column, Divide, Expression, Literal, children, columns
from deniable.plan.facts import Facts, Kind, date_of, timestamp_of
from deniable.plan.functions.bins import Bin
from deniable.plan.functions.calendar import (
    CalendarPart,
    DatePart,
    ToDate,
    Truncate,
    truncated_date,
    truncated_timestamp,
)
from deniable.plan.functions.scalar import Cell, ScalarFunction
from deniable.plan.nodes import Filter, Join, KeyColumn, Project, Relation
from deniable.plan.provenance import bin_labels, declared_bins
from deniable.plan.relation import schema, shape
from deniable.query.public_conditions import listed_keys, narrowed, possible_keys

if TYPE_CHECKING:
    from deniable.query.builder import Query

MOST_BINS = 100
"""The most bins between private quantiles."""

_MOST_VALUES = 1000
"""A bounded whole number with more values than this is not taken as a declared key."""

_MOST_GROUPS = 10**7
"""How many declared groups all levels of a query may have together."""

_MOST_EVALUATED = 10_000
"""An expression is worked out for at most so many values of what it reads."""

_HOUR = 3_600_000_000
_PARTS_OF_DAYS = (CalendarPart.HOUR, CalendarPart.MINUTE)


@dataclass(frozen=True, slots=True)
class Key:
    """One group key: its name, what it is, and the values to show when the analyst declares them.

    `labels` are the words for its numbers 0, 1, ... where these stand for the codebook's bins. With `quantiles`, `of` is cut at
    so many private quantiles, less one, which are released first.
    """

    name: str
    of: Expression
    values: tuple[Any, ...] | None = None
    labels: tuple[str, ...] | None = None
    quantiles: int | None = None


def key_of(source: Relation, name: str, of: Expression, values: Sequence[Any] | None) -> Key:
    """A key; a number with bins in the codebook is grouped by them unless its values are listed."""
    if values is not None and (not values or len(set(values)) != len(values)):
        raise InvalidArgument(f"declared key values must be distinct and at least one, got {list(values)!r}")
    below = shape(source)
    if isinstance(of, Column) and (of.name in below.anchors or (below.unit and of.name == below.unit.id)):
        raise QueryRefused(
            "group-by-unit",
            "every group would hold one unit, so none could be shown",
            rewrite="group by something many units share, or sum up each unit with per_unit(...)",
        )
    edges = declared_bins(source, of) if values is None else None
    if edges is not None:
        return Key(name, Bin(of, edges), None, bin_labels(edges))
    return Key(name, of, None if values is None else tuple(values))


@dataclass(frozen=True, slots=True)
class KeySet:
    """The key columns of a plan, with what is needed to read them back."""

    columns: tuple[KeyColumn, ...]
    facts: tuple[Facts, ...]
    labels: tuple[tuple[str, ...] | None, ...]

    @property
    def observed(self) -> bool:
        """Whether some key is taken from the data."""
        return any(column.domain is None for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys, in order."""
        return tuple(column.name for column in self.columns)

    def declared(self, level: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Every declared group of a level whose keys are all declared, as engines hold keys, in public order."""
        return product(*(column.domain or () if column.name in level else (None,) for column in self.columns))

    def read_all(self, index: int, values: Sequence[Any]) -> Sequence[Any]:
        """One key of every group as people read it: numbers come off the grid."""
        known, labels = self.facts[index], self.labels[index]
        if labels is not None:
            return [value if value is None else labels[value] for value in values]
        if known.kind is not Kind.NUMBER or known.step == 1:
            return values
        top, bottom = known.step.as_integer_ratio()
        return [value if value is None else _quotient(value * top, bottom) for value in values]

    @property
    def wide(self) -> bool:
        """Whether all keys together make more groups than a table may have; each level that is asked for has fewer."""
        return prod(len(column.domain) for column in self.columns if column.domain is not None) > _MOST_GROUPS

    def sentence(self) -> str:
        """How the keys were chosen, for the reader of a release."""
        if not self.columns:
            return "no groups"
        observed = [column.name for column in self.columns if column.domain is None]
        if not observed:
            return "all keys are declared publicly; empty groups are shown"
        return f"values of {', '.join(observed)} come from the data; groups with few units are hidden"


def _quotient(top: int, bottom: int) -> int | float:
    """A whole number where it is one, else the nearest float."""
    return top / bottom if top % bottom else top // bottom


def key_set(query: Query[Any]) -> KeySet:
    """The keys of a query."""
    known = schema(query.source)
    described = tuple(facts(key.of, known) for key in query.keys)
    columns = tuple(_column(key, fact, query.source) for key, fact in zip(query.keys, described, strict=True))
    if len({column.name for column in columns}) != len(columns):
        raise InvalidArgument(f"group keys need names that differ, got {[column.name for column in columns]}")
    declared = {column.name: len(column.domain) for column in columns if column.domain is not None}
    levels = query.levels or (tuple(column.name for column in columns),)
    size = sum(prod(declared.get(name, 1) for name in level) for level in levels)
    if size > _MOST_GROUPS:
        raise QueryRefused(
            "too-many-groups",
            f"the declared keys make {number_of(size, 'group')}",
            rewrite="group by fewer or coarser keys",
        )
    return KeySet(columns, described, tuple(key.labels for key in query.keys))


def _column(key: Key, known: Facts, source: Relation) -> KeyColumn:
    if key.values is not None:
        return KeyColumn(key.name, key.of, _held(key, known))
    domain = _domain(key.of, known, source)
    if domain is None:
        return KeyColumn(key.name, key.of, listed_keys(source, key.of, known))
    return KeyColumn(key.name, key.of, possible_keys(source, key.of, domain))


def _held(key: Key, known: Facts) -> tuple[object, ...]:
    """Values an analyst wrote, as engines hold them."""
    assert key.values is not None
    return tuple(_hold(key.name, value, known) for value in key.values)


def _hold(name: str, value: Any, known: Facts) -> object:
    wanted: dict[Kind, tuple[type, ...]] = {
        Kind.NUMBER: (int, float, Fraction),
        Kind.BOOLEAN: (bool,),
        Kind.STRING: (str,),
        Kind.DATE: (date,),
        Kind.TIMESTAMP: (datetime,),
    }
    if not isinstance(value, wanted[known.kind]) or (isinstance(value, bool) and known.kind is not Kind.BOOLEAN):
        raise InvalidArgument(f"values of key {name!r} must be {known.kind.value}s, got {value!r}")
    if known.kind is not Kind.NUMBER:
        return value
    steps = rational(**{name: value}) / known.step
    if steps.denominator != 1:
        raise InvalidArgument(f"values of key {name!r} must be multiples of {known.step}, got {value!r}")
    return steps.numerator


# What a key can be, from declarations and the query's own text ------------------------------------------------------------

Cells: TypeAlias = frozenset[Cell]
"""Everything an expression can be on a row, and perhaps more; missing values as None."""


def _domain(of: Expression, known: Facts, source: Relation) -> tuple[object, ...] | None:
    """The values a key can have, as engines hold them, in public order; None where they are not known to be few.

    Guarantee: nothing is read; a value that is left out is the key of no row whatever the data are.
    """
    cells = _cells(of, source) or _by_enumeration(of, source, _MOST_EVALUATED)
    present = (cells or frozenset()) - {None}
    if not present:  # where no row can be, all that is declared is shown
        declared = _declared(of, known)
        if declared is None:
            return None
        present = declared - {None}
    if known.kind is Kind.BOOLEAN or known.categories is not None:
        return tuple(value for value in known.categories or (False, True) if value in present)
    ordered: Any = present
    return tuple(_as_held(value, known) for value in sorted(ordered))


def _as_held(value: Cell, known: Facts) -> object:
    return int(value / known.step) if isinstance(value, Fraction) else value


def _cells(of: Expression, source: Relation) -> Cells | None:
    """The values of an expression, from its facts and from the values of its parts."""
    if isinstance(of, Column):
        return _column_cells(of.name, source)
    image = _by_enumeration(of, source, _MOST_VALUES)
    if image is not None:  # value by value: neither facts nor parts say more
        return image
    found = [_declared(of, facts(of, _known(of, source))), _from_parts(of, source)]
    several = [cells for cells in found if cells is not None]
    return frozenset.intersection(*several) if several else None


def _known(of: Expression, source: Relation) -> dict[str, Facts]:
    """What is known of the columns an expression reads, where the query's conditions hold."""
    return {name: narrowed(source, name) for name in columns(of)}


def _column_cells(name: str, source: Relation) -> Cells | None:
    """The values of a column: of what it was computed from, but for those that a condition on it leaves out."""
    match source:
        case Project(below, written):
            return _cells(dict(written)[name], below)
        case Join(left) if name in schema(left):
            return _column_cells(name, left)
        case Filter(below):
            cells = _column_cells(name, below)
            return None if cells is None else _let_through(cells, name, source)
        case _:
            return _declared(Column(name), narrowed(source, name))


def _let_through(cells: Cells, name: str, source: Relation) -> Cells:
    """Those of a column's values that the query's conditions on it let through."""
    known = schema(source)[name]
    held = tuple(value if value is None else _as_held(value, known) for value in cells)
    return frozenset(_as_cell(value, known) for value in possible_keys(source, Column(name), held))


def _as_cell(value: Any, known: Facts) -> Cell:
    cell: Cell = value * known.step if known.kind is Kind.NUMBER and value is not None else value
    return cell


def _declared(of: Expression, known: Facts) -> Cells | None:
    """All that the facts of an expression allow, where that is finite."""
    values = _finite(of, known)
    if values is None:
        return None
    return frozenset((*(_as_cell(value, known) for value in values), *((None,) if known.nullable else ())))


def _by_enumeration(of: Expression, source: Relation, most: int) -> Cells | None:
    """The image of the one column an expression reads, value by value; None where that column has more values than `most`."""
    names = columns(of)
    if len(names) != 1 or isinstance(of, Column):
        return None
    (name,) = names
    given, known = _column_cells(name, source), narrowed(source, name)
    if given is None and known.kind is Kind.NUMBER and known.bounded and known.ends[1] - known.ends[0] < most:
        given = _grid(known)
    return None if given is None else _image(of, ((name, known, given),))


@lru_cache(maxsize=64)
def _grid(known: Facts) -> Cells:
    """The values of a bounded number."""
    missing = (None,) if known.nullable else ()
    return frozenset((*missing, *(count * known.step for count in range(known.ends[0], known.ends[1] + 1))))


def _from_parts(of: Expression, source: Relation) -> Cells | None:
    """The values of an expression from those of its parts, taken in every combination."""
    if not columns(of):
        return frozenset((evaluate(of, {}, {}),))
    match of:
        case Case(branches, otherwise):
            results = [result for _, result in branches] + ([] if otherwise is None else [otherwise])
            sets = [_cells(result, source) for result in results]
            missing: Cells = frozenset((None,) if otherwise is None else ())
            return None if None in sets else missing.union(*(cells for cells in sets if cells is not None))
        case DatePart(part, value) if part not in _PARTS_OF_DAYS and not isinstance(value, ToDate):
            return _cells(DatePart(part, ToDate(value)), source)
        case Arithmetic() | Divide() | ScalarFunction():
            return _combined(of, source)
        case _:
            return None


def _combined(of: Expression, source: Relation) -> Cells | None:
    """The values of an operation or function from those of its arguments."""
    parts = [part for part in dict.fromkeys(children(of)) if not isinstance(part, Literal)]
    given = [cells for part in parts if (cells := _cells(part, source)) is not None]
    if not parts or len(given) < len(parts) or prod(map(len, given)) > _MOST_EVALUATED:
        return None
    named: dict[Expression, Column] = {part: Column(f"{place}") for place, part in enumerate(parts)}
    known = [facts(part, _known(of, source)) for part in parts]
    apart = with_parts(of, lambda part: named.get(part, part))
    return _image(apart, tuple(zip((each.name for each in named.values()), known, given, strict=True)))


@lru_cache(maxsize=64)
def _image(of: Expression, given: tuple[tuple[str, Facts, Cells], ...]) -> Cells | None:
    """The values of an expression where each of its columns has one of these, if they are few.

    Remembered, because a question is priced more than once.
    """
    known = {name: about for name, about, _ in given}
    rows = product(*(cells for *_, cells in given))
    found = frozenset(evaluate(of, dict(zip(known, row, strict=True)), known) for row in rows)
    return found if len(found - {None}) <= _MOST_VALUES else None


def _finite(of: Expression, known: Facts) -> tuple[object, ...] | None:
    match known.kind:
        case Kind.STRING:
            return known.categories
        case Kind.BOOLEAN:
            return (False, True)
        case _ if not known.bounded:
            return None
        case Kind.NUMBER:
            low, high = known.ends
            return tuple(range(low, high + 1)) if high - low < _MOST_VALUES else None
        case Kind.DATE | Kind.TIMESTAMP:
            return _moments(of, known)


@lru_cache(maxsize=64)
def _moments(of: Expression, known: Facts) -> tuple[object, ...] | None:
    """The days of a bounded date, or the starts of the periods a bounded time was cut to.

    Remembered, because a statement asks it of one column many times over.
    """
    low, high = known.ends
    if known.kind is Kind.DATE:
        if high - low >= 366 * _MOST_VALUES:
            return None
        found = [date_of(day) for day in range(low, high + 1)]
        if isinstance(of, Truncate):
            found = list(dict.fromkeys(truncated_date(day, of.length) for day in found))
        return tuple(found) if len(found) <= _MOST_VALUES else None
    if not isinstance(of, Truncate) or (high - low) // _HOUR > 24 * 366 * _MOST_VALUES // 8:
        return None
    hours = (timestamp_of(low + hour * _HOUR) for hour in range((high - low) // _HOUR + 1))
    starts = dict.fromkeys(truncated_timestamp(moment, of.length) for moment in (*hours, timestamp_of(high)))
    return tuple(starts) if len(starts) <= _MOST_VALUES else None
