"""Expressions: what text means, what is refused, and that their public facts hold on every row."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.engines.evaluate import evaluate
from deniable.errors import QueryRefused
from deniable.plan.analysis import checked_facts, facts
from deniable.plan.canonical import normal, text
from deniable.plan.expression import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Divide,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Operator,
    Or,
)
from deniable.plan.facts import Facts, Kind, common_step, days, microseconds
from deniable.plan.functions.bins import Bin
from deniable.plan.functions.calendar import CalendarPart, DatePart, DaysBetween, ToDate, Truncate
from deniable.plan.functions.numeric import Absolute, Clamp, Modulo, Round, Rounding
from deniable.plan.functions.several import Coalesce, Greatest, Least
from deniable.plan.functions.textual import CharacterCount, Fold, LetterCase, Substring
from deniable.plan.translate import parse
from deniable.plan.unit import Length

SCHEMA = {
    "x": Facts(Kind.NUMBER, True, Fraction(1, 4), -8, 8),
    "y": Facts(Kind.NUMBER, False, Fraction(1, 3), 1, 7),
    "k": Facts(Kind.NUMBER, True),
    "b": Facts(Kind.BOOLEAN),
    "s": Facts(Kind.STRING),
    "c": Facts(Kind.STRING, False, categories=("aB", "é")),
    "d": Facts(Kind.DATE, lower=days(date(1999, 1, 1)), upper=days(date(2024, 12, 31))),
    "t": Facts(Kind.TIMESTAMP, lower=microseconds(datetime(1999, 1, 1)), upper=microseconds(datetime(2024, 12, 31))),
}
ROWS = st.fixed_dictionaries(
    {
        "x": st.none() | st.integers(-8, 8).map(lambda n: Fraction(n, 4)),
        "y": st.integers(1, 7).map(lambda n: Fraction(n, 3)),
        "k": st.none() | st.integers(-(2**63), 2**63 - 1).map(Fraction),
        "b": st.none() | st.booleans(),
        "s": st.none() | st.sampled_from(["", "a", "Ab%", "é😀", "it's"]),
        "c": st.sampled_from(["aB", "é"]),
        "d": st.none() | st.dates(date(1999, 1, 1), date(2024, 12, 31)),
        "t": st.none() | st.datetimes(datetime(1999, 1, 1), datetime(2024, 12, 31)),
    }
)


def _numbers(inner: st.SearchStrategy[Expression], truths: st.SearchStrategy[Expression]) -> st.SearchStrategy[Any]:
    fraction = st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(3, 4), Fraction(5)])
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(Operator), inner, inner),
        st.builds(Divide, inner, inner, st.just(Fraction(1, 8))),
        st.builds(Divide, inner, st.sampled_from([2, -3]).map(Literal)),
        st.builds(lambda e: Modulo(Round(Rounding.FLOOR, e), 3), inner),
        st.builds(Clamp, inner, st.just(Fraction(-2)), st.just(Fraction(7, 3))),
        st.builds(Absolute, inner),
        st.builds(Round, st.sampled_from(Rounding), inner, fraction),
        st.builds(Bin, inner, st.just((Fraction(-1), Fraction(1, 3), Fraction(2)))),
        st.builds(lambda a, b: Coalesce((a, b)), inner, inner),
        st.builds(lambda a, b: Least((a, b)), inner, inner),
        st.builds(lambda a, b: Greatest((a, b)), inner, inner),
        st.builds(lambda c, a, b: Case(((c, a),), b), truths, inner, inner),
        st.builds(lambda c, a: Case(((c, a),)), truths, inner),
    )


def _truths(numbers: st.SearchStrategy[Expression], inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Compare, st.sampled_from(Comparison), numbers, numbers),
        st.builds(lambda a, b: And((a, b, a)), inner, inner),
        st.builds(lambda a, b: Or((a, b)), inner, inner),
        st.builds(Not, inner),
        st.builds(IsNull, numbers),
        st.builds(lambda n: In(n, (Literal(Fraction(1, 4)), Literal(2))), numbers),
    )


_LEAF_NUMBERS: st.SearchStrategy[Any] = st.sampled_from(
    [
        Column("x"), Column("y"), Literal(Fraction(5, 7)), Literal(-2), CharacterCount(Column("c")),
        DatePart(CalendarPart.YEAR, Column("d")), DatePart(CalendarPart.WEEKDAY, Column("t")),
        DatePart(CalendarPart.HOUR, Column("t")),
        DaysBetween(Column("d"), ToDate(Truncate(Column("t"), Length.QUARTER))), Clamp(Column("k"), Fraction(0), Fraction(9)),
    ]
)  # fmt: skip
_LEAF_TRUTHS: st.SearchStrategy[Any] = st.sampled_from(
    [
        Column("b"), Like(Column("s"), "%b_"), Compare(Comparison.EQUAL, Fold(LetterCase.LOWER, Column("c")), Literal("ab")),
        Compare(Comparison.LESS, Truncate(Column("d"), Length.WEEK), Literal(date(2005, 5, 5))), IsNull(Column("t")),
        Compare(Comparison.EQUAL, Substring(Column("s"), 1, 2), Literal("é😀")), Compare(Comparison.MORE, Column("k"), Literal(1)),
    ]
)  # fmt: skip
NUMBERS: st.SearchStrategy[Any] = st.recursive(_LEAF_NUMBERS, lambda inner: _numbers(inner, _LEAF_TRUTHS), max_leaves=6)
TRUTHS: st.SearchStrategy[Any] = st.recursive(_LEAF_TRUTHS, lambda inner: _truths(NUMBERS, inner), max_leaves=5)


@given(expression=NUMBERS | TRUTHS, row=ROWS)
def test_the_facts_of_an_expression_hold_on_every_row(expression: Expression, row: Any) -> None:
    try:
        known = facts(expression, SCHEMA)
    except QueryRefused:
        return
    value = evaluate(expression, row, SCHEMA)
    if value is None:
        assert known.nullable
    elif known.kind is Kind.NUMBER:
        assert isinstance(value, Fraction)
        count = value / known.step
        assert count.denominator == 1, "every value lies on the grid"
        assert known.lower is None or count >= known.lower
        assert known.upper is None or count <= known.upper
    else:
        assert isinstance(value, bool)


@given(expression=NUMBERS | TRUTHS, row=ROWS)
def test_the_normal_form_has_the_same_value(expression: Expression, row: Any) -> None:
    try:
        facts(expression, SCHEMA)
    except QueryRefused:
        return
    again = normal(expression)
    assert evaluate(again, row, SCHEMA) == evaluate(expression, row, SCHEMA)
    assert text(normal(again)) == text(again)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > 0 and b < 1", "1 > b and 0 < a"),
        ("not (a <= 3 or c = 1)", "c <> 1 and a > 3"),
        ("a in (2, 1, 2)", "a in (1, 2)"),
        ("a = 1 and a = 1", "1 = a"),
        ("a + b * 2 > 1 + 1", "2 < 2 * b + a"),
    ],
)
def test_writings_that_say_the_same_share_one_form(one: str, other: str) -> None:
    assert text(normal(parse(one))) == text(normal(parse(other)))


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", "empty"), ("x >", "syntax"), ("x = 1; drop table t", "several-statements"), ("random() > 0.5", "unsupported"),
        ("x in (select 1)", "subquery"), ("exists (select 1)", "unsupported"), ("sqrt(x) > 1", "unsupported"),
        ("nope > 1", "unknown-column"), ("t.x > 1", "qualified-column"), ("x = null", "null-comparison"),
        ("x / 0 > 1", "divide-by-zero"), ("k + 1 > 0", "unbounded"), ("s < 'a'", "no-order"), ("x = 's'", "type-mismatch"),
        ("x and b", "type-mismatch"), ("d > 'soon'", "bad-constant"), ("s like 'a\\\\b'", "bad-constant"),
        ("x > 1e999999", "bad-constant"), ("count(*) > 1", "unsupported"), ("mystery(x)", "unknown-function"),
        ("s || 'a' = 'b'", "unsupported"), ("x // 2 = 1", "unsupported"), ("x > ?", "unsupported"),
        ("x % -3 = 1", "bad-constant"), ("cast(x as integer) = 1", "type-mismatch"), ("cast(x as double) = 1", "unsupported"),
        ("(" * 300 + "b" + ")" * 300, "too-deep"),
        ("b" * 30000, "too-long"), ("d + interval '1' day > d", "unsupported"), ("x * 1e30 > 0", "too-wide"),
        ("case when b then 1 else 's' end = 1", "type-mismatch"), ("row_number() over () > 1", "unsupported"),
    ],
)  # fmt: skip
def test_what_is_outside_is_refused_with_a_code(source: str, code: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        parse(source, schema=SCHEMA)
    assert refused.value.code == code
    assert "\n" not in str(refused.value)


def test_a_refusal_says_where() -> None:
    with pytest.raises(QueryRefused) as refused:
        parse("x > 1 and\n  nope = 2", schema=SCHEMA)
    assert refused.value.span is not None
    assert (refused.value.span.line, refused.value.span.column, refused.value.span.text) == (2, 3, "nope")


def test_an_expression_that_would_explode_is_refused() -> None:
    grown: Expression = Column("y")
    for _ in range(12):
        grown = Clamp(grown, Fraction(0), Fraction(2))
    with pytest.raises(QueryRefused, match="too-complex"):
        checked_facts(grown, SCHEMA)


@pytest.mark.parametrize(
    ("source", "row", "value"),
    [
        ("x / 3", {"x": Fraction(1, 4)}, Fraction(1, 12)),
        ("round(x / (x - 0.25), 2)", {"x": Fraction(1)}, Fraction(133, 100)),
        ("x / (x - 0.25)", {"x": Fraction(1, 4)}, None),
        ("nullif(x, 1)", {"x": Fraction(1)}, None),
        ("case when b then null when not b then 2 else 3 end", {"b": True}, None),
        ("case when b then null when not b then 2 else 3 end", {"b": None}, Fraction(3)),
        ("b is not true", {"b": None}, True),
        ("d between '2020-01-01' and '2020-12-31'", {"d": date(2020, 5, 5)}, True),
        ("d < date '2020-01-31' + interval '1' month", {"d": date(2020, 2, 28)}, True),
        ("not (b or x > 1)", {"b": None, "x": Fraction(0)}, None),
    ],
)
def test_text_means_what_sql_means(source: str, row: Any, value: Any) -> None:
    full = {**dict.fromkeys(SCHEMA), **row}
    assert evaluate(parse(source, schema=SCHEMA), full, SCHEMA) == value


@given(st.lists(st.fractions(min_value=Fraction(1, 50), max_value=50), min_size=1, max_size=4))
def test_the_common_grid_is_the_coarsest(steps: list[Fraction]) -> None:
    shared = common_step(steps)
    assert all((step / shared).denominator == 1 for step in steps)
    for prime in (2, 3, 5, 7):
        assert not all((step / (shared * prime)).denominator == 1 for step in steps)
