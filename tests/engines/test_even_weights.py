"""Even weights: what one unit adds is exact, fair to all its rows, and moves nothing further than was declared.

The integers are held against a plain computation with fractions, written here a second time; one unit is taken out of, put
into and (for changed rows) replaced in every tiny table there is; and faults are planted that these must notice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from hashlib import blake2b
from itertools import combinations_with_replacement, product
from math import floor
from typing import Any

import pytest

from deniable.cost import Neighbours
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread, fine_bits
from deniable.plan.expression import Column
from deniable.plan.nodes import Aggregate, Bounding, GroupAgg, Histogram, Join, KeyColumn, RowCount, Total, Units, scan
from deniable.plan.sensitivity import sensitivities
from deniable.plan.translate import parse
from deniable.plan.unit import Unit
from tests.engines.random_plans import KEY, as_values, cells

Part = Callable[[Spread, int, int], int]

# The rule itself ----------------------------------------------------------------------------------------------------


def _rule_holds(part: Part, rows: int, bits: int, ends: tuple[int, int], most: int = 9) -> bool:
    """Whether a rule keeps every unit in its interval, rises with the total, and is the nearest step."""
    spread = Spread(rows, bits)
    low, high = min(ends[0], 0) * spread.whole, max(ends[1], 0) * spread.whole
    for n in range(1, most):
        totals = sorted({n * ends[0], n * ends[0] + 1, 0, n * ends[1] - 1, n * ends[1], *range(-2, 3)})
        inside = [total for total in totals if n * ends[0] <= total <= n * ends[1]]
        found = [part(spread, total, n) for total in inside]
        weight = Fraction(min(rows, n), n) * spread.scale
        near = all(abs(each - weight * total) <= Fraction(1, 2) for each, total in zip(found, inside, strict=True))
        if not (near and found == sorted(found) and all(low <= each <= high for each in found)):
            return False
    return True


_CASES = list(product((1, 2, 3, 5), (0, 1, 10), ((-1, 2), (0, 1), (-7, -2), (3, 5), (-(2**40), 2**40 - 1))))


def test_what_a_unit_adds_is_the_nearest_step_within_its_interval() -> None:
    assert all(_rule_holds(Spread.part, *case) for case in _CASES)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda spread, total, n: total * spread.scale if n <= spread.rows else round(spread.whole * total / n),
        lambda spread, total, n: round(min(1.0, spread.rows / n) * spread.scale * total),
        lambda spread, total, n: spread.whole * total // n if n > spread.rows else total * spread.scale,
        lambda spread, total, n: min(total, spread.rows) * spread.scale,
    ],
    ids=["a quotient of floats", "a weight of floats", "floor", "clipped"],
)
def test_other_rules_are_noticed(wrong: Part) -> None:
    assert not all(_rule_holds(wrong, *case) for case in _CASES)


@pytest.mark.parametrize(("rows", "bits"), list(product((1, 2, 3, 7), (0, 1, 10))))
def test_what_rows_weigh_together_rises_to_all_that_count(rows: int, bits: int) -> None:
    spread = Spread(rows, bits)
    for n in range(1, 40):
        up_to = [spread.up_to(position, n) for position in range(n + 1)]
        assert up_to[0] == 0
        assert up_to[-1] == min(rows, n) * spread.scale
        assert up_to == sorted(up_to)
        weight = Fraction(min(rows, n), n) * spread.scale
        assert all(abs(each - weight * position) <= Fraction(1, 2) for position, each in enumerate(up_to))


def test_wide_columns_get_fewer_places_and_stay_within_what_samplers_draw() -> None:
    assert [fine_bits(1), fine_bits(2**20 - 1), fine_bits(2**25), fine_bits(2**40)] == [10, 10, 4, 0]
    assert all(most << fine_bits(most) < max(2**30, 2 * most) for most in (1, 5, 2**19, 2**20, 2**29, 2**31, 2**50))


# Tables -------------------------------------------------------------------------------------------------------------

WIDE = 2**49 - 5
"""Values of the column `wide` are multiples of this: their sums have more digits than floats."""

_TABLES = """
tables:
  t:
    {unit}
    variables:
      who: integer
      day: {{type: date, bounds: [2024-01-01, 2024-12-31]}}
      k: {{type: string, categories: [a, b]}}
      x: {{type: integer, bounds: [-2, 3]}}
      wide: {{type: integer, bounds: [-1125899906842614, 1688849860263921]}}
  times:
    public: true
    variables: {{name: string}}
