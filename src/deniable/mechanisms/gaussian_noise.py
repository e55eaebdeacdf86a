"""Gaussian noise on a lattice: the normal law rounded to the lattice, and the discrete Gaussian, both exact."""

from __future__ import annotations

from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import step
from deniable.exact.guards import Real, positive
from deniable.kernels import Law
from deniable.mechanisms.additive import additive


@step
def gaussian(space: Space, *, scale: Real) -> Mechanism:
    """Add normal noise of standard deviation `scale`, rounded to the lattice, to a number or to every entry of a vector.

    Rounding a sum of a lattice value and continuous noise is post-processing, so the tight accounting of the continuous
    Gaussian holds, whatever the step.

    Guarantee: Gaussian differential privacy with mu = L2 sensitivity / scale; (epsilon, delta) by the analytic formula.
    Edge cases: private keys, missing values and numbers off a lattice are refused when built; sums beyond 64 bits saturate.
    """
    return additive(space, law=Law.GAUSSIAN, scale=positive(scale=scale), who="gaussian")


@step
def discrete_gaussian(space: Space, *, scale: Real) -> Mechanism:
    """Add discrete Gaussian noise, P(k steps) proportional to exp(-(k·step)²/(2·scale²)), to a number or every entry of a vector.

    Guarantee: zero-concentrated with rho = (L2 sensitivity / scale)²/2; (epsilon, delta) by its own exact sum. It is *not*
    the rounded Gaussian: for small scales its delta is larger, and the analytic Gaussian formula does not apply to it.
    """
    return additive(
        space,
        law=Law.DISCRETE_GAUSSIAN,
        scale=positive(scale=scale),
        who="discrete_gaussian",
    )
