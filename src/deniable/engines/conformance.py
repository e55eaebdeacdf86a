"""Does this engine, in this version, compute what every engine must? Asked once per process, before the first plan.

The kit is a tiny made-up table with odd cells, and probes over it that are written and run as any plan is. At connect
two statements are run and the digest of their answers compared with the reference engine's, which tests keep true. The
whole kit runs in the tests of every engine, and at connect where a version is not among those tested or the digest
differs; then the reference is asked live, to name what differs.
It holds no private row. An engine that differs anywhere is refused: a difference could be a leak.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any

from sqlglot import exp

from deniable.engines.engine import Result
from deniable.engines.fetched import Fetched, fetched_result, python_values
from deniable.engines.order import order_key
from deniable.engines.reference import ReferenceEngine
from deniable.engines.sql.build import Tree, cast, column, null, number, text
from deniable.engines.sql.cells import Physical
from deniable.engines.sql.expressions import constant
from deniable.engines.sql.groups import Statement, statements
from deniable.engines.sql.profile import Profile
from deniable.engines.sql.relations import Relations, Source
from deniable.errors import EngineFailed, InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column, Expression
from deniable.plan.nodes import (
    Aggregate,
    Bounding,
    ByOrder,
    Distinct,
    Filter,
    GroupAgg,
    Histogram,
    KeyColumn,
    Project,
    Rows,
    Total,
    Units,
    scan,
)
from deniable.plan.parse import parse
from deniable.plan.relation import schema

KIT_KEY = bytes(range(32))
"""The order key of the kit: it orders made-up rows only."""

_CODEBOOK = """
unit: {id: who, groups: 2, rows_per_group: 2}
table: kit
variables:
  row: integer
  who: integer
  name: string
  as_integer: {type: integer, bounds: [-5, 5]}
  as_number: {type: number, bounds: [-4, 4], step: 0.25}
  as_truth: boolean
  as_day: {type: date, bounds: [1999-12-31, 2024-02-29]}
  as_time: timestamp
  real: {type: number, bounds: [-100, 100], step: 0.01}
  real_whole: integer
  whole: {type: integer, bounds: [-1000, 1000]}
  tens: {type: integer, bounds: [-50, 50], step: 10, outside: missing}
  truth: boolean
  day: date
  moment: timestamp
  word: {type: string, categories: [a, b, "é"], other: rest}
"""

_TEXTS: list[str | None] = [
    None, "", " 5 ", "+3", "-7", "2.0", "2.5", ".5", "1e2", "-0.0", "nan", "inf", "0x1", "1_0", "5\n", "yes", "F", "1",
    "2024-02-29", "2023-02-29", "2000-01-01 23:59", "2020-06-15T12:00:01.5Z", "0000-01-01", "9999999999999999999999",
    "A'b%_\\", "Éa😀",
]  # fmt: skip
_REALS: list[float | None] = [
    None,
    float("nan"),
    float("inf"),
    float("-inf"),
    -0.0,
    0.005,
    -0.005,
    2.5,
    1e300,
    -7.25,
    3.0,
]
_DAYS = [None, date(1, 1, 1), date(1969, 12, 31), date(2000, 2, 29), date(2024, 12, 30), date(9999, 12, 31)]
_MOMENTS = [None, datetime(1, 1, 1), datetime(1999, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12, 30)]
_COUNT = 29


@cache
def _codebook() -> Codebook:
    return Codebook.from_yaml(_CODEBOOK)


def _pick(values: list[Any], index: int) -> Any:
    return values[index % len(values)]


def kit_columns() -> dict[str, list[Any]]:
    """The kit's raw columns as Python values."""
    rows = range(_COUNT)
    return {
        "row": list(rows),
        "who": [None if i == 7 else (i * i) % 9 - 2 + (2**62 if i % 13 == 5 else 0) for i in rows],
        "words": [_pick(_TEXTS, i) for i in rows],
        "reals": [_pick(_REALS, i) for i in rows],
        "wholes": [None if i % 11 == 3 else (i * 37) % 2500 - 1200 for i in rows],
        "truths": [(True, False, None)[i % 3] for i in rows],
        "days": [_pick(_DAYS, i) for i in rows],
        "moments": [_pick(_MOMENTS, i) for i in rows],
        "words_2": [_pick(["a", "b", "é", "x", None], i) for i in rows],
    }


