"""What a price means for one person: by how much a chance may change. From public numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from deniable.cost import Neighbours
from deniable.exact import digits, loss_text
from deniable.plan.unit import Unit
from deniable.query import Price

_FINE = Context(prec=40, rounding=ROUND_CEILING)
_SHOWN = Context(prec=3, rounding=ROUND_CEILING)
_COUNTLESS = 13
"""An epsilon above which the factor is not worth its digits."""


def chance_factor(epsilon: Fraction) -> str:
    """How many times as likely one person may make an answer: e to the epsilon, three digits, rounded up."""
    if not epsilon <= _COUNTLESS:
        return "more than 400,000"
    exponent = _FINE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    above = _FINE.multiply(
        exponent.exp(_FINE), Decimal("1.000000000000000000000000000001")
    )  # exp rounds to the nearest
    return f"{_SHOWN.plus(above).normalize():,f}"


def promise(loss: str, epsilon: Fraction | None, delta: Fraction, unit: Unit) -> str:
    """A loss as a promise about one unit; without an epsilon only the two kinds of data sets are named."""
    if epsilon is None:
        return f"{loss} for {neighbours(unit)}"
    whose = "changing one row" if unit.neighbours is Neighbours.REPLACE else f"the presence or absence of {unit.phrase}"
    slip = f" plus {digits(delta)}" if delta else ""
    return f"{loss}: {whose} changes the chance of any answer by at most a factor of {chance_factor(epsilon)}{slip}"


def neighbours(unit: Unit) -> str:
    """Which two data sets cannot be told apart."""
    if unit.neighbours is Neighbours.REPLACE:
        return "data sets that differ in one changed row"
    return f"data sets with and without {unit.phrase}"


def whole_loss(prices: Sequence[Price]) -> str:
    """What several prices come to, in the budget's words."""
    _, loss, delta = _whole(prices)
    return loss_text(prices[0].pair.unit, loss, delta)


def whole_promise(prices: Sequence[Price], unit: Unit) -> str:
    """What several prices together promise one unit."""
    in_epsilon, loss, delta = _whole(prices)
    return promise(whole_loss(prices), loss if in_epsilon else None, delta, unit)


def _whole(prices: Sequence[Price]) -> tuple[bool, Fraction, Fraction]:
    pairs = [price.pair for price in prices]
    loss, delta = (sum(parts, Fraction(0)) for parts in zip(*((p.loss, p.delta) for p in pairs), strict=True))
    return pairs[0].unit == "epsilon", loss, delta
