"""The keyed order in which a unit's groups and rows are kept: the same on every engine, guessed by no one.

Bounding needs no randomness: any choice that depends on one unit's own rows alone moves nothing else when that unit
comes or goes. What it needs is that no group is favoured for all units and that nobody can steer it, hence a key.
Values become words below 2**31; words are mixed with 64-bit products only, so SQL computes the same numbers as Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from hashlib import blake2b, md5

from deniable.errors import InvalidArgument
from deniable.plan.facts import Facts, Kind, days, microseconds

MASK = 2**31 - 1
"""Words and hashes are below this or equal to it."""

MOST_MIXED = 16
"""Up to so many words are mixed one by one; more are folded into one first, for a statement must not nest without end."""

NUMBER_MASK = 2**30 - 1
"""How much of a row's number among equals is a word."""

HEX_DIGITS = 15
"""How much of a text's MD5 is used: 60 bits, two words."""


@dataclass(frozen=True, slots=True, repr=False)
class OrderKey:
    """The secret constants of one data set's order; derived from 32 random bytes the curator's process holds."""

    seed: int
    lanes: tuple[int, ...]
    multipliers: tuple[int, int, int]
    addends: tuple[int, int, int]
    salt: str

    def __repr__(self) -> str:
        return "OrderKey(secret)"

    def lane(self, index: int) -> int:
        """The odd multiplier of the index-th word; no two of the first few hundred words share one."""
        return self.lanes[index % len(self.lanes)] * (2 * (index // len(self.lanes)) + 1) & MASK


def order_key(secret: bytes | int) -> OrderKey:
    """The order key of a secret of at least 128 bits."""
    if isinstance(secret, int) and not isinstance(secret, bool) and secret >= 0:
        secret = secret.to_bytes(max(32, (secret.bit_length() + 7) // 8), "big")
    if not (isinstance(secret, bytes) and len(secret) >= 16):
        raise InvalidArgument("an order key needs at least 16 secret bytes")
    stream = b"".join(
        blake2b(secret, digest_size=64, person=b"deniable-order", salt=bytes([i])).digest() for i in range(2)
    )
    words = [int.from_bytes(stream[4 * i : 4 * i + 4], "big") for i in range(16)]
    odd = [word % 2**29 + 2**29 | 1 for word in words[:8]]
    salt = blake2b(secret, digest_size=16, person=b"deniable-salt").hexdigest()
    return OrderKey(words[8] & MASK, tuple(odd[:5]), (odd[5], odd[6], odd[7]), _three(words[9:12]), salt)


def _three(words: list[int]) -> tuple[int, int, int]:
    return words[0] & MASK, words[1] & MASK, words[2] & MASK


def single_word(known: Facts) -> bool:
    """Whether a value fits one word without loss, so that mixing it is a permutation and ties cannot happen."""
    if known.kind is Kind.NUMBER:
        return known.bounded and known.ends[1] - known.ends[0] < MASK
    return known.kind in (Kind.BOOLEAN, Kind.DATE)


def words(value: object, known: Facts, key: OrderKey) -> tuple[int, ...]:
    """A value as words; different values (text: up to a 60-bit collision) and a missing one have different words.

    Words sort as their values do (text: as its number), a missing value last, so SQL can break ties by the value itself.
    """
    match known.kind:
        case Kind.NUMBER:
            assert value is None or isinstance(value, Fraction)
            count = None if value is None else int(value / known.step)
            if single_word(known):
                return (MASK,) if count is None else (count - known.ends[0],)
            if count is None:
                return (4, 0, 0)
            return (((count >> 62) + 2) & 3, (count >> 31) & MASK, count & MASK)
        case Kind.BOOLEAN:
            return (MASK,) if value is None else (int(bool(value)),)
        case Kind.DATE:
            assert value is None or isinstance(value, date)
            return (MASK,) if value is None else (days(value) - known.ends[0],)
        case Kind.TIMESTAMP:
            if value is None:
                return (MASK, 0)
            assert isinstance(value, datetime)
            past = microseconds(value) - known.ends[0]
            return (past >> 31, past & MASK)
        case Kind.STRING:
            if value is None:
                return (MASK, 0)
            assert isinstance(value, str)
            digest = md5((key.salt + value).encode(), usedforsecurity=False).hexdigest()
            number = int(digest[:HEX_DIGITS], 16)
            return (number >> 30, number & (2**30 - 1))


def start(unit_words: tuple[int, ...], key: OrderKey) -> int:
    """Where a unit's order starts: a keyed linear hash of its words."""
    return folded(key.seed, unit_words, key)


def folded(state: int, of: tuple[int, ...], key: OrderKey) -> int:
    """A state and any number of words as one number below 2**31: keyed and linear, so that SQL writes it flat."""
    for index, word in enumerate(of):
        state = (state + word * key.lane(index)) & MASK
    return state


def row_rank(unit_words: tuple[int, ...], of: tuple[int, ...], number: int, key: OrderKey) -> tuple[int, ...]:
    """What a row on its way into a join is sorted by: one hash of its unit and words, mixed with its number among equals.

    Unlike `rank` it mixes once, however many words there are: a join has all columns that are read of its side.
    """
    return (mixed(start((*unit_words, *of), key) ^ number, key), *of, number)


def mixed(state: int, key: OrderKey) -> int:
    """A keyed permutation of the numbers below 2**31: three odd products, two xor-shifts between them."""
    (a, b, c), (d, e, f) = key.multipliers, key.addends
    state = (state * a + d) & MASK
    state ^= state >> 15
    state = (state * b + e) & MASK
    state ^= state >> 13
    return (state * c + f) & MASK


def rank(state: int, of: tuple[int, ...], key: OrderKey) -> tuple[int, ...]:
    """What a group or row is sorted by: its hash, then its words (which alone break ties)."""
    if len(of) > MOST_MIXED:
        return (mixed(folded(state, of, key), key), *of)
    for word in of:
        state = mixed(state ^ word, key)
    return (state, *of) if len(of) > 1 else (state,)
