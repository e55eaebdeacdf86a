"""Intervals beside what plain SQL computes from released numbers: columns that pass, differences, sums over windows, shares.

Such a column is a linear form of released numbers, or a quotient of two; the statement itself is asked to say of which numbers,
so windows, joins and orders mean here what they mean there. Noises are independent, so the noise of a linear form has a known law.
Anything else, such as a rank or a maximum, has no interval. `docs/theory/released-forms.md` has the proofs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from sqlglot import exp

from deniable.query.aggregates.count import Plain
from deniable.query.columns import AnswerColumn
from deniable.query.compile import CompiledQuery
from deniable.query.linear_noise import EVERYWHERE, SLACK, Ends, NoisyForms, ReleasedNumber
from deniable.query.price import Price
from deniable.query.sql.env import output_name, part
from deniable.query.sql.post import Field
from deniable.query.sql.staging import StagePart

MOST_LISTED = 40_000
"""Characters of the lists of cells that all rows of a quotient rest on, up to which it is inverted: some seconds of work."""

Place: TypeAlias = tuple[str, str]
"""A released column: the stage's name and the column's."""


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A constant and multiples of released numbers: of each item the one it names, or the sum or mean of those it lists."""

    terms: tuple[tuple[Fraction, int, str], ...] = ()
    constant: Fraction = Fraction(0)

    def plus(self, other: LinearForm, sign: int = 1) -> LinearForm:
        """The sum, or the difference."""
        return LinearForm((*self.terms, *other.times(Fraction(sign)).terms), self.constant + sign * other.constant)

    def times(self, factor: Fraction) -> LinearForm:
        """A multiple."""
        return LinearForm(tuple((factor * c, item, how) for c, item, how in self.terms), factor * self.constant)


@dataclass(frozen=True, slots=True)
class QuotientForm:
    """One linear form over another."""

    top: LinearForm
    bottom: LinearForm


Form: TypeAlias = LinearForm | QuotientForm


def cell_name(column: str) -> str:
    """The column beside a released one that numbers its cells."""
    return f"{column} cell"


