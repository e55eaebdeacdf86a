"""What is paid for one release: one of epsilon, rho or a wanted accuracy, and how its errors are stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability, positive, probability
from deniable.kernels import Law

LawName: TypeAlias = Law | str
"""A law of noise, or its name: "laplace", "gaussian", "discrete gaussian"."""

_LAWS = {"laplace": Law.LAPLACE, "gaussian": Law.GAUSSIAN, "discrete gaussian": Law.DISCRETE_GAUSSIAN}


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

    @classmethod
    def read(
        cls,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | Real | None = None,
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
            accuracy=_wanted(accuracy),
            delta=None if delta is None else probability(delta=delta),
            law=None if law is None or isinstance(law, Mapping) else law_of(law),
            laws=tuple((name, law_of(each)) for name, each in law.items()) if isinstance(law, Mapping) else (),
            confidence=open_probability(confidence=confidence),
            group_size=integer(group_size=group_size, least=1),
            simultaneous=simultaneous,
        )

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


def _wanted(accuracy: Mapping[str, Real] | Real | None) -> Mapping[str, Fraction] | Fraction | None:
    if accuracy is None:
        return None
    if isinstance(accuracy, Mapping):
        return {name: positive(**{str(name): value}) for name, value in accuracy.items()}
    return positive(accuracy=accuracy)
