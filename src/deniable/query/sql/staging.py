"""Staged release: an aggregate over private rows inside a query is released first, and is then a public table for what is above it.

A stage is a query of its own with its own part of the price. What the next stage compiles to depends on the stage's columns
alone: their names, grids and bounds are known before anything is released, and released values are put within them.
Guarantee: every price and sensitivity of a later stage holds whatever an earlier one says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from deniable.plan.expression import Column
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import JoinKind, Project, Relation, Scan, ValueTable
from deniable.plan.relation import schema
from deniable.query.keys import Key, key_set
from deniable.query.sql.env import Env, checked_clauses, opened, output_name, own_nodes, part
from deniable.query.sql.join_terms import conjuncts, pairs_between, reads_only
from deniable.query.sql.released_facts import released_facts
from deniable.query.sql.select_rows import joined_tables, restricted
from deniable.query.sql.source import FromClause, Name, joined, placed, refused

MOST_KEYS = 100_000
"""A sub-query that looks at more public rows than this is refused: every one of them is a group."""

PublicReader = Callable[[Relation], Mapping[str, tuple[Any, ...]]]
"""Reads a public relation; a session's engine does."""


@dataclass(frozen=True, slots=True)
class StagePart:
    """One stage: the statement whose release it is, the table it becomes, and the public keys its groups are numbered by."""

    name: str
    statement: Any
    table: ValueTable
    written: tuple[tuple[object, ...], ...] | None = None

    @property
    def scalar(self) -> str:
        """What its one value is called beside the rows of a later release."""
        return f"({self.name})"


@dataclass(slots=True)
class Staging:
    """The stages of one statement, in the order they are released; equal ones are released once."""

    compile: Callable[[exp.Expression, Env], Any]
    least: Callable[[Any, int], Any]
    public: PublicReader | None = None
    parts: list[StagePart] = field(default_factory=list)

    def named(self, name: str) -> ValueTable | None:
        """The table of a stage by its name."""
        return next((part.table for part in self.parts if part.name == name), None)

    def table(self, query: exp.Expression, env: Env, alias: str) -> FromClause:
        """A sub-query that aggregates the rows of many units, as the public table it is released as."""
        found = self.released(query, env)
        return FromClause(found.table, tuple(Name(alias, name, name) for name, _ in found.table.columns), env.text)

    def released(self, query: exp.Expression, env: Env) -> StagePart:
        """The stage of a sub-query; a group that is declared but seems empty is no row of it."""
        statement = self.compile(query, env)
        if statement.query.keys and not statement.query.levels and not key_set(statement.query).observed:
            statement = self.least(statement, 1)
        select = query.unnest() if isinstance(query, exp.Subquery) else query
        listed = [] if select.is_star else [output_name(each) for each in select.expressions]
        known = released_facts(statement)
        columns = {name: known[name] for name in listed if name in known} | known
        if listed:
            columns = {name: columns[name] for name in listed}
        return self._kept(statement, tuple(columns.items()), None)

    def scalar(self, node: exp.Subquery, source: FromClause, env: Env) -> tuple[FromClause, exp.Expression]:
        """Rows beside the one value a scalar sub-query has for each, and the column it is in."""
        select = scalar_select(node, env)
        part, pairs = self.value_of(select, node, env)
        column = part.table.columns[-1][0]
        alias = f"{part.name} {len(source.names)}"
        beside = FromClause(
            part.table, tuple(Name(alias, name, name, bare=False) for name, _ in part.table.columns), env.text
        )
        on = []
        for outer, key in pairs:
            name = next((each for each in source.names if each.column == source.resolve(outer)), None)
            assert name is not None
            on.append((name, next(each for each in beside.names if each.visible == key)))
        with placed(node, env.text):
            together = joined(source, beside, on, JoinKind.LEFT if on else JoinKind.INNER)
        return together, exp.column(exp.to_identifier(column, quoted=True), exp.to_identifier(alias, quoted=True))

    def value_of(
        self, select: exp.Select, node: exp.Expression, env: Env
    ) -> tuple[StagePart, list[tuple[exp.Column, str]]]:
        """The stage of a scalar sub-query, and which outer columns meet which of its keys (none where it looks at no outer row)."""
        inner = env.within(select)
        where = select.args.get("where")
        parts = conjuncts(where.this if where is not None else None)
        bare = joined_tables(select, inner, list(parts))
        outer = [each for each in parts if each.find(exp.Select) is None and not reads_only(each, bare)]
        if not outer:
            statement = self.compile(select, env)
            columns = released_facts(statement)
            return self._kept(statement, tuple(columns.items())[-1:], None), []
        return self._correlated(select, node, env, bare, outer)

    def _correlated(
        self, select: exp.Select, node: exp.Expression, env: Env, bare: FromClause, outer: list[exp.Expression]
    ) -> tuple[StagePart, list[tuple[exp.Column, str]]]:
        """One value for each row of a public table that the sub-query is matched with by equal columns."""
        above = node.parent_select
        assert above is not None
        public = _matched_table(above, outer, bare, env)
        if public is None or self.public is None:
            raise refused(
                outer[0], env.text, "correlated", "an aggregate in a sub-query meets outer rows by equal columns of a public table",
                "write WHERE inner_column = public_table.column, joined by AND",
            )  # fmt: skip
        matched = pairs_between(bare, public, outer)
        keys = self._keys(above, public, [there for _, (_, there) in matched], env)
        listed = _key_table([there.column for _, (_, there) in matched], public, keys)
        statement = self._by_number(select, env, outer, matched, listed)
        value = list(released_facts(statement).items())[-1]
        known = dict(listed.columns)
        named = {there.column: f"key {index}" for index, (_, (_, there)) in enumerate(matched)}
        columns = (*((named[there.column], known[there.column]) for _, (_, there) in matched), value)
        pairs = [(_outer_side(each, public), named[there.column]) for each, (_, there) in matched]
        return self._kept(statement, columns, keys), pairs

    def _keys(
        self, above: exp.Select, public: FromClause, columns: Sequence[Name], env: Env
    ) -> tuple[tuple[object, ...], ...]:
        """The distinct keys of a public table, where the outer query's conditions on it alone hold."""
        assert self.public is not None
        where = above.args.get("where")
        conditions = conjuncts(where.this if where is not None else None)
        kept = restricted(public, conditions, env.within(above))
        names = list(dict.fromkeys(each.column for each in columns))
        read = self.public(Project(kept.relation, tuple((name, Column(name)) for name in names)))
        found = dict.fromkeys(zip(*(read[each.column] for each in columns), strict=True))
        keys = tuple(key for key in found if None not in key)
        if len(keys) > MOST_KEYS:
            raise refused(
                above, env.text, "too-many-groups", f"the sub-query has {len(keys):,} public keys; {MOST_KEYS:,} are answered",
                "add a condition on the public table",
            )  # fmt: skip
        return keys or ((None,) * len(columns),)

    def _by_number(
        self, select: exp.Select, env: Env, outer: list[exp.Expression], matched: Any, listed: ValueTable
    ) -> Any:
        """The sub-query grouped by the number of its key."""
        inside = select.copy()
        where = inside.args["where"]
        dropped = {each.sql() for each in outer}
        kept = [each for each in conjuncts(where.this) if each.sql() not in dropped]
        inside.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)
        alias = exp.to_identifier(listed.name, quoted=True)
        inside.append("joins", exp.Join(this=exp.Table(this=alias.copy())))
        on = [
            exp.EQ(
                this=exp.column(here.visible, here.table or None, quoted=True),
                expression=exp.column(exp.to_identifier(there.column, quoted=True), alias.copy()),
            )
            for _, (here, there) in matched
        ]
        inside.where(*on, copy=False)
        number = exp.column(exp.to_identifier("number", quoted=True), alias.copy())
        inside.set("group", exp.Group(expressions=[number]))
        inside.set("expressions", [number.copy(), inside.expressions[0]])
        statement = self.compile(inside, env.beside(listed))
        assert listed.rows is not None
        key = statement.query.keys[0]
        numbered = Key(key.name, key.of, tuple(range(len(listed.rows))))
        statement = replace(statement, query=replace(statement.query, keys=(numbered,)))
        counts = any(isinstance(each, exp.Count) for each in own_nodes(select.expressions[0]))
        return statement if counts else self.least(statement, 1)

    def _kept(
        self, statement: Any, columns: tuple[tuple[str, Facts], ...], written: tuple[tuple[object, ...], ...] | None
    ) -> StagePart:
        for stage in self.parts:
            if (stage.statement, stage.table.columns, stage.written) == (statement, columns, written):
                return stage
        name = f"stage {len(self.parts) + 1}"
        self.parts.append(StagePart(name, statement, ValueTable(name, columns), written))
        return self.parts[-1]


