"""Mills' ratio of the normal law, in NumPy alone.

Promise: `mills(x)` is Phi(-x)/phi(x) for x >= -1 with a relative error of at most `MILLS_ERROR`, however large x is.
Everything a Gaussian needs follows from it without losing digits in the tails.
"""

from __future__ import annotations

import math

import numpy as np

from deniable.accounting.pld.floats import Floats, U

MILLS_ERROR = 16 * U
ROOT_TWO_PI = math.sqrt(2 * math.pi)

# (x + 2) Phi(-x)/phi(x) as a polynomial in (x - 4)/(x + 6), which maps [-1, inf) to [-1, 1): the Chebyshev series of
# degree 28, written in powers. Made with 60 digits; truncation error below 2e-18, evaluation error below 5 U.
_COEFFICIENTS = (
    1.419914297481364,
    -0.8369042716098323,
    0.751201752973856,
    -0.5343360265657923,
    0.2648205592180332,
    -0.03588245208830607,
    -0.09400396166712295,
    0.12322234252313864,
    -0.09153069845730065,
    0.04568931849218065,
    -0.013642330044086005,
    0.0002719970252802591,
    0.0018525803693033157,
    -0.0007025867004698462,
    -7.451758948816335e-05,
    0.0001333334415264944,
    -1.6506780135239257e-05,
    -2.0194152825684294e-05,
    5.8435476857399884e-06,
    3.0679860668086024e-06,
    -1.3431191737308074e-06,
    -5.120550263403714e-07,
    2.7286306100224814e-07,
    9.041277439083437e-08,
    -4.938981518523597e-08,
    -1.3760976437156846e-08,
    6.999887163651289e-09,
    1.2004145262261875e-09,
    -5.54221295459604e-10,
)


def mills(x: Floats) -> Floats:
    """Phi(-x)/phi(x) for x >= -1."""
    x = np.minimum(x, 1e100)
    t = (x - 4.0) / (x + 6.0)
    total = np.full_like(t, _COEFFICIENTS[-1])
    for coefficient in _COEFFICIENTS[-2::-1]:
        total *= t
        total += coefficient
    return total / (x + 2.0)


def mills_slope(x: Floats) -> Floats:
    """At least |d mills/dx| for x >= -1: the slope is x mills(x) - 1, and x/(x^2 + 1) < mills(x) < 1/x for x > 0."""
    return 10.0 / (1.0 + x * x)
