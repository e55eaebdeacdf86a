"""The exponential mechanism over an interval of lattice points whose score is constant between a few edges.

Each piece has weight (number of points) · exp(score/scale); a piece is drawn exactly, then a point in it uniformly: together
that is the exponential mechanism over every single point.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Exponential
from deniable.exact.guards import Real, nonnegative, positive
from deniable.kernels.peeling import exponential_score_error
from deniable.mechanisms.grid import Grid, public_grid
from deniable.noise import Entropy
from deniable.noise.weighted_choice import weighted_choice

Pieces = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Edges of the pieces (one more than pieces, whole lattice points, increasing) and their whole-numbered scores."""


def interval_choice(edges: NDArray[Any], scores: NDArray[Any], *, scale: Fraction, entropy: Entropy) -> int:
    """A lattice point of [edges[0], edges[-1]), each with probability proportional to exp(score of its piece / scale).

    Piece i holds the points edges[i], ..., edges[i+1] - 1; empty pieces are allowed.
    """
    counts = np.diff(np.asarray(edges, dtype=np.int64))
    piece = weighted_choice(np.asarray(scores), counts=counts, scale=scale, entropy=entropy)
    return int(edges[piece]) + noise.uniform_below(int(counts[piece]), entropy)


@step
def exponential_interval(
    space: Space,
    *,
    pieces: Callable[[Any, Grid], Pieces],
    spread: Callable[[Distance], Real],
    lower: Real,
    upper: Real,
    grid: Real,
    scale: Real,
    author: str,
) -> Mechanism:
    """Choose a point between `lower` and `upper` with probability proportional to exp(score / scale), pieces by pieces.

    `pieces(data, grid)` cuts the grid into pieces of constant whole-numbered score; `spread(d_in)` says how far two scores can
    move apart. Both are the author's claim, which `claims` carries along.

    Guarantee: given that claim, bounded range with eta = spread / scale.
    """
    points, width = public_grid(lower, upper, grid), positive(scale=scale)

    def answer(data: Any, entropy: Entropy) -> int | float:
        try:
            edges, scores = pieces(data, points)
        except Exception:  # the author's function; an error would be a release
            edges, scores = np.array([0, points.count]), np.array([0])
        return points.read(interval_choice(edges, scores, scale=width, entropy=entropy))

    return Mechanism(
        space,
        answer,
        lambda d_in: Exponential(eta=nonnegative(spread=spread(d_in)) / width),
        Utility("score below the best", lambda beta: exponential_score_error(beta, count=points.count, scale=width)),
        (f"{author}: {getattr(pieces, '__name__', 'pieces')}",),
    )
