"""Numbers and text: arithmetic, rounding, and functions of text, as expressions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.plan.analysis import facts
from deniable.plan.expression import (
    Absolute,
    Arithmetic,
    Bin,
    CharacterCount,
    Clamp,
    DaysBetween,
    Divide,
    Expression,
    Fold,
    LetterCase,
    Literal,
    Modulo,
    Operator,
    Round,
    Rounding,
    Substring,
)
from deniable.plan.translate_times import shifted, unwrapped

if TYPE_CHECKING:
    from deniable.plan.translate import Translator


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
    return translator.schema is None or facts(part, translator.schema).step.denominator == 1


def remainder(translator: Translator, node: exp.Mod) -> Expression:
    """a % constant."""
    by = translator.expression(unwrapped(node.expression))
    if not (isinstance(by, Literal) and isinstance(by.value, Fraction) and by.value.denominator == 1 and by.value > 0):
        raise translator.refusal(node, "bad-constant", "% takes a positive whole constant")
    return Modulo(translator.expression(unwrapped(node.this)), int(by.value))


def absolute(translator: Translator, node: exp.Abs) -> Expression:
    """ABS(a)."""
    return Absolute(translator.expression(node.this))


def floor(translator: Translator, node: exp.Floor) -> Expression:
    """FLOOR(a)."""
    return Round(Rounding.FLOOR, translator.expression(node.this))


def ceiling(translator: Translator, node: exp.Ceil) -> Expression:
    """CEIL(a)."""
    return Round(Rounding.CEILING, translator.expression(node.this))


def rounded(translator: Translator, node: exp.Round) -> Expression:
    """ROUND(a, digits); of a quotient, the quotient on that grid."""
    digits = node.args.get("decimals")
    count = translator.constant(digits, node) if digits is not None else Fraction(0)
    if count.denominator != 1 or not -18 <= count <= 18:
        raise translator.refusal(node, "bad-constant", "round takes a whole number of digits up to 18")
    step = Fraction(10) ** -int(count)
    inner = translator.expression(node.this)
    if isinstance(inner, Divide) and not isinstance(inner.right, Literal):
        return Divide(inner.left, inner.right, step)
    return Round(Rounding.NEAREST, inner, step)


def lower(translator: Translator, node: exp.Lower) -> Expression:
    """LOWER(text)."""
    return Fold(LetterCase.LOWER, translator.expression(node.this))


def upper(translator: Translator, node: exp.Upper) -> Expression:
    """UPPER(text)."""
    return Fold(LetterCase.UPPER, translator.expression(node.this))


def substring(translator: Translator, node: exp.Substring) -> Expression:
    """SUBSTRING(text, start, length)."""
    if node.args.get("length") is None:
        raise translator.refusal(node, "bad-constant", "substring takes a start and a length")
    start, length = (translator.constant(node.args[name], node) for name in ("start", "length"))
    return _cut(translator, node, start, length)


def left(translator: Translator, node: exp.Left) -> Expression:
    """LEFT(text, length)."""
    return _cut(translator, node, Fraction(1), translator.constant(node.expression, node))


def _cut(translator: Translator, node: exp.Expression, start: Fraction, length: Fraction) -> Expression:
    if start.denominator != 1 or length.denominator != 1 or start < 1 or length < 0:
        raise translator.refusal(node, "bad-constant", "substring counts from 1 and takes a whole length")
    return Substring(translator.expression(node.this), int(start), int(length))


def length(translator: Translator, node: exp.Length) -> Expression:
    """LENGTH(text)."""
    return CharacterCount(translator.expression(node.this))


def named(translator: Translator, node: exp.Anonymous) -> Expression:
    """Our own functions: clamp, bin, days_between."""
    name, arguments = str(node.this).lower(), node.expressions
    if name == "clamp" and len(arguments) == 3:
        lower, upper = (translator.constant(argument, node) for argument in arguments[1:])
        return Clamp(translator.expression(arguments[0]), lower, upper)
    if name == "bin" and len(arguments) >= 3:
        edges = tuple(translator.constant(argument, node) for argument in arguments[1:])
        return Bin(translator.expression(arguments[0]), edges)
    if name == "days_between" and len(arguments) == 2:
        return DaysBetween(*(translator.expression(argument) for argument in arguments))
    raise translator.refusal(
        node, "unknown-function", f"there is no function {name} that takes {len(arguments)} values"
    )
