"""The one door to randomness: key stream, re-keying, fork, threads, no copies, no seeds."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from deniable.errors import InvalidArgument
from deniable.noise import Entropy, discrete_laplace, entropy, system_entropy
from deniable.noise.entropy import EntropyFailed
from deniable.noise.redraw import BATCH
from deniable.testing import Scripted, Seeded, Silent

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # Python 3.12 warns beside threads


def in_a_child(source: Entropy, count: int) -> list[int]:
    """What a forked child draws: `count` scalar words and `count` vector words."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        drawn = [source.word() for _ in range(count)] + source.words(count).tolist()
        os.write(write, np.array(drawn, dtype=np.uint64).tobytes())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        return np.frombuffer(pipe.read(), dtype=np.uint64).tolist()


def test_words_are_words() -> None:
    source = Entropy()
    assert 0 <= source.word() < 1 << 64
    words = source.words(1000)
    assert words.dtype == np.uint64
    assert words.shape == (1000,)
    assert len(set(words.tolist())) == 1000
    assert source.words(0).shape == (0,)


def test_every_bit_is_a_fair_coin() -> None:
    """False alarm below 64 * 2 * exp(-2 * 250**2 / 4000) < 1e-11 per bit (Hoeffding)."""
    for words in (Entropy().words(4000), np.array([system_entropy().word() for _ in range(4000)], dtype=np.uint64)):
        ones = [(words >> np.uint64(bit) & np.uint64(1)).sum() for bit in range(64)]
        assert all(abs(int(count) - 2000) < 250 for count in ones)


def test_bits() -> None:
    assert Scripted([0b1011 << 60]).bits(4) == 0b1011
    assert Scripted([1, 2, 3]).bits(192) == (1 << 128) + (2 << 64) + 3
    assert Scripted([(1 << 64) - 1, 1 << 63]).bits(65) == (1 << 65) - 1
    assert Scripted([]).bits(0) == 0
    assert Scripted([5, 6], word_bits=4).bits(6) == 0b010101
    with pytest.raises(InvalidArgument, match="count must be at least 0, got -1"):
        Entropy().bits(-1)
    with pytest.raises(InvalidArgument, match="count must be at least 0, got -1"):
        Entropy().words(-1)


