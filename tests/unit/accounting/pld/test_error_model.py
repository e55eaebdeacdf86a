"""What the error model of docs/theory/pld.md assumes of NumPy, tried against 50 digits; planted errors would show."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from deniable.accounting.pld.outward import U, fft_error, suffix_sums

mpmath.mp.dps = 50
POINTS = np.concatenate([np.linspace(-30, 30, 301), np.geomspace(1e-12, 700, 120), -np.geomspace(1e-12, 700, 120)])


def worst(found, right):
    return max(abs(mpf(float(a)) / b - 1) for a, b in zip(found, right, strict=True) if b)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p"])
def test_elementary_functions_stay_within_four_ulp(name):
    points = np.abs(POINTS[POINTS != 0]) if name.startswith("log") else POINTS
    if name == "log":
        points = points[points != 1]
    right = [getattr(mpmath, name)(mpf(float(x))) for x in points]
    assert worst(getattr(np, name)(points), right) <= 8 * U


def test_turns_on_the_circle_stay_within_four_ulp_of_one():
    angles = np.linspace(0, 2 * math.pi, 401)
    for name in ("cos", "sin"):
        right = [getattr(mpmath, name)(mpf(float(x))) for x in angles]
        errors = [abs(mpf(float(a)) - b) for a, b in zip(getattr(np, name)(angles), right, strict=True)]
        assert max(errors) <= 8 * U


def exact_transform(masses):
    size = len(masses)
    turn = [mpmath.expjpi(mpf(-2 * k) / size) for k in range(size)]
    return [mpmath.fsum(mpf(float(m)) * turn[j * k % size] for j, m in enumerate(masses)) for k in range(size // 2 + 1)]


@pytest.mark.parametrize("size", [64, 96, 160, 225, 256])
@pytest.mark.parametrize("shape", ["peak", "flat", "steep"])
def test_the_transform_errs_less_than_assumed(size, shape):
    places = np.arange(size)
    masses = {
        "peak": np.exp(-((places - 20.0) ** 2) / 8),
        "flat": 1 + 0.3 * np.sin(places),
        "steep": np.exp(-places / 2),
    }
    law = masses[shape] / masses[shape].sum()
    found, right = np.fft.rfft(law), exact_transform(law)
    error = math.sqrt(math.fsum(float(abs(mpmath.mpc(complex(a)) - b)) ** 2 for a, b in zip(found, right, strict=True)))
    assert error <= fft_error(size) * math.sqrt(size) * float(np.linalg.norm(law)) / 2


@pytest.mark.parametrize("size", [1, 2, 10, 1000, 4097])
def test_suffix_sums_err_like_a_square_root(size):
    terms = np.exp(-np.arange(size) * 0.01) * (1 + np.sin(np.arange(size)) / 3)
    found = suffix_sums(terms)
    right = np.array([math.fsum(terms[k:]) for k in range(size)])
    assert float(np.max(np.abs(found / right - 1))) <= U * (4 + 2 * math.sqrt(size))
