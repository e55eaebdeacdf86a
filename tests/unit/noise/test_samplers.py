"""What every sampler shares: silence is zero, bad parameters are refused, scales from tiny to huge, memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from deniable import noise
from deniable.errors import InvalidArgument
from deniable.noise import Entropy
from deniable.noise.gaussian import block_bits
from deniable.noise.table import CACHED
from deniable.testing import Exhausted, Scripted, Seeded, Silent, enumerated

Scalar = Callable[[Fraction, Entropy], int]
Vector = Callable[[Fraction, int, Entropy], np.ndarray]

ADDITIVE: dict[str, tuple[Scalar, Vector]] = {
    "laplace": (noise.discrete_laplace, noise.discrete_laplaces),
    "truncated laplace": (
        lambda s, e: noise.truncated_laplace(s, 7, e),
        lambda s, n, e: noise.truncated_laplaces(s, 7, n, e),
    ),
    "geometric": (noise.geometric, noise.geometrics),
    "rounded gaussian": (noise.rounded_gaussian, noise.rounded_gaussians),
    "truncated gaussian": (
        lambda s, e: noise.truncated_gaussian(s, 7, e),
        lambda s, n, e: noise.truncated_gaussians(s, 7, n, e),
    ),
    "discrete gaussian": (noise.discrete_gaussian, noise.discrete_gaussians),
}
SPREAD = {"laplace": 2**0.5, "geometric": 1.0, "rounded gaussian": 1.0, "discrete gaussian": 1.0}
SCALES = [Fraction(1, 1000), Fraction(1), Fraction(22, 7), Fraction(1000), Fraction(10**9, 7), Fraction(1 << 40)]
both = pytest.mark.parametrize("name", ADDITIVE)


@both
@pytest.mark.parametrize("scale", [*SCALES, Fraction(1 << 50)], ids=str)
def test_silence_is_zero_noise(name: str, scale: Fraction) -> None:
    scalar, vector = ADDITIVE[name]
    assert scalar(scale, Silent()) == 0
    assert vector(scale, 9, Silent()).tolist() == [0] * 9


@both
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_scalar_and_vector_draws_spread_alike(name: str, scale: Fraction) -> None:
    """Seeded, so the verdict is fixed; the bounds are wide enough for any seed (five standard errors)."""
    scalar, vector = ADDITIVE[name]
    many = vector(scale, 20_000, Seeded(5))
    few = np.array([scalar(scale, entropy) for entropy in [Seeded(6)] for _ in range(2000)], dtype=np.float64)
    assert many.dtype == np.int64
    assert many.shape == (20_000,)
    if name.startswith("truncated"):
        assert max(abs(many.max()), abs(many.min()), abs(few).max()) <= 7
    elif scale >= 1000:
        expected = SPREAD[name] * float(scale)
        assert abs(many.std() / expected - 1) < 0.05
        assert abs(few.std() / expected - 1) < 0.16


@pytest.mark.parametrize("value", [0, -1, Fraction(-1, 2), True, "1", None, [1], float("nan"), float("inf"), -0.0])
@both
def test_bad_scales_are_refused(name: str, value: object) -> None:
    scalar, vector = ADDITIVE[name]
    with pytest.raises(InvalidArgument, match="scale must be"):
        scalar(value, Scripted([]))
    with pytest.raises(InvalidArgument, match="scale must be"):
        vector(value, 3, Scripted([]))


def test_bad_counts_and_radii_are_refused() -> None:
    for draw in (noise.discrete_laplaces, noise.rounded_gaussians, noise.discrete_gaussians, noise.geometrics):
        with pytest.raises(InvalidArgument, match="count must be at least 0, got -1"):
            draw(1, -1, Silent())
    with pytest.raises(InvalidArgument, match=r"count must be a whole number, got 2\.0"):
        noise.discrete_laplaces(1, 2.0, Silent())
    with pytest.raises(InvalidArgument, match="radius must be at least 0, got -1"):
        noise.truncated_laplace(1, -1, Silent())
    with pytest.raises(InvalidArgument, match="radius must be at least 0, got -1"):
        noise.truncated_gaussians(1, -1, 3, Silent())


def test_no_draws_no_words() -> None:
    for _, vector in ADDITIVE.values():
        assert vector(Fraction(3), 0, Scripted([])).shape == (0,)


@pytest.mark.parametrize("scale", [1 << 51, Fraction(10**300)], ids=["2**51", "1e300"])
@both
def test_noise_beyond_int64_is_exact_one_by_one_and_refused_in_vectors(name: str, scale: Fraction) -> None:
    scalar, vector = ADDITIVE[name]
    with pytest.raises(InvalidArgument, match=r"at most 2\*\*50 for vector draws"):
        vector(scale, 2, Seeded(1))
    drawn = [scalar(scale, entropy) for entropy in [Seeded(2)] for _ in range(20)]
    assert all(isinstance(value, int) for value in drawn)
    if not name.startswith("truncated"):
        assert scale / 100 < max(map(abs, drawn)) < 100 * scale


@pytest.mark.parametrize("scale", [Fraction(1, 10**300), Fraction(5e-324), 5e-324, 1e-300])
@both
def test_a_vanishing_scale_is_exact(name: str, scale: Fraction) -> None:
    """All words but the last decide for zero; the last is read on and on, as it must be."""
    scalar, _ = ADDITIVE[name]
    assert scalar(scale, Scripted([0])) == scalar(scale, Scripted([(1 << 64) - 2])) == 0
    with pytest.raises(Exhausted):
        scalar(scale, Scripted([(1 << 64) - 1] * 3))


@pytest.mark.parametrize(
    "scale", [1 << 1101, Fraction(1, 1 << 1101), 10**5000], ids=["2**1101", "2**-1101", "10**5000"]
)
def test_absurd_scales_are_refused(scale: Fraction) -> None:
    for scalar, _ in ADDITIVE.values():
        with pytest.raises(InvalidArgument, match=r"scale must lie between 2\*\*-1100 and 2\*\*1100"):
            scalar(scale, Silent())


def test_a_float_scale_means_what_it_says() -> None:
    assert noise.discrete_laplace(0.1, Seeded(3)) == noise.discrete_laplace(Fraction(1, 10), Seeded(3))
    same = noise.rounded_gaussians(2.5, 10, Seeded(3)) == noise.rounded_gaussians(Fraction(5, 2), 10, Seeded(3))
    assert same.all()


def test_radius_larger_than_any_word() -> None:
    far = 1 << 100
    assert np.array_equal(
        noise.truncated_laplaces(50, far, 500, Seeded(4)), noise.discrete_laplaces(50, 500, Seeded(4))
    )
    wide = noise.truncated_gaussians(1000, far, 500, Seeded(4))
    assert np.array_equal(wide, noise.rounded_gaussians(1000, 500, Seeded(4)))
    assert isinstance(noise.truncated_laplace(10**30, 10**29, Seeded(4)), int)


def test_radius_zero_is_no_noise() -> None:
    assert noise.truncated_laplaces(50, 0, 9, Seeded(4)).tolist() == [0] * 9
    assert noise.truncated_gaussian(5000, 0, Seeded(4)) == 0


def test_blocks_are_fine_enough() -> None:
    for scale in (Fraction(64), Fraction(201), Fraction(10**6), Fraction(1 << 40)):
        assert 64 <= scale / (1 << block_bits(scale)) < 128


def test_tables_are_remembered_up_to_a_bound() -> None:
    from deniable.noise.laplace import _laplace

    for step in range(2 * CACHED):
        noise.discrete_laplace(Fraction(1, step + 2), Silent())
    assert _laplace.cache_info().currsize == CACHED


@pytest.mark.parametrize("name", ["laplace", "rounded gaussian"])
def test_memory_stays_near_the_output(name: str) -> None:
    _, vector = ADDITIVE[name]
    count, entropy = 500_000, Entropy()
    vector(Fraction(1000), 10, entropy)
    tracemalloc.start()
    out = vector(Fraction(1000), count, entropy)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.nbytes <= peak < 3 * out.nbytes  # a chunk's worth of work beside it


def test_coins_at_the_ends() -> None:
    assert [noise.bernoulli(p, Scripted([w])) for p in (0, 1) for w in (0, (1 << 64) - 1)] == [False, False, True, True]
    assert noise.bernoullis(0, 3, Seeded(1)).tolist() == [False] * 3
    assert noise.bernoullis(1, 3, Seeded(1)).tolist() == [True] * 3
    assert noise.bernoulli_exp(0, Scripted([(1 << 64) - 1]))
    assert not noise.bernoulli_exp(10**9, Scripted([1, 1]))  # a word for what is near, a word for all beyond
    with pytest.raises(InvalidArgument, match="p must be between 0 and 1, got 2"):
        noise.bernoulli(2, Silent())
    with pytest.raises(InvalidArgument, match="x must not be negative, got -1"):
        noise.bernoulli_exp(-1, Silent())


def test_a_dyadic_coin_needs_one_word() -> None:
    found = enumerated(lambda e: noise.bernoulli(Fraction(3, 8), e), word_bits=4, depth=1)
    assert found.decided == {True: Fraction(3, 8), False: Fraction(5, 8)}
    assert found.undecided == 0
