"""B3 at the server: worker, web process and database connection are killed at each step; spent is spent, nothing answered twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from deniable.ledger import Ledger, Progress, verify
from deniable.server import running
from tests.server.made_up import SQL
from tests.server.test_staged_requests import ABOVE

ROOT = Path(__file__).parents[2]

WORKER = """
import sys, time
from deniable.server import worker
from deniable.server.settings import ServerSettings
point = sys.argv[2]
def hang():
    print("here", flush=True)
    time.sleep(600)
if point == "before the charge":
    worker.Worker._answer = lambda *_: hang()
elif point == "between two stages":
    from deniable.release import staged
    staged.filled = lambda *_: hang()
elif point == "before the store":
    worker.Pace.wait = lambda self: hang()
else:
    whole = worker.TickingLedger.store
    def store(self, reservation, payload):
        whole(self, reservation, payload)
        hang()
    worker.TickingLedger.store = store
worker.Worker(ServerSettings.load(sys.argv[1])).work()
"""

AFTER = {
    "before the charge": (SQL, Progress.APPROVED, Progress.RELEASED),
    "between two stages": (ABOVE, Progress.RUNNING, Progress.FAILED),
    "before the store": (SQL, Progress.RUNNING, Progress.FAILED),
    "after the store": (ABOVE, Progress.RELEASED, Progress.RELEASED),
}
"""What was asked, what is left of it at the kill, and what a new worker makes of it. Charged it is once."""


@pytest.mark.slow
@pytest.mark.parametrize("point", AFTER)
def test_a_killed_worker(server, point):
    sql, killed, settled = AFTER[point]
    server.ask(sql=sql)
    server.grant()
    place = server.settings.data["visits"].ledger
    config = str(Path(place).parent / "server.yaml")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, config, point], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout.readline().strip() == "here"
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stdout.close()
    assert Ledger.existing(place).desk.one("ana", "r1").progress is killed
    server.work()
    server.work()
    found = Ledger.existing(place)
    assert found.desk.one("ana", "r1").progress is settled
    assert float(found.left.loss) == 0.9
    assert len(found.charges()) == 1
    assert verify(place).problems == ()
    answer = server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release")
    assert answer.status_code == (200 if settled is Progress.RELEASED else 422)
    assert server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release").content == answer.content


@pytest.mark.slow
def test_the_command_serves_answers_and_stops_with_its_worker(tmp_path, monkeypatch):
    """`deniable serve` as people start it: web and worker, a question answered at a tick, both gone afterwards."""
    import fcntl
    import socket

    import httpx

    import deniable as dp
    from deniable.server.identity import Tokens
    from tests.server.made_up import configured

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    config = configured(tmp_path / "served", port=port, public_url=url, tick_seconds=0.5)
    tokens = Tokens(tmp_path / "served" / "state" / "tokens.json", quick=True)
    analyst, allocator = tokens.issue("ana", days=1), tokens.issue("alma", days=1)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "deniable", "serve", "--config", str(config)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(300):
            try:
                httpx.get(f"{url}/health").raise_for_status()
                break
            except httpx.HTTPError:
                assert process.poll() is None
                time.sleep(0.1)
        with dp.connect(url, token=analyst) as client, dp.connect(url, token=allocator) as grants:
            ask = client.request("visits", sql=SQL, epsilon=0.1, purpose="a report")
            grants.grant("visits", "ana", ask.id, days=1)
            assert len(ask.wait(seconds=60, every=0.1).table) == 2
    finally:
        process.terminate()
        process.wait(timeout=30)
        with (tmp_path / "served" / "state" / "worker.lock").open("w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the worker was waited for: another may begin at once
        _, said = process.communicate(timeout=30)
    assert "SELECT" not in said
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"{url}/health")


@pytest.mark.slow
def test_a_server_whose_worker_ends_by_itself_stops_and_says_so(tmp_path):
    """Else people would ask and grant for ever, and nobody would answer."""
    import socket

    from tests.server.made_up import configured

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = configured(tmp_path / "served", port=port, public_url=f"http://127.0.0.1:{port}")
    (config.parent / "visits.csv").unlink()  # the worker alone opens it
    done = subprocess.run(
        [sys.executable, "-m", "deniable", "serve", "--config", str(config)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "there is no file" in done.stderr
    assert "the worker ended by itself, so the server stopped" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_whose_server_died_while_it_was_loading_stops(server, monkeypatch):
    """Else it would answer for ever beside the next server, whose own worker is refused."""
    stops = []
    monkeypatch.setattr(running.Worker, "run", lambda self, stop: stops.append(stop()))
    monkeypatch.setattr(running.signal, "signal", lambda *_: None)
    for started_by in (os.getppid(), 2**22 + 1):
        monkeypatch.setenv("DENIABLE_STARTED_BY", str(started_by))
        running.work(server.settings)
    assert stops == [False, True]


STEPS = ("priced", "asked", "granted", "sent")
"""What the web process does to a request; between the last two the worker charges, runs and stores."""


def step(server, name, request):
    path = f"/datasets/visits/requests/ana/{request}"
    sql = f"SELECT count(*) AS n FROM visits WHERE minutes > {int(request[1:])}"
    match name:
        case "priced":
            return server.call("ana", "POST", "/datasets/visits/price", json={"sql": sql, "epsilon": 0.01})
        case "asked":
            return server.ask(request=request, sql=sql, epsilon=0.01)
        case "granted":
            return server.grant(request=request)
        case _:
            return server.call(
                "olga", "GET", f"{path}/release"
            )  # by another than who asked: who reads it is written down


def reached(place, request):
    """How far a request has come by the ledger alone."""
    known = {each.request: each for each in Ledger.existing(place).desk.all()}.get(request)
    return None if known is None else known.progress


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("point", STEPS)
def test_a_killed_web_process(server, monkeypatch, point, moment):
    """SIGKILL in the transaction of each step, before and after it is on disk: what was written stands, and the story goes on."""
    place = server.settings.data["visits"].ledger
    until = STEPS.index(point)
    walk(server, STEPS[:until])
    if point == "sent":
        server.work()
    killed = os.fork()
    if killed == 0:  # the web process: it dies where SQLite commits or, for a price, where its reading ends
        _die_at(monkeypatch, "ROLLBACK" if point == "priced" else "COMMIT", moment)
        step(server, point, "r1")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(killed, 0)[1]) == -signal.SIGKILL
    done = (moment == "after") and point in ("asked", "granted")
    walk(server, STEPS[until + done :])
    found = Ledger.existing(place)
    assert reached(place, "r1") is Progress.RELEASED
    assert len(found.charges()) == 1
    assert step(server, "sent", "r1").content == step(server, "sent", "r1").content
    assert verify(place).problems == ()


def walk(server, names):
    for name in names:
        if name == "sent":
            server.work()
        assert step(server, name, "r1").is_success


def _die_at(monkeypatch, word, moment):
    class Dying(sqlite3.Connection):
        def execute(self, statement, *more):
            if statement == word and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            found = super().execute(statement, *more)
            if statement == word:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

    real = sqlite3.connect
    monkeypatch.setattr(
        "deniable.ledger.sqlite_journal.sqlite3.connect", lambda *words, **more: real(*words, factory=Dying, **more)
    )


WORKER_COMMITS = ("reserved", "stored", "released")
CUTS = (
    {"asked": "before", "reserved": "before", "sent": "before"},
    {"asked": "after", "reserved": "after"},
    {"granted": "before", "stored": "before"},
    {"granted": "after", "stored": "after"},
    {"released": "before", "sent": "after"},
    {"released": "after"},
)
"""For each request where its connections are lost: before or after the commit of a step. Every pair is there once."""


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_a_lost_database_connection_at_each_step(tmp_path, postgres, monkeypatch):
    """PostgreSQL ends the connection before or after each commit: nothing is released unspent, and nothing is drawn twice."""
    from deniable.errors import LedgerError
    from tests.server.made_up import made_up

    url = postgres.url(ledger=postgres.fresh("ledger"))
    entry = {"source": "visits.csv", "codebook": "visits.yaml", "ledger": url, "budget": {"epsilon": 1}}
    server = made_up(tmp_path / "served", data={"visits": entry, "other": {**entry, "ledger": "other.ledger"}})
    cut = Cut(monkeypatch, postgres.url())
    worker = server.worker()
    for number, cuts in enumerate(CUTS, start=1):
        request = f"r{number}"
        for name in ("asked", "granted"):
            with cut.at(1 if name in cuts else 0, cuts.get(name)):
                assert step(server, name, request).is_success is (name not in cuts)
            if cuts.get(name) == "before":
                assert step(server, name, request).is_success
        place = next((place for place, name in enumerate(WORKER_COMMITS, start=1) if name in cuts), 0)
        with cut.at(place, cuts.get(WORKER_COMMITS[place - 1])), pytest.raises(LedgerError):
            worker.work()
        worker._recover()
        worker.work()
        lost = cuts.get("reserved") == "after" or cuts.get("stored") == "before"
        assert reached(url, request) is (Progress.FAILED if lost else Progress.RELEASED), cuts
        with cut.at(1 if "sent" in cuts else 0, cuts.get("sent")):
            assert step(server, "sent", request).is_success is ("sent" not in cuts and not lost)
        first = step(server, "sent", request)
        assert first.is_success is not lost
        assert first.content == step(server, "sent", request).content
    worker.close()
    found = Ledger.existing(url)
    assert len(found.charges()) == len(CUTS)  # each was charged once, also where the answer was lost
    assert float(found.spent.loss) == 0.06
    assert verify(url).problems == ()


class Cut:
    """Ends the connection that commits, the server's way, at the n-th commit."""

    def __init__(self, monkeypatch, url):
        import psycopg

        self.left, self.moment = 0, "before"
        real = psycopg.Connection.execute

        def end(connection):
            with psycopg.connect(url, autocommit=True) as other:
                real(other, "SELECT pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))

        def execute(connection, query, *more, **options):
            last = query == "COMMIT" and self.left == 1
            self.left -= query == "COMMIT" and self.left > 0
            if last and self.moment == "before":
                end(connection)
            found = real(connection, query, *more, **options)
            if last:
                end(connection)
                real(connection, "SELECT 1")
            return found

        monkeypatch.setattr(psycopg.Connection, "execute", execute)

    @contextmanager
    def at(self, number, moment):
        self.left, self.moment = number, moment
        yield
        assert self.left == 0
