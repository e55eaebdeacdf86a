"""Every conversion at a mechanism that attains it: never below the truth, without any tolerance, and hardly above it.

A halved constant, a delta that is dropped, the least of several parts, one direction alone or mass at infinity left out all show
here, because the truth is an exact sum over the outcomes of a mechanism for which the theorem loses nothing.
"""

import math
from fractions import Fraction
from itertools import product

import pytest

from deniable.accounting import Approximate, ZeroConcentrated, calibrate, delta, epsilon, pure
from deniable.accounting.measures.bounded_range import BoundedRange
from deniable.accounting.measures.gaussian_privacy import GaussianPrivacy
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import (
    Allocated,
    Bounded,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mixed,
    Neighbours,
    Parallel,
    RandomizedResponse,
    Renyi,
    Sampled,
    Sampling,
    TruncatedLaplace,
)
from deniable.exact import exp, ln
from tests.finite import hockey_stick, max_divergence, renyi_divergence

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
REPLACE, FIXED = Neighbours.REPLACE, Sampling.WITHOUT_REPLACEMENT
AT = [Fraction(0), Fraction(1, 5), Fraction(1), Fraction(2), Fraction(7, 2)]


def law(weights):
    whole = sum(weights.values())
    return {outcome: Fraction(weight) / whole for outcome, weight in weights.items()}


def response(truth, categories, own):
    other = (1 - truth) / (categories - 1)
    return {k: truth if k == own else other for k in range(categories)}


def mixed(q, one, two):
    return {k: q * one.get(k, 0) + (1 - q) * two.get(k, 0) for k in one.keys() | two.keys()}


def product_law(one, two):
    return {(a, b): p * q for (a, p), (b, q) in product(one.items(), two.items())}


def divergence(p, q):
    """Kullback and Leibler's, enclosed."""
    total = Fraction(0), Fraction(0)
    for outcome, chance in p.items():
        term = chance * ln(chance / q[outcome], 96)
        total = total[0] + term.lower, total[1] + term.upper
    return total


def worst(p, q, at):
    return max((hockey_stick(*pair, epsilon=at) for pair in ((p, q), (q, p))), key=lambda found: found.lower)


def no_less(found, truth, above=Fraction(1, 10**6)):
    """At least the truth, by no tolerance at all, and at most `above` more of it."""
    assert truth.lower <= Fraction(found) if hasattr(truth, "lower") else truth <= Fraction(found)
    upper = truth.upper if hasattr(truth, "upper") else truth
    assert Fraction(found) <= upper * (1 + above) + Fraction(1, 10**12)


# Constants ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(3), Fraction(50)])
def test_pure_to_concentrated_is_the_mean_loss_of_randomised_response(odds):
    truth = odds / (odds + 1)
    low, high = divergence(response(truth, 2, 0), response(truth, 2, 1))
    for cost in (RandomizedResponse(truth=truth), Bounded(epsilon=ln(odds, 120).upper)):
        found = ZeroConcentrated().read(cost).loss
        assert low <= found <= high * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("categories", [3, 4, 6])
def test_many_answers_to_concentrated_is_their_mean_loss(categories):
    truth = Fraction(7, 10)
    low, high = divergence(response(truth, categories, 0), response(truth, categories, 1))
    assert low <= ZeroConcentrated().read(RandomizedResponse(truth=truth, categories=categories)).loss <= high * 2


@pytest.mark.parametrize("eta", [Fraction(1, 2), Fraction(2), Fraction(6)])
def test_bounded_range_to_concentrated_is_the_mean_loss_of_its_worst_two_points(eta):
    best = 0.0
    for k in range(1, 2000):
        t = float(eta) * k / 2000
        top = -math.expm1(t - float(eta)) / -math.expm1(-float(eta))
        best = max(best, t - float(eta) * (1 - top))
    found = float(ZeroConcentrated().read(Exponential(eta=eta)).loss)
    assert best <= found <= best * (1 + 1e-5)


@pytest.mark.parametrize(("scale", "steps"), [(1, 1), (2, 3), (5, 2)])
def test_discrete_laplace_to_concentrated_is_its_mean_loss(scale, steps):
    weights = {k: math.exp(-abs(k) / scale) for k in range(-60 * scale, 60 * scale + 1)}
    whole = math.fsum(weights.values())
    mean = math.fsum(w / whole * (abs(k - steps) - abs(k)) / scale for k, w in weights.items())
    found = float(ZeroConcentrated().read(DiscreteLaplace(scale=scale, sensitivity=steps)).loss)
    assert mean * (1 - 1e-13) <= found <= mean * (1 + 1e-9)