"""
UNITS = {
    "identifier": ("unit: {id: who, groups: 1, rows_per_group: 1}", "unit: who"),
    "identifier and month": (
        "unit: {id: who, period: {column: day, length: month}, groups: 1, rows_per_group: 1}", "unit: who",
    ),
    "rows": ("unit: rows", "description: rows"),
    "changed rows": ("unit: changed rows", "description: rows"),
}  # fmt: skip


def _book(kind: str) -> Codebook:
    unit, table = UNITS[kind]
    return Codebook.from_yaml(f"{unit}\n{_TABLES.format(unit=table)}")


Row = tuple[int, str, str, int | None]
"""Who, month, group, value."""


def _tables(rows: Sequence[Row], times: int = 3) -> dict[str, dict[str, list[Any]]]:
    table = {
        "who": [row[0] for row in rows],
        "day": [f"2024-{row[1]}-15" for row in rows],
        "k": [row[2] for row in rows],
        "x": [row[3] for row in rows],
        "wide": [None if row[3] is None else row[3] * WIDE for row in rows],
    }
    return {"t": table, "times": {"name": [word for word in "ab" for _ in range(times)]}}


def _aggregates(rows: int, bits: int) -> tuple[tuple[str, Aggregate], ...]:
    spread = Spread(rows, bits)
    return (
        ("units", Units()),
        ("all", RowCount(rows, None, spread)),
        ("present", RowCount(rows, Column("x"), spread)),
        ("some", RowCount(rows, parse("case when x > 0 then x end"), spread)),
        ("sum", Total(Column("x"), Fraction(-2 * rows), Fraction(3 * rows), spread)),
        ("distance", Total(parse("x - 1"), Fraction(-3 * rows), Fraction(3 * rows), spread)),
        ("squares", Total(parse("x * x"), Fraction(0), Fraction(9 * rows), spread)),
        ("wide", Total(Column("wide"), Fraction(-2 * WIDE * rows), Fraction(3 * WIDE * rows), Spread(rows, 0))),
        ("bins", Histogram(parse("x + 2"), 6, rows, bits)),
    )


def _plan(
    book: Codebook, rows: int, bits: int, *, keyed: bool = True, groups: int = 1, total: int | None = None
) -> GroupAgg:
    """By group, every row as often as the public table says when rows are the units, so that a unit has several."""
    source: Any = scan(book, "t")
    if book.unit is not None and book.unit.is_row:
        source = Join(source, scan(book, "times"), (("k", "name"),))
    keys = (KeyColumn("k", Column("k"), ("a", "b")),) if keyed else ()
    bounding = Bounding(groups=groups, rows_per_unit=total)
    return GroupAgg(source, keys, bounding, _aggregates(rows, bits), (("k",), ()) if keyed else None)


# Exact --------------------------------------------------------------------------------------------------------------


def _nearest(value: Fraction) -> int:
    size = floor(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def _plainly(rows: Sequence[Row], unit: Unit, k: int, bits: int, times: int) -> dict[str, dict[str, Any]]:
    """Every group's integers, by plain fractions: group by unit and group, weigh, round, add up."""
    parts: dict[tuple[Any, str], list[int | None]] = defaultdict(list)
    for place, (who, month, group, value) in enumerate(rows):
        identity: Any = place if unit.is_row else (who, month) if unit.period else who
        parts[identity, group] += [value] * (times if unit.is_row else 1)
    answer: dict[str, dict[str, Any]] = {}
    for (_, group), values in parts.items():
        cell = answer.setdefault(group, defaultdict(int))
        n, present = len(values), sorted(value for value in values if value is not None)
        weight = Fraction(min(k, n), n)
        exact = {
            "units": Fraction(1),
            "all": weight * n * 2**bits,
            "present": weight * len(present) * 2**bits,
            "some": weight * sum(value > 0 for value in present) * 2**bits,
            "sum": weight * sum(present) * 2**bits,
            "distance": weight * sum(value - 1 for value in present) * 2**bits,
            "squares": weight * sum(value**2 for value in present) * 2**bits,
            "wide": weight * sum(present) * WIDE,
        }
        for name, value in exact.items():
            cell[name] += _nearest(value)
        up_to = [floor(weight * 2**bits * place + Fraction(1, 2) - Fraction(1, 2 * n)) for place in range(n + 1)]
        for place, value in enumerate(present):
            cell["bins", value + 2] += up_to[place + 1] - up_to[place]
    return answer


