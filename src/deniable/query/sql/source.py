"""A relation together with what its columns are called in the query: table aliases, names, and which stand for which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.expression import And, Column
from deniable.plan.facts import Facts
from deniable.plan.memo import remembered
from deniable.plan.nodes import Join, JoinKind, Project, Relation
from deniable.plan.relation import schema
from deniable.plan.translate import Translator, span
from deniable.plan.wording import absent


@dataclass(frozen=True, slots=True)
class Name:
    """`table.visible` stands for `column` of the relation; without its table only when `bare`."""

    table: str
    visible: str
    column: str
    bare: bool = True


@dataclass(frozen=True, slots=True)
class FromClause:
    """The rows a SELECT reads."""

    relation: Relation
    names: tuple[Name, ...]
    text: str

    @property
    def schema(self) -> dict[str, Facts]:
        """The relation's columns."""
        return schema(self.relation)

    @property
    def translator(self) -> Translator:
        """Reads scalar expressions over these rows."""
        return Translator(text=self.text, schema=self.schema, column=self.resolve)

    def found(self, node: exp.Column) -> list[Name]:
        """The columns a name may mean."""
        table, name = node.table.lower(), node.name.lower()
        if node.args.get("db") or node.args.get("catalog"):
            raise refused(
                node, self.text, "qualified-column", f"{node.sql()!r} names more than a table", "use an alias"
            )
        named = _by_visible(self.names).get(name, ())
        return [each for each in named if (each.table.lower() == table if table else each.bare)]

    def resolve(self, node: exp.Column) -> str:
        """The one column a name means."""
        found = self.found(node)
        if len(found) == 1:
            return found[0].column
        if found:
            tables = " or ".join(f"{each.table}.{each.visible}" for each in found)
            raise refused(node, self.text, "ambiguous-column", f"{node.name!r} could be {tables}", "name the table")
        raise refused(node, self.text, "unknown-column", *absent(node, (each.visible for each in self.names)))

    def on(self, relation: Relation) -> FromClause:
        """The same names over another relation with the same columns."""
        return replace(self, relation=relation)


@remembered
def _by_visible(names: tuple[Name, ...]) -> dict[str, list[Name]]:
    """The names by what is written, in any case: every condition of a join asks for them."""
    found: dict[str, list[Name]] = {}
    for each in names:
        found.setdefault(each.visible.lower(), []).append(each)
    return found


@contextmanager
def placed(node: Any, text: str) -> Iterator[None]:
    """A refusal from below that knows no place gets the place of this node."""
    try:
        yield
    except QueryRefused as error:
        if error.span is not None:
            raise
        raise QueryRefused(error.code, error.reason, span=span(node, text), rewrite=error.rewrite) from None


def refused(node: Any, text: str, code: str, reason: str, rewrite: str = "") -> QueryRefused:
    """The refusal of a node, with its place."""
    return QueryRefused(code, reason, span=span(node, text), rewrite=rewrite)


def apart(left: FromClause, right: FromClause) -> FromClause:
    """`right` with new column names where `left` has the same."""
    taken = {name.lower() for name in left.schema}
    renamed: dict[str, str] = {}
    for column in right.schema:
        fresh, table = column, next((each.table for each in right.names if each.column == column), "right")
        while fresh.lower() in taken:
            fresh = f"{table}__{fresh}"
        taken.add(fresh.lower())
        renamed[column] = fresh
    if all(old == new for old, new in renamed.items()):
        return right
    relation = Project(right.relation, tuple((new, Column(old)) for old, new in renamed.items()))
    return replace(right, relation=relation, names=_mapped(right.names, renamed))


def _mapped(names: Sequence[Name], renamed: dict[str, str]) -> tuple[Name, ...]:
    return tuple(replace(name, column=renamed[name.column]) for name in names)


def joined(
    left: FromClause,
    right: FromClause,
    pairs: Sequence[tuple[Name, Name]],
    kind: JoinKind,
    *,
    hidden: Sequence[str] = (),
    residual: Sequence[exp.Expression] = (),
) -> FromClause:
    """Both sides as one; columns in `hidden` (of USING) are known by their bare name on the left only.

    Conditions in `residual` are over both sides of a semi or anti join; a bare name means the right side first.
    """
    if kind in (JoinKind.SEMI, JoinKind.ANTI) and not residual:
        on = tuple((a.column, b.column) for a, b in pairs)
        return left.on(checked(Join(left.relation, right.relation, on, kind)))
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return _filtering(left, right, pairs, kind, residual)
    renamed = dict(zip([name.column for name in right.names], apart(left, right).names, strict=True))
    other = apart(left, right)
    on = tuple((a.column, renamed[b.column].column) for a, b in pairs)
    folded = {name.lower() for name in hidden}
    names = tuple(replace(name, bare=name.bare and name.visible.lower() not in folded) for name in other.names)
    relation = checked(Join(left.relation, other.relation, on, kind))
    return replace(left, relation=relation, names=(*left.names, *names))


def _filtering(
    left: FromClause,
    right: FromClause,
    pairs: Sequence[tuple[Name, Name]],
    kind: JoinKind,
    residual: Sequence[exp.Expression],
) -> FromClause:
    """A semi or anti join whose rows meet under further conditions."""
    other = apart(left, right)
    renamed = {old.column: new.column for old, new in zip(right.names, other.names, strict=True)}
    nearer = {name.visible.lower() for name in other.names if name.bare}
    outer = tuple(replace(name, bare=name.bare and name.visible.lower() not in nearer) for name in left.names)
    nearer_tables = {name.table.lower() for name in other.names}
    outer = tuple(name for name in outer if name.bare or name.table.lower() not in nearer_tables)
    columns = dict.fromkeys((*left.schema, *other.schema))
    read = Translator(
        text=left.text,
        schema={name: (left.schema | other.schema)[name] for name in columns},
        column=replace(left, names=(*outer, *other.names)).resolve,
    )
    parts = []
    for each in residual:
        with placed(each, left.text):
            parts.append(read.expression(each))
    condition = parts[0] if len(parts) == 1 else And(tuple(parts))
    on = tuple((a.column, renamed[b.column]) for a, b in pairs)
    return left.on(checked(Join(left.relation, other.relation, on, kind, condition)))


def checked(relation: Join) -> Join:
    """The join, or its refusal now rather than when it is run."""
    schema(relation)
    return relation
