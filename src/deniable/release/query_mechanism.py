"""A query as a mechanism on the table space: a family whose payment picks the member, and the member at a price."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.distance import Distance
from deniable.core.mechanism import Accuracy, Mechanism
from deniable.core.space import Space
from deniable.core.step import MechanismFamily
from deniable.cost import Cost
from deniable.exact.guards import Real, open_probability, positive
from deniable.query import CompiledQuery, ErrorBasis, LawName, Payment, Price, Query
from deniable.query.price import slice_error
from deniable.query.sql.explain import mechanisms_used, numbers_measured, plan_text


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMechanism(Mechanism):
    """A query at a price: one mechanism with one cost, whose answer is a packed release."""

    query: Query[Any]
    compiled: CompiledQuery
    price: Price

    def accuracy(self, *, confidence: Real = Fraction(19, 20), simultaneous: bool = False) -> Any:
        """How close each output is to its truth, as a tuple in the order of the outputs; `simultaneous` for all cells at once."""
        chance = open_probability(confidence=confidence)
        size, first = self.price.group_size, self.compiled.slices[0]
        betas = ErrorBasis(confidence=chance, group_size=size, simultaneous=simultaneous).betas(self.compiled)
        errors = [
            (name, slice_error(output, self.compiled, self.price.allocation, first, beta=betas[name], group_size=size))
            for name, output in self.compiled.outputs
        ]
        return tuple(
            Accuracy(Fraction(error.within), chance, f"{name} {error.measure}".rstrip()) for name, error in errors
        )

    def explain(self) -> str:
        """What it measures, with which noise, and what it costs."""
        lines = [*(f"measures  {line}" for line in numbers_measured(self.compiled, self.price))]
        lines += [f"by        {line}" for line in mechanisms_used(self.compiled, self.price)]
        return "\n".join([*lines, str(self.price), "plan", plan_text(self.compiled.plan)])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryFamily(MechanismFamily):
    """A query without a price. `family(epsilon=0.5)` is the member at a price; `family.at(0.5)` the same.

    Guarantee: none of its own; a member has a cost, and releasing it is releasing the query.
    """

    query: Query[Any]
    member: Callable[[Payment], QueryMechanism]

    def __repr__(self) -> str:
        asked = repr(self.query).removeprefix("Query(").partition(";")[0]
        return f"QueryFamily({asked}; .cost(epsilon=0.5), .accuracy(epsilon=0.5) and .explain(epsilon=0.5) say what a price buys)"

    @classmethod
    def of(cls, space: Space, query: Query[Any], member: Callable[[Payment], QueryMechanism]) -> QueryFamily:
        """The family of a query: its members by payment."""
        return cls(
            source=space,
            at=lambda epsilon: member(Payment(epsilon=positive(epsilon=epsilon))),
            query=query,
            member=member,
        )

    def __call__(  # type: ignore[override]
        self,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | None = None,
        delta: Real | None = None,
        law: LawName | Mapping[str, LawName] | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
        simultaneous: bool = False,
    ) -> QueryMechanism:
        """The member at a price."""
        return self.member(
            Payment.read(
                epsilon=epsilon,
                rho=rho,
                accuracy=accuracy,
                delta=delta,
                law=law,
                group_size=group_size,
                confidence=confidence,
                simultaneous=simultaneous,
            )
        )

    def cost(self, *, d_in: Distance | Real | tuple[Real, Real, Real] = 1, **payment: Any) -> Cost:  # type: ignore[override]
        """What the member at this price costs, as a record any measure can read."""
        return self(**payment).cost(d_in=d_in)

    def accuracy(self, *, confidence: Real = Fraction(19, 20), simultaneous: bool = False, **payment: Any) -> Any:
        """How close each output of the member at this price is to its truth."""
        return self(**payment).accuracy(confidence=confidence, simultaneous=simultaneous)

    def explain(self, **payment: Any) -> str:
        """What the member at this price measures, with which noise, and what it costs."""
        return self(**payment).explain()
