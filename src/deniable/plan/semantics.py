"""What the functions of the expression language do to values: shared by the analysis and the reference engine.

Everything is exact integer arithmetic on grids and plain calendar arithmetic, defined for every input it can meet.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from deniable.errors import QueryRefused
from deniable.plan.expression import LetterCase, Rounding
from deniable.plan.unit import Length


def folded(text: str, case: LetterCase) -> str:
    """The text with every letter that has one counterpart in the other case replaced by it."""
    change = str.lower if case is LetterCase.LOWER else str.upper
    return "".join(other if len(other := change(letter)) == 1 else letter for letter in text)


def folded_ascii(text: str, case: LetterCase) -> str:
    """The text with its ASCII letters in one case: what every engine agrees on for free text."""
    upper, lower = range(ord("A"), ord("Z") + 1), range(ord("a"), ord("z") + 1)
    source, target = (upper, lower) if case is LetterCase.LOWER else (lower, upper)
    return text.translate(dict(zip(source, target, strict=True)))


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


def rounded(rounding: Rounding, numerator: int, denominator: int) -> int:
    """A quotient with a positive denominator, rounded to a whole number."""
    match rounding:
        case Rounding.FLOOR:
            return numerator // denominator
        case Rounding.CEILING:
            return -(-numerator // denominator)
        case Rounding.NEAREST:
            return rounded_quotient(numerator, denominator)


def bin_starts(step: Fraction, edges: tuple[Fraction, ...]) -> tuple[list[int], int]:
    """The first grid point of every bin, and the last grid point of the last one."""
    if len(edges) < 2 or any(not a < b for a, b in pairwise(edges)):
        raise QueryRefused("bad-constant", "bins need at least two rising edges")
    return [ceil(edge / step) for edge in edges[:-1]], floor(edges[-1] / step)


def truncated_date(value: date, length: Length) -> date:
    """The first day of the week (Monday), month, quarter or year a date lies in."""
    match length:
        case Length.HOUR | Length.DAY:
            return value
        case Length.WEEK:
            return date.fromordinal(value.toordinal() - value.weekday())
        case Length.MONTH:
            return value.replace(day=1)
        case Length.QUARTER:
            return value.replace(month=(value.month - 1) // 3 * 3 + 1, day=1)
        case Length.YEAR:
            return value.replace(month=1, day=1)


def truncated_timestamp(value: datetime, length: Length) -> datetime:
    """The start of the hour, day, week, month, quarter or year a timestamp lies in."""
    if length is Length.HOUR:
        return value.replace(minute=0, second=0, microsecond=0)
    first = truncated_date(value.date(), length)
    return datetime(first.year, first.month, first.day)
