"""The sparse vector technique: many yes/no answers about a threshold, paid for by the hits alone.

A noisy threshold is drawn once; each score gets its own noise and is compared with it. Misses are free. The loss for scores
that move by between m and M in one direction is (-m)⁺/threshold scale + hits·(M + (-m)⁺)⁺/query scale, and the worse
direction counts; `docs/theory/sparse-vector.md` derives it (a well-known book claims less for monotonic scores, and is wrong).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from deniable import noise
from deniable.core.guard import Run
from deniable.core.mechanism import Utility
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.fixed import root_floor
from deniable.exact.guards import Real, integer, positive
from deniable.kernels import DiscreteLaplaceNoise
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class Sparse:
    """The public terms of one run: threshold in steps, both noise scales in steps, and how many hits are paid for."""

    threshold: int
    threshold_scale: Fraction
    query_scale: Fraction
    hits: int

    def loss(self, *, least: int, most: int) -> Fraction:
        """The pure loss when every score moves by between `least` and `most` steps, in the worse direction."""
        return max(self._one_way(least, most), self._one_way(-most, -least))

    def _one_way(self, least: int, most: int) -> Fraction:
        fall = max(-least, 0)
        return fall / self.threshold_scale + self.hits * max(most + fall, 0) / self.query_scale

    def error(self, beta: Fraction, *, queries: int) -> Fraction:
        """With probability at least 1 - beta every one of `queries` answers is right for scores this far from the threshold."""
        at_threshold = DiscreteLaplaceNoise(self.threshold_scale).error(beta / 2)
        return Fraction(at_threshold + DiscreteLaplaceNoise(self.query_scale).error(beta / 2, count=queries))


class SparseRun(Run):
    """One run: says of each score whether it (noisily) reaches the threshold, and retires with the last paid hit.

    State: the noisy threshold, drawn once, and the hits left.
    """

    __slots__ = ("_entropy", "_left", "_noisy_threshold", "_terms")

    what = "this sparse-vector run"

    def __init__(self, terms: Sparse, entropy: Entropy) -> None:
        super().__init__()
        self._terms, self._left, self._entropy = terms, terms.hits, entropy
        self._noisy_threshold = terms.threshold + noise.discrete_laplace(terms.threshold_scale, entropy)

    @property
    def hits_left(self) -> int:
        """How many more hits may be reported."""
        return self._left

    def excess(self, score: int) -> int | None:
        """How far the noisy score lies above the noisy threshold, or None for a miss: the gap of a hit is free to release."""
        with self._turn():
            over = score + noise.discrete_laplace(self._terms.query_scale, self._entropy) - self._noisy_threshold
            if over < 0:
                return None
            self._left -= 1
            if not self._left:
                paid = f"{number_of(self._terms.hits, 'hit')} {'was' if self._terms.hits == 1 else 'were'} paid for"
                self._over = f"{paid}, and no more may be told; start (and pay for) another run"
            return over


def _ratio(cube: int) -> Fraction:
    """The cube root to the nearest sixteenth, in whole numbers: the same on every machine."""
    return Fraction((root_floor((2 * 16) ** 3 * cube, 3) + 1) // 2, 16)


def sparse_terms(
    *, threshold: Real, scale: Real, query_scale: Real | None, hits: int, step: Fraction, monotonic: bool
) -> Sparse:
    """The terms in lattice steps; by default the query noise is what makes the two halves of the error equally cheap.

    Lyu, Su and Li (2017): query scale / threshold scale = (hits)^(1/3) for monotonic scores, (2·hits)^(1/3) for others, here
    to the nearest sixteenth.
    """
    count, width = integer(hits=hits, least=1), positive(scale=scale)
    best = width * _ratio(count if monotonic else 2 * count)
    second = best if query_scale is None else positive(query_scale=query_scale)
    level = Fraction(repr(threshold)) if isinstance(threshold, float) else Fraction(threshold)
    steps = level / step
    if steps.denominator != 1:
        raise InvalidArgument(f"threshold must be a multiple of the scores' step {step}, got {threshold!r}")
    return Sparse(int(steps), width / step, second / step, count)


def sparse_utility(terms: Sparse, step: Fraction, *, count: int | None, of: str, word: str) -> Utility:
    """How far from the threshold an answer is right: the first `count` of them together, else each one by itself.

    One answer errs only if the threshold's noise or its own is large, whatever was asked before, so its error needs no count.
    """
    if count is not None:
        many = integer(**{word: count}, least=1)
        return Utility(
            f"{of}: the first {many} are right for {of}s at least this far from the threshold",
            lambda beta: terms.error(beta, queries=many) * step,
        )

    def unknown(_: Fraction) -> NoReturn:
        raise InvalidArgument(f"an error for all at once needs their number: give {word}=...")

    return Utility(
        f"{of}: each by itself is right where it is at least this far from the threshold",
        lambda beta: terms.error(beta, queries=1) * step,
        unknown,
    )
