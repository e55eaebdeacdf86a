"""The server over HTTP: price previews, the page to ask, a request all the way to its answer, start and memory.

A real process on loopback, made-up visits, a ledger in SQLite. Seconds are of the wall, for that is what people wait for; the load of
the machine is on the page.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.report import Report, number
from deniable.cli import demo_data
from deniable.server.identity import Tokens
from deniable.server.settings import ServerSettings
from deniable.version import __version__

SQL = "SELECT specialty, count(*) AS n FROM visits GROUP BY specialty"
PRICES, THREADS, SECONDS, RELEASES = 300, 4, 5.0, 10


def prepared(folder: Path, port: int) -> dict[str, str]:
    """Data, codebook, configuration and everybody's token."""
    demo_data.write_parquet(demo_data.visits(), folder / "visits.parquet")
    (folder / "visits.yaml").write_text(demo_data.VISITS_CODEBOOK, encoding="utf-8")
    (folder / "server.yaml").write_text(
        f"tick_seconds: 0\nport: {port}\nrequests_per_minute: 1000000\npublic_url: http://127.0.0.1:{port}\ndata:\n"
        "  visits: {source: visits.parquet, codebook: visits.yaml, ledger: visits.ledger, budget: {epsilon: 100}}\n"
        "people: {allocator: {roles: [allocator]}, analyst: {roles: [analyst]}}\n",
        encoding="utf-8",
    )
    settings = ServerSettings.load(folder / "server.yaml")
    tokens = Tokens(settings.tokens)
    return {person: tokens.issue(person, days=1) for person in settings.people}


class Caller:
    """One kept connection with somebody's token."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON that comes back; anything but success ends the benchmark."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1/datasets/visits{path}", body=text, headers=self._headers)
        answer = self._connection.getresponse()
        read = answer.read()
        if not 200 <= answer.status < 300:
            raise SystemExit(f"{method} {path}: {answer.status} {read[:200]!r}")
        return json.loads(read)


@contextmanager
def running(folder: Path, port: int) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """The server as people start it, and the seconds until it answered for the first time."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "deniable", "serve", "--config", str(folder / "server.yaml")])
    try:
        while True:
            if process.poll() is not None:
                raise SystemExit("the server did not start")
            with suppress(OSError):
                probe = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                probe.request("GET", "/health")
                probe.getresponse().read()
                break
            time.sleep(0.02)
        yield process, time.perf_counter() - began
    finally:
        process.terminate()
        process.wait(timeout=60)


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _throughput(port: int, token: str) -> float:
    counts = [0] * THREADS
    end = time.perf_counter() + SECONDS

    def ask(place: int) -> None:
        caller = Caller(port, token)
        while time.perf_counter() < end:
            caller.call("POST", "/price", {"sql": SQL, "epsilon": 0.1})
            counts[place] += 1

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS


def _memory(process: int) -> float:
    """Megabytes that the process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _released(port: int, tokens: dict[str, str], turn: int) -> None:
    analyst, allocator = (Caller(port, tokens[person]) for person in ("analyst", "allocator"))
    request, body = f"r{turn}", {"sql": SQL, "epsilon": 0.1 + turn / 1000, "purpose": "benchmark"}
    analyst.call("POST", "/requests", {**body, "request": request})
    allocator.call("POST", f"/requests/analyst/{request}/grant", {"days": 1})
    while analyst.call("GET", f"/requests/analyst/{request}")["state"] != "released":
        time.sleep(0.01)
    analyst.call("GET", f"/requests/analyst/{request}/release")


def main() -> None:
    """Write the page."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    page = Report("server", title="The server", versions={"deniable": __version__}, how="seconds of the wall, one run")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = str(folder / "state-home")
        tokens = prepared(folder, port)
        with running(folder, port) as (process, first):
            analyst = Caller(port, tokens["analyst"])
            idle = _memory(process.pid)
            analyst.call("POST", "/price", {"sql": SQL, "epsilon": 0.1})
            prices = [
                _seconds(lambda: analyst.call("POST", "/price", {"sql": SQL, "epsilon": 0.1})) for _ in range(PRICES)
            ]
            rate = _throughput(port, tokens["analyst"])
            releases = [_seconds(lambda turn=turn: _released(port, tokens, turn)) for turn in range(RELEASES)]
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    page.note(
        f"Seconds of the wall over HTTP on loopback, one web process, ledger in SQLite, ticks off. Load averages of the machine "
        f"while this ran: {load}, on {os.cpu_count()} cores: times are longer than on a quiet machine."
    )
    rows = [
        ["from start to the first answer", number(first, " s"), "2 s"],
        ["memory of the idle web process", number(idle, " MB"), "150 MB"],
        [f"price preview, median of {PRICES}", number(1000 * statistics.median(prices), " ms"), "50 ms"],
        [f"price preview, worst of {PRICES}", number(1000 * max(prices), " ms"), "300 ms"],
        [f"price previews a second, {THREADS} callers", number(rate), "100, of two processes"],
        [f"asked, granted, released, read; median of {RELEASES}", number(statistics.median(releases), " s"), "–"],
    ]
    page.table(["work", "measured", "wanted"], rows)
    page.note("The last line includes the worker's pause of up to 0.2 s before it looks into the ledger.")
    page.write()


if __name__ == "__main__":
    main()
