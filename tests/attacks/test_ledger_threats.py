"""Attacks on the budget (threats B1 to B8 and B11), each against the public ledger, with the pass rule of the threat list."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from deniable.accounting import Spend, budget
from deniable.cost import Bounded, Repeated
from deniable.errors import BudgetExceeded, InvalidArgument, LedgerError, Retired, Unanswered
from deniable.ledger import Journal, Ledger, SqliteJournal, Terms, fingerprint, journal_at, verify
from tests.needs import require_module
from tests.servers import POSTGRES

TENTH = Bounded(epsilon=0.1)
ONE = Spend(Fraction(1), Fraction(0))


def terms(epsilon: object = 1) -> Terms:
    return Terms(
        dataset="visits",
        unit="patient",
        budget=budget(epsilon=epsilon),
        codebook=fingerprint("columns: {}"),  # type: ignore[arg-type]
    )


@pytest.fixture(autouse=True)
def _state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger's file, for attacks on the file itself."""
    return tmp_path / "visits.ledger"


@pytest.fixture(params=["file", pytest.param("PostgreSQL", marks=POSTGRES)])
def place(request: pytest.FixtureRequest, path: Path) -> str:
    """Where a ledger can live; the pass rules are the same everywhere."""
    if request.param == "file":
        return str(path)
    server = request.getfixturevalue("postgres")
    return server.url(ledger=server.fresh("ledger"))


def spend_until_refused(ledger: Ledger, times: int) -> int:
    granted = 0
    for _ in range(times):
        try:
            ledger.answer(TENTH, lambda: b"x")
            granted += 1
        except BudgetExceeded:
            pass
    return granted


# B1: threads


@pytest.mark.parametrize("shared", [True, False], ids=["one object", "an object each"])
def test_b1_sixteen_threads_times_five_tenths_of_one_are_granted_exactly_ten(place: str, shared: bool):
    ledger = Ledger.open(place, terms=terms())
    start = threading.Barrier(16)

    def attack(_: int) -> int:
        mine = ledger if shared else Ledger.open(place, terms=terms())
        start.wait()
        return spend_until_refused(mine, 5)

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(attack, range(16))) == 10
    assert ledger.spent == ONE
    assert verify(journal_at(place)).sound


def test_b1_threads_and_processes_together(place: str):
    Ledger.open(place, terms=terms())
    program = (
        "import sys, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from deniable.cost import Bounded\n"
        "from deniable.errors import BudgetExceeded\n"
        "from deniable.ledger import Ledger\n"
        "ledger = Ledger.existing(sys.argv[1])\n"
        "def attack(_):\n"
        "    try:\n"
        "        ledger.answer(Bounded(epsilon=0.1), lambda: b'x')\n"
        "        return 1\n"
        "    except BudgetExceeded:\n"
        "        return 0\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    print(sum(pool.map(attack, range(8))))\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, place], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    granted = sum(int(child.communicate(timeout=120)[0]) for child in children)
    assert granted == 10
    assert Ledger.existing(place).spent == ONE


# B2: forks


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
forking = pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning"
)  # what we do on purpose, later versions warn of


def in_forks(attack: Callable[[], bytes], count: int) -> list[bytes]:
    """Run `attack` in `count` forked children at once; what each one returned."""
    pipes = []
    for _ in range(count):
        out, into = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                os.write(into, attack())
            finally:
                os._exit(0)
        os.close(into)
        pipes.append((child, out))
    answers = []
    for child, out in pipes:
        with os.fdopen(out, "rb") as stream:
            finished, _, _ = select.select([stream], [], [], 100)
            if not finished:
                os.kill(child, signal.SIGKILL)
            answers.append(stream.read())
        os.waitpid(child, 0)
    return answers


@needs_fork
@forking
def test_b2_one_query_allowed_and_four_forked_copies_answer_exactly_once(place: str):
    ledger = Ledger.open(place, terms=terms(0.1))
    ledger.note("used before the fork", by="curator")

    def attack() -> bytes:
        try:
            return ledger.answer(TENTH, lambda: b"answered").payload
        except BudgetExceeded:
            return b"refused"

    answers = in_forks(attack, 4)
    assert sorted(answers) == [b"answered", b"refused", b"refused", b"refused"]
    with pytest.raises(BudgetExceeded):
        ledger.charge(TENTH)


