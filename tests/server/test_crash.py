"""B3 at the server: the worker is killed between the charge and the store; spent is spent, and nothing is answered twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deniable.ledger import Ledger, Progress, verify

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
    "before the charge": (Progress.APPROVED, Progress.RELEASED, 0.9),
    "before the store": (Progress.RUNNING, Progress.FAILED, 0.9),
    "after the store": (Progress.RELEASED, Progress.RELEASED, 0.9),
}
"""What is left at the kill, what a new worker makes of it, and what is left of the budget then."""


@pytest.mark.slow
@pytest.mark.parametrize("point", AFTER)
def test_a_killed_worker(server, point):
    server.ask()
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
    killed, settled, left = AFTER[point]
    assert Ledger.existing(place).desk.one("ana", "r1").progress is killed
    server.work()
    server.work()
    found = Ledger.existing(place)
    assert found.desk.one("ana", "r1").progress is settled
    assert float(found.left.loss) == left
    assert len(found.charges()) == 1
    assert verify(place).problems == ()
    answer = server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release")
    assert answer.status_code == (200 if settled is Progress.RELEASED else 422)
    assert server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release").content == answer.content


@pytest.mark.slow
def test_the_command_serves_answers_and_stops_with_its_worker(tmp_path, monkeypatch):
    """`deniable serve` as people start it: web and worker, a question answered at a tick, both gone afterwards."""
    import socket

    import httpx

    import deniable as dp
    from deniable.server.identity import Tokens
    from tests.server.made_up import SQL, configured

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
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert "SELECT" not in said
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"{url}/health")
    lock = tmp_path / "served" / "state" / "worker.lock"
    import fcntl

    with lock.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
