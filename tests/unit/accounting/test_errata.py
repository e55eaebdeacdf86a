"""Errata of the teaching texts that concern accounting: the printed form is shown to fail (or to be looser), ours to hold."""

import math
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from deniable.accounting import delta, epsilon
from deniable.accounting.classic import classic_gaussian_scale, classic_renyi_epsilon, noted_gaussian_scale
from deniable.accounting.conversion import epsilon_within
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.pure import Pure
from deniable.accounting.renyi_curves import expected_tries
from deniable.accounting.renyi_sampling import SampledGaussianCurve
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import Bounded, Gaussian, Laplace, RandomizedResponse, Selected, Stopping, composed
from tests.finite import hockey_stick, max_divergence, renyi_divergence, smoothed_divergence

SMALL = Fraction(1, 10**6)
ONE = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
TWO = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}


def together(p, q):
    """The product of two laws."""
    return {(a, b): x * y for a, x in p.items() for b, y in q.items()}


def test_e5_a_composition_costs_the_sum_and_not_the_sum_times_the_distance():
    """At input distance d the parts already say their loss at d; multiplying by d again charges it twice."""
    distance = 3
    parts = [Laplace(scale=10, sensitivity=distance), Laplace(scale=5, sensitivity=distance)]
    right = Fraction(3, 10) + Fraction(3, 5)
    assert Pure().read(composed(parts)) == right
    assert distance * sum(Pure().read(each) for each in parts) > right
    both = max_divergence(together(ONE, ONE), together(TWO, TWO))
    assert both.lower <= 2 * max_divergence(ONE, TWO).upper
    assert both.upper >= 2 * max_divergence(ONE, TWO).lower


def selected_law(law, gamma):
    """The best of a geometric number of draws, worst first: exactly, on an ordered finite set."""
    found, below = {}, Fraction(0)
    for outcome, chance in law.items():
        above = below + chance

        def at_most(x):
            return gamma * x / (1 - (1 - gamma) * x)

        found[outcome] = at_most(above) - at_most(below)
        below = above
    return found


def printed_selection_map(divergence, shape, gamma, order):
    """The map as printed: (1 + p) ln(1/p)/a and E[K]/(a - 1), at the auxiliary order a itself."""
    tries = shape * (1 - gamma) / (gamma * (1 - gamma**shape))
    return (
        divergence * (1 + (1 + shape) * (1 - 1 / order))
        + (1 + gamma) * math.log(1 / gamma) / order
        + tries / (order - 1)
    )


def test_e9_ours_holds_for_the_exact_law_of_the_best_and_is_far_smaller_than_printed():
    """Geometric tries (eta = 1): the law of the best is rational, so its divergence is known exactly."""
    gamma, order = Fraction(1, 100), 2
    p = {"low": Fraction(3, 4), "high": Fraction(1, 4)}
    q = {"low": Fraction(1, 4), "high": Fraction(3, 4)}
    pairs = [(p, q), (q, p)]
    truth = max(renyi_divergence(selected_law(a, gamma), selected_law(b, gamma), order=order).lower for a, b in pairs)
    base = RandomizedResponse(truth=Fraction(3, 4))
    cost = Selected(base, stopping=Stopping.NEGATIVE_BINOMIAL, tries=gamma)
    ours = RenyiPrivacy().read(cost).at(Fraction(order))
    assert truth <= ours
    assert max_divergence(selected_law(p, gamma), selected_law(q, gamma)).upper <= Pure().read(cost)
    tries = expected_tries(Fraction(1), gamma)
    assert tries.lower <= 100 <= tries.upper
    assert printed_selection_map(float(RenyiPrivacy().read(base).at(Fraction(2))), 1, 0.01, 2) > 10 * ours


def test_e9_the_printed_map_charges_less_than_the_theorem_it_cites():
    """Many tries that rarely stop late (eta = 20, gamma = 0.9): at the same auxiliary order the printed sum is below theorem 2."""
    divergence, shape, gamma, order = 0.01, 20, 0.9, 50
    tries = shape * (1 - gamma) / (gamma * (1 - gamma**shape))
    theorem = (
        divergence * (1 + (1 + shape) * (1 - 1 / order))
        + (1 + shape) * math.log(1 / gamma) / order
        + math.log(tries) / (order - 1)
    )
    assert printed_selection_map(divergence, shape, gamma, order) < theorem


@pytest.mark.parametrize("shape", [Fraction(-1, 2), Fraction(0), Fraction(1), Fraction(3)])
def test_e9_the_expected_number_of_tries(shape):
    """Against the series of the truncated negative binomial law."""
    gamma = mpf(1) / 5
    eta = mpf(shape.numerator) / shape.denominator
    if shape == 0:
        weights = [(1 - gamma) ** k / k for k in range(1, 400)]
    else:
        weights = [(1 - gamma) ** k * mpmath.rf(eta, k) / mpmath.factorial(k) for k in range(1, 400)]
    right = mpmath.fsum(k * w for k, w in enumerate(weights, 1)) / mpmath.fsum(weights)
    found = expected_tries(shape, Fraction(1, 5))
    assert float(found.lower) == pytest.approx(float(right), rel=1e-12)


def test_e10_the_renyi_definition_needs_its_logarithm_and_factor():
    """E[e^((a-1) Z)] itself is above the divergence of a mechanism whose divergence is known."""
    order = 3
    divergence = renyi_divergence(ONE, TWO, order=order)
    moment = sum(p**order / q ** (order - 1) for p, q in zip(ONE.values(), TWO.values(), strict=True))
    found = RenyiPrivacy().read(RandomizedResponse(truth=Fraction(3, 4))).at(Fraction(order))
    assert divergence.lower <= found <= divergence.upper + SMALL
    assert moment > 5 * found  # the printed definition would call this mechanism five times worse


