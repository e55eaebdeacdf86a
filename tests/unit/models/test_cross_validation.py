"""Cross-validation in a session: one charge, each fold scored by a model fitted without it, stored and free afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dp
from deniable.errors import BudgetExceeded, InvalidArgument
from deniable.models import (
    PCA,
    FoldScores,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    RandomForest,
)
from deniable.models.cross_validation import fold_of_row, folds_family, mean_score
from deniable.models.private_scores import METRICS, score_on
from deniable.models.unit_totals import PrivateRows
from deniable.testing import Seeded, Silent
from tests.models_kit import CHANGED_BOOK, ROW_BOOK, UNIT_BOOK, book, codes, people, session, table

ROWS = people(120)


def test_cross_validation_is_one_charge_and_the_same_one_is_free():
    asked = session(ROWS)
    found = asked.cross_validate(NaiveBayes("smoker"), score="accuracy", folds=3, epsilon=6, request="folds")
    assert isinstance(found, FoldScores)
    assert len(asked.history) == 1
    spent = asked.spent.loss
    assert 5.9 < spent <= 6
    assert asked.cross_validate(NaiveBayes("smoker"), score="accuracy", folds=3, epsilon=6) == found
    assert asked.fetch("folds") == found
    assert asked.spent.loss == spent
    assert found.receipt is not None
    assert len(found.release_table().rows) == 8
    assert found.value == pytest.approx(sum(fold.value for fold in found.folds) / 3)
    assert "mean over 3 folds" in str(found)
    assert "by fold: " in str(found)
    assert found.guarantee in str(found)
    asked.cross_validate(NaiveBayes("smoker"), score="accuracy", folds=4, epsilon=6)
    assert asked.spent.loss > spent  # other folds are another question


def test_without_noise_each_fold_is_scored_by_a_model_of_the_others():
    asked = session(ROWS, epsilon=10**6, entropy=Silent())
    model = LogisticRegression("smoker", steps=10)
    found = asked.cross_validate(model, score="accuracy", folds=3, epsilon=100)
    reading = model.reading(book())
    bought = asked.quote(folds_family(book(), model, score="accuracy", folds=3), epsilon=100)
    cells = codes(ROWS)
    place = fold_of_row(PrivateRows.of(table(reading, cells)), 3)
    for fold, score in enumerate(found.folds):
        out = [row for row, inside in zip(cells, place == fold, strict=True) if inside]
        rest = [row for row, inside in zip(cells, place == fold, strict=True) if not inside]
        fitted = model.at(reading, bought.mechanism.parameter).function(table(reading, rest), Silent())
        held = PrivateRows.of(table(reading, out))
        right = fitted.outputs(held.codes, held.count).argmax(axis=1) == held.codes["smoker"]
        assert score.totals == (float((~right).sum()), float(right.sum()))


def test_the_interval_of_the_mean_holds_as_often_as_it_says():
    """Given the models: the noisy mean against the mean of the same scores without their noise."""
    model, cells = NaiveBayes("smoker"), codes(ROWS)
    reading = model.reading(book())
    fitted = model.at(reading, 1).function(table(reading, cells), Silent())
    asked = score_on(reading, fitted, metric="accuracy").at(4)
    parts = [table(reading, cells[at::3]) for at in range(3)]
    truth = mean_score([asked.function(part, Silent()) for part in parts]).value
    entropy, held, narrow = Seeded(5), 0, 0
    for _ in range(300):
        found = mean_score([asked.function(part, entropy) for part in parts])
        held += found.lower <= truth <= found.upper
        middle, third = found.value, (found.upper - found.value) / 3
        narrow += abs(middle - truth) <= third
    assert held >= 285
    assert narrow < 285  # and a third of it does not


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_its_mean_over_folds(metric):
    model = LinearRegression("wage") if METRICS[metric].classes == 0 else NaiveBayes("smoker")
    for rows in (people(60, who=True), {name: [] for name in people(1, who=True)}):
        found = session(rows, text=UNIT_BOOK, epsilon=10**6).cross_validate(model, score=metric, folds=2, epsilon=50)
        assert found.metric == metric
        assert len(found.folds) == 2
        assert np.isfinite([found.value, found.lower, found.upper, found.spread]).all()
        assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize(
    "model", [NaiveBayes("smoker"), RandomForest("smoker", depth=1), LogisticRegression("smoker", steps=2)]
)
@pytest.mark.parametrize("text", [ROW_BOOK, UNIT_BOOK, CHANGED_BOOK])
def test_no_rows_raise(model, text):
    """No rows at all, one unit, one class only, rows that are all alike: most folds are empty."""
    some = people(12, who=text == UNIT_BOOK)
    one = {name: column[:1] for name, column in some.items()}
    alike = {name: column[:1] * 6 for name, column in some.items()}
    for rows in ({name: [] for name in some}, one, alike, {**some, "smoker": [True] * 12}):
        found = session(rows, text=text).cross_validate(model, score="auc", folds=5, epsilon=5)
        assert 0 <= found.value <= 1


def test_bounds_that_are_found_are_found_in_each_fit():
    text = ROW_BOOK.replace("age: {type: integer, bounds: [0, 40]}", "age: {type: integer}")
    asked = session(people(300), text=text, epsilon=1000)
    model = LogisticRegression("smoker", features=["age"], steps=5, bounds="private")
    found = asked.cross_validate(model, score="accuracy", folds=2, epsilon=100)
    assert found.value > 0.6


@pytest.mark.parametrize(
    ("model", "score", "folds", "text"),
    [
        ("model", "auc", 5, "takes an estimator"),
        (NaiveBayes("smoker"), "luck", 5, "score must be one of accuracy"),
        (NaiveBayes("smoker"), "calinski_harabasz", 5, "score must be one of accuracy"),
        (NaiveBayes("smoker"), "auc", 1, "folds"),
        (NaiveBayes("smoker"), "auc", 101, "folds"),
        (NaiveBayes("smoker"), "auc", 2.5, "folds"),
        (NaiveBayes("town"), "auc", 5, "two classes"),
        (NaiveBayes("smoker"), "mae", 5, "a number as target"),
        (KMeans(2), "auc", 5, "needs a model with a target, got k-means"),
        (PCA(1), "r2", 5, "needs a model with a target"),
        (NaiveBayes("nobody"), "auc", 5, "no column 'nobody'"),
    ],
)
def test_what_cannot_be_validated_is_refused_before_any_charge(model, score, folds, text):
    asked = session(ROWS)
    with pytest.raises(InvalidArgument, match=text):
        asked.cross_validate(model, score=score, folds=folds, epsilon=1)
    for wrong in ({"confidence": 1}, {"floor": 0}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            asked.cross_validate(NaiveBayes("smoker"), score="auc", epsilon=1, **wrong)
    assert asked.spent.loss == 0


def test_over_budget_nothing_is_charged():
    asked = session(ROWS, epsilon=1)
    with pytest.raises(BudgetExceeded):
        asked.cross_validate(NaiveBayes("smoker"), score="auc", epsilon=2)
    assert asked.spent.loss == 0


def test_changed_rows_pay_for_all_fits_and_two_scores():
    """A changed row may leave one fold and enter another, so it is the dearer unit at the same noise."""

    def cost(text):
        return folds_family(book(text), NaiveBayes("smoker"), score="auc", folds=3).at(4).cost(d_in=1)

    assert dp.epsilon(cost(CHANGED_BOOK), delta=1e-6).lower > dp.epsilon(cost(ROW_BOOK), delta=1e-6).upper
