"""What an answer cost, as plain records.

A privacy map returns one of these; a measure in `accounting` reads it. A record says what happened ("rounded Gaussian,
scale 3, sensitivity 1, sampled at 1/100, 10 000 times"), so every theorem we have, or will have, can price it.
The union is closed: a new record fails type checking until every measure reads it or refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, nonnegative, positive, probability, rational


class Neighbours(Enum):
    """Which two data sets a cost compares; where samples say so, costs that compare different ones are not read together."""

    ADD_REMOVE = "add or remove one unit"
    REPLACE = "replace one unit"
    ZERO_OUT = "blank one unit"


class Sampling(Enum):
    """How the units that a mechanism sees were drawn."""

    POISSON = "each unit independently"
    WITHOUT_REPLACEMENT = "a fixed number of units"


class _Record:
    """Arithmetic every cost shares. `parameter` is set by `calibrate` alone and is no part of the record."""

    __slots__ = ("parameter",)

    parameter: float | int

    def repeated(self, times: int) -> Cost:
        """This cost, `times` times over (adaptively chosen queries included)."""
        return Repeated(check_cost(self), times)

    def sampled(
        self, *, rate: Real, how: Sampling = Sampling.POISSON, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> Cost:
        """This cost, run on a secret random sample of the units."""
        return Sampled(check_cost(self), rate=rate, how=how, neighbours=neighbours)

    def group(self, size: int) -> Cost:
        """This cost for a group of `size` units that change together."""
        return Grouped(check_cost(self), size)

    def __add__(self, other: Cost) -> Cost:
        return composed([check_cost(self), other])


def check_cost(value: object) -> Cost:
    """The value, if it is a cost; anything else is refused in words."""
    if not isinstance(value, _Record):
        raise InvalidArgument(
            f"a cost is a record of dp.costs, such as the .cost of a mechanism or a release, got {value!r}; "
            "several become one by dp.costs.composed([...])"
        )
    return value  # type: ignore[return-value]


def _fill(record: object, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def _square(sensitivity: Real | None, squared_sensitivity: Real | None) -> Fraction:
    if (sensitivity is None) == (squared_sensitivity is None):
        raise InvalidArgument("give either sensitivity or squared_sensitivity, not both and not neither")
    if squared_sensitivity is not None:
        return nonnegative(squared_sensitivity=squared_sensitivity)
    return nonnegative(sensitivity=sensitivity) ** 2


@dataclass(frozen=True, slots=True, init=False)
class Laplace(_Record):
    """Continuous Laplace noise of `scale` (or that rounded afterwards), L1 `sensitivity` over at most `coordinates` numbers."""

    scale: Fraction
    sensitivity: Fraction
    coordinates: int

    def __init__(self, *, scale: Real, sensitivity: Real = 1, coordinates: int = 1) -> None:
        _fill(
            self,
            scale=positive(scale=scale),
            sensitivity=nonnegative(sensitivity=sensitivity),
            coordinates=integer(coordinates=coordinates, least=1),
        )


@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(_Record):
    """Noise on the integers with P(k) proportional to exp(-|k|/scale); `sensitivity` is L1, in lattice steps."""

    scale: Fraction
    sensitivity: int
    coordinates: int

    def __init__(self, *, scale: Real, sensitivity: int = 1, coordinates: int = 1) -> None:
        _fill(
            self,
            scale=positive(scale=scale),
            sensitivity=integer(sensitivity=sensitivity, least=0),
            coordinates=integer(coordinates=coordinates, least=1),
        )


@dataclass(frozen=True, slots=True, init=False)
class Gaussian(_Record):
    """Continuous normal noise of standard deviation `scale`, or that rounded to a grid; L2 sensitivity kept as its exact square.

    As with the other noises, the sensitivity is 1 unless it is given.
    """

    scale: Fraction
    squared_sensitivity: Fraction

    def __init__(
        self, *, scale: Real, sensitivity: Real | None = None, squared_sensitivity: Real | None = None
    ) -> None:
        if sensitivity is None and squared_sensitivity is None:
            sensitivity = 1
        _fill(self, scale=positive(scale=scale), squared_sensitivity=_square(sensitivity, squared_sensitivity))


@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(_Record):
    """Noise on the integers with P(k) proportional to exp(-k²/(2·scale²)). It is not a rounded Gaussian and not GDP.

    `squared_sensitivity` is the exact squared L2 distance in lattice steps; at most `coordinates` numbers move, each by
    at most `largest` steps.
    """

    scale: Fraction
    squared_sensitivity: Fraction
    coordinates: int
    largest: int

    def __init__(
        self,
        *,
        scale: Real,
        sensitivity: int | None = None,
        squared_sensitivity: Real | None = None,
        coordinates: int = 1,
        largest: int | None = None,
    ) -> None:
        square = _square(sensitivity, squared_sensitivity)
        if largest is None:
            if coordinates != 1 or sensitivity is None:
                raise InvalidArgument("a vector's discrete Gaussian cost needs `largest`, the most one number can move")
            largest = sensitivity
        _fill(
            self,
            scale=positive(scale=scale),
            squared_sensitivity=square,
            coordinates=integer(coordinates=coordinates, least=1),
            largest=integer(largest=largest, least=0),
        )


@dataclass(frozen=True, slots=True, init=False)
class TruncatedLaplace(_Record):
    """Discrete Laplace noise conditioned on |noise| <= `radius`: its loss has an atom at infinity."""

    scale: Fraction
    radius: int
    sensitivity: int

    def __init__(self, *, scale: Real, radius: int, sensitivity: int = 1) -> None:
        _fill(
            self,
            scale=positive(scale=scale),
            radius=integer(radius=radius, least=1),
            sensitivity=integer(sensitivity=sensitivity, least=0),
        )


@dataclass(frozen=True, slots=True, init=False)
class Exponential(_Record):
    """An exponential mechanism: the privacy loss of any two outputs differs by at most `eta` (bounded range)."""

    eta: Fraction

    def __init__(self, *, eta: Real) -> None:
        _fill(self, eta=nonnegative(eta=eta))


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse(_Record):
    """The truth among `categories` answers is kept with probability `truth`, each other answer is equally likely."""

    truth: Fraction
    categories: int

    def __init__(self, *, truth: Real, categories: int = 2) -> None:
        chance, count = probability(truth=truth), integer(categories=categories, least=2)
        if not Fraction(1, count) <= chance < 1:
            raise InvalidArgument(f"truth must be at least 1/{count} and below 1, got {truth!r}")
        _fill(self, truth=chance, categories=count)


@dataclass(frozen=True, slots=True, init=False)
class Bounded(_Record):
    """Anything proved (epsilon, delta)-private; with delta = 0, purely private."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Real, delta: Real = 0) -> None:
        _fill(self, epsilon=nonnegative(epsilon=epsilon), delta=probability(delta=delta))


