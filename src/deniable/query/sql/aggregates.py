"""Aggregate functions of SQL as the aggregates of a query; which function means which stands with each aggregate.

MIN and MAX of private rows belong to one person each; they are answered as the quantiles near the ends, with a notice.
Sample variances follow from the population's and the count, which is measured anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from deniable.plan.analysis import facts
from deniable.plan.expression import Case, Column, Expression, Literal
from deniable.plan.nodes import Filter, Join, JoinKind, Project, Relation, Scan, Union, UnitAgg, ValueTable
from deniable.plan.relation import shape
from deniable.plan.wording import ADVICE, spoken
from deniable.query.aggregates import SQL_FUNCTIONS, SQL_NAMES, Aggregate, Count, Sum
from deniable.query.aggregates.count import counted
from deniable.query.aggregates.quotient import quotient
from deniable.query.sql.env import is_aggregate
from deniable.query.sql.post import Apply, CellOperator, Constant, Field, Function, Operation, Value
from deniable.query.sql.source import FromClause, placed, refused


@dataclass(slots=True)
class AggregateCalls:
    """The aggregates a statement calls, each once, by name; and what must be said about them."""

    source: FromClause
    found: dict[Aggregate, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    nodes: dict[str, exp.Expression] = field(default_factory=dict)

    def value(self, node: exp.Expression, name: str = "", condition: Expression | None = None) -> Value:
        """The released value an aggregate stands for; `name` is what the query calls it, if anything."""
        if isinstance(node, exp.Filter):
            condition = self.source.translator.expression(node.expression.this)
            node = node.this
        call = _Call(self, node, name, condition)
        if isinstance(node, exp.Anonymous):
            return _bounded(call)
        read = SQL_FUNCTIONS.get(type(node))
        if read is None:
            advice = ADVICE.get(type(node).__name__, f"known: {', '.join(SQL_NAMES)}")
            raise call.refusal("aggregate", f"{call.word} is not an aggregate we answer", advice)
        value: Value = read(call)
        return value

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

    def quotient(self, top: exp.Expression, bottom: exp.Expression, node: exp.Expression) -> Field | None:
        """The released quotient of two aggregates that are one noisy number each; None of others."""
        apart = AggregateCalls(self.source)
        parts = [apart.value(each, "part") for each in (top, bottom)]
        named = {name: aggregate for aggregate, name in apart.found.items()}
        if not all(isinstance(each, Field) for each in parts) or apart.notices:
            return None
        found = quotient(*(named[each.name] for each in parts if isinstance(each, Field)))
        return None if found is None else self.named(found, "", node)


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of an aggregate function: what an aggregate's own reader sees of SQL."""

    calls: AggregateCalls
    node: exp.Expression
    name: str
    condition: Expression | None

    def answer(self, aggregate: Aggregate, name: str | None = None) -> Value:
        """The released column of an aggregate, under the name the query gives it unless it is a part of something."""
        return self.calls.named(aggregate, self.name if name is None else name, self.node)

    def of(self, node: exp.Expression | None = None) -> Expression:
        """An argument (the first unless given) where the FILTER is true, else missing."""
        argument = self.node.this if node is None else node
        if isinstance(argument, exp.Distinct):
            advice = self._of_distinct(argument)
            raise refused(argument, self._text, "aggregate", "DISTINCT is answered inside COUNT only", advice)
        of = self.read(argument)
        return of if self.condition is None else Case(((self.condition, of),))

    def _of_distinct(self, argument: exp.Distinct) -> str:
        """What to write for an aggregate of distinct values: which there are may hang on one unit, so a count of units decides."""
        value, unit = ", ".join(each.sql() for each in argument.expressions), shape(self.calls.source.relation).unit
        shared = f"values that several have: FROM (SELECT {value}, {{}} AS n FROM ... GROUP BY {value}) v WHERE n >= 10"
        if unit is None or unit.id is None:
            return shared.format("COUNT(*)")
        own = f"each {unit.label}'s own values once: FROM (SELECT DISTINCT {unit.id}, {value} FROM ...) v"
        return f"{own}; or {shared.format(f'COUNT(DISTINCT {unit.id})')}"

    def read(self, node: exp.Expression) -> Expression:
        """An argument as it is."""
        if node is None or node.find(exp.Select) is not None:
            raise refused(
                node or exp.Null(), self._text, "subquery", "an aggregate takes a value of its own row", "join first"
            )
        if any(is_aggregate(inner) for inner in node.walk()):
            raise refused(
                node, self._text, "nested-aggregate", "an aggregate inside an aggregate", "use a sub-query per unit"
            )
        if node.find(exp.Window) is not None:
            raise refused(node, self._text, "window", "windows over private rows are not answered", "group instead")
        with placed(node, self._text):
            of = self.calls.source.translator.expression(node)
            facts(of, self.calls.source.schema)
        return of

    def share(self, node: exp.Expression) -> Fraction:
        """A constant strictly between 0 and 1."""
        if isinstance(node, exp.Array):
            raise refused(
                node,
                self._text,
                "bad-constant",
                "a quantile has one share",
                "write QUANTILE(x, 0.25), QUANTILE(x, 0.5)",
            )
        value = self.calls.source.translator.expression(node)
        if not (isinstance(value, Literal) and isinstance(value.value, Fraction) and 0 < value.value < 1):
            raise refused(node, self._text, "bad-constant", "a quantile's share is a constant strictly between 0 and 1")
        return value.value

    def is_unit(self, of: Expression) -> bool:
        """Whether a column is the identifier of the unit itself."""
        return isinstance(of, Column) and shape(self.calls.source.relation).is_unit(of.name)

    def may_lack_unit(self) -> bool:
        """Whether the unit's own column may be missing because of a LEFT JOIN."""
        return _outer_joined(self.calls.source.relation)

    def sample_value(self, population: Value, count: Value) -> Value:
        """population·n/(n - 1)."""
        less = Operation(CellOperator.MINUS, count, Constant(1))
        return Operation(CellOperator.DIVIDE, Operation(CellOperator.TIMES, population, count), less)

    def root(self, value: Value) -> Value:
        """The square root of a released value."""
        return Apply(Function.ROOT, (value,))

    def note(self, notice: str) -> None:
        """Something the reader must know, said once."""
        if notice not in self.calls.notices:
            self.calls.notices.append(notice)

    def refusal(self, code: str, reason: str, rewrite: str = "") -> Exception:
        """The refusal of this call, with its place in the text."""
        return refused(self.node, self._text, code, reason, rewrite)

    @property
    def word(self) -> str:
        """The function's name, as it was written."""
        return spoken(self.node, self._text)

    @property
    def _text(self) -> str:
        return self.calls.source.text


