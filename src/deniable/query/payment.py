"""What is paid for one release: one of epsilon, rho or a wanted accuracy, and how its errors are stated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, TypeAlias, TypedDict, TypeVar

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability, positive, probability, shown
from deniable.kernels import Law

LawName: TypeAlias = Law | str
"""A law of noise, or its name in lower case: "laplace", "gaussian", "discrete gaussian" and so on."""

_LAWS = {law.name.lower().replace("_", " "): law for law in Law}

Call = TypeVar("Call", bound=Callable[..., Any])


class PaymentTerms(TypedDict, total=False):
    """What a call says about its payment: the keywords of `price`, `release` and `sql`."""

    epsilon: Real | None
    rho: Real | None
    accuracy: Mapping[str, Real | str] | Real | None
    delta: Real | None
    law: LawName | Mapping[str, LawName] | None
    group_size: int
    confidence: Real
    simultaneous: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """At most one of epsilon, rho and accuracy, checked.

    `delta` is what may be spent besides (None: the session's share). `law` fixes the noise of everything, `laws` that of single
    outputs. Errors are stated at `confidence`, of each number or `simultaneous` of all, and for groups of `group_size`.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    accuracy: Mapping[str, Fraction] | Fraction | None = None
    delta: Fraction | None = None
    law: Law | None = None
    laws: tuple[tuple[str, Law], ...] = ()
    confidence: Fraction = Fraction(19, 20)
    group_size: int = 1000
    simultaneous: bool = False
    shares: frozenset[str] = frozenset()
    """Outputs whose wanted error was said as a share such as "5%"; it stands in `accuracy` as that share of `group_size`."""

    @classmethod
    def read(
        cls,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real | str] | Real | None = None,
        delta: Real | None = None,
        law: LawName | Mapping[str, LawName] | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
        simultaneous: bool = False,
    ) -> Payment:
        """The payment in a call's arguments."""
        given = {"epsilon": epsilon, "rho": rho, "accuracy": accuracy}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise InvalidArgument(f"say what to pay: epsilon=, rho= or accuracy=, one of them; got {named}")
        if not isinstance(simultaneous, bool):
            raise InvalidArgument(f"simultaneous must be True or False, got {simultaneous!r}")
        return cls(
            epsilon=None if epsilon is None else positive(epsilon=epsilon),
            rho=None if rho is None else positive(rho=rho),
            accuracy=_wanted(accuracy, integer(group_size=group_size, least=1)),
            shares=frozenset(_shares(accuracy)),
            delta=None if delta is None else _below_one(delta),
            law=None if law is None or isinstance(law, Mapping) else law_of(law),
            laws=tuple((name, law_of(each)) for name, each in law.items()) if isinstance(law, Mapping) else (),
            confidence=open_probability(confidence=confidence),
            group_size=integer(group_size=group_size, least=1),
            simultaneous=simultaneous,
        )

    @classmethod
    def of(cls, terms: PaymentTerms, unnamed: Sequence[object] = ()) -> Payment:
        """The payment a call states in its keywords; a keyword that is none is answered with the nearest one."""
        if unnamed:
            raise InvalidArgument(f"say what is paid by name: epsilon={shown(unnamed[0])}")
        for name in terms:
            if name not in PaymentTerms.__annotations__:
                near = get_close_matches(name, PaymentTerms.__annotations__, n=1)
                advice = f"did you mean {near[0]}=?" if near else f"say {', '.join(PaymentTerms.__annotations__)}"
                raise InvalidArgument(f"there is no argument {name}= here; {advice}")
        return cls.read(**terms)

    @property
    def is_open(self) -> bool:
        """Whether nothing is said about how much to pay."""
        return self.epsilon is None and self.rho is None and self.accuracy is None

    def otherwise(
        self,
        *,
        epsilon: Fraction | None = None,
        delta: Fraction | None = None,
        law: Law | None = None,
        laws: tuple[tuple[str, Law], ...] = (),
    ) -> Payment:
        """The same with these where it says nothing itself: what a statement says about its own price."""
        return replace(
            self,
            epsilon=epsilon if self.is_open else self.epsilon,
            delta=delta if self.delta is None else self.delta,
            law=law if self.law is None and not self.laws else self.law,
            laws=laws if self.law is None and not self.laws else self.laws,
        )


def law_of(law: LawName) -> Law:
    """A law by its name."""
    if isinstance(law, Law):
        return law
    if law not in _LAWS:
        raise InvalidArgument(f"law must be one of {', '.join(map(repr, _LAWS))}, got {law!r}")
    return _LAWS[law]


def _wanted(
    accuracy: Mapping[str, Real | str] | Real | str | None, group_size: int
) -> Mapping[str, Fraction] | Fraction | None:
    if accuracy is None:
        return None
    if isinstance(accuracy, str):
        raise InvalidArgument(f"accuracy names its outputs, such as accuracy={{'n': {accuracy!r}}}")
    if not isinstance(accuracy, Mapping):
        return positive(accuracy=accuracy)
    return {
        name: _share_of(value, str(name)) * group_size if isinstance(value, str) else positive(**{str(name): value})
        for name, value in accuracy.items()
    }


def _below_one(delta: Real) -> Fraction:
    if probability(delta=delta) == 1:
        raise InvalidArgument(f"delta must be below 1, got {delta!r}: with 1 anything may be published")
    return probability(delta=delta)


def _shares(accuracy: Mapping[str, Real | str] | Real | None) -> list[str]:
    return [name for name, value in accuracy.items() if isinstance(value, str)] if isinstance(accuracy, Mapping) else []


def _share_of(text: str, name: str) -> Fraction:
    """A share written as `5%`."""
    try:
        return positive(**{name: Fraction(text.removesuffix("%").strip()) / 100 if text.endswith("%") else Fraction(0)})
    except (ValueError, ZeroDivisionError, InvalidArgument):
        raise InvalidArgument(
            f"accuracy of {name}: say an error such as 10, or a share such as '5%', got {text!r}"
        ) from None


def with_payment(call: Call) -> Call:
    """A call that takes `**payment`, with the keywords of a payment in the signature that help() and notebooks show."""
    own = inspect.signature(call)
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    kept = [each for each in own.parameters.values() if each.kind not in several]
    terms = list(inspect.signature(Payment.read).parameters.values())
    call.__signature__ = own.replace(parameters=[*kept, *terms])  # type: ignore[attr-defined]
    return call
