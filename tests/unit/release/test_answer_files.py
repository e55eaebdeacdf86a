"""Answers as tables people know, in files, and as one page; what is left, and sessions that end."""

from __future__ import annotations

import csv
import datetime as dt
from fractions import Fraction
from html.parser import HTMLParser

import duckdb
import pytest

import deniable as dp
from deniable import cli
from deniable.errors import InvalidArgument, Retired
from deniable.testing import Seeded

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 3, "rows_per_group": 1},
    "tables": {
        "v": {
            "variables": {
                "p": "integer",
                "ward": {"type": "string", "categories": ["A", "<b>B</b>", "C, D"]},
                "day": {"type": "date", "bounds": ["2024-01-01", "2024-03-31"]},
                "m": {"type": "integer", "bounds": [0, 60]},
            }
        }
    },
}
WARDS = ["A", "<b>B</b>", "C, D"]
ROWS = {
    "p": list(range(90)),
    "ward": WARDS * 30,
    "day": [dt.date(2024, 1 + i % 3, 5) for i in range(90)],
    "m": [7] * 90,
}


def session(**terms):
    return dp.Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=100), **terms)


def by_ward(asked):
    return asked.query().group_by("ward").agg(n=dp.count(), mean=dp.mean("m")).release(epsilon=50)


def test_an_answer_has_length_rows_and_columns():
    answer = by_ward(session(entropy=Seeded(1)))
    assert len(answer) == 3
    assert list(answer) == answer.table == answer[:]
    assert answer[0]["ward"] == answer["ward"][0] == "A"
    assert answer[-1]["n"] == answer["n"][-1]
    assert answer["n_low"] == [row["n_low"] for row in answer]
    with pytest.raises(InvalidArgument, match="no column 'x' in this answer; it has ward, n"):
        answer["x"]


def test_csv_and_parquet_hold_what_the_table_holds(tmp_path):
    asked = session(entropy=Seeded(2))
    months = {"values": {"month": [dt.date(2024, month, 1) for month in (1, 2, 3)]}}
    query = asked.query().group_by("ward", month="date_trunc('month', day)", **months)
    answer = query.agg(n=dp.count(), bins=dp.histogram("m", edges=[0, 30, 60])).release(epsilon=40)
    answer.to_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["ward"] for row in rows] == answer["ward"]
    assert [int(row["n"]) for row in rows] == answer["n"]
    answer.to_parquet(tmp_path / "a.parquet")
    found = duckdb.read_parquet(str(tmp_path / "a.parquet"))
    assert found.columns == list(answer.to_columns())
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    assert (types["ward"], types["month"], types["n"]) == ("VARCHAR", "DATE", "BIGINT")
    assert types["bins"].endswith("[]")
    assert found.fetchall() == [tuple(row.values()) for row in answer]
    with pytest.raises(InvalidArgument, match=r"\.csv, \.parquet or \.json, got 'a\.xlsx'"):
        answer.to_file(tmp_path / "a.xlsx")


