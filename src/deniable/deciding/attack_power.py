"""How well an attacker can do at most, as a function of epsilon: tracing, reconstruction and linkage.

All three are bounds from the definition: they hold for every attacker, whatever it knows, and no attack has to be
run. `distance` is how many units the two worlds an attacker compares lie apart: one person present or absent is one;
one person's record being this or that is one where records are replaced, and two where they are added and removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.cost import Neighbours
from deniable.errors import InvalidArgument
from deniable.exact import exp, up
from deniable.exact.guards import Real, integer, nonnegative, open_probability, probability
from deniable.svg import Figure, Line, ReferenceLine, plot

FALSE_ALARMS = Fraction(1, 20)
"""A tracing attack is allowed to accuse so large a share of the innocent."""

_GRID = tuple(Fraction(step, 20) for step in range(161))
"""Where curves are drawn: from 0 to 8 in steps of a twentieth."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of attack: what it tries, how it would do without the release, and its best success at a loss."""

    name: str
    goal: str
    without: Fraction
    success: Callable[[Fraction, Fraction], float]


def tracing(*, false_alarms: Real = FALSE_ALARMS) -> Attack:
    """Was this person in the data? Success: the share of those present that are found, at this rate of false alarms.

    Guarantee: for every test, power <= min(e**epsilon·a + delta, 1 - e**-epsilon·(1 - delta - a)).
    """
    rate = open_probability(false_alarms=false_alarms)

    def success(loss: Fraction, delta: Fraction) -> float:
        grown = exp(loss)
        one_way = grown.upper * rate + delta
        other_way = 1 - max(Fraction(0), 1 - rate - delta) / grown.upper
        return min(1.0, up(min(one_way, other_way)))

    return Attack("tracing", f"find out who is in the data, accusing {float(rate):.0%} of the others", rate, success)


def reconstruction(*, values: int, distance: int) -> Attack:
    """Which of `values` equally likely values does this person have? Success: the chance of the best guess.

    Guarantee: worlds that differ in one person's value lie `distance` units apart, so the chance of a right guess is at most
    e**(distance·epsilon)/(e**(distance·epsilon) + values - 1), with a delta a little more.
    """
    count = integer(values=values, least=2)
    return Attack(
        "reconstruction",
        f"guess a value of which {count} are equally likely beforehand",
        Fraction(1, count),
        lambda loss, delta: _guess(count, distance, loss, delta),
    )


def linkage(*, people: int, distance: int) -> Attack:
    """Whose record is it, of `people` equally likely ones? Success: the chance that the best guess is right.

    Guarantee: as for reconstruction with one world for each person: this is the re-identification probability.
    """
    count = integer(people=people, least=2)
    return Attack(
        "linkage",
        f"say whose record it is, of {count:,} people equally likely beforehand",
        Fraction(1, count),
        lambda loss, delta: _guess(count, distance, loss, delta),
    )


def _guess(count: int, distance: int, loss: Fraction, delta: Fraction) -> float:
    """Of n equally likely worlds, each `distance` units from the others, the best chance s of naming the right one.

    With L and D the loss and delta of so many units and G_i the answers that name world i: P_i(G_i) <= e**L·P_j(G_i) + D for all
    i and j; added up over all pairs, n(n - 1)s <= e**L(n - n·s) + n(n - 1)D, so s <= (e**L + (n - 1)D)/(e**L + n - 1).
    """
    grown = exp(distance * loss)
    slip = delta * sum((exp(step * loss).upper for step in range(distance)), Fraction(0))
    others = count - 1
    return min(1.0, up(grown.upper / (grown.upper + others) + slip * others / (grown.lower + others)))


def distance_for(neighbours: Neighbours) -> int:
    """How many units apart two data sets lie that differ in one person's record."""
    return 1 if neighbours is Neighbours.REPLACE else 2


ATTACKS = ("tracing", "reconstruction", "linkage")
"""The attacks there are curves for."""


def attack_named(name: str, *, people: int, values: int, neighbours: Neighbours) -> Attack:
    """One of `ATTACKS` for this many people and this many values of the guessed column."""
    apart = distance_for(neighbours)
    match name:
        case "tracing":
            return tracing()
        case "reconstruction":
            return reconstruction(values=values, distance=apart)
        case "linkage":
            return linkage(people=people, distance=apart)
        case _:
            raise InvalidArgument(f"attack must be one of {', '.join(ATTACKS)}, got {name!r}")


@dataclass(frozen=True, slots=True)
class AttackCurve:
    """The best success of one attack at every epsilon of a grid."""

    attack: Attack
    delta: Fraction
    epsilons: tuple[Fraction, ...]
    successes: tuple[float, ...]

    def at(self, epsilon: Real) -> float:
        """The best success at one epsilon, rounded up."""
        return self.attack.success(nonnegative(epsilon=epsilon), self.delta)

    def largest(self, tolerated: Real) -> Fraction | None:
        """The largest epsilon, on a grid of hundredths up to 50, with success at most `tolerated`; None if even 0 has more."""
        limit = float(probability(tolerated=tolerated))
        if self.at(0) > limit:
            return None
        low, high = 0, 5001
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.at(Fraction(middle, 100)) <= limit else (low, middle)
        return Fraction(low, 100)

    @property
    def table(self) -> list[dict[str, float]]:
        """One dictionary for each epsilon."""
        pairs = zip(self.epsilons, self.successes, strict=True)
        return [{"epsilon": float(loss), "success": success} for loss, success in pairs]

    def plot(self, *, marked: Sequence[Real] = ()) -> Figure:
        """The curve, with what the attacker achieves without the release and the marked values of epsilon."""
        line = Line([float(loss) for loss in self.epsilons], list(self.successes), label=f"{self.attack.name}, at most")
        rules = [
            ReferenceLine(x=float(nonnegative(epsilon=loss)), label=f"epsilon = {float(loss):g}") for loss in marked
        ]
        return plot(
            line,
            ReferenceLine(y=float(self.attack.without), label="without the release"),
            *rules,
            title=f"Success of {self.attack.name} by epsilon",
            subtitle=f"{self.attack.goal}; a bound for every attacker",
            x_label="epsilon",
            y_label="success, at most",
            y_limits=(0, 1),
        )


def attack_curve(attack: Attack, *, delta: Real = 0, epsilons: Sequence[Real] = _GRID) -> AttackCurve:
    """The curve of one attack; every success is rounded up."""
    slip = probability(delta=delta)
    losses = tuple(nonnegative(epsilon=loss) for loss in epsilons)
    return AttackCurve(attack, slip, losses, tuple(attack.success(loss, slip) for loss in losses))
