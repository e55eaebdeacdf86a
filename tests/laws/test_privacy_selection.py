"""Selection: exponential mechanism, report noisy max with three noises, gaps and top k, by their exact output laws."""

from fractions import Fraction
from itertools import product

import pytest

from deniable.audit.comparison import check_privacy, compare, hockey_stick
from deniable.audit.exact_law import OutputLaw, chance, output_law
from deniable.core.domain import Keyed, Lattice, Vectors
from deniable.core.metric import L1, LInfinity, RangeDistance
from deniable.core.space import Space
from deniable.cost import Bounded, Exponential
from deniable.exact import Interval, exp, ln
from deniable.kernels import DiscreteLaplaceNoise
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.mechanisms import (
    MaxNoise,
    exponential,
    noisy_max_with_gap,
    noisy_top_k,
    one_shot_top_k,
    report_noisy_max,
)

THREE = Space(Vectors(Lattice(), 3), LInfinity())
ONE_WAY = Space(Vectors(Lattice(), 3), LInfinity(monotonic=True))
TAIL = Fraction(1, 10**4)
PAIRS = [([0, 0, 0], [1, -1, -1]), ([0, 0, 0], [-1, 1, -1]), ([3, 2, 2], [2, 3, 3]), ([9, 0, 0], [8, 1, 1])]
MONOTONE = [([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [0, 1, 1]), ([5, 0, 1], [6, 1, 1])]


@pytest.mark.parametrize("noise", list(MaxNoise))
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_noisy_max_on_scores_that_move_both_ways(noise, left, right):
    mechanism = THREE >> report_noisy_max(scale=Fraction(1, 2), noise=noise)
    verdict = check_privacy(mechanism, left, right, tail=TAIL)
    assert verdict.kept
    assert not verdict.broken


@pytest.mark.parametrize("noise", list(MaxNoise))
@pytest.mark.parametrize(("left", "right"), MONOTONE)
def test_noisy_max_on_scores_that_move_one_way(noise, left, right):
    mechanism = ONE_WAY >> report_noisy_max(scale=Fraction(1, 2), noise=noise)
    verdict = check_privacy(mechanism, left, right, tail=TAIL)
    assert verdict.kept


@pytest.mark.parametrize("noise", list(MaxNoise))
def test_the_one_way_price_is_refuted_for_scores_that_move_both_ways(noise):
    """The factor two between one-way and both-ways scores is real: dropping it is caught."""
    mechanism = ONE_WAY >> report_noisy_max(scale=Fraction(1, 2), noise=noise)
    assert check_privacy(mechanism, [3, 0, 0], [2, 1, 1], tail=TAIL).broken


@pytest.mark.parametrize("noise", list(MaxNoise))
def test_the_price_is_reached(noise):
    """With a far leader the loss of the others comes close to the promise."""
    mechanism = THREE >> report_noisy_max(scale=Fraction(1, 2), noise=noise)
    left, right = (
        output_law(lambda e, d=d: mechanism.function(d, e), tail=Fraction(1, 10**6)) for d in ([6, 0, 0], [5, 1, 1])
    )
    promised = Fraction(4)
    assert hockey_stick(right, left, promised * Fraction(9, 10)).lower > 0


def test_candidates_may_have_public_names():
    named = Space(Keyed(Lattice(), ("b", "a")), L1()) >> exponential(scale=1)
    law = output_law(lambda e: named.function({"a": 2, "b": 0}, e))
    assert set(law.chances) == {"a", "b"}
    odds = law.probability("a") / law.probability("b")
    assert 0 in odds - exp(2, 160)
    assert named.cost(d_in=1) == Exponential(eta=1)


def test_a_score_grid_scales_the_law():
    halves = Space(Vectors(Lattice(Fraction(1, 2)), 2), RangeDistance()) >> exponential(scale=3)
    law = output_law(lambda e: halves.function([0, 6], e))  # 0 and 3.0
    assert 0 in law.probability(1) / law.probability(0) - exp(1, 160)
    assert check_privacy(halves, [0, 6], [0, 7], d_in=Fraction(1, 2)).kept


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_the_gap_costs_nothing_more(left, right):
    mechanism = THREE >> noisy_max_with_gap(scale=Fraction(1, 2))
    verdict = check_privacy(mechanism, left, right, tail=TAIL, ask=lambda leader: (leader.winner, leader.gap))
    assert verdict.kept
    assert mechanism.cost(d_in=1) == Bounded(epsilon=4)


@pytest.mark.parametrize("noise", [MaxNoise.GUMBEL, MaxNoise.EXPONENTIAL])
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_top_k_by_peeling(noise, left, right):
    verdict = check_privacy(THREE >> noisy_top_k(k=2, scale=1, noise=noise), left, right, tail=TAIL)
    assert verdict.kept
    assert not verdict.broken


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_top_k_in_one_shot_with_gaps(left, right):
    mechanism = THREE >> one_shot_top_k(k=2, scale=Fraction(1, 2))
    verdict = check_privacy(mechanism, left, right, tail=TAIL, ask=lambda leaders: (leaders.winners, leaders.gaps))
    assert verdict.kept


def test_peeling_gumbel_is_one_shot_of_gumbel_noise():
    """The law of the k largest after Gumbel noise is the product of the successive choices: exactly what peeling draws."""
    scores, scale = [0, 2, 1], Fraction(1)
    law = output_law(lambda e: (THREE >> noisy_top_k(k=2, scale=scale)).function(scores, e))
    weights = [exp(Fraction(s) / scale, 160) for s in scores]
    for first in range(3):
        for second in set(range(3)) - {first}:
            others = [weights[i] for i in range(3) if i != first]
            expected = (
                weights[first] / (weights[0] + weights[1] + weights[2]) * (weights[second] / (others[0] + others[1]))
            )
            assert 0 in law.probability((first, second)) - expected


@pytest.mark.parametrize("scores", [[0, 0, 0], [3, 0, 0], [3, 2, 0], [4, 4, 0], [2, 1, 1]])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2)])
def test_permute_and_flip_never_falls_shorter_than_the_exponential_mechanism(scores, scale):
    laws = [
        output_law(lambda e, n=n: (THREE >> report_noisy_max(scale=scale, noise=n)).function(scores, e))
        for n in (MaxNoise.EXPONENTIAL, MaxNoise.GUMBEL)
    ]
    for short in range(1, 5):
        flips, choice = (
            sum((law.probability(i).upper for i in range(3) if max(scores) - scores[i] >= short), Fraction(0))
            for law in laws
        )
        assert flips <= choice + Fraction(1, 10**40)


