"""Formulas from textbooks, kept to compare with and to check others' claims. Ours are `epsilon`, `delta` and `calibrate`."""

from __future__ import annotations

from fractions import Fraction

from deniable.cost import Shuffled
from deniable.errors import InvalidArgument
from deniable.exact import exp, ln, sqrt
from deniable.exact.guards import Real, nonnegative, open_probability, positive

_BITS = 64
_SHUFFLED_BITS = 80


def classic_gaussian_scale(*, epsilon: Real, delta: Real, sensitivity: Real = 1) -> Fraction:
    """sensitivity · sqrt(2 ln(1.25/delta)) / epsilon, rounded up.

    Guarantee: Gaussian noise of this scale is (epsilon, delta)-private for epsilon at most 1, where it is proved (Dwork and Roth
    2014, theorem A.1); larger ones are refused.
    """
    return _scale(epsilon, delta, sensitivity, Fraction(5, 4))


def noted_gaussian_scale(*, epsilon: Real, delta: Real, sensitivity: Real = 1) -> Fraction:
    """sensitivity · sqrt(2 ln(2/delta)) / epsilon, rounded up: the looser form found in lecture notes.

    Guarantee: as for `classic_gaussian_scale`, which is smaller.
    """
    return _scale(epsilon, delta, sensitivity, Fraction(2))


def _scale(epsilon: Real, delta: Real, sensitivity: Real, factor: Fraction) -> Fraction:
    loss, chance = positive(epsilon=epsilon), open_probability(delta=delta)
    if not loss <= 1:
        raise InvalidArgument(
            f"the classic Gaussian scale is proved for epsilon up to 1, got {epsilon!r}; use calibrate"
        )
    root = sqrt((2 * ln(factor / chance, _BITS)).rounded(_BITS), _BITS)
    return nonnegative(sensitivity=sensitivity) * root.upper / loss


def classic_renyi_epsilon(*, divergence: Fraction, order: Fraction, delta: Fraction) -> Fraction:
    """divergence + ln(1/delta)/(order - 1), rounded up: sound, and looser than the conversion we use (Mironov 2017)."""
    return divergence - ln(delta, _BITS).lower / (order - 1)


def shuffled_epsilon(cost: Shuffled, *, delta: Fraction) -> Fraction | None:
    """ln(1 + tanh(e/2) (8 sqrt(e^e ln(4/delta)/n) + 8 e^e/n)), rounded up, never above the local loss e.

    Feldman, McMillan and Talwar 2021 ("Hiding among the clones"), theorem 3.1. The variant of 2022 is not used: its general bound
    carries an erratum. The numeric bound for the same design is tighter and is what `epsilon` reads.

    Guarantee: (epsilon, delta)-private against who sees the shuffled reports. None where the theorem's condition
    e <= ln(n/(16 ln(2/delta))) does not hold.
    """
    local, reports = cost.epsilon, cost.reports
    if local == 0:
        return Fraction(0)
    if not 0 < delta < 1 or local > 64:
        return None
    grown = exp(local, _SHUFFLED_BITS)
    if not (grown * 16 * ln(2 / delta, _SHUFFLED_BITS)).upper <= reports:
        return None
    root = sqrt((grown * ln(4 / delta, _SHUFFLED_BITS) / reports).rounded(_SHUFFLED_BITS), _SHUFFLED_BITS)
    inner = (grown - 1) / (grown + 1) * (8 * root + 8 * grown / reports)
    return min(local, ln((1 + inner).rounded(_SHUFFLED_BITS), _SHUFFLED_BITS).upper)
