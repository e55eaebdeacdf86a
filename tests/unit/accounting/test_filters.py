"""Rules add exactly, read every simple cost soundly, and survive being written down."""

import json
import math
from fractions import Fraction

import mpmath
import pytest

from deniable.accounting.budgets import budget
from deniable.accounting.conversion import divergence_within
from deniable.accounting.filters import Rule, RuleKind, Spend, rule_from_record
from deniable.accounting.gaussian_profiles import GaussianProfile
from deniable.accounting.measures.measure import Adaptivity
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import (
    FREE,
    Bounded,
    Concentrated,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    Renyi,
    Repeated,
    Shuffled,
    TruncatedLaplace,
    composed,
)
from deniable.errors import InvalidArgument, Unaccountable

pure = Rule(RuleKind.PURE, Spend(Fraction(1)))
basic = Rule(RuleKind.BASIC, Spend(Fraction(1), Fraction(1, 10**6)))
concentrated = Rule(RuleKind.CONCENTRATED, Spend(Fraction(1), Fraction(1, 10**6)))
gaussian = Rule(RuleKind.GAUSSIAN, Spend(Fraction(1), Fraction(1, 10**6)))
renyi = Rule(RuleKind.RENYI, Spend(Fraction(1), Fraction(1, 10**6)), order=Fraction(17, 2))


def test_ten_tenths_fill_a_budget_of_one_exactly_and_an_eleventh_does_not_fit():
    spent = Spend(Fraction(0))
    for _ in range(10):
        spent += pure.read(Laplace(scale=10))
        assert pure.fits(spent)
    assert spent == pure.limit
    assert not pure.fits(spent + pure.read(Bounded(epsilon=1e-17)))


def test_a_huge_number_of_tiny_charges_is_exact():
    tiny = pure.read(Bounded(epsilon=1e-17))
    assert pure.fits(tiny.times(10**17))
    assert not pure.fits(tiny.times(10**17 + 1))


def test_sums_of_awkward_fractions_stay_small():
    spent = Spend(Fraction(0))
    for prime in (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093):
        spent += pure.read(Laplace(scale=Fraction(prime, 7919)))
    assert spent.loss.denominator < 2**256


@pytest.mark.parametrize(
    ("cost", "epsilon"),
    [
        (Laplace(scale=2, sensitivity=3), 1.5),
        (DiscreteLaplace(scale=4, sensitivity=2), 0.5),
        (Exponential(eta=0.7), 0.7),
        (RandomizedResponse(truth=0.75), math.log(3)),
        (RandomizedResponse(truth=Fraction(1, 2), categories=5), math.log(4)),
        (RandomizedResponse(truth=Fraction(1, 5), categories=5), 0),
        (Bounded(epsilon=0.3), 0.3),
        (Shuffled(epsilon=2, reports=100), 2),
        (Bounded(epsilon=1).sampled(rate=0.01), math.log1p(0.01 * math.expm1(1))),
        (Repeated(Laplace(scale=10), 7), 0.7),
        (Laplace(scale=10) + Laplace(scale=5), 0.3),
        (Parallel((Laplace(scale=10), Laplace(scale=5))), 0.2),
        (Laplace(scale=10).group(3), 0.3),
        (Gaussian(scale=1, sensitivity=0), 0),
        (FREE, 0),
    ],
)
def test_pure_readings(cost, epsilon):
    read = pure.read(cost)
    assert float(read.loss) == pytest.approx(epsilon, rel=1e-15)
    assert read.delta == 0
    assert basic.read(cost) == read


@pytest.mark.parametrize(
    "cost",
    [
        Gaussian(scale=1, sensitivity=1),
        DiscreteGaussian(scale=1, sensitivity=1),
        TruncatedLaplace(scale=1, radius=5),
        Bounded(epsilon=1, delta=1e-9),
        Concentrated(rho=1),
        Renyi([(2, 1)]),
    ],
)
def test_what_is_not_pure_is_refused_with_a_way_out(cost):
    with pytest.raises(Unaccountable, match="epsilon\\(cost, delta="):
        pure.read(cost)


@pytest.mark.parametrize("radius", [1, 2, 5, 20])
@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_the_truncated_delta_is_the_mass_the_neighbour_cannot_give(radius, steps):
    scale = Fraction(3, 2)
    weight = [mpmath.exp(-abs(k) / mpmath.mpf(1.5)) for k in range(-radius, radius + 1)]
    alone = sum(w for k, w in zip(range(-radius, radius + 1), weight, strict=True) if k - steps < -radius)
    read = basic.read(TruncatedLaplace(scale=scale, radius=radius, sensitivity=steps))
    assert float(read.delta) == pytest.approx(float(alone / sum(weight)), rel=1e-12)
    assert read.loss == steps / scale


def test_sampling_amplifies_both_parts():
    read = basic.read(Bounded(epsilon=1, delta=1e-6).sampled(rate=0.1))
    assert read.delta == Fraction(1, 10**7)
    assert float(read.loss) == pytest.approx(math.log1p(0.1 * math.expm1(1)))


def test_group_privacy_of_a_pair():
    read = basic.read(Bounded(epsilon=0.5, delta=1e-9).group(3))
    assert read.loss == Fraction(3, 2)
    assert float(read.delta) == pytest.approx(1e-9 * (1 + math.exp(0.5) + math.exp(1)))
    assert basic.read(Bounded(epsilon=0, delta=1e-9).group(3)).delta == Fraction(3, 10**9)