_RAW = {
    "row": ("row", Physical.INTEGER),
    "who": ("who", Physical.INTEGER), "name": ("words", Physical.TEXT), "as_integer": ("words", Physical.TEXT),
    "as_number": ("words", Physical.TEXT), "as_truth": ("words", Physical.TEXT), "as_day": ("words", Physical.TEXT),
    "as_time": ("words", Physical.TEXT), "real": ("reals", Physical.REAL), "real_whole": ("reals", Physical.REAL),
    "whole": ("wholes", Physical.INTEGER), "tens": ("wholes", Physical.INTEGER), "truth": ("truths", Physical.BOOLEAN),
    "day": ("days", Physical.DATE), "moment": ("moments", Physical.TIMESTAMP), "word": ("words_2", Physical.TEXT),
}  # fmt: skip

_PROBES = {
    "text as integer": "as_integer", "text as number": "as_number", "text as truth": "case when as_truth then 1 else 2 end",
    "text as date": "days_between(date '2000-01-01', as_day)", "text as timestamp": "hour(as_time) * 60 + minute(as_time)",
    "reals on a grid": "real", "reals as whole numbers": "clamp(real_whole, -9, 9)", "clamped integers": "whole",
    "rounded integers": "tens", "categories": "case word when 'a' then 1 when 'é' then 3 when 'rest' then 5 end",
    "sums and products": "whole * 3 - real * 2", "quotients": "round(whole / (real - 2.5), 3)", "remainders": "whole % 7",
    "least and greatest": "least(whole, as_integer, 3) + greatest(real, -1)", "absolute": "abs(whole)",
    "floor": "floor(real)", "ceiling": "ceil(whole / 7)", "nearest": "round(real, 1)", "bins": "bin(real, -100, -3, 0, 2.5, 50)",
    "even bins": "bin(whole, -1000, -500, 0, 500, 1000)", "year and quarter": "year(day) * 4 + quarter(day)",
    "month and day": "month(moment) * 31 + day(moment)", "weekday": "extract(dow from day)",
    "cut to month": "days_between(date '2000-01-01', date_trunc('month', day))",
    "cut to week": "days_between(date '2000-01-01', date_trunc('week', day))",
    "cut to quarter": "days_between(date '2000-01-01', cast(date_trunc('quarter', moment) as date))",
    "length": "clamp(length(name), 0, 9)", "substring": "case when substring(name, 2, 1) = 'a' then 1 end",
    "letters": "case when upper(name) = 'ÉA😀' then 1 when lower(name) = 'f' then 2 end",
    "patterns": "case when name like '%2_' then 1 when name like '_ 5%' then 2 when name like '%%' then 3 end",
    "comparisons": "case when real < 2.499 then 1 when day >= date '2000-02-29' then 2 when not truth then 3 end",
    "missing values": "coalesce(as_integer, whole, 0)",
    "three-valued logic": "case when (truth or whole > 0) and not as_truth then 1 else 0 end",
    "membership": "case when whole in (1, 2, 25) or word not in ('a', 'b') then 1 else 0 end",
}  # fmt: skip


QUICK = (
    "text as integer", "text as number", "text as date", "reals on a grid", "reals as whole numbers", "rounded integers",
    "quotients", "least and greatest", "bins", "weekday", "cut to week", "letters", "patterns", "three-valued logic",
)  # fmt: skip
"""The probes asked at connect: where engines and their versions have been seen to differ."""


def _probe(source: str, known: Any) -> Aggregate:
    return Total(parse(source, schema=known), Fraction(-(10**9)), Fraction(10**9))


