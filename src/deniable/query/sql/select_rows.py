"""The rows a SELECT reads: tables, joins, derived tables, CTEs, UNION ALL, WHERE with EXISTS and IN, as one relation.

Every clause we do not know is refused: a clause that was overlooked would change what a query means.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.exact import number_of
from deniable.plan.analysis import condition_facts
from deniable.plan.expression import And, Column, Expression
from deniable.plan.nodes import Filter, JoinKind, Project, Relation, Scan, Union
from deniable.plan.presence import may_be_missing
from deniable.plan.relation import schema
from deniable.query.sql.env import REASONS, Env, aggregates, checked_clauses, opened, output_name, part
from deniable.query.sql.join_terms import check_join, conjuncts, connected, pairs_between, reads_only, using_pairs
from deniable.query.sql.source import FromClause, Name, joined, placed, refused
from deniable.query.sql.unit_subquery import belongs_to_units, per_unit

# One SELECT's rows ---------------------------------------------------------------------------------------------------


def rows(select: exp.Expression, env: Env, conditions: Sequence[exp.Expression] | None = None) -> FromClause:
    """What FROM and WHERE give; `conditions` stands for the WHERE when some of it was used elsewhere."""
    if part(select, "from") is None:
        raise refused(select, env.text, "no-table", "this SELECT reads no table", "add FROM")
    where = select.args.get("where")
    left = list(conditions) if conditions is not None else conjuncts(where.this if where is not None else None)
    with placed(part(select, "from"), env.text):
        source = joined_tables(select, env, left)
    return _filtered(source, left, env)


def joined_tables(select: exp.Expression, env: Env, conditions: list[exp.Expression]) -> FromClause:
    """All tables of FROM as one source; equalities of WHERE that join two of them are taken out of `conditions`."""
    pool = [item(part(select, "from").this, env)]
    for join in select.args.get("joins") or []:
        check_join(join, env)
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        other = item(join.this, env)
        on = conjuncts(join.args.get("on"))
        if side in ("LEFT", "RIGHT") or kind in ("SEMI", "ANTI"):
            here = connected(pool, conditions)
            pool = [_outer(here, other, join, on, side or kind, env)]
        elif side or kind not in ("", "INNER", "CROSS"):
            raise refused(join, env.text, "join-kind", f"{side or kind} JOIN is not answered", "use LEFT JOIN")
        elif join.args.get("using"):
            here = connected(pool, conditions)
            pairs, hidden = using_pairs(here, other, join, env)
            pool = [joined(here, other, pairs, JoinKind.INNER, hidden=hidden)]
        else:
            conditions += on
            pool.append(other)
    return connected(pool, conditions)


def _outer(
    left: FromClause, right: FromClause, join: exp.Expression, on: list[exp.Expression], side: str, env: Env
) -> FromClause:
    kinds = {"LEFT": JoinKind.LEFT, "RIGHT": JoinKind.LEFT, "SEMI": JoinKind.SEMI, "ANTI": JoinKind.ANTI}
    if side == "RIGHT":
        left, right = right, left
    if join.args.get("using"):
        pairs, hidden = using_pairs(left, right, join, env)
        return joined(left, right, pairs, kinds[side], hidden=hidden)
    found = pairs_between(left, right, on)
    used = {id(part) for part, _ in found}
    rest = [part for part in on if id(part) not in used]
    for condition in rest:
        if not reads_only(condition, right) or (condition.find(exp.Column) and reads_only(condition, left)):
            raise refused(
                condition, env.text, "outer-join-condition", f"ON of a {side} JOIN matches columns or looks at the right",
                "move the condition to WHERE or into a derived table",
            )  # fmt: skip
    return joined(left, _filtered(right, rest, env), [pair for _, pair in found], kinds[side])


# WHERE ---------------------------------------------------------------------------------------------------------------


def _filtered(source: FromClause, conditions: Sequence[exp.Expression], env: Env) -> FromClause:
    """The rows on which all conditions hold: plain ones first, then EXISTS and IN as semi and anti joins."""
    nested = [part for part in conditions if part.find(exp.Select) is not None]
    plain = [part for part in conditions if all(part is not each for each in nested)]
    if plain:
        read = source.translator
        parts = []
        for each in plain:
            with placed(each, source.text):
                parts.append(read.expression(each))
                condition_facts(parts[-1], source.schema)
        source = source.on(Filter(source.relation, parts[0] if len(parts) == 1 else And(tuple(parts))))
    for each in nested:
        with placed(each, source.text):
            source = _subquery_condition(source, each, env)
    return source


def restricted(public: FromClause, conditions: Sequence[exp.Expression], env: Env) -> FromClause:
    """A public table where those of the conditions hold that look at it and at public tables alone."""
    known = {table.name.lower(): table for table in env.codebook.tables}
    for each in conditions:
        tables = [node.name.lower() for node in each.find_all(exp.Table)]
        if any(name in env.ctes or name not in known or not known[name].public for name in tables):
            continue
        if tables or reads_only(each, public):
            with suppress(QueryRefused):
                public = _filtered(public, [each], replace(env, staging=None))
    return public


def scalar_subqueries(condition: exp.Expression) -> list[exp.Subquery]:
    """The sub-queries of a condition that stand for one value."""
    nodes = condition.walk(prune=lambda node: isinstance(node, exp.Select))
    return [
        node
        for node in nodes
        if isinstance(node, exp.Subquery) and not (isinstance(node.parent, exp.In) and node.arg_key == "query")
    ]


def _compared_with_stages(source: FromClause, condition: exp.Expression, env: Env) -> FromClause:
    """A condition over values that are released first: each stands beside the rows as a column."""
    replaced = condition.copy()
    copies = scalar_subqueries(replaced)
    for node, copy in zip(scalar_subqueries(condition), copies, strict=True):
        source, column = env.staging.scalar(node, source, env)
        if copy is replaced:
            replaced = column
        else:
            copy.replace(column)
    return _filtered(source, [replaced], env)


def _checked(relation: Relation) -> Relation:
    schema(relation)
    return relation


def _subquery_condition(source: FromClause, condition: exp.Expression, env: Env) -> FromClause:
    positive, inner = True, condition
    while isinstance(inner, exp.Not | exp.Paren):
        positive = positive != isinstance(inner, exp.Not)
        inner = inner.this
    kind = JoinKind.SEMI if positive else JoinKind.ANTI
    if isinstance(inner, exp.Exists):
        return _exists(source, inner, kind, env)
    if isinstance(inner, exp.In) and part(inner, "query") is not None:
        return _in(source, inner, kind, env)
    if env.staging is not None and scalar_subqueries(condition) and condition.find(exp.Exists) is None:
        return _compared_with_stages(source, condition, env)
    scalar = condition.find(exp.Subquery) or condition
    raise refused(
        scalar, env.text, "subquery", "a sub-query may stand in EXISTS or IN, alone or joined by AND",
        "join along the unit or a declared link, or write the number itself",
    )  # fmt: skip


def _exists(source: FromClause, node: exp.Exists, kind: JoinKind, env: Env) -> FromClause:
    select = opened(node.this, env.text)
    if not isinstance(select, exp.Select):
        raise refused(node, env.text, "subquery", "EXISTS takes a plain SELECT")
    inner = env.within(select)
    checked_clauses(
        select, env.text, _NOT_INSIDE | {"group": "EXISTS of groups is not answered", "having": "HAVING in EXISTS"}
    )
    if select.find(exp.AggFunc) is not None and any(item.find(exp.AggFunc) for item in select.expressions):
        raise refused(node, env.text, "subquery", "EXISTS of an aggregate is always true", "leave it out")
    where = select.args.get("where")
    parts = conjuncts(where.this if where is not None else None)
    bare = joined_tables(select, inner, list(parts))
    own = [each for each in parts if each.find(exp.Select) is not None or reads_only(each, bare)]
    rest = [each for each in parts if not any(each is mine for mine in own)]
    found = pairs_between(source, bare, rest)
    used = {id(each) for each, _ in found}
    residual = [each for each in rest if id(each) not in used]
    if not found and residual:
        raise refused(
            residual[0], env.text, "correlated", "an inner query meets the outer one by an equal column at least",
            "add an equality along the unit or a declared link, joined by AND",
        )  # fmt: skip
    right = rows(select, inner, own)
    return joined(source, right, [pair for _, pair in found], kind, residual=residual)


def _in(source: FromClause, node: exp.In, kind: JoinKind, env: Env) -> FromClause:
    if not isinstance(node.this, exp.Column):
        raise refused(node, env.text, "subquery", "IN (SELECT ...) looks at one column", "derive the column first")
    name = next((each for each in source.names if each.column == source.resolve(node.this)), None)
    if name is None:
        raise refused(node, env.text, "unknown-column", f"there is no column {node.this.name!r} here to look up")
    query = part(node, "query")
    if (correlated := _as_exists(node, query, kind, name, env)) is not None:
        return _exists(source, correlated, kind, env)
    right = table_of(query.this if isinstance(query, exp.Subquery) else query, env, "subquery")
    if len(right.names) != 1:
        raise refused(node, env.text, "subquery", f"IN needs one column, the sub-query has {len(right.names)}")
    if kind is JoinKind.ANTI:
        for side in (source.relation, name.column), (right.relation, right.names[0].column):
            if _may_be_missing(*side):
                raise refused(
                    node, env.text, "not-in-null", f"NOT IN says nothing when {side[1]} is missing",
                    f"write NOT EXISTS, or add {side[1]} IS NOT NULL",
                )  # fmt: skip
    return joined(source, right, [(name, right.names[0])], kind)


def _as_exists(node: exp.In, query: exp.Expression, kind: JoinKind, outer: Name, env: Env) -> exp.Exists | None:
    """`x IN (SELECT y ... WHERE ...)` as EXISTS (... AND y = x), where its WHERE looks at the outer row; else None."""
    select = opened(query, env.text)
    plain = isinstance(select, exp.Select) and len(select.expressions) == 1 and part(select, "from") is not None
    if not plain or aggregates(select) or select.args.get("distinct"):
        return None
    inner = env.within(select)
    where = select.args.get("where")
    parts = conjuncts(where.this if where is not None else None)
    bare = joined_tables(select, inner, list(parts))
    if all(each.find(exp.Select) is not None or reads_only(each, bare) for each in parts):
        return None
    if kind is JoinKind.ANTI:
        raise refused(
            node, env.text, "not-in-null", "NOT IN of a sub-query that looks at the outer row says nothing when a value is missing",
            "write NOT EXISTS (SELECT 1 ... WHERE y = x AND ...)",
        )  # fmt: skip
    inside = select.copy()
    listed = inside.expressions[0].unalias()
    if not isinstance(listed, exp.Column) or len(found := bare.found(listed)) != 1:
        raise refused(node, env.text, "subquery", "IN (SELECT ...) looks at one column", "derive the column first")
    sides = [exp.column(each.visible, each.table or None, quoted=True) for each in (found[0], outer)]
    return exp.Exists(this=inside.where(exp.EQ(this=sides[0], expression=sides[1])))


def _may_be_missing(relation: Relation, name: str) -> bool:
    """Whether a column can be missing in a relation, the filters below its projections taken into account."""
    if not may_be_missing(relation, Column(name)):
        return False
    while isinstance(relation, Filter):
        relation = relation.source
    of = dict(relation.columns)[name] if isinstance(relation, Project) else None
    return not (isinstance(relation, Project) and isinstance(of, Column)) or _may_be_missing(relation.source, of.name)


# Tables --------------------------------------------------------------------------------------------------------------

_TABLE_CLAUSES = {"this", "alias"}
_BEFORE = {"db": "a schema", "catalog": "a database"}
"""What the parser calls the names that may stand before a table's."""
_NOT_INSIDE = {
    "order": "private rows are ordered only after noise",
    "limit": "private rows are cut off only after noise",
    "offset": "private rows are cut off only after noise",
}


