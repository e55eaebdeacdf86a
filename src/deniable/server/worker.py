"""The one process that touches data: it takes granted requests from the ledger, charges, runs, waits for the tick, stores.

The queue is the ledger itself. A crash anywhere leaves a request charged or not, never answered twice: what was
charged and not stored when a worker begins is written down as not answered.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from deniable.errors import BudgetExceeded, DeniableError, EngineFailed, InvalidArgument, LedgerError, NotGranted
from deniable.ledger import Application, Ledger, Progress
from deniable.ledger.request import Reservation
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.server.codebook_desk import in_force, one_line, open_ledger, take_up
from deniable.server.counter import exact_terms
from deniable.server.settings import ServedData, ServerSettings
from deniable.server.ticks import leaving
from deniable.server.workloads import is_workload, rebuilt

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = logging.getLogger("deniable.worker")
WORKER = "worker"
"""The name under which the worker writes into the chain."""

NOT_ANSWERED = "charged and not answered; ask the curator"
"""What an analyst is told when a charged request has no answer, whatever the cause."""


NOT_REACHED = "the data could not be reached; nothing was spent, ask again later"
UNREADABLE = "this question could not be run; nothing was spent, ask the curator"
CHANGED = "the codebook was amended since this was granted; nothing was spent, ask again"
"""What an analyst is told when a grant no longer covers what the question has become."""


class TickingLedger(Ledger):
    """A ledger that stores an answer only at a public tick after it was reserved.

    Guarantee: when an event follows a charge tells nothing about the run, as long as runs are shorter than a tick.
    """

    __slots__ = ("pause",)
    pause: Callable[[], None]

    def store(self, reservation: Reservation, payload: bytes) -> None:
        """Wait for the tick, then keep the answer."""
        self.pause()
        super().store(reservation, payload)


class Pace:
    """Ticks on a clock: remembers when a run began and waits until it may leave."""

    def __init__(
        self, tick: Any, *, now: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._tick, self._now, self._sleep = tick, now, sleep
        self._began = now()

    def begin(self) -> None:
        """A run begins now."""
        self._began = self._now()

    def wait(self) -> None:
        """Until the run that began last may leave."""
        end = self._now()
        self._sleep(max(0.0, leaving(self._began, end, tick=self._tick) - end))


class Worker:
    """Answers granted requests of the served data sets, one after another."""

    def __init__(self, settings: ServerSettings, *, pace: Pace | None = None) -> None:
        self._pace = pace or Pace(settings.tick)
        self._settings = settings
        self._data = {name: self._opened(data) for name, data in settings.data.items()}
        for _, ledger in self._data.values():
            self._settle(ledger)

    def _opened(self, data: ServedData, *, again: bool = False) -> tuple[Dataset, TickingLedger]:
        """A data set and its ledger; opened again, under the terms the ledger has by now."""
        place = data.ledger
        ledger = TickingLedger.existing(place) if again else open_ledger(TickingLedger, place, data)
        ledger.pause = self._pace.wait
        current = in_force(ledger, data)
        return Dataset(current.source, codebook=current.codebook, name=current.name), ledger

    @staticmethod
    def _settle(ledger: Ledger) -> None:
        """What an earlier worker charged and did not store will never be answered: say so."""
        for each in ledger.desk.all():
            if each.progress is Progress.RUNNING:
                ledger.desk.refuse(each.account, each.request, by=WORKER, reason=NOT_ANSWERED)

    def work(self) -> int:
        """Answer everything that is granted now, and write down what has run out; how many requests were handled."""
        handled = 0
        for name in self._data:
            handled += self._amend(name)
            dataset, ledger = self._current(name)
            for each in ledger.desk.overdue():
                ledger.desk.expire(each.account, each.request, by=WORKER)
            for each in ledger.desk.ready():
                self._answer(dataset, ledger, each)
                handled += 1
        return handled

    def _amend(self, name: str) -> int:
        """Take up or reject what curators have proposed; how many proposals there were."""
        data, (_, ledger) = self._settings.data[name], self._data[name]
        waiting = [each for each in ledger.desk.proposals() if each.state == "open"]
        for each in waiting:
            take_up(Ledger.existing(data.ledger), data, each, by=WORKER)
        return len(waiting)

    def _current(self, name: str) -> tuple[Dataset, TickingLedger]:
        """A data set and its ledger as they are now: after an amendment or a new version of the data, opened again."""
        dataset, ledger = self._data[name]
        if ledger.stale:
            dataset.close()
            self._data[name] = self._opened(self._settings.data[name], again=True)
        return self._data[name]

    def _answer(self, dataset: Dataset, ledger: TickingLedger, known: Application) -> None:
        """One request: charged, run, stored at the tick; or one line in the chain that says why not."""
        session = Session(
            engine=dataset._engine,
            codebook=dataset.codebook,
            ledger=ledger,
            name=dataset.name,
            account=known.account,
            entropy=None,
        )
        assert known.grant is not None
        self._pace.begin()
        try:
            if is_workload(known):
                rebuilt(session, known)[0].release(request=known.request)
            else:
                session.sql(
                    known.body["text"],
                    dialect=known.body["dialect"],
                    request=known.request,
                    **_paid(known.grant["payment"]),
                )
        except BudgetExceeded:
            self._refuse(ledger, known, "the budget has no room left for this; nothing was spent")
        except EngineFailed:
            self._failed(ledger, known, NOT_REACHED)
        except NotGranted:
            if ledger.desk.one(known.account, known.request).progress is Progress.APPROVED:
                self._refuse(ledger, known, CHANGED)
        except LedgerError:
            raise  # the ledger was lost and not the request refused: uncharged, it is taken up again
        except DeniableError as refused:
            self._failed(ledger, known, str(refused))
        except Exception as error:  # one request stops neither the worker nor the others
            LOG.error("unexpected %s in a request", type(error).__name__)
            self._failed(ledger, known, UNREADABLE)

    def _failed(self, ledger: TickingLedger, known: Application, reason: str) -> None:
        """Say why not; what was charged before it failed is told at the tick, in the same words whatever the cause."""
        if ledger.desk.one(known.account, known.request).charge is not None:
            self._pace.wait()
            reason = NOT_ANSWERED
        self._refuse(ledger, known, reason)

    @staticmethod
    def _refuse(ledger: Ledger, known: Application, reason: str) -> None:
        ledger.desk.refuse(known.account, known.request, by=WORKER, reason=one_line(reason))

    def run(self, *, every: float = 0.2, stop: Callable[[], bool] = lambda: False) -> None:
        """Work until told to stop."""
        while not stop():
            try:
                handled = self.work()
            except LedgerError:
                LOG.warning("the ledger could not be used; the worker tries again")
                handled = self._recover()
            if not handled:
                time.sleep(every)

    def _recover(self) -> int:
        """After a lost connection nothing runs here: what was charged and not stored is told, as after a crash."""
        with suppress(LedgerError):
            for _, ledger in self._data.values():
                self._settle(ledger)
        return 0

    def close(self) -> None:
        """Let go of the data."""
        for dataset, _ in self._data.values():
            dataset.close()


def _paid(payment: Mapping[str, str]) -> dict[str, Any]:
    terms = exact_terms(payment)
    return {name: terms[name] for name in ("epsilon", "rho", "delta", "law", "group_size", "confidence")}


@contextmanager
def only_worker(folder: Path) -> Iterator[IO[str]]:
    """Hold the place of the one worker; a second one is refused, and a crash frees it."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(os.open(folder / "worker.lock", os.O_CREAT | os.O_RDWR, 0o600), "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidArgument(f"another worker is at work in {folder}; stop it first") from None
        yield file
