"""What a query costs and how much noise buys that: decided from public facts alone, before any data is touched.

The budget of a query is shared evenly by the numbers it must measure (no other split has a smaller product of errors), unless the
analyst fixes the shares; each is given Laplace or Gaussian noise, whichever throws less in total. A noisy number is drawn once
and shared by everything that uses it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias, assert_never

from deniable.accounting import Filters, epsilon
from deniable.accounting.conversion import rho_within
from deniable.cost import Bounded, Calibrated, Cost, Exponential, composed
from deniable.errors import InvalidArgument, QueryRefused
from deniable.exact import gaussian_mu, sqrt
from deniable.exact.guards import Real, positive, probability
from deniable.kernels import ColumnNoise, DiscreteLaplaceNoise, HalvesNoise, Law, Noise, Staircase, noise_of
from deniable.kernels.key_threshold import key_threshold
from deniable.kernels.staircase import stairs_crossed
from deniable.query.columns import SliceColumn
from deniable.query.measurements import Additive, FoundSelection, HalvedMean, Measurements, Selection

_BETA = Fraction(1, 20)
_LEAST_RHO = Fraction(1, 2**200)
"""Less than any noise that can be drawn reads as: a price that asks for less is refused by its scale."""
_WIDEST = Fraction(2**49)
"""Vectors of noise are drawn up to a scale of 2**50 steps; a scale is rounded up a little after this check."""

GaussianLaw: TypeAlias = Literal[Law.GAUSSIAN, Law.DISCRETE_GAUSSIAN]


@dataclass(frozen=True, slots=True)
class Request:
    """What the analyst is willing to pay: `epsilon` or `rho`, with the `delta` granted to this query, and laws if fixed.

    `law` is that of everything, `laws` are those of single outputs, by name.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    law: Law | None = None
    laws: tuple[tuple[str, Law], ...] = ()

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
            self.laws,
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
    """Observed keys are shown when their noisy number of units reaches `at`; `delta` covers what a rare key could leak.

    Of a choice among found values, `at` is the margin of the stop.
    """

    column: SliceColumn
    at: int
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Allocation:
    """Noise, choices and threshold for one query, and what they cost together; `law` is that of columns nobody chose one for.

    `cost` is what happens, as records; `charge` is what the session's rule is asked to spend.
    """

    noises: Mapping[SliceColumn, ColumnNoise]
    etas: Mapping[SliceColumn, Fraction]
    thresholds: tuple[Threshold, ...]
    law: Law
    cost: Cost
    charge: Cost
    reason: str
    margins: tuple[Threshold, ...] = ()
    means: tuple[HalvedMean, ...] = ()
    """The totals and counts that are measured in halves."""
    betas: Mapping[str, Fraction] = field(default_factory=dict)
    """How often the interval around a private choice may fail, by the choice's name."""

    def step(self, key: SliceColumn, own: Fraction) -> Fraction:
        """What one step of a noisy column stands for; `own` is that of its exact integers."""
        noise = self.noises[key]
        return noise.step if isinstance(noise, HalvesNoise) else own


def allocate(wanted: Measurements, asked: Request, filters: Filters) -> Allocation:
    """The best way to answer within what was asked, priced under the session's rules.

    Guarantee: `charge` covers `cost`; every reading is rounded up.
    """
    if (wanted.units or wanted.found) and not asked.delta > 0:
        raise QueryRefused(
            "keys-need-delta",
            "these group keys or values are taken from the data, so rare ones must be hidden, which needs a delta",
            rewrite="declare the key's categories in the codebook, or give the budget a delta, such as 1e-7",
        )
    candidates = {law: _all_noises(wanted, asked, law) for law in _laws(wanted, asked)}
    law = min(candidates, key=lambda law: _spread(wanted, candidates[law]))
    best = _answer(wanted, asked, law, candidates[law])
    reason = _reason(candidates, law, wanted, asked)
    charge = _charge(best, asked, filters)
    return Allocation(
        best.noises, best.etas, best.thresholds, best.law, best.cost, charge, reason, best.margins, best.means
    )


@dataclass(frozen=True, slots=True)
class _Option:
    law: Law
    noises: Mapping[SliceColumn, ColumnNoise]
    etas: Mapping[SliceColumn, Fraction]
    thresholds: tuple[Threshold, ...]
    noise: Cost
    noise_delta: Fraction
    margins: tuple[Threshold, ...]
    means: tuple[HalvedMean, ...]

    @property
    def leaks(self) -> list[Cost]:
        """What each threshold and each margin may leak."""
        return [Bounded(epsilon=0, delta=each.delta) for each in (*self.thresholds, *self.margins)]

    @property
    def cost(self) -> Cost:
        """All that happens."""
        return composed([self.noise, *self.leaks])

    @property
    def key_delta(self) -> Fraction:
        """What all thresholds and margins together may leak."""
        return sum((each.delta for each in (*self.thresholds, *self.margins)), Fraction(0))


