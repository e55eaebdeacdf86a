"""Expressions as SQL: numbers are 64-bit integers on their grid, every function total.

Static analysis has shown that nothing here overflows; where an engine would raise on a value (division by zero), the
value is made missing first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, assert_never

from sqlglot import exp

from deniable.engines.sql.build import (
    BIGGEST,
    SMALLEST,
    Tree,
    add,
    bigint,
    binary,
    call,
    case,
    cast,
    clamped,
    column,
    missing,
    multiply,
    number,
    paren,
    scaled,
    subtract,
    text,
    within,
)
from deniable.engines.sql.features import function_feature
from deniable.engines.sql.profile import Profile
from deniable.plan.analysis import facts, promoted
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
    LetterCase,
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
)
from deniable.plan.facts import Facts, Kind, common_step, hull
from deniable.plan.rewriting import common_grid, cross_multiplied, listed
from deniable.plan.semantics import bin_starts, clamp_ends, folded, folded_ascii, quotient_factors

_COMPARISONS: dict[Comparison, type[exp.Binary]] = {
    Comparison.EQUAL: exp.EQ,
    Comparison.NOT_EQUAL: exp.NEQ,
    Comparison.LESS: exp.LT,
    Comparison.AT_MOST: exp.LTE,
    Comparison.MORE: exp.GT,
    Comparison.AT_LEAST: exp.GTE,
}
_TURNED = {
    Comparison.LESS: Comparison.MORE,
    Comparison.MORE: Comparison.LESS,
    Comparison.AT_MOST: Comparison.AT_LEAST,
    Comparison.AT_LEAST: Comparison.AT_MOST,
}
_OPERATORS: dict[Operator, type[exp.Binary]] = {
    Operator.ADD: exp.Add,
    Operator.SUBTRACT: exp.Sub,
    Operator.MULTIPLY: exp.Mul,
}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Expressions:
    """Writes expressions over columns with known facts; `table` qualifies every column."""

    def __init__(self, schema: Mapping[str, Facts], profile: Profile, *, table: str | None = None) -> None:
        self._schema, self._profile, self._table = schema, profile, table

    def known(self, expression: Expression) -> Facts:
        """The facts of an expression here."""
        return facts(expression, self._schema)

    def on(self, expression: Expression, step: Fraction) -> Tree:
        """A number counted in a finer step."""
        return scaled(self.tree(expression), int(self.known(expression).step / step))

    def tree(self, expression: Expression) -> Tree:
        """The SQL of an expression."""
        self._profile.allow(function_feature(expression))
        match expression:
            case Compare(comparison, left, right) if (exact := cross_multiplied(comparison, left, right)) is not None:
                return self.tree(exact)
            case In(value, among) if (exact := listed(value, among)) is not None:
                return self.tree(exact)
            case Clamp(value) if (finer := common_grid(expression, self.known(value))) is not None:
                return self.tree(finer)
            case Column(name):
                return column(name, self._table)
            case Literal(value):
                return constant(value)
            case Arithmetic(operator, left, right):
                return self._arithmetic(operator, left, right)
            case Divide(left, right, step):
                return self._divide(left, right, step)
            case Modulo(value, by):
                whole = self.on(value, Fraction(1))
                return binary(exp.Mod, whole, number(by))
            case Compare(comparison, left, right):
                return self._compare(comparison, *promoted(left, right, self._schema))
            case And(parts):
                return paren(exp.and_(*(self.tree(part) for part in parts), copy=False))
            case Or(parts):
                return paren(exp.or_(*(self.tree(part) for part in parts), copy=False))
            case Not(value):
                return paren(exp.Not(this=paren(self.tree(value))))
            case IsNull(value):
                return missing(self.tree(value))
            case In(value, among):
                return self._in(value, among)
            case Like(value, pattern):
                return paren(exp.Like(this=self.tree(value), expression=text(pattern)))
            case Case(branches, otherwise):
                return self._case(expression, branches, otherwise)
            case Coalesce(parts) | Least(parts) | Greatest(parts):
                return self._several(expression, parts)
            case Clamp(value, lower, upper):
                return clamped(self.tree(value), *clamp_ends(self.known(value).step, lower, upper))
            case Absolute(value):
                return exp.Abs(this=self.tree(value))
            case Round(rounding, value, step):
                return self._round(rounding, value, step)
            case Bin(value, edges):
                return self._bin(value, edges)
            case DatePart() | Truncate() | ToDate() | DaysBetween():
                return self._time(expression)
            case Fold() | Substring() | CharacterCount():
                return self._text(expression)
            case _:
                assert_never(expression)

    def _arithmetic(self, operator: Operator, left: Expression, right: Expression) -> Tree:
        if operator is Operator.MULTIPLY:
            return multiply(self.tree(left), self.tree(right))
        step = common_step((self.known(left).step, self.known(right).step))
        return binary(_OPERATORS[operator], self.on(left, step), self.on(right, step))

    def _divide(self, left: Expression, right: Expression, step: Fraction) -> Tree:
        if isinstance(right, Literal):
            return scaled(self.tree(left), 1 if Fraction(right.value) > 0 else -1)  # type: ignore[arg-type]
        over, under = quotient_factors(self.known(left).step, self.known(right).step, step)
        top, bottom = self.tree(left), self.tree(right)
        size = scaled(exp.Abs(this=bottom), under)
        twice = scaled(exp.Abs(this=top), 2 * over)
        divisor = exp.Nullif(this=scaled(size.copy(), 2), expression=number(0))
        quotient = self._profile.quotient(add(twice, size), divisor)
        negative = binary(exp.NEQ, binary(exp.LT, top.copy(), number(0)), binary(exp.LT, bottom.copy(), number(0)))
        return case([(negative, multiply(number(-1), quotient))], quotient.copy())

    def _compare(self, comparison: Comparison, left: Expression, right: Expression) -> Tree:
        kind = self.known(left).kind
        if kind is not Kind.NUMBER:
            return binary(_COMPARISONS[comparison], self.tree(left), self.tree(right))
        if isinstance(left, Literal) and not isinstance(right, Literal):
            return self._compare(_TURNED.get(comparison, comparison), right, left)
        if isinstance(right, Literal) and not isinstance(left, Literal):
            threshold = Fraction(right.value) / self.known(left).step  # type: ignore[arg-type]
            return against(self.tree(left), comparison, threshold)
        step = common_step((self.known(left).step, self.known(right).step))
        return binary(_COMPARISONS[comparison], self.on(left, step), self.on(right, step))

    def _in(self, value: Expression, among: tuple[Literal, ...]) -> Tree:
        known, tree = self.known(value), self.tree(value)
        constants = [literal.value for literal in among]
        if known.kind is not Kind.NUMBER:
            return paren(exp.In(this=tree, expressions=[constant(entry) for entry in constants]))
        counts = [Fraction(entry) / known.step for entry in constants]  # type: ignore[arg-type]
        whole = [int(count) for count in counts if count.denominator == 1 and SMALLEST <= count <= BIGGEST]
        if not whole:
            return binary(exp.NEQ, tree, tree.copy())
        return paren(exp.In(this=tree, expressions=[number(count) for count in whole]))

    def _case(
        self, whole: Expression, branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression | None
    ) -> Tree:
        results = [result for _, result in branches] + ([otherwise] if otherwise is not None else [])
        trees = self._alike(results)
        pairs = [(self.tree(condition), tree) for (condition, _), tree in zip(branches, trees, strict=False)]
        return case(pairs, trees[-1] if otherwise is not None else None)

    def _alike(self, parts: list[Expression]) -> list[Tree]:
        """Several values of one kind, numbers on their common grid."""
        together = hull([self.known(part) for part in parts])
        if together.kind is Kind.NUMBER:
            return [self.on(part, together.step) for part in parts]
        return [self.tree(part) for part in parts]

    def _several(self, expression: Coalesce | Least | Greatest, parts: tuple[Expression, ...]) -> Tree:
        first, *rest = self._alike(list(parts))
        if not rest:
            return first
        match expression:
            case Coalesce():
                return exp.Coalesce(this=first, expressions=rest)
            case Least():
                return exp.Least(this=first, expressions=rest, ignore_nulls=True)
            case Greatest():
                return exp.Greatest(this=first, expressions=rest, ignore_nulls=True)

    def _round(self, rounding: Rounding, value: Expression, step: Fraction) -> Tree:
        known = self.known(value)
        ratio = known.step / step
        if ratio.denominator == 1:
            return self.on(value, step)
        over, under = ratio.numerator, ratio.denominator
        low = known.ends[0] * over
        match rounding:
            case Rounding.FLOOR:
                return self._floor(scaled(self.tree(value), over), low, under)
            case Rounding.CEILING:
                raised = add(scaled(self.tree(value), over), number(under - 1))
                return self._floor(raised, low + under - 1, under)
            case Rounding.NEAREST:
                tree = self.tree(value)
                size = add(scaled(exp.Abs(this=tree), 2 * over), number(under))
                nearest = self._profile.quotient(size, number(2 * under))
                sign = binary(exp.LT, tree.copy(), number(0))
                return case([(sign, multiply(number(-1), nearest))], nearest.copy())

    def _floor(self, value: Tree, low: int, by: int) -> Tree:
        """A floored quotient by a positive constant, shifted so that the engine divides no negative number."""
        shift = low // by
        return add(self._profile.quotient(subtract(value, number(shift * by)), number(by)), number(shift))

    def _bin(self, value: Expression, edges: tuple[Fraction, ...]) -> Tree:
        starts, last = bin_starts(self.known(value).step, edges)
        tree = self.tree(value)
        inside = within(tree, number(starts[0]), number(last))
        gaps = {b - a for a, b in pairwise(starts)}
        if len(gaps) == 1 and (width := gaps.pop()) > 0:
            place = self._profile.quotient(subtract(tree.copy(), number(starts[0])), number(width))
            chosen: Tree = exp.Least(this=place, expressions=[number(len(starts) - 1)], ignore_nulls=True)
        else:
            chosen = _searched(tree, starts, 0)
        return case([(inside, bigint(chosen))])

    def _time(self, expression: DatePart | Truncate | ToDate | DaysBetween) -> Tree:
        profile = self._profile
        match expression:
            case DaysBetween(start, end):
                return subtract(profile.days(self.tree(end)), profile.days(self.tree(start)))
            case DatePart(Part.WEEKDAY, value):
                day = self.tree(value if self.known(value).kind is Kind.DATE else ToDate(value))
                # 1970-01-01 was a Thursday; whole weeks keep the number positive back to year 1.
                return binary(exp.Mod, add(profile.days(day), number(4 + 7 * 102_738)), number(7))
            case DatePart(part, value):
                return profile.part(part.name, self.tree(value))
            case Truncate(value, length):
                if self.known(value).kind is Kind.DATE:
                    return profile.truncated_date(self.tree(value), length)
                return profile.truncated_timestamp(self.tree(value), length)
            case ToDate(value):
                return cast(self.tree(value), "DATE")

    def _text(self, expression: Fold | Substring | CharacterCount) -> Tree:
        match expression:
            case Fold(letters, value):
                pair = (_LETTERS, _LETTERS.lower())
                source, target = pair if letters is LetterCase.LOWER else pair[::-1]
                tree = self.tree(value)
                plain = call("TRANSLATE", tree, text(source), text(target))
                pairs = [
                    (binary(exp.EQ, tree.copy(), text(category)), text(folded(category, letters)))
                    for category in self.known(value).categories or ()
                    if folded(category, letters) != folded_ascii(category, letters)
                ]
                return case(pairs, plain) if pairs else plain
            case Substring(value, start, length):
                return exp.Substring(this=self.tree(value), start=number(start), length=number(length))
            case CharacterCount(value):
                return self._profile.characters(self.tree(value))


def _searched(value: Tree, starts: list[int], offset: int) -> Tree:
    """The last start at most the value, by halving."""
    if len(starts) == 1:
        return number(offset)
    middle = len(starts) // 2
    below = _searched(value, starts[:middle], offset)
    above = _searched(value, starts[middle:], offset + middle)
    return case([(binary(exp.LT, value.copy(), number(starts[middle])), below)], above)


def constant(value: Any) -> Tree:
    """A constant as engines hold it; a number is the integer of its own finest grid."""
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, str):
        return text(value)
    if isinstance(value, datetime):
        return cast(text(value.isoformat(" ")), "TIMESTAMP")
    if isinstance(value, date):
        return cast(text(value.isoformat()), "DATE")
    return bigint(number(Fraction(value).numerator))


def against(tree: Tree, comparison: Comparison, threshold: Fraction) -> Tree:
    """A grid integer compared with a constant that may lie between grid points or beyond 64 bits."""
    whole = threshold.denominator == 1 and SMALLEST <= threshold <= BIGGEST
    match comparison:
        case Comparison.EQUAL | Comparison.NOT_EQUAL:
            if whole:
                return binary(_COMPARISONS[comparison], tree, number(int(threshold)))
            return _known_truth(tree, comparison is Comparison.NOT_EQUAL)
        case Comparison.LESS | Comparison.AT_LEAST:
            bound = ceil(threshold)
        case Comparison.AT_MOST | Comparison.MORE:
            bound = floor(threshold)
    if not SMALLEST <= bound <= BIGGEST:
        return _known_truth(tree, (bound > 0) is (comparison in (Comparison.LESS, Comparison.AT_MOST)))
    return binary(_COMPARISONS[comparison], tree, number(bound))


def _known_truth(tree: Tree, truth: bool) -> Tree:
    """True or false where the value is present, unknown where it is missing."""
    return binary(exp.EQ if truth else exp.NEQ, tree, tree.copy())
