"""From a question to a plan: which integers to measure, how much one unit moves each, and how the answers follow from them.

Everything is decided from the codebook; a question that cannot be answered is refused here, before anything is spent.
A unit with more rows in a group than may count is spread evenly over all of them, in every output alike (`plan.even_weights`);
unless the query keeps some of its rows, or asks for a unit's total to be clipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

from deniable.cost import Neighbours
from deniable.errors import InvalidArgument, QueryRefused
from deniable.exact.figures import counted
from deniable.kernels import Law
from deniable.plan import nodes as plan
from deniable.plan.nodes import Bounding, ByOrder, GroupAgg
from deniable.plan.provenance import joins_limited
from deniable.plan.relation import Shape, shape
from deniable.plan.sensitivity import checked, sensitivity
from deniable.plan.unit import Unit
from deniable.query.aggregates import BinnedCounts, Count, CountUnits, Output, Sum, TopK
from deniable.query.aggregates.aggregate import Aggregate, PrivateChoice
from deniable.query.aggregates.measuring import Measuring
from deniable.query.builder import Query
from deniable.query.found_values import FoundValues, compile_found, found_column
from deniable.query.keys import KeySet, key_set
from deniable.query.measurements import (
    WIDE_KEYS,
    Additive,
    Measurements,
    Selection,
    Slice,
    adds_up,
    halved_means,
    level_notes,
    rounding_notes,
    slices_of,
    unit_groups,
)
from deniable.query.public_conditions import check_categories


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A plan, what must be measured of it, and how each output follows."""

    plan: GroupAgg
    keys: KeySet
    measurements: Measurements
    steps: Mapping[str, Fraction]
    grains: Mapping[str, Fraction]
    """What each column is shown in whole multiples of: its own step where it is measured in parts of it."""
    bins: Mapping[str, int]
    choices: Mapping[str, PrivateChoice]
    outputs: tuple[tuple[str, Output], ...]
    notes: tuple[str, ...]
    slices: tuple[Slice, ...]
    additive: frozenset[str]
    """Columns whose coarser groups are the sum of finer ones."""
    other: str | None = None
    whole: bool = False
    found: bool = False
    """Whether the answer is a list of values found in the data."""
    identity_notes: tuple[str, ...] = ()
    """The notes as they are without a label for the unit: what is said of a question, but not in whose words."""
    measured_notes: tuple[str, ...] = ()
    """What the numbers are of, for the reader; no part of the question's identity."""

    def has_value(self, output: Output, part: Slice) -> bool:
        """Whether an output has a value in a slice: hidden groups can be added up, but not their units or distinct values."""
        return not part.other or self.additive.issuperset(output.columns)

    def measured_by(self, laws: tuple[tuple[str, Law], ...]) -> Measurements:
        """The measurements with the laws of noise that were chosen for outputs; `keys` is the number of units behind thresholds."""
        if not laws:
            return self.measurements
        chosen: dict[str, tuple[str, Law]] = {}
        for name, law in laws:
            for column in self._noisy_columns(name):
                other, before = chosen.setdefault(column, (name, law))
                if before is not law:
                    raise InvalidArgument(
                        f"{other} and {name} are computed from the same noisy number, so they have one law: "
                        f"{before.value} or {law.value}"
                    )
        additive = tuple(
            replace(part, law=chosen[part.key.column][1]) if part.key.column in chosen else part
            for part in self.measurements.additive
        )
        return replace(self.measurements, additive=additive)

    def _noisy_columns(self, name: str) -> tuple[str, ...]:
        outputs = dict(self.outputs)
        if name == "keys" and name not in outputs and self.measurements.units:
            return tuple(dict.fromkeys(key.column for key in self.measurements.units))
        if name not in outputs:
            raise InvalidArgument(f"law names {name!r}, which is not computed; it may name {', '.join(outputs)}")
        if outputs[name].chosen is not None:
            raise InvalidArgument(f"{name} is a private choice, by the exponential mechanism; it has no law of noise")
        return outputs[name].columns


def compile_query(query: Query[Any], unit: Unit) -> CompiledQuery:
    """The plan of a query for this unit, or a refusal that says what to change; computed once, and kept with the query."""
    for_unit: list[CompiledQuery] = [compiled for known, compiled in query._compiled if known is unit]
    if not for_unit:
        for_unit = [_compile(query, unit)]
        query._compiled[:] = [(unit, for_unit[0])]
    return for_unit[0]


