"""Giving data a public size: a random subset when there are too many rows, constants when there are too few."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.core import ChangeOne, Hamming, InsertDelete, Numbers, Rows, Space, Transformation, step
from deniable.core.cells import cells
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, sample_without_replacement
from deniable.transformations.column_arrays import floats
from deniable.transformations.row_metrics import rows_of, same


@step
def resize(space: Space, *, size: int, constant: Any) -> Transformation:
    """Exactly `size` rows: a uniformly random subset of more, or all of fewer followed by copies of the public `constant`.

    Guarantee: an added, removed or replaced row becomes at most one replaced row, in the coupling that draws the same subset of
    the rows the two data sets share: change-one distance d, which is symmetric distance 2·d. The order of the rows is lost, so
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
        rows = floats(data) if isinstance(domain.element, Numbers) else data
        if len(rows) > wanted:
            kept = sample_without_replacement(len(rows), wanted, entropy)
            return rows[kept] if isinstance(rows, np.ndarray) else _picked(cells(rows), kept)
        return _padded(rows, constant, wanted - len(rows))

    return Transformation(space, target, resized, same)


def _picked(rows: list[Any], kept: Any) -> list[Any]:
    return [rows[int(at)] for at in kept]


def _padded(rows: Any, constant: Any, short: int) -> Any:
    """The rows and `short` copies of the constant; a numeric array stays one, because the constant is a member."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiu":
        filling = np.full((short, *rows.shape[1:]), np.nan if constant is None else constant)
        return np.concatenate([rows, filling.astype(rows.dtype if rows.dtype.kind == "f" else np.int64)])
    return cells(rows) + [constant] * short