def test_e11_the_tail_of_the_loss_is_only_an_upper_bound():
    tail = 1 - 0.5 * (1 + math.erf((1 - 0.5) / math.sqrt(2)))  # Pr[Z > 1] for Z normal, mean 1/2, variance 1
    found = delta(Gaussian(scale=1, sensitivity=1), epsilon=1)
    assert found.upper < tail / 2
    law = hockey_stick(ONE, TWO, epsilon=Fraction(1, 2))
    loss = delta(RandomizedResponse(truth=Fraction(3, 4)), epsilon=Fraction(1, 2))
    assert loss.lower <= law.upper
    assert law.lower <= loss.upper
    assert loss.upper < 0.75  # the mass beyond 1/2


def test_e12_the_textbook_conversion_is_looser_at_every_order():
    cost = Gaussian(scale=10, sensitivity=1)
    found, order = epsilon_within(RenyiPrivacy().read(cost), delta=SMALL)
    for other in (order / 2 + 1, order, order * 2):
        assert found < classic_renyi_epsilon(divergence=other / 200, order=other, delta=SMALL)
    assert epsilon(cost, delta=SMALL).lower <= found


def test_e13_the_group_factor_is_k_e_to_the_k_minus_one_epsilon():
    """Three steps of a mechanism that is (e, d) step by step, made so that the bound is met with equality."""
    size, e, d = 3, Fraction(1, 2), Fraction(1, 10**4)
    read = Approximate().read(Bounded(epsilon=e, delta=d).group(size))
    grown = math.exp(0.5)
    assert float(read.delta) == pytest.approx(1e-4 * (1 + grown + grown**2))
    assert float(read.delta) <= size * math.exp((size - 1) * 0.5) * 1e-4
    # as typed, e^((k-1) d): far below what this chain of laws really loses
    chain = [mpf(0)]
    for _ in range(size):
        chain.append(mpmath.exp(0.5) * chain[-1] + mpf("1e-4"))
    truth = chain[-1]  # P_k(S) with P_0(S) = 0: each step takes all that (e, d) allows
    assert truth > size * mpmath.exp((size - 1) * mpf("1e-4")) * mpf("1e-4")
    assert truth <= float(read.delta) * (1 + 1e-12)


def test_e13_being_private_is_not_having_a_loss_within_epsilon_with_probability_one_minus_delta():
    """A Gaussian at its own (epsilon, delta): the loss exceeds epsilon more often than delta."""
    chance = delta(Gaussian(scale=1, sensitivity=1), epsilon=1).upper
    beyond = 1 - 0.5 * (1 + math.erf(0.5 / math.sqrt(2)))
    assert beyond > 2 * chance


def test_e14_the_classic_and_the_noted_scale_are_sound_and_larger_than_needed():
    for e in (0.1, 0.5, 1.0):
        classic = classic_gaussian_scale(epsilon=e, delta=1e-6)
        assert epsilon(Gaussian(scale=classic, sensitivity=1), delta=1e-6) <= e
        assert epsilon(Gaussian(scale=classic * Fraction(4, 5), sensitivity=1), delta=1e-6) <= e
        assert classic < noted_gaussian_scale(epsilon=e, delta=1e-6)


def test_e26_the_sampled_gaussian_is_exact_where_the_book_multiplies_by_ten():
    rate, scale, order = Fraction(1, 100), Fraction(2), 4
    printed = 10 * rate**2 * Fraction(1, 8) * order
    found = SampledGaussianCurve(1 / scale**2, rate).at(Fraction(order))
    assert found < printed / 2
    moment = mpmath.fsum(
        mpmath.binomial(order, k) * mpf("0.99") ** (order - k) * mpf("0.01") ** k * mpmath.exp(mpf(k * (k - 1)) / 8)
        for k in range(order + 1)
    )
    assert float(found) == pytest.approx(float(mpmath.log(moment) / (order - 1)), rel=1e-12)


def test_e30_a_capped_order_reports_far_too_much():
    """Many steps with much noise: the best order is far above 300, and the tight reading far below the capped one."""
    cost = Gaussian(scale=100, sensitivity=1).repeated(10)
    tight = epsilon(cost, delta=SMALL)
    rho = 10 / 20000
    capped = min(
        a * rho + math.log(1 - 1 / a) - (math.log(1e-6) + math.log(a)) / (a - 1)
        for a in [1 + k / 4 for k in range(1, 1200)]
    )
    best = epsilon_within(RenyiPrivacy().read(cost), delta=SMALL)
    assert tight.upper <= float(best[0]) < capped * (1 + 1e-9)
    coarse = Gaussian(scale=1000, sensitivity=1).repeated(10)
    few = min(
        a * rho / 100 + math.log(1 - 1 / a) - (math.log(1e-6) + math.log(a)) / (a - 1)
        for a in [1 + k / 4 for k in range(1, 1196)]
    )
    assert epsilon(coarse, delta=SMALL).upper < few / 2


def test_e33_delta_is_subtracted_in_the_smoothed_divergence():
    chance = Fraction(1, 10)
    right = smoothed_divergence(ONE, TWO, delta=chance)
    assert hockey_stick(ONE, TWO, epsilon=right.upper).lower <= chance
    assert hockey_stick(ONE, TWO, epsilon=right.lower * Fraction(99, 100)).lower > chance
    printed = max(math.log((p + chance) / q) for p, q in zip(ONE.values(), TWO.values(), strict=True))
    assert (
        printed > max_divergence(ONE, TWO).upper
    )  # with plus, allowing a delta makes the loss larger than without one
    assert right.upper < max_divergence(ONE, TWO).lower
