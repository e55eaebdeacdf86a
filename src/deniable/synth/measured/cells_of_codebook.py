"""From a codebook to attributes: what a synthesizer takes a column to be, or why it cannot take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, shown
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Facts, days
from deniable.plan.tables import Table
from deniable.plan.variable import Type, Variable
from deniable.synth.attribute import CELLS, Attribute, Attributes

_EPOCH = date(1970, 1, 1)
_CUTS = ((1, "day"), (7, "week"), (31, "month"), (92, "quarter"))


def synthesizable(
    codebook: Codebook,
    table: str | None,
    columns: str | Sequence[str],
    bins: Mapping[str, int],
    opened: Mapping[str, Attribute] | None = None,
) -> Attributes:
    """The attributes of these columns, or of all but the identifiers for "all"; refused where a column has no public cells.

    Columns that are `opened` have the attributes given.
    """
    source, given = private_table(codebook, table), opened or {}
    names = column_names(codebook, table, columns)
    for name in bins:
        if name not in names:
            raise InvalidArgument(f"bins= names {shown(name)}, which is not among the columns {', '.join(names)}")
    return Attributes(tuple(given.get(name) or attribute(source[name], bins.get(name)) for name in names))


def column_names(codebook: Codebook, table: str | None, columns: str | Sequence[str]) -> list[str]:
    """The names of the columns that are asked for; all but the identifiers for "all"."""
    every = isinstance(columns, str) and columns == "all"
    return _all(private_table(codebook, table)) if every else _named(columns)


def private_table(codebook: Codebook, table: str | None) -> Table:
    """The one private table, or the one that is named."""
    private = [each for each in codebook.tables if not each.public]
    if table is not None:
        if codebook[table].public:
            raise InvalidArgument(f"table {table} is public; a synthesizer is for private tables")
        return codebook[table]
    if len(private) != 1:
        names = ", ".join(each.name for each in private)
        raise InvalidArgument(
            f"a synthesizer takes one table, and joins between synthetic tables are not modelled; name one of {names}"
        )
    return private[0]


def attribute(variable: Variable, bins: int | None = None) -> Attribute:
    """The cells of one variable; numbers without bins get one cell for each grid point, or `bins` cells of equal width."""
    facts = variable.facts()
    if variable.type is Type.STRING:
        if facts.categories is None:
            raise InvalidArgument(
                f"{variable.name}: text without categories has no public list of values; declare categories, have those that "
                f"many people share found privately with open=[{variable.name!r}], or leave it out with columns=[...]"
            )
        return Attribute(variable.name, "string", labels=facts.categories, missing=facts.nullable)
    if variable.type is Type.BOOLEAN:
        return Attribute(variable.name, "boolean", labels=("false", "true"), missing=facts.nullable)
    if variable.lower is None:
        raise InvalidArgument(
            f"{variable.name} ({variable.type.value}) has no bounds and so no cells; declare bounds, or leave it out with "
            "columns=[...]"
        )
    edges = _time_edges(variable) if variable.type in (Type.DATE, Type.TIMESTAMP) else _edges(variable, facts, bins)
    return Attribute(variable.name, variable.type.value, edges=edges, step=facts.step, missing=facts.nullable)


def _named(columns: str | Sequence[str]) -> list[str]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise InvalidArgument(f'columns must be "all" or a list of names, got {columns!r}')
    return list(columns)


def _all(table: Table) -> list[str]:
    ids = {table.unit, *(link.column for link in table.links)}
    return [variable.name for variable in table.variables if variable.name not in ids]


def _edges(variable: Variable, facts: Facts, bins: int | None) -> tuple[int, ...]:
    low, high = facts.ends
    if bins is None and variable.bins is not None:
        inner = {-(-edge // facts.step) for edge in variable.bins}
        return (low, *sorted(int(edge) for edge in inner if low < edge <= high), high + 1)
    points = high - low + 1
    count = min(points, CELLS if bins is None else integer(bins=bins, least=1))
    return tuple(low + points * place // count for place in range(count + 1))


def _time_edges(variable: Variable) -> tuple[int, ...]:
    """Days, weeks, months, quarters or years: the first that gives no more than `CELLS` cells."""
    low, high = _day(variable.lower), _day(variable.upper)
    if isinstance(variable.lower, datetime) and variable.lower != datetime.combine(variable.lower.date(), time()):
        low += 1  # synthetic moments are midnights, and the first day has none within the bounds
    if low > high:
        raise InvalidArgument(f"{variable.name}: its bounds hold no midnight; declare bounds of a day or more")
    for length, cut in _CUTS:
        if (high - low + 1) / length <= CELLS:
            return tuple(_starts(low, high, cut))
    return tuple(_starts(low, high, "year"))


def _day(value: object) -> int:
    assert isinstance(value, date)
    return days(value.date() if isinstance(value, datetime) else value)


def _starts(low: int, high: int, cut: str) -> Iterator[int]:
    yield low
    for point in range(low + 1, high + 1):
        day = _EPOCH + timedelta(days=point)
        if _begins(day, cut):
            yield point
    yield high + 1


def _begins(day: date, cut: str) -> bool:
    match cut:
        case "day":
            return True
        case "week":
            return day.weekday() == 0
        case "month":
            return day.day == 1
        case "quarter":
            return day.day == 1 and day.month % 3 == 1
        case _:
            return day.day == 1 and day.month == 1
