"""Webhooks: configured addresses are told when a request moves on. Signed, without numbers, to nobody else.

A message says which data set, which request of whom, and where it stands: what the ledger's chain says in public. Never an
answer, a price, a question or a reason. Only addresses in the configuration are called, and no redirect is followed. Who is away
is told later: what was told is kept in the state folder, so a message may come twice; of several steps meanwhile the last is told.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

from deniable.ledger import Application, Progress
from deniable.server.counter import Counter

SIGNATURE = "Deniable-Signature"
_SECONDS = 5
_QUIET = {Progress.RUNNING}
"""A state between two others, which nobody has to act on."""
_log = logging.getLogger("deniable.webhooks")


@dataclass(frozen=True, slots=True)
class Webhook:
    """One address with the secret that its messages are signed with."""

    url: str
    secret: bytes


class Correspondent(Protocol):
    """Another channel than webhooks, such as e-mail. `url` names it in the state folder; `fresh`: does it tell what is old?"""

    url: str
    fresh: bool

    def deliver(self, dataset: str, known: Application) -> bool:
        """Was everybody told, or is there nobody to tell?"""


def sign(body: bytes, *, secret: bytes, moment: int) -> str:
    """The value of the signature's header: when it was sent, and an HMAC-SHA256 of that moment and the body."""
    return f"t={moment},v1={hmac.new(secret, f'{moment}.'.encode() + body, hashlib.sha256).hexdigest()}"


def verify_signature(body: bytes, header: str, *, secret: bytes, now: float, tolerance: int = 300) -> bool:
    """For receivers: was this body signed with the secret, within so many seconds of now?"""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    try:
        moment = int(parts.get("t", ""))
    except ValueError:
        return False
    return hmac.compare_digest(sign(body, secret=secret, moment=moment), header) and abs(now - moment) <= tolerance


def message(dataset: str, known: Application) -> bytes:
    """What is told of a request."""
    told = {"dataset": dataset, "account": known.account, "request": known.request, "state": known.progress.value}
    return json.dumps(told, sort_keys=True).encode()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Nowhere else."""
        return


def post(url: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Send one message; whether it was taken (a status of 200 to 299)."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(request, timeout=_SECONDS) as answer:
            return bool(200 <= answer.status < 300)
    except (OSError, urllib.error.URLError, ValueError):
        return False


class Messenger:
    """Tells every webhook about every request that moved on, in order for each of them."""

    def __init__(
        self,
        hooks: Iterable[Webhook | Correspondent],
        counters: Mapping[str, Counter],
        folder: Path,
        *,
        send: Callable[[str, bytes, Mapping[str, str]], bool] = post,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._hooks, self._counters, self._send, self._clock = tuple(hooks), counters, send, clock
        self._path = folder / "webhooks.json"
        self._told: dict[str, dict[str, str]] = self._read()

    def tell(self) -> int:
        """Everything that has not been told; how many messages were taken."""
        return sum(self._tell(hook) for hook in self._hooks)

    def _tell(self, hook: Webhook | Correspondent) -> int:
        if hook.url not in self._told and not getattr(hook, "fresh", True):
            self._told[hook.url] = self._now()
            self._write()
        told, taken = self._told.setdefault(hook.url, {}), 0
        for dataset, counter in self._counters.items():
            for known in counter.ledger.desk.all():
                name, state = f"{dataset}/{known.account}/{known.request}", known.progress.value
                if known.progress in _QUIET or told.get(name) == state:
                    continue
                if not self._deliver(hook, dataset, known):
                    _log.warning("a receiver was not reached; it is told later")
                    return taken
                told[name], taken = state, taken + 1
                self._write()
        return taken

    def _now(self) -> dict[str, str]:
        """Where every request stands."""
        return {
            f"{dataset}/{known.account}/{known.request}": known.progress.value
            for dataset, counter in self._counters.items()
            for known in counter.ledger.desk.all()
        }

    def _deliver(self, hook: Webhook | Correspondent, dataset: str, known: Application) -> bool:
        if not isinstance(hook, Webhook):
            return hook.deliver(dataset, known)
        body = message(dataset, known)
        signed = sign(body, secret=hook.secret, moment=int(self._clock()))
        return self._send(hook.url, body, {"Content-Type": "application/json", SIGNATURE: signed})

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            found: dict[str, dict[str, str]] = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(self._told), encoding="utf-8")
        os.replace(draft, self._path)

    def start(self, *, every: float = 1.0) -> None:
        """Tell, again and again, beside the web process until it ends."""

        def run() -> NoReturn:
            while True:
                try:
                    self.tell()
                except Exception as error:
                    _log.warning("webhooks: %s", type(error).__name__)
                time.sleep(every)

        threading.Thread(target=run, name="webhooks", daemon=True).start()
