"""The exponential mechanism over finitely many candidates."""

from __future__ import annotations

from deniable import noise
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Exponential
from deniable.exact.guards import Real, positive
from deniable.kernels.peeling import exponential_score_error
from deniable.mechanisms.likelihoods import ChoiceLikelihood
from deniable.mechanisms.scores import scores, selection


@step
def exponential(space: Space, *, scale: Real) -> Mechanism:
    """Choose a candidate with probability proportional to exp(score / scale): its index, or its key when scores are keyed.

    A larger `scale` is more private. The score itself is never part of the answer.

    Guarantee: bounded range with eta = spread / scale, hence epsilon = eta; the spread of scores that move by at most d is
    2d, or d when all move the same way. Exact: weights are never rounded.
    Edge cases: private keys and empty candidate lists are refused when built.
    """
    width = positive(scale=scale)
    candidates = scores(space, "exponential")
    steps = width / candidates.step
    return selection(
        candidates,
        pick=lambda values, entropy: candidates.named(noise.exponential_choice(values, steps, entropy)),
        cost=lambda apart: Exponential(eta=apart / width),
        utility=Utility(
            "score below the best", lambda beta: exponential_score_error(beta, count=candidates.count, scale=width)
        ),
        likelihood=ChoiceLikelihood(candidates, steps),
    )
