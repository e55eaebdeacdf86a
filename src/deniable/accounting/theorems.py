"""`epsilon` and `delta`: the tightest sound reading of any cost, and the theorem each way of reading stands on.

Closed forms first; then the privacy loss distribution; then Rényi divergences for costs that only promise those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol

from deniable.accounting import pld
from deniable.accounting.adjacency import neighbours_of
from deniable.accounting.bracket import Bracket, at_least, together, worst_of
from deniable.accounting.closed_forms import closed_form
from deniable.accounting.composition import Pairs
from deniable.accounting.conversion import delta_within, epsilon_within
from deniable.accounting.cost_terms import terms
from deniable.accounting.instance import instances, is_attained
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.pure import Pure
from deniable.accounting.measures.renyi import RenyiDivergences, RenyiLoss
from deniable.accounting.profiles import ClosedProfile, epsilon_of
from deniable.accounting.spend import expm1
from deniable.cost import Concentrated, Cost, Gaussian, Grouped, Parallel, Renyi
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import up
from deniable.exact.guards import Real, nonnegative, probability

_FINE, _BEYOND = 1e-9, "the losses are beyond what is enclosed"


class Reader(Protocol):
    """A theorem at work on one cost."""

    @property
    def theorem(self) -> str: ...

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        """epsilon at a `delta` strictly between 0 and 1."""
        ...

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        """delta at an `epsilon` of at least 0."""
        ...


@dataclass(frozen=True, slots=True)
class ClosedReader:
    """A profile with a formula, enclosed exactly."""

    profile: ClosedProfile

    @property
    def theorem(self) -> str:
        return self.profile.theorem

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        try:
            return epsilon_of(self.profile, delta, gap=min(gap, _FINE))
        except (InvalidArgument, ArithmeticError):  # of an exponential; knowing nothing is sound
            return Bracket(0.0, math.inf, _BEYOND)

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        try:
            found = self.profile.delta(epsilon)
        except (InvalidArgument, ArithmeticError):
            return Bracket(0.0, 1.0, _BEYOND)
        return Bracket.around(found.lower, min(Fraction(1), found.upper))


@dataclass(frozen=True, slots=True)
class NumericReader:
    """The privacy loss distribution, convolved with its errors bounded."""

    loss: pld.PrivacyLoss
    theorem: ClassVar[str] = "privacy loss distribution (Sommer, Meiser and Mohammadi 2019; Zhu, Dong and Wang 2022)"

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        return self.loss.epsilon(delta, gap=gap)

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        return self.loss.delta(epsilon, gap=gap)


@dataclass(frozen=True, slots=True)
class FallbackReader:
    """A reading with another behind it, asked only where the first is infinite or wider than it should be."""

    first: Reader
    second: Reader

    @property
    def theorem(self) -> str:
        return self.first.theorem

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        found = self.first.epsilon(delta, gap)
        return found if found.gap <= 10 * gap else together([found, self.second.epsilon(delta, gap)])

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        found = self.first.delta(epsilon, gap)
        return found if found.gap <= 10 * gap else together([found, self.second.delta(epsilon, gap)])


@dataclass(frozen=True, slots=True)
class GroupReader:
    """Several units at once, from the profile of one: delta(k e) <= delta(e) (1 + e^e + ... + e^((k-1) e))."""

    inner: Reader
    size: int
    theorem: ClassVar[str] = "group privacy of a profile (Vadhan 2017, lemma 2.2)"

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        """The best step found by halving; any step is sound."""
        low, high = Fraction(0), Fraction(1)
        while self.delta(self.size * high, gap).upper > delta:
            high *= 2
            if high > _FARTHEST:
                return Bracket(0.0, math.inf)
        while high - low > high * Fraction(gap):
            middle = Fraction(float((low + high) / 2))
            low, high = (low, middle) if self.delta(self.size * middle, gap).upper <= delta else (middle, high)
        return Bracket(0.0, up(self.size * high), self.delta(self.size * high, gap).note)

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        step = epsilon / self.size
        single = self.inner.delta(step, gap)
        factor = expm1(epsilon).upper / expm1(step).lower if step else Fraction(self.size)
        return Bracket(0.0, min(1.0, up(Fraction(single.upper) * factor)), single.note)


_FARTHEST = 2**11


@dataclass(frozen=True, slots=True)
class RenyiReader:
    """The best Rényi order: an upper end alone."""

    loss: RenyiLoss
    theorem: ClassVar[str] = "Rényi divergence at the best order (Canonne, Kamath and Steinke 2020, proposition 12)"

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        found = epsilon_within(self.loss, delta=delta)
        upper = math.inf if found is None else Bracket.around(found[0], found[0]).upper
        return Bracket(0.0, upper, self.loss.note)

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        upper = Bracket.around(Fraction(0), delta_within(self.loss, epsilon=epsilon)).upper
        return Bracket(0.0, upper, self.loss.note)


@dataclass(frozen=True, slots=True)
class PureReader:
    """A cost that is pure: epsilon at every delta."""

    cost: Cost
    loss: Fraction
    theorem: ClassVar[str] = Pure.theorem

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        return Bracket.around(Fraction(0), self.loss)

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        return Bracket(0.0, 0.0) if epsilon >= self.loss else Bracket(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class WorstReader:
    """Disjoint parts: the worst of them."""

    parts: tuple[Reader, ...]

    @property
    def theorem(self) -> str:
        return "disjoint parts: the worst of " + "; ".join(dict.fromkeys(each.theorem for each in self.parts))

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        return worst_of([each.epsilon(delta, gap) for each in self.parts])

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        return worst_of([each.delta(epsilon, gap) for each in self.parts])


@dataclass(frozen=True, slots=True)
class TightestReader:
    """Several sound readings of one cost: the least upper end, the greatest lower one."""

    parts: tuple[Reader, ...]

    @property
    def theorem(self) -> str:
        return " or ".join(each.theorem for each in self.parts)

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        return together([each.epsilon(delta, gap) for each in self.parts])

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        return together([each.delta(epsilon, gap) for each in self.parts])


@dataclass(frozen=True, slots=True)
class WitnessedReader:
    """An upper end by theorems, a lower end by mechanisms that really have the cost."""

    reader: Reader
    witnesses: tuple[Reader, ...]

    @property
    def theorem(self) -> str:
        return self.reader.theorem

    def epsilon(self, delta: Fraction, gap: float) -> Bracket:
        return at_least([each.epsilon(delta, gap) for each in self.witnesses], self.reader.epsilon(delta, gap))

    def delta(self, epsilon: Fraction, gap: float) -> Bracket:
        return at_least([each.delta(epsilon, gap) for each in self.witnesses], self.reader.delta(epsilon, gap))


@lru_cache(maxsize=256)
def tightest(cost: Cost) -> Reader:
    """The reading that `epsilon` and `delta` use; `Unaccountable` if there is none."""
    found = _least(cost)
    return found if is_attained(cost) else WitnessedReader(found, tuple(map(tightest, instances(cost))))


def _least(cost: Cost) -> Reader:
    profile = closed_form(cost)
    if profile is not None:
        return ClosedReader(profile)
    only = terms(cost).only
    if isinstance(only, Parallel) and not terms(cost).leaks:
        return WorstReader(tuple(tightest(each) for each in only.costs))
    if isinstance(only, Grouped) and not terms(cost).leaks and numeric(cost) is None:
        return _group(cost, only)
    found = tuple(_general(cost))
    if not found:
        raise Unaccountable(f"no theorem reads {type(cost).__name__} as (epsilon, delta): {_reason(cost)}")
    return found[0] if len(found) == 1 else TightestReader(found)


def _group(cost: Cost, group: Grouped) -> Reader:
    """From the profile of one unit; a promise of divergences is also grouped as such."""
    whole = GroupReader(tightest(group.cost), group.size)
    loss = renyi(cost) if isinstance(group.cost, Concentrated | Renyi) else None
    return whole if loss is None else TightestReader((whole, RenyiReader(loss)))


def _general(cost: Cost) -> Iterator[Reader]:
    releases = [each for each, _ in terms(cost).releases]
    only_promises = all(isinstance(each, Concentrated | Renyi | Gaussian) for each in releases)
    distribution = None if only_promises else numeric(cost)
    loss, pure = renyi(cost), pure_loss(cost)
    others: list[Reader] = [] if loss is None else [RenyiReader(loss)]
    if distribution is None:
        yield from others
        if pure is not None:
            yield PureReader(cost, pure)
    elif others and not is_attained(cost):
        yield NumericReader(distribution)
        yield from others
    else:
        yield FallbackReader(NumericReader(distribution), others[0]) if others else NumericReader(distribution)


@lru_cache(maxsize=64)
def numeric(cost: Cost) -> pld.PrivacyLoss | None:
    """The privacy loss distribution of a cost, if every part of it has a dominating pair."""
    try:
        return pld.PrivacyLoss(cost)
    except Unaccountable:
        return None


def renyi(cost: Cost) -> RenyiLoss | None:
    """The cost as a Rényi curve, if it has one."""
    try:
        return RenyiPrivacy().read(cost)
    except Unaccountable:
        return None


def pure_loss(cost: Cost) -> Fraction | None:
    """The cost's pure epsilon, if it has one."""
    try:
        return Pure().read(cost)
    except Unaccountable:
        return None


