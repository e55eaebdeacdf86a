"""From a question to a plan: which integers to measure, how much one unit moves each, and how the answers follow from them.

Everything is decided from the codebook; a question that cannot be answered is refused here, before anything is spent.
A unit with more rows in a group than may count is spread evenly over all of them, in every output alike (`plan.spread`);
unless the query keeps some of its rows, or asks for a unit's total to be clipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import assert_never

from deniable.cost import Neighbours
from deniable.errors import InvalidArgument, QueryRefused
from deniable.mechanisms.quantile import share
from deniable.plan import nodes as plan
from deniable.plan.analysis import facts
from deniable.plan.expression import (
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Divide,
    Expression,
    IsNull,
    Literal,
    Not,
    Operator,
    Round,
    Rounding,
    columns,
)
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import Bounding, ByOrder, GroupAgg
from deniable.plan.parse import parse
from deniable.plan.provenance import declared_bins, unit_columns
from deniable.plan.relation import Shape, schema, shape
from deniable.plan.rewriting import clamp_step, refined
from deniable.plan.sensitivity import Sensitivity, checked, sensitivity
from deniable.plan.spread import FINEST, Spread, fine_bits, fine_step
from deniable.plan.unit import Unit
from deniable.query.aggregates import (
    TOTAL,
    Aggregate,
    Clip,
    Count,
    CountDistinct,
    CountUnits,
    Covariance,
    Deviation,
    Histogram,
    Mean,
    Of,
    Quantile,
    Sum,
    TopK,
    Variance,
)
from deniable.query.builder import Query
from deniable.query.choices import Ordered, Ranked
from deniable.query.keys import KeySet, key_set
from deniable.query.outputs import HistogramOf, MeanOf, MomentOf, Output, Plain, QuantileOf, TopKOf
from deniable.query.presence import present_columns, strict_columns
from deniable.query.pricing import Additive, Needs, Selection
from deniable.query.public_conditions import check_categories
from deniable.query.rounding_notes import rounding_notes
from deniable.query.slices import Slice, adds_up, slices

_CANDIDATES = 1 << 20
"""A quantile is chosen among at most so many public values: the column's grid, or the middles of even bins over its bounds."""

_PRODUCT_LIMIT = 2**31
"""Products are rounded to a grid on which one row stays below this, so that sums over many rows stay exact."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A plan, what must be measured of it, and how each output follows."""

    plan: GroupAgg
    keys: KeySet
    needs: Needs
    steps: Mapping[str, Fraction]
    grains: Mapping[str, Fraction]
    """What each column is shown in whole multiples of: its own step where it is measured in parts of it."""
    bins: Mapping[str, int]
    choices: Mapping[str, Ranked | Ordered]
    outputs: tuple[tuple[str, Output], ...]
    notes: tuple[str, ...]
    slices: tuple[Slice, ...]
    additive: frozenset[str]
    """Columns whose coarser groups are the sum of finer ones."""
    other: str | None = None
    whole: bool = False

    def tells(self, output: Output, part: Slice) -> bool:
        """Whether an output has a value in a slice: hidden groups can be added up, but not their units or distinct values."""
        return not part.other or self.additive.issuperset(output.columns)


def lowered(query: Query, unit: Unit) -> Lowered:
    """The plan of a query for this unit, or a refusal that says what to change."""
    if not query.aggregates:
        raise InvalidArgument("a query needs something to compute: .agg(n=dp.count())")
    rows = _first(query.rows, query.total, unit.rows)
    groups = _first(query.groups, unit_groups(query), query.total, unit.groups)
    if rows is None or (groups is None and query.keys):
        raise InvalidArgument(
            "there is no default bound: say how many groups one unit may touch and how many rows it may add to each, "
            "unit: {id: ..., groups: 3, rows_per_group: 5} in the codebook or .bound(groups=3, rows=5) on the query"
        )
    return _Lowering(query, rows, groups if groups is not None and query.keys else 1).done()


def unit_groups(query: Query) -> int | None:
    """One group for each unit where every key is constant for it; a unit that breaks the word is kept in one all the same."""
    constant = unit_columns(query.source)
    return 1 if query.keys and all(columns(key.of) and columns(key.of) <= constant for key in query.keys) else None


def _first(*bounds: int | None) -> int | None:
    return next((bound for bound in bounds if bound is not None), None)


