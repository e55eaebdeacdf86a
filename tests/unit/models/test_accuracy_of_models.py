"""Models find what is in the rows, their intervals cover it, and rows do not disturb one another."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable.models import PCA, LinearRegression, LogisticRegression, NaiveBayes, Network, Training, descent, linear
from deniable.models.centring import UNIT, Centre
from deniable.models.descent import gradient, whole_weights
from deniable.models.encoding import GRID
from deniable.models.linear import (
    category_columns,
    moments_of,
    noise_covariance,
    product_pairs,
    products,
    products_square,
)
from deniable.models.links import LOGISTIC
from deniable.models.theil_sen import line_heights
from deniable.models.unit_totals import PrivateRows, root_up
from deniable.testing import Seeded, Silent
from tests.models_kit import book, codes, people, session, table, trained

ROWS = people(4000, seed=5)


def test_linear_regression_is_least_squares_without_noise():
    fitted = trained(
        LinearRegression("wage", features=["age", "town"]), ROWS, multiplier=Fraction(1, 100), entropy=Silent()
    )
    age, town = np.array(ROWS["age"]), np.array(ROWS["town"])
    design = np.stack([np.ones(len(age)), age, town == "b", town == "c"], axis=1).astype(float)
    wanted = np.linalg.lstsq(design, np.array(ROWS["wage"], dtype=float), rcond=None)[0]
    assert list(fitted.coefficients.values()) == pytest.approx(wanted, abs=0.1)


def test_products_that_say_nothing_new_are_not_released_and_all_others_come_back():
    reading = LinearRegression("wage").reading(book())
    held = PrivateRows.of(table(reading, codes(people(50))))
    exact = products(held, reading, norm=root_up(products_square(reading)))
    matrix = np.concatenate(
        [reading.encoding.matrix(held.codes, 50), reading.target.columns(held.codes["wage"])], axis=1
    )
    assert np.array_equal(moments_of(reading, exact), (matrix.T @ matrix) / GRID**2)
    assert len(exact) == len(product_pairs(reading)) < len(matrix.T) * (len(matrix.T) + 1) // 2
    far = PrivateRows.of(table(reading, [(40, 16, 1, 2, 1, 50)]))  # every number at its end, no category the first one
    most = products(far, reading, norm=root_up(products_square(reading)))
    assert sum(int(entry) ** 2 for entry in most) == products_square(reading)


def test_errors_of_the_normal_equations_are_those_of_every_product():
    reading = LinearRegression("wage").reading(book())
    weights = np.linspace(-1, 1, reading.encoding.width)
    wanted = np.zeros((len(weights), len(weights)))
    for one in np.eye(len(product_pairs(reading)), dtype=np.int64) * GRID**2:
        moments = moments_of(reading, one)
        error = moments[:-1, -1] - moments[:-1, :-1] @ weights
        wanted += np.outer(error, error)
    assert np.allclose(noise_covariance(weights, category_columns(reading)[:-1]), wanted)


def test_intervals_of_linear_regression_cover_in_most_runs():
    truth = {"age": 1.0, "town = b": 5.0}
    covered = runs = 0
    for seed in range(60):
        model = LinearRegression("wage", features=["age", "town"])
        fitted = trained(model, people(2000, seed=seed), multiplier=5, entropy=Seeded(seed))
        ends = fitted.interval(0.95)
        covered += sum(ends[name][0] <= value <= ends[name][1] for name, value in truth.items())
        runs += len(truth)
    assert covered / runs >= 0.9


def test_intervals_of_components_hold_together_and_widen():
    model = PCA(3, features=["age", "town"])
    for count, multiplier in ((2000, 3), (60, 3)):
        rows = people(count, seed=3)
        truth = trained(model, rows, multiplier=multiplier, entropy=Silent()).variances
        held = 0
        for seed in range(40):
            fitted = trained(model, rows, multiplier=multiplier, entropy=Seeded(seed))
            ends = [fitted.interval(level) for level in (0.5, 0.95, 0.999)]
            for name in fitted.results():
                assert ends[2][name][0] <= ends[1][name][0] <= ends[0][name][0] <= ends[0][name][1]
                assert ends[0][name][1] <= ends[1][name][1] <= ends[2][name][1]
            pairs = zip(ends[1].values(), truth, strict=True)
            held += all(low <= value <= high for (low, high), value in pairs)
        assert held >= 38
        widest = max(high - low for low, high in ends[1].values())
        assert widest < 0.5 if count == 2000 else widest > 0.5


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression("smoker"),
        LogisticRegression("smoker", method="objective"),
        NaiveBayes("smoker"),
        NaiveBayes("smoker", law="binned"),
    ],
    ids=lambda model: f"{model.title} {getattr(model, 'method', model.title)}",
)
def test_classifiers_learn_the_pattern(model):
    fitted = trained(model, ROWS, multiplier=2, entropy=Seeded(1))
    test = people(2000, seed=99)
    assert (np.array(fitted.predict(test)) == np.array(test["smoker"])).mean() > 0.8
    chances = fitted.probabilities(test)
    assert chances.min() >= 0
    assert (chances.sum(axis=1) <= 1 + 1e-9).all()


def test_theil_sen_finds_the_slope_and_a_level_line_where_x_is_equal():
    model = LinearRegression("wage", features=["age"], method="theil-sen")
    fitted = trained(model, ROWS, multiplier=2, entropy=Seeded(2))
    assert fitted.coefficients["age"] == pytest.approx(1, abs=0.3)
    assert model.price(session(people(5)), epsilon=1).delta == 0
    assert line_heights(np.array([[7, 7]]), np.array([[10, 20]])).tolist() == [[15, 15]]
    assert line_heights(np.array([[-512, 512]]), np.array([[-100, 300]])).tolist() == [[-100, 300]]


def test_unseen_values_at_prediction_are_never_an_error():
    fitted = trained(NaiveBayes("smoker"), ROWS, multiplier=4, entropy=Seeded(3))
    frame = {name: ["nobody declared this"] for name in ROWS}
    assert fitted.predict(frame)[0] in (False, True)


def test_text_without_categories_gets_its_values_from_a_charged_query():
    text = """
