"""What a query costs and how much noise buys that: decided from public facts alone, before any data is touched.

The budget of a query is shared evenly by the numbers it must measure, which makes the product of their errors least, unless the
analyst fixes the shares; each is given Laplace or Gaussian noise, whichever throws less in total. A noisy number is drawn once
and shared by everything that uses it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias, assert_never

from deniable.accounting import Filters, epsilon
from deniable.accounting.conversion import rho_within
from deniable.cost import Bounded, Calibrated, Cost, Exponential, composed
from deniable.errors import InvalidArgument, QueryRefused
from deniable.exact import gaussian_mu, sqrt, up
from deniable.exact.guards import Real, positive, probability
from deniable.kernels import Law, Noise
from deniable.kernels.peeling import exponential_score_error
from deniable.mechanisms.selection import threshold_for
from deniable.plan.sensitivity import Sensitivity

_BETA = Fraction(1, 20)
_LEAST_RHO = Fraction(1, 2**200)
"""Less than any noise that can be drawn reads as: a price that asks for less is refused by its scale."""
_WIDEST = Fraction(2**49)
"""Vectors of noise are drawn up to a scale of 2**50 steps; a scale is rounded up a little after this check."""

GaussianLaw: TypeAlias = Literal[Law.GAUSSIAN, Law.DISCRETE_GAUSSIAN]


@dataclass(frozen=True, slots=True)
class Additive:
    """A column of integers that will get noise, how far one unit moves it, and its part of the query's budget."""

    name: str
    moved: Sensitivity
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Selection:
    """A private choice among `candidates`, made `times` times in every group by the exponential mechanism.

    One unit moves every candidate's score by at most `sensitivity`, in each of at most `groups` groups; `one_way` when it
    moves all of them in the same direction, which costs half.
    """

    name: str
    sensitivity: Fraction
    one_way: bool
    groups: int
    times: int
    candidates: int
    weight: Fraction = Fraction(1)

    def temperature(self, eta: Fraction) -> Fraction:
        """Weights exp(score / temperature) give a loss range of `eta` per choice."""
        return (1 if self.one_way else 2) * self.sensitivity / eta

    def score_error(self, eta: Fraction, beta: Fraction) -> float:
        """The chosen candidate's score is this close to the best with probability 1 - beta."""
        return up(exponential_score_error(beta, count=self.candidates, scale=self.temperature(eta)))


@dataclass(frozen=True, slots=True)
class Request:
    """What the analyst is willing to pay: `epsilon` or `rho`, with the `delta` granted to this query, and a law if fixed."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    law: Law | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidArgument("a query is paid in epsilon or in rho: give one of them")

    def scaled(self, factor: Fraction) -> Request:
        """The same request with its loss multiplied; used when solving for a wanted error."""
        return Request(
            None if self.epsilon is None else self.epsilon * factor,
            None if self.rho is None else self.rho * factor,
            self.delta,
            self.law,
        )


def request(
    *, epsilon: Real | None = None, rho: Real | None = None, delta: Real = 0, law: Law | None = None
) -> Request:
    """A checked request."""
    return Request(
        None if epsilon is None else positive(epsilon=epsilon),
        None if rho is None else positive(rho=rho),
        probability(delta=delta),
        law,
    )


@dataclass(frozen=True, slots=True)
class Threshold:
    """Observed keys are shown when their noisy number of units reaches `at`; `delta` covers what a rare key could leak."""

    column: str
    at: int
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Bill:
    """Noise, choices and threshold for one query, and what they cost together.

    `cost` is what happens, as records; `charge` is what the session's rule is asked to spend.
    """

    noises: Mapping[str, Noise]
    etas: Mapping[str, Fraction]
    thresholds: tuple[Threshold, ...]
    law: Law
    cost: Cost
    charge: Cost
    reason: str


@dataclass(frozen=True, slots=True)
class Needs:
    """Everything a plan must measure, and the columns of units that the observed keys of each level are judged by."""

    additive: tuple[Additive, ...]
    selections: tuple[Selection, ...]
    units: tuple[str, ...] = ()

    @property
    def weight(self) -> Fraction:
        """What the parts of all numbers that share the query's budget come to."""
        return self.measured + sum((part.weight for part in self.selections), Fraction(0))

    @property
    def measured(self) -> Fraction:
        """What the parts of the columns that get noise come to."""
        return sum((part.weight for part in self.additive), Fraction(0))

    @property
    def even(self) -> bool:
        """Whether all share alike."""
        return len({part.weight for part in self.additive} | {part.weight for part in self.selections}) <= 1


