"""The fairness gate: where bounds on rows bind and columns have few values, answers without noise are the fair expectation.

Twenty tables, stacked as groups of one so that a server is asked once; the expectation is that of keeping rows of a unit at
random, which is every row weighed by how many may count over how many there are, in plain fractions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import deniable as dp
from deniable.plan.canonical import identity
from deniable.plan.codebook import Codebook
from deniable.query import compile_query
from deniable.release.dataset import Dataset
from deniable.release.digest import query_digest
from deniable.testing import Silent
from tests.engines.everywhere import ENGINES, placed, servers_of
from tests.engines.sql_schemas import World

TABLES, ROWS = 20, 4
"""How many tables, and how many rows of a unit may count in each."""

Row = tuple[int, int, int | None, int, float | None]
"""Unit, table, whether late, rating, amount."""


def _mixed(*of: int) -> int:
    state = 2166136261
    for part in of:
        state = (state ^ part) * 16777619 % 2**32
    return state >> 7


@cache
def _rows() -> tuple[Row, ...]:
    """Units with one row and with fifty; shares from rare to common; values that go together, and missing ones."""
    rows: list[Row] = []
    for table in range(TABLES):
        for unit in range(12):
            size = (1, 3, 7, 20, 50)[(unit + table) % 5]
            for place in range(size):
                chance = _mixed(table, unit, place)
                late = int(chance % 100 < 5 * table + unit)
                rating = 5 if chance % 10 < 8 - table % 4 else 1
                amount = None if chance % 9 == 0 else (chance % 4) / 4 + late * (unit % 3)
                rows.append((100 * table + unit, table, None if chance % 31 == 0 else late, rating, amount))
    return tuple(rows)


@cache
def _world() -> World:
    names = ("who", "t", "late", "rating", "amount")
    kinds = ("BIGINT", "BIGINT", "BIGINT", "BIGINT", "DOUBLE")
    variables = {
        "who": "integer",
        "t": {"type": "integer", "bounds": [0, TABLES - 1]},
        "late": {"type": "integer", "bounds": [0, 1]},
        "rating": {"type": "integer", "bounds": [1, 5]},
        "amount": {"type": "number", "bounds": [0, 3], "step": 0.25},
    }
    book = {"unit": {"id": "who", "groups": 1, "rows_per_group": ROWS}, "table": "stacked", "variables": variables}
    columns = {name: [row[place] for row in _rows()] for place, name in enumerate(names)}
    return World(book, {"stacked": columns}, {"stacked": dict(zip(names, kinds, strict=True))})


QUERY = """
SELECT t, COUNT(*) AS n, COUNT(*) FILTER (WHERE late = 1) AS late_rows, COUNT(*) FILTER (WHERE late = 1) * 1.0 / COUNT(*) AS share,
       AVG(CASE WHEN late = 1 THEN 1 ELSE 0 END) AS mean_share, AVG(late) AS mean_late, AVG(rating) AS mean_rating,
       AVG(amount) AS mean_amount, VAR_POP(rating) AS var_rating, STDDEV_POP(late) AS sd_late, VAR_POP(amount) AS var_amount,
       COVAR_POP(late, amount) AS covariance, SUM(rating) AS rating_sum, MEDIAN(amount) AS middle
