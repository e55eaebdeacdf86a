"""The exact output law of anything that draws words: feed it every word sequence up to a depth.

With words of a few bits the tree is small. What the sequences of the given depth do not decide is counted as undecided,
so the true probability of an outcome lies between `decided[outcome]` and `decided[outcome] + undecided`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from deniable.noise import Entropy
from deniable.testing.scripted_entropy import Exhausted, Scripted

Outcome = TypeVar("Outcome", bound=Hashable)


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
        script = Scripted(prefix, word_bits=word_bits)
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