def bill(needs: Needs, asked: Request, filters: Filters) -> Bill:
    """The best way to answer within what was asked, priced under the session's rules.

    Guarantee: `charge` covers `cost`; every reading is rounded up.
    """
    if needs.units and not asked.delta > 0:
        raise QueryRefused(
            "keys-need-delta",
            "these group keys are taken from the data, so rare ones must be hidden, which needs a delta",
            rewrite="declare the key's categories in the codebook, or open the session with delta=1e-7 or so",
        )
    candidates = [_answer(needs, asked, law) for law in _laws(needs, asked)]
    chosen = min(candidates, key=lambda option: _spread(needs, option.noises))
    reason = _reason(candidates, chosen, needs, asked)
    charge = _charge(chosen, asked, filters)
    return Bill(chosen.noises, chosen.etas, chosen.thresholds, chosen.law, chosen.cost, charge, reason)


@dataclass(frozen=True, slots=True)
class _Option:
    law: Law
    noises: Mapping[str, Noise]
    etas: Mapping[str, Fraction]
    thresholds: tuple[Threshold, ...]
    noise: Cost
    noise_delta: Fraction

    @property
    def leaks(self) -> list[Cost]:
        """What each threshold may leak."""
        return [Bounded(epsilon=0, delta=threshold.delta) for threshold in self.thresholds]

    @property
    def cost(self) -> Cost:
        """All that happens."""
        return composed([self.noise, *self.leaks])

    @property
    def key_delta(self) -> Fraction:
        """What all thresholds together may leak."""
        return sum((threshold.delta for threshold in self.thresholds), Fraction(0))


def _laws(needs: Needs, asked: Request) -> Sequence[Law]:
    if asked.law is not None:
        if not asked.law.pure and asked.rho is None and not asked.delta > 0:
            raise InvalidArgument("Gaussian noise at a given epsilon needs a delta; open the session with one")
        return (asked.law,)
    if asked.rho is not None:
        return (Law.GAUSSIAN,)
    return (Law.LAPLACE, Law.GAUSSIAN) if asked.delta > 0 and needs.additive else (Law.LAPLACE,)


def _answer(needs: Needs, asked: Request, law: Law) -> _Option:
    spends_delta = not law.pure and asked.epsilon is not None
    shares = 2 if spends_delta and needs.units else 1
    noise_delta = asked.delta / shares if spends_delta else Fraction(0)
    noises = _noises(needs, asked, law, noise_delta)
    etas = {part.name: _eta(part, asked, needs.weight) for part in needs.selections}
    each_delta = asked.delta / shares / max(1, len(needs.units))
    thresholds = tuple(_threshold(needs, units, noises[units], each_delta) for units in needs.units)
    costs = [noises[part.name].cost(part.moved) for part in needs.additive if part.moved.l1]
    costs += [Exponential(eta=etas[part.name]).repeated(part.groups * part.times) for part in needs.selections]
    return _Option(law, noises, etas, thresholds, composed(costs), noise_delta)


def _noises(needs: Needs, asked: Request, law: Law, noise_delta: Fraction) -> dict[str, Noise]:
    match law:
        case Law.LAPLACE:
            return _laplaces(needs, asked)
        case Law.GAUSSIAN | Law.DISCRETE_GAUSSIAN:
            square = _unit_square(needs, asked, law, noise_delta)
        case _:
            assert_never(law)
    return {
        part.name: Noise(law, _positive_scale(_root(part.moved.l2_squared * square / part.weight)))
        for part in needs.additive
    }


def _unit_square(needs: Needs, asked: Request, law: GaussianLaw, delta: Fraction) -> Fraction:
    """The squared scale, rounded up, for a column of weight and sensitivity one.

    Columns of discrete Gaussian noise are no Gaussian mechanism together; what is proved for them is their zCDP reading.
    """
    if asked.rho is not None:
        return needs.weight / (2 * asked.rho)
    assert asked.epsilon is not None
    epsilon = asked.epsilon * (needs.measured / needs.weight if needs.additive else 1)
    match law:
        case Law.GAUSSIAN:
            return unit_scale(epsilon, delta) ** 2 * needs.measured
        case Law.DISCRETE_GAUSSIAN:
            rho = max(rho_within(epsilon=epsilon, delta=delta), _LEAST_RHO)
            return needs.measured / (2 * rho)
        case _:
            assert_never(law)


