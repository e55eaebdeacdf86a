"""Relations as SELECT statements: the columns asked for, and beside them the hidden identity of each row's unit.

Rows whose unit is missing are left out where they are scanned. Between private relations the unit is always matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from deniable.engines.sql.expressions import Expressions
from deniable.engines.sql.stored_cells import Physical, cell_feature, read
from deniable.plan.arithmetic import clamp_ends
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column, Expression, columns
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
from deniable.plan.relation import schema, shape, summary_facts
from deniable.plan.sql_trees import (
    Tree,
    add,
    bigint,
    binary,
    both,
    case,
    cast,
    clamped,
    column,
    missing,
    multiply,
    null,
    number,
    present,
    scaled,
    text,
)
from deniable.plan.tables import Table

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

    def __init__(self, sources: Mapping[str, Source], profile: Profile) -> None:
        self._sources, self._profile = sources, profile

    def select(self, relation: Relation, wanted: Iterable[str]) -> exp.Select:
        """The rows of a relation with the wanted columns and the unit's hidden ones."""
        names = [name for name in schema(relation) if name in set(wanted)]
        match relation:
            case Scan(codebook, table):
                return self._scan(codebook, codebook[table], names)
            case ValueTable():
                return _values(relation, names)
            case Filter(source, condition):
                inner = self.select(source, {*names, *columns(condition)})
                kept = _visible(names, unit_names(relation))
                return over(kept, inner).where(self._over(source).tree(condition), copy=False)
            case Project(source, entries):
                chosen = [(name, expression) for name, expression in entries if name in names]
                inner = self.select(source, _reads(expression for _, expression in chosen))
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
        path = codebook.path(table.name)
        owner = codebook.owner(table.name)
        assert owner.unit is not None
        asked = {*names, *([path[0].column] if path else _carried(owner, codebook))}
        joined = over(
            [named(column(name, "row_0"), name) for name in names]
            + self._identity(codebook, owner, f"row_{len(path)}"),
            self._read(table, [v.name for v in table.variables if v.name in asked], "raw"),
            "row_0",
        )
        for index, link in enumerate(path):
            parent = codebook[link.table]
            last = index + 1 == len(path)
            needs = {link.key, *(_carried(owner, codebook) if last else [path[index + 1].column])}
            read_parent = self._read(parent, [v.name for v in parent.variables if v.name in needs], "raw")
            matched = exp.EQ(this=column(link.column, f"row_{index}"), expression=column(link.key, f"row_{index + 1}"))
            joined = joined.join(exp.alias_(read_parent.subquery(), f"row_{index + 1}"), on=matched, copy=False)
        for name in _carried(owner, codebook):
            joined = joined.where(present(column(name, f"row_{len(path)}")), copy=False)
        return joined

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
        read = columns(join.condition) if join.condition is not None else frozenset()
        wanted = {*(n for n in names if n in left), *(a for a, _ in join.on), *(read & left.keys())}
        left_side = self._identified(join.left, wanted, join)
        beside = {*(n for n in names if n in right and n not in left), *(b for _, b in join.on), *(read - left.keys())}
        right_side = self._identified(join.right, beside, join)
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
        reads = _reads([expression for _, expression in keys] + [v.of for v in values if v.of is not None])
        units = unit_names(node)
        inner_columns = [named(writer.tree(expression), f"key_{i}") for i, (_, expression) in enumerate(keys)]
        known = schema(node.source)
        inner_columns += [
            named(self._sortable(writer.tree(value.of), value, known), f"value_{i}")
            for i, value in enumerate(values)
            if value.of is not None
        ]
        inner = over(inner_columns + _visible([], units), self.select(node.source, reads))
        inner = _placed(inner, {f"value_{i}": value.summary for i, value in enumerate(values)}, len(keys), units)
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
            case UnitSummary.MEDIAN:
                middle = self._profile.quotient(add(column(f"{name}_times"), number(1)), number(2))
                return clamped(_at(name, middle), *ends)
            case UnitSummary.MODE:
                found = _at(name, number(1))
                is_truth = summary_facts(value, dict(known)).kind is Kind.BOOLEAN
                return binary(exp.EQ, found, number(1)) if is_truth else clamped(found, *ends)

    def _sortable(self, tree: Tree, value: UnitValue, known: Mapping[str, Facts]) -> Tree:
        """What a mode is made of: truths as 0 and 1, which every engine has a maximum of, and texts by code points."""
        kind = summary_facts(value, dict(known)).kind
        if value.summary is not UnitSummary.MODE or kind not in (Kind.BOOLEAN, Kind.STRING):
            return tree
        if kind is Kind.STRING:
            return self._profile.sortable(tree)
        return case([(tree, number(1)), (missing(tree.copy()), null("INT"))], number(0))


