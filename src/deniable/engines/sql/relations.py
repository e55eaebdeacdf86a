"""Relations as SELECT statements: the columns asked for, and beside them the hidden identity of each row's unit.

Rows whose unit is missing are left out where they are scanned. Between private relations the unit is always matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sqlglot import exp

from deniable.engines.order import OrderKey
from deniable.engines.sql.expressions import Expressions, value_rows
from deniable.engines.sql.keyed_order import first_rows
from deniable.engines.sql.stored_cells import Physical, cell_feature, read
from deniable.plan.analysis import summary_facts
from deniable.plan.arithmetic import clamp_ends
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column, Expression
from deniable.plan.facts import LARGEST, Facts, Kind, common_step, hull
from deniable.plan.functions.calendar import Truncate
from deniable.plan.nodes import (
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    Union,
    UnitAgg,
    UnitSummary,
    UnitValue,
    ValueTable,
)
from deniable.plan.profile import Profile
from deniable.plan.provenance import read_below
from deniable.plan.relation import entering, schema, shape
from deniable.plan.sql_trees import (
    Tree,
    add,
    bigint,
    binary,
    both,
    case,
    clamped,
    column,
    missing,
    multiply,
    named,
    null,
    number,
    over,
    present,
    scaled,
)
from deniable.plan.tables import Link, Table

UNIT = "__deniable_unit_"
"""The hidden columns that carry the identity of the unit: this and a number."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an engine finds a table: its relation in FROM, and for every variable the raw cell and its physical kind.

    `from_text` says that the cells were text and this engine made them what they are.
    """

    relation: Tree
    cells: Mapping[str, tuple[Tree, Physical]]
    from_text: bool = False


class Relations:
    """Writes relations over the engine's sources."""

    def __init__(self, sources: Mapping[str, Source], profile: Profile, key: OrderKey) -> None:
        self._sources, self._profile, self._key = sources, profile, key

    def select(self, relation: Relation, wanted: Iterable[str]) -> exp.Select:
        """The rows of a relation with the wanted columns and the unit's hidden ones."""
        names = [name for name in schema(relation) if name in set(wanted)]
        match relation:
            case Scan(codebook, table):
                return self._scan(codebook, codebook[table], names)
            case ValueTable():
                return value_rows(relation, names)
            case Filter(source, condition):
                inner = self.select(source, *read_below(relation, names))
                kept = _visible(names, unit_names(relation))
                return over(kept, inner).where(self._over(source).tree(condition), copy=False)
            case Project(source, entries):
                chosen = [(name, expression) for name, expression in entries if name in names]
                inner = self.select(source, *read_below(relation, names))
                written = [self._aliased(name, source, expression) for name, expression in chosen]
                return over(written + _visible([], unit_names(relation)), inner)
            case Join():
                return self._join(relation, names)
            case Union(sources):
                return self._union(relation, sources, names)
            case UnitAgg():
                return self._unit_agg(relation, names)
            case _:
                assert_never(relation)

    def _over(self, source: Relation, table: str | None = None) -> Expressions:
        return Expressions(schema(source), self._profile, table=table)

    def _aliased(self, name: str, source: Relation, expression: Expression) -> Tree:
        return named(self._over(source).tree(expression), name)

    def _read(self, table: Table, names: Iterable[str], alias: str) -> exp.Select:
        """The raw table with the named variables read as declared."""
        source = self._sources[table.name]
        written = []
        for name in names:
            cell, physical = source.cells[name]
            self._profile.allow(cell_feature(table[name].type, physical))
            if source.from_text:
                self._profile.allow(cell_feature(table[name].type, Physical.TEXT))
            written.append(named(read(cell.copy(), table[name], physical, self._profile), name))
        selected = exp.select(*(written or [named(number(1), "__deniable_one")]), copy=False)
        return selected.from_(exp.alias_(source.relation.copy(), alias, quoted=True), copy=False)

    def _scan(self, codebook: Codebook, table: Table, names: list[str]) -> exp.Select:
        if table.public or codebook.unit is None or codebook.unit.is_row:
            return self._read(table, names, "raw")
        path, owner = codebook.path(table.name), codebook.owner(table.name)
        asked = {*names, *([path[0].column] if path else _carried(owner, codebook))}
        read_table = self._read(table, [v.name for v in table.variables if v.name in asked], "raw")
        shown: list[Tree] = [named(column(name, "row_0"), name) for name in names]
        if not path:
            rows = over(shown + self._identity(codebook, owner, "row_0"), read_table, "row_0")
            return rows.where(*(present(column(name, "row_0")) for name in _carried(owner, codebook)), copy=False)
        units = [f"{UNIT}{place}" for place in range(len(_carried(owner, codebook)))]
        rows = over([*shown, *(column(name, "parent") for name in units)], read_table, "row_0")
        matched = exp.EQ(this=column(path[0].column, "row_0"), expression=column("parent_key", "parent"))
        return rows.join(exp.alias_(self._parents(codebook, path, owner).subquery(), "parent"), on=matched, copy=False)

    def _parents(self, codebook: Codebook, path: Sequence[Link], owner: Table) -> exp.Select:
        """The units each key of the first table on a path belongs to, each once, however many parent rows say so."""
        joined: exp.Select | None = None
        for place, link in enumerate(path):
            parent, last = codebook[link.table], place + 1 == len(path)
            needs = {link.key, *(_carried(owner, codebook) if last else [path[place + 1].column])}
            read_parent = self._read(parent, [v.name for v in parent.variables if v.name in needs], "raw")
            if joined is None:
                head = [named(column(link.key, "row_0"), "parent_key")]
                joined = over(head + self._identity(codebook, owner, f"row_{len(path) - 1}"), read_parent, "row_0")
                continue
            matched = exp.EQ(this=column(link.column, f"row_{place - 1}"), expression=column(link.key, f"row_{place}"))
            joined = joined.join(exp.alias_(read_parent.subquery(), f"row_{place}"), on=matched, copy=False)
        assert joined is not None
        there = [present(column(name, f"row_{len(path) - 1}")) for name in _carried(owner, codebook)]
        return joined.where(*there, copy=False).distinct(copy=False)

    def _identity(self, codebook: Codebook, owner: Table, alias: str) -> list[Tree]:
        assert owner.unit is not None
        assert codebook.unit is not None
        carried = [named(column(owner.unit, alias), f"{UNIT}0")]
        if codebook.unit.period is not None and owner.period is not None:
            cut = Truncate(Column(owner.period), codebook.unit.period.length)
            period = Expressions(owner.schema, self._profile, table=alias).tree(cut)
            carried.append(named(period, f"{UNIT}1"))
        return carried

    def _join(self, join: Join, names: list[str]) -> exp.Select:
        left, right = schema(join.left), schema(join.right)
        filtering = join.kind in (JoinKind.SEMI, JoinKind.ANTI)
        left_side, right_side = self._sides(join, names)
        matched = [self._matched(left[a], a, right[b], b) for a, b in join.on]
        left_units, right_units = (_units_of(side, join) for side in (join.left, join.right))
        if left_units and right_units:
            matched += [exp.EQ(this=column(n, "l"), expression=column(n, "r")) for n in left_units]
        if join.condition is not None:  # the sides share no name, so a column needs no alias
            matched.append(Expressions(left | right, self._profile).tree(join.condition))
        owner = "l" if left_units else "r"
        kept = [named(column(name, "l" if name in left else "r"), name) for name in names]
        kept += [named(column(name, owner), name) for name in (left_units or right_units)]
        joined = over(kept, left_side, "l")
        if filtering:
            inner = (
                exp.select("1").from_(exp.alias_(right_side.subquery(), "r"), copy=False).where(*matched, copy=False)
            )
            exists: Tree = exp.Exists(this=inner)
            return joined.where(exp.Not(this=exists) if join.kind is JoinKind.ANTI else exists, copy=False)
        other = exp.alias_(right_side.subquery(), "r")
        if not matched:
            return joined.join(other, join_type="cross", copy=False)
        return joined.join(other, on=both(*matched), join_type=join.kind.value, copy=False)

    def _sides(self, join: Join, names: list[str]) -> list[exp.Select]:
        """Both sides, with the rows of one unit that may enter: the first in the keyed order of all that is read of them."""
        sides, found = (join.left, join.right), []
        for side, wanted, most in zip(sides, read_below(join, names), entering(join), strict=True):
            selected = self._identified(side, wanted, join)
            found.append(selected if most is None else self._limited(side, selected, wanted, most))
        return found

    def _limited(self, side: Relation, selected: exp.Select, wanted: Iterable[str], most: int) -> exp.Select:
        known, units = schema(side), unit_names(side)
        inside = {f"value_{place}": name for place, name in enumerate(n for n in known if n in set(wanted))}
        rows = over([*(named(column(name), held) for held, name in inside.items()), *map(column, units)], selected)
        words = [(held, known[name]) for held, name in inside.items()]
        owners = list(zip(units, shape(side).identity, strict=True))
        kept = first_rows(rows, owners, words, most, self._key, self._profile)
        return over([*(named(column(held), name) for held, name in inside.items()), *map(column, units)], kept)

    def _matched(self, left: Facts, a: str, right: Facts, b: str) -> Tree:
        sides = column(a, "l"), column(b, "r")
        if left.kind is Kind.NUMBER:
            step = common_step((left.step, right.step))
            sides = scaled(sides[0], int(left.step / step)), scaled(sides[1], int(right.step / step))
        return exp.EQ(this=sides[0], expression=sides[1])

    def _identified(self, side: Relation, wanted: Iterable[str], whole: Relation) -> exp.Select:
        """A side of a join or union; single rows get a number where they may be multiplied from here on."""
        selected = self.select(side, wanted)
        if unit_names(side) or not _needs_numbers(side, whole):
            return selected
        return selected.select(named(bigint(self._profile.row_number()), f"{UNIT}0"), copy=False)

    def _union(self, union: Relation, sources: tuple[Relation, ...], names: list[str]) -> exp.Select:
        parts = []
        units = unit_names(union)
        for index, source in enumerate(sources):
            inner = self._identified(source, names, union)
            known = schema(source)
            together = {name: hull([schema(s)[name] for s in sources]) for name in names}
            written = [named(_rescaled(name, known[name], together[name]), name) for name in names]
            unit = shape(union).unit
            numbered = unit is not None and unit.is_row
            for name in units:
                identity: Tree = column(name)
                if numbered:
                    identity = add(multiply(identity, number(len(sources))), number(index))
                written.append(named(identity, name))
            parts.append(over(written or [named(number(1), "__deniable_one")], inner))
        united = exp.union(*parts, distinct=False, copy=False)
        return over(_visible(names, units) or [named(number(1), "__deniable_one")], united)

    def _unit_agg(self, node: UnitAgg, names: list[str]) -> exp.Select:
        writer = self._over(node.source)
        keys = list(node.keys)
        values = [value for value in node.values if value.name in names]
        units = unit_names(node)
        inner_columns = [named(writer.tree(expression), f"key_{i}") for i, (_, expression) in enumerate(keys)]
        known = schema(node.source)
        inner_columns += [
            named(self._sortable(writer.tree(value.of), value, known), f"value_{i}")
            for i, value in enumerate(values)
            if value.of is not None
        ]
        inner = over(inner_columns + _visible([], units), self.select(node.source, *read_below(node, names)))
        inner = _placed(inner, {f"value_{i}": value for i, value in enumerate(values)}, len(keys), units)
        written = [named(column(f"key_{i}"), name) for i, (name, _) in enumerate(keys) if name in names]
        written += [named(self._summary(value, f"value_{i}", known), value.name) for i, value in enumerate(values)]
        grouped = [column(name) for name in units] + [column(f"key_{i}") for i in range(len(keys))]
        return over(written + _visible([], units), inner).group_by(*grouped, copy=False)

    def _summary(self, value: UnitValue, name: str, known: Mapping[str, Facts]) -> Tree:
        step = summary_facts(value, dict(known)).step
        ends = (
            (None, None) if value.lower is None or value.upper is None else clamp_ends(step, value.lower, value.upper)
        )
        match value.summary:
            case UnitSummary.ROWS:
                return clamped(exp.Count(this=exp.Star()), *ends)
            case UnitSummary.COUNT:
                return clamped(exp.Count(this=column(name)), *ends)
            case UnitSummary.DISTINCT:
                return clamped(exp.Count(this=exp.Distinct(expressions=[column(name)])), *ends)
            case UnitSummary.SUM:
                low, high = (1 - LARGEST, LARGEST - 1) if ends[0] is None or ends[1] is None else (ends[0], ends[1])
                total = self._profile.wide_sum(column(name))
                return bigint(clamped(total, low, high))
            case UnitSummary.LEAST:
                return clamped(exp.Min(this=column(name)), *ends)
            case UnitSummary.GREATEST:
                return clamped(exp.Max(this=column(name)), *ends)
            case UnitSummary.MEDIAN | UnitSummary.QUANTILE:
                return clamped(
                    _at(name, self._place(name, Fraction(1, 2) if value.share is None else value.share)), *ends
                )
            case UnitSummary.MODE:
                found = _at(name, number(1))
                is_truth = summary_facts(value, dict(known)).kind is Kind.BOOLEAN
                return binary(exp.EQ, found, number(1)) if is_truth else clamped(found, *ends)

    def _place(self, name: str, share: Fraction) -> Tree:
        """⌈share · times⌉, and the first place for a share of zero."""
        if not share:
            return number(1)
        shared = (
            multiply(column(f"{name}_times"), number(share.numerator))
            if share.numerator > 1
            else column(f"{name}_times")
        )
        return self._profile.quotient(add(shared, number(share.denominator - 1)), number(share.denominator))

    def _sortable(self, tree: Tree, value: UnitValue, known: Mapping[str, Facts]) -> Tree:
        """What a mode is made of: truths as 0 and 1, which every engine has a maximum of, and texts by code points."""
        kind = summary_facts(value, dict(known)).kind
        if value.summary is not UnitSummary.MODE or kind not in (Kind.BOOLEAN, Kind.STRING):
            return tree
        if kind is Kind.STRING:
            return self._profile.sortable(tree)
        return case([(tree, number(1)), (missing(tree.copy()), null("INT"))], number(0))


