"""What is paid for one release, and what it buys: the cost of a mechanism read by the session's rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.accounting import Filters, Pure, calibrate, epsilon
from deniable.core.family import MechanismFamily
from deniable.core.mechanism import Mechanism
from deniable.cost import Bounded, Calibrated, Cost
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact.guards import open_probability, positive

_NOT_PURE = "this mechanism is not pure and needs a delta; open the session with one, or pass delta="


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One of epsilon, rho or accuracy, checked; `delta` is what may be spent of it besides, `confidence` how errors are stated."""

    epsilon: Fraction | None
    rho: Fraction | None
    accuracy: Fraction | None
    delta: Fraction
    confidence: Fraction

    @classmethod
    def read(cls, terms: Mapping[str, Any], delta: Fraction) -> Payment:
        """The payment in a call's arguments; at most one of the three."""
        given = {name: terms[name] for name in ("epsilon", "rho", "accuracy") if terms[name] is not None}
        if len(given) > 1:
            raise InvalidArgument(f"say what to pay: epsilon=, rho= or accuracy=, one of them; got {list(given)}")
        amounts = dict.fromkeys(("epsilon", "rho", "accuracy")) | {n: positive(**{n: v}) for n, v in given.items()}
        return cls(**amounts, delta=delta, confidence=open_probability(confidence=terms["confidence"]))


@dataclass(frozen=True, slots=True)
class Purchase:
    """A mechanism with its scale, what it costs, and what the session's rule is charged for it."""

    mechanism: Mechanism
    cost: Cost
    charge: Cost
    epsilon: Fraction | None
    delta: Fraction


def purchase(mechanism: Mechanism | MechanismFamily, payment: Payment, filters: Filters) -> Purchase:
    """What a payment buys. A missing scale is solved from it; where the scale is given it is a ceiling.

    Guarantee: `charge` covers the mechanism's cost for one unit and is at most what was offered, every reading rounded up.
    """
    complete = mechanism if isinstance(mechanism, Mechanism) else _solved(mechanism, payment)
    cost = complete.cost(d_in=1)
    if filters.unit == "rho" and payment.epsilon is None:
        return Purchase(complete, cost, cost, None, Fraction(0))
    loss, delta = _pair(cost, payment)
    if payment.epsilon is not None and loss > payment.epsilon:
        raise InvalidArgument(
            f"this mechanism costs epsilon {float(loss):.6g}, more than the {float(payment.epsilon):.6g} offered; "
            "offer more, or leave out its scale to have it solved"
        )
    return Purchase(complete, cost, _charge(cost, loss, delta, filters), loss, delta)


def _solved(family: MechanismFamily, payment: Payment) -> Mechanism:
    if payment.accuracy is not None:
        return calibrate(family.at, accuracy=payment.accuracy, confidence=payment.confidence)
    if payment.rho is not None:
        return calibrate(family.at, rho=payment.rho, d_in=1)
    if payment.epsilon is None:
        raise InvalidArgument("this mechanism has no scale: say what to pay with epsilon=, rho= or accuracy=")
    try:
        return calibrate(family.at, epsilon=payment.epsilon, d_in=1)
    except Unaccountable:
        pass
    if not payment.delta > 0:
        raise InvalidArgument(_NOT_PURE)
    return calibrate(family.at, epsilon=payment.epsilon, delta=payment.delta, d_in=1)


def _pair(cost: Cost, payment: Payment) -> tuple[Fraction, Fraction]:
    """The cost as one (epsilon, delta): without a delta where that is finite, else at the delta there is."""
    try:
        return Pure().read(cost), Fraction(0)
    except Unaccountable:
        pass
    if not payment.delta > 0:
        raise InvalidArgument(_NOT_PURE)
    read = epsilon(cost, delta=payment.delta).upper
    if not read < float("inf"):
        raise InvalidArgument(f"this mechanism needs a larger delta than {float(payment.delta):g}")
    return Fraction(read), payment.delta


def _charge(cost: Cost, loss: Fraction, delta: Fraction, filters: Filters) -> Cost:
    """The cost in the records that the session's rules can read: where pairs are added up, with its pair."""
    if filters.unit == "rho":
        return cost
    return Calibrated(cost, epsilon=loss, delta=delta) if filters.only is None else Bounded(epsilon=loss, delta=delta)
