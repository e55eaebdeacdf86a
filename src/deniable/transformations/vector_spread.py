"""The variances of a vector's entries, over a public number of rows or an unknown one; exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from deniable.core import (
    L1,
    AbsoluteDistance,
    Ball,
    Distance,
    Lattice,
    LInfinity,
    PartitionDistance,
    Space,
    Transformation,
    Triple,
    Vectors,
    plain,
    step,
)
from deniable.errors import InvalidArgument
from deniable.exact import sqrt
from deniable.exact.guards import Real
from deniable.transformations.balls import enforcement
from deniable.transformations.column_arrays import exact_sum, whole_numbers
from deniable.transformations.moments import Summary, moments_of
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, times
from deniable.transformations.sums import degrees, public_size, spread
from deniable.transformations.vectors import on_grid, steps_table

_WIDEST = 2**30


@step
@by_replacement
def vector_variance(space: Space, *, ddof: int = 1) -> Transformation:
    """The variance of each entry over a public number of rows n: the sample variance, or the population's with ddof=0.

    Guarantee: one replaced row moves every variance by at most (upper - lower)²·(n - 1)/(n·(n - ddof)), which is attained. In an
    L1 or L2 ball of radius r it moves their sum (L1) by at most 3·√3·r²·(n - 1)/(n·(n - ddof)), rounded up, wherever the ball is;
    rows outside the declared ball are drawn into it first, as `clamp_norm` does.
    """
    size = public_size(space, "vector_variance", least=2)
    divisor = size - degrees(ddof)
    element, lattice, low, high = on_grid(space, "vector_variance")
    share = Fraction(size - 1, size * divisor)
    numbers = Vectors(Lattice(lattice.step**2 / (size * divisor), 0), element.length)
    ball = element.ball
    if ball is not None and ball.p is not None:
        return _in_a_ball(space, element, lattice, ball, numbers, share)

    def variances(data: Any) -> Any:
        table = steps_table(data, element, lattice)
        return whole_numbers(spread(column, low, high) for column in table.T)

    reach = (high - low) ** 2 * lattice.step**2
    widest = Fraction(reach * size, 4 * divisor)

    def stability(d_in: Distance) -> Distance:
        return min(plain(d_in) * reach * share, widest)

    return Transformation(space, Space(numbers, LInfinity()), deterministic(variances), stability)


def _in_a_ball(
    space: Space, element: Vectors, lattice: Lattice, ball: Ball, numbers: Vectors, share: Fraction
) -> Transformation:
    enforced = enforcement(ball, element.length, lattice)

    def variances(data: Any) -> Any:
        table = enforced(steps_table(data, element, lattice))
        return whole_numbers(spread(column, enforced.lower, enforced.upper) for column in table.T)

    # Σ|y² - x²| from the others' mean is at most |y - x|·|y + x|, and that at most 4r²·sin t·(1 + cos t): 3√3·r² at 60 degrees
    reach = sqrt(Fraction(27), bits=64).upper * ball.radius**2 * share
    return Transformation(space, Space(numbers, L1()), deterministic(variances), times(reach))


@step
@by_replacement
def vector_moments(space: Space) -> Transformation:
    """The number of rows, then the sum of z of every entry, then the sum of z² of every entry, z being the bounded value carried to
    [-1, 1]; `vector_moments_of` reads means and variances off an answer. For an unknown number of rows.

    Guarantee: a row of k entries added or removed moves 2k + 1 numbers by at most one each, triple (2k + 1, 2k + 1, 1); a row
    replaced moves (2k, 9k/4, 2), where 9/4 is rounded up to the lattice, as for `moments`.
    """
    element, lattice, low, high = on_grid(space, "vector_moments")
    span, width = high - low, element.length
    if not 0 < span <= _WIDEST:
        raise InvalidArgument(f"vector_moments needs bounds between 1 and 2**30 steps apart, got {span} steps")
    target = Space(Vectors(Lattice(Fraction(1, span)), 2 * width + 1), PartitionDistance(AbsoluteDistance()))

    def summed(data: Any) -> Any:
        centred = 2 * steps_table(data, element, lattice) - (low + high)  # within span, so squares stay below 2**61
        squares = (centred * centred + span // 2) // span
        sums = [exact_sum(column, span) for part in (centred, squares) for column in part.T]
        return whole_numbers([len(centred) * span, *sums])

    each = Triple(Fraction(2 * width + 1), Fraction(2 * width + 1), Fraction(1))
    if isinstance(space.metric, SIZED):
        each = Triple(Fraction(2 * width), width * (Fraction(9, 4) + Fraction(1, span)), Fraction(2))

    def stability(d_in: Distance) -> Distance:
        d = plain(d_in)
        return Triple(min(each.l0 * d, each.l0), each.l1 * d, each.linf * d)

    return Transformation(space, target, deterministic(summed), stability)


def vector_moments_of(answer: Sequence[float], *, lower: Real, upper: Real, ddof: int = 1) -> tuple[Summary, ...]:
    """Mean and variance of every entry from a noisy answer to `vector_moments`, with the bounds that were clamped to.

    Guarantee: post-processing; nothing is spent. Read as `moments_of` reads one entry.
    """
    count, *sums = answer
    if len(sums) % 2:
        raise InvalidArgument(f"an answer to vector_moments has an odd number of entries, got {len(sums) + 1}")
    half = len(sums) // 2
    pairs = zip(sums[:half], sums[half:], strict=True)
    return tuple(moments_of((count, *pair), lower=lower, upper=upper, ddof=ddof) for pair in pairs)
