"""Certified normal quantiles: the inverse of `normal_cdf`."""

from __future__ import annotations

from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact.elementary import ln, precision, sqrt
from deniable.exact.guards import shown
from deniable.exact.interval import Exact, Interval, exact
from deniable.exact.normal import log_normal_cdf
from deniable.exact.search import crossing


def normal_quantile(p: Exact, bits: int = 64) -> Interval:
    """The enclosure of the x with Phi(x) = p, for 0 < p < 1, relative width at most 2**-bits.

    Guarantee: Phi(lower) <= p <= Phi(upper), decided by certified enclosures of ln Phi.
    """
    number, bits = exact(p, "p"), precision(bits)
    if not 0 < number < 1:
        raise InvalidArgument(f"p must be strictly between 0 and 1, got {shown(p)}")
    if number > Fraction(1, 2):
        return -normal_quantile(1 - number, bits)
    if 2 * number == 1:
        return Interval.point(0)

    def excess(x: Fraction, working: int) -> Interval:
        return log_normal_cdf(x, working) - ln(number, working)

    low = -sqrt(-2 * ln(number, 16), 16).upper - 1  # Phi(x) < exp(-x**2 / 2) for x < 0
    high = (2 * number - 1) / 2  # Phi is convex below 0 and its slope there at most 0.4: Phi(x) > 1/2 + 0.4 x
    return crossing(excess, lower=low, upper=high, bits=bits)
