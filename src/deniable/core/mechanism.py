"""Mechanisms: random answers that say what one answer costs, as a record, and where they know it, how likely an answer was.

`mechanism(data)` is the unmetered path, for building and studying. With real data use a session or a compositor: they
charge first and remember.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, Protocol

from deniable import accounting
from deniable.core.distance import Distance, distance
from deniable.core.space import Space
from deniable.core.transformation import Transformation, chain, meet, told
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact import Interval
from deniable.exact.guards import Real, open_probability, probability
from deniable.noise import Entropy, system_entropy


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


@dataclass(frozen=True, slots=True)
class Utility:
    """How good an answer is, in the mechanism's own terms.

    `error(beta)` is exact or rounded up: with probability at least 1 - beta the answer's `measure` is within it. Where that is
    said of each of several outputs, `everywhere(beta)` is the error none of them exceeds, with the same probability.
    """

    measure: str
    error: Callable[[Fraction], Fraction]
    everywhere: Callable[[Fraction], Fraction] | None = None

    def accuracy(self, *, confidence: Real, simultaneous: bool) -> Accuracy:
        """What is stated at this confidence: of each output, or of all at once."""
        chance = open_probability(confidence=confidence)
        if not simultaneous or self.everywhere is None:  # an answer that is one thing has one error
            return Accuracy(self.error(1 - chance), chance, self.measure)
        return Accuracy(self.everywhere(1 - chance), chance, f"{self.measure}, all at once")

    def reworded(self, words: Callable[[Utility], Utility]) -> Utility:
        return words(self)


@dataclass(frozen=True, slots=True)
class Utilities:
    """Of an answer that is a tuple: how good each entry is, in order; None where none is stated."""

    entries: tuple[Utility | Utilities | None, ...]

    def accuracy(self, *, confidence: Real, simultaneous: bool) -> Any:
        """Of each entry by itself, or with `simultaneous` such that all of them hold together (a union bound)."""
        chance = open_probability(confidence=confidence)
        stated = sum(each is not None for each in self.entries) if simultaneous else 1
        alone = 1 - (1 - chance) / max(stated, 1)
        found = [each and each.accuracy(confidence=alone, simultaneous=simultaneous) for each in self.entries]
        return _stated_at(chance, found)

    def reworded(self, words: Callable[[Utility], Utility]) -> Utilities:
        """The same of each entry, in other words."""
        return Utilities(tuple(each and each.reworded(words) for each in self.entries))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """With probability at least `confidence` the answer is within `error`, measured as `measure` says."""

    error: Fraction
    confidence: Fraction
    measure: str

    def __float__(self) -> float:
        return float(self.error)

    def __str__(self) -> str:
        from deniable.exact.figures import error_figures

        within = "±" if self.measure.startswith(("value ", "value,")) or self.measure == "value" else "off by at most"
        return f"{within} {error_figures(self.error)} ({self.measure}) with probability {float(self.confidence):g}"


def _stated_at(confidence: Fraction, found: Iterable[Any]) -> tuple[Any, ...]:
    """Errors as they are stated together: at the confidence that was asked, not the one each of them needed for it."""
    return tuple(
        replace(each, confidence=confidence) if isinstance(each, Accuracy) else each and _stated_at(confidence, each)
        for each in found
    )


@dataclass(frozen=True, slots=True, repr=False)
class Mechanism:
    """d(x, y) <= d implies that the laws of the answers are as close as the cost `privacy_map(d)` says.

    `recipe` is the text of the whole chain where every piece is one of ours with plain parameters; None where it is unknown.
    `likelihood` compares the laws of its answers on two data sets; None where they have no closed form.
    """

    source: Space
    function: Callable[[Any, Entropy], Any]
    privacy_map: Callable[[Distance], Cost]
    utility: Utility | Utilities | None = None
    claims: tuple[str, ...] = ()
    parameter: Any = None
    recipe: str | None = None
    likelihood: Likelihood | None = None

    def __repr__(self) -> str:
        return f"Mechanism({told(self.recipe)}; its price is .loss(d_in=1), its error .accuracy())"

    def __call__(self, data: Any, *, entropy: Entropy | None = None) -> Any:
        """One draw, unmetered."""
        return self.function(data, entropy or system_entropy())

    def cost(self, *, d_in: Distance | Real | tuple[Real, Real, Real] = 1) -> Cost:
        """What one answer costs when neighbours are `d_in` apart, as a record any measure can read."""
        return self.privacy_map(distance(d_in))

    def loss(self, *, d_in: Distance | Real | tuple[Real, Real, Real] = 1, delta: Real = 0) -> accounting.Bracket:
        """The cost read as epsilon at `delta`, by the tightest theorem we have."""
        return accounting.epsilon(self.cost(d_in=d_in), delta=probability(delta=delta))

    def accuracy(self, *, confidence: Real = Fraction(19, 20), simultaneous: bool = False) -> Accuracy:
        """How close the answer is to the truth it randomises, in this mechanism's own utility.

        Of many outputs the error is that of each one, or with `simultaneous` one that all keep to together. Of several mechanisms
        made into one it is a tuple, one for each, and None where none is stated.
        """
        if self.utility is None:
            raise InvalidArgument(
                "this mechanism states no accuracy: ask the mechanism before its answer was processed further, "
                "or state one with utility=dp.calculus.Utility(measure, error) in post or own_mechanism"
            )
        return self.utility.accuracy(confidence=confidence, simultaneous=simultaneous)

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
            recipe=chain(before.recipe, self.recipe),
            likelihood=None if self.likelihood is None else Behind(self.likelihood, first),
        )

    def post(self, function: Callable[[Any], Any], *, utility: Utility | None = None) -> Mechanism:
        """Anything computed from the answer alone.

        Guarantee: post-processing; the cost does not change. The old accuracy no longer applies unless a new one is given.
        """
        before = self.function
        return replace(
            self,
            function=lambda data, entropy: function(before(data, entropy)),
            utility=utility,
            recipe=None,
            likelihood=None,
        )

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
