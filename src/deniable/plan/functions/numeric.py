"""Functions of numbers: remainders, sizes, limits and rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from deniable.plan.arithmetic import bounded, clamp_ends, number, refused, rounded_quotient
from deniable.plan.expression import Arithmetic, Divide, Expression, Literal, Operator
from deniable.plan.facts import LARGEST, Facts, Kind, common_step, fitting
from deniable.plan.functions.scalar import Cell, ScalarFunction, Spelling, Writer, of_argument, unwrapped
from deniable.plan.sql_trees import Tree, add, binary, case, clamped, multiply, scaled, subtract
from deniable.plan.sql_trees import number as constant

if TYPE_CHECKING:
    from deniable.plan.translate import Translator

ONE = Fraction(1)


# Remainders -----------------------------------------------------------------------------------------------------------


def _read_modulo(translator: Translator, node: exp.Mod) -> Expression:
    by = translator.expression(unwrapped(node.expression))
    if not (isinstance(by, Literal) and isinstance(by.value, Fraction) and by.value.denominator == 1 and by.value > 0):
        raise translator.refusal(node, "bad-constant", "% takes a positive whole constant")
    return Modulo(translator.expression(unwrapped(node.this)), int(by.value))


@dataclass(frozen=True, slots=True)
class Modulo(ScalarFunction):
    """The remainder of a whole number by a positive whole constant; it has the sign of `value`, as in SQL."""

    value: Expression
    by: int

    spellings = (Spelling("x % 7", exp.Mod, _read_modulo),)
    meaning = "the remainder of a whole number by a positive whole constant, with the sign of x"
    probes: ClassVar[Mapping[str, str]] = {"remainders": "whole % 7"}
    feature = "remainders"

    def facts(self, *known: Facts) -> Facts:
        (value,) = known
        value = number(value, "%")
        if value.step.denominator != 1 or not 0 < self.by < LARGEST:
            raise refused("type-mismatch", "% takes a whole number and a positive whole constant", "write floor(x) % 7")
        if value.step != 1:
            bounded(value, "%")
        value.on(ONE)
        low = 0 if value.lower is not None and value.lower >= 0 else 1 - self.by
        return Facts(Kind.NUMBER, value.nullable, ONE, low, self.by - 1)

    def evaluate(self, *cells: Any) -> Cell:
        (value,) = cells
        return Fraction(abs(value) % self.by * (-1 if value < 0 else 1))

    def sql(self, writer: Writer) -> Tree:
        return binary(exp.Mod, writer.on(self.value, ONE), constant(self.by))


# Sizes ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Absolute(ScalarFunction):
    """The value without its sign."""

    value: Expression

    spellings = (Spelling("ABS(x)", exp.Abs, of_argument(lambda value: Absolute(value))),)
    meaning = "a number without its sign"
    probes: ClassVar[Mapping[str, str]] = {"absolute": "abs(whole)"}
    feature = "absolute values"

    def facts(self, *known: Facts) -> Facts:
        value = number(known[0], "abs")
        low, high = bounded(value, "abs").ends
        return _with(value, 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))

    def evaluate(self, *cells: Any) -> Cell:
        return Fraction(abs(cells[0]))

    def sql(self, writer: Writer) -> Tree:
        return exp.Abs(this=writer.tree(self.value))


def _with(known: Facts, lower: int | None, upper: int | None) -> Facts:
    return fitting(Facts(known.kind, known.nullable, known.step, lower, upper))


# Limits ---------------------------------------------------------------------------------------------------------------


def _read_clamp(translator: Translator, node: exp.Anonymous) -> Expression:
    value, *ends = node.expressions
    lower, upper = (translator.constant(end, node) for end in ends)
    return Clamp(translator.expression(value), lower, upper)


@dataclass(frozen=True, slots=True)
class Clamp(ScalarFunction):
    """The value limited to [lower, upper]; missing stays missing. This is how an unbounded number gets bounds."""

    value: Expression
    lower: Fraction
    upper: Fraction

    spellings = (Spelling("CLAMP(x, 0, 100)", "clamp", _read_clamp, arity=(3, 3)),)
    meaning = "x limited to constant bounds; this is how a number without bounds gets some"
    probes: ClassVar[Mapping[str, str]] = {
        "limits between grid points": "clamp(whole, -2.5, 7.25) + clamp(tens, -31, 12.5)"
    }
    copies = 3
    regrids = True

    def facts(self, *known: Facts) -> Facts:
        value = number(known[0], "clamp")
        low, high = clamp_ends(value.step, self.lower, self.upper)
        if value.lower is not None and value.lower > high:
            return _with(value, high, high)
        if value.upper is not None and value.upper < low:
            return _with(value, low, low)
        ends = (
            low if value.lower is None else max(low, value.lower),
            high if value.upper is None else min(high, value.upper),
        )
        return _with(value, *ends)

    def exact(self, *known: Facts) -> Expression | None:
        """The same clamp of the number on a grid that has its ends; None when the ends that matter are on the grid already."""
        value = number(known[0], "clamp")
        step = clamp_step(value, self.lower, self.upper)
        if step == value.step:
            return None
        of = self.value
        if not value.bounded:  # a number without bounds cannot be counted in finer steps
            low, high = floor(self.lower / value.step) * value.step, ceil(self.upper / value.step) * value.step
            of = Clamp(of, low, high)
        return Clamp(refined(of, value.step, step), self.lower, self.upper)

    def evaluate(self, *cells: Any) -> Cell:
        return Fraction(min(max(cells[0], self.lower), self.upper))

    def sql(self, writer: Writer) -> Tree:
        ends = clamp_ends(writer.known(self.value).step, self.lower, self.upper)
        return clamped(writer.tree(self.value), *ends)


def refined(value: Expression, step: Fraction, finer: Fraction) -> Expression:
    """The same number, counted in `finer` steps that divide `step`: times a whole number, then divided by it."""
    factor = Literal(step / finer)
    return value if step == finer else Divide(Arithmetic(Operator.MULTIPLY, value, factor), factor)


def clamp_step(known: Facts, lower: Fraction, upper: Fraction) -> Fraction:
    """The grid of a number limited to [lower, upper]: its own, made finer for ends between grid points that it can reach."""
    ends = [lower] if known.lower is None or lower > known.lower * known.step else []
    ends += [upper] if known.upper is None or upper < known.upper * known.step else []
    if all((end / known.step).denominator == 1 for end in ends):
        return known.step
    return common_step([known.step, *(Fraction(1, end.denominator) for end in ends)])


# Rounding -------------------------------------------------------------------------------------------------------------


class Rounding(Enum):
    """Which multiple of the step a value goes to."""

    FLOOR = "floor"
    CEILING = "ceiling"
    NEAREST = "nearest"


def rounded(rounding: Rounding, numerator: int, denominator: int) -> int:
    """A quotient with a positive denominator, rounded to a whole number."""
    match rounding:
        case Rounding.FLOOR:
            return numerator // denominator
        case Rounding.CEILING:
            return -(-numerator // denominator)
        case Rounding.NEAREST:
            return rounded_quotient(numerator, denominator)


def _read_round(translator: Translator, node: exp.Round) -> Expression:
    """ROUND(x, digits); of a quotient, the quotient on that grid."""
    digits = node.args.get("decimals")
    count = translator.constant(digits, node) if digits is not None else Fraction(0)
    if count.denominator != 1 or not -18 <= count <= 18:
        raise translator.refusal(node, "bad-constant", "round takes a whole number of digits up to 18")
    step = Fraction(10) ** -int(count)
    inner = translator.expression(node.this)
    if isinstance(inner, Divide) and not isinstance(inner.right, Literal):
        return Divide(inner.left, inner.right, step)
    return Round(Rounding.NEAREST, inner, step)


@dataclass(frozen=True, slots=True)
class Round(ScalarFunction):
    """The value moved to a multiple of `step`: the one below, the one above, or the nearest (halves away from zero)."""

    rounding: Rounding
    value: Expression
    step: Fraction = ONE

    spellings = (
        Spelling("FLOOR(x)", exp.Floor, of_argument(lambda value: Round(Rounding.FLOOR, value))),
        Spelling("CEIL(x)", exp.Ceil, of_argument(lambda value: Round(Rounding.CEILING, value))),
        Spelling("ROUND(x, 2)", exp.Round, _read_round, reads=frozenset({"decimals", "casts_non_integer_decimals"})),
    )
    meaning = "the whole number below or above, or the nearest number of so many digits, halves away from zero"
    probes: ClassVar[Mapping[str, str]] = {
        "floor": "floor(real)",
        "ceiling": "ceil(whole / 7)",
        "nearest": "round(real, 1)",
    }
    copies = 3

    @property
    def feature(self) -> str:
        return f"rounding to {self.rounding.value}"

    def facts(self, *known: Facts) -> Facts:
        value = number(known[0], self.rounding.value)
        if not self.step > 0:
            raise refused("bad-constant", f"the step of {self.rounding.value} must be positive, got {self.step}")
        ratio = value.step / self.step
        if ratio.denominator == 1:
            return value.on(self.step)
        low, high = bounded(value, self.rounding.value).ends
        over, under = ratio.numerator, ratio.denominator
        fitting(Facts(Kind.NUMBER, True, self.step, 2 * low * over - under, 2 * high * over + under))
        ends = [rounded(self.rounding, end * over, under) for end in (low, high)]
        return fitting(Facts(Kind.NUMBER, value.nullable, self.step, ends[0], ends[1]))

    def evaluate(self, *cells: Any) -> Cell:
        steps = cells[0] / self.step
        return rounded(self.rounding, steps.numerator, steps.denominator) * self.step

    def sql(self, writer: Writer) -> Tree:
        known = writer.known(self.value)
        ratio = known.step / self.step
        if ratio.denominator == 1:
            return writer.on(self.value, self.step)
        over, under = ratio.numerator, ratio.denominator
        tree, low = writer.tree(self.value), known.ends[0] * over
        match self.rounding:
            case Rounding.FLOOR:
                return floored(writer, scaled(tree, over), low, under)
            case Rounding.CEILING:
                return floored(writer, add(scaled(tree, over), constant(under - 1)), low + under - 1, under)
            case Rounding.NEAREST:
                size = add(scaled(exp.Abs(this=tree), 2 * over), constant(under))
                nearest = writer.profile.quotient(size, constant(2 * under))
                negative = binary(exp.LT, tree.copy(), constant(0))
                return case([(negative, multiply(constant(-1), nearest))], nearest.copy())


def floored(writer: Writer, value: Tree, low: int, by: int) -> Tree:
    """A floored quotient by a positive constant, shifted so that the engine divides no negative number."""
    shift = low // by
    return add(writer.profile.quotient(subtract(value, constant(shift * by)), constant(by)), constant(shift))


NUMERIC: tuple[type[ScalarFunction], ...] = (Modulo, Absolute, Clamp, Round)
