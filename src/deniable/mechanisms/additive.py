"""What all additive mechanisms share: noise in whole steps, an answer people can read, an error bar.

`noisy_values` is the plain function underneath, for whoever already holds an array of exact integers.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.kernels import Law, Noise, noise_of
from deniable.mechanisms.carried import Carried, Steps, carried, saturated_sum, whole, wide_sum
from deniable.mechanisms.lattice_norms import check_metric, norms
from deniable.mechanisms.likelihoods import NoisyLikelihood
from deniable.noise import Entropy


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