FROM stacked GROUP BY t
"""
PAIR = {"late": 2, "rating": 3, "amount": 4}


def _mean(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    return sum((w * x for w, x in pairs), Fraction(0)) / sum((w for w, _ in pairs), Fraction(0))


def _variance(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    centre = _mean(pairs)
    return _mean([(w, (x - centre) ** 2) for w, x in pairs])


def _fair(rows: Sequence[Row]) -> dict[str, float]:
    """What keeping rows at random gives on average."""
    sizes: dict[int, int] = defaultdict(int)
    for row in rows:
        sizes[row[0]] += 1
    weighed = [(Fraction(min(ROWS, sizes[row[0]]), sizes[row[0]]), row) for row in rows]

    def of(name: str) -> list[tuple[Fraction, Fraction]]:
        return [(w, Fraction(row[PAIR[name]])) for w, row in weighed if row[PAIR[name]] is not None]  # type: ignore[arg-type]

    both = [(w, Fraction(row[2]), Fraction(row[4])) for w, row in weighed if row[2] is not None and row[4] is not None]
    late, amount = _mean([(w, x) for w, x, _ in both]), _mean([(w, y) for w, _, y in both])
    flagged = [(w, Fraction(row[2] == 1)) for w, row in weighed]
    found = {
        "n": sum(w for w, _ in weighed),
        "late_rows": sum(w * x for w, x in flagged),
        "share": _mean(flagged),
        "mean_share": _mean(flagged),
        "mean_late": _mean(of("late")),
        "mean_rating": _mean(of("rating")),
        "mean_amount": _mean(of("amount")),
        "var_rating": _variance(of("rating")),
        "var_amount": _variance(of("amount")),
        "covariance": _mean([(w, (x - late) * (y - amount)) for w, x, y in both]),
        "rating_sum": sum(w * x for w, x in of("rating")),
    }
    return {name: float(value) for name, value in found.items()} | {"sd_late": float(_variance(of("late"))) ** 0.5}


def _middle(value: float, rows: Sequence[Row]) -> bool:
    """At most half of the weight lies below, at most half above, but for one step of rounding a unit."""
    sizes: dict[int, int] = defaultdict(int)
    for row in rows:
        sizes[row[0]] += 1
    weighed = [(min(1, ROWS / sizes[row[0]]), row[4]) for row in rows if row[4] is not None]
    half = sum(w for w, _ in weighed) / 2 + len(sizes) / 1024
    below, above = (sum(w for w, x in weighed if x < value), sum(w for w, x in weighed if x > value))
    return below <= half and above <= half


SHOWN = {"n": 0.0, "late_rows": 0.51, "rating_sum": 0.51}
"""Shown as whole numbers."""


@pytest.mark.parametrize("engine", ENGINES)
def test_twenty_tables_with_binding_bounds_are_answered_fairly(engine: str, request: pytest.FixtureRequest) -> None:
    data = placed(engine, _world(), servers_of(request))
    session = data.session(dp.budget(epsilon=10**6), entropy=Silent())
    answer = session.sql(QUERY, epsilon=5000)
    assert len(answer.table) == TABLES
    for row in answer.table:
        mine = [each for each in _rows() if each[1] == row["t"]]
        wanted = _fair(mine)
        for name, value in wanted.items():
            room = SHOWN.get(name, 0.51 / wanted["n"] if name == "share" else 0.003)
            assert row[name] == pytest.approx(value, abs=room), (row["t"], name)
        assert _middle(row["middle"], mine), row["t"]


def _session(rows: dict[str, list[Any]], variables: dict[str, Any], most: int) -> Any:
    book = {"unit": {"id": "u", "groups": 1, "rows_per_group": most}, "table": "x", "variables": variables}
    return Dataset(rows, codebook=book).session(dp.budget(epsilon=10**6), entropy=Silent())


LATE = {"u": "integer", "late": {"type": "integer", "bounds": [0, 1]}}


def test_a_tenth_is_a_tenth_however_it_is_asked() -> None:
    """Every unit has a hundred rows, ten of them late, and ten may count."""
    rows = {"u": [i // 100 for i in range(6000)], "late": [int(i % 100 < 10) for i in range(6000)]}
    session = _session(rows, LATE, 10)
    answer = session.sql(
        "SELECT AVG(late) AS m, VAR_POP(late) AS v, SUM(late) AS s, COUNT(*) AS n, COUNT(*) FILTER (WHERE late = 1) AS c, "
        "COUNT(*) FILTER (WHERE late = 1) * 1.0 / COUNT(*) AS share FROM x",
        epsilon=100,
    )
    (row,) = answer.table
    assert [row[name] for name in ("m", "v", "s", "n", "c", "share")] == pytest.approx([0.1, 0.09, 60, 600, 60, 0.1])
    assert session.query().agg(s=dp.sum("late")).release(epsilon=1).value("s") == 60  # whatever is asked beside it
    assert session.query().agg(s=dp.sum("late", clip="total")).release(epsilon=1).value("s") == 600
    sampled = session.query().keeping(sampled=True).agg(m=dp.mean("late")).release(epsilon=100).value("m")
    assert sampled == pytest.approx(0.1, abs=0.04)  # a sample of 600 rows


def test_planes_that_fly_often_do_not_change_the_share_of_late_flights() -> None:
    """A made-up year of flights: what a fair sample of each plane's flights says, not what its distinct delays say."""
    rows: dict[str, list[Any]] = {"u": [], "late": []}
    wanted, weights = Fraction(0), Fraction(0)
    for plane in range(300):
        flights = 1 + _mixed(plane, 1) % 200
        late = [int(_mixed(plane, flight, 7) % 1000 < 76) for flight in range(flights)]
        rows["u"] += [plane] * flights
        rows["late"] += late
        wanted += Fraction(min(10, flights), flights) * sum(late)
        weights += min(10, flights)
    answer = _session(rows, LATE, 10).query().agg(m=dp.mean("late"), n=dp.count()).release(epsilon=1000)
    assert answer.value("n") == weights
    assert answer.value("m") == pytest.approx(float(wanted / weights), abs=1e-4)
    assert 0.06 < answer.value("m") < 0.09


