"""Gaussian noise on the integers, exact for every rational scale.

`rounded_gaussian` is a continuous normal variable rounded to the nearest integer: the default Gaussian, since whatever
holds for the continuous mechanism holds for it by post-processing. `discrete_gaussian` has P(k) ~ exp(-k**2/(2 scale**2)).
Small scales are one table; larger ones are drawn under a step function (`noise/steps.py`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from deniable.exact.guards import integer
from deniable.noise.redraw import batch_of, drawn
from deniable.noise.scale import CACHED, hashable, table_scale, vector_scale
from deniable.noise.steps import StepSampler, cells, points
from deniable.noise.table import AliasTable, TableLaw
from deniable.noise.table_laws import DiscreteGaussianLaw, RoundedGaussianLaw, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy

TABLE_SCALE = 200
"""One table has about 19 outcomes per unit of scale."""


def rounded_gaussian(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer k with P(k) = Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale).

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_rounded(hashable(scale), entropy.word_bits))


def rounded_gaussians(scale: int | Fraction, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `rounded_gaussian`."""
    return _rounded(vector_scale(scale), entropy.word_bits).draws(integer(count=count, least=0), entropy)


def discrete_gaussian(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer k with P(k) proportional to exp(-k**2 / (2 scale**2)).

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_discrete(hashable(scale), entropy.word_bits))


def discrete_gaussians(scale: int | Fraction, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `discrete_gaussian`."""
    return _discrete(vector_scale(scale), entropy.word_bits).draws(integer(count=count, least=0), entropy)


def truncated_gaussian(scale: int | Fraction, radius: int, entropy: Entropy) -> int:
    """One integer k with |k| <= radius and P(k) proportional to Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale).

    Guarantee: the law is exact; the number of redraws is independent of what is kept.
    """
    return entropy.next_of(_rounded(hashable(scale), entropy.word_bits, integer(radius=radius, least=0)))


def truncated_gaussians(scale: int | Fraction, radius: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `truncated_gaussian`."""
    sampler = _rounded(vector_scale(scale), entropy.word_bits, integer(radius=radius, least=0))
    return sampler.draws(integer(count=count, least=0), entropy)


class _OneTable:
    """A law small enough for one table."""

    __slots__ = ("_table",)

    def __init__(self, law: TableLaw, word_bits: int) -> None:
        self._table = AliasTable(law, word_bits=word_bits, label=signed)

    def draw(self, entropy: Entropy) -> int:
        return self._table.draw(entropy)

    def batch(self, entropy: Entropy) -> list[int]:
        return batch_of(self, entropy, narrow=True)

    def draws(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        return drawn(count, lambda size: self._table.draws(size, entropy))


@lru_cache(maxsize=CACHED)
def _rounded(given: int | Fraction, word_bits: int, radius: int | None = None) -> _OneTable | StepSampler:
    scale = table_scale(given)
    if scale <= TABLE_SCALE:
        return _OneTable(RoundedGaussianLaw(scale, radius), word_bits)
    return cells(scale, word_bits=word_bits, radius=radius)


@lru_cache(maxsize=CACHED)
def _discrete(given: int | Fraction, word_bits: int) -> _OneTable | StepSampler:
    scale = table_scale(given)
    return (
        _OneTable(DiscreteGaussianLaw(scale), word_bits) if scale <= TABLE_SCALE else points(scale, word_bits=word_bits)
    )