@dataclass(slots=True)
class TracedStatement:
    """A statement with further columns at its end, which say of which released numbers its own are computed."""

    tree: Any
    columns: Sequence[Place]
    hidden: list[exp.Expression] = field(default_factory=list)
    forms: list[Form | None] = field(default_factory=list)

    def plain(self, place: int, public: frozenset[str]) -> bool:
        """Whether an item is a constant or a column of one of these names, with no noise in it."""
        select = _sides(self.tree)[0]
        node = select.expressions[place].unalias() if isinstance(select, exp.Select) else None
        return isinstance(node, exp.Literal) or (isinstance(node, exp.Column) and node.name.lower() in public)

    @classmethod
    def of(cls, tree: exp.Expression, columns: Sequence[Place]) -> TracedStatement:
        """The statement traced; without further columns where its form is not followed."""
        traced = cls(tree.copy(), columns)
        if not _followed(traced.tree):
            return cls(tree, columns)
        if isinstance(traced.tree, exp.Union):
            places = traced._united(traced.tree)
            traced.forms = [None if each is None else LinearForm(((Fraction(1), each, "one"),)) for each in places]
        else:
            traced._select(traced.tree)
        if not traced.hidden:  # nothing to say, so nothing is added in sub-queries either
            traced.tree = tree
        return traced

    def _united(self, tree: Any) -> list[int | None]:
        """Columns of UNION ALL that pass on every side."""
        sides = _sides(tree)
        passing = [[self._seen(side, {}).get(_name(each)) for each in side.expressions] for side in sides]
        count = len(sides[0].expressions)
        kept = [place for place in range(count) if all(len(row) > place and row[place] is not None for row in passing)]
        for side, row in zip(sides, passing, strict=True):
            for place in kept:
                cell: Any = row[place]
                side.append("expressions", exp.alias_(cell, f"trace {place}", quoted=True))
        self.hidden = [exp.null() for _ in kept]
        return [kept.index(place) if place in kept else None for place in range(count)]

    def _select(self, tree: Any) -> None:
        bodies: dict[str, dict[str, str]] = {}
        clause = part(tree, "with")
        for cte in clause.expressions if clause is not None else ():
            bodies[cte.alias.lower()] = {} if cte.args["alias"].args.get("columns") else self._passed(cte.this, bodies)
        seen = self._seen(tree, bodies)
        whole = tree.args.get("group") is not None or any(map(_aggregates, tree.expressions))
        self.forms = [self._form(each.unalias(), seen, whole) for each in list(tree.expressions)]
        for place, item in enumerate(self.hidden):
            tree.append("expressions", exp.alias_(item, f"trace {place}", quoted=True))

    def _passed(self, select: Any, bodies: Mapping[str, dict[str, str]]) -> dict[str, str]:
        """The names under which released columns pass through a sub-query, each with that of its cells, which is added."""
        if not isinstance(select, exp.Select) or part(select, "with") is not None:
            return {}
        if select.args.get("group") or select.args.get("distinct") or any(map(_aggregates, select.expressions)):
            return {}
        seen, found = self._seen(select, bodies), {}
        named = Counter(output_name(each).lower() for each in select.expressions)
        for each in list(select.expressions):
            cell = seen.get(_name(each))
            if cell is not None and named[output_name(each).lower()] == 1:
                found[output_name(each).lower()] = cell_name(output_name(each))
                select.append("expressions", exp.alias_(cell.copy(), cell_name(output_name(each)), quoted=True))
        return found

    def _seen(self, select: Any, bodies: Mapping[str, dict[str, str]]) -> dict[tuple[str, str], exp.Column]:
        """The released columns a SELECT sees, by table and name, each with the column of its cells."""
        found: dict[tuple[str, str], exp.Column] = {}
        origin, joins = part(select, "from"), select.args.get("joins") or []
        for item in [*([origin.this] if origin is not None else []), *(join.this for join in joins)]:
            if item.args.get("alias") is not None and item.args["alias"].args.get("columns"):
                continue  # its columns have other names above
            names: Mapping[str, str] = {}
            if isinstance(item, exp.Subquery):
                names = self._passed(item.this, bodies)
            elif isinstance(item, exp.Table):
                named = {column.lower(): cell_name(column) for stage, column in self.columns if stage == item.name}
                names = bodies.get(item.name.lower(), {}) or named
            for name, cells in names.items():
                alias = item.alias_or_name
                cell = exp.column(exp.to_identifier(cells, quoted=True), exp.to_identifier(alias, quoted=True))
                found[alias.lower(), name] = found["", name] = cell
        for both in (each.name.lower() for join in joins for each in join.args.get("using") or []):
            found.pop(("", both), None)  # of which side it is depends on the row
        return found

    def _form(self, node: Any, seen: Mapping[tuple[str, str], exp.Column], whole: bool) -> Form | None:
        match node:
            case exp.Paren() | exp.Cast():
                number = not isinstance(node, exp.Cast) or node.to.is_type("double")  # others round
                return self._form(node.this, seen, whole) if number else None
            case exp.Literal():
                return None if node.is_string else LinearForm((), Fraction(node.this))
            case exp.Neg():
                return _scaled(self._form(node.this, seen, whole), Fraction(-1))
            case exp.Nullif() if isinstance(node.expression, exp.Literal):
                return self._form(node.this, seen, whole)
            case exp.Column():
                return None if whole else self._item(seen.get(_name(node)), "one")
            case exp.Window() | exp.Sum() | exp.Avg():
                return self._gathered(node, seen, whole)
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
                sides = [self._form(side, seen, whole) for side in (node.this, node.expression)]
                return None if None in sides else _combined(node, *sides)
            case _:
                return None

    def _gathered(self, node: Any, seen: Mapping[tuple[str, str], exp.Column], whole: bool) -> Form | None:
        """A sum or mean of released numbers, or the one that a window shows from another row."""
        of = node.this if isinstance(node, exp.Window) else node
        cell = seen.get(_name(of.this)) if isinstance(of.this, exp.Column) else None
        if cell is None or isinstance(node, exp.Window) is whole or of.args.get("default") is not None:
            return None
        if isinstance(of, exp.Sum | exp.Avg):
            listed: Any = exp.ArrayAgg(this=cell.copy())
            how = "sum" if isinstance(of, exp.Sum) else "mean"
        elif isinstance(of, exp.Lag | exp.Lead | exp.FirstValue | exp.LastValue):
            listed, how = of.copy(), "one"
            listed.set("this", cell.copy())
        else:
            return None
        if isinstance(node, exp.Window):
            window = node.copy()
            window.set("this", listed)
            listed = window
        return self._item(listed, how)

    def _item(self, node: exp.Expression | None, how: str) -> Form | None:
        if node is None:
            return None
        if node not in self.hidden:
            self.hidden.append(node.copy())
        return LinearForm(((Fraction(1), self.hidden.index(node), how),))