def keys_of(query: Query[Any]) -> KeySet:
    """The keys of a query, or its refusal where they make too many groups."""
    known = next((compiled.keys for _, compiled in query._compiled if not compiled.found), None)
    return key_set(query) if known is None else known


def _compile(query: Query[Any], unit: Unit) -> CompiledQuery:
    if not query.aggregates:
        raise InvalidArgument("a query needs something to compute: .agg(n=dp.count())")
    if query.in_stages:
        advice = "price(...) and release(...) of the query itself do so"
        raise QueryRefused("stages", "bins between quantiles are released in stages", rewrite=advice)
    alone = None if query.keys else unit.total  # without groups a unit's rows are all it has
    rows = _first(query.rows, query.total, alone, unit.rows, unit.total)
    groups = _first(query.groups, unit_groups(query), query.total, unit.groups, unit.total)
    found = found_column(query) if any(isinstance(each, TopK) for _, each in query.aggregates) else None
    if rows is None or (groups is None and (query.keys or found)):
        raise InvalidArgument(
            "there is no default bound: say how many groups one unit may touch and how many rows it may add to each, "
            "unit: {id: ..., groups: 3, rows_per_group: 5} in the codebook or .bound(groups=3, rows=5) on the query"
        )
    if query.keys and unit.total is not None and query.total is None and query.rows is None:
        query = replace(query, total=unit.total if groups is None or unit.total < groups * rows else None)
    if found is not None:
        assert groups is not None
        return _compile_found(compile_found(query, *found, rows=rows, groups=groups), rows)
    measuring = Measuring(query.source, rows, _binding(query, rows) and not _keeps(query))
    return _Compilation(query, measuring, groups if groups is not None and query.keys else 1, unit).done()


def _keeps(query: Query[Any]) -> bool:
    """Whether some rows of a unit with too many are kept and the others left out."""
    return query.sampled or isinstance(query.choice, ByOrder)


def _binding(query: Query[Any], rows: int) -> bool:
    """Whether a unit can have more rows in a group than may count."""
    return min(_most_rows(query), default=rows + 1) > rows


def _most_rows(query: Query[Any]) -> list[int]:
    """Bounds on how many rows one unit has in all."""
    return [most for most in (shape(query.source).most_rows, query.total) if most is not None]


def _compile_found(values: FoundValues, rows: int) -> CompiledQuery:
    return CompiledQuery(
        plan=values.plan,
        keys=values.keys,
        measurements=values.measurements,
        steps={},
        grains={},
        bins={},
        choices={},
        outputs=values.outputs,
        notes=(f"what one unit adds to a group is clipped to what {counted(rows, 'row')} can add", values.note),
        slices=values.slices,
        additive=frozenset(),
        found=True,
    )


def _first(*bounds: int | None) -> int | None:
    return next((bound for bound in bounds if bound is not None), None)