_HELD = {
    Kind.NUMBER: "BIGINT",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.STRING: "TEXT",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def _values(table: ValueTable, names: Sequence[str]) -> exp.Select:
    """A table of values, each cast to the type its column has everywhere."""
    kinds = [(place, name, known.kind) for place, (name, known) in enumerate(table.columns) if name in names]
    written = [named(cast(column(f"value_{place}", "given"), _HELD[kind]), name) for place, name, kind in kinds]
    chosen = written or [named(number(1), "__deniable_one")]
    rows = table.rows or ((None,) * len(table.columns),)
    tuples = [exp.Tuple(expressions=[_constant(cell) for cell in row]) for row in rows]
    listed = [exp.to_identifier(f"value_{place}", quoted=True) for place in range(len(table.columns))]
    alias = exp.TableAlias(this=exp.to_identifier("given", quoted=True), columns=listed)
    selected = exp.select(*chosen, copy=False).from_(exp.Values(expressions=tuples, alias=alias), copy=False)
    return selected if table.rows else selected.where(exp.false(), copy=False)


def _constant(cell: object) -> Tree:
    match cell:
        case None:
            return exp.null()
        case bool():
            return exp.Boolean(this=cell)
        case int():
            return number(cell)
        case str():
            return text(cell)
        case _:
            return text(str(cell))


def _placed(rows: exp.Select, values: Mapping[str, UnitSummary], keys: int, units: Sequence[str]) -> exp.Select:
    """Rows with the place of each value whose median or mode is asked: by size, or by how often it stands.

    Missing values come last; `times` are the values of the group, or those equal to this one.
    """
    asked = {name: each for name, each in values.items() if each in (UnitSummary.MEDIAN, UnitSummary.MODE)}
    if not asked:
        return rows
    group = [*units, *(f"key_{index}" for index in range(keys))]
    carried = [*group, *(name for name, summary in values.items() if summary is not UnitSummary.ROWS)]
    counts, places = [], []
    for name, summary in asked.items():
        alike = [*group, name] if summary is UnitSummary.MODE else group
        counts.append(named(_window(exp.Count(this=column(name)), alike), f"{name}_times"))
        by_size = [
            exp.Ordered(this=case([(missing(column(name)), number(1))], number(0))),
            exp.Ordered(this=column(name)),
        ]
        by_times = [exp.Ordered(this=column(f"{name}_times"), desc=True)] if summary is UnitSummary.MODE else []
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


def _reads(expressions: Iterable[Expression]) -> set[str]:
    return set().union(*(columns(expression) for expression in expressions))


def named(tree: Tree, name: str) -> Tree:
    return exp.Alias(this=tree, alias=exp.to_identifier(name, quoted=True))


def _visible(names: Iterable[str], units: Iterable[str]) -> list[Tree]:
    return [column(name) for name in (*names, *units)]


def over(written: list[Tree], inner: exp.Query, alias: str = "rows") -> exp.Select:
    """SELECT written FROM (inner) AS alias."""
    chosen = written or [named(number(1), "__deniable_one")]
    selected = exp.select(*chosen, copy=False)
    return selected.from_(exp.alias_(inner.subquery(copy=False), alias, quoted=True, copy=False), copy=False)
