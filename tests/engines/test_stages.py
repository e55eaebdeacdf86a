"""Queries in stages: exact when noise is silent, one charge, prices and sensitivities that no released value can move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from sqlglot import parse_one

from deniable.accounting import budget
from deniable.engines import reference
from deniable.engines.engine import Engine, Result
from deniable.engines.reference import ReferenceEngine
from deniable.errors import BudgetExceeded, EngineFailed, InvalidArgument, QueryRefused, Retired, Unanswered
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import GroupAgg
from deniable.plan.sensitivity import sensitivities
from deniable.plan.value_tables import with_values
from deniable.query import compile_query
from deniable.query.aggregates.count import count
from deniable.query.aggregates.mean import mean
from deniable.query.sql import (
    Explanation,
    compile_stages,
    compile_statement,
    filled,
    read,
    released_forms,
)
from deniable.query.sql.released_facts import held_value
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.release.staged import StagedRelease
from deniable.testing import Silent
from tests.engines.everywhere import KEY, REMOTE, placed, servers_of
from tests.engines.plain_sql import compared
from tests.engines.sql_schemas import plain, world
from tests.sql_grammar import Nobody

_COMPARED = "SELECT COUNT(*) AS n FROM visits WHERE duration > (SELECT AVG(duration) FROM visits)"

CLINIC = f"""
{_COMPARED}
SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits WHERE urgent
SELECT specialty, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits WHERE specialty IS NOT NULL GROUP BY specialty
SELECT COUNT(*) AS n FROM visits WHERE duration > 1.5 * (SELECT AVG(duration) FROM visits) AND cost < (SELECT AVG(cost) FROM visits WHERE urgent)
SELECT v.specialty, COUNT(*) AS n FROM visits v JOIN (SELECT specialty, AVG(cost) AS a FROM visits GROUP BY specialty) m ON v.specialty = m.specialty WHERE v.cost > m.a GROUP BY v.specialty
WITH m AS (SELECT specialty, AVG(cost) AS a FROM visits GROUP BY specialty) SELECT COUNT(*) AS n FROM visits v JOIN m ON v.specialty = m.specialty WHERE v.cost > m.a
SELECT COUNT(*) AS n FROM visits WHERE specialty IN (SELECT specialty FROM visits GROUP BY specialty HAVING COUNT(*) > 180)
SELECT MAX(n) AS m FROM (SELECT specialty, COUNT(*) AS n FROM visits GROUP BY specialty) t
SELECT specialty, n, n * 1.0 / SUM(n) OVER () AS share FROM (SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty) t
SELECT specialty, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM visits WHERE specialty IS NOT NULL GROUP BY specialty
SELECT specialty, AVG(cost) AS a, RANK() OVER (ORDER BY AVG(cost) DESC) AS place FROM visits WHERE specialty IS NOT NULL GROUP BY specialty ORDER BY place
SELECT 'all' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'urgent' AS what, COUNT(*) AS n FROM visits WHERE urgent
SELECT AVG(duration) AS a FROM visits UNION ALL SELECT AVG(born) AS a FROM patients
SELECT a.specialty, a.n, b.c FROM (SELECT specialty, COUNT(*) AS n FROM visits GROUP BY specialty) a JOIN (SELECT specialty, AVG(cost) AS c FROM visits GROUP BY specialty) b ON a.specialty = b.specialty ORDER BY a.n DESC
SELECT specialty, COUNT(*) AS n FROM visits GROUP BY specialty HAVING COUNT(*) > (SELECT COUNT(*) FROM visits) / 4.0
SELECT c.name, c.country FROM cities c WHERE c.pop > (SELECT COUNT(*) FROM visits v WHERE v.city = c.name) ORDER BY c.name
SELECT COUNT(*) AS n FROM visits v JOIN cities c ON v.city = c.name WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.city = c.name)
""".strip().splitlines()  # noqa: E501

SHOP = """
SELECT SUM(i.price) AS s FROM items i JOIN products p ON i.product_id = p.product_id WHERE p.kind = 'toy' AND i.quantity < (SELECT AVG(j.quantity) FROM items j WHERE j.product_id = p.product_id)
WITH sold AS (SELECT product_id, SUM(price) AS s FROM items GROUP BY product_id) SELECT p.product_id, p.kind, sold.s FROM products p, sold WHERE p.product_id = sold.product_id AND sold.s = (SELECT MAX(s) FROM sold)
SELECT p.product_id FROM products p WHERE p.kind = 'book' AND p.weight * 100 > (SELECT 0.5 * SUM(quantity) FROM items i WHERE i.product_id = p.product_id) ORDER BY p.product_id
""".strip().splitlines()  # noqa: E501

RESIDUAL = """
SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.cost > v.cost)
SELECT COUNT(*) AS n FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.day < v.day)
SELECT specialty, COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.specialty <> v.specialty AND w.urgent) GROUP BY specialty
SELECT COUNT(*) AS n FROM visits v WHERE patient_id IN (SELECT patient_id FROM visits w WHERE w.duration < v.duration AND w.city = v.city)
SELECT COUNT(*) AS n FROM visits v WHERE v.city IN (SELECT name FROM cities c WHERE c.pop > v.cost)
""".strip().splitlines()  # noqa: E501

ALL = [("clinic", q) for q in (*CLINIC, *RESIDUAL)] + [("shop", q) for q in SHOP]
EVERYWHERE = pytest.mark.parametrize("engine", ["DuckDB", pytest.param("reference", marks=pytest.mark.slow), *REMOTE])


@EVERYWHERE
@pytest.mark.parametrize("name", ["clinic", "shop"])
def test_stages_give_what_plain_sql_gives(engine: str, name: str, request: pytest.FixtureRequest) -> None:
    data = placed(engine, world(name), servers_of(request))
    here = data.session(budget(epsilon=10**6), entropy=Silent())
    truth = plain(name)
    for query in [text for where, text in ALL if where == name]:
        found = compared(here.sql(query, epsilon=10**4), query, truth)  # type: ignore[arg-type]
        assert (found.wrong, found.hidden) == (0, 0), query
        assert found.equal > 0, query


def _clinic() -> Session:
    data = Dataset(world("clinic").tables, codebook=Codebook.from_record(world("clinic").codebook), name="clinic")
    return data.session(budget(epsilon=1000), entropy=Silent())


# One charge ----------------------------------------------------------------------------------------------------------


def test_the_stages_together_cost_what_was_offered_and_asking_again_is_free() -> None:
    here = _clinic()
    first = here.sql(_COMPARED, epsilon=3)
    assert here.spent.loss == 3
    assert isinstance(first, StagedRelease)
    assert list(first.stages) == ["stage 1"]
    assert first.facts.epsilon == 3
    again = here.sql(_COMPARED, epsilon=3)
    other = here.sql(_COMPARED.replace("COUNT(*) AS n", "COUNT(*) + 1 AS n"), epsilon=3)
    assert here.spent.loss == 3
    assert isinstance(again, StagedRelease)
    assert again.table == first.table
    assert other.table[0]["n"] == first.table[0]["n"] + 1  # type: ignore[union-attr]


def test_what_a_stage_is_multiplied_by_is_another_question() -> None:
    """What is computed of a stage decides the next plan, so it decides which stored answer is meant."""
    here = _clinic()
    here.sql(_COMPARED, epsilon=3)
    here.sql(_COMPARED.replace("(SELECT AVG(duration)", "(SELECT 2 * AVG(duration)"), epsilon=3)
    assert here.spent.loss == 6


def test_explanations_are_free_and_show_every_stage() -> None:
    here = _clinic()
    said = here.sql(f"EXPLAIN DP {_COMPARED}", epsilon=2)
    assert isinstance(said, Explanation)
    assert here.spent.loss == 0
    lines = str(said).splitlines()
    assert lines[0] == "2 stages, charged at once before the first: costs epsilon = 2"
    assert [line for line in lines if line.startswith("stage")] == ["stage 1 of 2", "stage 2 of 2"]
    assert sum("costs epsilon = 1" in line for line in lines) == 2
    assert any("values of stage 1" in line for line in lines)


def test_more_than_the_budget_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Dataset(world("clinic").tables, codebook=Codebook.from_record(world("clinic").codebook))
    here = data.session(budget(epsilon=1), entropy=Silent())
    monkeypatch.setattr(Session, "_answer", _never)
    with pytest.raises(BudgetExceeded):
        here.sql(_COMPARED, epsilon=2)
    assert here.spent.loss == 0


def _never(*_: Any) -> Any:
    raise AssertionError("data was read")


def test_a_failure_between_stages_keeps_the_charge_shows_nothing_and_draws_nothing_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = world("clinic")
    data = Dataset(here.tables, codebook=Codebook.from_record(here.codebook))
    opened = data.session(budget(epsilon=10), entropy=Silent())
    runs: list[str] = []
    whole = Session._answer

    def failing(self: Any, *given: Any) -> Any:
        runs.append("run")
        if len(runs) == 2:
            raise RuntimeError("the disk is full of secrets")
        return whole(self, *given)

    monkeypatch.setattr(Session, "_answer", failing)
    with pytest.raises(EngineFailed) as failure:
        opened.sql(_COMPARED, epsilon=4, request="first")
    assert "secrets" not in str(failure.value)
    assert opened.spent.loss == 4
    assert len(runs) == 2
    with pytest.raises(Unanswered):
        opened.fetch("first")
    with pytest.raises(Retired):
        opened.sql(_COMPARED, epsilon=4, request="first")
    assert len(runs) == 2


# Prices and sensitivities are public ---------------------------------------------------------------------------------


def test_no_price_depends_on_the_data() -> None:
    here = world("clinic")
    fewer = {name: {c: cells[:5] for c, cells in table.items()} for name, table in here.tables.items()}
    fewer["cities"] = here.tables["cities"]
    book = Codebook.from_record(here.codebook)
    sessions = [
        Dataset(tables, codebook=book).session(budget(epsilon=10), entropy=Silent()) for tables in (here.tables, fewer)
    ]
    for query in CLINIC[::2]:
        assert len({str(each.sql(f"EXPLAIN DP {query}", epsilon=1)) for each in sessions}) == 1, query


_WILD = [
    None,
    float("nan"),
    float("inf"),
    float("-inf"),
    10**30,
    -(10**30),
    1e300,
    0.1,
    True,
    "text",
    Fraction(1, 3),
    -7,
]


def _within(value: Any, known: Facts) -> bool:
    if value is None:
        return True
    match known.kind:
        case Kind.NUMBER:
            low, high = known.ends
            return type(value) is int and low <= value <= high
        case Kind.BOOLEAN:
            return type(value) is bool
        case _:
            return type(value) is str and (known.categories is None or value in known.categories)


KNOWN = [
    Facts(Kind.NUMBER, True, Fraction(1, 100), -500, 900),
    Facts(Kind.NUMBER, True, Fraction(1), 0, 2**54),
    Facts(Kind.BOOLEAN),
    Facts(Kind.STRING, categories=("a", "text")),
]


@pytest.mark.parametrize("known", KNOWN, ids=str)
def test_a_released_value_lies_within_its_facts_whatever_it_is(known: Facts) -> None:
    assert all(_within(held_value(value, known), known) for value in _WILD)


def test_a_value_that_is_not_clamped_would_be_seen() -> None:
    assert not _within(round(Fraction(10**30) / KNOWN[0].step), KNOWN[0])


BOOK: dict[str, Any] = {
    "unit": {"id": "p", "groups": 2, "rows_per_group": 2},
    "tables": {
        "t": {
            "variables": {
                "p": "integer",
                "k": {"type": "string", "categories": ["a", "b", "c"]},
                "x": {"type": "integer", "bounds": [0, 9]},
            }
        }
    },
}
LAWFUL = [
    "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t WHERE x > (SELECT AVG(x) FROM t) GROUP BY k",
    "SELECT SUM(t.x) AS s FROM t JOIN (SELECT k, AVG(x) AS m FROM t GROUP BY k) g ON t.k = g.k WHERE t.x >= g.m",
    "SELECT SUM(CLAMP(t.x - g.m, -3, 3)) AS s FROM t JOIN (SELECT k, AVG(x) AS m FROM t GROUP BY k) g ON t.k = g.k",
]
MEETING = [
    "SELECT k, COUNT(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.p = t.p AND u.x > t.x) GROUP BY k",
    "SELECT k, SUM(x) AS s FROM t WHERE NOT EXISTS (SELECT 1 FROM t u WHERE u.p = t.p AND u.x <> t.x) GROUP BY k",
]


class Dice:
    """Numbers that look drawn, the same in every run."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, count: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % count

    def among(self, values: Any) -> Any:
        return values[self.below(len(values))]


