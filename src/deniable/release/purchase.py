"""What a payment buys: a mechanism with its scale, and its cost read by the session's rule."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting import Filters, Pure, calibrate, epsilon
from deniable.core.mechanism import Mechanism
from deniable.core.step import MechanismFamily
from deniable.cost import Bounded, Calibrated, Cost
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import digits, loss_text
from deniable.query import Payment

_NOT_PURE = "this mechanism is not pure and needs a delta; open the session with one, or pass delta="


@dataclass(frozen=True, slots=True)
class Purchase:
    """A mechanism with its scale, what it costs, and what the session's rule is charged for it."""

    mechanism: Mechanism
    cost: Cost
    charge: Cost
    epsilon: Fraction | None
    delta: Fraction


def purchase(
    mechanism: Mechanism | MechanismFamily, payment: Payment, filters: Filters, *, delta: Fraction
) -> Purchase:
    """What a payment buys. A missing scale is solved from it; where the scale is given it is a ceiling.

    Guarantee: `charge` covers the mechanism's cost for one unit and is at most what was offered, every reading rounded up.
    """
    complete = mechanism if isinstance(mechanism, Mechanism) else _solved(mechanism, payment, delta)
    cost = complete.cost(d_in=1)
    if filters.unit == "rho" and payment.epsilon is None:
        return Purchase(complete, cost, cost, None, Fraction(0))
    loss, read_delta = _pair(cost, delta)
    if payment.epsilon is not None and loss > payment.epsilon:
        raise InvalidArgument(
            f"this mechanism costs {loss_text('epsilon', loss)}, more than the {digits(payment.epsilon)} offered; "
            "offer more, or leave out its scale to have it solved"
        )
    return Purchase(complete, cost, _charge(cost, loss, read_delta, filters), loss, read_delta)


def _solved(family: MechanismFamily, payment: Payment, delta: Fraction) -> Mechanism:
    if payment.accuracy is not None:
        if not isinstance(payment.accuracy, Fraction):
            raise InvalidArgument("the accuracy of a mechanism is one number; names of outputs go with queries")
        return calibrate(family.at, accuracy=payment.accuracy, confidence=payment.confidence)
    if payment.rho is not None:
        return calibrate(family.at, rho=payment.rho, d_in=1)
    if payment.epsilon is None:
        raise InvalidArgument(
            "nothing says how much noise to add: pay with epsilon= or rho=, or for a mechanism that states its error with accuracy="
        )
    try:
        return calibrate(family.at, epsilon=payment.epsilon, d_in=1)
    except Unaccountable:
        pass
    if not delta > 0:
        raise InvalidArgument(_NOT_PURE)
    return calibrate(family.at, epsilon=payment.epsilon, delta=delta, d_in=1)


def _pair(cost: Cost, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The cost as one (epsilon, delta): without a delta where that is finite, else at the delta there is."""
    try:
        return Pure().read(cost), Fraction(0)
    except Unaccountable:
        pass
    if not delta > 0:
        raise InvalidArgument(_NOT_PURE)
    read = epsilon(cost, delta=delta).upper
    if not read < float("inf"):
        raise InvalidArgument(f"this mechanism needs a larger delta than {float(delta):g}")
    return Fraction(read), delta


def _charge(cost: Cost, loss: Fraction, delta: Fraction, filters: Filters) -> Cost:
    """The cost in the records that the session's rules can read: where pairs are added up, with its pair."""
    if filters.unit == "rho":
        return cost
    return Calibrated(cost, epsilon=loss, delta=delta) if filters.only is None else Bounded(epsilon=loss, delta=delta)
