"""Which variable of the codebook a column of a relation is: through filters, joins, unions and renaming."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import assert_never

from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column, Expression
from deniable.plan.expression import columns as read_columns
from deniable.plan.facts import Facts
from deniable.plan.nodes import Filter, GroupAgg, Join, JoinKind, Project, Relation, Scan, Union, UnitAgg, ValueTable
from deniable.plan.relation import entering, schema
from deniable.plan.variable import Variable


def codebooks(relation: Relation) -> tuple[Codebook, ...]:
    """The codebook of every table a relation reads."""
    match relation:
        case Scan(codebook):
            return (codebook,)
        case ValueTable():
            return ()
        case Filter(source) | Project(source) | UnitAgg(source):
            return codebooks(source)
        case Join(left, right):
            return (*codebooks(left), *codebooks(right))
        case Union(sources):
            return tuple(book for source in sources for book in codebooks(source))
        case _:
            assert_never(relation)


def joins_limited(relation: Relation) -> frozenset[int]:
    """To how many rows of one unit the joins of a relation limit their sides; empty where none does."""
    here = {most for most in entering(relation) if most is not None} if isinstance(relation, Join) else set()
    return frozenset(here).union(*map(joins_limited, sources_of(relation)))


def sources_of(relation: Relation) -> tuple[Relation, ...]:
    """The relations directly below."""
    match relation:
        case Scan() | ValueTable():
            return ()
        case Filter(source) | Project(source) | UnitAgg(source):
            return (source,)
        case Join(left, right):
            return (left, right)
        case Union(sources):
            return sources
        case _:
            assert_never(relation)


def read_below(relation: Relation, names: Collection[str]) -> tuple[frozenset[str], ...]:
    """The columns each relation below must have for `names` to be computed; what tells rows of a join's side apart."""
    match relation:
        case Scan() | ValueTable():
            return ()
        case Filter(_, condition):
            return (frozenset(names) | read_columns(condition),)
        case Project(_, entries):
            return (_reads(of for name, of in entries if name in names),)
        case Join(left, _, on, _, condition):
            ours, read = schema(left), frozenset() if condition is None else read_columns(condition)
            beside = frozenset(name for name in names if name not in ours) | {b for _, b in on} | (read - ours.keys())
            return frozenset(name for name in names if name in ours) | {a for a, _ in on} | (read & ours.keys()), beside
        case Union(sources):
            return (frozenset(names),) * len(sources)
        case UnitAgg(_, keys, values):
            taken = (value.of for value in values if value.name in names and value.of is not None)
            return (_reads(of for _, of in keys) | _reads(taken),)
        case _:
            assert_never(relation)


def _reads(expressions: Iterable[Expression]) -> frozenset[str]:
    return frozenset().union(*map(read_columns, expressions))


def computed(relation: Relation) -> Iterator[tuple[Expression, Mapping[str, Facts]]]:
    """Every expression a relation computes or filters by, with the columns it reads from."""
    match relation:
        case Scan() | ValueTable():
            return
        case Filter(source, condition):
            yield condition, schema(source)
            yield from computed(source)
        case Project(source, columns):
            yield from ((of, schema(source)) for _, of in columns)
            yield from computed(source)
        case Join(left, right, _, _, condition):
            if condition is not None:
                yield condition, schema(left) | schema(right)
            yield from computed(left)
            yield from computed(right)
        case Union(sources):
            for source in sources:
                yield from computed(source)
        case UnitAgg(source, keys, values):
            yield from ((of, schema(source)) for _, of in keys)
            yield from ((value.of, schema(source)) for value in values if value.of is not None)
            yield from computed(source)
        case _:
            assert_never(relation)


def variable_of(relation: Relation, name: str) -> Variable | None:
    """The variable whose cells this column holds unchanged; None when it is computed."""
    match relation:
        case Scan(codebook, table):
            return codebook[table][name]
        case ValueTable():
            return None
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


def unit_columns(relation: Relation) -> frozenset[str]:
    """The columns that the codebook calls constant for a unit, and those computed from them alone."""
    match relation:
        case Scan(codebook, table):
            here = codebook[table]
            return frozenset(each.name for each in here.variables if each.of_unit and not here.public)
        case ValueTable():
            return frozenset()
        case Filter(source):
            return unit_columns(source)
        case Project(source, columns) | UnitAgg(source, columns):
            below = unit_columns(source)
            return frozenset(name for name, of in columns if read_columns(of) and read_columns(of) <= below)
        case Join(left, right, _, kind):
            beside = unit_columns(right) if kind is JoinKind.INNER else frozenset()
            return unit_columns(left) | beside
        case Union():
            return frozenset()
        case _:
            assert_never(relation)


def tables_of(plan: GroupAgg) -> tuple[str, ...]:
    """The private tables a plan reads, by name."""
    return tuple(sorted(_tables(plan.source)))


def _tables(relation: Relation) -> set[str]:
    match relation:
        case Scan(codebook, table):
            return set() if codebook[table].public else {table}
        case ValueTable():
            return set()
        case Filter(source) | Project(source) | UnitAgg(source):
            return _tables(source)
        case Join(left, right):
            return _tables(left) | _tables(right)
        case Union(sources):
            return set().union(*map(_tables, sources))


def declared_bins(relation: Relation, of: Expression) -> tuple[Fraction, ...] | None:
    """The edges the codebook declares for a column, if it is one and has any."""
    variable = variable_of(relation, of.name) if isinstance(of, Column) and of.name in schema(relation) else None
    return None if variable is None else variable.bins


def bin_labels(edges: Sequence[Fraction]) -> tuple[str, ...]:
    """Words for the bins between edges: from the lower edge up to, not including, the upper one; the last one includes it."""
    texts = [str(int(edge)) if edge.denominator == 1 else str(float(edge)) for edge in edges]
    pairs = list(pairwise(texts))
    return tuple(f"[{a}, {b}{']' if index == len(pairs) - 1 else ')'}" for index, (a, b) in enumerate(pairs))