class Tags(HTMLParser):
    """Which tags open and whether all of them close."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "link", "br", "rect", "line", "path", "circle", "polyline", "polygon"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()


def test_a_report_shows_every_release_of_a_session_and_costs_nothing(tmp_path):
    asked = session(ledger=tmp_path / "l")
    assert "Nothing was released yet" in asked.report(tmp_path / "none.html").read_text(encoding="utf-8")
    assert not (tmp_path / "l").exists()
    answer = by_ward(asked)
    asked.sql("SELECT COUNT(*) AS people FROM v WHERE m > 3", epsilon=1)
    median = asked.rows(column="m") >> dp.calculus.private_median(lower=0, upper=60, grid=1)
    asked.release(median, epsilon=1)
    dp.Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=100), ledger=tmp_path / "l", account="eve").sql(
        "SELECT COUNT(*) AS of_eve FROM v", epsilon=1
    )
    before = asked.remaining.epsilon
    page = asked.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert asked.remaining.epsilon == before
    assert "SELECT COUNT(*) AS people FROM v WHERE m &gt; 3" in page
    assert f"{answer['n'][0]:,} ±" in page
    assert "&lt;b&gt;B&lt;/b&gt;" in page
    assert "<b>B" not in page
    assert "one answer of a mechanism" in page
    assert "of_eve" not in page
    assert "3 releases" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.seen.count("svg") == 2
    cli.main(["release", "report", str(tmp_path / "l"), "--output", str(tmp_path / "all.html")])
    assert "of_eve" in (tmp_path / "all.html").read_text(encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"such as 'report\.html'"):
        asked.report(tmp_path / "r.pdf")


def test_a_first_look_is_tables_and_pictures_in_a_report(tmp_path):
    """It was the text of a terminal, with a row of ten numbers that broke."""
    asked = session(ledger=tmp_path / "l")
    look = asked.describe(epsilon=1)
    page = asked.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<pre>" not in page
    assert all(f"<h3>{name}</h3>" in page for name in look.released.answers)
    drawn = sum(len(answer.groups) > 1 or "bins" in answer.columns for answer in look.released.answers.values())
    assert page.count("<svg") == drawn > 0
    for row in look.released["m"].bins("bins"):
        assert f"<td>{row['bins_bin']}</td><td>{row['bins']:,} " in page
    tags = Tags()
    tags.feed(page)
    assert tags.open == []


def test_what_is_left_is_a_number():
    asked = session()
    by_ward(asked)
    assert asked.remaining.epsilon == Fraction(50)
    assert asked.remaining.delta == 0
    with pytest.raises(InvalidArgument, match=r"kept in epsilon, not in rho: read remaining\.epsilon"):
        _ = asked.remaining.rho


def test_a_session_ends_with_its_block_and_says_whether_it_is_kept(tmp_path):
    with session(ledger=tmp_path / "l") as asked:
        by_ward(asked)
        assert "not kept" not in repr(asked)
    with pytest.raises(Retired, match="closed; open a new one"):
        by_ward(asked)
    assert session(ledger=tmp_path / "l").remaining.epsilon == Fraction(50)
    assert "not kept: without a ledger this budget ends with the process" in repr(session())


def test_an_answer_goes_into_a_file_from_the_shell(tmp_path, capsys):
    data = dp.Dataset(ROWS, codebook=BOOK)
    (tmp_path / "v.yaml").write_text(data.codebook.to_yaml())
    with (tmp_path / "v.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(ROWS)
        writer.writerows(zip(*ROWS.values(), strict=True))
    words = [str(tmp_path / "v.csv"), "--codebook", str(tmp_path / "v.yaml"), "--ledger", str(tmp_path / "l")]
    words += [
        "--budget-epsilon",
        "90",
        "--epsilon",
        "40",
        "--agg",
        "n=count()",
        "--account",
        "eve",
        "--confidence",
        "0.9",
    ]
    with pytest.raises(SystemExit):
        cli.main(["query", *words, "--output", str(tmp_path / "a.txt")])
    assert not (tmp_path / "l").exists()
    cli.main(["query", *words, "--output", str(tmp_path / "a.csv")])
    assert (tmp_path / "a.csv").read_text() == "n,n_low,n_high\n90,90,90\n"
    assert "with probability 0.9;" in capsys.readouterr().out
    assert dp.ledger.Ledger.existing(tmp_path / "l").charges()[0].asked[0] == "eve"


def test_a_weak_promise_is_called_weak():
    strong = dp.Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=1, delta=1e-6))
    assert "protects little" not in repr(strong)
    assert "is large" not in repr(strong)
    weak = dp.Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=50, delta=0.01))
    assert "An epsilon above 10 protects little" in repr(weak)
    assert "A delta above 1/10,000 is large" in repr(weak)
    said = weak.query().agg(n=dp.count()).release(epsilon=11).notes
    assert any("protects little" in note for note in said)
    mild = weak.query().agg(n=dp.count()).release(epsilon=1).notes
    assert not any("protects little" in note for note in mild)
