"""A price: what a query will cost and how wrong each answer may be, said before any data is touched.

Errors of counts and sums hold for every data set. Errors of means and other ratios depend on the group's size and are stated for
one size, with sums in the middle of their bounds; errors of quantiles are in ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

import numpy as np

from deniable.accounting import Approximate, Filters, Spend, Tally
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive
from deniable.query.lowering import Lowered
from deniable.query.outputs import (
    HistogramOf,
    MeanOf,
    MomentOf,
    Noisy,
    Output,
    Plain,
    QuantileOf,
    TopKOf,
    mean,
    moment,
    shown_error,
)
from deniable.query.pricing import Bill, Request, bill
from deniable.query.slices import Slice, column_of

_DEAREST = Fraction(1000)


@dataclass(frozen=True, slots=True)
class Error:
    """How wrong one output may be: within `within` (in `measure`) with the price's confidence."""

    within: float
    measure: str

    def __str__(self) -> str:
        return f"± {self.within:,.6g} {self.measure}".rstrip()


@dataclass(frozen=True, slots=True)
class Price:
    """What one query costs and how accurate it will be.

    Guarantee: `spend` is exactly what the session is charged if the query is released on these terms.
    """

    cost: Cost
    charge: Cost
    spend: Spend
    unit: str
    errors: Mapping[str, Error]
    confidence: Fraction
    group_size: int
    law: str
    reason: str
    keys: str
    split: str
    totals: tuple[str, ...]
    asked: Request
    bill: Bill

    def __str__(self) -> str:
        pair = self.pair
        delta = f", delta = {float(pair.delta):.3g}" if pair.delta else ""
        lines = [f"costs {pair.unit} = {float(pair.loss):.6g}{delta}"]
        lines += [] if pair.unit == self.unit else [f"  counted as {self.spend}, which leaves most"]
        lines += [
            f"  {name}: {error} with probability {float(self.confidence):g}" for name, error in self.errors.items()
        ]
        lines += [self.reason, *([self.split] if self.split else []), self.keys]
        lines += [f"  {line}" for line in self.totals]
        if self.threshold is not None:
            lines.append(f"groups show from {' or '.join(map(str, self.thresholds))} noisy units on")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def pair(self) -> Spend:
        """The price in what was asked for: epsilon and delta, or rho where the session counts rho."""
        if self.unit == "rho":
            return self.spend
        return replace(Approximate().read(self.charge), unit="epsilon")

    @property
    def thresholds(self) -> tuple[int, ...]:
        """How many noisy units an observed group needs to be shown, for each level that has such groups."""
        return tuple(threshold.at for threshold in self.bill.thresholds)

    @property
    def threshold(self) -> int | None:
        """The threshold of the finest level with observed groups; None when all keys are declared."""
        return self.thresholds[0] if self.thresholds else None


@dataclass(frozen=True, slots=True)
class Terms:
    """How a price is stated: for which confidence, and for which size of group where that matters."""

    confidence: Fraction
    group_size: int
    spent: Tally | None = None
    """What the budget has spent before: of several filters the price speaks of the one that leaves most."""


def priced(lowered: Lowered, asked: Request, filters: Filters, terms: Terms) -> Price:
    """The price of a lowered query."""
    account = bill(lowered.needs, asked, filters)
    spend = filters.price(filters.read(account.charge), terms.spent or filters.nothing)
    first = lowered.slices[0]
    errors = {name: error(output, lowered, account, terms, first) for name, output in lowered.outputs}
    return Price(
        account.cost,
        account.charge,
        spend,
        spend.unit,
        errors,
        terms.confidence,
        terms.group_size,
        account.law.value,
        account.reason,
        lowered.keys.sentence(),
        _split(lowered),
        _totals(lowered, account, terms),
        asked,
        account,
    )


