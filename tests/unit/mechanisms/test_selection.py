"""Thresholds for private keys and the optimal rule: certified, tight, and drawn as stated."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidArgument
from deniable.exact import exp
from deniable.kernels import Law, Staircase, noise_of
from deniable.kernels.key_threshold import new_key_chance
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms.private_keys import (
    keep_probability,
    kept,
    new_key_delta,
    threshold_for,
)
from deniable.mechanisms.propose_test_release import StabilityTest
from deniable.mechanisms.sparse import _ratio, sparse_terms
from deniable.testing.scripted_entropy import Scripted, Seeded, Silent


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("scale", [1, Fraction(7, 2), 40, 1000])
@pytest.mark.parametrize(("l0", "linf"), [(1, 1), (3, 1), (3, 5), (1000, 2)])
def test_a_threshold_is_the_smallest_that_costs_no_more(law, scale, l0, linf):
    for delta in (Fraction(1, 10**5), Fraction(1, 10**12)):
        threshold = threshold_for(delta, scale=scale, l0=l0, linf=linf, law=law)
        assert new_key_delta(threshold, scale=scale, l0=l0, linf=linf, law=law) <= delta
        assert new_key_delta(threshold - 1, scale=scale, l0=l0, linf=linf, law=law) > delta


def test_the_mass_at_the_threshold_counts():
    q = math.exp(-1 / 2)
    at_least, above = q ** (12 - 1) / (1 + q), q ** (12 - 1 + 1) / (1 + q)
    got = float(new_key_delta(12, scale=2, l0=1, linf=1))
    assert got == pytest.approx(at_least, rel=1e-12)
    assert (
        got > 1.6 * above
    )  # the rule shows `noisy >= threshold`; counting only what lies above would claim too little


def test_many_keys_are_counted_exactly():
    one = float(new_key_delta(12, scale=2, l0=1, linf=1))
    assert float(new_key_delta(12, scale=2, l0=7, linf=1)) == pytest.approx(1 - (1 - one) ** 7, rel=1e-12)
    tiny = new_key_delta(400, scale=2, l0=10**6, linf=1)
    assert tiny == pytest.approx(10**6 * math.exp(-399 / 2) / (1 + math.exp(-1 / 2)), rel=1e-9)
    assert new_key_delta(5, scale=1, l0=0, linf=1) == 0
    assert new_key_delta(-(10**7), scale=1, l0=2, linf=1) == 1


def _splits(total, parts, largest):
    yield ()
    if parts:
        for first in range(1, min(total, largest) + 1):
            for rest in _splits(total - first, parts - 1, min(first, largest)):
                yield (first, *rest)


KINDS = [*(noise_of(law, Fraction(2)) for law in Law), Staircase(5, 3, Fraction(3)), Staircase(3, 1, Fraction(1))]


@pytest.mark.parametrize("noise", KINDS, ids=str)
@pytest.mark.parametrize("threshold", [2, 4, 7, 12])
def test_every_split_of_a_change_is_covered(noise, threshold):
    for l0, l1, linf in [(1, 3, 3), (3, 3, 3), (3, 4, 2), (4, 6, 3), (6, 6, 6), (2, 5, 4), (5, 7, 2)]:
        bound = new_key_chance(threshold, noise=noise, apart=Sensitivity(l0=l0, l1=min(l1, l0 * linf), linf=linf))
        worst = 0.0
        for split in _splits(l1, l0, linf):
            hidden = 1.0
            for change in split:
                hidden *= 1 - float(noise.tail(threshold - change).upper)
            worst = max(worst, 1 - hidden)
        assert worst <= float(bound) * (1 + 1e-12)


def test_stairs_are_not_log_concave_and_a_threshold_that_thinks_so_is_caught(monkeypatch):
    noise, apart = Staircase(8, 1, Fraction(3)), Sensitivity(l0=4, l1=4, linf=4)
    worst = 1 - (1 - noise.tail(2 - 2).lower) ** 2  # two keys, each moved by two: neither one step nor all four
    assert worst <= new_key_chance(2, noise=noise, apart=apart)
    monkeypatch.setattr(Staircase, "log_concave", True)
    assert worst > new_key_chance(2, noise=noise, apart=apart)


# The optimal rule ---------------------------------------------------------------------------------------------------------

RULES = [
    (Fraction(1), Fraction(1, 10**5)),
    (Fraction(1, 10), Fraction(1, 10**3)),
    (Fraction(5), Fraction(1, 10**9)),
    (Fraction(0), Fraction(1, 50)),
]


@pytest.mark.parametrize(("epsilon", "delta"), RULES)
def test_the_optimal_rule_is_private_from_each_count_to_the_next(epsilon, delta):
    grow = exp(epsilon, 200).lower
    chance, n = Fraction(0), 0
    while chance < 1:
        n += 1
        following = keep_probability(n, epsilon=epsilon, delta=delta)
        assert chance <= following <= grow * chance + delta
        assert 1 - chance <= grow * (1 - following) + delta
        slack = min(grow * chance + delta, 1 - (1 - chance - delta) / exp(epsilon, 200).upper, 1) - following
        assert slack <= Fraction(1, 2**100)  # and no rule could keep more
        chance = following
    assert keep_probability(0, epsilon=epsilon, delta=delta) == 0
    assert keep_probability(n + 10**6, epsilon=epsilon, delta=delta) == 1


def test_the_optimal_rule_agrees_with_the_closed_form():
    epsilon, delta = 0.5, 1e-6
    for n in range(1, 20):  # below the crossing the chance is delta·(e^{n·epsilon} - 1)/(e^epsilon - 1)
        closed = delta * math.expm1(n * epsilon) / math.expm1(epsilon)
        assert float(keep_probability(n, epsilon=epsilon, delta=delta)) == pytest.approx(closed, rel=1e-9)


def test_keys_are_kept_with_the_stated_chance():
    counts = np.arange(0, 24)
    chances = [keep_probability(int(n), epsilon=1, delta=1e-5) for n in counts]
    digits = [int(chance * 2**64) for chance in chances]
    below = kept(counts, epsilon=1, delta=1e-5, entropy=Scripted([*(max(d - 1, 0) for d in digits if d < 2**64), 0]))
    assert below.tolist() == [chance * 2**64 >= 1 for chance in chances]
    above = kept(counts, epsilon=1, delta=1e-5, entropy=Scripted([d + 1 for d in digits if d < 2**64]))
    assert above.tolist() == [chance == 1 for chance in chances]
    tied = kept(np.array([5]), epsilon=1, delta=1e-5, entropy=Scripted([digits[5], 0]))
    assert tied.tolist() == [True]  # the second word decides


def test_short_words_keep_the_same_law():
    counts = np.full(20_000, 11)
    share = kept(counts, epsilon=1, delta=1e-5, entropy=Seeded(5, word_bits=5)).mean()
    assert abs(share - float(keep_probability(11, epsilon=1, delta=1e-5))) < 0.021  # six standard deviations


def test_shapes_and_negative_counts():
    assert not kept(np.array([[-5, 0]]), epsilon=1, delta=0.1, entropy=Seeded(1)).any()
    assert kept(np.array([[10**9, 10**9]]), epsilon=1, delta=0.1, entropy=Seeded(1)).shape == (1, 2)


def test_an_endless_table_is_refused():
    with pytest.raises(InvalidArgument, match="optimal rule"):
        keep_probability(3, epsilon=Fraction(1, 10**9), delta=Fraction(1, 10**12))


def test_the_default_query_scale_is_the_cube_root_to_the_nearest_sixteenth():
    """Exactly: k sixteenths lie nearest to the root when (2k - 1)³ <= 32³·hits < (2k + 1)³."""
    for cube in [*range(1, 3000), 10**30, 10**400]:
        sixteenths = _ratio(cube) * 16
        assert sixteenths.denominator == 1
        assert (2 * sixteenths - 1) ** 3 <= 32**3 * cube < (2 * sixteenths + 1) ** 3
        for hits, monotonic in ((cube, True), (cube // 2, False)) if cube % 2 == 0 else ((cube, True),):
            terms = sparse_terms(
                threshold=0, scale=3, query_scale=None, hits=hits, step=Fraction(1), monotonic=monotonic
            )
            assert terms.query_scale == 3 * _ratio(cube)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(20)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 3)])
def test_an_unstable_data_set_passes_with_at_most_delta_and_one_step_less_would_exceed_it(scale, delta):
    test = StabilityTest.made(scale=scale, delta=delta)
    chances = [noise_of(Law.LAPLACE, scale).tail(test.threshold - less) for less in (0, 1)]
    assert chances[0].upper <= delta < chances[1].lower
    for distance in (0, 1):  # silence draws zero: exactly the threshold passes, one less does not
        assert test.passes(test.threshold - distance, Silent()) == (distance == 0)
