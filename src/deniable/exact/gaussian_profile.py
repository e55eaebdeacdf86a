"""The privacy profile of a Gaussian, certified: delta for an epsilon, epsilon for a delta, and the noise for both.

A shift by `mu` standard deviations is (epsilon, delta)-indistinguishable exactly when delta is at least
Phi(mu/2 - epsilon/mu) - e**epsilon Phi(-mu/2 - epsilon/mu) (Balle and Wang 2018, Theorem 8). With a = epsilon/mu - mu/2,
b = epsilon/mu + mu/2, density phi and Mills' ratio R, phi(a) = e**epsilon phi(b), so that is phi(a) (R(a) - R(b)): the
exponentials are gone and the subtraction loses only about log2(a / mu) bits, which are asked for beforehand.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from deniable.errors import InvalidArgument
from deniable.exact.dyadic import Dyadic, enclosure, minus, one_minus, plus, refined, times
from deniable.exact.elementary import exp, expm1, ln, precision, sqrt
from deniable.exact.guards import shown
from deniable.exact.interval import Exact, Interval, exact
from deniable.exact.normal import about_mills, density, inverse_root_two_pi, mills, upper_tail
from deniable.exact.search import about, crossing

_FLOATS = Fraction(10**250)
"""Floats guess a shift for an epsilon up to this, and a delta down to one over it."""


def gaussian_delta(mu: Exact, epsilon: Exact, bits: int = 64) -> Interval:
    """The enclosure of the smallest delta, relative width at most 2**-bits; epsilon may be negative.

    Below about 2**-1512775 it is an interval from 0: use `log_gaussian_delta` there.
    """
    shift, loss, bits = _shift(mu), exact(epsilon, "epsilon"), precision(bits)
    if not shift:
        return -expm1(loss, bits) if loss < 0 else Interval.point(0)
    if loss < 0:  # the profile's symmetry: delta(-e) = 1 - exp(-e) + exp(-e) delta(e), two positive terms
        return exp(loss, bits + 2) * gaussian_delta(shift, -loss, bits + 2) - expm1(loss, bits + 2)
    a = loss / shift - shift / 2
    if a > 0:
        return enclosure(times(density(a * a, bits + 2), _gap(a, a + shift, bits + 2)))
    return enclosure(
        refined(lambda working: one_minus(_shortfall(a, shift, working), working), bits, bits + _lost(a, shift))
    )


def log_gaussian_delta(mu: Exact, epsilon: Exact, bits: int = 64) -> Interval:
    """The enclosure of ln delta for mu > 0 and epsilon >= 0, relative width at most 2**-bits, without underflow."""
    shift, loss, bits = _shift(mu), exact(epsilon, "epsilon"), precision(bits)
    if not (shift > 0 and loss >= 0):
        raise InvalidArgument(f"mu must be positive and epsilon not negative, got {shown(mu)} and {shown(epsilon)}")
    a = loss / shift - shift / 2
    if a > 0:  # both parts are negative, so relative widths survive the sum
        gap = times(_gap(a, a + shift, bits + 4), inverse_root_two_pi(bits + 4))
        return ln(enclosure(gap), bits + 4) - a * a / 2
    missing = _shortfall(a, shift, bits + 4)
    if missing[1].bit_length() + missing[2] > -2:  # delta is not next to 1: its own enclosure is the better start
        return ln(gaussian_delta(shift, loss, bits + 3), bits + 3)
    return ln(1 - enclosure(missing), bits + 2)


def gaussian_epsilon(mu: Exact, delta: Exact, bits: int = 64) -> Interval:
    """The enclosure of the smallest epsilon >= 0 at which a shift by `mu` is (epsilon, delta)-indistinguishable.

    Its upper end is proved to suffice. Relative width at most 2**-bits; the point 0 when epsilon = 0 suffices, and an
    interval from 0 when epsilon is too small to tell from 0 (below 2**-bits of the classical bound).
    """
    shift, target, bits = _shift(mu), _delta(delta), precision(bits)
    if target == 1 or not shift or gaussian_delta(shift, 0, bits + 8).upper <= target:
        return Interval.point(0)
    log_target = _Log(target)

    def slack(x: Fraction, working: int) -> Interval:
        return log_target(working) - log_gaussian_delta(shift, x, working)

    tail = sqrt(log_target(32) * -2, 32).upper
    enough = shift * shift / 2 + shift * tail  # epsilon = rho + 2 sqrt(rho ln(1/delta)) suffices, rho = mu**2 / 2
    high = Interval.point(enough).rounded(32).upper * Fraction(17, 16)
    low = high / 2
    while not slack(low, bits).upper < 0:
        if slack(low, bits).lower > 0:
            high = low
        if low * (1 << bits) < enough:
            return Interval(Fraction(0), high)
        low /= 2
    return crossing(slack, lower=low, upper=high, bits=bits)


def gaussian_mu(epsilon: Exact, delta: Exact, bits: int = 64) -> Interval:
    """The enclosure of the largest shift `mu` that is (epsilon, delta)-indistinguishable, 0 < delta < 1.

    Its lower end is proved to be allowed: noise of `sensitivity / lower` is enough. Relative width at most 2**-bits.
    """
    loss, target = exact(epsilon, "epsilon"), _delta(delta)
    if not loss >= 0:
        raise InvalidArgument(f"epsilon must not be negative, got {shown(epsilon)}")
    if target == 1:
        raise InvalidArgument(f"delta must be below 1, got {shown(delta)}; at 1 every shift is allowed")
    return _largest_shift(loss, target, precision(bits))


@lru_cache(maxsize=1024)
def _largest_shift(loss: Fraction, target: Fraction, bits: int) -> Interval:
    log_target = _Log(target)

    def excess(x: Fraction, working: int) -> Interval:
        return log_gaussian_delta(x, loss, working) - log_target(working)

    near = about(excess, _guessed_shift(loss, target), bits)
    if near is not None:
        return near if near.tight(bits) else crossing(excess, lower=near.lower, upper=near.upper, bits=bits)
    low = high = target + loss / (1 + loss)
    while not excess(low, 32).upper < 0:
        low /= 2
    while not excess(high, 32).lower > 0:
        high *= 2
    return crossing(excess, lower=low, upper=high, bits=bits)


def _guessed_shift(loss: Fraction, target: Fraction) -> float:
    """About the shift in floats, by halving; not a number where floats do not reach."""
    if not (loss < _FLOATS and target > 1 / _FLOATS):
        return math.nan
    epsilon, delta = float(loss), float(target)
    low, high = 0.0, 1.0 + math.sqrt(2 * epsilon) + 40.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _about_delta(middle, epsilon) < delta else (low, middle)
    return (low + high) / 2


def _about_delta(shift: float, epsilon: float) -> float:
    """Phi(-a) - e^epsilon Phi(-b) with b = a + shift; e^epsilon times the density at b is that at a."""
    a = epsilon / shift - shift / 2
    return math.erfc(a / math.sqrt(2)) / 2 - math.exp(-a * a / 2) / math.sqrt(2 * math.pi) * about_mills(a + shift)


def _shift(mu: Exact) -> Fraction:
    number = exact(mu, "mu")
    if not number >= 0:
        raise InvalidArgument(f"mu must not be negative, got {shown(mu)}")
    return number


def _delta(delta: Exact) -> Fraction:
    number = exact(delta, "delta")
    if not 0 < number <= 1:
        raise InvalidArgument(f"delta must be above 0 and at most 1, got {shown(delta)}; a Gaussian is never pure")
    return number


class _Log:
    """ln of one number, kept per precision: a search asks for it again and again."""

    def __init__(self, number: Fraction) -> None:
        self._number, self._known = number, dict[int, Interval]()

    def __call__(self, bits: int) -> Interval:
        if bits not in self._known:
            self._known[bits] = ln(self._number, bits)
        return self._known[bits]


def _gap(a: Fraction, b: Fraction, bits: int) -> Dyadic:
    """R(a) - R(b) for 0 < a < b."""
    return refined(lambda working: minus(mills(a, working), mills(b, working)), bits, bits + _lost(a, b - a))


def _lost(a: Fraction, shift: Fraction) -> int:
    """About how many bits the subtraction loses: the logarithm of R(a) / (R(a) - R(a + shift)), or of 1 / shift."""
    ratio = max(abs(a), Fraction(1)) / shift
    return max(0, ratio.numerator.bit_length() - ratio.denominator.bit_length()) + 6


def _shortfall(a: Fraction, shift: Fraction, bits: int) -> Dyadic:
    """1 - delta = Q(-a) + phi(a) R(a + shift) for a <= 0 <= a + shift: two positive terms."""
    tail = upper_tail(a * a, bits + 2) if a else (1, 1, -1)
    return plus(tail, times(density(a * a, bits + 2), mills(a + shift, bits + 2)))
