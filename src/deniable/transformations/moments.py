"""Count, sum and sum of squares together: what the mean and variance of an unknown number of rows are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core import (
    AbsoluteDistance,
    Distance,
    Lattice,
    PartitionDistance,
    Space,
    Transformation,
    Triple,
    Vectors,
    plain,
    step,
)
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, rational
from deniable.transformations.column_arrays import exact_sum, steps, whole_numbers
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic
from deniable.transformations.sums import bounded

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
        raise InvalidArgument(f"moments needs bounds between 1 and 2**30 steps apart, got {span} steps")
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
