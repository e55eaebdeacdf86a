"""Numbers that round against us: exact rationals inside, certified enclosures, directed rounding on the way out.

`Interval` holds a number between two Fractions; `exp`, `ln`, `sqrt`, ... enclose a real function to a requested
precision; `up` and `down` leave for floats or decimals in a stated direction; `guards` check arguments.
"""

from deniable.exact.elementary import exp, expm1, ln, log1p, power, root, sqrt
from deniable.exact.interval import Exact, Interval, exact, interval
from deniable.exact.rounding import down, outward, up

__all__ = [
    "Exact",
    "Interval",
    "down",
    "exact",
    "exp",
    "expm1",
    "interval",
    "ln",
    "log1p",
    "outward",
    "power",
    "root",
    "sqrt",
    "up",
]
