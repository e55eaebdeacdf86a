"""What all additive mechanisms share: noise in whole steps, an answer people can read, an error bar.

`noisy_values` is the plain function underneath, for whoever already holds an array of exact integers.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.kernels import Law, Noise
from deniable.kernels.laws import error_bound, largest_error_bound
from deniable.mechanisms.carried import Steps, carried, saturated_sum, whole, wide_sum
from deniable.mechanisms.likelihoods import NoisyLikelihood
from deniable.mechanisms.norms import check_metric, norms
from deniable.noise import Entropy
from deniable.noise.scale import VECTOR_LIMIT


def noisy_values(values: Steps, *, law: Law, scale: Fraction, entropy: Entropy) -> Steps:
    """Each value of an array of whole numbers plus its own draw of noise; sums beyond int64 stay at its ends."""
    steps = whole(values)
    noise = Noise(law, scale)
    if scale > VECTOR_LIMIT:
        return wide_sum(steps, lambda: noise.one(entropy))
    return saturated_sum(steps, noise.draw(steps.size, entropy).reshape(steps.shape))


def additive(space: Space, *, law: Law, scale: Fraction, who: str) -> Mechanism:
    """The mechanism that adds noise of `law` and `scale` (in the numbers people read) to a number or to each of a vector."""
    values = carried(space, who)
    noise = Noise(law, scale / values.step)
    check_metric(space.metric, size=values.size)
    return Mechanism(
        space,
        values.noisy(
            noise.one, None if noise.scale > VECTOR_LIMIT else lambda entropy, size: noise.draw(size, entropy)
        ),
        lambda d_in: noise.cost(norms(space.metric, d_in, step=values.step, size=values.size)),
        additive_utility(law, scale=noise.scale, step=values.step, size=values.size),
        likelihood=NoisyLikelihood(noise, values),
    )


def additive_utility(law: Law, *, scale: Fraction, step: Fraction, size: int | None, what: str = "entry") -> Utility:
    """The errors of noise of `scale` steps on one number, or on each of `size` numbers, which are independent."""
    return Utility(
        "value" if size is None else f"value of each {what}",
        lambda beta: error_bound(law, scale=scale, beta=beta) * step,
        None if size is None else lambda beta: largest_error_bound(law, scale=scale, beta=beta, count=size) * step,
    )