def scalar_select(node: exp.Subquery, env: Env) -> exp.Select:
    """The SELECT of a scalar sub-query: one aggregate of private rows, not grouped."""
    select = opened(node, env.text)
    plain = isinstance(select, exp.Select) and len(select.expressions) == 1 and part(select, "from") is not None
    if not plain or select.args.get("group") or select.args.get("distinct"):
        raise refused(
            node, env.text, "subquery", "a sub-query that stands for one value is one aggregate of a table, not grouped",
            "write (SELECT AVG(x) FROM t)",
        )  # fmt: skip
    checked_clauses(select, env.text)
    return select  # type: ignore[no-any-return]


def _matched_table(above: exp.Select, outer: list[exp.Expression], bare: FromClause, env: Env) -> FromClause | None:
    """The one public table of the outer query whose columns all these conditions compare with."""
    joins = [join.this for join in above.args.get("joins") or []]
    origin = part(above, "from")
    for node in [*([origin.this] if origin is not None else []), *joins]:
        if not isinstance(node, exp.Table) or node.name.lower() in env.ctes:
            continue
        known = next((each for each in env.codebook.tables if each.name.lower() == node.name.lower()), None)
        if known is None or not known.public:
            continue
        scan = Scan(env.codebook, known.name)
        source = FromClause(scan, tuple(Name(node.alias or node.name, name, name) for name in schema(scan)), env.text)
        if len(pairs_between(bare, source, outer)) == len(outer):
            return source
    return None


def _outer_side(condition: exp.Expression, public: FromClause) -> exp.Column:
    sides = [side for side in (condition.this, condition.expression) if public.found(side)]
    column: exp.Column = sides[0]
    return column


def _key_table(names: Sequence[str], public: FromClause, keys: tuple[tuple[object, ...], ...]) -> ValueTable:
    """The keys with a number each."""
    known = public.schema
    columns = [(name, known[name]) for name in dict.fromkeys(names)]
    numbers = Facts(Kind.NUMBER, nullable=False, lower=0, upper=max(len(keys) - 1, 1))
    assert len(columns) == len(names), "a column is matched once"
    rows = tuple((*key, number) for number, key in enumerate(keys))
    return ValueTable(f"keys of {public.names[0].table}", (*columns, ("number", numbers)), rows)
