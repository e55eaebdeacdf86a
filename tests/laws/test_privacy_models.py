"""The exact law of small models on tiny neighbouring data, every draw enumerated, against what was charged for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.audit.comparison import compare
from deniable.audit.exact_law import output_law
from deniable.core.mechanism import Mechanism
from deniable.cost import Exponential
from deniable.models import DecisionTree, LinearRegression, NaiveBayes
from deniable.models import trees as tree_module
from deniable.models.encoding import GRID
from deniable.models.private_scores import METRICS, Sizes, score_totals
from deniable.models.teachers import Teachers, _laplace, votes_family
from deniable.models.unit_totals import PrivateRows
from deniable.testing import Silent
from tests.models_kit import book, session, table, trained
from tests.models_kit import people as made_up

BOOK = """
name: people
unit: rows
tables:
  people:
    variables:
      sex: {type: string, categories: [f, m]}
      smoker: {type: boolean}
"""
ROWS = [(0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 1, 0)]
NEW = (0, 0, 1, 0, 1, 0)


def _laws(fit, reading, shown, tail=Fraction(1, 10**6)):
    def law(rows):
        return output_law(
            lambda entropy: shown(fit.function(table(reading, rows), entropy)), tail=tail, cut=Fraction(1, 10**9)
        )

    return law(ROWS), law([*ROWS, NEW])


def _tree():
    model = DecisionTree("smoker", features=["sex", "town"], depth=1, split="gini", thresholds=1)
    reading = model.reading(book())
    return reading, model.at(reading, 4)


def _shape(fitted):
    return tuple((node.cut, node.counts) for node in fitted.trees[0])


def _no_noise(scale, count, entropy):
    return np.zeros(count, dtype=np.int64)


def test_the_law_of_a_split_keeps_its_charge(monkeypatch):
    monkeypatch.setattr(tree_module, "discrete_laplaces", _no_noise)  # the leaves are not looked at here
    reading, fit = _tree()
    left, right = _laws(fit, reading, lambda fitted: fitted.trees[0][0].cut)
    choice = fit.cost(d_in=1).costs[0]
    assert compare(left, right, choice).kept
    assert compare(left, right, Exponential(eta=choice.eta / 16)).broken


def test_leaf_counts_that_forget_their_noise_are_caught(monkeypatch):
    """The planted fault: leaves without noise show a row that is there or not."""
    monkeypatch.setattr(tree_module, "discrete_laplaces", _no_noise)
    reading, fit = _tree()
    left, right = _laws(fit, reading, _shape)
    assert compare(left, right, fit.cost(d_in=1)).broken


@pytest.mark.parametrize("metric", METRICS)
def test_one_row_moves_the_totals_of_a_score_by_at_most_what_is_charged(metric):
    rule = METRICS[metric]
    if rule.classes == 0:
        model, wide = (
            LinearRegression("wage", features=["age"]),
            [(0, 0, 0, 0, 0, 50), (40, 0, 0, 0, 0, -10), (0, 0, 0, 0, 0, 0)],
        )
    else:
        model, wide = (
            NaiveBayes("smoker", features=["age"]),
            [(0, 0, 0, 0, 1, 0), (40, 0, 0, 0, 1, 0), (40, 0, 0, 0, 0, 0)],
        )
    fitted = trained(model, made_up(50), multiplier=Fraction(1, 9), entropy=Silent())
    reading = model.reading(book())
    sizes = Sizes.of(fitted.target, 1.0)

    def totals(rows):
        return score_totals(PrivateRows.of(table(reading, rows)), fitted, rule, sizes)

    for new in wide:
        gap = np.abs(totals([*ROWS, new]) - totals(ROWS)).sum()
        assert 0 < gap <= rule.moved * GRID


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 1e300])
@pytest.mark.parametrize("metric", ["mae", "mape", "r2"])
def test_a_model_from_outside_moves_a_score_no_further_than_is_charged(metric, weight):
    """A fitted model is a plain value that anybody may write: what it says of a row counts for one row all the same."""
    model = LinearRegression("wage", features=["age"])
    fitted = replace(trained(model, made_up(20), multiplier=1, entropy=Silent()), weights=(weight, -weight))
    reading, rule = model.reading(book()), METRICS[metric]
    with np.errstate(all="ignore"):
        added = score_totals(PrivateRows.of(table(reading, ROWS[:1])), fitted, rule, Sizes.of(fitted.target, 1.0))
    assert sum(abs(int(entry)) for entry in added) <= rule.moved * GRID


def test_the_law_of_a_noisy_vote_keeps_its_charge():
    asked = session({"sex": ["f", "m"], "smoker": [True, False]}, text=BOOK)
    teachers = Teachers(asked, NaiveBayes("smoker"), 2)
    family = votes_family(teachers, {"sex": ["f"]}, confident=False, threshold=1, answers=None, law="laplace").family
    assert isinstance(family.at(2), Mechanism)
    cost = family.at(2).cost(d_in=1)
    votes = [np.array([[2, 0]]), np.array([[1, 1]])]
    plan_scale = cost.costs[0].scale if hasattr(cost, "costs") else cost.cost.scale

    def law(counts):
        return output_law(
            lambda entropy: int((counts + _laplace(plan_scale)(2, entropy).reshape(1, 2)).argmax()),
            tail=Fraction(1, 10**8),
        )

    left, right = (law(each) for each in votes)
    assert compare(left, right, cost).kept


def test_theil_sen_and_the_functional_mechanism_have_no_delta():
    for model in (
        LinearRegression("wage", features=["age"], method="theil-sen"),
        LinearRegression("wage", method="functional"),
    ):
        assert model.price(session(made_up(5)), epsilon=1).delta == 0


@pytest.mark.parametrize("fits", [3])
def test_sixteen_threads_on_a_budget_for_three_fits_get_exactly_three(fits):
    from concurrent.futures import ThreadPoolExecutor

    from deniable.errors import BudgetExceeded

    asked = session(made_up(20), epsilon=fits, delta=0)

    def fit(place):
        model = LinearRegression("wage", features=["age"], method="functional", ridge=Fraction(place, 1000))
        try:
            return model.fit(asked, epsilon=1)
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(fit, range(16)))
    assert sum(each is not None for each in found) == fits
