"""Laplace noise on a lattice: the two-sided geometric law, exact."""

from __future__ import annotations

from fractions import Fraction

from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import DiscreteLaplace
from deniable.exact.guards import Real, positive
from deniable.mechanisms.additive import additive
from deniable.mechanisms.laws import Law
from deniable.mechanisms.norms import Norms


@step
def laplace(space: Space, *, scale: Real) -> Mechanism:
    """Add discrete Laplace noise, P(k steps) proportional to exp(-k·step/scale), to a number or to every entry of a vector.

    `scale` is in the numbers people read; a lattice of step 1 gives whole-number answers, any other exact multiples of it.

    Guarantee: pure; epsilon = L1 sensitivity / scale, both in whole steps. Noise is independent of the data and of its size.
    Edge cases: private keys, missing values and numbers off a lattice are refused when built; sums beyond 64 bits saturate.
    """
    return additive(space, law=Law.LAPLACE, scale=positive(scale=scale), who="laplace", cost=laplace_cost)


def laplace_cost(scale: Fraction, apart: Norms) -> DiscreteLaplace:
    """The cost of discrete Laplace noise of `scale` steps on values that are `apart`."""
    return DiscreteLaplace(scale=scale, sensitivity=apart.l1, coordinates=max(apart.l0, 1))