def item(node: exp.Expression, env: Env) -> FromClause:
    """One table, CTE or derived table of FROM."""
    for name, value in node.args.items():
        if name == "db" and value and value.name.lower() in env.codebook.schemas:
            continue
        if value and name not in _TABLE_CLAUSES:
            code, reason = REASONS.get(
                name, ("unknown-table", f"a table is named alone, without {_BEFORE.get(name, name)}")
            )
            raise refused(node, env.text, code, reason, "name a table of the codebook")
    alias = node.args.get("alias")
    columns = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    if isinstance(node, exp.Subquery):
        source = table_of(node.this, env, node.alias)
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        source = _named(node, env)
    else:
        raise refused(node, env.text, "table-function", "only tables of the codebook and derived tables are read")
    return _as(source, columns, node, env)


def _named(node: exp.Table, env: Env) -> FromClause:
    name, alias = node.name, node.alias or node.name
    written = env.values.get(name) or (None if env.staging is None else env.staging.named(name))
    if written is not None:
        return FromClause(written, tuple(Name(alias, column, column) for column, _ in written.columns), env.text)
    if name.lower() in env.ctes:
        query, inner, columns = env.ctes[name.lower()]
        return _as(table_of(query, replace(inner, depth=env.depth + 1), alias), columns, node, env)
    for table in env.codebook.tables:
        if table.name.lower() == name.lower():
            scan = Scan(env.codebook, table.name)
            return FromClause(scan, tuple(Name(alias, column, column) for column in schema(scan)), env.text)
    known = ", ".join(table.name for table in env.codebook.tables)
    raise refused(node, env.text, "unknown-table", f"there is no table {name!r}", f"tables here: {known}")


