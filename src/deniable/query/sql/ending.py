"""A statement whose private parts are all released first: what is left reads public tables and released ones alone.

Windows, aggregates of aggregates, joins and set operations over released values are then plain SQL on public tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from deniable.query.sql.env import Env, aggregates, is_aggregate, output_name, part
from deniable.query.sql.select_rows import rows, scalar_subqueries
from deniable.query.sql.staging import scalar_select
from deniable.query.sql.unit_subquery import belongs_to_units


class NotPublic(Exception):
    """Private rows would be left: the statement is refused for what it was refused for before."""


def public_ending(tree: exp.Expression, env: Env) -> exp.Expression:
    """The statement with each aggregate over private rows replaced by the table it is released as."""
    copy = tree.copy()
    ended = _rewritten(copy, env)
    _drop_unused(ended)
    _check_public(ended, env)
    tables = {table.name.lower(): [each.name for each in table.variables] for table in env.codebook.tables}
    _spelt_out(ended, tables)
    return ended


def _rewritten(query: Any, env: Env) -> exp.Expression:
    """A query with its private aggregates released; refused where private rows would be left."""
    if isinstance(query, exp.Subquery):
        query.set("this", _rewritten(query.this, env))
        return query
    if isinstance(query, exp.Union):
        inner = _with(query, env)
        for side in ("this", "expression"):
            query.set(side, _rewritten(query.args[side], inner))
        return query
    if not isinstance(query, exp.Select):
        raise NotPublic
    inner = _with(query, env)
    if _reads_private_rows(query, inner):
        return _stage(query, env)
    for item in _items(query):
        if isinstance(item, exp.Subquery):
            item.set("this", _rewritten(item.this, inner))
    for node in _inner_queries(query):
        _rewrite_inner(node, query, inner)
    return query


def _with(query: exp.Expression, env: Env) -> Env:
    """The names in sight, and every CTE that can be public made so."""
    clause = part(query, "with")
    inner = env.within(query)
    for cte in clause.expressions if clause is not None else ():
        body, seen, _ = inner.ctes[cte.alias.lower()]
        if not _gives_private_rows(body, seen):
            cte.set("this", _rewritten(cte.this, seen))
    return inner


def _stage(query: exp.Select, env: Env) -> exp.Expression:
    if not (aggregates(query) or query.args.get("distinct")):
        raise NotPublic
    if any(each.find(exp.Window) is not None for each in query.expressions):
        return _windowed(query, env)
    stage = env.staging.released(query, env)
    columns = [_named(name) for name, _ in stage.table.columns]
    return exp.select(*columns).from_(exp.Table(this=exp.to_identifier(stage.name, quoted=True)))


def _windowed(query: exp.Select, env: Env) -> exp.Expression:
    """Windows over aggregates of this very SELECT: keys and aggregates are released, windows look at what was released."""
    group = query.args.get("group")
    if group is None or any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets", "all")):
        raise NotPublic
    inner = query.copy()
    for clause in ("order", "limit", "offset"):
        inner.set(clause, None)
    listed: dict[str, exp.Expression] = {}
    aliases = {each.alias.lower(): each.unalias() for each in query.expressions if each.alias}
    keys = [aliases.get(key.name.lower(), key) if isinstance(key, exp.Column) else key for key in group.expressions]
    for key in keys:
        listed.setdefault(key.sql(), key)

    def released(node: exp.Expression) -> exp.Expression:
        if is_aggregate(node) and not isinstance(node.parent, exp.Window):
            listed.setdefault(node.sql(), node)
        return _named(f"part {list(listed).index(node.sql())}") if node.sql() in listed else node

    outer = exp.select(*(_under_its_name(each, _replaced(each, released)) for each in query.expressions))
    for name in ("order", "limit", "offset"):
        if query.args.get(name) is not None:
            outer.set(name, query.args[name].copy() if name != "order" else _replaced(query.args[name], released))
    inner.set("expressions", [exp.alias_(of.copy(), f"part {i}", quoted=True) for i, of in enumerate(listed.values())])
    inner.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    alias = exp.TableAlias(this=exp.to_identifier("released"))
    ended: exp.Expression = outer.from_(exp.Subquery(this=_stage(inner, env), alias=alias))
    return ended


def _under_its_name(written: exp.Expression, changed: Any) -> Any:
    """A column that is computed from released ones is called as it was written, not after their names here."""
    named = isinstance(changed, exp.Alias | exp.Column)
    return changed if named else exp.alias_(changed, output_name(written), quoted=True)


def _replaced(node: Any, change: Any) -> Any:
    """A tree with nodes changed from the top; a changed one is not looked into, and a column keeps its name."""
    changed = change(node.this if isinstance(node, exp.Alias) else node)
    if changed is not (node.this if isinstance(node, exp.Alias) else node):
        return exp.alias_(changed, output_name(node), quoted=True) if isinstance(node.parent, exp.Select) else changed
    copy = node.copy()
    for name, value in node.args.items():
        if isinstance(value, exp.Expression):
            copy.set(name, _replaced(value, change))
        elif isinstance(value, list):
            copy.set(name, [_replaced(each, change) if isinstance(each, exp.Expression) else each for each in value])
    return copy


def _items(query: exp.Select) -> list[exp.Expression]:
    origin = part(query, "from")
    return [*([origin.this] if origin is not None else []), *(join.this for join in query.args.get("joins") or [])]


def _reads_private_rows(query: exp.Select, env: Env) -> bool:
    """Whether FROM has private rows."""
    return any(_private_item(item, env) for item in _items(query))


def _private_item(item: exp.Expression, env: Env) -> bool:
    if isinstance(item, exp.Subquery):
        return _gives_private_rows(item.this, env)
    if not isinstance(item, exp.Table):
        raise NotPublic
    name = item.name.lower()
    if name in env.ctes:
        body, seen, _ = env.ctes[name]
        return _gives_private_rows(body, seen)
    if env.staging.named(item.name) is not None:
        return False
    known = next((table for table in env.codebook.tables if table.name.lower() == name), None)
    if known is None:
        raise NotPublic
    return not known.public


def _gives_private_rows(query: Any, env: Env) -> bool:
    """Whether the rows of a query belong to single units; an aggregate over many units is released and public."""
    while isinstance(query, exp.Subquery):
        query = query.this
    inner = env.within(query)
    if isinstance(query, exp.Union):
        return any(_gives_private_rows(side, inner) for side in (query.this, query.expression))
    if not isinstance(query, exp.Select):
        raise NotPublic
    if not _reads_private_rows(query, inner):
        return False
    return not (aggregates(query) or query.args.get("distinct")) or belongs_to_units(query, rows(query, inner))


def _inner_queries(query: exp.Select) -> list[exp.Expression]:
    """Sub-queries in WHERE, HAVING, SELECT and ORDER BY, outermost first."""
    found: list[exp.Expression] = []
    for name, value in query.args.items():
        if name.rstrip("_") in ("from", "joins", "with"):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.Expression):
                nodes = each.walk(prune=lambda node: isinstance(node, exp.Select))
                found += [node for node in nodes if isinstance(node, exp.Select)]
    return found


def _rewrite_inner(select: Any, above: exp.Select, env: Env) -> None:
    """A sub-query of a condition or column: a value per outer row becomes a look into a released table."""
    holder = select.parent
    scalar = isinstance(holder, exp.Subquery) and holder in scalar_subqueries(_root(holder, above))
    if scalar and _reads_private_rows(select, env.within(select)):
        stage, pairs = env.staging.value_of(scalar_select(holder, env), holder, env)
        column, key = stage.table.columns[-1][0], exp.to_identifier(stage.name, quoted=True)
        looked = exp.select(_named(column, key)).from_(exp.Table(this=key.copy()))
        for outer, name in pairs:
            looked = looked.where(exp.EQ(this=_named(name, key), expression=outer.copy()), copy=False)
        select.replace(looked)
        return
    ended = _rewritten(select, env)
    if ended is not select:
        select.replace(ended)


def _root(node: Any, above: exp.Select) -> Any:
    """The clause of `above` a node stands in."""
    while node.parent is not None and node.parent is not above:
        node = node.parent
    return node


def _named(name: str, table: exp.Identifier | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), None if table is None else table.copy())


def _drop_unused(tree: exp.Expression) -> None:
    """Take CTEs out that nothing reads any more: their rows stay private."""
    while True:
        used = {table.name.lower() for table in tree.find_all(exp.Table)}
        unused = [cte for cte in tree.find_all(exp.CTE) if cte.alias.lower() not in used]
        if not unused:
            return
        for cte in unused:
            clause = cte.parent
            cte.pop()
            if clause is not None and not clause.expressions:
                clause.pop()


def _spelt_out(query: Any, known: Mapping[str, list[str] | None]) -> list[str] | None:
    """What the columns of a query are called; a `*` is replaced by their list where all its sources say theirs."""
    if isinstance(query, exp.Subquery):
        return _spelt_out(query.this, known)
    inner, clause = dict(known), part(query, "with")
    for cte in clause.expressions if clause is not None else ():
        names = _spelt_out(cte.this, inner)
        inner[cte.alias.lower()] = None if cte.args["alias"].args.get("columns") else names
    if isinstance(query, exp.Union):
        names, _ = (_spelt_out(side, inner) for side in (query.this, query.expression))
        return names
    if not isinstance(query, exp.Select):
        return None
    sources = {item.alias_or_name.lower(): _source_names(item, inner) for item in _items(query)}
    merged = any(join.args.get(name) for join in query.args.get("joins") or [] for name in ("using", "method", "kind"))
    listed: list[exp.Expression] = []
    for each in query.expressions:
        star = each.this if isinstance(each, exp.Column) else each
        if not isinstance(star, exp.Star):
            listed.append(each)
            continue
        of = [each.table.lower()] if isinstance(each, exp.Column) else [*sources]
        if merged or any(star.args.values()) or not all(sources.get(table) for table in of):
            return None
        listed += [_named(name, exp.to_identifier(table, quoted=True)) for table in of for name in sources[table] or ()]
    names = [output_name(each) for each in listed]
    if len({name.lower() for name in names}) < len(names):
        return None
    query.set("expressions", listed)
    return names


def _source_names(item: Any, known: Mapping[str, list[str] | None]) -> list[str] | None:
    alias = item.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return None
    return _spelt_out(item, known) if isinstance(item, exp.Subquery) else known.get(item.name.lower())


def _check_public(tree: exp.Expression, env: Env) -> None:
    known = {table.name.lower(): table for table in env.codebook.tables}
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for node in tree.find_all(exp.Table):
        if env.staging.named(node.name) is not None or node.name.lower() in named:
            continue
        if node.name.lower() not in known or not known[node.name.lower()].public:
            raise NotPublic
