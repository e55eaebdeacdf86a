"""How DuckDB spells what SQL dialects do not share; files are read with it too."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from deniable.plan.profile import Profile
from deniable.plan.sql_trees import Tree, bigint, binary, call, case, cast, number, paren, text, within
from deniable.plan.unit import Length

_UNSOUND = ("join_elimination",)
"""Removes a LEFT JOIN below SELECT DISTINCT though a ROW_NUMBER between them counts its rows (DuckDB 2.0.0), so that of one unit
other rows were kept for a number of distinct values than for the numbers beside it."""


def without_unsound_optimizers(connection: Any) -> None:
    """Turn off the optimizations of DuckDB that change what a statement means, in a version that has them."""
    here = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    connection.execute(f"SET disabled_optimizers='{','.join(name for name in _UNSOUND if name in here)}'")


class DuckDBProfile(Profile):
    """DuckDB, embedded."""

    dialect = "duckdb"
    wide = "INT128"

    def wide_sum(self, value: Tree) -> Tree:
        return exp.Sum(this=value)  # HUGEINT by itself

    def quotient(self, numerator: Tree, denominator: Tree) -> Tree:
        return exp.IntDiv(this=paren(numerator), expression=paren(denominator))

    def xor(self, left: Tree, right: Tree) -> Tree:
        return call("xor", left, right)

    def matches(self, value: Tree, pattern: str) -> Tree:
        return call("regexp_full_match", value, text(pattern.removeprefix("^").removesuffix("$")))

    def days(self, value: Tree) -> Tree:
        return exp.Sub(this=paren(value), expression=cast(text("1970-01-01"), "DATE"))

    def microseconds(self, value: Tree) -> Tree:
        return call("epoch_us", value)

    def text_number(self, value: Tree) -> Tree:
        digits = call("substr", call("md5", value), number(1), number(15))
        return bigint(exp.DPipe(this=text("0x"), expression=digits))

    def truncated_date(self, value: Tree, length: Length) -> Tree:
        return cast(call("DATE_TRUNC", text(length.value), value), "DATE")

    def limited(self, value: Tree, low: int, high: int) -> Tree:
        # GREATEST and LEAST of whole numbers are slow here, and a value that is named several times is computed once
        above = binary(exp.GT, value.copy(), number(high))
        return case([(within(value, number(low), number(high)), value.copy()), (above, number(high))], number(low))
