"""Random codebooks, data with odd cells, and plans over them, for the suites that compare engines and neighbours."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from deniable.engines.cell_rules import read
from deniable.engines.engine import Result
from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread
from deniable.plan.expression import Column, Expression
from deniable.plan.facts import Facts
from deniable.plan.nodes import (
    Aggregate,
    Bounding,
    ByHash,
    ByOrder,
    Distinct,
    Filter,
    GroupAgg,
    Histogram,
    Join,
    JoinKind,
    KeyColumn,
    Level,
    Relation,
    RowCount,
    Total,
    Union,
    UnitAgg,
    Units,
    UnitSummary,
    UnitValue,
    scan,
)
from deniable.plan.relation import derive, schema, shape
from deniable.plan.translate import parse

KEY = bytes(range(1, 33))

_TABLES = """
tables:
  visits:
    {visits}
    variables:
      patient: {id_type}
      visit: integer
      ward: {{type: string, categories: [a, b, "é"], other: rest}}
      word: string
      minutes: {{type: number, bounds: [-20, 60], step: 0.25}}
      off: {{type: number, bounds: [-0.8, 1], step: 0.35}}
      tens: {{type: integer, bounds: [-12, 25], step: 10}}
      price: {{type: decimal, bounds: [0, 10], step: 0.01, missing: {{impute: 1}}}}
      count: {{type: integer, bounds: [-3, 4], outside: missing}}
      urgent: boolean
      day: {{type: date, bounds: [2020-01-01, 2020-12-31]}}
      at: timestamp
  items:
    {items}
    variables:
      visit_of: integer
      kind: {{type: string, categories: [x, y]}}
      weight: {{type: integer, bounds: [0, 9]}}
  wards:
    public: true
    variables:
      ward_name: string
      size: {{type: integer, bounds: [0, 5]}}