def solved(lowered: Lowered, asked: Request, filters: Filters, terms: Terms, wanted: Mapping[str, Real]) -> Price:
    """The cheapest price at which every wanted error is met, to one part in a thousand."""
    known = dict(lowered.outputs)
    for name, value in wanted.items():
        if name not in known:
            raise InvalidArgument(f"accuracy is wanted for {name!r}, which the query does not compute: {sorted(known)}")
        positive(**{name: value})
    if not wanted:
        raise InvalidArgument("accuracy needs at least one output and its wanted error, such as {'n': 10}")

    def good(factor: Fraction) -> bool:
        account = bill(lowered.needs, asked.scaled(factor), filters)
        return all(
            error(known[name], lowered, account, terms, part).within <= float(value)
            for name, value in wanted.items()
            for part in lowered.slices
            if lowered.tells(known[name], part)
        )

    return priced(lowered, asked.scaled(_least_factor(good, wanted)), filters, terms)


def _least_factor(good: Callable[[Fraction], bool], wanted: Mapping[str, Real]) -> Fraction:
    high = Fraction(1)
    while not good(high):
        high *= 2
        if high > _DEAREST:
            raise InvalidArgument(
                f"no budget below 1000 reaches the wanted errors {dict(wanted)}; ask for less accuracy"
            )
    low = high / 2
    while low > Fraction(1, 10**6) and good(low):
        low, high = low / 2, low
    while high - low > high / 1024:
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _split(lowered: Lowered) -> str:
    """How the budget is shared, and why; nothing when one number has it all."""
    needs = lowered.needs
    count = len(needs.additive) + len(needs.selections)
    if count == 1:
        return ""
    if needs.even:
        return f"{count} numbers share the budget evenly, which makes the product of their errors least"
    return f"{count} numbers share the budget in the parts asked for"


def _totals(lowered: Lowered, account: Bill, terms: Terms) -> tuple[str, ...]:
    """The errors of every slice but the first, in words."""
    said = []
    for part in lowered.slices[1:]:
        told = [(name, output) for name, output in lowered.outputs if lowered.tells(output, part)]
        errors = ", ".join(f"{name} {error(output, lowered, account, terms, part)}" for name, output in told)
        said.append(f"{part}: {errors}")
    return tuple(said)


def error(output: Output, lowered: Lowered, account: Bill, terms: Terms, part: Slice) -> Error:
    """How wrong one output may be in one slice under this bill."""
    beta = 1 - terms.confidence
    match output:
        case Plain(column) | HistogramOf(column):
            half = shown_error(
                account.noises[part.named(column)].error(beta), lowered.steps[column], lowered.grains[column]
            )
            return Error(float(half), "per bin" if isinstance(output, HistogramOf) else "")
        case MeanOf():
            return _sized(mean(output, _typical(output, lowered, account, terms, part), beta), terms)
        case MomentOf():
            return _sized(moment(output, _typical(output, lowered, account, terms, part), beta), terms)
        case QuantileOf(choice):
            rounded = f", in bins of {float(output.width):,.6g}" if output.ends else ""
            return Error(_score(part.named(choice), lowered, account, beta), f"ranks{rounded}")
        case TopKOf(choice):
            name = part.named(choice)
            selection = next(each for each in lowered.needs.selections if each.name == name)
            return Error(_score(name, lowered, account, beta / selection.times), "rows below the true order, each")
        case _:
            assert_never(output)


def _score(choice: str, lowered: Lowered, account: Bill, beta: Fraction) -> float:
    selection = next(part for part in lowered.needs.selections if part.name == choice)
    step = lowered.steps[lowered.choices[column_of(choice)].histogram]  # scores are counted in parts of rows
    return selection.score_error(account.etas[choice], beta) * float(step)


def _typical(output: MeanOf | MomentOf, lowered: Lowered, account: Bill, terms: Terms, part: Slice) -> dict[str, Noisy]:
    sizes = {name: terms.group_size if name == output.count else 0 for name in output.columns}
    return {
        name: Noisy(
            np.array([int(size / lowered.steps[name])], dtype=np.int64),
            lowered.steps[name],
            account.noises[part.named(name)],
        )
        for name, size in sizes.items()
    }


def _sized(band: object, terms: Terms) -> Error:
    from deniable.query.outputs import Band

    assert isinstance(band, Band)
    reach = max(float(band.upper[0] - band.value[0]), float(band.value[0] - band.lower[0]))
    return Error(reach, f"for {terms.group_size:,} rows")
