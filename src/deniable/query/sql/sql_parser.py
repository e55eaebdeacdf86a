"""From text to exactly one SELECT: `EXPLAIN DP` and the clause of other systems are taken off, the rest is parsed by SQLGlot.

Nothing is optimised or rewritten by the parser. What it cannot read is refused with its place; its own words are never shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialects

from deniable.errors import InvalidArgument, QueryRefused, Span
from deniable.plan.functions.casts import without_to_char
from deniable.plan.translate import IGNORES_CASE
from deniable.plan.wording import unread
from deniable.query.sql.options import Options, renamed_back, taken
from deniable.query.sql.source import refused

LONGEST_TEXT = 100_000
"""Longer queries are refused before they are parsed."""

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(DP\b)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """One query: its text as parsed, its tree, whether it is only to be explained, and the options written in it."""

    text: str
    tree: exp.Expression
    explain: bool
    options: Options
    dialect: str


def read(text: str, *, dialect: str = "duckdb") -> Statement:
    """The one SELECT in `text`."""
    if not isinstance(text, str) or not text.strip():
        raise QueryRefused("empty", f"expected a query such as SELECT COUNT(*) FROM t, got {text!r}")
    if len(text) > LONGEST_TEXT:
        raise QueryRefused("too-long", f"a query may have {LONGEST_TEXT} characters, got {len(text)}")
    if not _known(dialect):
        known = ", ".join(sorted(name for name in sqlglot.Dialect.classes if name))
        raise InvalidArgument(f"dialect must be one of {known}; got {dialect!r}")
    written, explain = _unexplained(text)
    try:
        body, options = taken(written, dialect)
        trees = [tree for tree in sqlglot.parse(body, dialect=dialect) if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise unread(error, written, "SQL") from None
    except (RecursionError, ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        # the parser's own trouble with odd text; a refusal of ours passes on
        if isinstance(error, QueryRefused):
            raise
        raise QueryRefused("syntax", "this is not SQL we can read") from None
    if len(trees) != 1:
        raise QueryRefused(
            "several-statements", f"expected one statement, got {len(trees)}", rewrite="send them singly"
        )
    if body is not written:
        renamed_back(trees[0])
    tree = _with_dialect_meaning(_select(trees[0]), dialect, written)
    if tree.find(exp.ToChar) is not None:
        tree = without_to_char(tree)
    return Statement(written, tree, explain, options, dialect)


_LISTED = frozenset(each.value for each in Dialects)


def _known(dialect: object) -> bool:
    """Is this a dialect? The parser's own table of them is asked last: it loads them all, which takes longer than a price."""
    return isinstance(dialect, str) and (dialect in _LISTED or dialect in sqlglot.Dialect.classes)


def _unexplained(text: str) -> tuple[str, bool]:
    found = _EXPLAIN.match(text)
    if found is None:
        return text, False
    if found.group(1) is None:
        raise QueryRefused(
            "explain",
            "an engine's own plan may speak of the data",
            span=Span(1, 1, "EXPLAIN"),
            rewrite="write EXPLAIN DP SELECT ...",
        )
    return " " * found.end() + text[found.end() :], True


def _select(tree: Any) -> exp.Expression:
    while isinstance(tree, exp.Subquery) and set(_given(tree)) <= {"this"}:
        tree = tree.this
    if isinstance(tree, exp.Except | exp.Intersect):
        raise QueryRefused(
            "set-operation",
            f"{type(tree).__name__.upper()} compares rows of two queries",
            rewrite="use NOT IN, IN or a join",
        )
    if not isinstance(tree, exp.Select | exp.Union):
        looks = isinstance(tree, exp.Show | exp.Describe) or tree.name.upper() in ("SHOW", "DESC")
        rewrite = "the codebook lists tables and columns: print(session.codebook)" if looks else "SELECT ..."
        raise QueryRefused("not-a-query", "only SELECT is answered; nothing is ever written", rewrite=rewrite)
    return tree


def _given(node: exp.Expression) -> dict[str, Any]:
    return {name: value for name, value in node.args.items() if value}


# Words that mean something else in another dialect: days of the week are shifted, text without case is marked, '' is refused.
# What the manuals say of each system's defaults; a dialect that is not listed is refused where it would matter.

_FROM_ZERO = frozenset({"", "duckdb", "postgres", "redshift", "snowflake", "materialize", "risingwave"})
"""Sunday is 0."""
_FROM_ONE = frozenset(
    [
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
    ]
)
"""Sunday is 1."""
_FROM_MONDAY = frozenset({"presto", "trino", "athena"})
"""Monday is 1, Sunday 7."""
_EQUALITY = frozenset({"mysql", "singlestore", "tsql", "fabric", "teradata"})
_LIKE = _EQUALITY | {"sqlite"}
"""Dialects whose default collation ignores case in = and in LIKE."""


def _with_dialect_meaning(tree: exp.Expression, dialect: str, text: str) -> exp.Expression:
    """The statement with the meaning its dialect gives it."""
    for node in list(tree.find_all(exp.Like, exp.EQ, exp.NEQ, exp.In)) if dialect in _LIKE else ():
        if dialect in (_LIKE if isinstance(node, exp.Like) else _EQUALITY):
            node.meta[IGNORES_CASE] = dialect
    for literal in tree.find_all(exp.Literal) if dialect == "oracle" else ():
        if literal.is_string and not literal.this:
            raise refused(literal.parent, text, "dialect", "'' is NULL in Oracle", "write IS NULL or IS NOT NULL")
    return tree if dialect in _FROM_ZERO else tree.transform(lambda node: _weekday(node, dialect, text))


def _weekday(node: exp.Expression, dialect: str, text: str) -> exp.Expression:
    week_part = isinstance(node, exp.Extract) and node.name.lower() in ("dow", "dayofweek")
    if not (isinstance(node, exp.DayOfWeek) or week_part):
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