"""

_BOUNDS = "groups: 2, rows_per_group: 2"
_FEW = f"{_BOUNDS}, rows_per_join: 3"
_LINK = "links: [visit_of -> visits.visit]"
UNITS = {
    "integer": (f"unit: {{id: patient, {_FEW}}}", "integer", "unit: patient", _LINK),
    "text": (f"unit: {{id: patient, {_FEW}}}", "string", "unit: patient", _LINK),
    "period": (
        f"unit: {{id: patient, period: {{column: day, length: month}}, {_BOUNDS}}}", "integer", "unit: patient", _LINK,
    ),
    "unique": (f"unit: {{id: patient, unique: true, {_BOUNDS}}}", "integer", "unit: patient", _LINK),
    "rows": ("unit: rows", "integer", "description: visits", "description: items"),
    "changed rows": ("unit: changed rows", "integer", "description: visits", "description: items"),
}  # fmt: skip
"""For every kind of unit: its declaration, the type of the identifier, and what is said of visits and of items."""


@cache
def codebook(kind: str) -> Codebook:
    """The codebook of one kind of unit."""
    unit, id_type, visits, items = UNITS[kind]
    return Codebook.from_yaml(unit + _TABLES.format(id_type=id_type, visits=visits, items=items))


def _cells(*good: Any) -> st.SearchStrategy[Any]:
    odd = st.sampled_from([None, "", "n/a", float("nan"), float("inf"), "\udc80", b"x", object, [1]])
    return st.one_of(st.sampled_from(good), st.sampled_from(good), st.sampled_from(good), odd)


def tables(kind: str = "integer", most: int = 18) -> st.SearchStrategy[dict[str, dict[str, list[Any]]]]:
    """Rows for all tables, odd cells among them; the declaration of a unique unit is kept."""
    identifier = codebook(kind)["visits"]["patient"]
    visit = st.fixed_dictionaries(
        {
            "patient": _cells(1, 1, 1, "1", 1.0, 2, "3", -6),
            "visit": _cells(1, 2, 3, 4, 5, "6", 6.0),
            "ward": _cells("a", "b", "é", "zz"),
            "word": _cells("a", "A", "abc", "é😀", "it's", 7, 7.0, True),
            "minutes": _cells(0, -0.0, 1.25, 59.9, 1e300, -500, "3.5", "1e1", 0.125, 2**70),
            "off": _cells(-0.8, -0.7, -0.5, 0.3, 0.875, 0.9, 1, 5, "-1e9"),
            "tens": _cells(-12, -5, 4, 5, 15, 20, 24, 25, 26, "-99"),
            "price": _cells(0.005, 1, "9.99", 12.345),
            "count": _cells(-4, -3, 0, 4, 5, "2", 2.5, 10**30),
            "urgent": _cells(True, False, 1, 0, "yes", "No"),
            "day": _cells(
                date(2020, 2, 29), "2020-05-05", "2020-02-30", date(1999, 1, 1), datetime(2020, 7, 4, 9), "2031-01-01"
            ),
            "at": _cells(datetime(2020, 1, 1, 23, 59, 59, 999999), "2020-06-15T12:00:00.5Z", date(1, 1, 1)),
        }
    )
    item = st.fixed_dictionaries(
        {"visit_of": _cells(1, 2, 3, 4, "5"), "kind": _cells("x", "y", "z"), "weight": _cells(0, 3, 11)}
    )
    ward = st.fixed_dictionaries({"ward_name": _cells("a", "b", "rest"), "size": _cells(1, 2, 9)})
    visits = st.lists(visit, max_size=most)
    if kind == "unique":
        visits = visits.map(lambda rows: list({read(row["patient"], identifier): row for row in rows}.values()))
    lists = st.tuples(visits, st.lists(item, max_size=most // 2), st.lists(ward, max_size=3))
    return lists.map(lambda rows: dict(zip(("visits", "items", "wards"), map(_columns, rows, _NAMES), strict=True)))


_NAMES = (
    ("patient", "visit", "ward", "word", "minutes", "off", "tens", "price", "count", "urgent", "day", "at"),
    ("visit_of", "kind", "weight"),
    ("ward_name", "size"),
)


def _columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


_CONDITIONS = [
    "minutes > 0", "not (minutes <= 1.3 and urgent)", "ward in ('a', 'é') or word is null", "word like 'a%'",
    "day >= '2020-02-29' and month(day) < 9", "count between -3 and 2.5", "urgent is not true", "lower(word) = 'abc'",
    "minutes / (count - 1) > 2", "extract(dow from day) in (0, 6)", "patient = 3 or visit % 2 = 1",
]  # fmt: skip
_NUMBERS = [
    "off", "tens + count", "off * 3 - tens",
    "minutes", "price", "count", "minutes * price - count", "round(minutes / (count - 1), 2)", "floor(minutes / 7)",
    "case when urgent then minutes when urgent is null then null else price end", "coalesce(count, 2)", "abs(minutes) % 3",
    "least(minutes, price, count)", "greatest(minutes, 0)", "clamp(visit, -1, 3)", "clamp(length(word), 0, 4)",
    "days_between(date '2020-01-01', day)", "bin(minutes, -20, -1.3, 0, 7, 60)", "hour(at) + quarter(at)", "ceil(price)",
]  # fmt: skip
_KEYS = [
    "ward", "word", "urgent", "day", "at", "count", "date_trunc('month', day)", "date_trunc('week', at)", "minutes",
    "substring(word, 1, 1)", "bin(minutes, -20, 0, 60)", "visit",
]  # fmt: skip


def _usable(sources: list[str], relation: Relation) -> list[Expression]:
    known = tuple(schema(relation).items())
    return [expression for source in sources if (expression := _parsed(source, known)) is not None]


@cache
def _parsed(source: str, known: tuple[tuple[str, Facts], ...]) -> Expression | None:
    try:
        return parse(source, schema=dict(known))
    except ValueError:
        return None


@st.composite
def relations(draw: st.DrawFn, book: Codebook) -> Relation:
    """A private relation: scans, links, joins, unions, per-unit sub-queries, filters, derived columns."""
    visits: Relation = scan(book, "visits")
    row_unit = book.unit is not None and book.unit.is_row
    shapes = ["visits", "filtered", "derived", "public", "semi public"]
    if not row_unit:
        shapes += ["linked", "items", "union", "per unit", "anti", "left link"]
    match draw(st.sampled_from(shapes)):
        case "filtered":
            return Filter(visits, draw(st.sampled_from(_usable(_CONDITIONS, visits))))
        case "derived":
            return derive(visits, minutes=draw(st.sampled_from(_usable(_NUMBERS, visits))))
        case "public":
            kind = draw(st.sampled_from([JoinKind.INNER, JoinKind.LEFT]))
            return Join(visits, scan(book, "wards"), (("ward", "ward_name"),), kind)
        case "semi public":
            kind = draw(st.sampled_from([JoinKind.SEMI, JoinKind.ANTI]))
            return Join(visits, scan(book, "wards"), (("ward", "ward_name"),), kind)
        case "linked":
            return Join(scan(book, "items"), visits, (("visit_of", "visit"),))
        case "left link":
            return Join(visits, scan(book, "items"), (("visit", "visit_of"),), JoinKind.LEFT)
        case "items":
            return scan(book, "items")
        case "anti":
            kind = draw(st.sampled_from([JoinKind.SEMI, JoinKind.ANTI]))
            return Join(visits, scan(book, "items"), (("visit", "visit_of"),), kind)
        case "union":
            return Union((visits, Filter(visits, draw(st.sampled_from(_usable(_CONDITIONS, visits))))))
        case "per unit":
            return _per_unit(draw, visits)
    return visits


def _per_unit(draw: st.DrawFn, visits: Relation) -> Relation:
    values = (
        UnitValue("minutes", UnitSummary.SUM, Column("minutes"), Fraction(-30), Fraction(70)),
        UnitValue("count", UnitSummary.ROWS, None, Fraction(0), Fraction(5)),
        UnitValue("price", UnitSummary.GREATEST, Column("price")),
        UnitValue("day", UnitSummary.LEAST, Column("day")),
        UnitValue("visit", UnitSummary.DISTINCT, Column("word"), Fraction(0), Fraction(3)),
        UnitValue("free", UnitSummary.SUM, Column("count")),
        UnitValue("off", UnitSummary.QUANTILE, Column("minutes"), Fraction(-20), Fraction(40), Fraction(2, 3)),
        UnitValue("tens", UnitSummary.MODE, Column("minutes")),
        UnitValue("word", UnitSummary.MODE, Column("word")),
        UnitValue("urgent", UnitSummary.MODE, parse("minutes > 5")),
    )
    keys = draw(st.sampled_from([(), (("ward", Column("ward")),), (("month", parse("month(day)")),)]))
    return UnitAgg(visits, keys, values)


def _aggregates(draw: st.DrawFn, relation: Relation) -> tuple[tuple[str, Aggregate], ...]:
    numbers = _usable([*_NUMBERS, "weight", "size", "weight * 2 - 1"], relation) or [parse("1")]
    known = schema(relation)
    some = draw(st.lists(st.sampled_from(numbers), min_size=1, max_size=2))
    found: list[tuple[str, Aggregate]] = [("units", Units()), ("rows", RowCount(draw(st.sampled_from([1, 2, 6]))))]
    for index, number in enumerate(some):
        low, high = draw(st.sampled_from([(-5, 50), (0, 7), (3, 9), (-(10**6), 10**6)]))
        found.append((f"sum_{index}", Total(number, Fraction(low), Fraction(high))))
        found.append((f"count_{index}", RowCount(2, number)))
        found.append((f"with_{index}", Units(number)))
        spread = Spread(draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([0, 1, 10])))
        found.append((f"even_sum_{index}", Total(number, Fraction(low), Fraction(high), spread)))
        found.append((f"even_count_{index}", RowCount(spread.rows, number, spread)))
    column = draw(st.sampled_from(sorted(known)))
    found.append(("distinct", Distinct(Column(column), draw(st.sampled_from([1, 3])))))
    if "minutes" in known and known["minutes"].bounded:
        bins = parse("bin(minutes, -20, 0, 1.3, 10, 60)")
        bits = draw(st.sampled_from([None, 1, 10]))
        found.append(("bins", Histogram(bins, 4, draw(st.sampled_from([1, 2, 5])), bits)))
    return tuple(found)


@st.composite
def plans(draw: st.DrawFn, book: Codebook) -> GroupAgg:
    """A plan over a random relation, with every kind of aggregate and bound."""
    relation = draw(relations(book))
    candidates = _usable([*_KEYS, "kind", "size"], relation)
    chosen = draw(st.lists(st.sampled_from(candidates), max_size=2, unique=True)) if candidates else []
    keys = tuple(
        KeyColumn(f"key_of_{index}", expression, *_domain(draw, expression, relation))
        for index, expression in enumerate(chosen)
    )
    choice = ByHash()
    if draw(st.booleans()) and (orders := _usable(["minutes", "day", "at", "weight"], relation)):
        choice = ByOrder(draw(st.sampled_from(orders)), last=draw(st.booleans()))  # type: ignore[assignment]
    bounding = Bounding(
        groups=draw(st.sampled_from([1, 2, 3])),
        rows_per_group=draw(st.sampled_from([None, None, 1, 2])),
        rows_per_unit=draw(st.sampled_from([None, None, 2, 3])),
        choice=choice,
    )
    return GroupAgg(relation, keys, bounding, _aggregates(draw, relation), _levels(draw, keys))


def _levels(draw: st.DrawFn, keys: tuple[KeyColumn, ...]) -> tuple[Level, ...] | None:
    """No grouping sets, or some that name every key."""
    names = tuple(key.name for key in keys)
    if not names or draw(st.booleans()):
        return None
    every = [tuple(name for name in names if name in chosen) for chosen in _subsets(names)]
    some = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    return tuple(some) if {name for level in some for name in level} == set(names) else (names, ())


def _subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [chosen for size in range(len(names) + 1) for chosen in combinations(names, size)]


def _domain(draw: st.DrawFn, expression: Expression, relation: Relation) -> tuple[tuple[object, ...] | None, bool]:
    from deniable.plan.analysis import facts

    known = facts(expression, schema(relation))
    declared: tuple[object, ...] | None = None
    if known.categories is not None:
        declared = draw(st.sampled_from([None, known.categories, known.categories[:1]]))
    elif known.kind.value == "number":
        declared = draw(st.sampled_from([None, (0, 1, 2), (0, 5)]))
    return declared, draw(st.booleans())


def private(relation: Relation) -> bool:
    """Whether the relation holds private rows."""
    return not shape(relation).public


def as_values(result: Result) -> dict[str, Any]:
    """A result as plain values, to compare and to show."""
    values: dict[str, Any] = {"groups": result.groups, "keys": dict(result.keys), "level": result.level.tolist()}
    values |= {name: column.tolist() for name, column in result.columns.items()}
    for name, bins in result.histograms.items():
        values[name] = list(zip(bins.group.tolist(), bins.bin.tolist(), bins.count.tolist(), strict=True))
    return values


def cells(result: Result, name: str, level: int = 0) -> dict[Any, int]:
    """One aggregate on one level as {group (and bin): value}, zeros left out."""
    groups = list(zip(*result.keys.values(), strict=True)) if result.keys else [()] * result.groups
    if name in result.histograms:
        bins = result.histograms[name]
        triples = zip(bins.group.tolist(), bins.bin.tolist(), bins.count.tolist(), strict=True)
        return {(groups[group], place): count for group, place, count in triples if result.level[group] == level}
    found = zip(groups, result.level.tolist(), result.columns[name].tolist(), strict=True)
    return {group: value for group, at, value in found if value and at == level}
