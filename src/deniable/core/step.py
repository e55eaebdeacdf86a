"""A step is a transformation or mechanism still waiting for the space it will be built on; a family waits for its scale.

`clamp(lower=0, upper=100)` is a step; `space >> clamp(lower=0, upper=100)` is a transformation. Constructors are written
as functions of a space and turned into steps by `@step`. A mechanism whose `scale` is left out is a family: mechanisms that
differ in the scale of their noise alone, which is solved for when a price is known.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar

from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.transformation import Transformation, meet
from deniable.errors import DeniableError, InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, shown

Built_co = TypeVar("Built_co", bound=Transformation | Mechanism, covariant=True)
Built = TypeVar("Built", bound=Transformation | Mechanism)
Later = TypeVar("Later", bound=Transformation | Mechanism)
P = ParamSpec("P")


class Step(Generic[Built_co]):
    """What will be built once a space arrives. `first >> second` is a step as well."""

    __slots__ = ("_constructor", "is_known", "name")

    def __init__(self, name: str, constructor: Callable[[Space], Built_co], *, is_known: bool = False) -> None:
        self.name, self._constructor, self.is_known = name, constructor, is_known

    def build(self, space: Space) -> Built_co:
        """The transformation or mechanism on this space, or `SpaceMismatch`."""
        built: Any = self._constructor(space)
        if isinstance(built, Transformation | Mechanism):
            built = replace(built, recipe=self.name if self.is_known else None)
        return built  # type: ignore[no-any-return]

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

        return Step(f"{self.name} >> {following.name}", both, is_known=self.is_known and following.is_known)

    def __repr__(self) -> str:
        return self.name


def step(constructor: Callable[Concatenate[Space, P], Built]) -> Callable[P, Step[Built]]:
    """Turn a function of (space, parameters) into one of the parameters alone that returns a `Step`."""

    ours = constructor.__module__.startswith("deniable.")
    settings = list(inspect.signature(constructor).parameters.values())[1:]
    has_scale = any(each.name == "scale" and each.default is each.empty for each in settings)

    @functools.wraps(constructor)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> Step[Built]:
        _check_settings(constructor.__name__, settings, args, kwargs)
        told = ", ".join([*(repr(a) for a in args), *(f"{k}={v!r}" for k, v in kwargs.items())])
        name, is_known = f"{constructor.__name__}({told})", ours and all(map(_is_plain, (*args, *kwargs.values())))
        if has_scale and "scale" not in kwargs:
            return Step(name, lambda space: _family(space, waiting, args, kwargs))
        return Step(name, lambda space: _made(space, constructor, settings, args, kwargs), is_known=is_known)

    return waiting


def _made(
    space: Space, constructor: Callable[..., Any], settings: list[inspect.Parameter], args: tuple[Any, ...], kwargs: Any
) -> Any:
    """What is built; a setting of ours that is of another kind than it takes, or too large for it, is refused in words."""
    try:
        return constructor(space, *args, **kwargs)
    except DeniableError:
        raise
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        if not constructor.__module__.startswith("deniable."):
            raise
        given = ", ".join([*map(shown, args), *(f"{key}={shown(value)}" for key, value in kwargs.items())])
        taken = ", ".join(str(each) for each in settings).replace("'", "")
        raise InvalidArgument(
            f"{constructor.__name__} cannot be built from {given}: one of these is of another kind, or larger, than it takes; "
            f"it takes {taken}"
        ) from error


def _check_settings(
    name: str, settings: list[inspect.Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse, before there is a space, settings that the constructor does not take; a scale may be left out."""
    given = {each.name: Fraction(1) for each in settings if each.name == "scale"} | kwargs
    try:
        inspect.Signature(settings).bind(*args, **given)
    except TypeError:
        required = [each for each in settings if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
        unknown = [repr(key) for key in kwargs if key not in {each.name for each in settings}]
        left = [each for place, each in enumerate(required) if not (_by_place(each) and place < len(args))]
        missing = [each.name for each in left if each.name not in given]
        listed = ", ".join(each.name for each in settings)
        if not settings:
            raise InvalidArgument(f"{name} has no settings: {name}()") from None
        if unknown:
            raise InvalidArgument(f"{name} has no setting {unknown[0]}; it takes {listed}") from None
        if missing:
            shown = ", ".join(each.name if _by_place(each) else f"{each.name}=..." for each in required)
            raise InvalidArgument(f"{name} needs {' and '.join(missing)}: {name}({shown})") from None
        raise InvalidArgument(f"{name} takes its settings by name, and these: {listed}") from None


def _by_place(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.POSITIONAL_OR_KEYWORD


def _family(space: Space, constructor: Callable[..., Step[Any]], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """All the mechanisms of this constructor on a space, by their scale."""
    return MechanismFamily(space, lambda scale: constructor(*args, **kwargs, scale=scale).build(space))


def _is_plain(value: Any) -> bool:
    """Whether equal texts of this parameter mean equal parameters."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | Fraction | str | Enum)


@dataclass(frozen=True, slots=True, repr=False)
class MechanismFamily:
    """One mechanism for every scale: `space >> laplace()` where `space >> laplace(scale=2)` is its member at 2.

    Guarantee: none of its own; it cannot be run. `at` gives a mechanism with its cost, `dp.calibrate(family.at, ...)` the one
    that meets a target, and `session.release(family, epsilon=...)` solves for the price that is paid.
    """

    source: Space
    at: Callable[[Real], Mechanism]

    def __repr__(self) -> str:
        return "MechanismFamily(a mechanism without its scale: what is paid solves for it, session.release(..., epsilon=1))"

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