@pytest.mark.parametrize("noise", list(MaxNoise))
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3, 2)])
def test_accuracy_holds_exactly(noise, scale):
    """The chance of falling short by more than the stated error is at most beta."""
    space, beta = Space(Vectors(Lattice(), 2), LInfinity()), Fraction(1, 10)
    mechanism = space >> report_noisy_max(scale=scale, noise=noise)
    error = mechanism.accuracy(confidence=1 - beta).error
    missed = []
    for lead in range(8):
        law = output_law(lambda e, lead=lead: mechanism.function([lead, 0], e), tail=Fraction(1, 10**7))
        missed.append(law.probability(1).upper)
        assert missed[-1] <= beta or lead <= error
    assert any(share > beta for share in missed)  # a smaller lead is missed more often: the error is not idle


def test_the_exponential_error_is_tight():
    beta, scale = Fraction(1, 20), Fraction(2)
    error = exponential_score_error(beta, count=3, scale=scale)
    missed = 2 * exp(-error / scale, 160) / (1 + 2 * exp(-error / scale, 160))
    assert missed.upper <= beta
    assert missed.lower >= beta * Fraction(999, 1000)


def test_laplace_noise_is_an_exponential_mechanism():
    """Score -|x - c| over all integers c, at the same scale, is the discrete Laplace law: here on a window, conditioned on it."""
    scale, window = Fraction(3, 2), range(-6, 7)
    space = Space(Vectors(Lattice(), len(window)), LInfinity())
    chosen = output_law(lambda e: (space >> exponential(scale=scale)).function([-abs(c) for c in window], e))
    masses = [DiscreteLaplaceNoise(scale).mass(c) for c in window]
    whole = sum(masses[1:], masses[0])
    for index in range(len(window)):
        assert abs((chosen.probability(index) - masses[index] / whole).midpoint) < Fraction(1, 10**15)


