"""Several mechanisms made into one, beforehand: so that what takes a mechanism (a sample, a selection) takes several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import Step, step
from deniable.core.transformation import meet
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, open_probability
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class Joint(Mechanism):
    """A mechanism whose answer is a tuple; `utilities` are those of its entries, in order."""

    utilities: tuple[Utility | None, ...] = ()

    def accuracy(self, *, confidence: Real = Fraction(19, 20), simultaneous: bool = False) -> Any:
        """How close each entry is to its truth, as a tuple; None where none is stated.

        Each holds with this probability by itself, or with `simultaneous` all of them together (a union bound).
        """
        chance = open_probability(confidence=confidence)
        stated = sum(each is not None for each in self.utilities) if simultaneous else 1
        alone = 1 - (1 - chance) / max(stated, 1)
        found = [each and each.accuracy(confidence=alone, simultaneous=simultaneous) for each in self.utilities]
        return tuple(each and replace(each, confidence=chance) for each in found)

    def post(self, function: Callable[[Any], Any], *, utility: Utility | None = None) -> Mechanism:
        """Anything computed from the tuple alone; it is no longer one, so the accuracies of its entries no longer apply."""
        plain = Mechanism(self.source, self.function, self.privacy_map, None, self.claims, self.parameter)
        return plain.post(function, utility=utility)


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
    return Joint(space, answer, cost, claims=claims, utilities=tuple(each.utility for each in parts))


def _built(space: Space, mechanism: Step[Mechanism] | Mechanism) -> Mechanism:
    built = mechanism.build(space) if isinstance(mechanism, Step) else mechanism
    if not isinstance(built, Mechanism):
        raise InvalidArgument(f"together takes mechanisms, got a {type(built).__name__}; add noise to it")
    meet(space, built.source, "a mechanism of together")
    return built
