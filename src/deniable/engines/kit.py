"""The kit: a tiny made-up table with odd cells, and the questions about it that every engine must answer alike.

A probe is an expression that is asked row by row. It vouches for the features it uses: an engine that differs in it
does without them. A probe that uses none, and every plan, is about what all plans rest on: an engine that differs
there is refused. So a probe of something basic must use no feature, and that of a feature no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from typing import Any

from sqlglot import exp

from deniable.engines.reference import ReferenceEngine
from deniable.engines.sql.expressions import function_feature
from deniable.engines.sql.relations import Source
from deniable.engines.sql.stored_cells import Physical, cell_feature
from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread
from deniable.plan.expression import Column, Expression, Literal, children, columns
from deniable.plan.facts import LARGEST, Facts, Kind
from deniable.plan.functions.calendar import among
from deniable.plan.functions.catalogue import PROBES as FUNCTION_PROBES
from deniable.plan.nodes import (
    Aggregate,
    Bounding,
    ByOrder,
    Distinct,
    Filter,
    GroupAgg,
    Histogram,
    Join,
    JoinKind,
    KeyColumn,
    Project,
    RowCount,
    Scan,
    Total,
    UnitAgg,
    UnitRows,
    Units,
    UnitSummary,
    UnitValue,
    UnitVector,
    ValueTable,
    scan,
    triangle,
)
from deniable.plan.profile import Profile
from deniable.plan.relation import derive
from deniable.plan.sql_trees import cast, column, named, text
from deniable.plan.translate import parse

KIT_KEY = bytes(range(32))
"""The order key of the kit: it orders made-up rows only."""

_VARIABLES: dict[str, Any] = {
    "row": "integer",
    "who": "integer",
    "name": "string",
    "as_integer": {"type": "integer", "bounds": [-5, 5]},
    "as_number": {"type": "number", "bounds": [-4, 4], "step": 0.25},
    "as_truth": "boolean",
    "as_day": {"type": "date", "bounds": ["1999-12-31", "2024-02-29"]},
    "as_time": "timestamp",
    "real": {"type": "number", "bounds": [-100, 100], "step": 0.01},
    "off_grid": {"type": "number", "bounds": [-7.3, 2.9], "step": 0.35},
    "real_whole": "integer",
    "whole": {"type": "integer", "bounds": [-1000, 1000]},
    "tens": {"type": "integer", "bounds": [-50, 50], "step": 10, "outside": "missing"},
    "tens_off": {"type": "integer", "bounds": [-57, 44], "step": 10},
    "truth": "boolean",
    "day": "date",
    "moment": "timestamp",
    "word": {"type": "string", "categories": ["a", "b", "é"], "other": "rest"},
}
_TABLES = {
    "kit": {"variables": _VARIABLES},
    "cells": {"public": True, "variables": _VARIABLES},
}
"""The same rows twice: as rows of units, for plans, and as rows anybody may see, for probes."""

_TEXTS: list[str | None] = [
    None, "", " 5 ", "+3", "-7", "2.0", "2.5", ".5", "1e2", "-0.0", "nan", "inf", "0x1", "1_0", "5\n", "yes", "F", "1",
    "2024-02-29", "2023-02-29", "2000-01-01 23:59", "2020-06-15T12:00:01.5Z", "0000-01-01", "9999999999999999999999",
    "A'b%_\\", "Éa😀",
]  # fmt: skip
_REALS = [
    None,
    *(float(real) for real in ("nan", "inf", "-inf", "-0.0", "0.005", "-0.005", "2.5", "1e300", "-7.25", "3")),
]
_DAYS = [
    None, date(1, 1, 1), date(1969, 12, 31), date(2000, 2, 29), date(2024, 3, 3), date(2024, 12, 30), date(9999, 12, 31),
]  # fmt: skip
_MOMENTS = [None, datetime(1, 1, 1), datetime(1999, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12, 30)]
_COUNT = 29


@cache
def kit_codebook() -> Codebook:
    """What is declared about the kit."""
    return Codebook.from_record({"unit": {"id": "who", "groups": 2, "rows_per_group": 2}, "tables": _TABLES})


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
        "wholes": [None if i % 11 == 3 else i * 5 - 100 if i % 4 == 1 else (i * 337) % 2500 - 1200 for i in rows],
        "truths": [(True, False, None)[i % 3] for i in rows],
        "days": [_pick(_DAYS, i) for i in rows],
        "moments": [_pick(_MOMENTS, i) for i in rows],
        "words_2": [_pick(["a", "b", "é", "x", None], i) for i in rows],
    }


_RAW = {
    "row": ("row", Physical.INTEGER),
    "who": ("who", Physical.INTEGER), "name": ("words", Physical.TEXT), "as_integer": ("words", Physical.TEXT),
    "as_number": ("words", Physical.TEXT), "as_truth": ("words", Physical.TEXT), "as_day": ("words", Physical.TEXT),
    "as_time": ("words", Physical.TEXT), "real": ("reals", Physical.REAL),
    "off_grid": ("reals", Physical.REAL), "tens_off": ("wholes", Physical.INTEGER), "real_whole": ("reals", Physical.REAL),
    "whole": ("wholes", Physical.INTEGER), "tens": ("wholes", Physical.INTEGER), "truth": ("truths", Physical.BOOLEAN),
    "day": ("days", Physical.DATE), "moment": ("moments", Physical.TIMESTAMP), "word": ("words_2", Physical.TEXT),
}  # fmt: skip


PROBES = {
    **FUNCTION_PROBES,
    "text as integer": "as_integer", "text as number": "as_number",
    "text as truth": "case when as_truth then 1 when not as_truth then 2 end",
    "text as date": among("as_day", "2000-01-01", "2020-06-15", "2024-02-29"),
    "text as timestamp": among("as_time", "2000-01-01 23:59:00", "2020-06-15 12:00:01.5", "2024-02-29 00:00:00"),
    "ends off the grid": "off_grid", "whole ends off the grid": "tens_off",
    "reals on a grid": "real", "reals as whole numbers": "clamp(real_whole, -9, 9)", "clamped integers": "whole",
    "rounded integers": "tens", "categories": "case word when 'a' then 1 when 'é' then 3 when 'rest' then 5 end",
    "places among texts": "case name when 'a''b%_\\' then 0 when 'A''b%_\\' then 1 when '5' then 2 when '5\n' then 3 "
                          "when ' 5' then 4 when ' 5 ' then 5 when '' then 6 when 'f' then 7 when 'F' then 8 "
                          "when 'Éa😀' then 9 end",
    "places before other cases": "case when word = 'é' then 0 when word = 'rest' then 1 when word = 'e' then 2 "
                                 "when word is null then -1.5 when word = 'b' then 3 else 4.25 end",
    "sums and products": "whole * 3 - real * 2", "quotients": "whole / (real - 2.5)",
    "quotients compared": "case when whole / tens <= 0.1 then 1 when whole / (tens + 1) > real then 2 "
                          "when whole / tens = 0.2 then 3 end",
    "patterns": "case when name like '%2_' then 1 when name like '_5%' then 2 when name like 'f%' then 3 "
                "when name like '%%' then 4 end",
    "comparisons": "case when real < 2.499 then 1 when day >= date '2000-02-29' then 2 when not truth then 3 end",
    "dates": among("day", "0001-01-01", "1969-12-31", "2000-02-29", "2024-03-03"),
    "times": among("moment", "0001-01-01 00:00:00", "1999-12-31 23:59:59.999999"),
    "three-valued logic": "case when (truth or whole > 0) and not tens > 10 then 1 "
                          "when not ((truth or whole > 0) and not tens > 10) then 2 end",
    "membership": "case when whole in (1, 7, 25) or word not in ('a', 'b') then 1 else 0 end",
}  # fmt: skip
"""What is asked of every row, by name."""

QUICK = (
    "text as integer", "text as number", "text as date", "reals on a grid", "reals as whole numbers", "rounded integers",
    "quotients", "least and greatest", "bins", "weekday", "cut to week", "letters", "patterns", "three-valued logic",
)  # fmt: skip
"""The probes asked at connect: where engines and their versions have been seen to differ."""


@cache
def _expression(source: str) -> Expression:
    return parse(source, schema=kit_codebook()["kit"].schema)


def probed(probe: str) -> Expression:
    """The expression of a probe."""
    return _expression(PROBES[probe])


def vouched(probe: str) -> frozenset[str]:
    """The features a probe vouches for: all it uses."""
    expression, table = probed(probe), kit_codebook()["kit"]
    cells = (cell_feature(table[name].type, _RAW[name][1]) for name in columns(expression))
    found = (*cells, *(function_feature(part) for part in parts(expression)))
    return frozenset(feature for feature in found if feature is not None)


def parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all that is inside it."""
    yield expression
    for child in children(expression):
        yield from parts(child)


