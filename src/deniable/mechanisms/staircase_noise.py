"""Staircase noise on a lattice."""

from __future__ import annotations

from math import ceil

from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import step
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive
from deniable.kernels.staircase import Staircase
from deniable.mechanisms.additive import with_noise
from deniable.mechanisms.carried import carried

_STEEPEST = 1 << 12


@step
def staircase(space: Space, *, width: Real, scale: Real) -> Mechanism:
    """Add staircase noise to a number or to every entry of a vector: as `laplace` of this scale costs, with a smaller error where
    one unit moves a number by many steps and epsilon is not small.

    `width` is how far one unit moves a number, both in the numbers people read; stairs are so wide, and each is exp(-width/scale)
    times as likely as the one before it.

    Guarantee: pure; epsilon = width/scale for every stair, so width/scale for one number that moves by at most `width`. Exact.
    """
    values = carried(space, "staircase")
    stairs = ceil(positive(width=width) / values.step)
    rate = stairs * values.step / positive(scale=scale)
    if not rate <= _STEEPEST:
        raise InvalidArgument(f"scale must be at least width/{_STEEPEST}, got {scale!r} for a width of {width!r}")
    return with_noise(space, values, Staircase.best(width=stairs, rate=rate))