def _tables(random: Dice) -> list[tuple[int, str, int]]:
    return [(random.below(4), random.among("abc"), random.below(10)) for _ in range(1 + random.below(13))]


def _engine(rows: list[tuple[int, str, int]], book: Codebook) -> Engine:
    columns = dict(zip("pkx", map(list, zip(*rows, strict=True)), strict=True)) if rows else {"p": [], "k": [], "x": []}
    return ReferenceEngine({"t": columns}, book, key=KEY)


def _cells(result: Result, name: str) -> dict[Any, int]:
    groups = list(zip(*result.keys.values(), strict=True)) if result.keys else [()] * result.groups
    return {group: int(value) for group, value in zip(groups, result.columns[name], strict=True)}


def _plans(book: Codebook, random: Dice) -> Iterator[GroupAgg]:
    """The last stage of every query, on tables of values that no data would give; and plans of semi and anti joins."""
    assert book.unit is not None
    for text in LAWFUL:
        staged = compile_stages(read(text), book, Nobody())
        plan = compile_query(staged.private[-1].query, book.unit).plan
        tables = {}
        for stage in staged.stages:
            keys = "abc" if len(stage.table.columns) > 1 else "a"
            rows = [(*key[: len(stage.table.columns) - 1], random.among([*_WILD, 4, 5.5])) for key in keys]
            tables[stage.name] = filled(stage.table, rows)
        yield replace(plan, source=with_values(plan.source, tables))
    for text in MEETING:
        yield compile_query(compile_statement(read(text), book, Nobody()).query, book.unit).plan


