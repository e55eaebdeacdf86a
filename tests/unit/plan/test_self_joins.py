"""How often a private table may be joined with itself: what is paired before bounding is work one unit decides."""

from __future__ import annotations

from functools import reduce

import pytest

import deniable as dp
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Join, JoinKind, Project, Relation, Union, UnitAgg, UnitSummary, UnitValue, scan
from deniable.plan.relation import MOST_TIMES, shape

RECORD = """
unit: {{id: p, groups: 1, rows_per_group: 1{unique}}}
tables:
  t: {{unit: p, variables: {{p: integer, x: {{type: integer, bounds: [0, 9]}}}}}}
  u: {{unit: p, variables: {{p: integer, y: {{type: integer, bounds: [0, 9]}}}}}}
  w: {{public: true, variables: {{z: integer}}}}
"""
BOOK, UNIQUE = (Codebook.from_yaml(RECORD.format(unique=unique)) for unique in ("", ", unique: true"))


def _named(source: Relation, index: int) -> Relation:
    """The rows with the unit's column under another name."""
    return Project(source, ((f"p{index}", Column("p")),))


def _chain(parts: list[Relation], kind: JoinKind = JoinKind.INNER) -> Relation:
    numbered = [_named(part, index) for index, part in enumerate(parts)]
    pairs = enumerate(numbered[1:], start=1)
    return reduce(lambda left, pair: Join(left, pair[1], (("p0", f"p{pair[0]}"),), kind), pairs, numbered[0])


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT])
def test_a_table_is_paired_with_itself_at_most_twice(kind: JoinKind) -> None:
    for times in range(1, 10):
        chain = _chain([scan(BOOK, "t")] * times, kind)
        if times <= MOST_TIMES:
            assert shape(chain).met == ("t",) * times
        else:
            with pytest.raises(QueryRefused, match=r"^self-join: .* paired with themselves 3 times, at most 2"):
                shape(chain)


def test_pairs_hidden_in_unions_filters_and_sub_queries_count() -> None:
    t, u = scan(BOOK, "t"), scan(BOOK, "u")
    pair = Project(_chain([t, t]), (("p", Column("p0")),))
    both = Union((pair, Project(_chain([u, u, u]), (("p", Column("p0")),))))
    assert sorted(shape(both).met) == ["t", "t", "u", "u", "u"]
    keyed = UnitAgg(pair, (("p", Column("p")), ("k", Column("p"))), ())
    for hidden in (pair, both, Project(both, (("p", Column("p")),))):
        with pytest.raises(QueryRefused, match="self-join"):
            shape(_chain([hidden, hidden]))
    assert shape(keyed).most_rows == 1


def test_what_cannot_multiply_is_not_counted() -> None:
    t = scan(BOOK, "t")
    once = UnitAgg(t, (("p", Column("p")),), (UnitValue("n", UnitSummary.ROWS),))
    for chain in (
        _chain([scan(UNIQUE, "t")] * 9),
        _chain([once] * 9),
        _chain([t, *[once] * 8]),
        _chain([t] * 9, JoinKind.SEMI),
        _chain([t] * 9, JoinKind.ANTI),
        _chain([t, t, t, *[scan(BOOK, "u")] * 3]),
    ):
        assert not shape(chain).public


def test_sql_says_how_to_write_it_instead() -> None:
    session = dp.Dataset(
        {"t": {"p": [1], "x": [1]}, "u": {"p": [1], "y": [1]}, "w": {"z": [1]}}, codebook=BOOK
    ).session(dp.budget(epsilon=1))
    tables = " ".join(f"JOIN t a{i} ON a0.p = a{i}.p" for i in range(1, 9))
    with pytest.raises(QueryRefused, match="summarise per unit first") as refused:
        session.sql(f"SELECT COUNT(*) AS n FROM t a0 {tables}", epsilon=1)
    assert refused.value.code == "self-join"
    assert session.spent.loss == 0
    each = " ".join(f"JOIN (SELECT p, COUNT(*) AS n FROM t GROUP BY p) b{i} ON a0.p = b{i}.p" for i in range(1, 4))
    session.sql(f"SELECT COUNT(*) AS n FROM t a0 {each}", epsilon=1)
