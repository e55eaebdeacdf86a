"""Cells come from the codebook alone, rows are read as cells exactly, and nothing but the codebook comes back out."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.synth.attribute import Attribute, Attributes
from deniable.synth.fitted.conditions import conditions
from deniable.synth.fitted.decoding import decoded
from deniable.synth.measured.cells_of_codebook import synthesizable
from deniable.synth.measured.coded import cell_rows
from deniable.synth.measured.private_cuts import quantile_cells
from deniable.testing import Seeded
from tests.unit.synth.people import BOOK, COLUMNS, people, people_rows


def attributes(book: str = BOOK, columns: object = "all", **bins: int) -> Attributes:
    return synthesizable(Codebook.from_yaml(book), None, columns, bins)  # type: ignore[arg-type]


def test_every_type_has_its_public_cells():
    sex, town, age, pay, since, works = attributes().columns
    assert (sex.labels, sex.missing) == (("f", "m"), False)
    assert (town.labels, town.size) == (("a", "b", "c", "rest"), 5)
    assert (age.edges, age.size) == (tuple(range(11)), 11)
    assert pay.edges == (0, 20, 200, 2000, 2001)  # in steps of a half
    assert since.edges[:3] == (18262, 18267, 18274)  # Wednesday, then Mondays
    assert len(since.edges) == 54
    assert (works.labels, works.size) == (("false", "true"), 3)
    assert [age.cell_label(cell) for cell in (0, 9, 10)] == ["0", "9", "missing"]
    assert since.cell_label(1) == "2020-01-06..2020-01-12"
    assert pay.cell_label(0) == "0..9.5"


def test_bins_of_the_caller_are_of_equal_width_and_cover_everything():
    age = attributes(columns=["age"], age=3).columns[0]
    assert age.edges == (0, 3, 6, 10)
    assert age.encode(np.array([-1, 0, 2, 3, 9, 99])).tolist() == [3, 0, 0, 1, 2, 2]
    assert Attribute.from_record(age.to_record()) == age


@pytest.mark.parametrize(
    ("book", "columns", "said"),
    [
        (BOOK.replace(", categories: [f, m], missing: {category: f}", ""), "all", "sex: text without categories"),
        (BOOK.replace("age: {type: integer, bounds: [0, 9]}", "age: {type: integer}"), "all", r"age .integer. has no"),
        (BOOK.replace(", bounds: [2020-01-01, 2020-12-31]", ""), ["since"], r"since .date. has no bounds"),
        (BOOK, ["sex", "hat"], "no variable 'hat'"),
        (BOOK, ["sex", "sex"], "named once"),
        (BOOK, [], "at least one column"),
        (BOOK, "sex", "list of names"),
    ],
)
def test_columns_without_public_cells_are_refused(book, columns, said):
    with pytest.raises(InvalidArgument, match=said):
        attributes(book, columns)


def test_rows_are_read_as_cells_and_counted_like_a_plain_group_by():
    rows = people_rows(40, per_unit=2)
    data = people(rows)
    columns = attributes()
    read, moved, _ = cell_rows(data.codebook, "people", columns, rows=None)
    found = read(data.session(dp.budget(epsilon=1))._data)
    assert (moved.rows, moved.table.l1, moved.table.l2_squared) == (2, 2, 4)
    sizes = columns.sizes
    names = {"sex": ["f", "m"], "town": ["a", "b", "c", "rest", None]}
    plain = Counter((sex, "rest" if town == "x" else town) for sex, town in zip(rows["sex"], rows["town"], strict=True))
    table = found.table((0, 1), (sizes[0], sizes[1])).reshape(sizes[0], sizes[1])
    assert table.tolist() == [[plain[sex, town] for town in names["town"]] for sex in names["sex"]]
    age = Counter(10 if value is None else value for value in rows["age"])
    assert found.table((2,), (11,)).tolist() == [age[cell] for cell in range(11)]
    month = [(value - date(1970, 1, 1)).days for value in rows["since"]]
    assert found.columns[4].min() >= 0
    assert sorted(found.columns[4].tolist()) == sorted(
        int(np.searchsorted(columns.columns[4].edges, day, side="right")) - 1 for day in month
    )
    works = Counter(2 if value is None else int(value) for value in rows["works"])
    assert found.table((5,), (3,)).tolist() == [works[cell] for cell in range(3)]


def test_cells_come_back_as_values_of_the_codebook():
    columns = attributes()
    cells = tuple(np.arange(200) % size for size in columns.sizes)
    table = decoded(columns, cells, Seeded(3))
    assert list(table) == COLUMNS
    assert set(table["town"]) == {"a", "b", "c", "rest", None}
    assert set(table["age"]) == {None, *range(10)}
    assert all(value is None or (0 <= value <= 1000 and value * 2 == int(value * 2)) for value in table["pay"])
    assert all(value is None or date(2020, 1, 1) <= value <= date(2020, 12, 31) for value in table["since"])
    assert set(table["works"]) == {True, False, None}
    for place, column in enumerate(columns.columns):  # what is read again is the cell it came from
        if column.ordered and column.type == "integer":
            again = [column.absent if value is None else value for value in table[column.name]]
            assert column.encode(np.array(again)).tolist() == cells[place].tolist()


def test_engines_count_the_same_cells():
    rows = people_rows(60, per_unit=2)
    columns = attributes()
    found = []
    for data in (people(rows), dp.Dataset(pandas.DataFrame(rows), codebook=Codebook.from_yaml(BOOK))):
        read, _, _ = cell_rows(data.codebook, "people", columns, rows=None)
        cells = read(data.session(dp.budget(epsilon=1))._data)
        found.append(
            [cells.table((a, b), (columns.sizes[a], columns.sizes[b])).tolist() for a in range(6) for b in range(a)]
        )
    assert found[0] == found[1]


def test_quantile_cells_hold_about_the_same():
    number = Attribute("n", "integer", edges=tuple(range(9)))
    assert quantile_cells(number, np.array([10.0, 10, 10, 10, 40, 0, 0, 40, 9]), 4) == (0, 0, 0, 1, 1, 2, 2, 2, 3)
    assert quantile_cells(number, np.zeros(9), 4)[-1] <= 4
    assert quantile_cells(number, np.array([-5.0] * 9), 3)[0] == 0


@pytest.mark.parametrize("seed", range(12))
def test_no_cell_is_turned_into_a_value_outside_the_codebook(seed):
    """Bounds, steps, bins and times at random; also given a condition that cuts through cells."""
    random = np.random.default_rng(seed)  # noqa: TID251 - made-up codebooks
    low = int(random.integers(-500, 500))
    high, step = low + int(random.integers(1, 3000)), Fraction(1, int(random.choice([1, 2, 5, 8])))
    start = date(2019, 1, 1) + timedelta(days=int(random.integers(400)))
    end = start + timedelta(days=int(random.integers(3, 4000)))
    book = Codebook.from_record(
        {
            "name": "b",
            "unit": "rows",
            "tables": {
                "t": {
                    "variables": {
                        "number": {"type": "number", "bounds": [low, high], "step": float(step), "bins": [low + 0.3, high - 0.4]},
                        "integer": {"type": "integer", "bounds": [low, high]},
                        "day": {"type": "date", "bounds": [str(start), str(end)]},
                        "moment": {"type": "timestamp", "bounds": [f"{start}T13:30:00", f"{end}T07:00:00"]},
                        "text": {"type": "string", "categories": ["a", "é"], "other": "rest"},
                        "yes": {"type": "boolean"},
                    }
                }
            },
        }
    )  # fmt: skip
    columns = synthesizable(book, None, "all", {"integer": int(random.integers(1, 40))})
    cells = tuple(random.integers(column.size, size=400) for column in columns.columns)
    middle = (low + high) / 2
    for where in ({}, {"number": (middle, None), "integer": (None, middle), "day": (start, start + timedelta(days=1))}):
        wanted = conditions(where, columns)
        allowed = [
            np.where(wanted[place].share(column)[cell] > 0, cell, -1) if place in wanted else cell
            for place, (column, cell) in enumerate(zip(columns.columns, cells, strict=True))
        ]
        kept = np.logical_and.reduce([cell >= 0 for cell in allowed])
        found = decoded(columns, tuple(cell[kept] for cell in cells), Seeded(seed), wanted)
        present = {name: [value for value in values if value is not None] for name, values in found.items()}
        least = middle if where else low
        assert all(
            least <= value <= high and (Fraction(value).limit_denominator(1000) / step).denominator == 1
            for value in present["number"]
        )
        assert all(
            low <= value <= (middle if where else high) and isinstance(value, int) for value in present["integer"]
        )
        assert all(start <= value <= end for value in present["day"])
        first, last = datetime(start.year, start.month, start.day, 13, 30), datetime(end.year, end.month, end.day, 7)
        assert all(first <= value <= last for value in present["moment"])
        assert set(present["text"]) <= {"a", "é", "rest"}
        assert set(present["yes"]) <= {True, False}
