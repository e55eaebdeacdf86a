"""Tables as a codebook declares them: variables, links that lead to the unit, and how the people were sampled."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact.guards import probability
from deniable.plan.facts import Facts
from deniable.plan.memo import remembered
from deniable.plan.variable import Variable

FORMAT = 1
"""The version of the codebook format this code reads and writes."""


SECTIONS = ("motivation", "composition", "collection", "preprocessing", "uses", "distribution", "maintenance")
"""The seven sections of a datasheet for a data set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDesign:
    """How the people in the data were chosen: for the reader of a release; it never lowers a price.

    `frame` is the list they were drawn from, `secrecy` what is or is not done to keep secret who was drawn.
    """

    design: str
    fraction: Fraction | None = None
    population: str = ""
    frame: str = ""
    secrecy: str = ""

    def __post_init__(self) -> None:
        if self.fraction is not None:
            object.__setattr__(self, "fraction", probability(fraction=self.fraction))


@dataclass(frozen=True, slots=True)
class Link:
    """`column` of this table names the row of `table` whose `key` equals it; a row belongs to its parent row's unit."""

    column: str
    table: str
    key: str

    def __str__(self) -> str:
        return f"{self.column} -> {self.table}.{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table: its variables, and how its rows belong to a unit.

    A private table carries the unit in column `unit` (and its period in `period`), or reaches it along `links`.
    A `public` table holds nothing private: it is read freely and joined freely.
    """

    name: str
    variables: tuple[Variable, ...]
    unit: str | None = None
    period: str | None = None
    links: tuple[Link, ...] = ()
    public: bool = False
    description: str = ""

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        folded = [name.lower() for name in names]
        twice = sorted({name for name in names if folded.count(name.lower()) > 1})
        if twice:
            raise InvalidArgument(f"table {self.name}: variables declared twice: {', '.join(twice)}")
        if self.public and (self.unit or self.links):
            raise InvalidArgument(f"table {self.name} is public, so it has no unit and no links")
        for column in [self.unit, self.period, *(link.column for link in self.links)]:
            if column is not None and column not in names:
                raise InvalidArgument(f"table {self.name} has no variable {column!r}; it has {', '.join(names)}")

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        known = ", ".join(variable.name for variable in self.variables)
        raise InvalidArgument(f"table {self.name} has no variable {name!r}; it has {known}")

    def __contains__(self, name: object) -> bool:
        return any(variable.name == name for variable in self.variables)

    @property
    def schema(self) -> dict[str, Facts]:
        """The public facts of every variable."""
        return _schema(self)


@remembered
def _schema(table: Table) -> dict[str, Facts]:
    return {variable.name: variable.facts() for variable in table.variables}
