"""The public facts of a relation: its columns, whose rows they are, and how many rows one unit can have.

A relation that would let one unit touch another's rows, or change what a query means, is refused here, from the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from deniable.errors import QueryRefused
from deniable.exact import number_of
from deniable.plan.analysis import checked_facts, condition_facts, facts, summary_facts
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column, Expression
from deniable.plan.facts import Facts, Kind, hull
from deniable.plan.memo import remembered
from deniable.plan.nodes import (
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    Union,
    UnitAgg,
    UnitValue,
    ValueTable,
)
from deniable.plan.tables import Table
from deniable.plan.unit import Unit
from deniable.plan.variable import Variable

MOST_TIMES = 3
"""How often one private table may stand in a join, unless it has one row per unit."""

OWN_UNIT = "the unit itself"
"""The anchor of a column that carries the unit, in every row."""

_UNIT_OR_NONE = "the unit itself, or missing"
"""The anchor of such a column behind a LEFT JOIN: one unit has it in some rows and lacks it in others."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is publicly known about a relation.

    `unit` is None for a public relation. `most_rows` is how many rows one unit can have here, None when any number.
    `anchors` names, for a column, whose equality makes two rows belong to one unit: the unit itself, or a key of a
    private table that a declared link leads to. `tables` are the private tables the rows come from. `identity` are the
    facts of the hidden columns that tell units apart (none for public rows and for units of single rows). `met` names the
    private tables of any number of rows whose rows were paired by joins, each as often as it was.
    """

    columns: dict[str, Facts]
    unit: Unit | None
    most_rows: int | None
    anchors: dict[str, str]
    tables: frozenset[str]
    identity: tuple[Facts, ...] = ()
    met: tuple[str, ...] = ()

    @property
    def public(self) -> bool:
        """Whether every row comes from public tables."""
        return self.unit is None

    def is_unit(self, name: str) -> bool:
        """Whether a column is the unit's own identifier, wherever it is present."""
        return self.anchors.get(name) in (OWN_UNIT, _UNIT_OR_NONE)


def schema(relation: Relation) -> dict[str, Facts]:
    """The columns of a relation and their facts."""
    return shape(relation).columns


def derive(source: Relation, **new: Expression) -> Project:
    """`source` with further columns (a name it has already is replaced)."""
    kept: dict[str, Expression] = {name: Column(name) for name in schema(source)}
    return Project(source, tuple({**kept, **new}.items()))


def join(left: Relation, right: Relation, on: tuple[tuple[str, str], ...], kind: JoinKind) -> Relation:
    """The join; key columns that have one name on both sides stand once in the result."""
    columns, twice = schema(left), {name for _, name in on if name in schema(left)}
    if not twice:
        return Join(left, right, on, kind)
    aside = {name: f"{name} (joined)" if name in twice else name for name in schema(right)}
    renamed = Project(right, tuple((new, Column(old)) for old, new in aside.items()))
    joined = Join(left, renamed, tuple((a, aside.get(b, b)) for a, b in on), kind)
    beside = schema(right) if kind in (JoinKind.INNER, JoinKind.LEFT) else ()
    kept = [*columns, *(name for name in beside if name not in twice)]
    return Project(joined, tuple((name, Column(name)) for name in kept))


@remembered
def shape(relation: Relation) -> Shape:
    """The public facts of a relation; refuses one that is not sound."""
    match relation:
        case Scan(codebook, table):
            return _scan(codebook, codebook[table])
        case ValueTable(_, written):
            return Shape(dict(written), None, None, {}, frozenset())
        case Filter(source, condition):
            below = shape(source)
            condition_facts(condition, below.columns)
            return below
        case Project(source, columns):
            return _project(shape(source), columns)
        case Join():
            return _join(relation, shape(relation.left), shape(relation.right))
        case Union(sources):
            return _union([shape(source) for source in sources])
        case UnitAgg(source, keys, values):
            return _unit_agg(shape(source), keys, values)
        case _:
            assert_never(relation)


def _scan(codebook: Codebook, table: Table) -> Shape:
    if table.public:
        return Shape(table.schema, None, None, {}, frozenset())
    path = codebook.path(table.name)
    unit = codebook.unit
    assert unit is not None
    single = unit.is_row or (unit.unique and unit.period is None and not path)
    anchors = {} if unit.is_row else _anchors(codebook, table)
    return Shape(
        table.schema,
        unit,
        1 if single else None,
        anchors,
        frozenset((table.name,)),
        _identity(codebook, table),
        () if single else (table.name,),
    )


def _identity(codebook: Codebook, table: Table) -> tuple[Facts, ...]:
    """The same for every table of a codebook: only the kind counts, so that one unit has one identity everywhere."""
    owner, unit = codebook.owner(table.name), codebook.unit
    assert unit is not None
    if unit.is_row or owner.unit is None:
        return ()
    known = [Facts(owner[owner.unit].facts_kind, nullable=False)]
    if unit.period is not None and owner.period is not None:
        whole = Variable(name="period", type=owner[owner.period].type).facts()
        known.append(whole.with_null(False))
    return tuple(known)