@pytest.mark.parametrize("loss", [Fraction(1, 4), Fraction(1), Fraction(5)])
def test_laplace_to_concentrated_is_its_mean_loss(loss):
    """The loss is epsilon below zero, -epsilon beyond the shift and falls by two between; between, sums from both sides."""
    reach, cells = float(loss), 40_000
    width = reach / cells
    masses = [-math.expm1(-width) * math.exp(-width * k) / 2 for k in range(cells)]
    ends = reach / 2 - reach * math.exp(-reach) / 2
    low = ends + math.fsum(mass * (reach - 2 * width * (k + 1)) for k, mass in enumerate(masses))
    high = ends + math.fsum(mass * (reach - 2 * width * k) for k, mass in enumerate(masses))
    found = float(ZeroConcentrated().read(Laplace(scale=1 / loss)).loss)
    assert low <= found <= high * (1 + 1e-9)
    assert high - low < found / 1000


def test_pure_to_gaussian_is_attained_at_the_advantage_of_randomised_response():
    for loss in (TENTH, Fraction(1), Fraction(4)):
        square = GaussianPrivacy().read(Bounded(epsilon=loss))
        gaussian = Gaussian(scale=1, squared_sensitivity=square)
        mine = delta(Bounded(epsilon=loss), epsilon=0)
        theirs = delta(gaussian, epsilon=0)
        assert mine.lower <= theirs.upper <= mine.upper * (1 + 1e-6)
        assert all(delta(Bounded(epsilon=loss), epsilon=at).lower <= delta(gaussian, epsilon=at).upper for at in AT)


def test_the_range_of_a_pure_loss_is_twice_it():
    assert BoundedRange().read(RandomizedResponse(truth=Fraction(3, 4))) >= 2 * ln(3, 96).lower


@pytest.mark.parametrize(("order", "at"), [(2, Fraction(9)), (3, Fraction(5)), (8, Fraction(2))])
def test_renyi_to_delta_is_attained_by_a_rare_large_loss(order, at):
    """P of the event is 1/100 and its loss epsilon + ln(a/(a-1)): the second outcome hardly counts in the moment."""
    p = Fraction(1, 100)
    q = (p / exp(at, 80).lower * (order - 1) / order).limit_denominator(10**12)
    mine, theirs = {1: p, 0: 1 - p}, {1: q, 0: 1 - q}
    divergences = [renyi_divergence(*pair, order=order).upper for pair in ((mine, theirs), (theirs, mine))]
    found = delta(Renyi([(order, max(divergences))]), epsilon=at).upper
    no_less(found, hockey_stick(mine, theirs, epsilon=at), above=Fraction(1, 20))


# Deltas, parts, directions, infinity --------------------------------------------------------------------------------------


def leaking(chance, odds):
    """The worst law of an (epsilon, delta) promise, both ways."""
    truth = odds / (odds + 1)
    one = {"in": chance, 1: (1 - chance) * truth, 0: (1 - chance) * (1 - truth)}
    two = {"out": chance, 1: (1 - chance) * (1 - truth), 0: (1 - chance) * truth}
    return one, two


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_delta_is_kept_by_every_composition_and_measure(times):
    chance, odds = Fraction(1, 50), Fraction(3)
    cost = Bounded(epsilon=ln(odds, 120).upper, delta=chance)
    one, two = leaking(chance, odds)
    mine, theirs = one, two
    for _ in range(times - 1):
        mine, theirs = product_law(mine, one), product_law(theirs, two)
    for at in [*AT, Fraction(20)]:
        no_less(delta(cost.repeated(times), epsilon=at).upper, worst(mine, theirs, at))
    shown = 1 - (1 - chance) ** times
    for measure in (Approximate(), ZeroConcentrated()):
        assert measure.read(cost.repeated(times)).delta >= shown
    leaks = RenyiPrivacy().read(cost.repeated(times)).leaks
    assert 1 - math.prod(((1 - each) ** count for each, count in leaks), start=Fraction(1)) >= shown


def test_the_worst_of_disjoint_parts_is_no_less_than_any_of_them():
    parts = (
        Bounded(epsilon=2, delta=Fraction(1, 10**6)),
        Bounded(epsilon=TENTH, delta=Fraction(1, 100)),
        Bounded(epsilon=1),
    )
    for measure in (Approximate(), ZeroConcentrated()):
        whole = measure.read(Parallel(parts))
        assert all(measure.read(each) <= whole for each in parts)
    curve = RenyiPrivacy().read(Parallel(parts))
    for order in (Fraction(2), Fraction(30)):
        assert all(RenyiPrivacy().read(each).at(order) <= curve.at(order) for each in parts)
    assert pure(Parallel((Bounded(epsilon=1), Bounded(epsilon=3), Bounded(epsilon=2)))) == 3
    for at in AT:
        found = delta(Parallel(parts), epsilon=at)
        assert found.upper >= max(delta(each, epsilon=at).lower for each in parts)


