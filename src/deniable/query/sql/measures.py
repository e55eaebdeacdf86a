"""Aggregates of SQL as the aggregates of a query: which function means which, and what is said when it means less.

MIN and MAX of private rows belong to one person each; they are answered as the quantiles near the ends, with a notice.
Sample variances follow from the population's and the count, which is measured anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlglot import exp

from deniable.plan.analysis import facts
from deniable.plan.expression import Case, Column, Expression, Literal
from deniable.plan.nodes import Filter, Join, JoinKind, Project, Relation, Scan, Union, UnitAgg
from deniable.plan.relation import OWN_UNIT, shape
from deniable.query.aggregates import (
    Aggregate,
    Count,
    CountDistinct,
    CountUnits,
    Covariance,
    Deviation,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from deniable.query.sql.env import is_aggregate
from deniable.query.sql.post import Apply, Constant, Field, Function, Operation, Operator, Value
from deniable.query.sql.source import Source, placed, refused

LEAST, GREATEST = Fraction(1, 100), Fraction(99, 100)
"""MIN and MAX are answered as these quantiles."""


@dataclass(slots=True)
class Measures:
    """The aggregates a query needs, each once, by name; and what must be said about them."""

    source: Source
    found: dict[Aggregate, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    nodes: dict[str, exp.Expression] = field(default_factory=dict)

    def value(self, node: exp.Expression, name: str = "", condition: Expression | None = None) -> Value:
        """The released value an aggregate stands for; `name` is what the query calls it, if anything."""
        if isinstance(node, exp.Filter):
            condition = self.source.translator.expression(node.expression.this)
            node = node.this
        if isinstance(node, exp.WithinGroup):
            return self._within_group(node, condition, name)
        if isinstance(node, exp.Anonymous):
            return self._bounded(node, condition, name)
        handler = _FUNCTIONS.get(type(node))
        if handler is None:
            known = "COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE, VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP, COVAR_POP"
            raise self._refused(
                node, "aggregate", f"{node.key.upper()} is not an aggregate we answer", f"known: {known}"
            )
        return handler(self, node, condition, name)

    def named(self, aggregate: Aggregate, name: str, node: exp.Expression) -> Field:
        """The released column of an aggregate."""
        if aggregate not in self.found:
            wanted = fresh = name or node.sql().lower()
            count = 1
            while fresh in self.found.values():
                count += 1
                fresh = f"{wanted}_{count}"
            self.found[aggregate] = fresh
            self.nodes[fresh] = node
        return Field(self.found[aggregate])

    # Functions

    def count(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        inner = node.this
        if node.expressions:
            raise self._refused(node, "aggregate", "COUNT takes one column", "count one column or *")
        if isinstance(inner, exp.Distinct):
            return self.named(self._distinct(inner, condition), name, node)
        if inner is None or isinstance(inner, exp.Star) or self._is_constant(inner):
            of = None if condition is None else Case(((condition, Literal(1)),))
            return self.named(Count(of), name, node)
        return self.named(Count(self._of(inner, condition)), name, node)

    def _is_constant(self, node: exp.Expression) -> bool:
        return isinstance(node, exp.Literal)

    def _distinct(self, node: exp.Distinct, condition: Expression | None) -> Aggregate:
        if len(node.expressions) != 1 or node.args.get("on"):
            raise self._refused(node, "aggregate", "COUNT(DISTINCT ...) takes one column", "count them singly")
        of = self._read(node.expressions[0])
        if isinstance(of, Column) and shape(self.source.relation).anchors.get(of.name) == OWN_UNIT:
            if condition is not None:
                return CountUnits(Case(((condition, of if _outer_joined(self.source.relation) else Literal(1)),)))
            return CountUnits(of if _outer_joined(self.source.relation) else None)
        return CountDistinct(of if condition is None else Case(((condition, of),)))

    def sum(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self.named(Sum(self._of(node.this, condition)), name, node)

    def mean(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self.named(Mean(self._of(node.this, condition)), name, node)

    def count_if(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        asked = Case(((self._read(node.this), Literal(1)),))
        return self.named(Count(asked if condition is None else Case(((condition, asked),))), name, node)

    def variance_pop(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self.named(Variance(self._of(node.this, condition)), name, node)

    def deviation_pop(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self.named(Deviation(self._of(node.this, condition)), name, node)

    def variance(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        """The sample's: the population's times n / (n - 1)."""
        of = self._of(node.this, condition)
        wide = self.named(Variance(of), f"var_pop of {node.this.sql().lower()}", node)
        n = self.named(Count(of), f"count({node.this.sql().lower()})", node)
        self._say(
            f"{node.sql().upper()} is the sample's, with n - 1: computed from the noisy population variance and count."
        )
        return Operation(Operator.DIVIDE, Operation(Operator.TIMES, wide, n), Operation(Operator.MINUS, n, Constant(1)))

    def deviation(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return Apply(Function.ROOT, (self.variance(node, condition, name),))

    def covariance(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self.named(Covariance(self._of(node.this, condition), self._of(node.expression, condition)), name, node)

    def median(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self._quantile(node, node.this, Fraction(1, 2), condition, name)

    def least(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self._end(node, LEAST, condition, name)

    def greatest(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        return self._end(node, GREATEST, condition, name)

    def _end(self, node: exp.Expression, q: Fraction, condition: Expression | None, name: str) -> Value:
        if node.expressions:
            raise self._refused(node, "aggregate", "MIN and MAX take one value", "use LEAST or GREATEST for several")
        of = self._of(node.this, condition)
        shown = node.sql().upper()
        self._say(f"{shown} is answered as the {float(q):g}-quantile: the true end belongs to one person.")
        return self.named(Quantile(of, q), name, node)

    def quantile(self, node: exp.Expression, condition: Expression | None, name: str) -> Value:
        asked = node.args.get("quantile") or node.args.get("expression")
        if asked is None:
            raise self._refused(node, "aggregate", "a quantile needs its share", "QUANTILE(x, 0.9)")
        return self._quantile(node, node.this, self._share(asked), condition, name)

    def _within_group(self, node: exp.WithinGroup, condition: Expression | None, name: str) -> Value:
        function, order = node.this, node.expression
        if not isinstance(function, exp.PercentileCont | exp.PercentileDisc) or len(order.expressions) != 1:
            raise self._refused(node, "aggregate", "WITHIN GROUP goes with PERCENTILE_CONT or PERCENTILE_DISC")
        ordered, q = order.expressions[0], self._share(function.this)
        return self._quantile(node, ordered.this, 1 - q if ordered.args.get("desc") else q, condition, name)

    def _quantile(
        self, node: exp.Expression, of: exp.Expression, q: Fraction, condition: Expression | None, name: str
    ) -> Value:
        self._say(
            f"{node.sql().upper()} is one of the column's public candidates, not interpolated; its error is in ranks."
        )
        return self.named(Quantile(self._of(of, condition), q), name, node)

    def _share(self, node: exp.Expression) -> Fraction:
        value = self.source.translator.expression(node)
        if not (isinstance(value, Literal) and isinstance(value.value, Fraction) and 0 < value.value < 1):
            raise self._refused(node, "bad-constant", "a quantile's share is a constant strictly between 0 and 1")
        return value.value

    def _bounded(self, node: exp.Anonymous, condition: Expression | None, name: str) -> Value:
        """An aggregate with written bounds: of each row before it is added up, or of what one unit adds to a group."""
        given = [each for each in node.expressions if isinstance(each, exp.Kwarg)]
        arguments = [each for each in node.expressions if not isinstance(each, exp.Kwarg)]
        function = str(node.this)
        if len(given) != 1 or not arguments or not isinstance(given[0].expression, exp.Tuple):
            raise self._refused(node, "bad-option", "write SUM(x, contribution_bounds_per_row => (lower, upper))")
        lower, upper = self._ends(given[0], node)
        if given[0].name.lower() == "contribution_bounds_per_group":
            return self._clipped(node, arguments, (lower, upper), condition, name)
        if given[0].name.lower() != "contribution_bounds_per_row" or function == "COUNT":
            raise self._refused(
                node, "contribution-bounds", f"{given[0].name} does not go with {function}",
                "write contribution_bounds_per_group => (0, 5) with COUNT, ..._per_row or ..._per_group with SUM",
            )  # fmt: skip
        clamped = exp.Anonymous(
            this="CLAMP", expressions=[each.copy() for each in (arguments[0], *given[0].expression.expressions)]
        )
        return self.value(
            _without_bounds(function, [clamped, *(each.copy() for each in arguments[1:])], node, self.source.text),
            name,
            condition,
        )

    def _ends(self, given: exp.Kwarg, node: exp.Expression) -> tuple[Fraction, Fraction]:
        ends = [self.source.translator.expression(each) for each in given.expression.expressions]
        numbers = [each.value for each in ends if isinstance(each, Literal) and isinstance(each.value, Fraction)]
        if len(numbers) != 2 or len(ends) != 2 or not numbers[0] < numbers[1]:
            raise self._refused(node, "bad-option", "contribution bounds are two rising numbers")
        return numbers[0], numbers[1]

    def _clipped(
        self,
        node: exp.Anonymous,
        arguments: list[exp.Expression],
        ends: tuple[Fraction, Fraction],
        condition: Expression | None,
        name: str,
    ) -> Value:
        """SUM and COUNT whose part of one unit is clipped."""
        function, of = str(node.this), arguments[0]
        if len(arguments) == 1 and function == "SUM":
            return self.named(Sum(self._of(of, condition), ends), name, node)
        if len(arguments) == 1 and function == "COUNT" and not isinstance(of, exp.Distinct):
            if ends[0] != 0 or ends[1].denominator != 1 or ends[1] >= 2**31:
                raise self._refused(node, "bad-option", "a count per unit lies between 0 and a whole number")
            counted = None if isinstance(of, exp.Star) or self._is_constant(of) else self._of(of, condition)
            if counted is None and condition is not None:
                counted = Case(((condition, Literal(1)),))
            return self.named(Count(counted, int(ends[1])), name, node)
        raise self._refused(
            node, "contribution-bounds", f"{function} has no part of one unit that could be clipped",
            "write contribution_bounds_per_row => (lower, upper)",
        )  # fmt: skip

    # Parts

    def _of(self, node: exp.Expression, condition: Expression | None) -> Expression:
        if isinstance(node, exp.Distinct):
            raise self._refused(node, "aggregate", "DISTINCT is answered inside COUNT only", "aggregate per unit first")
        of = self._read(node)
        return of if condition is None else Case(((condition, of),))

    def _read(self, node: exp.Expression) -> Expression:
        if node is None or node.find(exp.Select) is not None:
            raise self._refused(
                node or exp.Null(), "subquery", "an aggregate takes a value of its own row", "join first"
            )
        if any(is_aggregate(inner) for inner in node.walk()):
            raise self._refused(
                node, "nested-aggregate", "an aggregate inside an aggregate", "use a sub-query per unit"
            )
        if node.find(exp.Window) is not None:
            raise self._refused(node, "window", "windows over private rows are not answered", "group instead")
        with placed(node, self.source.text):
            of = self.source.translator.expression(node)
            facts(of, self.source.schema)
        return of

    def _say(self, notice: str) -> None:
        if notice not in self.notices:
            self.notices.append(notice)

    def _refused(self, node: exp.Expression, code: str, reason: str, rewrite: str = "") -> Exception:
        return refused(node, self.source.text, code, reason, rewrite)


def _without_bounds(function: str, arguments: list[exp.Expression], node: exp.Expression, text: str) -> exp.Expression:
    """The plain aggregate of these arguments."""
    kind = _NAMED[function]
    wanted = 2 if kind is exp.PercentileCont else 1
    if len(arguments) != wanted:
        raise refused(node, text, "bad-option", f"{function} takes {wanted} value{'s' * (wanted - 1)} and its bounds")
    return kind(this=arguments[0], **({"expression": arguments[1]} if wanted == 2 else {}))


def _outer_joined(relation: Relation) -> bool:
    """Whether a unit's own column may be missing because of a LEFT JOIN."""
    match relation:
        case Scan():
            return False
        case Join(left, right, _, kind):
            return kind is JoinKind.LEFT or _outer_joined(left) or _outer_joined(right)
        case Union(sources):
            return any(_outer_joined(source) for source in sources)
        case Filter(source) | Project(source) | UnitAgg(source):
            return _outer_joined(source)


