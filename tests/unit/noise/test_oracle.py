"""The plain samplers of Canonne, Kamath and Steinke agree with the formulas, and so with ours."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp

import pytest

from deniable import noise
from deniable.testing import Seeded, enumerated, oracle

DRAWS = 4000


def assert_frequencies(counts: Counter[int], law: dict[int, float]) -> None:
    """Five standard errors; seeded, so the verdict never changes."""
    for outcome, chance in law.items():
        assert abs(counts[outcome] - DRAWS * chance) < 5 * (DRAWS * chance * (1 - chance)) ** 0.5, outcome


@pytest.mark.parametrize("draw", [oracle.laplace, noise.discrete_laplace])
def test_laplace(draw: object) -> None:
    scale, entropy = Fraction(5, 2), Seeded(1)
    q = exp(-1 / scale)
    counts = Counter(draw(scale, entropy) for _ in range(DRAWS))
    assert_frequencies(counts, {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-6, 7)})


@pytest.mark.parametrize("draw", [oracle.gaussian, noise.discrete_gaussian])
def test_gaussian(draw: object) -> None:
    scale, entropy = Fraction(5, 2), Seeded(2)
    counts = Counter(draw(scale, entropy) for _ in range(DRAWS))
    weight = {k: exp(-(k**2) / float(2 * scale**2)) for k in range(-40, 41)}
    assert_frequencies(counts, {k: weight[k] / sum(weight.values()) for k in range(-6, 7)})


def test_exp_coin() -> None:
    found = enumerated(lambda e: oracle.exp_coin(Fraction(1, 2), e), word_bits=4, depth=4)
    assert found.decided[True] <= Fraction(exp(-0.5)) <= found.decided[True] + found.undecided
    assert found.undecided < Fraction(1, 20)
