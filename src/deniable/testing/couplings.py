"""Random transformations promise a coupling: the two outputs can be drawn together so that they are always close.

Whether such a coupling exists is a flow problem (Strassen's theorem): the law on the left supplies probability, the law on the
right demands it, and probability may only flow between outcomes that are close. It exists exactly if everything can flow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

from deniable.audit.exact_law import output_law
from deniable.core import Distance, Transformation
from deniable.core.cells import countable
from deniable.noise import Entropy
from deniable.testing.neighbours import within

Law: TypeAlias = Mapping[Hashable, Fraction]

_SIMPLEST = 10**9


def couples(left: Law, right: Law, close: Callable[[Any, Any], bool]) -> bool:
    """Can the two laws be drawn together so that every pair drawn is close?"""
    unit = lcm(*(chance.denominator for law in (left, right) for chance in law.values()))
    supply = [int(chance * unit) for chance in left.values()]
    demand = [int(chance * unit) for chance in right.values()]
    if sum(supply) != unit or sum(demand) != unit:
        raise AssertionError("a law's probabilities must add up to one")
    allowed = [[j for j, b in enumerate(right) if close(a, b)] for a in left]
    return _carried(supply, demand, allowed) == unit


def _carried(supply: list[int], demand: list[int], allowed: Sequence[Sequence[int]]) -> int:
    """The most that can flow from supply to demand along what is allowed: shortest augmenting paths."""
    flow: list[dict[int, int]] = [{} for _ in demand]  # flow[j][i]: what j takes from i
    total = 0
    while (path := _augmenting(supply, demand, allowed, flow)) is not None:
        amount = min(supply[path[0][0]], demand[path[-1][1]])
        back = [flow[path[k][1]][path[k + 1][0]] for k in range(len(path) - 1)]
        amount = min([amount, *back])
        for k, (i, j) in enumerate(path):
            flow[j][i] = flow[j].get(i, 0) + amount
            if k + 1 < len(path):
                flow[j][path[k + 1][0]] -= amount
        supply[path[0][0]] -= amount
        demand[path[-1][1]] -= amount
        total += amount
    return total


def _augmenting(
    supply: list[int], demand: list[int], allowed: Sequence[Sequence[int]], flow: list[dict[int, int]]
) -> list[tuple[int, int]] | None:
    """Edges i -> j of a shortest path from what is left over to what is still wanted; between them flow is taken back."""
    came: dict[int, tuple[int, int] | None] = {i: None for i, left in enumerate(supply) if left}
    waiting, seen = deque(came), set[int]()
    while waiting:
        i = waiting.popleft()
        for j in allowed[i]:
            if j in seen:
                continue
            seen.add(j)
            if demand[j]:
                return _traced(came, i, j)
            for k, amount in flow[j].items():
                if amount and k not in came:
                    came[k] = (i, j)
                    waiting.append(k)
    return None


def _traced(came: dict[int, tuple[int, int] | None], i: int, j: int) -> list[tuple[int, int]]:
    path = [(i, j)]
    while (before := came[path[0][0]]) is not None:
        path.insert(0, before)
    return path


def law_of(run: Callable[[Entropy], Any]) -> tuple[dict[Hashable, Fraction], dict[Hashable, Any]]:
    """The exact law of what `run` returns (by countable form) and an example of each outcome. Chances must be simple fractions."""
    outcomes: dict[Hashable, Any] = {}

    def named(entropy: Entropy) -> Hashable:
        outcome = run(entropy)
        name: Hashable = countable(outcome)
        outcomes.setdefault(name, outcome)
        return name

    measured = output_law(named)
    law = {name: measured.probability(name).lower.limit_denominator(_SIMPLEST) for name in measured.chances}
    if sum(law.values()) != 1:
        raise AssertionError("the chances are no simple fractions; this law is not uniform choices alone")
    return law, outcomes


def keeps_coupling(transformation: Transformation, left: Any, right: Any, *, apart: Distance) -> bool:
    """Can the outputs on `left` and `right` be drawn together so that they are always at most `apart`?"""
    (law, outs), (other, others) = (law_of(lambda e, d=data: transformation.function(d, e)) for data in (left, right))  # type: ignore[misc]
    metric, domain = transformation.target.metric, transformation.target.domain
    return couples(law, other, lambda a, b: within(metric.distance(outs[a], others[b], domain), apart))
