"""Expressions as SQL: numbers are 64-bit integers on their grid, every function total.

Static analysis has shown that nothing here overflows; where an engine would raise on a value (division by zero), the
value is made missing first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import ceil, floor
from typing import Any, assert_never

from sqlglot import exp

from deniable.plan.analysis import facts, promoted
from deniable.plan.arithmetic import quotient_factors
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
from deniable.plan.facts import Facts, Kind, common_step, hull
from deniable.plan.functions.scalar import ScalarFunction
from deniable.plan.nodes import KeyColumn, ValueTable
from deniable.plan.profile import Profile
from deniable.plan.rewriting import cross_multiplied, listed
from deniable.plan.sql_trees import (
    BIGGEST,
    SMALLEST,
    Tree,
    add,
    bigint,
    binary,
    case,
    cast,
    column,
    missing,
    multiply,
    named,
    number,
    paren,
    present,
    scaled,
    text,
    within,
)

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


class Expressions:
    """Writes expressions over columns with known facts; `table` qualifies every column."""

    def __init__(self, schema: Mapping[str, Facts], profile: Profile, *, table: str | None = None) -> None:
        self._schema, self.profile, self._table = schema, profile, table

    def known(self, expression: Expression) -> Facts:
        """The facts of an expression here."""
        return facts(expression, self._schema)

    def on(self, expression: Expression, step: Fraction) -> Tree:
        """A number counted in a finer step."""
        return scaled(self.tree(expression), int(self.known(expression).step / step))

    def tree(self, expression: Expression) -> Tree:
        """The SQL of an expression."""
        self.profile.allow(function_feature(expression))
        match expression:
            case Compare(comparison, left, right) if (exact := cross_multiplied(comparison, left, right)) is not None:
                return self.tree(exact)
            case In(value, among) if (exact := listed(value, among)) is not None:
                return self.tree(exact)
            case Column(name):
                return column(name, self._table)
            case Literal(value):
                return constant(value)
            case Arithmetic(operator, left, right):
                return self._arithmetic(operator, left, right)
            case Divide(left, right, step):
                return self._divide(left, right, step)
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
                return self._case(branches, otherwise)
            case ScalarFunction():
                return self._function(expression)
            case _:
                assert_never(expression)

    def _arithmetic(self, operator: Operator, left: Expression, right: Expression) -> Tree:
        if operator is Operator.MULTIPLY:
            return multiply(self.tree(left), self.tree(right))
        step = common_step((self.known(left).step, self.known(right).step))
        return binary(_OPERATORS[operator], self.on(left, step), self.on(right, step))

    def _divide(self, left: Expression, right: Expression, step: Fraction) -> Tree:
        if isinstance(right, Literal):
            return scaled(self.tree(left), 1 if right.number > 0 else -1)
        over, under = quotient_factors(self.known(left).step, self.known(right).step, step)
        top, bottom = self.tree(left), self.tree(right)
        size = scaled(exp.Abs(this=bottom), under)
        twice = scaled(exp.Abs(this=top), 2 * over)
        divisor = exp.Nullif(this=scaled(size.copy(), 2), expression=number(0))
        quotient = self.profile.quotient(add(twice, size), divisor)
        negative = binary(exp.NEQ, binary(exp.LT, top.copy(), number(0)), binary(exp.LT, bottom.copy(), number(0)))
        return case([(negative, multiply(number(-1), quotient))], quotient.copy())

    def _compare(self, comparison: Comparison, left: Expression, right: Expression) -> Tree:
        kind = self.known(left).kind
        if kind is not Kind.NUMBER:
            return binary(_COMPARISONS[comparison], self.tree(left), self.tree(right))
        if isinstance(left, Literal) and not isinstance(right, Literal):
            return self._compare(_TURNED.get(comparison, comparison), right, left)
        if isinstance(right, Literal) and not isinstance(left, Literal):
            threshold = right.number / self.known(left).step
            return against(self.tree(left), comparison, threshold)
        step = common_step((self.known(left).step, self.known(right).step))
        return binary(_COMPARISONS[comparison], self.on(left, step), self.on(right, step))

    def _in(self, value: Expression, among: tuple[Literal, ...]) -> Tree:
        known, tree = self.known(value), self.tree(value)
        if known.kind is not Kind.NUMBER:
            return paren(exp.In(this=tree, expressions=[constant(literal.value) for literal in among]))
        counts = [literal.number / known.step for literal in among]
        whole = [int(count) for count in counts if count.denominator == 1 and SMALLEST <= count <= BIGGEST]
        if not whole:
            return binary(exp.NEQ, tree, tree.copy())
        return paren(exp.In(this=tree, expressions=[number(count) for count in whole]))

    def _case(self, branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression | None) -> Tree:
        results = [result for _, result in branches] + ([otherwise] if otherwise is not None else [])
        trees = self.alike(results)
        placed = self._placed(branches)
        first = 0 if placed is None else placed[1]
        rest = list(zip(branches, trees, strict=False))[first:]
        pairs = [(self.tree(condition), tree) for (condition, _), tree in rest]
        other = trees[-1] if otherwise is not None else None
        if placed is None:
            return case(pairs, other)
        place = scaled(placed[0], int(1 / self._grid(results)))
        if pairs:
            other = case(pairs, other)
        return place if other is None else exp.Coalesce(this=place, expressions=[other])

    def _placed(self, branches: tuple[tuple[Expression, Expression], ...]) -> tuple[Tree, int] | None:
        """The places of a text among those the first branches compare it with, in the engine's quickest words, and how many do."""
        value, texts = compared_texts(branches)
        if value is None or self.known(value).kind is not Kind.STRING:
            return None
        place = self.profile.place(self.tree(value), texts)
        return None if place is None else (place, len(texts))

    def _grid(self, numbers: Sequence[Expression]) -> Fraction:
        return common_step(self.known(each).step for each in numbers)

    def alike(self, parts: Sequence[Expression]) -> list[Tree]:
        """Several values of one kind, numbers on their common grid."""
        together = hull([self.known(part) for part in parts])
        if together.kind is Kind.NUMBER:
            return [self.on(part, together.step) for part in parts]
        return [self.tree(part) for part in parts]

    def _function(self, function: ScalarFunction) -> Tree:
        exact = function.exact(*map(self.known, function.arguments)) if function.regrids else None
        return function.sql(self) if exact is None else self.tree(exact)


