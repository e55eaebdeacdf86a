"""A fit as one mechanism: the rows are read once, every step is charged to a plan, and the whole plan is one cost.

Guarantee: what a task returns is computed from its steps' noisy answers alone; its cost is the declared list, read together by
the tightest theorem, whatever the steps ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import ceil
from typing import Any

from deniable.core.compositor import Compositor, grouped
from deniable.core.distance import Distance
from deniable.core.gate import Planned
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.cost import Cost, Gaussian, composed
from deniable.exact.guards import Real, positive
from deniable.models.encoding import Whole
from deniable.models.unit_totals import PrivateRows, root_up
from deniable.noise import Entropy, rounded_gaussians

_COARSE = 1 << 10
_LEAST = Fraction(1, 64)
"""Noise of this scale is rounded to nothing but once in more runs than there will be; a finer one would only cost table space."""


@dataclass(frozen=True, slots=True)
class TotalNoise:
    """Rounded normal noise on a total that one unit moves by at most the root of `square`, in whole steps."""

    square: int
    scale: Fraction

    @classmethod
    def of(cls, square: int, multiplier: Real) -> TotalNoise:
        """Noise of `multiplier` times the length; rounded up to a whole scale where that is much finer than the noise."""
        scale = max(positive(multiplier=multiplier) * max(root_up(square), 1), _LEAST)
        return cls(square, Fraction(ceil(scale)) if scale >= _COARSE else scale)

    @property
    def cost(self) -> Cost:
        """What one such answer costs."""
        return Gaussian(scale=self.scale, squared_sensitivity=self.square)

    def total(self, space: Space, of: Callable[[PrivateRows], Whole]) -> Mechanism:
        """The mechanism that releases `of`, a total that no unit moves further, with this noise on each number.

        Guarantee: `cost`, if `of` keeps its promise; tests hold every one to it.
        """

        def function(data: PrivateRows, entropy: Entropy) -> Whole:
            exact = of(data)
            return exact + rounded_gaussians(self.scale, exact.size, entropy).reshape(exact.shape)

        return Mechanism(space, function, lambda d_in: grouped(self.cost, d_in))


def planned_task(
    space: Space,
    *,
    costs: Sequence[Cost],
    run: Callable[[Compositor], Any],
    recipe: str,
    prepare: Callable[[PrivateRows], None] | None = None,
    read: Callable[[Any], Any] = PrivateRows.of,
    replaced: Sequence[Cost] | None = None,
) -> Mechanism:
    """The mechanism that reads rows once and lets `run` ask a compositor for `costs`, in this order.

    `prepare` may keep what each row alone gives, for all steps; `read` makes of the data what the steps ask.
    `replaced` are the costs where neighbours replace a unit, if
    twice the distance is not the right reading of them, as for samples.
    """
    declared = tuple(costs)

    def function(data: Any, entropy: Entropy) -> Any:
        rows = read(data)
        if prepare is not None:
            prepare(rows)
        return run(Compositor(rows, space, Planned(declared), Fraction(1), entropy))

    def privacy_map(d_in: Distance) -> Cost:
        if replaced is not None and d_in == 2:
            return condensed(replaced)
        return grouped(condensed(declared), d_in)

    return Mechanism(space, function, privacy_map, recipe=recipe)


def condensed(costs: Sequence[Cost]) -> Cost:
    """The list as one cost, equal neighbours counted instead of listed."""
    runs = [(cost, len(list(same))) for cost, same in groupby(costs)]
    return composed([cost if times == 1 else cost.repeated(times) for cost, times in runs])
