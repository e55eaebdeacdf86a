"""The halves of a mean as a rule: their distances for every small unit, and for which totals and counts there are any."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread
from deniable.plan.expression import Column
from deniable.plan.facts import LARGEST
from deniable.plan.nodes import RowCount, Total, scan
from deniable.plan.sensitivity import Halves, _rounds_within, halves_of
from deniable.plan.translate import parse

BOUNDS = [(0, 1), (-1, 1), (-1, 2), (-2, 2), (-2, 3), (-7, 8), (0, 5), (-3, 0)]


def _halves(low: int, high: int, rows: int, total: int, count: int) -> Halves:
    scale = max(total, count)
    return Halves(
        low=low, high=high, rows=rows, scale=scale, total_steps=scale // total, row_steps=scale // count,
        step=Fraction(1, scale),
    )  # fmt: skip


def _units(low: int, high: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Rows of a unit, how many have a value, and what these come to."""
    for n in range(1, most + 1):
        for present in range(n + 1):
            for value in {present * low, present * high, *range(present * low, present * high + 1)}:
                yield n, present, value


def _farthest(halves: Halves, total: Spread, count: Spread, most: int) -> Fraction:
    """The most that a unit adds to both halves together, in parts of what the rows that count of it may."""
    found = Fraction(0)
    for n, present, value in _units(halves.low, halves.high, most):
        parts = np.array([total.part(value, n)]), np.array([count.part(present, n)])
        moved = int(np.abs(halves.of(*parts)).sum())
        found = max(found, Fraction(moved, min(halves.rows, n) * halves.width * halves.scale))
    return found


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_unit_adds_no_more_to_both_halves_than_its_rows_that_count_are_wide(
    bounds: tuple[int, int], rows: int
) -> None:
    for total, count in ((0, 0), (1, 1), (3, 3), (1, 2), (0, 3)):
        halves = _halves(*bounds, rows, 1 << total, 1 << count)
        farthest = _farthest(halves, Spread(rows, total), Spread(rows, count), 7)
        assert farthest == 1 or not _rounds_within(halves)


def test_numbers_that_are_rounded_too_coarsely_for_their_bounds_are_found() -> None:
    """Planted: the total in whole steps beside a count in sixteenths of a row; the rule says that it does not know, rightly."""
    halves = _halves(0, 1, 1, 1, 16)
    assert not _rounds_within(halves)
    assert _farthest(halves, Spread(1, 0), Spread(1, 4), 7) > 1


@pytest.mark.parametrize("size", [1, 2**40, LARGEST])
def test_sums_of_any_size_are_kept_exactly_or_at_the_ends(size: int) -> None:
    halves = _halves(-5, 5, 1, 1, 1)
    total, count = np.array([size, -size]), np.array([size, size])
    exact = [[6 * size, 4 * size], [4 * size, 6 * size]]
    wanted = [[min(max(each, -LARGEST), LARGEST) for each in half] for half in exact]
    assert halves.of(total, count).tolist() == wanted


_BOOK = Codebook.from_yaml(
    """
    format: 1
    name: halves
    unit: rows
    tables:
      t:
        variables:
          x: {type: integer, bounds: [0, 9]}
          y: {type: integer, bounds: [0, 9], missing: {impute: 0}}
          wide: {type: integer, bounds: [0, 9000000000], missing: {impute: 0}}
    """
)


def _found(
    of: str, count: RowCount, *, rows: int = 2, ends: tuple[int, int] = (-4, 5), spread: Spread | None = None
) -> bool:
    total = Total(parse(of), Fraction(ends[0] * rows), Fraction(ends[1] * rows), spread)
    return halves_of(total, count, scan(_BOOK, "t"), complete=not of.startswith("x")) is not None


def test_only_totals_and_counts_of_the_same_rows_have_halves() -> None:
    fine = Spread(2, 10)
    assert _found("x - 4", RowCount(2, Column("x")))
    assert _found("y - 4", RowCount(2))
    assert _found("x - 4", RowCount(2, Column("x"), fine), spread=fine)
    assert _found("y - 4", RowCount(2), spread=fine)
    refused = [
        ("x - 4", RowCount(2), {}),  # rows without a value are counted
        ("x - 4", RowCount(2, Column("y")), {}),
        ("y - 4", RowCount(3), {}),  # another bound
        ("y - 4", RowCount(2), {"ends": (-4, 4)}),  # clipped
        ("y", RowCount(2), {"ends": (0, 9)}),
        ("y - 12", RowCount(2), {"ends": (-12, -3)}),  # nought is no distance
        ("x - 4", RowCount(2, Column("x")), {"spread": fine}),  # weighed in one of them
        ("x - 4", RowCount(2, Column("x"), fine), {}),
        ("x - 4", RowCount(2, Column("x"), Spread(3, 10)), {"spread": fine}),
        ("x - 4", RowCount(2, Column("x"), Spread(2, 4)), {"spread": fine}),
        ("x - 4", RowCount(2, Column("x"), fine), {"spread": Spread(2, 10, together=True)}),
        ("wide - 4500000000", RowCount(2), {"ends": (-4500000000, 4500000000)}),
    ]
    for of, count, given in refused:
        assert not _found(of, count, **given), (of, count, given)