# Errata -------------------------------------------------------------------------------------------------------------------


def test_errata_2_weights_divide_by_the_scale():
    """E2: sampling exp(score·temperature), with a map that divides by the temperature, is refuted; ours holds, also when large."""
    for temperature in (Fraction(2), Fraction(4)):
        ours = THREE >> exponential(scale=temperature)
        assert check_privacy(ours, [6, 0, 0], [5, 1, 1]).kept
        printed = [_weighted([Fraction(s) * temperature for s in scores]) for scores in ([2, 0, 0], [1, 1, 1])]
        assert compare(*printed, Bounded(epsilon=2 / temperature)).broken


def _weighted(exponents: list[Fraction]) -> OutputLaw:
    weights = [exp(x, 200) for x in exponents]
    total = sum(weights[1:], weights[0])
    law = OutputLaw()
    for index, weight in enumerate(weights):
        law.add(index, chance(weight / total))
    return law


def test_errata_3_the_mirrored_gumbel_loses_more_with_more_candidates():
    """E3: noisy max with the printed (minimum) Gumbel density loses (k-1) times as much; the maximum Gumbel law keeps its promise.

    With minus a Gumbel added to each score, candidate i wins when its variable E_i·exp(-s_i) is the smallest *maximum*: for
    exponential E the chance is a sum over subsets, P(i) = sum over S of (-1)^|S| r_i/(r_i + sum of r_S), r = exp(-s).
    """
    promise, scale = Fraction(1), Fraction(2)
    left, right = [0, 0, 0, 0], [1, -1, -1, -1]
    printed = [_mirrored([Fraction(s) / scale for s in scores]) for scores in (left, right)]
    assert compare(*printed, Exponential(eta=promise)).broken
    ours = Space(Vectors(Lattice(), 4), LInfinity()) >> exponential(scale=scale)
    assert check_privacy(ours, left, right).kept
    two = [_mirrored([Fraction(s) / scale for s in scores[:2]]) for scores in (left, right)]
    assert not compare(*two, Exponential(eta=promise)).broken  # with two candidates the mirror image is harmless
    ratios = []
    for k in (2, 3, 4):
        p, q = (
            _mirrored([Fraction(s) / scale for s in scores]) for scores in ([0] + [20] * (k - 1), [1] + [19] * (k - 1))
        )
        ratios.append(float(ln(q.probability(0) / p.probability(0)).midpoint))
    assert ratios == pytest.approx([1.0, 2.0, 3.0], rel=0.01)  # (k - 1) times epsilon


def _mirrored(scores: list[Fraction]) -> OutputLaw:
    """P[argmax of s_i - G_i], G_i independent standard Gumbel: i wins iff E_i e^{s_i}... the largest of independent exponentials.

    s - G has the law of s + ln E, so candidate i wins when E_i·exp(s_i) is the largest; by inclusion and exclusion over who is
    larger, P(i) = sum over subsets S of the others of (-1)^|S| r_i / (r_i + sum of r_S) with rates r = exp(-s).
    """
    rates, law = [exp(-s, 200) for s in scores], OutputLaw()
    for i, rate in enumerate(rates):
        others = [r for j, r in enumerate(rates) if j != i]
        total = Interval.point(0)
        for choice in product((False, True), repeat=len(others)):
            chosen = [r for r, taken in zip(others, choice, strict=True) if taken]
            whole = sum(chosen, rate)
            total = total + (rate / whole) * (-1 if len(chosen) % 2 else 1)
        law.add(i, chance(total))
    return law