_NAMED: dict[str, type[exp.Expression]] = {
    "AVG": exp.Avg,
    "SUM": exp.Sum,
    "MEDIAN": exp.Median,
    "PERCENTILE_CONT": exp.PercentileCont,
    "VAR_POP": exp.VariancePop,
    "VAR_SAMP": exp.Variance,
    "VARIANCE": exp.Variance,
    "STDDEV": exp.Stddev,
    "STDDEV_POP": exp.StddevPop,
    "STDDEV_SAMP": exp.StddevSamp,
}
"""Aggregates whose rows can be bounded in the query."""

_FUNCTIONS: dict[type[exp.Expression], Callable[[Measures, Any, Expression | None, str], Value]] = {
    exp.Count: Measures.count,
    exp.CountIf: Measures.count_if,
    exp.Sum: Measures.sum,
    exp.Avg: Measures.mean,
    exp.VariancePop: Measures.variance_pop,
    exp.Variance: Measures.variance,
    exp.StddevPop: Measures.deviation_pop,
    exp.Stddev: Measures.deviation,
    exp.StddevSamp: Measures.deviation,
    exp.CovarPop: Measures.covariance,
    exp.Median: Measures.median,
    exp.Min: Measures.least,
    exp.Max: Measures.greatest,
    exp.Quantile: Measures.quantile,
    exp.PercentileCont: Measures.quantile,
    exp.PercentileDisc: Measures.quantile,
}
"""Every aggregate we answer; all others are refused."""
