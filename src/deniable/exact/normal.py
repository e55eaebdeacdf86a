"""Certified normal distribution: cdf, upper tail, their logarithms, Mills' ratio, erf and erfc, far into the tails.

With q = x**2, phi the density and Q = 1 - Phi the upper tail, two expansions with positive terms do all the work:
near the middle Phi(x) = 1/2 + x phi(x) S(q), S(q) = sum of q**k / (1*3*5*...*(2k+1));
in the tail Q(x) = phi(x) R(x), Mills' ratio R(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))), whose truncations lie on
alternate sides of it. `docs/theory/enclosures.md` has the proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from deniable.errors import InvalidArgument
from deniable.exact.dyadic import Dyadic, enclosure, minus, one_minus, over, refined, times, trimmed
from deniable.exact.elementary import Argument, exp_dyadic, ln, precision, sqrt
from deniable.exact.fixed import UNDERFLOW, pi, sqrt_ratio
from deniable.exact.guards import shown
from deniable.exact.interval import Exact, Interval, exact
from deniable.exact.search import about, crossing

_HALF = Fraction(1, 2)
_FLOAT_TAIL = Fraction(1, 10**300)
"""Floats hold a tail down to here; below, they hold its logarithm."""


def normal_cdf(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of Phi(x), relative width at most 2**-bits in both tails.

    Below x = -1448 (Phi about 10**-455000) it is an interval from 0 to 2**-1512775: use `log_normal_cdf` there.
    """
    if isinstance(x, Interval):
        return x.increasing(lambda end: normal_cdf(end, bits))
    number, bits = exact(x), precision(bits)
    if not number:
        return Interval(_HALF, _HALF)
    tail = upper_tail(number * number, bits)
    return enclosure(tail if number < 0 else one_minus(tail, bits + 3))


