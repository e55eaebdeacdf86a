"""Whatever is written, there is a price, a public query or a refusal; never a crash. `tests/sql_grammar.py` tries more."""

from __future__ import annotations

import pytest

from tests.conftest import EXPLORES
from tests.sql_grammar import run, tried


@pytest.mark.slow
def test_a_few_thousand_queries_find_no_crash() -> None:
    found = run(seed=3, count=40_000 if EXPLORES else 4_000)
    assert found["refused"] > 200
    assert found["priced"] > 60
    assert found["public"] > 20


def test_a_column_that_is_not_there_to_look_up_is_refused() -> None:
    text = "SELECT COUNT(*) FROM (SELECT FROM p) q WHERE uid NOT IN (SELECT uid FROM t)"
    assert tried(text)[0] == "refused"
