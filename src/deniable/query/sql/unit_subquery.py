"""Sub-queries per unit: `SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id` as rows that each belong to one unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.analysis import facts
from deniable.plan.expression import Column, Expression
from deniable.plan.nodes import Filter, Project, Relation, UnitAgg, UnitSummary, UnitValue
from deniable.plan.relation import OWN_UNIT, derive, schema, shape
from deniable.query.per_unit import MOST_ROWS, mean_step, unit_mean
from deniable.query.sql.env import Env, is_aggregate, output_name, own_aggregates
from deniable.query.sql.grouping import grouping_sets, one_set
from deniable.query.sql.join_terms import conjuncts
from deniable.query.sql.source import FromClause, Name, refused

_SUMMARIES: dict[type[exp.Expression], UnitSummary] = {
    exp.Sum: UnitSummary.SUM,
    exp.Min: UnitSummary.LEAST,
    exp.Max: UnitSummary.GREATEST,
    exp.Median: UnitSummary.MEDIAN,
    exp.Mode: UnitSummary.MODE,
}


def per_unit(select: exp.Select, source: FromClause, env: Env, alias: str) -> FromClause:
    """A grouped (or DISTINCT) SELECT over these rows whose groups lie within units, as a relation."""
    sets = grouping_sets(select, source)
    keys = [term for terms in sets for term in terms]
    if select.args.get("distinct") and not select.args.get("group"):
        if any(own_aggregates(each) for each in select.expressions) or select.args["distinct"].args.get("on"):
            raise refused(
                select, env.text, "distinct", "DISTINCT of aggregates per unit is not answered", "leave it out"
            )
        keys = [each.unalias() for each in select.expressions]
    _checked_unit(select, source, keys)
    one_set(
        select, source, sets, "in a sub-query per unit, a row would stand once for every grouping set",
        "group by columns here; ROLLUP, CUBE and GROUPING SETS go where many units are aggregated",
    )  # fmt: skip
    return _PerUnit(source, keys, env.said).done(select, alias)


def belongs_to_units(select: exp.Select, source: FromClause) -> bool:
    """Whether a grouped (or DISTINCT) SELECT of these has rows of single units, or of public tables, and not of many units."""
    keys = [term for terms in grouping_sets(select, source) for term in terms]
    if select.args.get("distinct") and not select.args.get("group"):
        keys += [each.unalias() for each in select.expressions]
    return shape(source.relation).public or _has_unit(source, keys)


def _has_unit(source: FromClause, keys: Sequence[exp.Expression]) -> bool:
    """Whether a key is the unit's own column."""
    below = shape(source.relation)
    named = [source.found(key) for key in keys if isinstance(key, exp.Column)]
    return any(len(found) == 1 and below.anchors.get(found[0].column) == OWN_UNIT for found in named)


def _checked_unit(select: exp.Select, source: FromClause, keys: Sequence[exp.Expression]) -> None:
    if shape(source.relation).public:
        raise refused(
            select, source.text, "public-aggregate", "an aggregate of public rows beside private ones", "write it out"
        )
    if _has_unit(source, keys):
        return
    raise refused(
        select, source.text, "aggregate-below-noise",
        "an aggregate over the rows of many units cannot be read again as private rows",
        "aggregate once, outermost, or per unit: GROUP BY the unit's own column in the sub-query",
    )  # fmt: skip