@needs_fork
@forking
def test_b2_a_reservation_made_before_the_fork_is_answered_at_most_once(place: str):
    ledger = Ledger.open(place, terms=terms(0.1))
    reservation = ledger.reserve(TENTH, request="r1")

    def attack() -> bytes:
        try:
            ledger.store(reservation, b"a draw of the child's own")
            return ledger.release(reservation).payload
        except Retired:
            return b"refused"

    assert in_forks(attack, 4) == [b"refused"] * 4
    ledger.store(reservation, b"the one draw")
    assert ledger.fetch("r1").payload == b"the one draw"


@needs_fork
@forking
def test_b2_forking_while_other_threads_spend_neither_deadlocks_nor_overspends(place: str):
    ledger = Ledger.open(place, terms=terms())
    done = threading.Event()
    granted = []

    def spend() -> None:
        while not done.is_set():
            granted.append(spend_until_refused(ledger, 1))

    threads = [threading.Thread(target=spend) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = [int(answer) for _ in range(3) for answer in in_forks(lambda: b"%d" % spend_until_refused(ledger, 2), 2)]
    done.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert sum(granted) + sum(children) <= 10
    granted.append(spend_until_refused(ledger, 10))
    assert sum(granted) + sum(children) == 10
    assert ledger.spent == ONE


def _spawned(path: str, results: multiprocessing.Queue[int]) -> None:
    results.put(spend_until_refused(Ledger.open(path, terms=terms(0.1)), 2))


# B3: kill -9

STEPS = (
    "before reserve",
    "in reserve, before the row",
    "in reserve, after the row",
    "after reserve",
    "after compute",
    "in store, before the answer",
    "in store, after the answer",
    "after store",
    "in release, after the row",
    "after release",
)

CHILD = """
import os, signal, sys
from contextlib import contextmanager
from deniable.cost import Bounded
from deniable.ledger import Ledger, journal_at

place, step = sys.argv[1:]

def reach(here):
    if here == step:
        os.kill(os.getpid(), signal.SIGKILL)

class Deadly:
    "The same journal, with a place to die at inside each transaction."
    def __init__(self, inner): self.inner = inner
    def __getattr__(self, name): return getattr(self.inner, name)
    @contextmanager
    def writing(self):
        with self.inner.writing() as rows:
            yield DeadlyRows(rows)

class DeadlyRows:
    def __init__(self, inner): self.inner = inner
    def __getattr__(self, name): return getattr(self.inner, name)
    def append(self, event):
        name = event.kind.value
        reach(f"in {name}, before the row")
        self.inner.append(event)
        reach(f"in {name}, after the row")
    def keep(self, reservation, answer):
        reach("in store, before the answer")
        self.inner.keep(reservation, answer)
        reach("in store, after the answer")

ledger = Ledger(Deadly(journal_at(place))).opened(None)
reach("before reserve")
reservation = ledger.reserve(Bounded(epsilon=0.1), request="r1", plan="count(*)")
reach("after reserve")
answer = b"forty-two" * int(os.environ.get("LENGTH", "1"))
reach("after compute")
ledger.store(reservation, answer)
reach("after store")
released = ledger.release(reservation)
reach("after release")
os.write(1, released.payload)
"""


@pytest.mark.parametrize("step", STEPS)
def test_b3_killed_at_each_step_nothing_is_released_unspent_and_what_is_stored_can_be_fetched(place: str, step: str):
    Ledger.open(place, terms=terms())
    child = subprocess.run([sys.executable, "-c", CHILD, place, step], capture_output=True, check=False)
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert child.stdout == b""
    ledger = Ledger.open(place, terms=terms())
    charged = step not in STEPS[:3]
    stored = step in STEPS[7:]
    assert ledger.spent.loss == (Fraction(1, 10) if charged else 0)
    assert verify(journal_at(place)).sound
    if stored:
        assert ledger.fetch("r1").payload == b"forty-two"
        assert ledger.answer(TENTH, lambda: b"other", request="r2", plan="count(*)").payload == b"forty-two"
        assert ledger.unanswered() == ()
    elif charged:
        assert [charge.asked for charge in ledger.unanswered()] == [("analyst", "r1")]
        with pytest.raises(Unanswered):
            ledger.answer(TENTH, lambda: b"a second draw", request="r1", plan="count(*)")
    else:
        assert (
            ledger.answer(TENTH, lambda: b"the first draw", request="r1", plan="count(*)").payload == b"the first draw"
        )
    assert ledger.spent.loss == Fraction(1, 10)
    assert spend_until_refused(ledger, 10) == 9


def test_b3_killed_with_half_an_answer_on_disk(path: Path, monkeypatch: pytest.MonkeyPatch):
    """An answer too large for memory reaches the file before its commit; the next to open the ledger rolls it back."""
    Ledger.open(path, terms=terms())
    monkeypatch.setenv("LENGTH", str(10**6))
    child = subprocess.run([sys.executable, "-c", CHILD, str(path), STEPS[6]], capture_output=True, check=False)
    assert child.returncode == -signal.SIGKILL
    assert path.with_name(path.name + "-journal").exists()
    assert path.stat().st_size > 10**6
    ledger = Ledger.open(path, terms=terms())
    with pytest.raises(Unanswered):
        ledger.fetch("r1")
    assert verify(SqliteJournal(path)).sound
    assert ledger.spent.loss == Fraction(1, 10)


def test_b3_without_a_kill_the_child_answers(place: str):
    """The control: the same program, left alone, does release."""
    Ledger.open(place, terms=terms())
    child = subprocess.run([sys.executable, "-c", CHILD, place, "never"], capture_output=True, check=False)
    assert (child.returncode, child.stdout) == (0, b"forty-two")


ENDLESS = """
import os, sys
from deniable.cost import Bounded
from deniable.ledger import Ledger
ledger = Ledger.existing(sys.argv[1])
os.write(1, b"ready\\n")
for number in range(10**6):
    request = f"{os.getpid()}-{number}"
    payload = ledger.answer(Bounded(epsilon=1e-6), lambda: request.encode(), request=request).payload
    os.write(1, payload + b"\\n")
"""


@pytest.mark.slow
def test_b3_killed_at_any_moment_every_answer_that_was_sent_is_charged_and_can_be_fetched(place: str):
    """Five children die at moments spread over several rounds of the protocol; what they had sent is all accounted for."""
    Ledger.open(place, terms=terms())
    sent: list[str] = []
    for number in range(5):
        child = subprocess.Popen([sys.executable, "-c", ENDLESS, place], stdout=subprocess.PIPE, text=True)
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        sent += [child.stdout.readline().strip() for _ in range(number)]  # however slow the machine is
        time.sleep(0.011 * number)
        child.send_signal(signal.SIGKILL)
        sent += child.communicate()[0].split()
        assert verify(journal_at(place)).sound
    ledger = Ledger.open(place, terms=terms())
    assert ledger.spent.loss == Fraction(len(ledger.charges()), 10**6)
    assert len(ledger.charges()) >= len(sent) > 0
    assert all(ledger.fetch(request).payload == request.encode() for request in sent[-10:])
    stored = {charge.asked[1] for charge in ledger.charges() if charge.sealed}
    assert set(sent) <= stored
    assert len(ledger.unanswered()) <= 5


def test_b3_ctrl_c_after_reserve_is_spent(place: str):
    ledger = Ledger.open(place, terms=terms())

    def interrupted() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.answer(TENTH, interrupted, request="r1")
    assert ledger.spent.loss == Fraction(1, 10)
    with pytest.raises(Unanswered):
        ledger.fetch("r1")


def test_b3_a_full_disk_neither_answers_nor_confuses(place: str):
    """The commit fails: nothing is charged, nothing runs, and the same ledger goes on when there is room again."""

    failure = require_module("psycopg").errors.DiskFull if "://" in place else sqlite3.OperationalError

    class Full:
        def __init__(self, inner: Journal) -> None:
            self.inner, self.full = inner, False

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        @contextmanager
        def writing(self) -> Iterator[object]:
            with self.inner.writing() as rows:
                yield rows
                if self.full:
                    raise failure("database or disk is full")

    journal = Full(journal_at(place))
    ledger = Ledger(journal).opened(terms())  # type: ignore[arg-type]
    journal.full = True
    ran = []
    with pytest.raises(LedgerError, match="disk"):
        ledger.answer(TENTH, lambda: ran.append(1) or b"")  # type: ignore[func-returns-value]
    assert ran == []
    journal.full = False
    assert spend_until_refused(ledger, 12) == 10


# B4: retries


def test_b4_the_same_request_twice_is_one_charge_and_the_same_bytes(place: str):
    ledger = Ledger.open(place, terms=terms())
    draws = iter([b"first draw", b"second draw"])
    first = ledger.answer(TENTH, lambda: next(draws), request="r1")
    again = Ledger.open(place, terms=terms()).answer(TENTH, lambda: next(draws), request="r1")
    assert first == again
    assert ledger.spent.loss == Fraction(1, 10)


def test_b4_the_same_request_from_sixteen_threads_is_one_charge_and_one_answer(place: str):
    ledger = Ledger.open(place, terms=terms())
    start = threading.Barrier(16)

    def attack(number: int) -> bytes:
        start.wait()
        try:
            return ledger.answer(TENTH, lambda: b"draw %d" % number, request="r1").payload
        except Unanswered:
            return b""

    with ThreadPoolExecutor(16) as pool:
        seen = set(pool.map(attack, range(16))) - {b""}
    assert seen == {ledger.fetch("r1").payload}
    assert ledger.spent.loss == Fraction(1, 10)
    assert len(ledger.charges()) == 1


# B5: exact sums, bad amounts


def test_b5_ten_times_a_tenth_is_one(place: str):
    ledger = Ledger.open(place, terms=terms(1.0))
    assert spend_until_refused(ledger, 11) == 10
    assert ledger.left == Spend(Fraction(0), Fraction(0))


def test_b5_tiny_spends_are_not_lost_beside_large_ones(place: str):
    """In floats 1 + 1e-17 == 1, so 1e16 spends of 1e-17 would be free. Here they are a tenth."""
    ledger = Ledger.open(place, terms=terms())
    tiny = Bounded(epsilon=1e-17)
    ledger.charge(Repeated(tiny, 10**16))
    assert ledger.spent.loss == Fraction(1, 10)
    ledger.charge(Bounded(epsilon=0.9))
    assert ledger.left.loss == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(tiny)


def test_b5_one_tiny_spend_after_a_large_one_counts(place: str):
    ledger = Ledger.open(place, terms=terms())
    ledger.charge(Bounded(epsilon=Fraction(10**17 - 1, 10**17)))
    ledger.charge(Bounded(epsilon=1e-17))
    assert ledger.spent == ONE
    assert Ledger.open(place, terms=terms()).spent == ONE


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), "1", True, None, -0.1, 1j])
def test_b5_amounts_that_are_no_amounts_are_refused(path: Path, epsilon: object):
    ledger = Ledger.open(path, terms=terms())
    with pytest.raises(InvalidArgument):
        ledger.charge(Bounded(epsilon=epsilon))  # type: ignore[arg-type]
    for not_a_cost in (epsilon, {"epsilon": epsilon}, {"patient": epsilon}, object()):
        with pytest.raises(InvalidArgument):
            ledger.reserve(not_a_cost)  # type: ignore[arg-type]
    assert ledger.mark.count == 1


