"""What a user of models writes, word for word, on a table as wide as Adult: a file, a codebook, a ledger, and everything after."""

from __future__ import annotations

import os

import numpy as np
import pytest

try:
    import torch
except ImportError:  # the torch extra is not installed
    assert not os.environ.get("CI"), "torch must be installed where CI runs"
    torch = None

TOUR = """
import deniable as dp
session = dp.Dataset("adult.parquet", codebook="adult.yaml").session(dp.budget(epsilon=3, delta=1e-6), ledger="adult.ledger")
model = dp.models.LogisticRegression(target="income")
model.price(session, epsilon=1)
fitted = model.fit(session, epsilon=1)
fitted.coefficients; fitted.interval(0.95); fitted.card(); fitted.release_table(); fitted.plot(); fitted.predict(public_frame)
session.score(fitted, metric="auc", epsilon=0.05)
risk = session.query().derive(p=fitted.expression()).group_by("state").agg(risk=dp.mean("p"))
advice = dp.models.recommend(session, target="wage", epsilon=1)
best = session.best_of([dp.models.LogisticRegression("income", ridge=r) for r in (0, 0.01, 0.1)], score="auc", epsilon=0.1, tries=10)
net = dp.models.Training(torch_module, loss="logistic", target="income", rate=1 / 32, steps=320, clip=1.0)
net.fit(session, epsilon=1, delta=1e-6)
votes = session.teachers(dp.models.LogisticRegression("income"), parts=100).label(public_frame, epsilon=1, delta=1e-6, confident=True)
"""  # noqa: E501 - word for word
WIDTHS = {
    "workclass": 9,
    "education": 16,
    "marital": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "state": 42,
}
NUMBERS = {"age": 90, "fnlwgt": 1_500_000, "education_num": 16, "wage": 100_000, "loss": 5_000, "hours": 99}
COLUMNS = 1 + 2 * len(NUMBERS) + sum(WIDTHS.values())


def _frame(rows):
    rng = np.random.default_rng(4)  # noqa: TID251 - made-up rows
    frame = {name: rng.integers(0, high + 1, rows).tolist() for name, high in NUMBERS.items()}
    frame |= {name: [f"{name}{place}" for place in rng.integers(0, many, rows)] for name, many in WIDTHS.items()}
    frame["income"] = [">50K" if age + hours > 95 else "<=50K" for age, hours in zip(frame["age"], frame["hours"])]  # noqa: B905
    return frame


def _codebook():
    lines = [f"      {name}: {{type: integer, bounds: [0, {high}]}}" for name, high in NUMBERS.items()]
    for name, many in WIDTHS.items():
        listed = ", ".join(f"{name}{place}" for place in range(many))
        lines.append(f"      {name}: {{type: string, categories: [{listed}]}}")
    lines.append('      income: {type: string, categories: ["<=50K", ">50K"]}')
    return "name: adult\nunit: rows\ntables:\n  adult:\n    variables:\n" + "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.skipif(torch is None, reason="needs the torch extra")
def test_the_tour_of_models_runs_as_written(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    parquet.write_table(arrow.table(_frame(1200)), "adult.parquet")
    (tmp_path / "adult.yaml").write_text(_codebook(), encoding="utf-8")
    layers = torch.nn.Linear(COLUMNS, 250), torch.nn.ReLU(), torch.nn.Linear(250, 1)
    names = {"public_frame": _frame(40), "torch_module": torch.nn.Sequential(*layers).double()}
    exec(TOUR, names)
    session, fitted = names["session"], names["fitted"]
    assert set(fitted.interval(0.95)) == set(fitted.coefficients)
    assert len(fitted.coefficients) == COLUMNS
    assert float(session.spent.loss) <= 3
    assert names["model"].fit(session, epsilon=1) == fitted
    assert len(names["risk"].release(epsilon=0.1).groups) == 42
    assert len(dict(names["advice"].advice[0].axes)) == 6
    assert names["best"].settings["ridge"] in (0, 0.01, 0.1)
    assert len(names["votes"].labels) == 40