def probed_rows(probes: Iterable[str]) -> Project:
    """The probes as columns, each row known by its number."""
    rows = scan(kit_codebook(), "cells")
    return Project(rows, (("row", Column("row")), *((name, _expression(PROBES[name])) for name in probes)))


def probed_sums(probes: Iterable[str]) -> GroupAgg:
    """The probes added up."""
    limit = Fraction(10**9)
    sums = tuple((name, Total(_expression(PROBES[name]), -limit, limit)) for name in probes)
    return GroupAgg(scan(kit_codebook(), "kit"), (), Bounding(groups=1), sums)


def quick_plan() -> GroupAgg:
    """Keys of several kinds at once, so that every way to make words of the keyed order counts."""
    keys = tuple(KeyColumn(name, Column(name), keep_missing=True) for name in ("name", "moment", "real_whole"))
    total = Total(Column("real"), Fraction(-3), Fraction(50))
    aggregates: tuple[tuple[str, Aggregate], ...] = (("units", Units()), ("rows", RowCount(9)), ("sum", total))
    return GroupAgg(scan(kit_codebook(), "kit"), keys, Bounding(groups=2), aggregates)


def kit_plans() -> dict[str, GroupAgg]:
    """The plans every engine must answer as the reference does; they use no feature."""
    rows, of = scan(kit_codebook(), "kit"), _expression
    plain: tuple[tuple[str, Aggregate], ...] = (
        ("units", Units()),
        ("sum", Total(of("real"), Fraction(-3), Fraction(50))),
    )
    few, many = ("rows", RowCount(2)), ("rows", RowCount(9, of("whole")))
    observed = {
        "whole": KeyColumn("k", of("clamp(whole, 0, 9)"), keep_missing=True),
        "name": KeyColumn("k", of("name"), keep_missing=True),
        "day": KeyColumn("k", of("day")),
        "moment": KeyColumn("k", of("moment"), keep_missing=True),
        "who": KeyColumn("k", of("clamp(who, -1, 3)")),
    }
    plans = {"groups by several keys": quick_plan()}
    for name, key in observed.items():
        bounding = Bounding(groups=2, choice=ByOrder(of("real"), last=True)) if name == "who" else Bounding(groups=2)
        plans[f"groups by {name}"] = GroupAgg(
            rows, (key,), bounding, (*plain, few if name in ("whole", "day") else many)
        )
    kept = (
        ("rows", RowCount(2)),
        ("distinct", Distinct(of("name"), 2)),
        ("bins", Histogram(of("clamp(whole, 0, 2)"), 3, 2)),
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
    plans["medians and modes"] = _typical()
    plans["rows that a join repeats"] = _repeated(rows)
    plans |= _even(rows, beyond)
    return plans


def _repeated(rows: Scan) -> GroupAgg:
    """Two rows of each unit, of those that a LEFT JOIN repeats of which no column is read, for numbers of rows and of values."""
    again = ValueTable(
        "again", (("turn", Facts(Kind.NUMBER, False, lower=0, upper=3)),), ((0,), (0,), (0,), (3,), (3,))
    )
    joined = Join(derive(rows, at=_expression("clamp(whole, 0, 3)")), again, (("at", "turn"),), JoinKind.LEFT)
    measured = (("units", Units()), ("rows", RowCount(2)), ("values", Distinct(_expression("row"), 2)))
    return GroupAgg(joined, (KeyColumn("k", Column("at")),), Bounding(groups=2, rows_per_unit=2), measured)


def _even(rows: Scan, beyond: Expression) -> dict[str, GroupAgg]:
    """Rows spread evenly, with products beyond 64 bits, and rows kept by their number among equals."""
    of, spread = _expression, Spread(2, 10)
    parts: tuple[tuple[str, Aggregate], ...] = (
        ("rows", RowCount(2, of("whole"), spread)),
        ("sum", Total(of("real"), Fraction(-200), Fraction(200), spread)),
        ("bins", Histogram(of("clamp(whole, 0, 2)"), 3, 2, 10)),
    )
    wide = (("sum", Total(beyond, -Fraction(LARGEST), Fraction(LARGEST), Spread(1, 0))),)
    alike: tuple[tuple[str, Aggregate], ...] = (
        ("rows", RowCount(2, of("truth"))),
        ("sum", Total(of("clamp(whole, 0, 1)"), Fraction(0), Fraction(2))),
    )
    declared = KeyColumn("k", of("case when truth then 'a' else 'b' end"), ("a", "b"))
    return {
        "rows spread evenly": GroupAgg(rows, (declared,), Bounding(groups=2), parts),
        "chosen rows spread evenly": GroupAgg(rows, (declared,), Bounding(groups=1), (("units", Units()), *parts)),
        "spread beyond 64 bits": GroupAgg(rows, (), Bounding(groups=1), wide),
        "rows that look alike": GroupAgg(rows, (), Bounding(groups=1, rows_per_group=2), alike),
    }


def _typical() -> GroupAgg:
    """A quantile, the middle and the most frequent value of every unit's rows, of every kind of value."""
    asked = {UnitSummary.MEDIAN: ("whole", "real"), UnitSummary.MODE: ("tens", "name", "truth")}
    values = tuple(UnitValue(name, summary, Column(name)) for summary, names in asked.items() for name in names)
    keys = tuple(KeyColumn(name, Column(name), keep_missing=True) for name in ("tens", "name", "truth"))
    values += (UnitValue("off_grid", UnitSummary.QUANTILE, Column("off_grid"), share=Fraction(1, 3)),)
    total: tuple[str, Aggregate] = (
        "sum",
        Total(_expression("whole + real + off_grid"), Fraction(-3000), Fraction(3000)),
    )
    rows = UnitAgg(scan(kit_codebook(), "kit"), (), values)
    return GroupAgg(rows, keys, Bounding(groups=1), (("units", Units()), total))


def kit_vectors() -> dict[str, UnitVector]:
    """Joint vectors every engine must add up as the reference does: units that are cut and units that are not."""
    columns = (
        ("whole", Column("whole")),
        ("tens", Column("tens")),
        ("truth", _expression("case when truth then 1 end")),
    )
    rows = UnitRows(scan(kit_codebook(), "kit"), columns, 3)
    features = (Literal(3), Column("whole"), Column("tens"), Column("truth"))
    latest = replace(rows, order=ByOrder(_expression("real"), last=True))
    single = tuple((place,) for place in range(len(features)))
    return {
        "sums of products": UnitVector(rows, features, triangle(len(features)), 250_001),
        "sums of products, hardly cut": UnitVector(rows, features, triangle(len(features)), 2_000_003),
        "sums cut together": UnitVector(latest, features, single, 611),
    }


_KINDS = {
    "row": "BIGINT", "who": "BIGINT", "wholes": "BIGINT", "reals": "DOUBLE", "truths": "BOOLEAN", "days": "DATE",
    "moments": "TIMESTAMP",
}  # fmt: skip


def kit_source(profile: Profile) -> dict[str, Source]:
    """The kit's tables as constants: they need no right to write anywhere.

    Their text is written once and put into the statements as it is.
    """
    raw = kit_columns()
    rows = [exp.Tuple(expressions=[_constant(cells[i]) for cells in raw.values()]) for i in range(_COUNT)]
    alias = exp.TableAlias(this=exp.to_identifier("kit"), columns=[exp.to_identifier(name) for name in raw])
    typed = [named(cast(column(name), kind), name) if (kind := _KINDS.get(name)) else column(name) for name in raw]
    table = exp.select(*typed, copy=False).from_(exp.Values(expressions=rows, alias=alias), copy=False)
    written = exp.Var(this=f"({table.sql(dialect=profile.dialect, copy=False)})")
    source = Source(written, {name: (column(cell), kind) for name, (cell, kind) in _RAW.items()})
    return dict.fromkeys(_TABLES, source)


def _constant(value: Any) -> exp.Expression:
    """A cell as text, which its column's cast reads."""
    if value is None:
        return exp.null()
    if isinstance(value, float):
        return text(repr(value).replace("inf", "Infinity").replace("nan", "NaN"))
    return text(value.isoformat(" ") if isinstance(value, datetime) else str(value))


def kit_reference() -> ReferenceEngine:
    """The reference engine over the kit."""
    raw = kit_columns()
    table = {name: raw[cell] for name, (cell, _) in _RAW.items()}
    return ReferenceEngine(dict.fromkeys(_TABLES, table), kit_codebook(), key=KIT_KEY)