# B6: an older file


def test_b6_a_restored_older_file_is_detected_by_the_running_and_by_a_new_session(path: Path, tmp_path: Path):
    ledger = Ledger.open(path, terms=terms())
    ledger.charge(TENTH)
    shutil.copy(path, tmp_path / "yesterday")
    ledger.charge(Bounded(epsilon=0.9))
    shutil.copy(tmp_path / "yesterday", path)
    for attempt in (
        lambda: ledger.charge(TENTH),
        lambda: Ledger.open(path, terms=terms()),
        lambda: Ledger.existing(path),
    ):
        with pytest.raises(LedgerError, match="restored from an older copy"):
            attempt()


def test_b6_a_restored_file_that_has_grown_again_is_detected(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Restored, and spent up to the same number of events by someone whose anchor was elsewhere."""
    ledger = Ledger.open(path, terms=terms())
    shutil.copy(path, tmp_path / "yesterday")
    ledger.charge(Bounded(epsilon=1))
    shutil.copy(tmp_path / "yesterday", path)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
        other = Ledger.open(path, terms=terms())
        other.charge(TENTH)
        other.charge(TENTH)
    with pytest.raises(LedgerError, match="with another head were seen"):
        Ledger.open(path, terms=terms())


def test_b6_a_receipt_tells_too(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ledger = Ledger.open(path, terms=terms())
    shutil.copy(path, tmp_path / "yesterday")
    receipt = ledger.answer(TENTH, lambda: b"x").receipt
    shutil.copy(tmp_path / "yesterday", path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "new machine"))
    assert not Ledger.open(path, terms=terms()).confirms(receipt)


# B7: an edited row


@pytest.mark.parametrize("guards", ["as they are", "dropped"])
def test_b7_an_edited_row_is_refused_or_found(path: Path, guards: str):
    ledger = Ledger.open(path, terms=terms())
    ledger.charge(Bounded(epsilon=0.9))
    edit = """UPDATE events SET body = replace(body, '9/10', '1/10')"""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if guards == "as they are":
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(edit)
            return
        text = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'events_update'").fetchone()[0]
        connection.execute("DROP TRIGGER events_update")
        connection.execute(edit)
        connection.execute(text)
    with pytest.raises(LedgerError, match="event 2 of this ledger was edited"):
        Ledger.open(path, terms=terms())
    assert not verify(SqliteJournal(path)).sound


# B8: pickles, copies, YAML


def test_b8_a_ledger_cannot_be_pickled_or_sent_to_a_process(place: str):
    ledger = Ledger.open(place, terms=terms(0.1))
    for thing in (ledger, ledger.reserve(TENTH)):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                pickle.dumps(thing, protocol=protocol)
    context = multiprocessing.get_context("spawn")
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        context.Process(target=print, args=(ledger,)).start()


@pytest.mark.slow
def test_b8_a_spawned_process_opens_the_same_budget_by_its_path(place: str):
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[int] = context.Queue()
    children = [context.Process(target=_spawned, args=(place, results)) for _ in range(2)]
    for child in children:
        child.start()
    assert sorted(results.get(timeout=120) for _ in children) == [0, 1]
    for child in children:
        child.join()


def test_b8_nothing_the_ledger_reads_can_make_objects(path: Path):
    """Object tags are YAML's; the ledger reads JSON only, and a tagged text stays a text or is refused."""
    tagged = "!!python/object/apply:os.system ['true']"
    ledger = Ledger.open(path, terms=terms())
    ledger.note(tagged, by="curator")
    assert Ledger.existing(path).mark == ledger.mark
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(tagged)
    sources = (Path(sys.modules[Ledger.__module__].__file__ or "").parent).rglob("*.py")
    assert not any("yaml" in source.read_text() or "pickle.load" in source.read_text() for source in sources)


# B11: delete to refund


def test_b11_there_is_no_way_to_delete_and_sql_refuses(path: Path):
    ledger = Ledger.open(path, terms=terms())
    ledger.charge(Bounded(epsilon=1))
    offered = {name for name in dir(ledger) if not name.startswith("_")}
    assert not {
        name for name in offered if any(word in name for word in ("delete", "remove", "reset", "refund", "clear"))
    }
    ledger.store(ledger.reserve(Bounded(epsilon=0)), b"x")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in ("DELETE FROM events", "DELETE FROM answers", "DELETE FROM events WHERE count = 2"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
    assert ledger.spent == ONE


def test_b11_deleting_the_file_refunds_nothing(path: Path):
    ledger = Ledger.open(path, terms=terms())
    ledger.charge(Bounded(epsilon=1))
    path.unlink()
    with pytest.raises(LedgerError, match="is gone"):
        ledger.charge(TENTH)
    with pytest.raises(LedgerError, match="no longer there; put its file back"):
        Ledger.open(path, terms=terms())


def test_b11_a_fresh_ledger_moved_over_the_used_one_refunds_nothing(path: Path, tmp_path: Path):
    Ledger.open(path, terms=terms()).charge(Bounded(epsilon=1))
    Ledger.open(tmp_path / "fresh.ledger", terms=terms())
    (tmp_path / "fresh.ledger").replace(path)
    with pytest.raises(LedgerError, match="no longer there"):
        Ledger.open(path, terms=terms())


# S and T: what the ledger says does not depend on the data


def test_a_refusal_is_decided_before_data_is_touched(place: str):
    ledger = Ledger.open(place, terms=terms(0.1))
    touched = []
    ledger.charge(TENTH)
    with pytest.raises(BudgetExceeded):
        ledger.answer(TENTH, lambda: touched.append(1) or b"")  # type: ignore[func-returns-value]
    assert touched == []


def test_two_runs_on_different_answers_leave_the_same_chain_but_for_the_seals(path: Path, tmp_path: Path):
    """Length and content of an answer show nowhere in the events."""
    chains = []
    for number, payload in enumerate((b"", b"x" * 100_000)):
        ledger = Ledger.open(tmp_path / f"{number}.ledger", terms=terms())
        ledger.answer(TENTH, lambda answer=payload: answer, request="r1")  # type: ignore[misc]
        bodies = [json.loads(line)["body"] for line in ledger.export()]
        for body in bodies:
            for secret in ("at", "ledger"):
                body.pop(secret, None)
            if "seal" in body:
                body["seal"] = len(body["seal"])
        chains.append(bodies)
    assert chains[0] == chains[1]
    del path
