"""A family of mechanisms that differ in one number, the scale of their noise: what is left open until a price is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.transformation import Transformation, meet
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real


@dataclass(frozen=True, slots=True)
class MechanismFamily:
    """One mechanism for every scale: `space >> laplace()` where `space >> laplace(scale=2)` is its member at 2.

    Guarantee: none of its own; it cannot be run. `at` gives a mechanism with its cost, `dp.calibrate(family.at, ...)` the one
    that meets a target, and `session.release(family, epsilon=...)` solves for the price that is paid.
    """

    source: Space
    at: Callable[[Real], Mechanism]

    def after(self, before: Transformation) -> MechanismFamily:
        """The family on transformed data; `transformation >> family` calls it."""
        meet(before.target, self.source, "the mechanism")
        return MechanismFamily(before.source, lambda scale: self.at(scale).after(before))

    def post(self, function: Callable[[Any], Any], *, utility: Utility | None = None) -> MechanismFamily:
        """Anything computed from the answer alone.

        Guarantee: post-processing; the cost does not change.
        """
        return MechanismFamily(self.source, lambda scale: self.at(scale).post(function, utility=utility))

    def __rshift__(self, after: Callable[[Any], Any]) -> MechanismFamily:
        if not callable(after) or isinstance(after, Transformation | Mechanism):
            return NotImplemented
        return self.post(after)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: without a scale there is nothing to draw, no cost and no error."""
        raise InvalidArgument("this mechanism has no scale yet: give scale=, or release it in a session at a price")

    cost = loss = accuracy = __call__