name: people
unit: rows
tables:
  people:
    variables:
      city: {type: string}
      smoker: {type: boolean}
"""
    rows = {"city": ["ulm"] * 300 + ["bonn"] * 300 + ["the only one"], "smoker": [True] * 280 + [False] * 321}
    asked = session(rows, text=text, delta=1e-3)
    keys = asked.query().group_by("city").agg(n=dp.count()).release(epsilon=1)
    values = sorted(group[0] for group in keys.groups)
    assert values == ["bonn", "ulm"]
    fitted = NaiveBayes("smoker", values={"city": values}).fit(asked, epsilon=1)
    assert fitted.predict({"city": ["ulm", "bonn"]}) == [True, False]
    assert "the only one" not in str(fitted) + repr(fitted)


# Row by row -----------------------------------------------------------------------------------------------------------


def _prepared(rows, model):
    reading = model.reading(book())
    held = PrivateRows.of(table(reading, rows))
    held.kept["features"] = reading.encoding.matrix(held.codes, held.count).astype(np.float64)
    held.kept["truth"] = (held.codes["smoker"][:, None] == 1).astype(np.float64)
    means = np.arange(reading.encoding.width) * 37 % GRID
    held.kept["pushes"] = Centre(means, 2 * GRID, 60.0).pushes(held.kept["features"])
    return reading, held


def test_shuffling_padding_or_removing_rows_changes_no_other_row():
    rng = np.random.default_rng(3)  # noqa: TID251 - public test data
    ends = ((0, 41), (-8, 17), (0, 2), (0, 3), (0, 2), (-10, 51))
    rows = [tuple(int(rng.integers(*end)) for end in ends) for _ in range(60)]
    model = LogisticRegression("smoker")
    reading, held = _prepared(rows, model)
    weights = whole_weights(rng.normal(0, 1, (reading.encoding.width, 1)))
    norm = UNIT * GRID
    whole = gradient(held, weights, LOGISTIC, norm=norm)
    each = [gradient(_prepared([row], model)[1], weights, LOGISTIC, norm=norm) for row in rows]
    assert (sum(each) == whole).all()
    order = rng.permutation(60)
    assert (gradient(_prepared([rows[i] for i in order], model)[1], weights, LOGISTIC, norm=norm) == whole).all()
    assert (gradient(_prepared(rows[:-1], model)[1], weights, LOGISTIC, norm=norm) == whole - each[-1]).all()


def test_the_same_in_float32_is_caught():
    """The planted fault: products in single precision depend on which rows stand beside them."""
    rng = np.random.default_rng(4)  # noqa: TID251 - public test data
    matrix = rng.integers(-GRID, GRID, (513, 40)).astype(np.float32)
    weights = rng.integers(-(1 << 20), 1 << 20, 40).astype(np.float32)
    exact = matrix.astype(np.int64) @ weights.astype(np.int64)
    assert not (np.floor(matrix @ weights).astype(np.int64) == exact).all()
    assert ((matrix.astype(np.float64) @ weights.astype(np.float64)).astype(np.int64) == exact).all()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression("smoker", steps=1),
        Training(Network((3,)), target="smoker", rate=1, steps=1),
        Training(Network((3,)), target="smoker", rate=Fraction(1, 4), steps=2, batches="disjoint"),
    ],
    ids=["logistic", "network", "disjoint"],
)
def test_a_single_step_gives_a_model(model):
    """The weights are the mean of the last half of the steps, of which there is always one."""
    fitted = trained(model, people(50), multiplier=2, entropy=Seeded(1))
    assert np.isfinite(np.asarray(fitted.weights, dtype=np.float64)).all()
    assert len(fitted.predict(people(5))) == 5


def steep(seed):
    """Ages in a narrow band, a wage that climbs steeply with them: the ridge is as large as what the rows say of the slope."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - made-up rows
    age = rng.integers(15, 26, 2500)
    wage = np.clip(np.rint(4 * (age - 20) + 20 + rng.normal(0, 3, 2500)), -10, 50).astype(int)
    return {**people(2500, seed=seed), "age": age.tolist(), "wage": wage.tolist()}