@dataclass(frozen=True, slots=True)
class _Compilation:
    """One query on its way to a plan."""

    query: Query[Any]
    measuring: Measuring
    groups: int
    unit: Unit

    @property
    def label(self) -> str:
        """What one unit is called."""
        return self.unit.label

    def done(self) -> CompiledQuery:
        """The compiled query."""
        keys, measuring = key_set(self.query), self.measuring
        outputs = tuple((name, aggregate.measure(measuring)) for name, aggregate in self.query.aggregates)
        units = measuring.add(plan.Units()) if keys.observed else None
        node = self._plan(keys)
        parts = slices_of(node, keys, other=self.query.other is not None)
        below = checked(node)
        if keys.wide and self.query.whole:
            raise QueryRefused(
                "too-many-groups",
                "whole numbers are made in the table by all keys, which has too many groups",
                rewrite="group by fewer keys, or leave whole_numbers out",
            )
        additive = frozenset(name for name, _ in node.aggregates if not keys.wide and adds_up(node, below, name))
        rest = [WIDE_KEYS] if keys.wide else level_notes(node, parts, additive, outputs)
        plain = replace(self, unit=replace(self.unit, called=None))
        said, identity = (
            [each._contribution_note(), *each._join_notes(), *each._spread_notes()] for each in (self, plain)
        )
        if len(node.grouping) > 1 and measuring.spreads and any(output.averages for _, output in outputs):
            rest.append("a total's mean weighs the groups of a unit by the rows that count in each")
        rest += rounding_notes(node, [output for _, output in outputs])
        return CompiledQuery(
            plan=node,
            keys=keys,
            measurements=self._measurements(node, below, parts, additive, units, outputs),
            steps=measuring.steps,
            grains=measuring.grains,
            bins=measuring.bins,
            choices=measuring.choices,
            outputs=outputs,
            notes=(*said, *rest),
            identity_notes=(*identity, *rest),
            slices=parts,
            additive=additive,
            other=self.query.other,
            whole=self.query.whole,
            measured_notes=_measured_notes(self.query, measuring, keys, groups=self.groups, label=self.label),
        )

    def _plan(self, keys: KeySet) -> GroupAgg:
        bounding = Bounding(
            groups=self.groups,
            rows_per_group=self.measuring.rows if _keeps(self.query) and self._binding else None,
            rows_per_unit=self.query.total,
            choice=self.query.choice,
        )
        aggregates = tuple((name, aggregate) for aggregate, name in self.measuring.measured.items())
        read = [key.of for key in self.query.keys] + [
            each.of for each in self.measuring.measured if each.of is not None
        ]
        check_categories(self.query.source, read)
        return GroupAgg(self.query.source, keys.columns, bounding, aggregates, self.query.levels)

    @property
    def _binding(self) -> bool:
        return _binding(self.query, self.measuring.rows)

    def _contribution_note(self) -> str:
        """How one unit's part is limited, in one sentence."""
        most = self.measuring.rows
        rows = "one row" if most == 1 else f"{most} rows"
        many = f"one {self.label} with more than {rows} in a group"
        if not self._binding:
            of_itself = most == 1 and self.label == "row"
            general = "" if of_itself else f"no {self.label} has more than {rows} in a group"
        elif _keeps(self.query):
            how = "a sample by a keyed hash" if self.query.sampled else "by the order asked for"
            general = f"of {many} {rows} {'is' if most == 1 else 'are'} kept, {how}"
        else:
            general = f"the rows of one {self.label} in a group have equal weights, which add up to {most} at most"
        clips = (aggregate.clip_note(name, most) for name, aggregate in self.query.aggregates)
        kept = [key.name for key in self.query.keys] if self.query.groups is None and unit_groups(self.query) else []
        once = [f"a unit with several values of {', '.join(kept)} is kept in one group"] if kept else []
        return "; ".join([*filter(None, [general, *clips]), *once])

    def _join_notes(self) -> Iterator[str]:
        """How many rows of one unit joins of private tables pair."""
        for most in sorted(joins_limited(self.query.source)):
            yield f"a join of private tables takes at most {counted(most, 'row')} of one {self.label} from each side"

    def _spread_notes(self) -> Iterator[str]:
        """What even weights mean for what was asked."""
        if not self.measuring.spreads:
            return
        asked = [aggregate for _, aggregate in self.query.aggregates]
        if any(each.averages for each in asked):
            rows = f"{self.measuring.rows} row{'s' if self.measuring.rows > 1 else ''}"
            yield f"in a mean one {self.label} with more than {rows} weighs as much as another with {rows}"
        if len(asked) == 1 and isinstance(asked[0], Sum) and asked[0].clip is None:
            yield 'a sum alone loses less where each unit\'s total is clipped instead: clip="total"'

    def _measurements(
        self,
        node: GroupAgg,
        below: Shape,
        parts: tuple[Slice, ...],
        adding: frozenset[str],
        units: str | None,
        outputs: tuple[tuple[str, Output], ...],
    ) -> Measurements:
        """What to measure in every slice, each with the sensitivity of its own level."""
        asked = self._noisy() - self._threshold_only(units)
        weights = self._weights(outputs, units)
        additive: list[Additive] = []
        selections: list[Selection] = []
        for part in parts:
            apart = {name: sensitivity(each, node, below, part.sensitivity_level) for name, each in node.aggregates}
            wanted = asked & adding if part.other else asked | ({units} if units and part.observed else set())
            additive += [Additive(part.key(name), apart[name], weights[name]) for name in apart if name in wanted]
            rows = {name: each.linf for name, each in apart.items()}
            selections += self._selections(node, below, part, rows, weights)
        judged = tuple(part.key(units) for part in parts if units and part.observed and not part.other)
        lone = len(parts) == 1 and not self.query.whole
        means = tuple(halved_means(node, below, [output for _, output in outputs], weights)) if lone else ()
        return Measurements(tuple(additive), tuple(selections), judged, means=means)

    def _selections(
        self, node: GroupAgg, below: Shape, part: Slice, rows: Mapping[str, int], weights: Mapping[str, Fraction]
    ) -> list[Selection]:
        assert below.unit is not None
        replaced = below.unit.neighbours is Neighbours.REPLACE
        touched = sensitivity(plan.Units(), node, below, part.sensitivity_level).l0
        return [
            choice.selection(
                part.key(name),
                rows=Fraction(rows[choice.histogram]),
                groups=touched,
                replaced=replaced,
                weight=weights[name],
            )
            for name, choice in self.measuring.choices.items()
        ]

    def _weights(self, outputs: tuple[tuple[str, Output], ...], units: str | None) -> dict[str, Fraction]:
        """The part of the budget of everything measured and chosen: the largest that an output using it was given."""
        shares = dict(self.query.shares)
        parts: dict[str, Fraction] = {}
        for name, output in outputs:
            for used in (output.chosen,) if output.chosen is not None else output.columns:
                parts[used] = max(parts.get(used, Fraction(0)), shares.get(name, Fraction(1)))
        if units is not None:
            parts[units] = max(parts.get(units, Fraction(0)), shares.get("keys", Fraction(1)))
        return {
            name: parts.get(name, Fraction(1)) for name in (*self.measuring.measured.values(), *self.measuring.choices)
        }

    def _threshold_only(self, units: str | None) -> set[str]:
        """The column of units when nobody asked for it: it is measured only where keys are observed."""
        shown = any(aggregate == CountUnits() for _, aggregate in self.query.aggregates)
        return {units} if units and not shown else set()

    def _noisy(self) -> set[str]:
        """The columns that get noise: all but histograms that are only chosen from."""
        chosen_from = {choice.histogram for choice in self.measuring.choices.values()}
        return set(self.measuring.measured.values()) - (chosen_from - self.measuring.shown_histograms)


