"""Certified ln Gamma and ln of binomial coefficients, by Stirling's series after a shift; sums of binomial probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from deniable.errors import InvalidArgument
from deniable.exact.dyadic import Dyadic, enclosure
from deniable.exact.elementary import exp, ln, precision
from deniable.exact.fixed import pi
from deniable.exact.guards import integer, shown
from deniable.exact.interval import Exact, Interval, exact

_SMALL = 64
_LONGEST_PRODUCT = 1 << 12
_TAIL = 128


def lgamma(x: Exact, bits: int = 64) -> Interval:
    """The enclosure of ln Gamma(x) for x > 0, relative width at most 2**-bits also next to its zeros 1 and 2.

    Small whole x are logarithms of factorials. Else Gamma(x) = Gamma(x + N) / (x (x+1) ... (x+N-1)) with x + N large
    enough for Stirling's series, whose remainder for positive arguments is smaller than the first term left out.
    """
    number, bits = exact(x), precision(bits)
    if not number > 0:
        raise InvalidArgument(f"x must be positive, got {shown(x)}; lgamma is certified above zero only")
    if number in (1, 2):
        return Interval.point(0)
    if number.denominator == 1 and number <= _SMALL:
        return ln(math.factorial(int(number) - 1), bits)
    working = bits + 8
    while True:
        result = _shifted_stirling(number, working)
        if result.tight(bits):
            return result
        working += working // 2 + 16


def log_binomial(n: int, k: int, bits: int = 64) -> Interval:
    """The enclosure of ln(n choose k) for 0 <= k <= n, relative width at most 2**-bits.

    Exact products up to a few thousand bits, else three `lgamma` with as much more precision as their difference needs.
    """
    n = integer(n=n, least=0)
    k = integer(k=k, least=0, greatest=n)
    bits = precision(bits)
    k = min(k, n - k)
    if k * n.bit_length() <= _LONGEST_PRODUCT:
        return ln(math.comb(n, k), bits)
    working = bits + n.bit_length()
    while True:
        result = lgamma(n + 1, working) - lgamma(k + 1, working) - lgamma(n - k + 1, working)
        if result.tight(bits):
            return result
        working += working // 2


def _shifted_stirling(x: Fraction, bits: int) -> Interval:
    shift = max(0, bits // 4 + 2 - int(x))
    product, power = 1, 1
    n, d = x.numerator, x.denominator
    for i in range(shift):
        product *= n + i * d
        power *= d
    series = _stirling(x + shift, bits)
    return series - ln(Fraction(product, power), bits + 2) if product != power else series


def _stirling(z: Fraction, bits: int) -> Interval:
    """(z - 1/2) ln z - z + ln(2 pi)/2 + sum of B_2k / (2k (2k-1) z**(2k-1)), to an absolute 2**-bits or so."""
    size = max(int(z).bit_length(), 1)
    half_log = ln(enclosure(_two_pi(bits + 4)), bits + 4) / 2
    main = ln(z, bits + 2 * size.bit_length() + size + 2) * (z - Fraction(1, 2)) - z
    return (main + half_log + enclosure(_stirling_sum(z, bits + 4))).rounded(bits + size + 12)


def _two_pi(bits: int) -> Dyadic:
    p = pi(bits)
    return p, p + 2, 1 - bits


def _stirling_sum(z: Fraction, bits: int) -> Dyadic:
    """The series c_1/z + c_2/z**3 + ... for z >= 2, by Horner's rule in u = 1/z**2 at w bits.

    A step's two floors are damped by u <= 1/4, so they leave less than 3 ulps. The rounding of u adds at most the sum of
    k |c_(k+1)| u**(k-1), which is below the square of the number of terms since |c_k| u**k falls for k < pi z: there
    |c_(k+1) / c_k| < (k / pi)**2. The remainder is smaller than the first term left out.
    """
    w = bits + 2 * bits.bit_length() + 4
    whole = int(z)
    count, left_out = 0, 2
    while left_out > 1 and count < 3 * whole:
        count += 1
        top, bottom = _stirling_coefficient(count + 1)
        left_out = (abs(top) << w) // (bottom * whole ** (2 * count + 1)) + 1
    u = (z.denominator**2 << w) // z.numerator**2
    total = 0
    for k in range(count, 0, -1):
        top, bottom = _stirling_coefficient(k)
        total = (total * u >> w) + (top << w) // bottom
    total = total * z.denominator // z.numerator
    slack = count * count + 8 + left_out
    return total - slack, total + slack, -w


@lru_cache(maxsize=512)
def _stirling_coefficient(k: int) -> tuple[int, int]:
    value = _bernoulli(2 * k) / (2 * k * (2 * k - 1))
    return value.numerator, value.denominator


@lru_cache(maxsize=1024)
def _bernoulli(m: int) -> Fraction:
    """B_m for even m >= 2, from sum over j < m+1 of binomial(m+1, j) B_j = 0 with B_0 = 1 and B_1 = -1/2."""
    total = Fraction(1) - Fraction(m + 1, 2)
    for j in range(2, m, 2):
        total += math.comb(m + 1, j) * _bernoulli(j)
    return -total / (m + 1)


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