def _moved_too_far(rounds: int) -> int:
    """How often an integer moved by more than declared when one unit left."""
    random, book, broken = Dice(7), Codebook.from_record(BOOK), 0
    for _ in range(rounds):
        rows = _tables(random)
        gone = random.among(rows)[0]
        full, fewer = _engine(rows, book), _engine([row for row in rows if row[0] != gone], book)
        for plan in _plans(book, random):
            before, after = full.run(plan), fewer.run(plan)
            for name, bound in sensitivities(plan).items():
                old, new = _cells(before, name), _cells(after, name)
                moves = [abs(old.get(cell, 0) - new.get(cell, 0)) for cell in old.keys() | new.keys()]
                fair = (
                    sum(map(bool, moves)) <= bound.l0 and sum(moves) <= bound.l1 and max(moves, default=0) <= bound.linf
                )
                broken += not fair
    return broken


def test_one_unit_moves_every_integer_of_a_later_stage_by_at_most_its_sensitivity() -> None:
    assert _moved_too_far(25) == 0


def test_a_join_that_forgets_the_unit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same law, with rows of a semi join meeting rows of other units."""
    monkeypatch.setattr(reference, "_meets", lambda row, other, on, private: True)
    assert _moved_too_far(25) > 0


# Refusals ------------------------------------------------------------------------------------------------------------

_REFUSED = {
    "SELECT COUNT(*) FROM visits WHERE duration > (SELECT duration FROM visits)": "rows",
    "SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(cost) FROM visits w WHERE w.patient_id = v.patient_id)": "correlated",
    "SELECT v.day FROM visits v JOIN (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t ON v.city = t.city": "rows",
    "SELECT no FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t JOIN cities ON n = pop": "rows",
    "SELECT duration, ROW_NUMBER() OVER (ORDER BY cost) FROM visits": "window",
    "SELECT specialty FROM visits EXCEPT SELECT name FROM cities": "set-operation",
    "SELECT name FROM cities WHERE name IN (SELECT city FROM visits)": "rows",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.cost > v.cost)": "correlated",
    "SELECT COUNT(*) FROM visits v WHERE patient_id NOT IN (SELECT patient_id FROM visits w WHERE w.cost > v.cost)": "not-in-null",
}  # fmt: skip


@pytest.mark.parametrize(("query", "code"), list(_REFUSED.items()))
def test_what_stays_private_is_refused_and_nothing_is_spent(query: str, code: str) -> None:
    here = _clinic()
    with pytest.raises(QueryRefused) as refusal:
        here.sql(query, epsilon=1)
    assert refusal.value.code == code
    assert here.spent.loss == 0


def test_accuracy_goes_with_one_release() -> None:
    with pytest.raises(InvalidArgument, match="a query in stages is paid with epsilon= or rho="):
        _clinic().sql(_COMPARED, accuracy={"n": 5})


BINNED = {
    "name": "t",
    "unit": {"id": "who", "groups": 2, "rows_per_group": 1},
    "variables": {
        "who": "integer",
        "w": {"type": "string", "categories": ["a", "b"]},
        "x": {"type": "integer", "bounds": [0, 99], "missing": "never"},
    },
}


def plain_rows() -> dict[str, list[Any]]:
    return {"who": list(range(400)), "w": ["a", "b"] * 200, "x": [i % 100 for i in range(400)]}


_WIDE = """
WITH m AS (SELECT w, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY w)
SELECT w, n, a, n - LAG(n) OVER (ORDER BY w) AS more, SUM(n) OVER (ORDER BY w) AS far, 100.0 * n / SUM(n) OVER () AS share,
       s / n AS each, RANK() OVER (ORDER BY n) AS place FROM m ORDER BY w
