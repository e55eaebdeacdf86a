"""What a query's own conditions say about its declared keys, from the text of the query and the codebook alone.

A condition on a key decides, value by value, whether a group can hold a row: one that cannot is not shown. A condition that
names only values outside a column's declared categories is refused, because no row can meet it.
Guarantee: nothing is read; a group that is left out is empty whatever the data are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any

from deniable.engines.evaluate import evaluate
from deniable.errors import QueryRefused
from deniable.plan.analysis import literal_facts
from deniable.plan.expression import And, Column, Compare, Comparison, Expression, In, Literal, children, columns
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import Filter, Join, Project, Relation
from deniable.plan.provenance import computed
from deniable.plan.relation import schema


def possible_keys(source: Relation, of: Expression, domain: tuple[object, ...]) -> tuple[object, ...]:
    """The declared values of a key that the conditions on it let through; all of them if that would be none."""
    if not isinstance(of, Column):
        return domain
    conditions = tuple((condition, name, schema(at)[name]) for condition, name, at in _conditions(source, of.name))
    typed = tuple((type(value), value) for value in domain)  # in Python (0, 1) equals (False, True)
    return _left(typed, conditions) or domain


@lru_cache(maxsize=64)
def _left(
    typed: tuple[tuple[type, object], ...], conditions: tuple[tuple[Expression, str, Facts], ...]
) -> tuple[object, ...]:
    """The values that all conditions let through; remembered, because a question is priced more than once."""
    return tuple(value for _, value in typed if all(_passes(value, *each) for each in conditions))


def narrowed(source: Relation, name: str) -> Facts:
    """The facts of a column where the query's comparisons of it with constants hold.

    Guarantee: every value of the column in a row of `source` fits them, whatever the data are.
    """
    known = schema(source)[name]
    if not known.bounded or known.kind in (Kind.STRING, Kind.BOOLEAN):
        return known
    low, high = known.ends
    for condition, here, _ in _conditions(source, name):
        for part in _all_of(condition):
            below, above = _ends(part, here, known)
            low, high = max(low, below), min(high, above)
    return replace(known, lower=low, upper=high) if known.ends != (low, high) and low <= high else known


def _all_of(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _all_of(part)
    else:
        yield condition


_MIRRORED = {
    Comparison.LESS: Comparison.MORE,
    Comparison.AT_MOST: Comparison.AT_LEAST,
    Comparison.MORE: Comparison.LESS,
    Comparison.AT_LEAST: Comparison.AT_MOST,
    Comparison.EQUAL: Comparison.EQUAL,
}


def _ends(condition: Expression, name: str, known: Facts) -> tuple[int, int]:
    """Between which grid points a comparison with a constant leaves a column; the column's own ends for anything else."""
    match condition:
        case Compare(comparison, Column(here), Literal() as constant) if here == name:
            pass
        case Compare(mirrored, Literal() as constant, Column(here)) if here == name and mirrored in _MIRRORED:
            comparison = _MIRRORED[mirrored]
        case _:
            return known.ends
    kind = literal_facts(constant.value).kind
    if {kind, known.kind} not in ({Kind.NUMBER}, {Kind.DATE}, {Kind.TIMESTAMP}):
        return known.ends
    at = literal_facts(constant.value).ends[0] if kind is not Kind.NUMBER else constant.number / known.step
    low, high = known.ends
    match comparison:
        case Comparison.LESS:
            return low, ceil(at) - 1
        case Comparison.AT_MOST:
            return low, floor(at)
        case Comparison.MORE:
            return floor(at) + 1, high
        case Comparison.AT_LEAST:
            return ceil(at), high
        case Comparison.EQUAL:
            return ceil(at), floor(at)
        case _:
            return low, high


_HELD = {
    Kind.NUMBER: Fraction,
    Kind.STRING: str,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
    Kind.BOOLEAN: bool,
}


def listed_keys(source: Relation, of: Expression, known: Facts) -> tuple[object, ...] | None:
    """The values a condition lists for a key that has no declared ones, `substring(phone, 1, 2) IN ('13', '31')`; else None.

    Rows with other values are left out by the condition itself, so these are all the groups there can be.
    """
    for condition in _on_expression(source, of):
        match condition:
            case In(_, among):
                values: list[Any] = [each.value for each in among]
            case Compare(Comparison.EQUAL, _, Literal(value)):
                values = [value]
            case _:
                continue
        if not all(type(value) is _HELD[known.kind] for value in values):
            continue
        if known.kind is Kind.NUMBER:
            values = [int(value / known.step) for value in values if (value / known.step).denominator == 1]
        if values:
            return tuple(dict.fromkeys(values))
    return None


def _on_expression(source: Relation, of: Expression) -> Iterator[Expression]:
    """The conditions below that list values of this very expression."""
    match source:
        case Filter(below, condition):
            for part in condition.parts if isinstance(condition, And) else (condition,):
                match part:
                    case In(value) | Compare(Comparison.EQUAL, value, Literal()) if value == of:
                        yield part
                    case _:
                        pass
            yield from _on_expression(below, of)
        case Project(below, written) if isinstance(of, Column):
            yield from _on_expression(below, dict(written)[of.name])
        case Join(left) if columns(of) <= schema(left).keys():
            yield from _on_expression(left, of)
        case _:
            return


def _conditions(source: Relation, name: str) -> Iterator[tuple[Expression, str, Relation]]:
    """Every condition that reads this column alone, with the column's name there and the relation it stands on."""
    match source:
        case Filter(below, condition):
            for part in condition.parts if isinstance(condition, And) else (condition,):
                if columns(part) == {name}:
                    yield part, name, below
            yield from _conditions(below, name)
        case Project(below, written):
            of = dict(written)[name]
            if isinstance(of, Column):
                yield from _conditions(below, of.name)
        case Join(left) if name in schema(left):
            yield from _conditions(left, name)
        case _:
            return


def _passes(value: object, condition: Expression, name: str, known: Facts) -> bool:
    cell: Any = value * known.step if isinstance(value, int) and not isinstance(value, bool) else value
    return evaluate(condition, {name: cell}, {name: known}) is True


def check_categories(source: Relation, expressions: Sequence[Expression]) -> None:
    """Refuse a comparison of a column with a text that is none of its declared categories."""
    here = schema(source)
    for expression, known in (*((each, here) for each in expressions), *computed(source)):
        _check(expression, known)


def _check(expression: Expression, known: Mapping[str, Facts]) -> None:
    match expression:
        case Compare(Comparison.EQUAL | Comparison.NOT_EQUAL, Column(name), Literal(str() as text)):
            _among(name, text, known)
        case Compare(Comparison.EQUAL | Comparison.NOT_EQUAL, Literal(str() as text), Column(name)):
            _among(name, text, known)
        case In(Column(name), among):  # a list with one category in it can be met, whatever else it names
            texts = [each.value for each in among if isinstance(each.value, str)]
            declared = known[name].categories if name in known else None
            if texts and declared is not None and not set(texts) & set(declared):
                _among(name, texts[0], known)
        case _:
            pass
    for child in children(expression):
        _check(child, known)


def _among(name: str, text: str, known: Mapping[str, Facts]) -> None:
    declared = known[name].categories if name in known else None
    if declared is not None and text not in declared:
        quoted = any("," in each for each in declared[:20])
        listed = ", ".join(repr(each) if quoted else each for each in declared[:20]) + (
            ", ..." if len(declared) > 20 else ""
        )
        raise QueryRefused("unknown-category", f"{text!r} is not a category of {name}", rewrite=f"one of: {listed}")
