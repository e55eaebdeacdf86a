"""The plan: a closed set of relational nodes, from scanned tables to the integers a query releases noise around.

A relation below `GroupAgg` keeps, besides its columns, the hidden identity of the unit each row belongs to. Only
`GroupAgg` drops it, after it has bounded every unit: nothing that multiplies rows can come later.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer
from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread
from deniable.plan.expression import Expression, columns
from deniable.plan.facts import Facts


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of one table of the codebook, each cell read as its variable says.

    A private table without a unit column brings its unit along the declared links; a row whose unit is missing, or
    whose parent row is, is left out.
    """

    codebook: Codebook
    table: str


@dataclass(frozen=True, slots=True)
class ValueTable:
    """A public table that stands in the plan itself: public keys written out, or what an earlier stage releases.

    `columns` are known from the start; `rows`, as engines hold values, are None until the stage is released. Whatever they
    turn out to be, they lie within `columns`, so no bound of a plan depends on them.
    """

    name: str
    columns: tuple[tuple[str, Facts], ...]
    rows: tuple[tuple[object, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows on which `condition` is true (not false, not unknown)."""

    source: Relation
    condition: Expression


@dataclass(frozen=True, slots=True)
class Project:
    """Exactly these columns, each computed from a row of `source`; the unit comes along."""

    source: Relation
    columns: tuple[tuple[str, Expression], ...]


class JoinKind(Enum):
    """Which rows a join keeps."""

    INNER = "inner"
    LEFT = "left"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of `left` beside the rows of `right` whose `on` columns are equal (pairs: left column, right column).

    Between two private relations the unit must be equal too; this is added here and cannot be left out, so a row meets
    only rows of its own unit. Columns of `right` that also stand in `left` must be renamed before. SEMI keeps the left
    rows that meet one, ANTI those that meet none, both with the columns of `left` alone. A missing value meets nothing.
    Rows meet in a SEMI or ANTI join only where `condition`, over the columns of both sides, is true as well. Where a join of
    private relations pairs rows, each side brings a public number of rows of one unit (`relation.entering`), by the keyed order.
    """

    left: Relation
    right: Relation
    on: tuple[tuple[str, str], ...] = ()
    kind: JoinKind = JoinKind.INNER
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all sources (duplicates kept), which have the same columns and the same unit."""

    sources: tuple[Relation, ...]


class UnitSummary(Enum):
    """What a per-unit sub-query may compute of one unit's rows.

    MEDIAN is the lower of two middle values, QUANTILE that of place ⌈share · n⌉, MODE the most frequent value and among equals
    the least: all are values of the column, so no engine rounds.
    """

    ROWS = "rows"
    COUNT = "count"
    DISTINCT = "distinct"
    SUM = "sum"
    LEAST = "least"
    GREATEST = "greatest"
    MEDIAN = "median"
    QUANTILE = "quantile"
    MODE = "mode"


@dataclass(frozen=True, slots=True)
class UnitValue:
    """One column of a per-unit sub-query: a summary of `of` over the rows of one unit (and key).

    `lower`/`upper` clamp the result and so declare its bounds; a SUM without them can be compared but not added up.
    """

    name: str
    summary: UnitSummary
    of: Expression | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    share: Fraction | None = None


@dataclass(frozen=True, slots=True)
class UnitAgg:
    """One row for every unit (and every value of `keys` it has), with summaries of that unit's rows alone."""

    source: Relation
    keys: tuple[tuple[str, Expression], ...]
    values: tuple[UnitValue, ...]


Relation: TypeAlias = Scan | ValueTable | Filter | Project | Join | Union | UnitAgg


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One column of a GROUP BY.

    `domain` lists the values that are declared, as engines hold them (numbers: integers on the grid); rows with other
    values are left out. None means keys as observed, which a release may show only above a threshold on units.
    Rows whose key is missing are left out unless `keep_missing`.
    """

    name: str
    expression: Expression
    domain: tuple[object, ...] | None = None
    keep_missing: bool = False


@dataclass(frozen=True, slots=True)
class ByHash:
    """Keep what comes first in an order by a keyed hash: reproducible, the same on every engine, guessed by no one."""


@dataclass(frozen=True, slots=True)
class ByOrder:
    """Keep the first (or, `last`, the latest) by the value of an expression; ties by the keyed hash."""

    expression: Expression
    last: bool = False


Choice: TypeAlias = ByHash | ByOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounding:
    """How one unit's contribution is limited, after the last step that can multiply rows.

    `groups`: at most so many groups per unit. `rows_per_group` and `rows_per_unit`, when given, keep only so many rows,
    chosen by `choice` (rows that look alike are told apart by their number among equals); without them no row is left out, and
    each aggregate spreads a unit evenly over its rows or clips what it adds to a group. `choice` also picks the groups.
    """

    groups: int
    rows_per_group: int | None = None
    rows_per_unit: int | None = None
    choice: Choice = ByHash()

    def __post_init__(self) -> None:
        for name in ("groups", "rows_per_group", "rows_per_unit"):
            if getattr(self, name) is not None or name == "groups":
                integer(least=1, **{name: getattr(self, name)})


@dataclass(frozen=True, slots=True)
class RowCount:
    """Rows of the group (where `of` is not missing), each unit counted at most `most` times.

    With `spread`, in parts of rows: each row of a unit with too many weighs the same.
    """

    most: int
    of: Expression | None = None
    spread: Spread | None = None

    def __post_init__(self) -> None:
        integer(least=1, most=self.most)


@dataclass(frozen=True, slots=True)
class Units:
    """Units with a row in the group (where `of` is not missing)."""

    of: Expression | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a bounded number over the group, in steps of its grid; what one unit adds is clipped.

    `lower` and `upper` are numbers (not grid steps); the clip is to the grid points inside. The sum of squares is the
    Total of `x * x`, a covariance needs the Total of `x * y`. With `spread`, each row of a unit with too many weighs the same,
    the steps are finer, and the clip comes last.
    """

    of: Expression
    lower: Fraction
    upper: Fraction
    spread: Spread | None = None

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidArgument(f"a Total's bounds must not be reversed, got [{self.lower}, {self.upper}]")


@dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct values of `of` in the group; each unit brings at most `most` of them, chosen by a keyed hash of unit and value."""

    of: Expression
    most: int

    def __post_init__(self) -> None:
        integer(least=1, most=self.most)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Rows of the group in each of `bins` bins, for quantiles; `of` is a whole number from 0 to bins - 1 or missing.

    A unit with more than `most` rows counts as `most`, spread evenly over all of them in the order of its own values, in steps
    of 2**-bits of a row, so its bins have the shape of what it had.
    """

    of: Expression
    bins: int
    most: int
    bits: int | None = None

    def __post_init__(self) -> None:
        integer(least=1, bins=self.bins)
        if not integer(least=1, most=self.most) < 2**20:
            raise InvalidArgument(f"most must be below 2**20 rows of one unit, got {self.most}")

    @property
    def spread(self) -> Spread:
        """How the rows of a unit with too many are weighed."""
        return Spread(self.most, self.bits or 0)


Aggregate: TypeAlias = RowCount | Units | Total | Distinct | Histogram


Level: TypeAlias = tuple[str, ...]
"""A grouping set: the names of the keys that part its groups, in the order of the plan's keys; () is the grand total."""


@dataclass(frozen=True, slots=True)
class GroupAgg:
    """The private boundary: integers per group, every unit's contribution bounded.

    `levels` are the grouping sets to compute; None means one, by all keys. Units are bounded once, in the groups by all
    keys; a group of a coarser level holds what was kept in the groups it is made of, so rows and sums add up.
    Guarantee: adding or removing one unit moves each aggregate, on each level, by at most its `sensitivity` triple.
    """

    source: Relation
    keys: tuple[KeyColumn, ...]
    bounding: Bounding
    aggregates: tuple[tuple[str, Aggregate], ...]
    levels: tuple[Level, ...] | None = None

    def __post_init__(self) -> None:
        self._check_levels()
        names = [key.name for key in self.keys] + [name for name, _ in self.aggregates]
        if len(set(names)) != len(names) or not all(names):
            raise InvalidArgument(f"keys and aggregates need names that differ, got {', '.join(names)}")
        if not self.aggregates:
            raise InvalidArgument("a query needs at least one aggregate")
        if self.observed and not any(aggregate == Units() for _, aggregate in self.aggregates):
            raise InvalidArgument("observed keys need the number of units, Units(), for their threshold")

    def _check_levels(self) -> None:
        if self.levels is None:
            return
        names = tuple(key.name for key in self.keys)
        for level in self.levels:
            if level != tuple(name for name in names if name in level):
                raise InvalidArgument(f"a level names keys in their order, {', '.join(names)}; got {level!r}")
        if len(set(self.levels)) != len(self.levels) or {name for level in self.levels for name in level} != set(names):
            raise InvalidArgument(f"levels must differ and name every key at least once, got {self.levels!r}")

    @property
    def grouping(self) -> tuple[Level, ...]:
        """The grouping sets; by all keys when none are named."""
        return (tuple(key.name for key in self.keys),) if self.levels is None else self.levels

    @property
    def observed(self) -> bool:
        """Whether a key is taken from the data, so that the groups themselves must pass a threshold."""
        return any(key.domain is None for key in self.keys)

    @property
    def reads(self) -> frozenset[str]:
        """The columns of the source that are read."""
        choice = (self.bounding.choice.expression,) if isinstance(self.bounding.choice, ByOrder) else ()
        return frozenset().union(*map(columns, (*(key.expression for key in self.keys), *self.inputs, *choice)))

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """The distinct values of a row that aggregates read: all that tells one row of a group from another."""
        return tuple(dict.fromkeys(entry.of for _, entry in self.aggregates if entry.of is not None))


Plan: TypeAlias = GroupAgg


@dataclass(frozen=True, slots=True)
class UnitRows:
    """Rows for mechanisms that need rows: `columns` of every row of `source`, at most `rows` rows of one unit.

    Which rows of a unit with more are kept is decided by a public `order` and the keyed one, from that unit's rows alone.
    Guarantee: one unit more or less moves the multiset of rows by at most `rows` rows, all of that unit.
    """

    source: Relation
    columns: tuple[tuple[str, Expression], ...]
    rows: int
    order: ByOrder | None = None

    def __post_init__(self) -> None:
        integer(least=1, rows=self.rows)
        if not self.columns:
            raise InvalidArgument("rows need at least one column")

    @property
    def bounded(self) -> GroupAgg:
        """The plan that bounds the same rows: it counts each column over one group, a unit's rows kept in the same order."""
        counts = tuple((f"column {index}", RowCount(self.rows, of)) for index, (_, of) in enumerate(self.columns))
        kept = Bounding(groups=1, rows_per_unit=self.rows, choice=self.order or ByHash())
        return GroupAgg(self.source, (), kept, counts)


MOST_ENTRIES = 1500
"""How long a vector of one statement may be: engines keep no more columns side by side."""


@dataclass(frozen=True, slots=True)
class UnitVector:
    """One joint vector: what each unit's rows add to every entry, cut to the Euclidean length `norm`, added over all units.

    `features` are whole numbers computed from the columns of `rows`, each column as a count of its own steps. An entry names
    one feature by its place, or two whose product it is: with all pairs, the vector is the triangle of a Gram matrix. A row in
    which a feature is missing adds nothing to its entries. The cut shortens every entry towards zero, in whole numbers.
    Guarantee: one unit more or less moves the vector by a Euclidean length of at most `norm`.
    """

    rows: UnitRows
    features: tuple[Expression, ...]
    entries: tuple[tuple[int, ...], ...]
    norm: int

    def __post_init__(self) -> None:
        integer(least=1, norm=self.norm)
        if not 1 <= len(self.entries) <= MOST_ENTRIES:
            raise InvalidArgument(f"a vector has 1 to {MOST_ENTRIES} entries, got {len(self.entries)}")
        for entry in self.entries:
            if not (1 <= len(entry) <= 2 and all(0 <= place < len(self.features) for place in entry)):
                raise InvalidArgument(f"an entry names one or two of {len(self.features)} features, got {entry!r}")


def triangle(count: int) -> tuple[tuple[int, ...], ...]:
    """The entries of a Gram matrix on and above its diagonal, row after row."""
    return tuple((first, second) for first in range(count) for second in range(first, count))


def scan(codebook: Codebook, table: str | None = None) -> Scan:
    """All rows of a table; of the only one when no name is given."""
    if table is None and len(codebook.tables) != 1:
        known = ", ".join(entry.name for entry in codebook.tables)
        raise InvalidArgument(f"the codebook has several tables; name one of {known}")
    return Scan(codebook, codebook[codebook.tables[0].name if table is None else table].name)
