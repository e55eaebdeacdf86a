"""Sub-queries per unit of the builder: one row for each unit, with summaries of its own rows.

A unit's own mean is its sum over its count, both exact, their quotient rounded once on a stated grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from deniable.errors import InvalidArgument, QueryRefused
from deniable.exact.guards import Real, rational
from deniable.plan.analysis import facts
from deniable.plan.expression import Column, Divide, Expression
from deniable.plan.facts import LARGEST, Facts, Kind
from deniable.plan.functions.numeric import Clamp, clamp_step
from deniable.plan.nodes import Project, Relation, UnitAgg, UnitSummary, UnitValue
from deniable.plan.relation import schema
from deniable.query.aggregates import Aggregate, Count, CountDistinct, Mean, Of, OfUnit, Quantile, Sum

Limits: TypeAlias = tuple[Fraction | None, Fraction | None]
Read: TypeAlias = Callable[[Of], Expression]

_MIDDLE = Fraction(1, 2)
MOST_ROWS = 2**20
"""A unit's own mean is that of up to so many rows; with more, sum and count are cut off there."""


@dataclass(frozen=True, slots=True)
class PerUnit:
    """The rows to sum up, by which keys, and how a column written as text is read."""

    source: Relation
    keys: tuple[tuple[str, Expression], ...]
    read: Read

    def relation(
        self, summaries: Mapping[str, Aggregate | OfUnit], bounds: Mapping[str, tuple[Real, Real]]
    ) -> Relation:
        """One row for each unit and its keys; a mean is computed of the unit's exact sum and count."""
        values: list[UnitValue] = []
        columns: dict[str, Expression] = {name: Column(name) for name, _ in self.keys}
        for name, aggregate in summaries.items():
            limits = _limits(bounds.get(name))
            columns[name] = Column(name)
            if isinstance(aggregate, Mean):
                sum_and_count, columns[name] = self._mean(name, self.read(aggregate.of), limits)
                values += sum_and_count
            else:
                values.append(self._value(name, aggregate, limits))
        rows = _limited(UnitAgg(self.source, self.keys, tuple(values)))
        plain = all(isinstance(column, Column) for column in columns.values())
        return rows if plain else Project(rows, tuple(columns.items()))

    def _mean(self, name: str, of: Expression, limits: Limits) -> tuple[list[UnitValue], Expression]:
        hidden = {summary: f"{name} ({summary.value})" for summary in (UnitSummary.SUM, UnitSummary.COUNT)}
        total, count = (Column(each) for each in hidden.values())
        mean = unit_mean(total, count, facts(of, schema(self.source)))
        lower, upper = limits
        limited = mean if lower is None or upper is None else Clamp(mean, lower, upper)
        return [UnitValue(column, summary, of) for summary, column in hidden.items()], limited

    def _value(self, name: str, aggregate: Aggregate | OfUnit, limits: Limits) -> UnitValue:
        if (isinstance(aggregate, Count) and aggregate.most) or (isinstance(aggregate, Sum) and aggregate.clip):
            raise InvalidArgument(f"{name}: limit a summary per unit with bounds={{{name!r}: (lower, upper)}}")
        match aggregate:
            case Count(None):
                return UnitValue(name, UnitSummary.ROWS, None, *limits)
            case Count(of) if of is not None:
                return UnitValue(name, UnitSummary.COUNT, self.read(of), *limits)
            case CountDistinct(of):
                return UnitValue(name, UnitSummary.DISTINCT, self.read(of), *limits)
            case Sum(of):
                return UnitValue(name, UnitSummary.SUM, self.read(of), *limits)
            case Quantile(of, q) if q == _MIDDLE:
                return UnitValue(name, UnitSummary.MEDIAN, self.read(of), *limits)
            case Quantile(of, q):
                return UnitValue(name, UnitSummary.QUANTILE, self.read(of), *limits, share=q)
            case OfUnit(summary, of):
                return UnitValue(name, summary, self.read(of), *limits)
            case _:
                raise InvalidArgument(
                    f"{name}: a unit is summed up by dp.count, dp.count_distinct(x), dp.sum(x), dp.mean(x), "
                    "dp.minimum(x), dp.maximum(x), dp.median(x), dp.quantile(x, q) or dp.mode(x)"
                )


def _limits(bounds: tuple[Real, Real] | None) -> Limits:
    return (None, None) if bounds is None else (rational(lower=bounds[0]), rational(upper=bounds[1]))


def _limited(per_unit: UnitAgg) -> Relation:
    """The per-unit rows, limits between grid points applied afterwards, on the common grid."""
    plain = UnitAgg(per_unit.source, per_unit.keys, tuple(replace(v, lower=None, upper=None) for v in per_unit.values))
    known, columns = schema(plain), {}
    for value in per_unit.values:
        if value.lower is not None and value.upper is not None and known[value.name].kind is Kind.NUMBER:
            columns[value.name] = Clamp(Column(value.name), value.lower, value.upper)
    finer = [
        name for name, clamp in columns.items() if clamp_step(known[name], clamp.lower, clamp.upper) != known[name].step
    ]
    if not finer:
        return per_unit
    kept = tuple(v if v.name not in finer else replace(v, lower=None, upper=None) for v in per_unit.values)
    return Project(
        UnitAgg(per_unit.source, per_unit.keys, kept),
        tuple((name, columns[name] if name in finer else Column(name)) for name in known),
    )


def unit_mean(total: Expression, count: Expression, known: Facts) -> Clamp:
    """The mean of numbers with the facts `known`, from their sum and count in one unit's rows."""
    if known.kind is not Kind.NUMBER or not known.bounded:
        raise QueryRefused("unbounded", "AVG needs a number with bounds", rewrite="AVG(CLAMP(x, 0, 100))")
    most = max(abs(end) for end in known.ends) or 1
    reach = most * MOST_ROWS * known.step
    limits = Clamp(total, -reach, reach), Clamp(count, Fraction(0), Fraction(MOST_ROWS))
    lower, upper = (end * known.step for end in known.ends)
    return Clamp(Divide(*limits, mean_step(known)), lower, upper)


def mean_step(known: Facts) -> Fraction:
    """The grid of a unit's own mean: up to 1,024 times as fine as the column's."""
    most = max(abs(end) for end in known.ends) or 1
    sizes = (size for size in range(10, 0, -1) if most * MOST_ROWS * 2 ** (size + 1) + MOST_ROWS < LARGEST)
    return known.step / (1 << next(sizes, 0))