def _laplaces(needs: Needs, asked: Request) -> dict[str, Noise]:
    if asked.rho is not None:
        return _laplace_for_rho(needs, asked.rho)
    assert asked.epsilon is not None
    share = asked.epsilon / needs.weight
    return {part.name: _laplace(part, share * part.weight) for part in needs.additive}


def _laplace(part: Additive, epsilon: Fraction) -> Noise:
    return Noise(Law.LAPLACE, _positive_scale(Fraction(part.moved.l1) / epsilon))


def _laplace_for_rho(needs: Needs, rho: Fraction) -> dict[str, Noise]:
    """Epsilons in the ratio of the roots of the weights, whose readings as rho come to at most `rho`."""
    return {part.name: _laplace(part, _pure_for(rho * part.weight / needs.weight)) for part in needs.additive}


def _positive_scale(scale: Fraction) -> Fraction:
    """A column that no unit can move needs no noise; the smallest scale stands for that. What no sampler draws is refused now."""
    if scale > _WIDEST:
        raise InvalidArgument(
            f"this price needs noise of {_digits(scale)} grid steps, more than can be drawn; pay more, or declare tighter bounds"
        )
    return coarse(scale) if scale > 0 else Fraction(1, 1000)


def _digits(scale: Fraction) -> str:
    return f"{float(scale):.3g}" if scale < 10**300 else "more than 1e+300"


def _root(square: Fraction) -> Fraction:
    return sqrt(square, bits=64).upper


def coarse(scale: Fraction, bits: int = 24) -> Fraction:
    """A scale rounded up to `bits` significant bits: at most a 10^-7 part more noise, and tables that can be shared."""
    shift = scale.numerator.bit_length() - scale.denominator.bit_length() - bits
    unit = Fraction(2) ** shift
    return math.ceil(scale / unit) * unit


def _pure_for(rho: Fraction) -> Fraction:
    """An epsilon whose zCDP reading is at most rho: epsilon²/2 covers epsilon·tanh(epsilon/2)."""
    return sqrt(2 * rho, bits=64).lower


def _eta(part: Selection, asked: Request, whole: Fraction) -> Fraction:
    share = part.weight / whole / (part.groups * part.times)
    if asked.epsilon is not None:
        return asked.epsilon * share
    assert asked.rho is not None
    return sqrt(8 * asked.rho * share, bits=64).lower


@lru_cache(maxsize=1024)
def unit_scale(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least Gaussian scale (rounded up) that is (epsilon, delta)-private at sensitivity one."""
    return 1 / gaussian_mu(epsilon, delta, bits=40).lower


def _threshold(needs: Needs, name: str, noise: Noise, delta: Fraction) -> Threshold:
    units = next(part for part in needs.additive if part.name == name)
    at = threshold_for(delta, scale=noise.scale, l0=units.moved.l0, linf=units.moved.linf, law=noise.law)
    return Threshold(name, at, delta)


def _spread(needs: Needs, noises: Mapping[str, Noise]) -> float:
    return math.fsum(math.log(1 + noises[part.name].error(_BETA)) for part in needs.additive)


def _reason(options: Sequence[_Option], chosen: _Option, needs: Needs, asked: Request) -> str:
    if not needs.additive:
        return "private choices only: the exponential mechanism"
    if len(options) == 1:
        return f"{chosen.law.value} noise" + (", as asked" if asked.law else "")
    other = next(option for option in options if option is not chosen)
    ratio = math.exp((_spread(needs, other.noises) - _spread(needs, chosen.noises)) / len(needs.additive))
    return f"{chosen.law.value} noise: {other.law.value} noise would be {ratio:.2g} times as wide"


def _charge(option: _Option, asked: Request, filters: Filters) -> Cost:
    """What happens, in the records that the rules can read: adding up needs the pair that the noise was calibrated to."""
    if filters.unit == "rho":
        return option.cost
    keys = option.key_delta
    if asked.epsilon is not None:
        if filters.only is None:
            noise = Calibrated(option.noise, epsilon=asked.epsilon, delta=option.noise_delta)
            return composed([noise, *option.leaks])
        return Bounded(epsilon=asked.epsilon, delta=option.noise_delta + keys)
    if not asked.delta > keys:
        raise InvalidArgument(
            "paying in rho from an epsilon budget needs a delta; pay in epsilon, or open the session in rho"
        )
    if filters.only is None:
        rest = asked.delta - keys
        pair = Fraction(epsilon(option.noise, delta=rest).upper)
        return composed([Calibrated(option.noise, epsilon=pair, delta=rest), *option.leaks])
    return Bounded(epsilon=Fraction(epsilon(option.cost, delta=asked.delta).upper), delta=asked.delta)
