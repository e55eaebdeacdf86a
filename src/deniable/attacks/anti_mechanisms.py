"""NOT PRIVATE. Mechanisms that are wrong on purpose, for teaching and for the auditor, which must catch every one of them.

None of them may ever see real data. Each returns an `AntiMechanism`, which states the promise it breaks and why; it is not a
`Mechanism`, so no compositor, session or chain accepts it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable import noise
from deniable.cost import Bounded
from deniable.exact.guards import Real, open_probability, positive
from deniable.noise import Entropy, system_entropy


@dataclass(frozen=True, slots=True)
class AntiMechanism:
    """NOT PRIVATE: `function(data, entropy)` breaks the promise `claimed`, for the reason in `flaw`."""

    name: str
    function: Callable[[Any, Entropy], Any]
    claimed: Bounded
    flaw: str

    def __call__(self, data: Any, *, entropy: Entropy | None = None) -> Any:
        """One draw, of made-up data only."""
        return self.function(data, entropy or system_entropy())


def name_and_shame(*, rate: Real) -> AntiMechanism:
    """NOT PRIVATE in any useful sense: publishes each person's whole record with probability `rate`.

    It does satisfy (0, rate)-privacy, which is why a delta above one over the number of people promises nothing.
    """
    chance = open_probability(rate=rate)

    def publish(rows: Sequence[Any], entropy: Entropy) -> list[Any]:
        return [row for row in rows if noise.bernoulli(chance, entropy)]

    return AntiMechanism(
        "name and shame",
        publish,
        Bounded(epsilon=0, delta=chance / 2),
        "publishes records whole; its delta is the rate, not half of it",
    )


def delta_leaker(*, delta: Real) -> AntiMechanism:
    """NOT PRIVATE: publishes everybody's record with probability `delta`, and nothing otherwise.

    It is (0, delta)-private by the letter; claimed here to be purely private, which one catastrophic answer refutes.
    """
    chance = open_probability(delta=delta)

    def leak(rows: Sequence[Any], entropy: Entropy) -> tuple[Any, ...] | None:
        return tuple(rows) if noise.bernoulli(chance, entropy) else None

    return AntiMechanism("delta leaker", leak, Bounded(epsilon=1), "has outcomes that are impossible for a neighbour")


def naive_float_laplace(*, scale: Real) -> AntiMechanism:
    """NOT PRIVATE: adds textbook Laplace noise in floating point, the way most listings do.

    The floats that data + noise can reach differ from one datum to the next, so a single answer can rule a neighbour out.
    """
    width = positive(scale=scale)

    def noisy(value: float, entropy: Entropy) -> float:
        uniform = (entropy.bits(53) + 0.5) * 2.0**-53 - 0.5
        return value - float(width) * math.copysign(1.0, uniform) * math.log1p(-2 * abs(uniform))

    return AntiMechanism(
        "naive float Laplace",
        noisy,
        Bounded(epsilon=1 / width),
        "the reachable floats depend on the datum, so the support leaks it",
    )


def halved_noise(*, scale: Real) -> AntiMechanism:
    """NOT PRIVATE as claimed: a count with exact Laplace noise of half the scale that its promise needs."""
    width = positive(scale=scale)

    def noisy(count: int, entropy: Entropy) -> int:
        return count + noise.discrete_laplace(width / 2, entropy)

    return AntiMechanism(
        "halved noise", noisy, Bounded(epsilon=1 / width), "the noise has half the scale that was claimed"
    )


def exact_answer() -> AntiMechanism:
    """NOT PRIVATE: answers exactly, on the theory that a sum of many people hides each of them."""
    return AntiMechanism("exact answer", lambda count, _: count, Bounded(epsilon=1), "adds no noise at all")


def noise_from_data(*, scale: Real) -> AntiMechanism:
    """NOT PRIVATE: "noise" computed from the data itself, so that asking twice gives the same answer and no uncertainty."""
    width = positive(scale=scale)

    def noisy(count: int, entropy: Entropy) -> int:  # noqa: ARG001 - the flaw: it draws nothing
        return count + int(width) * ((count * 2654435761) % 3 - 1)

    return AntiMechanism(
        "noise from data", noisy, Bounded(epsilon=1 / width), "is a function of the data: nothing is random"
    )


def reachable_floats(value: float, *, scale: Real, draws: int, entropy: Entropy) -> frozenset[float]:
    """The answers `naive_float_laplace` gave for one value: compare the sets of two neighbours to see them apart."""
    broken = naive_float_laplace(scale=scale)
    return frozenset(broken.function(value, entropy) for _ in range(draws))


def porous_answers(left: float, right: float, *, scale: Real, draws: int, entropy: Entropy) -> Fraction:
    """The share of answers about `left` that `right` could never have given: zero for a private mechanism.

    An answer y is possible for `right` only if some uniform number of the listing's 2**53 maps to y exactly; the few candidates
    around the real solution are tried.
    """
    broken, width = naive_float_laplace(scale=scale), float(positive(scale=scale))
    impossible = sum(not _possible(broken.function(left, entropy), right, width) for _ in range(draws))
    return Fraction(impossible, draws)


def _possible(answer: float, value: float, width: float) -> bool:
    away = answer - value
    half = -math.expm1(-abs(away) / width) / 2  # |uniform| that would give this answer over the reals
    place = int((math.copysign(half, away) + 0.5) * 2.0**53)
    for near in range(place - 64, place + 65):
        uniform = (near + 0.5) * 2.0**-53 - 0.5
        if abs(uniform) < 0.5 and value - width * math.copysign(1.0, uniform) * math.log1p(-2 * abs(uniform)) == answer:
            return True
    return False
