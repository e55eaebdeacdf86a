"""The chance of one class of several as an expression: near the model's own, for every class, in SQL too."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.models import LinearRegression, LogisticRegression, NaiveBayes
from deniable.models.inference import class_mixes
from deniable.testing import Seeded, Silent
from tests.models_kit import people, session, trained

ROWS = people(80)
FEW = people(24)
"""Enough where each row is read through an expression of more than a thousand nodes."""


@pytest.mark.parametrize(("classes", "near"), [(2, 1e-9), (3, 0.03), (4, 0.045), (5, 0.06)])
def test_the_least_of_the_mixes_is_near_the_log_odds_of_a_class(classes, near):
    """Scores on a grid of corners and middles; the planted fault, the highest other score alone, is further off."""
    places = np.linspace(-6, 0, {2: 61, 3: 31, 4: 13, 5: 7}[classes])
    grid = np.array(np.meshgrid(*[places] * (classes - 1), indexing="ij")).reshape(classes - 1, -1).T
    scores = np.insert(grid, 1, 0.0, axis=1)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    for wanted in range(classes):
        odds = logs[:, wanted] - np.log1p(-np.exp(logs[:, wanted]))
        mixes = class_mixes(classes, wanted)
        found = np.min([scores @ np.array(mix.weights) + mix.plus for mix in mixes], axis=0)
        assert np.abs(1 / (1 + np.exp(-found)) - np.exp(logs[:, wanted])).max() <= near
        alone = scores[:, wanted] - np.delete(scores, wanted, axis=1).max(axis=1)
        assert classes == 2 or np.abs(1 / (1 + np.exp(-alone)) - 1 / (1 + np.exp(-odds))).max() > 0.1


@pytest.mark.slow
def test_every_class_of_several_is_an_expression_also_in_sql():
    asked = session(FEW, entropy=Silent())
    fitted = LogisticRegression("town", steps=10).fit(asked, epsilon=20, request="towns")
    chances = fitted.probabilities(FEW).mean(axis=0)
    for place, town in enumerate("abc"):
        text = f"SELECT AVG(prediction('towns', '{town}')) AS p FROM people"
        assert asked.sql(text, epsilon=1).value() == pytest.approx(float(chances[place]), abs=0.07)


@pytest.mark.parametrize("model", [LogisticRegression("town", steps=5), NaiveBayes("town"), NaiveBayes("smoker")])
def test_log_odds_as_columns_give_the_same_chances(model):
    asked = session({**FEW, "age": [None, *FEW["age"][1:]]}, entropy=Silent())
    fitted = model.fit(asked, epsilon=20)
    for of in fitted.classes:
        whole = asked.query().derive(p=fitted.expression(of=of))
        parts = asked.query().derive(**fitted.odds(of=of)).derive(p=fitted.chance(of=of))
        found = [each.agg(n=dp.count("p"), total=dp.sum("p")).release(epsilon=1) for each in (whole, parts)]
        assert [each["n"] for each in found] == [[23], [23]]
        assert found[0]["total"] == found[1]["total"]


def test_an_estimator_without_log_odds_says_so():
    with pytest.raises(InvalidArgument, match="no log odds"):
        trained(LinearRegression("wage"), ROWS, multiplier=1, entropy=Seeded(1)).odds()
