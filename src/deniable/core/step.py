"""A step is a transformation or mechanism still waiting for the space it will be built on.

`clamp(lower=0, upper=100)` is a step; `space >> clamp(lower=0, upper=100)` is a transformation. Constructors are written
as functions of a space and turned into steps by `@step`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.transformation import Transformation
from deniable.errors import SpaceMismatch

Built_co = TypeVar("Built_co", bound=Transformation | Mechanism, covariant=True)
Built = TypeVar("Built", bound=Transformation | Mechanism)
Later = TypeVar("Later", bound=Transformation | Mechanism)
P = ParamSpec("P")


class Step(Generic[Built_co]):
    """What will be built once a space arrives. `first >> second` is a step as well."""

    __slots__ = ("_constructor", "name")

    def __init__(self, name: str, constructor: Callable[[Space], Built_co]) -> None:
        self.name, self._constructor = name, constructor

    def build(self, space: Space) -> Built_co:
        """The transformation or mechanism on this space, or `SpaceMismatch`."""
        return self._constructor(space)

    def after(self, before: Transformation) -> Built_co:
        """Build on the output space of `before` and chain."""
        chained: Any = self.build(before.target).after(before)
        return chained  # type: ignore[no-any-return]

    def __rshift__(self, following: Step[Later]) -> Step[Later]:
        def both(space: Space) -> Later:
            first = self.build(space)
            if not isinstance(first, Transformation):
                raise SpaceMismatch(f"{self.name} is a mechanism: only a function of its answer may follow it")
            return first >> following

        return Step(f"{self.name} >> {following.name}", both)

    def __repr__(self) -> str:
        return self.name


def step(constructor: Callable[Concatenate[Space, P], Built]) -> Callable[P, Step[Built]]:
    """Turn a function of (space, parameters) into one of the parameters alone that returns a `Step`."""

    @functools.wraps(constructor)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> Step[Built]:
        told = ", ".join([*(repr(a) for a in args), *(f"{k}={v!r}" for k, v in kwargs.items())])
        return Step(f"{constructor.__name__}({told})", lambda space: constructor(space, *args, **kwargs))

    return waiting
