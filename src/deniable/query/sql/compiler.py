"""A statement as a query and its post-processing: the private boundary is the innermost aggregate over the rows of many units.

Below it everything becomes one `Query`, the same a builder makes; above it only stages over released values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sqlglot import exp

from deniable.errors import DeniableError, QueryRefused
from deniable.plan.analysis import facts
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column, Expression
from deniable.plan.relation import shape
from deniable.query.aggregates import CountUnits
from deniable.query.builder import Query, QueryRunner
from deniable.query.compile import compile_query, keys_of
from deniable.query.keys import Key, key_set
from deniable.query.sql.aggregates import AggregateCalls
from deniable.query.sql.averages import averages_units, over_units
from deniable.query.sql.ending import NotPublic, public_ending
from deniable.query.sql.env import Env, aggregates, checked_clauses, opened, output_name, part, unknown_function
from deniable.query.sql.grouping import grouping_sets
from deniable.query.sql.options import Options
from deniable.query.sql.post import CellOperator, Constant, Field, Operation, Value
from deniable.query.sql.quantile_bins import with_quantile_bins
from deniable.query.sql.select_rows import rows
from deniable.query.sql.source import FromClause, placed, refused
from deniable.query.sql.sql_parser import Statement
from deniable.query.sql.stage import Ordering, Stage, identity
from deniable.query.sql.staging import PublicReader, StagePart, Staging, scalar_select
from deniable.query.sql.values import Values

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class PrivateStatement(Generic[Answer]):
    """A private query, the stages over its release (none when the release is the answer), and what must be said."""

    query: Query[Answer]
    stages: tuple[Stage, ...]
    notices: tuple[str, ...]


def compile_statement(
    statement: Statement, codebook: Codebook, runner: QueryRunner[Answer]
) -> PrivateStatement[Answer]:
    """The query a statement asks, or its refusal; nothing is read or spent."""
    with _understood():
        env = Env(codebook, statement.text)
        built = _select(statement.tree, env, runner)
        _checked_unit(statement, codebook)
        built = _bounded(built, statement.options)
        _checked_strategy(statement, observed=keys_of(built.query).observed)
        built = replace(built, notices=(*built.notices, *dict.fromkeys(env.said)))
        return built if statement.options.least_units is None else _filled(built, statement.options.least_units)


def _bounded(private: PrivateStatement[Answer], options: Options) -> PrivateStatement[Answer]:
    """Under the bounds that the options of a statement name."""
    if options.groups is None and options.rows is None:
        return private
    return replace(private, query=replace(private.query, groups=options.groups, total=options.rows))


@contextmanager
def _understood() -> Iterator[None]:
    """Whatever goes wrong while a statement is read is a refusal."""
    try:
        yield
    except (DeniableError, NotPublic):
        raise
    except RecursionError:
        raise QueryRefused("too-deep", "the query is nested too deeply", rewrite="name parts of it in a WITH") from None
    except Exception:  # only public text has been looked at, so a form nobody thought of is refused like any other
        raise QueryRefused(
            "not-understood", "a part of this query is not understood", rewrite="write it plainly"
        ) from None


@dataclass(frozen=True, slots=True)
class StagedStatement(Generic[Answer]):
    """A statement in stages: each is released, and is public for what comes after it.

    The end is one more private query, or a query on public tables and released ones alone.
    """

    stages: tuple[StagePart, ...]
    end: PrivateStatement[Answer] | exp.Expression
    notices: tuple[str, ...]

    @property
    def private(self) -> tuple[PrivateStatement[Answer], ...]:
        """The private statements in the order they are released."""
        last = (self.end,) if isinstance(self.end, PrivateStatement) else ()
        return (*(stage.statement for stage in self.stages), *last)


def compile_stages(
    statement: Statement, codebook: Codebook, runner: QueryRunner[Answer], public: PublicReader | None = None
) -> StagedStatement[Answer]:
    """The stages of a statement that one release does not answer, or its refusal; nothing private is read and nothing spent.

    `public` reads public tables: keys that a sub-query is asked for come from them.
    """
    options = statement.options
    if options.least_units is not None or options.strategy is not None:
        raise QueryRefused("bad-option", "options on groups go with one release", rewrite="ask the stages singly")
    _checked_unit(statement, codebook)
    tree = with_quantile_bins(statement.tree)

    def compiled(query: exp.Expression, env: Env) -> PrivateStatement[Answer]:
        return _bounded(_select(query, env, runner), options)

    def staged(finish: Callable[[Env], PrivateStatement[Answer] | exp.Expression]) -> StagedStatement[Answer]:
        staging = Staging(compiled, _filled, public)
        env = Env(codebook, statement.text, staging=staging)
        with _understood():
            end = finish(env)
        if not staging.parts:
            raise QueryRefused("rows", "no part of this query can be released first")
        notices = [note for part in staging.parts for note in part.statement.notices]
        return StagedStatement(tuple(staging.parts), end, tuple(dict.fromkeys((*notices, *env.said))))

    try:
        return staged(lambda env: compiled(tree, env))
    except QueryRefused as refusal:
        try:
            return staged(lambda env: public_ending(tree, env))
        except NotPublic:
            raise refusal from None


def _checked_unit(statement: Statement, codebook: Codebook) -> None:
    wanted, unit = statement.options.unit, codebook.unit
    if wanted is not None and (unit is None or unit.id is None or unit.id.lower() != wanted.lower()):
        raise QueryRefused(
            "other-unit", f"the codebook protects {unit}, the query says {wanted!r}", rewrite="leave it out"
        )


def _checked_strategy(statement: Statement, *, observed: bool) -> None:
    strategy = statement.options.strategy
    if strategy == "public_groups" and observed:
        raise QueryRefused("observed-keys", "these keys are not declared in the codebook", rewrite="LAPLACE_THRESHOLD")
    if strategy == "laplace_threshold" and not observed:
        raise QueryRefused("declared-keys", "all keys are declared, so all groups are shown", rewrite="PUBLIC_GROUPS")


def _filled(private: PrivateStatement[Answer], least: int) -> PrivateStatement[Answer]:
    """Only groups with so many units, by their noisy number, which is measured for it where it is not already."""
    query = private.query
    known = {aggregate: name for name, aggregate in query.aggregates}
    units = known.get(CountUnits(), "units of the group")
    if units not in known.values():
        query = replace(query, aggregates=(*query.aggregates, (units, CountUnits())))
    kept = Stage(
        tuple((key.name, key.name) for key in query.keys),
        tuple((name, Field(name)) for name, _ in private.query.aggregates),
        Operation(CellOperator.AT_LEAST, Field(units), Constant(least)),
    )
    return replace(private, query=query, stages=(kept, *private.stages))


def _select(query: exp.Expression, env: Env, runner: QueryRunner[Answer]) -> PrivateStatement[Answer]:
    query = opened(query, env.text)
    inner = env.within(query)
    if not isinstance(query, exp.Select):
        raise refused(query, env.text, "set-operation", "one query gives one release", "ask the parts singly")
    checked_clauses(query, env.text)
    if aggregates(query) or query.args.get("distinct"):
        return _Boundary(query, inner, runner).done()
    if part(query, "from") is None:
        raise refused(query, env.text, "no-table", "this SELECT reads no table", "add FROM")
    below = _derived(query, inner)
    if below is None or (query.args.get("where") is not None and query.args["where"].find(exp.Select) is not None):
        for each in query.expressions:
            if (unknown := unknown_function(each, env.text)) is not None:
                raise unknown
        raise refused(
            query, env.text, "rows", "single rows are private: a query computes aggregates of them",
            "write COUNT(*), SUM(x), AVG(x) ... GROUP BY",
        )  # fmt: skip
    return _above(query, inner, _select(*below, runner))


def _derived(query: exp.Select, env: Env) -> tuple[exp.Expression, Env] | None:
    """The sub-query this SELECT reads alone, if that one aggregates."""
    origin = part(query, "from")
    if origin is None or query.args.get("joins"):
        return None
    node = origin.this
    if isinstance(node, exp.Subquery):
        inner, seen = node.this, env
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and node.name.lower() in env.ctes:
        inner, seen, columns = env.ctes[node.name.lower()]
        if columns:
            return None
    else:
        return None
    alias = node.args.get("alias")
    return None if alias is not None and alias.args.get("columns") else (inner, seen)


def _above(query: exp.Select, env: Env, below: PrivateStatement[Answer]) -> PrivateStatement[Answer]:
    """One more SELECT over what is already released."""
    last = below.stages[-1] if below.stages else None
    keys = [new for new, _ in last.keys] if last else [key.name for key in below.query.keys]
    columns = [name for name, _ in last.columns] if last else [name for name, _ in below.query.aggregates]
    alias = part(query, "from").this.alias_or_name
    values = Values(env.text, visible={name.lower(): name for name in (*keys, *columns)}, table=alias)
    items: list[tuple[str, Value]] = []
    for expression in query.expressions:
        if isinstance(expression, exp.Star):
            items += [(name, Field(name)) for name in (*keys, *columns)]
        else:
            items.append((output_name(expression), values.value(expression.unalias())))
    where = query.args.get("where")
    condition = None if where is None else values.condition(where.this)
    stage = _stage(query, items, keys, values, condition)
    return replace(below, stages=(*below.stages, stage))


def _stage(
    query: exp.Select, items: list[tuple[str, Value]], keys: list[str], values: Values, where: Value | None
) -> Stage:
    """Columns, order and cut of one SELECT; a key that is only shown stays a key."""
    names = [name.lower() for name, _ in items]
    if len(set(names)) != len(names):
        raise refused(query, values.text, "ambiguous-column", f"columns with one name: {', '.join(names)}", "use AS")
    shown: dict[str, str] = {}
    for name, value in items:
        if isinstance(value, Field) and value.name in keys and value.name not in shown.values():
            shown[name] = value.name
    columns = tuple((name, value) for name, value in items if name not in shown)
    order = _order(query, items, values)
    limit, offset = (_whole(query, name, values.text) for name in ("limit", "offset"))
    return Stage(tuple(shown.items()), columns, where, order, limit, offset or 0)


def _order(query: exp.Select, items: list[tuple[str, Value]], values: Values) -> tuple[Ordering, ...]:
    clause = query.args.get("order")
    aliases = {name.lower(): value for name, value in items}
    found = []
    for term in clause.expressions if clause is not None else ():
        node = term.this
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            place = int(node.this)
            if not 1 <= place <= len(items):
                raise refused(node, values.text, "bad-position", f"ORDER BY {place}: there is no such column in SELECT")
            value = items[place - 1][1]
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases:
            value = aliases[node.name.lower()]
        else:
            value = values.value(node)
        if term.args.get("with_fill"):
            raise refused(term, values.text, "unsupported-clause", "WITH FILL is not answered", "leave it out")
        found.append(Ordering(value, bool(term.args.get("desc")), bool(term.args.get("nulls_first"))))
    return tuple(found)


def _whole(query: exp.Select, name: str, text: str) -> int | None:
    clause = query.args.get(name)
    if clause is None:
        return None
    node = clause.expression if isinstance(clause, exp.Limit | exp.Offset) else clause.args.get("count")
    said = {each: value for each, value in clause.args.items() if value and each not in ("expression", "count")}
    options = said.pop("limit_options", None)
    cut_otherwise = options and (options.args.get("percent") or options.args.get("with_ties"))
    if cut_otherwise or said.pop("direction", "FIRST") not in ("FIRST", "NEXT") or said:
        node = None
    if not (isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() and len(node.this) < 19):
        raise refused(clause, text, "bad-constant", f"{name.upper()} takes a whole number", f"{name.upper()} 10")
    return int(node.this)


@dataclass(slots=True)
class _Boundary(Generic[Answer]):
    """The SELECT at the private boundary."""

    select: exp.Select
    env: Env
    runner: QueryRunner[Answer]

    def done(self) -> PrivateStatement[Answer]:
        select, source = self.select, rows(self.select, self.env)
        if averages_units(select):
            self.env.said.append("AVG with bounds per group is the mean over units of each unit's own average.")
            built = _Boundary(over_units(select, source), self.env, self.runner).done()
            return replace(built, query=replace(built.query, rows=1))
        if shape(source.relation).public:
            raise QueryRefused("public-query", "this part reads public tables only", rewrite="ask it by itself")
        keys, levels = self._keys(source)
        query = Query(source=source.relation, runner=self.runner, keys=keys)
        if keys:
            query = query.grouping_sets(*levels)
        calls = AggregateCalls(source)
        named = {key.of: key.name for key in keys}
        sets = query.levels or (tuple(named.values()),)
        values = Values(self.env.text, keys=named, calls=calls, levels=sets, scalar=self._scalar())
        if any(isinstance(each, exp.Star) for each in select.expressions):
            raise refused(select, self.env.text, "rows", "single rows are private", "list keys and aggregates")
        items = [
            (output_name(each), values.value(each.unalias(), output_name(each) if each.alias else ""))
            for each in select.expressions
        ]
        having = select.args.get("having")
        aliased = replace(values, aliases={name.lower(): value for name, value in items})
        condition = None if having is None else aliased.condition(having.this)
        stage = _stage(select, items, [key.name for key in keys], aliased, condition)
        if not calls.found:
            self._checked_keys_only(query)
            calls.found[CountUnits()] = "units"
        query = replace(query, aggregates=tuple((name, aggregate) for aggregate, name in calls.found.items()))
        self._checked_aggregates(query, calls)
        plain = identity(stage, [key.name for key in keys], [name for name, _ in query.aggregates])
        notices = [*self._missing_keys(keys, source, query.levels), *calls.notices]
        return PrivateStatement(query, () if plain else (stage,), tuple(notices))

    def _scalar(self) -> Callable[[exp.Subquery], Value] | None:
        """Reads a scalar sub-query beside released values, as the value of a stage; None where there are no stages."""
        if self.env.staging is None:
            return None

        def read(node: exp.Subquery) -> Value:
            part, pairs = self.env.staging.value_of(scalar_select(node, self.env), node, self.env)
            if pairs:
                raise refused(
                    node, self.env.text, "correlated", "beside an aggregate a sub-query looks at no outer row"
                )
            return Field(part.scalar)

        return read

    def _checked_aggregates(self, query: Query[Any], calls: AggregateCalls) -> None:
        """Where all together are refused: is it for an aggregate that has no bounds, then refuse it where it stands."""
        unit = self.env.codebook.unit
        assert unit is not None
        with suppress(DeniableError):
            compile_query(query, unit)
            return
        for name, aggregate in query.aggregates:
            with placed(calls.nodes.get(name, self.select), self.env.text):
                compile_query(
                    replace(query, keys=(), levels=None, aggregates=((name, aggregate),), rows=unit.rows or 1), unit
                )

    def _keys(self, source: FromClause) -> tuple[tuple[Key, ...], list[list[str]]]:
        """The keys, and the names of those in each grouping set."""
        sets = grouping_sets(self.select, source)
        if self.select.args.get("distinct"):
            if sets != [()] or aggregates(self.select) or self.select.args["distinct"].args.get("on"):
                raise refused(self.select, self.env.text, "distinct", "SELECT DISTINCT of groups", "leave DISTINCT out")
            sets = [tuple(each.unalias() for each in self.select.expressions)]
        found: dict[Expression, str] = {}
        levels = [[found.setdefault(*self._key(term, source)) for term in terms] for terms in sets]
        if len(set(found.values())) != len(found):
            raise refused(self.select, self.env.text, "ambiguous-column", "two keys have one name", "use AS")
        return tuple(Key(name, of) for of, name in found.items()), levels

    def _key(self, term: exp.Expression, source: FromClause) -> tuple[Expression, str]:
        if isinstance(term, exp.Star) or term.find(exp.Select) is not None:
            raise refused(term, self.env.text, "group-key", "a key is a column or an expression of one row")
        with placed(term, self.env.text):
            of = source.translator.expression(term)
        self._checked_key(of, term, source)
        if isinstance(of, Column):
            return of, of.name
        names = {each.unalias().sql(): each.alias for each in self.select.expressions if each.alias}
        return of, names.get(term.sql()) or term.sql().lower()

    def _checked_key(self, of: Expression, term: exp.Expression, source: FromClause) -> None:
        below = shape(source.relation)
        if isinstance(of, Column) and (of.name in below.anchors or (below.unit and of.name == below.unit.id)):
            raise refused(
                term, self.env.text, "group-by-unit", "every group would hold one unit, so none could be shown",
                "group by something many units share, or use a sub-query per unit",
            )  # fmt: skip

    def _checked_keys_only(self, query: Query[Any]) -> None:
        if not query.keys:
            raise refused(self.select, self.env.text, "rows", "this query computes nothing", "write COUNT(*)")
        if not key_set(query).observed:
            raise refused(
                self.select, self.env.text, "keys-only", "these keys are declared in the codebook and hence known already",
                "add COUNT(*)",
            )  # fmt: skip

    def _missing_keys(self, keys: tuple[Key, ...], source: FromClause, levels: object) -> list[str]:
        absent = [key.name for key in keys if facts(key.of, source.schema).nullable]
        totals = ", of totals too" if levels else ""
        return [f"Rows whose {' or '.join(absent)} is missing are left out{totals}."] if absent else []