def compared_texts(branches: Sequence[tuple[Expression, Expression]]) -> tuple[Expression | None, tuple[str, ...]]:
    """What the first branches compare with different texts, one each, and these texts; each gives its place, from 0."""
    value, texts = None, dict[str, int]()
    for condition, result in branches:
        match condition, result:
            case (Compare(Comparison.EQUAL, of, Literal(str() as each)), Literal(Fraction() as place)):
                if place != len(texts) or each in texts or value not in (None, of):
                    break
                value = of
                texts[each] = len(texts)
            case _:
                break
    return (value, tuple(texts)) if len(texts) > 1 else (None, ())


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


# Features: what a plan may use or not, so that an engine may do without; all that is not named every plan rests on. -------


def function_feature(expression: Expression) -> str | None:
    """The feature an expression is itself, whatever is inside it."""
    match expression:
        case ScalarFunction():
            return expression.feature
        case Divide(_, right) if not isinstance(right, Literal):  # by a constant nothing is divided: the grid changes
            return "division by a column"
        case Like():
            return "LIKE"
        case _:
            return None


_HELD = {
    Kind.NUMBER: "BIGINT",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.STRING: "TEXT",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def value_rows(table: ValueTable, names: Sequence[str]) -> exp.Select:
    """A table of values, each cast to the type its column has everywhere."""
    kinds = [(place, name, known.kind) for place, (name, known) in enumerate(table.columns) if name in names]
    written = [named(cast(column(f"value_{place}", "given"), _HELD[kind]), name) for place, name, kind in kinds]
    chosen = written or [named(number(1), "__deniable_one")]
    rows = table.rows or ((None,) * len(table.columns),)
    tuples = [exp.Tuple(expressions=[_constant(cell) for cell in row]) for row in rows]
    listed = [exp.to_identifier(f"value_{place}", quoted=True) for place in range(len(table.columns))]
    alias = exp.TableAlias(this=exp.to_identifier("given", quoted=True), columns=listed)
    selected = exp.select(*chosen, copy=False).from_(exp.Values(expressions=tuples, alias=alias), copy=False)
    return selected if table.rows else selected.where(exp.false(), copy=False)


def _constant(cell: object) -> Tree:
    match cell:
        case None:
            return exp.null()
        case bool():
            return exp.Boolean(this=cell)
        case int():
            return number(cell)
        case str():
            return text(cell)
        case _:
            return text(str(cell))


def key_counts(key: KeyColumn, known: Facts, name: str) -> Tree | None:
    """Which values of a key's column count: the declared ones, and missing ones only where they are kept; None where all do."""
    accepted = _declared(key, known, name)
    if accepted is None:
        return present(column(name)) if known.nullable and not key.keep_missing else None
    if key.keep_missing and known.nullable:
        return paren(exp.or_(missing(column(name)), accepted))
    return accepted


def _declared(key: KeyColumn, known: Facts, name: str) -> Tree | None:
    if key.domain is None:
        return None
    domain = set(key.domain)
    if known.categories is not None and domain.issuperset(known.categories):
        return None
    if known.kind is Kind.NUMBER:
        counts = sorted(value for value in domain if isinstance(value, int))
        if counts and counts[-1] - counts[0] == len(counts) - 1:
            inside = known.bounded and counts[0] <= known.ends[0] and known.ends[1] <= counts[-1]
            return None if inside else within(column(name), number(counts[0]), number(counts[-1]))
        values: list[Tree] = [number(count) for count in counts]
    else:
        values = [constant(value) for value in key.domain]
    return exp.In(this=column(name), expressions=values) if values else exp.false()
