"""`EXPLAIN DP`: who is protected, how, what is measured, what it costs and how wrong it is, from public facts alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any

from deniable.exact import number_of
from deniable.exact.figures import counted
from deniable.kernels import HalvesNoise
from deniable.plan.canonical import node_name
from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread
from deniable.plan.expression import Arithmetic, Column, Compare, Literal
from deniable.plan.html_card import html_card, html_folded, html_lines, html_pairs
from deniable.plan.nodes import (
    Filter,
    GroupAgg,
    Histogram,
    Join,
    Project,
    Relation,
    RowCount,
    Scan,
    Total,
    Union,
    UnitAgg,
    UnitValue,
    ValueTable,
)
from deniable.plan.relation import entering
from deniable.query.compile import CompiledQuery
from deniable.query.price import Price
from deniable.query.sql.compiler import PrivateStatement
from deniable.query.sql.post import Apply, Constant, Field, Operation
from deniable.query.sql.stage import Stage


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a query would do and cost. Nothing was read and nothing was spent.

    `price` is None for a query on public tables, which is free.
    """

    unit: str
    bounds: str
    keys: str
    mechanisms: tuple[str, ...]
    split: tuple[str, ...]
    price: Price | None
    plan: str
    after: tuple[str, ...]
    notices: tuple[str, ...]
    public: bool = False
    stages: tuple[Explanation, ...] = ()
    """Of a query in stages, each in the order it is released; the rest is then about the whole."""
    whole: str = ""
    """The price of all stages together."""

    def __str__(self) -> str:
        if self.public:
            return "\n".join(["public: reads public tables only; answered exactly and free", *self.notices])
        if self.stages:
            return "\n".join(self._staged())
        lines = [f"protects  {self.unit}", f"bounds    {self.bounds}", f"keys      {self.keys}"]
        lines += [f"measures  {each}" for each in self.split]
        lines += [f"by        {each}" for each in self.mechanisms]
        lines += [
            f"          {line}" if index else f"price     {line}"
            for index, line in enumerate(str(self.price).splitlines())
        ]
        lines += [f"then      {each}" for each in self.after]
        lines += [f"note      {each}" for each in self.notices]
        return "\n".join([*lines, "plan", *(f"  {line}" for line in self.plan.splitlines())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if self.public or self.price is None or self.stages:
            return html_card(html_lines(str(self).splitlines()))
        pairs = [("protects", self.unit), ("bounds", self.bounds), ("keys", self.keys)]
        pairs += [("measures", each) for each in self.split] + [("by", each) for each in self.mechanisms]
        pairs += [("price", line.strip()) for line in str(self.price).splitlines()]
        pairs += [("then", each) for each in self.after] + [("note", each) for each in self.notices]
        return html_card(html_pairs(pairs), html_folded("Plan", self.plan))

    def _staged(self) -> Iterator[str]:
        count = len(self.stages)
        yield f"{count} stage{'s' if count > 1 else ''}, charged at once before the first: {self.whole}"
        for place, stage in enumerate(self.stages, 1):
            yield f"stage {place} of {count}"
            yield from (f"  {line}" for line in str(stage).splitlines())
        yield from (f"then      {each}" for each in self.after)
        yield from (f"note      {each}" for each in self.notices)


def explain_statement(
    private: PrivateStatement[Any], compiled: CompiledQuery, price: Price, *, unit: str, bounds: str
) -> Explanation:
    """The explanation of a priced query."""
    steps = [line for stage in private.stages for line in _steps(stage)]
    return Explanation(
        unit,
        bounds,
        price.keys,
        tuple(mechanisms_used(compiled, price)),
        tuple(numbers_measured(compiled, price)),
        price,
        plan_text(compiled.plan),
        tuple(steps),
        private.notices,
    )


def numbers_measured(compiled: CompiledQuery, price: Price) -> Iterator[str]:
    """What is measured, how far one unit moves it, and the noise it gets, one sentence each."""
    measured, allocation = dict(compiled.plan.aggregates), price.allocation
    for part in compiled.measurements.additive:
        apart, noise = part.sensitivity, allocation.noises[part.key]
        if isinstance(noise, HalvesNoise):
            continue
        yield (
            f"{_shown(measured[part.key.column])}: one unit moves it by at most {apart.linf * apart.step} in each of "
            f"{counted(apart.l0, 'cell')}; {noise.law.value} noise of scale {float(noise.scale * apart.step):.6g}"
        )
    for mean in allocation.means:
        apart, noise = mean.sensitivity, allocation.noises[mean.total]
        total, count = (_shown(measured[key.column]) for key in (mean.total, mean.count))
        yield (
            f"{total} and {count}, in two halves: one unit moves both together by at most "
            f"{apart.linf * apart.step} in each of {counted(apart.l0 // 2, 'cell')}; {noise.law.value} noise of scale "
            f"{float(noise.scale * apart.step):.6g} on each half"
        )
    for found, margin in zip(compiled.measurements.found, allocation.margins, strict=True):
        yield f"{counted(found.k, 'private choice')} among found values and a stop {counted(margin.at, 'row')} above the next"
    for selection in compiled.measurements.selections:
        yield f"a private choice among {selection.candidates} public values, {selection.times} per group"


def mechanisms_used(compiled: CompiledQuery, price: Price) -> Iterator[str]:
    """The mechanisms of a query, by name."""
    if compiled.measurements.additive:
        yield f"{price.law} noise on integers"
    if compiled.measurements.selections or compiled.measurements.found:
        yield "the exponential mechanism"
    if price.threshold is not None:
        yield f"a threshold of {number_of(price.threshold, 'noisy unit')}"


def _steps(stage: Stage) -> Iterator[str]:
    """What happens to the noisy values, in order."""
    if stage.where is not None:
        yield f"keep rows where {_shown(stage.where)}, on noisy values"
    if stage.order:
        yield "order by " + ", ".join(_shown(term.value) + (" desc" if term.descending else "") for term in stage.order)
    if stage.offset:
        yield f"leave out the first {counted(stage.offset, 'row')}"
    if stage.limit is not None:
        yield f"show at most {counted(stage.limit, 'row')}"
    named = [(new, old) for new, old in stage.keys] + [(name, _shown(of)) for name, of in stage.columns]
    yield "show " + ", ".join(name if name == of else f"{name} = {of}" for name, of in named)


def plan_text(plan: GroupAgg) -> str:
    """The inner plan, as an indented tree; the same facts the engine compiles to its own language."""
    bounding = plan.bounding
    spread = {each.spread.rows for _, each in plan.aggregates if isinstance(each, RowCount | Total) and each.spread}
    spread |= {each.most for _, each in plan.aggregates if isinstance(each, Histogram) and each.bits}
    most = bounding.rows_per_group or min(spread, default=None)
    how = "as at most " if bounding.rows_per_group is None else ""
    rows = "" if most is None else f", {how}{counted(most, 'row')} in each"
    groups = counted(bounding.groups, "group")
    keys = ", ".join(
        key.name if key.expression == Column(key.name) else f"{key.name} = {_shown(key.expression)}"
        for key in plan.keys
    )
    head = [f"group by {keys or 'nothing'}, each unit in at most {groups}{rows}"]
    head += [f"  {name} = {_shown(aggregate)}" for name, aggregate in plan.aggregates]
    return "\n".join([*head, *(f"  {line}" for line in _lines(plan.source))])


def _lines(relation: Relation) -> Iterator[str]:
    match relation:
        case Scan(_, table):
            yield f"scan {table}"
            return
        case ValueTable(name):
            yield f"values of {name}"
            return
        case Filter(source, condition):
            yield f"filter {_shown(condition)}"
            below: tuple[Relation, ...] = (source,)
        case Project(source, columns):
            yield "columns " + ", ".join(
                name if of == Column(name) else f"{name} = {_shown(of)}" for name, of in columns
            )
            below = (source,)
        case Join(left, right, on, kind, condition):
            yield (
                f"{kind.value} join on "
                + (", ".join(f"{a} = {b}" for a, b in on) or "nothing")
                + ("" if condition is None else f" where {_shown(condition)}")
                + _meeting(relation)
            )
            below = (left, right)
        case Union(sources):
            yield "union all"
            below = sources
        case UnitAgg(source, keys, values):
            named = [name for name, _ in keys]
            yield f"per unit by {', '.join(named)}: " + ", ".join(
                f"{v.name} = {v.summary.value}({_shown(v.of) if v.of else ''}{_share(v)})" for v in values
            )
            below = (source,)
    for each in below:
        yield from (f"  {line}" for line in _lines(each))


def _share(value: UnitValue) -> str:
    return "" if value.share is None else f", {_shown(Literal(value.share))}"


def _meeting(join: Join) -> str:
    """Whose rows meet, and how many of them where that is limited; nothing is said of a public side."""
    most = max((each for each in entering(join) if each is not None), default=None)
    return (
        " (and the same unit"
        + ("" if most is None else f", at most {counted(most, 'row')} of one from each side")
        + ")"
    )


def _shown(node: Any) -> str:
    """A node in a short form for people."""
    match node:
        case Column(name):
            return name
        case Literal(value):
            return repr(str(value)) if isinstance(value, str | date) else str(value)
        case Constant(value):
            return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
        case Operation(operation, before, after):
            return f"({_shown(before)} {operation.value} {_shown(after)})"
        case Apply(function, arguments):
            return f"{function.value}({', '.join(_shown(each) for each in arguments)})"
        case Arithmetic(operator, left, right) | Compare(operator, left, right):
            return f"({_shown(left)} {operator.value} {_shown(right)})"
        case Codebook():
            return ""
        case Spread():
            return "spread evenly"
        case Enum():
            return str(node.value)
        case tuple():
            return ", ".join(_shown(each) for each in node)
        case Fraction() | int() | str() | float() | None:
            return str(node)
        case _ if is_dataclass(node):
            inside = [_shown(getattr(node, each.name)) for each in fields(node) if getattr(node, each.name) is not None]
            return inside[0] if isinstance(node, Field) else f"{node_name(node).lower()}({', '.join(inside)})"
        case _:
            return str(node)
