"""The compositor: the only object that holds private data. It checks, charges its gate, and only then runs.

Children share the data and may be used in any order, interleaved (concurrent composition): a child filter is paid for in
full when it is opened; a child odometer passes every charge on to its parent as well.

An interactive mechanism is a function that asks a compositor again and again, under costs that are fixed beforehand: training
a model, growing a tree, fitting marginals. Its whole list of costs is charged at once, so it is read by the tightest theorem;
what it asks may depend on what it was answered, how much it spends may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NoReturn

from deniable import accounting
from deniable.accounting import NOTHING, Spend
from deniable.core.cells import entry, row_total
from deniable.core.distance import Distance, distance, plain
from deniable.core.domain import Domain, Frame, Frames, Pieces, Rows
from deniable.core.gate import Both, Gate, Odometer, Planned, PrivacyFilter
from deniable.core.graph_data import Graphs, read_graph
from deniable.core.mechanism import Mechanism
from deniable.core.sampler import sampler
from deniable.core.space import Space
from deniable.core.step import Step
from deniable.core.stream import pipe
from deniable.cost import Bounded, Cost, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import number_of
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

    def release(self, mechanism: Mechanism | Step[Mechanism]) -> Any:
        """One answer, charged first; of an interactive mechanism a run that goes on answering, charged for all of it.

        A refusal costs nothing; a failure after the charge stays charged. A step is built on the space of the data.
        """
        if isinstance(mechanism, Step):
            mechanism = mechanism.build(self.space)
        if not isinstance(mechanism, Mechanism):
            raise InvalidArgument(
                f"only a mechanism can be released, got a {type(mechanism).__name__}; give it noise and a scale"
            )
        if mechanism.source != self.space:
            raise SpaceMismatch(f"this data lives in {self.space!r}, the mechanism expects {mechanism.source!r}")
        self.gate.charge(mechanism.privacy_map(self.d_in))
        return mechanism.function(self._data, self._entropy or system_entropy())

    def filter(self, budget: accounting.Budget, *, workload: Iterable[Cost] | None = None) -> Compositor:
        """A child with a budget of its own, paid for in full now; whatever it does not use is not given back."""
        _check_budget(budget)
        filters = _child(self.gate, budget, workload)
        self.gate.charge(_whole(budget, filters))
        return Compositor(self._data, self.space, PrivacyFilter(filters), self.d_in, self._entropy)

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
        if not isinstance(gate, PrivacyFilter):
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
        return f"{gate.rule.theorem}; {gate.rule.reason}" if isinstance(gate, Odometer) else gate.theorem

    @property
    def _inner(self) -> PrivacyFilter | Odometer | Planned:
        gate = self.gate.inner if isinstance(self.gate, Both) else self.gate
        if not isinstance(gate, PrivacyFilter | Odometer | Planned):
            raise InvalidArgument(f"a {type(gate).__name__} does not say which theorem it rests on")
        return gate

    def __repr__(self) -> str:
        return f"Compositor({self.space!r}, d_in={self.d_in})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Compositor holds private data and a budget: it cannot be copied or pickled")


def _counting(gate: Gate) -> PrivacyFilter | Odometer:
    inner = gate.inner if isinstance(gate, Both) else gate
    if isinstance(inner, PrivacyFilter | Odometer):
        return inner
    raise InvalidArgument("a planned compositor spends its declared plan; read `gate.total`")


def _child(gate: Gate, budget: accounting.Budget, workload: Iterable[Cost] | None) -> accounting.Filters:
    """How a child filter counts: under a parent that counts rho alone in rho too, for that is the cheapest thing to pay for."""
    inner = gate.inner if isinstance(gate, Both) else gate
    if isinstance(inner, PrivacyFilter | Odometer) and inner.rule.kind is accounting.RuleKind.CONCENTRATED:
        return accounting.Filters.single(budget.rule())
    return budget.filters(workload)


def _whole(budget: accounting.Budget, filters: accounting.Filters) -> Cost:
    """What a child does to its parent at most: what its one rule guarantees, or the budget if it keeps several filters.

    A session of several filters is neither zCDP, Rényi nor Gaussian private: it keeps its (epsilon, delta) and nothing else.
    """
    if filters.only is not None:
        return filters.only.promise
    return Bounded(epsilon=budget.epsilon or 0, delta=budget.delta)


def _rule_of(gate: Gate) -> accounting.Rule:
    """How a child odometer counts: as its parent does; in rho under a plan, which counts nothing, or several filters."""
    inner = gate.inner if isinstance(gate, Both) else gate
    if isinstance(inner, Planned):
        return accounting.Rule(
            accounting.RuleKind.CONCENTRATED, NOTHING, "the parent follows a plan; every cost here has a rho or a delta"
        )
    if isinstance(inner, PrivacyFilter) and inner.filters.only is None:
        return accounting.Rule(
            accounting.RuleKind.CONCENTRATED,
            NOTHING,
            "the parent keeps several filters; rho reads what most of them read",
        )
    return _counting(gate).rule


def _check_space(space: object) -> None:
    if not isinstance(space, Space):
        raise InvalidArgument(f"data is held in a space, such as rows(integers(lower=0, upper=10)), got {space!r}")


def _check_budget(budget: object) -> None:
    if not isinstance(budget, accounting.Budget):
        raise InvalidArgument(f"a budget is made by dp.budget(epsilon=1, delta=1e-7), got {budget!r}")


def _check_shape(data: Any, domain: Domain) -> None:
    """Refuse, before anything is asked, what is no list of rows or no frame; where the number of rows is declared public it must
    be true, as losses for replaced rows rest on it. What the cells hold is not looked at."""
    match domain:
        case Rows():
            if isinstance(data, str | bytes | Mapping) or not hasattr(data, "__len__"):
                raise InvalidArgument("the space is one of rows and the data is no list or array of them")
            _check_size(len(data), domain.size)
        case Frame():
            absent = [name for name in domain.columns if entry(data, name, None) is None]
            if absent:
                raise InvalidArgument(
                    f"the data has no column {absent[0]!r}; the space declares {list(domain.columns)}"
                )
            lengths = {row_total(data[name]) for name in domain.columns}
            if len(lengths) > 1:
                raise InvalidArgument("the columns of the data have different lengths; a frame has one row count")
            _check_size(max(lengths, default=0), domain.size)
        case Frames():
            for name, table in domain.tables.items():
                _check_shape(entry(data, name, {}), table)
        case Graphs():
            _check_degrees(data, domain)
        case Pieces():
            pipe(data)
        case _:
            pass


def _check_degrees(data: Any, domain: Graphs) -> None:
    if not isinstance(data, Mapping) or not {"nodes", "edges"} <= set(data):
        raise InvalidArgument("the space is one of graphs and the data has no nodes and edges")
    degrees = read_graph(data, Graphs(domain.nodes)).degrees().values()
    if domain.degree is not None and any(degree > domain.degree for degree in degrees):
        raise InvalidArgument(
            f"the space declares at most {number_of(domain.degree, 'edge')} at a node as public and the data has more; "
            "correct degree"
        )


def _check_size(rows: int, size: int | None) -> None:
    if size is not None and rows != size:
        raise InvalidArgument(
            f"the space declares {number_of(size, 'row')} as public and the data has another number; correct size, or resize"
        )


def compositor(
    data: Any,
    space: Space,
    *,
    budget: accounting.Budget | None = None,
    costs: Sequence[Cost] | None = None,
    workload: Iterable[Cost] | None = None,
    d_in: Distance | Real | tuple[Real, Real, Real] = 1,
    entropy: Entropy | None = None,
) -> Compositor:
    """Hold `data` behind a budget (losses chosen as you go) or behind a list of `costs` fixed beforehand.

    A budget of epsilon and delta is kept by several filters side by side, and the best of them counts. With a `workload`, the
    costs you expect to ask for, most of delta goes to the filter under which they fit most often. Other questions may still be
    asked; `theorem` says what it rests on.

    Guarantee: all answers together satisfy the budget, or cost the declared list.
    """
    if (budget is None) == (costs is None):
        raise InvalidArgument("give a budget (a filter) or a list of costs (a plan), not both and not neither")
    _check_space(space)
    _check_shape(data, space.domain)
    if budget is not None:
        _check_budget(budget)
    if workload is not None and budget is None:
        raise InvalidArgument("a workload helps a budget to choose its rule; a plan needs none")
    gate: Gate = PrivacyFilter(budget.filters(workload)) if budget is not None else Planned(costs or ())
    return Compositor(data, space, gate, distance(d_in), entropy)


def odometer(
    data: Any,
    space: Space,
    *,
    d_in: Distance | Real | tuple[Real, Real, Real] = 1,
    budget: accounting.Budget | None = None,
    entropy: Entropy | None = None,
) -> Compositor:
    """Hold `data` behind an odometer, which counts and never refuses.

    The count is kept in the measure of `budget` when one is given (its limit is not enforced), else as sums of epsilons and of
    deltas. A Gaussian release has no single (epsilon, delta): count it in rho, with budget=dp.budget(rho=0).

    Guarantee: stopping at a reading fixed beforehand is private to that reading. A statement at a moment chosen from the
    answers needs more; this object does not make it.
    """
    _check_space(space)
    _check_shape(data, space.domain)
    if budget is not None:
        _check_budget(budget)
    rule = (
        accounting.Rule(accounting.RuleKind.BASIC, NOTHING, "no budget names a measure")
        if budget is None
        else budget.rule()
    )
    return Compositor(data, space, Odometer(rule), distance(d_in), entropy)


def interactive(source: Space, *, costs: Sequence[Cost], run: Callable[[Compositor], Any]) -> Mechanism:
    """The mechanism that gives `run` a compositor for `costs`, in this order, and returns what `run` returns.

    `costs` are for neighbours one step apart. The compositor refuses whatever was not declared; asking for less than was
    declared is allowed, and nothing is given back.

    Guarantee: the answer costs the declared list, whatever `run` asks and in whatever way it uses the answers.
    """
    declared = tuple(costs)
    if not declared:
        raise InvalidArgument("an interactive mechanism needs at least one cost, or it may ask nothing")

    def function(data: Any, entropy: Entropy) -> Any:
        return run(Compositor(data, source, Planned(declared), Fraction(1), entropy))

    return Mechanism(source, function, lambda d_in: grouped(composed(declared), d_in))


def grouped(cost: Cost, d_in: Distance) -> Cost:
    """What costs `cost` for one unit, for neighbours that are further apart: a group of units."""
    steps = ceil(plain(d_in))
    return cost if steps <= 1 else cost.group(steps)
