"""Linear forms of released numbers and their quotients: bounds against the enumerated law, shares against drawn noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.kernels import Law, noise_of
from deniable.query.linear_noise import EVERYWHERE, NoisyForms, ReleasedNumber
from tests.unit.query.test_interval_coverage import lattice

BETA = Fraction(1, 20)


def released(values: list[float], scale: Fraction, law: Law = Law.LAPLACE) -> list[ReleasedNumber]:
    noise = noise_of(law, scale)
    return [ReleasedNumber((v - 1, v + 1), v, noise, measured=("t", "n", row)) for row, v in enumerate(values)]


def pmf(scale: Fraction, factor: int, reach: int = 400) -> np.ndarray:
    """The law of factor times discrete Laplace noise."""
    law = np.zeros(2 * reach + 1)
    q = np.exp(-1 / float(scale))
    for k in range(-(reach // factor), reach // factor + 1):
        law[reach + factor * k] = (1 - q) / (1 + q) * q ** abs(k)
    return law


@pytest.mark.parametrize("factors", [(1, 1), (1, 1, 1, 1), (1,) * 9, (3, 1, 1, 1, 2)])
@pytest.mark.parametrize("scale", [Fraction(2), Fraction(9)])
def test_no_sum_passes_its_bound_more_often_than_it_says(factors: tuple[int, ...], scale: Fraction) -> None:
    cells = released([0.0] * len(factors), scale)
    forms = NoisyForms.of([{place: Fraction(c) for place, c in enumerate(factors)}], cells)
    reach = forms.reach(forms.rows[0], BETA)
    law = pmf(scale, factors[0])
    for factor in factors[1:]:
        law = np.convolve(law, pmf(scale, factor), mode="same")
    away = np.abs(np.arange(len(law)) - len(law) // 2)
    assert law[away > reach].sum() <= float(BETA)
    assert law[away > reach / 2].sum() > float(BETA)  # half as far would not do


def test_one_measurement_has_one_noise() -> None:
    """Shown in two columns it cancels in their difference; of different cells it does not."""
    first, second = released([5.0, 5.0], Fraction(3))
    twice = replace(second, measured=first.measured)
    same, apart = (NoisyForms.of([{0: Fraction(1), 1: Fraction(-1)}], [first, other]) for other in (twice, second))
    assert same.reach(same.rows[0], BETA) == pytest.approx(0, abs=1e-6)
    assert apart.reach(apart.rows[0], BETA) > 9


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
def test_shares_hold_the_truth_and_a_smaller_noise_would_not(law: Law) -> None:
    """The share of one of four counts, over 40 draws that lie evenly in the law of their noises."""
    scale, truth = Fraction(5), np.array([60, 50, 40, 20])
    shown = truth[:, None] + np.array([*lattice([noise_of(law, scale)] * 4, 40)])
    failed = {1: 0, 4: 0}
    for smaller in failed:
        for draw in shown.T.astype(float):
            forms = NoisyForms.of(
                [{0: Fraction(1)}, dict.fromkeys(range(4), Fraction(1))], released([*draw], scale / smaller, law)
            )
            low, high = forms.quotient(draw[0], draw.sum(), value=draw[0] / draw.sum(), beta=BETA)
            failed[smaller] += not low <= truth[0] / truth.sum() <= high
    assert failed[1] <= 2
    assert failed[4] > 6


def test_a_total_that_may_be_noise_divides_nothing() -> None:
    forms = NoisyForms.of([{0: Fraction(1)}, {0: Fraction(1), 1: Fraction(1)}], released([3.0, -1.0], Fraction(5)))
    assert forms.quotient(3.0, 2.0, value=1.5, beta=BETA) == EVERYWHERE
