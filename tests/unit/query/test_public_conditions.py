"""Declared keys and the conditions of a query: what cannot hold a row is not shown, and what is no category is refused."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import deniable as dp
from deniable.engines.evaluate import evaluate
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.datasheet import datasheet
from deniable.plan.expression import columns
from deniable.plan.nodes import Project, scan
from deniable.plan.relation import schema
from deniable.plan.translate import parse
from deniable.query import Query, compile_query, keys
from deniable.query.keys import key_set
from deniable.release.dataset import Dataset
from deniable.testing import Silent

BOOK = {
    "name": "flights",
    "unit": {"id": "plane", "groups": 6, "rows_per_group": 2},
    "table": "flights",
    "variables": {
        "plane": "integer",
        "carrier": {"type": "string", "categories": ["AA", "UA"], "of_unit": True},
        "seats": {"type": "integer", "bounds": [0, 3], "of_unit": True},
        "origin": {"type": "string", "categories": ["EWR", "JFK", "LGA"], "other": "else"},
        "month": {"type": "integer", "bounds": [1, 12]},
        "delay": {"type": "number", "bounds": [0, 4], "step": 0.5},
        "urgent": "boolean",
    },
}
ROWS: dict[str, list[Any]] = {
    "plane": [1, 1, 1, 2, 2, 3, 3, 3],
    "carrier": ["AA", "AA", "AA", "UA", "UA", "AA", "UA", "UA"],  # plane 3 breaks the word
    "seats": [1, 1, 1, 2, 2, 3, 3, 0],
    "origin": ["EWR", "JFK", "JFK", "LGA", "JFK", "EWR", "JFK", "XXX"],
    "month": [1, 2, 3, 4, 5, 6, 7, 8],
    "delay": [0.5, 1, 1.5, 2, 0, 4, 3.5, 0.5],
    "urgent": [True, False, True, None, False, True, True, False],
}


@pytest.fixture(params=["DuckDB", "reference"])
def session(request: pytest.FixtureRequest) -> Any:
    from deniable.engines.reference import ReferenceEngine

    book = Codebook.from_record(BOOK)
    source = ReferenceEngine({"flights": ROWS}, book, key=5) if request.param == "reference" else ROWS
    return Dataset(source, codebook=book).session(dp.budget(epsilon=10**6, delta=1e-6), entropy=Silent())


@pytest.mark.parametrize(
    ("condition", "key", "shown"),
    [
        ("origin = 'JFK'", "origin", ["JFK"]),
        ("origin <> 'JFK'", "origin", ["EWR", "LGA", "else"]),
        ("'EWR' = origin or origin = 'else'", "origin", ["EWR", "else"]),
        ("origin in ('LGA', 'EWR') and delay > 0", "origin", ["EWR", "LGA"]),
        ("month <= 3", "month", [1, 2, 3]),
        ("month > 3 and month % 4 = 0", "month", [4, 8, 12]),
        ("delay >= 3.2", "delay", [3.5, 4]),
        ("urgent", "urgent", [True]),
        ("origin = 'JFK' and origin = 'EWR'", "origin", ["EWR", "JFK", "LGA", "else"]),
        ("delay > month", "month", list(range(1, 13))),
        ("origin is null", "origin", ["EWR", "JFK", "LGA", "else"]),
    ],
)
def test_a_public_condition_cuts_public_keys(session: Any, condition: str, key: str, shown: list[Any]) -> None:
    answer = session.query().where(condition).group_by(key).agg(n=dp.count()).release(epsilon=1)
    assert [group[0] for group in answer.groups] == shown
    plain = session.query().where(condition).agg(n=dp.count()).bound(rows=6).release(epsilon=1)
    assert sum(answer.columns["n"].values) == plain.value("n")  # nothing that can hold a row is left out


GRID = {
    "whole": range(8),
    "part": [Fraction(n, 2) for n in range(-4, 5)],
    "day": [date(2024, 2, 27) + timedelta(n) for n in range(5)],
    "word": ["no", "yes"],
}
"""Every value of four small columns."""

SMALL = {
    "unit": {"id": "u", "groups": 1, "rows_per_group": 1},
    "variables": {
        "u": "integer",
        "whole": {"type": "integer", "bounds": [0, 7]},
        "part": {"type": "number", "bounds": [-2, 2], "step": 0.5},
        "day": {"type": "date", "bounds": ["2024-02-27", "2024-03-02"]},
        "word": {"type": "string", "categories": ["no", "yes"]},
        "far": {"type": "integer", "bounds": [0, 4000]},
    },
}


@pytest.mark.parametrize(
    "key",
    [
        "floor(whole / 3) * 3",
        "floor(whole / 3.0) * 3 - 1",
        "whole - whole % 4",
        "whole * whole",
        "width_bucket(part, -1, 3, 4)",
        "round(part) * 10",
        "case when whole < 2 then 1 when whole < 5 then 7 else 9 end",
        "case when word = 'no' then 4 end",
        "case when part > 5 then 'far' else 'near' end",
        "cast(whole as text)",
        "month(day)",
        "extract(dow from day) * 10",
        "date_trunc('month', day)",
        "strftime(day, '%Y-%m')",
        "upper(word)",
        "coalesce(whole, 0) * 5",
        "month(day) * 10 + whole",
        "least(whole, 3) * part",
    ],
)
@pytest.mark.parametrize("condition", ["", "whole < 4 and 1 <= part", "day between '2024-02-29' and '2024-03-01'"])
def test_public_keys_are_what_a_row_can_have(key: str, condition: str) -> None:
    """Against every row of a small grid: no key of a row is left out, and none that no row has is shown."""
    book = Codebook.from_record({"name": "x", "table": "x", **SMALL})
    query = Query(source=scan(book, None), runner=None)  # type: ignore[arg-type]
    query = query.where(condition.replace("'2024", "date '2024")) if condition else query
    query = query.derive(made=key)
    known = schema(query.source.source if isinstance(query.source, Project) else query.source)
    expression = parse(key, schema=known)
    passes = parse(condition.replace("'2024", "date '2024"), schema=known) if condition else None
    rows = [dict(zip(GRID, row, strict=True)) for row in product(*GRID.values())]
    here = [row for row in rows if passes is None or evaluate(passes, row, known) is True]
    wanted = {evaluate(expression, row, known) for row in here} - {None}
    for asked in (query.group_by(k=key), query.group_by("made")):
        shown = key_set(asked)
        (domain,) = (column.domain for column in shown.columns)
        assert domain is not None
        found = {value * shown.facts[0].step if type(value) is int else value for value in domain}
        assert len(domain) == len(found)
        assert found >= wanted
        if len(columns(expression)) == 1 and "then 'far'" not in key:
            assert found == wanted


def test_bins_of_a_wide_number_are_public_and_conditions_cut_them() -> None:
    book = Codebook.from_record({"name": "x", "table": "x", **SMALL})
    query = Query(source=scan(book, None), runner=None)  # type: ignore[arg-type]
    bins = [column.domain for column in key_set(query.group_by(k="floor(far / 500) * 500")).columns]
    assert bins == [tuple(range(0, 4001, 500))]
    few = query.where("far >= 1250 and 3000 > far").group_by(k="floor(far / 500) * 500")
    assert key_set(few).columns[0].domain == (1000, 1500, 2000, 2500)
    assert key_set(query.group_by(k="least(far, 2000)")).columns[0].domain is None  # too many to be shown


@pytest.mark.parametrize("keys", [("urgent", "month"), ("month", "urgent")])
def test_truth_values_are_not_taken_for_numbers_that_equal_them(session: Any, keys: tuple[str, str]) -> None:
    """Python holds (0, 1) and (False, True) for equal: what was asked before must not say which of them is shown."""
    wanted = {"urgent": [False, True], "month": [0, 1]}
    held = session.query().select(month="clamp(month - 1, 0, 1)", urgent="urgent", plane="plane")
    for key in (*keys, *keys):
        shown = [group[0] for group in held.group_by(key).agg(n=dp.count()).release(epsilon=1).groups]
        assert [(type(value), value) for value in shown] == [(type(value), value) for value in wanted[key]]


def test_keys_are_cut_through_names_and_joins_and_in_sql(session: Any) -> None:
    renamed = session.query().where("origin = 'LGA'").select(place="origin", plane="plane").where("place <> 'EWR'")
    assert [g[0] for g in renamed.group_by("place").agg(n=dp.count()).release(epsilon=1).groups] == ["LGA"]
    answer = session.sql(
        "SELECT origin, month, COUNT(*) AS n FROM flights WHERE origin = 'JFK' AND month <= 2 GROUP BY ROLLUP(origin, month)",
        epsilon=1,
    )
    assert {(row["origin"], row["month"]) for row in answer.table} == {
        ("JFK", 1), ("JFK", 2), ("JFK", None), (None, None),
    }  # fmt: skip
    listed = session.query().where("origin = 'JFK'").group_by("origin", values={"origin": ["JFK", "EWR"]})
    assert len(listed.agg(n=dp.count()).release(epsilon=1).groups) == 2  # keys that were asked for are shown


@pytest.mark.parametrize(
    "ask",
    [
        lambda query: query.where("origin = 'jfk'").agg(n=dp.count()),
        lambda query: query.where("not ('jfk' = origin and month > 1)").agg(n=dp.count()),
        lambda query: query.where("origin in ('jfk', 'lga')").agg(n=dp.count()),
        lambda query: query.agg(n=dp.count("case when origin <> 'jfk' then 1 end")),
        lambda query: query.group_by(k="case when origin = 'jfk' then 1 else 0 end").agg(n=dp.count()),
    ],
)
def test_a_text_that_is_no_category_is_refused_with_the_list(session: Any, ask: Any) -> None:
    with pytest.raises(QueryRefused, match=r"'jfk' is not a category of origin") as refused:
        ask(session.query()).release(epsilon=1)
    assert "EWR, JFK, LGA, else" in str(refused.value)
    assert session.spent.loss == 0


def test_columns_of_the_unit_cost_one_group(session: Any) -> None:
    book = Codebook.from_record(BOOK)
    assert book.unit is not None
    by = {
        keys: compile_query(session.query().group_by(*keys).agg(n=dp.count()), book.unit).plan.bounding.groups
        for keys in (("carrier",), ("carrier", "seats"), ("origin",), ("carrier", "origin"))
    }
    assert by == {("carrier",): 1, ("carrier", "seats"): 1, ("origin",): 6, ("carrier", "origin"): 6}
    computed = session.query().group_by(large="seats >= 2").agg(n=dp.count())
    assert compile_query(computed, book.unit).plan.bounding.groups == 1
    asked = session.query().group_by("carrier").bound(groups=3).agg(n=dp.count())
    assert compile_query(asked, book.unit).plan.bounding.groups == 3  # the query's own bound


def test_a_unit_that_breaks_its_word_is_kept_in_one_group(session: Any) -> None:
    query = session.query().group_by("carrier").agg(n=dp.count_distinct(), r=dp.count())
    answer = query.release(epsilon=1)
    assert sum(answer.columns["n"].values) == 3
    assert sum(answer.columns["r"].values) in (2 + 2 + 2, 2 + 2 + 1)
    unit = Codebook.from_record(BOOK).unit
    assert unit is not None
    assert "a unit with several values of carrier is kept in one group" in compile_query(query, unit).notes[0]


def test_the_word_is_part_of_the_codebook() -> None:
    book = Codebook.from_record(BOOK)
    assert Codebook.from_yaml(book.to_yaml()) == book
    assert book["flights"]["carrier"].of_unit
    assert not book["flights"]["origin"].of_unit
    assert "the same in all rows of a unit" in datasheet(book)


def test_a_deep_key_of_one_column_is_worked_out_once_for_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once more for each of its parts: the price of a short text took seconds."""
    calls = 0

    def counted(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        return evaluate(*given)

    monkeypatch.setattr(keys, "evaluate", counted)
    query = Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=1)).query()
    assert len(key_set(query.group_by(k="delay" + " + 0.5" * 30)).columns[0].domain or ()) == 9
    assert calls <= 10  # nine values and a missing one


def test_truths_and_the_numbers_equal_to_them_are_keys_of_their_own() -> None:
    query = Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=1)).query()
    written = [f"case when delay > 3.5 then {high} else {low} end" for high, low in (("true", "false"), (1, 0))]
    for text, wanted in [(written[0], [False, True]), (written[1], [0, 1]), (written[0], [False, True])]:
        found = key_set(query.group_by(k=text)).columns[0].domain or ()
        assert [(type(value), value) for value in found] == [(type(value), value) for value in wanted]


def test_texts_of_truths_are_not_those_of_the_numbers_equal_to_them() -> None:
    query = Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=1)).query()
    for high, low in ((1, 0), ("true", "false")):
        found = key_set(query.group_by(k=f"cast(case when delay > 3.5 then {high} else {low} end as text)")).columns[0]
        assert sorted(map(str, found.domain or ())) == sorted([str(high), str(low)])
