"""What an engine computes differently it does without: such a plan is refused before it has a price, all others run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
from sqlglot import exp

import deniable as dp
from deniable.engines import conformance, kit
from deniable.engines.duckdb import DuckDBEngine, DuckDBProfile
from deniable.engines.order import order_key
from deniable.engines.postgres import PostgresEngine
from deniable.engines.spark import SparkEngine
from deniable.engines.sql.expressions import function_feature
from deniable.engines.sql.groups import statements
from deniable.engines.sql.relations import Relations
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.engines.sql.stored_cells import Physical, cell_feature
from deniable.errors import InvalidArgument, QueryRefused
from deniable.plan.analysis import facts
from deniable.plan.functions.calendar import CalendarPart
from deniable.plan.functions.catalogue import FUNCTIONS
from deniable.plan.functions.numeric import Rounding
from deniable.plan.functions.scalar import ScalarFunction
from deniable.plan.sql_trees import Tree, bigint, cast, text
from deniable.plan.unit import Length
from deniable.plan.variable import Type
from deniable.release.session import Session
from deniable.testing import Silent
from tests.engines.everywhere import in_parquet, placed, servers_of
from tests.engines.sql_schemas import World
from tests.servers import POSTGRES, SPARK

BASIC = {
    "reals on a grid", "reals as whole numbers", "clamped integers", "rounded integers", "categories", "sums and products",
    "least and greatest", "comparisons", "dates", "times", "missing values", "three-valued logic", "membership",
    "limits between grid points", "least",
    "ends off the grid", "whole ends off the grid",
    "places among texts", "places before other cases",
}  # fmt: skip
"""The probes of what all plans rest on."""


def _features() -> set[str]:
    functions = {function_feature(part) for probe in kit.PROBES for part in kit.parts(kit.probed(probe))}
    cells = {cell_feature(declared, physical) for declared in Type for physical in Physical}
    return {feature for feature in functions | cells if feature is not None}


def _written(probe: str) -> set[type]:
    """The functions a probe is made of, also in the form that is exact on a grid."""
    schema = kit.kit_codebook()["kit"].schema
    found = [part for part in kit.parts(kit.probed(probe)) if isinstance(part, ScalarFunction)]
    exact = [part.exact(*(facts(each, schema) for each in part.arguments)) for part in found]
    return {type(part) for part in (*found, *exact)}


def test_every_function_of_the_table_has_a_probe_of_its_own() -> None:
    for row in FUNCTIONS:
        assert any(row in _written(probe) for probe in row.probes), row


def test_every_choice_a_function_offers_has_a_probe() -> None:
    """Parts of dates, periods and ways to round are features each: none is left out of the kit."""
    asked = set().union(*(kit.vouched(probe) for probe in kit.PROBES))
    assert asked.issuperset(f"the {part.value} of a date" for part in CalendarPart)
    assert asked.issuperset(f"a date cut to its {length.value}" for length in Length)
    assert asked.issuperset(f"rounding to {rounding.value}" for rounding in Rounding)


def test_every_feature_has_a_probe_and_every_probe_one_feature_or_none() -> None:
    found = {probe: kit.vouched(probe) for probe in kit.PROBES}
    assert {probe for probe, features in found.items() if not features} == BASIC
    assert all(len(features) <= 1 for features in found.values())
    assert set().union(*found.values()) == _features()


def test_what_all_plans_rest_on_is_asked_without_any_feature() -> None:
    profile = DuckDBProfile()
    profile.lacking = dict.fromkeys(_features(), "everything is wrong")
    relations = Relations(kit.kit_source(profile), profile, order_key(kit.KIT_KEY))
    for plan in (*kit.kit_plans().values(), kit.probed_sums(BASIC)):
        assert statements(plan, relations, profile, order_key(kit.KIT_KEY))
    with pytest.raises(QueryRefused, match="everything is wrong"):
        statements(kit.probed_sums(["patterns"]), relations, profile, order_key(kit.KIT_KEY))


# faults planted in whole engines

_ENGINES: dict[str, Any] = {"DuckDB": DuckDBEngine, "PostgreSQL": PostgresEngine, "Spark": SparkEngine}
_THURSDAY = str(4 + 7 * 102_738)


def _like(node: Tree) -> Tree:
    return exp.ILike(this=node.this, expression=node.expression) if isinstance(node, exp.Like) else node


def _weekday(node: Tree) -> Tree:
    return exp.Literal.number(int(_THURSDAY) + 1) if node == exp.Literal.number(_THURSDAY) else node


def _length(node: Tree) -> Tree:
    is_length = isinstance(node, exp.Anonymous) and node.name.upper() == "LENGTH"
    return bigint(cast(text("n/a"), "TEXT")) if is_length else node


def _truth(node: Tree) -> Tree:
    is_yes = isinstance(node, exp.In) and any(word == text("yes") for word in node.expressions)
    return exp.true() if is_yes else node


def _sum(node: Tree) -> Tree:
    return exp.Max(this=node.this) if isinstance(node, exp.Sum) else node


def _unit(node: Tree) -> Tree:
    """Rows of nobody are somebody's."""
    is_kept = isinstance(node, exp.Where) and isinstance(node.this, exp.Not) and node.find(exp.Is) is not None
    return exp.Where(this=exp.true()) if is_kept else node