"""


def test_what_is_computed_from_released_numbers_has_an_interval() -> None:
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    answer = session.sql(_WIDE, epsilon=4)
    assert {name for name, column in answer.columns.items() if column.lower is not None} == {
        "n", "a", "more", "far", "share", "each",
    }  # fmt: skip
    assert "No interval is said for place." in answer.notes
    first, second = answer.table
    assert (first["more"], second["more"], second["far"], second["share"]) == (None, 0, 400, 50)
    assert first["far_high"] - first["far_low"] == first["n_high"] - first["n_low"]  # one number keeps its own
    assert second["far_high"] - second["far_low"] < 1.5 * (second["n_high"] - second["n_low"]) + 3  # not twice as wide
    for name in ("far", "share", "each", "more"):
        assert second[f"{name}_low"] < second[name] < second[f"{name}_high"]


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("SELECT 'all' AS w, COUNT(*) AS n FROM t UNION ALL SELECT w, COUNT(*) AS n FROM t GROUP BY w ORDER BY n DESC", "n"),
        ("SELECT b.m, a.n FROM (SELECT w, COUNT(*) AS n FROM t GROUP BY w) a JOIN "
         "(SELECT w, AVG(x) AS m FROM t GROUP BY w) b ON a.w = b.w ORDER BY a.n DESC LIMIT 1", "mn"),
        ("SELECT SUM(n) AS n, AVG(n) AS a, MAX(n) AS m FROM (SELECT w, COUNT(*) AS n FROM t GROUP BY w) z", "na"),
        ("SELECT DISTINCT n FROM (SELECT w, COUNT(*) AS n FROM t GROUP BY w) z", ""),
        ("WITH s AS (SELECT w, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY w) "
         "SELECT q.k, q.n FROM (SELECT w, m, n FROM s) AS q (k, n, o)", ""),  # n is the mean
        ("WITH s AS (SELECT w, COUNT(*) AS n FROM t GROUP BY w) SELECT n, a.w FROM s a JOIN s b USING (n)", ""),
        ("WITH s AS (SELECT w, COUNT(*) AS n FROM t GROUP BY w) "
         "SELECT CAST(n AS DECIMAL(9, 0)) AS f, CAST(n AS DOUBLE) AS d FROM s", "d"),
        ("WITH s AS (SELECT w, COUNT(*) AS n FROM t GROUP BY w) SELECT * FROM s WHERE n >= (SELECT MIN(n) FROM s)", "n"),
        ("WITH s AS (SELECT w, COUNT(*) AS n FROM t GROUP BY w), r AS (SELECT * FROM s) "
         "SELECT r.*, n / SUM(n) OVER () AS p FROM r", "np"),
        ("WITH s AS (SELECT w, COUNT(*) AS n FROM t GROUP BY w) SELECT * EXCLUDE (w) FROM s, (SELECT MIN(n) AS m FROM s)", ""),
        ("WITH s AS (SELECT w, COUNT(*) AS n FROM t GROUP BY w) "
         "SELECT * FROM s JOIN (SELECT w, MIN(n) AS m FROM s GROUP BY w) USING (w)", ""),
        ("SELECT n * n AS q, n + 1 AS p FROM (SELECT w, COUNT(*) AS n FROM t GROUP BY w) z, (SELECT AVG(x) AS m FROM t) y", "p"),
    ],
)  # fmt: skip
def test_columns_that_pass_keep_their_intervals(text: str, sure: str) -> None:
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    answer = session.sql(text, epsilon=4)
    assert {name for name, column in answer.columns.items() if column.lower is not None} == set(sure)
    assert not any("cell" in name or "trace" in name for name in answer.columns)


_COUNTS = "WITH m AS (SELECT w, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY w) "


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(n) AS v FROM (SELECT w, n FROM m ORDER BY n DESC LIMIT 1) q",
        "SELECT SUM(n) AS v FROM (SELECT w, n AS k, n FROM m ORDER BY 2 DESC LIMIT 1) q",
        "SELECT SUM(n) AS v FROM m WHERE n > 3",
        "SELECT SUM(n) AS v FROM m WHERE s > 3",  # its noise is another one, but what shows it is read with it
        "SELECT SUM(n) AS v FROM m WHERE w IN (SELECT w FROM m WHERE n > 3)",
        "SELECT w, SUM(n) OVER (ORDER BY n DESC) AS v FROM m",
        "SELECT w, FIRST_VALUE(n) OVER (ORDER BY n DESC) AS v FROM m",
        "SELECT w, n - LAG(n) OVER p AS v FROM m WINDOW p AS (ORDER BY n)",
        "SELECT w, LAG(n, CASE WHEN n > 3 THEN 0 ELSE 1 END) OVER (ORDER BY w) AS v FROM m",
        "SELECT w, LEAD(n, CAST(s AS INTEGER) % 2) OVER (ORDER BY w) AS v FROM m",
        "SELECT a.n - b.n AS v FROM m a, (SELECT n FROM m ORDER BY n DESC LIMIT 1) b",
        "SELECT n > 3 AS large, SUM(n) AS v FROM m GROUP BY 1",
        "SELECT n > 3 AS large, SUM(n) AS v FROM m GROUP BY ALL",
        "SELECT SUM(n) AS v FROM m JOIN (SELECT w AS k, n AS o FROM m) q ON q.o > m.n",
        "SELECT SUM(n) AS v FROM (SELECT n AS w, n FROM m) q WHERE w > 3",
    ],
)
def test_where_noise_chooses_the_numbers_their_sum_has_no_interval(text: str) -> None:
    """The noise of the largest of many is large: such intervals held a quarter as often as they said."""
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    answer = session.sql(_COUNTS + text, epsilon=4)
    assert answer.columns["v"].lower is None
    assert any("errors hold before it is known what is shown" in note for note in answer.notes)


def test_a_number_that_decides_which_groups_are_shown_is_not_summed_with_an_interval() -> None:
    """Groups without a unit are left out by the noisy number of units: it alone is chosen by its own noise."""
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    released = "SELECT w, COUNT(*) AS n, COUNT(DISTINCT who) AS u FROM t GROUP BY w"
    assert session.sql(f"SELECT SUM(u) AS v FROM ({released}) q", epsilon=4).columns["v"].lower is None
    released = "SELECT w, COUNT(*) AS n FROM t GROUP BY w"
    assert session.sql(f"SELECT SUM(n) AS v FROM ({released}) q", epsilon=4).columns["v"].lower is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(n) AS v FROM (SELECT w, n FROM m ORDER BY w DESC LIMIT 1) q",
        "SELECT SUM(n) AS v FROM m WHERE w = 'a'",
        "SELECT UPPER(w) AS k, SUM(n) AS v FROM m GROUP BY 1",
        "SELECT w, n - LAG(n) OVER p AS v FROM m WINDOW p AS (PARTITION BY UPPER(w) ORDER BY w)",
        "SELECT a.n - b.n AS v FROM m a JOIN (SELECT w, n FROM m WHERE w <> 'c') b USING (w) WHERE a.n > 3",
        "SELECT w, n + s AS v FROM m ORDER BY n DESC LIMIT 1",
    ],
)
def test_where_keys_choose_them_it_has_one(text: str) -> None:
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    assert session.sql(_COUNTS + text, epsilon=4).columns["v"].lower is not None


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SELECT m.*, n + 1 AS v FROM m", {"w": "a", "n": 200, "s": 9800, "v": 201}),
        ("SELECT * FROM m JOIN (SELECT w, n + 1 AS v FROM m) q USING (w)", {"w": "a", "n": 200, "s": 9800, "v": 201}),
        ("SELECT COLUMNS(*), n + 1 AS v FROM m", {"w": "a", "n": 200, "s": 9800, "v": 201}),
        ("SELECT q, q.n FROM (SELECT w, n FROM m) q", {"q": "{'w': 'a', 'n': 200}", "n": 200}),
        ("SELECT COUNT(DISTINCT q) AS d, SUM(n) AS v FROM (SELECT n FROM m) q", {"d": 1, "v": 400}),
        ("SELECT q.n, q.k FROM (SELECT n, 7 AS \"n cell\", n AS k FROM m) q", {"n": 200, "k": 200}),
        ("SELECT n, 1 AS \"trace 0\", w || 'z' AS z FROM m", {"n": 200, "trace 0": 1, "z": "az"}),
    ],
)  # fmt: skip
def test_what_names_columns_without_their_names_is_answered_as_it_was_written(text: str, first: dict[str, Any]) -> None:
    """What is added for intervals shows nowhere: it failed after the charge, or stood in the answer."""
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    answer = session.sql(f"{_COUNTS}{text} ORDER BY 1", epsilon=4)
    assert {name: column.values[0] for name, column in answer.columns.items()} == first


def test_a_released_column_with_the_name_of_what_is_added_keeps_its_values() -> None:
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    released = 'SELECT w, COUNT(*) AS n, SUM(x) AS "n cell" FROM t GROUP BY w'
    answer = session.sql(f'SELECT UPPER(w) AS k, n, "n cell" AS s FROM ({released}) q ORDER BY k', epsilon=4)
    assert (answer.columns["n"].values, answer.columns["s"].values) == ((200, 200), (9800, 10000))


def test_a_rounded_share_has_an_interval_that_holds_what_was_rounded() -> None:
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    exact = "SELECT w, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS s FROM t GROUP BY w"
    plain, rounded = (
        session.sql(exact, epsilon=4),
        session.sql(exact.replace("100.0 *", "ROUND(100.0 *").replace(" AS s", ", 1) AS s"), epsilon=4),
    )
    for one, other in zip(plain.table, rounded.table, strict=True):  # type: ignore[union-attr, arg-type]
        assert other["s"] == round(one["s"], 1)
        assert (
            one["s_low"] - 0.2 < other["s_low"] <= one["s_low"] < one["s_high"] <= other["s_high"] < one["s_high"] + 0.2
        )
        assert all(round(other[end], 1) == other[end] for end in ("s_low", "s_high"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT w, COUNT(*) AS n, (SELECT COUNT(*) FROM t {}) AS o FROM t GROUP BY w", (None, 400)),
        ("SELECT COUNT(*) AS n, COUNT(*) / (SELECT COUNT(*) FROM t {}) AS o FROM t", (None, 1.0)),
        (
            "SELECT SUM(n) AS o FROM (SELECT w, COUNT(*) AS n FROM t GROUP BY w "
            "HAVING 2 * COUNT(*) >= (SELECT COUNT(*) FROM t {})) q",
            (None, 400),
        ),
        ("SELECT COUNT(*) AS o FROM t WHERE x < (SELECT COUNT(*) FROM t {})", (0, 400)),
    ],
)  # fmt: skip
def test_a_scalar_sub_query_without_a_row_is_missing(text: str, wanted: tuple[Any, Any]) -> None:
    """HAVING and LIMIT may leave none of its one row: by noise, so after the charge."""
    for clause, value in (
        ("HAVING COUNT(*) > 5000", wanted[0]),
        ("LIMIT 0", wanted[0]),
        ("HAVING COUNT(*) > 5", wanted[1]),
    ):
        session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=10**6), entropy=Silent())
        answer = session.sql(text.format(clause), epsilon=10**4)
        assert {row["o"] for row in answer.table} == {value}  # type: ignore[union-attr]


def test_two_columns_with_one_name_above_stages_are_refused_in_these_words() -> None:
    text = "WITH s AS (SELECT w, COUNT(*) AS n FROM t GROUP BY w) SELECT * FROM s a JOIN s b ON a.w = b.w"
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    with pytest.raises(QueryRefused, match="columns with one name: w, n, w, n; rename with AS"):
        session.sql(text, epsilon=1)


def test_a_constant_beside_a_count_needs_no_interval() -> None:
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent())
    one = "SELECT 'all' AS what, COUNT(*) AS n FROM t"
    for text in (one, f"{one} UNION ALL SELECT 'some', COUNT(*) FROM t WHERE w = 'a'"):
        assert not any("no interval" in note for note in session.sql(text, epsilon=1).notes)  # type: ignore[union-attr]


def test_a_share_of_very_many_numbers_has_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_forms, "MOST_LISTED", 0)
    answer = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent()).sql(_WIDE, epsilon=4)
    assert answer.columns["share"].lower is None
    assert answer.columns["more"].lower is not None


def test_a_statement_that_the_engine_cannot_follow_is_asked_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added for intervals is not tried before the charge, so it must not cost the answer."""
    honest = released_forms.TracedStatement.of

    def broken(tree, columns, **known):
        traced = honest(tree, columns, **known)
        traced.tree.append("expressions", parse_one("no_such_function(1)"))
        return traced

    monkeypatch.setattr(released_forms.TracedStatement, "of", broken)
    answer = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=40), entropy=Silent()).sql(_WIDE, epsilon=4)
    assert [row["share"] for row in answer.table][1] == 50
    assert all(column.lower is None for column in answer.columns.values())


