"""Private scores: the totals are those of the rows, the value is the textbook's, the price is one release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidArgument
from deniable.models import LinearRegression, LogisticRegression, NaiveBayes
from deniable.models.estimator import Estimator
from deniable.models.private_scores import score_on
from deniable.testing import Seeded, Silent
from tests.models_kit import UNIT_BOOK, book, codes, people, session, table

ROWS = people(200)


@pytest.fixture(scope="module")
def silent():
    return session(ROWS, epsilon=100000, entropy=Silent())


@pytest.fixture(scope="module")
def classifier(silent):
    return LogisticRegression("smoker").fit(silent, epsilon=10)


@pytest.fixture(scope="module")
def regression(silent):
    return LinearRegression("wage").fit(silent, epsilon=10)


def test_accuracy_precision_recall_are_the_shares_of_the_rows(silent, classifier):
    found, truth = np.array(classifier.predict(ROWS)), np.array(ROWS["smoker"])
    wanted = {
        "accuracy": (found == truth).mean(),
        "precision": truth[found].mean(),
        "recall": found[truth].mean(),
    }
    for metric, value in wanted.items():
        score = silent.score(classifier, metric=metric, epsilon=1)
        assert score.value == pytest.approx(value)
        assert score.lower < score.value < score.upper
        assert metric in str(score)
        assert len(score.release_table().rows) == 8


def test_auc_counts_pairs_of_rows_in_order(silent, classifier):
    chance, truth = classifier.probabilities(ROWS)[:, 1], np.array(ROWS["smoker"])
    bins = np.minimum((chance * 32).astype(int), 31)
    pairs = [(a > b) + (a == b) / 2 for a in bins[truth] for b in bins[~truth]]
    assert silent.score(classifier, metric="auc", epsilon=1).value == pytest.approx(np.mean(pairs))
    assert 0 <= silent.score(classifier, metric="calibration", epsilon=1).value < 0.2


def test_errors_of_a_number_are_in_its_own_unit(silent, regression):
    off = np.abs(regression.predict(ROWS) - np.array(ROWS["wage"]))
    assert silent.score(regression, metric="mae", epsilon=1).value == pytest.approx(off.mean(), abs=0.1)
    share = np.minimum(off / np.maximum(np.abs(ROWS["wage"]), 5), 1)
    assert silent.score(regression, metric="mape", floor=5, epsilon=1).value == pytest.approx(share.mean(), abs=0.03)
    wage = np.array(ROWS["wage"])
    exact = 1 - (off**2).sum() / ((wage - wage.mean()) ** 2).sum()
    assert silent.score(regression, metric="r2", epsilon=1).value == pytest.approx(exact, abs=0.03)


def test_a_score_is_charged_and_the_same_one_is_free():
    asked = session(ROWS)
    model = NaiveBayes("smoker").fit(asked, epsilon=1)
    spent = asked.spent.loss
    first = asked.score(model, metric="accuracy", epsilon=Fraction(1, 2), request="mine")
    assert asked.spent.loss == spent + Fraction(1, 2)
    assert asked.score(model, metric="accuracy", epsilon=Fraction(1, 2)) == first
    assert asked.fetch("mine") == first
    assert asked.spent.loss == spent + Fraction(1, 2)
    other = NaiveBayes("smoker", law="binned").fit(asked, epsilon=1)
    before = asked.spent.loss
    asked.score(other, metric="accuracy", epsilon=Fraction(1, 2))
    assert asked.spent.loss > before  # another model is another question


def test_training_and_scoring_rows_of_the_same_people_are_both_charged():
    """One ledger holds both: whoever is in the rows that train and in those that are scored pays twice."""
    asked = session(people(100, who=True), text=UNIT_BOOK, epsilon=2)
    model = NaiveBayes("smoker", where="age < 20").fit(asked, epsilon=1)
    asked.score(model, metric="accuracy", where="age >= 20", epsilon=Fraction(1, 2))
    assert float(asked.spent.loss) == pytest.approx(1.5, rel=1e-3)


def test_an_interval_covers_what_the_noise_does(classifier):
    exact = (np.array(classifier.predict(ROWS)) == np.array(ROWS["smoker"])).mean()
    covered = 0
    reading = Estimator("smoker", features=[each.name for each in classifier.features]).reading(book())
    ask = score_on(reading, classifier, metric="accuracy")
    for run in range(40):
        score = ask.at(10).function(table(reading, codes(ROWS)), Seeded(run))
        covered += score.lower <= exact <= score.upper
    assert covered >= 32


@pytest.mark.parametrize(
    ("metric", "text"),
    [("auroc", "metric must be"), ("r2", "needs a number"), ("mae", "needs a number"), ("mape", "needs a number")],
)
def test_metrics_that_do_not_fit_are_refused_for_nothing(classifier, metric, text):
    asked = session(ROWS)
    with pytest.raises(InvalidArgument, match=text):
        asked.score(classifier, metric=metric, epsilon=1)
    several = LogisticRegression("town", steps=2).fit(asked, epsilon=1)
    with pytest.raises(InvalidArgument, match="two classes"):
        asked.score(several, metric="auc", epsilon=1)
    with pytest.raises(InvalidArgument, match="with a target"):
        asked.score("model", metric="accuracy", epsilon=1)