def _anchors(codebook: Codebook, table: Table) -> dict[str, str]:
    found = {}
    for child in codebook.tables:
        if child.public or child.unit is not None:
            continue
        owning = codebook.path(child.name)[0]
        target = codebook[owning.table].name
        if child.name == table.name:
            found[owning.column] = f"{target}.{owning.key}"
        if target == table.name:
            found[owning.key] = f"{target}.{owning.key}"
    if table.unit is not None and codebook.unit is not None and codebook.unit.period is None:
        found[table.unit] = OWN_UNIT
    return found


def _project(below: Shape, columns: tuple[tuple[str, Expression], ...]) -> Shape:
    names = [name for name, _ in columns]
    if len({name.lower() for name in names}) != len(names):
        raise QueryRefused("ambiguous-column", f"columns with one name: {', '.join(names)}", rewrite="rename with AS")
    known = {name: checked_facts(expression, below.columns) for name, expression in columns}
    anchors = {
        name: below.anchors[expression.name]
        for name, expression in columns
        if isinstance(expression, Column) and expression.name in below.anchors
    }
    return replace(below, columns=known, anchors=anchors)


def _join(join: Join, left: Shape, right: Shape) -> Shape:
    for left_name, right_name in join.on:
        _joinable(left, left_name, right, right_name)
    if not join.on and join.kind is not JoinKind.INNER:
        raise QueryRefused("join-without-keys", f"a {join.kind.value} join needs columns to match on")
    filtering = join.kind in (JoinKind.SEMI, JoinKind.ANTI)
    if left.public and not right.public and join.kind is not JoinKind.INNER:
        raise QueryRefused(
            "public-kept-by-private",
            f"a {join.kind.value} join would keep or drop public rows by private ones",
            rewrite="use an inner join, or put the private table on the left",
        )
    if not left.public and not right.public:
        _checked_private_join(join, left, right)
    if join.condition is not None:
        _checked_residual(join, join.condition, left, right)
    limited = _entering(join, left, right)
    left, right = (_at_most(side, most) for side, most in zip((left, right), limited, strict=True))
    columns = dict(left.columns)
    if not filtering:
        columns |= _right_columns(join, left, right)
    anchors = {} if filtering else _optional(right.anchors) if join.kind is JoinKind.LEFT else right.anchors
    owner = right if left.public else left
    most = left.most_rows if filtering else _product(left, right)
    rows = None if owner.unit is None else most
    met = left.met if filtering else _paired(left, right)
    return Shape(columns, owner.unit, rows, anchors | left.anchors, left.tables | right.tables, owner.identity, met)


def _optional(anchors: dict[str, str]) -> dict[str, str]:
    """Anchors where a row may be missing; a missing value meets nothing, so what is matched is still of one unit."""
    return {name: _UNIT_OR_NONE if anchor == OWN_UNIT else anchor for name, anchor in anchors.items()}


def entering(join: Join) -> tuple[int | None, int | None]:
    """How many rows of one unit each side brings into a join before rows are paired; None where nothing is left out.

    Only joins that pair rows of two private relations are limited: public rows are no unit's, and a SEMI or ANTI join without a
    condition looks each row up. A side that has no more rows of a unit anyway needs no limit.
    """
    return _entering(join, shape(join.left), shape(join.right))


def _entering(join: Join, left: Shape, right: Shape) -> tuple[int | None, int | None]:
    pairs = join.kind in (JoinKind.INNER, JoinKind.LEFT) or join.condition is not None
    if left.unit is None or right.unit is None or not pairs:
        return None, None
    most = left.unit.joined
    first, second = (None if side.most_rows is not None and side.most_rows <= most else most for side in (left, right))
    return first, second


def _at_most(side: Shape, most: int | None) -> Shape:
    return side if most is None else replace(side, most_rows=most)


def _paired(left: Shape, right: Shape) -> tuple[str, ...]:
    """The tables whose rows a join pairs; one that would pair a unit's rows with themselves too often is refused.

    Bounding comes after the last join, so what is paired before it is work that one unit's rows decide: n rows of a unit,
    joined with themselves k times, are n**k.
    """
    met = left.met + right.met
    often = max((met.count(name) for name in met), default=0)
    if often > MOST_TIMES:
        raise QueryRefused(
            "self-join",
            f"the rows of one private table would be paired with themselves "
            f"{number_of(often - 1, 'time')}, at most {MOST_TIMES - 1} are",
            rewrite="summarise per unit first: join (SELECT unit, COUNT(*), ... GROUP BY unit)",
        )
    return met


def _product(left: Shape, right: Shape) -> int | None:
    """A public table may repeat its keys, so a join with it may give a unit any number of rows."""
    if left.public or right.public or left.most_rows is None or right.most_rows is None:
        return None
    return left.most_rows * right.most_rows