@dataclass(slots=True)
class _PerUnit:
    source: FromClause
    terms: Sequence[exp.Expression]
    said: list[str]
    keys: dict[Expression, str] = field(default_factory=dict)
    values: dict[UnitValue, str] = field(default_factory=dict)
    means: dict[Expression, tuple[str, Expression]] = field(default_factory=dict)

    def done(self, select: exp.Select, alias: str) -> FromClause:
        read = self.source.translator
        for term in self.terms:
            of = read.expression(term)
            self.keys.setdefault(of, of.name if isinstance(of, Column) else f"key_{len(self.keys)}")
        listed = [(output_name(each), self._replaced(each.unalias())) for each in select.expressions]
        having = select.args.get("having")
        kept = [self._replaced(each) for each in conjuncts(having.this if having is not None else None)]
        relation = self._relation()
        names = tuple(Name("", name, name) for name in schema(relation))
        inner = FromClause(relation, names, self.source.text)
        aliases = {name.lower(): tree for name, tree in listed}
        for condition in kept:
            relation = Filter(relation, inner.translator.expression(_unaliased(condition, aliases, inner)))
        columns = tuple((name, inner.translator.expression(tree)) for name, tree in listed)
        if columns != tuple((name, Column(name)) for name in schema(relation)):
            relation = Project(relation, columns)
        schema(relation)
        return FromClause(relation, tuple(Name(alias, name, name) for name, _ in columns), self.source.text)

    def _relation(self) -> Relation:
        values = tuple(replace(value, name=name) for value, name in self.values.items())
        relation = UnitAgg(self.source.relation, tuple((name, of) for of, name in self.keys.items()), values)
        return derive(relation, **dict(self.means.values())) if self.means else relation

    def _replaced(self, tree: exp.Expression) -> exp.Expression:
        """The tree with its aggregates and keys replaced by columns of the per-unit relation."""
        if isinstance(tree, exp.Avg) and not isinstance(tree.this, exp.Distinct):
            return _column(self._mean(tree), tree)
        if isinstance(tree, exp.Filter | exp.WithinGroup) or is_aggregate(tree):
            return _column(self._value(tree), tree)
        if not own_aggregates(tree) and not isinstance(tree, exp.Literal | exp.Null | exp.Boolean):
            known = self._key(tree)
            if known is not None:
                return _column(known, tree)
        copy = tree.copy()
        for name, value in tree.args.items():
            if isinstance(value, exp.Expression):
                copy.set(name, self._replaced(value))
            elif isinstance(value, list):
                copy.set(name, [self._replaced(each) if isinstance(each, exp.Expression) else each for each in value])
        return copy

    def _key(self, tree: Any) -> str | None:
        if isinstance(tree, exp.Column) and not self.source.found(tree):
            return None
        if not list(tree.find_all(exp.Column)) or not isinstance(tree, exp.Condition):
            return None
        known = self.keys.get(self.source.translator.expression(tree))
        if known is None and isinstance(tree, exp.Column):
            raise refused(tree, self.source.text, "not-grouped", f"{tree.sql()!r} is not in GROUP BY", "add it there")
        return known

    def _mean(self, node: exp.Avg) -> str:
        """The column of a unit's own average: its sum over its count, on a grid up to 1,024 times as fine as the column's."""
        of = self.source.translator.expression(node.this)
        if of not in self.means:
            known = facts(of, self.source.schema)
            total, count = (Column(self._value(kind(this=node.this.copy()))) for kind in (exp.Sum, exp.Count))
            try:
                mean = unit_mean(total, count, known)
            except QueryRefused as error:
                raise refused(node, self.source.text, error.code, error.reason, error.rewrite) from None
            self.means[of] = (f"mean_{len(self.means)}", mean)
            self.said.append(
                f"{node.sql()} of one unit is rounded to a multiple of {float(mean_step(known)):g} "
                f"and reads up to {MOST_ROWS:,} rows."
            )
        return self.means[of][0]

    def _say(self, node: exp.Expression) -> None:
        if isinstance(node, exp.Median):
            self.said.append(f"{node.sql()} of one unit is the lower of two middle values.")

    def _value(self, node: exp.Expression) -> str:
        read, text = self.source.translator, self.source.text
        inner = node.this
        if isinstance(node, exp.Count) and not node.expressions:
            if inner is None or isinstance(inner, exp.Star | exp.Literal):
                wanted = _nameless(UnitSummary.ROWS)
            elif isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
                wanted = _nameless(UnitSummary.DISTINCT, read.expression(inner.expressions[0]))
            elif isinstance(inner, exp.Distinct):
                raise refused(node, text, "aggregate", "COUNT(DISTINCT ...) takes one column")
            else:
                wanted = _nameless(UnitSummary.COUNT, read.expression(inner))
        elif isinstance(node, exp.WithinGroup) and (found := _within_group(node)) is not None:
            wanted = replace(found, of=read.expression(node.expression.expressions[0].this))
        elif type(node) in _SUMMARIES and not node.expressions and not isinstance(inner, exp.Distinct):
            wanted = _nameless(_SUMMARIES[type(node)], read.expression(inner))
            self._say(node)
        else:
            raise refused(
                node,
                text,
                "aggregate",
                "per unit there are COUNT, SUM, AVG, MIN, MAX, MEDIAN, PERCENTILE_DISC and MODE",
                "clamp(SUM(x), lower, upper)",
            )
        return self.values.setdefault(wanted, f"value_{len(self.values)}")


def _nameless(summary: UnitSummary, of: Expression | None = None) -> UnitValue:
    return UnitValue("", summary, of)


def _within_group(node: exp.WithinGroup) -> UnitValue | None:
    """MODE() and PERCENTILE_DISC(q), rising; at 0.5 that is the lower median by definition."""
    order = node.expression.expressions
    if len(order) != 1 or order[0].args.get("desc"):
        return None
    if isinstance(node.this, exp.Mode) and node.this.this is None:
        return _nameless(UnitSummary.MODE)
    share = node.this.this
    if not (isinstance(node.this, exp.PercentileDisc) and isinstance(share, exp.Literal) and not share.is_string):
        return None
    if Fraction(share.this) == Fraction(1, 2):
        return _nameless(UnitSummary.MEDIAN)
    return UnitValue("", UnitSummary.QUANTILE, share=Fraction(share.this))


def _column(name: str, origin: exp.Expression) -> exp.Column:
    column = exp.column(exp.to_identifier(name, quoted=True))
    for inner in origin.walk():
        if "start" in inner.meta:
            column.this.meta.update(inner.meta)
            break
    return column


def _unaliased(tree: exp.Expression, aliases: dict[str, exp.Expression], inner: FromClause) -> exp.Expression:
    def change(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and not inner.found(node) and not node.table:
            return aliases.get(node.name.lower(), node)
        return node

    return tree.transform(change)
