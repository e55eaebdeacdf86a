"""How DuckDB spells what SQL dialects do not share; files are read with it too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from deniable.plan.profile import Profile
from deniable.plan.sql_trees import Tree, bigint, binary, call, case, cast, number, paren, present, text, within
from deniable.plan.unit import Length

_UNSOUND = ("join_elimination",)
"""Removes a LEFT JOIN below SELECT DISTINCT though a ROW_NUMBER between them counts its rows (DuckDB 2.0.0), so that of one unit
other rows were kept for a number of distinct values than for the numbers beside it."""
_FEW_TEXTS = 16
"""Among as many a place is found as soon as a set is asked, even where a column has no dictionary."""


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
        # The digest as a number has its first byte last: its first eight bytes are turned around, and 60 of their bits kept.
        # Written as digits and read again it takes half as long again. A tree that stands in several places is computed once.
        bits: Tree = cast(binary(exp.BitwiseAnd, call("md5_number", value), number(2**64 - 1)), "UBIGINT")
        for size, mask in ((8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF)):
            high = binary(exp.BitwiseAnd, _shifted(exp.BitwiseRightShift, bits, size), number(mask))
            low = _shifted(exp.BitwiseLeftShift, binary(exp.BitwiseAnd, bits.copy(), number(mask)), size)
            bits = binary(exp.BitwiseOr, high, low)
        return bigint(_shifted(exp.BitwiseRightShift, bits, 4))

    def truncated_date(self, value: Tree, length: Length) -> Tree:
        return cast(call("DATE_TRUNC", text(length.value), value), "DATE")

    def one_of(self, value: Tree, texts: Sequence[str]) -> Tree:
        if len(texts) > _FEW_TEXTS:
            return super().one_of(value, texts)
        return present(_position(value, texts))

    def place(self, value: Tree, texts: Sequence[str]) -> Tree:
        # An ENUM is as quick where all texts are among these, and dozens of times slower than CASE where few are: every cast
        # that fails writes its own error.
        return binary(exp.Sub, bigint(_position(value, texts)), number(1))

    def limited(self, value: Tree, low: int, high: int) -> Tree:
        # GREATEST and LEAST of whole numbers are slow here, and a value that is named several times is computed once
        above = binary(exp.GT, value.copy(), number(high))
        return case([(within(value, number(low), number(high)), value.copy()), (above, number(high))], number(low))


def _position(value: Tree, texts: Sequence[str]) -> Tree:
    """The place from 1; a column stored with a dictionary is looked up once for each of its values."""
    return call("LIST_POSITION", exp.Array(expressions=[text(each) for each in texts]), value)


def _shifted(way: type[exp.Expression], value: Tree, bits: int) -> Tree:
    return binary(way, value, number(bits))