@dataclass(slots=True)
class _Lowering:
    query: Query
    rows: int
    groups: int
    measured: dict[plan.Aggregate, str] = field(default_factory=dict)
    steps: dict[str, Fraction] = field(default_factory=dict)
    grains: dict[str, Fraction] = field(default_factory=dict)
    bins: dict[str, int] = field(default_factory=dict)
    choices: dict[str, Ranked | Ordered] = field(default_factory=dict)

    @property
    def keeps(self) -> bool:
        """Whether some rows of a unit with too many are kept and the others left out."""
        return self.query.sampled or isinstance(self.query.choice, ByOrder)

    @property
    def binding(self) -> bool:
        """Whether a unit can have more rows in a group than may count."""
        most = [most for most in (shape(self.query.source).most_rows, self.query.total) if most is not None]
        return min(most, default=self.rows + 1) > self.rows

    def _spread(self, bits: int) -> Spread | None:
        return Spread(self.rows, bits) if self.binding and not self.keeps else None

    def done(self) -> Lowered:
        keys = key_set(self.query)
        outputs = tuple((name, self._output(aggregate)) for name, aggregate in self.query.aggregates)
        units = self._measure(plan.Units(), Fraction(1)) if keys.observed else None
        bounding = Bounding(
            groups=self.groups,
            rows_per_group=self.rows if self.keeps and self.binding else None,
            rows_per_unit=self.query.total,
            choice=self.query.choice,
        )
        aggregates = tuple((name, aggregate) for aggregate, name in self.measured.items())
        read = [key.of for key in self.query.keys] + [each.of for each in self.measured if each.of is not None]
        check_categories(self.query.source, read)
        node = GroupAgg(self.query.source, keys.columns, bounding, aggregates, self.query.levels)
        parts = slices(node, keys, other=self.query.other is not None)
        below = checked(node)
        additive = frozenset(name for name, _ in aggregates if adds_up(node, below, name))
        needs = self._needs(node, below, parts, additive, units, outputs)
        notes = [*self._notes(), *self._level_notes(node, parts, additive, outputs)]
        notes += rounding_notes(node, [output for _, output in outputs])
        return Lowered(
            plan=node,
            keys=keys,
            needs=needs,
            steps=self.steps,
            grains=self.grains,
            bins=self.bins,
            choices=self.choices,
            outputs=outputs,
            notes=tuple(notes),
            slices=parts,
            additive=additive,
            other=self.query.other,
            whole=self.query.whole,
        )

    def _notes(self) -> list[str]:
        rows = "one row" if self.rows == 1 else f"{self.rows} rows"
        many = f"a unit with more than {rows} in a group"
        if not self.binding:
            general = f"no unit has more than {rows} in a group"
        elif self.keeps:
            how = "a sample by a keyed hash" if self.query.sampled else "by the order asked for"
            general = f"of {many} {rows} {'is' if self.rows == 1 else 'are'} kept, {how}"
        else:
            general = f"{many} counts as {rows}, spread evenly over all it has there"
        constant = (
            [key.name for key in self.query.keys] if self.query.groups is None and unit_groups(self.query) else []
        )
        once = [f"a unit with several values of {', '.join(constant)} is kept in one group"] if constant else []
        return ["; ".join([general, *self._clips(), *once]), *self._spread_notes()]

    def _spread_notes(self) -> Iterator[str]:
        """What even weights mean for what was asked."""
        if self._spread(0) is None:
            return
        asked = [aggregate for _, aggregate in self.query.aggregates]
        if any(isinstance(each, Mean | Variance | Deviation | Covariance) for each in asked):
            yield "units that are spread weigh alike in a mean, however many rows they have"
        if len(asked) == 1 and isinstance(asked[0], Sum) and asked[0].clip is None:
            yield 'a sum alone loses less where each unit\'s total is clipped instead: clip="total"'

    def _clips(self) -> Iterator[str]:
        """What single aggregates say about one unit's part in them."""
        for name, aggregate in self.query.aggregates:
            if isinstance(aggregate, Sum) and aggregate.clip == TOTAL:
                yield f"what it adds to {name} is clipped to what {self.rows} rows can add"
            elif isinstance(aggregate, Sum) and isinstance(aggregate.clip, tuple):
                lower, upper = (f"{float(end):g}" for end in aggregate.clip)
                yield f"what it adds to {name} is clipped to [{lower}, {upper}]"
            elif isinstance(aggregate, Count) and aggregate.most is not None:
                yield f"it counts at most {aggregate.most} times in {name}"

    def _needs(
        self,
        node: GroupAgg,
        below: Shape,
        parts: tuple[Slice, ...],
        adding: frozenset[str],
        units: str | None,
        outputs: tuple[tuple[str, Output], ...],
    ) -> Needs:
        """What to measure in every slice, each with the sensitivity of its own level."""
        assert below.unit is not None
        replaced = below.unit.neighbours is Neighbours.REPLACE
        asked = {name for output in self._noisy() for name in output} - self._only_judged(units)
        additive, chosen = [], []
        weights = self._weights(outputs, units)
        for part in parts:
            moved = {name: sensitivity(aggregate, node, below, part.moved_by) for name, aggregate in node.aggregates}
            touched = sensitivity(plan.Units(), node, below, part.moved_by).l0
            wanted = asked & adding if part.other else asked | ({units} if units and part.observed else set())
            additive += [Additive(part.named(name), moved[name], weights[name]) for name in moved if name in wanted]
            chosen += [
                replace(
                    self._selection(part.named(name), choice, moved[choice.histogram], touched, replaced),
                    weight=weights[name],
                )
                for name, choice in self.choices.items()
            ]
        judged = tuple(part.named(units) for part in parts if units and part.observed and not part.other)
        return Needs(tuple(additive), tuple(chosen), judged)

    def _weights(self, outputs: tuple[tuple[str, Output], ...], units: str | None) -> dict[str, Fraction]:
        """The part of the budget of everything measured and chosen: the largest that an output using it was given."""
        shares = dict(self.query.shares)
        found: dict[str, Fraction] = {}
        for name, output in outputs:
            used = (output.choice,) if isinstance(output, QuantileOf | TopKOf) else output.columns
            for each in used:
                found[each] = max(found.get(each, Fraction(0)), shares.get(name, Fraction(1)))
        if units is not None:
            found[units] = max(found.get(units, Fraction(0)), shares.get("keys", Fraction(1)))
        return {name: found.get(name, Fraction(1)) for name in (*self.measured.values(), *self.choices)}

    def _only_judged(self, units: str | None) -> set[str]:
        """The column of units when nobody asked for it: it is measured only where keys are observed."""
        shown = any(aggregate == CountUnits() for _, aggregate in self.query.aggregates)
        return {units} if units and not shown else set()

    def _level_notes(
        self,
        node: GroupAgg,
        parts: tuple[Slice, ...],
        additive: frozenset[str],
        outputs: tuple[tuple[str, Output], ...],
    ) -> list[str]:
        notes = []
        apart = [name for name, output in outputs if not additive.issuperset(output.columns)]
        if len(node.grouping) > 1 and apart:
            notes.append(f"totals count a unit in several groups once, so {', '.join(apart)} need not add up")
        averaged = any(isinstance(output, MeanOf | MomentOf) for _, output in outputs)
        if len(node.grouping) > 1 and averaged and self._spread(0) is not None:
            notes.append("a total's mean weighs the groups of a unit by the rows that count in each")
        if len(node.grouping) > 1 and any(part.observed for part in parts) and not any(part.other for part in parts):
            notes.append("totals include the rows of groups that are not shown")
        return notes

    def _noisy(self) -> list[tuple[str, ...]]:
        chosen_from = {choice.histogram for choice in self.choices.values()}
        return [(name,) for name in self.measured.values() if name not in chosen_from or name in self._plain_histograms]

    @property
    def _plain_histograms(self) -> set[str]:
        return {
            self.measured[self._histogram_of(aggregate)]
            for _, aggregate in self.query.aggregates
            if isinstance(aggregate, Histogram)
        }

    def _selection(
        self, name: str, choice: Ranked | Ordered, moved: Sensitivity, groups: int, replaced: bool
    ) -> Selection:
        """One unit's rows in a group move each rank by max(q, 1 - q) per row, or by one when they replace another's."""
        rows = Fraction(moved.linf)
        if isinstance(choice, Ranked):
            each = Fraction(1) if replaced else max(choice.q, 1 - choice.q)
            return Selection(name, rows * each, False, groups, 1, choice.bins)
        return Selection(name, rows, not replaced, groups, min(choice.k, choice.bins), choice.bins)

    # One aggregate ---------------------------------------------------------------------------------------------------

    def _output(self, aggregate: Aggregate) -> Output:
        match aggregate:
            case Count(of, most):
                return Plain(self._count(None if of is None else self._read(of), most))
            case CountUnits(of):
                return Plain(self._measure(plan.Units(None if of is None else self._read(of)), Fraction(1)))
            case CountDistinct(of):
                return Plain(self._measure(plan.Distinct(self._read(of), self.rows), Fraction(1)))
            case Sum(of, clip):
                return Plain(self._total(self._read(of), clip))
            case Mean(of):
                return self._mean(self._read(of))
            case Variance(of):
                x = self._read(of)
                return self._moment(x, x, root=False)
            case Deviation(of):
                x = self._read(of)
                return self._moment(x, x, root=True)
            case Covariance(x, y):
                return self._moment(self._read(x), self._read(y), root=False)
            case Quantile(of, q):
                return self._quantile(self._read(of), q)
            case Histogram():
                return self._histogram(aggregate)
            case TopK(of, k):
                return self._top(self._read(of), k)
            case _:
                assert_never(aggregate)

    def _read(self, of: Of) -> Expression:
        return parse(of, schema=schema(self.query.source)) if isinstance(of, str) else of

    def _facts(self, of: Expression) -> Facts:
        return facts(of, schema(self.query.source))

    def _bounded(self, of: Expression, what: str) -> Facts:
        known = self._facts(of)
        if known.kind is not Kind.NUMBER:
            raise QueryRefused("not-a-number", f"{what} needs a number, this column is a {known.kind.value}")
        if not known.bounded:
            raise QueryRefused(
                "unbounded",
                f"{what} needs bounds, and this column has none",
                rewrite="declare lower and upper in the codebook, or write clamp(x, lower, upper)",
            )
        return known

    def _measure(self, aggregate: plan.Aggregate, step: Fraction) -> str:
        name = self.measured.setdefault(aggregate, f"m{len(self.measured)}")
        spread = None if isinstance(aggregate, plan.Units | plan.Distinct) else aggregate.spread
        self.steps[name], self.grains[name] = fine_step(step, spread), step
        return name

    def _count(self, of: Expression | None, most: int | None = None) -> str:
        """Rows where `of` is present; one shared count of all rows where it cannot be missing."""
        if of is not None and (
            not self._facts(of).nullable or strict_columns(of) <= present_columns(self.query.source)
        ):
            of = None
        if of is None or most is not None:  # all rows of a unit together weigh a whole number of rows
            return self._measure(plan.Rows(self.rows if most is None else most, of), Fraction(1))
        return self._measure(plan.Rows(self.rows, of, self._spread(FINEST)), Fraction(1))

    def _total(self, of: Expression, clip: Clip = None) -> str:
        known = self._bounded(of, "a sum")
        if isinstance(clip, tuple):
            wide = Facts(
                Kind.NUMBER, step=known.step, lower=None, upper=None
            )  # sums of rows go beyond one row's bounds
            step = clamp_step(wide, *clip)
            return self._measure(plan.Total(refined(of, known.step, step), *clip), step)
        low, high = known.ends
        reach = self.rows * known.step
        spread = None if clip == TOTAL else self._spread(fine_bits(max(-low, high)))
        return self._measure(plan.Total(of, min(low, 0) * reach, max(high, 0) * reach, spread), known.step)

    def _centred(self, of: Expression) -> tuple[str, Fraction, Facts]:
        """The sum of distances from the middle of the bounds: half the sensitivity of the sum itself."""
        known = self._bounded(of, "a mean")
        low, high = known.ends
        centre = (low + high) // 2 * known.step
        moved = Arithmetic(Operator.SUBTRACT, of, Literal(centre))
        return self._total(moved), centre, known

    def _mean(self, of: Expression) -> MeanOf:
        total, centre, known = self._centred(of)
        lower, upper = known.ends
        return MeanOf(total, self._count(of), centre, lower * known.step, upper * known.step)

    def _moment(self, x: Expression, y: Expression, *, root: bool) -> MomentOf:
        if x != y:
            x, y = _where_both(x, y, self._facts(x), self._facts(y))
        left, x_centre, x_facts = self._centred(x)
        right, y_centre, y_facts = self._centred(y)
        x_moved, y_moved = (Arithmetic(Operator.SUBTRACT, v, Literal(c)) for v, c in ((x, x_centre), (y, y_centre)))
        product: Expression = Arithmetic(Operator.MULTIPLY, x_moved, y_moved)
        product = self._coarser(product)
        known = self._bounded(product, "a variance")
        low, high = known.ends
        if x == y:
            low = 0
        half = -((low - high) // 2) * known.step
        shift = (low + high) // 2 * known.step
        shifted = Arithmetic(Operator.SUBTRACT, product, Literal(shift))
        products = self._clipped_total(shifted, -half, half)
        widest = _widest(x_facts, y_facts)
        return MomentOf(
            products, left, right, self._count(x), shift, Fraction(0) if x == y else -widest, widest, root=root
        )

    def _clipped_total(self, of: Expression, lower: Fraction, upper: Fraction) -> str:
        known = self._bounded(of, "a sum")
        spread = self._spread(fine_bits(max(map(abs, known.ends))))
        return self._measure(plan.Total(of, self.rows * lower, self.rows * upper, spread), known.step)

    def _coarser(self, product: Expression) -> Expression:
        known = self._bounded(product, "a variance")
        widest = max(abs(end) for end in known.ends)
        factor = 1
        while widest > factor * _PRODUCT_LIMIT:
            factor *= 2
        return product if factor == 1 else Round(Rounding.NEAREST, product, known.step * factor)

    def _quantile(self, of: Expression, q: Fraction) -> QuantileOf:
        known, q = self._bounded(of, "a quantile"), share(q)  # a long fraction could overflow the rank scores
        low, high = known.ends
        ends = high - low >= _CANDIDATES  # bins are coarser than the grid, and clamped values pile up at the bounds
        first, last = (low + 1, high - 1) if ends else (low, high)
        per_bin = -(-(last - first + 1) // _CANDIDATES)
        bins = -(-(last - first + 1) // per_bin)
        number = _even_bins(of, (first - per_bin if ends else first) * known.step, per_bin * known.step)
        if ends:  # the lower bound is alone in bin 0, one step before the others
            number = Case(
                ((Compare(Comparison.EQUAL, of, Literal(high * known.step)), Literal(Fraction(bins + 1))),), number
            )
        candidates = bins + 2 * ends
        column = self._measure(self._bins_of(number, candidates), Fraction(1))
        self.bins[column] = candidates
        name = f"c{len(self.choices)}"
        self.choices[name] = Ranked(column, q, candidates)
        middle = first * known.step + (per_bin - 1) * known.step / 2
        return QuantileOf(name, middle, per_bin * known.step, low * known.step, high * known.step, bins=bins, ends=ends)

    def _bins_of(self, number: Expression, bins: int) -> plan.Histogram:
        spread = self._spread(FINEST)
        return plan.Histogram(number, bins, self.rows, None if spread is None else spread.bits)

    def _histogram_of(self, aggregate: Histogram) -> plan.Histogram:
        of = self._read(aggregate.of)
        edges = self._edges(aggregate, of)
        return self._bins_of(Bin(of, edges), len(edges) - 1)

    def _edges(self, aggregate: Histogram, of: Expression) -> tuple[Fraction, ...]:
        if aggregate.edges is not None:
            return aggregate.edges
        bins = declared_bins(self.query.source, of)
        if bins is not None:
            return bins
        raise QueryRefused(
            "no-bins",
            "a histogram needs public bins",
            rewrite="declare the column's bins in the codebook, or write dp.histogram(column, edges=[0, 10, 20])",
        )

    def _histogram(self, aggregate: Histogram) -> HistogramOf:
        asked = self._histogram_of(aggregate)
        column = self._measure(asked, Fraction(1))
        self.bins[column] = asked.bins
        return HistogramOf(column, self._edges(aggregate, self._read(aggregate.of)))

    def _top(self, of: Expression, k: int) -> TopKOf:
        values = self._facts(of).categories
        if values is None:
            raise QueryRefused(
                "no-categories", "top_k chooses among declared values", rewrite="declare the column's categories"
            )
        number = Case(
            tuple(
                (Compare(Comparison.EQUAL, of, Literal(value)), Literal(Fraction(i))) for i, value in enumerate(values)
            )
        )
        column = self._measure(self._bins_of(number, len(values)), Fraction(1))
        self.bins[column] = len(values)
        name = f"c{len(self.choices)}"
        self.choices[name] = Ordered(column, k, len(values))
        return TopKOf(name, values)


def _even_bins(of: Expression, start: Fraction, width: Fraction) -> Expression:
    """How many whole widths a value lies above the start."""
    above = Arithmetic(Operator.SUBTRACT, of, Literal(start))
    return Divide(Round(Rounding.FLOOR, above, width), Literal(width), Fraction(1))


def _where_both(x: Expression, y: Expression, x_facts: Facts, y_facts: Facts) -> tuple[Expression, Expression]:
    """Two columns made missing together, so that both sums run over the same rows."""
    left = Case(((Not(IsNull(y)), x),)) if y_facts.nullable else x
    right = Case(((Not(IsNull(x)), y),)) if x_facts.nullable else y
    return left, right


def _widest(x: Facts, y: Facts) -> Fraction:
    """The most a (co)variance can be: half the product of the ranges, each halved, is attained at the ends."""
    (a, b), (c, d) = x.ends, y.ends
    return (b - a) * x.step * (d - c) * y.step / 4
