"""The public facts of an expression: kind, grid, interval and nullability, from declarations alone.

Guarantee: for every data set that fits the schema's facts, every value of the expression fits the facts returned here,
and no engine overflows on the way. An expression for which that cannot be shown is refused, before any row is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias, assert_never

from deniable.errors import QueryRefused
from deniable.plan.expression import (
    Absolute,
    And,
    Arithmetic,
    Bin,
    Case,
    CharacterCount,
    Clamp,
    Coalesce,
    Column,
    Compare,
    Comparison,
    DatePart,
    DaysBetween,
    Divide,
    Expression,
    Fold,
    Greatest,
    In,
    IsNull,
    Least,
    Like,
    Literal,
    Modulo,
    Not,
    Operator,
    Or,
    Part,
    Round,
    Rounding,
    Substring,
    ToDate,
    Truncate,
    children,
)
from deniable.plan.facts import (
    LARGEST,
    Facts,
    Kind,
    common_step,
    date_of,
    days,
    fitting,
    hull,
    microseconds,
    timestamp_of,
)
from deniable.plan.semantics import (
    bin_starts,
    clamp_ends,
    folded,
    quotient_factors,
    rounded,
    rounded_quotient,
    truncated_date,
    truncated_timestamp,
)
from deniable.plan.unit import Length

Schema: TypeAlias = Mapping[str, Facts]

_DAY = 86_400_000_000
_PARTS = {
    Part.QUARTER: (1, 4),
    Part.MONTH: (1, 12),
    Part.DAY: (1, 31),
    Part.WEEKDAY: (0, 6),
    Part.HOUR: (0, 23),
    Part.MINUTE: (0, 59),
}


def facts(expression: Expression, schema: Schema) -> Facts:
    """What holds for the expression on every row of every data set with this schema."""
    match expression:
        case Column(name):
            return _column(name, schema)
        case Literal(value):
            return literal_facts(value)
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, facts(left, schema), facts(right, schema))
        case Divide(left, right, step):
            return _divide(facts(left, schema), right, facts(right, schema), step)
        case Modulo(value, by):
            return _modulo(facts(value, schema), by)
        case Compare(comparison, left, right):
            return _compare(comparison, left, right, schema)
        case And(parts) | Or(parts):
            return _truth([facts(part, schema) for part in parts])
        case Not(value):
            return _truth([facts(value, schema)])
        case IsNull(value):
            facts(value, schema)
            return Facts(Kind.BOOLEAN, nullable=False)
        case In(value, among):
            return _membership(facts(value, schema), among)
        case Like(value, pattern):
            return _like(facts(value, schema), pattern)
        case Case(branches, otherwise):
            return _case(branches, otherwise, schema)
        case Coalesce(parts):
            known = [facts(part, schema) for part in parts]
            return hull(known).with_null(all(part.nullable for part in known))
        case Least(parts) | Greatest(parts):
            return _extreme([facts(part, schema) for part in parts], least=isinstance(expression, Least))
        case Clamp(value, lower, upper):
            return _clamp(facts(value, schema), lower, upper)
        case Absolute(value):
            low, high = _bounded(inner := _number(facts(value, schema), "abs"), "abs").ends
            return _with(inner, 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
        case Round(rounding, value, step):
            return _round(rounding, facts(value, schema), step)
        case Bin(value, edges):
            return _bin(facts(value, schema), edges)
        case DatePart(part, value):
            return _part(part, facts(value, schema))
        case Truncate(value, length):
            return _truncate(facts(value, schema), length)
        case ToDate(value):
            return _to_date(facts(value, schema))
        case DaysBetween(start, end):
            return _days_between(facts(start, schema), facts(end, schema))
        case Fold(case, value):
            return _text(facts(value, schema), lambda text: folded(text, case))
        case Substring(value, start, length):
            _checked_substring(start, length)
            return _text(facts(value, schema), lambda text: text[start - 1 : start - 1 + length])
        case CharacterCount(value):
            return _length(facts(value, schema))
        case _:
            assert_never(expression)


HEAVIEST = 20_000
"""How large the SQL of one expression may grow; beyond it the expression is refused, whatever the engine."""


def checked_facts(expression: Expression, schema: Schema) -> Facts:
    """The facts of an expression a plan is about to hold; also refuses one that would grow without measure as SQL."""
    if weight(expression) > HEAVIEST:
        raise _refused("too-complex", "this expression grows too large", "derive parts of it as columns first")
    return facts(expression, schema)


def weight(expression: Expression) -> int:
    """About how many SQL nodes an expression becomes: some functions name their argument several times."""
    match expression:
        case Divide(left, right):
            return 10 + 3 * weight(left) + 5 * weight(right)
        case Clamp(value) | Round(_, value):
            return 10 + 3 * weight(value)
        case Bin(value, edges):
            return 10 + len(edges) * (2 + weight(value))
        case In(value, among):
            return 5 + 2 * weight(value) + len(among)
        case Compare(_, left, right):
            return 5 + 2 * weight(left) + 2 * weight(right)
        case _:
            return 3 + sum(weight(child) for child in children(expression))


def condition_facts(expression: Expression, schema: Schema) -> Facts:
    """The facts of a filter, which must be a truth value."""
    return _truth([checked_facts(expression, schema)])


def literal_facts(value: bool | int | Fraction | str | date | datetime) -> Facts:
    """The facts of a constant."""
    if isinstance(value, bool):
        return Facts(Kind.BOOLEAN, nullable=False)
    if isinstance(value, str):
        return Facts(Kind.STRING, nullable=False, categories=(value,))
    if isinstance(value, datetime):
        return Facts(Kind.TIMESTAMP, nullable=False, lower=microseconds(value), upper=microseconds(value))
    if isinstance(value, date):
        return Facts(Kind.DATE, nullable=False, lower=days(value), upper=days(value))
    number = Fraction(value)
    return fitting(
        Facts(
            Kind.NUMBER,
            nullable=False,
            step=Fraction(1, number.denominator),
            lower=number.numerator,
            upper=number.numerator,
        )
    )


def _with(known: Facts, lower: int | None, upper: int | None) -> Facts:
    return fitting(Facts(known.kind, known.nullable, known.step, lower, upper))


def _refused(code: str, reason: str, rewrite: str = "") -> QueryRefused:
    return QueryRefused(code, reason, rewrite=rewrite)


def _column(name: str, schema: Schema) -> Facts:
    if name not in schema:
        raise _refused("unknown-column", f"there is no column {name!r}", f"columns here: {', '.join(schema)}")
    return schema[name]


def _number(known: Facts, what: str) -> Facts:
    if known.kind is not Kind.NUMBER:
        raise _refused("type-mismatch", f"{what} needs a number, got a {known.kind.value}", "use a numeric column")
    return known


def _bounded(known: Facts, what: str) -> Facts:
    if not known.bounded:
        raise _refused(
            "unbounded",
            f"{what} needs a number with declared bounds",
            "declare bounds in the codebook or write clamp(x, lower, upper)",
        )
    return known


def _arithmetic(operator: Operator, left: Facts, right: Facts) -> Facts:
    if left.kind is Kind.DATE and right.kind is Kind.DATE and operator is Operator.SUBTRACT:
        raise _refused("type-mismatch", "dates are not subtracted with -", "write days_between(start, end)")
    left, right = (_bounded(_number(side, operator.value), operator.value) for side in (left, right))
    nullable = left.nullable or right.nullable
    if operator is Operator.MULTIPLY:
        corners = [a * b for a in left.ends for b in right.ends]
        return fitting(Facts(Kind.NUMBER, nullable, left.step * right.step, min(corners), max(corners)))
    step = common_step((left.step, right.step))
    (low, high), (other_low, other_high) = left.on(step).ends, right.on(step).ends
    if operator is Operator.SUBTRACT:
        other_low, other_high = -other_high, -other_low
    return fitting(Facts(Kind.NUMBER, nullable, step, low + other_low, high + other_high))


def _divide(left: Facts, divisor: Expression, right: Facts, step: Fraction) -> Facts:
    left, right = _number(left, "/"), _number(right, "/")
    if not step > 0:
        raise _refused("bad-constant", f"a quotient's step must be positive, got {step}")
    if isinstance(divisor, Literal):
        value = Fraction(divisor.value)  # type: ignore[arg-type]
        if value == 0:
            raise _refused("divide-by-zero", "dividing by the constant zero")
        ends = (left.lower, left.upper) if value > 0 else tuple(-end for end in _bounded(left, "/").ends[::-1])
        return Facts(Kind.NUMBER, left.nullable, left.step / abs(value), *ends)
    low, high = _bounded(left, "/").ends
    other_low, other_high = _bounded(right, "/").ends
    numerator, denominator = quotient_factors(left.step, right.step, step)
    largest, widest = max(abs(low), abs(high)), max(abs(other_low), abs(other_high))
    if not 2 * largest * numerator + widest * denominator < LARGEST:
        raise _refused(
            "too-wide", "this quotient needs more than 64 bits", "write round(a / b, digits) with fewer digits"
        )
    zero = other_low <= 0 <= other_high
    divisors = [end for end in (other_low, other_high, *((-1, 1) if zero else ())) if end]
    divisors = [end for end in divisors if other_low <= end <= other_high]
    corners = [rounded_quotient(a * numerator, b * denominator) for a in (low, high) for b in divisors] or [0]
    return fitting(Facts(Kind.NUMBER, left.nullable or right.nullable or zero, step, min(corners), max(corners)))


def _modulo(known: Facts, by: int) -> Facts:
    known = _number(known, "%")
    if known.step.denominator != 1 or not 0 < by < LARGEST:
        raise _refused("type-mismatch", "% takes a whole number and a positive whole constant", "write floor(x) % 7")
    if known.step != 1 and not known.bounded:
        _bounded(known, "%")
    low = 0 if known.lower is not None and known.lower >= 0 else 1 - by
    known.on(Fraction(1))
    return Facts(Kind.NUMBER, known.nullable, Fraction(1), low, by - 1)


def _truth(parts: list[Facts]) -> Facts:
    for part in parts:
        if part.kind is not Kind.BOOLEAN:
            raise _refused(
                "type-mismatch", f"a condition is needed, got a {part.kind.value}", "compare it with a value"
            )
    return Facts(Kind.BOOLEAN, nullable=any(part.nullable for part in parts))


def _compare(comparison: Comparison, left: Expression, right: Expression, schema: Schema) -> Facts:
    sides = promoted(left, right, schema)
    known = [facts(side, schema) for side in sides]
    if known[0].kind is not known[1].kind:
        raise _refused("type-mismatch", f"a {known[0].kind.value} is compared with a {known[1].kind.value}")
    if known[0].kind in (Kind.STRING, Kind.BOOLEAN) and comparison not in (Comparison.EQUAL, Comparison.NOT_EQUAL):
        raise _refused(
            "no-order", f"{known[0].kind.value}s have no order every engine agrees on", "use =, <>, IN or LIKE"
        )
    if known[0].kind is Kind.NUMBER and not any(isinstance(side, Literal) for side in sides):
        step = common_step(side.step for side in known)
        for side in known:
            side.on(step)
    return Facts(Kind.BOOLEAN, nullable=any(side.nullable for side in known))


def promoted(left: Expression, right: Expression, schema: Schema) -> tuple[Expression, Expression]:
    """Both sides of a comparison, a constant date beside a timestamp read as its midnight."""
    sides = (left, right)
    kinds = [facts(side, schema).kind for side in sides]
    if set(kinds) == {Kind.DATE, Kind.TIMESTAMP}:
        sides = tuple(_midnight(side) for side in sides)  # type: ignore[assignment]
    return sides


def _midnight(side: Expression) -> Expression:
    if isinstance(side, Literal) and type(side.value) is date:
        return Literal(datetime(side.value.year, side.value.month, side.value.day))
    return side


def _membership(known: Facts, among: tuple[Literal, ...]) -> Facts:
    if not among:
        raise _refused("bad-constant", "IN needs at least one value")
    for literal in among:
        other = literal_facts(literal.value)
        if other.kind is not known.kind:
            raise _refused("type-mismatch", f"a {known.kind.value} cannot be IN a list with a {other.kind.value}")
    return Facts(Kind.BOOLEAN, nullable=known.nullable)


def _like(known: Facts, pattern: str) -> Facts:
    if known.kind is not Kind.STRING:
        raise _refused("type-mismatch", f"LIKE needs text, got a {known.kind.value}")
    if "\\" in pattern:
        raise _refused(
            "bad-constant", "a backslash in LIKE means different things to different engines", "leave it out"
        )
    return Facts(Kind.BOOLEAN, nullable=known.nullable)


def _case(branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression | None, schema: Schema) -> Facts:
    if not branches:
        raise _refused("bad-constant", "CASE needs at least one WHEN")
    for condition, _ in branches:
        condition_facts(condition, schema)
    results = [result for _, result in branches] + ([otherwise] if otherwise is not None else [])
    known = hull([facts(result, schema) for result in results])
    return known.with_null(known.nullable or otherwise is None)


def _extreme(parts: list[Facts], *, least: bool) -> Facts:
    together = hull(parts)
    if together.kind in (Kind.STRING, Kind.BOOLEAN):
        raise _refused("no-order", f"{together.kind.value}s have no order every engine agrees on")
    nullable = all(part.nullable for part in parts)
    if together.kind is Kind.NUMBER:
        parts = [part.on(together.step) for part in parts]
    sure = [part for part in parts if not part.nullable]
    lower, upper = together.lower, together.upper
    if least:
        tops = [part.upper for part in sure if part.upper is not None]
        upper = min([*tops, *([upper] if upper is not None else [])], default=None)
    else:
        bottoms = [part.lower for part in sure if part.lower is not None]
        lower = max([*bottoms, *([lower] if lower is not None else [])], default=None)
    return Facts(together.kind, nullable, together.step, lower, upper)


def _clamp(known: Facts, lower: Fraction, upper: Fraction) -> Facts:
    low, high = clamp_ends(_number(known, "clamp").step, lower, upper)
    ends = [low, high]
    for index, end in enumerate(ends):
        end = end if known.lower is None else max(end, known.lower)
        ends[index] = end if known.upper is None else min(end, known.upper)
    if known.lower is not None and known.lower > high:
        ends = [high, high]
    if known.upper is not None and known.upper < low:
        ends = [low, low]
    return _with(known, *ends)


def _round(rounding: Rounding, known: Facts, step: Fraction) -> Facts:
    known = _number(known, rounding.value)
    if not step > 0:
        raise _refused("bad-constant", f"the step of {rounding.value} must be positive, got {step}")
    if (known.step / step).denominator == 1:
        return known.on(step)
    low, high = _bounded(known, rounding.value).ends
    numerator, denominator = (known.step / step).numerator, (known.step / step).denominator
    fitting(Facts(Kind.NUMBER, True, step, 2 * low * numerator - denominator, 2 * high * numerator + denominator))
    ends = [rounded(rounding, end * numerator, denominator) for end in (low, high)]
    return fitting(Facts(Kind.NUMBER, known.nullable, step, ends[0], ends[1]))


def _bin(known: Facts, edges: tuple[Fraction, ...]) -> Facts:
    starts, last = bin_starts(_number(known, "bin").step, edges)
    inside = known.bounded and starts[0] <= known.ends[0] and known.ends[1] <= last
    return Facts(Kind.NUMBER, known.nullable or not inside, Fraction(1), 0, len(edges) - 2)


def _timed(known: Facts, what: str) -> Facts:
    if known.kind not in (Kind.DATE, Kind.TIMESTAMP):
        raise _refused("type-mismatch", f"{what} needs a date or timestamp, got a {known.kind.value}")
    return known


def _part(part: Part, known: Facts) -> Facts:
    known = _timed(known, part.value)
    if part in (Part.HOUR, Part.MINUTE) and known.kind is Kind.DATE:
        raise _refused("type-mismatch", f"a date has no {part.value}", "use a timestamp column")
    if part is Part.YEAR:
        low, high = ((date_of if known.kind is Kind.DATE else timestamp_of)(end).year for end in known.ends)
    else:
        low, high = _PARTS[part]
    return Facts(Kind.NUMBER, known.nullable, Fraction(1), low, high)


def _truncate(known: Facts, length: Length) -> Facts:
    known = _timed(known, f"cutting to the {length.value}")
    if length is Length.HOUR and known.kind is Kind.DATE:
        raise _refused("type-mismatch", "a date has no hour to cut to", "use a timestamp column")
    if known.kind is Kind.DATE:
        ends = [days(truncated_date(date_of(end), length)) for end in known.ends]
    else:
        ends = [microseconds(truncated_timestamp(timestamp_of(end), length)) for end in known.ends]
    return Facts(known.kind, known.nullable, lower=ends[0], upper=ends[1])


def _to_date(known: Facts) -> Facts:
    known = _timed(known, "the date of a value")
    if known.kind is Kind.DATE:
        return known
    return Facts(Kind.DATE, known.nullable, lower=known.ends[0] // _DAY, upper=known.ends[1] // _DAY)


def _days_between(start: Facts, end: Facts) -> Facts:
    for known in (start, end):
        if known.kind is not Kind.DATE:
            raise _refused("type-mismatch", f"days_between needs dates, got a {known.kind.value}", "write date(x)")
    (a, b), (c, d) = start.ends, end.ends
    return Facts(Kind.NUMBER, start.nullable or end.nullable, Fraction(1), c - b, d - a)


def _checked_substring(start: int, length: int) -> None:
    if not (1 <= start < 2**31 and 0 <= length < 2**31):
        raise _refused("bad-constant", "substring counts from 1 and takes a length of 0 or more")


def _text(known: Facts, change: object) -> Facts:
    if known.kind is not Kind.STRING:
        raise _refused("type-mismatch", f"text is needed, got a {known.kind.value}")
    if known.categories is None:
        return known
    changed = dict.fromkeys(change(value) for value in known.categories)  # type: ignore[operator]
    return Facts(Kind.STRING, known.nullable, categories=tuple(changed))


def _length(known: Facts) -> Facts:
    if known.kind is not Kind.STRING:
        raise _refused("type-mismatch", f"length needs text, got a {known.kind.value}")
    if known.categories is None:
        return Facts(Kind.NUMBER, known.nullable, Fraction(1), 0, None)
    sizes = [len(value) for value in known.categories]
    return Facts(Kind.NUMBER, known.nullable, Fraction(1), min(sizes), max(sizes))