@dataclass(frozen=True, slots=True, init=False)
class Concentrated(_Record):
    """Anything proved delta-approximately rho-zCDP."""

    rho: Fraction
    delta: Fraction

    def __init__(self, *, rho: Real, delta: Real = 0) -> None:
        _fill(self, rho=nonnegative(rho=rho), delta=probability(delta=delta))


@dataclass(frozen=True, slots=True, init=False)
class Renyi(_Record):
    """Anything proved Rényi-private at the given orders: pairs (order above 1, epsilon)."""

    curve: tuple[tuple[Fraction, Fraction], ...]

    def __init__(self, curve: Iterable[tuple[Real, Real]]) -> None:
        pairs = tuple(sorted((rational(order=a), nonnegative(epsilon=e)) for a, e in curve))
        if not pairs or not pairs[0][0] > 1:
            raise InvalidArgument(f"a Rényi curve needs orders above 1, got {pairs!r}")
        _fill(self, curve=pairs)


@dataclass(frozen=True, slots=True)
class Composed(_Record):
    """All of these, one after another, the queries possibly chosen from earlier answers."""

    costs: tuple[Cost, ...]

    def __post_init__(self) -> None:
        _fill(self, costs=tuple(map(check_cost, self.costs)))


@dataclass(frozen=True, slots=True)
class Repeated(_Record):
    """One cost, `times` times."""

    cost: Cost
    times: int

    def __post_init__(self) -> None:
        _fill(self, cost=check_cost(self.cost), times=integer(times=self.times, least=0))


