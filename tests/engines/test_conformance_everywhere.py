"""The whole kit on every engine, planted wrong behaviours it must notice, and the facts about engines our SQL is built on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from deniable.engines import conformance
from deniable.errors import InvalidArgument
from deniable.plan.sql_trees import add, bigint, call, number, paren
from deniable.plan.unit import Length
from tests.engines.everywhere import REMOTE, placed, servers_of
from tests.engines.sql_schemas import World
from tests.servers import POSTGRES, SPARK

_ONE = World(
    {"unit": "rows", "table": "t", "variables": {"x": {"type": "integer", "bounds": [0, 9]}}},
    {"t": {"x": [1]}},
    {"t": {"x": "BIGINT"}},
)


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """An engine, opened once."""
    found: dict[str, Any] = {}

    def on(engine: str) -> Any:
        if engine not in found:
            found[engine] = placed(engine, _ONE, servers_of(request))._engine
        return found[engine]

    return on


def _execute(engine: Any) -> Any:
    return engine._execute


@pytest.mark.parametrize("name", REMOTE)
def test_the_whole_kit_holds(opened: Any, name: str) -> None:
    engine = opened(name)
    assert conformance.differences(conformance.Kit(engine._profile, _execute(engine))) == []
    assert engine.name.partition(" ")[0] in {version.partition(" ")[0] for version in conformance.TESTED}


CLOSING: dict[str, tuple[str, Callable[..., Any]]] = {
    "quotients are one too large": ("quotient", lambda right, *given: add(right(*given), number(1))),
    "wide quotients are one too large": ("wide_quotient", lambda right, *given: add(right(*given), number(1))),
    "exclusive or is or": (
        "xor", lambda right, a, b: paren(exp.BitwiseOr(this=paren(a.copy()), expression=paren(b.copy()))),
    ),
    "days count from another day": ("days", lambda right, value: add(bigint(right(value)), number(1))),
    "times are a microsecond late": (
        "microseconds", lambda right, value: add(right(value), number(1)),
    ),
    "texts are hashed without their case": ("text_number", lambda right, value: right(call("lower", value))),
    "texts are found without their case": ("place", lambda right, value, texts: right(call("lower", value), texts)),
    "texts are found a place late": ("place", lambda right, *given: add(right(*given), number(1))),
    "categories are read in capitals": ("one_of", lambda right, value, texts: right(call("upper", value), texts)),
    "sums wrap at 64 bits": ("wide_sum", lambda right, value: paren(_wrapped(right(value)))),
}  # fmt: skip
"""Faults in what all plans rest on."""

DISABLING: dict[str, tuple[str, Callable[..., Any], set[str]]] = {
    "every text matches": (
        "matches", lambda right, value, pattern: right(value, "^(.|\n)*$"),
        {f"texts read as {kind}" for kind in ("integer", "number", "date", "timestamp")},
    ),
    "weeks start a day late": (
        "truncated_date",
        lambda right, value, length: right(exp.Add(this=paren(value), expression=number(1)), length)
        if length is Length.WEEK else right(value, length),
        {"a date cut to its week"},
    ),
    "months count from zero": (
        "part", lambda right, name, value: add(right(name, value), number(-1 if name == "MONTH" else 0)),
        {"the month of a date", "dates as text"},
    ),
    "texts are one character longer": (
        "characters", lambda right, value: add(right(value), number(1)), {"the length of a text"},
    ),
}  # fmt: skip
"""Faults in a feature, and the features an engine then does without."""


def _wrapped(total: Any) -> Any:
    """What 64 bits keep of a sum."""
    whole = number(2**64)
    shifted = paren(add(total, number(2**63)))
    rest = exp.Mod(this=paren(add(exp.Mod(this=shifted, expression=whole), whole.copy())), expression=whole.copy())
    return add(paren(rest), number(-(2**63)))


def _planted(profile: Any, method: str, wrong: Callable[..., Any]) -> Any:
    """The engine's own profile with one behaviour changed."""
    own = type(profile)

    def changed(self: Any, *given: Any) -> Any:
        return wrong(lambda *again: getattr(own, method)(self, *again), *given)

    return type("Planted", (own,), {method: changed})()


def _on(*faults: str, remote: dict[str, list[str]]) -> list[Any]:
    """All faults on DuckDB. Servers take seconds for a kit, and plans are the same everywhere: they are planted some."""
    marks = {"PostgreSQL": POSTGRES, "Spark": SPARK}
    also = [pytest.param(name, fault, marks=marks[name]) for name, some in remote.items() for fault in some]
    return [*(("DuckDB", fault) for fault in faults), *also]


_WRAP = ["sums wrap at 64 bits"]


