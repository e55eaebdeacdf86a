"""Queries on public tables only: answered exactly over the codebook's reading of those tables, free of charge."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from deniable.engines.engine import Engine
from deniable.engines.public_database import ReleasedTable, public_rows
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.wording import spoken
from deniable.query.sql.source import refused
from deniable.query.sql.sql_parser import Statement
from deniable.query.sql.values import is_fractional

_DENIED = (exp.Anonymous, exp.Unnest, exp.Command, exp.Lateral, exp.GenerateSeries, exp.Into)
_MOMENTARY = ("Current", "Session", "Local", "Utc", "Systimestamp", "Uuid", "Rand")
_UNSTABLE = tuple(each for each in exp.ALL_FUNCTIONS if each.__name__.startswith(_MOMENTARY))
_BARE = frozenset({"user", "current_role", "current_schema", "current_catalog", "session_user"})
"""Functions, and words without parentheses, whose value depends on chance, the moment or who asks, not on the tables."""


@dataclass(frozen=True, slots=True)
class PublicRows:
    """The exact answer to a public query."""

    columns: dict[str, tuple[Any, ...]]

    @property
    def count(self) -> int:
        """How many rows."""
        return len(next(iter(self.columns.values()), ()))


def public_tables(statement: Statement, codebook: Codebook) -> tuple[str, ...] | None:
    """The public tables a statement reads; None when it reads a private one, or none at all."""
    known = {table.name.lower(): table for table in codebook.tables}
    named = {cte.alias.lower() for cte in statement.tree.find_all(exp.CTE)}
    found = []
    for node in statement.tree.find_all(exp.Table):
        plain = isinstance(node.this, exp.Identifier) and not node.args.get("db")
        if plain and node.name.lower() in named and node.name.lower() not in known:
            continue
        table = known.get(node.name.lower()) if plain else None
        if table is None or not table.public:
            return None
        found.append(table.name)
    return tuple(dict.fromkeys(found)) or None


def _unstable(node: exp.Expr, tables: tuple[str, ...], codebook: Codebook) -> bool:
    if not isinstance(node, exp.Column) or node.table or node.this.args.get("quoted"):
        return isinstance(node, _UNSTABLE)
    known = {variable.name.lower() for name in tables for variable in codebook[name].variables}
    return node.name.lower() in _BARE - known


def public_answer(
    statement: Statement,
    codebook: Codebook,
    tables: tuple[str, ...],
    engine: Engine,
    released: Mapping[str, ReleasedTable] | None = None,
) -> PublicRows:
    """The rows of a statement over public tables, and over tables that were released before."""
    names, rows = _asked(statement, codebook, tables, engine, released or {})
    return PublicRows({name: tuple(row[index] for row in rows) for index, name in enumerate(names)})


def check_public(
    statement: Statement, codebook: Codebook, tables: tuple[str, ...], released: Mapping[str, ReleasedTable]
) -> None:
    """Refuse a statement that the engine cannot read, by asking it of the same tables without their rows."""
    _asked(statement, codebook, tables, None, released)


def _asked(
    statement: Statement,
    codebook: Codebook,
    tables: tuple[str, ...],
    engine: Engine | None,
    released: Mapping[str, ReleasedTable],
) -> tuple[list[str], list[tuple[Any, ...]]]:
    odd = statement.tree.find(*_DENIED)
    if odd is not None:
        raise refused(
            odd, statement.text, "unsupported", f"{spoken(odd, statement.text)} is not answered", "use plain SQL"
        )
    unstable = next((node for node in statement.tree.walk() if _unstable(node, tables, codebook)), None)
    if unstable is not None:
        word = unstable.sql(dialect="duckdb").upper()
        message = f"{word} depends on chance, the moment or who asks"
        raise refused(unstable, statement.text, "unsupported", message, "write the value itself")
    _check_quotients(statement, _fractional_names(statement.tree, codebook, tables, released))
    names, rows = public_rows(statement.tree.sql(dialect="duckdb"), codebook, tables, engine, released)
    if len({name.lower() for name in names}) != len(names):
        raise QueryRefused("ambiguous-column", f"columns with one name: {', '.join(names)}", rewrite="rename with AS")
    return names, rows


def _check_quotients(statement: Statement, fractional: Set[str]) -> None:
    """Refuse a quotient that the statement's own dialect would cut off to a whole number, as everywhere else."""
    for node in statement.tree.find_all(exp.Div):
        if node.args.get("typed") and not _is_fractional(node, fractional):
            reason = "whole numbers divide differently in this dialect"
            raise refused(node, statement.text, "integer-division", reason, "write 1.0 * a / b")


def _is_fractional(node: exp.Expression, fractional: Set[str]) -> bool:
    return is_fractional(node) or any(column.name.lower() in fractional for column in node.find_all(exp.Column))


def _fractional_names(
    tree: exp.Expression, codebook: Codebook, tables: tuple[str, ...], released: Mapping[str, ReleasedTable]
) -> frozenset[str]:
    """The names of columns that are no whole numbers, and of what is computed from them."""
    known = [codebook[name].schema for name in tables] + [table.facts for table in released.values()]
    found = {name.lower() for each in known for name, facts in each.items() if facts.step.denominator != 1}
    written = list(tree.find_all(exp.Alias))
    for _ in written:  # an alias may stand for another
        found |= {each.alias.lower() for each in written if _is_fractional(each.this, found)}
    return frozenset(found)
