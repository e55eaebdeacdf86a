"""Starting a server: the web part in this process, the worker in another; both stop together."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

from deniable.errors import InvalidArgument
from deniable.ledger import journal_at
from deniable.release.dataset import Dataset
from deniable.server.counter import Counter
from deniable.server.settings import ServerSettings
from deniable.server.worker import Worker, only_worker

DRAFT = """\
# A server for one data set. Paths are relative to this file. `deniable serve check` reads all of it and starts nothing.
bind: 127.0.0.1
port: 8000
public_url: http://127.0.0.1:8000   # https://... when people reach it from other machines, behind a TLS proxy
state: state                        # tokens and the worker's lock; readable by this account alone
tick_seconds: 5                     # longer than the longest query: answers leave at multiples of it
pad_bytes: 4096
requests_per_minute: 120
longest_grant_days: 90
data:
  visits:
    source: visits.parquet          # a Parquet or CSV file, a postgresql:// URL, or env:NAME
    codebook: visits.yaml
    ledger: visits.ledger           # a file, or a postgresql:// URL with ?ledger=name
    budget: {epsilon: 1, delta: 1e-7}
people:                             # owner, curator, allocator, analyst, auditor
  owner: {roles: [owner, curator]}
  allocator: {roles: [allocator]}
  analyst: {roles: [analyst]}
  auditor: {roles: [auditor]}
"""
"""What `deniable serve init` writes."""


def check_settings(settings: ServerSettings) -> list[str]:
    """Open everything that is public, look that the data can be reached, and say what was found; nothing is read or spent."""
    said = []
    for name, data in settings.data.items():
        fresh = not journal_at(data.ledger).exists
        Dataset(data.source, codebook=data.codebook, name=name).close()
        said.append(f"{name}: data can be reached; {'the ledger will be made' if fresh else _left(Counter(data))}")
    return [*said, f"{len(settings.people)} people; answers leave every {float(settings.tick):g} s"]


def _left(counter: Counter) -> str:
    return f"the ledger has {counter.ledger.left.shown(downwards=True)} left"


def serve(config: Path, settings: ServerSettings, *, behind_tls: bool) -> None:
    """Run until interrupted: this process answers the web, a second one touches data."""
    import uvicorn

    from deniable.server.web import web_application

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # the parser's warnings quote questions
    app = web_application(settings)
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "deniable",
            "serve",
            "worker",
            "--config",
            str(config),
            *(["--behind-tls"] if behind_tls else []),
        ]
    )
    try:
        uvicorn.run(
            app,
            host=settings.bind,
            port=settings.port,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
    finally:
        worker.terminate()
        worker.wait(timeout=30)


def work(settings: ServerSettings) -> None:
    """Be the one worker until told to stop; what runs is finished first."""
    stopping = []
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopping.append(True))
    parent = os.getppid()
    with only_worker(settings.folder):
        worker = Worker(settings)
        try:
            worker.run(stop=lambda: bool(stopping) or os.getppid() != parent)
        finally:
            worker.close()


def draft(path: Path) -> None:
    """Write a first configuration; a file that is there is kept."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(DRAFT)
    except FileExistsError:
        raise InvalidArgument(f"{path} is there already; give another name with --config") from None
    except OSError as error:
        raise InvalidArgument(f"cannot write {path}: {error.strerror}") from None
