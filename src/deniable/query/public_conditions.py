"""What a query's own conditions say about its declared keys, from the text of the query and the codebook alone.

A condition on a key decides, value by value, whether a group can hold a row: one that cannot is not shown. A condition that
names only values outside a column's declared categories is refused, because no row can meet it.
Guarantee: nothing is read; a group that is left out is empty whatever the data are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deniable.engines.evaluate import evaluate
from deniable.errors import QueryRefused
from deniable.plan.expression import And, Column, Compare, Comparison, Expression, In, Literal, children, columns
from deniable.plan.facts import Facts
from deniable.plan.nodes import Filter, Join, Project, Relation
from deniable.plan.provenance import computed
from deniable.plan.relation import schema


def possible_keys(source: Relation, of: Expression, domain: tuple[object, ...]) -> tuple[object, ...]:
    """The declared values of a key that the conditions on it let through; all of them if that would be none."""
    if not isinstance(of, Column):
        return domain
    known = [(condition, name, schema(at)) for condition, name, at in _conditions(source, of.name)]
    left = tuple(value for value in domain if all(_passes(value, *each) for each in known))
    return left or domain


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


def _passes(value: object, condition: Expression, name: str, known: Mapping[str, Facts]) -> bool:
    number = isinstance(value, int) and not isinstance(value, bool)
    cell: Any = value * known[name].step if number else value  # type: ignore[operator]
    return evaluate(condition, {name: cell}, known) is True


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
        listed = ", ".join(declared[:20]) + (", ..." if len(declared) > 20 else "")
        raise QueryRefused("unknown-category", f"{text!r} is not a category of {name}", rewrite=f"one of: {listed}")