def _laws(wanted: Measurements, asked: Request) -> Sequence[Law]:
    fixed = {part.law for part in wanted.additive if part.law is not None} | ({asked.law} if asked.law else set())
    if asked.rho is None and not asked.delta > 0 and not all(law.pure for law in fixed):
        raise InvalidArgument("Gaussian noise at a given epsilon needs a delta; open the session with one")
    if asked.law is not None:
        return (asked.law,)
    if asked.rho is not None:
        return (Law.GAUSSIAN,)
    free = any(part.law is None for part in wanted.additive)
    return (Law.LAPLACE, Law.GAUSSIAN) if asked.delta > 0 and free else (Law.LAPLACE,)


def _delta_shares(wanted: Measurements, asked: Request, law: Law) -> tuple[int, int]:
    """How many laws need a part of delta, and in how many even parts it is cut: one more where keys or values are hidden."""
    needy = {part.law or law for part in wanted.additive if not (part.law or law).pure}
    count = len(needy) if asked.epsilon is not None else 0
    return count, max(1, count + bool(wanted.units or wanted.found))


def _all_noises(wanted: Measurements, asked: Request, law: Law) -> dict[SliceColumn, ColumnNoise]:
    """The noise of every column, of the law chosen for it or of `law`; columns of one law are calibrated together.

    Each law has its columns' part of epsilon, and of the delta an even share with the other laws that need one and the threshold.
    """
    _, shares = _delta_shares(wanted, asked, law)
    found: dict[SliceColumn, Noise] = {}
    for each in Law:
        parts = tuple(part for part in wanted.additive if (part.law or law) is each)
        found |= _noises(parts, wanted.weight, asked, each, asked.delta / shares) if parts else {}
    apart: dict[SliceColumn, ColumnNoise] = {part.key: found[part.key] for part in wanted.additive}
    return apart | _halved(wanted, asked, found)


def _halved(wanted: Measurements, asked: Request, apart: Mapping[SliceColumn, Noise]) -> dict[SliceColumn, ColumnNoise]:
    """The noises of means that are measured in halves: where both columns would have Laplace noise, and gain."""
    steps = {part.key: part.sensitivity.step for part in wanted.additive}
    found: dict[SliceColumn, ColumnNoise] = {}
    for mean in wanted.means:
        laws = {apart[key].law for key in (mean.total, mean.count)}
        scale = mean.sensitivity.l1 / _epsilon(mean, wanted.weight, asked)
        if laws == {Law.LAPLACE} and 0 < scale <= _WIDEST:
            half = DiscreteLaplaceNoise(coarse(scale))
            total, count = (apart[key].variance * steps[key] ** 2 for key in (mean.total, mean.count))
            found |= mean.noises(half) if mean.gains(half, total, count) else {}
    return found


def _answer(wanted: Measurements, asked: Request, law: Law, noises: Mapping[SliceColumn, ColumnNoise]) -> _Option:
    """These noises with the choices, thresholds and margins that go with them."""
    needy, shares = _delta_shares(wanted, asked, law)
    etas = {part.key: _eta(part, asked, wanted.weight) for part in wanted.choices}
    key_delta = asked.delta / shares / max(1, len(wanted.units) + len(wanted.found))
    thresholds = tuple(_threshold(wanted, units, noises[units], key_delta) for units in wanted.units)
    means = tuple(mean for mean in wanted.means if isinstance(noises[mean.total], HalvesNoise))
    costs = list(_costs(wanted, means, noises))
    costs += [Exponential(eta=etas[part.key]).repeated(part.groups * part.times) for part in wanted.selections]
    costs += [Exponential(eta=etas[part.key]).repeated(part.k) for part in wanted.found]
    margins = tuple(Threshold(each.key, each.margin(etas[each.key], key_delta), key_delta) for each in wanted.found)
    return _Option(law, noises, etas, thresholds, composed(costs), needy * asked.delta / shares, margins, means)


def _costs(
    wanted: Measurements, means: Sequence[HalvedMean], noises: Mapping[SliceColumn, ColumnNoise]
) -> Iterator[Cost]:
    """One record for each column with noise of its own, and one for both halves of a mean."""
    for part in wanted.additive:
        noise = noises[part.key]
        if part.sensitivity.l1 and not isinstance(noise, HalvesNoise):
            yield noise.cost(part.sensitivity)
    for mean in means:
        noise = noises[mean.total]
        assert isinstance(noise, HalvesNoise)
        yield noise.half.cost(mean.sensitivity)


def _noises(
    parts: Sequence[Additive], weight: Fraction, asked: Request, law: Law, delta: Fraction
) -> dict[SliceColumn, Noise]:
    """The noises of the columns of one law; `weight` is that of all numbers that share the budget."""
    match law:
        case Law.LAPLACE:
            return {part.key: _laplace(part, _epsilon(part, weight, asked)) for part in parts}
        case Law.STAIRCASE:
            return {part.key: _staircase(part, _epsilon(part, weight, asked)) for part in parts}
        case Law.GAUSSIAN | Law.DISCRETE_GAUSSIAN:
            square = _unit_square(sum((part.weight for part in parts), Fraction(0)), weight, asked, law, delta)
        case _:
            assert_never(law)
    return {
        part.key: noise_of(law, _positive_scale(_root(part.sensitivity.l2_squared * square / part.weight)))
        for part in parts
    }


