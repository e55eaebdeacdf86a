"""Certified sums of binomial probabilities, as series of their ratios from one end on."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from deniable.exact.elementary import exp, ln
from deniable.exact.gamma import log_binomial
from deniable.exact.interval import Interval

_TAIL = 128


def ratios_down(times: int, start: int, factor: Interval, bits: int) -> Interval:
    """1 + r + r r' + ... over i = start, start - 1, ..., with r = i/(times - i + 1) · factor falling."""
    return _series(((i, times - i + 1) for i in range(start, 0, -1)), factor, bits)


def ratios_up(times: int, start: int, factor: Interval, bits: int) -> Interval:
    """1 + r + r r' + ... over i = start, start + 1, ..., with r = (times - i)/(i + 1) · factor falling."""
    return _series(((times - i, i + 1) for i in range(start, times)), factor, bits)


def _series(ratios: Iterable[tuple[int, int]], factor: Interval, bits: int) -> Interval:
    """Integers rounded both ways; once the terms are negligible and the ratio below one, the rest is at most geometric."""
    width = bits + 24
    one = 1 << width
    low = factor.lower.numerator * one // factor.lower.denominator
    high = -(-factor.upper.numerator * one // factor.upper.denominator)
    term_low = term_high = sum_low = sum_high = one
    for n, d in ratios:
        term_low, term_high = term_low * low * n // (d << width), -(-term_high * high * n // (d << width))
        sum_low += term_low
        sum_high += term_high
        rest = d * one - n * high
        if term_high < 256 and rest > 0:
            sum_high += -(-term_high * n * high // rest)
            break
    return Interval(Fraction(sum_low, one), Fraction(sum_high, one))


def binomial_tail(trials: int, chance: Fraction, least: int) -> Fraction:
    """At least Pr[Binomial(trials, chance) >= least], and hardly more."""
    if least <= 0:
        return Fraction(1)
    if least > trials or chance == 0:
        return Fraction(0)
    if chance == 1 or least <= trials * chance:
        return Fraction(1)
    log = log_binomial(trials, least, _TAIL) + ln(chance, _TAIL) * least + ln(1 - chance, _TAIL) * (trials - least)
    first = exp(log.rounded(_TAIL), _TAIL)
    return min(
        Fraction(1),
        (first * ratios_up(trials, least, Interval.point(chance / (1 - chance)), _TAIL)).rounded(_TAIL).upper,
    )
