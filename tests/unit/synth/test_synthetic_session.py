"""Synthesizers through the one door: priced for free, charged once, stored, fetched; bad input is refused before the charge."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import date
from fractions import Fraction

import duckdb
import pytest

import deniable as dp
from deniable.cli import main
from deniable.engines.duckdb import DuckDBEngine
from deniable.errors import EngineFailed, InvalidArgument, QueryRefused, Unanswered
from deniable.plan.codebook import Codebook
from deniable.release.twin import Twin, twin_packed
from deniable.synth.fitted.decoding import stored_types
from deniable.synth.resources import resources, tables_within
from deniable.testing import Seeded
from tests.unit.synth.people import BOOK, COLUMNS, people, people_rows, wide_book


@pytest.fixture
def session(tmp_path):
    return people(people_rows(150)).session(dp.budget(epsilon=10, delta=1e-6), ledger=tmp_path / "p.ledger")


@pytest.fixture
def twin(session):
    return session.synthesizer(focus=["sex"]).release(epsilon=4, request="twin")


def test_a_price_is_free_and_a_twin_is_charged_once_and_fetched(session):
    plan = session.synthesizer(columns="all", focus=["sex"])
    price = plan.price(epsilon=2)
    assert price.epsilon <= 2
    assert price.plan["pairs scored"] == 15
    assert "noise of one-way tables" in str(price)
    assert session.spent.loss == 0
    twin = plan.release(epsilon=2, request="t")
    spent = session.spent.loss
    assert 0 < spent <= 2
    assert isinstance(twin.cost, dp.costs.Calibrated)
    again = session.synthesizer(columns="all", focus=["sex"]).release(epsilon=2)
    assert session.spent.loss == spent
    assert [m.counts.tolist() for m in again.measurements.marginals] == [
        m.counts.tolist() for m in twin.measurements.marginals
    ]
    fetched = session.fetch("t")
    assert isinstance(fetched, Twin)
    assert fetched.to_json() == twin.to_json()
    session.synthesizer(columns=["sex", "age"]).release(epsilon=1)
    assert session.spent.loss > spent


def test_a_price_says_time_memory_and_what_one_row_of_each_unit_would_save(session):
    for method, told in (
        ("pairs", {}),
        ("tree", {}),
        ("aim", {}),
        ("privbayes", {}),
        ("mwem", {"columns": ["sex", "age"]}),
    ):
        plan = session.synthesizer(method=method, **told).price(epsilon=2).plan
        assert set(plan["time (CPU seconds, about)"]) == {"fitting, at most", "counting, for each million rows"}
        assert plan["memory (MB, about)"]["rows, for each million"] == 16 * len(told.get("columns", COLUMNS))
        assert plan["with rows=1"].endswith("2 times less noise")
    one, two = (session.synthesizer(rows=rows).price(epsilon=2).plan for rows in (1, 2))
    assert "with rows=1" not in one
    for name, noise in two["noise of one-way tables"].items():
        assert noise == pytest.approx(2 * one["noise of one-way tables"][name], rel=1e-2)
    wide = resources("pairs", {}, [12] * 42, [12] * 42)
    assert (
        wide["time (CPU seconds, about)"]["fitting, at most"]
        > 10 * resources("tree", {}, [12] * 42, [12] * 42)["time (CPU seconds, about)"]["fitting, at most"]
    )


def test_the_last_row_of_each_unit_can_be_kept(session):
    """Three visits each, the last one of a kind that no other has: rows that are last say so, and the release does."""
    days, kinds = ("2020-01-05", "2020-03-01", "2020-09-09"), ("a", "b", "c")
    rows = {"who": [who for who in range(60) for _ in days], "since": list(days) * 60, "town": list(kinds) * 60}
    rows |= {name: [None] * 180 for name in ("sex", "age", "pay", "works")}
    session = people(rows).session(dp.budget(epsilon=100, delta=1e-6))
    told = {}
    for name, order in (("any", {}), ("first", {"first": "since"}), ("last", {"last": "since"})):
        plan = session.synthesizer(columns=["town", "since"], rows=1, **order)
        twin = plan.release(epsilon=20)
        told[name] = {town: round(count) for town, count in zip("abc", twin.model.table([0]), strict=False)}
        said = twin.release_table().rows
        assert (", the last by since" in str(said)) == (name == "last")
    assert (
        session.evaluate(twin, rows=1, last="since", epsilon=20)["1-way TVD"]
        < 0.1
        < session.evaluate(twin, rows=1, first="since", epsilon=20)["1-way TVD"]
    )
    assert told["first"]["a"] > 50 > 9 > told["first"]["b"] + told["first"]["c"]
    assert told["last"]["c"] > 50 > 9 > told["last"]["a"] + told["last"]["b"]
    assert min(told["any"].values()) > 6
    alone = people({name: cells[:3] for name, cells in rows.items() if name != "who"}, wide_book())
    session = alone.session(dp.budget(epsilon=1, delta=1e-6))
    with pytest.raises(InvalidArgument, match="last= has nothing to choose: every row is a unit"):
        session.synthesizer(last="since")
    said = session.synthesizer(columns=["town"]).release(epsilon=0.5, anyway=True).release_table()
    assert "Preprocessing methods  values put into public cells" in str(said)


def test_rows_of_a_unit_are_summed_up_to_one():
    """Three visits each, of growing pay: how many, the mean and the last are columns, at the price of one row."""
    rows = {"who": [who for who in range(60) for _ in range(3)], "pay": [10.0, 20.0, 60.0] * 60}
    rows |= {"since": ["2020-01-05", "2020-03-01", "2020-09-09"] * 60, "town": ["a", "b", "b"] * 60}
    rows |= {name: [None] * 180 for name in ("sex", "age", "works")}
    session = people(rows).session(dp.budget(epsilon=100, delta=1e-6))
    told = {"visits": dp.count(), "pay": dp.mean("pay"), "last": dp.maximum("since"), "town": dp.mode("town")}
    asked = session.query().per_unit(**told, bounds={"visits": (0, 5)})
    plan = session.synthesizer(asked, columns=["visits", "pay", "last", "town"])
    price = plan.price(epsilon=20).plan
    assert price["rows of one unit"] == 1
    assert "with rows=1" not in price
    plain = session.synthesizer(session.query().per_unit("town", "sex", n=dp.count(), bounds={"n": (0, 5)})).price(
        epsilon=20
    )
    assert (
        plain.plan["rows of one unit"] == 2
    )  # as many as the codebook allows, where a unit has several rows after all
    twin = plan.release(epsilon=20)
    said = str(twin.release_table())
    assert "rows of one unit summed up, at most 1 row of one who" in said
    frame = twin.frame(rows=500, form="dict")
    for name, value in (("visits", 3), ("pay", 30), ("town", "b")):
        near = [cell for cell in frame[name] if cell == value or (name == "pay" and abs(cell - value) <= 10)]
        assert len(near) > 400, name
    assert sum(f"{day:%Y-%m}" == "2020-09" for day in frame["last"] if day) > 400
    assert session.evaluate(twin, table=asked, epsilon=20)["1-way TVD"] < 0.1
    with pytest.raises(InvalidArgument, match=r"column 'visits' and these rows have not"):
        session.evaluate(twin, epsilon=1)
    again, spent = session.query().per_unit(**told, bounds={"visits": (0, 5)}), session.spent.loss
    same = session.synthesizer(again, columns=["visits", "pay", "last", "town"]).release(epsilon=20)
    assert same.measurements.to_record() == twin.measurements.to_record()
    assert session.spent.loss == spent, "the same question at the same price is the same twin"


def test_people_and_what_they_did_in_another_table_are_one_row():
    """Men came twice, women four times: two tables of the same people, joined, and the twin knows what belongs together."""
    variables = {"sex": {"type": "string", "categories": ["f", "m"]}}, {"cost": {"type": "integer", "bounds": [0, 9]}}
    book = Codebook.from_record(
        {
            "name": "clinic",
            "unit": {"id": "who", "groups": 1, "rows_per_group": 9},
            "tables": {
                name: {"variables": {"who": "integer", **each}}
                for name, each in zip(("people", "visits"), variables, strict=True)
            },
        }
    )
    came = [who for who in range(400) for _ in range(2 if who % 2 else 4)]
    tables = {"people": {"who": list(range(400)), "sex": ["fm"[who % 2] for who in range(400)]}}
    tables |= {"visits": {"who": came, "cost": [who % 10 for who in came]}}
    session = dp.Dataset(tables, codebook=book).session(dp.budget(epsilon=100, delta=1e-6))
    with pytest.raises(InvalidArgument, match="or ask for one row of each unit"):
        session.synthesizer()
    visits = session.query("visits").per_unit("who", n=dp.count(), cost=dp.mean("cost"), bounds={"n": (0, 9)})
    one = session.query("people").per_unit("who", sex=dp.mode("sex")).join(visits, on="who")
    plan = session.synthesizer(one)
    assert plan.synthesis.attributes.names == ["sex", "n", "cost"]
    assert plan.price(epsilon=10).plan["rows of one unit"] == 1
    frame = plan.release(epsilon=10).frame(rows=400, form="dict")
    pairs = list(zip(frame["sex"], frame["n"], strict=True))
    assert sum(pair in (("m", 2), ("f", 4)) for pair in pairs) > 350
    assert plan.synthesis.tables == ["people", "visits"], "what the ledger is told it read"


def test_what_an_engine_lacks_refuses_a_synthesizer_before_the_charge(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    book = Codebook.from_yaml(BOOK)
    engine = DuckDBEngine({"people": people_rows(40)}, book, key=7)
    session = dp.Dataset(engine, codebook=book).session(dp.budget(epsilon=9, delta=1e-6))
    asked = session.query().derive(day="extract(dow from since)").per_unit("day", n=dp.count(), bounds={"n": (0, 3)})
    twin = session.synthesizer(asked).release(epsilon=2)
    engine._profile.lacking = {"the weekday of a date": "the weekday of a date is wrong here"}
    spent = session.spent.loss
    for refused in (lambda: session.synthesizer(asked), lambda: session.evaluate(twin, table=asked, epsilon=1)):
        with pytest.raises(QueryRefused, match="is wrong here"):
            refused()
    assert session.spent.loss == spent


def test_questions_that_are_no_rows_are_refused_for_nothing(session):
    query = session.query()
    other = people(people_rows(5)).session(dp.budget(epsilon=1, delta=1e-6)).query()
    for asked, said in (
        (query.agg(n=dp.count()), "takes the rows of a question"),
        (query.group_by("town"), "takes the rows of a question"),
        (query.keeping(last="since"), "takes the rows of a question"),
        (query.per_unit(n=dp.count()), r"n \(number in \[0, unbounded\], .*no public cells; limit it"),
        (query.derive(x="age * pay").per_unit("who", x=dp.sum("x")), "x .*no public cells"),
        (other.per_unit(n=dp.count(), bounds={"n": (0, 3)}), "another session"),
        (3, "such as session.query"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            session.synthesizer(asked)
    with pytest.raises(InvalidArgument, match="these rows have no column 'hat'; they have n"):
        session.synthesizer(query.per_unit(n=dp.count(), bounds={"n": (0, 3)}), columns=["hat"])
    assert session.spent.loss == 0


def test_more_columns_than_memory_are_refused_with_the_number_before_there_is_a_price():
    many = {f"c{place}": {"type": "integer", "bounds": [0, 99]} for place in range(130)}
    book = Codebook.from_record({"name": "wide", "unit": "rows", "tables": {"wide": {"variables": many}}})
    rows = {name: [1] for name in many}
    session = dp.Dataset({"wide": rows}, codebook=book).session(dp.budget(epsilon=1, delta=1e-6))
    with pytest.raises(
        InvalidArgument, match=r"the pairs of 130 columns may have 85,\d+,\d+ cells, which take 1,3\d\d MB"
    ):
        session.synthesizer()
    with pytest.raises(InvalidArgument, match=r"366,145 tables of up to 3.*degree=2"):
        session.synthesizer(method="aim", bins=dict.fromkeys(many, 10))
    assert (
        session.synthesizer(method="aim", bins=dict.fromkeys(many, 10), degree=2).price(epsilon=0.5).plan["columns"]
        == 130
    )
    assert session.spent.loss == 0
    network = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["a", "b", "c"]}
    for told, most, said in (
        ({"method": "privbayes", "network": network}, 99, "d with its parents a, b, c has 104,060,401 cells"),
        (
            {"method": "aim", "quantiles": dict.fromkeys("abc", 4)},
            9999,
            "tables of 3 columns cut .* 1,076,890,625 cells",
        ),
    ):
        four = {name: {"type": "integer", "bounds": [0, most]} for name in "abcd"}
        book = Codebook.from_record({"name": "four", "unit": "rows", "tables": {"four": {"variables": four}}})
        short = dp.Dataset({"four": {name: [1] for name in "abcd"}}, codebook=book)
        with pytest.raises(InvalidArgument, match=said):
            short.session(dp.budget(epsilon=1, delta=1e-6)).synthesizer(**told)
    assert tables_within([2, 3, 4], 3) == (4, 2 * 3 + 2 * 4 + 3 * 4 + 24)  # by hand
    assert tables_within([2, 3, 4], 2) == (3, 26)


def test_frames_have_the_codebooks_types_and_values(twin):
    frame = twin.frame(500)
    assert list(frame.columns) == COLUMNS
    assert [str(kind) for kind in frame.dtypes[["age", "pay", "works"]]] == ["Int64", "Float64", "boolean"]
    assert set(frame["town"].dropna()) <= {"a", "b", "c", "rest"}
    plain = twin.frame(40, form="dict", entropy=Seeded(1))
    assert plain == twin.frame(40, form="dict", entropy=Seeded(1))
    assert plain != twin.frame(40, form="dict", entropy=Seeded(2))
    assert all(value is None or date(2020, 1, 1) <= value <= date(2020, 12, 31) for value in plain["since"])
    assert twin.frame(30, form="polars").shape == (30, 6)
    assert twin.frame(30, form="arrow").num_rows == 30
    assert len(twin.frame(form="dict")["sex"]) == max(round(twin.model.total), 1)
    some = twin.frame(60, where={"sex": "f", "pay": (5, 50)}, form="dict")
    assert set(some["sex"]) == {"f"}
    assert all(5 <= value <= 50 for value in some["pay"])
    for rows in (0, -3):
        with pytest.raises(InvalidArgument, match="rows"):
            twin.frame(rows)
    with pytest.raises(InvalidArgument, match="form must be"):
        twin.frame(3, form="excel")


def test_rows_keep_public_rules(twin):
    never = [{"sex": "f", "works": True}, {"age": (0, 2), "town": ["a", "b"]}]
    rows = twin.frame(150, never=never, order=[("age", "pay")], form="dict")
    assert len(rows["sex"]) == 150
    for sex, works, age, town, pay in zip(
        *(rows[name] for name in ("sex", "works", "age", "town", "pay")), strict=True
    ):
        assert not (sex == "f" and works is True)
        assert not (age is not None and age <= 2 and town in ("a", "b"))
        assert age is None or pay is None or age <= pay
    with pytest.raises(InvalidArgument, match="hardly a row"):
        twin.frame(50, never=[{"sex": ["f", "m"]}])
    with pytest.raises(InvalidArgument, match="order needs"):
        twin.frame(50, order=[("age", "since")])
    with pytest.raises(InvalidArgument, match="no column"):
        twin.frame(50, never=[{"hat": 1}])


def test_columns_that_others_imply_are_computed_and_stay_within_the_codebook(twin):
    pay = {
        "pay": lambda row: None if row["age"] is None else 50 * row["age"] + 0.5,
        "works": lambda row: row["pay"] is not None,
    }
    rows = twin.frame(200, implied=pay, where={"works": True, "pay": (100, None)}, never=[{"age": 4}], form="dict")
    assert len(rows["pay"]) == 200
    for age, paid, works in zip(rows["age"], rows["pay"], rows["works"], strict=True):
        assert paid == 50 * age + 0.5 >= 100
        assert works is True
        assert age != 4
    since = twin.frame(20, implied={"since": lambda row: date(2020, 2, 29)}, form="dict")["since"]
    assert since == [date(2020, 2, 29)] * 20
    for name, rule, said in (
        ("pay", lambda row: 1000.25, "pay is from 0 to 1000 in the codebook, on its grid; got 1000.25"),
        ("pay", lambda row: 2000, "from 0 to 1000"),
        ("sex", lambda row: "x", "sex is one of f, m"),
        ("sex", lambda row: None, "sex is never missing"),
        ("hat", lambda row: 1, "no column 'hat'"),
        ("pay", 3, "implied takes for pay a function of a row"),
    ):
        with pytest.raises(InvalidArgument, match=re.escape(said)):
            twin.frame(20, implied={name: rule}, form="dict")
    with pytest.raises(InvalidArgument, match="hardly a row"):
        twin.frame(20, implied={"age": lambda row: 3}, where={"age": 4}, form="dict")


def test_rows_in_a_file_keep_the_rules_and_the_sidecar_says_them(twin, tmp_path):
    rules = {"never": [{"sex": "f", "since": (None, date(2020, 6, 30))}], "order": [("age", "pay")]}
    twin.write(tmp_path / "t.parquet", rows=100, where={"town": "a"}, implied={"works": lambda row: True}, **rules)
    read = duckdb.sql(f"FROM '{tmp_path / 't.parquet'}'").fetchall()
    assert len(read) == 100
    for sex, town, age, pay, since, works in read:
        assert town == "a"
        assert works is True
        assert not (sex == "f" and since is not None and since <= date(2020, 6, 30))
        assert age is None or pay is None or age <= pay
    said = json.loads((tmp_path / "t.parquet.json").read_text())["rules"]
    assert said == {
        "where": {"town": "a"},
        "never": [{"sex": "f", "since": [None, "2020-06-30"]}],
        "order": [["age", "pay"]],
        "implied": ["works"],
    }
    twin.write(tmp_path / "plain.csv", rows=3)
    assert json.loads((tmp_path / "plain.csv.json").read_text())["rules"] == {}


def test_a_twin_says_what_it_promises_and_how_wrong_it_is(twin, tmp_path):
    assert "presence or absence of one who" in twin.guarantee
    assert len(twin.release_table().rows) == 8
    assert "Synthetic rows" in twin.card()
    again = replace(twin.measurements, marginals=(*twin.measurements.marginals, twin.measurements.marginals[-1]))
    assert Twin(again, twin.guarantee, twin.facts, twin.receipt).card() == twin.card(), (
        "measured twice, it is one table"
    )
    assert "Synthetic rows" in twin._repr_html_()
    assert twin.extended_table().rows
    assert twin.error(["sex", "age"]).tvd <= 1
    assert "TVD" in str(twin.error("sex"))
    assert twin.query("SELECT sex, count(*) AS n FROM twin GROUP BY sex").rows[0]["sex"] == "f"
    assert 0 <= twin.evaluate().tvd[1] <= 1
    assert "propensity" in str(twin.evaluate())
    page = twin.report(tmp_path / "twin.html").read_text()
    assert "<svg" in page
    assert "What was not measured" in page
    for name in ("twin.csv", "twin.parquet"):
        beside = json.loads(twin.write(tmp_path / name, rows=20).read_text())
        assert beside["synthetic"] is True
        assert beside["guarantee"] == twin.guarantee
        assert set(beside["one_way_tvd_at_most"]) == set(COLUMNS)
        assert beside["rows"] == len(duckdb.sql(f"FROM '{tmp_path / name}'").fetchall()) == 20
    with pytest.raises(InvalidArgument, match=r"\.parquet or \.csv"):
        twin.write(tmp_path / "twin.xlsx")
    with pytest.raises(InvalidArgument, match="no column"):
        twin.error(["sex", "hat"])


def test_rows_are_written_without_any_library_of_frames(twin, tmp_path, monkeypatch):
    for library in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(
            InvalidArgument, match=rf"needs {library}: pip install 'deniable\[frames\]', or form='dict'"
        ):
            twin.frame(rows=5, form={"pyarrow": "arrow"}.get(library, library))
    twin.write(tmp_path / "twin.parquet", rows=200)
    written = duckdb.sql(f"FROM '{tmp_path / 'twin.parquet'}'")
    assert written.columns == list(COLUMNS)
    assert {name: str(kind) for name, kind in zip(written.columns, written.types, strict=True)} == stored_types(
        twin.measurements.attributes
    )
    with pytest.raises(InvalidArgument, match="cannot write"):
        twin.write(tmp_path / "nowhere" / "twin.csv")


def test_a_twin_is_evaluated_on_the_data_for_a_price(session, twin):
    before = session.spent.loss
    taught = session.evaluate(twin, target="sex", epsilon=1)
    assert 0 <= taught["accuracy"] <= 1
    assert before < session.spent.loss
    after = session.spent.loss
    assert session.evaluate(twin, target="sex", epsilon=1).values == taught.values
    assert session.spent.loss == after
    apart = session.evaluate(twin, epsilon=1)
    assert set(apart.values) == {"1-way TVD", "2-way TVD", "3-way TVD"}
    assert "±" in str(apart)
    spent = session.spent.loss
    bad = [
        ("hat", None, "no column"),
        ("town", None, "say positive"),
        ("town", "q", "one of"),
        ("age", None, "categories"),
    ]
    for target, positive, said in bad:
        with pytest.raises(InvalidArgument, match=said):
            session.evaluate(twin, target=target, positive=positive, epsilon=1)
    with pytest.raises(InvalidArgument, match="takes a twin"):
        session.evaluate("twin", epsilon=1)
    assert session.spent.loss == spent


BAD = [
    ({"method": "magic"}, {"epsilon": 1}, "one of pairs, tree, mwem, privbayes, aim"),
    ({"focus": ["hat"]}, {"epsilon": 1}, "no column 'hat'"),
    ({"columns": ["hat"]}, {"epsilon": 1}, "no variable 'hat'"),
    ({"bins": {"hat": 3}}, {"epsilon": 1}, "bins= names 'hat'"),
    ({"bins": {"age": 0}}, {"epsilon": 1}, "bins"),
    ({"rows": 0}, {"epsilon": 1}, "rows"),
    ({"rows": 1, "first": "since", "last": "age"}, {"epsilon": 1}, "first= or last=.*one of them"),
    ({"rows": 1, "last": "hat"}, {"epsilon": 1}, "hat"),
    ({"rows": 1, "last": "sex"}, {"epsilon": 1}, "have no order"),
    ({"rows": 1, "last": 3}, {"epsilon": 1}, "as text, got 3"),
    ({"colour": 1}, {"epsilon": 1}, "no option 'colour'"),
    ({"method": "mwem", "columns": COLUMNS}, {"epsilon": 1}, "combinations of cells, above 65,536"),
    ({"method": "mwem", "columns": ["sex"], "rounds": 0}, {"epsilon": 1}, "rounds"),
    ({"method": "privbayes", "score": "x"}, {"epsilon": 1}, "score must be"),
    ({"method": "privbayes", "columns": ["sex", "age"], "network": {"sex": ["age"], "age": ["sex"]}}, {"epsilon": 1}, "circle"),
    ({"method": "privbayes", "columns": ["sex", "age"], "network": {"sex": []}}, {"epsilon": 1}, "every column"),
    ({"table": "nowhere"}, {"epsilon": 1}, "no table 'nowhere'"),
    ({"quantiles": {"pay": 1}}, {"epsilon": 1}, "quantiles of pay"),
    ({"quantiles": {"pay": 4}, "bins": {"pay": 4}}, {"epsilon": 1}, "one of them"),
    ({"quantiles": {"sex": 4}}, {"epsilon": 1}, "is for numbers"),
    ({"apart": [["sex"], ["sex", "age"]]}, {"epsilon": 1}, "names a column twice"),
    ({"open": ["hat"]}, {"epsilon": 1}, "open= names 'hat'"),
    ({"open": ["town"]}, {"epsilon": 1}, "without declared categories, and town is none"),
    ({}, {}, "epsilon= or rho="),
    ({}, {"epsilon": -1}, "epsilon"),
    ({}, {"epsilon": 1e-7}, "noise of about"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "payment", "said"), BAD)
def test_bad_input_gets_one_line_before_anything_is_spent(session, plan, payment, said):
    with pytest.raises((InvalidArgument, QueryRefused), match=said) as refusal:
        session.synthesizer(**plan).release(**payment)
    assert "\n" not in str(refusal.value)
    assert session.spent.loss == 0


def test_without_a_delta_gaussian_methods_are_refused_and_others_are_pure(tmp_path):
    session = people(people_rows(50)).session(dp.budget(epsilon=4), ledger=tmp_path / "e.ledger")
    with pytest.raises(InvalidArgument, match="needs a delta"):
        session.synthesizer(columns=["sex", "works"]).release(epsilon=1)
    assert session.spent.loss == 0
    for method in ("mwem", "privbayes"):
        twin = session.synthesizer(columns=["sex", "works"], method=method).release(epsilon=1)
        assert twin.cost == dp.costs.Bounded(epsilon=1)
    assert session.spent.loss == 2
    given = session.synthesizer(
        columns=["sex", "works"], method="privbayes", network={"works": ["sex"], "sex": []}
    ).release(epsilon=1)
    assert given.measurements.network == ((0, ()), (1, (0,)))
    rho = people(people_rows(50)).session(dp.budget(rho=1), ledger=tmp_path / "r.ledger")
    for method in ("pairs", "aim"):
        rho.synthesizer(columns=["sex", "works"], method=method).release(rho=0.25)
    assert Fraction(49, 100) < rho.spent.loss <= Fraction(1, 2)


def test_quantile_bins_are_paid_for_and_shown_apart(session):
    plan = session.synthesizer(columns=["sex", "age", "pay"], quantiles={"pay": 6})
    told = plan.price(epsilon=4).plan
    assert told["preprocessing: share of the whole"] == 0.1
    assert told["preprocessing: noise of a fine table"] > 0
    assert told["rows of one unit"] == 2
    assert session.spent.loss == 0
    twin = plan.release(epsilon=4)
    pay = twin.measurements.attributes.columns[2]
    assert 2 <= pay.present <= 6
    assert (pay.edges[0], pay.edges[-1]) == (0, 2001)
    assert session.spent.loss <= 4
    values = [value for value in twin.frame(300, form="dict")["pay"] if value is not None]
    assert all(0 <= value <= 1000 for value in values)
    assert session.evaluate(twin, epsilon=1)["1-way TVD"] <= 1  # the data is read in the twin's own cells


OPEN = BOOK.replace("{type: string, categories: [a, b, c], other: rest}", "{type: string}")


@pytest.mark.parametrize("count", [0, 1, 150])
def test_open_categories_are_found_within_the_charge_and_the_rest_is_other(count):
    session = people(people_rows(count), OPEN).session(dp.budget(epsilon=20, delta=1e-3))
    with pytest.raises(InvalidArgument, match=r"text without categories.*open=\['town'\]"):
        session.synthesizer()
    plan = session.synthesizer(columns=["sex", "town"], open={"town": 3})
    price = plan.price(epsilon=10, delta=1e-4)
    assert price.plan["open categories: delta"] == "5e-05"
    assert price.plan["open categories: noisy number of units that shows a value"]["town"] > 1
    assert session.spent.loss == 0
    twin = plan.release(epsilon=10, delta=1e-4)
    assert session.spent.loss <= 10
    town = twin.measurements.attributes.columns[1]
    assert town.labels[-1] == "other"
    assert len(town.labels) <= 4
    assert (count < 2) == (len(town.labels) == 1)
    assert set(twin.frame(300, form="dict")["town"]) <= {"a", "b", "c", "x", "other", None}
    assert Twin.from_packed(
        twin_packed(twin.measurements, twin.guarantee, twin.facts), twin.receipt
    ).measurements.attributes == (twin.measurements.attributes)
    assert session.evaluate(twin, epsilon=1)["1-way TVD"] <= 1  # the data is read in the twin's own cells


def test_open_categories_need_a_delta(tmp_path):
    for number, (budget, paid) in enumerate(((dp.budget(epsilon=4), {"epsilon": 1}), (dp.budget(rho=1), {"rho": 0.1}))):
        session = people(people_rows(9), OPEN).session(budget, ledger=tmp_path / f"{number}.ledger")
        with pytest.raises(InvalidArgument, match="needs epsilon= and a delta"):
            session.synthesizer(columns=["sex", "town"], method="privbayes", open=["town"]).release(**paid)
        assert session.spent.loss == 0


def test_columns_can_be_fitted_apart(session):
    twin = session.synthesizer(columns=["sex", "age", "town", "works"], apart=[["sex", "age"], ["town"]]).release(
        epsilon=4
    )
    assert set(twin.measurements.scores) == {(0, 1)}
    assert {table.places for table in twin.measurements.marginals if len(table.places) == 2} <= {(0, 1)}
    assert "one-way tables alone" in twin.error(["sex", "works"]).basis


def test_noise_that_drowns_everything_is_allowed_for_those_who_insist(session):
    twin = session.synthesizer(columns=["sex", "age"]).release(epsilon=1e-7, anyway=True)
    assert len(twin.frame(5, form="dict")["sex"]) == 5


@pytest.mark.parametrize("count", [0, 1])
def test_no_rows_or_one_row_give_a_twin_of_the_same_schema(count):
    session = people({name: cells[:count] for name, cells in people_rows(3).items()}).session(
        dp.budget(epsilon=5, delta=1e-6)
    )
    twin = session.synthesizer().release(epsilon=1)
    assert list(twin.frame(7, form="dict")) == COLUMNS


def test_all_missing_and_several_tables():
    rows = {name: [None] * 4 for name in COLUMNS} | {"who": [1, 2, 3, 4]}
    twin = people(rows).session(dp.budget(epsilon=5, delta=1e-6)).synthesizer().release(epsilon=1)
    assert list(twin.frame(3, form="dict")) == COLUMNS
    book = Codebook.from_yaml(BOOK + "  more:\n    variables:\n      who: {type: integer}\n      x: {type: boolean}\n")
    engine = {"people": people_rows(3), "more": {"who": [1], "x": [True]}}
    several = dp.Dataset(engine, codebook=book).session(dp.budget(epsilon=1, delta=1e-6))
    with pytest.raises(InvalidArgument, match="takes one table"):
        several.synthesizer()
    assert several.synthesizer("more").synthesis.attributes.names == ["x"]


def test_what_fails_on_the_data_stays_charged_and_says_nothing(session, monkeypatch):
    monkeypatch.setattr("deniable.release.synthetic.twin_packed", lambda *_: 1 / 0)
    with pytest.raises(EngineFailed):
        session.synthesizer(columns=["sex", "age"]).release(epsilon=1)
    assert session.spent.loss > 0


KILLED = """
import os, signal, sys
sys.path.insert(0, os.getcwd())
import deniable as dp
from deniable.release import synthetic
from tests.unit.synth.people import people, people_rows

