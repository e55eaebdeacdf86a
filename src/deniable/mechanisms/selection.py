"""Which keys may be shown when the keys themselves come from private data: plain functions on whole numbers.

A key that only one unit has must stay hidden almost always. `threshold_for` finds the threshold a noisy value must reach,
`new_key_delta` what a threshold costs, `kept` draws the optimal rule, which shows keys and no values.
`docs/theory/private-keys.md` has the proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import exp
from deniable.exact.guards import Real, integer, nonnegative, open_probability, positive
from deniable.kernels import Law, noise_of
from deniable.kernels.key_threshold import key_threshold, new_key_chance
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.noise import Entropy

_PLACES = 128
_WHOLE = 1 << _PLACES
_LONGEST_TABLE = 1 << 21


def new_key_delta(
    threshold: int, *, scale: Real, l0: int, linf: int, l1: int | None = None, law: Law = Law.LAPLACE
) -> Fraction:
    """The chance, rounded up, that any key only one unit has is shown, the rule being `noisy value >= threshold`.

    The unit touches at most `l0` keys, each by at most `linf` steps and all together by at most `l1`.
    Guarantee: 1 - (1 - P[noise >= threshold - linf])**l0, the mass *at* the threshold counted.
    """
    l0, linf = integer(l0=l0, least=0), integer(linf=linf, least=0)
    apart = Sensitivity(l0=l0, l1=min(l0 * linf, l0 * linf if l1 is None else l1), linf=linf)
    noise = noise_of(law, positive(scale=scale))
    return new_key_chance(integer(threshold=threshold), noise=noise, apart=apart)


def threshold_for(
    delta: Real, *, scale: Real, l0: int, linf: int, l1: int | None = None, law: Law = Law.LAPLACE
) -> int:
    """The smallest threshold (in steps) whose `new_key_delta` is at most `delta`.

    Guarantee: that delta, certified; one step less would exceed it.
    """
    allowed, noise = open_probability(delta=delta), noise_of(law, positive(scale=scale))
    l0, linf = integer(l0=l0, least=1), integer(linf=linf, least=1)
    apart = Sensitivity(l0=l0, l1=min(l0 * linf, l0 * linf if l1 is None else l1), linf=linf)
    return key_threshold(allowed, noise=noise, apart=apart)


# The optimal rule ---------------------------------------------------------------------------------------------------------


def keep_probability(units: int, *, epsilon: Real, delta: Real) -> Fraction:
    """The chance that the optimal rule keeps a key that `units` units have, exactly as `kept` draws it.

    Guarantee: (epsilon, delta) from each count to the next, exactly.
    The rule of Desfontaines, Voss, Gipson and Mandayam (2022): the largest chances with p(0) = 0 that are
    (epsilon, delta)-private from each count to the next, here rounded down to multiples of 2**-128.
    """
    table = _table(nonnegative(epsilon=epsilon), open_probability(delta=delta))
    count = integer(units=units)
    return Fraction(table[count], _WHOLE) if 0 <= count < len(table) else Fraction(int(count > 0))


def kept(units: NDArray[Any], *, epsilon: Real, delta: Real, entropy: Entropy) -> NDArray[np.bool_]:
    """Keep each key, or not, by the optimal rule for the number of units that have it.

    Guarantee: (epsilon, delta) for each key that a unit touches, when a unit changes a key's count by at most one.
    """
    digits = _digits(nonnegative(epsilon=epsilon), open_probability(delta=delta), entropy.word_bits)
    counts = np.asarray(units).ravel()
    places = np.clip(counts, 0, len(digits[0])).astype(np.int64)
    answer: NDArray[np.bool_] = places == len(digits[0])  # so common that the chance is one
    unsettled = np.flatnonzero(~answer)
    for digit in digits:
        drawn, wanted = entropy.words(unsettled.size), digit[places[unsettled]]
        answer[unsettled[drawn < wanted]] = True
        unsettled = unsettled[drawn == wanted]
        if not unsettled.size:
            break
    return answer.reshape(np.shape(units))


@lru_cache(maxsize=64)
def _table(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """The chances of 0, 1, 2, ... units until they reach 1, in units of 2**-128.

    p(n+1) is the largest multiple that keeps p(n+1) <= e**epsilon p(n) + delta and
    1 - p(n) <= e**epsilon (1 - p(n+1)) + delta: each step rounds down, so both hold exactly.
    """
    _check_length(epsilon, delta)
    grow, shrink = exp(epsilon, 160).lower, exp(-epsilon, 160).upper
    up_by, up_bits = grow.numerator, grow.denominator.bit_length() - 1
    down_by, down_bits = shrink.numerator, shrink.denominator.bit_length() - 1
    free, chance, table = int(delta * _WHOLE), 0, []
    while chance < _WHOLE:
        table.append(chance)
        left = _WHOLE - chance - free
        from_below = (chance * up_by >> up_bits) + free
        from_above = _WHOLE - (-(-left * down_by >> down_bits)) if left > 0 else _WHOLE
        chance = max(chance, min(from_below, from_above, _WHOLE))
    return tuple(table)


def _check_length(epsilon: Fraction, delta: Fraction) -> None:
    rate, free = float(epsilon), float(delta)
    length = 2 * math.log1p(rate / free) / rate if rate > 1e-9 else 1 / free
    if not (length < _LONGEST_TABLE and free > 2.0**-100):
        raise InvalidArgument(
            f"the optimal rule would need a table of {length:.0f} chances at epsilon = {rate:g}, delta = {free:g}; "
            "raise one of them, or use a noisy threshold"
        )


@lru_cache(maxsize=64)
def _digits(epsilon: Fraction, delta: Fraction, word_bits: int) -> list[NDArray[np.uint64]]:
    """The table's chances, digit by digit in words of `word_bits`, for comparison with a uniform number's digits."""
    levels, mask = -(-_PLACES // word_bits), (1 << word_bits) - 1
    table = [chance << (levels * word_bits - _PLACES) for chance in _table(epsilon, delta)]
    shifts = [word_bits * (levels - 1 - level) for level in range(levels)]
    return [np.array([chance >> shift & mask for chance in table], dtype=np.uint64) for shift in shifts]
