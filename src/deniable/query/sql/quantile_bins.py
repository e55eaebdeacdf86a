"""`NTILE(4) OVER (ORDER BY x)` as a key: bins between private quantiles, which are a stage of their own.

The statement is written anew: the quantiles are released first and the rows are counted between them. Rows with the same value are
in the same bin, and rows without one in none.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from deniable.query.sql.env import part

EDGES = "edges"
"""What the stage of the quantiles is called in the statement that is written."""

EDGE = "edge "
"""How the names of the quantiles between bins begin."""

MOST = 100
"""The most bins."""


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
    if not whole or not 2 <= int(count.this) <= MOST or ordered.args.get("desc") or ordered.find(exp.Select):
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
    return exp.Quantile(this=of.copy(), quantile=exp.Literal.number(f"{place / bins:.6f}"))


def _up_to(of: exp.Expression, edge: exp.Column) -> exp.Expression:
    return exp.LTE(this=of.copy(), expression=edge.copy())


def _number(value: int) -> exp.Expression:
    return exp.Literal.number(value)
