"""How the reference engine bounds units: rows into groups, then each unit's rows and groups cut to what the plan lets it keep.

Guarantee: every choice is made within one unit, from its own rows and the order key.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

from deniable.engines.cell_rules import Cell
from deniable.engines.engine import KeyValue
from deniable.engines.evaluate import evaluate
from deniable.engines.order import NUMBER_MASK, OrderKey, rank, row_rank, start, words
from deniable.engines.results import Place, held
from deniable.plan.analysis import facts
from deniable.plan.expression import Expression
from deniable.plan.facts import Facts
from deniable.plan.nodes import ByOrder, GroupAgg
from deniable.plan.relation import Shape

Identity: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Owned:
    """A row and the unit it belongs to; public rows belong to the empty identity."""

    unit: Identity
    cells: dict[str, Cell]


Members: TypeAlias = list[tuple[Identity, list[dict[str, Cell]]]]
"""A group's units, each with its rows in one of the groups by all keys; on a coarser level a unit may stand here often."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is publicly known of a plan's keys and of the expressions it reads, worked out once for all rows."""

    keys: tuple[Facts, ...]
    inputs: tuple[tuple[Expression, Facts], ...]

    @classmethod
    def of(cls, plan: GroupAgg, below: Shape) -> _Known:
        keys = tuple(facts(entry.expression, below.columns) for entry in plan.keys)
        return cls(keys, tuple((each, facts(each, below.columns)) for each in plan.inputs))


def grouped_rows(plan: GroupAgg, below: Shape, rows: list[Owned], key: OrderKey) -> dict[Place, Members]:
    """What bounding keeps: for every group of every level, the units in it and their rows; all choices are made within one unit."""
    by_unit: dict[Identity, dict[tuple[KeyValue, ...], list[dict[str, Cell]]]] = defaultdict(lambda: defaultdict(list))
    known = _Known.of(plan, below)
    for row in rows:
        group = _group(plan, below, row, known)
        if group is not None:
            by_unit[row.unit][group].append(row.cells)
    kept: dict[Place, Members] = defaultdict(list)
    for place, level in enumerate(plan.grouping):
        if not level:
            kept[place, (None,) * len(plan.keys)] = []
    for unit, groups in by_unit.items():
        chosen = _unit_bounded(plan, below, unit, groups, known, key)
        for group, members in chosen.items():
            for place, level in enumerate(plan.grouping):
                coarse = tuple(v if k.name in level else None for k, v in zip(plan.keys, group, strict=True))
                kept[place, coarse].append((unit, members))
    return dict(kept)


def _group(plan: GroupAgg, below: Shape, row: Owned, known: _Known) -> tuple[KeyValue, ...] | None:
    values: list[KeyValue] = []
    for entry, fact in zip(plan.keys, known.keys, strict=True):
        value = held(evaluate(entry.expression, row.cells, below.columns), fact)
        if value is None and not entry.keep_missing:
            return None
        if value is not None and entry.domain is not None and value not in entry.domain:
            return None
        values.append(value)
    return tuple(values)


def _unit_bounded(
    plan: GroupAgg,
    below: Shape,
    unit: Identity,
    groups: dict[tuple[KeyValue, ...], list[dict[str, Cell]]],
    known: _Known,
    key: OrderKey,
) -> dict[tuple[KeyValue, ...], list[dict[str, Cell]]]:
    bounding, state = plan.bounding, start(unit_words(below, unit, key), key)
    flat = [(group, cells) for group, members in groups.items() for cells in members]
    if bounding.rows_per_unit is not None:
        flat = _first_rows(plan, below, flat, known, state, key)[: bounding.rows_per_unit]
    regrouped: dict[tuple[KeyValue, ...], list[dict[str, Cell]]] = defaultdict(list)
    for group, cells in flat:
        regrouped[group].append(cells)
    if bounding.rows_per_group is not None:
        for group, members in regrouped.items():
            placed = _first_rows(plan, below, [(group, cells) for cells in members], known, state, key)
            members[:] = [cells for _, cells in placed[: bounding.rows_per_group]]
    order = sorted(regrouped, key=lambda group: _group_rank(plan, below, group, regrouped[group], known, state, key))
    return {group: regrouped[group] for group in (order[: bounding.groups] if plan.keys else order)}


def first_rows(below: Shape, rows: list[Owned], read: Collection[str], most: int, key: OrderKey) -> list[Owned]:
    """At most `most` rows of each unit, by the keyed order of what is read of them; equal ones are told apart by their number."""
    seen: Counter[tuple[Any, ...]] = Counter()
    by_unit: dict[Identity, list[tuple[tuple[int, ...], Owned]]] = defaultdict(list)
    for row in rows:
        entries = [(row.cells[name], fact) for name, fact in below.columns.items() if name in read]
        of = tuple(word for value, fact in entries for word in words(value, fact, key))
        number = seen[row.unit, of]
        seen[row.unit, of] += 1
        placed = row_rank(unit_words(below, row.unit, key), of, number & NUMBER_MASK, key)
        by_unit[row.unit].append((placed, row))
    return [row for ranked in by_unit.values() for _, row in sorted(ranked, key=lambda entry: entry[0])[:most]]


def unit_words(below: Shape, unit: Identity, key: OrderKey) -> tuple[int, ...]:
    """The words of an identity; a unit of rows has none, since a row number says nothing about the row."""
    assert below.unit is not None
    if below.unit.is_row:
        return ()
    return tuple(word for value, fact in zip(unit, below.identity, strict=True) for word in words(value, fact, key))


def _group_rank(
    plan: GroupAgg,
    below: Shape,
    group: tuple[KeyValue, ...],
    members: list[dict[str, Cell]],
    known: _Known,
    state: int,
    key: OrderKey,
) -> tuple[Any, ...]:
    of = [words(_unheld(value, fact), fact, key) for value, fact in zip(group, known.keys, strict=True)]
    hashed = rank(state, tuple(word for part in of for word in part), key)
    choice = plan.bounding.choice
    if not isinstance(choice, ByOrder):
        return hashed
    values = [evaluate(choice.expression, cells, below.columns) for cells in members]
    return (*_ordered([value for value in values if value is not None], choice), *hashed)


GroupedRow: TypeAlias = tuple[tuple[KeyValue, ...], dict[str, Cell]]
"""A row and the group it lies in."""


def _first_rows(
    plan: GroupAgg, below: Shape, rows: list[GroupedRow], known: _Known, state: int, key: OrderKey
) -> list[GroupedRow]:
    """One unit's rows in the order in which they are kept; those that look alike are told apart by their number among equals."""
    seen: Counter[tuple[Any, ...]] = Counter()
    ranked = []
    for row in rows:
        of, preferred = _row_words(plan, below, row, known, key)
        number = seen[of, preferred]
        seen[of, preferred] += 1
        ranked.append(((*preferred, *rank(state, (*of, number & NUMBER_MASK), key)), row))
    ranked.sort(key=lambda entry: entry[0])
    return [row for _, row in ranked]