def _reason(cost: Cost) -> str:
    try:
        RenyiPrivacy().read(cost)
    except Unaccountable as refusal:
        return str(refusal)
    return "no measure does"


GAP = 1e-4
"""How far apart the ends of a bracket may lie, relative to the upper one, unless asked otherwise."""


def epsilon(cost: Cost, *, delta: Real, gap: float = GAP) -> Bracket:
    """The smallest epsilon such that the cost is (epsilon, delta)-private.

    Guarantee: the upper end is sound for losses fixed beforehand; the lower end is not above the truth of the worst mechanism
    with this cost. With delta = 0 it is the pure loss, and a cost without one is refused.
    """
    chance = probability(delta=delta)
    neighbours_of(cost)
    return _epsilon(cost, chance, gap)


@lru_cache(maxsize=1024)
def _epsilon(cost: Cost, chance: Fraction, gap: float) -> Bracket:
    """What was read once is kept: a price is read again by the release, and by whoever asks the same of other data."""
    if chance == 1:
        return Bracket(0.0, 0.0)
    if chance == 0:
        most = Pure().read(cost)
        return Bracket.around(most, most)
    found, pairs = tightest(cost).epsilon(chance, gap), _pairs(cost)
    upper = min(found.upper, up(pairs.plain)) if pairs is not None and pairs.leaked <= chance else found.upper
    return Bracket(max(0.0, min(found.lower, upper)), max(0.0, upper), found.note)