def _placed(rows: exp.Select, values: Mapping[str, UnitValue], keys: int, units: Sequence[str]) -> exp.Select:
    """Rows with the place of each value whose quantile or mode is asked: by size, or by how often it stands.

    Missing values come last; `times` are the values of the group, or those equal to this one.
    """
    modes = {name for name, each in values.items() if each.summary is UnitSummary.MODE}
    placed = {name for name, each in values.items() if each.summary in (UnitSummary.MEDIAN, UnitSummary.QUANTILE)}
    asked = [name for name in values if name in modes | placed]
    if not asked:
        return rows
    group = [*units, *(f"key_{index}" for index in range(keys))]
    carried = [*group, *(name for name, each in values.items() if each.summary is not UnitSummary.ROWS)]
    counts, places = [], []
    for name in asked:
        alike = [*group, name] if name in modes else group
        counts.append(named(_window(exp.Count(this=column(name)), alike), f"{name}_times"))
        by_size = [
            exp.Ordered(this=case([(missing(column(name)), number(1))], number(0))),
            exp.Ordered(this=column(name)),
        ]
        by_times = [exp.Ordered(this=column(f"{name}_times"), desc=True)] if name in modes else []
        places.append(named(_window(exp.RowNumber(), group, by_times + by_size), f"{name}_place"))
    counted = over([*map(column, carried), *counts], rows)
    return over([*map(column, [*carried, *(f"{name}_times" for name in asked)]), *places], counted)