def test_first_and_last_rows_are_kept_whatever_is_asked_beside_them() -> None:
    units = [2 * pair + (row == 6) for pair in range(40) for row in range(7)]
    rows = {"u": units, "late": [0, 0, 0, 1, 1, 1, 1] * 40, "day": [1, 2, 3, 4, 5, 6, 1] * 40}
    session = _session(rows, {**LATE, "day": {"type": "integer", "bounds": [1, 6]}}, 2)
    asked = {"n": dp.count(), "s": dp.sum("late"), "m": dp.mean("late"), "d": dp.median("day")}
    for how, total in (({"first": "day"}, 1), ({"last": "day"}, 3)):
        answer = session.query().keeping(**how).agg(**asked).release(epsilon=1000)
        assert (answer.value("n"), answer.value("s")) == (3 * 40, total * 40)
        assert answer.value("m") == pytest.approx(total / 3)
    with pytest.raises(ValueError, match="one of them"):
        session.query().keeping(first="day", sampled=True)


def test_a_condition_counts_in_parts_of_rows_and_is_shown_whole() -> None:
    """Three rows, one late, two may count: two thirds of a row, with the noise of two rows and a step of a 1,024th."""
    session = _session({"u": [1, 1, 1], "late": [1, 0, 0]}, LATE, 2)
    query = session.query().agg(c=dp.count("case when late = 1 then 1 end"))
    price, whole = query.price(epsilon=1), session.query().agg(n=dp.count()).price(epsilon=1)
    (fine,), (coarse,) = price.allocation.noises.values(), whole.allocation.noises.values()
    assert fine.scale / 1024 == coarse.scale
    assert price.errors["c"].within <= whole.errors["n"].within + 1  # rounding what is shown
    answer = query.release(epsilon=1)
    column = answer.columns["c"]
    assert column.values == (1,)
    assert isinstance(column.values[0], int)
    assert column.within == price.errors["c"].within


