"""What all additive mechanisms share: noise in whole steps, an answer people can read, an error bar.

`noisy_values` is the plain function underneath, for whoever already holds an array of exact integers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import assert_never

from deniable import noise
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.cost import Cost
from deniable.mechanisms.carried import Steps, carried, saturated_sum, whole
from deniable.mechanisms.laws import Law, error_bound
from deniable.mechanisms.norms import Norms, check_metric, norms
from deniable.noise import Entropy


def draw(law: Law, scale: Fraction, entropy: Entropy) -> int:
    """One draw of noise, in steps."""
    match law:
        case Law.LAPLACE:
            return noise.discrete_laplace(scale, entropy)
        case Law.GAUSSIAN:
            return noise.rounded_gaussian(scale, entropy)
        case Law.DISCRETE_GAUSSIAN:
            return noise.discrete_gaussian(scale, entropy)
        case _:
            assert_never(law)


def draws(law: Law, scale: Fraction, count: int, entropy: Entropy) -> Steps:
    """`count` independent draws of noise, in steps."""
    match law:
        case Law.LAPLACE:
            return noise.discrete_laplaces(scale, count, entropy)
        case Law.GAUSSIAN:
            return noise.rounded_gaussians(scale, count, entropy)
        case Law.DISCRETE_GAUSSIAN:
            return noise.discrete_gaussians(scale, count, entropy)
        case _:
            assert_never(law)


def noisy_values(values: Steps, *, law: Law, scale: Fraction, entropy: Entropy) -> Steps:
    """Each value of an array of whole numbers plus its own draw of noise; sums beyond int64 stay at its ends."""
    steps = whole(values)
    return saturated_sum(steps, draws(law, scale, steps.size, entropy).reshape(steps.shape))


def additive(
    space: Space, *, law: Law, scale: Fraction, who: str, cost: Callable[[Fraction, Norms], Cost]
) -> Mechanism:
    """The mechanism that adds noise of `law` and `scale` (in the numbers people read) to a number or to each of a vector."""
    values = carried(space, who)
    steps = scale / values.step
    check_metric(space.metric, size=values.size)
    return Mechanism(
        space,
        values.noisy(lambda entropy: draw(law, steps, entropy), lambda entropy, size: draws(law, steps, size, entropy)),
        lambda d_in: cost(steps, norms(space.metric, d_in, step=values.step, size=values.size)),
        Utility(
            "value" if values.size is None else "value of each entry",
            lambda beta: error_bound(law, scale=steps, beta=beta) * values.step,
        ),
    )
