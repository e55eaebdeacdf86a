"""A unit's own mean: its sum over its count, both exact, their quotient rounded once on a stated grid."""

from __future__ import annotations

from fractions import Fraction

from deniable.errors import QueryRefused
from deniable.plan.expression import Divide, Expression
from deniable.plan.facts import LARGEST, Facts, Kind
from deniable.plan.functions.numeric import Clamp

MOST_ROWS = 2**20
"""A unit's own mean is that of up to so many rows; with more, sum and count are cut off there."""


def unit_mean(total: Expression, count: Expression, known: Facts) -> Clamp:
    """The mean of numbers with the facts `known`, from their sum and count in one unit's rows."""
    if known.kind is not Kind.NUMBER or not known.bounded:
        raise QueryRefused("unbounded", "AVG needs a number with bounds", rewrite="AVG(CLAMP(x, 0, 100))")
    most = max(abs(end) for end in known.ends) or 1
    reach = most * MOST_ROWS * known.step
    limits = Clamp(total, -reach, reach), Clamp(count, Fraction(0), Fraction(MOST_ROWS))
    lower, upper = (end * known.step for end in known.ends)
    return Clamp(Divide(*limits, mean_step(known)), lower, upper)


def mean_step(known: Facts) -> Fraction:
    """The grid of a unit's own mean: up to 1,024 times as fine as the column's."""
    most = max(abs(end) for end in known.ends) or 1
    sizes = (size for size in range(10, 0, -1) if most * MOST_ROWS * 2 ** (size + 1) + MOST_ROWS < LARGEST)
    return known.step / (1 << next(sizes, 0))