def _unit_square(measured: Fraction, weight: Fraction, asked: Request, law: GaussianLaw, delta: Fraction) -> Fraction:
    """The squared scale, rounded up, for a column of weight and sensitivity one; `measured` is the weight of this law's columns.

    Columns of discrete Gaussian noise are no Gaussian mechanism together; what is proved for them is their zCDP reading.
    """
    if asked.rho is not None:
        return weight / (2 * asked.rho)
    assert asked.epsilon is not None
    epsilon = asked.epsilon * measured / weight
    match law:
        case Law.GAUSSIAN:
            return unit_scale(epsilon, delta) ** 2 * measured
        case Law.DISCRETE_GAUSSIAN:
            rho = max(rho_within(epsilon=epsilon, delta=delta), _LEAST_RHO)
            return measured / (2 * rho)
        case _:
            assert_never(law)


def _epsilon(part: Additive | HalvedMean, weight: Fraction, asked: Request) -> Fraction:
    """A column's part of a pure budget, or an epsilon whose reading as rho is its part of that."""
    if asked.rho is not None:
        return _pure_for(asked.rho * part.weight / weight)
    assert asked.epsilon is not None
    return asked.epsilon * part.weight / weight


def _laplace(part: Additive, epsilon: Fraction) -> Noise:
    return DiscreteLaplaceNoise(_positive_scale(Fraction(part.sensitivity.l1) / epsilon))


def _staircase(part: Additive, epsilon: Fraction) -> Noise:
    """Stairs as wide as one unit moves a number, so that each number crosses one."""
    width = max(part.sensitivity.linf, 1)
    _positive_scale(Fraction(width))
    scale = _positive_scale(width * stairs_crossed(part.sensitivity, width) / epsilon)
    return Staircase.best(width=width, rate=width / scale)


def _positive_scale(scale: Fraction) -> Fraction:
    """A column that no unit can move needs no noise; the smallest scale stands for that. What no sampler draws is refused now."""
    if scale > _WIDEST:
        raise InvalidArgument(
            f"this price needs noise of {_digits(scale)} grid steps, more than can be drawn; pay more, declare tighter bounds, "
            "or write them: clamp(x, lower, upper)"
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


def _eta(part: Selection | FoundSelection, asked: Request, whole: Fraction) -> Fraction:
    groups = part.groups if isinstance(part, Selection) else 1
    share = part.weight / whole / (groups * part.times)
    if asked.epsilon is not None:
        return asked.epsilon * share
    assert asked.rho is not None
    return sqrt(8 * asked.rho * share, bits=64).lower


@lru_cache(maxsize=1024)
def unit_scale(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least Gaussian scale (rounded up) that is (epsilon, delta)-private at sensitivity one."""
    return 1 / gaussian_mu(epsilon, delta, bits=40).lower


def _threshold(wanted: Measurements, key: SliceColumn, noise: ColumnNoise, delta: Fraction) -> Threshold:
    assert not isinstance(noise, HalvesNoise), "nothing is averaged over units"
    units = next(part for part in wanted.additive if part.key == key)
    return Threshold(key, key_threshold(delta, noise=noise, apart=units.sensitivity), delta)


def _spread(wanted: Measurements, noises: Mapping[SliceColumn, ColumnNoise]) -> float:
    return math.fsum(math.log(1 + _steps_off(part, noises[part.key])) for part in wanted.additive)


def _steps_off(part: Additive, noise: ColumnNoise) -> float:
    """A column's error in its own steps."""
    off = noise.error(_BETA)
    return float(off * noise.step / part.sensitivity.step) if isinstance(noise, HalvesNoise) else off


def _reason(
    candidates: Mapping[Law, Mapping[SliceColumn, ColumnNoise]], law: Law, wanted: Measurements, asked: Request
) -> str:
    if not wanted.additive:
        return "private choices only: the exponential mechanism"
    if any(part.law is not None for part in wanted.additive):
        laws = dict.fromkeys(candidates[law][part.key].law.value for part in wanted.additive)
        return f"{' and '.join(laws)} noise, as asked"
    if len(candidates) == 1:
        return f"{law.value} noise" + (", as asked" if asked.law else "")
    other = next(each for each in candidates if each is not law)
    ratio = math.exp((_spread(wanted, candidates[other]) - _spread(wanted, candidates[law])) / len(wanted.additive))
    times = f"{ratio:.2g}"
    compared = f"those of {other.value} noise are {'about' if times == '1' else f'{times} times'} as large"
    return f"{law.value} noise, whose errors are smaller here: {compared}"


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
