"""Attacks on fits: sixteen threads on a budget for three, a process killed in the middle of training, and who was in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import deniable as dp
from deniable.accounting import RuleKind
from deniable.audit.claims import curve_of
from deniable.errors import BudgetExceeded, Unanswered
from deniable.models import LinearRegression, LogisticRegression, Network, Training
from deniable.synth.measured.coded import CellRows
from deniable.synth.synthesis import synthesis
from deniable.testing import Seeded
from tests.models_kit import book, codes, people, session, table


@pytest.fixture(autouse=True)
def _state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_sixteen_threads_on_a_budget_for_three_fits_get_three(tmp_path):
    asked = session(people(20), epsilon=3, delta=0, ledger=tmp_path / "t.ledger")
    names = ["age", "height", "sex", "town", "smoker"]
    subsets = [list(some) for size in (1, 2, 3) for some in combinations(names, size)][:16]

    def fit(features):
        try:
            LinearRegression("wage", features=features, method="functional").fit(asked, epsilon=1)
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(fit, subsets)) == 3
    assert asked.spent.loss == 3


KILLED = """
import os, signal, sys
sys.path.insert(0, os.getcwd())
from deniable.models import descent, LogisticRegression
from tests.models_kit import book, codes, people, session, table

calls, honest = [], descent.gradient

def deadly(*words, **named):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return honest(*words, **named)

descent.gradient = deadly
asked = session(people(40), epsilon=10, ledger=sys.argv[1])
LogisticRegression("smoker", steps=6).fit(asked, epsilon=2, request="model")
"""


def test_killed_in_the_middle_of_training_it_is_charged_and_there_is_no_model(tmp_path):
    ledger = str(tmp_path / "k.ledger")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, ledger], capture_output=True, env=dict(os.environ), check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    asked = session(people(40), epsilon=10, ledger=ledger)
    assert 1 < asked.spent.loss <= 2
    with pytest.raises(Unanswered):
        asked.fetch("model")
    assert LogisticRegression("smoker", steps=6).fit(asked, epsilon=1)  # the session goes on


# Was this row in the training? ----------------------------------------------------------------------------------------

RUNS = 150
VICTIM = {"age": 40, "height": 2.0, "sex": "m", "town": "c", "smoker": False, "wage": -10}
"""A row unlike all others: nobody is as old and does not smoke."""


def _weights(model, reading, rows, multiplier, entropy):
    fitted = model.at(reading, multiplier).function(table(reading, codes(rows)), entropy)
    return np.asarray(fitted.weights, dtype=np.float64).ravel()


def _audit(score, neighbours, claim):
    return dp.audit.check(score, claim=claim, neighbours=neighbours, samples=2 * RUNS, entropy=Seeded(1))


def _holds(verdict, claim):
    """The draws of an audit held against another claim."""
    return all(trial.pairs.excess(curve_of(claim).frontier) <= 0 for trial in verdict.trials)


def _attacker(model, multiplier):
    """One who knows all other rows, and has seen in fits of his own where this one pulls the weights, scores fits."""
    reading, others = model.reading(book()), people(12, seed=3)
    within = {name: [*column, VICTIM[name]] for name, column in others.items()}
    pulls = [
        _weights(model, reading, within, multiplier, Seeded(seed))
        - _weights(model, reading, others, multiplier, Seeded(seed + 500))
        for seed in range(1000, 1020)
    ]
    gap = np.mean(pulls, axis=0)
    return lambda rows, entropy: float(_weights(model, reading, rows, multiplier, entropy) @ gap), (others, within)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression("smoker", steps=2), Training(Network((3,)), target="smoker", rate=1, steps=2)],
    ids=["logistic", "network"],
)
def test_membership_is_told_no_better_than_the_charge_allows(model):
    reading = model.reading(book())
    cheap, dear = Fraction(4), Fraction(1, 10)  # epsilon about 1 and about 100, at a delta of 1e-5
    claimed = model.at(reading, cheap).cost(d_in=1)
    assert not _audit(*_attacker(model, cheap), claimed).broken
    verdict = _audit(*_attacker(model, dear), claimed)
    assert verdict.broken  # a fit that costs more than it says is seen
    assert _holds(verdict, model.at(reading, dear).cost(d_in=1))
    assert not _holds(verdict, claimed)


# Was this row behind the twin? ----------------------------------------------------------------------------------------


def _twins(scale):
    """Released counts of the cells that a rare row is in, added up over all tables of a twin; the data with and without it."""
    asked = synthesis(book(), None, columns=["sex", "town"], method="pairs", focus=(), rows=None, bins=None, options={})
    others = (np.array([0] * 12), np.array([0, 1] * 6))
    within = tuple(np.append(column, rare) for column, rare in zip(others, (1, 2), strict=True))
    mechanism = asked.at(RuleKind.GAUSSIAN, scale)

    def score(cells, entropy):
        stored = mechanism.function(CellRows(cells), entropy)
        rare = [[(1, 2)[place] for place in one.places] for one in stored.marginals if not one.grouped]
        plain = [one for one in stored.marginals if not one.grouped]
        return sum(float(one.counts[tuple(cell)]) / float(one.scale) for one, cell in zip(plain, rare, strict=True))

    return score, (others, within), mechanism.cost(d_in=1)


def test_who_is_behind_a_twin_is_told_no_better_than_the_charge_allows():
    score, neighbours, cost = _twins(Fraction(4))
    assert 0.5 < float(dp.epsilon(cost, delta=1e-5).upper) < 1.5
    assert not _audit(score, neighbours, cost).broken
    quiet, neighbours, dear = _twins(Fraction(1, 8))
    verdict = _audit(quiet, neighbours, cost)
    assert verdict.broken  # a twin that costs more than it says is seen
    assert _holds(verdict, dear)


def test_a_value_nobody_declared_is_in_no_frame():
    rows = {name: [*column, VICTIM[name]] for name, column in people(30).items()}
    rows["town"][-1] = "the only one who lives in Utopia"
    asked = session(rows, epsilon=100, delta=1e-4)
    frame = asked.synthesizer().release(epsilon=50).frame(5000, form="dict")
    assert set(frame["town"]) <= {"a", "b", "c", None}
