"""Sharing a count is allowed exactly where a filter leaves no row without the value."""

import pytest

from deniable.plan.codebook import Codebook
from deniable.plan.nodes import scan
from deniable.plan.presence import present_columns
from deniable.query import aggregates as ask
from deniable.query.builder import Query
from deniable.query.compile import compile_query

BOOK = Codebook.from_yaml("""
format: 1
unit: rows
tables:
  t:
    variables:
      x: {type: integer, bounds: [0, 9]}
      y: {type: integer, bounds: [0, 9]}
      s: {type: string}
""")


def query():
    return Query(source=scan(BOOK), runner=None)


@pytest.mark.parametrize(
    ("condition", "present"),
    [
        ("x > 0", {"x"}),
        ("x > 0 and y + 1 < 3", {"x", "y"}),
        ("x > 0 or y > 0", set()),
        ("x is not null", {"x"}),
        ("x is null", set()),
        ("x in (1, 2) and s like 'a%'", {"x", "s"}),
        ("coalesce(x, 0) >= 0", set()),
        ("not (x > 3)", set()),
    ],
)
def test_what_a_filter_implies(condition, present):
    assert present_columns(query().where(condition).source) == present


@pytest.mark.parametrize(("condition", "counts"), [("x > 0", 1), ("y > 0", 2), ("coalesce(x, 1) > 0", 2)])
def test_a_mean_shares_the_count_only_then(condition, counts):
    low = compile_query(query().where(condition).agg(n=ask.count(), m=ask.mean("x")), BOOK.unit)
    assert sum(type(aggregate).__name__ == "RowCount" for _, aggregate in low.plan.aggregates) == counts
