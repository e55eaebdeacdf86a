"""Mechanisms: random answers that say what one answer costs, as a record.

`mechanism(data)` is the unmetered path, for building and studying. With real data use a session or a compositor: they
charge first and remember.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from deniable.accounting import Bracket, epsilon
from deniable.core.distance import Distance, distance
from deniable.core.space import Space
from deniable.core.transformation import Transformation, meet
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, open_probability, positive, probability
from deniable.noise import Entropy, system_entropy


@dataclass(frozen=True, slots=True)
class Utility:
    """How good an answer is, in the mechanism's own terms.

    `error(beta)` is exact or rounded up: with probability at least 1 - beta the answer's `measure` is within it.
    """

    measure: str
    error: Callable[[Fraction], Fraction]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """With probability at least `confidence` the answer is within `error`, measured as `measure` says."""

    error: Fraction
    confidence: Fraction
    measure: str

    def __float__(self) -> float:
        return float(self.error)

    def __str__(self) -> str:
        return f"± {float(self.error):.6g} ({self.measure}) with probability {float(self.confidence):g}"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """d(x, y) <= d implies that the laws of the answers are as close as the cost `privacy_map(d)` says."""

    source: Space
    function: Callable[[Any, Entropy], Any]
    privacy_map: Callable[[Distance], Cost]
    utility: Utility | None = None
    claims: tuple[str, ...] = ()
    parameter: Any = None

    def __call__(self, data: Any, *, entropy: Entropy | None = None) -> Any:
        """One draw, unmetered."""
        return self.function(data, entropy or system_entropy())

    def cost(self, *, d_in: Distance | Real | tuple[Real, Real, Real] = 1) -> Cost:
        """What one answer costs when neighbours are `d_in` apart, as a record any measure can read."""
        return self.privacy_map(distance(d_in))

    def loss(self, *, d_in: Distance | Real | tuple[Real, Real, Real] = 1, delta: Real = 0) -> Bracket:
        """The cost read as epsilon at `delta`, by the tightest theorem we have."""
        return epsilon(self.cost(d_in=d_in), delta=probability(delta=delta))

    def accuracy(self, *, confidence: Real = Fraction(19, 20)) -> Accuracy:
        """How close the answer is to the truth it randomises, in this mechanism's own utility."""
        if self.utility is None:
            raise InvalidArgument("this mechanism states no accuracy; give its constructor a utility")
        chance = open_probability(confidence=confidence)
        return Accuracy(self.utility.error(1 - chance), chance, self.utility.measure)

    def after(self, before: Transformation) -> Mechanism:
        """This mechanism on transformed data; `transformation >> mechanism` calls it."""
        meet(before.target, self.source, "the mechanism")
        first, second = before.function, self.function
        return replace(
            self,
            source=before.source,
            function=lambda data, entropy: second(first(data, entropy), entropy),
            privacy_map=lambda d_in: self.privacy_map(before.stability_map(d_in)),
            claims=(*before.claims, *self.claims),
        )

    def post(self, function: Callable[[Any], Any], *, utility: Utility | None = None) -> Mechanism:
        """Anything computed from the answer alone.

        Guarantee: post-processing; the cost does not change. The old accuracy no longer applies unless a new one is given.
        """
        before = self.function
        return replace(self, function=lambda data, entropy: function(before(data, entropy)), utility=utility)

    def __rshift__(self, after: Callable[[Any], Any]) -> Mechanism:
        if not callable(after) or isinstance(after, Transformation | Mechanism):
            return NotImplemented
        return self.post(after)


def own_mechanism(
    source: Space,
    *,
    function: Callable[[Any, Entropy], Any],
    privacy_map: Callable[[Distance], Cost],
    author: str,
    utility: Utility | None = None,
) -> Mechanism:
    """A mechanism of your own: draw only from the `entropy` you are handed.

    Guarantee: the one its `author` claims; `claims` carries the name into everything built on it, and
    `deniable.testing` can try to refute it.
    """
    name = getattr(function, "__name__", type(function).__name__)
    return Mechanism(source, function, privacy_map, utility, (f"{author}: {name}",))


def wanted_error(mechanism: Mechanism, *, error: Real, confidence: Real = Fraction(19, 20)) -> bool:
    """Is the mechanism at least this accurate? What calibration by error asks."""
    return mechanism.accuracy(confidence=confidence).error <= positive(error=error)