def kit_plans() -> dict[str, GroupAgg]:
    """The plans every engine must answer as the reference does."""
    codebook = _codebook()
    rows, known = scan(codebook), codebook.tables[0].schema
    of: Callable[[str], Expression] = lambda source: parse(source, schema=known)  # noqa: E731
    probes = tuple((name, _probe(source, known)) for name, source in _PROBES.items())
    plain: tuple[tuple[str, Aggregate], ...] = (
        ("units", Units()),
        ("sum", Total(of("real"), Fraction(-3), Fraction(50))),
    )
    few, many = ("rows", Rows(2)), ("rows", Rows(9, of("whole")))
    observed = {
        "whole": KeyColumn("k", of("clamp(whole, 0, 9)"), keep_missing=True),
        "name": KeyColumn("k", of("name"), keep_missing=True),
        "day": KeyColumn("k", of("day")),
        "moment": KeyColumn("k", of("moment"), keep_missing=True),
        "who": KeyColumn("k", of("who % 5")),
    }
    plans = {"expressions": GroupAgg(rows, (), Bounding(groups=1), probes)}
    for name, key in observed.items():
        bounding = Bounding(groups=2, choice=ByOrder(of("real"), last=True)) if name == "who" else Bounding(groups=2)
        plans[f"groups by {name}"] = GroupAgg(
            rows, (key,), bounding, (*plain, few if name in ("whole", "day") else many)
        )
    kept = (
        ("rows", Rows(2)),
        ("distinct", Distinct(of("name"), 2)),
        ("bins", Histogram(of("bin(real, -100, 0, 3, 100)"), 3, 2)),
    )
    declared = KeyColumn("k", of("word"), ("a", "é", "rest"))
    # Several rows of one unit leave 64 bits before they are clamped: an engine that wraps would turn their sign.
    beyond = of("case when truth is null then null when whole > 900 then -4 else 4 end * 1000000000000000000")
    plans["sums beyond 64 bits"] = GroupAgg(
        rows, (), Bounding(groups=1), (("sum", Total(beyond, Fraction(-10), Fraction(10))),)
    )
    plans["rows, values and bins"] = GroupAgg(
        Filter(rows, of("whole > -900 or whole is null")), (declared,), Bounding(groups=2, rows_per_group=3), kept
    )
    return plans


def kit_source() -> dict[str, Source]:
    """The kit's table as constants: it needs no right to write anywhere."""
    raw = kit_columns()
    kinds = {
        "who": "BIGINT",
        "wholes": "BIGINT",
        "reals": "DOUBLE",
        "truths": "BOOLEAN",
        "days": "DATE",
        "moments": "TIMESTAMP",
    }
    rows = [
        exp.Tuple(expressions=[_constant(raw[name][i], kinds.get(name, "TEXT")) for name in raw]) for i in range(_COUNT)
    ]
    alias = exp.TableAlias(this=exp.to_identifier("kit"), columns=[exp.to_identifier(name) for name in raw])
    table = exp.select("*").from_(exp.Values(expressions=rows, alias=alias), copy=False)
    return {
        "kit": Source(table.subquery(copy=False), {name: (column(cell), kind) for name, (cell, kind) in _RAW.items()})
    }


def _constant(value: Any, kind: str) -> Tree:
    if value is None:
        return null(kind)
    if kind == "BIGINT":
        return cast(number(value), kind)
    if kind == "DOUBLE":
        return cast(text(repr(value).replace("inf", "Infinity").replace("nan", "NaN")), kind)
    return cast(constant(value), kind) if kind == "TEXT" else constant(value)


QUICK_DIGESTS = (
    "fdecebf6ce6688c2fb29dd2fe9a2899a351471f9b77bb1ced0bc51701ab912bd",
    "7c7fd156db5f32de6ae2cf6463a64c5b80cf42835f31153f74cb9acfd4769083",
)
"""What the reference engine's answers to the two quick statements hash to; `tests/engines` recomputes them."""

TESTED = ("DuckDB 2.0.", "PostgreSQL 15.", "Spark 4.3.")
"""The versions whose whole kit runs in our tests; another version answers the whole kit when it is opened."""

_expected: dict[str, Result] = {}
_passed: set[str] = set()
_lock = Lock()


