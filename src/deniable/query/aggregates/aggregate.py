"""What an aggregate is: a record that says what it measures, and an output that turns noisy integers into a column with errors.

One file of this package holds everything about one aggregate. The registry in `__init__` lists them; the SQL compiler, the
command line, the price and the answer know nothing else of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.exact.figures import error_figures
from deniable.kernels import ColumnNoise
from deniable.noise import Entropy
from deniable.plan.expression import Expression
from deniable.query.columns import AnswerColumn, Noisy, SliceColumn
from deniable.query.measurements import Selection
from deniable.query.ranking import Occupied

if TYPE_CHECKING:
    from sqlglot import exp

    from deniable.query.aggregates.measuring import Measuring
    from deniable.query.sql.post import Value

Of: TypeAlias = str | Expression
"""A column, written as text in the expression language or already as an expression."""


@dataclass(frozen=True, slots=True)
class Error:
    """How wrong one output may be: within `within` (in `measure`) with the price's confidence."""

    within: float
    measure: str

    def __str__(self) -> str:
        return f"± {error_figures(self.within)} {self.measure}".rstrip()


class Forecast(Protocol):
    """What is known of one slice before it is measured: its noises and choices, and the size of group to state errors for."""

    @property
    def beta(self) -> Fraction:
        """How often the stated error may be exceeded."""
        ...

    @property
    def group_size(self) -> int:
        """For how many rows the errors of means and other ratios are stated."""
        ...

    def noise(self, column: str) -> ColumnNoise:
        """The noise a column will get."""
        ...

    def step(self, column: str) -> Fraction:
        """The grid of a column."""
        ...

    def shown_error(self, column: str) -> float:
        """How far a number of the column will be off as it is shown."""
        ...

    def score_error(self, choice: str) -> float:
        """How far a private choice may be from the best one; of several in a group, each."""
        ...


@dataclass(frozen=True, slots=True)
class SliceAnswer:
    """What was drawn in one slice, and how often an interval may fail: what an output makes its column of."""

    groups: int
    columns: Mapping[str, Noisy]
    choices: Mapping[str, tuple[tuple[Any, ...], ...]]
    beta: Fraction


@dataclass(frozen=True, slots=True)
class MeanColumns:
    """A total of distances from the middle of the bounds, in whole steps, and the count of the same rows.

    `exact` where the output is made for the total of distances from the very middle too, between two steps.
    """

    total: str
    count: str
    exact: bool = False


