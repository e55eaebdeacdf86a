"""A grammar of queries, valid and broken: whatever is written, there is a query, an explanation or a refusal; never a crash.

Compiling and pricing need no data, so the fuzzer runs on a codebook alone and every accepted query has a price.
"""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.accounting import budget
from deniable.errors import DeniableError
from deniable.plan.codebook import Codebook
from deniable.query import Request, lowered, priced
from deniable.query.price import Terms
from deniable.query.sql import compiled, public_tables, read
from deniable.release.dataset import session_rule
from deniable.testing import Seeded

_BOOK = Codebook.from_record(
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
_RULE = session_rule(budget(epsilon=10, delta=1e-6))
_WORDS = (Path(__file__).with_name("fuzz_words.txt")).read_text(encoding="utf-8").split(" ")


class _Asker:
    def price_of(self, query: Any, **terms: Any) -> Any:
        raise AssertionError

    def release_of(self, query: Any, **terms: Any) -> Any:
        raise AssertionError


class _Grammar:
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
        if depth <= 0:
            return self.pick(*["t"] * 8, "t AS v", "u", "p", "missing", "t, u", "t, p", "range(3)")
        inner = self.source(depth - 1)
        return self.pick(
            inner,
            f"{inner} {self.pick('', 'LEFT', 'RIGHT', 'FULL', 'SEMI', 'ANTI', 'CROSS')} JOIN {self.pick('u', 'p', 't')} "
            f"{self.pick('USING (uid)', 'USING (s)', 'ON t.uid = u.uid', 'ON t.s = p.s AND w > 3', 'ON x = z', '')}",
            f"(SELECT * FROM {inner} {self.where(0)}) q",
            f"(SELECT uid, COUNT(*) AS x, MAX(y) AS y FROM {inner} GROUP BY uid {self.maybe('HAVING COUNT(*) > 1')}) q",
            f"(SELECT x, s FROM t UNION {self.pick('ALL', '')} SELECT x, s FROM t) q",
            f"(SELECT k, COUNT(*) AS x FROM {inner} GROUP BY k) q",
        )

    def aggregate(self, depth: int) -> str:
        inner = self.number(depth)
        named = self.pick(
            "COUNT(*)", f"COUNT({inner})", f"SUM({inner})", f"AVG({inner})", f"MIN({inner})", f"MAX({inner})",
            f"MEDIAN({inner})", f"STDDEV({inner})", f"VAR_POP({inner})", "COUNT(DISTINCT uid)", f"COUNT(DISTINCT {inner})",
            f"QUANTILE({inner}, 0.9)", f"PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY {inner})", f"SUM({inner}) OVER ()",
            f"SUM({inner}, contribution_bounds_per_row => (0, 5))", f"LIST({inner})", f"COVAR_POP({inner}, x)",
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
            text += (
                f" GROUP BY {', '.join(keys) if self.happens(0.7) else self.pick('1', '2', 'ALL', 'c0', 'ROLLUP (k)')}"
            )
        text += self.maybe(f" HAVING {self.pick('COUNT(*) > 3', 'c0 > 1', self.condition(1))}", 0.2)
        text += self.maybe(f" ORDER BY {self.pick('1', 'c0', 'k', 'COUNT(*)', '9')} {self.pick('', 'DESC')}", 0.3)
        text += self.maybe(f" LIMIT {self.pick('1', '0', '-1', '1.5', 'x')}", 0.2)
        if self.happens(0.1):
            text = f"SELECT c0 FROM ({text}) o WHERE c0 > 1"
        return self.maybe("EXPLAIN DP ", 0.05) + text

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


def _tried(text: str, dialect: str) -> str:
    """What becomes of a query: refused, public, or priced; anything else is an error of ours."""
    try:
        statement = read(text, dialect=dialect)
        if public_tables(statement, _BOOK) is not None:
            return "public"
        assert _BOOK.unit is not None
        ready = lowered(compiled(statement, _BOOK, _Asker()).query, _BOOK.unit)
        price = priced(ready, Request(Fraction(1), None, Fraction(1, 10**7)), _RULE, Terms(Fraction(19, 20), 1000))
    except DeniableError as error:
        return "refused" if "\n" not in str(error) or "\n" in text else "refused over several lines"
    assert price.spend.loss > 0
    return "priced"


def _run(seed: int, count: int, seconds: float) -> dict[str, int]:
    grammar, found, start = _Grammar(seed), {"refused": 0, "public": 0, "priced": 0}, time.process_time()
    for index in range(count):
        text = grammar.query() if index % 3 else grammar.broken()
        dialect = "duckdb" if index % 5 else grammar.pick("postgres", "bigquery", "spark", "mysql", "")
        try:
            found[_tried(text, dialect)] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} on {text!r} ({dialect})") from error
        if time.process_time() - start > seconds:
            break
    return found


def test_a_few_thousand_queries_find_no_crash() -> None:
    found = _run(seed=1, count=3000, seconds=300)
    assert found["refused"] > 200
    assert found["priced"] > 60


@pytest.mark.slow
def test_a_hundred_thousand_queries_find_no_crash() -> None:
    """As many of them as 100 seconds allow; how many that is depends on the machine and is not judged."""
    found = _run(seed=2, count=100_000, seconds=100)
    assert all(found.values())


def test_a_column_that_is_not_there_to_look_up_is_refused() -> None:
    assert _tried("SELECT COUNT(*) FROM (SELECT FROM p) q WHERE uid NOT IN (SELECT uid FROM t)", "duckdb") == "refused"
