"""The most frequent values of a text column without declared values: found in the data, chosen so that rare ones stay hidden.

The engine counts rows by value; the calculus' `private_top_k` chooses among the fullest, and a stop that stands `margin` rows
above the next hides which values there are. Asked alone and without groups. Theory: `docs/theory/private-top-k.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from deniable.core.domain import Keyed, Lattice
from deniable.core.mechanism import Mechanism
from deniable.core.metric import AbsoluteDistance, PartitionDistance
from deniable.core.space import Space
from deniable.cost import Neighbours
from deniable.engines.engine import Result
from deniable.errors import QueryRefused
from deniable.mechanisms.private_top_k import private_top_k
from deniable.noise import Entropy
from deniable.plan.analysis import facts
from deniable.plan.facts import Kind
from deniable.plan.nodes import Bounding, GroupAgg, KeyColumn, RowCount, Units
from deniable.plan.relation import schema
from deniable.plan.sensitivity import checked, sensitivity
from deniable.plan.translate import parse
from deniable.query.aggregates import Error, Output, TopK
from deniable.query.aggregates.aggregate import ChosenOutput, Forecast, SliceAnswer
from deniable.query.builder import Query
from deniable.query.columns import AnswerColumn, SliceColumn
from deniable.query.keys import KeySet
from deniable.query.measurements import FoundSelection, Measurements, Slice

_VALUE, _ROWS, _UNITS, _CHOICE = "value", "m0", "m1", "c0"
_CANDIDATES = 1000
"""So many of the fullest values compete; fewer than the data may hold, as a public limit."""


@dataclass(frozen=True, slots=True)
class FoundTopKOf(ChosenOutput):
    """The chosen values, most frequent first; fewer than asked for where the rest are too rare to tell apart from none."""

    choice: str
    k: int

    @property
    def unit(self) -> str:
        return "rows"

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """One list of values."""
        return AnswerColumn(
            name, "top values", tuple(list(each) for each in drawn.choices[self.choice]), None, None, error
        )

    def error(self, forecast: Forecast) -> Error:
        """How many rows each value may be below the best one left, or below the stop."""
        return Error(forecast.score_error(self.choice), "rows below the true order or the stop, each")


@dataclass(frozen=True, slots=True)
class FoundValues:
    """What is compiled of such a question: the plan that counts rows by value, and what is chosen from it."""

    plan: GroupAgg
    measurements: Measurements
    outputs: tuple[tuple[str, Output], ...]
    slices: tuple[Slice, ...]
    note: str

    @property
    def keys(self) -> KeySet:
        """The answer has no keys: it is one list."""
        return KeySet((), (), ())


def found_column(query: Query[Any]) -> tuple[str, TopK] | None:
    """The output that chooses among values nobody declared, if the query has one; refused beside others or in groups."""
    known = schema(query.source)
    for name, aggregate in query.aggregates:
        if not isinstance(aggregate, TopK):
            continue
        of = parse(aggregate.of, schema=known) if isinstance(aggregate.of, str) else aggregate.of
        described = facts(of, known)
        if described.kind is Kind.STRING and described.categories is None:
            if query.keys or len(query.aggregates) > 1:
                raise QueryRefused(
                    "no-categories",
                    "top_k of a column without declared values is asked alone and without groups",
                    rewrite="declare the column's categories, or ask for it by itself",
                )
            return name, replace(aggregate, of=of)
    return None


def compile_found(query: Query[Any], name: str, aggregate: TopK, *, rows: int, groups: int) -> FoundValues:
    """The plan of the question: rows by value, at most `groups` values of one unit and `rows` rows of each."""
    assert not isinstance(aggregate.of, str)
    if aggregate.k > _CANDIDATES:
        raise QueryRefused("too-many-values", f"top_k of values nobody declared gives at most {_CANDIDATES}")
    bounding = Bounding(groups=groups, rows_per_group=None, rows_per_unit=query.total, choice=query.choice)
    counted = (
        (_ROWS, RowCount(rows)),
        (_UNITS, Units()),
    )  # a plan with found keys counts units; nothing is told of them
    plan = GroupAgg(query.source, (KeyColumn(_VALUE, aggregate.of, None),), bounding, counted, None)
    below = checked(plan)
    assert below.unit is not None
    apart = sensitivity(RowCount(rows), plan, below, (_VALUE,))
    selection = FoundSelection(
        key=SliceColumn(_CHOICE),
        k=aggregate.k,
        candidates=_CANDIDATES,
        l0=apart.l0,
        l1=apart.l1,
        linf=apart.linf,
        one_way=below.unit.neighbours is not Neighbours.REPLACE,
    )
    return FoundValues(
        plan=plan,
        measurements=Measurements((), (), (), (selection,)),
        outputs=((name, FoundTopKOf(_CHOICE, aggregate.k)),),
        slices=(Slice(0, (), False, ()),),
        note=f"values of {name} come from the data; rare ones stay hidden, and the list may be shorter than {aggregate.k}",
    )


def counts_space(*, one_way: bool) -> Space:
    """Rows by value, whatever the values are."""
    return Space(Keyed(Lattice(Fraction(1), 0), None), PartitionDistance(AbsoluteDistance(), monotonic=one_way))


def found_mechanism(selection: FoundSelection, eta: Fraction, margin: int) -> Mechanism:
    """The mechanism of the calculus that makes the choice."""
    return counts_space(one_way=selection.one_way) >> private_top_k(
        k=selection.k, scale=selection.temperature(eta), margin=margin, candidates=selection.candidates
    )


def draw_found(
    selection: FoundSelection, eta: Fraction, margin: int, result: Result, entropy: Entropy
) -> tuple[Any, ...]:
    """The chosen values, from exact counts.

    Guarantee: what `found_mechanism` costs at (l0, l1, linf) of the selection, and nothing else.
    """
    values = result.keys[_VALUE]
    counts = {
        value: int(count) for value, count in zip(values, result.columns[_ROWS], strict=True) if value is not None
    }
    return tuple(found_mechanism(selection, eta, margin).function(counts, entropy))
