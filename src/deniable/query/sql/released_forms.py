"""Intervals beside what plain SQL computes from released numbers: columns that pass, differences, sums over windows, shares.

Such a column is a linear form of released numbers, or a quotient of two; the statement itself is asked to say of which numbers,
so windows, joins and orders mean here what they mean there. Noises are independent, so the noise of a linear form has a known law,
as long as noise does not decide of which numbers it is: a sum over the ten largest is as little known as a maximum.
Anything else, such as a rank, has no interval. `docs/theory/released-forms.md` has the proofs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isinf
from typing import Any, TypeAlias

from sqlglot import exp

from deniable.exact.figures import ceiling, floor
from deniable.query.columns import AnswerColumn
from deniable.query.linear_noise import EVERYWHERE, Ends, Form, LinearForm, QuotientForm, ReleasedNumber, form_ends
from deniable.query.sql.env import output_name, part

MOST_LISTED = 40_000
"""Characters of the lists of cells that all rows of a quotient rest on, up to which it is inverted: some seconds of work."""

_TRACE = "trace "
"""How the names of what is added to a statement begin."""

Place: TypeAlias = tuple[str, str]
"""A released column: the stage's name and the column's."""


def cell_name(column: str) -> str:
    """The column beside a released one that numbers its cells."""
    return f"{column} cell"


@dataclass(slots=True)
class TracedStatement:
    """A statement with further columns at its end, which say of which released numbers its own are computed."""

    tree: Any
    columns: Sequence[Place]
    public: frozenset[str] = frozenset()
    """Names of columns that carry no noise, wherever they stand."""
    steady: frozenset[str] = frozenset()
    """Tables that have the same rows in the same order whatever the noise."""
    hidden: list[exp.Expression] = field(default_factory=list)
    forms: list[Form | None] = field(default_factory=list)
    _gathers: bool = True
    """Whether of which numbers a sum or a window is made is the same whatever the noise."""
    rounded: dict[int, int] = field(default_factory=dict)

    def plain(self, place: int) -> bool:
        """Whether an item is a constant or a column with no noise in it."""
        select = _sides(self.tree)[0]
        items = select.expressions if isinstance(select, exp.Select) and not _starred(select) else []
        node = items[place].unalias() if place < len(items) else None
        return isinstance(node, exp.Literal | exp.Column) and self._bare(node)

    @property
    def chooses(self) -> bool:
        """Whether noise decides which rows are shown, or in which order."""
        return not all(self._bare(*_choosing(select)) for select in self.tree.find_all(exp.Select, exp.SetOperation))

    @classmethod
    def of(
        cls,
        tree: exp.Expression,
        columns: Sequence[Place],
        public: frozenset[str] = frozenset(),
        steady: frozenset[str] = frozenset(),
    ) -> TracedStatement:
        """The statement traced; without further columns where its form is not followed."""
        traced = cls(tree.copy(), columns, _noiseless(tree, columns, public), steady)
        if not _followed(traced.tree, columns):
            return replace(traced, tree=tree)
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
                side.append("expressions", exp.alias_(cell, f"{_TRACE}{place}", quoted=True))
        self.hidden = [exp.null() for _ in kept]
        return [kept.index(place) if place in kept else None for place in range(count)]

    def _select(self, tree: Any) -> None:
        bodies: dict[str, dict[str, str]] = {}
        clause = part(tree, "with")
        for cte in clause.expressions if clause is not None else ():
            name, same = frozenset((cte.alias.lower(),)), self._steady(cte.this)
            bodies[cte.alias.lower()] = {} if cte.args["alias"].args.get("columns") else self._passed(cte.this, bodies)
            self.steady = self.steady | name if same else self.steady - name
        seen = self._seen(tree, bodies)
        whole = tree.args.get("group") is not None or any(map(_aggregates, tree.expressions))
        same = self._steady_sources(tree)
        self._gathers = same and self._bare(part(tree, "where"), *_grouping(tree), *tree.args.get("windows", ()))
        items = [each.unalias() for each in tree.expressions]
        self.rounded = {at: places for at, each in enumerate(items) if (places := _decimals(each)) is not None}
        self.forms = [
            self._form(of, seen, whole) if same or isinstance(of, exp.Column) else None
            for of in [each.this if at in self.rounded else each for at, each in enumerate(items)]
        ]
        for place, item in enumerate(self.hidden):
            tree.append("expressions", exp.alias_(item, f"{_TRACE}{place}", quoted=True))

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
        joins = select.args.get("joins") or []
        for item in _sources(select):
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
        which = [node.args.get(each) for each in ("partition_by", "order", "spec")]
        if not self._gathers or not self._bare(*which, of.args.get("offset")):
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

    def _steady(self, select: Any) -> bool:
        """Whether a sub-query has the same rows in the same order whatever the noise."""
        if not isinstance(select, exp.Select) or part(select, "with") is not None or select.args.get("distinct"):
            return False
        return self._steady_sources(select) and self._bare(*_choosing(select), *_grouping(select))

    def _steady_sources(self, select: Any) -> bool:
        """Whether noise has no part in which rows a SELECT reads, before its own conditions."""
        joins = select.args.get("joins") or []
        matched = [join.args.get("on") for join in joins] + [
            exp.column(each.name) for join in joins for each in join.args.get("using") or []
        ]
        return self._bare(*matched) and all(
            self._steady(item.this)
            if isinstance(item, exp.Subquery)
            else isinstance(item, exp.Table) and item.name.lower() in self.steady
            for item in _sources(select)
        )

    def _bare(self, *nodes: Any) -> bool:
        """Whether no noise is read: nothing but columns without it, and no sub-query."""
        flat = [each for node in nodes if node for each in (node if isinstance(node, list) else [node])]
        return not any(each.find(exp.Select) for each in flat) and all(
            column.name.lower() in self.public for each in flat for column in each.find_all(exp.Column)
        )

    def _item(self, node: exp.Expression | None, how: str) -> Form | None:
        if node is None:
            return None
        if node not in self.hidden:
            self.hidden.append(node.copy())
        return LinearForm(((Fraction(1), self.hidden.index(node), how),))


def _followed(tree: Any, columns: Sequence[Place]) -> bool:
    """Whether columns can be added to a statement without changing what it says."""
    if _starred(tree) or tree.find(exp.Pivot) is not None:
        return False
    named = {*(each.name.lower() for each in tree.find_all(exp.Identifier)), *(name.lower() for _, name in columns)}
    if any(name.endswith(cell_name("")) or name.startswith(_TRACE) for name in named):
        return False  # the names of what would be added
    tables = {each.alias_or_name.lower() for each in tree.find_all(exp.Table, exp.Subquery)}
    if any(each.name.lower() in tables for each in tree.find_all(exp.Column) if not each.table):
        return False  # a whole row
    if any(join.args.get("method") for join in tree.find_all(exp.Join)):
        return False
    if any(union.args.get("by_name") for union in tree.find_all(exp.Union)):
        return False
    if isinstance(tree, exp.Union):
        sides = _sides(tree)
        plain = all(isinstance(side, exp.Select) and not side.args.get("distinct") for side in sides)
        return plain and not any(side.args.get("group") or any(map(_aggregates, side.expressions)) for side in sides)
    return isinstance(tree, exp.Select) and not tree.args.get("distinct")


def _starred(tree: Any) -> bool:
    """Whether a statement names columns without their names."""
    return any(not isinstance(each.parent, exp.Count) for each in tree.find_all(exp.Star, exp.Columns))


def _sources(select: Any) -> list[Any]:
    """What a SELECT reads."""
    origin = part(select, "from")
    return [*([origin.this] if origin is not None else []), *(join.this for join in select.args.get("joins") or [])]


def _grouping(select: Any) -> list[Any]:
    """What the rows of a SELECT are grouped by, with the items that places and ALL stand for."""
    group = select.args.get("group")
    if group is None:
        return []
    every = [each for each in select.expressions if not _aggregates(each)] if group.args.get("all") else []
    return [group, *_placed(select, group.expressions), *every]


def _choosing(query: Any) -> list[Any]:
    """What decides which rows of a query are shown, and in which order."""
    order = part(query, "order")
    terms = [] if order is None else [order, *_placed(query, [each.this for each in order.expressions])]
    return [*terms, *(part(query, each) for each in ("where", "having", "qualify", "limit", "offset"))]


def _placed(select: Any, terms: Sequence[Any]) -> list[Any]:
    """Terms of GROUP BY or ORDER BY; a number is the item at that place."""
    items = _sides(select)[0].expressions
    return [items[int(each.name) - 1] if isinstance(each, exp.Literal) and each.is_int else each for each in terms]


def _noiseless(tree: Any, columns: Sequence[Place], public: frozenset[str]) -> frozenset[str]:
    """Names that stand for no noise anywhere in a statement, of columns and of what is computed from such columns alone."""
    named = [(each.alias.lower(), each.this) for each in tree.find_all(exp.Alias)]
    renamed = {each.name.lower() for alias in tree.find_all(exp.TableAlias) for each in alias.args.get("columns") or ()}
    known = ({*public, *(name for name, _ in named)}) - renamed - {name.lower() for _, name in columns}
    while True:
        judge = TracedStatement(tree, columns, frozenset(known))
        gone = {name for name, of in named if name in known and not judge._bare(of)}
        if not gone:
            return judge.public
        known -= gone


def _decimals(node: Any) -> int | None:
    """How many decimal places an item is rounded to; None where it is not rounded."""
    if not isinstance(node, exp.Round) or {name for name, value in node.args.items() if value} - {"this", "decimals"}:
        return None
    places = node.args.get("decimals")
    if places is None:
        return 0
    plain = isinstance(places, exp.Literal) and not places.is_string and places.this.isdigit()
    return int(places.this) if plain and int(places.this) <= 12 else None


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


def computed_columns(
    traced: TracedStatement, found: Mapping[str, tuple[Any, ...]], cells: Sequence[ReleasedNumber], confidence: Fraction
) -> tuple[AnswerColumn, ...]:
    """The columns of a traced statement's answer, with intervals where their form has them; what was added is left out."""
    names = list(found)[: len(found) - len(traced.hidden)]
    items = list(zip(*list(found.values())[len(names) :], strict=True)) or [()] * len(next(iter(found.values()), ()))
    forms = traced.forms or [None] * len(names)
    return tuple(
        _column(name, found[name], form, items, cells, confidence, traced.rounded.get(at))
        for at, (name, form) in enumerate(zip(names, forms, strict=True))
    )


