"""Noise that never exceeds a public bound: truncated Laplace, and estimates that are off to one side only."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from deniable import noise
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost, Repeated, TruncatedLaplace
from deniable.errors import InvalidArgument
from deniable.exact import Interval, exp
from deniable.exact.guards import Real, positive
from deniable.kernels.laws import least
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms.carried import carried
from deniable.mechanisms.lattice_norms import check_metric, norms
from deniable.noise.table import VECTOR_LIMIT

_FARTHEST = 2**61


@step
def truncated_laplace(space: Space, *, scale: Real, radius: Real) -> Mechanism:
    """Add discrete Laplace noise conditioned on staying within `radius`: the answer is never further off than that.

    Guarantee: (epsilon, delta) with epsilon = sensitivity / scale and the exact delta of the discrete law; never pure, as an
    answer out of reach of a neighbour gives it away.
    """
    return _truncated(space, scale=scale, radius=radius, shift=0, who="truncated_laplace")


@step
def upper_estimate(space: Space, *, scale: Real, radius: Real) -> Mechanism:
    """Truncated Laplace noise moved up by `radius`: never below the truth, at most 2·radius above. For sizing and padding.

    Guarantee: that of `truncated_laplace`; a public shift costs nothing.
    """
    return _truncated(space, scale=scale, radius=radius, shift=1, who="upper_estimate")


@step
def lower_estimate(space: Space, *, scale: Real, radius: Real) -> Mechanism:
    """Truncated Laplace noise moved down by `radius`: never above the truth, at most 2·radius below.

    Guarantee: that of `truncated_laplace`; a public shift costs nothing.
    """
    return _truncated(space, scale=scale, radius=radius, shift=-1, who="lower_estimate")


def _truncated(space: Space, *, scale: Real, radius: Real, shift: int, who: str) -> Mechanism:
    values = carried(space, who)
    check_metric(space.metric, size=values.size)
    steps = positive(scale=scale) / values.step
    reach = math.floor(positive(radius=radius) / values.step)
    if not reach >= 1:
        raise InvalidArgument(f"radius must be at least one step of {values.step}, got {radius!r}")
    move = shift * reach

    def cost(apart: Sensitivity) -> Cost:
        each = TruncatedLaplace(scale=steps, radius=reach, sensitivity=apart.linf)
        return each if apart.l0 <= 1 else Repeated(each, apart.l0)

    return Mechanism(
        space,
        values.noisy(
            lambda entropy: noise.truncated_laplace(steps, reach, entropy) + move,
            None
            if steps > VECTOR_LIMIT or reach > _FARTHEST  # beyond, noise moved by `reach` could leave int64
            else lambda entropy, size: noise.truncated_laplaces(steps, reach, size, entropy) + move,
        ),
        lambda d_in: cost(norms(space.metric, d_in, step=values.step, size=values.size)),
        Utility(
            "value" if values.size is None else "value of each entry",
            _truncated_error(steps, reach, shift, values.step),
            None if values.size is None else _truncated_error(steps, reach, shift, values.step, count=values.size),
        ),
    )


def _truncated_error(
    scale: Fraction, reach: int, shift: int, width: Fraction, *, count: int = 1
) -> Callable[[Fraction], Fraction]:
    """The error that none of `count` independent draws exceeds."""

    def beyond(error: int) -> Interval:
        """P[|noise + shift·reach| > error]: one tail when the noise is moved to one side, two when it is not."""
        start = error + 1 if not shift else error + 1 - reach
        return _tail(scale, reach, start) * (2 if not shift else 1)

    most = 2 * reach if shift else reach

    def rare(t: int, beta: Fraction) -> bool:
        return t >= most or (1 - min(beyond(t).upper, Fraction(1))) ** count >= 1 - beta

    return lambda beta: min(most, least(lambda t: rare(t, beta))) * width


def _tail(scale: Fraction, reach: int, at_least: int) -> Interval:
    """P[noise >= at_least] for the truncated law: geometric sums in closed form."""
    if at_least <= 0:
        return 1 - _tail(scale, reach, 1 - at_least)
    q = exp(-1 / scale, 96)
    top = exp(-min(at_least, reach + 1) / scale, 96) - exp(-Fraction(reach + 1) / scale, 96)
    whole = 1 + q - 2 * exp(-Fraction(reach + 1) / scale, 96)
    return top.greatest(0) / whole
