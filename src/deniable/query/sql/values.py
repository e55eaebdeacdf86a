"""Expressions above the private boundary: what a SELECT list, HAVING or ORDER BY computes of keys and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.expression import Expression, Literal
from deniable.plan.translate import Translator
from deniable.plan.wording import ADVICE, absent, spoken
from deniable.query.sql.aggregates import AggregateCalls
from deniable.query.sql.env import is_aggregate, own_aggregates, unknown_function
from deniable.query.sql.post import LEVEL, Apply, CellOperator, Constant, Field, Function, Operation, Value
from deniable.query.sql.source import refused

_OPERATORS: dict[type[exp.Expression], CellOperator] = {
    exp.Add: CellOperator.PLUS,
    exp.Sub: CellOperator.MINUS,
    exp.Mul: CellOperator.TIMES,
    exp.Div: CellOperator.DIVIDE,
}
_COMPARISONS: dict[type[exp.Expression], CellOperator] = {
    exp.EQ: CellOperator.EQUAL,
    exp.NEQ: CellOperator.NOT_EQUAL,
    exp.LT: CellOperator.LESS,
    exp.LTE: CellOperator.AT_MOST,
    exp.GT: CellOperator.MORE,
    exp.GTE: CellOperator.AT_LEAST,
}
_SIMPLE: dict[type[exp.Expression], Function] = {
    exp.Neg: Function.NEGATE,
    exp.Abs: Function.ABSOLUTE,
    exp.Floor: Function.FLOOR,
    exp.Ceil: Function.CEILING,
    exp.Sqrt: Function.ROOT,
}
_SEVERAL: dict[type[exp.Expression], Function] = {
    exp.Coalesce: Function.COALESCE,
    exp.Least: Function.LEAST,
    exp.Greatest: Function.GREATEST,
}
_FLOATS = {exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT, exp.DataType.Type.DECIMAL}


@dataclass(frozen=True, slots=True)
class Values:
    """Reads expressions over released values.

    At the boundary `keys` and `calls` say what is released; above it `visible` names the columns of the stage below.
    `aliases` are the SELECT list's own names, which HAVING and ORDER BY may use.
    """

    text: str
    keys: Mapping[Expression, str] = field(default_factory=dict)
    calls: AggregateCalls | None = None
    visible: Mapping[str, str] = field(default_factory=dict)
    table: str = ""
    levels: tuple[tuple[str, ...], ...] = ()
    scalar: Callable[[exp.Subquery], Value] | None = None
    aliases: Mapping[str, Value] = field(default_factory=dict)

    def value(self, node: exp.Expression, name: str = "") -> Value:
        """The value an expression means; `name` is what the SELECT list calls it."""
        node = _bare(node)
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            word, advice = spoken(node.this, self.text), ADVICE.get(type(node.this).__name__, "write COUNT(*)")
            raise self._refused(node, "aggregate", f"{word} of private rows is not answered", advice)
        if isinstance(node, exp.Grouping | exp.GroupingId):
            return self._grouping(node)
        if is_aggregate(node) or isinstance(node, exp.Filter | exp.WithinGroup):
            if self.calls is None:
                raise self._refused(
                    node, "aggregate-of-release", "an aggregate over released rows", "aggregate outside"
                )
            return self.calls.value(node, name)
        if isinstance(node, exp.Subquery) and self.scalar is not None:
            return self.scalar(node)
        if isinstance(node, exp.Select | exp.Subquery | exp.Exists | exp.Window) or isinstance(node.parent, exp.Window):
            code = "window" if isinstance(node, exp.Window) else "subquery"
            raise self._refused(node, code, f"{spoken(node, self.text)} over released values is not answered")
        known = self._known(node)
        if known is not None:
            return known
        if type(node) in _COMPARISONS or isinstance(node, exp.And | exp.Or | exp.Not | exp.Between | exp.In | exp.Is):
            return self.condition(node)
        return self._computed(node)

    def _grouping(self, node: exp.Expression) -> Value:
        """GROUPING(a, b): a binary digit for each key, 1 where it is rolled up."""
        if not node.expressions or not self.levels:
            raise self._refused(node, "grouping-sets", "GROUPING takes keys of this GROUP BY", "GROUPING(a)")
        total: Value | None = None
        for each in node.expressions:
            key = self.value(each)
            if not isinstance(key, Field) or key.name not in self.keys.values():
                raise self._refused(each, "grouping-sets", "GROUPING takes keys of this GROUP BY", "GROUPING(a)")
            places = [Constant(place) for place, level in enumerate(self.levels) if key.name not in level]
            rolled = Apply(Function.AMONG, (Field(LEVEL), *places))
            digit: Value = Apply(Function.CHOOSE, (rolled, Constant(1), Constant(0))) if places else Constant(0)
            total = (
                digit
                if total is None
                else Operation(CellOperator.PLUS, Operation(CellOperator.TIMES, total, Constant(2)), digit)
            )
        assert total is not None
        return total

    def _known(self, node: exp.Expression) -> Value | None:
        """A key, a column of the stage below, or an alias."""
        if isinstance(node, exp.Column):
            return self._column(node)
        if self.calls is None or own_aggregates(node) or not list(node.find_all(exp.Column)):
            return None
        try:
            of = self.calls.source.translator.expression(node)
        except QueryRefused:
            return None
        return Field(self.keys[of]) if of in self.keys else None

    def _column(self, node: exp.Column) -> Value:
        if self.calls is not None:
            found = self.calls.source.found(node)
            for each in found:
                for of, name in self.keys.items():
                    if getattr(of, "name", None) == each.column:
                        return Field(name)
            if not node.table and node.name.lower() in self.aliases:
                return self.aliases[node.name.lower()]
            if found:
                raise self._refused(
                    node, "not-grouped", f"{node.sql()!r} is neither grouped by nor aggregated", "add it to GROUP BY"
                )
            self.calls.source.resolve(node)
        elif node.name.lower() in self.visible and node.table.lower() in ("", self.table.lower()):
            return Field(self.visible[node.name.lower()])
        raise self._refused(node, "unknown-column", *absent(node, self.visible.values()))

    def _computed(self, node: exp.Expression) -> Value:
        kind = type(node)
        if kind in _OPERATORS:
            return self._operation(node)
        if kind in _SIMPLE:
            return Apply(_SIMPLE[kind], (self.value(node.this),))
        if kind in _SEVERAL:
            return Apply(_SEVERAL[kind], tuple(self.value(each) for each in (node.this, *node.expressions)))
        handler = _HANDLERS.get(kind)
        if handler is None:
            return self._constant(node)
        return handler(self, node)

    def _operation(self, node: exp.Expression) -> Value:
        if isinstance(node, exp.Div) and node.args.get("typed") and not is_fractional(node):
            raise self._refused(
                node, "integer-division", "whole numbers divide differently in this dialect", "write 1.0 * a / b"
            )
        exact = self._quotient(node) if isinstance(node, exp.Div) else None
        if exact is not None:
            return exact
        return Operation(_OPERATORS[type(node)], self.value(node.this), self.value(node.expression))

    def _quotient(self, node: exp.Div) -> Value | None:
        """A count or sum over another, times a constant: measured as such, so that its interval is that of the quotient."""
        if self.calls is None:
            return None
        top, bottom = _scaled(node.this), _scaled(node.expression)
        if top is None or bottom is None or not bottom[0]:
            return None
        released = self.calls.quotient(top[1], bottom[1], node)
        factor = top[0] / bottom[0]
        if released is None or factor == 1:
            return released
        return Operation(CellOperator.TIMES, released, Constant(_native(factor)))

    def _round(self, node: exp.Round) -> Value:
        digits = node.args.get("decimals")
        if digits is None:
            return Apply(Function.ROUND, (self.value(node.this),))
        count = self._constant(digits)
        if not isinstance(count.value, int) or not -15 <= count.value <= 15:
            raise self._refused(node, "bad-constant", "ROUND takes a whole number of digits up to 15")
        return Apply(Function.ROUND, (self.value(node.this), count))

    def _null_if(self, node: exp.Nullif) -> Value:
        return Apply(Function.NULL_IF, (self.value(node.this), self.value(node.expression)))

    def _null(self, node: exp.Null) -> Value:
        return Constant(None)

    def _cast(self, node: exp.Cast) -> Value:
        if node.to.this in _FLOATS and not node.to.expressions:
            return self.value(node.this)
        return self._constant(node)

    def _case(self, node: exp.Case) -> Value:
        subject = node.args.get("this")
        parts: list[Value] = []
        for branch in node.args["ifs"]:
            if subject is None:
                parts.append(self.condition(branch.this))
            else:
                parts.append(Operation(CellOperator.EQUAL, self.value(subject), self.value(branch.this)))
            parts.append(self.value(branch.args["true"]))
        otherwise = node.args.get("default")
        return Apply(Function.CHOOSE, (*parts, Constant(None) if otherwise is None else self.value(otherwise)))

    def _constant(self, node: exp.Expression) -> Constant:
        if list(node.find_all(exp.Column)) or own_aggregates(node):
            unknown = unknown_function(node, self.text)
            if unknown is not None:
                raise unknown
            name = spoken(node, self.text)
            raise self._refused(node, "unsupported", f"{name} of released values is not answered", "compute it outside")
        read = Translator(text=self.text).expression(node)
        if not isinstance(read, Literal):
            raise self._refused(
                node, "unsupported", "only plain constants stand beside released values", "write it out"
            )
        return Constant(_native(read.value))

    # Conditions

    def condition(self, node: Any) -> Value:
        """A condition over released values."""
        node = _bare(node)
        kind = type(node)
        if kind in _COMPARISONS:
            return Operation(_COMPARISONS[kind], *self._alike(node.this, node.expression))
        if isinstance(node, exp.And | exp.Or):
            function = Function.ALL if isinstance(node, exp.And) else Function.ANY
            return Apply(function, tuple(self.condition(each) for each in node.flatten()))
        if isinstance(node, exp.Not):
            return Apply(Function.OPPOSITE, (self.condition(node.this),))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            missing = Apply(Function.MISSING, (self.value(node.this),))
            return Apply(Function.OPPOSITE, (missing,)) if node.args.get("negate") else missing
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            low, high = self._alike(node.this, node.args["low"]), self._alike(node.this, node.args["high"])
            return Apply(Function.ALL, (Operation(CellOperator.AT_LEAST, *low), Operation(CellOperator.AT_MOST, *high)))
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            return Apply(Function.AMONG, (self.value(node.this), *(self._constant(each) for each in node.expressions)))
        if isinstance(node, exp.Boolean):
            return Constant(bool(node.this))
        raise self._refused(
            node, "condition", "this is not a condition over released values", "compare with =, <, >, IN"
        )

    def _alike(self, left: exp.Expression, right: exp.Expression) -> tuple[Value, Value]:
        if isinstance(left, exp.Null) or isinstance(right, exp.Null):
            raise self._refused(left, "null-comparison", "a comparison with NULL is never true", "write IS NULL")
        return self.value(left), self.value(right)

    def _refused(self, node: exp.Expression, code: str, reason: str, rewrite: str = "") -> QueryRefused:
        return refused(node, self.text, code, reason, rewrite)


_HANDLERS: dict[type[exp.Expression], Callable[[Values, Any], Value]] = {
    exp.Round: Values._round,
    exp.Nullif: Values._null_if,
    exp.Null: Values._null,
    exp.Cast: Values._cast,
    exp.Case: Values._case,
}


def _bare(node: Any) -> Any:
    while isinstance(node, exp.Paren | exp.Alias):
        node = node.this
    return node


def _scaled(node: Any) -> tuple[Fraction, exp.Expression] | None:
    """A constant times one aggregate; a guard against division by nought is left out, as that gives NULL anyway."""
    node = _bare(node)
    if isinstance(node, exp.Cast) and node.to.this in _FLOATS and not node.to.expressions:
        return _scaled(node.this)
    if isinstance(node, exp.Nullif) and _number(node.expression) == 0:
        return _scaled(node.this)
    if isinstance(node, exp.Mul):
        for constant, rest in ((node.this, node.expression), (node.expression, node.this)):
            number, scaled = _number(constant), _scaled(rest)
            if number is not None and scaled is not None:
                return number * scaled[0], scaled[1]
        return None
    return (Fraction(1), node) if is_aggregate(node) or isinstance(node, exp.Filter) else None


def _number(node: Any) -> Fraction | None:
    node = _bare(node)
    return Fraction(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


def is_fractional(node: exp.Expression) -> bool:
    """Whether a quotient is surely not one of whole numbers."""
    for inner in node.walk():
        if isinstance(inner, exp.Avg | exp.Cast | exp.Stddev | exp.VariancePop):
            return True
        if isinstance(inner, exp.Literal) and not inner.is_string and "." in inner.this:
            return True
    return False


def _native(value: Any) -> Any:
    """A constant as releases hold values."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return int(value)
        return float(value)
    assert isinstance(value, bool | str | date | datetime)
    return value