def _row_words(
    plan: GroupAgg, below: Shape, row: GroupedRow, known: _Known, key: OrderKey
) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """What tells a row from others of its unit: the words of its group and values, and its place in a public order."""
    group, cells = row
    of = [words(_unheld(value, fact), fact, key) for value, fact in zip(group, known.keys, strict=True)]
    of += [words(evaluate(expression, cells, below.columns), fact, key) for expression, fact in known.inputs]
    flat, choice = tuple(word for part in of for word in part), plan.bounding.choice
    if not isinstance(choice, ByOrder):
        return flat, ()
    value = evaluate(choice.expression, cells, below.columns)
    return flat, _ordered([] if value is None else [value], choice)


def _ordered(values: list[Any], choice: ByOrder) -> tuple[Any, ...]:
    """Missing last; then by the first value, or by the last one backwards."""
    if not values:
        return (1,)
    chosen = max(values) if choice.last else min(values)
    return (0, _Backwards(chosen) if choice.last else chosen)


@dataclass(frozen=True, slots=True)
class _Backwards:
    value: Any

    def __lt__(self, other: _Backwards) -> bool:
        return bool(other.value < self.value)


def _unheld(value: KeyValue, known: Facts) -> Cell:
    return value * known.step if isinstance(value, int) and not isinstance(value, bool) else value