def test_the_stream_is_aes_256_in_counter_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """NIST SP 800-38A F.5.5 uses another counter start, so the reference here is AES itself, block by block."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    monkeypatch.setattr(Entropy, "_new_key", lambda self: bytes(range(32)))
    block = Cipher(algorithms.AES(bytes(range(32))), modes.ECB()).encryptor()
    expected = b"".join(block.update(counter.to_bytes(16, "big")) for counter in range(50))
    assert Entropy().words(100).tobytes() == expected


def test_one_key_never_serves_more_than_the_byte_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    new_key = Entropy._new_key
    monkeypatch.setattr(Entropy, "REKEY_BYTES", 1024)
    monkeypatch.setattr(Entropy, "_new_key", lambda self: keys.append(new_key(self)) or keys[-1])
    words = Entropy().words(1000)
    assert len(keys) == 8  # 8000 bytes at 1024 each
    assert len(set(keys)) == 8
    assert len(set(words.tolist())) == 1000


def test_every_vector_draw_and_every_pool_of_scalar_words_takes_fresh_system_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    system = entropy._system_bytes
    source = Entropy()
    monkeypatch.setattr(entropy, "_system_bytes", lambda count: asked.append(count) or system(count))
    source.words(10)
    source.words(10)
    assert asked == [32, 32]
    for _ in range(3 * Entropy.POOL_WORDS):
        source.word()
    assert asked == [32] * 5


def test_a_generator_that_repeats_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "_system_bytes", bytes)
    source = Entropy()
    source.words(1)
    with pytest.raises(EntropyFailed, match="the same random bytes twice"):
        source.words(1)


@needs_fork
def test_a_forked_child_repeats_nothing() -> None:
    source = Entropy()
    source.word()  # the pool is filled, so the child inherits words it must not use
    child = in_a_child(source, 50)
    parent = [source.word() for _ in range(50)] + source.words(50).tolist()
    assert len(set(child) | set(parent)) == 200


@needs_fork
def test_two_children_differ() -> None:
    source = Entropy()
    source.word()
    assert not set(in_a_child(source, 50)) & set(in_a_child(source, 50))


@needs_fork
def test_a_changed_process_id_is_noticed_without_a_hook() -> None:
    """A fork made outside Python runs no hook; the pool is dropped all the same, on the first draw."""
    source = Entropy()
    source.word()
    inherited = list(source._pool)
    source._pid -= 1
    assert source.word() not in inherited
    assert source._pid == os.getpid()


@needs_fork
def test_a_child_forked_while_another_thread_draws_does_not_hang() -> None:
    source, stop = Entropy(), threading.Event()

    def draw() -> None:
        while not stop.is_set():
            source.words(10)

    with ThreadPoolExecutor(1) as pool, np.errstate(all="raise"):
        busy = pool.submit(draw)
        try:
            children = [set(in_a_child(source, 5)) for _ in range(10)]
        finally:
            stop.set()
        busy.result()
    assert len(set().union(*children)) == 100


@needs_fork
def test_a_forked_child_repeats_no_draw() -> None:
    """Scalar draws come from a batch; the child must not serve its parent's."""
    source = Entropy()
    discrete_laplace(1 << 40, source)
    read, write = os.pipe()
    if not (child := os.fork()):
        os.write(write, str(discrete_laplace(1 << 40, source)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = int(os.read(read, 100))
    os.close(read)
    os.close(write)
    assert theirs not in {discrete_laplace(1 << 40, source) for _ in range(BATCH)}


def test_draws_come_from_bounded_batches() -> None:
    source = Entropy()
    for scale in range(1, 3 * Entropy.BATCHES):
        discrete_laplace(scale, source)
    assert 0 < len(source._batches) <= Entropy.BATCHES
    assert all(len(batch) == BATCH - 1 for batch in source._batches.values())


def test_threads_share_no_draw() -> None:
    source = Entropy()
    with ThreadPoolExecutor(8) as pool:
        parts = pool.map(lambda _: [discrete_laplace(1 << 50, source) for _ in range(300)], range(8))
        values = [value for part in parts for value in part]
    assert len(set(values)) == len(values) == 2400  # by chance two agree with probability below 1e-9


def test_threads_share_no_word() -> None:
    source = Entropy()
    with ThreadPoolExecutor(8) as pool:
        scalars = pool.map(lambda _: [source.word() for _ in range(2000)], range(8))
        vectors = pool.map(lambda _: source.words(2000).tolist(), range(8))
        words = [word for part in (*scalars, *vectors) for word in part]
    assert len(set(words)) == len(words) == 32000


@pytest.mark.parametrize("source", [Entropy(), Silent(), Seeded(1), Scripted([1])], ids=lambda s: type(s).__name__)
def test_no_pickle_no_copy(source: Entropy) -> None:
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="would repeat the same noise"):
            duplicate(source)


def test_nothing_seeds_it() -> None:
    assert list(inspect.signature(Entropy).parameters) == []
    assert not [name for name in dir(Entropy) if "seed" in name and name != "_last_seed"]
    with pytest.raises(TypeError):
        Entropy(1)  # type: ignore[call-arg]


def test_only_the_real_thing_is_not_testing() -> None:
    assert not Entropy().is_testing
    assert not system_entropy().is_testing
    assert system_entropy() is system_entropy()
    for stand_in in (Silent(), Seeded(1), Scripted([])):
        assert isinstance(stand_in, Entropy)
        assert stand_in.is_testing
    assert type("Lookalike", (Entropy,), {})().is_testing


def test_without_aes_the_system_generator_serves() -> None:
    """A fresh interpreter in which `cryptography` cannot be imported."""
    code = """
import sys
sys.modules["cryptography.hazmat.primitives.ciphers"] = None
from deniable.noise import Entropy, discrete_laplaces, entropy
assert entropy._fill is None
source = Entropy()
assert len(set(source.words(1000).tolist()) | {source.word() for _ in range(600)}) == 1600
assert abs(int(discrete_laplaces(10, 20000, source).sum())) < 20000
print("served by the system")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "served by the system\n", done.stderr


def test_seeded_is_the_same_everywhere() -> None:
    assert Seeded(7).words(3).tolist() == [Seeded(7).word(), *Seeded(7).words(3).tolist()[1:]]
    assert Seeded(7).word() != Seeded(8).word()
    assert Seeded(7, word_bits=8).words(500).max() < 256
    assert Seeded(0).word() == 9604869315031084478
