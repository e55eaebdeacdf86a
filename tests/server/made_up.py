"""A server on made-up data with five people, in a folder of its own; the web part without a socket."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from deniable.server.identity import Tokens
from deniable.server.settings import ServerSettings
from deniable.server.web import web_application
from deniable.server.worker import Pace, Worker

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client says that it will move to another package
    from starlette.testclient import TestClient

BOOK = {
    "name": "visits",
    "unit": {"id": "patient", "groups": 1, "rows_per_group": 2},
    "tables": {
        "visits": {
            "variables": {
                "patient": "integer",
                "ward": {"type": "string", "categories": ["=A", "B"]},
                "minutes": {"type": "number", "bounds": [0, 60], "step": 1},
                "<img src=x>": {"type": "integer", "bounds": [0, 1]},
            }
        }
    },
}
ROWS = "patient,ward,minutes,<img src=x>\n" + "".join(f"{n},{'=A' if n % 2 else 'B'},{n % 50},1\n" for n in range(200))
PEOPLE = {
    "olga": {"roles": ["owner"]},
    "carl": {"roles": ["curator"]},
    "alma": {"roles": ["allocator"]},
    "ana": {"roles": ["analyst"]},
    "ben": {"roles": ["analyst"]},
    "audra": {"roles": ["auditor"]},
    "eve": {"roles": ["analyst"], "datasets": ["other"]},
}
DESCRIBED = yaml.safe_dump({**BOOK, "description": "said in words"})
"""The same codebook with one more sentence: what a curator may always propose."""
SQL = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


def configured(folder: Path, *, rows: str = ROWS, epsilon: float = 1, **changes: Any) -> Path:
    """The files of a server: data, codebooks, configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "visits.csv").write_text(rows, encoding="utf-8")
    (folder / "visits.yaml").write_text(yaml.safe_dump(BOOK), encoding="utf-8")
    entry = {
        "source": "visits.csv",
        "codebook": "visits.yaml",
        "ledger": "visits.ledger",
        "budget": {"epsilon": epsilon},
    }
    data = {"visits": entry, "other": {**entry, "ledger": "other.ledger"}}
    record = {"tick_seconds": 0, "requests_per_minute": 100_000, "data": data, "people": PEOPLE, **changes}
    (folder / "server.yaml").write_text(yaml.safe_dump(record), encoding="utf-8")
    return folder / "server.yaml"


@dataclass
class MadeUp:
    """A web application, its tokens, and a worker that works when told."""

    settings: ServerSettings
    tokens: Tokens
    client: Any
    secrets: dict[str, str]

    def worker(self, pace: Pace | None = None) -> Worker:
        """A worker for the data set that tests ask about; to open the other one too would take as long again."""
        data = {name: each for name, each in self.settings.data.items() if name == "visits"}
        return Worker(replace(self.settings, data=data), pace=pace)

    def work(self) -> int:
        worker = self.worker()
        try:
            return worker.work()
        finally:
            worker.close()

    def call(self, person: str | None, method: str, path: str, **more: Any) -> Any:
        """A REST call with somebody's token."""
        headers = {"Authorization": f"Bearer {self.secrets[person]}"} if person else {}
        return self.client.request(method, f"/api/v1{path}", headers={**headers, **more.pop("headers", {})}, **more)

    def ask(
        self, person: str = "ana", *, request: str = "r1", sql: str = SQL, epsilon: float = 0.1, **more: Any
    ) -> Any:
        body = {"sql": sql, "epsilon": epsilon, "purpose": "yearly report", "request": request, **more}
        return self.call(person, "POST", "/datasets/visits/requests", json=body)

    def grant(self, account: str = "ana", *, request: str = "r1", by: str = "alma", **more: Any) -> Any:
        return self.call(by, "POST", f"/datasets/visits/requests/{account}/{request}/grant", json={"days": 7, **more})

    def released(self, person: str = "ana", *, request: str = "r1", **more: Any) -> Any:
        """A request all the way to its answer."""
        assert self.ask(person, request=request, **more).status_code == 201
        assert self.grant(person, request=request).status_code == 200
        self.work()
        return self.call(person, "GET", f"/datasets/visits/requests/{person}/{request}/release").json()

    def browse(self, person: str) -> Any:
        """A browser that somebody has logged in with."""
        browser = TestClient(self.client.app, base_url=self.settings.public_url, follow_redirects=True)
        assert browser.post("/login", data={"token": self.secrets[person]}).status_code == 200
        return browser


def made_up(folder: Path, **changes: Any) -> MadeUp:
    """A server in this folder."""
    return set_up(configured(folder, **changes))


def set_up(config: Path, *, people: Iterable[str] = PEOPLE) -> MadeUp:
    """The server that a configuration describes."""
    settings = ServerSettings.load(config)
    tokens = Tokens(settings.tokens, quick=True)
    app = web_application(settings, tokens=tokens)
    client = TestClient(app, base_url=settings.public_url, raise_server_exceptions=False)
    return MadeUp(settings, tokens, client, {name: tokens.issue(name, days=1) for name in people})