def test_a_mixture_is_the_average_of_deltas_and_the_worst_of_losses():
    parts = [(HALF, Bounded(epsilon=1, delta=Fraction(1, 10))), (HALF, Bounded(epsilon=2))]
    assert Approximate().read(Mixed(parts)).delta >= Fraction(1, 20)
    assert Approximate().read(Mixed(parts)).loss >= 2
    one, two = leaking(TENTH, Fraction(3))
    three, four = response(Fraction(9, 10), 2, 0), response(Fraction(9, 10), 2, 1)
    cost = Mixed(
        [(HALF, Bounded(epsilon=ln(3, 120).upper, delta=TENTH)), (HALF, RandomizedResponse(truth=Fraction(9, 10)))]
    )
    mine = {**{("a", k): v / 2 for k, v in one.items()}, **{("b", k): v / 2 for k, v in three.items()}}
    theirs = {**{("a", k): v / 2 for k, v in two.items()}, **{("b", k): v / 2 for k, v in four.items()}}
    for at in AT:
        no_less(delta(cost, epsilon=at).upper, worst(mine, theirs, at))


def truncated(scale, radius, steps):
    """Two shifted laws with rational weights, and the scale in which they are exact."""
    q = exp(-1 / Fraction(scale), 60).lower
    weights = {k: q ** abs(k) for k in range(-radius, radius + 1)}
    return law(weights), law({k + steps: weight for k, weight in weights.items()})


@pytest.mark.parametrize("times", [1, 2])
def test_mass_at_infinity_counts_in_every_reading(times):
    cost = TruncatedLaplace(scale=2, radius=3, sensitivity=2)
    one, two = truncated(2, 3, 2)
    mine, theirs = (one, two) if times == 1 else (product_law(one, one), product_law(two, two))
    for at in [*AT, Fraction(30)]:
        truth = hockey_stick(mine, theirs, epsilon=at)
        found = delta(cost.repeated(times) + Bounded(epsilon=0), epsilon=at).upper
        assert float(truth.lower) * (1 - 1e-12) <= found <= float(truth.upper) * (1 + 1e-3)
    alone = sum(chance for outcome, chance in one.items() if outcome not in two)
    assert Approximate().read(cost).delta >= alone * (1 - Fraction(1, 10**15))
    assert epsilon(cost, delta=alone * (1 - Fraction(1, 1000))).lower == math.inf


# Samples ------------------------------------------------------------------------------------------------------------------

TRUTH, RATE = Fraction(8, 10), Fraction(1, 4)
IN, OUT = (response(TRUTH, 3, own) for own in range(2))


@pytest.mark.parametrize("order", [2, 3, 5, 9])
def test_sampled_renyi_is_no_less_than_both_directions(order):
    """The same mechanism declared by its law, by its divergences and by its pure loss."""
    mine, theirs = mixed(RATE, IN, OUT), OUT
    truth = max(renyi_divergence(*pair, order=order).lower for pair in ((mine, theirs), (theirs, mine)))
    orders = range(2, 40)
    promise = Renyi((a, renyi_divergence(IN, OUT, order=a).upper) for a in orders)
    inner = RandomizedResponse(truth=TRUTH, categories=3)
    for cost in (inner, promise, Bounded(epsilon=pure(inner))):
        for how, neighbours in product(Sampling, Neighbours):
            found = RenyiPrivacy().read(Sampled(cost, rate=RATE, how=how, neighbours=neighbours)).at(Fraction(order))
            assert found >= truth
    close = RenyiPrivacy().read(Sampled(inner, rate=RATE)).at(Fraction(order))
    assert close <= truth * 3


@pytest.mark.parametrize("times", [1, 2])
def test_sampled_profiles_are_no_less_than_both_directions(times):
    one, two = mixed(RATE, IN, OUT), OUT
    mine, theirs = (one, two) if times == 1 else (product_law(one, one), product_law(two, two))
    cost = RandomizedResponse(truth=TRUTH, categories=3).sampled(rate=RATE).repeated(times)
    for at in AT:
        for pair in ((mine, theirs), (theirs, mine)):
            assert hockey_stick(*pair, epsilon=at).lower <= Fraction(delta(cost, epsilon=at).upper)
        no_less(delta(cost, epsilon=at).upper, worst(mine, theirs, at))


