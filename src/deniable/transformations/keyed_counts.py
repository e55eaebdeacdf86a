"""Counts by keys that are found in the data: which keys there are is private, so what follows must hide it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

from deniable.core import (
    AbsoluteDistance,
    Distance,
    Frame,
    IdentifierDistance,
    Keyed,
    Lattice,
    PartitionDistance,
    Rows,
    Space,
    Transformation,
    Triple,
    plain,
    step,
)
from deniable.core.cells import cells, key
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy
from deniable.transformations.column_arrays import lists
from deniable.transformations.row_metrics import SIZED, UNSIZED, by_replacement
from deniable.transformations.truncation import column_names, group_keys, within_limits

Counting = Callable[[Any, Entropy], dict[Hashable, int]]


@step
@by_replacement
def count_by_key(space: Space, *columns: str, groups: int | None = None, rows: int | None = None) -> Transformation:
    """How many rows have each value that is found in the data: of a column of rows, or of one or several `columns` of a frame.

    The keys are private. What may follow shows a key only when enough people have it: `threshold_histogram`,
    `select_partitions`, `most_frequent`, `private_top_k`. Missing cells, and cells that can be no key, are not counted.
    Where a frame names people, say to how many `groups` a person may count and with how many `rows` in each; of those with more
    a random choice is counted.

    Guarantee: as a triple (keys, total, largest): (d, d, d) for d rows added or removed, (2d, 2d, d) for d rows replaced,
    (groups·d, groups·rows·d, rows·d) for d people; all counts move one way unless rows are replaced.
    """
    counted, each = _counting(space, columns, groups, rows)
    metric = PartitionDistance(AbsoluteDistance(), monotonic=not isinstance(space.metric, SIZED))
    target = Space(Keyed(Lattice(Fraction(1), 0), None), metric)

    def stability(d_in: Distance) -> Distance:
        d = plain(d_in)
        return Triple(each.l0 * d, each.l1 * d, each.linf * d)

    return Transformation(space, target, counted, stability)


def _counting(space: Space, names: tuple[str, ...], groups: int | None, rows: int | None) -> tuple[Counting, Triple]:
    """The function that counts, and how far one unit moves the counts."""
    domain, one = space.domain, Fraction(1)
    if isinstance(domain, Frame) and isinstance(space.metric, IdentifierDistance):
        return _limited(domain, space.metric.identifier, names, groups, rows)
    if groups is not None or rows is not None:
        raise InvalidArgument("groups and rows limit what a person adds; this space names no people")
    each = Triple(2 * one, 2 * one, one) if isinstance(space.metric, SIZED) else Triple(one, one, one)
    if isinstance(domain, Frame) and isinstance(space.metric, (*SIZED, *UNSIZED)):
        listed = column_names(domain, names)
        return lambda data, _: _tally(group_keys(lists(data, domain), listed)), each
    if isinstance(domain, Rows) and isinstance(space.metric, (*SIZED, *UNSIZED)):
        if names:
            raise InvalidArgument(f"rows have no columns to count by, got {names!r}")
        return lambda data, _: _tally([key(cell) for cell in cells(data)]), each
    raise SpaceMismatch(f"count_by_key works on rows or a frame under a data-set metric, got {space!r}")


def _limited(
    frame: Frame, who: str, names: tuple[str, ...], groups: int | None, rows: int | None
) -> tuple[Counting, Triple]:
    if groups is None or rows is None:
        raise InvalidArgument("a person may have any number of rows here: say groups= and rows= per person")
    most, many, listed = integer(groups=groups, least=1), integer(rows=rows, least=1), column_names(frame, names)

    def counted(data: Any, entropy: Entropy) -> dict[Hashable, int]:
        columns = lists(data, frame)
        keys = group_keys(columns, listed)
        kept = within_limits(columns[who], keys, groups=most, rows=many, entropy=entropy)
        return _tally([keys[place] for place in kept])

    return counted, Triple(Fraction(most), Fraction(most * many), Fraction(many))


def _tally(keys: list[Hashable | None]) -> dict[Hashable, int]:
    found = Counter(keys)
    del found[None]
    return dict(found)
