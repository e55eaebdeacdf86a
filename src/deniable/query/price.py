"""A price: what a query will cost and how wrong each answer may be, said before any data is touched.

Errors of counts and sums hold for every data set. Errors of means and other ratios depend on the group's size and are stated for
one size; errors of quantiles are in ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from deniable.accounting import Approximate, Filters, Spend, Tally
from deniable.cost import Composed, Cost
from deniable.errors import InvalidArgument
from deniable.kernels import ColumnNoise
from deniable.plan.analysis import facts
from deniable.plan.html_card import html_card, html_lines, html_table
from deniable.plan.nodes import Distinct, RowCount, Total, Units
from deniable.plan.relation import schema
from deniable.query.aggregates import Error, Output
from deniable.query.aggregates.count import Plain
from deniable.query.aggregates.histogram import HistogramOf
from deniable.query.aggregates.mean import MeanOf
from deniable.query.aggregates.percentile import QuantileOf
from deniable.query.allocation import Allocation, Request, allocate
from deniable.query.columns import shown_error
from deniable.query.compile import CompiledQuery
from deniable.query.measurements import Slice
from deniable.query.simultaneous import simultaneous_betas

_MAX_FACTOR = Fraction(1000)
"""A wanted error that costs more than so many units of budget is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBasis:
    """How errors are stated: at which confidence, of each number or of all at once, and for which size of group."""

    confidence: Fraction
    group_size: int
    simultaneous: bool = False

    def betas(self, compiled: CompiledQuery) -> Mapping[str, Fraction]:
        """How often a cell of each output may exceed its error."""
        beta = 1 - self.confidence
        if self.simultaneous:
            return simultaneous_betas(compiled, beta)
        return {name: beta for name, _ in compiled.outputs}

    def __str__(self) -> str:
        return f"with probability {float(self.confidence):g}" + (", all at once" if self.simultaneous else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one query costs and how accurate it will be.

    Guarantee: `spend` is exactly what the session is charged if the query is released at this price.
    """

    cost: Cost
    charge: Cost
    spend: Spend
    unit: str
    errors: Mapping[str, Error]
    basis: ErrorBasis
    betas: Mapping[str, Fraction]
    law: str
    reason: str
    keys: str
    split: str
    totals: tuple[str, ...]
    asked: Request
    allocation: Allocation
    least_rows: Mapping[str, int]
    """From about how many rows in a group on a mean says something: below, its interval is all that its bounds allow."""

    def __str__(self) -> str:
        pair = self.pair
        lines = [f"costs {pair}"]
        lines += (
            []
            if pair.unit == self.unit
            else [f"  counted in the budget as {self.spend}, the way of adding up costs that leaves most"]
        )
        lines += [f"  {name}: {error} {self.basis}" for name, error in self.errors.items()]
        lines += [
            f"  {name} says something in groups of about {rows:,} rows and more"
            for name, rows in self.least_rows.items()
        ]
        lines += [self.reason, *([self.split] if self.split else []), self.keys]
        lines += [f"  {line}" for line in self.totals]
        if self.threshold is not None:
            lines.append(f"groups show from a noisy count of {' or '.join(map(str, self.thresholds))} units on")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cost, *lines = str(self).splitlines()
        errors = [(name, str(error)) for name, error in self.errors.items()]
        rest = [line.strip() for line in lines if line.strip() not in {f"{n}: {e} {self.basis}" for n, e in errors}]
        table = html_table(["output", f"error {self.basis}"], errors, keys=1)
        return html_card(html_lines([cost]), table, html_lines(rest))

    @property
    def confidence(self) -> Fraction:
        """How sure the stated errors are."""
        return self.basis.confidence

    @property
    def group_size(self) -> int:
        """For how many rows the errors of means and other ratios are stated."""
        return self.basis.group_size

    @property
    def pair(self) -> Spend:
        """The price in what was asked for: epsilon and delta, or rho where the session counts rho."""
        if self.unit == "rho":
            return self.spend
        return replace(Approximate().read(self.charge), unit="epsilon")

    @property
    def thresholds(self) -> tuple[int, ...]:
        """How many noisy units an observed group needs to be shown, for each level that has such groups."""
        return tuple(threshold.at for threshold in self.allocation.thresholds)

    @property
    def threshold(self) -> int | None:
        """The threshold of the finest level with observed groups; None when all keys are declared."""
        return self.thresholds[0] if self.thresholds else None


def price_query(
    compiled: CompiledQuery, asked: Request, filters: Filters, basis: ErrorBasis, *, spent: Tally | None = None
) -> Price:
    """The price of a compiled query; of several filters it speaks of the one that leaves most after what was `spent`."""
    allocation = allocate(compiled.measured_by(asked.laws), asked, filters)
    spend = filters.price(filters.read(allocation.charge), spent or filters.nothing)
    first, betas = compiled.slices[0], basis.betas(compiled)
    chosen = {output.chosen: betas[name] for name, output in compiled.outputs if output.chosen is not None}
    allocation = replace(allocation, betas=chosen)
    return Price(
        cost=allocation.cost,
        charge=allocation.charge,
        spend=spend,
        unit=spend.unit,
        errors={
            name: slice_error(output, compiled, allocation, first, beta=betas[name], group_size=basis.group_size)
            for name, output in compiled.outputs
        },
        basis=basis,
        betas=betas,
        law=_laws(allocation),
        reason=allocation.reason,
        keys=compiled.keys.sentence(),
        split=_split(compiled, allocation),
        totals=_totals(compiled, allocation, betas, basis.group_size),
        asked=asked,
        allocation=allocation,
        least_rows={
            name: rows
            for name, output in compiled.outputs
            if (rows := _least_rows(output, compiled, allocation, first, betas[name], basis.group_size)) is not None
        },
    )


def price_of_stages(prices: Sequence[Price], filters: Filters, *, spent: Tally | None = None) -> Price:
    """What several stages cost under one charge, with the errors of all that is shown of them."""
    charge = Composed(tuple(price.charge for price in prices))
    spend = filters.price(filters.read(charge), spent or filters.nothing)
    last = prices[-1]
    return replace(
        last,
        cost=Composed(tuple(price.cost for price in prices)),
        charge=charge,
        spend=spend,
        unit=spend.unit,
        errors={name: error for price in prices for name, error in price.errors.items()},
        betas={name: beta for price in prices for name, beta in price.betas.items()},
        split=f"{len(prices)} stages share the price evenly" + (f"; in the last {last.split}" if last.split else ""),
    )


def price_for_accuracy(
    compiled: CompiledQuery,
    asked: Request,
    filters: Filters,
    basis: ErrorBasis,
    wanted: Mapping[str, Fraction],
    *,
    spent: Tally | None = None,
) -> Price:
    """The cheapest price at which every wanted error is met, to one part in a thousand."""
    outputs = dict(compiled.outputs)
    for name in wanted:
        if name not in outputs:
            raise InvalidArgument(
                f"accuracy is wanted for {name!r}, which the query does not compute: {sorted(outputs)}"
            )
    if not wanted:
        raise InvalidArgument("accuracy needs at least one output and its wanted error, such as {'n': 10}")

    measurements, betas, size = compiled.measured_by(asked.laws), basis.betas(compiled), basis.group_size

    def enough(factor: Fraction) -> bool:
        allocation = allocate(measurements, asked.scaled(factor), filters)
        return all(
            slice_error(outputs[name], compiled, allocation, part, beta=betas[name], group_size=size).within
            <= float(value)
            for name, value in wanted.items()
            for part in compiled.slices
            if compiled.has_value(outputs[name], part)
        )

    ranked = [name for name in wanted if outputs[name].chosen is not None]
    return price_query(compiled, asked.scaled(_least_factor(enough, wanted, ranked)), filters, basis, spent=spent)


def shares_as_errors(
    compiled: CompiledQuery, wanted: Mapping[str, Fraction], shares: Iterable[str], group_size: int
) -> Mapping[str, Fraction]:
    """Wanted errors by column, with those that were said as a share of `group_size` taken of each output's own public size.

    The only call of a function without a name of its own goes by the function's, `avg` for `avg(minutes)`.
    """
    outputs = dict(compiled.outputs)
    free = [each for each in outputs if each not in wanted]
    columns = {name: name if name in outputs else _column(name, free) for name in wanted}
    sizes = {name: public_size(compiled, columns[name], group_size) for name in shares if columns[name] in outputs}
    return {
        columns[name]: error * sizes[name] / group_size if name in sizes else error for name, error in wanted.items()
    }


def _column(name: str, free: Iterable[str]) -> str:
    calls = [each for each in free if re.fullmatch(rf"{re.escape(str(name))}\([^()]*\)", each)]
    return calls[0] if len(calls) == 1 else name


def public_size(compiled: CompiledQuery, name: str, group_size: int) -> Fraction:
    """What a share such as "5%" of an output is taken of: rows for counts and ranks, the width of the bounds for a mean, the
    largest sum so many rows can have for a sum; all of it public."""
    output = dict(compiled.outputs)[name]
    match output, [measured for column, measured in compiled.plan.aggregates if column in output.columns]:
        case MeanOf(), _:
            return output.upper - output.lower
        case (QuantileOf() | HistogramOf(), _) | (Plain(), [RowCount() | Units() | Distinct()]):
            return Fraction(group_size)
        case Plain(), [Total(of)] if (known := facts(of, schema(compiled.plan.source))).bounded:
            return group_size * max(map(abs, known.ends)) * known.step
    raise InvalidArgument(
        f"{name} has no size that is publicly known to take a share of: give its error in its own units, such as "
        f"accuracy={{{name!r}: 2}}"
    )


def _least_factor(
    enough: Callable[[Fraction], bool], wanted: Mapping[str, Fraction], ranked: Sequence[str]
) -> Fraction:
    high = Fraction(1)
    while not enough(high):
        high *= 2
        if high > _MAX_FACTOR:
            told = {name: float(value) for name, value in wanted.items()}
            ranks = f" (that of {ranked[0]} is counted in ranks, not in its values)" if ranked else ""
            raise InvalidArgument(
                f"no budget below 1000 reaches the wanted errors {told}{ranks}; ask for less accuracy"
            )
    low = high / 2
    while low > Fraction(1, 10**6) and enough(low):
        low, high = low / 2, low
    while high - low > high / 1024:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _laws(allocation: Allocation) -> str:
    """The laws of all noises, in words."""
    names = dict.fromkeys(noise.law.value for noise in allocation.noises.values())
    return " and ".join(names) or allocation.law.value


def _split(compiled: CompiledQuery, allocation: Allocation) -> str:
    """How the budget is shared, and why; nothing when one number has it all."""
    measurements = compiled.measurements
    count = len(measurements.additive) + len(measurements.choices)
    if count == 1:
        return ""
    shared = "evenly" if measurements.even else "in the parts asked for"
    said = f"{count} numbers share the price {shared}"
    means = len(allocation.means)
    if not means:
        return said
    both = "the sum and the count of a mean are" if means == 1 else f"sum and count of {means} means are each"
    together = f"{both} measured together, as distances from both bounds"
    return together if count == 2 else f"{said}; {together}"


def _totals(
    compiled: CompiledQuery, allocation: Allocation, betas: Mapping[str, Fraction], size: int
) -> tuple[str, ...]:
    """The errors of every slice but the first, in words."""
    lines = []
    for part in compiled.slices[1:]:
        told = [(name, output) for name, output in compiled.outputs if compiled.has_value(output, part)]
        errors = ", ".join(
            f"{name} {slice_error(each, compiled, allocation, part, beta=betas[name], group_size=size)}"
            for name, each in told
        )
        lines.append(f"{part}: {errors}")
    return tuple(lines)


def slice_error(
    output: Output, compiled: CompiledQuery, allocation: Allocation, part: Slice, *, beta: Fraction, group_size: int
) -> Error:
    """How wrong one output may be in one slice under this allocation."""
    return output.error(_SliceForecast(compiled, allocation, part, beta, group_size))


def _least_rows(
    output: Output, compiled: CompiledQuery, allocation: Allocation, part: Slice, beta: Fraction, group_size: int
) -> int | None:
    return output.least_rows(_SliceForecast(compiled, allocation, part, beta, group_size))


@dataclass(frozen=True, slots=True)
class _SliceForecast:
    """What is known of one slice before it is measured."""

    compiled: CompiledQuery
    allocation: Allocation
    part: Slice
    beta: Fraction
    group_size: int

    def noise(self, column: str) -> ColumnNoise:
        """The noise a column will get."""
        return self.allocation.noises[self.part.key(column)]

    def step(self, column: str) -> Fraction:
        """The grid of a column."""
        return self.allocation.step(self.part.key(column), self.compiled.steps[column])

    def shown_error(self, column: str) -> float:
        """How far a number of the column will be off as it is shown."""
        grain = self.compiled.grains[column]
        return float(shown_error(self.noise(column).error(self.beta), self.step(column), grain))

    def score_error(self, choice: str) -> float:
        """How far a private choice may be from the best one; of several in a group, each."""
        key = self.part.key(choice)
        selection = next(each for each in self.compiled.measurements.choices if each.key == key)
        error = selection.score_error(self.allocation.etas[key], self.beta / selection.together)
        return error * float(self._score_step(choice))

    def _score_step(self, choice: str) -> Fraction:
        """What scores are counted in: rows, or parts of them where rows are spread."""
        made = self.compiled.choices.get(choice)
        return Fraction(1) if made is None else self.compiled.steps[made.histogram]
