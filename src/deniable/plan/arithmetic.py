"""Exact arithmetic on grids: the facts of sums, products and quotients from those of their operands, and how quotients round."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from deniable.errors import QueryRefused
from deniable.plan.expression import Expression, Literal, Operator
from deniable.plan.facts import LARGEST, Facts, Kind, common_step, fitting


def refused(code: str, reason: str, rewrite: str = "") -> QueryRefused:
    """The refusal of an expression."""
    return QueryRefused(code, reason, rewrite=rewrite)


def number(known: Facts, what: str) -> Facts:
    """The facts of something that must be a number."""
    if known.kind is not Kind.NUMBER:
        raise refused("type-mismatch", f"{what} needs a number, got a {known.kind.value}", "use a numeric column")
    return known


def bounded(known: Facts, what: str) -> Facts:
    """The facts of something that must have bounds."""
    if not known.bounded:
        raise refused(
            "unbounded",
            f"{what} needs a number with declared bounds",
            "declare bounds in the codebook or write clamp(x, lower, upper)",
        )
    return known


def arithmetic(operator: Operator, left: Facts, right: Facts) -> Facts:
    """a + b, a - b, a * b, on the grid both sides share."""
    if left.kind is Kind.DATE and right.kind is Kind.DATE and operator is Operator.SUBTRACT:
        raise refused("type-mismatch", "dates are not subtracted with -", "write days_between(start, end)")
    left, right = (bounded(number(side, operator.value), operator.value) for side in (left, right))
    nullable = left.nullable or right.nullable
    if operator is Operator.MULTIPLY:
        corners = [a * b for a in left.ends for b in right.ends]
        return fitting(Facts(Kind.NUMBER, nullable, left.step * right.step, min(corners), max(corners)))
    step = common_step((left.step, right.step))
    (low, high), (other_low, other_high) = left.on(step).ends, right.on(step).ends
    if operator is Operator.SUBTRACT:
        other_low, other_high = -other_high, -other_low
    return fitting(Facts(Kind.NUMBER, nullable, step, low + other_low, high + other_high))


def quotient(left: Facts, divisor: Expression, right: Facts, step: Fraction) -> Facts:
    """a / b; by a constant the grid follows, else the result is rounded to `step`."""
    left, right = number(left, "/"), number(right, "/")
    if not step > 0:
        raise refused("bad-constant", f"a quotient's step must be positive, got {step}")
    if isinstance(divisor, Literal):
        value = divisor.number
        if value == 0:
            raise refused("divide-by-zero", "dividing by the constant zero")
        ends = (left.lower, left.upper) if value > 0 else tuple(-end for end in bounded(left, "/").ends[::-1])
        return Facts(Kind.NUMBER, left.nullable, left.step / abs(value), *ends)
    low, high = bounded(left, "/").ends
    other_low, other_high = bounded(right, "/").ends
    numerator, denominator = quotient_factors(left.step, right.step, step)
    largest, widest = max(abs(low), abs(high)), max(abs(other_low), abs(other_high))
    if not 2 * largest * numerator + widest * denominator < LARGEST:
        raise refused(
            "too-wide", "this quotient needs more than 64 bits", "write round(a / b, digits) with fewer digits"
        )
    zero = other_low <= 0 <= other_high
    divisors = [end for end in (other_low, other_high, *((-1, 1) if zero else ())) if end]
    divisors = [end for end in divisors if other_low <= end <= other_high]
    corners = [rounded_quotient(a * numerator, b * denominator) for a in (low, high) for b in divisors] or [0]
    return fitting(Facts(Kind.NUMBER, left.nullable or right.nullable or zero, step, min(corners), max(corners)))


def quotient_factors(left: Fraction, right: Fraction, step: Fraction) -> tuple[int, int]:
    """Whole factors that put a quotient of grid integers a, b on `step`: (a * first) / (b * second)."""
    factor = left / (right * step)
    return factor.numerator, factor.denominator


def rounded_quotient(numerator: int, denominator: int) -> int:
    """The nearest whole number to a quotient, halves away from zero."""
    size = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return size if (numerator >= 0) == (denominator > 0) else -size


def clamp_ends(step: Fraction, lower: Fraction, upper: Fraction) -> tuple[int, int]:
    """The outermost grid points within [lower, upper]; refused when there is none."""
    low, high = ceil(lower / step), floor(upper / step)
    if not low <= high:
        raise QueryRefused(
            "bad-constant", f"no multiple of step {step} lies in [{lower}, {upper}]", rewrite="widen the bounds"
        )
    return low, high
