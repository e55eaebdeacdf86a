"""Giving data a public size: a random subset when there are too many rows, constants when there are too few."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.core import ChangeOne, Hamming, InsertDelete, Rows, Space, SymmetricDistance, Transformation, step
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, sample_without_replacement
from deniable.transformations.reading import cells
from deniable.transformations.rows import rows_of, same, times


@step
def resize(space: Space, *, size: int, constant: Any) -> Transformation:
    """Exactly `size` rows: a uniformly random subset of more, or all of fewer followed by copies of the public `constant`.

    Guarantee: an added or removed row becomes at most one replaced row, in the coupling that draws the same subset of the
    rows the two data sets share: change-one distance d, which is symmetric distance 2·d. The order of the rows is lost, so
    an ordered metric is refused.
    """
    wanted = integer(size=size, least=1)
    domain = rows_of(space, "resize")
    if isinstance(space.metric, InsertDelete | Hamming):
        raise SpaceMismatch("resize draws a random subset, which has no order; forget the order first with unordered()")
    if constant not in domain.element:
        raise InvalidArgument(f"constant must be a member of {domain.element!r}, got {constant!r}")
    target = Space(Rows(domain.element, wanted), ChangeOne())

    def resized(data: Any, entropy: Entropy) -> Any:
        rows = cells(data)
        if len(rows) > wanted:
            kept = sample_without_replacement(len(rows), wanted, entropy)
            return _like(data, [rows[int(index)] for index in kept])
        return _like(data, rows + [constant] * (wanted - len(rows)))

    # One replaced row is one removed and one added; each moves the result by one replaced row at most, but a subset
    # drawn once from rows of one size couples both changes into one.
    stability = same if isinstance(space.metric, SymmetricDistance) else times(1)
    return Transformation(space, target, resized, stability)


def _like(data: Any, rows: list[Any]) -> Any:
    """An array stays an array of its own type; constants are members, so they fit."""
    if isinstance(data, np.ndarray) and data.dtype.kind in "fi":
        return np.array(rows, dtype=data.dtype if data.dtype.kind == "f" else np.int64)
    return rows
