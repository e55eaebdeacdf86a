"""What cannot be fitted or scored is refused in one line, before anything is spent; what data says is never an error."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.models import (
    AdditiveModel,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    Network,
    Training,
)
from tests.models_kit import CHANGED_BOOK, ROW_BOOK, UNIT_BOOK, people, session
from tests.needs import require_module

ROWS = people(60)
COLUMNS = 12
"""Those of the encoding of all features beside the smoker, the intercept among them."""
NOTED = ROW_BOOK + "      note: {type: string}\n"


def _refused(asked, fit, said):
    before = asked.spent
    with pytest.raises(InvalidArgument, match=said) as found:
        fit(asked)
    assert "\n" not in str(found.value)
    assert asked.spent == before
    assert NaiveBayes("smoker", features=["age"]).price(asked, epsilon=1).steps == 1  # the session goes on


def _public(**changed):
    return {**{name: cells[:2] for name, cells in ROWS.items()}, **changed}


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (lambda s: LogisticRegression("smoker", steps=10**9).fit(s, epsilon=1), "steps must be at most 1000000"),
        (lambda s: LinearRegression("wage", matchings=10**9).fit(s, epsilon=1), "matchings must be at most"),
        (lambda s: Training(Network((2,)), target="smoker", steps=10**9).fit(s, epsilon=1), "steps must be at most"),
        (lambda s: KMeans(2, rounds=10**9).fit(s, epsilon=1), "rounds must be at most"),
        (lambda s: AdditiveModel("smoker", turns=10**9).fit(s, epsilon=1), "turns must be at most"),
        (lambda s: NaiveBayes("smoker", law="binned", bins=10**12).fit(s, epsilon=1), "bins must be at most 2048"),
        (lambda s: NaiveBayes("smoker", law=None).fit(s, epsilon=1), "law must be a text"),
        (lambda s: NaiveBayes("smoker", features=["age"]).fit(s, epsilon=10**400), "brings the epsilon"),
        (
            lambda s: s.teachers(NaiveBayes("smoker", features=["age", "wage"]), parts=3).label(
                _public(age=[1]), epsilon=1
            ),
            "different lengths",
        ),
        (lambda s: LinearRegression("wage", features=["note"], values={"note": "ab"}).fit(s, epsilon=1), "must list"),
        (lambda s: LinearRegression("wage", features=["note"], values=["note"]).fit(s, epsilon=1), "must list"),
        (
            lambda s: LinearRegression("wage", features=["note"], values={"note": [1]}).fit(s, epsilon=1),
            "different texts",
        ),
    ],
)
def test_settings_that_cannot_work_cost_nothing(fit, said):
    _refused(session({**ROWS, "note": ["x"] * 60}, text=NOTED), fit, said)


def test_a_model_that_cannot_teach_costs_nothing():
    """Objective perturbation is for units of one row: with several it failed when the first teacher was trained."""
    asked = session(people(20, who=True), text=UNIT_BOOK)
    objective = LogisticRegression("smoker", method="objective")
    _refused(asked, lambda s: s.teachers(objective, parts=3).label(_public(), epsilon=1), "units of one row")


def _module(*layers):
    import torch

    torch.manual_seed(1)
    return torch.nn.Sequential(*layers).double()


def _training(module):
    return Training(module, target="smoker", steps=2, rate=1)


def _lazy():
    import torch

    return torch.nn.Sequential(torch.nn.LazyLinear(1, dtype=torch.float64))


def _elsewhere():
    import torch

    return torch.nn.Sequential(torch.nn.Linear(COLUMNS, 1, device="meta", dtype=torch.float64))


def _not_numbers():
    import torch

    module = _module(torch.nn.Linear(COLUMNS, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    torch.nn.init.constant_(module[0].weight, float("nan"))
    return module


@pytest.mark.parametrize(
    ("module", "said"), [(_lazy, "no shape yet"), (_elsewhere, "on the CPU"), (_not_numbers, "not all finite")]
)
def test_modules_whose_weights_cannot_be_trained_cost_nothing(module, said):
    require_module("torch")
    _refused(session(ROWS), lambda s: _training(module()).fit(s, epsilon=1), said)


def test_what_predicts_nothing_is_not_scored():
    """Such a score was charged, failed, and closed the session."""
    torch = require_module("torch")
    module = _module(torch.nn.Linear(COLUMNS, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    asked = session(ROWS)
    fitted = _training(module).fit(asked, epsilon=1)
    _refused(asked, lambda s: s.score(fitted, metric="auc", epsilon=1), "load")
    _refused(asked, lambda s: s.best_of([_training(module)] * 2, score="auc", epsilon=1), "load")
    ours = _module(torch.nn.Linear(COLUMNS, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    assert 0 <= asked.score(_training(ours).fit(asked, epsilon=1), metric="auc", epsilon=1).value <= 1
    with pytest.raises(InvalidArgument, match="load takes"):
        fitted.load(_module(torch.nn.Linear(COLUMNS, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)))
    with pytest.raises(InvalidArgument, match="load takes"):
        fitted.load(None)


@pytest.mark.parametrize("bias", [True, False])
def test_a_loaded_module_predicts_what_was_trained_with_or_without_biases(bias):
    """Layers without biases were trained with them, and lost them in `load`."""
    torch = require_module("torch")
    module = _module(torch.nn.Linear(COLUMNS, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1, bias=bias))
    fitted = Training(module, target="smoker", steps=100, rate=1).fit(session(ROWS, epsilon=10**6), epsilon=10**5)
    assert (
        len(fitted.weights) == COLUMNS * 4 + 4 + bias
        if fitted.sizes
        else sum(each.numel() for each in module.parameters())
    )
    if fitted.sizes:
        columns = dp.models.encoding.Encoding(fitted.features).public_matrix(ROWS) / 1024
        chances = torch.sigmoid(fitted.load(module)(torch.from_numpy(columns))).detach().numpy()[:, 0]
        assert np.abs(chances - fitted.probabilities(ROWS)[:, 1]).max() < 0.01
    assert bool(fitted.sizes) is bias


def test_frozen_weights_are_another_module():
    torch = require_module("torch")
    module = _module(torch.nn.Linear(COLUMNS, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    whole = _training(module).recipe()
    module[0].requires_grad_(requires_grad=False)
    assert _training(module).recipe() != whole


def test_the_score_of_another_network_is_another_question():
    """The digest of a model was that of its printed form, which leaves out the middle of its weights."""
    asked = session(ROWS)
    first = Training(Network((200,)), target="smoker", steps=1, rate=1).fit(asked, epsilon=1)
    weights = first.weights.copy()
    weights[500:2000] = 0
    other = replace(first, weights=weights)
    assert repr(first) == repr(other)
    asked.score(first, metric="accuracy", epsilon=1)
    before = asked.spent
    asked.score(other, metric="accuracy", epsilon=1)
    assert asked.spent != before


@pytest.mark.parametrize("floor", [1e300, 1e-300])
def test_sizes_of_any_scale_are_scored(floor):
    """A floor or bounds beyond 64 bits failed after the charge and closed the session."""
    book = ROW_BOOK.replace(
        "wage: {type: integer, bounds: [-10, 50]}", "wage: {type: number, bounds: [1.0e+30, 1.0e+30], step: 1.0e+20}"
    )
    for text in (ROW_BOOK, book):
        asked = session(ROWS, text=text)
        fitted = LinearRegression("wage").fit(asked, epsilon=1)
        for metric in ("mape", "mae", "r2"):
            assert np.isfinite(asked.score(fitted, metric=metric, floor=floor, epsilon=1).value)


def test_the_price_of_an_additive_model_counts_all_features():
    asked = session(ROWS)
    price = AdditiveModel("smoker", turns=2).price(asked, epsilon=1)
    assert (
        price.steps
        == 1 + 2 * 5
        == AdditiveModel("smoker", turns=2, features=[*list(people(1))[:4], "wage"]).price(asked, epsilon=1).steps
    )


def test_targets_are_read_one_by_one(tmp_path):
    """An array of a plain list would give all cells one type, also by what one row holds."""
    require_module("sklearn")
    from deniable.models.sklearn_adapter import _cells

    assert [type(cell) for cell in _cells([1, 2.5, "x", None])] == [int, float, str, type(None)]
    (tmp_path / "book.yaml").write_text(CHANGED_BOOK)
    adapter = dp.models.for_sklearn(
        LinearRegression("wage"),
        codebook=str(tmp_path / "book.yaml"),
        ledger=str(tmp_path / "s.ledger"),
        epsilon=1,
        budget_epsilon=3,
    )
    with pytest.raises(InvalidArgument, match="column of targets"):
        adapter.fit({"age": ROWS["age"]}, 3)
    assert not (tmp_path / "s.ledger").exists()


def test_a_package_that_is_not_there_is_named_with_how_to_get_it(monkeypatch):
    for name in [each for each in sys.modules if each.split(".")[0] in ("sklearn", "torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "deniable.models.sklearn_adapter", raising=False)
    for name in ("sklearn", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(dp.errors.InvalidArgument, match=r"needs scikit-learn: pip install 'deniable\[models\]'"):
        dp.models.for_sklearn(dp.models.NaiveBayes("late"), codebook={}, ledger="l", epsilon=1)
    with pytest.raises(dp.errors.InvalidArgument, match=r"needs torch: pip install 'deniable\[torch\]'"):
        dp.models.Training("mlp", target="late", rate=0.1, steps=2, clip=1)