# What the numbers are of, for the reader ---------------------------------------------------------------------------------


def _measured_notes(
    query: Query[Any], measuring: Measuring, keys: KeySet, *, groups: int, label: str
) -> tuple[str, ...]:
    """In how many groups a unit counts, and with how many rows in each."""
    return tuple(filter(None, [_groups_note(query, keys, groups, label), _rows_note(query, measuring, label)]))


def _rows_note(query: Query[Any], measuring: Measuring, label: str) -> str:
    """What counts and sums are of; what outputs are called is left out."""
    shared = [each for _, each in query.aggregates if each.clip_note("", measuring.rows) is None]
    said = _words(shared, (Count, BinnedCounts))
    if not said or not measuring.spreads:
        return ""
    *first, last = [label, *(key.name for key in query.keys)]
    per = f"{', '.join(first)} and {last}" if first else last
    return (
        f"{said} are of at most {counted(measuring.rows, 'row')} per {per}; choose_bounds finds a bound that few pass"
    )


def _groups_note(query: Query[Any], keys: KeySet, groups: int, label: str) -> str:
    """That a unit in more groups than may count is left out of some of them, and what that does to numbers that add up."""
    if not keys.columns or unit_groups(query) is not None:
        return ""
    there = (
        prod(len(each.domain or ()) + each.keep_missing for each in keys.columns) if not keys.observed else groups + 1
    )
    if min([there, *_most_rows(query)]) <= groups:
        return ""
    one = (
        f"one {label} in more than {counted(groups, 'group')} counts in {'one' if groups == 1 else groups} of them only"
    )
    said = _words([each for _, each in query.aggregates], (Count, BinnedCounts, CountUnits))
    return f"{one}, so {said} can come out too small" if said else one


def _words(asked: list[Aggregate], counts: tuple[type[Aggregate], ...]) -> str:
    words: dict[str, tuple[type[Aggregate], ...]] = {"counts": counts, "sums": (Sum,)}
    return " and ".join(word for word, kinds in words.items() if any(isinstance(each, kinds) for each in asked))
