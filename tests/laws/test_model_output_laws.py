"""Whole small fits on coarse grids, every draw enumerated: the law of the model against what was charged for it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable.audit.comparison import compare
from deniable.audit.exact_law import output_law
from deniable.cost import Gaussian
from deniable.models import (
    DecisionTree,
    KMeans,
    LogisticRegression,
    NaiveBayes,
    centring,
    clusters,
    descent,
    encoding,
    naive_bayes,
    private_scores,
)
from deniable.models import logistic as logistic_module
from deniable.models.cross_validation import folds_on
from deniable.models.links import LossLink
from deniable.models.task import TotalNoise
from tests.models_kit import book, table

ROWS = [(0, 0, 0, 0, 0, 0)]
NEW = (40, 0, 1, 0, 1, 0)
LOSSES = (0, Fraction(1, 2), 1)


def _coarse(monkeypatch, *modules):
    """One step to 1, so that a few whole numbers are all there is."""
    for module in modules:
        for name in ("GRID", "UNIT", "LINK_GRID"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, 1)


def _laws(fit, reading, shown, tail=Fraction(1, 10**4), cut=Fraction(1, 10**7)):
    def law(rows):
        return output_law(
            lambda entropy: shown(fit.function(table(reading, rows), entropy)),
            tail=tail,
            cut=cut,
        )

    return law(ROWS), law([*ROWS, NEW])


def _kept(left, right, cost):
    """The law keeps its charge, and not a third of it: the planted fault, noise for a shorter row than there is."""
    assert compare(left, right, cost, losses=LOSSES).kept
    less = Gaussian(scale=3 * cost.scale, squared_sensitivity=cost.squared_sensitivity)
    assert compare(left, right, less, losses=LOSSES).broken


def test_the_law_of_naive_bayes_keeps_its_charge(monkeypatch):
    _coarse(monkeypatch, encoding, naive_bayes)
    model = NaiveBayes("smoker", features=["age"], law="exponential", bins=2)  # of a grid of two steps
    reading = model.reading(book())
    fit = model.at(reading, Fraction(2, 5))
    left, right = _laws(fit, reading, lambda found: (found.counts, found.laws))
    _kept(left, right, fit.cost(d_in=1))


def test_the_law_of_a_step_of_k_means_keeps_its_charge(monkeypatch):
    _coarse(monkeypatch, encoding, clusters)
    model = KMeans(1, features=["age"], rounds=1)
    reading = model.reading(book())
    fit = model.at(reading, Fraction(2, 5))
    left, right = _laws(fit, reading, lambda found: (found.centres, found.counts, found.calinski_harabasz))
    _kept(left, right, fit.cost(d_in=1))


def test_the_law_of_the_scores_of_two_folds_keeps_its_charge(monkeypatch):
    """Two trees, each of one fold's rows and scored on the other's; the planted fault is a third of the noise that is charged."""
    _coarse(monkeypatch, encoding, private_scores)
    model = DecisionTree("smoker", features=["sex"], depth=1, thresholds=1)
    reading = model.reading(book())

    def folds(multiplier):
        return folds_on(reading, model, score="accuracy", folds=2).at(multiplier)

    def shown(found):
        return tuple(fold.totals for fold in found.folds)

    fit = folds(Fraction(1, 4))
    left, right = _laws(fit, reading, shown, Fraction(1, 10**3), Fraction(1, 10**4))
    assert compare(left, right, fit.cost(d_in=1), losses=LOSSES).kept
    assert compare(left, right, folds(Fraction(3, 4)).cost(d_in=1), losses=LOSSES).broken


@pytest.fixture
def two_gradients(monkeypatch):
    """Two gradients of a coarse logistic regression whose sums and products are given: they are answers of their own."""
    _coarse(monkeypatch, encoding, centring, descent)
    for module in (centring, descent):
        monkeypatch.setattr(module, "UNIT", 2)

    def residuals(scores, truth):
        return truth - (scores > 0)

    monkeypatch.setattr(logistic_module, "LOGISTIC", LossLink("logistic", residuals, 1, 0.25))
    monkeypatch.setattr(descent, "column_sums", lambda rows, encoding, norm: np.array([4, 2, 1]))
    monkeypatch.setattr(descent, "gram", lambda rows, matrix, norm: np.array([4, 2, 1, 4, 1, 4]))
    honest = descent.DescentPlan.of

    def plan(*words):
        known = honest(*words)
        given = TotalNoise(0, Fraction(1, 64))
        return descent.DescentPlan(given, given, known.gradient)

    monkeypatch.setattr(descent.DescentPlan, "of", plan)
    model = LogisticRegression("smoker", features=["sex"], steps=2)
    reading = model.reading(book())
    return model, reading, model.at(reading, Fraction(3, 20))


def test_the_law_of_two_steps_of_logistic_regression_keeps_its_charge(two_gradients):
    _, reading, fit = two_gradients
    left, right = _laws(fit, reading, lambda found: found.weights, Fraction(1, 10**3), Fraction(1, 10**5))
    step = fit.cost(d_in=1).costs[-1].cost
    both = Gaussian(scale=step.scale, squared_sensitivity=2 * step.squared_sensitivity)
    assert compare(left, right, both, losses=LOSSES).kept
    assert compare(
        left, right, Gaussian(scale=5 * step.scale, squared_sensitivity=step.squared_sensitivity), losses=LOSSES
    ).broken
