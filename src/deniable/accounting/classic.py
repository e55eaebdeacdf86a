"""Formulas from textbooks, kept to compare with and to check others' claims. Ours are `epsilon`, `delta` and `calibrate`."""

from __future__ import annotations

from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact import ln, sqrt
from deniable.exact.guards import Real, nonnegative, open_probability, positive

_BITS = 64


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