def _told(engine: Engine, plan: GroupAgg) -> dict[str, dict[Any, int]]:
    result = engine.run(plan)
    answer: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
    for name, _ in plan.aggregates:
        for cell, value in cells(result, name).items():
            (group,), place = (cell[0], (name, cell[1])) if name == "bins" else (cell, name)
            answer[group][place] = value
    return answer


def _random_rows(seed: int) -> list[Row]:
    values = (None, -2, 0, 1, 3, 3)
    found: list[Row] = []
    for place in range((3, 20, 40)[seed % 3]):
        mixed = blake2b(bytes([seed, place]), digest_size=4).digest()
        found.append((mixed[0] % 4, ("01", "02")[mixed[1] % 2], "ab"[mixed[2] % 2], values[mixed[3] % 6]))
    return found


def _engines(rows: Sequence[Row], book: Codebook, times: int = 3) -> Iterator[Engine]:
    yield ReferenceEngine(_tables(rows, times), book, key=KEY)
    engine = DuckDBEngine(_tables(rows, times), book, key=KEY, threads=1)
    yield engine
    engine.close()


def _exact(kind: str, seed: int, rows: int, bits: int, engines: Callable[..., Iterator[Engine]] = _engines) -> bool:
    book, table = _book(kind), _random_rows(seed)
    assert book.unit is not None
    wanted = _plainly(table, book.unit, rows, bits, 3)
    told = [_told(engine, _plan(book, rows, bits, groups=2)) for engine in engines(table, book)]
    return all(
        {place: value for place, value in wanted[group].items() if value}
        == {place: value for place, value in each[group].items() if value}
        for each in told
        for group in wanted
    )


@pytest.mark.parametrize("kind", list(UNITS))
@pytest.mark.parametrize(("rows", "bits"), [(1, 0), (1, 10), (2, 10), (3, 1), (7, 10)])
def test_the_integers_are_those_of_plain_fractions(kind: str, rows: int, bits: int) -> None:
    assert all(_exact(kind, seed, rows, bits) for seed in range(3))


def _reference_alone(rows: Sequence[Row], book: Codebook) -> Iterator[Engine]:
    yield ReferenceEngine(_tables(rows), book, key=KEY)


