"""`explain`: which theorem gave the number, and what the others would have given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from deniable.accounting import composition
from deniable.accounting.bracket import Bracket
from deniable.accounting.conversion import epsilon_within
from deniable.accounting.cost_terms import terms
from deniable.accounting.measures.concentrated import ZeroConcentrated, lost_by_rho
from deniable.accounting.measures.renyi import RenyiLoss
from deniable.accounting.profiles import leak
from deniable.accounting.renyi_curves import LinearCurve
from deniable.accounting.spend import Spend
from deniable.accounting.theorems import GAP, RenyiPrivacy, epsilon, numeric, tightest
from deniable.cost import Cost
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import digits, down, ln, sqrt, up
from deniable.exact.guards import Real, probability

_BITS = 80
LOSSES = "privacy loss distribution"


@dataclass(frozen=True, slots=True)
class Alternative:
    """What one theorem says; `epsilon` is None where it says nothing, and `note` why."""

    theorem: str
    epsilon: float | None
    note: str = ""

    def __str__(self) -> str:
        said = "says nothing" if self.epsilon is None else str(Bracket(0.0, self.epsilon))
        return f"{said:>14}  {self.theorem}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True)
class CostExplanation:
    """The reading of a cost at one delta, its theorem, and the alternatives."""

    cost: Cost
    delta: Fraction
    epsilon: Bracket
    theorem: str
    alternatives: tuple[Alternative, ...]
    leak: Fraction = Fraction(0)
    """How much of delta is a leak, the chance that everything shows; the rest is the tail of a loss that is rarely large."""

    def __str__(self) -> str:
        lower = self.epsilon.lower
        least = float(down(lower, significant=6)) if lower and math.isfinite(lower) else lower
        head = f"epsilon = {self.epsilon} at delta = {float(self.delta):g}; the truth is in [{least:g}, {self.epsilon}]"
        note = [f"note: {self.epsilon.note}"] if self.epsilon.note else []
        said = [f"by {self.theorem}", *note, *([self._delta()] if self.delta else [])]
        return "\n".join([head, *said, "others would have given:", *map(str, self.alternatives)])

    def _delta(self) -> str:
        if self.leak == 0:
            return "delta is a tail: losses above epsilon are rare, and none shows everything"
        share = "all" if self.leak >= self.delta else digits(self.leak, most=3)
        return f"{share} of delta is a leak: with that chance everything may show"

    __repr__ = __str__


def explain(cost: Cost, *, delta: Real) -> CostExplanation:
    """The tightest epsilon of a cost at `delta`, the theorem behind it, and what the other theorems say.

    Guarantee: every number shown is a sound upper bound for losses fixed beforehand.
    """
    chance = probability(delta=delta)
    found = epsilon(cost, delta=chance)
    theorem = _pure_theorem() if chance == 0 else tightest(cost).theorem
    said = tuple(_said(name, say, cost, chance) for name, say in THEOREMS)
    return CostExplanation(cost, chance, found, theorem, said, leaked_delta(cost))


def leaked_delta(cost: Cost) -> Fraction:
    """The chance, rounded up, that a release gives everything away: what delta cannot fall below at any epsilon."""
    try:
        return composition.Pairs.of(cost).leaked
    except Unaccountable:
        return leak(terms(cost).leaks).upper


def _pure_theorem() -> str:
    return "the pure loss: epsilons add"


Say: TypeAlias = Callable[[Cost, Fraction], tuple[Fraction | float | None, str]]


def _said(
    name: str, say: Callable[[Cost, Fraction], tuple[Fraction | float | None, str]], cost: Cost, delta: Fraction
) -> Alternative:
    try:
        found, note = say(cost, delta)
    except Unaccountable as refusal:
        return Alternative(name, None, str(refusal).partition(";")[0])
    except (InvalidArgument, ArithmeticError):
        return Alternative(name, None, "the losses are beyond what is enclosed")
    return Alternative(name, None if found is None else found if isinstance(found, float) else up(found), note)


def _basic(cost: Cost, delta: Fraction) -> tuple[Fraction | None, str]:
    total: Spend = composition.basic(cost)
    return (total.loss, "") if total.delta <= delta else (None, f"the deltas add up to {float(total.delta):.3g}")


def _advanced(cost: Cost, delta: Fraction) -> tuple[Fraction | None, str]:
    return (composition.advanced(cost, delta=delta), "") if delta else (None, "needs a delta")


def _optimal(cost: Cost, delta: Fraction) -> tuple[Fraction | None, str]:
    return composition.optimal_bound(cost, delta=delta), ""


def _concentrated(cost: Cost, delta: Fraction) -> tuple[Fraction | None, str]:
    read = ZeroConcentrated().read(cost)
    leaks = ((read.delta, 1),) if read.delta else ()
    found = epsilon_within(RenyiLoss(((LinearCurve(read.loss), 1),), leaks), delta=delta) if delta else None
    said = "; ".join(filter(None, (f"rho = {digits(read.loss)}", lost_by_rho(cost))))
    return (found[0], said) if found else (None, "needs more delta")


def _textbook(cost: Cost, delta: Fraction) -> tuple[Fraction | None, str]:
    read = ZeroConcentrated().read(cost)
    if not read.delta < delta < 1:
        return None, "needs more delta"
    spread = 4 * read.loss * -ln(delta - read.delta, _BITS)
    return (read.loss + sqrt(spread.rounded(_BITS), _BITS)).upper, ""


def _renyi(cost: Cost, delta: Fraction) -> tuple[Fraction | None, str]:
    loss = RenyiPrivacy().read(cost)
    found = epsilon_within(loss, delta=delta) if delta else None
    said = "; ".join(filter(None, (f"order {float(found[1]):.4g}" if found else "", loss.note)))
    return (found[0], said) if found else (None, "needs more delta")


def _distribution(cost: Cost, delta: Fraction) -> tuple[float | None, str]:
    loss = numeric(cost)
    if loss is None:
        return None, "no dominating pair is known for every part"
    if not delta:
        return None, "needs a delta"
    found = loss.epsilon(delta, gap=GAP)
    return found.upper, found.note


THEOREMS: tuple[tuple[str, Say], ...] = (
    (LOSSES, _distribution),
    ("Rényi divergence, best order", _renyi),
    ("zero-concentrated privacy, best order", _concentrated),
    ("zero-concentrated privacy, rho + 2 sqrt(rho ln 1/delta)", _textbook),
    ("optimal composition, closed bound (Kairouz, Oh and Viswanath 2015)", _optimal),
    ("advanced composition (Dwork, Rothblum and Vadhan 2010)", _advanced),
    ("basic composition", _basic),
)
