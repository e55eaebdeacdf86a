"""The compositor: the only object that holds private data. It checks, charges its gate, and only then runs.

Children share the data and may be used in any order, interleaved (concurrent composition): a child filter is paid for in
full when it is opened; a child odometer passes every charge on to its parent as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from deniable.accounting import NOTHING, Budget, ConcentratedRule, Rule, Spend
from deniable.accounting import budget as make_budget
from deniable.core.distance import Distance, distance
from deniable.core.domain import Frame, Rows
from deniable.core.gate import Both, Filter, Gate, Odometer, Planned
from deniable.core.mechanism import Mechanism
from deniable.core.sampler import sampler
from deniable.core.space import Space
from deniable.cost import Bounded, Concentrated, Cost, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer
from deniable.noise import Entropy, system_entropy


class Compositor:
    """Private data behind a gate.

    Guarantee: what leaves is the answer of mechanisms whose cost was charged to the gate before they saw the data.
    """

    __slots__ = ("_data", "_entropy", "d_in", "gate", "space")

    def __init__(self, data: Any, space: Space, gate: Gate, d_in: Distance, entropy: Entropy | None = None) -> None:
        self._data, self.space, self.gate, self.d_in = data, space, gate, d_in
        self._entropy = entropy

    def release(self, mechanism: Mechanism) -> Any:
        """One answer, charged first. A refusal costs nothing; a failure after the charge stays charged."""
        if mechanism.source != self.space:
            raise SpaceMismatch(f"this data lives in {self.space!r}, the mechanism expects {mechanism.source!r}")
        self.gate.charge(mechanism.privacy_map(self.d_in))
        return mechanism.function(self._data, self._entropy or system_entropy())

    def filter(self, budget: Budget, *, workload: Iterable[Cost] | None = None) -> Compositor:
        """A child with a budget of its own, paid for in full now; whatever it does not use is not given back."""
        rule = budget.rule(workload)
        self.gate.charge(_whole(budget))
        return Compositor(self._data, self.space, Filter(rule), self.d_in, self._entropy)

    def odometer(self) -> Compositor:
        """A child that counts its own spending while every charge is also made here."""
        inner = Odometer(_rule_of(self.gate))
        return Compositor(self._data, self.space, Both(self.gate, inner), self.d_in, self._entropy)

    def planned(self, costs: Sequence[Cost]) -> Compositor:
        """A child for a list of costs fixed now and charged now, whose queries may still be chosen as answers arrive."""
        gate = Planned(costs)
        self.gate.charge(gate.total)
        return Compositor(self._data, self.space, gate, self.d_in, self._entropy)

    def batches(
        self, costs: Sequence[Cost], *, steps: int, rate: Real | None = None, size: int | None = None
    ) -> Iterator[Compositor]:
        """`steps` fresh secret samples of the data, one after another, each a compositor for the `costs` of one training step.

        Drawing a batch charges it here, amplified, before it is drawn; it then takes the declared costs and no others. What is
        charged is what is drawn: a batch comes from nowhere else.

        Guarantee: every batch costs `Sampled`, as the sampler's own price says; one unit at a time.
        """
        drawn, each = sampler(self.space, rate=rate, size=size), tuple(costs)
        price, count = drawn.cost(lambda _: composed(each), self.d_in), integer(steps=steps, least=0)

        def drawing() -> Iterator[Compositor]:
            for _ in range(count):
                self.gate.charge(price)
                batch = drawn.draw(self._data, self._entropy or system_entropy())
                yield Compositor(batch, drawn.target, Planned(each), self.d_in, self._entropy)

        return drawing()

    @property
    def spent(self) -> Spend:
        """What this compositor has spent."""
        return _counting(self.gate).spent

    @property
    def remaining(self) -> Spend:
        """What is left; only a filter knows."""
        gate = self.gate
        if not isinstance(gate, Filter):
            raise InvalidArgument("only a filter has a remaining budget; this compositor counts or follows a plan")
        return gate.remaining

    @property
    def adaptivity(self) -> Any:
        """What may be chosen from earlier answers, by the theorem this gate stands on."""
        return self._inner.adaptivity

    @property
    def theorem(self) -> str:
        """The theorem that all answers of this compositor together rest on, and why it was picked."""
        gate = self._inner
        return gate.theorem if isinstance(gate, Planned) else f"{gate.rule.theorem}; {gate.rule.reason}"

    @property
    def _inner(self) -> Filter | Odometer | Planned:
        gate = self.gate.inner if isinstance(self.gate, Both) else self.gate
        if not isinstance(gate, Filter | Odometer | Planned):
            raise InvalidArgument(f"a {type(gate).__name__} does not say which theorem it rests on")
        return gate

    def __repr__(self) -> str:
        return f"Compositor({self.space!r}, d_in={self.d_in})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Compositor holds private data and a budget: it cannot be copied or pickled")


def _counting(gate: Gate) -> Filter | Odometer:
    inner = gate.inner if isinstance(gate, Both) else gate
    if isinstance(inner, Filter | Odometer):
        return inner
    raise InvalidArgument("a planned compositor spends its declared plan; read `gate.total`")


def _whole(budget: Budget) -> Cost:
    """A budget as a cost: what a child that spends all of it does to its parent."""
    if budget.rho is not None:
        return Concentrated(rho=budget.rho, delta=budget.delta)
    return Bounded(epsilon=budget.epsilon or 0, delta=budget.delta)


def _rule_of(gate: Gate) -> Rule:
    """How a child odometer counts: as its parent does; under a plan, which counts nothing, in rho."""
    inner = gate.inner if isinstance(gate, Both) else gate
    if isinstance(inner, Planned):
        return ConcentratedRule(NOTHING, reason="the parent follows a plan; every cost here has a rho or a delta")
    return _counting(gate).rule


def _sized_as_said(data: Any, space: Space) -> None:
    """Where the number of rows is declared public it must be true: losses for replaced rows rest on it."""
    domain = space.domain
    if not isinstance(domain, Rows | Frame) or domain.size is None:
        return
    rows = data if isinstance(domain, Rows) else data[next(iter(domain.columns))]
    if len(rows) != domain.size:
        raise InvalidArgument(
            f"the space declares {domain.size} rows as public and the data has another number; correct size, or resize"
        )


def compositor(
    data: Any,
    space: Space,
    *,
    budget: Budget | None = None,
    costs: Sequence[Cost] | None = None,
    workload: Iterable[Cost] | None = None,
    d_in: Distance | Real | tuple[Real, Real, Real] = 1,
    entropy: Entropy | None = None,
) -> Compositor:
    """Hold `data` behind a budget (losses chosen as you go) or behind a list of `costs` fixed beforehand.

    With a `workload`, the costs you expect to ask for, a budget with a delta picks the rule under which they fit most often;
    `theorem` says which. Other questions may still be asked.

    Guarantee: all answers together satisfy the budget, or cost the declared list.
    """
    if (budget is None) == (costs is None):
        raise InvalidArgument("give a budget (a filter) or a list of costs (a plan), not both and not neither")
    _sized_as_said(data, space)
    if workload is not None and budget is None:
        raise InvalidArgument("a workload helps a budget to choose its rule; a plan needs none")
    gate: Gate = Filter(budget.rule(workload)) if budget is not None else Planned(costs or ())
    return Compositor(data, space, gate, distance(d_in), entropy)


def odometer(
    data: Any,
    space: Space,
    *,
    d_in: Distance | Real | tuple[Real, Real, Real] = 1,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Compositor:
    """Hold `data` behind an odometer, which counts and never refuses.

    The count is kept in the measure of `budget` when one is given (its limit is not enforced), else as (epsilon, delta) sums.
    """
    _sized_as_said(data, space)
    rule = (budget or make_budget(epsilon=0)).rule()
    return Compositor(data, space, Odometer(rule), distance(d_in), entropy)
