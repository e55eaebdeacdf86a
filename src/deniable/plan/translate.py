"""Expressions from SQLGlot trees, one allowed node class at a time; used for text expressions and by the SQL compiler.

SQLGlot only parses. What we accept is our own list of node classes; every other one is refused with a code, its place
in the text, the reason and what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from sqlglot import exp

from deniable.errors import QueryRefused, Span
from deniable.plan.analysis import facts
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
    between,
    null_if,
)
from deniable.plan.facts import Facts, Kind
from deniable.plan.unit import Length

_COMPARISONS: dict[type[exp.Expression], Comparison] = {
    exp.EQ: Comparison.EQUAL,
    exp.NEQ: Comparison.NOT_EQUAL,
    exp.LT: Comparison.LESS,
    exp.LTE: Comparison.AT_MOST,
    exp.GT: Comparison.MORE,
    exp.GTE: Comparison.AT_LEAST,
}
_OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.Add: Operator.ADD,
    exp.Sub: Operator.SUBTRACT,
    exp.Mul: Operator.MULTIPLY,
}
_PARTS: dict[type[exp.Expression], Part] = {
    exp.Year: Part.YEAR,
    exp.Quarter: Part.QUARTER,
    exp.Month: Part.MONTH,
    exp.Day: Part.DAY,
    exp.DayOfMonth: Part.DAY,
    exp.Hour: Part.HOUR,
    exp.Minute: Part.MINUTE,
}
_REWRITES = {
    "IntDiv": "write floor(a / b)",
    "ILike": "write lower(x) LIKE 'pattern'",
    "DPipe": "group by both columns instead of joining their texts",
    "Pow": "write x * x",
    "Placeholder": "write the value itself",
    "Rand": "a query may not draw random numbers",
    "CurrentDate": "write the date itself, such as DATE '2024-01-31'",
    "CurrentTimestamp": "write the timestamp itself",
    "Subquery": "join along the unit or a declared link instead",
    "Select": "join along the unit or a declared link instead",
    "Exists": "use a semi join along the unit or a declared link",
}


def span(node: exp.Expression, text: str) -> Span | None:
    """Where a node stands in the text, as far as the parser remembers."""
    starts = [(inner.meta["start"], inner.meta["end"]) for inner in node.walk() if "start" in inner.meta]
    if not starts or not text:
        return None
    start, end = min(start for start, _ in starts), max(end for _, end in starts)
    return Span(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), text[start : end + 1][:60])


class Translator:
    """Turns SQLGlot trees into expressions, one allowed node class at a time.

    `column` resolves a column node to a name of the relation (by default its bare name, case-insensitively matched
    against `schema`); the SQL compiler gives its own, which also knows table aliases.
    """

    def __init__(
        self,
        *,
        text: str = "",
        schema: Mapping[str, Facts] | None = None,
        column: Callable[[exp.Column], str] | None = None,
    ) -> None:
        self._text, self._schema = text, schema
        self._resolve = column or self._bare

    def refusal(self, node: exp.Expression, code: str, reason: str, rewrite: str = "") -> QueryRefused:
        """The refusal of one node, with its place."""
        return QueryRefused(code, reason, span=span(node, self._text), rewrite=rewrite)

    def expression(self, node: Any) -> Expression:
        """The expression a tree means."""
        if type(node) in _COMPARISONS or type(node) in _OPERATORS or type(node) in _PARTS:
            self._checked(node)
        if type(node) in _COMPARISONS:
            left, right = self._alike(node, [node.this, node.expression])
            return Compare(_COMPARISONS[type(node)], left, right)
        if type(node) in _OPERATORS:
            return self._arithmetic(node)
        if type(node) in _PARTS:
            return DatePart(_PARTS[type(node)], self.expression(_inner(node.this)))
        self._checked(node)
        handler = _ALLOWED.get(type(node))
        if handler is None:
            name = type(node).__name__
            raise self.refusal(
                node, "unsupported", f"{name} is outside the expression language", _REWRITES.get(name, "")
            )
        return handler(self, node)

    def _checked(self, node: Any) -> None:
        """Refuse a node that says more than we read: an overlooked word would change what the text means."""
        read = _READ.get(type(node), frozenset()) | {"this", "expression", "expressions"}
        for name, value in node.args.items():
            if value and name not in read and type(node) in _ALLOWED.keys() | _COMPARISONS.keys() | _PARTS.keys():
                raise self.refusal(
                    node, "unsupported", f"{type(node).__name__} with {name.upper()} is outside the expression language"
                )

    def _bare(self, node: exp.Column) -> str:
        name = node.name
        if node.args.get("table"):
            raise self.refusal(
                node, "qualified-column", f"{node.sql()!r} names a table", "write the column's name alone"
            )
        if self._schema is None or name in self._schema:
            return name
        near = [known for known in self._schema if known.lower() == name.lower()]
        if len(near) == 1 and not node.this.args.get("quoted"):
            return near[0]
        raise self.refusal(
            node, "unknown-column", f"there is no column {name!r}", f"columns here: {', '.join(self._schema)}"
        )

    def _alike(self, node: exp.Expression, parts: list[exp.Expression]) -> list[Expression]:
        """The parts, texts beside a date or timestamp read as one."""
        for part in parts:
            if isinstance(part, exp.Null):
                raise self.refusal(node, "null-comparison", "a comparison with NULL is never true", "write IS NULL")
        translated = [self.expression(part) for part in parts]
        if self._schema is None:
            return translated
        kinds = {facts(part, self._schema).kind for part in translated}
        wanted = kinds & {Kind.DATE, Kind.TIMESTAMP}
        if len(wanted) != 1 or Kind.STRING not in kinds:
            return translated
        kind = wanted.pop()
        return [
            Literal(self._time(node, part.value, kind))
            if isinstance(part, Literal) and isinstance(part.value, str)
            else part
            for part in translated
        ]

    def _time(self, node: exp.Expression, text: str, kind: Kind) -> date | datetime:
        try:
            value = date.fromisoformat(text) if kind is Kind.DATE else datetime.fromisoformat(text)
        except ValueError:
            raise self.refusal(
                node, "bad-constant", f"{text!r} is not a {kind.value}", "write it as 2024-01-31"
            ) from None
        if isinstance(value, datetime) and value.tzinfo is not None:
            raise self.refusal(node, "bad-constant", f"{text!r} has a time zone", "leave the zone out")
        return value

    def _paren(self, node: exp.Paren) -> Expression:
        return self.expression(node.this)

    def _column(self, node: exp.Column) -> Expression:
        return Column(self._resolve(node))

    def _literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return Literal(node.this)
        try:
            return Literal(_fraction(node.this))
        except ValueError:
            raise self.refusal(node, "bad-constant", f"{node.this[:40]!r} is not a number we can read") from None

    def _boolean(self, node: exp.Boolean) -> Expression:
        return Literal(bool(node.this))

    def _neg(self, node: exp.Neg) -> Expression:
        inner = self.expression(node.this)
        if isinstance(inner, Literal) and isinstance(inner.value, Fraction):
            return Literal(-inner.value)
        return Arithmetic(Operator.MULTIPLY, Literal(-1), inner)

    def _arithmetic(self, node: exp.Expression) -> Expression:
        if isinstance(node.expression, exp.Interval):
            return self._shifted(node)
        return Arithmetic(_OPERATORS[type(node)], self.expression(node.this), self.expression(node.expression))

    def _shifted(self, node: exp.Expression) -> Expression:
        """A constant date moved by an interval is a constant date."""
        start, interval = self.expression(node.this), node.expression
        unit = str(interval.args.get("unit") or "").lower().rstrip("s")
        amount = str(interval.this.this if interval.this is not None else "")
        if not (isinstance(start, Literal) and isinstance(start.value, date) and amount.lstrip("-").isdigit()):
            raise self.refusal(
                node, "unsupported", "an interval can only be added to a constant date", "use days_between(a, b)"
            )
        count = int(amount) * (1 if isinstance(node, exp.Add) else -1)
        try:
            return Literal(_moved(start.value, unit, count))
        except (ValueError, OverflowError, KeyError):
            raise self.refusal(node, "bad-constant", f"no date lies {amount} {unit} away") from None

    def _div(self, node: exp.Div) -> Expression:
        left, right = self.expression(node.this), self.expression(node.expression)
        if node.args.get("typed") and self._whole(left) and self._whole(right):
            raise self.refusal(
                node, "integer-division", "whole numbers divide differently in this dialect", "write floor(a / b)"
            )
        if isinstance(right, Literal) and right.value == 0:
            raise self.refusal(node, "divide-by-zero", "dividing by the constant zero")
        return Divide(left, right)

    def _whole(self, part: Expression) -> bool:
        return self._schema is None or facts(part, self._schema).step.denominator == 1

    def _mod(self, node: exp.Mod) -> Expression:
        by = self.expression(_inner(node.expression))
        if not (
            isinstance(by, Literal) and isinstance(by.value, Fraction) and by.value.denominator == 1 and by.value > 0
        ):
            raise self.refusal(node, "bad-constant", "% takes a positive whole constant")
        return Modulo(self.expression(_inner(node.this)), int(by.value))

    def _and(self, node: exp.And) -> Expression:
        return And(tuple(self.expression(part) for part in node.flatten()))

    def _or(self, node: exp.Or) -> Expression:
        return Or(tuple(self.expression(part) for part in node.flatten()))

    def _not(self, node: exp.Not) -> Expression:
        return Not(self.expression(node.this))

    def _is(self, node: exp.Is) -> Expression:
        if node.args.get("negate"):
            plain = node.copy()
            plain.set("negate", None)
            return Not(self._is(plain))
        value = self.expression(node.this)
        if isinstance(node.expression, exp.Null):
            return IsNull(value)
        if isinstance(node.expression, exp.Boolean):
            asked = value if node.expression.this else Not(value)
            return Coalesce((asked, Literal(False)))
        raise self.refusal(node, "unsupported", "IS is followed by NULL, TRUE or FALSE")

    def _between(self, node: exp.Between) -> Expression:
        value, lower, upper = self._alike(node, [node.this, node.args["low"], node.args["high"]])
        return between(value, lower, upper)

    def _in(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None or not node.expressions:
            raise self.refusal(
                node, "subquery", "IN takes a list of constants here", "use a semi join along the unit or a link"
            )
        value, *among = self._alike(node, [node.this, *node.expressions])
        if not all(isinstance(part, Literal) for part in among):
            raise self.refusal(node, "bad-constant", "IN takes a list of constants")
        return In(value, tuple(among))  # type: ignore[arg-type]

    def _like(self, node: exp.Like) -> Expression:
        if not (isinstance(node.expression, exp.Literal) and node.expression.is_string):
            raise self.refusal(node, "bad-constant", "LIKE takes a constant pattern")
        like = Like(self.expression(node.this), node.expression.this)
        return Not(like) if node.args.get("negate") else like

    def _case(self, node: exp.Case) -> Expression:
        subject = node.args.get("this")
        branches = []
        for branch in node.args["ifs"]:
            if subject is None:
                condition = self.expression(branch.this)
            else:
                condition = Compare(Comparison.EQUAL, *self._alike(node, [subject, branch.this]))
            branches.append((condition, self._optional(branch.args.get("true"))))
        return self._cases(node, branches, self._optional(node.args.get("default")))

    def _if(self, node: exp.If) -> Expression:
        branch = (self.expression(node.this), self._optional(node.args.get("true")))
        return self._cases(node, [branch], self._optional(node.args.get("false")))

    def _optional(self, node: exp.Expression | None) -> Expression | None:
        return None if node is None or isinstance(node, exp.Null) else self.expression(node)

    def _cases(
        self, node: exp.Expression, branches: list[tuple[Expression, Expression | None]], otherwise: Expression | None
    ) -> Expression:
        """A CASE whose branches may say NULL: from there on, the rest holds only where that branch does not."""
        for index, (condition, result) in enumerate(branches):
            if result is None:
                rest = branches[index + 1 :]
                if not rest and otherwise is None:
                    if index == 0:
                        raise self.refusal(node, "bad-constant", "this CASE is always NULL")
                    return Case(tuple(branches[:index]))  # type: ignore[arg-type]
                inner = self._cases(node, rest, otherwise) if rest else otherwise
                untrue = Not(Coalesce((condition, Literal(False))))
                return Case((*branches[:index], (untrue, inner)))  # type: ignore[arg-type]
        return Case(tuple(branches), otherwise)  # type: ignore[arg-type]

    def _coalesce(self, node: exp.Coalesce) -> Expression:
        return Coalesce(tuple(self._alike(node, [node.this, *node.expressions])))

    def _nullif(self, node: exp.Nullif) -> Expression:
        left, right = self._alike(node, [node.this, node.expression])
        return null_if(left, right)

    def _least(self, node: exp.Least) -> Expression:
        return Least(self._present(node))

    def _greatest(self, node: exp.Greatest) -> Expression:
        return Greatest(self._present(node))

    def _present(self, node: exp.Expression) -> tuple[Expression, ...]:
        """The parts; a dialect in which one missing part makes all missing must show that none can be."""
        parts = tuple(self._alike(node, [node.this, *node.expressions]))
        if not node.args.get("ignore_nulls") and (
            self._schema is None or any(facts(part, self._schema).nullable for part in parts)
        ):
            raise self.refusal(
                node, "unsupported", "LEAST and GREATEST of NULL differ between dialects", "write COALESCE(x, 0)"
            )
        return parts

    def _abs(self, node: exp.Abs) -> Expression:
        return Absolute(self.expression(node.this))

    def _floor(self, node: exp.Floor) -> Expression:
        return Round(Rounding.FLOOR, self.expression(node.this))

    def _ceil(self, node: exp.Ceil) -> Expression:
        return Round(Rounding.CEILING, self.expression(node.this))

    def _round(self, node: exp.Round) -> Expression:
        digits = node.args.get("decimals")
        count = self._constant(digits, node) if digits is not None else Fraction(0)
        if count.denominator != 1 or not -18 <= count <= 18:
            raise self.refusal(node, "bad-constant", "round takes a whole number of digits up to 18")
        step = Fraction(10) ** -int(count)
        inner = self.expression(node.this)
        if isinstance(inner, Divide) and not isinstance(inner.right, Literal):
            return Divide(inner.left, inner.right, step)
        return Round(Rounding.NEAREST, inner, step)

    def _constant(self, node: exp.Expression, whole: exp.Expression) -> Fraction:
        value = self.expression(node)
        if not (isinstance(value, Literal) and isinstance(value.value, Fraction)):
            raise self.refusal(whole, "bad-constant", f"{node.sql()!r} must be a constant number here")
        return value.value

    def _extract(self, node: exp.Extract) -> Expression:
        name = node.name.lower()
        known = {part.value: part for part in Part} | {"dow": Part.WEEKDAY, "dayofweek": Part.WEEKDAY}
        if name not in known or name == "weekday":
            raise self.refusal(
                node, "unsupported", f"EXTRACT({name.upper()}) is not known", f"known: {', '.join(sorted(known))}"
            )
        return DatePart(known[name], self.expression(node.expression))

    def _dayofweek(self, node: exp.DayOfWeek) -> Expression:
        return DatePart(Part.WEEKDAY, self.expression(_inner(node.this)))

    def _truncation(self, node: exp.Expression) -> Expression:
        name = str(node.args["unit"].name if node.args.get("unit") is not None else "").lower()
        lengths = {length.value: length for length in Length}
        if name not in lengths:
            raise self.refusal(
                node, "bad-constant", f"a date is not cut to {name!r}", f"use one of {', '.join(lengths)}"
            )
        return Truncate(self.expression(node.this), lengths[name])

    def _cast(self, node: exp.Cast) -> Expression:
        target = node.to.this
        times = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ, exp.DataType.Type.DATETIME)
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            if target == exp.DataType.Type.DATE:
                return Literal(self._time(node, node.this.this, Kind.DATE))
            if target in times:
                return Literal(self._time(node, node.this.this, Kind.TIMESTAMP))
        if target == exp.DataType.Type.DATE:
            return ToDate(self.expression(node.this))
        raise self.refusal(
            node, "unsupported", "a cast is to DATE only; numbers are exact already", "use round or floor"
        )

    def _date(self, node: exp.Date) -> Expression:
        if node.args.get("this") is None or node.args.get("zone") or node.expressions:
            raise self.refusal(node, "unsupported", "date takes one value")
        return ToDate(self.expression(node.this))

    def _datediff(self, node: exp.DateDiff) -> Expression:
        if node.args.get("unit") is not None and node.args["unit"].name.lower() not in ("day", "days"):
            raise self.refusal(node, "unsupported", "dates differ by days here", "divide the days")
        return DaysBetween(self.expression(_inner(node.expression)), self.expression(_inner(node.this)))

    def _lower(self, node: exp.Lower) -> Expression:
        return Fold(LetterCase.LOWER, self.expression(node.this))

    def _upper(self, node: exp.Upper) -> Expression:
        return Fold(LetterCase.UPPER, self.expression(node.this))

    def _substring(self, node: exp.Substring) -> Expression:
        if node.args.get("length") is None:
            raise self.refusal(node, "bad-constant", "substring takes a start and a length")
        start, length = (self._constant(node.args[name], node) for name in ("start", "length"))
        return self._cut(node, start, length)

    def _left(self, node: exp.Left) -> Expression:
        return self._cut(node, Fraction(1), self._constant(node.expression, node))

    def _cut(self, node: exp.Expression, start: Fraction, length: Fraction) -> Expression:
        if start.denominator != 1 or length.denominator != 1 or start < 1 or length < 0:
            raise self.refusal(node, "bad-constant", "substring counts from 1 and takes a whole length")
        return Substring(self.expression(node.this), int(start), int(length))

    def _length(self, node: exp.Length) -> Expression:
        return CharacterCount(self.expression(node.this))

    def _anonymous(self, node: exp.Anonymous) -> Expression:
        name, arguments = str(node.this).lower(), node.expressions
        if name == "clamp" and len(arguments) == 3:
            lower, upper = (self._constant(argument, node) for argument in arguments[1:])
            return Clamp(self.expression(arguments[0]), lower, upper)
        if name == "bin" and len(arguments) >= 3:
            edges = tuple(self._constant(argument, node) for argument in arguments[1:])
            return Bin(self.expression(arguments[0]), edges)
        if name == "days_between" and len(arguments) == 2:
            return DaysBetween(*(self.expression(argument) for argument in arguments))
        raise self.refusal(node, "unknown-function", f"there is no function {name} that takes {len(arguments)} values")


_ALLOWED: dict[type[exp.Expression], Callable[[Translator, Any], Expression]] = {
    exp.Paren: Translator._paren,
    exp.Column: Translator._column,
    exp.Literal: Translator._literal,
    exp.Boolean: Translator._boolean,
    exp.Neg: Translator._neg,
    exp.Div: Translator._div,
    exp.Mod: Translator._mod,
    exp.And: Translator._and,
    exp.Or: Translator._or,
    exp.Not: Translator._not,
    exp.Is: Translator._is,
    exp.Between: Translator._between,
    exp.In: Translator._in,
    exp.Like: Translator._like,
    exp.Case: Translator._case,
    exp.If: Translator._if,
    exp.Coalesce: Translator._coalesce,
    exp.Nullif: Translator._nullif,
    exp.Least: Translator._least,
    exp.Greatest: Translator._greatest,
    exp.Abs: Translator._abs,
    exp.Floor: Translator._floor,
    exp.Ceil: Translator._ceil,
    exp.Round: Translator._round,
    exp.Extract: Translator._extract,
    exp.DayOfWeek: Translator._dayofweek,
    exp.TimestampTrunc: Translator._truncation,
    exp.DateTrunc: Translator._truncation,
    exp.Cast: Translator._cast,
    exp.Date: Translator._date,
    exp.TsOrDsToDate: Translator._date,
    exp.DateDiff: Translator._datediff,
    exp.Lower: Translator._lower,
    exp.Upper: Translator._upper,
    exp.Substring: Translator._substring,
    exp.Left: Translator._left,
    exp.Length: Translator._length,
    exp.Anonymous: Translator._anonymous,
}
"""Every node class we read, besides comparisons, arithmetic and date parts; what is not here is refused."""

_READ: dict[type[exp.Expression], frozenset[str]] = {
    exp.Column: frozenset({"table", "db", "catalog"}),
    exp.Literal: frozenset({"is_string"}),
    exp.Between: frozenset({"low", "high"}),
    exp.In: frozenset({"query"}),
    exp.Like: frozenset({"negate"}),
    exp.Is: frozenset({"negate"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.If: frozenset({"true", "false"}),
    exp.Coalesce: frozenset({"is_nvl", "is_null"}),
    exp.Least: frozenset({"ignore_nulls"}),
    exp.Greatest: frozenset({"ignore_nulls"}),
    exp.Round: frozenset({"decimals", "casts_non_integer_decimals"}),
    exp.TimestampTrunc: frozenset({"unit", "input_type_preserved"}),
    exp.DateTrunc: frozenset({"unit", "input_type_preserved"}),
    exp.Cast: frozenset({"to", "safe"}),
    exp.Date: frozenset({"zone"}),
    exp.TsOrDsToDate: frozenset({"safe"}),
    exp.DateDiff: frozenset({"unit", "big_int", "date_part_boundary"}),
    exp.Substring: frozenset({"start", "length"}),
    exp.Div: frozenset({"typed", "safe"}),
}
"""What is read of a node besides its operands (the rest of a node is refused); flags that cannot matter here are listed too."""


def _inner(node: exp.Expression) -> exp.Expression:
    """The argument of a date function without the cast SQLGlot may have put around it."""
    while isinstance(node, exp.TsOrDsToDate | exp.TsOrDsToTimestamp | exp.Paren):
        node = node.this
    return node


def _fraction(text: str) -> Fraction:
    mantissa, _, exponent = text.replace("_", "").lower().partition("e")
    if len(mantissa) > 80 or len(exponent) > 3:
        raise ValueError("a number of this size fits no grid")
    return Fraction(text.replace("_", ""))


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