def quick_relation() -> Project:
    """The quick probes as columns, each row known by its number."""
    codebook = _codebook()
    known = codebook.tables[0].schema
    probes = tuple((name, parse(_PROBES[name], schema=known)) for name in QUICK)
    return Project(scan(codebook), (("row", Column("row")), *probes))


def quick_plan() -> GroupAgg:
    """Keys of several kinds at once, so that every way to make words of the keyed order counts."""
    codebook = _codebook()
    kinds = ("name", "moment", "real_whole")
    keys = tuple(KeyColumn(name, Column(name), keep_missing=True) for name in kinds)
    total = Total(Column("real"), Fraction(-3), Fraction(50))
    aggregates: tuple[tuple[str, Aggregate], ...] = (("units", Units()), ("rows", Rows(9)), ("sum", total))
    return GroupAgg(scan(codebook), keys, Bounding(groups=2), aggregates)


def row_digest(columns: Sequence[Sequence[object]]) -> str:
    """One text for many rows, whatever their order."""
    rows = sorted(repr(tuple(row)) for row in zip(*columns, strict=True))
    return sha256("\n".join(rows).encode()).hexdigest()


def result_digest(result: Result) -> str:
    """One text for a result."""
    return row_digest([*result.keys.values(), *(column.tolist() for column in result.columns.values())])


def quick_digests(profile: Profile, execute: Callable[[Statement], Fetched]) -> tuple[str, str]:
    """The digests of an engine's answers to the two quick statements."""
    relations = Relations(kit_source(), profile)
    rows, plan = quick_relation(), quick_plan()
    known = schema(rows)
    fetched = execute(Statement(relations.select(rows, known), tuple(known)))
    main, _ = statements(plan, relations, profile, order_key(KIT_KEY))
    columns = [python_values(fetched[name], facts.kind) for name, facts in known.items()]
    return row_digest(columns), result_digest(fetched_result(plan, execute(main), {}))


def expected() -> dict[str, Result]:
    """What the reference engine says of the kit; computed once per process."""
    if not _expected:
        engine = reference()
        _expected.update({name: engine.run(plan) for name, plan in kit_plans().items()})
    return _expected


def reference() -> ReferenceEngine:
    """The reference engine over the kit."""
    raw = kit_columns()
    tables = {"kit": {name: raw[cell] for name, (cell, _) in _RAW.items()}}
    return ReferenceEngine(tables, _codebook(), key=KIT_KEY)


def differences(profile: Profile, execute: Callable[[Statement], Fetched]) -> list[str]:
    """The names of the behaviours in which an engine differs from the reference; none is the only good answer."""
    relations = Relations(kit_source(), profile)
    different = []
    for name, plan in kit_plans().items():
        main, further = statements(plan, relations, profile, order_key(KIT_KEY))
        try:
            found = fetched_result(plan, execute(main), {n: execute(statement) for n, statement in further.items()})
        except EngineFailed:
            different.append(name)
        else:
            different += _compared(name, expected()[name], found)
    return different


def _compared(name: str, wanted: Result, found: Result) -> list[str]:
    if wanted.keys != found.keys:
        return [name]
    unlike = [column for column in wanted.columns if wanted.columns[column].tolist() != found.columns[column].tolist()]
    for histogram, bins in wanted.histograms.items():
        other = found.histograms[histogram]
        pairs = [(bins.group, other.group), (bins.bin, other.bin), (bins.count, other.count)]
        unlike += [histogram] if any(a.tolist() != b.tolist() for a, b in pairs) else []
    return [column if name == "expressions" else f"{name} ({column})" for column in unlike]


def conform(engine: str, profile: Profile, execute: Callable[[Statement], Fetched]) -> None:
    """Refuse an engine that does not conform; `engine` names it with its version, and is asked once per process."""
    with _lock:
        if engine in _passed:
            return
        try:
            same = quick_digests(profile, execute) == QUICK_DIGESTS
        except EngineFailed:
            same = False
        if not same or not engine.startswith(TESTED):
            different = differences(profile, execute)
            if different or not same:
                told = ", ".join(different) or "some rows"
                raise InvalidArgument(f"{engine} computes {told} differently; use a version we support")
        _passed.add(engine)