@pytest.mark.parametrize("bins", [2, 4])
def test_bins_by_quantiles_are_one_question_at_one_price(bins: int) -> None:
    """NTILE as a key: its edges are a stage of their own, charged with the counts, and every row is in one bin."""
    rows = {"who": list(range(400)), "x": [i % 100 for i in range(400)]}
    book = {
        "name": "t",
        "unit": {"id": "who", "groups": 1, "rows_per_group": 1},
        "variables": {"who": "integer", "x": {"type": "integer", "bounds": [0, 99], "missing": "never"}},
    }
    session = Dataset(rows, codebook=book).session(budget(epsilon=3), entropy=Silent())
    query = f"SELECT NTILE({bins}) OVER (ORDER BY x) AS bin, COUNT(*) AS n FROM t GROUP BY bin ORDER BY bin"
    answer = session.sql(query, epsilon=2)
    assert isinstance(answer, StagedRelease)
    assert session.remaining.epsilon == 1
    edges = [column.values[0] for column in answer.stages["stage 1"].columns.values()]
    ends = [-1, *edges, 99]
    counts = [sum(low < x <= high for x in rows["x"]) for low, high in pairwise(ends)]
    assert [row["n"] for row in answer.table] == counts
    assert sum(counts) == 400
    assert answer.columns["n"].lower is not None
    assert any(note.startswith(f"Bins end at {edges[0]} (") for note in answer.notes)
    assert not any("QUANTILE" in note for note in answer.notes)


