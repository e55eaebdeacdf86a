"""Sample and aggregate: any estimator at all on disjoint random parts, its answers put together privately.

One unit is in one part, so it moves one estimate, by however much: what follows only needs the number of parts. The parts are
drawn unit by unit; shuffling and cutting into equal parts would let one unit move others across a cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deniable.core import (
    ChangeOne,
    Domain,
    Frame,
    Hamming,
    InsertDelete,
    Mechanism,
    Rows,
    Space,
    Step,
    Transformation,
    step,
)
from deniable.core.cells import table
from deniable.core.sampler import row_count, units
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, permutation, uniforms_below
from deniable.transformations.column_arrays import canonical
from deniable.transformations.row_metrics import same


@step
def in_random_parts(
    space: Space, function: Callable[[Any], Any], *, parts: int, to: Domain, default: Any, author: str
) -> Transformation:
    """`function` of each of `parts` random parts of the data, as `parts` rows in `to`; `default` where it fails or leaves `to`.

    Every unit (a frame's person where it has an identifier, else a row) goes to its own uniform part. Where the metric ignores the
    order of rows, `function` sees them in a random order.

    Guarantee: d units added, removed or replaced change at most d of the estimates: the coupling gives the units both data sets
    share the same part and the same place. `author` vouches that `function` looks at its part alone and keeps nothing.
    """
    if not isinstance(space.domain, Rows | Frame):
        raise SpaceMismatch(f"in_random_parts works on rows or a frame, got {space.domain!r}")
    count = integer(parts=parts, least=1)
    if default not in to:
        raise InvalidArgument(f"default must be a member of {to!r}, got {default!r}")
    ordered = isinstance(space.metric, Hamming | InsertDelete)

    def estimates(data: Any, entropy: Entropy) -> list[Any]:
        size = row_count(data, space)
        owned = units(data, space)
        places: list[list[int]] = [[] for _ in range(count)]
        for unit, part in zip(owned, uniforms_below(count, len(owned), entropy).tolist(), strict=True):
            places[part] += unit
        rank = list(range(size)) if ordered else permutation(size, entropy).tolist()
        cells = _cells(data, space)
        return [_estimate(function, cells, sorted(own, key=rank.__getitem__), to, default) for own in places]

    target = Space(Rows(to, count), ChangeOne())
    return Transformation(space, target, estimates, same, (f"{author}: {getattr(function, '__name__', 'estimator')}",))


def sample_and_aggregate(
    function: Callable[[Any], Any], *, parts: int, to: Domain, default: Any, aggregate: Step[Mechanism], author: str
) -> Step[Mechanism]:
    """Any estimator made private: `function` on each of `parts` random parts, then `aggregate` on those estimates.

    `aggregate` is built on `parts` rows of `to`, of which one unit replaces one: `clamp(...) >> total() >> laplace(...)`, or a
    private median, which stays near the truth while most of the estimates are.

    Guarantee: the cost of `aggregate` for as many replaced rows as units differ. `author` vouches for `function`, as in
    `in_random_parts`.
    """
    return in_random_parts(function, parts=parts, to=to, default=default, author=author) >> aggregate


def _cells(data: Any, space: Space) -> Any:
    """The cells as a user's function may see them, so that equal ones look alike."""
    domain = space.domain
    if isinstance(domain, Frame):
        columns = table(data, domain.columns)
        return {name: canonical(columns[name], element) for name, element in domain.columns.items()}
    return canonical(data, domain.element)  # type: ignore[union-attr]


def _estimate(function: Callable[[Any], Any], cells: Any, places: list[int], to: Domain, default: Any) -> Any:
    part: Any
    if isinstance(cells, dict):
        part = {name: [column[at] for at in places] for name, column in cells.items()}
    else:
        part = [cells[at] for at in places]
    try:
        value = function(part)
    except Exception:
        return default
    return value if value in to else default
