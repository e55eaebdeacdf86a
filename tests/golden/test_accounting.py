"""Our readings beside other accountants' and the truth (`accounting.json`, made by `make_accounting.py`), and papers' numbers."""

import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from mpmath import mpf

from deniable.accounting import calibrate, delta, epsilon
from deniable.accounting.classic import classic_gaussian_scale
from deniable.cost import Bounded, DiscreteGaussian, Gaussian
from tests.golden.accounting_cases import CASES, cost_of, delta_of
from tests.golden.accounting_page import rendered

GOLDEN = json.loads(Path(__file__).with_name("accounting.json").read_text(encoding="utf-8"))
TOOLS = GOLDEN["tools"]
ROWS = {row["id"]: row for row in GOLDEN["cases"]}
LOOSE = 1e-3
EXACT = 1e-8  # what a truth found by bisection is known to

SLOW = {"twelve Laplace", "ten thousand pure releases"}  # seconds each; `dev.py golden` makes them again


def answers(name):
    """What each tool said, as numbers; what failed, or did not apply, is not here."""
    found = {tool: about["epsilon"].get(name) for tool, about in TOOLS.items()}
    return {tool: float(value) for tool, value in found.items() if value is not None and _is_number(value)}


def _is_number(value):
    return isinstance(value, float | int) or value in ("inf", "nan")


def sound(name):
    return [value for value in answers(name).values() if value >= ROWS[name]["truth"] * (1 - EXACT)]


def test_the_file_holds_the_cases_and_says_what_made_it():
    assert [{key: row[key] for key in ("id", "delta", "parts")} for row in GOLDEN["cases"]] == CASES
    assert GOLDEN["made by"] == "tests/golden/make_accounting.py"
    assert all(about["version"] for about in TOOLS.values())
    assert {about["package"] for about in TOOLS.values()} >= {
        "dp-accounting",
        "prv-accountant",
        "autodp",
        "opacus",
        "opendp",
    }


@pytest.mark.parametrize("name", [name for name in ROWS if name not in SLOW])
def test_the_truth_in_the_file_is_true(name):
    """Computed again at both sides of it, without our accounting."""
    row = ROWS[name]
    true = delta_of(row["parts"])
    assert (
        true(row["truth"] * (1 - EXACT)) >= row["delta"] * (1 - 1e-9) >= true(row["truth"] * (1 + EXACT)) * (1 - 1e-9)
    )


@pytest.mark.parametrize("name", ROWS)
def test_ours_is_never_below_the_truth_and_as_tight_as_the_best_sound_peer(name):
    row = ROWS[name]
    found = epsilon(cost_of(row["parts"]), delta=row["delta"])
    assert found.upper == pytest.approx(GOLDEN["ours"][name], rel=1e-4)
    assert found.lower <= row["truth"] * (1 + EXACT)
    assert found.upper >= row["truth"] * (1 - EXACT)
    assert found.upper <= row["truth"] * (1 + LOOSE)
    assert all(found.upper <= value * (1 + LOOSE) for value in sound(name))


def test_some_peers_are_below_the_truth():
    """Why the truth is computed apart from them."""
    below = {
        (tool, name)
        for name, row in ROWS.items()
        for tool, value in answers(name).items()
        if value < row["truth"] * (1 - 1e-6) or math.isnan(value)
    }
    assert any(tool == "opacus GDP (CLT)" for tool, _ in below), "the central limit theorem is no bound"
    assert len(below) >= 3


def test_the_page_shows_the_file():
    page = Path(__file__).parents[2] / "docs" / "accountants.md"
    assert page.read_text(encoding="utf-8") == rendered(GOLDEN)


def test_the_numbers_of_the_tour():
    cost = Gaussian(scale=1, sensitivity=1).sampled(rate=0.01).repeated(10_000)
    found = epsilon(cost, delta=1e-6)
    assert 6.9072 < found.lower <= found.upper < 6.9077


def test_e30_the_training_run_of_the_book_costs_a_seventeenth_of_what_is_printed():
    """Twenty steps, noise fifty times the clipping norm, one row in a hundred, delta 1e-8: printed .0619, truth .003519."""
    found = epsilon(Gaussian(scale=100, sensitivity=2).sampled(rate=0.01).repeated(20), delta=1e-8)
    assert found.upper < 0.0619 / 17
    capped = min(math.log(1e8) / (a - 1) for a in range(2, 300))  # even a curve of zero at every order below 300
    assert capped > 0.0618
    assert found.lower <= ROWS["training: the most noise, twenty steps"]["truth"] <= found.upper


def test_balle_and_wang_2018_the_analytic_gaussian_beats_the_classic_one():
    """Figure 1: at epsilon 1 and delta 1e-5 the least sigma is 3.7306, the classic one 4.8448."""
    least = calibrate(lambda s: Gaussian(scale=s, sensitivity=1), epsilon=1, delta=1e-5).parameter
    assert least == pytest.approx(3.730632, rel=1e-5)
    assert float(classic_gaussian_scale(epsilon=1, delta=Fraction(1, 10**5))) == pytest.approx(4.844805, rel=1e-6)


def test_kairouz_oh_viswanath_2015_the_optimal_composition_at_its_corners():
    """Theorem 3.3, summed with 50 digits: delta at (k - 2i) epsilon for k = 20 releases of epsilon = 0.1."""
    k, each = 20, mpf(1) / 10
    for i in (1, 4, 8):
        terms = [
            mpmath.binomial(k, j) * (mpmath.exp((k - j) * each) - mpmath.exp((k - 2 * i + j) * each)) for j in range(i)
        ]
        right = mpmath.fsum(terms) / (1 + mpmath.exp(each)) ** k
        found = delta(Bounded(epsilon=Fraction(1, 10)).repeated(k), epsilon=Fraction(k - 2 * i, 10))
        assert found.lower * (1 - 1e-12) <= right <= found.upper * (1 + 1e-12)


def test_canonne_kamath_steinke_2020_the_discrete_gaussian_is_not_the_continuous_one():
    """Theorem 7, as a sum with 50 digits; at scale 1 its delta is up to twice that of a continuous Gaussian."""
    at, weights = mpf(1), {k: mpmath.exp(-mpf(k * k) / 2) for k in range(-60, 61)}
    total = mpmath.fsum(weights.values())

    def above(x):
        return mpmath.fsum(w for k, w in weights.items() if k > x) / total

    right = above(at - mpf(1) / 2) - mpmath.exp(at) * above(at + mpf(1) / 2)
    found = delta(DiscreteGaussian(scale=1, sensitivity=1), epsilon=1)
    assert found.lower <= right <= found.upper
    assert found.lower > delta(Gaussian(scale=1, sensitivity=1), epsilon=1).upper