def normal_upper_tail(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of Q(x) = 1 - Phi(x) = Phi(-x), relative width at most 2**-bits in both tails."""
    return normal_cdf(-x if isinstance(x, Interval) else -exact(x), bits)


def log_normal_cdf(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of ln Phi(x), relative width at most 2**-bits, for x as low as you like.

    In the lower tail ln Phi(x) = -q/2 - ln(2 pi)/2 + ln R(-x), without underflow; in the upper it is ln(1 - Q(x)), which
    above x = 1448 is an interval from a tiny negative number to 0.
    """
    if isinstance(x, Interval):
        return x.increasing(lambda end: log_normal_cdf(end, bits))
    number, bits = exact(x), precision(bits)
    q = number * number
    if number > 0:
        return ln(1 - enclosure(upper_tail(q, bits + 3)), bits + 3)
    if number and _in_tail(q, bits):  # the sum is below -q/2, so an absolute error relative to q/2 is a relative one
        factor = times(_mills(q, bits + 4), inverse_root_two_pi(bits + 4))
        return ln(enclosure(trimmed(factor, bits + 8)), bits + 4) - q / 2
    return ln(enclosure(upper_tail(q, bits + 3)) if q else Interval(_HALF, _HALF), bits + 3)


def mills_ratio(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of R(x) = Q(x) / phi(x), relative width at most 2**-bits: the tail without its exponential factor.

    For x below about -1448 it overflows and is refused; above, there is no limit.
    """
    if isinstance(x, Interval):
        return x.decreasing(lambda end: mills_ratio(end, bits))
    return enclosure(mills(exact(x), precision(bits)))


def erfc(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of 1 - erf(x) = 2 Q(x sqrt 2), relative width at most 2**-bits in both tails."""
    if isinstance(x, Interval):
        return x.decreasing(lambda end: erfc(end, bits))
    number, bits = exact(x), precision(bits)
    if not number:
        return Interval.point(1)
    tail = upper_tail(2 * number * number, bits)
    low, high, exponent = tail if number > 0 else one_minus(tail, bits + 3)
    return enclosure((low, high, exponent + 1))


def erf(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of erf(x) = 2 Phi(x sqrt 2) - 1, relative width at most 2**-bits also where x is tiny."""
    if isinstance(x, Interval):
        return x.increasing(lambda end: erf(end, bits))
    number, bits = exact(x), precision(bits)
    if number <= 0:
        return -erf(-number, bits) if number else Interval.point(0)
    q = 2 * number * number
    if _in_tail(q, bits):
        low, high, exponent = upper_tail(q, bits)
        return enclosure(one_minus((low, high, exponent + 1), bits + 3))
    low, high, exponent = refined(lambda working: _central(q, working), bits, bits + 4)
    return enclosure((low, high, exponent + 1))


# Pairs for other enclosures ---------------------------------------------------------------------------------------------


def upper_tail(q: Fraction, bits: int) -> Dyadic:
    """Q(sqrt q) for q > 0, relative width at most 2**-bits, or the underflow of `exp`."""
    if _in_tail(q, bits):
        peak = density(q, bits + 4)
        return trimmed(times(peak, _mills(q, bits + 3)), bits + 6) if peak[0] else peak  # Q(x) < phi(x) where x > 1
    cancelled = int(q) * 3 // 4 + 4  # Q is about 2**-(0.72 q), so the subtraction loses about as many bits
    return refined(lambda working: minus((1, 1, -1), _central(q, working)), bits, bits + cancelled)


def mills(x: Fraction, bits: int) -> Dyadic:
    """R(x) for any rational x, relative width at most 2**-bits."""
    q = x * x
    if x > 0 and _in_tail(q, bits):
        return _mills(q, bits)
    tail = upper_tail(q, bits + 3) if x else (1, 1, -1)
    if x < 0:
        if q > 2 * UNDERFLOW:
            raise InvalidArgument(f"Mills' ratio is certified for x above -1448, got {shown(x)}; work with logarithms")
        tail = one_minus(tail, bits + 6)
    return over(tail, density(q, bits + 3), bits + 4)


def density(q: Fraction, bits: int) -> Dyadic:
    """phi(x) = exp(-q/2) / sqrt(2 pi), relative width at most 2**-bits, or the underflow of `exp`."""
    power = exp_dyadic(-q.numerator, 2 * q.denominator, bits + 2) if q else (1, 1, 0)
    return trimmed(times(power, inverse_root_two_pi(bits + 2)), bits + 4)


@lru_cache(maxsize=64)
def inverse_root_two_pi(bits: int) -> Dyadic:
    """1 / sqrt(2 pi): with P <= pi 4**w < P + 2, the root of 2 pi 4**w lies between isqrt(2 P) and isqrt(2 P + 4) + 1."""
    w = bits + 4
    p = pi(2 * w)
    low, high = math.isqrt(2 * p), math.isqrt(2 * p + 4) + 1
    return (1 << 2 * w) // high, -((-1 << 2 * w) // low), -w


# The two expansions -----------------------------------------------------------------------------------------------------


def _in_tail(q: Fraction, bits: int) -> bool:
    """Whether the continued fraction (about (bits / 3)**2 / q steps) beats the series (about bits / 3 + q terms)."""
    return 8 * q.numerator > q.denominator and (q > bits or float(q) * (bits + 3 * float(q)) * 3 > bits * bits)


def _central(q: Fraction, bits: int) -> Dyadic:
    """Phi(x) - 1/2 = x phi(x) S(q) for x = sqrt q > 0, relative width at most about 2**-bits."""
    n, d = q.numerator, q.denominator
    factors = times(sqrt_ratio(n, d, bits + 2), density(q, bits + 2))
    return trimmed(times(factors, _odd_factorial_series(n, d, bits + 2)), bits + 4)


def _odd_factorial_series(n: int, d: int, bits: int) -> Dyadic:
    """S(q) = sum of q**k / (2k+1)!!, q = n/d, at w bits rounding down.

    An error made in one term is carried into the later ones with factors q/(2i+3) * q/(2i+5) * ..., which add up to at
    most S. The steps together make less than 2K ulps by their floors and S by the rounding of q, so the K terms are off
    by less than S (2K + S), and the terms left out, once the last is 0 and the ratio below 1/2, by no more than that
    again. S <= exp(q/2) < 2**(3q/4 + 1) fixes the guard bits.
    """
    w = bits + n // d * 3 // 4 + bits.bit_length() + 6
    t = (n << w) // d
    term = total = 1 << w
    k = 1
    while term or k << w < 2 * t:
        k += 2
        term = (term * t >> w) // k
        total += term
    size = (total >> w) + 2  # at least S
    return total, total + 2 * size * (k + size), -w


def _mills(q: Fraction, bits: int) -> Dyadic:
    """R(sqrt q) for q > 1/8, relative width at most 2**-bits."""
    n, d = q.numerator, q.denominator
    extra = max(0, n.bit_length() - d.bit_length())  # R is about 1/x, so it has this many zeros after the point
    return refined(lambda working: _truncated_fraction(n, d, working, extra), bits, bits + 4)


def _truncated_fraction(n: int, d: int, bits: int, extra: int) -> Dyadic:
    """R(sqrt(n/d)) between two truncations of its continued fraction, every step rounded outward.

    t_k = x + (k+1)/t_{k+1} starts from x <= t_m <= x + (m+1)/x, and R = 1/t_0. The map from t_{k+1} to t_k is
    decreasing, so the lower end comes from the upper one and the other way round. The number of steps m is an estimate;
    a bad one makes the interval wide, never wrong.
    """
    w = bits + 4 + extra
    low = math.isqrt((n << 2 * w) // d)
    high = low + 1
    square = 1 << 2 * w
    steps = _steps(n / d, bits) if extra < 1000 else bits // extra + 2  # far out a step gains log2(q) bits
    t_low, t_high = low, high - (-(steps + 1) * square // low)
    for k in range(steps, 0, -1):
        scaled = k * square
        t_low, t_high = low + scaled // t_high, high - (-scaled // t_low)
    return square // t_high, -(-square // t_low), -w


def _steps(q: float, bits: int) -> int:
    """How many steps give about `bits` bits: step k gains 2 asinh(x / (2 sqrt k)); the sum is close to its integral."""
    x, m = math.sqrt(q), 1.0
    while 2 * m * math.asinh(x / (2 * math.sqrt(m))) + x / 2 * (math.sqrt(q + 4 * m) - x) < bits * 0.7:
        m *= 1.2
    return int(m) + 2


def normal_quantile(p: Exact, bits: int = 64) -> Interval:
    """The enclosure of the x with Phi(x) = p, for 0 < p < 1, relative width at most 2**-bits.

    Guarantee: Phi(lower) <= p <= Phi(upper), decided by certified enclosures of ln Phi.
    """
    number, bits = exact(p, "p"), precision(bits)
    if not 0 < number < 1:
        raise InvalidArgument(f"p must be strictly between 0 and 1, got {shown(p)}")
    if number > Fraction(1, 2):
        return -normal_quantile(1 - number, bits)
    return Interval.point(0) if 2 * number == 1 else _quantile_below_half(number, bits)


def _guessed_quantile(number: Fraction) -> float:
    """About the quantile, in floats; far into the tail from ln Q(x) = ln phi(x) + ln R(x)."""
    if number > _FLOAT_TAIL:
        return NormalDist().inv_cdf(float(number))
    size = -float(ln(number, 60).upper) - math.log(2 * math.pi) / 2
    x = math.sqrt(2 * size)
    for _ in range(12):
        x = math.sqrt(2 * (size + math.log(about_mills(x))))
    return -x


def about_mills(x: float) -> float:
    """About Mills' ratio, in floats: for guesses."""
    if x < 10:
        return math.exp(x * x / 2) * math.sqrt(math.pi / 2) * math.erfc(x / math.sqrt(2))
    ratio = 0.0
    for k in range(60, 0, -1):
        ratio = k / (x + ratio)
    return 1 / (x + ratio)


@lru_cache(maxsize=1024)
def _quantile_below_half(number: Fraction, bits: int) -> Interval:
    def excess(x: Fraction, working: int) -> Interval:
        return log_normal_cdf(x, working) - ln(number, working)

    near = about(excess, _guessed_quantile(number), bits)
    if near is not None:
        return near if near.tight(bits) else crossing(excess, lower=near.lower, upper=near.upper, bits=bits)
    low = -sqrt(-2 * ln(number, 16), 16).upper - 1  # Phi(x) < exp(-x**2 / 2) for x < 0
    high = (2 * number - 1) / 2  # Phi is convex below 0 and its slope there at most 0.4: Phi(x) > 1/2 + 0.4 x
    return crossing(excess, lower=low, upper=high, bits=bits)
