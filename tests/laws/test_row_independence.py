"""What is computed of a row does not depend on the rows beside it: in any order, more or fewer of them, with one thread or two."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable.models import (
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
from deniable.models.links import LOGISTIC
from deniable.models.network import WEIGHT_STEPS, layers, passed
from deniable.testing import Seeded
from tests.models_kit import codes, people, trained

threadpoolctl = pytest.importorskip("threadpoolctl")

ROWS = people(700, seed=11)
MODELS = {
    "linear": LinearRegression("wage"),
    "logistic": LogisticRegression("smoker"),
    "multinomial": LogisticRegression("town", steps=5),
    "naive Bayes": NaiveBayes("smoker", law={"age": "normal", "wage": "binned", "height": "lognormal"}),
    "tree": DecisionTree("town"),
    "forest": RandomForest("smoker", trees=3),
    "additive": AdditiveModel("smoker", turns=1),
    "k-means": KMeans(3, rounds=2),
    "network": Training(Network((40,)), target="smoker", rate=1, steps=2),
}


def _columns(fitted):
    cells = list(zip(*codes(ROWS), strict=True))
    names = ("age", "height", "sex", "town", "smoker", "wage")
    known = {name: np.array(column, dtype=np.int64) for name, column in zip(names, cells, strict=True)}
    return {each.name: known[each.name] for each in fitted.features}


def _some(arrays, chosen):
    return {name: column[chosen] for name, column in arrays.items()}


def independent(of, arrays):
    """Whether `of` (a row of numbers for every row) says the same of each row whatever stands beside it."""
    count = len(next(iter(arrays.values())))
    order = np.random.default_rng(5).permutation(count)  # noqa: TID251 - public test data
    sound = True
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(limits=threads):
            whole = of(arrays)
            sound &= bool((of(_some(arrays, order)) == whole[order]).all())
            sound &= bool((of(_some(arrays, np.arange(count - 1))) == whole[:-1]).all())
            for row in (0, count // 2, count - 1):
                sound &= bool((of(_some(arrays, np.array([row]))) == whole[row]).all())
            padded = np.concatenate([np.arange(count), np.zeros(37, dtype=np.int64)])
            sound &= bool((of(_some(arrays, padded))[:count] == whole).all())
    return sound


@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_a_row_are_its_own(name):
    fitted = trained(MODELS[name], ROWS, multiplier=Fraction(1, 2), entropy=Seeded(3))
    assert independent(lambda some: fitted.outputs(some, len(next(iter(some.values())))), _columns(fitted))


def _network():
    model = MODELS["network"]
    fitted = trained(model, ROWS, multiplier=Fraction(1, 2), entropy=Seeded(3))
    return fitted, layers(fitted.sizes, fitted.weights)


def _features(fitted):
    from deniable.models.encoding import Encoding

    features = Encoding(fitted.features).matrix(_columns(fitted), len(ROWS["age"])).astype(np.float64)
    return {"features": features, "truth": (np.array(ROWS["smoker"])[:, None]).astype(np.float64)}


def test_what_goes_through_dense_layers_and_back_is_a_rows_own():
    fitted, weights = _network()

    def of(some):
        run = passed(some["features"], some["truth"], weights, LOGISTIC)
        return np.concatenate([*run.inputs, *run.errors], axis=1)

    assert independent(of, _features(fitted))


def test_single_precision_is_caught():
    """The planted fault: the same scores in float32, whose sums depend on how many rows are multiplied together."""
    fitted, weights = _network()
    single = [matrix.astype(np.float32) * np.float32(1.1) for matrix in weights]

    def of(some):
        here = some["features"].astype(np.float32) @ single[0]
        return np.concatenate([here, np.maximum(here, 0) / np.float32(WEIGHT_STEPS) @ single[1][:-1]], axis=1)

    assert not independent(of, _features(fitted))