def held_shares(method, multiplier):
    """Fits to steep tables: their mean slope, how often intervals hold the true one, and how often they are no numbers' at all."""
    model = LinearRegression("wage", features=["age"], method=method)
    fits = [trained(model, steep(seed), multiplier=multiplier, entropy=Seeded(seed)) for seed in range(60)]
    ends = np.array([fitted.interval(0.95)["age"] for fitted in fits])
    shown = np.array([fitted.coefficients["age"] for fitted in fits])
    assert ((ends[:, 0] <= shown) & (shown <= ends[:, 1])).all()
    return shown.mean(), np.mean((ends[:, 0] <= 4) & (ends[:, 1] >= 4)), np.mean(np.isinf(ends[:, 1]))


@pytest.mark.parametrize(("method", "multiplier"), [("statistics", 10), ("functional", 5)])
def test_intervals_hold_where_the_ridge_shrinks(method, multiplier):
    slope, held, hidden = held_shares(method, multiplier)
    assert slope < 3, "a ridge that shrinks is what is tried"
    assert held >= 0.93
    assert hidden <= 0.5


def test_intervals_that_add_the_shrinkage_of_the_shrunken_weights_are_caught(monkeypatch):
    """The planted fault, as version 0.1 had it: the bias is the ridge times what the ridge has left of the weights."""
    honest = linear.without_ridge

    def shrunken(values, vectors, right, *, residual, spread, feature_of):
        ridge = max(2 * spread * len(values) ** 0.5 - max(values[0], 0), 0)
        inverse = (vectors / (np.maximum(values, 0) + ridge)) @ vectors.T
        weights = inverse @ right
        noise = spread**2 * noise_covariance(weights, feature_of)
        errors = residual * (vectors * np.maximum(values, 0)) @ vectors.T + noise
        bias = np.abs(ridge * inverse @ weights)
        return weights, inverse @ errors @ inverse + np.diag((bias / 1.96) ** 2), ()

    monkeypatch.setattr(linear, "without_ridge", shrunken)
    _, held, _ = held_shares("statistics", 20)
    assert held < 0.6
    monkeypatch.setattr(linear, "without_ridge", honest)
    assert held_shares("statistics", 20)[1] >= 0.93


