"""Bins between private quantiles as a key: `NTILE(4) OVER (ORDER BY x)`, and `group_by_quantiles` of the builder.

The question is written anew: the quantiles are a stage that is released first, and the rows are counted between them. Rows with the
same value are in the same bin, and rows without one in none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.analysis import facts
from deniable.plan.expression import Case, Column, Compare, Comparison, Expression, Literal
from deniable.plan.nodes import Filter, Join, Relation, ValueTable
from deniable.plan.relation import schema
from deniable.query.aggregates.percentile import UNWRITTEN, Quantile
from deniable.query.builder import Query
from deniable.query.keys import MOST_BINS
from deniable.query.sql.env import part

EDGES = "edges"
"""What the stage of the quantiles is called in the statement that is written."""

EDGE = "edge "
"""How the names of the quantiles between bins begin."""

STAGE = "stage 1"
"""What the table of quantiles is called in the plan."""

Answer = TypeVar("Answer")


def between_quantiles(query: Query[Answer]) -> tuple[Query[Answer], ValueTable, Query[Answer]]:
    """The question for the quantiles, the table they become, and the question between them.

    It is what `NTILE` becomes, so both have the same price and the same stored answer.
    """
    key = next(key for key in query.keys if key.quantiles)
    assert key.quantiles is not None
    if {f"{EDGE}1"} & schema(query.source).keys():
        raise QueryRefused("ambiguous-column", f"a column is called {EDGE}1", rewrite="rename it with select(...)")
    shares = {f"{EDGE}{place}": _share(place, key.quantiles) for place in range(1, key.quantiles)}
    asked = tuple((name, Quantile(key.of, share)) for name, share in shares.items())
    edges = replace(query, keys=(), aggregates=asked, levels=None, other=None, whole=False, shares=(), views=())
    known = facts(key.of, schema(query.source)).with_null(True)
    table = ValueTable(STAGE, tuple((name, known) for name in shares))
    binned = replace(key, of=Case(tuple(_branches(key.of, list(shares)))), quantiles=None)
    keys = tuple(binned if each is key else each for each in query.keys)
    return edges, table, replace(query, source=_beside(query.source, table), keys=keys)


def _beside(source: Relation, table: ValueTable) -> Relation:
    """Rows beside the quantiles; conditions come after, as in SQL."""
    if isinstance(source, Filter):
        return Filter(_beside(source.source, table), source.condition)
    return Join(source, table)


def _share(place: int, bins: int) -> Fraction:
    return Fraction(f"{place / bins:.6f}")


def _branches(of: Expression, edges: list[str]) -> Iterator[tuple[Expression, Expression]]:
    for place, edge in enumerate(edges, start=1):
        yield Compare(Comparison.AT_MOST, of, Column(edge)), Literal(place)
    yield Compare(Comparison.MORE, of, Column(edges[-1])), Literal(len(edges) + 1)


def with_quantile_bins(tree: exp.Expression) -> exp.Expression:
    """The statement with its NTILE written as bins between quantiles; as it is where there is none, or more than one."""
    found = {node.sql() for node in tree.find_all(exp.Window) if isinstance(node.this, exp.Ntile)}
    select = tree.find(exp.Select)
    if len(found) != 1 or not isinstance(tree, exp.Select) or select is not tree or part(tree, "with") is not None:
        return tree
    node = next(each for each in tree.find_all(exp.Window) if isinstance(each.this, exp.Ntile))
    asked = _asked(node)
    return tree if asked is None or part(tree, "from") is None else _written(tree, node.sql(), *asked)


def _asked(node: exp.Window) -> tuple[int, exp.Expression] | None:
    """How many bins of which column; None for a form that is not answered."""
    count, order = node.this.this, node.args.get("order")
    if node.args.get("partition_by") or node.args.get("spec") or order is None or len(order.expressions) != 1:
        return None
    whole = isinstance(count, exp.Literal) and not count.is_string and count.this.isdigit()
    ordered = order.expressions[0]
    if not whole or not 2 <= int(count.this) <= MOST_BINS or ordered.args.get("desc") or ordered.find(exp.Select):
        return None
    return int(count.this), ordered.this


def _written(tree: exp.Select, ntile: str, bins: int, of: exp.Expression) -> exp.Expression:
    edges = [_edge(place) for place in range(1, bins)]
    quantiles = exp.Select(
        expressions=[
            exp.alias_(_quantile(of, place, bins), each.name, quoted=True) for place, each in enumerate(edges, start=1)
        ]
    )
    for clause in ("from", "from_", "joins", "where"):
        if tree.args.get(clause) is not None:
            given: Any = tree.args[clause]
            quantiles.set(clause, [each.copy() for each in given] if isinstance(given, list) else given.copy())
    case = exp.Case(ifs=[exp.If(this=_up_to(of, each), true=_number(at)) for at, each in enumerate(edges, start=1)])
    case.append("ifs", exp.If(this=exp.GT(this=of.copy(), expression=edges[-1].copy()), true=_number(bins)))
    binned = tree.transform(lambda node: case.copy() if isinstance(node, exp.Window) and node.sql() == ntile else node)
    assert isinstance(binned, exp.Select)
    beside = exp.Join(this=exp.Table(this=exp.to_identifier(EDGES)), kind="CROSS")
    binned.set("joins", [*(binned.args.get("joins") or []), beside])
    return binned.with_(EDGES, as_=quantiles, copy=False)


def _edge(place: int) -> exp.Column:
    return exp.column(exp.to_identifier(f"{EDGE}{place}", quoted=True), exp.to_identifier(EDGES))


def _quantile(of: exp.Expression, place: int, bins: int) -> exp.Expression:
    quantile = exp.Quantile(this=of.copy(), quantile=exp.Literal.number(f"{place / bins:.6f}"))
    quantile.meta[UNWRITTEN] = True
    return quantile


def _up_to(of: exp.Expression, edge: exp.Column) -> exp.Expression:
    return exp.LTE(this=of.copy(), expression=edge.copy())


def _number(value: int) -> exp.Expression:
    return exp.Literal.number(value)
