"""Numbers that round against us: exact rationals inside, certified enclosures, directed rounding on the way out.

`Interval` holds a number between two Fractions; `exp`, `ln`, `sqrt`, ... enclose a real function to a requested
precision; `up` and `down` leave for floats or decimals in a stated direction; `guards` check arguments.
"""

from deniable.exact.elementary import Argument, exp, expm1, ln, log1p, power, root, sqrt
from deniable.exact.figures import digits, loss_text, number_of, weak_promise
from deniable.exact.gamma import binomial_tail, lgamma, log_binomial
from deniable.exact.gaussian_profile import gaussian_delta, gaussian_epsilon, gaussian_mu, log_gaussian_delta
from deniable.exact.interval import Exact, Interval, exact
from deniable.exact.normal import erf, erfc, log_normal_cdf, mills_ratio, normal_cdf, normal_quantile, normal_upper_tail
from deniable.exact.rounding import down, outward, up
from deniable.exact.search import crossing

__all__ = [
    "Argument",
    "Exact",
    "Interval",
    "binomial_tail",
    "crossing",
    "digits",
    "down",
    "erf",
    "erfc",
    "exact",
    "exp",
    "expm1",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "lgamma",
    "ln",
    "log1p",
    "log_binomial",
    "log_gaussian_delta",
    "log_normal_cdf",
    "loss_text",
    "mills_ratio",
    "normal_cdf",
    "normal_quantile",
    "normal_upper_tail",
    "number_of",
    "outward",
    "power",
    "root",
    "sqrt",
    "up",
    "weak_promise",
]