def _window(function: Tree, group: Sequence[str], order: Sequence[Tree] = ()) -> Tree:
    sorting = exp.Order(expressions=list(order)) if order else None
    return exp.Window(this=function, partition_by=[column(name) for name in group], order=sorting)


def _at(name: str, place: Tree) -> Tree:
    """The group's value at a place; none where there is none."""
    return exp.Max(this=case([(binary(exp.EQ, column(f"{name}_place"), place), column(name))]))


def unit_names(relation: Relation) -> list[str]:
    """The hidden columns of a relation; single rows that nothing has multiplied yet need none."""
    known = shape(relation)
    if known.public:
        return []
    assert known.unit is not None
    if known.unit.is_row:
        return [] if known.most_rows == 1 else [f"{UNIT}0"]
    return [f"{UNIT}{index}" for index in range(len(known.identity))]


def _needs_numbers(side: Relation, whole: Relation) -> bool:
    return not shape(side).public and bool(unit_names(whole))


def _units_of(side: Relation, whole: Relation) -> list[str]:
    if shape(side).public:
        return []
    return unit_names(side) or unit_names(whole)


def _carried(owner: Table, codebook: Codebook) -> list[str]:
    dated = codebook.unit is not None and codebook.unit.period is not None
    return [name for name in (owner.unit, owner.period if dated else None) if name is not None]


def _rescaled(name: str, known: Facts, together: Facts) -> Tree:
    if known.kind is not Kind.NUMBER:
        return column(name)
    return scaled(column(name), int(known.step / together.step))


def _visible(names: Iterable[str], units: Iterable[str]) -> list[Tree]:
    return [column(name) for name in (*names, *units)]
