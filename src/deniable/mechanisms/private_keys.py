"""Tables whose keys come from private data: noisy counts above a threshold, and keys alone by the optimal rule.

A key that only one unit has would give it away, so it may appear only with probability delta. `threshold_for` finds the
threshold a noisy value must reach, `new_key_delta` what a threshold costs, `kept` draws the optimal rule, which shows keys and
no values. Answers come in public order. `docs/theory/private-keys.md` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from deniable.core.cells import entry, names_of, public_order
from deniable.core.distance import Distance
from deniable.core.domain import Keyed, Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import FREE, Bounded, Cost, Grouped, Repeated, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import exp
from deniable.exact.guards import Real, integer, nonnegative, open_probability, positive, rational
from deniable.kernels import Law, Sensitivity, noise_of
from deniable.kernels.key_threshold import key_threshold, new_key_chance
from deniable.kernels.laws import least
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.carried import read_steps, vector, whole
from deniable.mechanisms.lattice_norms import check_metric, norms
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


@step
def threshold_histogram(space: Space, *, scale: Real, threshold: Real, law: Law = Law.LAPLACE) -> Mechanism:
    """Noisy values of the keys that are in the data, shown where the noisy value reaches `threshold`: a dictionary.

    A key of value zero is treated as absent. `threshold_for` finds the threshold for a wanted delta. Intervals around shown
    values hold before it is known that they were shown; small values that were shown lean upwards.

    Guarantee: the cost of the noise, and delta = the chance that one of the unit's own keys is shown, the mass at the threshold
    counted: 1 - (1 - P[noise >= threshold - linf])**l0.
    """
    lattice = _lattice(space, "threshold_histogram")
    steps, level = positive(scale=scale) / lattice.step, rational(threshold=threshold) / lattice.step
    if level.denominator != 1:
        raise InvalidArgument(f"threshold must be a multiple of the step {lattice.step}, got {threshold!r}")
    cut, noise = int(level), noise_of(law, steps)

    def answer(data: Any, entropy: Entropy) -> dict[Hashable, int | float]:
        keys, counts = _present(data)
        noisy = noisy_values(counts, noise=noise, entropy=entropy)
        shown = np.flatnonzero(noisy >= cut)
        values = read_steps(lattice, noisy[shown]).tolist()
        table = dict(zip((keys[place] for place in shown.tolist()), values, strict=True))
        return {key: table[key] for key in public_order(table)}

    def cost(d_in: Distance) -> Cost:
        apart = norms(space.metric, d_in, step=lattice.step, size=None)
        slip = new_key_chance(cut, noise=noise, apart=apart)
        return composed([noise.cost(apart), Bounded(epsilon=0, delta=slip)])

    return Mechanism(
        space,
        answer,
        cost,
        Utility(
            "value of each entry, whether shown or not",
            lambda beta: noise.error(beta) * lattice.step,
            _unknown_keys,
        ),
    )


@step
def select_partitions(space: Space, *, epsilon: Real, delta: Real) -> Mechanism:
    """The keys that enough units have, by the optimal rule: no rule that is (epsilon, delta)-private per key shows more of them.

    Counts are numbers of units; the answer is a list of keys in public order, without values.

    Guarantee: (epsilon, delta) for each of the l0 keys a unit touches, when it changes each count by at most one; larger changes
    are priced as groups.
    """
    lattice = _lattice(space, "select_partitions")
    if lattice.step != 1:
        raise SpaceMismatch(f"select_partitions needs numbers of units, got {lattice!r}")
    each = Bounded(epsilon=epsilon, delta=open_probability(delta=delta))

    def answer(data: Any, entropy: Entropy) -> list[Any]:
        keys, counts = _present(data)
        keep = kept(counts, epsilon=each.epsilon, delta=each.delta, entropy=entropy)
        return public_order(keys[place] for place in np.flatnonzero(keep).tolist())

    return Mechanism(
        space,
        answer,
        lambda d_in: _keys_cost(each, norms(space.metric, d_in, step=Fraction(1), size=None)),
        Utility("units: a key that more units have is always shown", lambda beta: _enough(each, beta)),
    )


def _keys_cost(each: Bounded, apart: Sensitivity) -> Cost:
    """One price per touched key; several steps in one key are a group, and so is any path of single steps."""
    if not apart.l1:
        return FREE
    if apart.linf == 1:
        return each if apart.l0 == 1 else Repeated(each, apart.l0)
    return Grouped(each, apart.l1)


def _enough(each: Bounded, beta: Fraction) -> Fraction:
    """The most units a key can have and still be left out with a probability above beta."""
    count = least(lambda n: keep_probability(n, epsilon=each.epsilon, delta=each.delta) >= 1 - beta)
    return Fraction(max(count - 1, 0))


def _unknown_keys(_: Fraction) -> NoReturn:
    raise InvalidArgument(
        "how many keys there are is private, so no error is stated for all of them at once: declare the keys, or ask for "
        "confidence 1 - beta/n of each, n the most keys there can be"
    )


def _lattice(space: Space, who: str) -> Lattice:
    domain = space.domain
    if not (isinstance(domain, Keyed) and isinstance(domain.element, Lattice) and not domain.element.missing):
        raise SpaceMismatch(f"{who} needs numbers per key on a lattice, got {domain!r}")
    if domain.keys is not None:
        raise SpaceMismatch(
            f"{who} is for keys that come from the data; these keys are public, add noise to them directly"
        )
    check_metric(space.metric, size=None)
    return domain.element


def _present(data: Any) -> tuple[list[Hashable], Any]:
    """Keys and values, without the keys whose value is zero: those count as absent."""
    keys = names_of(data)
    values = whole(vector([entry(data, key, 0) for key in keys], len(keys), None))
    places = np.flatnonzero(values)
    return [keys[place] for place in places.tolist()], values[places]
