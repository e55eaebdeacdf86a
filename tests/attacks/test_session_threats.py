"""Attacks on a whole session, through the public API and the embedded engine: killed, forked, restored, averaged, rewritten."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import deniable as dp
from deniable.cli.demo_data import VISITS_CODEBOOK, visits
from deniable.engines.parquet import write_arrays
from deniable.errors import BudgetExceeded, InvalidArgument, LedgerError, Unanswered
from deniable.release.session import Session

HALF = Fraction(1, 2)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    write_arrays(visits(patients=40), tmp_path / "visits.parquet")
    (tmp_path / "visits.yaml").write_text(VISITS_CODEBOOK)
    return tmp_path


def session(epsilon: float = 1) -> Session:
    return dp.Dataset("visits.parquet", codebook="visits.yaml").session(dp.budget(epsilon=epsilon), ledger="v.ledger")


CHILD = """
import os, signal, sys
import deniable as dp
from deniable.engines.duckdb import DuckDBEngine
from deniable.release import session_queries as sessions
from deniable.ledger import Ledger

def deadly(owner, name, when):
    inner = getattr(owner, name)
    def wrapped(*args, **named):
        if sys.argv[1] == f"before {when}":
            os.kill(os.getpid(), signal.SIGKILL)
        found = inner(*args, **named)
        if sys.argv[1] == f"after {when}":
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    setattr(owner, name, wrapped)

deadly(Ledger, "reserve", "the charge")
deadly(DuckDBEngine, "run", "the query")
deadly(sessions, "draw_slices", "the draw")
deadly(Ledger, "store", "storing")
deadly(Ledger, "release", "the release")
data = dp.Dataset("visits.parquet", codebook="visits.yaml")
session = data.session(dp.budget(epsilon=1), ledger="v.ledger")
answer = session.query().agg(n=dp.count()).release(epsilon=0.5, request="r1")
os.write(1, str(answer.value()).encode())
"""
STEPS = {
    "before the charge": (0, False),
    "after the charge": (HALF, False),
    "before the query": (HALF, False),
    "after the query": (HALF, False),
    "after the draw": (HALF, False),
    "before storing": (HALF, False),
    "after storing": (HALF, True),
    "after the release": (HALF, True),
}


@pytest.mark.parametrize("step", STEPS)
def test_b3_a_session_killed_at_each_step_never_answers_uncharged_and_keeps_what_it_stored(step: str) -> None:
    spent, stored = STEPS[step]
    child = subprocess.run([sys.executable, "-c", CHILD, step], capture_output=True, check=False)
    assert (child.returncode, child.stdout) == (-signal.SIGKILL, b""), child.stderr
    again = session()
    assert again.spent.loss == spent
    question = again.query().agg(n=dp.count())
    if stored:
        answer = again.fetch("r1")
        assert question.release(epsilon=0.5).table == answer.table
    elif spent:
        with pytest.raises(Unanswered):
            question.release(epsilon=0.5, request="r1")
    else:
        question.release(epsilon=0.5, request="r1")
    assert again.spent.loss == HALF


def test_b3_left_alone_the_same_program_answers() -> None:
    child = subprocess.run([sys.executable, "-c", CHILD, "never"], capture_output=True, check=True)
    assert int(child.stdout) == session().fetch("r1").value()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_b2_a_session_forked_into_four_is_answered_once() -> None:
    """Each child asks a question of its own; the budget is enough for one."""
    shared = session(epsilon=0.5)
    shared.query().agg(n=dp.count()).price(epsilon=0.5)
    children = []
    for number in range(4):
        pid = os.fork()
        if pid == 0:  # pragma: no cover
            code = 3
            try:
                shared.query().where(f"age > {number}").agg(n=dp.count()).release(epsilon=0.5)
                code = 0
            except BudgetExceeded:
                code = 1
            finally:
                os._exit(code)
        children.append(pid)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
    assert codes == [0, 1, 1, 1]
    assert shared.spent.loss == HALF


def test_b6_a_restored_ledger_is_refused_by_open_and_new_sessions(place: Path) -> None:
    asked = session()
    asked.query().where("age > 50").agg(n=dp.count()).release(epsilon=0.1)
    shutil.copy(place / "v.ledger", place / "yesterday")
    asked.query().agg(n=dp.count()).release(epsilon=0.9)
    shutil.copy(place / "yesterday", place / "v.ledger")
    with pytest.raises(LedgerError, match="older"):
        asked.query().agg(u=dp.count_distinct()).release(epsilon=1)
    with pytest.raises(LedgerError, match="older"):
        session()


REWRITES = [
    ["age between 20 and 40", "age >= 20 and age <= 40", "not (age < 20 or age > 40)", "age <= 40 and 20 <= age"],
    ["age > 20", "20 < age", "not age <= 20", "age >= 21", "age + 0 > 20", "age * 1 > 20"],
    ["duration > 0 or age > 3", "age > 3 or duration > 0", "not (duration <= 0 and age <= 3)"],
]


@pytest.mark.parametrize("texts", REWRITES, ids=[texts[0] for texts in REWRITES])
def test_m2_equivalent_questions_are_the_same_answer_or_are_charged(texts: list[str]) -> None:
    """Averaging over rewritings gains nothing that was not paid for."""
    asked = session(epsilon=len(texts) * 0.1)
    before, answers = Fraction(0), set()
    for text in texts:
        answers.add(asked.query().where(text).agg(n=dp.count()).release(epsilon=0.1).value())
        draws = (asked.spent.loss - before) / Fraction(1, 10)
        assert draws in (0, 1)
        before = asked.spent.loss
    assert len(answers) <= before * 10


def test_m1_m3_repeating_in_new_sessions_or_under_other_names_draws_nothing_new() -> None:
    answers = set()
    for name in ("n", "n", "rows"):
        answers.add(session().query().agg(**{name: dp.count()}).release(epsilon=0.5).columns[name].values)
    assert session().spent.loss <= len(answers) * HALF
    assert len(answers) <= 2


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch owned']",
        "unit: !!python/name:os.system",
        "a: &a [*a, *a]\nb: !!binary aGk=",
    ],
)
def test_b8_a_codebook_makes_no_objects(text: str, place: Path) -> None:
    with pytest.raises(InvalidArgument) as caught:
        dp.Codebook.from_yaml(text)
    assert "\n" not in str(caught.value)
    assert not (place / "owned").exists()