def test_rolled_up_parts_of_rows_add_up_and_can_be_made_whole() -> None:
    rows = {
        "u": [i // 7 for i in range(140)],
        "late": [int(i % 3 == 0) for i in range(140)],
        "g": [i % 2 for i in range(140)],
    }
    variables = {**LATE, "g": {"type": "integer", "bounds": [0, 1]}}
    book = {"unit": {"id": "u", "groups": 2, "rows_per_group": 2}, "table": "x", "variables": variables}
    for entropy, whole in ((Silent(), False), (None, True)):
        session = Dataset(rows, codebook=book).session(dp.budget(epsilon=10**6), entropy=entropy)
        query = session.query().group_by("g").rollup().agg(c=dp.count("case when late = 1 then 1 end"))
        answer = (query.whole_numbers() if whole else query).release(epsilon=1)
        total, *parts = (
            answer.columns["c"].values[i] for i in sorted(range(3), key=lambda i: answer.groups[i] != (None,))
        )
        assert sum(parts) == total
        assert not whole or all(value == int(value) for value in parts)


def test_a_mean_of_rolled_up_groups_weighs_them_by_the_rows_that_count() -> None:
    """Each of forty: four rows of value one in a group, one row of value zero in another, two may count in each."""
    rows = {"u": [row // 5 for row in range(200)], "late": [1, 1, 1, 1, 0] * 40, "g": [0, 0, 0, 0, 1] * 40}
    book = {
        "unit": {"id": "u", "groups": 2, "rows_per_group": 2},
        "table": "x",
        "variables": {**LATE, "g": {"type": "integer", "bounds": [0, 1]}},
    }
    session = Dataset(rows, codebook=book).session(dp.budget(epsilon=10**6), entropy=Silent())
    answer = session.query().group_by("g").rollup().agg(m=dp.mean("late")).release(epsilon=1000)
    means = dict(zip(answer.groups, answer.columns["m"].values, strict=True))
    assert means == {(0,): 1, (1,): 0, (None,): pytest.approx(2 / 3)}
    assert any("weighs the groups of a unit" in note for note in answer.notes)


def test_a_bound_on_all_rows_overrides_the_codebooks() -> None:
    """The codebook lets 2 rows of a group count; a query that says how many in all keeps so many, wherever they are."""
    session = _session({"u": [1] * 9 + [2], "late": [0] * 8 + [1, 1]}, LATE, 2)
    assert session.query().agg(n=dp.count()).release(epsilon=1).value("n") == 2 + 1
    assert session.query().bound(total=5).agg(n=dp.count()).release(epsilon=1).value("n") == 5 + 1
    assert session.query().bound(total=5, rows=3).agg(n=dp.count()).release(epsilon=1).value("n") == 3 + 1


def test_a_bound_on_all_rows_in_the_codebook() -> None:
    """Nine rows of one unit, two in each group and five in all: a question without groups counts five, one with groups two."""
    rows = {"u": [1] * 9 + [2], "late": [0] * 9 + [1], "g": ["a"] * 3 + ["b"] * 3 + ["c"] * 3 + ["a"]}
    unit = {"id": "u", "groups": 3, "rows_per_group": 2, "rows": 5}
    variables = {**LATE, "g": {"type": "string", "categories": ["a", "b", "c"]}}
    book = Codebook.from_record({"name": "t", "unit": unit, "table": "t", "variables": variables})
    assert Codebook.from_record(book.to_record()) == book
    session = Dataset(rows, codebook=book).session(dp.budget(epsilon=100), entropy=Silent())
    alone, grouped = session.query().agg(n=dp.count()), session.query().group_by("g").agg(n=dp.count())
    assert alone.release(epsilon=1).value("n") == 5 + 1
    assert "Counts are of at most 5 rows per u; choose_bounds" in str(alone.release(epsilon=1))
    assert "Counts are of at most 2 rows per u and g;" in str(grouped.release(epsilon=1))
    told = sum(row["n"] for row in grouped.release(epsilon=1).table)
    assert told <= 5 + 1
    (measured,) = grouped.mechanism(epsilon=1).compiled.measurements.additive
    assert (measured.sensitivity.l1, measured.sensitivity.linf) == (5, 2)
    wider = session.query().group_by("g").bound(groups=3, rows=3).agg(n=dp.count())
    assert sum(row["n"] for row in wider.release(epsilon=1).table) == 10


FIRST_VERSION = {
    "count": "f18cbee3a544008e7f58ae67ef66bc93677d5c985914040a7b79bf66c415c495",
    "sum": "0264abd7a527de969744533ff4cc4652e1b2ae58bed25aed32f8db5d07c94007",
    "mean": "ff534fb4edbb73e310f4bb46a287ab6ce03950091d03c586df7a7e796220889f",
    "median": "c6f99c8a17d59d03464bc965351ffe6e2a55de8e07fb5f232e9ecf237f45a732",
    "first": "9c8c675b1dc119cb6b5e67166dcbf1c893445381f9e928d1729a78a1c11c64bc",
}
"""The digests under which the first version stored its answers to these questions."""


def test_what_the_first_version_stored_is_not_shown_for_a_question_asked_anew() -> None:
    """The same words mean something else now: a new question, which is priced; the old answer is fetched by its receipt."""
    book = {
        "name": "v",
        "unit": {"id": "u", "groups": 1, "rows_per_group": 2},
        "table": "x",
        "variables": {"u": "integer", "x": {"type": "integer", "bounds": [0, 9]}},
    }
    session = Dataset({"u": [1, 1, 1], "x": [1, 2, 3]}, codebook=book).session(dp.budget(epsilon=9))
    unit = Codebook.from_record(book).unit
    assert unit is not None
    asked = {
        "count": session.query().agg(n=dp.count("x")),
        "sum": session.query().agg(n=dp.sum("x")),
        "mean": session.query().agg(n=dp.mean("x")),
        "median": session.query().agg(n=dp.median("x")),
        "first": session.query().keeping(first="x").agg(n=dp.mean("x")),
    }
    found = {name: query_digest(compile_query(query, unit), query.price(epsilon=1)) for name, query in asked.items()}
    assert not set(found.values()) & set(FIRST_VERSION.values())
    assert len(set(found.values())) == len(asked)
    plans = {name: identity(compile_query(query, unit).plan) for name, query in asked.items()}
    assert all("Spread" in plans[name] for name in ("count", "sum", "mean"))
    assert '"bits"' in plans["median"]
    assert plans["first"].endswith("equal rows are numbered")
