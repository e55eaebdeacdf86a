"""Does the time of an answer tell which of two data sets was asked? Paired requests at ticks, and a control without work.

The tick is the first of 50, 100, 200, ... ms that is at least twice the longest run of a rehearsal, as the documentation asks for.

The observer sees more than anybody over HTTP: the moment at which the worker has stored the answer. The two data sets differ in one
person. Pairs are asked in the order A B, B A, A B, ..., so that a machine that slows down favours neither. Ledgers are in memory
where the machine has such a folder: what a disk does is the same for both, and would hide more than it shows.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import yaml

from deniable.server.counter import Counter
from deniable.server.settings import ServerSettings
from deniable.server.worker import Pace, Worker

TICK = Fraction(1, 20)
SQL = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
BOOK = {
    "name": "visits",
    "unit": {"id": "patient", "groups": 1, "rows_per_group": 2},
    "tables": {"visits": {"variables": {"patient": "integer", "ward": {"type": "string", "categories": ["A", "B"]}}}},
}
ROWS = "patient,ward\n" + "".join(f"{n},{'A' if n % 2 else 'B'}\n" for n in range(400))
ONE_MORE = ROWS + "9999,A\n9999,B\n"


@dataclass(frozen=True)
class Channel:
    """Times of A and of B in pairs, seconds, and how many runs were longer than a tick."""

    times: tuple[tuple[float, float], ...]
    tick: Fraction = TICK
    late: int = 0

    @property
    def correlation(self) -> float:
        """The rank correlation of the time with the data set, with ties at their middle rank."""
        values = [(time, label) for pair in self.times for label, time in enumerate(pair)]
        ranks = _ranks([time for time, _ in values])
        middle = (len(values) + 1) / 2
        spread = sum((rank - middle) ** 2 for rank in ranks) * len(values) / 4
        together = sum((rank - middle) * (label - 0.5) for rank, (_, label) in zip(ranks, values, strict=True))
        return together / spread**0.5 if spread else 0.0

    @property
    def limit(self) -> float:
        """What chance alone exceeds less than once in 10**9."""
        return 6.2 / (2 * len(self.times)) ** 0.5


def _ranks(values: list[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end + 1) / 2
        start = end
    return ranks


class _Desk:
    """One data set with its worker, and questions that are granted."""

    def __init__(self, folder: Path, rows: str, pace: Pace) -> None:
        folder.mkdir()
        (folder / "visits.csv").write_text(rows, encoding="utf-8")
        (folder / "visits.yaml").write_text(yaml.safe_dump(BOOK), encoding="utf-8")
        data = {
            "source": "visits.csv",
            "codebook": "visits.yaml",
            "ledger": "visits.ledger",
            "budget": {"epsilon": 10**6},
        }
        people = {"ana": {"roles": ["analyst"]}, "alma": {"roles": ["allocator"]}}
        text = yaml.safe_dump({"data": {"visits": data}, "people": people})
        (folder / "server.yaml").write_text(text, encoding="utf-8")
        settings = ServerSettings.load(folder / "server.yaml")
        self.counter, self.worker = Counter(settings.data["visits"]), Worker(settings, pace=pace)

    def ready(self, turn: int) -> None:
        """File and grant a question that was not asked before: each has a price of its own."""
        paid, id = {"epsilon": Fraction(10**6 + turn, 10**7)}, f"r{turn}"
        self.counter.request(SQL, account="ana", purpose="benchmark", payment=paid, dialect="duckdb", request=id)
        self.counter.grant("ana", id, by="alma", days=1, most=1)


class _Watch(Pace):
    """A pace that remembers when the last run began and ended; the answer is stored right after it has waited."""

    began = ended = 0.0

    def begin(self) -> None:
        """A run begins."""
        super().begin()
        self.began = time.time()

    def wait(self) -> None:
        """The run has ended; until the tick."""
        self.ended = time.time()
        super().wait()


def rehearsed_tick(runs: int = 50) -> Fraction:
    """The first of 50, 100, 200, ... ms that is at least twice the longest of so many runs to each data set, after the first few."""
    longest = max(max(pair) for pair in paired_requests(runs, Fraction(0)).times[3:])
    tick = TICK
    while tick < 2 * longest:
        tick *= 2
    return tick


def paired_requests(pairs: int, tick: Fraction) -> Channel:
    """So many questions to each of two data sets that differ in one person."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    watch = _Watch(tick)
    with tempfile.TemporaryDirectory(dir=memory) as name:
        os.environ["XDG_STATE_HOME"] = name
        desks = [_Desk(Path(name) / label, rows, watch) for label, rows in (("a", ROWS), ("b", ONE_MORE))]

        def asked(label: int, turn: int) -> float:
            desks[label].ready(turn)
            assert desks[label].worker.work() == 1
            return time.time() - watch.began

        late = 0

        def counted(label: int, turn: int) -> float:
            nonlocal late
            seconds = asked(label, turn)
            late += watch.ended - watch.began > tick
            return seconds

        times = tuple(_pairs(pairs, counted))
        for desk in desks:
            desk.worker.close()
    return Channel(times, tick, late)


def without_work(pairs: int, tick: Fraction) -> Channel:
    """The same pace with nothing between: what the clock and the ticks show by themselves."""
    watch = _Watch(tick)

    def nothing(_label: int, _turn: int) -> float:
        watch.begin()
        watch.wait()
        return time.time() - watch.began

    return Channel(tuple(_pairs(pairs, nothing)), tick)


def _pairs(pairs: int, ask: Callable[[int, int], float]) -> Iterator[tuple[float, float]]:
    for turn in range(pairs):
        found = {label: ask(label, turn) for label in ((0, 1) if turn % 2 == 0 else (1, 0))}
        yield found[0], found[1]
