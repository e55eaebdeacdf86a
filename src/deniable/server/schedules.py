"""Scheduled questions: at the start of every period the server files the same request again, and each run needs a grant of its own.

A schedule files and does nothing else: it cannot grant, and what was granted for one period says nothing for the next.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from deniable.errors import DeniableError
from deniable.server.counter import Counter

PERIODS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}
"""Periods, in UTC, each with what tells one of them from the next."""
_log = logging.getLogger("deniable.schedules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One question of one analyst, filed again in every period."""

    name: str
    data: str
    account: str
    sql: str
    payment: Mapping[str, Any]
    purpose: str
    every: str

    def request(self, moment: datetime) -> str:
        """The id of the request for the period of this moment: one a period, whoever files it and however often."""
        return f"{self.name}-{moment.astimezone(UTC).strftime(PERIODS[self.every])}"


class Scheduler:
    """Files what is due. Guarantee: it writes requests alone, so nothing is charged without a grant for that very run."""

    def __init__(
        self,
        schedules: Iterable[Schedule],
        counters: Mapping[str, Counter],
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._schedules, self._counters, self._clock = tuple(schedules), counters, clock

    def file(self) -> list[str]:
        """The requests that were filed now: those of this period that are not in the ledger yet."""
        moment, filed = self._clock(), []
        for schedule in self._schedules:
            counter, request = self._counters[schedule.data], schedule.request(moment)
            if any(known.request == request for known in counter.ledger.desk.all(account=schedule.account)):
                continue
            try:
                counter.request(
                    schedule.sql,
                    account=schedule.account,
                    purpose=schedule.purpose,
                    payment=schedule.payment,
                    dialect="duckdb",
                    request=request,
                )
            except DeniableError as refused:
                _log.warning("schedule %s was not filed: %s", schedule.name, type(refused).__name__)
                continue
            filed.append(request)
        return filed

    def start(self, *, every: float = 30.0) -> None:
        """File, again and again, beside the web process until it ends."""

        def run() -> NoReturn:
            while True:
                try:
                    self.file()
                except Exception as error:
                    _log.warning("schedules: %s", type(error).__name__)
                time.sleep(every)

        threading.Thread(target=run, name="schedules", daemon=True).start()
