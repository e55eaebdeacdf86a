"""Moments of a column and of a vector's entries, exact integers: over a public number of rows or an unknown one.

Count, sum and sum of squares together are what the mean and variance of an unknown number of rows are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from deniable.exact import number_of, sqrt
from deniable.exact.guards import Real, rational
from deniable.transformations.balls import enforcement
from deniable.transformations.column_arrays import exact_sum, steps, whole_numbers
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, times
from deniable.transformations.sums import bounded, degrees, public_size, spread
from deniable.transformations.vectors import on_grid, steps_table

_WIDEST = 2**30


@step
@by_replacement
def moments(space: Space) -> Transformation:
    """The number of rows, the sum of z and the sum of z², where z is each bounded value carried to [-1, 1]: lower bound -1,
    upper bound 1. All three then move alike, so one noise scale serves all; `moments_of` reads mean and variance off an answer.

    Guarantee: a row added or removed moves three entries by at most one each, triple (3, 3, 1); a row replaced leaves the count
    and moves the sums by at most (2, 9/4, 2), where 9/4 is rounded up to the lattice. z² is rounded to the lattice row by row.
    """
    element, low, high = bounded(space, "moments")
    span = high - low
    if not 0 < span <= _WIDEST:
        raise InvalidArgument(f"moments needs bounds between 1 and 2**30 steps apart, got {number_of(span, 'step')}")
    target = Space(Vectors(Lattice(Fraction(1, span)), 3), PartitionDistance(AbsoluteDistance()))

    def summed(data: Any) -> Any:
        centred = 2 * steps(data, element) - (low + high)  # within span, at most 2**30, so squares stay below 2**61
        squares = (centred * centred + span // 2) // span
        sums = [len(centred) * span, exact_sum(centred, span), exact_sum(squares, span)]
        return whole_numbers(sums)

    return Transformation(space, target, deterministic(summed), _moved(space, span))


def _moved(space: Space, span: int) -> Any:
    # |z - w| + |z² - w²| is at most 9/4 on [-1, 1] (at 1 and -1/2); rounding both squares adds at most one lattice step
    each = Triple(Fraction(2), Fraction(9, 4) + Fraction(1, span), Fraction(2))
    if not isinstance(space.metric, SIZED):
        each = Triple(Fraction(3), Fraction(3), Fraction(1))

    def stability(d_in: Distance) -> Distance:
        d = plain(d_in)
        return Triple(min(each.l0 * d, each.l0), each.l1 * d, each.linf * d)

    return stability


@dataclass(frozen=True, slots=True)
class Summary:
    """What noisy moments say: post-processing, so it costs nothing."""

    count: float
    mean: float
    variance: float
    std: float


def moments_of(answer: Sequence[float], *, lower: Real, upper: Real, ddof: int = 1) -> Summary:
    """Mean and variance from a noisy answer to `moments`, with the bounds that were clamped to.

    Guarantee: post-processing; nothing is spent. A noisy count below one is read as one, a variance outside what the bounds
    allow as the nearest they do.
    """
    low, high = rational(lower=lower), rational(upper=upper)
    if not low < high:
        raise InvalidArgument(f"lower must be below upper, got {lower!r} and {upper!r}")
    count, first, second = (float(part) for part in answer)
    rows = max(count, 1.0)
    half, middle = float(high - low) / 2, float(low + high) / 2
    centre = min(max(first / rows, -1.0), 1.0)
    spread = min(max(second / rows - centre * centre, 0.0), 1.0)
    variance = half * half * spread * (rows / max(rows - ddof, 1.0))
    return Summary(count, middle + half * centre, variance, variance**0.5)


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
        raise InvalidArgument(
            f"vector_moments needs bounds between 1 and 2**30 steps apart, got {number_of(span, 'step')}"
        )
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
