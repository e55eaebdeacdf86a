"""B1 and B2 for every object with state: threads, forks, copies and pickles of what was paid for once answer once.

The objects are found by reading the package (`tests.stateful`); one without a case here, or a reason, fails.
"""

from __future__ import annotations

import copy
import os
import pickle
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import deniable as dp
from deniable import mechanisms as m
from deniable.accounting import budget
from deniable.core import AbsoluteDistance, Lattice, Odometer, Planned, PrivacyFilter, Space, compositor, own_mechanism
from deniable.core.gate import Both
from deniable.core.transformation import Transformation
from deniable.cost import Bounded
from deniable.errors import BudgetExceeded, Retired
from deniable.mechanisms.sparse import Sparse, SparseRun
from deniable.testing.scripted_entropy import Silent
from tests.docs.pages import is_a_test
from tests.interleaving import interleaved
from tests.stateful import stateful

ROOT = Path(dp.__file__).parent
NUMBER = Space(Lattice(), AbsoluteDistance())
STREAM = dp.calculus.stream(NUMBER)
SAME = Transformation(NUMBER, NUMBER, lambda data, _: data, lambda d_in: d_in)
WHOLE = Bounded(epsilon=1)
PAID = own_mechanism(NUMBER, function=lambda data, _: "answer", privacy_map=lambda _: WHOLE, author="a test")
REFUSALS = (BudgetExceeded, Retired)
SHORT = Sparse(3, Fraction(1), Fraction(1), 1)


def granted(results: list[Any]) -> list[Any]:
    """What was answered; every other result is a refusal, not a crash."""
    assert all(isinstance(each, REFUSALS) for each in results if isinstance(each, Exception)), results
    return [each for each in results if not isinstance(each, Exception)]


def once(_: Any, results: list[Any]) -> bool:
    return len(granted(results)) == 1


def counted(gate: Any, results: list[Any]) -> bool:
    return gate.spent.loss == len(granted(results)) == len(results)


def in_some_order(total: Any, results: list[Any]) -> bool:
    """Each piece of ten counts once, in every total from its own on."""
    return sorted(results) == [30 + 10 * k for k in range(1, len(results) + 1)] and once_more(total, len(results))


def once_more(total: Any, pieces: int) -> bool:
    return bool(total.feed(10) == 30 + 10 * (pieces + 1))


def in_places(maximum: Any, results: list[Any]) -> bool:
    """Every piece has a place of its own, and the end comes once."""
    ends = [_result(maximum.finish), _result(maximum.finish)]
    return sorted(results) == [*range(len(results))] and len(granted(ends)) == 1


def all_alike(_: Any, results: list[Any]) -> bool:
    return results == [5] * len(results)


def _result(use: Callable[[], Any]) -> Any:
    try:
        return use()
    except Exception as error:
        return error


@dataclass(frozen=True, slots=True)
class Case:
    """A fresh object, what a thread does with it, and whether what several threads got is what was paid for."""

    make: Callable[[], Any]
    use: Callable[[Any], Any]
    fair: Callable[[Any, list[Any]], bool] = once


def _charge(gate: Any) -> None:
    gate.charge(WHOLE)


def _filter() -> PrivacyFilter:
    return PrivacyFilter(budget(epsilon=1).rule())


def _total() -> Any:
    total = (STREAM >> m.running_total(horizon=64, scale=1))([], entropy=Silent())
    for _ in range(3):
        total.feed(10)
    return total