def test_rows_counted_after_a_condition_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that weighs by the rows its own condition leaves is a clipped count again."""
    right = Spread.part
    monkeypatch.setattr(Spread, "part", lambda self, total, n: right(self, total, max(total, 1)))
    assert not _exact("identifier", 1, 2, 10, _reference_alone)


def test_a_quotient_of_floats_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spread, "part", lambda self, total, n: round(min(1, self.rows / n) * self.scale * total))
    assert not all(_exact("identifier", seed, 3, 10, _reference_alone) for seed in range(9))


def test_bins_of_rows_without_a_value_are_counted_among_all_rows() -> None:
    """Two rows of four have a value: with one row that may count, half a row is in the bins."""
    rows: list[Row] = [(1, "01", "a", value) for value in (None, 3, None, 1)]
    book = _book("identifier")
    for engine in _engines(rows, book):
        told = _told(engine, _plan(book, 1, 10, groups=2))["a"]
        assert (told["bins", 3], told["bins", 5]) == (256, 256)
        assert told["present"] == 512
        assert told["all"] == 1024


def test_coarser_groups_are_the_sums_of_finer_ones() -> None:
    for kind, seed in zip(UNITS, (1, 2, 1, 2), strict=True):
        book, rows = _book(kind), _random_rows(seed)
        plan = _plan(book, 2, 10, groups=2)
        for engine in _engines(rows, book):
            result = engine.run(plan)
            for name, _ in plan.aggregates[1:]:
                fine, coarse = cells(result, name, 0), cells(result, name, 1)
                added: dict[Any, int] = defaultdict(int)
                for cell, value in fine.items():
                    added[((None,), cell[1]) if name == "bins" else (None,)] += value
                assert {cell: value for cell, value in added.items() if value} == coarse


# Neighbours ---------------------------------------------------------------------------------------------------------


def _within(engine: Engine, other: Engine, plan: GroupAgg, attained: set[str]) -> bool:
    """Whether all moves are within their triples; `attained` collects the aggregates that move as far as they may."""
    here, there = engine.run(plan), other.run(plan)
    for place, level in enumerate(plan.grouping):
        for name, bound in sensitivities(plan, level).items():
            before, after = cells(here, name, place), cells(there, name, place)
            moved = [abs(before.get(cell, 0) - after.get(cell, 0)) for cell in {*before, *after}]
            moved = [each for each in moved if each]
            sizes = (len(moved), sum(moved), max(moved, default=0), sum(each**2 for each in moved))
            if any(a > b for a, b in zip(sizes, (bound.l0, bound.l1, bound.linf, bound.l2_squared), strict=True)):
                return False
            attained |= {name} if sum(moved) == bound.l1 else set()
    return True


_OTHERS: list[Row] = [(9, "01", "a", 3), (9, "01", "a", 0), (9, "01", "a", None), (8, "02", "b", -2)]


def _units_rows(most: int) -> Iterator[list[Row]]:
    """Every multiset of up to so many rows of unit 1."""
    kinds = [(1, "01", group, value) for group in "ab" for value in (None, -2, 1, 3)]
    for size in range(1, most + 1):
        yield from map(list, combinations_with_replacement(kinds, size))


_BOUNDS = [
    {"rows": 1, "bits": 0, "groups": 1},
    {"rows": 2, "bits": 1, "groups": 2},
    {"rows": 1, "bits": 10, "groups": 2, "keyed": False},
    {"rows": 2, "bits": 10, "groups": 2, "total": 3},
]


def _law(kind: str, bounds: dict[str, Any], most: int) -> tuple[bool, set[str]]:
    """Whether the law holds for every table, and the aggregates that some unit moves as far as it may."""
    book = _book(kind)
    assert book.unit is not None
    plan, attained = _plan(book, **bounds), set[str]()
    others = ReferenceEngine(_tables(_OTHERS), book, key=KEY)
    for mine in _units_rows(1 if book.unit.is_row else most):
        here = ReferenceEngine(_tables([*_OTHERS, *mine]), book, key=KEY)
        neighbours = [others]
        if book.unit.neighbours is Neighbours.REPLACE:
            neighbours = [ReferenceEngine(_tables([*_OTHERS, *yours]), book, key=KEY) for yours in _units_rows(1)]
        if not all(_within(here, other, plan, attained) for other in neighbours):
            return False, set()
    return True, attained


@pytest.mark.parametrize("bounds", _BOUNDS, ids=str)
@pytest.mark.parametrize("kind", list(UNITS))
def test_every_unit_moves_every_aggregate_by_at_most_its_triple(kind: str, bounds: dict[str, Any]) -> None:
    holds, attained = _law(kind, bounds, 3)
    assert holds
    if (
        bounds["rows"] == 1 and kind != "changed rows"
    ):  # two rows in each of two groups would need more rows than are tried
        assert attained == {name for name, _ in _aggregates(1, 0)}, "no bound could be smaller"


def _row_by_row(spread: Spread, position: int, n: int) -> int:
    """Every row's weight rounded by itself."""
    return position * floor(Fraction(min(spread.rows, n) * spread.scale, n) + Fraction(1, 2))


