"""What one SELECT sees: tables and CTEs by name, and the clauses we read; every other clause is refused.

A clause that was overlooked would change what a query means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import ValueTable
from deniable.query.aggregates import SQL_NAMES
from deniable.query.sql.options import STAND_INS
from deniable.query.sql.source import refused

_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Env:
    """What names of tables mean here: the codebook's, and the CTEs in sight (each with what it saw itself)."""

    codebook: Codebook
    text: str
    ctes: Mapping[str, tuple[exp.Expression, Env, tuple[str, ...]]] = field(default_factory=dict)
    depth: int = 0
    said: list[str] = field(default_factory=list)
    """What must be said about parts of the query; one list for the whole statement."""
    staging: Any = None
    """Where aggregates inside the query are released first (`Staging`); None where there is one release only."""
    values: Mapping[str, ValueTable] = field(default_factory=dict)
    """Tables of public values by name."""

    def beside(self, table: ValueTable) -> Env:
        """The same, with one more table of values in sight."""
        return replace(self, values={**self.values, table.name: table})

    def within(self, query: exp.Expression) -> Env:
        """The names in sight inside `query`, after its WITH."""
        if self.depth > _DEEPEST:
            raise QueryRefused("too-deep", "sub-queries are nested too deeply", rewrite="name parts of it in a WITH")
        env = replace(self, depth=self.depth + 1)
        clause = part(query, "with")
        if clause is None:
            return env
        if clause.args.get("recursive"):
            raise refused(clause, self.text, "recursive", "a recursive WITH has no public bound on its rows")
        for cte in clause.expressions:
            columns = tuple(column.name for column in cte.args["alias"].args.get("columns") or ())
            env = replace(env, ctes={**env.ctes, cte.alias.lower(): (cte.this, env, columns)})
        return env


def part(node: exp.Expression, name: str) -> Any:
    """A clause of a node; SQLGlot spells `from` and `with` with an underscore in some versions."""
    return node.args.get(name) or node.args.get(f"{name}_")


_CLAUSES = {"expressions", "from", "joins", "where", "group", "having", "order", "limit", "offset", "with", "distinct"}
REASONS = {
    "qualify": ("window", "windows over private rows are not answered"),
    "windows": ("window", "windows over private rows are not answered"),
    "laterals": ("lateral", "LATERAL joins are not answered"),
    "into": ("not-a-query", "nothing is ever written"),
    "locks": ("not-a-query", "nothing is ever locked"),
    "sample": ("sampling", "a sample changes what a unit adds"),
    "pivots": ("pivot", "PIVOT takes its columns from the data"),
}


def checked_clauses(select: exp.Expression, text: str, also_refused: Mapping[str, str] | None = None) -> None:
    """Refuse a SELECT with a clause we do not read, or one that must not stand here."""
    for name, value in select.args.items():
        plain = name.rstrip("_")
        if not value:
            continue
        if plain not in _CLAUSES:
            code, reason = REASONS.get(plain, ("unsupported-clause", f"the clause {plain.upper()} is not answered"))
            raise refused(select, text, code, reason, "leave it out")
        if also_refused and plain in also_refused:
            codes = {"order": "order-before-noise", "limit": "limit-before-noise", "offset": "limit-before-noise"}
            raise refused(
                select, text, codes.get(plain, "unsupported-clause"), also_refused[plain], "move it outermost"
            )
    for expression in select.expressions:
        window = next((node for node in own_nodes(expression) if isinstance(node, exp.Window)), None)
        if window is not None:
            raise refused(window, text, *REASONS["windows"], "GROUP BY what the window is partitioned by")


def opened(query: Any, text: str) -> Any:
    """What stands in parentheses; a clause after them would be overlooked, so it is refused."""
    while isinstance(query, exp.Subquery):
        for name, value in query.args.items():
            if value and name.rstrip("_") not in ("this", "alias"):
                said = f"{name.rstrip('_').upper()} after a sub-query in parentheses is not answered"
                raise refused(query, text, "unsupported-clause", said, "write it inside them, or leave it out")
        query = query.this
    return query


def aggregates(select: exp.Expression) -> bool:
    """Whether a SELECT groups or aggregates."""
    if select.args.get("group") or select.args.get("having"):
        return True
    return any(own_aggregates(expression) for expression in select.expressions)


def own_aggregates(node: exp.Expression) -> bool:
    """Whether an expression has an aggregate of its own SELECT (not of a sub-query in it)."""
    return any(is_aggregate(inner) for inner in own_nodes(node))


def own_nodes(node: exp.Expression) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of sub-queries in it."""
    yield from node.walk(prune=lambda each: isinstance(each, exp.Select | exp.Subquery))


_INSTEAD = {
    "VAR": "write VAR_SAMP",
    "VARP": "write VAR_POP",
    "STDEV": "write STDDEV_SAMP",
    "STDEVP": "write STDDEV_POP",
    "AVERAGE": "write AVG",
    "MEAN": "write AVG",
    "HISTOGRAM": "group by FLOOR(x / 10) * 10 or WIDTH_BUCKET(x, 0, 100, 10), with COUNT(*)",
    "NUNIQUE": "write COUNT(DISTINCT x)",
    "TOPK": "write APPROX_TOP_K(x, 3)",
}


def unknown_function(node: exp.Expression, text: str) -> QueryRefused | None:
    """The refusal of the first function of an expression that nobody here knows, by its name."""
    found = next((each for each in own_nodes(node) if isinstance(each, exp.Anonymous) and not is_aggregate(each)), None)
    if found is None:
        return None
    name = str(found.this).upper()
    known = f"aggregates here: {', '.join(SQL_NAMES)}"
    return refused(found, text, "unsupported", f"{name} is not a function we know", _INSTEAD.get(name, known))


def output_name(expression: exp.Expression) -> str:
    """What a column of a SELECT list is called."""
    return (
        expression.alias or (expression.name if isinstance(expression, exp.Column) else "") or expression.sql().lower()
    )


def is_aggregate(node: Any) -> bool:
    """Whether a node is an aggregate function (also one written with bounds)."""
    if isinstance(node, exp.Anonymous):
        return str(node.this) in STAND_INS.values()
    return isinstance(node, exp.AggFunc)