CASES = {
    "deniable.core.gate:PrivacyFilter": Case(_filter, _charge),
    "deniable.core.gate:Odometer": Case(lambda: Odometer(budget(epsilon=1).rule()), _charge, counted),
    "deniable.core.gate:Planned": Case(lambda: Planned([WHOLE]), _charge),
    "deniable.core.gate:Both": Case(lambda: Both(_filter(), Odometer(budget(epsilon=1).rule())), _charge),
    "deniable.core.compositor:Compositor": Case(
        lambda: compositor(7, NUMBER, budget=budget(epsilon=1)), lambda held: held.release(PAID)
    ),
    "deniable.mechanisms.sparse:SparseRun": Case(lambda: SparseRun(SHORT, Silent()), lambda run: run.excess(5)),
    "deniable.mechanisms.query_stream:QueryStream": Case(
        lambda: (NUMBER >> m.query_stream(threshold=3, scale=1, sensitivity=1))(5, entropy=Silent()),
        lambda stream: stream.gap(SAME),
    ),
    "deniable.mechanisms.streams:Alerts": Case(
        lambda: (STREAM >> m.alerts(threshold=3, scale=1))([], entropy=Silent()), lambda run: run.feed(5)
    ),
    "deniable.mechanisms.streams:StreamMaximum": Case(
        lambda: (STREAM >> m.stream_maximum(scale=1))([], entropy=Silent()), lambda run: run.feed(5), in_places
    ),
    "deniable.transformations.each:EachPiece": Case(
        lambda: (STREAM >> dp.calculus.in_each(m.laplace(scale=1)))([], entropy=Silent()),
        lambda run: run.feed(5),
        all_alike,
    ),
    "deniable.mechanisms.continual:RunningTotal": Case(_total, lambda run: run.feed(10), in_some_order),
}
ELSEWHERE = {
    "deniable.noise.entropy:Entropy": "tests/unit/noise/test_entropy.py::test_a_forked_child_repeats_nothing",
    "deniable.engines.duckdb:DuckDBEngine": "tests/engines/test_duckdb_hardening.py::test_threads_share_one_engine",
    "deniable.engines.spark:SparkEngine": "tests/engines/test_spark.py::test_threads_share_one_engine",
    "deniable.ledger.ledger:Ledger": "tests/attacks/test_ledger_threats.py::"
    "test_b2_one_query_allowed_and_four_forked_copies_answer_exactly_once",
    "deniable.ledger.replay:Replay": "tests/attacks/test_ledger_threats.py::"
    "test_b1_sixteen_threads_times_five_tenths_of_one_are_granted_exactly_ten",
    "deniable.ledger.journal:_Turn": "tests/unit/ledger/test_held.py::test_what_one_thread_holds_is_not_shown_to_another",
    "deniable.ledger.postgres_journal:_Kept": "tests/attacks/test_ledger_threats.py::"
    "test_b2_forking_while_other_threads_spend_neither_deadlocks_nor_overspends",
    "deniable.ledger.opening:OpenedLedger": "tests/attacks/test_ledger_threats.py::"
    "test_b2_one_query_allowed_and_four_forked_copies_answer_exactly_once",
    **dict.fromkeys(
        (
            "deniable.release.session_budget:BudgetedSession",
            "deniable.release.session_mechanisms:MechanismSession",
            "deniable.release.session_queries:QuerySession",
        ),
        "tests/attacks/test_session_threats.py::test_b2_a_session_forked_into_four_is_answered_once",
    ),
}
"""Objects whose state is on disk or is no state of a budget: the test that attacks them."""
HARMLESS = {
    "made, used and dropped within one call of one thread": {
        "deniable.accounting.pld.outward:Meter",
        "deniable.accounting.pld.spectrum:Spectrum",
        "deniable.engines.text.text_store:_Writer",
        "deniable.noise.flip_choice:_Clock",
        "deniable.noise.race:Race",
        "deniable.noise.race:_Runner",
        "deniable.query.aggregates.measuring:Measuring",
        "deniable.query.sql.averages:_Rewriting",
        "deniable.query.sql.released_forms:TracedStatement",
        "deniable.query.sql.compiler:_Boundary",
        "deniable.query.sql.aggregates:AggregateCalls",
        "deniable.query.sql.aggregates:_Call",
        "deniable.query.sql.unit_subquery:_PerUnit",
        "deniable.query.sql.staging:Staging",
        "deniable.synth.fitted.generator:Generator",
        "deniable.synth.fitted.twin_randomness:ReleasedWords",
        "deniable.ledger.replay:Transaction",
        "deniable.ledger.state:State",
    },
    "a store of numbers that depend on public parameters alone; two threads would store the same": {
        "deniable.accounting.pld.composite_pairs:NestedPair",
        "deniable.exact.gaussian_profile:_Log",
        "deniable.noise.table:AliasTable",
    },
    "of the auditor, and of curators and models of made-up data that attacks are tried on; no budget rests on it": {
        "deniable.attacks.curators:SeededCurator",
        "deniable.attacks.curators:SessionCurator",
        "deniable.attacks.membership:CharacterModel",
        "deniable.audit.exact_law:Branching",
        "deniable.audit.long_run:Conversations",
        "deniable.audit.exact_law:OutputLaw",
        "deniable.audit.faults.noise_faults:DrawnOnce",
        "deniable.audit.recorder:Recorder",
        "deniable.audit.recorder:RecordingCompositor",
        "deniable.audit.session_questions:RememberingEngine",
        "deniable.audit.words:Tape",
        "deniable.audit.words:WordPath",
    },
    "knows who is at the door of a web process; what is charged is in the ledger": {
        "deniable.server.identity:RateLimit",
        "deniable.server.identity:Tokens",
        "deniable.server.single_sign_on:SingleSignOn",
        "deniable.server.letters:Postman",
        "deniable.server.webhooks:Messenger",
        "deniable.server.worker:Pace",
    },
    "shows at a web process what the ledger says, and reads it again; what is charged is in the ledger": {
        "deniable.server.counter:Counter",
    },
    "keeps exact tables for the run that was charged for them, inside one compositor": {
        "deniable.synth.measured.engine_cells:EngineCells",
        "deniable.synth.measured.table_noise:Measurer",
    },
    "charges a ledger before every run, and has no budget of its own": {
        "deniable.models.sklearn_adapter:SklearnAdapter",
        "deniable.server.worker:Worker",
    },
    "a stored release that keeps the model it was fitted to; two threads would fit the same": {
        "deniable.release.twin:Twin",
    },
    "runs plans for a session, which has charged for them; its one change is to be closed": {
        "deniable.engines.reference:ReferenceEngine",
        "deniable.release.dataset:Dataset",
        "deniable.engines.sql_engine:SqlEngine",
    },
    "a question or a constructor; it shares the session it asks, or makes runs, and changes nothing of its own": {
        "deniable.release.staged:PlannedStages",
        "deniable.release.synthetic:Synthesizer",
    },
}
"""Classes with state that no budget rests on, by the reason."""
KNOWN = frozenset({*ELSEWHERE, *(name for names in HARMLESS.values() for name in names)})
BASES = {"deniable.core.guard:Run"}

forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
quietly = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_every_class_with_state_is_attacked_or_has_a_reason():
    walked = {name for name in stateful(ROOT, known=KNOWN) if not name.startswith("deniable.testing")}
    assert walked - KNOWN - BASES == {*CASES}
    assert KNOWN - walked == set()  # a reason for what is not there hides the next one of that name
    assert [test for test in ELSEWHERE.values() if not is_a_test(test)] == []


def test_the_walk_finds_a_planted_object_its_heirs_and_its_holders(tmp_path):
    """Each plant changes state in another way; the one that changes nothing is not found."""
    package = tmp_path / "deniable"
    package.mkdir()
    (package / "planted.py").write_text(
        textwrap.dedent("""
            from typing import Protocol
            class Counter:
                def __init__(self): self.left = 1
                def ask(self): self.left -= 1
            class Listed:
                def ask(self): self.seen[0].append(1)
            class Heir(Counter): ...
            class Holder:
                def __init__(self, inner: Counter | None) -> None: self.inner = inner
            class Asked(Protocol):
                def ask(self): ...
            class Hidden:
                inner: Asked
            class Still:
                def __init__(self): self.left = 1
                def ask(self): return self.left
        """)
    )
    assert {name.partition(":")[2] for name in stateful(package)} == {"Counter", "Listed", "Heir", "Holder", "Hidden"}


@pytest.mark.parametrize("name", CASES)
def test_b1_no_interleaving_of_two_threads_answers_twice(name):
    case, made = CASES[name], list[Any]()

    def fresh() -> Callable[[], Any]:
        made.append(case.make())
        return lambda: case.use(made[-1])

    outcomes = list(interleaved(fresh, inside=("deniable/core/", "deniable/mechanisms/")))
    assert len(outcomes) > 3  # the first thread was stopped inside
    assert [results for thing, results in zip(made, outcomes, strict=True) if not case.fair(thing, results)] == []


@pytest.mark.parametrize("name", CASES)
def test_b1_sixteen_threads_get_what_was_paid_for(name):
    case, pause = CASES[name], sys.getswitchinterval()
    thing = case.make()

    def attempt(_: int) -> Any:
        try:
            return case.use(thing)
        except REFUSALS as refused:
            return refused

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(attempt, range(48)))
    finally:
        sys.setswitchinterval(pause)
    assert case.fair(thing, results)


@forking
@quietly
@pytest.mark.parametrize("name", CASES)
def test_b2_a_forked_object_answers_in_its_own_process_only(name):
    case = CASES[name]
    thing = case.make()
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:  # pragma: no cover
            code = 1
            try:
                case.use(thing)
            except Retired:
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4
    assert case.fair(thing, [case.use(thing)])


@forking
@quietly
@pytest.mark.parametrize("name", CASES)
def test_b2_an_object_forked_in_the_middle_of_a_turn_refuses_and_does_not_hang(name):
    thing = CASES[name].make()
    lock = getattr(thing, "_lock", None) or thing.gate._lock
    with lock:  # another thread is at work at the moment of the fork, and is not there in the child
        pid = os.fork()
        if pid == 0:  # pragma: no cover
            code = 1
            try:
                CASES[name].use(thing)
            except Retired:
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("name", CASES)
def test_b8_nothing_with_state_is_copied(name, duplicate):
    with pytest.raises(TypeError, match="copied"):
        duplicate(CASES[name].make())


class _Unguarded:
    """One answer, and nothing that keeps it one: what the attacks above are there to catch."""

    def __init__(self) -> None:
        self.left = 1

    def ask(self) -> int:
        if not self.left:
            raise Retired("no answer left")
        answer = self.left
        self.left -= 1
        return answer


@forking
@quietly
def test_a_planted_unguarded_object_is_caught_by_every_attack():
    fresh = list(interleaved(lambda: _Unguarded().ask, inside=(__file__,)))
    assert [results for results in fresh if len(granted(results)) == 2]
    thing = _Unguarded()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        os._exit(thing.ask())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == thing.ask() == 1
    assert copy.copy(_Unguarded()).ask() == pickle.loads(pickle.dumps(_Unguarded())).ask() == 1


def test_a_turn_that_fails_in_the_middle_retires_the_run():
    class Broken(Silent):
        def word(self) -> int:
            raise MemoryError

    run = SparseRun(SHORT, Silent())
    run._entropy = Broken()
    with pytest.raises(MemoryError):
        run.excess(5)
    run._entropy = Silent()
    with pytest.raises(Retired, match="failed in the middle"):
        run.excess(5)
