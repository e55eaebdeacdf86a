"""Random pairs of rows: what estimates from two points at a time (Theil–Sen slopes) are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.core import ChangeOne, Rows, Space, SymmetricDistance, Transformation, Vectors, step
from deniable.core.cells import cells
from deniable.errors import SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, permutation
from deniable.transformations.row_metrics import rows_of, times


@step
def pair_randomly(space: Space, *, matchings: int = 1) -> Transformation:
    """Rows in random pairs, each row in at most one pair of a matching; of an odd number a random row is left over. Several
    independent `matchings` are put one after another. Follow with `map_rows` for a function of the two rows.

    Guarantee: one added or removed row moves the pairs of one matching by at most 2 (a pair broken, a pair made), so 2·matchings·d;
    one replaced row replaces at most one pair of each matching. (Cutting to an even size before the shuffle would move 3.)
    """
    many = integer(matchings=matchings, least=1)
    domain = rows_of(space, "pair_randomly")
    pair = Vectors(domain.element, 2)
    match space.metric:
        case SymmetricDistance():
            target, stability = Space(Rows(pair), SymmetricDistance()), times(2 * many)
        case ChangeOne():
            size = None if domain.size is None else domain.size // 2 * many
            target, stability = Space(Rows(pair, size), ChangeOne()), times(many)
        case _:
            raise SpaceMismatch("pair_randomly forgets the order of the rows; do so first with unordered()")

    def paired(data: Any, entropy: Entropy) -> Any:
        rows = data if isinstance(data, np.ndarray) else cells(data)
        orders = [permutation(len(rows), entropy) for _ in range(many)]
        ends = [(order[0 : len(rows) // 2 * 2 : 2], order[1 : len(rows) // 2 * 2 : 2]) for order in orders]
        if isinstance(rows, np.ndarray):
            return np.concatenate([np.stack([rows[left], rows[right]], axis=1) for left, right in ends])
        return [(rows[int(a)], rows[int(b)]) for left, right in ends for a, b in zip(left, right, strict=True)]

    return Transformation(space, target, paired, stability)
