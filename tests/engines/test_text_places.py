"""The place of a text among many: the same on DuckDB as in the reference engine, whatever the texts are and wherever they lie."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest
from pyarrow import parquet
from sqlglot import exp

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.duckdb_profile import DuckDBProfile
from deniable.engines.postgres import PostgresProfile
from deniable.engines.reference import ReferenceEngine
from deniable.engines.spark import SparkProfile
from deniable.engines.sql.expressions import Expressions, compared_texts
from deniable.models.estimator import place_of
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Case, Column, Compare, Comparison, Expression, IsNull, Literal
from deniable.plan.functions.several import Coalesce
from deniable.plan.nodes import UnitRows, scan

KEY = bytes(range(32))
ODD = [
    "", " ", "a", "A", "a ", " a", "\u00e1", "a\u0301", "\u0130", "i", "I", "\u00df", "ss", "'", "a'b", '"', "\\", "\\n", "\n",
    "\t", "%", "_", "\0", "a\0", "a\0b", "a\0c", "NULL", "null", "1", "01", "1.0", "\U0001f600",
    "twelve bytes", "thirteen byte", "thirteen byta", "[1]", "{", "$1", "?", "--", "/*", ";",
]  # fmt: skip
"""Texts that an engine may take for one another, or for something else."""


def book(categories: list[str], other: str | None = None) -> Codebook:
    declared = {"type": "string", "categories": categories} | ({"other": other} if other is not None else {})
    variables = {"row": {"type": "integer", "bounds": [0, 10**6]}, "kind": declared, "word": "string"}
    return Codebook.from_record({"unit": "rows", "tables": {"t": {"variables": variables}}})


def stored(how: str, cells: list[str | None], folder: Path) -> Any:
    columns = {"row": list(range(len(cells))), "kind": cells, "word": cells}
    if how == "columns":
        return columns
    if how == "pandas categories":
        return pandas.DataFrame(columns).astype({"kind": "category", "word": "category"})
    table = pyarrow.table(columns)
    if how == "arrow":
        return table
    parquet.write_table(table, folder / "t.parquet", use_dictionary=how == "parquet with a dictionary")
    return str(folder / "t.parquet")


WAYS = ["columns", "arrow", "pandas categories", "parquet", "parquet with a dictionary"]


def told(engine: Any, known: Codebook, asked: dict[str, Expression]) -> dict[str, list[Any]]:
    """What an engine says of every row, in the order of the rows."""
    columns = (("row", Column("row")), *asked.items())
    found = engine.rows(UnitRows(scan(known, "t"), columns, 1))
    order = found.columns["row"].argsort()
    return {
        name: [
            None if gone else int(cell)
            for cell, gone in zip(found.columns[name][order], found.missing[name][order], strict=True)
        ]
        for name in asked
    }


def coded(name: str, texts: list[str]) -> dict[str, Expression]:
    """Places as models and synthesizers ask for them: with a place for all others, with one for missing cells, and with none."""
    whens = place_of(name, texts).branches  # type: ignore[attr-defined]
    last = Literal(Fraction(len(texts)))
    return {
        f"{name}, others last": place_of(name, texts),
        f"{name}, missing apart": Case((*whens, (IsNull(Column(name)), Literal(Fraction(len(texts) + 1)))), last),
        f"{name}, others missing": Case(whens, None),
        f"{name}, never missing": Coalesce((Case(whens, None), Literal(Fraction(-1)))),
        f"{name}, halves": Case((*whens, (IsNull(Column(name)), Literal(Fraction(-3, 2)))), Literal(Fraction(1, 2))),
        f"{name}, backwards": Case(whens[::-1], last),
        f"{name}, twice": Case((*whens, (whens[0][0], last), *whens), None),
    }


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("other", [None, "the rest"])
def test_odd_texts_have_the_places_the_reference_gives_them(how: str, other: str | None, tmp_path: Path) -> None:
    cells = [*ODD, None, "b", "the rest", *ODD[::3], None]
    listed = [each for place, each in enumerate(ODD) if place % 5 != 4]
    known = book([*listed, *([other] if other else [])], other)
    asked = coded("kind", listed) | coded("word", listed) | coded("word", listed[:2])
    exact = ReferenceEngine({"t": stored("columns", cells, tmp_path)}, known, key=KEY)
    wanted = told(exact, known, asked)
    plain = [listed.index(cell) if cell in listed else len(listed) for cell in cells]
    assert told(exact, known, {"word": place_of("word", listed)})["word"] == plain
    engine = DuckDBEngine({"t": stored(how, cells, tmp_path)}, known, key=KEY)
    assert told(engine, known, asked) == wanted
    engine.close()


@pytest.mark.parametrize("many", [1, 2, 15, 16, 17, 256, 257, 999])
@pytest.mark.parametrize("how", ["arrow", "parquet with a dictionary"])
def test_any_number_of_texts_has_its_places(many: int, how: str, tmp_path: Path) -> None:
    listed = [f"text {place}" for place in range(many)]
    cells = [*(listed[place % many] for place in range(5000)), "text", f"text {many}", None]
    wanted = [listed.index(cell) if cell in listed else None for cell in cells]
    known = book(listed)
    engine = DuckDBEngine({"t": stored(how, cells, tmp_path)}, known, key=KEY)
    asked = {name: Case(place_of(name, listed).branches, None) for name in ("kind", "word")}  # type: ignore[attr-defined]
    assert told(engine, known, asked) == {"kind": wanted, "word": wanted}
    engine.close()


def test_places_are_seen_only_where_they_are_places() -> None:
    def when(text: object, place: object, name: str = "x", how: Comparison = Comparison.EQUAL) -> Any:
        return Compare(how, Column(name), Literal(text)), Literal(place)  # type: ignore[arg-type]

    both = [when("a", 0), when("b", 1)]
    assert compared_texts(both) == (Column("x"), ("a", "b"))
    assert compared_texts([*both, when("c", 3), when("d", 3)]) == (Column("x"), ("a", "b")), "a place is left out"
    assert compared_texts([*both, when("a", 2)]) == (Column("x"), ("a", "b")), "a text that was asked for before"
    assert compared_texts([*both, when("c", 2, "y")]) == (Column("x"), ("a", "b")), "another column"
    assert compared_texts([*both, when("c", 2, how=Comparison.LESS)]) == (Column("x"), ("a", "b"))
    for none in ([], both[:1], both[::-1], [when(1, 0), when(2, 1)], [when("a", "0"), when("b", "1")]):
        assert compared_texts(none) == (None, ())


def test_duckdb_looks_a_text_up_and_others_compare_it() -> None:
    known = book(["a", "it's"])["t"].schema
    written = Expressions(known, DuckDBProfile()).tree(place_of("word", ["a", "it's"])).sql(dialect="duckdb")
    assert written == """COALESCE((CAST(LIST_POSITION(['a', 'it''s'], "word") AS BIGINT) - 1), CAST(2 AS BIGINT))"""
    for other in (PostgresProfile(), SparkProfile()):
        assert isinstance(Expressions(known, other).tree(place_of("word", ["a", "it's"])), exp.Case)
