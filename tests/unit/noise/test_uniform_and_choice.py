"""Uniform integers, orders, samples, choices, rankings."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cmp_to_key

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import noise
from deniable.errors import InvalidArgument
from deniable.noise.race import Race, Runners, _race
from deniable.noise.series import LARGEST, RELATIVE_ERROR, exp_minus, exp_series, horner
from deniable.noise.uniform import uniforms_within
from deniable.testing import Scripted, Seeded, Silent


@given(st.integers(min_value=1, max_value=1 << 300), st.integers(min_value=0))
def test_uniform_below_stays_below(n: int, seed: int) -> None:
    assert 0 <= noise.uniform_below(n, Seeded(seed)) < n


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 1 << 32, (1 << 63) - 1, 1 << 63])
def test_uniforms_below(n: int) -> None:
    values = noise.uniforms_below(n, 2000, Seeded(1))
    assert values.dtype == np.int64
    assert values.min() >= 0
    assert int(values.max()) < n
    assert n < 1000 or len(set(values.tolist())) > min(n // 2, 1900)
    assert not noise.uniforms_below(n, 5, Silent()).any()


def test_uniforms_within_follow_their_own_sizes() -> None:
    sizes = np.tile(np.array([1, 2, 3, 1000, 2**52]), 4000)
    values = uniforms_within(sizes, Seeded(4))
    assert (values >= 0).all()
    assert (values < sizes).all()
    for place, size in enumerate([1, 2, 3, 1000, 2**52]):
        spread = size / np.sqrt(12 * 4000)
        assert abs(values[place::5].mean() - (size - 1) / 2) <= 6 * spread
    assert np.bincount(values[2::5]).min() > 1333 - 200
    assert set(uniforms_within(np.full(200, 300), Seeded(1, word_bits=4)).tolist()) <= set(range(300))


def test_uniform_refusals() -> None:
    with pytest.raises(InvalidArgument, match="n must be at least 1, got 0"):
        noise.uniform_below(0, Silent())
    with pytest.raises(InvalidArgument, match="at most 2\\*\\*63 for vector draws"):
        noise.uniforms_below((1 << 63) + 1, 1, Silent())
    with pytest.raises(InvalidArgument, match="k must be at most n = 3, got 4"):
        noise.sample_without_replacement(3, 4, Silent())


def test_permutations() -> None:
    assert sorted(noise.permutation(1000, Seeded(1)).tolist()) == list(range(1000))
    assert noise.permutation(0, Scripted([])).tolist() == []
    assert noise.permutation(5, Silent()).tolist() == [0, 1, 2, 3, 4]
    assert noise.permutation(3, Scripted([30, 10, 20])).tolist() == [1, 2, 0]


def test_equal_keys_are_drawn_afresh() -> None:
    half = 1 << 63
    assert noise.permutation(2, Scripted([7, 7, half, 0])).tolist() == [1, 0]
    assert noise.permutation(2, Scripted([7, 7, 0, 0])).tolist() == [0, 1]


def test_samples() -> None:
    sample = noise.sample_without_replacement(10**12, 1000, Seeded(1))
    assert len(set(sample.tolist())) == 1000
    assert sorted(noise.sample_without_replacement(50, 50, Seeded(1)).tolist()) == list(range(50))
    assert noise.sample_without_replacement(5, 0, Scripted([])).tolist() == []


def test_silence_chooses_the_best() -> None:
    scores = [3, 10, Fraction(21, 2), -4, Fraction(21, 2)]
    assert noise.exponential_choice(scores, 1, Silent()) == 2
    assert noise.permute_and_flip(scores, 1, Silent()) == 2
    assert noise.laplace_ranking([3, 10, 9, -4, 10], 1, 3, Silent()) == noise.Ranking((1, 4, 2), (0, 1, 6))
    assert noise.categorical([0, 0, 5, 1], Silent()) == 2
    assert noise.categoricals([0, 0, 5, 1], 3, Silent()).tolist() == [2, 2, 2]


@pytest.mark.parametrize("choose", [noise.exponential_choice, noise.permute_and_flip])
def test_scores_of_any_kind_and_size(choose: object) -> None:
    lists = [0, 3, 7, 7]
    forms = [lists, np.array(lists), np.array(lists, dtype=np.int8), np.array(lists, dtype=np.uint64)]
    forms += [[Fraction(x) for x in lists]]
    assert len({tuple(choose(form, 3, entropy) for entropy in [Seeded(9)] for _ in range(50)) for form in forms}) == 1
    assert choose([0, 10**400], 1, Seeded(1)) == 1
    assert choose([-(10**400), 0, -(10**400)], Fraction(1, 10**400), Seeded(1)) == 1
    assert choose(np.array([-(2**63), 2**63 - 1]), 1, Seeded(1)) == 1
    spread = Counter(choose([0, 10**400], 10**402, entropy) for entropy in [Seeded(2)] for _ in range(400))
    assert min(spread.values()) > 120
    with pytest.raises(InvalidArgument, match="scores must not be empty"):
        choose([], 1, Silent())
    with pytest.raises(InvalidArgument, match="scale must be positive, got 0"):
        choose([1], 0, Silent())
    with pytest.raises(InvalidArgument, match="score must be a finite number, got nan"):
        choose([1, float("nan")], 1, Silent())


def test_many_candidates() -> None:
    scores = np.arange(100_000) % 1000
    drawn = [noise.exponential_choice(scores, 50, entropy) for entropy in [Seeded(3)] for _ in range(30)]
    assert np.mean(scores[drawn]) > 900
    assert len(set(drawn)) > 25


def test_weights_are_refused_when_they_make_no_law() -> None:
    for weights in ([], [0, 0]):
        with pytest.raises(InvalidArgument, match="weights must have a positive sum"):
            noise.categorical(weights, Silent())
    with pytest.raises(InvalidArgument, match="weight must not be negative, got -1"):
        noise.categorical([2, -1], Silent())


def test_a_best_candidate_far_ahead_always_wins() -> None:
    ranking = noise.laplace_ranking([0, 10**9, 5 * 10**8], 10, 3, Seeded(1))
    assert ranking.indices == (1, 2, 0)
    assert all(abs(gap - 5 * 10**8) < 1000 for gap in ranking.gaps)
    assert noise.exponential_ranking([0, 10**9], 10, 1, Seeded(1)).indices == (1,)


def test_gaps_are_those_of_continuous_noise() -> None:
    """Difference of two exponential variables: the mean absolute value is the scale. 2000 draws, five standard errors."""
    entropy = Seeded(12)
    gaps = [noise.exponential_ranking([0, 0], 100, 1, entropy).gaps[0] for _ in range(2000)]
    assert abs(np.mean(gaps) - 100) < 5 * 100 / 2000**0.5


def test_a_gap_of_half_a_score_is_settled_by_the_fractions() -> None:
    race = Race(Fraction(4), two_sided=False, word_bits=64, fineness=4)
    found = set()
    for seed in range(20):
        field = Runners([0, 0], race, Seeded(seed))
        ahead, behind = field.runners
        ahead.place, behind.place = 6, 0  # one and a half scores, each of four lattice points
        found.add(field.gap(ahead, behind))
        assert field.gap(ahead, behind) == (2 if field.fractions(ahead, behind) > 0 else 1)
    assert found == {1, 2}


@pytest.mark.parametrize("scale", [Fraction(7, 2), Fraction(1000), Fraction(2**40), Fraction(2**41), Fraction(10**30)])
@pytest.mark.parametrize("two_sided", [True, False])
def test_gaps_are_rounded_to_the_nearest_at_every_scale(scale: Fraction, two_sided: bool) -> None:
    race, halves = _race(scale, two_sided, 64), 0
    for seed in range(40):
        entropy = Seeded(seed)
        field = Runners([0, 0], race, entropy)
        ahead, behind = sorted(field.runners, key=cmp_to_key(field.behind))
        exact = [
            runner.place + sum(Fraction(runner.digit(i, race, entropy), 256 ** (i + 1)) for i in range(6))
            for runner in (ahead, behind)
        ]
        lead = (exact[0] - exact[1]) / 2**race.lattice
        halves += abs(lead % 1 - Fraction(1, 2)) < Fraction(1, 2**race.lattice)
        assert field.gap(ahead, behind) == math.floor(lead + Fraction(1, 2))
    assert halves or scale < 2**40  # there the fractions decide often


def test_rankings_of_many_and_of_huge_scales() -> None:
    ranking = noise.laplace_ranking(np.arange(500), 5, 500, Seeded(2))
    assert sorted(ranking.indices) == list(range(500))
    assert len(ranking.gaps) == 499
    assert min(ranking.gaps) >= 0
    assert noise.laplace_ranking([0] * 100, 10**30, 1, Seeded(2)).gaps[0] > 10**26


def test_ranking_refusals() -> None:
    for count in (0, 3):
        with pytest.raises(InvalidArgument, match=f"between 1 and the number of scores, 2, got {count}"):
            noise.laplace_ranking([1, 2], 1, count, Silent())
    with pytest.raises(InvalidArgument, match="score must be a whole number"):
        noise.laplace_ranking([0.5], 1, 1, Silent())


def test_exp_minus_is_as_close_as_it_says() -> None:
    xs = np.concatenate([np.linspace(0, LARGEST, 2001), [1e-300, 5e-324, 1e-17]])
    for x, found in zip(xs.tolist(), exp_minus(xs).tolist(), strict=True):
        assert abs(mp.mpf(found) / mp.exp(-mp.mpf(x)) - 1) < RELATIVE_ERROR / 4


def test_series_is_as_close_as_asked() -> None:
    for largest, error in ((0.16, 2.0**-40), (4.0, 2.0**-30), (1e-9, 2.0**-20)):
        series = exp_series(largest, error=error)
        assert all(abs(horner(series, x * largest) - float(mp.exp(-x * largest))) < error for x in (0.0, 0.3, 1.0))
