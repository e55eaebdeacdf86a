"""The laws of answers in closed form: added noise, randomized response and the exponential choice.

An answer is compared as people read it. One that the mechanism never gives, or that stands for several (at the ends of 64
bits, or where floats are coarser than the grid), is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core.cells import cells, countable
from deniable.core.cells import whole as whole_number
from deniable.errors import InvalidArgument
from deniable.exact import Interval, exp, ln, number_of
from deniable.exact.guards import rational, shown
from deniable.kernels import Noise
from deniable.mechanisms.carried import Carried, read_steps
from deniable.mechanisms.scores import Scores

_RARE = Fraction(1, 100)
_SHOWN = 200
_ROOM = 1 << 62
_BITS = 96


@dataclass(frozen=True, slots=True)
class NoisyLikelihood:
    """Independent noise on one number or on each of several."""

    noise: Noise
    values: Carried

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        pairs = zip(self._counts(answer), self._steps(left), self._steps(right), strict=True)
        losses = (self.noise.loss(near=count - here, far=count - there) for count, here, there in pairs)
        return sum(losses, Interval.point(0))

    def answers(self, left: Any, right: Any) -> Sequence[Any]:
        if self.values.size is not None:
            return ()
        ends, reach = [*self._steps(left), *self._steps(right)], self.noise.error(_RARE)
        low, high = min(ends) - reach, max(ends) + reach
        return [self.values.lattice.read(count) for count in range(low, high + 1, (high - low) // _SHOWN + 1)]

    def _steps(self, data: Any) -> list[int]:
        return [whole_number(data) or 0] if self.values.size is None else self.values.steps(data).tolist()

    def _counts(self, answer: Any) -> list[int]:
        if self.values.size is None:
            return [self._count(answer, self.values.lattice.read)]
        keys = self.values.keys
        given = [answer.get(key) for key in keys] if keys is not None and isinstance(answer, dict) else cells(answer)
        if len(given) != self.values.size or (keys is not None and not isinstance(answer, dict)):
            raise InvalidArgument(
                f"an answer has {number_of(self.values.size, 'entry', 'entries')}, got {shown(answer)}"
            )
        return [self._count(each, self._read) for each in given]

    def _read(self, count: int) -> Any:
        return read_steps(self.values.lattice, np.array([count])).tolist()[0] if abs(count) < _ROOM else None

    def _count(self, answer: Any, read: Callable[[int], Any]) -> int:
        """How many steps this answer is."""
        exact, width = rational(answer=answer), self.values.step
        count = round(exact / width)
        value = read(count)
        if (
            value is None
            or exact not in (count * width, rational(answer=value))
            or value in map(read, (count - 1, count + 1))
        ):
            raise InvalidArgument(
                f"answer {shown(answer)} is not one this mechanism gives: the step is {width}, within 64 bits for vectors"
            )
        return count


@dataclass(frozen=True, slots=True)
class ResponseLikelihood:
    """Randomized response on one answer, or on each of several."""

    possible: tuple[Hashable, ...]
    truth: Fraction
    many: bool

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        given, here, there = (self._places(each) for each in (answer, left, right))
        if not len(given) == len(here) == len(there) or None in given:
            raise InvalidArgument(f"answer {shown(answer)} is not one that both data sets can give")
        told = zip(given, here, there, strict=True)
        net = sum(
            (each == (one or 0)) - (each == (two or 0)) for each, one, two in told
        )  # what is no answer is the first
        return net * ln(self.truth * (len(self.possible) - 1) / (1 - self.truth)) if net else Interval.point(0)

    def answers(self, left: Any, right: Any) -> Sequence[Any]:
        return () if self.many else self.possible

    def _places(self, data: Any) -> list[int | None]:
        """Positions among the possible answers; None for what is none of them."""
        places = {countable(answer): place for place, answer in enumerate(self.possible)}
        return [places.get(countable(each)) for each in (cells(data) if self.many else [data])]


@dataclass(frozen=True, slots=True)
class CoinLikelihood:
    """True with a chance that the data decide."""

    chance: Callable[[Any], Fraction]

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        if countable(answer) not in ((bool, True), (bool, False)):
            raise InvalidArgument(f"this mechanism answers True or False, got {shown(answer)}")
        here, there = (self.chance(data) if answer else 1 - self.chance(data) for data in (left, right))
        return ln(here / there)

    def answers(self, left: Any, right: Any) -> Sequence[Any]:
        return (True, False)


@dataclass(frozen=True, slots=True)
class ChoiceLikelihood:
    """A candidate with probability proportional to exp(score / scale), scores and scale in steps."""

    candidates: Scores
    scale: Fraction

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        names = self.answers(left, right)
        if countable(answer) not in map(countable, names):
            raise InvalidArgument(f"answer {shown(answer)} is not one of the candidates")
        place = [countable(name) for name in names].index(countable(answer))
        return self._log_chance(left, place) - self._log_chance(right, place)

    def answers(self, left: Any, right: Any) -> Sequence[Any]:
        return [self.candidates.named(index) for index in range(self.candidates.count)]

    def _log_chance(self, data: Any, place: int) -> Interval:
        """(score - best)/scale - ln of the sum of all exp((score - best)/scale)."""
        scores = [int(score) for score in self.candidates.steps(data).tolist()]
        best = max(scores)
        total = Interval.point(0)
        for score in scores:
            total = (total + exp((score - best) / self.scale, _BITS)).rounded(_BITS)
        return Fraction(scores[place] - best) / self.scale - ln(total, _BITS)
