"""An interactive mechanism: a function that asks a compositor again and again, under costs that are fixed beforehand.

Training a model, growing a tree or fitting marginals is such a function. Its whole list of costs is charged at once, so it is
read by the tightest theorem; what it asks may depend on what it was answered, how much it spends may not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from deniable.core.compositor import Compositor
from deniable.core.distance import Distance, plain
from deniable.core.gate import Planned
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument
from deniable.noise import Entropy


def interactive(source: Space, *, costs: Sequence[Cost], run: Callable[[Compositor], Any]) -> Mechanism:
    """The mechanism that gives `run` a compositor for `costs`, in this order, and returns what `run` returns.

    `costs` are for neighbours one step apart. The compositor refuses whatever was not declared; asking for less than was
    declared is allowed, and nothing is given back.

    Guarantee: the answer costs the declared list, whatever `run` asks and in whatever way it uses the answers.
    """
    declared = tuple(costs)
    if not declared:
        raise InvalidArgument("an interactive mechanism needs at least one cost, or it may ask nothing")

    def function(data: Any, entropy: Entropy) -> Any:
        return run(Compositor(data, source, Planned(declared), Fraction(1), entropy))

    return Mechanism(source, function, lambda d_in: grouped(composed(declared), d_in))


def grouped(cost: Cost, d_in: Distance) -> Cost:
    """What costs `cost` for one unit, for neighbours that are further apart: a group of units."""
    steps = ceil(plain(d_in))
    return cost if steps <= 1 else cost.group(steps)