def test_bins_by_quantiles_of_a_builder_are_those_of_sql() -> None:
    """One question in two forms: the same price, and the answer of the one is the stored answer of the other."""
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=9), entropy=Silent())
    text = (
        "SELECT w, NTILE(3) OVER (ORDER BY 2 * x) AS bin, COUNT(*) AS n, AVG(x) AS m FROM t WHERE x > 4 GROUP BY w, bin"
    )
    query = session.query().where("x > 4").group_by("w").group_by_quantiles(3, bin="2 * x").agg(n=count(), m=mean("x"))
    price = query.price(epsilon=2)
    assert (price.pair.loss, session.spent.loss) == (2, 0)
    assert list(price.errors) == ["edge 1", "edge 2", "n", "m"]
    assert "2 stages share the price evenly" in str(price)
    built = query.release(epsilon=2)
    assert session.sql(text, epsilon=2).table == built.table
    assert (session.spent.loss, len(session.history.entries)) == (2, 1)
    assert isinstance(built, StagedRelease)
    assert {name.split()[0] for name in built.stages["stage 1"].columns} == {"edge"}
    assert query.top(1, by="n").release(epsilon=2).table == [max(built.table, key=lambda row: row["n"])]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda query: query.group_by_quantiles(1, b="x"), "bins must be at least 2"),
        (lambda query: query.group_by_quantiles(101, b="x"), "2 to 100"),
        (lambda query: query.group_by_quantiles(4), "one named number"),
        (lambda query: query.group_by_quantiles(4, b="x").group_by_quantiles(4, c="x"), "one named number"),
        (lambda query: query.group_by_quantiles(4, b="w").agg(n=count()).price(epsilon=1), "needs a number"),
        (lambda query: query.group_by_quantiles(4, b="x").agg(n=count()).mechanism(epsilon=1), "in stages"),
        (lambda query: query.group_by_quantiles(4, b="x").agg(n=count()).price(accuracy={"n": 3}), "in stages"),
    ],
)
def test_bins_by_quantiles_are_refused_where_they_cannot_be(ask: Any, words: str) -> None:
    session = Dataset(plain_rows(), codebook=BINNED).session(budget(epsilon=9), entropy=Silent())
    with pytest.raises((InvalidArgument, QueryRefused), match=words):
        ask(session.query())
    assert session.spent.loss == 0


@pytest.mark.parametrize(
    "window",
    ["NTILE(4) OVER (PARTITION BY urgent ORDER BY cost)", "NTILE(4) OVER (ORDER BY cost DESC)", "NTILE(1) OVER (ORDER BY cost)"],
)  # fmt: skip
def test_other_tiles_are_refused_as_windows(window: str) -> None:
    with pytest.raises(QueryRefused, match="windows over private rows"):
        _clinic().sql(f"SELECT {window} AS bin, COUNT(*) AS n FROM visits GROUP BY bin", epsilon=1)
