"""Laplace noise on a lattice: the two-sided geometric law, exact."""

from __future__ import annotations

from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import step
from deniable.exact.guards import Real, positive
from deniable.kernels import Law
from deniable.mechanisms.additive import additive


@step
def laplace(space: Space, *, scale: Real) -> Mechanism:
    """Add discrete Laplace noise, P(k steps) proportional to exp(-k·step/scale), to a number or to every entry of a vector.

    `scale` is in the numbers people read; a lattice of step 1 gives whole-number answers, any other exact multiples of it.

    Guarantee: pure; epsilon = L1 sensitivity / scale, both in whole steps. Noise is independent of the data and of its size.
    Edge cases: private keys, missing values and numbers off a lattice are refused when built; sums beyond 64 bits saturate.
    """
    return additive(space, law=Law.LAPLACE, scale=positive(scale=scale), who="laplace")
