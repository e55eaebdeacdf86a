"""Queries asked one after another about one data set, answered above or below a threshold until the paid hits are used up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.distance import Distance, distance, plain
from deniable.core.domain import Lattice
from deniable.core.metric import AbsoluteDistance
from deniable.core.space import Space
from deniable.core.step import Step, step
from deniable.core.stream import RunMechanism
from deniable.core.transformation import Transformation
from deniable.cost import Bounded, Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, positive
from deniable.mechanisms.sparse import Sparse, SparseRun, sparse_terms, sparse_utility
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """What every query of a stream must keep to: neighbours `d_in` apart move its answer by at most `sensitivity`."""

    space: Space
    d_in: Distance
    sensitivity: Fraction
    step: Fraction

    def checked(self, query: Transformation | Step[Transformation]) -> Transformation:
        """The query on this stream's data; refused on other data, of another kind, or too sensitive, which spends nothing."""
        if isinstance(query, Step):
            query = query.build(self.space)
        if not isinstance(query, Transformation):
            raise SpaceMismatch(f"a query is a transformation of the data to one number, got a {type(query).__name__}")
        if query.source != self.space:
            raise SpaceMismatch(f"this stream asks about {self.space!r}, the query about {query.source!r}")
        target = query.target
        fits = isinstance(target.domain, Lattice) and isinstance(target.metric, AbsoluteDistance)
        if not (fits and target.domain.step == self.step and not target.domain.missing):  # type: ignore[union-attr]
            raise SpaceMismatch(f"a query must answer one number in steps of {self.step}, got {target!r}")
        moved = plain(query.stability_map(self.d_in))
        if not moved <= self.sensitivity:
            raise InvalidArgument(f"the query moves by up to {moved}, this stream allows {self.sensitivity}")
        return query


class QueryStream(SparseRun):
    """Private data behind a sparse-vector run: ask whether a query's answer noisily reaches the threshold.

    State: that of the run, and the data. After the last hit it raises `Retired`, which says no more than the hits did.
    """

    __slots__ = ("_data", "terms")

    what = "this query stream"

    def __init__(self, data: Any, terms: StreamTerms, sparse: Sparse, entropy: Entropy) -> None:
        super().__init__(sparse, entropy)
        self._data, self.terms = data, terms

    def ask(self, query: Transformation | Step[Transformation]) -> bool:
        """Does the query's answer noisily reach the threshold?"""
        return self.gap(query) is not None

    def gap(self, query: Transformation | Step[Transformation]) -> int | float | None:
        """How far the query's noisy answer lies above the noisy threshold, or None below it; the same price as `ask`."""
        built = self.terms.checked(query)
        over = self.excess(int(built.function(self._data, self._entropy)))
        return None if over is None else Lattice(self.terms.step).read(over)


@step
def query_stream(
    space: Space,
    *,
    threshold: Real,
    scale: Real,
    sensitivity: Real,
    hits: int = 1,
    query_scale: Real | None = None,
    d_in: Distance | Real = 1,
    grid: Real = 1,
    queries: int | None = None,
) -> RunMechanism:
    """A `QueryStream` over the data: any number of adaptively chosen queries, at most `hits` of them answered True.

    A query is a transformation to one number in steps of `grid` that moves by at most `sensitivity` between neighbours
    `d_in` apart; others are refused and cost nothing. `queries` only says for how many the accuracy is stated.

    Guarantee: pure; sensitivity/scale + hits·2·sensitivity/query_scale for neighbours up to `d_in` apart; others are refused.
    """
    width = positive(grid=grid)
    terms = StreamTerms(space, distance(d_in), positive(sensitivity=sensitivity), width)
    sparse = sparse_terms(
        threshold=threshold, scale=scale, query_scale=query_scale, hits=hits, step=width, monotonic=False
    )
    return RunMechanism(
        space,
        lambda data, entropy: QueryStream(data, terms, sparse, entropy),
        lambda wanted: _cost(terms, sparse, wanted),
        sparse_utility(sparse, width, count=queries, of="answer", word="queries"),
    )


def _cost(terms: StreamTerms, sparse: Sparse, wanted: Distance) -> Cost:
    if type(wanted) is not type(terms.d_in) or not wanted <= terms.d_in:  # type: ignore[operator]
        raise InvalidArgument(f"this stream was made for neighbours {terms.d_in} apart, asked about {wanted}")
    most = int(terms.sensitivity / terms.step)
    return Bounded(epsilon=sparse.loss(least=-most, most=most))
