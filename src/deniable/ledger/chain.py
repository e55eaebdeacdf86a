"""One line of the ledger, and the chain that ties each line to the one before.

Guarantee: two chains with the same head hash hold the same events in the same order. The chain is not keyed: whoever can
rewrite the whole file can rewrite the chain, which is why an anchor keeps its head in a second place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from deniable.errors import InvalidArgument, LedgerError

FORMAT = 1
"""The version of everything written here; a file with a later one is refused."""


class EventKind(Enum):
    """What can happen to a ledger. Nothing removes."""

    OPEN = "open"
    RESERVE = "reserve"
    STORE = "store"
    RELEASE = "release"
    AMEND = "amend"
    NEW_VERSION = "new_version"
    NOTE = "note"
    REQUEST = "request"
    GRANT = "grant"
    REFUSAL = "refusal"
    EXPIRY = "expiry"
    PUBLICATION = "publication"
    READING = "reading"
    PROPOSAL = "proposal"
    REJECTION = "rejection"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Event:
    """Event number `count` of a ledger; `head` is the hash of it and, through `previous`, of all before it."""

    count: int
    kind: EventKind
    body: Mapping[str, Any]
    previous: str
    head: str

    def to_record(self) -> dict[str, Any]:
        """The event as one JSON-able line of an export."""
        return {
            "count": self.count,
            "kind": self.kind.value,
            "body": dict(self.body),
            "previous": self.previous,
            "head": self.head,
        }


ROOT = hashlib.sha256(f"deniable ledger, format {FORMAT}".encode()).hexdigest()
"""What the first event points back to."""


def canonical(value: object) -> str:
    """JSON with one spelling only: sorted keys, no spaces, ASCII, no floats (a float is not exact)."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def linked(*, count: int, kind: EventKind, body: Mapping[str, Any], previous: str) -> Event:
    """The next event, with its hash."""
    return Event(count, kind, body, previous, _head(count, kind.value, canonical(body), previous))


def checked(*, count: int, kind: str, body: str, previous: str, head: str, after: Event | None) -> Event:
    """An event as read back from storage; refused unless it continues `after` exactly as it was written."""
    expected_count, expected_previous = (after.count + 1, after.head) if after else (1, ROOT)
    if (count, previous, head) != (expected_count, expected_previous, _head(count, kind, body, previous)):
        raise LedgerError(f"event {count} of this ledger was edited, removed or moved; restore the file from a backup")
    try:
        return Event(count, EventKind(kind), json.loads(body), previous, head)
    except ValueError:
        raise LedgerError(f"event {count} has the unknown kind {kind!r}; use a later version of deniable") from None


def _head(count: int, kind: str, body: str, previous: str) -> str:
    text = canonical([FORMAT, count, kind, previous]) + body
    return hashlib.sha256(text.encode("ascii", errors="backslashreplace")).hexdigest()


def _refuse_floats(value: object) -> None:
    if isinstance(value, float):
        raise InvalidArgument(f"the ledger holds exact numbers only, got the float {value!r}")
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidArgument(f"the ledger's records have text for keys, got {key!r}")
            _refuse_floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_floats(item)
