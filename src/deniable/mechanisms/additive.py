"""Additive noise on a lattice, exact: Laplace, Gaussian, discrete Gaussian and staircase, to one number or to each of a vector.

All of them add noise in whole steps and give an answer people can read, with its error. `noisy_values` is the plain function
underneath, for whoever already holds an array of exact integers.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive
from deniable.kernels import Law, Noise, noise_of
from deniable.kernels.staircase import Staircase
from deniable.mechanisms.carried import Carried, Steps, carried, saturated_sum, whole, wide_sum
from deniable.mechanisms.lattice_norms import check_metric, norms
from deniable.mechanisms.likelihoods import NoisyLikelihood
from deniable.noise import Entropy

_STEEPEST = 1 << 12


def noisy_values(values: Steps, *, noise: Noise, entropy: Entropy) -> Steps:
    """Each value of an array of whole numbers plus its own draw of noise; sums beyond int64 stay at its ends."""
    steps = whole(values)
    if not noise.fits_vectors:
        return wide_sum(steps, lambda: noise.one(entropy))
    return saturated_sum(steps, noise.draw(steps.size, entropy).reshape(steps.shape))


def additive(space: Space, *, law: Law, scale: Fraction, who: str) -> Mechanism:
    """The mechanism that adds noise of `law` and `scale` (in the numbers people read) to a number or to each of a vector."""
    values = carried(space, who)
    noise = noise_of(law, scale / values.step)
    return with_noise(space, values, noise)


def with_noise(space: Space, values: Carried, noise: Noise) -> Mechanism:
    """The mechanism that adds this noise, its scale in steps, to the values of a space."""
    check_metric(space.metric, size=values.size)
    return Mechanism(
        space,
        values.noisy(noise.one, (lambda entropy, size: noise.draw(size, entropy)) if noise.fits_vectors else None),
        lambda d_in: noise.cost(norms(space.metric, d_in, step=values.step, size=values.size)),
        additive_utility(noise, step=values.step, size=values.size),
        likelihood=NoisyLikelihood(noise, values),
    )


def additive_utility(noise: Noise, *, step: Fraction, size: int | None, what: str = "entry") -> Utility:
    """The errors of noise in whole steps on one number, or on each of `size` numbers, which are independent."""
    return Utility(
        "value" if size is None else f"value of each {what}",
        lambda beta: noise.error(beta) * step,
        None if size is None else lambda beta: noise.error(beta, count=size) * step,
    )


@step
def laplace(space: Space, *, scale: Real) -> Mechanism:
    """Add discrete Laplace noise, P(k steps) proportional to exp(-k·step/scale), to a number or to every entry of a vector.

    `scale` is in the numbers people read; a lattice of step 1 gives whole-number answers, any other exact multiples of it.

    Guarantee: pure; epsilon = L1 sensitivity / scale, both in whole steps. Noise is independent of the data and of its size.
    Edge cases: private keys, missing values and numbers off a lattice are refused when built; sums beyond 64 bits saturate.
    """
    return additive(space, law=Law.LAPLACE, scale=positive(scale=scale), who="laplace")


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
