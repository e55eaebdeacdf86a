"""Who is asking: personal tokens, kept as argon2 hashes, shown once, with an end; and sessions of browsers that showed one.

A token is `dn_<id>_<secret>`; the id finds the record, the secret is compared in constant time by argon2. A token
that was verified is remembered for a short time by a keyed hash, so that argon2 does not run for every request.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from deniable.errors import InvalidArgument
from deniable.noise import system_entropy

_REMEMBERED = 300.0
"""Seconds for which a verified token is not verified again."""


def secret(bits: int = 256) -> str:
    """A fresh secret, from the one source of randomness."""
    return f"{system_entropy().bits(bits):0{bits // 4}x}"


class Tokens:
    """The tokens of a server, in one file that only its owner can read."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time, quick: bool = False) -> None:
        from argon2 import PasswordHasher

        self._path, self._clock = path, clock
        self._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1) if quick else PasswordHasher()
        self._key = secret().encode()
        self._seen: dict[str, tuple[str, float]] = {}
        self._written = 0
        self._lock = threading.Lock()

    def issue(self, person: str, *, days: int) -> str:
        """A new token for a person, shown this once."""
        if not 1 <= days <= 366:
            raise InvalidArgument(f"a token lasts 1 to 366 days, got {days!r}")
        id, word = secret(64), secret()
        record = {"person": person, "hash": self._hasher.hash(word), "ends": int(self._clock()) + days * 86_400}
        with self._alone():
            self._write({**self._read(), id: record})
        return f"dn_{id}_{word}"

    def revoke(self, person: str) -> int:
        """Take all tokens of a person away; how many there were."""
        with self._alone():
            known = self._read()
            kept = {id: record for id, record in known.items() if record["person"] != person}
            self._write(kept)
            self._seen.clear()
        return len(known) - len(kept)

    def person(self, token: str) -> str | None:
        """Whose token it is; None for one that is unknown, wrong or over.

        An unknown id costs nothing to refuse: ids are drawn from 2**64, so what their absence tells is of no use.
        """
        remembered = hmac.new(self._key, token.encode(errors="replace"), hashlib.sha256).hexdigest()
        now, written = self._clock(), self._forget_if_changed()
        name, until = self._seen.get(remembered, ("", 0.0))
        if now < until:
            return name
        parts = token.split("_")
        id, word = (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "dn" else ("", "")
        with self._lock:
            record = self._read().get(id)
        if record is None or now >= record["ends"] or not self._matches(record["hash"], word):
            return None
        with self._lock:
            if written == self._written:  # else the token may have been taken away while it was verified
                self._seen[remembered] = (record["person"], min(now + _REMEMBERED, record["ends"]))
        return str(record["person"])

    def _forget_if_changed(self) -> int:
        """Another process may have taken a token away: what was verified before the file changed is verified again.

        When the file was written, as far as is known now.
        """
        try:
            written = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            written = 0
        with self._lock:
            if written != self._written:
                self._seen.clear()
                self._written = written
        return written

    def _matches(self, hashed: str, word: str) -> bool:
        from argon2.exceptions import Argon2Error

        try:
            return self._hasher.verify(hashed, word)
        except Argon2Error:
            return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time changes the file: what is issued meanwhile is not lost, and what is taken away stays so."""
        import fcntl

        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place = self._path.with_name(f"{self._path.name}.lock")
        with self._lock, open(os.open(place, os.O_RDWR | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    def _write(self, records: dict[str, Any]) -> None:
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}-{secret(64)}")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps(records))
        fresh.replace(self._path)


class ShortLived:
    """Records under secret ids that end by themselves, in one file for all web processes of a machine; without one, in memory.

    The file has hashes of the ids and not the ids: whoever reads it cannot use one. Losing it logs everybody out.
    """

    def __init__(self, path: Path | None = None, *, clock: Callable[[], float] = time) -> None:
        self._clock, self._lock = clock, threading.Lock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._table = sqlite3.connect(path or ":memory:", timeout=10, isolation_level=None, check_same_thread=False)
        self._table.execute("PRAGMA journal_mode = WAL")
        self._table.execute("PRAGMA synchronous = OFF")
        self._table.execute(
            "CREATE TABLE IF NOT EXISTS kept (id TEXT PRIMARY KEY, record TEXT NOT NULL, ends REAL NOT NULL)"
        )

    def keep(self, record: Mapping[str, str], *, seconds: float) -> str:
        """Keep a record for so long, always under a new id: what a browser brought along is never taken over."""
        id, now = secret(), self._clock()
        with self._lock:
            self._table.execute("DELETE FROM kept WHERE ends <= ?", (now,))
            self._table.execute(
                "INSERT INTO kept VALUES (?, ?, ?)", (_hashed(id), json.dumps(dict(record)), now + seconds)
            )
        return id

    def find(self, id: str | None) -> dict[str, str] | None:
        """The record under this id, while it lasts."""
        return self._one("SELECT record FROM kept WHERE id = ? AND ends > ?", id)

    def take(self, id: str | None) -> dict[str, str] | None:
        """The same, for the first who asks: it is gone afterwards, for every process."""
        return self._one("DELETE FROM kept WHERE id = ? AND ends > ? RETURNING record", id)

    def _one(self, statement: str, id: str | None) -> dict[str, str] | None:
        with self._lock:
            row = self._table.execute(statement, (_hashed(id or ""), self._clock())).fetchone()
        found: dict[str, str] | None = None if row is None else json.loads(row[0])
        return found


def _hashed(id: str) -> str:
    return hashlib.sha256(id.encode(errors="replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Visit:
    """A browser that showed a token: who it is, and the token its forms must carry."""

    person: str
    csrf: str


class Visits:
    """Browsers that are logged in; any web process of the machine knows them."""

    def __init__(self, kept: ShortLived, *, hours: float = 8.0) -> None:
        self._kept, self._length = kept, hours * 3600

    def begin(self, person: str) -> str:
        """A new visit, under a new id."""
        return self._kept.keep({"person": person, "csrf": secret()}, seconds=self._length)

    def find(self, id: str | None) -> Visit | None:
        """The visit with this id, while it lasts."""
        record = self._kept.find(id)
        return None if record is None or "csrf" not in record else Visit(record["person"], record["csrf"])

    def end(self, id: str | None) -> None:
        """Log out, everywhere."""
        self._kept.take(id)


class RateLimit:
    """So many requests a minute for each account, in each web process: a bucket that fills steadily."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time) -> None:
        self._most, self._clock = float(per_minute), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, account: str) -> bool:
        """Take one from the account's bucket, if there is one."""
        now = self._clock()
        level, since = self._buckets.get(account, (self._most, now))
        level = min(self._most, level + (now - since) * self._most / 60)
        if level < 1:
            self._buckets[account] = (level, now)
            return False
        self._buckets[account] = (level - 1, now)
        return True
