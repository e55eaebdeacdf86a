"""Facts of expressions by brute force: every operator on every row of tiny grids lies inside its facts, reaches their ends,
and has the value that exact fractions have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any, NamedTuple

import pytest

from deniable.engines.evaluate import evaluate
from deniable.engines.kit import parts
from deniable.plan.analysis import facts
from deniable.plan.expression import (
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Divide,
    Expression,
    In,
    Literal,
    Operator,
    columns,
)
from deniable.plan.facts import Facts, Kind, date_of, days, microseconds, timestamp_of
from deniable.plan.functions.bins import Bin, WidthBucket
from deniable.plan.functions.calendar import DaysBetween
from deniable.plan.functions.catalogue import FUNCTIONS
from deniable.plan.functions.numeric import Absolute, Clamp, Modulo, Round, Rounding
from deniable.plan.functions.scalar import ScalarFunction
from deniable.plan.functions.several import Coalesce, Greatest, Least
from deniable.plan.translate import parse

F = Fraction
X, Y = Column("x"), Column("y")
GRIDS = {
    "signed": (F(1), -3, 3),
    "halves": (F(1, 2), -2, 3),
    "positive": (F(1), 1, 3),
    "negative": (F(1, 2), -3, -1),
    "from zero": (F(1), 0, 2),
    "one value": (F(1), 2, 2),
}
Number = Fraction | None


class Law(NamedTuple):
    """An expression of x and y, its value by exact fractions, and whether its facts are reached."""

    expression: Expression
    value: Callable[[Any, Any], Any]
    reached: bool = True


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: None if x is None or y is None else function(x, y)


def first(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, _: None if x is None else function(x)


def nearest(value: Fraction, step: Fraction) -> Fraction:
    size = floor(abs(value) / step + F(1, 2)) * step
    return size if value >= 0 else -size


def quotient(step: Fraction) -> Callable[..., Any]:
    return strict(lambda x, y: None if y == 0 else nearest(x / y, step))


def arithmetic(operator: Operator) -> Expression:
    return Arithmetic(operator, X, Y)


def extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *cells: choose((cell for cell in cells if cell is not None), default=None)


def bucket(x: Fraction, lower: Fraction, upper: Fraction, count: int) -> Fraction:
    """How many of the edges a value has reached."""
    return F(sum(lower + (upper - lower) * place / count <= x for place in range(count + 1)))


LAWS = {
    "+": Law(arithmetic(Operator.ADD), strict(lambda x, y: x + y)),
    "-": Law(arithmetic(Operator.SUBTRACT), strict(lambda x, y: x - y)),
    "*": Law(arithmetic(Operator.MULTIPLY), strict(lambda x, y: x * y)),
    "/": Law(Divide(X, Y), quotient(F(1, 2**20))),
    "/ tenths": Law(Divide(X, Y, F(1, 10)), quotient(F(1, 10))),
    "/ 3": Law(Divide(X, Literal(F(3))), first(lambda x: x / 3)),
    "/ -2": Law(Divide(X, Literal(F(-2))), first(lambda x: x / -2)),
    "abs": Law(Absolute(X), first(abs)),
    "floor": Law(Round(Rounding.FLOOR, X), first(lambda x: F(floor(x)))),
    "ceiling": Law(Round(Rounding.CEILING, X), first(lambda x: F(ceil(x)))),
    "round": Law(Round(Rounding.NEAREST, X), first(lambda x: nearest(x, F(1)))),
    "round finer": Law(Round(Rounding.NEAREST, X, F(1, 4)), first(lambda x: x)),
    "round 2": Law(Round(Rounding.NEAREST, X, F(2)), first(lambda x: nearest(x, F(2)))),
    "clamp": Law(Clamp(X, F(-1), F(1)), first(lambda x: min(max(x, F(-1)), F(1)))),
    "clamp off the grid": Law(Clamp(X, F(-5, 4), F(1, 3)), first(lambda x: min(max(x, F(-5, 4)), F(1, 3)))),
    "clamp above": Law(Clamp(X, F(7, 3), F(10)), first(lambda x: max(x, F(7, 3)))),
    "clamp below": Law(Clamp(X, F(-10), F(-7, 3)), first(lambda x: min(x, F(-7, 3)))),
    "clamp between two grid points": Law(Clamp(X, F(1, 5), F(2, 5)), first(lambda x: min(max(x, F(1, 5)), F(2, 5)))),
    "bin": Law(
        Bin(X, (F(-1), F(0), F(2))),
        first(lambda x: None if not -1 <= x <= 2 else F(0 if x < 0 else 1)),
        reached=False,
    ),
    "width_bucket": Law(WidthBucket(X, F(-1), F(5, 3), 3), first(lambda x: bucket(x, F(-1), F(5, 3), 3))),
    "width_bucket of whole numbers": Law(WidthBucket(X, F(0), F(2), 2), first(lambda x: bucket(x, F(0), F(2), 2))),
    "least": Law(Least((X, Y)), extreme(min)),
    "greatest": Law(Greatest((X, Y)), extreme(max)),
    "coalesce": Law(Coalesce((X, Y)), lambda x, y: y if x is None else x, reached=False),
    "case": Law(
        Case(((Compare(Comparison.LESS, X, Y), X),), Y),
        lambda x, y: x if x is not None and y is not None and x < y else y,
        reached=False,
    ),
}


def remainder(by: int) -> Law:
    return Law(Modulo(X, by), first(lambda x: (abs(x) % by) * (-1 if x < 0 else 1)), reached=False)


def schema(x: str, y: str, missing: tuple[bool, bool]) -> dict[str, Facts]:
    return {
        name: Facts(Kind.NUMBER, nullable, *GRIDS[grid])
        for name, grid, nullable in zip(("x", "y"), (x, y), missing, strict=True)
    }


def cells(known: Facts) -> list[Number]:
    low, high = known.ends
    values: list[Number] = [count * known.step for count in range(low, high + 1)]
    return [*values, None] if known.nullable else values


def schemas() -> Iterator[dict[str, Facts]]:
    for x, y, missing in product(GRIDS, GRIDS, product((False, True), repeat=2)):
        yield schema(x, y, missing)


def checked(law: Law, known: dict[str, Facts]) -> None:
    stated, seen = facts(law.expression, known), []
    for x, y in product(cells(known["x"]), cells(known["y"])):
        value = evaluate(law.expression, {"x": x, "y": y}, known)
        assert value == law.value(x, y), (x, y)
        if value is None:
            assert stated.nullable, (x, y)
            continue
        assert isinstance(value, Fraction)
        count = value / stated.step
        assert count.denominator == 1, (x, y, value, stated.step)
        assert stated.ends[0] <= count <= stated.ends[1], (x, y, value, stated)
        seen.append(count)
    if law.reached and seen:
        assert (min(seen), max(seen)) == stated.ends, stated


@pytest.mark.parametrize("name", LAWS)
def test_facts_hold_on_every_row_and_are_reached(name):
    for known in schemas():
        checked(LAWS[name], known)


@pytest.mark.parametrize("by", [1, 2, 3, 7])
def test_remainders(by):
    for known in schemas():
        if known["x"].step == 1:
            checked(remainder(by), known)


def test_days_between():
    start = date(2024, 2, 27)
    known = {name: Facts(Kind.DATE, False, lower=start.toordinal() + at, upper=start.toordinal() + at + 4)
             for name, at in (("x", 0), ("y", 2))}  # fmt: skip
    origin = date(1970, 1, 1).toordinal()
    known = {name: Facts(Kind.DATE, False, lower=each.ends[0] - origin, upper=each.ends[1] - origin)
             for name, each in known.items()}  # fmt: skip
    stated, seen = facts(DaysBetween(X, Y), known), []
    for a, b in product(range(5), range(2, 7)):
        value = evaluate(DaysBetween(X, Y), {"x": start + timedelta(a), "y": start + timedelta(b)}, known)
        assert value == b - a
        seen.append(value)
    assert (min(seen), max(seen)) == stated.ends


OPERATIONS = {
    Comparison.EQUAL: lambda a, b: a == b,
    Comparison.NOT_EQUAL: lambda a, b: a != b,
    Comparison.LESS: lambda a, b: a < b,
    Comparison.AT_MOST: lambda a, b: a <= b,
    Comparison.MORE: lambda a, b: a > b,
    Comparison.AT_LEAST: lambda a, b: a >= b,
}
QUOTIENTS = {
    "x / y": (Divide(X, Y), strict(lambda x, y: x / y)),
    "x / y + x": (Arithmetic(Operator.ADD, Divide(X, Y), X), strict(lambda x, y: x / y + x)),
    "x / y / x": (Divide(Divide(X, Y), X), strict(lambda x, y: None if x == 0 else x / y / x)),
    "x / y * 3 - y / 2": (
        Arithmetic(
            Operator.SUBTRACT,
            Arithmetic(Operator.MULTIPLY, Divide(X, Y), Literal(F(3))),
            Divide(Y, Literal(F(2))),
        ),
        strict(lambda x, y: x / y * 3 - y / 2),
    ),
}


@pytest.mark.parametrize("comparison", OPERATIONS)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_are_compared_exactly(name, comparison):
    expression, exact = QUOTIENTS[name]
    thirds = [F(1, 3), F(-1, 3), F(1, 10), F(0), F(2, 3), F(1)]
    for left, right in [
        *((expression, Literal(third)) for third in thirds),
        (Literal(F(1, 3)), expression),
        (expression, X),
    ]:
        asked = Compare(comparison, left, right)
        for known in (schema("signed", "signed", (True, True)), schema("halves", "negative", (False, False))):
            facts(asked, known)
            for x, y in product(cells(known["x"]), cells(known["y"])):
                sides = []
                for side in (left, right):
                    if isinstance(side, Literal):
                        sides.append(side.value)
                    else:
                        value = x if side is X else None if not y else exact(x, y)
                        sides.append(value)
                wanted = None if None in sides else OPERATIONS[comparison](*sides)
                assert evaluate(asked, {"x": x, "y": y}, known) is wanted, (x, y)


def test_a_quotient_in_a_list_is_compared_exactly():
    known = schema("signed", "signed", (True, True))
    asked = In(Divide(X, Y), (Literal(F(1, 3)), Literal(F(-2))))
    for x, y in product(cells(known["x"]), cells(known["y"])):
        wanted = None if x is None or not y else x / y in (F(1, 3), F(-2))
        assert evaluate(asked, {"x": x, "y": y}, known) is wanted, (x, y)


# Every row of the table of functions ------------------------------------------------------------------------------------

TINY: dict[str, list[Facts]] = {
    "whole": [Facts(Kind.NUMBER, True, F(1), -4, 9), Facts(Kind.NUMBER, False, F(1), 3, 8)],
    "tens": [Facts(Kind.NUMBER, False, F(10), -2, 3), Facts(Kind.NUMBER, True, F(5), 1, 4)],
    "real": [Facts(Kind.NUMBER, True, F(1, 4), -9, 11), Facts(Kind.NUMBER, False, F(2, 3), -5, 1)],
    "day": [
        Facts(Kind.DATE, True, lower=days(date(2023, 12, 20)), upper=days(date(2024, 3, 5))),
        Facts(Kind.DATE, False, lower=days(date(1969, 12, 30)), upper=days(date(1970, 1, 2))),
    ],
    "moment": [
        Facts(Kind.TIMESTAMP, nullable, lower=microseconds(start), upper=microseconds(start + timedelta(hours=30)))
        for nullable, start in ((True, datetime(1999, 12, 31, 17, 30)), (False, datetime(2024, 2, 28, 9, 15)))
    ],
    "word": [
        Facts(Kind.STRING, False, categories=("a", "Bc", "\u00e9\u00df")),
        Facts(Kind.STRING, True, categories=("x",)),
    ],
    "name": [Facts(Kind.STRING, True)],
    "truth": [Facts(Kind.BOOLEAN, True)],
}
"""The columns of the conformance kit, over tiny domains that are walked whole."""


def every_cell(known: Facts) -> list[Any]:
    match known.kind:
        case Kind.NUMBER:
            return cells(known)
        case Kind.BOOLEAN:
            values: list[Any] = [False, True]
        case Kind.STRING:
            values = list(known.categories or ("", "a", "Ab5", "\u00c9a\U0001f600", "-7"))
        case Kind.DATE:
            values = [date_of(day) for day in range(known.ends[0], known.ends[1] + 1)]
        case Kind.TIMESTAMP:
            low, high = known.ends
            values = [timestamp_of(at) for at in (*range(low, high, 1_799_999_999), high)]
    return [*values, None] if known.nullable else values


def fits(value: Any, stated: Facts) -> bool:
    """Whether a value is one of those its facts allow."""
    if value is None:
        return stated.nullable
    match stated.kind:
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.STRING:
            return isinstance(value, str) and (stated.categories is None or value in stated.categories)
        case Kind.NUMBER:
            count = value / stated.step
        case Kind.DATE:
            count = F(days(value))
        case Kind.TIMESTAMP:
            count = F(microseconds(value))
    low, high = stated.lower, stated.upper
    return count.denominator == 1 and (low is None or low <= count) and (high is None or count <= high)


def walk_of(row: type[ScalarFunction]) -> Iterator[tuple[Expression, dict[str, Facts]]]:
    """The expressions of a row's probes that are the function itself, over every choice of tiny columns."""
    for probe in row.probes.values():
        names = sorted(columns(parse(probe, schema={name: known[0] for name, known in TINY.items()})))
        for choice in product(*(TINY[name] for name in names)):
            schema = dict(zip(names, choice, strict=True))
            for part in parts(parse(probe, schema=schema)):
                if isinstance(part, ScalarFunction):
                    yield part, schema


