"""Exact coins: a uniform real is read word by word and compared with the threshold until the comparison is decided.

One word decides in all but one case in 2**64, whatever the outcome. Where the threshold is exp(-x) with x beyond FAR, what lies
beyond is whole units of exp(-1), and one geometric draw decides them all: the work has a public bound for every x.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable.exact import exp
from deniable.exact.guards import nonnegative, probability
from deniable.noise.laplace import geometric
from deniable.noise.redraw import chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy

FAR = 1024
"""exp(-x) is enclosed for x up to FAR and one more; a coin of a smaller chance is several coins."""


def bernoulli(p: int | Fraction, entropy: Entropy) -> bool:
    """True with probability exactly p.

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    exact = probability(p=p)
    digit, rest = divmod(exact.numerator << entropy.word_bits, exact.denominator)
    return _below(entropy.word(), digit, rest, exact.denominator, entropy)


def bernoullis(p: int | Fraction, count: int, entropy: Entropy) -> NDArray[np.bool_]:
    """`count` independent draws of `bernoulli`."""
    exact = probability(p=p)
    out = np.empty(count, dtype=np.bool_)
    digit, rest = divmod(exact.numerator << entropy.word_bits, exact.denominator)
    if digit >> entropy.word_bits:
        out.fill(True)
        return out
    for start, stop in chunks(count):
        words = entropy.words(stop - start)
        np.less(words, np.uint64(digit), out=out[start:stop])
        for i in np.flatnonzero(words == np.uint64(digit)):
            out[start + i] = _below(digit, digit, rest, exact.denominator, entropy)
    return out


def _below(word: int, digit: int, rest: int, denominator: int, entropy: Entropy) -> bool:
    """Whether the real that starts with `word` lies below the fraction whose first digit is `digit`."""
    while word == digit:
        if not rest:
            return False
        digit, rest = divmod(rest << entropy.word_bits, denominator)
        word = entropy.word()
    return word < digit


def bernoulli_exp(x: int | Fraction, entropy: Entropy) -> bool:
    """True with probability exactly exp(-x), for x >= 0.

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return below_exp(nonnegative(x=x), entropy.word(), entropy.word_bits, entropy)


def below_exp(exponent: Fraction, place: int, bits: int, entropy: Entropy) -> bool:
    """Whether a uniform real in [place, place + 1) lies below 2**bits * exp(-exponent).

    Guarantee: exact; for every exponent the work is that of one up to max(FAR, bits), and at most one geometric draw.
    """
    near, beyond = near_and_beyond(exponent, least=bits)
    is_below = _below_exp(near, place, bits, entropy)
    return passes(beyond, entropy) & is_below  # both are done whatever comes out


def near_and_beyond(exponent: Fraction, *, least: int = 0) -> tuple[Fraction, int]:
    """The exponent as a part up to FAR (or `least`) and one more, and a whole number beyond it."""
    beyond = max(int(exponent - max(FAR, least)), 0)
    return exponent - beyond, beyond


def passes(exponent: int, entropy: Entropy) -> bool:
    """True with probability exactly exp(-exponent), for a whole number of any size: a geometric draw reaches it."""
    return not exponent or geometric(1, entropy) >= exponent


def _below_exp(exponent: Fraction, place: int, bits: int, entropy: Entropy) -> bool:
    """The uniform real is read on until the comparison is clear."""
    while True:
        share, unit = exp(-exponent, bits + 8), 1 << bits
        below, above = place + 1 <= share.lower * unit, place >= share.upper * unit
        if below or above:
            return below
        place, bits = place << entropy.word_bits | entropy.word(), bits + entropy.word_bits
