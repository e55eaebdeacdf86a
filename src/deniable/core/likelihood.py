"""How likely an answer is on one data set against another, where a mechanism knows it in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from deniable.errors import InvalidArgument
from deniable.exact import Interval
from deniable.noise import Entropy


class Likelihood(Protocol):
    """The law of a mechanism's answers, as far as two data sets are compared by it."""

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        """An enclosure of ln P[answer on left] / P[answer on right]; an answer that is never given is refused."""
        ...

    def answers(self, left: Any, right: Any) -> Sequence[Any]:
        """The answers a picture should show, none where an answer is more than one thing."""
        ...


@dataclass(frozen=True, slots=True)
class Behind:
    """The likelihood of a mechanism on transformed data; a transformation that draws at random has none."""

    law: Likelihood
    function: Callable[[Any, Entropy], Any]

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        return self.law.loss(answer, self._moved(left), self._moved(right))

    def answers(self, left: Any, right: Any) -> Sequence[Any]:
        return self.law.answers(self._moved(left), self._moved(right))

    def _moved(self, data: Any) -> Any:
        return self.function(data, _Undrawn())


class _Undrawn(Entropy):
    """Entropy for what must not draw."""

    __slots__ = ()

    def word(self) -> NoReturn:
        _refuse()

    def words(self, count: int) -> NoReturn:
        _refuse()


def _refuse() -> NoReturn:
    raise InvalidArgument("a step before the mechanism draws at random, so the loss at one answer has no closed form")
