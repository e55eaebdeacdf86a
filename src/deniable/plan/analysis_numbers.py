"""The facts of arithmetic: grids and intervals of results, from those of operands alone."""

from __future__ import annotations

from fractions import Fraction

from deniable.errors import QueryRefused
from deniable.plan.expression import Expression, Literal, Operator, Rounding
from deniable.plan.facts import LARGEST, Facts, Kind, common_step, fitting
from deniable.plan.semantics import bin_starts, clamp_ends, quotient_factors, rounded, rounded_quotient


def refused(code: str, reason: str, rewrite: str = "") -> QueryRefused:
    """The refusal of an expression."""
    return QueryRefused(code, reason, rewrite=rewrite)


def _with(known: Facts, lower: int | None, upper: int | None) -> Facts:
    return fitting(Facts(known.kind, known.nullable, known.step, lower, upper))


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
        value = Fraction(divisor.value)  # type: ignore[arg-type]
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


def remainder(known: Facts, by: int) -> Facts:
    """a % by."""
    known = number(known, "%")
    if known.step.denominator != 1 or not 0 < by < LARGEST:
        raise refused("type-mismatch", "% takes a whole number and a positive whole constant", "write floor(x) % 7")
    if known.step != 1 and not known.bounded:
        bounded(known, "%")
    low = 0 if known.lower is not None and known.lower >= 0 else 1 - by
    known.on(Fraction(1))
    return Facts(Kind.NUMBER, known.nullable, Fraction(1), low, by - 1)


def clamped(known: Facts, lower: Fraction, upper: Fraction) -> Facts:
    """A number limited to constants."""
    low, high = clamp_ends(number(known, "clamp").step, lower, upper)
    ends = [low, high]
    for index, end in enumerate(ends):
        end = end if known.lower is None else max(end, known.lower)
        ends[index] = end if known.upper is None else min(end, known.upper)
    if known.lower is not None and known.lower > high:
        ends = [high, high]
    if known.upper is not None and known.upper < low:
        ends = [low, low]
    return _with(known, *ends)


def rounding_of(rounding: Rounding, known: Facts, step: Fraction) -> Facts:
    """A number rounded to a grid."""
    known = number(known, rounding.value)
    if not step > 0:
        raise refused("bad-constant", f"the step of {rounding.value} must be positive, got {step}")
    if (known.step / step).denominator == 1:
        return known.on(step)
    low, high = bounded(known, rounding.value).ends
    numerator, denominator = (known.step / step).numerator, (known.step / step).denominator
    fitting(Facts(Kind.NUMBER, True, step, 2 * low * numerator - denominator, 2 * high * numerator + denominator))
    ends = [rounded(rounding, end * numerator, denominator) for end in (low, high)]
    return fitting(Facts(Kind.NUMBER, known.nullable, step, ends[0], ends[1]))


def binned(known: Facts, edges: tuple[Fraction, ...]) -> Facts:
    """The place of a number between edges."""
    starts, last = bin_starts(number(known, "bin").step, edges)
    inside = known.bounded and starts[0] <= known.ends[0] and known.ends[1] <= last
    return Facts(Kind.NUMBER, known.nullable or not inside, Fraction(1), 0, len(edges) - 2)


def size(known: Facts) -> Facts:
    """abs(a)."""
    known = number(known, "abs")
    low, high = bounded(known, "abs").ends
    return _with(known, 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