@dataclass(frozen=True, slots=True, init=False)
class Sampled(_Record):
    """A cost paid on a secret random sample that each unit enters with probability `rate`.

    Independent (Poisson) draws: `cost` is what the presence of one unit in the sample costs, also when neighbours replace a unit.
    A fixed number of units: `cost` is what replacing one unit of the sample costs, also when neighbours add or remove a unit.
    """

    cost: Cost
    rate: Fraction
    how: Sampling
    neighbours: Neighbours

    def __init__(
        self,
        cost: Cost,
        *,
        rate: Real,
        how: Sampling = Sampling.POISSON,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        _fill(self, cost=check_cost(cost), rate=probability(rate=rate), how=how, neighbours=neighbours)


@dataclass(frozen=True, slots=True)
class Allocated(_Record):
    """A cost paid in one of `steps` steps: every unit is put into one of them, secretly, uniformly and independently of the others.

    `cost` is what the presence of one unit in its step costs; the whole compares data sets with and without one unit.
    """

    cost: Cost
    steps: int

    def __post_init__(self) -> None:
        _fill(self, cost=check_cost(self.cost), steps=integer(steps=self.steps, least=1))


@dataclass(frozen=True, slots=True, init=False)
class Shuffled(_Record):
    """`reports` people each answer through an `epsilon`-local randomiser; a trusted shuffler hides who said what."""

    epsilon: Fraction
    reports: int

    def __init__(self, *, epsilon: Real, reports: int) -> None:
        _fill(self, epsilon=nonnegative(epsilon=epsilon), reports=integer(reports=reports, least=1))


class Stopping(Enum):
    """The law of the number of tries of a private selection."""

    NEGATIVE_BINOMIAL = "truncated negative binomial"
    POISSON = "Poisson"


@dataclass(frozen=True, slots=True, init=False)
class Selected(_Record):
    """The best of a random number of runs of one private candidate.

    Truncated negative binomial: `shape` is eta (above -1; 1 is geometric), `tries` is gamma. Poisson: `tries` is its mean.
    """

    cost: Cost
    stopping: Stopping
    tries: Fraction
    shape: Fraction

    def __init__(self, cost: Cost, *, stopping: Stopping, tries: Real, shape: Real = 1) -> None:
        _fill(
            self,
            cost=check_cost(cost),
            stopping=stopping,
            tries=positive(tries=tries),
            shape=rational(shape=shape),
        )
        if not self.shape > -1:
            raise InvalidArgument(f"shape must be above -1, got {shape!r}")
        if stopping is Stopping.NEGATIVE_BINOMIAL and not self.tries < 1:
            raise InvalidArgument(
                f"tries is the chance to stop after a run (gamma) and below 1, got {tries!r}; a mean number of runs needs "
                "stopping=dp.costs.Stopping.POISSON"
            )


@dataclass(frozen=True, slots=True)
class Parallel(_Record):
    """These costs, each paid on its own disjoint part: one unit sits in one part, so only the worst is paid."""

    costs: tuple[Cost, ...]

    def __post_init__(self) -> None:
        _fill(self, costs=tuple(map(check_cost, self.costs)))


@dataclass(frozen=True, slots=True, init=False)
class Mixed(_Record):
    """One of these costs, drawn with these chances by a coin that one unit does not bias; the coin itself may be known."""

    parts: tuple[tuple[Fraction, Cost], ...]

    def __init__(self, parts: Iterable[tuple[Real, Cost]]) -> None:
        pairs = tuple((probability(chance=chance), check_cost(cost)) for chance, cost in parts)
        if sum(chance for chance, _ in pairs) != 1:
            raise InvalidArgument(f"the chances of a mixture add up to 1, got {[str(chance) for chance, _ in pairs]}")
        _fill(self, parts=pairs)


@dataclass(frozen=True, slots=True)
class Grouped(_Record):
    """A cost for `size` units that change together; where they are sampled, all are added or all removed (one person's rows)."""

    cost: Cost
    size: int

    def __post_init__(self) -> None:
        _fill(self, cost=check_cost(self.cost), size=integer(size=self.size, least=1))


@dataclass(frozen=True, slots=True, init=False)
class Calibrated(_Record):
    """A cost, and one pair (epsilon, delta) that it implies: what its noise was calibrated to. Both hold.

    Where pairs are added up the pair counts, everywhere else the cost. Who writes it down vouches for the pair.
    """

    cost: Cost
    epsilon: Fraction
    delta: Fraction

    def __init__(self, cost: Cost, *, epsilon: Real, delta: Real = 0) -> None:
        _fill(self, cost=check_cost(cost), epsilon=nonnegative(epsilon=epsilon), delta=probability(delta=delta))


Cost: TypeAlias = (
    Laplace
    | DiscreteLaplace
    | Gaussian
    | DiscreteGaussian
    | TruncatedLaplace
    | Exponential
    | RandomizedResponse
    | Bounded
    | Concentrated
    | Renyi
    | Composed
    | Repeated
    | Sampled
    | Allocated
    | Shuffled
    | Selected
    | Parallel
    | Mixed
    | Grouped
    | Calibrated
)


def composed(costs: Iterable[Cost]) -> Cost:
    """Several costs as one; nested compositions are flattened."""
    flat: list[Cost] = []
    for cost in costs:
        flat.extend(cost.costs if isinstance(cost, Composed) else (cost,))
    return flat[0] if len(flat) == 1 else Composed(tuple(flat))


FREE = Composed(())
"""What public information costs."""
