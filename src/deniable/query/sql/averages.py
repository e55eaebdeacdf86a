"""`AVG(x, contribution_bounds_per_group => (a, b))`: the mean over units of each unit's own, clamped average in the group.

It is another number than the mean over rows. The SELECT becomes one over a sub-query per unit and group, in which every unit
has one row; aggregates beside it must say their bounds per group too, because they are read from the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from deniable.plan.relation import OWN_UNIT, shape
from deniable.query.sql.env import is_aggregate
from deniable.query.sql.grouping import grouping_sets, one_set
from deniable.query.sql.source import FromClause, refused

_OUTER = {"having", "order", "limit", "offset", "distinct", "with", "with_"}
_UNIT = "unit of the row"


def averages_units(select: exp.Expression) -> bool:
    """Whether a SELECT has an average with bounds per group of its own."""
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    return any(
        isinstance(node, exp.Anonymous)
        and str(node.this) == "AVG"
        and any(_per_group(each) for each in node.expressions)
        for clause in clauses
        if clause is not None
        for node in clause.walk(prune=lambda each: isinstance(each, exp.Select | exp.Subquery))
    )


def _per_group(node: exp.Expression) -> bool:
    return isinstance(node, exp.Kwarg) and node.name.lower() == "contribution_bounds_per_group"


def over_units(select: exp.Select, source: FromClause) -> exp.Select:
    """The same SELECT over one row for every unit and group."""
    terms = one_set(
        select, source, grouping_sets(select, source), "a unit's own average is another number on every level of totals",
        "AVG(x) is the average over rows, on all levels; or ask for one level at a time",
    )  # fmt: skip
    return _Rewriting(select, source, terms).done()


@dataclass(slots=True)
class _Rewriting:
    select: exp.Select
    source: FromClause
    terms: Sequence[exp.Expression]
    inner: dict[str, exp.Expression] = field(default_factory=dict)

    def done(self) -> exp.Select:
        self.inner[_UNIT] = self._unit()
        keys = {term.sql(): term.sql().lower() for term in self.terms}
        self.inner |= {keys[term.sql()]: term.copy() for term in self.terms}
        outer = exp.Select(expressions=[self._read(each, keys, named=True) for each in self.select.expressions])
        for name in ("having", "order", "limit", "offset"):
            if self.select.args.get(name) is not None:
                outer.set(name, self._read(self.select.args[name], keys))
        below = self.select.copy()
        for name in _OUTER:
            below.set(name, None)
        below.set("expressions", [exp.alias_(of, name, quoted=True) for name, of in self.inner.items()])
        grouped = [self.inner[_UNIT].copy(), *(term.copy() for term in self.terms)]
        below.set("group", exp.Group(expressions=grouped))
        outer = outer.from_(below.subquery("per unit"), copy=False)
        if self.terms:
            outer.set("group", exp.Group(expressions=[_column(name) for name in keys.values()]))
        return outer

    def _unit(self) -> exp.Expression:
        anchors = shape(self.source.relation).anchors
        for name in self.source.names:
            if anchors.get(name.column) == OWN_UNIT:
                return exp.column(exp.to_identifier(name.visible, quoted=True), table=name.table or None)
        raise refused(
            self.select, self.source.text, "contribution-bounds", "these rows do not show whose they are",
            "join the table that holds the unit's own column",
        )  # fmt: skip

    def _read(self, tree: exp.Expression, keys: dict[str, str], *, named: bool = False) -> exp.Expression:
        """The tree over the sub-query's columns, under the name it had."""
        name = tree.alias or (tree.name if isinstance(tree, exp.Column) else tree.sql().lower())
        changed: Any = tree.unalias().transform(lambda node: self._changed(node, keys))
        shown: exp.Expression = exp.alias_(changed, name, quoted=True) if named else changed  # type: ignore[assignment]
        return shown

    def _changed(self, node: exp.Expression, keys: dict[str, str]) -> exp.Expression:
        if isinstance(node, exp.Anonymous) and is_aggregate(node):
            return self._over_parts(node)
        if is_aggregate(node):
            raise refused(
                node, self.source.text, "contribution-bounds", "beside an average per unit every aggregate says its bounds",
                "COUNT(*, contribution_bounds_per_group => (0, 5)), SUM(x, contribution_bounds_per_group => (0, 100))",
            )  # fmt: skip
        known = keys.get(node.sql()) if isinstance(node, exp.Condition) else None
        return node if known is None else _column(known)

    def _over_parts(self, node: exp.Anonymous) -> exp.Expression:
        given = [each for each in node.expressions if _per_group(each)]
        arguments = [each for each in node.expressions if not isinstance(each, exp.Kwarg)]
        kinds: dict[str, Any] = {"AVG": exp.Avg, "SUM": exp.Sum, "COUNT": exp.Count}
        if len(given) != 1 or len(arguments) != 1 or len(node.expressions) != 2 or str(node.this) not in kinds:
            raise refused(
                node, self.source.text, "contribution-bounds", "AVG, SUM and COUNT have bounds per group here"
            )
        part = f"part {len(self.inner)}"
        self.inner[part] = kinds[str(node.this)](this=arguments[0].copy())
        bounds = given[0].expression.expressions
        clamped = exp.Anonymous(this="CLAMP", expressions=[_column(part), *(each.copy() for each in bounds)])
        return exp.Avg(this=clamped) if str(node.this) == "AVG" else exp.Sum(this=clamped)


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))