class Fault(NamedTuple):
    """How it changes the SQL that is run, the behaviour it changes, and the feature it disables."""

    change: Callable[[Tree], Tree]
    behaviour: str
    feature: str


FAULTS = {
    "LIKE without case": Fault(_like, "patterns", "LIKE"),
    "weeks that begin on Saturday": Fault(_weekday, "weekday", "the weekday of a date"),
    "a length that fails": Fault(_length, "length", "the length of a text"),
    "every text true": Fault(_truth, "text as truth", "texts read as boolean"),
}
BASIC_FAULTS = {
    "sums that are the largest part": Fault(_sum, "sums", ""),
    "nobody missing": Fault(_unit, "units", ""),
}
"""In what all plans rest on."""

_ALL = {**FAULTS, **BASIC_FAULTS, "no fault": Fault(lambda node: node, "", "")}


USING = {
    "LIKE": [
        "SELECT COUNT(*) AS v FROM t WHERE word LIKE 'A%'",
        "SELECT SUM(CASE WHEN word LIKE 'a%' THEN n ELSE 0 END) AS v FROM t",
        "SELECT COUNT(*) AS v FROM (SELECT n FROM t WHERE NOT word LIKE '%t') s WHERE n > 1",
        "SELECT word LIKE 'A%' AS k, COUNT(*) AS v FROM t GROUP BY k",
    ],
    "the weekday of a date": [
        "SELECT COUNT(*) AS v FROM t WHERE EXTRACT(dow FROM day) = 1",
        "SELECT EXTRACT(dow FROM day) AS k, COUNT(*) AS v FROM t GROUP BY k",
    ],
    "the length of a text": ["SELECT COUNT(*) AS v FROM t WHERE length(word) > 2"],
    "texts read as boolean": [
        "SELECT COUNT(*) AS v FROM t WHERE said",
        "SELECT COUNT(said) AS v FROM t",
        "SELECT said, COUNT(*) AS v FROM t GROUP BY said",
        "SELECT COUNT(*) AS v FROM t JOIN u ON t.uid = u.uid AND t.said = u.said",
    ],
}
PLAIN = [
    "SELECT COUNT(*) AS v FROM t",
    "SELECT SUM(n) AS v FROM t WHERE word = 'Ant' AND day > DATE '2024-01-03'",
    "SELECT kind, COUNT(DISTINCT word) AS v FROM t GROUP BY kind",
]
"""What no fault here touches."""

