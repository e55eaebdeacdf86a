"""Objective perturbation: the promise holds for the law of the minimum, computed on one weight; wrong constants are caught."""

from __future__ import annotations

from fractions import Fraction
from math import log, pi, sqrt

import numpy as np
import pytest

from deniable.models import LinearRegression, LogisticRegression, objective
from deniable.models.linear import products, products_square
from deniable.models.objective import SLACK, Perturbation, gradient_steps, minimum
from deniable.models.unit_totals import PrivateRows, root_up
from tests.models_kit import book, table

WEIGHTS = np.linspace(-60, 60, 60001)


def _log_density(rows, ridge, noise):
    """The log density of the perturbed minimum over one weight: of the noise that leads to it, and how the noise moves with it."""
    slope, curve = ridge * WEIGHTS, np.full_like(WEIGHTS, ridge)
    for x, y in rows:
        chance = 1 / (1 + np.exp(np.clip(-x * WEIGHTS, -700, 700)))
        slope = slope + x * (chance - y)
        curve = curve + x * x * chance * (1 - chance)
    return -(slope**2) / (2 * noise**2) - log(noise * sqrt(2 * pi)) + np.log(curve)


def _renyi(left, right, order):
    powers = order * left + (1 - order) * right
    most = float(powers.max())
    return (most + log(float(np.exp(powers - most).sum()) * (WEIGHTS[1] - WEIGHTS[0]))) / (order - 1)


def _promise(ridge, noise, square, order):
    return log(1 + square / (4 * ridge)) + order * square / (2 * noise**2) + log(2) / (order - 1)


PAIRS = [
    ([], [(2.0, 1)]),
    ([(2.0, 0)], [(2.0, 0), (-2.0, 0)]),
    ([(1.5, 1), (-1.0, 0)], [(1.5, 1), (-1.0, 0), (2.0, 1)]),
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("order", [2, 4, 12])
def test_the_minimum_keeps_its_rényi_promise_on_one_weight(pair, order):
    ridge, noise = 2.0, 4.0
    left, right = (_log_density(rows, ridge, noise) for rows in pair)
    for one, other in ((left, right), (right, left)):
        assert _renyi(one, other, order) <= _promise(ridge, noise, 4.0, order)


def test_a_radius_that_is_not_squared_is_caught():
    """The planted fault: R in place of R squared, as printed in places."""
    ridge, noise, order = 2.0, 6.0, 8
    left, right = _log_density([], ridge, noise), _log_density([(6.0, 1)], ridge, noise)
    printed = log(1 + 6.0 / (4 * ridge)) + order * 6.0 / (2 * noise**2) + log(2) / (order - 1)
    worst = max(_renyi(left, right, order), _renyi(right, left, order))
    assert printed < worst <= _promise(ridge, noise, 36.0, order)


def test_an_intercept_that_is_not_penalised_is_caught(monkeypatch):
    """The planted fault: the promise of the ridge of all other weights, for a weight that has hardly any."""
    monkeypatch.setitem(globals(), "WEIGHTS", np.linspace(-3000, 3000, 600_001))
    noise, order = 4.0, 4
    left, right = (_log_density(rows, 0.02, noise) for rows in ([], [(2.0, 1)]))
    loss = max(_renyi(left, right, order), _renyi(right, left, order))
    assert _promise(2.0, noise, 4.0, order) < loss / 2
    assert loss <= _promise(0.02, noise, 4.0, order)


def test_the_record_is_the_promise_and_the_slack_is_paid():
    reading = LogisticRegression("smoker").reading(book())
    known = Perturbation.of(reading, 5, 0)
    most = reading.encoding.most
    assert known.noise**2 >= 25 * most
    for order, loss in known.cost.curve:
        exact = _promise(float(known.ridge), float(known.noise), most, float(order))
        rest = float(order) * float(known.off) ** 2 / (2 * float(known.blur) ** 2)
        assert float(loss) >= exact + rest - 1e-9
        assert float(loss) <= exact + rest + 1e-6
    assert known.slack > SLACK
    assert known.off >= 2 * known.slack / known.ridge
    finer = Perturbation.of(reading, 5, Fraction(10**6))
    assert finer.ridge == 10**6


def test_the_minimum_found_is_where_the_gradient_vanishes():
    rng = np.random.default_rng(2)  # noqa: TID251 - public test data
    features = rng.uniform(-1, 1, (50, 4))
    labels = (rng.random(50) < 0.5).astype(float)
    for push in (np.zeros(4), np.array([1e4, -3.0, 0.0, 7.0])):
        found = minimum(features, labels, push, 0.5)
        chances = 1 / (1 + np.exp(np.clip(-features @ found, -700, 700)))
        slope = features.T @ (chances - labels) + 0.5 * found + push
        assert float(np.linalg.norm(slope)) <= float(SLACK)
    assert minimum(np.zeros((0, 2)), np.zeros(0), np.zeros(2), 1.0).tolist() == [0, 0]


def _hard(count):
    """Features of very different size, nearly collinear, with labels that are parted."""
    first = np.linspace(-3, 3, count)
    features = np.stack([np.ones(count), first, first + 1e-6 * np.cos(first), 1e-3 * first**2], axis=1)
    return features, (first > 0).astype(float)


@pytest.mark.parametrize("count", [0, 1, 400])
@pytest.mark.parametrize("push", [0.0, 1e4, -1e6])
def test_the_search_ends_where_newton_does_not_settle(monkeypatch, count, push):
    """Whatever the data: the other way finds the same minimum within the steps its theorem names."""
    features, labels = _hard(count)
    pushes, ridge = np.full(4, push), 0.5
    by_newton = minimum(features, labels, pushes, ridge)
    monkeypatch.setattr(objective, "NEWTON_STEPS", 0)
    found = minimum(features, labels, pushes, ridge)
    assert np.linalg.norm(objective._slope(features, labels, pushes, ridge, found)) <= float(SLACK) / 2
    assert np.linalg.norm(found - by_newton) <= float(SLACK) / ridge


def test_too_few_steps_are_caught(monkeypatch):
    features, labels = _hard(400)
    monkeypatch.setattr(objective, "NEWTON_STEPS", 0)
    monkeypatch.setattr(objective, "gradient_steps", lambda *given: gradient_steps(*given) // 100)
    found = minimum(features, labels, np.full(4, 1e4), 0.5)
    assert np.linalg.norm(objective._slope(features, labels, np.full(4, 1e4), 0.5, found)) > float(SLACK)


def test_two_algorithms_have_two_names():
    """Erratum 21: the functional mechanism and objective perturbation are different; each is asked for by its own name."""
    reading = LinearRegression("wage").reading(book())
    functional = LinearRegression("wage", method="functional").at(reading, 2).cost(d_in=1)
    every_number_at_its_end = PrivateRows.of(table(reading, [(40, 16, 1, 2, 1, 50)]))
    farthest = products(every_number_at_its_end, reading, norm=root_up(products_square(reading)))
    assert functional.sensitivity == sum(abs(int(each)) for each in farthest)
    reading = LogisticRegression("smoker").reading(book())
    objective = LogisticRegression("smoker", method="objective").at(reading, 2).cost(d_in=1)
    assert type(objective) is not type(functional)
    assert objective.curve  # a Rényi curve, no Laplace noise