def _followed(tree: Any) -> bool:
    """Whether columns can be added to a statement without changing what it says."""
    if any(isinstance(star.parent, exp.Select) for star in tree.find_all(exp.Star)):
        return False
    if any(join.args.get("method") for join in tree.find_all(exp.Join)):
        return False
    if any(union.args.get("by_name") for union in tree.find_all(exp.Union)):
        return False
    if isinstance(tree, exp.Union):
        sides = _sides(tree)
        plain = all(isinstance(side, exp.Select) and not side.args.get("distinct") for side in sides)
        return plain and not any(side.args.get("group") or any(map(_aggregates, side.expressions)) for side in sides)
    return isinstance(tree, exp.Select) and not tree.args.get("distinct")


def _sides(tree: Any) -> list[Any]:
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Union):
        return [tree]
    return [exp.null()] if tree.args.get("distinct", True) else [*_sides(tree.this), *_sides(tree.expression)]


def _aggregates(node: Any) -> bool:
    """Whether an item is computed from all rows, and not from a window."""
    return any(not isinstance(each.parent, exp.Window) for each in node.find_all(exp.AggFunc))


def _name(node: Any) -> tuple[str, str]:
    node = node.unalias() if isinstance(node, exp.Alias) else node
    return (node.table.lower(), node.name.lower()) if isinstance(node, exp.Column) else ("", "")


def _scaled(form: Form | None, factor: Fraction) -> Form | None:
    if isinstance(form, QuotientForm):
        return QuotientForm(form.top.times(factor), form.bottom)
    return None if form is None else form.times(factor)


def _combined(node: Any, left: Any, right: Any) -> Form | None:
    if isinstance(node, exp.Add | exp.Sub):
        both = isinstance(left, LinearForm) and isinstance(right, LinearForm)
        return left.plus(right, 1 if isinstance(node, exp.Add) else -1) if both else None
    if isinstance(right, LinearForm) and not right.terms:
        factor = right.constant if isinstance(node, exp.Mul) else 1 / right.constant if right.constant else None
        return None if factor is None else _scaled(left, factor)
    if isinstance(node, exp.Mul):
        return _scaled(right, left.constant) if isinstance(left, LinearForm) and not left.terms else None
    return QuotientForm(left, right) if isinstance(left, LinearForm) and isinstance(right, LinearForm) else None


# Intervals ------------------------------------------------------------------------------------------------------------


def form_ends(
    form: Form, items: Sequence[Any], value: float | None, cells: Sequence[ReleasedNumber], beta: Fraction
) -> Ends | None:
    """The interval of one cell of a computed column; None where a number it rests on has no known noise."""
    parts = (form,) if isinstance(form, LinearForm) else (form.top, form.bottom)
    if value is None:
        return EVERYWHERE
    weights = [weights for each in parts if (weights := _weights(each, items, cells)) is not None]
    if len(weights) < len(parts):
        return None
    numbers = [cells[place] for each in weights for place in each]
    if isinstance(form, LinearForm) and form.constant == 0 and [*weights[0].values()] == [1]:
        return numbers[0].ends
    if any(each.noise is None for each in numbers):
        return None
    if not numbers:
        return value, value
    noises = NoisyForms.of(weights, cells)
    if isinstance(form, LinearForm):
        reach = noises.reach(noises.rows[0], beta) * SLACK + abs(value) * 1e-12
        return value - reach, value + reach
    tops = [
        float(each.constant) + sum(float(c) * (cells[place].value or 0.0) for place, c in row.items())
        for each, row in zip(parts, weights, strict=True)
    ]
    return noises.quotient(*tops, value=value, beta=beta)


