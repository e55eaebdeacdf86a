"""One unit more or less moves every table and every score of a synthesizer by at most what it declares."""

from __future__ import annotations

from itertools import combinations, product
from math import ceil

import numpy as np
import pytest

import deniable as dp
from deniable.synth.measured.cells_of_codebook import synthesizable
from deniable.synth.measured.coded import CellRows, Contribution, cell_rows, row_order
from deniable.synth.measured.privbayes_rounds import distance_score, information_score, steepest
from deniable.synth.measured.table_noise import distances, exact_table, grouped_rows
from tests.unit.synth.people import COLUMNS, people, people_rows, wide_book


def without(rows, unit):
    kept = [place for place, who in enumerate(rows["who"]) if who != unit]
    return {name: [cells[place] for place in kept] for name, cells in rows.items()}


def summed_cells(rows):
    """Of each unit one row, which sums up its own: how many, their mean, their extremes and what is frequent."""
    session = people(rows).session(dp.budget(epsilon=1))
    summaries = {"n": dp.count(), "town": dp.mode("town"), "pay": dp.mean("pay"), "since": dp.maximum("since")}
    source = session.query().per_unit(**summaries, works=dp.mode("works"), bounds={"n": (0, 3)}).source
    columns = synthesizable(session.codebook, source, "all", {"pay": 5})
    read, moved, _ = cell_rows(session.codebook, source, columns, rows=None)
    return read(session._data), moved, columns


def read_cells(rows, *, most=None, book=None, order=(None, None)):
    data = people(rows) if book is None else people(rows, book)
    columns = synthesizable(data.codebook, None, COLUMNS, {})
    by = row_order(data.codebook, "people", *order)
    read, moved, _ = cell_rows(data.codebook, "people", columns, rows=most, order=by)
    return read(data.session(dp.budget(epsilon=1))._data), moved, columns


def test_a_unit_that_is_summed_up_is_one_row_however_many_it_has():
    rows = people_rows(9, seed=5, per_unit=6)
    whole, moved, columns = summed_cells(rows)
    assert moved == Contribution(1)
    assert columns.sizes == [4, 5, 6, 54, 3]
    assert int(whole.table((), ())[0]) == 9
    held = [min(rows["who"].count(unit), 3) for unit in range(9)]
    assert whole.table((0,), (4,)).tolist() == np.bincount(held, minlength=4).tolist()
    for unit in range(9):
        less, _, _ = summed_cells(without(rows, unit))
        for measured in moves(whole, less, columns):
            assert measured == (1, 1, 1, 1)


def test_rows_that_are_not_summed_up_move_further_and_are_caught():
    """The planted fault: all rows of a unit under the bound of one."""
    rows = people_rows(9, seed=5, per_unit=6)
    _, moved, _ = summed_cells(rows)
    whole, _, columns = read_cells(rows, most=6)
    seen = [moves(whole, read_cells(without(rows, unit), most=6)[0], columns) for unit in range(9)]
    assert any(l1 > moved.table.l1 for each in seen for _, l1, _, _ in each)


def moves(left: CellRows, right: CellRows, columns) -> list[tuple[int, int, int, int]]:
    """Of every table of up to two columns: cells that moved, their sum, the sum of squares, the largest."""
    found = []
    for size in (0, 1, 2):
        for places in combinations(range(len(columns.columns)), size):
            sizes = tuple(columns.sizes[place] for place in places)
            gap = exact_table(left, places, sizes) - exact_table(right, places, sizes)
            found.append((int((gap != 0).sum()), int(abs(gap).sum()), int((gap**2).sum()), int(abs(gap).max())))
    return found


