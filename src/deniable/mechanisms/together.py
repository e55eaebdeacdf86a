"""Several mechanisms made into one, beforehand: so that what takes a mechanism (a sample, a selection) takes several."""

from __future__ import annotations

from typing import Any

from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utilities
from deniable.core.space import Space
from deniable.core.step import Step, step
from deniable.core.transformation import meet
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument
from deniable.noise import Entropy


@step
def together(space: Space, *mechanisms: Step[Mechanism] | Mechanism) -> Mechanism:
    """All of these on the same data, as one mechanism: a tuple of their answers.

    They are fixed beforehand; a compositor is for mechanisms chosen from earlier answers.

    Guarantee: the composition of their costs, read as one. Each draws noise of its own. `accuracy` is a tuple, one for each.
    """
    if not mechanisms:
        raise InvalidArgument("together takes at least one mechanism, got none")
    parts = tuple(_built(space, each) for each in mechanisms)

    def answer(data: Any, entropy: Entropy) -> tuple[Any, ...]:
        return tuple(each.function(data, entropy) for each in parts)

    def cost(d_in: Distance) -> Cost:
        return composed(each.privacy_map(d_in) for each in parts)

    claims = tuple(dict.fromkeys(claim for each in parts for claim in each.claims))
    return Mechanism(space, answer, cost, Utilities(tuple(each.utility for each in parts)), claims)


def _built(space: Space, mechanism: Step[Mechanism] | Mechanism) -> Mechanism:
    built = mechanism.build(space) if isinstance(mechanism, Step) else mechanism
    if not isinstance(built, Mechanism):
        raise InvalidArgument(f"together takes mechanisms, got a {type(built).__name__}; add noise to it")
    meet(space, built.source, "a mechanism of together")
    return built
