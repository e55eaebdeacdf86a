"""The Python client: price, ask, wait, and the same `Release` object as in a session. It needs httpx from the `server` extra."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import file_digest
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from deniable.errors import BudgetExceeded, InvalidArgument, NotGranted, QueryRefused, Unanswered
from deniable.exact.guards import Real
from deniable.ledger.receipt import Receipt
from deniable.plan.codebook import Codebook
from deniable.release.answer import Release
from deniable.release.release_facts import ReleaseFacts
from deniable.release.staged import StagedRelease
from deniable.release.workload import WorkloadRelease

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OVER = ("refused", "expired", "charged and not answered")
_DONE = ("released", "published")


class Client:
    """A connection to a server as one person. Made by `connect`.

    Guarantee: it holds no data and no budget; what it shows was charged, granted and stored by the server.
    """

    def __init__(self, url: str, *, token: str, transport: Any = None) -> None:
        try:
            import httpx
        except ImportError:
            raise InvalidArgument("talking to a server needs httpx: pip install 'deniable[server]'") from None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgument(f"a server's address is written https://host or http://127.0.0.1:8000, got {url!r}")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise InvalidArgument(f"a token is sent by https only, unless the server is on this machine; got {url!r}")
        self._http = httpx.Client(
            base_url=url.rstrip("/") + "/api/v1",
            headers={"Authorization": f"Bearer {_token(token)}"},
            timeout=60,
            transport=transport,
            follow_redirects=False,
            trust_env=parts.scheme == "https",  # a proxy that the environment names would read the token
        )

    def datasets(self) -> list[str]:
        """The data sets one has a role for."""
        found: list[str] = self._call("GET", "/datasets")
        return found

    def codebook(self, dataset: str) -> dict[str, Any]:
        """What is public about a data set."""
        found: dict[str, Any] = self._call("GET", f"/datasets/{quote(dataset, safe='')}")
        return found

    def price(
        self,
        dataset: str,
        *,
        sql: str,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | None = None,
        dialect: str = "duckdb",
    ) -> dict[str, Any]:
        """What a question would cost and how wrong it would be; nothing is spent."""
        body = _asked(sql, epsilon, rho, accuracy, dialect)
        found: dict[str, Any] = self._call("POST", f"/datasets/{quote(dataset, safe='')}/price", json=body)
        return found

    def request(
        self,
        dataset: str,
        *,
        sql: str,
        purpose: str,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | None = None,
        dialect: str = "duckdb",
        request: str | None = None,
    ) -> RemoteRequest:
        """Ask for a question: priced at once, pending until an allocator grants it."""
        body = {**_asked(sql, epsilon, rho, accuracy, dialect), "purpose": purpose}
        if request is not None:
            body["request"] = request
        found = self._call("POST", f"/datasets/{quote(dataset, safe='')}/requests", json=body)
        return RemoteRequest(self, dataset, found["account"], found["request"], found["price"])

    def workload(
        self,
        dataset: str,
        questions: Mapping[str, str],
        *,
        purpose: str,
        epsilon: Real | None = None,
        rho: Real | None = None,
        by: str = "even",
        request: str | None = None,
        **shares: Mapping[str, Any] | None,
    ) -> RemoteRequest:
        """Ask for several SQL questions as one request, shared out `by` "even", "weights" or "accuracy", as in a session."""
        unknown = sorted(set(shares) - {"weights", "wanted", "locked"})
        if unknown:
            raise InvalidArgument(f"a workload has weights=, wanted= and locked=, got {unknown[0]}=")
        amounts = {
            name: float(Fraction(value)) for name, value in (("epsilon", epsilon), ("rho", rho)) if value is not None
        }
        parts = {name: dict(values) for name, values in shares.items() if values is not None}
        body: dict[str, Any] = {"questions": dict(questions), "by": by, "purpose": purpose, **amounts, **parts}
        if request is not None:
            body["request"] = request
        found = self._call("POST", f"/datasets/{quote(dataset, safe='')}/workloads", json=body)
        return RemoteRequest(self, dataset, found["account"], found["request"], found["price"])

    def requests(self, dataset: str) -> list[dict[str, Any]]:
        """The requests one may see, in order."""
        found: list[dict[str, Any]] = self._call("GET", f"/datasets/{quote(dataset, safe='')}/requests")
        return found

    def fetch(self, dataset: str, account: str, request: str) -> RemoteRequest:
        """A request made earlier, by oneself or by others."""
        found = self._call("GET", _path(dataset, account, request))
        return RemoteRequest(self, dataset, account, request, found["price"])

    def grant(self, dataset: str, account: str, request: str, *, days: int, part: Real | None = None) -> dict[str, Any]:
        """For allocators: grant a request, in full or for a smaller amount."""
        body = {"days": days, **({} if part is None else {"part": float(part)})}
        found: dict[str, Any] = self._call("POST", _path(dataset, account, request) + "/grant", json=body)
        return found

    def refuse(self, dataset: str, account: str, request: str, *, reason: str) -> dict[str, Any]:
        """For allocators: refuse a request or withdraw its grant."""
        found: dict[str, Any] = self._call(
            "POST", _path(dataset, account, request) + "/refuse", json={"reason": reason}
        )
        return found

    def publish(self, dataset: str, account: str, request: str) -> dict[str, Any]:
        """For owners and curators: make an answer readable by everybody with a role."""
        found: dict[str, Any] = self._call("POST", _path(dataset, account, request) + "/publish", json={})
        return found

    def amend(self, dataset: str, *, codebook: str, reason: str) -> dict[str, Any]:
        """For curators: propose the codebook in this file, or this text of one; the worker takes it up or rejects it."""
        text = codebook if "\n" in codebook else Codebook.load(codebook).to_yaml()
        body = {"codebook": text, "reason": reason}
        found: dict[str, Any] = self._call("POST", f"/datasets/{quote(dataset, safe='')}/codebook", json=body)
        return found

    def checklist(self, dataset: str, account: str, request: str) -> dict[str, Any]:
        """A request's checklist and context form: every item with its evidence, and which still block publication."""
        found: dict[str, Any] = self._call("GET", _path(dataset, account, request) + "/checklist")
        return found

    def sign(
        self,
        dataset: str,
        account: str,
        request: str,
        item: str,
        *,
        role: str,
        text: str,
        applies: bool = True,
        link: str = "",
        file: str = "",
    ) -> dict[str, Any]:
        """Sign an item of a checklist, or a field of the context form (`context.subject`), in a role one has; of a `file` that
        is evidence only its SHA-256 is sent.
        """
        body = {"item": item, "role": role, "text": text, "applies": applies, "link": link}
        body["file_hash"] = _file_hash(file) if file else ""
        found: dict[str, Any] = self._call("POST", _path(dataset, account, request) + "/checklist", json=body)
        return found

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, method: str, path: str, **more: Any) -> Any:
        import httpx

        try:
            answer = self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise InvalidArgument(f"the server cannot be reached ({type(error).__name__}); check its address") from None
        try:
            found = answer.json()
        except ValueError:
            raise InvalidArgument(f"the server answered {answer.status_code} with something else than JSON") from None
        if not answer.is_success:
            _raise(answer.status_code, found)
        return found

    def __repr__(self) -> str:
        return f"Client({str(self._http.base_url).removesuffix('/api/v1/')!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Client holds a token: it cannot be copied or pickled")


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """A request at a server."""

    client: Client
    dataset: str
    account: str
    id: str
    price: str

    @property
    def state(self) -> str:
        """How far it has come, asked afresh each time."""
        return str(self._seen()["state"])

    def _seen(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client._call("GET", _path(self.dataset, self.account, self.id))
        return found

    def release(self) -> Any:
        """The answer, if it is there: a `Release`, or a `WorkloadRelease` where several questions were asked."""
        record = self.client._call("GET", _path(self.dataset, self.account, self.id) + "/release")
        if "answers" not in record:
            return _release(record)
        answers = {name: _release(each) for name, each in record["answers"].items()}
        receipt = next(iter(answers.values())).receipt
        assert receipt is not None
        return WorkloadRelease(answers, receipt)

    def wait(self, *, seconds: float = 600, every: float = 0.5, sleep: Callable[[float], None] = time.sleep) -> Any:
        """The answer as soon as it is there; a refusal or an expiry is an error, and so is a time that runs out."""
        waited = 0.0
        while True:
            seen = self._seen()
            if seen["state"] in _DONE:
                return self.release()
            if seen["state"] in _OVER:
                kind = Unanswered if seen["state"] == _OVER[2] else NotGranted
                raise kind(f"request {self.id!r} is {seen['state']}: {seen['reason'] or 'no reason given'}")
            if waited >= seconds:
                raise InvalidArgument(
                    f"request {self.id!r} is still {seen['state']} after {seconds:g} seconds; wait again"
                )
            sleep(every)
            waited += every


def _release(record: Mapping[str, Any]) -> Release:
    receipt = None if record["receipt"] is None else Receipt.from_record(record["receipt"])
    release, facts = record["release"], ReleaseFacts.from_record(record["facts"])
    if "stages" not in record:
        return Release(release, facts, receipt)
    stages = {name: _release(each) for name, each in record["stages"].items()}
    return StagedRelease(release, facts, receipt, stages)


def connect(url: str, *, token: str) -> Client:
    """A client of the server at `url`; `token` is the token itself or the file it is kept in.

    Guarantee: the token leaves this machine over https only.
    """
    return Client(url, token=token)


def _token(token: str) -> str:
    if token.startswith("dn_"):
        return token
    try:
        text = Path(token).read_text(encoding="utf-8").strip()
    except OSError:
        text = ""
    if not text.startswith("dn_"):
        raise InvalidArgument("token must be a token that begins with dn_, or the name of a file that holds one")
    return text


def _file_hash(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidArgument(
            f"the file {name!r} cannot be read: {error.strerror}; give one that is evidence"
        ) from None


def _asked(
    sql: str, epsilon: Real | None, rho: Real | None, accuracy: Mapping[str, Real] | None, dialect: str
) -> dict[str, Any]:
    given = {"epsilon": epsilon, "rho": rho}
    numbers: dict[str, Any] = {name: float(Fraction(value)) for name, value in given.items() if value is not None}
    wanted = {} if accuracy is None else {"accuracy": {name: float(value) for name, value in accuracy.items()}}
    return {"sql": sql, "dialect": dialect, **numbers, **wanted}


def _path(dataset: str, account: str, request: str) -> str:
    return f"/datasets/{quote(dataset, safe='')}/requests/{quote(account, safe='')}/{quote(request, safe='')}"


def _raise(status: int, found: Any) -> NoReturn:
    code, message = (
        ("", str(found)) if not isinstance(found, dict) else (found.get("code", ""), found.get("message", ""))
    )
    if code == "over-budget":
        raise BudgetExceeded(message)
    if status == 409:
        raise NotGranted(message)
    if status == 422 and code not in ("invalid", "malformed"):
        raise QueryRefused(code, message, rewrite=found.get("rewrite", ""))
    raise InvalidArgument(f"{message} ({status})")