@pytest.mark.parametrize(
    ("most", "order"), [(1, (None, None)), (3, (None, None)), (1, (None, "since")), (2, ("age", None))]
)
def test_one_unit_moves_every_table_and_score_by_its_bound(most, order):
    rows = people_rows(7, seed=most, per_unit=4)
    whole, moved, columns = read_cells(rows, most=most, order=order)
    assert moved.rows == most
    tight = 0
    for unit in range(7):
        less, _, _ = read_cells(without(rows, unit), most=most, order=order)
        for l0, l1, l2, linf in moves(whole, less, columns):
            assert l0 <= moved.table.l0
            assert l1 <= moved.table.l1
            assert l2 <= moved.table.l2_squared
            assert linf <= moved.table.linf
            tight = max(tight, l1)
        pairs = list(combinations(range(6), 2))
        expected = [((a, b), np.full((columns.sizes[a], columns.sizes[b]), (a + b) % 3)) for a, b in pairs]
        assert max(abs(distances(whole, expected) - distances(less, expected))) <= moved.table.l1
    assert tight == most  # the bound is reached: a smaller one would be caught


def test_a_bound_that_is_too_small_is_caught():
    rows = people_rows(5, per_unit=4)
    whole, _, columns = read_cells(rows, most=3)
    fault = Contribution(1)
    seen = [moves(whole, read_cells(without(rows, unit), most=3)[0], columns) for unit in range(5)]
    assert any(l1 > fault.table.l1 for each in seen for _, l1, _, _ in each)


def test_rows_of_their_own_and_changed_rows():
    rows = people_rows(8, per_unit=1)
    plain = {name: cells for name, cells in rows.items() if name != "who"}
    _, moved, columns = read_cells(plain, book=wide_book())
    assert moved == Contribution(1)
    changed = wide_book().replace("unit: rows", "unit: changed rows")
    whole, moved, _ = read_cells(plain, book=changed)
    assert (moved.table.l1, moved.table.l2_squared, moved.table.linf) == (2, 2, 1)
    other = {name: [*cells[:-1], people_rows(30, seed=9, per_unit=1)[name][7]] for name, cells in plain.items()}
    for l0, l1, l2, linf in moves(whole, read_cells(other, book=changed)[0], columns):
        assert l0 <= moved.table.l0
        assert l1 <= moved.table.l1
        assert l2 <= moved.table.l2_squared
        assert linf <= moved.table.linf


TABLES = [np.array(cells).reshape(2, 2) for cells in product(range(5), repeat=4)]


def steps(table):
    for place in np.ndindex(*table.shape):
        more = table.copy()
        more[place] += 1
        yield more


def test_network_scores_move_by_their_proved_bounds_on_every_small_table():
    most_rows = 6
    bound = ceil(steepest(most_rows)) + 2
    largest = 0
    for table in TABLES:
        for more in steps(table):
            assert abs(distance_score(more) - distance_score(table)) <= 4
            largest = max(largest, abs(information_score(more, most_rows) - information_score(table, most_rows)))
    assert 1 < largest <= bound
    assert information_score(np.array([[2, 0], [0, 2]]), 100) == int(4 * np.log(2))
    assert distance_score(np.array([[2, 0], [0, 2]])) == 4
    assert distance_score(np.zeros((2, 2), dtype=np.int64)) == 0


def test_information_without_its_continuation_would_break_the_bound():
    """The planted fault: x·ln x as it is, for any number of rows, against the bound for six."""
    bound = ceil(steepest(6)) + 2
    table = np.array([[5000, 0], [0, 0]])
    more = np.array([[5000, 0], [0, 1]])
    assert abs(information_score(more, 10**9) - information_score(table, 10**9)) > bound
    assert abs(information_score(more, 6) - information_score(table, 6)) <= bound


def test_groups_are_counted_like_their_cells():
    rows = CellRows((np.array([0, 1, 2, 2]), np.array([1, 1, 0, 1])))
    groups = ((0, 0, 1), (0, 1))
    assert exact_table(grouped_rows(rows, groups), (0, 1), (2, 2)).tolist() == [[0, 2], [1, 1]]
