"""The curator's check says exactly what plain counting says, of files, frames and columns, and no session can reach it."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from itertools import product

import pandas as pd
import pytest

import deniable as dp
from deniable import cli
from deniable.errors import InvalidArgument
from deniable.release.data_check import BANNER

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 2},
    "tables": {
        "v": {
            "variables": {
                "p": "integer",
                "ward": {"type": "string", "categories": ["A", "B"]},
                "m": {"type": "integer", "bounds": [0, 60]},
                "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
                "sex": {"type": "string", "categories": ["f", "m"]},
                "kept": {"type": "string", "categories": ["x", "y"], "of_unit": True},
            }
        }
    },
}
WARDS, MINUTES, DAYS = ["A", "B", "b", ""], ["7", "1,5", "900"], ["2024-02-03", "31/01/2024", "2025-01-01"]


def table():
    """Every ward beside every number and day, four rows to a person; the last has none."""
    columns = defaultdict(list)
    for i, (ward, minutes, day) in enumerate(product(WARDS, MINUTES, DAYS)):
        row = {"p": str(i // 4) if i < 35 else "", "ward": ward, "m": minutes, "day": day, "sex": "fm"[i // 4 % 2]}
        for name, cell in {**row, "kept": "xy"[i % 2] if i < 8 else "x"}.items():
            columns[name].append(cell)
    for name, column in columns.items():
        columns[name] = [*column, column[0]]  # the first row once more
    return dict(columns)


def sources(folder):
    cells = table()
    with (folder / "v.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow([*cells, "comment"])
        writer.writerows([*row, 'two\nlines; and a "quote"'] for row in zip(*cells.values(), strict=True))
    frame = pd.DataFrame(cells)
    frame.to_parquet(folder / "v.parquet")
    return {"text": folder / "v.csv", "parquet": folder / "v.parquet", "pandas": frame, "columns": cells}


@pytest.mark.parametrize("kind", ["text", "parquet", "pandas", "columns"])
def test_it_is_what_plain_counting_gives(kind, tmp_path):
    cells = table()
    (found,) = dp.Dataset(sources(tmp_path)[kind], codebook=BOOK).check().tables
    assert found.rows == 37
    assert (found.without_unit, found.duplicates) == (1, 1 + _alike_once_read(cells))
    by_name = {column.name: column for column in found.columns}
    assert by_name["ward"].empty == cells["ward"].count("")
    assert by_name["ward"].uncategorized == _misfit(cells["ward"].count("b"), "'b'")
    assert by_name["m"].unreadable == _misfit(cells["m"].count("1,5"), "'1,5'")
    assert by_name["m"].outside == _misfit(cells["m"].count("900"), "'900'")
    assert by_name["day"].unreadable == _misfit(cells["day"].count("31/01/2024"), "'31/01/2024'")
    assert by_name["day"].outside == _misfit(cells["day"].count("2025-01-01"), "'2025-01-01'")
    assert by_name["p"].unreadable == by_name["sex"].uncategorized == type(by_name["p"].unreadable)()
    assert found.units is not None
    rows = Counter(p for p in cells["p"] if p)
    assert (found.units.units, found.units.most_rows) == (len(rows), max(rows.values()))
    assert found.units.over_rows == sum(n > 2 for n in rows.values())
    for key in found.units.keys:
        assert (key.over_groups, key.over_rows) == _by_key(cells, key.name), key.name
    assert found.units.constant == ("sex",)
    assert found.units.broken == (("kept", 2),)


def _misfit(cells, *examples):
    from deniable.release.data_check import Misfit

    return Misfit(cells, examples)


def _read(name, cell):
    good = {"ward": {"A", "B"}, "m": {"7", "900"}, "day": {"2024-02-03", "2025-01-01"}}.get(name)
    return cell if good is None or cell in good else None


def _alike_once_read(cells):
    """Rows that differ in nothing but cells that cannot be read, besides the one that was written twice."""
    rows = [tuple(_read(name, cells[name][i]) for name in cells) for i in range(37) if cells["p"][i]]
    return len(rows) - len(set(rows)) - 1


def _by_key(cells, name):
    groups = defaultdict(Counter)
    for p, cell in zip(cells["p"], cells[name], strict=True):
        if p:
            groups[p][_read(name, cell)] += 1
    return sum(len(each) > 1 for each in groups.values()), sum(max(each.values()) > 2 for each in groups.values())


def test_moments_with_a_zone_in_a_file_are_those_the_engine_reads(tmp_path):
    moments = pd.to_datetime(["2024-01-05 10:00", "2024-01-05 10:00", None]).tz_localize("Europe/Berlin")
    pd.DataFrame({"p": [1, 2, 3], "at": moments}).to_parquet(tmp_path / "v.parquet")
    at = {"type": "timestamp", "bounds": ["2024-01-05T08:45:00", "2024-01-05T09:15:00"]}
    book = {"name": "v", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "v"}
    book["variables"] = {"p": "integer", "at": at}
    (found,) = dp.Dataset(tmp_path / "v.parquet", codebook=book).check().tables
    column = {each.name: each for each in found.columns}["at"]
    assert (column.empty, column.unreadable.cells, column.outside.cells) == (1, 0, 0)


def test_a_table_that_fits_has_no_findings():
    good = {
        "p": [1, 2],
        "ward": ["A", "B"],
        "m": [1, 60],
        "day": ["2024-01-01"] * 2,
        "sex": ["f", "m"],
        "kept": ["x"] * 2,
    }
    found = dp.Dataset(good, codebook=BOOK).check()
    assert found.findings == ()
    assert "everything fits the codebook" in str(found)


def test_it_says_loudly_that_it_is_not_private_and_is_out_of_reach_of_sessions(tmp_path, capsys):
    data = dp.Dataset(sources(tmp_path)["text"], codebook=BOOK)
    assert str(data.check()).startswith("NOT PRIVATE. For the curator alone")
    session = data.session(dp.budget(epsilon=1))
    assert not [name for name in dir(session) if "check" in name and not name.startswith("_")]
    book = tmp_path / "v.yaml"
    book.write_text(data.codebook.to_yaml())
    with pytest.raises(SystemExit) as stop:
        cli.main(["data", "check", str(tmp_path / "*.csv"), "--codebook", str(book), "--json"])
    out, err = capsys.readouterr()
    assert (stop.value.code, err) == (3, BANNER + "\n")
    assert json.loads(out)["warning"] == BANNER
    with pytest.raises(SystemExit):
        cli.main(["data", "check", str(tmp_path / "v.csv"), "--codebook", str(book)])
    out, err = capsys.readouterr()
    assert (out.startswith(BANNER), err) == (True, "")
    assert "'31/01/2024'" in out
    data.close()
    with pytest.raises(InvalidArgument, match="closed"):
        data.check()
    with pytest.raises(InvalidArgument, match="of a database, check an export"):
        dp.Dataset(dp.Dataset(table(), codebook=BOOK)._engine, codebook=BOOK).check()
