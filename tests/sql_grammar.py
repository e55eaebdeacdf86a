"""A grammar of SQL, valid and broken, over a small codebook with tables to match: all it writes has a price or a refusal.

`python -m tests.sql_grammar 100000` tries so many queries and prints what became of them.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.accounting import budget
from deniable.errors import DeniableError
from deniable.plan.codebook import Codebook
from deniable.query import ErrorBasis, Request, compile_query, price_query
from deniable.query.sql import PrivateStatement, compile_statement, public_tables, read
from deniable.testing import Seeded

BOOK = Codebook.from_record(
    {
        "unit": {"id": "uid", "groups": 2, "rows_per_group": 3},
        "tables": {
            "t": {
                "variables": {
                    "uid": "integer",
                    "x": {"type": "integer", "bounds": [0, 100]},
                    "y": {"type": "number", "bounds": [-5, 5], "step": 0.5},
                    "s": "string",
                    "k": {"type": "string", "categories": ["a", "b"]},
                    "b": "boolean",
                    "d": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
                }
            },
            "u": {"variables": {"uid": "integer", "z": {"type": "integer", "bounds": [0, 9]}}},
            "p": {"public": True, "variables": {"s": "string", "w": {"type": "integer", "bounds": [0, 9]}}},
        },
    }
)
_RULE = budget(epsilon=10, delta=1e-6).filters()
_WORDS = (Path(__file__).with_name("sql_words.txt")).read_text(encoding="utf-8").split(" ")


class Grammar:
    """Random queries; half of the choices make sense."""

    def __init__(self, seed: int) -> None:
        self.entropy = Seeded(seed)

    def below(self, count: int) -> int:
        return self.entropy.word() % count

    def happens(self, chance: float) -> bool:
        return self.below(1000) < 1000 * chance

    def pick(self, *options: str) -> str:
        return options[self.below(len(options))]

    def maybe(self, text: str, chance: float = 0.4) -> str:
        return text if self.happens(chance) else ""

    def number(self, depth: int) -> str:
        if depth <= 0 and self.happens(0.7):
            return self.pick("x", "y", "x", "1", "0.5")
        if depth > 0 and self.happens(0.6):
            inner = self.number(depth - 1)
            return self.pick(
                f"({inner} {self.pick('+', '-')} {self.number(0)})", f"ABS({inner})", f"COALESCE({inner}, 0)", inner
            )
        if depth <= 0:
            return self.pick("x", "y", "x", "y", "x", "y", "1", "7", "0.5", "t.x", "z", "w", "uid", "nothing", "NULL")
        inner = self.number(depth - 1)
        return self.pick(
            f"({inner} {self.pick('+', '-', '*', '/', '%', '//')} {self.number(depth - 1)})",
            f"ABS({inner})", f"ROUND({inner}, 1)", f"FLOOR({inner})", f"COALESCE({inner}, 0)", f"LEAST({inner}, 5)",
            f"CASE WHEN {self.condition(depth - 1)} THEN {inner} ELSE {self.number(depth - 1)} END",
            f"CLAMP({inner}, 0, 5)", f"NULLIF({inner}, 0)", "EXTRACT(month FROM d)", f"CAST({inner} AS INTEGER)",
            f"-{inner}", f"SQRT({inner})", f"(SELECT {inner} FROM t)", f"LENGTH({self.text()})", inner,
        )  # fmt: skip

    def text(self) -> str:
        return self.pick("s", "k", "'a'", "UPPER(s)", "LOWER(k)", "SUBSTRING(s, 1, 2)", "s || k", "t.s")

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return self.pick(
                "b", "x > 3", "y <= 0.5", "k = 'a'", "s LIKE 'a%'", "s NOT LIKE '_'", "x IS NULL", "TRUE", "x"
            )
        return self.pick(
            f"{self.number(depth - 1)} {self.pick('=', '<', '>=', '<>')} {self.number(depth - 1)}",
            f"({self.condition(depth - 1)} {self.pick('AND', 'OR')} {self.condition(depth - 1)})",
            f"NOT {self.condition(depth - 1)}",
            f"{self.number(depth - 1)} {self.pick('', 'NOT')} BETWEEN 1 AND 5",
            f"{self.text()} {self.pick('', 'NOT')} IN ('a', 'b')",
            f"uid {self.pick('', 'NOT')} IN (SELECT uid FROM {self.pick('t', 'u', 'p')} {self.where(depth - 1)})",
            f"{self.pick('', 'NOT')} EXISTS (SELECT 1 FROM u WHERE u.uid = {self.pick('t.uid', 'uid', 'v.uid', 'x')})",
            f"d {self.pick('<', '>=')} {self.pick('DATE', '')} '2024-0{1 + self.below(9)}-01'",
        )  # fmt: skip

    def where(self, depth: int) -> str:
        return self.maybe(f"WHERE {self.condition(depth)}", 0.5)

    def source(self, depth: int) -> str:
        if depth <= 0 or self.happens(0.5):
            return self.pick(*["t"] * 12, "t AS v", "u", "p", "missing", "t, u", "t, p", "range(3)")
        inner = self.source(depth - 1)
        return self.pick(
            inner,
            f"{inner} {self.pick('', 'LEFT', 'RIGHT', 'FULL', 'SEMI', 'ANTI', 'CROSS')} JOIN {self.pick('u', 'p', 't')} "
            f"{self.pick('USING (uid)', 'USING (s)', 'ON t.uid = u.uid', 'ON t.s = p.s AND w > 3', 'ON x = z', '')}",
            f"(SELECT * FROM {inner} {self.where(0)}) q",
            f"(SELECT uid, {self.pick('COUNT(*)', 'CLAMP(SUM(x), 0, 50)')} AS x, {self.pick('MAX', 'AVG')}(y) AS y FROM {inner} "
            f"GROUP BY uid {self.maybe('HAVING COUNT(*) > 1')}) q",
            f"(SELECT x, s FROM t UNION {self.pick('ALL', '')} SELECT x, s FROM t) q",
            f"(SELECT k, COUNT(*) AS x FROM {inner} GROUP BY k) q",
        )

    def aggregate(self, depth: int) -> str:
        inner = self.number(depth)
        if self.happens(0.5):
            return self.pick(
                "COUNT(*)",
                f"SUM({inner})",
                f"AVG({inner})",
                f"COUNT({inner})",
                "COUNT(DISTINCT uid)",
                f"MEDIAN({inner})",
            )
        named = self.pick(
            "COUNT(*)", f"COUNT({inner})", f"SUM({inner})", f"AVG({inner})", f"MIN({inner})", f"MAX({inner})",
            f"MEDIAN({inner})", f"STDDEV({inner})", f"VAR_POP({inner})", "COUNT(DISTINCT uid)", f"COUNT(DISTINCT {inner})",
            f"QUANTILE({inner}, 0.9)", f"PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY {inner})", f"SUM({inner}) OVER ()",
            f"SUM({inner}, contribution_bounds_per_row => (0, 5))", f"LIST({inner})",
            f"SUM({inner}, contribution_bounds_per_group => (0, 9))", "COUNT(*, contribution_bounds_per_group => (0, 2))",
            f"AVG({inner}, contribution_bounds_per_group => (0, 9))", f"GROUPING({self.pick('k', 'b')})", f"COVAR_POP({inner}, x)",
        )  # fmt: skip
        named += self.maybe(f" FILTER (WHERE {self.condition(depth)})", 0.15)
        return self.pick(named, named, f"{named} / COUNT(*)", f"ROUND({named}, 2)", f"-{named}", f"{named} + 1")

    def query(self) -> str:
        depth = self.below(3)
        keys = [self.pick("k", "k", "s", "b", "x", "uid", "UPPER(s)", self.number(1)) for _ in range(self.below(3))]
        columns = [
            *keys,
            *(f"{self.aggregate(depth)}{self.maybe(f' AS c{i}')}" for i in range(self.below(4))),
        ]
        text = f"SELECT {self.maybe('DISTINCT ', 0.05)}{', '.join(columns) or '*'} FROM {self.source(depth)} {self.where(depth)}"
        if keys:
            odd = self.pick("1", "2", "ALL", "c0", "ROLLUP (k)", "CUBE (k, b)", "GROUPING SETS ((k), ())")
            text += f" GROUP BY {', '.join(keys) if self.happens(0.7) else odd}"
        text += self.maybe(f" HAVING {self.pick('COUNT(*) > 3', 'c0 > 1', self.condition(1))}", 0.2)
        text += self.maybe(f" ORDER BY {self.pick('1', 'c0', 'k', 'COUNT(*)', '9')} {self.pick('', 'DESC')}", 0.3)
        text += self.maybe(f" LIMIT {self.pick('1', '0', '-1', '1.5', 'x')}", 0.2)
        if self.happens(0.1):
            text = f"SELECT c0 FROM ({text}) o WHERE c0 > 1"
        if self.happens(0.05):
            text = text.replace("SELECT", f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({self.option()})", 1)
        return self.maybe("EXPLAIN DP ", 0.05) + text

    def option(self) -> str:
        return self.pick(
            "epsilon = 1", "privacy_unit_column = uid", "max_groups_contributed = 1", "min_privacy_units_per_group = 3",
            "group_selection_strategy = PUBLIC_GROUPS", "group_selection_strategy = LAPLACE_THRESHOLD", "delta = x",
        )  # fmt: skip

    def broken(self) -> str:
        """A query with words moved, dropped, doubled or put in."""
        words = self.query().split()
        for _ in range(1 + self.below(4)):
            at = self.below(len(words) + 1)
            change = self.below(3)
            if change == 0 and words:
                words.pop(min(at, len(words) - 1))
            elif change == 1:
                words.insert(at, _WORDS[self.below(len(_WORDS))])
            elif words:
                words.insert(at, words[self.below(len(words))])
        return " ".join(words)


class Nobody:
    """Who asks in a test that compiles and prices only."""

    def price_query(self, query: Any, payment: Any) -> Any:
        raise AssertionError

    def release_query(self, query: Any, payment: Any, request: Any) -> Any:
        raise AssertionError


_FOREIGN = ("duckdb", "binder", "catalog error", "sqlglot", "traceback", "object at 0x")
"""Words of an engine, of the parser or of Python that no refusal may say."""


def tried(text: str, dialect: str = "duckdb") -> tuple[str, PrivateStatement | None]:
    """What becomes of a query: refused, public, or priced; anything else is an error of ours."""
    try:
        statement = read(text, dialect=dialect)
        if public_tables(statement, BOOK) is not None:
            return "public", None
        assert BOOK.unit is not None
        private = compile_statement(statement, BOOK, Nobody())
        ready = compile_query(private.query, BOOK.unit)
        price = price_query(
            ready,
            Request(Fraction(1), None, Fraction(1, 10**7)),
            _RULE,
            ErrorBasis(confidence=Fraction(19, 20), group_size=1000),
        )
    except DeniableError as error:
        said = str(error)
        assert "\n" not in said or "\n" in text, said
        assert not any(word in said.lower() and word not in text.lower() for word in _FOREIGN), said
        return "refused", None
    assert price.spend.loss > 0
    return "priced", private


def run(seed: int, count: int) -> Counter[str]:
    """Try so many queries of a seed, one in three of them broken, one in five in another dialect."""
    grammar, found = Grammar(seed), Counter[str]()
    for index in range(count):
        text = grammar.query() if index % 3 else grammar.broken()
        dialect = "duckdb" if index % 5 else grammar.pick("postgres", "bigquery", "spark", "mysql", "")
        try:
            found[tried(text, dialect)[0]] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} on {text!r} ({dialect})") from error
    return found


def tables(count: int = 120) -> dict[str, dict[str, list[Any]]]:
    """Rows for the codebook: some people have many, some cells are missing, outside their bounds or off their grid."""
    mixed = [(i * 2654435761 + (i * i) % 1013) % 104729 for i in range(7 * count)]
    some = [mixed[i * count : (i + 1) * count] for i in range(7)]
    day = date(2024, 1, 1)
    return {
        "t": {
            "uid": [None if n % 41 == 0 else n % 9 for n in some[0]],
            "x": [None if n % 13 == 0 else n % 131 - 10 for n in some[1]],
            "y": [None if n % 17 == 0 else (n % 100) / 8 - 6 for n in some[2]],
            "s": [None if n % 11 == 0 else ["ant", "bee", "", "Ant"][n % 4] for n in some[3]],
            "k": [None if n % 19 == 0 else "abc"[n % 3] for n in some[4]],
            "b": [None if n % 7 == 0 else n % 2 == 0 for n in some[5]],
            "d": [None if n % 23 == 0 else day + timedelta(days=n % 400) for n in some[6]],
        },
        "u": {"uid": [n % 9 for n in some[1]][:40], "z": [n % 12 for n in some[2]][:40]},
        "p": {"s": ["ant", "bee", "cat", "bee"], "w": [1, 2, 3, 4]},
    }


def main(count: int) -> None:
    """Try `count` queries and say what became of them."""
    start = time.process_time()
    found = run(seed=2, count=count)
    said = ", ".join(f"{number:,} {what}" for what, number in sorted(found.items()))
    sys.stdout.write(
        f"{count:,} queries in {time.process_time() - start:.0f} s: {said}; no crash, none without a price\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