def _as(source: FromClause, columns: Sequence[str], node: exp.Expression, env: Env) -> FromClause:
    if not columns:
        return source
    if len(columns) != len(source.names):
        raise refused(node, env.text, "bad-alias", f"needs {number_of(len(source.names), 'name')}, got {len(columns)}")
    names = tuple(replace(name, visible=new) for name, new in zip(source.names, columns, strict=True))
    return replace(source, names=names)


def table_of(query: exp.Expression, env: Env, alias: str) -> FromClause:
    """A sub-query as rows: a plain SELECT, a SELECT per unit, or a UNION ALL of such."""
    query = opened(query, env.text)
    inner = env.within(query)
    if isinstance(query, exp.Union):
        return _union(query, inner, alias)
    if not isinstance(query, exp.Select):
        raise refused(
            query, env.text, "set-operation", "only UNION ALL joins two sub-queries", "use a semi or anti join"
        )
    if aggregates(query) or query.args.get("distinct"):
        if env.staging is not None and not belongs_to_units(query, rows(query, inner)):
            return env.staging.table(query, env, alias)  # type: ignore[no-any-return]
        checked_clauses(query, env.text, _NOT_INSIDE)
        return per_unit(query, rows(query, inner), inner, alias)
    checked_clauses(query, env.text, _NOT_INSIDE)
    return projected(rows(query, inner), query, alias)