@pytest.mark.parametrize("kind", ["identifier", "identifier and month"])
def test_bins_rounded_each_by_itself_are_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spread, "up_to", _row_by_row)
    assert not _law(kind, _BOUNDS[0], 2)[0]


@pytest.mark.parametrize("kind", list(UNITS))
def test_rows_that_are_not_weighed_are_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spread, "part", lambda self, total, n: total * self.scale)
    monkeypatch.setattr(Spread, "up_to", lambda self, position, n: position * self.scale)
    assert not _law(kind, _BOUNDS[0], 2)[0]


# Measured together ------------------------------------------------------------------------------------------------


def _norms(spread: Spread, most: int) -> Iterator[tuple[int, int]]:
    """The squared length of what every unit of up to so many rows adds, and of what it may add; rows are of length five."""
    rows = [(3, 4), (4, 3), (5, 0), (-5, 0), (-3, 4)]
    for size in range(1, most + 1):
        for unit in combinations_with_replacement(rows, size):
            parts = [spread.part(sum(row[axis] for row in unit), size) for axis in (0, 1)]
            yield sum(part**2 for part in parts), (5 * spread.whole) ** 2


@pytest.mark.parametrize(("rows", "bits"), [(1, 0), (1, 1), (2, 0), (2, 10)])
def test_numbers_measured_together_are_no_longer_than_a_row(rows: int, bits: int) -> None:
    assert all(found <= bound for found, bound in _norms(Spread(rows, bits, together=True), 6))


def test_numbers_measured_together_and_rounded_to_the_nearest_are_noticed() -> None:
    assert not all(found <= bound for found, bound in _norms(Spread(1, 0), 6))


def test_engines_cut_towards_zero_alike() -> None:
    rows, book = _random_rows(2), _book("identifier")
    spread = Spread(3, 1, together=True)
    totals = tuple(
        (f"{of}", Total(parse(of), Fraction(-30), Fraction(30), spread)) for of in ("x", "x - 2", "0 - x * x")
    )
    plan = GroupAgg(scan(book, "t"), (), Bounding(groups=1), totals)
    reference, duckdb = (as_values(engine.run(plan)) for engine in _engines(rows, book))
    assert reference == duckdb
    values: dict[int, list[int | None]] = defaultdict(list)
    for who, _, _, value in rows:
        values[who].append(value)
    cut = [int(Fraction(min(3, len(v)), len(v)) * 2 * sum(x or 0 for x in v)) for v in values.values()]
    assert reference["x"] == [sum(cut)]


# Rows that are kept -------------------------------------------------------------------------------------------------


def test_a_sample_of_rows_is_fair_to_rows_that_look_alike() -> None:
    """Every unit has nine zeros and one three; of two rows kept a fifth of the units has the three, not all or none."""
    rows: list[Row] = [(who, "01", "a", 3 if place == 0 else 0) for who in range(400) for place in range(10)]
    book = _book("identifier")
    total = Total(Column("x"), Fraction(-4), Fraction(6))
    plan = GroupAgg(scan(book, "t"), (), Bounding(groups=1, rows_per_group=2), (("sum", total), ("rows", RowCount(2))))
    results = [as_values(engine.run(plan)) for engine in _engines(rows, book)]
    assert results[0] == results[1]
    assert results[0]["rows"] == [800]
    assert 80 - 27 < results[0]["sum"][0] / 3 < 80 + 27  # three standard deviations and a little
