"""Mechanisms: random answers with a proved cost, and the plain array functions they are made of.

Steps (`laplace(scale=...)`) are built on a space with `>>`. Beneath them, `laws`, `selection`, `choice` and `quantile` work
on whole-numbered arrays and know nothing of spaces.
"""

from deniable.mechanisms.exponential_mechanism import exponential
from deniable.mechanisms.gaussian_noise import discrete_gaussian, gaussian
from deniable.mechanisms.laplace_noise import laplace
from deniable.mechanisms.laws import Law

__all__ = [
    "Law",
    "discrete_gaussian",
    "exponential",
    "gaussian",
    "laplace",
]
