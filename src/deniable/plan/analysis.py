"""The public facts of an expression: kind, grid, interval and nullability, from declarations alone.

Guarantee: for every data set that fits the schema's facts, every value of the expression fits the facts returned here,
and no engine overflows on the way. An expression for which that cannot be shown is refused, before any row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias, assert_never

from deniable.plan.arithmetic import arithmetic, quotient, refused
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
    Or,
    children,
)
from deniable.plan.facts import LARGEST, Facts, Kind, common_step, days, fitting, hull, microseconds
from deniable.plan.functions.scalar import ScalarFunction
from deniable.plan.nodes import UnitSummary, UnitValue
from deniable.plan.rewriting import cross_multiplied, listed

Schema: TypeAlias = Mapping[str, Facts]


def facts(expression: Expression, schema: Schema) -> Facts:
    """What holds for the expression on every row of every data set with this schema."""
    match expression:
        case Column(name):
            return _column(name, schema)
        case Literal(value):
            return literal_facts(value)
        case Arithmetic(operator, left, right):
            return arithmetic(operator, facts(left, schema), facts(right, schema))
        case Divide(left, right, step):
            return quotient(facts(left, schema), right, facts(right, schema), step)
        case Compare(comparison, left, right):
            exact = cross_multiplied(comparison, left, right)
            return _compare(comparison, left, right, schema) if exact is None else facts(exact, schema)
        case And(parts) | Or(parts):
            return _truth([facts(part, schema) for part in parts])
        case Not(value):
            return _truth([facts(value, schema)])
        case IsNull(value):
            facts(value, schema)
            return Facts(Kind.BOOLEAN, nullable=False)
        case In(value, among):
            exact = listed(value, among)
            return _membership(facts(value, schema), among) if exact is None else facts(exact, schema)
        case Like(value, pattern):
            return _like(facts(value, schema), pattern)
        case Case(branches, otherwise):
            return _case(branches, otherwise, schema)
        case ScalarFunction():
            known = [facts(argument, schema) for argument in expression.arguments]
            exact = expression.exact(*known) if expression.regrids else None
            return expression.facts(*known) if exact is None else facts(exact, schema)
        case _:
            assert_never(expression)


HEAVIEST = 20_000
"""How large the SQL of one expression may grow; beyond it the expression is refused, whatever the engine."""


def checked_facts(expression: Expression, schema: Schema) -> Facts:
    """The facts of an expression a plan is about to hold; also refuses one that would grow without measure as SQL."""
    if weight(expression) > HEAVIEST:
        raise refused("too-complex", "this expression grows too large", "derive parts of it as columns first")
    return facts(expression, schema)


def weight(expression: Expression) -> int:
    """About how many SQL nodes an expression becomes: some functions name their argument several times."""
    match expression:
        case Divide(left, right):
            return 10 + 3 * weight(left) + 5 * weight(right)
        case In(value, among):
            return 5 + 2 * weight(value) + len(among)
        case Compare(comparison, left, right):
            exact = cross_multiplied(comparison, left, right)
            return 5 + 2 * weight(left) + 2 * weight(right) if exact is None else weight(exact)
        case ScalarFunction():
            return expression.weight + expression.copies * sum(map(weight, expression.arguments))
        case _:
            return 3 + sum(map(weight, children(expression)))


def function_notes(expression: Expression, schema: Schema) -> Iterator[str]:
    """What the functions of an expression have to say about themselves."""
    if isinstance(expression, ScalarFunction):
        note = expression.note(*(facts(argument, schema) for argument in expression.arguments))
        if note is not None:
            yield note
    for child in children(expression):
        yield from function_notes(child, schema)


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


def _column(name: str, schema: Schema) -> Facts:
    if name not in schema:
        raise refused("unknown-column", f"there is no column {name!r}", f"columns here: {', '.join(schema)}")
    return schema[name]


def _truth(parts: list[Facts]) -> Facts:
    for part in parts:
        if part.kind is not Kind.BOOLEAN:
            raise refused("type-mismatch", f"a condition is needed, got a {part.kind.value}", "compare it with a value")
    return Facts(Kind.BOOLEAN, nullable=any(part.nullable for part in parts))


def _of_one_kind(comparison: Comparison, left: Expression, right: Expression, kinds: list[Kind]) -> str:
    """What to write instead of a number in quotes, a text or date without them, or two comparisons in one."""
    if Kind.BOOLEAN in kinds and any(isinstance(side, Compare) for side in (left, right)):
        return "write 1 < x AND x < 5"
    if {Kind.DATE, Kind.TIMESTAMP} & set(kinds) and Kind.NUMBER in kinds:
        return f"a date stands in quotes: {comparison.value} '2024-01-31'"
    of, said = (left, right) if isinstance(right, Literal) else (right, left)
    if not isinstance(said, Literal) or isinstance(of, Literal):
        return ""
    name = of.name if isinstance(of, Column) else "..."
    if isinstance(said.value, str):
        plain = said.value.strip()
        return f"write {name} {comparison.value} {plain}" if _reads_as_number(plain) else ""
    if not isinstance(said.value, Fraction) or Kind.STRING not in kinds:
        return ""
    return f"write {name} {comparison.value} '{said.value}'"


def _reads_as_number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdecimal()


def _kind_of(side: Expression, known: Facts) -> str:
    """The kind of a side of a comparison, with its name or value."""
    if isinstance(side, Column):
        return f"a {known.kind.value} ({side.name})"
    return (
        f"a {known.kind.value} ({side.value!r})"
        if isinstance(side, Literal) and known.kind is Kind.STRING
        else f"a {known.kind.value}"
    )


def _compare(comparison: Comparison, left: Expression, right: Expression, schema: Schema) -> Facts:
    sides = promoted(left, right, schema)
    known = [facts(side, schema) for side in sides]
    if known[0].kind is not known[1].kind:
        raise refused(
            "type-mismatch",
            " is compared with ".join(map(_kind_of, sides, known)),
            _of_one_kind(comparison, *sides, [each.kind for each in known]),
        )
    if known[0].kind in (Kind.STRING, Kind.BOOLEAN) and comparison not in (Comparison.EQUAL, Comparison.NOT_EQUAL):
        raise refused(
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
        raise refused("bad-constant", "IN needs at least one value")
    for literal in among:
        other = literal_facts(literal.value)
        if other.kind is not known.kind:
            quoted = known.kind is Kind.NUMBER and isinstance(literal.value, str) and _reads_as_number(literal.value)
            rewrite = f"write {literal.value} without quotes" if quoted else ""
            if known.kind is Kind.STRING and isinstance(literal.value, Fraction):
                rewrite = f"write '{literal.value}' in quotes"
            raise refused(
                "type-mismatch", f"a {known.kind.value} cannot be IN a list with a {other.kind.value}", rewrite
            )
    return Facts(Kind.BOOLEAN, nullable=known.nullable)


def _like(known: Facts, pattern: str) -> Facts:
    if known.kind is not Kind.STRING:
        raise refused("type-mismatch", f"LIKE needs text, got a {known.kind.value}")
    if "\\" in pattern:
        raise refused("bad-constant", "a backslash in LIKE means different things to different engines", "leave it out")
    return Facts(Kind.BOOLEAN, nullable=known.nullable)


def _case(branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression | None, schema: Schema) -> Facts:
    if not branches:
        raise refused("bad-constant", "CASE needs at least one WHEN")
    for condition, _ in branches:
        condition_facts(condition, schema)
    results = [result for _, result in branches] + ([otherwise] if otherwise is not None else [])
    known = hull([facts(result, schema) for result in results])
    return known.with_null(known.nullable or otherwise is None)


# Summaries of one unit's rows ----------------------------------------------------------------------------------------

FINEST_SHARE = 10**6
"""The largest denominator of a quantile's share, so that a share times a number of rows stays within 64 bits."""