class Output(ABC):
    """How one output follows from what was measured: post-processing only."""

    __slots__ = ()

    averages: ClassVar[bool] = False
    """Whether it averages over rows."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The noisy columns it is computed from."""

    @property
    def mean_columns(self) -> tuple[MeanColumns, ...]:
        """The totals over counts it is computed from."""
        return ()

    @property
    def chosen(self) -> str | None:
        """The private choice it shows, if it is one."""
        return None

    @property
    def unit(self) -> str:
        """In what the error of a private choice is stated: ranks or rows."""
        return ""

    @property
    def bin_names(self) -> tuple[str, ...] | None:
        """The names of a histogram's bins."""
        return None

    @property
    def bin_width(self) -> Fraction | None:
        """The width of the bins that values are rounded to, where that is coarser than the column's grid."""
        return None

    @abstractmethod
    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The column people read, with its intervals."""

    @abstractmethod
    def error(self, forecast: Forecast) -> Error:
        """How wrong it may be in one slice, from public facts."""

    def least_rows(self, forecast: Forecast) -> int | None:
        """From about how many rows in a group on it says something at this price; None where any number does."""
        return None


class ChosenOutput(Output):
    """An output that shows a private choice and no noisy number."""

    __slots__ = ()

    choice: str

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def chosen(self) -> str | None:
        return self.choice


class SliceHistogram(Protocol):
    """The exact rows in each bin, for the groups of a slice that are shown; only private choices look at it."""

    def occupied(self) -> Occupied:
        """The bins that hold rows."""
        ...

    def blocks(self, bins: int) -> Iterable[NDArray[np.int64]]:
        """Rows in all bins, some groups at a time."""
        ...


class PrivateChoice(Protocol):
    """A choice made from the exact bins of a histogram by the exponential mechanism."""

    @property
    def histogram(self) -> str:
        """The column it is made from."""
        ...

    @property
    def bins(self) -> int:
        """How many candidates there are."""
        ...

    def selection(
        self, key: SliceColumn, *, rows: Fraction, groups: int, replaced: bool, weight: Fraction
    ) -> Selection:
        """What it costs: one unit has at most `rows` rows in each of at most `groups` groups."""
        ...

    def pick(
        self, histogram: SliceHistogram, *, temperature: Fraction, beta: Fraction, entropy: Entropy
    ) -> tuple[tuple[int, ...], ...]:
        """The chosen bins of every group; an interval among them fails with probability at most `beta`."""
        ...


class Aggregate(ABC):
    """Something that can be asked of each group of a private table: a record of public parameters."""

    __slots__ = ()

    averages: ClassVar[bool] = False
    """Whether it averages over rows, so that it matters which rows weigh how much."""

    error_columns: ClassVar[tuple[str, ...]] = ("low", "high")
    """What stands beside it in a table: `<name>_low` and `<name>_high`, or the error of a private choice."""

    @abstractmethod
    def measure(self, measuring: Measuring) -> Output:
        """Register what must be measured, and say how the output follows from it."""

    def clip_note(self, name: str, rows: int) -> str | None:
        """What it says about one unit's part in it, beyond what the query says of all; `rows` of a unit may count in a group."""
        return None


class SqlCall(Protocol):
    """A call of an aggregate function in SQL, as the compiler hands it to the aggregate that answers it."""

    @property
    def node(self) -> exp.Expression:
        """The call itself."""
        ...

    @property
    def condition(self) -> Expression | None:
        """What its FILTER says, if it has one."""
        ...

    def of(self, node: exp.Expression | None = None) -> Expression:
        """An argument (the first unless given) where the FILTER is true, else missing."""
        ...

    def read(self, node: exp.Expression) -> Expression:
        """An argument as it is."""
        ...

    def share(self, node: exp.Expression) -> Fraction:
        """A constant strictly between 0 and 1."""
        ...

    def is_unit(self, of: Expression) -> bool:
        """Whether a column is the identifier of the unit itself."""
        ...

    def may_lack_unit(self) -> bool:
        """Whether the unit's own column may be missing because of a LEFT JOIN."""
        ...

    def answer(self, aggregate: Aggregate, name: str | None = None) -> Value:
        """The released column of an aggregate."""
        ...

    def sample_value(self, population: Value, count: Value) -> Value:
        """population·n/(n - 1)."""
        ...

    def root(self, value: Value) -> Value:
        """The square root of a released value."""
        ...

    def note(self, notice: str) -> None:
        """Something the reader must know."""
        ...

    def refusal(self, code: str, reason: str, rewrite: str = "") -> Exception:
        """The refusal of this call, with its place in the text."""
        ...


SqlReader: TypeAlias = Callable[[SqlCall], Any]


@dataclass(frozen=True, slots=True)
class CommandForm:
    """How an aggregate is written on the command line: its columns, then a number where it has one."""

    make: Callable[..., Aggregate]
    columns: tuple[int, int] = (1, 1)
    """The fewest and the most columns."""
    number: Callable[[str], Any] | None = None
    """How a number after the columns is read; None where there is none."""


@dataclass(frozen=True, slots=True)
class Registration:
    """One line of the registry: under which names SQL and the command line know the aggregates of a file."""

    sql: Mapping[type[exp.Expression], SqlReader] = field(default_factory=dict)
    command: Mapping[str, CommandForm] = field(default_factory=dict)
    sql_names: tuple[str, ...] = ()
    """The words for it in a refusal that lists what is known."""
