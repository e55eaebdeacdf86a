"""Which score is the first above a threshold; which are the first few."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.distance import Distance
from deniable.core.domain import Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.metric import L1, LInfinity
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Bounded
from deniable.errors import Retired, SpaceMismatch
from deniable.exact.guards import Real
from deniable.mechanisms.lattice_norms import norms
from deniable.mechanisms.scores import Scores, scores
from deniable.mechanisms.sparse import Sparse, SparseRun, sparse_terms
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class Hit:
    """A score that (noisily) reached the threshold, and by how much."""

    candidate: Any
    gap: int | float


@step
def above_threshold(space: Space, *, threshold: Real, scale: Real, query_scale: Real | None = None) -> Mechanism:
    """The first candidate, in public order, whose score noisily reaches `threshold`; None when none does.

    Guarantee: pure; for scores that move by at most d: d/scale + 2d/query_scale, or d/scale + d/query_scale when all move the
    same way. However many scores lie below, they cost nothing.
    """
    return _sparse(
        space, "above_threshold", threshold, scale, query_scale, 1, lambda hits: hits[0].candidate if hits else None
    )


@step
def above_threshold_with_gap(
    space: Space, *, threshold: Real, scale: Real, query_scale: Real | None = None
) -> Mechanism:
    """The first candidate that noisily reaches `threshold`, as a `Hit` with its noisy gap above the noisy threshold; or None.

    Guarantee: that of `above_threshold`; the gap costs nothing more (Ding, Wang, Zhang and Kifer 2019).
    """
    return _sparse(
        space, "above_threshold_with_gap", threshold, scale, query_scale, 1, lambda hits: hits[0] if hits else None
    )


@step
def all_above_threshold(
    space: Space, *, threshold: Real, scale: Real, hits: int, query_scale: Real | None = None
) -> Mechanism:
    """The first `hits` candidates, in public order, whose scores noisily reach one shared noisy `threshold`.

    Guarantee: pure; for scores that move by at most d: d/scale + hits·2d/query_scale, or d/scale + hits·d/query_scale when all
    move the same way.
    """
    return _sparse(
        space,
        "all_above_threshold",
        threshold,
        scale,
        query_scale,
        hits,
        lambda found: [hit.candidate for hit in found],
    )


def _sparse(
    space: Space, who: str, threshold: Real, scale: Real, query_scale: Real | None, hits: int, answer: Any
) -> Mechanism:
    candidates, monotonic = scores(space, who), _one_direction(space, who)
    terms = sparse_terms(
        threshold=threshold, scale=scale, query_scale=query_scale, hits=hits, step=candidates.step, monotonic=monotonic
    )
    return Mechanism(
        space,
        lambda data, entropy: answer(_found(candidates, terms, data, entropy)),
        lambda d_in: Bounded(epsilon=_loss(space, terms, candidates, d_in)),
        Utility(
            "score: answers are right for scores at least this far from the threshold",
            lambda beta: terms.error(beta, queries=candidates.count) * candidates.step,
        ),
    )


def _found(candidates: Scores, terms: Sparse, data: Any, entropy: Entropy) -> list[Hit]:
    run, found, lattice = SparseRun(terms, entropy), [], Lattice(candidates.step)
    for index, score in enumerate(candidates.steps(data).tolist()):
        try:
            over = run.excess(int(score))
        except Retired:
            break
        if over is not None:
            found.append(Hit(candidates.named(index), lattice.read(over)))
    return found


def _loss(space: Space, terms: Sparse, candidates: Scores, d_in: Distance) -> Fraction:
    """L1 distance: falls and rises share d, so both ends of the range are tried."""
    most = norms(space.metric, d_in, step=candidates.step, size=candidates.count).linf
    if _one_direction(space, "above_threshold"):
        return terms.loss(least=0, most=most)
    return terms.loss(least=-most, most=most)


def _one_direction(space: Space, who: str) -> bool:
    match space.metric:
        case LInfinity(monotonic):
            return monotonic
        case L1():
            return False
        case _:
            raise SpaceMismatch(f"{who} needs scores compared by LInfinity or L1, got {space.metric!r}")
