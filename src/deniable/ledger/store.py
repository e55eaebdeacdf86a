"""How an answer is kept: as bytes, sealed when stored, and packed so that the command line can show it.

The chain must tie a stored answer to its charge without telling what the answer is before it is released: a plain hash could be
guessed. So the chain holds a keyed hash (a seal) whose key, the salt, is drawn for this answer and kept beside it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from deniable.errors import InvalidArgument, LedgerError
from deniable.noise.entropy import system_entropy

PACKED = "deniable release 1"
"""The first member of a packed answer: what it is and the version of its format."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The stored bytes of one answer and the secret salt of its seal."""

    payload: bytes
    salt: bytes


def sealed(payload: bytes) -> tuple[Answer, str]:
    """The answer with a fresh salt, and its seal for the chain."""
    answer = Answer(payload, system_entropy().bits(256).to_bytes(32, "big"))
    return answer, seal(answer)


def seal(answer: Answer) -> str:
    """The keyed hash of an answer."""
    return hmac.new(answer.salt, answer.payload, hashlib.sha256).hexdigest()


def opened(answer: Answer | None, expected: str) -> bytes:
    """The bytes of a stored answer; refused if they are not the ones that were sealed."""
    if answer is None or not hmac.compare_digest(seal(answer), expected):
        raise LedgerError("a stored answer was edited or removed; restore the ledger from a backup")
    return answer.payload


@dataclass(frozen=True, slots=True)
class Packed:
    """A release as it is stored: its own record, and the facts for its release table."""

    release: dict[str, Any]
    facts: dict[str, Any]


def pack(made: Packed) -> bytes:
    """A release and the facts for its table as bytes; both JSON-able. NaN is refused: it has no JSON."""
    record = {"format": PACKED, "release": made.release, "facts": made.facts}
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def unpacked(payload: bytes) -> Packed:
    """What `pack` packed."""
    try:
        record = json.loads(payload)
        if record["format"] != PACKED:
            raise KeyError
        return Packed(record["release"], record["facts"])
    except (ValueError, KeyError, TypeError):
        raise InvalidArgument(f"this answer is not a packed release ({PACKED!r}); export its bytes instead") from None
