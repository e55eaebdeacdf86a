"""Queries asked one after another about one data set, answered above or below a threshold until the paid hits are used up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from deniable.core.distance import Distance, distance, plain
from deniable.core.domain import Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.metric import AbsoluteDistance
from deniable.core.space import Space
from deniable.core.step import step
from deniable.core.transformation import Transformation
from deniable.cost import Bounded, Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, positive
from deniable.mechanisms.sparse import Sparse, SparseRun, sparse_terms
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class Terms:
    """What every query of a stream must keep to: neighbours `d_in` apart move its answer by at most `sensitivity`."""

    space: Space
    d_in: Distance
    sensitivity: Fraction
    step: Fraction

    def check(self, query: Transformation) -> None:
        """Refuse a query on other data, of another kind, or too sensitive; nothing is spent by a refusal."""
        if query.source != self.space:
            raise SpaceMismatch(f"this stream asks about {self.space!r}, the query about {query.source!r}")
        target = query.target
        fits = isinstance(target.domain, Lattice) and isinstance(target.metric, AbsoluteDistance)
        if not (fits and target.domain.step == self.step and not target.domain.missing):  # type: ignore[union-attr]
            raise SpaceMismatch(f"a query must answer one number in steps of {self.step}, got {target!r}")
        moved = plain(query.stability_map(self.d_in))
        if not moved <= self.sensitivity:
            raise InvalidArgument(f"the query moves by up to {moved}, this stream allows {self.sensitivity}")


class QueryStream:
    """Private data behind a sparse-vector run: ask whether a query's answer noisily reaches the threshold.

    State: the noisy threshold, the hits left, and nothing else. After the last hit it raises `Retired`.
    """

    __slots__ = ("_data", "_entropy", "_run", "terms")

    def __init__(self, data: Any, terms: Terms, run: SparseRun, entropy: Entropy) -> None:
        self._data, self.terms, self._run, self._entropy = data, terms, run, entropy

    @property
    def hits_left(self) -> int:
        """How many more times the answer may be True."""
        return self._run.hits_left

    def ask(self, query: Transformation) -> bool:
        """Does the query's answer noisily reach the threshold?"""
        return self.gap(query) is not None

    def gap(self, query: Transformation) -> int | float | None:
        """How far the query's noisy answer lies above the noisy threshold, or None below it; the same price as `ask`."""
        self.terms.check(query)
        over = self._run.excess(int(query.function(self._data, self._entropy)))
        return None if over is None else Lattice(self.terms.step).read(over)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a QueryStream holds private data and a noisy threshold: it cannot be copied or pickled")


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
) -> Mechanism:
    """A `QueryStream` over the data: any number of adaptively chosen queries, at most `hits` of them answered True.

    A query is a transformation to one number in steps of `grid` that moves by at most `sensitivity` between neighbours
    `d_in` apart; others are refused and cost nothing. `queries` only says for how many the accuracy is stated.

    Guarantee: pure; sensitivity/scale + hits·2·sensitivity/query_scale for neighbours up to `d_in` apart; others are refused.
    """
    width = positive(grid=grid)
    terms = Terms(space, distance(d_in), positive(sensitivity=sensitivity), width)
    sparse = sparse_terms(
        threshold=threshold, scale=scale, query_scale=query_scale, hits=hits, step=width, monotonic=False
    )
    return Mechanism(
        space,
        lambda data, entropy: QueryStream(data, terms, sparse.start(entropy), entropy),
        lambda wanted: _cost(terms, sparse, wanted),
        None if queries is None else _utility(sparse, width, integer(queries=queries, least=1)),
    )


def _cost(terms: Terms, sparse: Sparse, wanted: Distance) -> Cost:
    if type(wanted) is not type(terms.d_in) or not wanted <= terms.d_in:  # type: ignore[operator]
        raise InvalidArgument(f"this stream was made for neighbours {terms.d_in} apart, asked about {wanted}")
    most = int(terms.sensitivity / terms.step)
    return Bounded(epsilon=sparse.loss(least=-most, most=most))


def _utility(sparse: Sparse, width: Fraction, queries: int) -> Utility:
    return Utility(
        f"answer: the first {queries} are right for answers at least this far from the threshold",
        lambda beta: sparse.error(beta, queries=queries) * width,
    )