_WORLD = World(
    {
        "unit": {"id": "uid", "groups": 4, "rows_per_group": 9},
        "tables": {
            "t": {
                "variables": {
                    "uid": "integer",
                    "n": {"type": "integer", "bounds": [0, 9]},
                    "kind": {"type": "string", "categories": ["a", "b"]},
                    "word": "string",
                    "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
                    "said": "boolean",
                }
            },
            "u": {"variables": {"uid": "integer", "said": "boolean"}},
            "open": {"public": True, "variables": {"said": "boolean", "name": "string"}},
        },
    },
    {
        "t": {
            "uid": [i // 2 for i in range(24)],
            "n": [i % 7 for i in range(24)],
            "kind": ["ab"[i % 2] for i in range(24)],
            "word": [["Ant", "ant", "Bee"][i % 3] for i in range(24)],
            "day": [date(2024, 1, 1 + i) for i in range(24)],
            "said": [["yes", "no", "perhaps"][i % 3] for i in range(24)],
        },
        "u": {"uid": list(range(12)), "said": ["yes"] * 12},
        "open": {"said": ["yes", "no"], "name": ["x", "y"]},
    },
    {
        "t": {"uid": "BIGINT", "n": "BIGINT", "kind": "VARCHAR", "word": "VARCHAR", "day": "DATE", "said": "VARCHAR"},
        "u": {"uid": "BIGINT", "said": "VARCHAR"},
        "open": {"said": "VARCHAR", "name": "VARCHAR"},
    },
)


_WEEKLY = {"period": {"column": "day", "length": "week"}}


Planted: TypeAlias = Callable[[str, str], Session]


@pytest.fixture
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planted:
    """A session on an engine that has the fault from the day it is opened.

    A fault that the quick kit sees is planted in a version we support, another in one that answers the whole kit.
    """

    def on(engine: str, fault: str) -> Session:
        kind, change = _ENGINES[engine], _ALL[fault].change
        version, run = kind.name.fget, kind._fetched
        supported = _ALL[fault].behaviour in kit.QUICK
        monkeypatch.setattr(
            kind, "name", property(lambda self: f"{'' if supported else 'new '}{version(self)} with {fault}")
        )

        def changed(statement: SqlStatement) -> SqlStatement:
            return SqlStatement(statement.tree.copy().transform(change), statement.cells)

        monkeypatch.setattr(kind, "_fetched", lambda self, wanted: run(self, [changed(each) for each in wanted]))
        if engine == "DuckDB":  # from files: columns of Python values would be read by Python
            return _session(dp.Dataset(in_parquet(tmp_path, _WORLD), codebook=_WORLD.codebook))
        return _session(placed(engine, _WORLD, servers_of(request)))

    return on


def _session(data: dp.Dataset) -> Session:
    return data.session(dp.budget(epsilon=10**6, delta=0.5), entropy=Silent())


def _answers(session: Session, queries: list[str]) -> list[Any]:
    return [session.sql(query, epsilon=100).table for query in queries]  # type: ignore[union-attr]


def _refused(session: Session, query: str) -> QueryRefused:
    before = session.spent
    with pytest.raises(QueryRefused) as refusal:
        session.sql(query, epsilon=1)
    assert session.spent == before
    return refusal.value


# A kit and an engine of their own take Spark half a minute, and what refuses is the same code: it is planted one fault.
ASKED = [
    *(("DuckDB", fault) for fault in FAULTS),
    *(pytest.param("PostgreSQL", fault, marks=POSTGRES) for fault in FAULTS),
    pytest.param("Spark", "LIKE without case", marks=SPARK),
]


@pytest.mark.parametrize(("engine", "fault"), ASKED)
def test_only_queries_that_use_the_feature_are_refused_and_nothing_is_charged(
    request: pytest.FixtureRequest, planted: Planted, engine: str, fault: str
) -> None:
    _, behaviour, feature = FAULTS[fault]
    right = _session(placed("reference", _WORLD, servers_of(request)))
    session = planted(engine, fault)
    for query in USING[feature]:
        refusal = _refused(session, query)
        assert refusal.code == "engine-differs"
        assert refusal.reason == f"{session.engine} computes {behaviour} differently"
        assert refusal.rewrite == f"leave out {feature}, or use a version we support"
        assert fault in session.engine
        _refused(session, f"EXPLAIN DP {query}")
    others = [query for name, queries in USING.items() if name != feature for query in queries]
    asked = [*PLAIN, *(others if engine == "DuckDB" else others[:2])]
    assert _answers(session, asked) == _answers(right, asked), "the session goes on, and says what is right"


def test_the_builder_prices_and_prepares_nothing_that_is_refused(planted: Planted) -> None:
    session = planted("DuckDB", "LIKE without case")
    query = session.query("t").where("word like 'A%'").agg(v=dp.count())
    for ask in (lambda: query.price(epsilon=1), lambda: query.release(epsilon=1), query.prepare):
        with pytest.raises(QueryRefused, match="engine-differs"):
            ask()
    assert session.spent.loss == 0
    session.query("t").agg(v=dp.count()).prepare()


def test_public_rows_that_need_the_feature_are_refused(planted: Planted) -> None:
    session = planted("DuckDB", "every text true")
    assert _refused(session, "SELECT name FROM open WHERE said").code == "engine-differs"
    assert session.public_values("open", "name") == ("x", "y")
    with pytest.raises(QueryRefused, match="engine-differs"):
        session.public_values("open", "said")


@pytest.mark.parametrize(("period", "feature"), [({}, "texts read as integer"), (_WEEKLY, "a date cut to its week")])
def test_a_feature_the_unit_needs_is_needed_by_every_query(
    tmp_path: Path, period: dict[str, Any], feature: str
) -> None:
    """The identity of a unit is read and cut in every plan, whatever the query names."""
    (tmp_path / "t.csv").write_text("who,day\n1,2024-01-01\n2,2024-01-09\n")
    unit = {"id": "who", "groups": 1, "rows_per_group": 1, **period}
    book = {"unit": unit, "table": "t", "variables": {"who": "integer", "day": "date"}}
    data = dp.Dataset(tmp_path / "t.csv", codebook=book)
    session = _session(data)
    assert session.sql("SELECT COUNT(*) AS v FROM t", epsilon=9)
    data._engine._profile.lacking = {feature: "this engine computes it differently"}  # type: ignore[attr-defined]
    assert feature in _refused(session, "SELECT COUNT(*) AS v FROM t").rewrite


@pytest.mark.parametrize("fault", BASIC_FAULTS)
def test_a_basic_fault_closes_the_engine(planted: Planted, fault: str) -> None:
    with pytest.raises(InvalidArgument, match=r"computes .* differently; use a version we support"):
        planted("DuckDB", fault)


def test_a_digest_that_differs_without_a_reason_closes_the_engine(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "QUICK_DIGESTS", ("other", "other"))
    with pytest.raises(InvalidArgument, match="computes some rows differently"):
        planted("DuckDB", "no fault")
