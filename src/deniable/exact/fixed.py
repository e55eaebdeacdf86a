"""Fixed-point kernels on Python integers: the only place where series are summed.

A number v at precision p is written as an integer near v * 2**p; one unit of that integer is an *ulp*. Every kernel
says how many ulps it can be off and in which direction, and the argument for it. Results leave as `Dyadic` pairs.
"""

from __future__ import annotations

import math

from deniable.exact.dyadic import Dyadic

# Constants --------------------------------------------------------------------------------------------------------------

_STORED: dict[str, tuple[int, int]] = {}  # name: (precision, value); a pair is replaced whole, so threads may share it


def ln2(precision: int) -> int:
    """L with L <= ln 2 * 2**precision < L + 2, from ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    return _constant("ln2", precision, ((18, 26), (-2, 4801), (8, 8749)), 1)


def pi(precision: int) -> int:
    """P with P <= pi * 2**precision < P + 2, from pi = 16 atan(1/5) - 4 atan(1/239)."""
    return _constant("pi", precision, ((16, 5), (-4, 239)), -1)


def _constant(name: str, precision: int, terms: tuple[tuple[int, int], ...], sign: int) -> int:
    """A sum of series at 32 extra bits, off by less than `slack` and lowered by it, so never above the true value.

    Each series is off by less than 2 * working + 2 ulps and the factors add up to at most 28; twice that stays below
    2**32 for every precision that fits a memory. The shifts lose less than one ulp each.
    """
    known, value = _STORED.get(name, (0, 0))
    if known < precision + 8:
        known = max(512, 2 * precision)
        working = known + 32
        slack = 28 * (2 * working + 2)
        total = sum(factor * _inverse_series(x, working, sign) for factor, x in terms)
        value = (total - slack) >> 32
        _STORED[name] = (known, value)
    return value >> (known - precision)


def _inverse_series(x: int, precision: int, sign: int) -> int:
    """atanh(1/x) (sign 1) or atan(1/x) (sign -1): at most `precision` terms, each losing less than two ulps."""
    power = (1 << precision) // x
    square, total, k, direction = x * x, 0, 1, 1
    while power:
        total += direction * (power // k)
        power //= square
        k += 2
        direction *= sign
    return total


# Exponential ------------------------------------------------------------------------------------------------------------


def exp_fraction(r: int, p: int) -> int:
    """E with E <= exp(r / 2**p) * 2**p < E + 2, for 0 <= r < 2**p.

    Halve the argument j times, sum the Taylor series, square j times, all at w = p + j + g bits, rounding down. A term
    is off by less than 4 ulps (two floors, and an inherited error at least halved), the tail after the first zero term
    by less than 8, so the sum, which is at least 1, has relative error below (4K + 8) 2**-w for K <= p terms. Squaring
    doubles it and adds an ulp: (4K + 9) 2**(j - w) * 1.01 in the end, below 2**(-p - 2) with g = bits(p) + 6 since
    the result is below e.
    """
    j = math.isqrt(p) // 2 + 2
    g = p.bit_length() + 6
    w = p + j + g
    t = r << g  # exactly r / 2**p / 2**j at w bits
    term = total = 1 << w
    k = 0
    while term:
        k += 1
        term = (term * t >> w) // k
        total += term
    for _ in range(j):
        total = total * total >> w
    return total >> (w - p)


UNDERFLOW = 1 << 20
"""exp(x) for x below -UNDERFLOW is enclosed in [0, 2**-1512775]; above UNDERFLOW it is refused (work with logarithms)."""


def exp_ratio(n: int, d: int, bits: int) -> Dyadic:
    """exp(n/d) with relative width below 2**-bits, for |n/d| <= UNDERFLOW.

    Write x = k ln 2 + r with 0 <= r < ln 2. At w bits the computed r is off by less than D = 2|k| + 2 ulps (one from
    the division, at most two from each ln 2), which moves exp(r) < 2 by less than 4 D ulps; `exp_fraction` adds 2.
    As exp(r) >= 1 the relative width is below (8 D + 4) 2**-w.
    """
    most = abs(n) // d * 3 // 2 + 2  # at least |k|
    w = bits + most.bit_length() + 6
    k, r = divmod((n << w) // d, ln2(w))
    slack = 4 * (2 * abs(k) + 2)
    e = exp_fraction(r, w)
    return e - slack, e + 2 + slack, k - w


def expm1_small(n: int, d: int, bits: int) -> Dyadic:
    """exp(n/d) - 1 for 0 < |n/d| <= 1/8, relative width below 2**-bits.

    x (1 + x/2 (1 + x/3 (1 + ...))): the bracket S is summed at w bits; a term is off by at most 3 ulps (its floors,
    the rounding of x, and an inherited error cut to a sixteenth), the tail after the first vanishing term by 4. Then S
    times the w-bit x, itself off by one ulp; S is between 0.94 and 1.07, so the product is off by less than
    2 (3K + 8) ulps of x.
    """
    w = bits + bits.bit_length() + 8
    scale = w + d.bit_length() - abs(n).bit_length()
    x = (n << scale) // d  # w or w + 1 significant bits
    t = (n << w) // d
    term = total = 1 << w
    k = 1
    while term not in (0, -1):  # a floored negative term settles at -1
        k += 1
        term = (term * t >> w) // k
        total += term
    slack = 2 * (3 * k + 8)
    product = x * total >> w
    return product - slack, product + slack, -scale


# Logarithm --------------------------------------------------------------------------------------------------------------


def ln_ratio(n: int, d: int, bits: int) -> Dyadic:
    """ln(n/d) with relative width below 2**-bits, for n, d > 0 and n != d."""
    if abs(n - d) << 8 < d:
        return _ln_near_one(n, d, bits)
    return _ln_away(n, d, bits)


def _ln_near_one(n: int, d: int, bits: int) -> Dyadic:
    """2 atanh(y), y = (n - d) / (n + d), |y| < 2**-8: y has w significant bits, S = 1 + y**2/3 + y**4/5 + ... at w bits.

    u = y**2 is off by at most 1 ulp; a term by at most 3, the tail by 2, so S by less than 3K + 4 ulps. y is off by one
    of its own last places and y S <= 1.01 y: the product is off by less than 3K + 8 of them, times the factor 2.
    """
    w = bits + bits.bit_length() + 6
    top, bottom = n - d, n + d
    scale = w + bottom.bit_length() - abs(top).bit_length()
    y = (top << scale) // bottom
    u = y * y >> (2 * scale - w)
    power = total = 1 << w
    k = 1
    while power:
        power = power * u >> w
        k += 2
        total += power // k
    slack = 3 * k + 8
    product = y * total >> w
    return product - slack, product + slack, 1 - scale


def _ln_away(n: int, d: int, bits: int) -> Dyadic:
    """e ln 2 + ln m with m in [0.70, 1.42], by one correction of a float guess.

    At w bits: M = m rounded down, R = a guess of ln m (any number near it will do), q = M exp(-R) = 1 + c with c tiny,
    ln m = R + 2 atanh(c / (2 + c)). Errors: M two ulps, exp(|R|) two ulps of a number between 1 and 1.42, the
    product or quotient one, so q less than 6 ulps; atanh less than 3K + 4 (see `_ln_near_one`); e ln 2 less than 2|e|.
    Away from one, |ln(n/d)| > 2**-9, which w makes up for.
    """
    e = n.bit_length() - d.bit_length()
    w = max(64, bits + abs(e).bit_length() + bits.bit_length() + 20)
    m = (n << (w - e)) // d if w >= e else n // (d << (e - w))
    if m > 181 << (w - 7):  # 181/128 is just below the square root of 2
        e += 1
        m >>= 1
    elif m < 181 << (w - 8):
        e -= 1
        m = m << 1
    r = round(math.log(m / (1 << w)) * 2**52) << (w - 52)
    growth = exp_fraction(abs(r), w)
    q = (m << w) // growth if r >= 0 else m * growth >> w
    atanh, terms = _atanh_correction(q - (1 << w), w)
    total = e * ln2(w) + r + 2 * atanh
    slack = 2 * abs(e) + 16 + 2 * (3 * terms + 4)
    return total - slack, total + slack, -w


def _atanh_correction(c: int, w: int) -> tuple[int, int]:
    y = (c << w) // ((2 << w) + c)
    u = y * y >> w
    power, total, k = y, y, 1
    while power not in (0, -1):
        power = power * u >> w
        k += 2
        total += power // k
    return total, k


# Roots ------------------------------------------------------------------------------------------------------------------


def sqrt_ratio(n: int, d: int, bits: int) -> Dyadic:
    """sqrt(n/d) with relative width below 2**-bits, n > 0; a point when the root is rational.

    With s chosen so that floor(n 4**s / d) has at least 2 bits + 4 bits, isqrt of it is the floor of the scaled root.
    """
    s = max(0, bits + 3 + (d.bit_length() - n.bit_length()) // 2)
    r = math.isqrt((n << 2 * s) // d)
    return r, r + (r * r * d != n << 2 * s), -s


def root_floor(n: int, k: int) -> int:
    """The largest integer whose k-th power is at most n >= 0: Newton from above, which falls until it is reached."""
    if n < 2:
        return n
    if k == 2:
        return math.isqrt(n)
    guess = 1 << -(-n.bit_length() // k)
    while True:
        better = ((k - 1) * guess + n // guess ** (k - 1)) // k
        if better >= guess:
            return guess
        guess = better
