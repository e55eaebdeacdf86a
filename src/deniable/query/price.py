"""A price: what a query will cost and how wrong each answer may be, said before any data is touched.

Errors of counts and sums hold for every data set. Errors of means and other ratios depend on the group's size and are stated for
one size, with sums in the middle of their bounds; errors of quantiles are in ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

import numpy as np

from deniable.accounting import Rule, Spend
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive
from deniable.query.lowering import Lowered
from deniable.query.outputs import HistogramOf, MeanOf, MomentOf, Noisy, Output, Plain, QuantileOf, TopKOf, mean, moment
from deniable.query.pricing import Bill, Request, bill

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
    threshold: int | None
    asked: Request
    bill: Bill

    def __str__(self) -> str:
        delta = f", delta = {float(self.spend.delta):.3g}" if self.spend.delta else ""
        lines = [f"costs {self.unit} = {float(self.spend.loss):.6g}{delta}"]
        lines += [
            f"  {name}: {error} with probability {float(self.confidence):g}" for name, error in self.errors.items()
        ]
        lines += [self.reason, self.keys]
        if self.threshold is not None:
            lines.append(f"groups show from {self.threshold} noisy units on")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Terms:
    """How a price is stated: for which confidence, and for which size of group where that matters."""

    confidence: Fraction
    group_size: int


def priced(lowered: Lowered, asked: Request, rule: Rule, terms: Terms) -> Price:
    """The price of a lowered query."""
    account = bill(lowered.needs, asked, rule)
    errors = {name: error(output, lowered, account, terms) for name, output in lowered.outputs}
    return Price(
        account.cost,
        account.charge,
        rule.read(account.charge),
        rule.unit,
        errors,
        terms.confidence,
        terms.group_size,
        account.law.value,
        account.reason,
        lowered.keys.sentence(),
        account.threshold.at if account.threshold else None,
        asked,
        account,
    )


def solved(lowered: Lowered, asked: Request, rule: Rule, terms: Terms, wanted: Mapping[str, Real]) -> Price:
    """The cheapest price at which every wanted error is met, to one part in a thousand."""
    known = dict(lowered.outputs)
    for name, value in wanted.items():
        if name not in known:
            raise InvalidArgument(f"accuracy is wanted for {name!r}, which the query does not compute: {sorted(known)}")
        positive(**{name: value})
    if not wanted:
        raise InvalidArgument("accuracy needs at least one output and its wanted error, such as {'n': 10}")

    def good(factor: Fraction) -> bool:
        account = bill(lowered.needs, asked.scaled(factor), rule)
        return all(error(known[name], lowered, account, terms).within <= float(value) for name, value in wanted.items())

    return priced(lowered, asked.scaled(_least_factor(good, wanted)), rule, terms)


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


def error(output: Output, lowered: Lowered, account: Bill, terms: Terms) -> Error:
    """How wrong one output may be under this bill."""
    beta = 1 - terms.confidence
    match output:
        case Plain(column) | HistogramOf(column):
            half = account.noises[column].half_width(beta) * lowered.steps[column]
            return Error(float(half), "per bin" if isinstance(output, HistogramOf) else "")
        case MeanOf():
            return _sized(mean(output, _typical(output.columns, output.count, lowered, account, terms), beta), terms)
        case MomentOf():
            return _sized(moment(output, _typical(output.columns, output.count, lowered, account, terms), beta), terms)
        case QuantileOf(choice):
            return Error(_score(choice, lowered, account, beta), "ranks")
        case TopKOf(choice):
            selection = next(part for part in lowered.needs.selections if part.name == choice)
            return Error(_score(choice, lowered, account, beta / selection.times), "rows below the true order, each")
        case _:
            assert_never(output)


def _score(choice: str, lowered: Lowered, account: Bill, beta: Fraction) -> float:
    selection = next(part for part in lowered.needs.selections if part.name == choice)
    return selection.score_error(account.etas[choice], beta)


def _typical(columns: tuple[str, ...], count: str, lowered: Lowered, account: Bill, terms: Terms) -> dict[str, Noisy]:
    sizes = {name: terms.group_size if name == count else 0 for name in columns}
    return {
        name: Noisy(np.array([size], dtype=np.int64), lowered.steps[name], account.noises[name])
        for name, size in sizes.items()
    }


def _sized(band: object, terms: Terms) -> Error:
    from deniable.query.outputs import Band

    assert isinstance(band, Band)
    reach = max(float(band.upper[0] - band.value[0]), float(band.value[0] - band.lower[0]))
    return Error(reach, f"for {terms.group_size:,} rows")