def deadly(*_):
    os.kill(os.getpid(), signal.SIGKILL)

synthetic.twin_packed = deadly
session = people(people_rows(20)).session(dp.budget(epsilon=10, delta=1e-6), ledger=sys.argv[1])
session.synthesizer(columns=["sex", "works"]).release(epsilon=2, request="twin")
"""


def test_killed_between_measuring_and_storing_it_is_charged_and_there_is_no_twin(tmp_path):
    ledger = str(tmp_path / "k.ledger")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, ledger], capture_output=True, env=dict(os.environ), check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    session = people(people_rows(20)).session(dp.budget(epsilon=10, delta=1e-6), ledger=ledger)
    assert session.spent.loss > 1
    with pytest.raises(Unanswered):
        session.fetch("twin")


def run(capsys, *words):
    code = 0
    try:
        main(words)
    except SystemExit as stop:
        code = stop.code or 0
    out, err = capsys.readouterr()
    return out, err, code


@pytest.fixture
def shell(tmp_path, monkeypatch):
    import pandas

    monkeypatch.chdir(tmp_path)
    pandas.DataFrame(people_rows(100)).to_parquet(tmp_path / "people.parquet")
    (tmp_path / "people.yaml").write_text(BOOK)
    return ["synthesize", "people.parquet", "--codebook", "people.yaml"]


def test_the_shell_prices_synthesizes_and_refuses_with_its_exit_codes(capsys, shell, tmp_path):
    out, _, code = run(capsys, *shell, "--epsilon", "1", "--price", "--json")
    assert code == 0
    assert json.loads(out)["plan"]["columns"] == 6
    out, _, code = run(capsys, *shell, "--epsilon", "1", "--price")
    assert "pairs scored" in out
    words = ["--epsilon", "1", "--rows", "50", "--out", "twin.parquet", "--report", "twin.html", "--bins", "age=5"]
    out, err, code = run(capsys, *shell, *words, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"] == 50
    assert json.loads((tmp_path / "twin.parquet.json").read_text())["rows"] == 50
    assert (tmp_path / "twin.html").exists()
    assert (tmp_path / "people.ledger").exists()
    out, _, code = run(capsys, *shell, *words)  # the same again is free
    assert code == 0
    assert "Synthetic rows" in out
    for more, wanted, said in (
        (["--epsilon", "5"], 4, "left"),
        (["--epsilon", "1", "--method", "magic"], 1, "method must be"),
        (["--epsilon", "1", "--rows", "0"], 1, "rows must be"),
        (["--epsilon", "1", "--out", "x.doc"], 1, "--out"),
        (["--epsilon", "1", "--bins", "age"], 1, "name=number"),
        (["--epsilon", "1", "--method", "tree", "--target", "sex"], 1, "target"),
        (["--epsilon", "1", "--open", "town=many"], 1, "name=number"),
        (["--epsilon", "1", "--open", "town"], 1, "without declared categories"),
        (["--epsilon", "one"], 2, "epsilon"),
    ):
        out, err, code = run(capsys, *shell, *more)
        assert code == wanted, err
        assert said in err
        assert err.count("\n") == 1


def test_the_shell_keeps_public_rules(capsys, shell, tmp_path):
    rules = ["--never", "sex=f,age=3", "--never", "works=true,town=a", "--order", "age,pay"]
    _, err, code = run(capsys, *shell, "--epsilon", "3", "--rows", "80", "--out", "t.parquet", *rules)
    assert (code, err) == (0, "")
    for sex, town, age, pay, works in duckdb.sql(
        f"SELECT sex, town, age, pay, works FROM '{tmp_path / 't.parquet'}'"
    ).fetchall():
        assert not (sex == "f" and age == 3)
        assert not (works and town == "a")
        assert age is None or pay is None or age <= pay
    assert json.loads((tmp_path / "t.parquet.json").read_text())["rules"]["order"] == [["age", "pay"]]
    for flags, said in (
        (["--never", "sex"], "--never is written"),
        (["--order", "age"], "--order is written"),
        (["--never", "hat=1"], "no column 'hat'"),
        (["--order", "age,since"], "order needs two numbers"),
    ):
        _, err, code = run(capsys, *shell, "--ledger", "new.ledger", "--epsilon", "3", "--out", "t.parquet", *flags)
        assert code == 1
        assert said in err
        assert not (tmp_path / "new.ledger").exists(), "refused before there is a charge"


def test_the_shell_opens_a_text_without_categories(capsys, shell, tmp_path):
    words = ["--epsilon", "4", "--columns", "town,sex"]
    declared = (tmp_path / "people.yaml").read_text()
    (tmp_path / "people.yaml").write_text(re.sub(r"(town: \{type: string).*?\}", r"\1}", declared))
    _, err, code = run(capsys, *shell, *words, "--price")
    assert code == 1
    assert "town" in err
    for told in ("town", "town=3"):
        out, err, code = run(capsys, *shell, *words, "--open", told, "--price", "--json")
        assert (code, err) == (0, "")
        assert "town" in str(json.loads(out)["plan"])


def test_what_thresholds_may_leak_is_charged():
    """The delta of open columns is a leak in the charge itself, not in its price alone."""
    session = people(people_rows(1), OPEN).session(dp.budget(epsilon=20, delta=1e-3))
    plan = session.synthesizer(columns=["sex", "town"], open={"town": 3})
    bought, _ = plan._bought(Fraction(10), None, Fraction(1, 10**4), True)
    for cost in (bought.charge, bought.cost):
        assert session.filters.read(cost).leak >= plan.synthesis.leak(Fraction(1, 10**4)) > 0
