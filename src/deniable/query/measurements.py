"""What a query measures, slice by slice: columns that get noise, and private choices, each with how far one unit moves it.

An answer has one slice for every level of grouping, and one for the rows of the groups a level hides. What is measured in a
slice has a key of its own, so that every slice is priced, drawn and bounded by itself. All of it follows from the codebook
and the plan; what it costs and how much noise it gets is decided by `query.allocation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.errors import InvalidArgument
from deniable.exact import up
from deniable.kernels import DiscreteLaplaceNoise, HalvesNoise, Law, Sensitivity
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.mechanisms.private_top_k import margin_for
from deniable.plan.analysis import function_notes
from deniable.plan.expression import columns
from deniable.plan.facts import Kind
from deniable.plan.nodes import Distinct, GroupAgg, Level, RowCount, Total, Units
from deniable.plan.presence import may_be_missing
from deniable.plan.provenance import computed, unit_columns
from deniable.plan.relation import Shape, schema
from deniable.plan.rewriting import rounds_quotients
from deniable.plan.sensitivity import Halves, halves_of, halves_sensitivity, limits
from deniable.query.columns import SliceColumn
from deniable.query.keys import KeySet

if TYPE_CHECKING:
    from deniable.query.aggregates.aggregate import MeanColumns, Output
    from deniable.query.builder import Query


@dataclass(frozen=True, slots=True)
class Slice:
    """The groups of the level at `place`; or, `other`, what its hidden groups hold together, one for each declared key.

    `sensitivity_level` is the level whose sensitivity its cells have.
    """

    place: int
    level: Level
    observed: bool
    sensitivity_level: Level
    other: bool = False

    def __str__(self) -> str:
        by = f"by {', '.join(self.level)}" if self.level else "all groups together"
        return f"other rows {by}" if self.other else by

    def key(self, column: str) -> SliceColumn:
        """The key of something measured (or chosen) in this slice."""
        return SliceColumn(column, self.place, self.other)


def slices_of(plan: GroupAgg, keys: KeySet, *, other: bool) -> tuple[Slice, ...]:
    """Every slice of a query, level by level; a level with observed keys is followed by its other rows when wanted."""
    taken = {column.name for column in keys.columns if column.domain is None}
    if other:
        _check_other(keys, taken)
    found = []
    for place, level in enumerate(plan.grouping):
        observed = bool(taken.intersection(level))
        found.append(Slice(place, level, observed, level))
        if observed and other:
            found.append(Slice(place, level, observed, tuple(name for name in level if name not in taken), other=True))
    return tuple(found)


def _check_other(keys: KeySet, taken: set[str]) -> None:
    if not taken:
        raise InvalidArgument("there are no hidden groups to put together: all keys are declared; leave with_other out")
    for column, known in zip(keys.columns, keys.facts, strict=True):
        if column.name in taken and known.kind is not Kind.STRING:
            raise InvalidArgument(f"other rows need observed keys of text, {column.name!r} is a {known.kind.value}")


def adds_up(plan: GroupAgg, below: Shape, column: str) -> bool:
    """Whether a column of a coarser group is the sum over the groups it is made of.

    Rows and sums do, whatever is clipped; units and distinct values only when no unit can be in two groups.
    """
    aggregate = dict(plan.aggregates)[column]
    if isinstance(aggregate, Units):
        return limits(plan, below).kept == 1
    return not isinstance(aggregate, Distinct)


@dataclass(frozen=True, slots=True)
class Additive:
    """A column of integers that will get noise, how far one unit moves it, and its part of the query's budget."""

    key: SliceColumn
    sensitivity: Sensitivity
    weight: Fraction = Fraction(1)
    law: Law | None = None
    """The law of its noise where the analyst chose one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HalvedMean:
    """A total and a count that may be measured in two halves, and how far one unit moves both halves together.

    `weight` is that of the two columns; `count_used` says whether the count serves more than means of this one total.
    """

    total: SliceColumn
    count: SliceColumn
    halves: Halves
    sensitivity: Sensitivity
    weight: Fraction
    count_used: bool

    def noises(self, half: DiscreteLaplaceNoise) -> dict[SliceColumn, HalvesNoise]:
        """What the total and the count carry where each half has this noise."""
        steps = {self.total: self.halves.total_step, self.count: self.halves.count_step}
        return {key: HalvesNoise(half.scale, str(self.total), step) for key, step in steps.items()}

    def gains(self, half: DiscreteLaplaceNoise, total: Fraction, count: Fraction) -> bool:
        """Whether no shown number has more variance than where both columns have noise of their own, of these variances.

        A mean's variance is that of the total and, times the square of its distance from the middle of the bounds, that of the
        count: where the count serves nothing else, the middle and the ends decide.
        """
        new_total, new_count = (noise.variance * noise.step**2 for noise in self.noises(half).values())
        if self.count_used:
            return new_total <= total and new_count <= count
        reach = (self.halves.width * self.halves.scale * self.halves.step / 2) ** 2
        return new_total <= total and new_total + reach * new_count <= total + reach * count


@dataclass(frozen=True, slots=True)
class Selection:
    """A private choice among `candidates`, made `times` times in every group by the exponential mechanism.

    One unit moves every candidate's score by at most `sensitivity`, in each of at most `groups` groups; `one_way` when it
    moves all of them in the same direction, which costs half.
    """

    key: SliceColumn
    sensitivity: Fraction
    one_way: bool
    groups: int
    times: int
    candidates: int
    weight: Fraction = Fraction(1)
    together: int = 1
    """Of how many of the choices in a group the stated error holds at once."""

    def temperature(self, eta: Fraction) -> Fraction:
        """Weights exp(score / temperature) give a loss range of `eta` per choice."""
        return (1 if self.one_way else 2) * self.sensitivity / eta

    def score_error(self, eta: Fraction, beta: Fraction) -> float:
        """The chosen candidate's score is this close to the best with probability 1 - beta."""
        return up(exponential_score_error(beta, count=self.candidates, scale=self.temperature(eta)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSelection:
    """A private choice of `k` of the fullest values that the data holds, among `candidates` of them and a stop.

    One unit moves the counts of at most `l0` values, each by `linf` and all by `l1`; `one_way` when all in the same direction.
    """

    key: SliceColumn
    k: int
    candidates: int
    l0: int
    l1: int
    linf: int
    one_way: bool
    weight: Fraction = Fraction(1)

    @property
    def times(self) -> int:
        """How many choices are made."""
        return self.k

    @property
    def together(self) -> int:
        """Of how many of the choices the stated error holds at once: of all."""
        return self.k

    def temperature(self, eta: Fraction) -> Fraction:
        """Weights exp(count / temperature) give a loss range of `eta` per choice."""
        return (1 if self.one_way or self.l0 == 1 else 2) * self.linf / eta

    def margin(self, eta: Fraction, delta: Fraction) -> int:
        """How far the stop stands above the next value, so that a value one unit alone has leaks with at most delta."""
        scale = self.temperature(eta)
        return margin_for(
            delta, k=self.k, scale=scale, l0=self.l0, linf=self.linf, candidates=self.candidates, monotonic=self.one_way
        )

    def score_error(self, eta: Fraction, beta: Fraction) -> float:
        """Every chosen value is this close to the best one left or the stop, with probability 1 - beta for each."""
        return up(exponential_score_error(beta, count=self.candidates + 1, scale=self.temperature(eta)))


@dataclass(frozen=True, slots=True)
class Measurements:
    """Everything a plan must measure, and the columns of units that the observed keys of each level are judged by."""

    additive: tuple[Additive, ...]
    selections: tuple[Selection, ...]
    units: tuple[SliceColumn, ...] = ()
    found: tuple[FoundSelection, ...] = ()
    means: tuple[HalvedMean, ...] = ()
    """Pairs of the additive columns that Laplace noise may measure in halves."""

    @property
    def choices(self) -> tuple[Selection | FoundSelection, ...]:
        """All private choices."""
        return (*self.selections, *self.found)

    @property
    def weight(self) -> Fraction:
        """What the parts of all numbers that share the query's budget come to."""
        return self.measured + sum((part.weight for part in self.choices), Fraction(0))

    @property
    def measured(self) -> Fraction:
        """What the parts of the columns that get noise come to."""
        return sum((part.weight for part in self.additive), Fraction(0))

    @property
    def even(self) -> bool:
        """Whether all share alike."""
        return len({part.weight for part in self.additive} | {part.weight for part in self.selections}) <= 1


# Means in halves ------------------------------------------------------------------------------------------------------
# Both halves together move by what one of them moves, so each has the noise that one of them costs (`docs/theory/halves.md`).
# Levels that are fitted to one another, and whole numbers, are made of columns with noises of their own.


def halved_means(
    node: GroupAgg, below: Shape, outputs: Sequence[Output], weights: Mapping[str, Fraction]
) -> Iterator[HalvedMean]:
    """The totals and counts that can be measured in halves: each count with the first total that is asked for beside it."""
    measured, taken = dict(node.aggregates), set[str]()
    for mean in dict.fromkeys(mean for output in outputs for mean in output.mean_columns):
        total, count = measured[mean.total], measured[mean.count]
        assert isinstance(total, Total)
        assert isinstance(count, RowCount)
        halves = halves_of(total, count, node.source, complete=not may_be_missing(node.source, total.of))
        users = [output for output in outputs if mean.total in output.columns]
        if (
            taken.intersection((mean.total, mean.count))
            or halves is None
            or not all(_from_the_middle(output, mean, halves) for output in users)
        ):
            continue
        taken |= {mean.total, mean.count}
        beside = [output for output in outputs if mean.count in output.columns and not _is_mean_of(output, mean)]
        yield HalvedMean(
            total=SliceColumn(mean.total),
            count=SliceColumn(mean.count),
            halves=halves,
            sensitivity=halves_sensitivity(halves, node, below),
            weight=weights[mean.total] + weights[mean.count],
            count_used=bool(beside),
        )


def _is_mean_of(output: Output, mean: MeanColumns) -> bool:
    return any(each.exact and each.total == mean.total for each in output.mean_columns)


def _from_the_middle(output: Output, mean: MeanColumns, halves: Halves) -> bool:
    """Whether an output can be computed from a total of distances from the very middle of the bounds."""
    mine = [each for each in output.mean_columns if each.total == mean.total]
    return bool(mine) and (halves.low == -halves.high or all(each.exact for each in mine))


def unit_groups(query: Query[Any]) -> int | None:
    """One group for each unit where every key is constant for it; a unit that breaks the word is kept in one all the same."""
    constant = unit_columns(query.source)
    return 1 if query.keys and all(columns(key.of) and columns(key.of) <= constant for key in query.keys) else None


def level_notes(
    node: GroupAgg,
    parts: tuple[Slice, ...],
    additive: frozenset[str],
    outputs: Sequence[tuple[str, Output]],
) -> list[str]:
    """Where totals of several levels need not be what the finest one adds up to."""
    notes = []
    apart = [name for name, output in outputs if not additive.issuperset(output.columns)]
    if len(node.grouping) > 1 and apart:
        notes.append(f"totals count a unit in several groups once, so {', '.join(apart)} need not add up")
    if len(node.grouping) > 1 and any(part.observed for part in parts) and not any(part.other for part in parts):
        notes.append("totals include the rows of groups that are not shown")
    return notes


# What a reader must know where an answer is not what plain SQL would give -------------------------------------------------

WIDE_KEYS = (
    "all keys together make too many groups for one table: levels are shown as they were measured and need not add up"
)
_QUOTIENTS = "quotients of two columns are rounded to a multiple of 2^-20, except where they are compared"
_WIDE = "the bounds are wide: a quantile is rounded to the middle of a bin of width"


def rounding_notes(node: GroupAgg, outputs: Sequence[Output]) -> list[str]:
    """One sentence for each such thing in a plan."""
    known = schema(node.source)
    here = ((each, known) for each in (*node.inputs, *(key.expression for key in node.keys)))
    used = [*here, *computed(node.source)]
    widths = sorted({output.bin_width for output in outputs if output.bin_width is not None})
    told = " and ".join(f"{float(width):,.6g}" for width in widths)
    return [
        *([_QUOTIENTS] if any(rounds_quotients(each) for each, _ in used) else []),
        *dict.fromkeys(note for each, known in used for note in function_notes(each, known)),
        *([f"{_WIDE} {told}, and its error in ranks is that of the nearest value in the bin"] if widths else []),
    ]
