"""What every estimator does through a session: price, fit, store, fetch, card; bad input is refused for nothing, bad data never."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable.audit.comparison import check_privacy
from deniable.errors import BudgetExceeded, InvalidArgument
from deniable.models import (
    PCA,
    AdditiveModel,
    DecisionTree,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    Network,
    RandomForest,
    Training,
)
from tests.models_kit import CHANGED_BOOK, COLUMNS, ROW_BOOK, UNIT_BOOK, people, session

ROWS = people(60)
MODELS = {
    "linear": LinearRegression("wage"),
    "functional": LinearRegression("wage", method="functional"),
    "linear descent": LinearRegression("wage", method="descent", steps=4),
    "logistic": LogisticRegression("smoker", steps=4),
    "objective": LogisticRegression("smoker", method="objective", features=["age", "sex"]),
    "multinomial": LogisticRegression("town", steps=4),
    "theil-sen": LinearRegression("wage", features=["age"], method="theil-sen", matchings=2),
    "tree": DecisionTree("smoker", depth=2, thresholds=3),
    "forest": RandomForest("town", depth=2, trees=3, thresholds=3, split="correct"),
    "additive": AdditiveModel("smoker", turns=2, thresholds=3),
    "additive of a number": AdditiveModel("wage", turns=1, thresholds=3),
    "k-means": KMeans(2, rounds=2),
    "components": PCA(2),
    "naive Bayes": NaiveBayes("smoker"),
    "naive Bayes of bins": NaiveBayes("town", law="binned"),
    "naive Bayes of laws": NaiveBayes("smoker", law={"age": "lognormal", "wage": "exponential"}),
}
ONE_ROW_ONLY = {"functional", "objective"}
NETWORKS = {
    "network": Training(Network((3,)), target="smoker", steps=4, rate=Fraction(1, 4)),
    "disjoint batches": Training(Network(()), target="smoker", steps=2, rate=Fraction(1, 2), batches="disjoint"),
}


@pytest.mark.parametrize("name", [*MODELS, *NETWORKS])
def test_a_fit_is_priced_for_free_charged_once_and_stored(name):
    asked = session(ROWS)
    model = (MODELS | NETWORKS)[name]
    price = model.price(asked, epsilon=1)
    assert asked.spent.loss == 0
    assert price.epsilon <= 1
    assert model.title in str(price)
    fitted = model.fit(asked, epsilon=1, request="mine")
    assert 0 < asked.spent.loss <= 1
    spent = asked.spent
    assert model.fit(asked, epsilon=1) == fitted  # the same question is the same answer
    assert asked.fetch("mine") == fitted
    assert asked.spent == spent
    assert "the presence or absence of one row" in fitted.guarantee
    assert model.title in fitted.card()["Estimator"]
    card = fitted.card()
    assert card["Relation"] == "data sets with and without one row"
    assert card["Unit"] == "one row"
    assert 0 <= float(card["Delta"]) <= 1e-4
    assert all(card[about] for about in ("Settings", "Sampler", "Noise", "Features", "Guarantee"))
    assert len(fitted.release_table().rows) == 8
    assert fitted.receipt is not None
    assert len(fitted.predict({column: ROWS[column] for column in COLUMNS})) == 60


def test_components_have_a_weight_for_each_column():
    fitted = PCA(2, features=["age", "sex"]).fit(session(ROWS), epsilon=1)
    first, second = fitted.loadings(), fitted.loadings(1)
    assert [name.split("=")[0].split(" ")[0] for name in first] == ["age", "sex", "sex"]
    assert sum(weight**2 for weight in first.values()) == pytest.approx(1)
    assert sum(first[name] * second[name] for name in first) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ONE_ROW_ONLY])
def test_units_with_several_rows_and_changed_rows_are_fitted(name):
    assert "one who" in MODELS[name].fit(session(people(60, who=True), text=UNIT_BOOK), epsilon=1).guarantee
    changed = session(ROWS, text=CHANGED_BOOK)
    fitted = MODELS[name].fit(changed, epsilon=1)
    assert "row" in fitted.guarantee
    # replaced rows move twice as far, so the same epsilon buys twice the noise
    plain = MODELS[name].price(session(ROWS), epsilon=1)
    assert MODELS[name].price(changed, epsilon=1).multiplier == pytest.approx(2 * plain.multiplier, rel=1e-3)


@pytest.mark.parametrize("name", sorted(ONE_ROW_ONLY))
def test_what_is_proved_for_single_rows_is_refused_for_more(name):
    with pytest.raises(InvalidArgument, match="one row"):
        MODELS[name].price(session(people(10, who=True), text=UNIT_BOOK), epsilon=1)


ODD = {
    "no rows": {name: [] for name in COLUMNS},
    "one row": {name: cells[:1] for name, cells in ROWS.items()},
    "constant": {name: cells[:1] * 30 for name, cells in ROWS.items()},
    "missing": {name: [None] * 5 for name in COLUMNS},
    "odd cells": {**{name: cells[:4] for name, cells in ROWS.items()}, "age": [math.nan, math.inf, -math.inf, 10**400]},
    "odd categories": {**{name: cells[:3] for name, cells in ROWS.items()}, "town": ["?", "", "a"]},
}


@functools.cache
def usual(name):
    """The model of usual rows, whose shape every other one must have."""
    return (MODELS | NETWORKS)[name].fit(session(ROWS), epsilon=1)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", [*MODELS, *NETWORKS])
def test_data_never_raises(name, kind):
    asked = session(ODD[kind])
    fitted = (MODELS | NETWORKS)[name].fit(asked, epsilon=1)
    shape = usual(name)
    assert fitted.results().keys() == shape.results().keys()
    assert fitted.interval(0.9).keys() == shape.interval(0.9).keys()
    ends = fitted.interval(0.9)
    assert all(low <= fitted.results()[each] <= high for each, (low, high) in ends.items())


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LinearRegression(""), "target must name a column"),
        (lambda: LinearRegression("wage", features=["wage"]), "cannot be a feature"),
        (lambda: LinearRegression("wage", features="age"), "list of column names"),
        (lambda: LinearRegression("wage", features=["age", "age"]), "differ"),
        (lambda: LinearRegression("wage", method="pairs of all points"), "method must be"),
        (lambda: LinearRegression("wage", ridge=-1), "ridge"),
        (lambda: LinearRegression("wage", ridge=math.nan), "ridge"),
        (lambda: LogisticRegression("smoker", steps=0), "steps must be"),
        (lambda: LogisticRegression("smoker", steps=1.5), "steps must be"),
        (lambda: LogisticRegression("smoker", rows=0), "rows"),
        (lambda: LinearRegression("nothing"), "no column 'nothing'"),
        (lambda: LinearRegression("wage", features=["nothing"]), "no column 'nothing'"),
        (lambda: LinearRegression("town"), "needs a number"),
        (lambda: LogisticRegression("wage"), "declared categories"),
        (lambda: LogisticRegression("town", method="objective"), "two classes"),
        (lambda: LinearRegression("wage", table="elsewhere"), "no table"),
        (lambda: LinearRegression("wage", method="theil-sen"), "one number"),
        (lambda: NaiveBayes("smoker", law="cauchy"), "law must be"),
        (lambda: NaiveBayes("smoker", law={"town": "normal"}), "no number among"),
        (lambda: NaiveBayes("smoker", bins=1), "bins"),
        (lambda: DecisionTree("smoker", depth=0), "depth"),
        (lambda: DecisionTree("smoker", split="luck"), "split must be"),
        (lambda: RandomForest("smoker", trees=0), "trees"),
        (lambda: AdditiveModel("town"), "two classes"),
        (lambda: AdditiveModel("smoker", rate=1.5), "rate must be"),
        (lambda: AdditiveModel("smoker", rate=0), "rate must be"),
        (lambda: KMeans(0), "clusters"),
        (lambda: PCA(99), "components"),
        (lambda: LinearRegression("wage", values={"town": ["a"]}), "values lists 'town'"),
        (lambda: LinearRegression("wage", features=[]), "at least one feature"),
    ],
)
def test_settings_are_refused_in_one_line_for_nothing(make, text):
    asked = session(ROWS)
    with pytest.raises(InvalidArgument, match=text) as refusal:
        make().fit(asked, epsilon=1)
    assert "\n" not in str(refusal.value)
    assert asked.spent.loss == 0


@pytest.mark.parametrize(
    ("payment", "text"),
    [
        ({}, "pay with epsilon= or rho="),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": math.nan}, "epsilon must be a finite number"),
        ({"epsilon": 1, "rho": 1}, "one of them"),
        ({"epsilon": 1, "delta": 2}, "delta must be between 0 and 1"),
        ({"epsilon": 1, "delta": 1}, "delta must be below 1"),
    ],
)
def test_payments_are_refused_for_nothing(payment, text):
    asked = session(ROWS)
    with pytest.raises(InvalidArgument, match=text):
        MODELS["linear"].fit(asked, **payment)
    assert asked.spent.loss == 0


def test_a_column_without_bounds_is_refused_and_never_read_from_the_data():
    """Erratum 31: libraries take bounds from the private rows; here a missing bound is an error that names the column."""
    text = ROW_BOOK.replace("wage: {type: integer, bounds: [-10, 50]}", "wage: {type: integer}")
    asked = session(ROWS, text=text)
    for model in (LinearRegression("wage"), LogisticRegression("smoker")):
        with pytest.raises(InvalidArgument, match="'wage' has no bounds"):
            model.price(asked, epsilon=1)
    wide = people(60)
    wide["wage"][0] = 10**9  # an outlier moves nothing beyond the declared bounds
    fitted = LinearRegression("wage").fit(session(wide), epsilon=1)
    assert fitted.target.upper == 50


def test_bounds_taken_from_the_rows_break_the_promise():
    """Erratum 31, as printed: the rows say how wide the noise is, and one of them can make it as narrow as it likes."""
    space = dp.calculus.rows(dp.calculus.integers(lower=0, upper=6))

    def printed(wages, entropy):
        low, high = min(wages, default=0), max(wages, default=0)
        return sum(wages) + dp.noise.discrete_laplace(Fraction(max(high - low, 1)), entropy)

    claimed = dp.calculus.own_mechanism(
        space, function=printed, privacy_map=lambda d: dp.costs.Bounded(epsilon=1 * d), author="printed"
    )
    assert check_privacy(claimed, [0, 1], [0, 1, 6], tail=Fraction(1, 10**4)).broken
    ours = space >> dp.calculus.total() >> dp.calculus.laplace(scale=6)
    assert check_privacy(ours, [0, 1], [0, 1, 6], tail=Fraction(1, 10**4)).kept


def test_a_price_that_protects_little_says_so():
    asked = session(ROWS)
    assert len(str(MODELS["naive Bayes"].price(asked, epsilon=1, delta=1e-6)).splitlines()) == 1
    assert "A delta above 1/10,000 is large" in str(MODELS["naive Bayes"].price(asked, epsilon=1, delta=1e-3))
    assert "An epsilon above 10 protects little" in str(MODELS["naive Bayes"].price(asked, epsilon=11))


def test_over_budget_is_refused():
    asked = session(ROWS, epsilon=1, delta=1e-6)
    with pytest.raises(BudgetExceeded):
        MODELS["logistic"].fit(asked, epsilon=2)
    assert asked.spent.loss == 0


def test_two_gaussian_models_cost_their_joint_curve():
    asked = session(ROWS, epsilon=1, delta=1e-6)
    for target in ("wage", "age"):
        LinearRegression(target).fit(asked, epsilon=0.25)
    assert float(asked.spent.loss) < 0.5


def test_a_public_frame_may_lack_no_column_and_hold_any_value():
    fitted = MODELS["linear"].fit(session(ROWS), epsilon=1)
    frame = {"age": [None, "x", math.nan], "height": [math.inf, 0, 1], "sex": ["?", None, "f"]}
    frame |= {"town": [[], 1, "a"], "smoker": [None, True, False]}
    assert np.isfinite(fitted.predict(frame)).all()
    del frame["town"]
    with pytest.raises(InvalidArgument, match="no column 'town'"):
        fitted.predict(frame)
    pandas = pytest.importorskip("pandas")
    whole = pandas.DataFrame(ROWS)
    assert len(fitted.predict(whole)) == 60
    assert "<svg" in fitted.plot().svg


def test_numbers_that_are_not_shown_are_counted():
    model = LinearRegression("wage", values={"town": [f"town {place}" for place in range(50)]})
    text = ROW_BOOK.replace("town: {type: string, categories: [a, b, c]}", "town: {type: string}")
    fitted = model.fit(session(ROWS, text=text), epsilon=1)
    unshown = len(fitted.results()) - 40
    assert f"and {unshown} more numbers: results() has them all" in str(fitted)
    assert f"the first 40 of {unshown + 40} numbers" in fitted.plot().svg
    assert "more number" not in str(usual("linear"))


def test_the_facade_has_the_models():
    assert dp.models.LinearRegression is LinearRegression


def test_a_card_names_the_sampler():
    assert "independently with chance 1/4" in NETWORKS["network"].fit(session(ROWS), epsilon=1).card()["Sampler"]
    assert "disjoint" in NETWORKS["disjoint batches"].fit(session(ROWS), epsilon=1).card()["Sampler"]
    assert "one of 3 parts" in MODELS["forest"].fit(session(ROWS), epsilon=1).card()["Sampler"]
    assert "all rows" in MODELS["logistic"].fit(session(ROWS), epsilon=1).card()["Sampler"]


def test_a_model_is_fitted_to_a_session_alone_and_the_refusal_shows_no_row():
    rows = {"y": ["a secret"]}
    for use in (dp.models.LogisticRegression("y").fit, dp.models.KMeans().price):
        with pytest.raises(InvalidArgument, match="fitted to a session") as refusal:
            use(rows, epsilon=1)
        assert "secret" not in str(refusal.value)
