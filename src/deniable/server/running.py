"""Starting a server: the web part in this process, the worker in another; both stop together."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

from deniable.errors import DeniableError, InvalidArgument
from deniable.exact import number_of
from deniable.ledger import Application, Ledger, journal_at
from deniable.ledger.web_role import can_charge, grant_web_role
from deniable.release.dataset import Dataset
from deniable.server.codebook_desk import open_ledger
from deniable.server.counter import Counter
from deniable.server.letters import Postman, concerns
from deniable.server.schedules import Schedule, Scheduler
from deniable.server.settings import Role, ServedData, ServerSettings
from deniable.server.webhooks import Correspondent, Messenger, Webhook
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
    source: visits.parquet          # a Parquet or CSV file, {visits: v.csv, people: p.csv}, a postgresql:// URL, or env:NAME
    codebook: visits.yaml
    ledger: visits.ledger           # a file, or a postgresql:// URL with ?ledger=name
    # web_ledger: env:WEB_LEDGER    # the same URL with another role: `deniable serve check` lets it append, never charge
    budget: {epsilon: 1, delta: 1e-7}
# oidc: {issuer: "https://id.example.org", client_id: deniable, client_secret: env:OIDC_SECRET, claim: sub}   # who people are
# schedules: {weekly: {data: visits, account: analyst, sql: "SELECT ...", epsilon: 0.1, purpose: "weekly report", every: week}}
# webhooks: [{url: "https://...", secret: env:HOOK_SECRET}]   # told when a request moves on; signed, no numbers
# mail: {server: smtp.example.org, sender: desk@example.org, user: desk, password: env:SMTP_PASSWORD}   # tells people with mail:
people:                             # owner, curator, allocator, analyst, auditor
  owner: {roles: [owner, curator]}
  allocator: {roles: [allocator]}
  analyst: {roles: [analyst]}
  auditor: {roles: [auditor]}
"""
"""What `deniable serve init` writes."""
_STARTED_BY = "DENIABLE_STARTED_BY"
"""The variable in which a worker finds the process that it ends with."""


def check_settings(settings: ServerSettings) -> list[str]:
    """Open everything that is public, look that the data can be reached, and say what was found; nothing is read or spent."""
    said = []
    for name, data in settings.data.items():
        fresh = not journal_at(data.ledger).exists
        Dataset(data.source, codebook=data.codebook, name=name).close()
        if data.web_ledger:
            said.append(_web_role(data))
            fresh = False
        said.append(f"{name}: data can be reached; {'the ledger will be made' if fresh else _left(Counter(data))}")
    return [
        *said,
        f"{number_of(len(settings.people), 'person', 'people')}; answers leave every {float(settings.tick):g} s",
    ]


def _web_role(data: ServedData) -> str:
    """Make the ledger if it is not there, and bind the role of its `web_ledger`; the same again changes nothing."""
    open_ledger(Ledger, data.ledger, data)
    role = unquote(urlsplit(data.web_ledger).username or "")
    grant_web_role(data.ledger, role=role)
    if can_charge(data.web_ledger):
        raise InvalidArgument(
            f"the role {role!r} of {data.name}.web_ledger could still write a charge; use another role"
        )
    return f"{data.name}: the role {role} may append requests and grants, and cannot charge"


def _left(counter: Counter) -> str:
    return f"the ledger has {counter.ledger.left.shown(downwards=True)} left"


def serve(config: Path, settings: ServerSettings, *, behind_tls: bool, web_only: bool = False) -> None:
    """Run until interrupted: this process answers the web, a second one touches data; `web_only`, it is started elsewhere."""
    import uvicorn

    from deniable.server.web import web_application

    check_port(settings.bind, settings.port)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # the parser's warnings quote questions
    app = web_application(settings)
    channels: list[Webhook | Correspondent] = [*(Webhook(*hook) for hook in settings.webhooks), *postmen(settings)]
    if channels:
        Messenger(channels, app.state.counters, settings.folder).start()
    if settings.schedules:
        Scheduler([Schedule(**each) for each in settings.schedules], app.state.counters).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the worker is stopped and waited for then, too
    worker = None if web_only else _started_worker(config, behind_tls)
    try:
        logging.getLogger("deniable.server").info("serving at %s; Ctrl-C stops it", settings.public_url)
        if worker is not None:
            Thread(target=_stop_without, args=(worker,), daemon=True).start()
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
        if worker is not None:
            _end(worker)


def check_port(bind: str, port: int) -> None:
    """Refuse a port that cannot be had, before a worker is started for it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        why = str(error.strerror or error).lower()
        raise InvalidArgument(
            f"port {port} of {bind} cannot be had ({why}); stop what uses it, or write another port: in server.yaml"
        ) from None


def _stop_without(worker: subprocess.Popen[bytes]) -> None:
    """Stop this process when its worker ends: else requests would be granted that nobody answers."""
    worker.wait()
    os.kill(os.getpid(), signal.SIGTERM)


def _end(worker: subprocess.Popen[bytes]) -> None:
    """Stop the worker and wait for it; one that had failed by itself is told."""
    ended = worker.poll()
    worker.terminate()
    worker.wait(timeout=30)
    if ended not in (None, 0, 130, -signal.SIGINT, -signal.SIGTERM):
        raise DeniableError(
            "the worker ended by itself, so the server stopped: what it said stands above, and `deniable serve check` "
            "looks for the cause"
        )


def postmen(settings: ServerSettings) -> list[Postman]:
    """Who sends e-mail: nobody, unless a server for it is configured."""
    if settings.mail is None:
        return []

    def people(dataset: str, known: Application) -> dict[str, str]:
        if concerns(known) == "account":
            found = [settings.people[known.account]] if known.account in settings.people else []
        else:
            found = [each for each in settings.people.values() if each.may(dataset, Role.ALLOCATOR)]
        return {each.name: each.mail for each in found if each.mail}

    return [Postman(settings.mail, people=people, address=settings.public_url)]


def _started_worker(config: Path, behind_tls: bool) -> subprocess.Popen[bytes]:
    words = ["serve", "worker", "--config", str(config), *(["--behind-tls"] if behind_tls else [])]
    environment = {**os.environ, _STARTED_BY: str(os.getpid())}
    return subprocess.Popen([sys.executable, "-m", "deniable", *words], env=environment)


def work(settings: ServerSettings) -> None:
    """Be the one worker until told to stop; what runs is finished first."""
    stopping = []
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopping.append(True))
    parent = int(os.environ.get(_STARTED_BY, os.getppid()))  # it may have died while this was loading
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
