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
from typing import Any

from deniable.engines.evaluate import evaluate
from deniable.errors import InvalidArgument, QueryRefused
from deniable.exact import number_of
from deniable.exact.guards import rational
from deniable.plan.analysis import facts
from deniable.plan.expression import Column, Expression, columns
from deniable.plan.facts import Facts, Kind, date_of, timestamp_of
from deniable.plan.functions.calendar import Truncate, truncated_date, truncated_timestamp
from deniable.plan.nodes import KeyColumn, Relation
from deniable.plan.relation import schema
from deniable.query.builder import Key, Query
from deniable.query.public_conditions import listed_keys, possible_keys

_MOST_VALUES = 1000
"""A bounded whole number with more values than this is not taken as a declared key."""

_MOST_GROUPS = 10**7
"""How many declared groups all levels of a query may have together."""

_HOUR = 3_600_000_000


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
    domain = _image(key, known, source) or _finite(key, known)
    if domain is None:
        return KeyColumn(key.name, key.of, listed_keys(source, key.of, known))
    return KeyColumn(key.name, key.of, possible_keys(source, key.of, domain))


def _image(key: Key, known: Facts, source: Relation) -> tuple[object, ...] | None:
    """The numbers that a function of one bounded number can be, such as the tens of FLOOR(age / 10) * 10; else None.

    Guarantee: nothing is read; a number that is left out is the key of no row whatever the data are.
    """
    names = columns(key.of)
    if key.labels is not None or known.kind is not Kind.NUMBER or isinstance(key.of, Column) or len(names) != 1:
        return None
    (name,) = names
    of = schema(source)[name]
    if of.kind is not Kind.NUMBER or not of.bounded or of.ends[1] - of.ends[0] >= _MOST_VALUES:
        return None
    counts = (*range(of.ends[0], of.ends[1] + 1), *((None,) if of.nullable else ()))
    return _values(key.of, name, of, known.step, possible_keys(source, Column(name), counts)) or None


@lru_cache(maxsize=64)
def _values(
    expression: Expression, name: str, of: Facts, step: Fraction, counts: tuple[object, ...]
) -> tuple[object, ...]:
    """The values of an expression where its one column has these, as engines hold them, in order."""
    cells = (count * of.step if isinstance(count, int) else None for count in counts)
    found = {evaluate(expression, {name: cell}, {name: of}) for cell in cells}
    return tuple(sorted(int(value / step) for value in found if isinstance(value, Fraction)))


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


def _finite(key: Key, known: Facts) -> tuple[object, ...] | None:
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
            return _moments(key, known)


def _moments(key: Key, known: Facts) -> tuple[object, ...] | None:
    """The days of a bounded date, or the starts of the periods a bounded time was cut to."""
    low, high = known.ends
    if known.kind is Kind.DATE:
        if high - low >= 366 * _MOST_VALUES:
            return None
        found = [date_of(day) for day in range(low, high + 1)]
        if isinstance(key.of, Truncate):
            length = key.of.length
            found = list(dict.fromkeys(truncated_date(day, length) for day in found))
        return tuple(found) if len(found) <= _MOST_VALUES else None
    if not isinstance(key.of, Truncate) or (high - low) // _HOUR > 24 * 366 * _MOST_VALUES // 8:
        return None
    length = key.of.length
    hours = (timestamp_of(low + hour * _HOUR) for hour in range((high - low) // _HOUR + 1))
    starts = dict.fromkeys(truncated_timestamp(moment, length) for moment in (*hours, timestamp_of(high)))
    return tuple(starts) if len(starts) <= _MOST_VALUES else None
