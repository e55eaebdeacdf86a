"""What other libraries make of the same tables, as snippets for `benchmarks.peers.answer`; each leaves its figures in `answer`.

All get the same columns: numbers scaled by public bounds, one column for each declared category. A figure is a list of accuracies (or
R²), one for each run, and CPU seconds for one fit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deniable as dp
from benchmarks.peers import answer, peer

LOAD = """
import time, warnings
import numpy as np
warnings.simplefilter("ignore")
held = np.load({path!r}, allow_pickle=True)
X, y, Xt, yt, most = held["X"], held["y"], held["Xt"], held["yt"], int(held["most"])
def runs(make, score, times):
    found, begun = [], time.process_time()
    fits = [make().fit(X, y) for _ in range(times)]
    spent = (time.process_time() - begun) / times
    return [[float(score(fit)) for fit in fits], spent]
def right(fit):
    return np.mean(fit.predict(Xt) == yt)
def r2(fit):
    return 1 - ((fit.predict(Xt) - yt) ** 2).sum() / ((yt - yt.mean()) ** 2).sum()
"""

DIFFPRIVLIB_CLASSES = """
from diffprivlib.models import LogisticRegression, GaussianNB
answer = {{}}
for epsilon in {epsilons}:
    answer[f"logistic {{epsilon:g}}"] = runs(lambda: LogisticRegression(epsilon=epsilon, data_norm=most ** 0.5, max_iter=500), right, {times})
    answer[f"bayes {{epsilon:g}}"] = runs(lambda: GaussianNB(epsilon=epsilon, bounds=(np.zeros(X.shape[1]), np.ones(X.shape[1]))), right, {times})
"""

DIFFPRIVLIB_NUMBERS = """
from diffprivlib.models import LinearRegression
answer = {{}}
for epsilon in {epsilons}:
    make = lambda: LinearRegression(epsilon=epsilon, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0))
    least = []
    def judged(fit):
        least.append(float(np.linalg.eigvalsh(fit._obj_coefs[2])[0]))
        return r2(fit)
    answer[f"linear {{epsilon:g}}"] = runs(make, judged, {times}) + [least]
"""

DIFFPRIVLIB_SHAPES = """
from diffprivlib.models import KMeans
def inertia(fit):
    return ((Xt[:, None, :] - fit.cluster_centers_[None]) ** 2).sum(axis=2).min(axis=1).mean()
answer = {{
    "k-means": runs(lambda: KMeans(n_clusters=5, epsilon=1.0, bounds=(0.0, 1.0)), inertia, {times}),
}}
"""

EBM = """
from interpret.privacy import DPExplainableBoostingClassifier
raw, rawt = held["raw"], held["rawt"]
kinds = list(held["kinds"])
bounds = {{i: tuple(b) for i, b in enumerate(held["bounds"]) if kinds[i] == "continuous"}}
def area(chance):
    order = np.argsort(chance, kind="stable"); ranks = np.empty(len(order)); ranks[order] = np.arange(1, len(order) + 1)
    return (ranks[yt == 1].sum() - (yt == 1).sum() * ((yt == 1).sum() + 1) / 2) / ((yt == 1).sum() * (yt == 0).sum())
accuracies, areas, begun = [], [], time.process_time()
for run in range({times}):
    fit = DPExplainableBoostingClassifier(feature_types=kinds, epsilon=1.0, delta=1e-6, privacy_bounds=bounds, random_state=None)
    fit.fit(raw, y)
    accuracies.append(float(np.mean(fit.predict(rawt) == yt)))
    areas.append(float(area(fit.predict_proba(rawt)[:, 1])))
