"""Operators from SQL: AND, OR, IS, IN, LIKE, BETWEEN, CASE and their kin, arithmetic, and constant dates moved by intervals."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.plan.expression import (
    And,
    Arithmetic,
    Case,
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
    between,
)
from deniable.plan.facts import Kind
from deniable.plan.functions.catalogue import CASTS
from deniable.plan.functions.several import Coalesce

if TYPE_CHECKING:
    from deniable.plan.translate import Translator


def conjunction(translator: Translator, node: exp.And) -> Expression:
    """a AND b."""
    return And(tuple(translator.expression(part) for part in node.flatten()))


def disjunction(translator: Translator, node: exp.Or) -> Expression:
    """a OR b."""
    return Or(tuple(translator.expression(part) for part in node.flatten()))


def negation(translator: Translator, node: exp.Not) -> Expression:
    """NOT a."""
    return Not(translator.expression(node.this))


def test(translator: Translator, node: exp.Is) -> Expression:
    """a IS NULL, a IS TRUE, a IS FALSE, and their opposites."""
    if node.args.get("negate"):
        plain = node.copy()
        plain.set("negate", None)
        return Not(test(translator, plain))
    value = translator.expression(node.this)
    if isinstance(node.expression, exp.Null):
        return IsNull(value)
    if isinstance(node.expression, exp.Boolean):
        asked = value if node.expression.this else Not(value)
        return Coalesce((asked, Literal(False)))
    raise translator.refusal(node, "unsupported", "IS is followed by NULL, TRUE or FALSE")


def range_test(translator: Translator, node: exp.Between) -> Expression:
    """a BETWEEN b AND c."""
    value, lower, upper = translator.alike(node, [node.this, node.args["low"], node.args["high"]])
    return between(value, lower, upper)


def membership(translator: Translator, node: exp.In) -> Expression:
    """a IN (constants)."""
    if node.args.get("query") is not None or not node.expressions:
        raise translator.refusal(
            node, "subquery", "IN takes a list of constants here", "use a semi join along the unit or a link"
        )
    value, *among = translator.alike(node, [node.this, *node.expressions])
    constants = tuple(part for part in among if isinstance(part, Literal))
    if len(constants) != len(among):
        raise translator.refusal(node, "bad-constant", "IN takes a list of constants")
    translator.check_case(node, value, *among)
    return In(value, constants)


def likeness(translator: Translator, node: exp.Like) -> Expression:
    """a LIKE 'pattern'."""
    if not (isinstance(node.expression, exp.Literal) and node.expression.is_string):
        raise translator.refusal(node, "bad-constant", "LIKE takes a constant pattern")
    like = Like(translator.expression(node.this), node.expression.this)
    translator.check_case(node, like.value, Literal(like.pattern))
    return Not(like) if node.args.get("negate") else like


def case(translator: Translator, node: exp.Case) -> Expression:
    """CASE WHEN ... END, with or without a subject."""
    subject = node.args.get("this")
    branches = []
    for branch in node.args["ifs"]:
        if subject is None:
            condition = translator.expression(branch.this)
        else:
            condition = Compare(Comparison.EQUAL, *translator.alike(node, [subject, branch.this]))
        branches.append((condition, _optional(translator, branch.args.get("true"))))
    return _cases(translator, node, branches, _optional(translator, node.args.get("default")))


def condition(translator: Translator, node: exp.If) -> Expression:
    """IF(a, b, c)."""
    branch = (translator.expression(node.this), _optional(translator, node.args.get("true")))
    return _cases(translator, node, [branch], _optional(translator, node.args.get("false")))


def _optional(translator: Translator, node: exp.Expression | None) -> Expression | None:
    return None if node is None or isinstance(node, exp.Null) else translator.expression(node)


def _cases(
    translator: Translator,
    node: exp.Expression,
    branches: list[tuple[Expression, Expression | None]],
    otherwise: Expression | None,
) -> Expression:
    """A CASE whose branches may say NULL: from there on, the rest holds only where that branch does not."""
    said: list[tuple[Expression, Expression]] = []
    for index, (condition, result) in enumerate(branches):
        if result is None:
            rest = branches[index + 1 :]
            if not rest and otherwise is None:
                if index == 0:
                    raise translator.refusal(node, "bad-constant", "this CASE is always NULL")
                return Case(tuple(said))
            inner = _cases(translator, node, rest, otherwise) if rest else otherwise
            assert inner is not None
            untrue = Not(Coalesce((condition, Literal(False))))
            return Case((*said, (untrue, inner)))
        said.append((condition, result))
    return Case(tuple(said), otherwise)


def nullified(translator: Translator, node: exp.Nullif) -> Expression:
    """NULLIF(a, b)."""
    left, right = translator.alike(node, [node.this, node.expression])
    same = Coalesce((Compare(Comparison.EQUAL, left, right), Literal(False)))
    return Case(((Not(same), left),))


OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.Add: Operator.ADD,
    exp.Sub: Operator.SUBTRACT,
    exp.Mul: Operator.MULTIPLY,
}


def negative(translator: Translator, node: exp.Neg) -> Expression:
    """-a."""
    inner = translator.expression(node.this)
    if isinstance(inner, Literal) and isinstance(inner.value, Fraction):
        return Literal(-inner.value)
    return Arithmetic(Operator.MULTIPLY, Literal(-1), inner)


def arithmetic(translator: Translator, node: exp.Expression) -> Expression:
    """a + b, a - b, a * b; a constant date may be moved by an interval."""
    if isinstance(node.expression, exp.Interval):
        return shifted(translator, node)
    return Arithmetic(OPERATORS[type(node)], translator.expression(node.this), translator.expression(node.expression))


def quotient(translator: Translator, node: exp.Div) -> Expression:
    """a / b."""
    left, right = translator.expression(node.this), translator.expression(node.expression)
    if node.args.get("typed") and _whole(translator, left) and _whole(translator, right):
        raise translator.refusal(
            node, "integer-division", "whole numbers divide differently in this dialect", "write floor(a / b)"
        )
    if isinstance(right, Literal) and right.value == 0:
        raise translator.refusal(node, "divide-by-zero", "dividing by the constant zero")
    return Divide(left, right)


def _whole(translator: Translator, part: Expression) -> bool:
    return translator.schema is None or translator.facts(part).step.denominator == 1


def shifted(translator: Translator, node: exp.Expression) -> Expression:
    """A constant date moved by an interval is a constant date."""
    start, interval = translator.expression(node.this), node.expression
    unit = str(interval.args.get("unit") or "").lower().rstrip("s")
    amount = str(interval.this.this if interval.this is not None else "")
    if not (isinstance(start, Literal) and isinstance(start.value, date) and amount.lstrip("-").isdigit()):
        raise translator.refusal(
            node, "unsupported", "an interval can only be added to a constant date", "use days_between(a, b)"
        )
    count = int(amount) * (1 if isinstance(node, exp.Add) else -1)
    try:
        return Literal(_moved(start.value, unit, count))
    except (ValueError, OverflowError, KeyError):
        raise translator.refusal(node, "bad-constant", f"no date lies {amount} {unit} away") from None


def _moved(start: date, unit: str, count: int) -> date:
    steps = {"day": 1, "week": 7}
    if unit in steps:
        return start + timedelta(days=steps[unit] * count)
    months = start.year * 12 + start.month - 1 + {"month": 1, "quarter": 3, "year": 12}[unit] * count
    year, month = divmod(months, 12)
    for day in range(start.day, start.day - 4, -1):
        try:
            return start.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    raise ValueError("no such date")


_TIMES = {exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ, exp.DataType.Type.DATETIME}


def cast(translator: Translator, node: exp.Cast) -> Expression:
    """CAST(x AS type), as the table of functions has it, or a constant date or timestamp."""
    target = node.to.this
    if isinstance(node.this, exp.Literal) and node.this.is_string:
        if target == exp.DataType.Type.DATE:
            return Literal(translator.time(node, node.this.this, Kind.DATE))
        if target in _TIMES:
            return Literal(translator.time(node, node.this.this, Kind.TIMESTAMP))
    if target in CASTS:
        return CASTS[target].read(translator, node)
    raise translator.refusal(
        node, "unsupported", "a cast is to DATE, INTEGER or VARCHAR; numbers are exact already", "use round or floor"
    )
