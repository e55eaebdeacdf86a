"""The server over HTTP: previews, the page to ask, a request all the way to its answer, start, memory, reservations, and time at ticks.

Real processes on loopback, made-up visits. What people wait for is in seconds of the wall, what work costs in seconds of CPU; the load
of the machine is on the page. `python3 dev.py bench server 200` asks for fewer pairs than the 2,000 at ticks.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

import deniable as dp
from benchmarks.peers import peer, version
from benchmarks.report import Report, number
from benchmarks.server_channels import Channel, paired_requests, rehearsed_tick, without_work
from deniable.cli import demo_data
from deniable.cost import Bounded
from deniable.engines.parquet import write_arrays
from deniable.ledger import Ledger, Terms
from deniable.server.identity import Tokens
from deniable.server.settings import ServerSettings
from deniable.version import __version__
from tests.servers import running_postgres

SQL = "SELECT specialty, count(*) AS n FROM visits GROUP BY specialty"
PRICES, PAGES, THREADS, SECONDS, RELEASES, PAIRS = 1000, 50, 8, 5.0, 10, 2000
MILLION = 10**6
WEB = (
    "import sys, uvicorn; from deniable.server.settings import ServerSettings; from deniable.server.web import web_application; "
    + ("uvicorn.run(web_application(ServerSettings.load(sys.argv[1])), port=int(sys.argv[2]), log_level='critical')")
)


def prepared(folder: Path, port: int) -> dict[str, str]:
    """Data of both sizes, codebook, configuration and everybody's token."""
    small = demo_data.visits()
    write_arrays(small, folder / "visits.parquet")
    times = -(-MILLION // len(small["patient_id"]))
    large = {name: np.tile(np.asarray(column), times)[:MILLION] for name, column in small.items()}
    write_arrays({**large, "patient_id": np.arange(MILLION) // 3}, folder / "large.parquet")
    (folder / "visits.yaml").write_text(demo_data.VISITS_CODEBOOK, encoding="utf-8")
    entry = "codebook: visits.yaml, budget: {epsilon: 1000}"
    (folder / "server.yaml").write_text(
        f"tick_seconds: 0\nport: {port}\nrequests_per_minute: 1000000\npublic_url: http://127.0.0.1:{port}\ndata:\n"
        f"  visits: {{source: visits.parquet, ledger: visits.ledger, {entry}}}\n"
        f"  large: {{source: large.parquet, ledger: large.ledger, {entry}}}\n"
        "people: {allocator: {roles: [allocator]}, analyst: {roles: [analyst]}}\n",
        encoding="utf-8",
    )
    settings = ServerSettings.load(folder / "server.yaml")
    tokens = Tokens(settings.tokens)
    return {person: tokens.issue(person, days=1) for person in settings.people}


class Caller:
    """One kept connection with somebody's token."""

    def __init__(self, port: int, token: str, data: str = "visits") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._data, self._asked = data, 0

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON that comes back; anything but success ends the benchmark."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1/datasets/{self._data}{path}", body=text, headers=self._headers)
        answer = self._connection.getresponse()
        read = answer.read()
        if not 200 <= answer.status < 300:
            raise SystemExit(f"{method} {path}: {answer.status} {read[:200]!r}")
        return json.loads(read)

    def price(self) -> None:
        """One preview, at a price nobody has asked for: what is remembered would flatter."""
        self._asked += 1
        self.call("POST", "/price", {"sql": SQL, "epsilon": 0.1 + self._asked / 10**6 + id(self) % 997 / 10**9})


class Browser:
    """Somebody who has logged in and looks at prices on the page to ask."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        answer = self._send("POST", "/login", {"token": token}, {})
        self._cookie = {"Cookie": answer[0]["set-cookie"].partition(";")[0]}
        page = self._send("GET", "/data/visits/ask", None, self._cookie)[1]
        found = re.search(rb'name="csrf" value="(\w+)"', page)
        assert found is not None
        self._csrf = found[1].decode()

    def _send(self, method: str, path: str, form: Any, headers: dict[str, str]) -> tuple[dict[str, str], bytes]:
        body = None if form is None else urlencode(form)
        kind = {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request(method, path, body=body, headers={**headers, **kind})
        answer = self._connection.getresponse()
        read = answer.read()
        return {name.lower(): value for name, value in answer.getheaders()}, read

    def preview(self) -> None:
        """The page with its price, table and plot."""
        form = {"csrf": self._csrf, "sql": SQL, "amount": "0.1", "action": "preview"}
        assert b"<img" in self._send("POST", "/data/visits/ask", form, self._cookie)[1]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], port: int) -> Iterator[tuple[int, float, float]]:
    """A server: its process, and the seconds of the wall and of its CPU until its first page."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
    try:
        while True:
            if process.poll() is not None:
                raise SystemExit("the server did not start")
            with suppress(OSError):
                probe = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                probe.request("GET", "/login", headers={"Host": "127.0.0.1"})
                probe.getresponse().read()
                break
            time.sleep(0.02)
        yield process.pid, time.perf_counter() - began, cpu_of(process.pid)
    finally:
        process.terminate()
        process.wait(timeout=60)


def as_installed(folder: Path) -> None:
    """Servers started from now on find their bytecode, as after `pip install`, which writes it; a clone may be told not to."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def cpu_of(*processes: int) -> float:
    """Seconds of CPU that these processes have used so far."""
    fields = [Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split() for each in processes]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def worker_of(process: int) -> int:
    """The worker that a server has started."""
    return int(Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()[0])


def memory_of(process: int) -> float:
    """Megabytes that the process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _throughput(ports: list[int], token: str) -> float:
    """Previews a second of callers that share the processes evenly, once each of them has seen one."""
    counts = [0] * THREADS
    callers = [Caller(ports[place % len(ports)], token) for place in range(THREADS)]
    for caller in callers:
        caller.price()
    end = time.perf_counter() + SECONDS

    def ask(place: int) -> None:
        while time.perf_counter() < end:
            callers[place].price()
            counts[place] += 1

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS


def _released(port: int, tokens: dict[str, str], data: str, turn: int) -> None:
    analyst, allocator = (Caller(port, tokens[person], data) for person in ("analyst", "allocator"))
    request, body = f"r{turn}", {"sql": SQL, "epsilon": 0.1 + turn / 1000, "purpose": "benchmark"}
    analyst.call("POST", "/requests", {**body, "request": request})
    allocator.call("POST", f"/requests/analyst/{request}/grant", {"days": 1})
    while analyst.call("GET", f"/requests/analyst/{request}")["state"] != "released":
        time.sleep(0.1)
    analyst.call("GET", f"/requests/analyst/{request}/release")


def flow(port: int, processes: tuple[int, int], tokens: dict[str, str], data: str) -> float:
    """CPU seconds of web and worker for one request from question to answer; the first, which opens things, is left out."""
    _released(port, tokens, data, 0)
    before = cpu_of(*processes)
    for turn in range(1, RELEASES + 1):
        _released(port, tokens, data, turn)
    return (cpu_of(*processes) - before) / RELEASES


def in_session(folder: Path, data: str) -> float:
    """CPU seconds of the same release in a session with a ledger in a file."""
    source = dp.Dataset(str(folder / f"{data}.parquet"), codebook=str(folder / "visits.yaml"), name="visits")
    session = source.session(dp.budget(epsilon=1000), ledger=str(folder / f"{data}-session.ledger"))
    session.sql(SQL, epsilon=0.1)
    before = time.process_time()
    for turn in range(1, RELEASES + 1):
        session.sql(SQL, epsilon=0.1 + turn / 1000)
    return (time.process_time() - before) / RELEASES


def reservations() -> float:
    """Charges a second that PostgreSQL has on disk, one after another."""
    with running_postgres() as server:
        terms = Terms(dataset="d", unit="one person", budget=dp.budget(epsilon=10**6), codebook="c")
        ledger = Ledger.open(server.url(ledger="bench"), terms=terms)
        made, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            ledger.reserve(Bounded(epsilon=Fraction(1, 10)), request=f"r{made}")
            made += 1
    return made / SECONDS


def main() -> None:
    """Write the page."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    wizard = peer("dp-wizard")
    versions = {"deniable": __version__, "dp-wizard": version(wizard, "dp-wizard")}
    page = Report(
        "server",
        title="The server",
        versions=versions,
        how="one run; a row says which seconds are of the wall and which of CPU",
    )
    rows = served_rows()
    rows.append(["reservations a second, PostgreSQL, durable commits", number(reservations()), "30"])
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    page.note(
        f"Over HTTP on loopback, ledger in SQLite where no other is named, ticks off, bytecode written as pip writes it. Load averages of the machine when this ended: {load}, "
        f"on {os.cpu_count()} cores shared with other work: seconds of the wall are longer, and previews fewer, than on a quiet machine."
    )
    page.table(["work", "measured", "wanted"], rows)
    page.note(
        "A request from question to answer is three calls, polls ten times a second, one charge with its grant checked, and one read; CPU is that of web and worker together."
    )
    if wizard is None:
        page.note("dp-wizard could not be installed here, so the first preview is beside no other tool.")
    page.note("## Time at ticks")
    tick = rehearsed_tick()
    channels(page, paired_requests(pairs, tick), without_work(pairs, tick))
    page.write()


def served_rows() -> list[list[str]]:
    """Everything that is asked of running servers."""
    port, others = _free_port(), [_free_port(), _free_port()]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = str(folder / "state-home")
        as_installed(folder / "bytecode")
        tokens = prepared(folder, port)
        config = str(folder / "server.yaml")
        command = ["-m", "deniable", "serve", "--config", config]
        with running(command, port):
            Caller(port, tokens["analyst"]).price()  # what this writes, an installation has written
        with running(command, port) as (process, first, start):
            idle = memory_of(process)
            analyst = Caller(port, tokens["analyst"])
            opening = _seconds(analyst.price)
            before = cpu_of(process)
            prices = [_seconds(analyst.price) for _ in range(PRICES)]
            each = (cpu_of(process) - before) / PRICES
            browser = Browser(port, tokens["analyst"])
            browser.preview()
            pages = [_seconds(browser.preview) for _ in range(PAGES)]
            both = (process, worker_of(process))
            small, large = (flow(port, both, tokens, data) for data in ("visits", "large"))
        small_session, large_session = (in_session(folder, data) for data in ("visits", "large"))
        for other in others:
            stack.enter_context(running(["-c", WEB, config, str(other)], other))
        rate = _throughput(others, tokens["analyst"])
    return [
        ["first page after the start, wall", number(first, " s"), "2 s"],
        ["start of the web process without data, CPU", number(start, " s"), "1 s"],
        ["memory of the idle web process", number(idle, " MB"), "150 MB"],
        ["first price preview of a process, wall", number(opening, " s"), "1.05 s (dp-wizard 10.5 s)"],
        [f"price preview, median of {PRICES:,}, wall", number(1000 * statistics.median(prices), " ms"), "50 ms"],
        [f"price preview, worst of {PRICES:,}, wall", number(1000 * max(prices), " ms"), "300 ms"],
        ["price preview, CPU of the web process", number(1000 * each, " ms"), "–"],
        [
            f"page with price and plot, median of {PAGES}, wall",
            number(1000 * statistics.median(pages), " ms"),
            "500 ms",
        ],
        [f"price previews a second, two web processes, {THREADS} callers", number(rate), "100"],
        [
            "question to answer, small table, CPU above a session's",
            number(1000 * (small - small_session), " ms"),
            "60 ms",
        ],
        ["question to answer, 10⁶ rows, CPU beside a session's", number(large / large_session, "×"), "1.3×"],
    ]


def channels(page: Report, asked: Channel, control: Channel) -> None:
    """Whether the time of an answer told the two data sets apart."""
    page.note(
        f"{len(asked.times):,} pairs of requests to two data sets that differ in one person, at ticks of {1000 * float(asked.tick):g} ms (at least twice the longest run of a rehearsal), seen by somebody who "
        f"knows when the worker has stored the answer. {asked.late:,} of {2 * len(asked.times):,} runs were longer than a tick and left at a later one: that is what a tick that is too short shows."
    )
    rows = [
        ["requests", f"{asked.correlation:+.4f}", number(asked.limit)],
        ["the same pace without work", f"{control.correlation:+.4f}", number(control.limit)],
    ]
    page.table(["rank correlation of the time with the data set", "measured", "limit 6.2/√n"], rows)


if __name__ == "__main__":
    main()
