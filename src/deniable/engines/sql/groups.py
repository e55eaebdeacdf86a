"""The private boundary as SQL: rows, what each unit adds to each group, the cap on groups, totals.

Guarantee: every choice is made inside one unit's partition, after the last step that multiplies rows, and every unit's
part of a total is clipped to the plan's bounds, so the plan's sensitivities hold whatever the rows are.
"""

from __future__ import annotations

from sqlglot import exp

from deniable.engines.order import OrderKey
from deniable.engines.sql.expressions import Expressions, key_counts
from deniable.engines.sql.keyed_order import AMONG, ROWS_THERE, STANDS, Known, first, first_groups, numbered, ranked
from deniable.engines.sql.relations import Relations, unit_names
from deniable.engines.sql.spreading import counted_bins, part_tree, spread_bins
from deniable.engines.sql.sql_statement import Kept, SqlStatement
from deniable.plan.analysis import facts
from deniable.plan.expression import Expression
from deniable.plan.facts import LARGEST, Facts, Kind
from deniable.plan.nodes import Aggregate, ByOrder, Distinct, GroupAgg, Histogram, RowCount, Total, Units
from deniable.plan.profile import Profile
from deniable.plan.sensitivity import checked, limits, total_ends
from deniable.plan.sql_trees import (
    Tree,
    bigint,
    binary,
    case,
    cast,
    clamped,
    column,
    limited,
    missing,
    named,
    number,
    over,
    present,
    scaled,
)

FEW_ROWS = 4
"""When a unit may add at most so many rows to a group, ranking rows is cheaper than first adding them up."""


