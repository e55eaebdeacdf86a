"""The one door to randomness.

Promises: every word comes from an AES-256 key stream whose key the operating system gave; every vector draw and every
`POOL_WORDS` scalar words start a new key with fresh system bytes in it; a forked child never repeats its parent; words
and draws are handed out once, to one thread; nothing here can be seeded, pickled or copied.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NoReturn, Protocol

import numpy as np

from deniable.errors import DeniableError
from deniable.exact.guards import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHUNK = 1 << 18
_ZEROS = bytes(_CHUNK)
_PADDING = 2  # words: `update_into` wants room for one block more than it writes

Filler = Callable[[bytes, memoryview, int], None]


def _system_bytes(count: int) -> bytes:
    return os.urandom(count)  # noqa: TID251 - the one door


def _aes_filler() -> Filler | None:
    """Fill a buffer with the key stream of a 32-byte key, or None where AES is not to be had."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        Cipher(algorithms.AES(bytes(32)), modes.CTR(bytes(16))).encryptor()
    except Exception:  # not installed, or a provider without AES: the system's own generator serves instead
        return None

    def fill(key: bytes, target: memoryview, size: int) -> None:
        stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        for start in range(0, size, _CHUNK):
            stream.update_into(memoryview(_ZEROS)[: min(_CHUNK, size - start)], target[start:])

    return fill


_fill: Filler | None = _aes_filler()


class EntropyFailed(DeniableError):
    """The operating system's generator repeats itself; nothing may be drawn from it."""

    def __init__(self) -> None:
        super().__init__("the operating system returned the same random bytes twice; do not release anything from here")


class IntegerSampler(Protocol):
    """Something that draws integers of one law."""

    def draw(self, entropy: Entropy) -> int:
        """One integer."""

    def batch(self, entropy: Entropy) -> list[int]:
        """Some integers, at least one; how many does not depend on what is drawn."""


class Entropy:
    """Uniform words from the operating system, stretched by AES-256-CTR.

    Guarantee: words are independent and uniform under the standard assumption on AES-256 keyed by the system's generator.
    There is no seed. Whatever is not exactly this class counts as testing entropy (`is_testing`).
    """

    __slots__ = ("__weakref__", "_batches", "_chain", "_handed", "_last_seed", "_lock", "_pid", "_pool")

    POOL_WORDS: ClassVar[int] = 256
    BATCHES: ClassVar[int] = 64
    REKEY_BYTES: ClassVar[int] = 1 << 26

    def __init__(self) -> None:
        self._chain = _system_bytes(32)
        self._last_seed = b""
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._pool: list[int] = []
        self._batches: dict[IntegerSampler, list[int]] = {}
        self._handed: list[int] = []
        _alive.add(self)

    @property
    def word_bits(self) -> int:
        """The size of a word. Only test sources have shorter words, so that every sequence can be enumerated."""
        return 64

    @property
    def is_testing(self) -> bool:
        """True for every stand-in: a product session refuses those beside a durable ledger."""
        return type(self) is not Entropy

    def word(self) -> int:
        """One uniform word below 2**word_bits."""
        if self._pid != os.getpid():
            self._forget()
        try:
            return self._pool.pop()  # atomic: no word is ever given to two threads
        except IndexError:
            return self._refilled()

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` uniform words, under keys that no other draw shares."""
        out = np.empty(integer(count=count, least=0) + _PADDING, dtype=np.uint64)
        view = memoryview(out.view(np.uint8))  # type: ignore[arg-type]  # an array is a buffer; numpy's stubs omit it
        size = count * 8
        for start in range(0, size, self.REKEY_BYTES):
            stop = min(start + self.REKEY_BYTES, size)
            self._write(view[start:], stop - start)
        return out[:count]

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""
        words = -(-integer(count=count, least=0) // self.word_bits)
        value = 0
        for _ in range(words):
            value = value << self.word_bits | self.word()
        return value >> (words * self.word_bits - count)

    def next_of(self, sampler: IntegerSampler) -> int:
        """One draw, taken from a batch drawn beforehand.

        Taking a value off a list does not touch it, so the time this takes says nothing about it, not even through what
        the interpreter does differently for small, large or negative integers. It is kept until the next batch: an integer
        outside the interpreter's cache of small ones would be freed when the caller is done with it, which takes time.
        """
        if self._pid != os.getpid():
            self._forget()
        try:
            value = self._batches[sampler].pop()  # atomic, as in `word`
        except (KeyError, IndexError):
            value = self._rebatched(sampler)
        self._handed.append(value)
        return value

    def _rebatched(self, sampler: IntegerSampler) -> int:
        batch = sampler.batch(self)
        value = batch.pop()
        self._handed = []
        if len(self._batches) >= self.BATCHES:
            self._batches = {}  # draws nobody asked for yet are simply dropped
        self._batches[sampler] = batch
        return value

    def _write(self, target: memoryview, size: int) -> None:
        if _fill is None:
            target[:size] = _system_bytes(size)
        else:
            _fill(self._new_key(), target, size)

    def _new_key(self) -> bytes:
        """The next key: fresh system bytes hashed with a chain that cannot be run backwards."""
        seed = _system_bytes(32)
        with self._lock:
            if seed == self._last_seed:
                raise EntropyFailed
            digest = hashlib.sha512(self._chain + seed + os.getpid().to_bytes(8, "little")).digest()
            self._chain, self._last_seed = digest[:32], seed
        return digest[32:]

    def _refilled(self) -> int:
        fresh: list[int] = self.words(self.POOL_WORDS).tolist()
        word = fresh.pop()
        self._pool.extend(fresh)
        return word

    def _forget(self) -> None:
        """Drop everything a parent process could also hold; called in every new process."""
        self._lock = threading.Lock()
        self._pool, self._batches, self._handed = [], {}, []
        self._pid = os.getpid()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Entropy cannot be pickled or copied: a copy would repeat the same noise; make a new one")

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


_alive: weakref.WeakSet[Entropy] = weakref.WeakSet()


def _after_fork() -> None:
    for entropy in list(_alive):
        entropy._forget()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork)

_system = Entropy()


def system_entropy() -> Entropy:
    """The process's own source; every draw that names no other source comes from here."""
    return _system