def delta(cost: Cost, *, epsilon: Real, gap: float = GAP) -> Bracket:
    """The smallest delta such that the cost is (epsilon, delta)-private.

    Guarantee: the upper end is sound for losses fixed beforehand; the lower end is not above the truth of the worst mechanism
    with this cost.
    """
    loss = nonnegative(epsilon=epsilon)
    neighbours_of(cost)
    return _delta(cost, loss, gap)


@lru_cache(maxsize=1024)
def _delta(cost: Cost, loss: Fraction, gap: float) -> Bracket:
    pairs = _pairs(cost)
    summed = pairs is not None and pairs.plain <= loss
    if pairs is not None and summed and pairs.leaked == 0:
        return Bracket(0.0, 0.0)
    found = tightest(cost).delta(loss, gap)
    upper = min(found.upper, up(pairs.leaked)) if pairs is not None and summed else found.upper
    return Bracket(min(found.lower, upper), upper, found.note)


def _pairs(cost: Cost) -> Pairs | None:
    """The cost as pairs that add, where each release has one: never tight, but to the point where all is leaked."""
    try:
        return Pairs.of(cost)
    except Unaccountable:
        return None


def pure(cost: Cost) -> Fraction:
    """The pure epsilon of a cost, exact and rounded up; `Unaccountable` if it has none."""
    return Pure().read(cost)


def rho(cost: Cost) -> Fraction:
    """The zero-concentrated rho of a cost, exact and rounded up; `Unaccountable` if it has none, or only with a delta."""
    read = ZeroConcentrated().read(cost)
    if read.delta:
        raise Unaccountable(
            f"the cost has rho only up to a delta of {up(read.delta, significant=3)}; "
            "read both with accounting.ZeroConcentrated().read(cost)"
        )
    return read.loss


@dataclass(frozen=True, slots=True)
class RenyiPrivacy(RenyiDivergences):
    """Reads a cost as a curve over the orders (Mironov 2017); a candidate's own delta is read like that of any other cost."""

    def delta_of(self, cost: Cost) -> Callable[[Fraction], Fraction]:
        return _DeltaOf(cost)


@dataclass(frozen=True, slots=True)
class _DeltaOf:
    """The delta of a cost at any epsilon, rounded up."""

    cost: Cost

    def __call__(self, epsilon: Fraction) -> Fraction:
        return Fraction(delta(self.cost, epsilon=epsilon).upper)