class Groups:
    """Writes the statements of one plan."""

    def __init__(
        self, plan: GroupAgg, relations: Relations, profile: Profile, key: OrderKey, kept: Kept | None = None
    ) -> None:
        self._plan, self._relations, self._profile, self._key, self._kept = plan, relations, profile, key, kept
        self._below = checked(plan)
        self._limits = limits(plan, self._below)
        self._keys = [f"key_{index}" for index in range(len(plan.keys))]
        self._units = unit_names(plan.source)
        self._inputs = {expression: f"value_{index}" for index, expression in enumerate(plan.inputs)}
        self._single = self._below.most_rows == 1
        self._counted = kept is not None and kept.counted

    def main(self) -> SqlStatement:
        """Keys, the number of units, and every aggregate that adds up per unit."""
        added = [(name, a) for name, a in self._plan.aggregates if isinstance(a, RowCount | Units | Total)]
        cells = tuple(name for name, _ in added)
        return SqlStatement(self._totals([aggregate for _, aggregate in added]), cells)

    def distinct(self, name: str, aggregate: Distinct) -> SqlStatement:
        """Keys and the number of distinct values."""
        value = self._inputs[aggregate.of]
        rows = self._chosen_rows([value]).where(present(column(value)), copy=False)
        if not self._single:
            rows = self._few_values(rows, value, aggregate)
        counted = exp.Count(this=exp.Distinct(expressions=[column(value)]))
        return SqlStatement(self._by_key([named(counted, "cell_0")], rows), (name,))

    def histogram(self, name: str, aggregate: Histogram) -> SqlStatement:
        """Keys, bin and count, for bins that are not empty."""
        value, spread = self._inputs[aggregate.of], aggregate.spread
        rows = self._chosen_rows([value])
        if self._single:
            rows = rows.where(present(column(value)), copy=False)
            counted = scaled(exp.Count(this=exp.Star()), spread.scale)
        else:
            bins = counted_bins if self._counted else spread_bins
            rows = bins(rows, self._units, self._keys, value, spread, self._profile)
            counted = self.whole_sum(column("kept"))
        written = [named(column(value), "bin"), named(counted, "cell_0")]
        return SqlStatement(self._by_key(written, rows, column(value)), (name,))

    def bounded(self, table: str) -> tuple[Kept, SqlStatement]:
        """What to keep of this plan, and the statement that computes it."""
        values = list(self._inputs.values())
        kept = [*self._units, *self._keys, *values, *([ROWS_THERE, STANDS] if self.capped else [])]
        rows = self._chosen_rows(values, counted=self.capped)
        return Kept(self._plan, table, dict(self._inputs), self.capped), SqlStatement(rows, tuple(kept))

    def rows(self) -> SqlStatement:
        """The bounded rows themselves: the hidden columns of their units, then the values the aggregates read."""
        rows, units, values = self.bounded_rows()
        return SqlStatement(rows, (*units, *values.values()))

    def bounded_rows(self) -> tuple[exp.Select, tuple[str, ...], dict[Expression, str]]:
        """The bounded rows, with the names of their hidden columns and of the value of each expression that is read."""
        written = [*self._units, *self._inputs.values()]
        return over([column(name) for name in written], self._rows()), tuple(self._units), dict(self._inputs)

    # rows

    def _rows(self) -> exp.Select:
        """Units, keys and values of every row with a key that counts; row caps applied."""
        choice = self._plan.bounding.choice
        source = self._relations.select(self._plan.source, self._plan.reads)
        write = Expressions(self._below.columns, self._profile)
        written = [column(name) for name in self._units]
        written += [
            named(write.tree(key.expression), name) for key, name in zip(self._plan.keys, self._keys, strict=True)
        ]
        written += [named(write.tree(expression), name) for expression, name in self._inputs.items()]
        if isinstance(choice, ByOrder):
            written.append(named(write.tree(choice.expression), "sorted"))
        rows = over(written, source)
        read = zip(self._plan.keys, self._key_facts(), strict=True)
        conditions = [c for key, (name, known) in read if (c := key_counts(key, known, name)) is not None]
        if conditions:
            rows = over([column(name) for name in self._row_columns()], rows).where(*conditions, copy=False)
        if self._row_caps():
            rows = self._profile.gathered(rows, self._units)
        return self._row_capped(rows)

    def _row_columns(self) -> list[str]:
        ordered = ["sorted"] if isinstance(self._plan.bounding.choice, ByOrder) else []
        return [*self._units, *self._keys, *self._inputs.values(), *ordered]

    def _row_capped(self, rows: exp.Select) -> exp.Select:
        kept = self._row_columns()
        for most, within_group in self._row_caps():
            partition = [*self._units, *(self._keys if within_group else [])]
            words = [*self._key_facts(), *self._value_facts(), AMONG]
            placed, order = self._ranked(numbered(rows, kept), [*kept, "among"], words)
            rows = first(placed, kept, partition, self._preferred() + order, most, exp.RowNumber())
        return rows

    def _row_caps(self) -> list[tuple[int, bool]]:
        """How many rows a unit keeps, and whether in each group or in all."""
        bounding = self._plan.bounding
        caps = () if self._single else ((bounding.rows_per_unit, False), (bounding.rows_per_group, True))
        return [(most, within_group) for most, within_group in caps if most is not None]

    def _preferred(self) -> list[Tree]:
        choice = self._plan.bounding.choice
        if not isinstance(choice, ByOrder):
            return []
        last = case([(missing(column("sorted")), number(1))], number(0))
        return [exp.Ordered(this=last), exp.Ordered(this=column("sorted"), desc=choice.last)]

    def _key_facts(self) -> list[tuple[str, Facts]]:
        known = [facts(key.expression, self._below.columns) for key in self._plan.keys]
        return list(zip(self._keys, known, strict=True))

    def _value_facts(self) -> list[tuple[str, Facts]]:
        return [(name, facts(expression, self._below.columns)) for expression, name in self._inputs.items()]

    def _ranked(self, inner: exp.Select, kept: list[str], words: Known) -> tuple[exp.Select, list[Tree]]:
        """`inner` with the keyed hash of its unit and these values; and what to sort by."""
        hashed = self._below.unit is not None and not self._below.unit.is_row
        units = list(zip(self._units, self._below.identity, strict=True)) if hashed else []
        return ranked(inner, kept, units, words, self._key, self._profile)

    # groups

    @property
    def capped(self) -> bool:
        """Whether a unit could touch more groups than it may."""
        if self._single or not self._plan.keys:
            return False
        cells = self._limits.cells
        return cells is None or cells > self._plan.bounding.groups

    def _chosen_rows(self, values: list[str], *, counted: bool = False) -> exp.Select:
        """The rows of the groups each unit keeps; `counted` as `keyed_order.first_groups` does."""
        if self._kept is not None:
            there = {name: self._kept.values[expression] for expression, name in self._inputs.items()}
            beside = [ROWS_THERE, STANDS] if self._counted else []
            written = [*map(column, [*self._units, *self._keys, *beside])]
            written += [named(column(there[name]), name) for name in values]
            written = written or [number(1)]  # where no column of them is read
            return exp.select(*written, copy=False).from_(exp.to_table(self._kept.table), copy=False)
        rows = self._rows()
        kept = [*self._units, *self._keys, *values]
        if not self.capped:
            return over([column(name) for name in kept], rows)
        if not self._row_caps():
            rows = self._profile.gathered(rows, self._units)
        choice = self._plan.bounding.choice
        carried = list(dict.fromkeys([*self._row_columns(), *kept]))
        if isinstance(choice, ByOrder):
            best = exp.Max(this=column("sorted")) if choice.last else exp.Min(this=column("sorted"))
            whole = [column(name) for name in [*self._units, *self._keys]]
            plain = [column(name) for name in carried if name != "sorted"]
            rows = over([*plain, named(exp.Window(this=best, partition_by=whole), "sorted")], rows)
        placed, order = self._ranked(rows, carried, self._key_facts())
        ties = [exp.Ordered(this=column(name)) for name, known in self._key_facts() if known.kind is Kind.STRING]
        places = self._preferred() + order + ties
        if counted:
            return first_groups(placed, kept, self._units, places, self._plan.bounding.groups)
        rank = exp.Anonymous(this="DENSE_RANK")
        return first(placed, kept, self._units, places, self._plan.bounding.groups, rank)

    def _totals(self, aggregates: list[Aggregate]) -> exp.Select:
        if self._single:
            cells = [named(self._alone(a), f"cell_{i}") for i, a in enumerate(aggregates)]
            rows = self._rows() if self._kept is None else self._chosen_rows(list(self._inputs.values()))
            return self._by_key(cells, rows)
        few = [a.most for a in aggregates if isinstance(a, RowCount)]
        if self._counted and (most := self._added_whole(aggregates)):
            return self._by_key(*self._counted_parts(aggregates, most))
        if self._kept is not None or (self.capped and few and max(few) <= FEW_ROWS):
            per_unit = self._per_unit(aggregates, self._chosen_rows(list(self._inputs.values())), ordered=False)
        else:
            per_unit = self._per_unit(aggregates, self._rows(), ordered=True)
            if self.capped:
                per_unit = self._first_groups(per_unit, len(aggregates))
        cells = [named(self._cell(a, f"part_{i}"), f"cell_{i}") for i, a in enumerate(aggregates)]
        return self._by_key(cells, per_unit)

    def _added_whole(self, aggregates: list[Aggregate]) -> int:
        """A unit with at most so many rows in a group adds them up as they are in all aggregates; none where that is not known.

        There no row is spread, no part of a unit is clipped, and every row of a unit that is counted once tells of all.
        """
        known = self._below.columns
        several = self._plan.levels is not None and self._limits.kept > 1
        spreads = [a.spread for a in aggregates if isinstance(a, RowCount | Total) and a.spread is not None]
        most = min([each.rows for each in spreads] + [a.most for a in aggregates if isinstance(a, RowCount)], default=0)
        for aggregate in aggregates:
            match aggregate:
                case Units(of):
                    alike = not several and (of is None or not facts(of, known).nullable)
                case Total(of, _, _, spread):
                    low, high = total_ends(aggregate, facts(of, known))
                    least, greatest = (end * most * (spread.scale if spread else 1) for end in facts(of, known).ends)
                    alike = low <= min(least, 0) and max(greatest, 0) <= high
                case _:
                    alike = True
            if not alike:
                return 0
        return most

    def _counted_parts(self, aggregates: list[Aggregate], most: int) -> tuple[list[Tree], exp.Select]:
        """Cells, and what they add up: a row for every unit with more than `most` rows in a group, and one for all others of it."""
        few = binary(exp.LTE, column(ROWS_THERE), number(most))
        apart = [named(case([(few.copy(), exp.null())], column(name)), name) for name in self._units]
        apart.append(named(case([(few, number(0))], column(ROWS_THERE)), ROWS_THERE))
        values = [*self._keys, *self._inputs.values(), STANDS]
        rows = over([*apart, *map(column, values)], self._chosen_rows(list(self._inputs.values())))
        written = [column(name) for name in self._keys]
        for place, aggregate in enumerate(aggregates):
            together = binary(exp.EQ, column(ROWS_THERE), number(0))
            part = case([(together, self._whole(aggregate))], self._part(aggregate))
            written.append(named(part, f"part_{place}"))
        grouped = [column(name) for name in [*self._keys, *self._units, ROWS_THERE]]
        parts = over(written, rows).group_by(*grouped, copy=False)
        cells = [named(self.whole_sum(column(f"part_{place}")), f"cell_{place}") for place in range(len(aggregates))]
        return cells, parts

    def _whole(self, aggregate: Aggregate) -> Tree:
        """What rows add to an aggregate as they are."""
        match aggregate:
            case Units():
                return exp.Coalesce(this=self._profile.wide_sum(column(STANDS)), expressions=[number(0)])
            case RowCount(_, of, spread):
                return scaled(self._count(of), spread.scale if spread else 1)
            case Total(of, _, _, spread):
                total = exp.Coalesce(this=self._profile.wide_sum(column(self._inputs[of])), expressions=[number(0)])
                return scaled(total, spread.scale if spread else 1)
            case Distinct() | Histogram():
                raise AssertionError("these have statements of their own")

    def _cell(self, aggregate: Aggregate, part: str) -> Tree:
        """What all units add to a group; on a coarser level a unit in several groups is still one unit."""
        if isinstance(aggregate, Units) and self._plan.levels is not None and self._limits.kept > 1:
            units = [column(name) for name in self._units]
            if aggregate != Units():
                there = binary(exp.GT, column(part), number(0))
                units = [case([(there.copy(), unit)]) for unit in units]
            return exp.Count(this=exp.Distinct(expressions=units))
        return exp.Count(this=exp.Star()) if aggregate == Units() else self.whole_sum(column(part))

    def _per_unit(self, aggregates: list[Aggregate], rows: exp.Select, *, ordered: bool) -> exp.Select:
        """One row per unit and group: what the unit adds to each aggregate, clipped."""
        grouped = [*self._units, *self._keys]
        written = [column(name) for name in grouped]
        written += [named(self._part(a), f"part_{i}") for i, a in enumerate(aggregates) if a != Units()]
        choice = self._plan.bounding.choice
        if ordered and isinstance(choice, ByOrder):
            best = exp.Max(this=column("sorted")) if choice.last else exp.Min(this=column("sorted"))
            written.append(named(best, "sorted"))
        return over(written, rows).group_by(*(column(name) for name in grouped), copy=False)

    def _first_groups(self, per_unit: exp.Select, count: int) -> exp.Select:
        aggregates = [a for _, a in self._plan.aggregates if isinstance(a, RowCount | Units | Total)]
        parts = [f"part_{i}" for i in range(count) if aggregates[i] != Units()]
        kept = [*self._units, *self._keys, *parts]
        ordered = ["sorted"] if isinstance(self._plan.bounding.choice, ByOrder) else []
        if not self._row_caps():
            per_unit = self._profile.gathered(per_unit, self._units)
        placed, order = self._ranked(per_unit, [*kept, *ordered], self._key_facts())
        places = self._preferred() + order
        kept = kept if self._plan.levels is not None else kept[len(self._units) :]
        return first(placed, kept, self._units, places, self._plan.bounding.groups, exp.RowNumber())

    def _by_key(self, cells: list[Tree], inner: exp.Select, *further: Tree) -> exp.Select:
        """Totals per group of every level; one row without keys."""
        if self._plan.levels is not None:
            return self._by_level(cells, inner, further)
        total = over([*map(column, self._keys), *cells], inner)
        grouped = [*map(column, self._keys), *further]
        return total.group_by(*grouped, copy=False) if grouped else total

    def _by_level(self, cells: list[Tree], inner: exp.Select, further: tuple[Tree, ...]) -> exp.Select:
        """All levels in one pass, and for every key whether a row rolls it up."""
        names = {key.name: name for key, name in zip(self._plan.keys, self._keys, strict=True)}
        sets: list[Tree] = [
            exp.Tuple(expressions=[*(column(names[key]) for key in level), *(tree.copy() for tree in further)])
            for level in self._plan.grouping
        ]
        rolled = [
            named(bigint(exp.Anonymous(this="GROUPING", expressions=[column(name)])), f"rolled_{index}")
            for index, name in enumerate(self._keys)
        ]
        total = over([*map(column, self._keys), *rolled, *cells], inner)
        total.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        return total

    def whole_sum(self, value: Tree) -> Tree:
        """An exact sum, zero of nothing; it saturates far beyond what a declared grid reaches."""
        total = exp.Coalesce(this=self._profile.wide_sum(value), expressions=[number(0)])
        return bigint(limited(total, -LARGEST, LARGEST))

    def _part(self, aggregate: Aggregate) -> Tree:
        match aggregate:
            case RowCount(most, of, spread):
                if spread is None:
                    return limited(self._count(of), 0, most)
                count = cast(self._count(of), self._profile.wide)
                return bigint(limited(part_tree(count, spread, self._profile), 0, most * spread.scale))
            case Units(of):
                return limited(self._count(of), 0, 1)
            case Total(of):
                low, high = total_ends(aggregate, facts(of, self._below.columns))
                total = self._profile.wide_sum(column(self._inputs[of]))
                if aggregate.spread is not None:
                    total = part_tree(total, aggregate.spread, self._profile, signed=True)
                if low <= 0 <= high:
                    return bigint(limited(exp.Coalesce(this=total, expressions=[number(0)]), low, high))
                return exp.Coalesce(this=bigint(clamped(total, low, high)), expressions=[number(0)])
            case Distinct() | Histogram():
                raise AssertionError("these have statements of their own")

    def _alone(self, aggregate: Aggregate) -> Tree:
        """An aggregate where every row is a unit of its own."""
        match aggregate:
            case Units(of):
                return self._count(of)
            case RowCount(_, of, spread):
                return scaled(self._count(of), spread.scale if spread else 1)
            case Total(of, _, _, spread):
                known, scale = facts(of, self._below.columns), spread.scale if spread else 1
                low, high = total_ends(aggregate, known)
                value = scaled(column(self._inputs[of]), scale)
                inside = low <= known.ends[0] * scale and known.ends[1] * scale <= high
                return self.whole_sum(value if inside else clamped(value, low, high))
            case Distinct() | Histogram():
                raise AssertionError("these have statements of their own")

    def _count(self, of: Expression | None) -> Tree:
        return exp.Count(this=exp.Star() if of is None else column(self._inputs[of]))

    # distinct values and histograms

    def _few_values(self, rows: exp.Select, value: str, aggregate: Distinct) -> exp.Select:
        kept = [*self._units, *self._keys, value]
        once = over([column(name) for name in kept], rows).distinct(copy=False)
        known = facts(aggregate.of, self._below.columns)
        placed, order = self._ranked(once, kept, [(value, known)])
        return first(placed, kept, [*self._units, *self._keys], order, aggregate.most, exp.RowNumber())


def statements(
    plan: GroupAgg, relations: Relations, profile: Profile, key: OrderKey, kept: Kept | None = None
) -> tuple[SqlStatement, dict[str, SqlStatement]]:
    """The main statement of a plan, and one for every distinct count and histogram, by name; from kept rows if there are."""
    groups = Groups(plan, relations, profile, key, kept)
    further = {}
    for name, aggregate in plan.aggregates:
        if isinstance(aggregate, Distinct):
            further[name] = groups.distinct(name, aggregate)
        if isinstance(aggregate, Histogram):
            further[name] = groups.histogram(name, aggregate)
    return groups.main(), further