def _column(
    name: str,
    values: tuple[Any, ...],
    form: Form | None,
    items: Sequence[Any],
    cells: Sequence[ReleasedNumber],
    confidence: Fraction,
    places: int | None,
) -> AnswerColumn:
    none = AnswerColumn(name, "computed", values, None, None, "no interval is said")
    if form is None or (isinstance(form, LinearForm) and not form.terms):
        return none
    if isinstance(form, QuotientForm) and sum(len(str(cell)) for row in items for cell in row) > MOST_LISTED:
        return none
    ends = [form_ends(form, row, value, cells, 1 - confidence) for row, value in zip(items, values, strict=True)]
    if not ends or None in ends:
        return none
    known = [each for each in ends if each is not None]
    lower, upper = zip(*(known if places is None else [_outwards(each, places) for each in known]), strict=True)
    shown = tuple(None if each == EVERYWHERE else value for value, each in zip(values, ends, strict=True))
    error = f"interval of what the noise explains, holds with probability {float(confidence):g}"
    return AnswerColumn(name, "computed", shown, lower, upper, error)


def _outwards(ends: Ends, places: int) -> Ends:
    """The ends of a rounded number's interval: they hold the number as it was, and as it is rounded."""
    half = 0.5 * 10.0**-places
    low, high = ends[0] - half, ends[1] + half
    if isinf(low) or isinf(high):
        return low, high
    return float(floor(Fraction(low), places)), float(ceiling(Fraction(high), places))