def _weights(form: LinearForm, items: Sequence[Any], cells: Sequence[ReleasedNumber]) -> dict[int, Fraction] | None:
    """The released numbers a form is of at one row, by their place, with what each is multiplied by.

    None where a term rests on none that is there, such as the other side of an outer join.
    """
    found: dict[int, Fraction] = {}
    for factor, item, how in form.terms:
        given = [items[item]] if how == "one" else json.loads((items[item] or "[]").replace("None", "null"))
        places = [place for place in given if place is not None and cells[place].value is not None]
        if not places:
            return None
        for place in places:
            found[place] = found.get(place, Fraction(0)) + factor / (len(places) if how == "mean" else 1)
    return found


def computed_columns(
    traced: TracedStatement, found: Mapping[str, tuple[Any, ...]], cells: Sequence[ReleasedNumber], confidence: Fraction
) -> tuple[AnswerColumn, ...]:
    """The columns of a traced statement's answer, with intervals where their form has them; what was added is left out."""
    names = list(found)[: len(found) - len(traced.hidden)]
    items = list(zip(*list(found.values())[len(names) :], strict=True)) or [()] * len(next(iter(found.values()), ()))
    forms = traced.forms or [None] * len(names)
    return tuple(
        _column(name, found[name], form, items, cells, confidence) for name, form in zip(names, forms, strict=True)
    )


def _column(
    name: str,
    values: tuple[Any, ...],
    form: Form | None,
    items: Sequence[Any],
    cells: Sequence[ReleasedNumber],
    confidence: Fraction,
) -> AnswerColumn:
    none = AnswerColumn(name, "computed", values, None, None, "no interval is said")
    if form is None or (isinstance(form, LinearForm) and not form.terms):
        return none
    if isinstance(form, QuotientForm) and sum(len(str(cell)) for row in items for cell in row) > MOST_LISTED:
        return none
    ends = [form_ends(form, row, value, cells, 1 - confidence) for row, value in zip(items, values, strict=True)]
    if not ends or None in ends:
        return none
    lower, upper = zip(*(each for each in ends if each is not None), strict=True)
    shown = tuple(None if each == EVERYWHERE else value for value, each in zip(values, ends, strict=True))
    error = f"interval of what the noise explains, holds with probability {float(confidence):g}"
    return AnswerColumn(name, "computed", shown, lower, upper, error)


def released_numbers(
    stage: StagePart, name: str, column: AnswerColumn, compiled: CompiledQuery, price: Price
) -> list[ReleasedNumber]:
    """The cells of a released column: with their noise where the column shows one measurement as it is."""
    assert column.lower is not None
    assert column.upper is not None
    ends = list(zip(column.values, column.lower, column.upper, strict=True))
    measured = _measurement(stage, name, compiled)
    if measured is None:
        return [ReleasedNumber((low, high), value) for value, low, high in ends]
    key = compiled.slices[0].key(measured)
    step, grain = compiled.steps[measured], compiled.grains[measured]
    noise, rounding = price.allocation.noises[key], float(grain) / 2 if grain != step else 0.0
    return [
        ReleasedNumber((low, high), value, noise, step, rounding, (stage.name, measured, row))
        for row, (value, low, high) in enumerate(ends)
    ]


def _measurement(stage: StagePart, name: str, compiled: CompiledQuery) -> str | None:
    """The measured column that a released one shows as it is; None where it is computed, chosen or fitted."""
    for step in reversed(stage.statement.stages):
        value = dict(step.columns).get(name)
        if not isinstance(value, Field):
            return None
        name = value.name
    output = dict(compiled.outputs).get(name)
    fitted = len(compiled.slices) > 1 or compiled.whole or compiled.other is not None
    return None if fitted or not isinstance(output, Plain) else output.column
