"""Stored answers: sealed with a fresh key each, opened only if untouched, packed and unpacked."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger.store import Answer, Packed, opened, pack, seal, sealed, unpacked


def test_a_seal_tells_nothing_and_proves_everything():
    (first, one), (second, two) = sealed(b"42"), sealed(b"42")
    assert one != two
    assert one != hashlib.sha256(b"42").hexdigest()
    assert len(first.salt) == 32
    assert opened(first, one) == opened(second, two) == b"42"


@pytest.mark.parametrize("change", [{"payload": b"43"}, {"salt": bytes(32)}])
def test_a_changed_answer_does_not_open(change):
    answer, stamp = sealed(b"42")
    with pytest.raises(LedgerError):
        opened(replace(answer, **change), stamp)
    with pytest.raises(LedgerError):
        opened(None, stamp)


def test_a_seal_is_a_keyed_hash():
    assert seal(Answer(b"payload", bytes(32))) != seal(Answer(b"payload", b"\1" * 32))


def test_packed_releases_come_back():
    content = {"columns": ["n"], "rows": [[1, 2.5, "é"]]}
    packed = unpacked(pack(Packed(content, {"scope": "x"})))
    assert (packed.release, packed.facts) == (content, {"scope": "x"})
    assert pack(Packed({"b": 1, "a": 2}, {})) == pack(Packed({"a": 2, "b": 1}, {}))


def test_not_a_number_has_no_json():
    with pytest.raises(ValueError, match="JSON"):
        pack(Packed({"x": float("nan")}, {}))


@pytest.mark.parametrize(
    "payload", [b"", b"42", b"{}", b"\xff", b'{"format": "other", "release": {}, "facts": {}}', b"[]"]
)
def test_other_bytes_are_not_a_packed_release(payload: bytes):
    with pytest.raises(InvalidArgument, match="not a packed release"):
        unpacked(payload)
