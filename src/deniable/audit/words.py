"""The exact output law of anything that draws words: feed it every word sequence up to a depth.

With words of a few bits the tree is small. What the sequences of the given depth do not decide is counted as undecided,
so the true probability of an outcome lies between `decided[outcome]` and `decided[outcome] + undecided`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import DeniableError
from deniable.noise import Entropy
from deniable.noise.entropy import IntegerSampler

Outcome = TypeVar("Outcome", bound=Hashable)


class Exhausted(DeniableError):
    """A script ran out of words: this draw needs more than it was given."""


class WordPath(Entropy):
    """Exactly the given words, in order, drawn one by one; `read` counts the words handed out."""

    __slots__ = ("_word_bits", "_words", "read")

    def __init__(self, words: Iterable[int], *, word_bits: int = 64) -> None:
        self._words, self._word_bits, self.read = list(words), word_bits, 0

    @property
    def word_bits(self) -> int:
        return self._word_bits

    def next_of(self, sampler: IntegerSampler) -> int:
        return sampler.draw(self)

    def word(self) -> int:
        if self.read >= len(self._words):
            raise Exhausted(f"the script has {len(self._words)} words and another was asked for")
        self.read += 1
        return self._words[self.read - 1]

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)


class Tape(WordPath):
    """Words of another source, kept: after `rewind` the same words come again. For runs that are compared, never for a release."""

    __slots__ = ("_source",)

    def __init__(self, source: Entropy) -> None:
        super().__init__([], word_bits=source.word_bits)
        self._source = source

    def rewind(self) -> None:
        """Start again with the first word."""
        self.read = 0

    def word(self) -> int:
        if self.read == len(self._words):
            self._words.append(self._source.word())
        return super().word()


@dataclass(frozen=True, slots=True)
class Enumeration(Generic[Outcome]):
    """What is decided, what is not, and for each outcome how much of it took how many words."""

    decided: dict[Outcome, Fraction]
    undecided: Fraction
    words: dict[Outcome, dict[int, Fraction]]


def enumerated(draw: Callable[[Entropy], Outcome], *, word_bits: int, depth: int) -> Enumeration[Outcome]:
    """Run `draw` on every sequence of up to `depth` words of `word_bits` bits."""
    counts: dict[tuple[Outcome, int], int] = Counter()
    undecided = 0
    open_prefixes: list[tuple[int, ...]] = [()]
    while open_prefixes:
        prefix = open_prefixes.pop()
        script = WordPath(prefix, word_bits=word_bits)
        try:
            counts[draw(script), script.read] += 1 << (word_bits * (depth - len(prefix)))
        except Exhausted:
            if len(prefix) == depth:
                undecided += 1
            else:
                open_prefixes += [(*prefix, word) for word in range(1 << word_bits)]
    whole = 1 << (word_bits * depth)
    words: dict[Outcome, dict[int, Fraction]] = {}
    for (outcome, read), count in counts.items():
        words.setdefault(outcome, {})[read] = Fraction(count, whole)
    decided = {outcome: sum(masses.values(), Fraction(0)) for outcome, masses in words.items()}
    return Enumeration(decided, Fraction(undecided, whole), words)