@pytest.mark.parametrize(
    ("cost", "rho"),
    [
        (Laplace(scale=1), math.exp(-1)),
        (Bounded(epsilon=2), 2 * math.tanh(1)),
        (Gaussian(scale=2, sensitivity=1), 0.125),
        (DiscreteGaussian(scale=2, sensitivity=1), 0.125),
        (Concentrated(rho=0.3), 0.3),
        (Exponential(eta=1), 1 / math.expm1(1) - 1 + math.log(math.expm1(1))),
        (DiscreteLaplace(scale=1), math.tanh(0.5)),
        (RandomizedResponse(truth=0.75), 0.5 * math.log(3)),
        (Gaussian(scale=2, sensitivity=1).group(3), 9 * 0.125),
        (Gaussian(scale=1, sensitivity=1).repeated(4), 2),
    ],
)
def test_concentrated_readings(cost, rho):
    assert float(concentrated.read(cost).loss) == pytest.approx(rho, rel=1e-13)


def test_a_threshold_costs_delta_alone_under_every_rule_that_has_one():
    threshold = Bounded(epsilon=0, delta=1e-9)
    for rule in (basic, concentrated, gaussian, renyi):
        assert rule.read(threshold) == Spend(Fraction(0), Fraction(1, 10**9))


@pytest.mark.parametrize("rule", [pure, basic, concentrated, gaussian, renyi], ids=lambda rule: rule.name)
def test_a_rule_survives_being_written_down(rule):
    assert rule_from_record(json.loads(json.dumps(rule.to_record()))) == rule
    assert rule.adaptivity is Adaptivity.LOSSES


def test_an_unknown_rule_is_refused():
    with pytest.raises(InvalidArgument, match="a rule is one of"):
        rule_from_record({"rule": "psychic"})


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1, 1e-6), (5, 1e-5), (20, 1e-10), (0.01, 0.1)])
def test_a_concentrated_limit_keeps_epsilon_and_delta_and_wastes_little(epsilon, delta):
    limit = budget(epsilon=epsilon, delta=delta).rule().limit
    rho, reserve = mpmath.mpf(limit.loss.numerator) / limit.loss.denominator, float(limit.delta)
    assert best_conversion(rho, epsilon) * (1 - reserve) + reserve <= delta * (1 + 1e-12)
    assert best_conversion(rho * (1 + 1e-6), epsilon) * (1 - reserve) + reserve > delta


def best_conversion(rho, epsilon):
    """The least delta of the conversion of Canonne, Kamath and Steinke, by ternary search over the order."""

    def converted(t):
        order = 1 + mpmath.exp(t)
        log = (order - 1) * (order * rho - epsilon) + (order - 1) * mpmath.log(1 - 1 / order) - mpmath.log(order)
        return mpmath.exp(log)

    low, high = mpmath.mpf(-10), mpmath.mpf(30)
    for _ in range(150):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if converted(left) < converted(right) else (left, high)
    return converted(low)


def test_the_best_rule_depends_on_the_workload():
    promise = budget(epsilon=1, delta=1e-6)
    few = promise.rule([Laplace(scale=4)])
    many = promise.rule([Laplace(scale=200)] * 100)
    assert few.kind is RuleKind.BASIC
    assert many.kind in (RuleKind.RENYI, RuleKind.CONCENTRATED)
    assert many.limit.delta == 0
    assert not few.fits(few.read(Laplace(scale=200).repeated(500)))
    assert many.fits(many.read(Laplace(scale=200).repeated(500)))
    assert many.reason


def test_gaussian_releases_get_the_exact_curve():
    promise = budget(epsilon=1, delta=1e-6)
    rule = promise.rule([Gaussian(scale=50, sensitivity=1)] * 100)
    assert rule.kind is RuleKind.GAUSSIAN
    most = rule.limit.loss
    assert GaussianProfile(most * (1 - Fraction(1, 10**12))).delta(Fraction(1)).upper <= Fraction(1, 10**6)
    assert GaussianProfile(most * (1 + Fraction(1, 10**9))).delta(Fraction(1)).lower > Fraction(1, 10**6)
    assert most > 2 * promise.rule().limit.loss


def test_sampled_releases_get_one_order_fixed_beforehand():
    promise = budget(epsilon=1, delta=1e-6)
    step = Gaussian(scale=1, sensitivity=1).sampled(rate=0.001)
    rule = promise.rule([step] * 100)
    assert rule.kind is RuleKind.RENYI
    assert rule.limit.loss == divergence_within(rule.order, epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert rule.fits(rule.read(step.repeated(1000)))
    assert rule.read(step.repeated(10)).loss >= 10 * RenyiPrivacy().read(step).at(rule.order)
    with pytest.raises(Unaccountable, match="no bound at order"):
        rule.read(Renyi([(2, 0.1)]))


def test_thresholds_in_the_workload_get_their_share_of_delta():
    work = [DiscreteLaplace(scale=50)] * 30 + [Bounded(epsilon=0, delta=1e-8)] * 30
    rule = budget(epsilon=1, delta=1e-6).rule(work)
    assert rule.limit.delta >= Fraction(3, 10**7)
    assert rule.fits(rule.read(composed(work)))


def test_a_budget_in_rho_or_without_delta_has_one_rule():
    assert budget(rho=0.5, delta=1e-9).rule() == Rule(RuleKind.CONCENTRATED, Spend(Fraction(1, 2), Fraction(1, 10**9)))
    assert budget(epsilon=0.5).rule() == Rule(RuleKind.PURE, Spend(Fraction(1, 2)))


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": "1"},
        {"rho": -0.1},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-9},
        {"epsilon": True},
    ],
)
def test_senseless_budgets_are_refused(bad):
    with pytest.raises(InvalidArgument):
        budget(**bad)


def test_a_budget_says_itself():
    assert str(budget(epsilon=1, delta=1e-6)) == "epsilon = 1, delta = 1e-6"
    assert str(budget(rho=0.5)) == "rho = 0.5"