answer = {{"ebm": [accuracies, (time.process_time() - begun) / {times}], "areas": areas}}
"""

OPACUS = """
import torch
from opacus import PrivacyEngine
torch.manual_seed(int(time.time_ns() % 2**31))
torch.set_num_threads(1)
data = torch.utils.data.TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
answer = {{}}
for mode in {modes}:
    module = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 250), torch.nn.ReLU(), torch.nn.Linear(250, 1))
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0, momentum=0.5)
    loss = torch.nn.BCEWithLogitsLoss()
    words = dict(module=module, optimizer=optimizer, data_loader=torch.utils.data.DataLoader(data, batch_size=len(y) // 32),
                 target_epsilon=1.0, target_delta=1e-5, epochs=10, max_grad_norm=1.0, grad_sample_mode=mode)
    if mode == "ghost":
        module, optimizer, loss, loader = PrivacyEngine().make_private_with_epsilon(criterion=loss, **words)
    else:
        module, optimizer, loader = PrivacyEngine().make_private_with_epsilon(**words)
    begun = time.process_time()
    for _ in range(10):
        for rows, truth in loader:
            optimizer.zero_grad()
            # one loss for each example, as a vector: ghost clipping multiplies it by a vector of factors
            loss(module(rows)[:, 0], truth).backward()
            optimizer.step()
    spent = time.process_time() - begun
    with torch.no_grad():
        found = (module(torch.tensor(Xt, dtype=torch.float32))[:, 0] > 0).numpy()
    answer[mode] = [[float(np.mean(found == yt))], spent]
"""

AUDIT = """
import warnings
import numpy as np
warnings.simplefilter("ignore")
from diffprivlib.models import GaussianNB, KMeans, LinearRegression, LogisticRegression
def told(X, y):
    X, y = np.array(X, dtype=float), np.array(y)
    {fit}
answer = [[told(X, y) for _ in range({draws})] for X, y in {pair!r}]
"""
LOGISTIC = "fit = LogisticRegression(epsilon=1, data_norm=1.0).fit(X, y)\n    w, b = float(fit.coef_[0, 0]), float(fit.intercept_[0])\n    return [w, b, w + b, b - w]"
BAYES = "fit = GaussianNB(epsilon=1, bounds={bounds}).fit(X, y)\n    return {told}"
AUDITED: dict[str, tuple[str, tuple[Any, Any], str]] = {
    "Gaussian naive Bayes": (
        "one of eight rows removed; the counts of the classes",
        (([[1]] * 8, [0] * 4 + [1] * 4), ([[1]] * 7, [0] * 3 + [1] * 4)),
        BAYES.format(bounds=(0, 1), told="float(fit.class_count_.sum())"),
    ),
    "Gaussian naive Bayes, a label moved": (
        "one of eight labels moved, all rows at the upper bound of 10 to 11; count and mean of a class",
        (([[11]] * 8, [0] * 4 + [1] * 4), ([[11]] * 8, [0] * 3 + [1] * 5)),
        BAYES.format(bounds=(10, 11), told="str((int(fit.class_count_[0]), round(float(fit.theta_[0, 0]), 2)))"),
    ),
    "linear regression": (
        "one of ten rows moved from 0 to 1; coefficient and intercept",
        (([[0]] * 10, [1.0] * 10), ([[0]] * 9 + [[1]], [1.0] * 10)),
        "fit = LinearRegression(epsilon=1, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0)).fit(X, y)\n"
        "    return [*map(float, fit.coef_.ravel()), float(np.ravel(fit.intercept_)[0])]",
    ),
    "logistic regression": (
        "one of two rows moved across; coefficient and intercept",
        (([[-1], [-1]], [1, 0]), ([[-1], [1]], [1, 0])),
        LOGISTIC,
    ),
    "k-means": (
        "one of three rows moved from 1 to 0; the centre",
        (([[1]] * 3, [1.0] * 3), ([[1]] * 2 + [[0]], [1.0] * 3)),
        "return [*map(float, KMeans(n_clusters=1, epsilon=1, bounds=(0.0, 1.0)).fit(X).cluster_centers_.ravel())]",
    ),
}
"""For each model of diffprivlib: what is looked at, two small tables that are neighbours, and what is told of a fit at epsilon 1."""


def audit(python: Path | None, name: str, *, draws: int) -> Any:
    """The verdict about one model of diffprivlib, from so many fits to each of its two tables; None where they could not be made."""
    _, pair, fit = AUDITED[name]
    found: Any = answer(python, AUDIT.format(fit=fit, draws=draws, pair=pair))
    if found is None:
        return None
    sides = [iter(side) for side in found]
    return dp.audit.check(
        lambda x: next(sides[x]), claim=dp.costs.Bounded(epsilon=1), neighbours=(0, 1), samples=2 * draws
    )


def diffprivlib() -> Path | None:
    """diffprivlib in an environment of its own."""
    return peer("diffprivlib", "diffprivlib==0.6.6", "scikit-learn==1.7.2")


def interpret() -> Path | None:
    """interpret-core in an environment of its own."""
    return peer("interpret", "interpret-core==0.7.8", "scikit-learn==1.7.2")


def opacus() -> Path | None:
    """Opacus in an environment of its own."""
    return peer("opacus", "opacus==1.6.0", "torch==2.13.0")


def told(python: Path | None, snippet: str, path: Path, **words: Any) -> dict[str, Any]:
    """The figures a snippet finds for the arrays at `path`; none where the library or the call fails, with a line that says why."""
    return answer(python, (LOAD + snippet).format(path=str(path), **words)) or {}
