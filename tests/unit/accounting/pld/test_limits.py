"""Every public bound on a reading is enforced: lowered, it stops a reading that is otherwise made, and the bracket stays sound."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting.pld import PrivacyLoss, discretization, outward, spectrum

COSTS = {
    "Gaussian": dp.costs.Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 10)).repeated(20),
    "lattice": (dp.costs.DiscreteLaplace(scale=3, sensitivity=2) + dp.costs.Laplace(scale=3)).repeated(9),
    "Laplace": dp.costs.Laplace(scale=3).sampled(rate=Fraction(1, 10)).repeated(20),
}
DELTA = Fraction(1, 10**6)


@pytest.mark.parametrize("name", COSTS)
def test_too_many_knots_stop_a_reading(name, monkeypatch):
    full = PrivacyLoss(COSTS[name]).epsilon(DELTA, gap=1e-4)
    assert not full.note
    monkeypatch.setattr(discretization, "MOST_KNOTS", 4)
    found = PrivacyLoss(COSTS[name]).epsilon(DELTA, gap=1e-4)
    assert found.note
    assert found.lower <= full.upper
    assert found.upper >= full.lower


def test_too_many_places_stop_a_reading(monkeypatch):
    monkeypatch.setattr(spectrum, "MOST_PLACES", 4)
    monkeypatch.setattr(spectrum, "MOST_TERMS", 4)
    assert PrivacyLoss(COSTS["Gaussian"]).epsilon(DELTA, gap=1e-4).note


def test_every_bound_is_read_somewhere():
    """A bound that no code reads is a promise nobody keeps."""
    readers = [spectrum, discretization]
    stated = {name for name in vars(outward) if name.startswith("MOST_")}
    read = {name for module in readers for name in stated if name in vars(module)} | {"MOST_WORK"}
    assert stated == read
    assert outward.Meter.__init__.__defaults__ == (outward.MOST_WORK,)


SAMPLE = dp.costs.Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 11)).repeated(21)
MADE_OF_IT = {
    "itself": SAMPLE,
    "disjoint parts": dp.costs.Parallel((SAMPLE, dp.costs.Laplace(scale=5))),
    "a group": dp.costs.Grouped(SAMPLE + dp.costs.Laplace(scale=5), 2),
    "disjoint parts twice": dp.costs.Parallel((SAMPLE, dp.costs.Laplace(scale=5))).repeated(2),
    "bounded range beside it": SAMPLE + dp.costs.Exponential(eta=Fraction(1, 10)).repeated(2),
}


@pytest.mark.parametrize("name", MADE_OF_IT)
def test_a_bound_that_was_reached_is_told_whatever_is_made_of_the_cost(name, monkeypatch):
    """Disjoint parts, groups and lower ends by other mechanisms pass on why their bracket is wide."""
    for module, most in ((discretization, "MOST_KNOTS"), (spectrum, "MOST_PLACES"), (spectrum, "MOST_TERMS")):
        monkeypatch.setattr(module, most, 4)
    assert dp.epsilon(MADE_OF_IT[name], delta=DELTA, gap=1e-2).note
    assert dp.delta(MADE_OF_IT[name], epsilon=1, gap=1e-2).note
