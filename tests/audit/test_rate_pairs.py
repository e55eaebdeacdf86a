"""Two counts tested together: the error is kept for every pair of rates, by enumeration; tails are those of the exact law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.audit import rate_pairs
from deniable.audit.claims import curve_of
from deniable.audit.rate_pairs import RatePairs
from deniable.cost import Bounded, Gaussian

DRAWS, ERROR = 12, 0.05
CLAIMS = [Bounded(epsilon=1), Bounded(epsilon=Fraction(1, 10), delta=Fraction(1, 20)), Gaussian(scale=1, sensitivity=1)]


def chances(rate: float, draws: int = DRAWS) -> list[float]:
    return [math.comb(draws, k) * rate**k * (1 - rate) ** (draws - k) for k in range(draws + 1)]


def refuted(slope: float, claim, draws: int = DRAWS) -> np.ndarray:
    """For each pair of counts whether the claim is refuted."""
    frontier = curve_of(claim).frontier
    return np.array(
        [
            [RatePairs(x, y, draws, slope, ERROR).excess(frontier) > 0 for y in range(draws + 1)]
            for x in range(draws + 1)
        ]
    )


def worst(found: np.ndarray, claim) -> float:
    """The largest probability of a refutation over rates that the claim just allows."""
    frontier = curve_of(claim).frontier
    return max(
        float(np.array(chances(float(frontier(np.float64(q))))) @ found @ np.array(chances(q)))
        for q in np.linspace(0, 1, 101)
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=["pure", "approximate", "Gaussian"])
@pytest.mark.parametrize("slope", [1.0, math.e, 1 / math.e])
def test_the_error_is_kept_for_every_pair_of_rates(slope, claim):
    found = refuted(slope, claim)
    assert found.any()
    assert 0 < worst(found, claim) <= ERROR


def test_with_a_tail_that_is_too_small_the_error_would_not_be_kept(monkeypatch):
    """The mutation: the next larger value of the statistic, as if what was seen did not count."""
    real = RatePairs.tails

    def short(self, second):
        return real(RatePairs(self.often + 1, self.seldom, self.draws, self.slope, self.error), second)

    monkeypatch.setattr(RatePairs, "tails", short)
    rate_pairs._staircase.cache_clear()
    assert max(worst(refuted(1.0, claim), claim) for claim in CLAIMS) > ERROR
    rate_pairs._staircase.cache_clear()


@pytest.mark.parametrize(("often", "seldom", "slope"), [(9, 2, 1.0), (12, 0, 2.5), (5, 4, 0.3), (0, 12, 1.0)])
def test_tails_are_those_of_the_exact_law(often, seldom, slope):
    pairs = RatePairs(often, seldom, DRAWS, slope, ERROR)
    first, second = np.array([0.0, 0.2, 0.7, 1.0]), np.array([0.3, 0.0, 0.5, 1.0])
    for p, q, found in zip(first, second, pairs.tail(first, second), strict=True):
        exact = sum(
            a * b
            for x, a in enumerate(chances(p))
            for y, b in enumerate(chances(q))
            if x - slope * y >= often - slope * seldom
        )
        assert exact <= found + 1e-12
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("draws", [40, 3_000, 400_000])
def test_both_counts_together_say_more_than_each_alone(draws):
    pairs = RatePairs(draws * 6 // 10, draws * 3 // 10, draws, 1.0, 0.01)
    alone = math.log(max(pairs.at_least / pairs.at_most, 1.0))
    assert alone < pairs.epsilon(0.0) < math.log(2)
    assert pairs.epsilon(0.1) < pairs.epsilon(0.0)
    assert RatePairs(draws // 2, draws // 2, draws, 1.0, 0.01).epsilon(0.0) == 0.0


def test_many_draws_of_an_event_that_hardly_ever_fails_fit_into_memory(monkeypatch):
    """The slope of such an event is small, so most second rates have to be looked at: not all in one window."""
    real, sizes = rate_pairs._window, []

    def spy(*of):
        found = real(*of)
        sizes.append(found[1].size)
        return found

    monkeypatch.setattr(rate_pairs, "_window", spy)
    assert 9.5 < RatePairs(10**6, 9 * 10**5, 10**6, math.exp(-10.5), 0.001).epsilon(0.0) < math.log(10**5)
    assert max(sizes) < 2 * rate_pairs._WIDE


def test_windows_enclose_all_probability():
    for draws, rates in (
        (5_000, np.array([1e-9, 0.001, 0.02])),
        (5_000, np.array([0.5, 0.51])),
        (7, np.array([0.0, 1.0])),
    ):
        _, inside, below, above = rate_pairs._window(draws, rates, 6.0)
        assert ((inside.sum(axis=1) + below + above) >= 1).all()
        assert inside.sum(axis=1) == pytest.approx(1, abs=1e-6)
