"""Certified exp, ln and roots: `f(x, bits)` is an interval that holds f(x), at most 2**-bits of it wide.

Arguments are exact (int or Fraction) or an `Interval`; over an interval the enclosure is the hull of the two ends,
each enclosed to `bits`. Results are dyadic rationals. The error arguments stand at the kernels in `fixed`; the tests
compare every function with mpmath at far higher precision.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact.dyadic import Dyadic, enclosure
from deniable.exact.fixed import (
    UNDERFLOW,
    exp_ratio,
    expm1_small,
    ln_ratio,
    root_floor,
    sqrt_ratio,
)
from deniable.exact.guards import integer, shown
from deniable.exact.interval import Exact, Interval, exact

Argument = Exact | Interval
"""What an enclosure takes: an exact number, or an interval that holds the argument."""

_ZERO = Interval(Fraction(0), Fraction(0))
_ONE = Interval(Fraction(1), Fraction(1))
_VANISHING: Dyadic = (0, 1, -1512775)
_LARGEST_EXACT_POWER = 1 << 12


def exp(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of e**x, relative width at most 2**-bits.

    Below x = -2**20 it is [0, 2**-1512775], which holds e**x but says no more; above 2**20 it is refused.
    """
    if isinstance(x, Interval):
        return x.increasing(lambda end: exp(end, bits))
    number = exact(x)
    return enclosure(exp_dyadic(number.numerator, number.denominator, precision(bits))) if number else _ONE


def exp_dyadic(n: int, d: int, bits: int) -> Dyadic:
    """exp(n/d) as a pair, with the underflow and the refusal that `exp` states."""
    if n < -UNDERFLOW * d:
        return _VANISHING
    if not n <= UNDERFLOW * d:
        raise InvalidArgument(
            f"exp(x) is certified for x up to {UNDERFLOW}, got {shown(Fraction(n, d))}; work with logarithms"
        )
    return exp_ratio(n, d, bits)


def expm1(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of e**x - 1, relative width at most 2**-bits also where x is tiny."""
    if isinstance(x, Interval):
        return x.increasing(lambda end: expm1(end, bits))
    number, bits = exact(x), precision(bits)
    n, d = number.numerator, number.denominator
    if not n:
        return _ZERO
    if abs(n) << 3 <= d:
        return enclosure(expm1_small(n, d, bits))
    return enclosure(exp_dyadic(n, d, bits + 5)) - 1  # subtracting 1 costs at most 4 bits when |x| > 1/8


def ln(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of the natural logarithm of x > 0, relative width at most 2**-bits also next to 1."""
    if isinstance(x, Interval):
        return x.increasing(lambda end: ln(end, bits))
    number, bits = exact(x), precision(bits)
    if not number > 0:
        raise InvalidArgument(f"x must be positive, got {shown(x)}; ln is defined above zero only")
    n, d = number.numerator, number.denominator
    return enclosure(ln_ratio(n, d, bits)) if n != d else _ZERO


def log1p(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of ln(1 + x), x > -1; exact arguments make this simply `ln(1 + x)`."""
    return ln((x if isinstance(x, Interval) else exact(x)) + 1, bits)


def sqrt(x: Argument, bits: int = 64) -> Interval:
    """The enclosure of the square root of x >= 0, relative width at most 2**-bits; a point when the root is rational."""
    return root(x, 2, bits)


def root(x: Argument, degree: int, bits: int = 64) -> Interval:
    """The enclosure of the `degree`-th root of x >= 0, relative width at most 2**-bits; a point when it is rational."""
    if isinstance(x, Interval):
        return x.increasing(lambda end: root(end, degree, bits))
    number, degree, bits = exact(x), integer(degree=degree, least=1), precision(bits)
    if not number >= 0:
        raise InvalidArgument(f"x must not be negative, got {shown(x)}")
    if not number:
        return _ZERO
    n, d = number.numerator, number.denominator
    a, b = root_floor(n, degree), root_floor(d, degree)
    if a**degree == n and b**degree == d:
        return Interval.point(Fraction(a, b))
    return enclosure(sqrt_ratio(n, d, bits) if degree == 2 else _root_ratio(n, d, degree, bits))


def _root_ratio(n: int, d: int, degree: int, bits: int) -> Dyadic:
    """With s such that n 2**(degree s) / d has more than degree (bits + 1) bits, the integer root r has bits + 1."""
    s = max(0, bits + 2 + (d.bit_length() - n.bit_length()) // degree)
    r = root_floor((n << degree * s) // d, degree)
    return r, r + 1, -s


def power(x: Argument, exponent: Argument, bits: int = 64) -> Interval:
    """The enclosure of x**exponent for x > 0: exact for short whole powers, else exp(exponent * ln x).

    Relative width at most 2**-bits for exact arguments: ln x is taken with as many more bits as |exponent ln x| has before
    the point. It under- and overflows as `exp` does.
    """
    if isinstance(x, Interval) or isinstance(exponent, Interval):
        return exp(ln(x, bits + 24) * exponent, bits)
    base, index, bits = exact(x), exact(exponent, "exponent"), precision(bits)
    if not base > 0:
        raise InvalidArgument(f"x must be positive, got {shown(x)}; powers of other numbers are not certified")
    length = base.numerator.bit_length() + base.denominator.bit_length()
    if index.denominator == 1 and abs(index) * length <= _LARGEST_EXACT_POWER:
        return Interval.point(base**index.numerator)
    # exp(t) moves by |t| times the relative error of t, and |t| <= |exponent| * length
    return exp(ln(base, bits + 3 + int(abs(index) * length).bit_length()) * index, bits + 2)


def precision(bits: int) -> int:
    """`bits` itself, checked: a whole number of at least one."""
    return bits if type(bits) is int and bits >= 1 else integer(bits=bits, least=1)
