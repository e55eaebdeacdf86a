"""The one form of an expression on every row of a grid: two questions share a stored answer only when they mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from deniable.engines.evaluate import evaluate
from deniable.plan.canonical import normal, text
from deniable.plan.expression import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
)
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import RowCount, Units

VALUES = (None, Fraction(0), Fraction(1), Fraction(2))
ROWS = [{"a": a, "b": b} for a, b in product(VALUES, repeat=2)]
"""Every row of three values and missing."""

SCHEMA = {name: Facts(Kind.NUMBER, True, Fraction(1), 0, 2) for name in "ab"}
A, B, ONE, TWO = Column("a"), Column("b"), Literal(Fraction(1)), Literal(Fraction(2))

ATOMS: list[Expression] = [
    *(Compare(comparison, A, B) for comparison in Comparison),
    Compare(Comparison.LESS, ONE, A),
    In(A, (ONE,)),
    In(B, (TWO, ONE, TWO)),
    IsNull(A),
]


def _sides() -> Iterator[Expression]:
    for comparison, (left, right) in product(Comparison, product((A, B, ONE), repeat=2)):
        yield Compare(comparison, left, right)
        yield Not(Compare(comparison, left, right))


def _logic() -> Iterator[Expression]:
    signed = [*ATOMS, *(Not(atom) for atom in ATOMS)]
    for pair in combinations_with_replacement(signed, 2):
        for kind in (And, Or):
            yield kind(pair)
            yield Not(kind(pair))


def _nested() -> Iterator[Expression]:
    less, same, none = Compare(Comparison.LESS, A, B), Compare(Comparison.EQUAL, A, B), IsNull(B)
    for inner, outer in product((And, Or), repeat=2):
        for sign in product((False, True), repeat=3):
            x, y, z = (Not(part) if turned else part for turned, part in zip(sign, (less, same, none), strict=True))
            yield Not(outer((inner((x, y)), z)))
            yield Not(Not(outer((x, Not(inner((y, z)))))))


def _numbers() -> Iterator[Expression]:
    for operator, (left, right) in product(Operator, product((A, B, ONE, TWO), repeat=2)):
        yield Arithmetic(operator, left, right)
        yield Compare(Comparison.LESS, Arithmetic(operator, left, right), Arithmetic(operator, right, left))
    for truth in (True, False):
        yield Case(((Literal(truth), A), (IsNull(A), ONE)), B)
        yield Case(((IsNull(A), ONE), (Literal(truth), A)), B)


GRIDS = {"comparisons": _sides, "two conditions": _logic, "three conditions": _nested, "numbers": _numbers}


@pytest.mark.parametrize("grid", GRIDS)
def test_the_one_form_has_the_same_value_on_every_row(grid: str) -> None:
    count = 0
    for expression in GRIDS[grid]():
        form = normal(expression)
        assert text(normal(form)) == text(form)
        count += 1
        for row in ROWS:
            assert evaluate(form, row, SCHEMA) == evaluate(expression, row, SCHEMA), (expression, row)
    assert count >= 32


def test_a_node_with_a_new_name_keeps_its_stored_one() -> None:
    """Stored answers are found by the text of their plan, so the name of a node in it never changes."""
    assert text(RowCount(2)) == '{"most":{"integer":"2"},"node":"Rows"}'
    assert text(Units()) == '{"node":"Units"}'
