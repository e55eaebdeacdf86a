"""Transformations: functions between spaces that say how far apart close inputs can drift."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from deniable.core.distance import Distance, distance, then
from deniable.core.domain import shown
from deniable.core.space import Space
from deniable.errors import SpaceMismatch
from deniable.exact.guards import Real
from deniable.noise import Entropy, system_entropy

Chained_co = TypeVar("Chained_co", covariant=True)
Chained = TypeVar("Chained")


class Follows(Protocol[Chained_co]):
    """Whatever may stand to the right of a transformation: a transformation, a mechanism, or a step of either."""

    def after(self, before: Transformation) -> Chained_co:
        """This, on the output of `before`; refused with `SpaceMismatch` where the two do not meet."""
        ...


def meet(left: Space, right: Space, what: str) -> None:
    """Refuse a chain whose ends are not the same space."""
    if left != right:
        raise SpaceMismatch(f"{what} expects {right!r}, but the chain so far gives {left!r}")


def chain(first: str | None, second: str | None) -> str | None:
    """The recipe of two pieces after one another; unknown where one of them is."""
    return None if first is None or second is None else f"{first} >> {second}"


def told(recipe: str | None) -> str:
    """A recipe for people: a query's plan inside it is left out."""
    return "with a function of its author" if recipe is None else re.sub(r"\{.*\}", "...", recipe, flags=re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class Transformation:
    """d(x, y) <= d implies d(f(x), f(y)) <= stability_map(d).

    `function(data, entropy)` may draw (a random subset, a random assignment); then the promise is about a coupling of the
    two outputs. `claims` names the pieces whose map is trusted on their author's word. `recipe` is the text of the whole
    chain where every piece is one of ours with plain parameters, so that equal texts do the same; None where it is unknown.
    """

    source: Space
    target: Space
    function: Callable[[Any, Entropy], Any]
    stability_map: Callable[[Distance], Distance]
    claims: tuple[str, ...] = ()
    recipe: str | None = None

    def __repr__(self) -> str:
        return f"Transformation({told(self.recipe)}; a mechanism that adds noise may follow)"

    def __call__(self, data: Any, *, entropy: Entropy | None = None) -> Any:
        """The transformed data, in the numbers people read. Private data in, private data out: this is not a release.

        Inside a chain numbers on a grid are handed on as whole numbers of steps: see `steps`.
        """
        return shown(self.steps(data, entropy=entropy), self.target.domain)

    def steps(self, data: Any, *, entropy: Entropy | None = None) -> Any:
        """The transformed data as the next step of a chain gets it: numbers on a grid as whole numbers of steps, exact."""
        return self.function(data, entropy or system_entropy())

    def map(self, *, d_in: Distance | Real | tuple[Real, Real, Real]) -> Distance:
        """The most the output can move when the input moves by `d_in`."""
        return self.stability_map(distance(d_in))

    def __rshift__(self, after: Follows[Chained]) -> Chained:
        return after.after(self)

    def after(self, before: Transformation) -> Transformation:
        """This transformation on the output of another; `before >> this` calls it."""
        meet(before.target, self.source, "the next transformation")
        first, second = before.function, self.function
        return Transformation(
            before.source,
            self.target,
            lambda data, entropy: second(first(data, entropy), entropy),
            then(before.stability_map, self.stability_map),
            (*before.claims, *self.claims),
            chain(before.recipe, self.recipe),
        )


def own_transformation(
    source: Space,
    target: Space,
    *,
    function: Callable[[Any], Any],
    stability_map: Callable[[Distance], Distance],
    author: str,
) -> Transformation:
    """A transformation of your own.

    Guarantee: the one its `author` claims; `claims` carries the name into everything built on it, and
    `deniable.testing` can try to refute it.
    """
    return Transformation(
        source, target, lambda data, _: function(data), stability_map, (f"{author}: {_name(function)}",)
    )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