def test_a_replaced_unit_moves_both_mixtures():
    """Poisson: one unit's answer or another's, in a sample that may hold neither: two steps, in every measure."""
    unit, nobody, another = ({1: Fraction(k, 6), 0: Fraction(6 - k, 6)} for k in (4, 3, 2))
    mine, theirs = mixed(RATE, unit, nobody), mixed(RATE, another, nobody)
    cost = Bounded(epsilon=ln(Fraction(3, 2), 120).upper).sampled(rate=RATE, neighbours=REPLACE)
    for at in AT:
        assert worst(mine, theirs, at).lower <= Fraction(delta(cost, epsilon=at).upper)
    assert max_divergence(mine, theirs).lower <= pure(cost)
    assert renyi_divergence(mine, theirs, order=2).lower <= RenyiPrivacy().read(cost).at(Fraction(2))
    assert divergence(mine, theirs)[0] <= ZeroConcentrated().read(cost).loss
    one_step = ln(1 + RATE / 2, 96).upper
    assert max_divergence(mine, theirs).lower > one_step
    gaussian = Gaussian(scale=1, sensitivity=1)
    added = delta(gaussian.sampled(rate=HALF), epsilon=1)
    assert delta(gaussian.sampled(rate=HALF, neighbours=REPLACE), epsilon=1) > added
    everyone = gaussian.sampled(rate=1, neighbours=REPLACE)  # means two apart: mu² = 4, rho = 2, 2 a at order a
    assert GaussianPrivacy().read(everyone) >= 4
    assert ZeroConcentrated().read(everyone).loss >= 2
    assert RenyiPrivacy().read(everyone).at(Fraction(3)) >= 6


def test_the_direction_that_is_worse_counts():
    """One of two steps: a run without the unit against one with it is told apart more easily than the other way round."""
    one, none = response(Fraction(3, 4), 2, 0), response(Fraction(3, 4), 2, 1)
    with_unit, without = mixed(HALF, product_law(one, none), product_law(none, one)), product_law(none, none)
    at = Fraction(3, 5)
    removed, added = (hockey_stick(*pair, epsilon=at) for pair in ((with_unit, without), (without, with_unit)))
    assert added.lower > removed.upper * Fraction(3, 2)
    no_less(delta(Allocated(RandomizedResponse(truth=Fraction(3, 4)), 2), epsilon=at).upper, added, Fraction(1, 1000))


def test_several_releases_on_one_sample_to_the_last_loss():
    """Near the largest loss of all nothing is dropped."""
    inner = RandomizedResponse(truth=TRUTH, categories=3) + RandomizedResponse(truth=Fraction(3, 4))
    one = product_law(IN, response(Fraction(3, 4), 2, 0))
    two = product_law(OUT, response(Fraction(3, 4), 2, 1))
    mine, theirs = mixed(RATE, one, two), two
    top = max_divergence(mine, theirs)
    cost = Sampled(inner, rate=RATE)
    for share in (Fraction(0), Fraction(1, 3), Fraction(9, 10), Fraction(999, 1000)):
        at = top.lower * share
        assert worst(mine, theirs, at).lower <= Fraction(delta(cost, epsilon=at).upper)


# Vectors and calibration --------------------------------------------------------------------------------------------------


def test_every_coordinate_of_a_discrete_gaussian_vector_counts():
    scale, reach = 2, 24
    weights = {k: math.exp(-k * k / (2 * scale**2)) for k in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    one = {k: w / whole for k, w in weights.items()}
    for coordinates in (1, 2):
        cost = DiscreteGaussian(scale=scale, squared_sensitivity=coordinates, coordinates=coordinates, largest=1)
        for at in (0.0, 0.3, 1.0):
            truth = 0.0
            for point in product(one, repeat=coordinates):
                mine = math.prod(one[k] for k in point)
                theirs = math.prod(one.get(k - 1, 0.0) for k in point)
                truth += max(0.0, mine - math.exp(at) * theirs)
            found = delta(cost, epsilon=Fraction(at)).upper
            assert truth * (1 - 1e-9) <= found <= truth * (1 + 1e-3)


KINDS = {
    "Gaussian": lambda s: Gaussian(scale=s, sensitivity=1),
    "sampled": lambda s: DiscreteLaplace(scale=s).sampled(rate=HALF).repeated(3),
    "promise": lambda e: Bounded(epsilon=e, delta=Fraction(1, 10**9)).repeated(4),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_calibration_ends_on_the_safe_side(kind):
    for target, chance in product([Fraction(0), TENTH, Fraction(2)], [Fraction(1, 10), Fraction(1, 10**6)]):
        if target == 0 and chance < Fraction(1, 1000):
            continue
        found = calibrate(kind, epsilon=target, delta=chance)
        assert delta(found, epsilon=target).upper <= chance * (1 + Fraction(1, 10**9))
        assert epsilon(found, delta=chance).upper <= target
