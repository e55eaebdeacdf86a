"""Which variable of the codebook a column of a relation is: through filters, joins, unions and renaming."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from deniable.plan.expression import Column, Expression
from deniable.plan.nodes import Filter, Join, Project, Relation, Scan, Union, UnitAgg
from deniable.plan.relation import schema
from deniable.plan.variable import Variable


def variable_of(relation: Relation, name: str) -> Variable | None:
    """The variable whose cells this column holds unchanged; None when it is computed."""
    match relation:
        case Scan(codebook, table):
            return codebook[table][name]
        case Filter(source):
            return variable_of(source, name)
        case Project(source, columns):
            of = dict(columns)[name]
            return variable_of(source, of.name) if isinstance(of, Column) else None
        case Join(left, right):
            return variable_of(left if name in schema(left) else right, name)
        case Union(sources):
            found = {variable_of(source, name) for source in sources}
            return found.pop() if len(found) == 1 else None
        case UnitAgg(source, keys):
            key = dict(keys).get(name)
            return variable_of(source, key.name) if isinstance(key, Column) else None


def declared_bins(relation: Relation, of: Expression) -> tuple[Fraction, ...] | None:
    """The edges the codebook declares for a column, if it is one and has any."""
    variable = variable_of(relation, of.name) if isinstance(of, Column) and of.name in schema(relation) else None
    return None if variable is None else variable.bins


def bin_labels(edges: Sequence[Fraction]) -> tuple[str, ...]:
    """Words for the bins between edges: from the lower edge up to, not including, the upper one; the last one includes it."""
    texts = [str(int(edge)) if edge.denominator == 1 else str(float(edge)) for edge in edges]
    pairs = list(pairwise(texts))
    return tuple(f"[{a}, {b}{']' if index == len(pairs) - 1 else ')'}" for index, (a, b) in enumerate(pairs))