def summary_facts(value: UnitValue, columns: dict[str, Facts]) -> Facts:
    """The facts of one summary column; what is not bounded by declaration saturates at 2**62 and counts as unbounded."""
    of = None if value.of is None else checked_facts(value.of, columns)
    if (of is None) != (value.summary is UnitSummary.ROWS):
        raise refused("bad-summary", f"{value.summary.value} of {value.name}: ROWS takes no column, all others one")
    share = value.share if value.summary is UnitSummary.QUANTILE else Fraction(0)
    if share is None or not (0 <= share <= 1 and share.denominator <= FINEST_SHARE):
        raise refused("bad-constant", f"{value.name}: a quantile's share lies between 0 and 1 in steps of a millionth")
    match value.summary:
        case UnitSummary.ROWS | UnitSummary.COUNT | UnitSummary.DISTINCT:
            known = Facts(Kind.NUMBER, False, Fraction(1), 0, None)
        case UnitSummary.SUM:
            known = _sum_facts(of)
        case UnitSummary.LEAST | UnitSummary.GREATEST | UnitSummary.MEDIAN | UnitSummary.QUANTILE:
            if of is None or of.kind not in (Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP):
                raise refused("no-order", f"{value.name}: MIN, MAX and quantiles need numbers or dates")
            known = of
        case UnitSummary.MODE:
            assert of is not None
            known = of
    return clamped_summary(value, known)


def _sum_facts(of: Facts | None) -> Facts:
    if of is None or of.kind is not Kind.NUMBER or not of.bounded:
        raise refused("unbounded", "SUM needs a number with declared bounds", "clamp(x, lower, upper) it")
    low, high = of.ends
    return Facts(Kind.NUMBER, of.nullable, of.step, 0 if low >= 0 else None, 0 if high <= 0 else None)


def clamped_summary(value: UnitValue, known: Facts) -> Facts:
    """The facts once the summary's own bounds are applied."""
    if (value.lower is None) != (value.upper is None):
        raise refused("bad-summary", f"{value.name}: give both bounds or none")
    if value.lower is None or value.upper is None:
        return known
    if known.kind is not Kind.NUMBER:
        raise refused("type-mismatch", f"{value.name}: only numbers have bounds here")
    low, high = ceil(value.lower / known.step), floor(value.upper / known.step)
    if not -LARGEST < low <= high < LARGEST:
        raise refused("bad-constant", f"{value.name}: no grid point in [{value.lower}, {value.upper}]")
    low = low if known.lower is None else min(max(low, known.lower), high)
    return replace(known, lower=low, upper=high if known.upper is None else max(min(high, known.upper), low))