def _bounded(call: _Call) -> Value:
    """An aggregate with written bounds: of each row before it is added up, or of what one unit adds to a group."""
    node = call.node
    given = [each for each in node.expressions if isinstance(each, exp.Kwarg)]
    arguments = [each for each in node.expressions if not isinstance(each, exp.Kwarg)]
    function = str(node.this)
    if len(given) != 1 or not arguments or not isinstance(given[0].expression, exp.Tuple):
        raise call.refusal("bad-option", "write SUM(x, contribution_bounds_per_row => (lower, upper))")
    ends = _ends(call, given[0])
    if given[0].name.lower() == "contribution_bounds_per_group":
        return _clipped(call, arguments, ends)
    if given[0].name.lower() != "contribution_bounds_per_row" or function == "COUNT":
        raise call.refusal(
            "contribution-bounds", f"{given[0].name} does not go with {function}",
            "write contribution_bounds_per_group => (0, 5) with COUNT, ..._per_row or ..._per_group with SUM",
        )  # fmt: skip
    clamped = exp.Anonymous(
        this="CLAMP", expressions=[each.copy() for each in (arguments[0], *given[0].expression.expressions)]
    )
    plain = _without_bounds(call, function, [clamped, *(each.copy() for each in arguments[1:])])
    return call.calls.value(plain, call.name, call.condition)


def _ends(call: _Call, given: exp.Kwarg) -> tuple[Fraction, Fraction]:
    ends = [call.calls.source.translator.expression(each) for each in given.expression.expressions]
    numbers = [each.value for each in ends if isinstance(each, Literal) and isinstance(each.value, Fraction)]
    if len(numbers) != 2 or len(ends) != 2 or not numbers[0] < numbers[1]:
        raise call.refusal("bad-option", "contribution bounds are two rising numbers")
    return numbers[0], numbers[1]


def _clipped(call: _Call, arguments: list[exp.Expression], ends: tuple[Fraction, Fraction]) -> Value:
    """SUM and COUNT whose part of one unit is clipped."""
    function, of = str(call.node.this), arguments[0]
    if len(arguments) == 1 and function == "SUM":
        return call.answer(Sum(call.of(of), ends))
    if len(arguments) == 1 and function == "COUNT" and not isinstance(of, exp.Distinct):
        if ends[0] != 0 or ends[1].denominator != 1 or ends[1] >= 2**31:
            raise call.refusal("bad-option", "a count per unit lies between 0 and a whole number")
        return call.answer(Count(counted(call, of), int(ends[1])))
    raise call.refusal(
        "contribution-bounds", f"{function} has no part of one unit that could be clipped",
        "write contribution_bounds_per_row => (lower, upper)",
    )  # fmt: skip


def _without_bounds(call: _Call, function: str, arguments: list[exp.Expression]) -> exp.Expression:
    """The plain aggregate of these arguments."""
    kind = _NAMED[function]
    wanted = 2 if kind is exp.PercentileCont else 1
    if len(arguments) != wanted:
        raise call.refusal("bad-option", f"{function} takes {wanted} value{'s' * (wanted - 1)} and its bounds")
    return kind(this=arguments[0], **({"expression": arguments[1]} if wanted == 2 else {}))


def _outer_joined(relation: Relation) -> bool:
    """Whether a unit's own column may be missing because of a LEFT JOIN."""
    match relation:
        case Scan() | ValueTable():
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
