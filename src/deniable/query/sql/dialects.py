"""Words that mean something else in another dialect: days of the week are shifted, text without case is marked, '' is refused.

What the manuals say of each system's defaults; a dialect that is not listed is refused where it would matter.
"""

from __future__ import annotations

from sqlglot import exp

from deniable.plan.translate import IGNORES_CASE
from deniable.query.sql.source import refused

_FROM_ZERO = frozenset({"", "duckdb", "postgres", "redshift", "snowflake", "materialize", "risingwave"})
"""Sunday is 0."""
_FROM_ONE = frozenset(
    {
        "bigquery",
        "mysql",
        "singlestore",
        "doris",
        "starrocks",
        "hive",
        "spark",
        "spark2",
        "databricks",
        "tsql",
        "fabric",
    }
)
"""Sunday is 1."""
_FROM_MONDAY = frozenset({"presto", "trino", "athena"})
"""Monday is 1, Sunday 7."""
_EQUALITY = frozenset({"mysql", "singlestore", "tsql", "fabric", "teradata"})
_LIKE = _EQUALITY | {"sqlite"}
"""Dialects whose default collation ignores case in = and in LIKE."""


def adapted(tree: exp.Expression, dialect: str, text: str) -> exp.Expression:
    """The statement with the meaning its dialect gives it."""
    for node in list(tree.find_all(exp.Like, exp.EQ, exp.NEQ, exp.In)):
        if dialect in (_LIKE if isinstance(node, exp.Like) else _EQUALITY):
            node.meta[IGNORES_CASE] = dialect
    for literal in tree.find_all(exp.Literal) if dialect == "oracle" else ():
        if literal.is_string and not literal.this:
            raise refused(literal.parent, text, "dialect", "'' is NULL in Oracle", "write IS NULL or IS NOT NULL")
    return tree.transform(lambda node: _weekday(node, dialect, text))


def _weekday(node: exp.Expression, dialect: str, text: str) -> exp.Expression:
    week_part = isinstance(node, exp.Extract) and node.name.lower() in ("dow", "dayofweek")
    if not (isinstance(node, exp.DayOfWeek) or week_part) or dialect in _FROM_ZERO:
        return node
    if dialect in _FROM_ONE:
        return exp.paren(exp.Add(this=node, expression=exp.Literal.number(1)), copy=False)
    if dialect in _FROM_MONDAY:
        moved = exp.paren(exp.Add(this=node, expression=exp.Literal.number(6)), copy=False)
        week = exp.Mod(this=moved, expression=exp.Literal.number(7))
        return exp.paren(exp.Add(this=week, expression=exp.Literal.number(1)), copy=False)
    raise refused(
        node, text, "dialect", f"days of the week are numbered otherwise in {dialect}", "ask in dialect='duckdb'"
    )
