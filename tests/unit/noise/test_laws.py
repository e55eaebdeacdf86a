"""Every law's integers lie below 2**bits times the true probability, and miss it by about one each."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.noise.table import TableLaw
from deniable.noise.table_laws import (
    EXP_LOSS,
    Blocks,
    DiscreteGaussianLaw,
    Geometric,
    Rational,
    RoundedGaussianLaw,
    Steps,
    exp_below,
    gaussian_ladder,
    geometric_ladder,
    ladder_loss,
    signed,
)

mp.mp.dps = 80
SLACK = mp.mpf(10) ** -30
SCALES = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(23)]
BITS = [8, 64, 130]


def real(x: Fraction | int) -> mp.mpf:
    return mp.mpf(Fraction(x).numerator) / Fraction(x).denominator


def assert_bounds(law: TableLaw, mass: Callable[[int], mp.mpf], bits: int) -> None:
    bounds = law.bounds(bits)
    for outcome, bound in enumerate(bounds):
        gap = mass(outcome) * mp.mpf(2) ** bits - bound
        assert -SLACK <= gap <= mp.mpf(3) / 2, f"outcome {outcome}: bound {bound} is off by {mp.nstr(gap, 5)}"
    assert 0 <= (1 << bits) - sum(bounds) <= len(bounds) + 1


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_laplace(scale: Fraction, bits: int) -> None:
    q = mp.exp(-1 / real(scale))
    assert_bounds(Blocks(scale), lambda i: (1 - q) / (1 + q) * q ** abs(signed(i)), bits)
    assert_bounds(Blocks(scale, shift=0), lambda i: (1 - q) / 2 * q ** (i >> 1), bits)
    assert_bounds(Geometric(1 / scale), lambda i: (1 - q) * q**i, bits)


@pytest.mark.parametrize("scale", [Fraction(1000), Fraction(10**7, 3), Fraction(1 << 40)], ids=str)
def test_laplace_in_blocks(scale: Fraction) -> None:
    q, width = mp.exp(-1 / real(scale)), 1 << (int(scale).bit_length() - 3)
    block = q**width
    assert_bounds(Blocks(scale, width), lambda i: (1 - block) / (1 + q) * block ** (i >> 1) * q ** (i & 1), 64)
    assert_bounds(Geometric(1 / scale, size=256), lambda i: (1 - q) / (1 - q**256) * q**i, 64)


@pytest.mark.parametrize("radius", [0, 1, 5, 10**9])
def test_truncated_laplace(radius: int) -> None:
    q = mp.exp(-mp.mpf(1) / 3)
    tail = 2 * q ** (radius + 1) / (1 + q)
    law = Blocks(Fraction(3), sides=(radius + 1, radius))
    assert_bounds(law, lambda i: (1 - q) / (1 + q) * q ** abs(signed(i)) / (1 - tail), 64)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_gaussians(scale: Fraction, bits: int) -> None:
    s = real(scale)
    total = mp.nsum(lambda k: mp.exp(-(k**2) / (2 * s**2)), [-mp.inf, mp.inf])
    assert_bounds(DiscreteGaussianLaw(scale), lambda i: mp.exp(-(mp.mpf(signed(i)) ** 2) / (2 * s**2)) / total, bits)
    assert_bounds(RoundedGaussianLaw(scale), lambda i: cell(signed(i), s), bits)


def cell(k: int, s: mp.mpf) -> mp.mpf:
    return mp.ncdf((-abs(k) + mp.mpf(1) / 2) / s) - mp.ncdf((-abs(k) - mp.mpf(1) / 2) / s)


@pytest.mark.parametrize("radius", [0, 2, 10**6])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(20)], ids=str)
def test_truncated_gaussian(scale: Fraction, radius: int) -> None:
    s = real(scale)
    inside = mp.ncdf((radius + mp.mpf(1) / 2) / s) - mp.ncdf(-(radius + mp.mpf(1) / 2) / s)
    assert_bounds(RoundedGaussianLaw(scale, radius), lambda i: cell(signed(i), s) / inside, 64)


@pytest.mark.parametrize("bits", [8, 12, 64])
def test_a_gaussian_cut_at_its_last_listed_cell(bits: int) -> None:
    """That cell is made of fine cells, and the last of these are left to the rest."""
    for scale in (Fraction(k, 37) for k in range(1, 112, 1 if bits < 64 else 2)):
        radius = (len(RoundedGaussianLaw(scale).bounds(bits)) - 1) // 2
        for reach in {radius, max(radius - 1, 0)}:
            s, bounds = real(scale), RoundedGaussianLaw(scale, reach).bounds(bits)
            inside = mp.ncdf((reach + mp.mpf(1) / 2) / s) - mp.ncdf(-(reach + mp.mpf(1) / 2) / s)
            for outcome, bound in enumerate(bounds):
                assert bound <= cell(signed(outcome), s) / inside * mp.mpf(2) ** bits + SLACK


@pytest.mark.parametrize("radius", [None, 50, 51, 10**6])
@pytest.mark.parametrize("inset", [Fraction(0), Fraction(1, 2)], ids=["points", "cells"])
def test_steps(inset: Fraction, radius: int | None) -> None:
    law = Steps(Fraction(70), 8, inset, radius)

    def height(block: int) -> mp.mpf:
        return mp.exp(-(real(law.near(block) / law.scale) ** 2) / 2)

    reach = 40 * 70 if radius is None else min(radius, 40 * 70)
    total = mp.fsum(height(block) for block in range(-((reach - 1) // 8) - 1, reach // 8 + 1))
    assert_bounds(law, lambda i: height(signed(i)) / total, 64)


def test_near_is_the_least_distance() -> None:
    cells, points = Steps(Fraction(70), 4, Fraction(1, 2)), Steps(Fraction(70), 4, Fraction(0))
    for block in range(-5, 6):
        values = range(4 * block, 4 * block + 4)
        assert points.near(block) == min(map(abs, values))
        assert cells.near(block) == max(0, min(min(abs(2 * k - 1), abs(2 * k + 1)) for k in values) / 2 * (block != 0))


@pytest.mark.parametrize("scale", [Fraction(70), Fraction(10**30 + 1, 3 * 10**27), Fraction(2**60, 7), Fraction(1, 3)])
@pytest.mark.parametrize("inset", [Fraction(0), Fraction(1, 2)], ids=["points", "cells"])
def test_distances_are_the_floats_of_near(scale: Fraction, inset: Fraction) -> None:
    law, blocks = Steps(scale, 8, inset), [*range(-40, 41), 2**55 + 1, -(2**55) - 3]
    assert law.distances(blocks) == [float(law.near(block) / scale) for block in blocks]


def test_rational_weights_are_exact() -> None:
    assert Rational((1, 2, 5)).bounds(3) == [1, 2, 5]
    assert_bounds(Rational((3, 0, 4)), lambda i: mp.mpf([3, 0, 4][i]) / 7, 64)


def test_signed_counts_outwards() -> None:
    assert [signed(i) for i in range(6)] == [0, -1, 1, -2, 2, -3]


@given(st.fractions(min_value=0, max_value=400, max_denominator=10**9), st.integers(min_value=1, max_value=300))
@settings(max_examples=60)
def test_exp_below(exponent: Fraction, places: int) -> None:
    with mp.workdps(200):
        gap = mp.exp(-real(exponent)) * mp.mpf(2) ** places - exp_below(exponent, places)
        assert -(mp.mpf(10) ** -90) <= gap < EXP_LOSS


def test_ladders_lose_no_more_than_they_say() -> None:
    start, step, places = Fraction(1, 7), Fraction(1, 90), 100
    with mp.workdps(60):
        for j, rung in enumerate(gaussian_ladder(start=start, step=step, count=700, places=places)):
            gap = mp.exp(-(real(start + j * step) ** 2) / 2) * mp.mpf(2) ** places - rung
            assert 0 <= gap <= ladder_loss(j)
        for j, rung in enumerate(geometric_ladder(step=step, count=700, places=places)):
            gap = mp.exp(-real(j * step)) * mp.mpf(2) ** places - rung
            assert 0 <= gap <= ladder_loss(j)