@pytest.mark.parametrize(("name", "fault"), _on(*CLOSING, remote={"PostgreSQL": _WRAP, "Spark": _WRAP}))
def test_a_planted_basic_fault_closes_the_engine(opened: Any, name: str, fault: str) -> None:
    engine = opened(name)
    profile = _planted(engine._profile, *CLOSING[fault])
    with pytest.raises(InvalidArgument, match=r"computes .* differently; use a version we support"):
        conformance.conform(f"{name} of tomorrow, {fault}", profile, _execute(engine))


@pytest.mark.parametrize(("name", "fault"), _on(*DISABLING, remote={"PostgreSQL": list(DISABLING)}))
def test_a_planted_fault_in_a_feature_disables_it_alone(opened: Any, name: str, fault: str) -> None:
    engine, (method, wrong, features) = opened(name), DISABLING[fault]
    profile = _planted(engine._profile, method, wrong)
    lacking = conformance.conform(f"{name} of tomorrow, {fault}", profile, _execute(engine))
    assert set(lacking) == features
    assert all(f"{name} of tomorrow, {fault} computes" in told for told in lacking.values())


def test_a_version_we_did_not_test_answers_the_whole_kit(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, asked = opened("DuckDB"), []
    monkeypatch.setattr(conformance, "differences", lambda kit: asked.append(kit) or [])
    conformance.conform("DuckDB 2.0.99", engine._profile, _execute(engine))
    assert asked == []
    conformance.conform("DuckDB 99.0.0", engine._profile, _execute(engine))
    assert len(asked) == 1


FACTS = {
    "NaN is above every number": {
        "DuckDB": ("CAST('NaN' AS DOUBLE) > 1e308", True),
        "PostgreSQL": ("CAST('NaN' AS float8) > 1e308", True),
        "Spark": ("CAST('NaN' AS DOUBLE) > 1e308D", True),
    },
    "NaN equals NaN": {
        "DuckDB": ("CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)", True),
        "PostgreSQL": ("CAST('NaN' AS float8) = CAST('NaN' AS float8)", True),
        "Spark": ("CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)", True),
    },
    "NaN clipped is the upper end": {
        "DuckDB": ("LEAST(GREATEST(CAST('NaN' AS DOUBLE), 0), 100)", 100),
        "PostgreSQL": ("LEAST(GREATEST(CAST('NaN' AS float8), 0), 100)", 100),
        "Spark": ("LEAST(GREATEST(CAST('NaN' AS DOUBLE), 0D), 100D)", 100),
    },
    "NULL clipped is the lower end": {
        "DuckDB": ("LEAST(GREATEST(CAST(NULL AS DOUBLE), 0), 100)", 0),
        "PostgreSQL": ("LEAST(GREATEST(CAST(NULL AS float8), 0), 100)", 0),
        "Spark": ("LEAST(GREATEST(CAST(NULL AS DOUBLE), 0D), 100D)", 0),
    },
    "minus zero is zero": {
        "DuckDB": ("CAST('-0.0' AS DOUBLE) = 0", True),
        "PostgreSQL": ("CAST('-0.0' AS float8) = 0", True),
        "Spark": ("CAST('-0.0' AS DOUBLE) = 0", True),
    },
    "2.5 cast to a whole number": {
        "DuckDB": ("CAST(CAST(2.5 AS DOUBLE) AS BIGINT)", 2),
        "PostgreSQL": ("CAST(CAST(2.5 AS float8) AS bigint)", 2),
        "Spark": ("CAST(2.5D AS BIGINT)", 2),
    },
    "3.7 cast to a whole number": {
        "DuckDB": ("CAST(CAST(3.7 AS DOUBLE) AS BIGINT)", 4),
        "PostgreSQL": ("CAST(CAST(3.7 AS float8) AS bigint)", 4),
        "Spark": ("CAST(3.7D AS BIGINT)", 3),
    },
    "round(2.5)": {
        "DuckDB": ("ROUND(CAST(2.5 AS DOUBLE))", 3),
        "PostgreSQL": ("ROUND(CAST(2.5 AS float8))", 2),
        "Spark": ("ROUND(2.5D)", 3),
    },
    "floor(x * 2^k + 0.5)": {
        "DuckDB": ("CAST(FLOOR(CAST(2.5 AS DOUBLE) * 1048576 + 0.5) AS BIGINT)", 2621440),
        "PostgreSQL": ("CAST(FLOOR(CAST(2.5 AS float8) * 1048576 + 0.5) AS bigint)", 2621440),
        "Spark": ("CAST(FLOOR(2.5D * 1048576 + 0.5D) AS BIGINT)", 2621440),
    },
    "-7 % 3": {
        "DuckDB": ("-7 % 3", -1),
        "PostgreSQL": ("-7 % 3", -1),
        "Spark": ("-7 % 3", -1),
    },
    "a sum beyond 64 bits": {
        "DuckDB": ("SUM(9000000000000000000)", 27 * 10**18),
        "PostgreSQL": ("SUM(9000000000000000000)", 27 * 10**18),
        "Spark": ("SUM(CAST(9000000000000000000 AS DECIMAL(38, 0)))", 27 * 10**18),
    },
    "MD5 of a text beyond ASCII": {
        "DuckDB": ("md5('Éa😀')", "d966a4fb0cd9236ec53921909bfe1209"),
        "PostgreSQL": ("md5('Éa😀')", "d966a4fb0cd9236ec53921909bfe1209"),
        "Spark": ("MD5('Éa😀')", "d966a4fb0cd9236ec53921909bfe1209"),
    },
    "two spellings of one letter are two texts": {
        "DuckDB": ("'é' = 'e\u0301'", False),
        "PostgreSQL": ("'é' = 'e\u0301'", False),
        "Spark": ("'é' = 'e\u0301'", False),
    },
    "characters are code points": {
        "DuckDB": ("LENGTH('Éa😀')", 3),
        "PostgreSQL": ("LENGTH('Éa😀')", 3),
        "Spark": ("LENGTH('Éa😀')", 3),
    },
    "the week of a Sunday starts on Monday": {
        "DuckDB": ("CAST(CAST(DATE_TRUNC('week', DATE '2024-03-03') AS DATE) AS VARCHAR)", "2024-02-26"),
        "PostgreSQL": ("CAST(CAST(DATE_TRUNC('week', DATE '2024-03-03') AS date) AS text)", "2024-02-26"),
        "Spark": ("CAST(CAST(DATE_TRUNC('week', DATE '2024-03-03') AS DATE) AS STRING)", "2024-02-26"),
    },
    "a day before the calendar's change": {
        "DuckDB": ("DATE '1582-10-15' - DATE '1582-10-04'", 11),
        "PostgreSQL": ("DATE '1582-10-15' - DATE '1582-10-04'", 11),
        "Spark": ("DATEDIFF(DATE '1582-10-15', DATE '1582-10-04')", 11),
    },
}
"""What engines do with the odd cases, as seen in the versions of `TESTED`; the SQL we write is total around each."""

RAISES = {
    "NaN to a whole number": ("CAST(CAST('NaN' AS DOUBLE) AS BIGINT)", "CAST(CAST('NaN' AS float8) AS bigint)"),
    "infinity to a whole number": ("CAST(CAST('Infinity' AS DOUBLE) AS BIGINT)", "CAST('Infinity'::float8 AS bigint)"),
    "a sum of two large numbers": ("9000000000000000000 + 9000000000000000000", "9000000000000000000 + 9000000000000000000"),
    "a word as a number": ("CAST('n/a' AS BIGINT)", "CAST('n/a' AS bigint)"),
    "a date that is none": ("CAST('2023-02-29' AS DATE)", "CAST('2023-02-29' AS date)"),
}  # fmt: skip
"""What raises, and so must never reach a cell: the first spelling is DuckDB's and Spark's, the second PostgreSQL's."""


def _answers(engine: Any, name: str, entries: list[str]) -> list[Any] | None:
    written = [
        f"(SELECT {entry} FROM (VALUES (1), (2), (3)) AS t(x))" if "SUM" in entry else entry for entry in entries
    ]
    text = "SELECT " + ", ".join(f"{entry} AS c{i}" for i, entry in enumerate(written))
    if name == "DuckDB":
        try:
            return list(duckdb.connect().execute(text).fetchone() or ())
        except duckdb.Error:
            return None
    found = engine._fetch_all([text])
    return None if found is None else [found[0][f"c{i}"].tolist()[0] for i in range(len(entries))]


@pytest.mark.parametrize("name", ["DuckDB", *REMOTE])
def test_the_facts_our_sql_is_built_on(opened: Any, name: str) -> None:
    asked = {fact: spelled[name] for fact, spelled in FACTS.items()}
    found = _answers(opened(name), name, [text for text, _ in asked.values()])
    assert found is not None
    assert dict(zip(asked, found, strict=True)) == {fact: value for fact, (_, value) in asked.items()}


@pytest.mark.parametrize("name", ["DuckDB", *REMOTE])
def test_what_raises_does_so_without_words(opened: Any, name: str) -> None:
    for spellings in RAISES.values():
        assert _answers(opened(name), name, [spellings[name == "PostgreSQL"]]) is None