def test_a_coefficient_that_noise_hides_is_said_to_be_hidden_and_left_out_of_pictures():
    """One number that is always the same says nothing of its slope; the other is seen."""
    rows = {**people(2000, seed=3), "height": [0.5] * 2000}
    fitted = trained(LinearRegression("wage", features=["age", "height"]), rows, multiplier=5, entropy=Seeded(1))
    assert fitted.interval()["height"] == (-np.inf, np.inf)
    assert np.isfinite(fitted.interval()["age"]).all()
    assert "height: hidden by the noise" in str(fitted)
    drawn = fitted.plot()
    assert "1 number that noise hides left out" in drawn.svg or "2 numbers that noise hides left out" in drawn.svg
    assert ">height<" not in drawn.svg
    assert "noise hides all of these numbers" in replace(fitted, hidden=(0, 1, 2)).plot().svg


def held_odds(multiplier):
    """How often intervals of a logistic regression hold the odds that made-up rows follow, and how many are numbers."""
    model, truth = LogisticRegression("smoker", features=["age", "sex"]), {"age": 4, "log age": 0, "intercept": 0}
    fits = [trained(model, people(4000, seed=seed), multiplier=multiplier, entropy=Seeded(seed)) for seed in range(40)]
    ends = [(*fitted.interval(0.95)[name], wanted) for fitted in fits for name, wanted in truth.items()]
    assert all(
        low <= fitted.coefficients[name] <= high for fitted in fits for name, (low, high) in fitted.interval().items()
    )
    return np.mean([low <= wanted <= high for low, high, wanted in ends]), np.mean(
        [np.isfinite(low) for low, _, _ in ends]
    )


def test_intervals_of_logistic_regression_hold_where_the_ridge_shrinks(monkeypatch):
    for multiplier, numbers in ((Fraction(1, 2), 1), (1, 1), (3, 0.5)):
        held, seen = held_odds(multiplier)
        assert held >= 0.9, multiplier
        assert seen >= numbers, multiplier
    honest = descent.without_ridge

    def forgetful(ending, reading, link):
        """The planted fault: around the shrunken weights, for the noise and the sample alone."""
        unshrunk, errors = honest(replace(ending, slope=0 * ending.slope), reading, link)
        return unshrunk, errors / 2

    monkeypatch.setattr(descent, "without_ridge", forgetful)
    assert held_odds(1)[0] < 0.75


def test_the_curvature_of_normal_scores_is_what_many_rows_have():
    """Two normal columns around a middle, one score of them: the second derivatives added up, beside the formula."""
    random = np.random.default_rng(3)  # noqa: TID251 - to check a formula
    rows = np.concatenate([np.full((200_000, 1), 0.7), random.normal(0, [1.0, 0.4], (200_000, 2))], axis=1)
    weights = np.array([[-1.0], [1.5], [-2.0]])
    chance = 1 / (1 + np.exp(-(rows @ weights)[:, 0]))
    exact = (rows * (chance * (1 - chance))[:, None]).T @ rows
    found = LOGISTIC.curvatures(weights, 0, rows.T @ rows, 0.7, len(rows))
    assert np.allclose(found, exact, atol=0.02 * exact.max())
    several = np.concatenate([weights * 0, weights], axis=1)  # of two classes the odds are those of one weight
    assert np.allclose(LOGISTIC.curvatures(several, 1, rows.T @ rows, 0.7, len(rows)), found)


def test_weights_of_columns_that_add_up_to_one_are_told_apart_by_convention_and_not_hidden():
    model = LogisticRegression("smoker", features=["sex", "town"])
    fitted = trained(model, people(4000, seed=2), multiplier=Fraction(1, 2), entropy=Seeded(4))
    ends = fitted.interval()
    assert np.isfinite([ends[name] for name in ends]).all()
    assert sum(fitted.unshrunk[0][1:3]) == pytest.approx(0, abs=1e-9)
    rare = {**people(4000, seed=2), "town": ["a", "b"] * 1999 + ["a", "c"]}
    fitted = trained(model, rare, multiplier=3, entropy=Seeded(4))
    assert fitted.interval()["town = c"] == (-np.inf, np.inf)
    assert np.isfinite(fitted.interval()["sex = f"]).all()
    assert "town = c: hidden by the noise" in str(fitted)
