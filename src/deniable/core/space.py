"""A space is a domain with a metric that fits it; checked when built, and the start of every chain."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from deniable.core.distance import Distance, Root, Triple, distance
from deniable.core.domain import Domain, Frame, Frames, Rows
from deniable.core.graph_data import EdgeDistance, Graphs, NodeDistance
from deniable.core.metric import (
    ChangeOne,
    Hamming,
    IdentifierDistance,
    InsertDelete,
    Metric,
    SymmetricDistance,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real

Built_co = TypeVar("Built_co", covariant=True)
Built = TypeVar("Built")


class Builds(Protocol[Built_co]):
    """Something that waits for a space."""

    def build(self, space: Space) -> Built_co:
        """Build on this space, or raise `SpaceMismatch`."""
        ...


@dataclass(frozen=True, slots=True)
class Space:
    """Values and how far apart two of them are. `space >> step` builds the step on this space."""

    domain: Domain
    metric: Metric

    def __post_init__(self) -> None:
        if not (isinstance(self.domain, Domain) and isinstance(self.metric, Metric)):
            raise InvalidArgument(
                f"a space is a domain and a metric that fits it, got {self.domain!r}, {self.metric!r}"
            )
        if not self.metric.fits(self.domain):
            raise SpaceMismatch(
                f"{self.metric!r} does not measure values of {self.domain!r}; choose a metric that fits"
            )

    def distance(self, left: Any, right: Any) -> Distance:
        """The exact distance of two members of this space."""
        for value in (left, right):
            if value not in self.domain:
                raise InvalidArgument(f"not a member of {self.domain!r}")
        return self.metric.distance(left, right, self.domain)

    def __rshift__(self, step: Builds[Built]) -> Built:
        if not hasattr(step, "build"):
            name = getattr(step, "__name__", None)
            said = f"write {name}(...), with its settings" if callable(step) and name else f"got {step!r}"
            raise SpaceMismatch(f"a space is followed by a transformation or a mechanism; {said}")
        return step.build(self)


def adjacent(left: Any, right: Any, space: Space, *, d_in: Distance | Real | tuple[Real, Real, Real] = 1) -> bool:
    """Are these two data sets within `d_in` of one another? Private data in, private answer out: for study, never for release."""
    apart, limit = space.distance(left, right), distance(d_in)
    if isinstance(apart, Root) and not isinstance(limit, Root | Triple):
        limit = Root(limit * limit)
    if type(apart) is not type(limit):
        raise InvalidArgument(f"distances of this space look like {apart!r}; d_in = {d_in!r} does not")
    return apart <= limit  # type: ignore[operator]


_ROW_METRICS: tuple[type[Metric], ...] = (SymmetricDistance, InsertDelete, ChangeOne, Hamming)


def rows(element: Domain, *, size: int | None = None, metric: Metric | None = None) -> Space:
    """Lists of elements. Neighbours add or remove rows; with a public `size` they replace rows.

    Guarantee: none of its own; it fixes what "one person's row" means for everything built on it.
    """
    default = SymmetricDistance() if size is None else ChangeOne()
    chosen = default if metric is None else metric
    if not isinstance(chosen, _ROW_METRICS):
        raise SpaceMismatch(f"rows are compared by a data-set metric, got {chosen!r}")
    return Space(Rows(element, size), chosen)


def frame(columns: Mapping[str, Domain], *, identifier: str | None = None, size: int | None = None) -> Space:
    """A data frame. Neighbours add or remove rows, or everything of one `identifier` when a column names people."""
    domain = Frame(columns, size)
    if identifier is not None:
        if identifier not in domain.columns:
            raise InvalidArgument(f"identifier {identifier!r} is not a column; columns are {sorted(domain.columns)}")
        return Space(domain, IdentifierDistance(identifier))
    return Space(domain, SymmetricDistance() if size is None else ChangeOne())


def frames(tables: Mapping[str, Mapping[str, Domain]], *, identifier: str) -> Space:
    """Several data frames about the same people. Neighbours add or remove everything of one `identifier`, in all of them.

    Guarantee: none of its own; it fixes that a person is protected across all frames at once.
    """
    if not (tables and isinstance(tables, Mapping)):
        raise InvalidArgument(f"frames needs at least one frame, as {{name: {{column: domain}}}}, got {tables!r}")
    held = {name: Frame(columns) for name, columns in tables.items()}
    for name, columns in tables.items():
        if identifier not in columns:
            raise InvalidArgument(
                f"identifier {identifier!r} is not a column of {name!r}; its columns are {sorted(columns)}"
            )
    return Space(Frames(held), IdentifierDistance(identifier))


def graphs(*, nodes: Iterable[Hashable] | None = None, degree: int | None = None) -> Space:
    """Simple undirected graphs, given as {"nodes": [...], "edges": [(a, b), ...]}.

    Neighbours add or remove a node with all its edges; where the `nodes` are public they add or remove an edge. With a `degree` you
    declare that no node has more edges, a fact you vouch for; a compositor refuses a graph that breaks it before anything is asked.

    Guarantee: none of its own; it fixes whether a person or one relation of a person is protected.
    """
    if not (nodes is None or isinstance(nodes, Iterable)):
        raise InvalidArgument(f"nodes are a list of names, got {nodes!r}")
    domain = Graphs(None if nodes is None else tuple(nodes), degree)
    return Space(domain, NodeDistance() if nodes is None else EdgeDistance())
