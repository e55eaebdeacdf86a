"""What may be asked of a twin in SQL: counts, sums and averages by group, with conditions on single columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import exp

from deniable.errors import InvalidArgument
from deniable.exact.guards import shown
from deniable.synth.attribute import Attribute, Attributes
from deniable.synth.fitted.conditions import Condition, between, condition, point

_FORM = "SELECT column, count(*), sum(x), avg(x) FROM twin [WHERE x > 1 AND y = 'a'] [GROUP BY column]"


@dataclass(frozen=True, slots=True)
class TwinAggregate:
    """One output: `count`, `sum` or `avg`, of a column or of rows."""

    name: str
    function: str
    place: int | None


@dataclass(frozen=True, slots=True)
class TwinQuestion:
    """A question as it was read: keys, outputs, and one condition per column."""

    keys: tuple[int, ...]
    outputs: tuple[TwinAggregate, ...]
    where: dict[int, Condition]

    @property
    def places(self) -> tuple[int, ...]:
        """Every column the question touches."""
        used = [*self.keys, *self.where, *(each.place for each in self.outputs if each.place is not None)]
        return tuple(dict.fromkeys(used))


def read_question(text: str, attributes: Attributes) -> TwinQuestion:
    """The question in a text; what is not of the form is refused with the form."""
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise InvalidArgument(f"a twin answers {_FORM}; this is not SQL: {shown(text)}") from None
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in ("joins", "having", "distinct", "with")):
        raise InvalidArgument(f"a twin answers {_FORM}; ask anything else of twin.frame()")
    group = tree.args.get("group")
    keys = tuple(_place(each, attributes) for each in (group.expressions if group else []))
    where = tree.args.get("where")
    outputs = []
    for item in tree.expressions:
        inner, name = (item.this, item.alias) if isinstance(item, exp.Alias) else (item, item.sql().lower())
        if isinstance(inner, exp.Column):
            if _place(inner, attributes) not in keys:
                raise InvalidArgument(f"{inner.name} must be in GROUP BY, or under sum() or avg()")
            continue
        outputs.append(_aggregate(inner, name, attributes))
    if not outputs:
        raise InvalidArgument(f"nothing is asked for: write {_FORM}")
    return TwinQuestion(keys, tuple(outputs), _conditions(where.this if where else None, attributes))


def _place(node: exp.Expression, attributes: Attributes) -> int:
    if not isinstance(node, exp.Column):
        raise InvalidArgument(f"a twin's question names plain columns, got {node.sql()}")
    return attributes.place(node.name)


def _aggregate(node: exp.Expression, name: str, attributes: Attributes) -> TwinAggregate:
    kinds: dict[type, str] = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg"}
    function = kinds.get(type(node))
    if function is None:
        raise InvalidArgument(f"a twin answers count, sum and avg, got {node.sql()}; ask anything else of twin.frame()")
    if function == "count" and isinstance(node.this, exp.Star):
        return TwinAggregate(name, function, None)
    place = _place(node.this, attributes)
    if function != "count" and attributes.columns[place].labels:
        raise InvalidArgument(f"{function} needs a number, and {attributes.names[place]} has categories")
    if function != "count" and attributes.columns[place].type in ("date", "timestamp"):
        raise InvalidArgument(
            f"{function} needs a number, and {attributes.names[place]} is a {attributes.columns[place].type}"
        )
    return TwinAggregate(name, function, place)


def _conditions(node: exp.Expression | None, attributes: Attributes) -> dict[int, Condition]:
    parts: list[Any] = [] if node is None else list(node.flatten()) if isinstance(node, exp.And) else [node]
    found: dict[int, Condition] = {}
    for part in parts:
        place, one = _condition(part, attributes)
        found[place] = one if place not in found else _both(found[place], one)
    return found


def _both(first: Condition, second: Condition) -> Condition:
    if first.missing or second.missing:
        raise InvalidArgument("IS NULL stands alone on its column")
    lows = [low for low in (first.low, second.low) if low is not None]
    highs = [high for high in (first.high, second.high) if high is not None]
    return replace(
        first,
        labels=first.labels & second.labels,
        low=max(lows) if lows else None,
        high=min(highs) if highs else None,
    )


def _condition(node: exp.Expression, attributes: Attributes) -> tuple[int, Condition]:
    negated = isinstance(node, exp.Not)
    inner = node.this if isinstance(node, exp.Not) else node
    inner = inner.unnest()
    place = _place(inner.this, attributes)
    column = attributes.columns[place]
    match inner:
        case exp.Is() if isinstance(inner.expression, exp.Null):
            return place, Condition(labels=frozenset(column.labels)) if negated else condition(column, None)
        case exp.In() if column.labels:
            among = condition(column, [_literal(each) for each in inner.expressions])
            return place, _other(column, among) if negated else among
        case exp.EQ() | exp.NEQ() if column.labels:
            one = condition(column, _literal(inner.expression))
            return place, _other(column, one) if negated != isinstance(inner, exp.NEQ) else one
        case exp.Between() if not negated and not column.labels:
            return place, condition(column, (_literal(inner.args["low"]), _literal(inner.args["high"])))
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() if not negated and not column.labels:
            return place, _compared(inner, point(column, _literal(inner.expression)))
        case _:
            raise InvalidArgument(f"a twin's condition compares one column with a value, got {node.sql()}")


def _compared(node: exp.Expression, at: Fraction) -> Condition:
    after, before = at.numerator // at.denominator + 1, -(-at.numerator // at.denominator) - 1
    match node:
        case exp.LT():
            return between(None, Fraction(before))
        case exp.LTE():
            return between(None, at)
        case exp.GT():
            return between(Fraction(after), None)
        case exp.GTE():
            return between(at, None)
        case _:
            return between(at, at)


def _other(column: Attribute, one: Condition) -> Condition:
    return Condition(labels=frozenset(column.labels) - one.labels)


def _literal(node: exp.Expression) -> Any:
    match node:
        case exp.Literal() if node.is_string:
            return node.this
        case exp.Literal():
            return Fraction(node.this)
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return -Fraction(node.this.this)
        case exp.Boolean():
            return bool(node.this)
        case _:
            raise InvalidArgument(f"a condition compares with a plain value, got {node.sql()}")