def projected(source: FromClause, select: exp.Expression, alias: str) -> FromClause:
    """The columns a plain SELECT lists."""
    columns: list[tuple[str, Expression]] = []
    read = source.translator
    for expression in select.expressions:
        if isinstance(expression, exp.Star) or (
            isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
        ):
            columns += _starred(source, expression)
        elif expression.find(exp.Select) is not None:
            raise refused(
                expression, source.text, "subquery", "a sub-query in the SELECT list is not answered", "join it"
            )
        else:
            columns.append((output_name(expression), read.expression(expression.unalias())))
    names = [name.lower() for name, _ in columns]
    if len(set(names)) != len(names):
        raise refused(select, source.text, "ambiguous-column", f"columns with one name: {', '.join(names)}", "use AS")
    relation = source.relation
    if columns != [(name, Column(name)) for name in source.schema]:
        relation = _checked(Project(relation, tuple(columns)))
    return FromClause(relation, tuple(Name(alias, name, name) for name, _ in columns), source.text)


def _starred(source: FromClause, node: exp.Expression) -> list[tuple[str, Expression]]:
    if any(value for name, value in (node if isinstance(node, exp.Star) else node.this).args.items() if name != "this"):
        raise refused(node, source.text, "unsupported", "* takes no EXCEPT, REPLACE or RENAME here", "list the columns")
    table = node.table.lower() if isinstance(node, exp.Column) else ""
    kept = [name for name in source.names if (name.table.lower() == table if table else name.bare)]
    if not kept:
        raise refused(node, source.text, "unknown-table", f"there is no table {table!r} here")
    return [(name.visible, Column(name.column)) for name in kept]


def _union(query: exp.Union, env: Env, alias: str) -> FromClause:
    if type(query) is not exp.Union or query.args.get("distinct", True):
        raise refused(
            query, env.text, "set-operation", "only UNION ALL keeps each row with its unit", "write UNION ALL"
        )
    for name, value in query.args.items():
        if value and name.rstrip("_") not in ("this", "expression", "with", "distinct"):
            raise refused(
                query, env.text, "order-before-noise", f"{name.upper()} on a UNION of private rows", "leave it out"
            )
    sides = [table_of(side, env, alias) for side in (query.this, query.expression)]
    if len(sides[0].names) != len(sides[1].names):
        raise refused(query, env.text, "bad-union", "the sides of UNION ALL have different numbers of columns")
    first, second = sides
    wanted = [name.visible for name in first.names]
    relations = [_with_names(side, wanted) for side in (first, second)]
    sources = [part for each in relations for part in (each.sources if isinstance(each, Union) else (each,))]
    with placed(query, env.text):
        relation = _checked(Union(tuple(sources)))
    return FromClause(relation, tuple(Name(alias, name, name) for name in wanted), env.text)


def _with_names(side: FromClause, wanted: Sequence[str]) -> Relation:
    columns = tuple((new, Column(name.column)) for new, name in zip(wanted, side.names, strict=True))
    if [(new, of.name) for new, of in columns] == [(name, name) for name in side.schema]:
        return side.relation
    return Project(side.relation, columns)