def misfit(expression: Expression, schema: dict[str, Facts], stated: Facts) -> dict[str, Any] | None:
    """A row on which the value does not fit."""
    names = sorted(columns(expression))
    for row in product(*(every_cell(schema[name]) for name in names)):
        cells_of = dict(zip(names, row, strict=True))
        if not fits(evaluate(expression, cells_of, schema), stated):
            return cells_of
    return None


@pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: row.__name__)
def test_the_facts_of_every_function_of_the_table_hold_on_every_row(row):
    walked = list(walk_of(row))
    assert walked, "a function without a probe is not tested"
    for expression, schema in walked:
        assert misfit(expression, schema, facts(expression, schema)) is None, expression


def test_facts_that_are_too_narrow_are_noticed():
    noticed = set()
    for row in FUNCTIONS:
        for expression, schema in walk_of(row):
            stated = facts(expression, schema)
            narrow = [stated.with_null(False)]
            if stated.kind is not Kind.STRING and stated.bounded and stated.ends[0] < stated.ends[1]:
                narrow.append(replace(stated, lower=stated.ends[0] + 1))
            if stated.categories is not None:
                narrow.append(replace(stated, categories=stated.categories[1:]))
            if any(misfit(expression, schema, each) is not None for each in narrow):
                noticed.add(row)
    assert noticed.issuperset(row for row in FUNCTIONS if row.spellings)
