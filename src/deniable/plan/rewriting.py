"""Expressions put in a form that is exact on a grid; the analysis, the reference engine and every SQL engine read them so.

A quotient of two columns has no grid, so it is rounded where it is added up or grouped. Where it is compared it need not be:
a / b < c is a < c·b for positive b and a > c·b for negative b.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.plan.expression import (
    QUOTIENT_STEP,
    Arithmetic,
    Case,
    Compare,
    Comparison,
    Divide,
    Expression,
    In,
    Literal,
    Operator,
    Or,
    children,
)

_ZERO = Literal(Fraction(0))
_TURNED = {
    Comparison.LESS: Comparison.MORE,
    Comparison.MORE: Comparison.LESS,
    Comparison.AT_MOST: Comparison.AT_LEAST,
    Comparison.AT_LEAST: Comparison.AT_MOST,
}


def cross_multiplied(comparison: Comparison, left: Expression, right: Expression) -> Expression | None:
    """The comparison without its quotients; None when neither side has one.

    Guarantee: the same value as the comparison of exact fractions; missing where a divisor is zero or missing.
    """
    (top, bottom), (other, under) = ratio(left), ratio(right)
    if bottom is None and under is None:
        return None
    both = _times(bottom, under)
    assert both is not None
    sides = (_times(top, under) or top, _times(other, bottom) or other)
    if comparison not in _TURNED:
        return Case(((Compare(Comparison.NOT_EQUAL, both, _ZERO), Compare(comparison, *sides)),))
    return Case(
        (
            (Compare(Comparison.MORE, both, _ZERO), Compare(comparison, *sides)),
            (Compare(Comparison.LESS, both, _ZERO), Compare(_TURNED[comparison], *sides)),
        )
    )


def listed(value: Expression, among: tuple[Literal, ...]) -> Expression | None:
    """A quotient IN a list, as comparisons; None when it is no quotient."""
    if ratio(value)[1] is None or not among:
        return None
    return Or(tuple(Compare(Comparison.EQUAL, value, each) for each in among))


def rounds_quotients(expression: Expression) -> bool:
    """Whether a quotient of two expressions is rounded somewhere in this one without having been asked for."""
    if isinstance(expression, Compare):
        exact = cross_multiplied(expression.comparison, expression.left, expression.right)
        return any(map(rounds_quotients, children(expression if exact is None else exact)))
    if isinstance(expression, In):
        exact = listed(expression.value, expression.among)
        return any(map(rounds_quotients, children(expression if exact is None else exact)))
    if (
        isinstance(expression, Divide)
        and expression.step == QUOTIENT_STEP
        and not isinstance(expression.right, Literal)
    ):
        return True
    return any(map(rounds_quotients, children(expression)))


def ratio(expression: Expression) -> tuple[Expression, Expression | None]:
    """A numerator and a denominator whose quotient is the expression; no denominator where none is needed.

    The denominator is zero exactly where one of the divisors is.
    """
    match expression:
        case Divide(left, right, step) if step == QUOTIENT_STEP and not isinstance(right, Literal):
            top, bottom = ratio(left)
            return (expression, None) if ratio(right)[1] is not None else (top, _times(bottom, right))
        case Divide(left, Literal() as right, step):
            top, bottom = ratio(left)
            return (expression, None) if bottom is None else (Divide(top, right, step), bottom)
        case Arithmetic(Operator.MULTIPLY, left, right):
            (top, bottom), (other, under) = ratio(left), ratio(right)
            both = _times(bottom, under)
            return (expression, None) if both is None else (Arithmetic(Operator.MULTIPLY, top, other), both)
        case Arithmetic(operator, left, right):
            (top, bottom), (other, under) = ratio(left), ratio(right)
            both = _times(bottom, under)
            if both is None:
                return expression, None
            return Arithmetic(operator, _times(top, under) or top, _times(other, bottom) or other), both
        case _:
            return expression, None


def _times(left: Expression | None, right: Expression | None) -> Expression | None:
    if left is None or right is None:
        return left if right is None else right
    return Arithmetic(Operator.MULTIPLY, left, right)