def _joinable(left: Shape, left_name: str, right: Shape, right_name: str) -> None:
    sides = facts(Column(left_name), left.columns), facts(Column(right_name), right.columns)
    if sides[0].kind is not sides[1].kind:
        shown = f"{left_name} is a {sides[0].kind.value}, {right_name} a {sides[1].kind.value}"
        raise QueryRefused("type-mismatch", f"a join needs equal types: {shown}")
    if sides[0].kind is Kind.NUMBER:
        hull([side.with_null(True) for side in sides])


def _checked_private_join(join: Join, left: Shape, right: Shape) -> None:
    if left.unit != right.unit:
        raise QueryRefused("join-of-two-units", f"one side protects {left.unit}, the other {right.unit}")
    assert left.unit is not None
    if left.unit.is_row:
        raise QueryRefused(
            "join-of-rows",
            "each row is a unit of its own, so two private tables have no unit in common",
            rewrite="declare an identifier as the unit, or one table public",
        )
    first, second = _optional(left.anchors), _optional(right.anchors)
    if not any(first.get(a) and first.get(a) == second.get(b) for a, b in join.on):
        raise QueryRefused(
            "join-not-on-unit",
            f"this join does not match {left.unit} with itself and follows no declared link",
            rewrite="join on the unit's column or along a link of the codebook (links: [column -> table.column])",
        )


def _checked_residual(join: Join, condition: Expression, left: Shape, right: Shape) -> None:
    """A condition between two rows that meet: of one unit where both are private, so it moves no bound."""
    if join.kind not in (JoinKind.SEMI, JoinKind.ANTI):
        raise QueryRefused("join-condition", f"an {join.kind.value} join matches columns; filter what it gives")
    condition_facts(condition, left.columns | _right_columns(join, left, right))


def _right_columns(join: Join, left: Shape, right: Shape) -> dict[str, Facts]:
    folded = {name.lower() for name in left.columns}
    twice = [name for name in right.columns if name.lower() in folded]
    if twice:
        raise QueryRefused(
            "ambiguous-column", f"both sides of the join have {', '.join(twice)}", rewrite="rename one with AS"
        )
    if join.kind is JoinKind.LEFT:
        return {name: known.with_null(True) for name, known in right.columns.items()}
    return right.columns


def _union(shapes: list[Shape]) -> Shape:
    if len(shapes) < 2:
        raise QueryRefused("bad-union", "a union needs at least two sources")
    first = shapes[0]
    for other in shapes[1:]:
        if list(other.columns) != list(first.columns):
            raise QueryRefused(
                "bad-union", f"columns differ: {', '.join(first.columns)} and {', '.join(other.columns)}"
            )
        if other.unit != first.unit:
            raise QueryRefused("bad-union", "public and private rows, or rows of different units, do not mix")
    columns = {name: hull([entry.columns[name] for entry in shapes]) for name in first.columns}
    anchors = {
        name: anchor
        for name, anchor in first.anchors.items()
        if all(entry.anchors.get(name) == anchor for entry in shapes)
    }
    tables: frozenset[str] = frozenset().union(*(entry.tables for entry in shapes))
    met = tuple(name for name in sorted(tables) for _ in range(max(entry.met.count(name) for entry in shapes)))
    return Shape(columns, first.unit, _union_rows(shapes), anchors, tables, first.identity, met)


def _union_rows(shapes: list[Shape]) -> int | None:
    unit = shapes[0].unit
    counts = [entry.most_rows for entry in shapes]
    if unit is not None and unit.is_row:
        if sum(len(entry.tables) for entry in shapes) != len(frozenset().union(*(entry.tables for entry in shapes))):
            raise QueryRefused("bad-union", "rows of one table united with themselves would count twice")
        return None if None in counts else max(count for count in counts if count is not None)
    return None if None in counts else sum(count for count in counts if count is not None)


def _unit_agg(below: Shape, keys: tuple[tuple[str, Expression], ...], values: tuple[UnitValue, ...]) -> Shape:
    if below.unit is None or below.unit.is_row:
        raise QueryRefused("no-unit", "a sub-query per unit needs private rows with an identifier")
    names = [name for name, _ in keys] + [value.name for value in values]
    if len({name.lower() for name in names}) != len(names):
        raise QueryRefused("ambiguous-column", f"columns with one name: {', '.join(names)}", rewrite="rename with AS")
    known = {name: checked_facts(expression, below.columns) for name, expression in keys}
    known |= {value.name: summary_facts(value, below.columns) for value in values}
    anchors = {
        name: below.anchors[expression.name]
        for name, expression in keys
        if isinstance(expression, Column) and expression.name in below.anchors
    }
    most = 1 if all(below.anchors.get(getattr(e, "name", "")) == OWN_UNIT for _, e in keys) else below.most_rows
    return Shape(known, below.unit, most, anchors, below.tables, below.identity, () if most == 1 else below.met)
