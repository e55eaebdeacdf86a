"""A held look at a ledger: one state read once, nothing written inside, let go of whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from deniable.cost import Bounded
from deniable.ledger import Ledger

TENTH = Bounded(epsilon=0.1)


@pytest.fixture
def path(place: Path | str) -> Path | str:
    """The same in a file and in PostgreSQL."""
    return place


def elsewhere(work: Callable[[], object]) -> threading.Thread:
    """The same in another thread, begun."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_inside_all_is_one_state_and_others_wait(ledger: Ledger):
    with ledger.held():
        before = ledger.mark
        other = elsewhere(lambda: ledger.charge(TENTH))
        other.join(0.1)
        assert other.is_alive()  # it waits
        assert (ledger.mark, ledger.spent.loss) == (before, 0)
    other.join(60)
    assert (ledger.mark.count, ledger.spent.loss * 10) == (before.count + 1, 1)


def test_nothing_is_written_inside_and_nested_looks_are_the_outer_one(ledger: Ledger):
    with ledger.held():
        before = ledger.mark
        with ledger.held():
            assert ledger.mark == before
        with pytest.raises(RuntimeError, match="nothing can be written"):  # still held after the inner one
            ledger.reserve(TENTH, request="r1")
        with pytest.raises(RuntimeError, match="nothing can be written"):
            ledger.charge(TENTH)
    assert ledger.mark == before
    assert ledger.reserve(TENTH, request="r1").charged


def test_another_ledger_inside_is_refused_and_not_waited_for(ledger: Ledger, path: Path | str, tmp_path: Path, terms):
    for one in (Ledger.open(tmp_path / "other.ledger", terms=terms()), Ledger.existing(path)):
        with ledger.held(), pytest.raises(RuntimeError, match="holds a ledger open"):
            one.spent  # noqa: B018
        assert one.spent.loss == 0


def test_an_error_inside_lets_go(ledger: Ledger):
    def fail() -> None:
        with ledger.held(), ledger.held():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    ledger.charge(TENTH)
    other = elsewhere(lambda: ledger.charge(TENTH))
    other.join(60)
    assert ledger.spent.loss * 5 == 1


def test_what_one_thread_holds_is_not_shown_to_another(ledger: Ledger):
    """Else it would read a snapshot whose transaction belongs to somebody else, and after its end."""
    seen: list[object] = []
    with ledger.held():
        held = ledger._replay._held.snapshot
        other = elsewhere(lambda: seen.append(getattr(ledger._replay._held, "snapshot", None)))
        other.join(60)
    assert held is not None
    assert seen == [None]
    assert ledger._replay._held.snapshot is None
