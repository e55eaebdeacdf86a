"""From a codebook to attributes: what a synthesizer takes a column to be, or why it cannot take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, shown
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Facts, Kind, days
from deniable.plan.nodes import Relation, Scan, scan
from deniable.plan.provenance import variable_of
from deniable.plan.relation import schema, shape
from deniable.plan.tables import Table
from deniable.plan.variable import FIRST_DATE, LAST_DATE, Type, Variable
from deniable.synth.attribute import CELLS, Attribute, Attributes

_EPOCH = date(1970, 1, 1)
_CUTS = ((1, "day"), (7, "week"), (31, "month"), (92, "quarter"))


def synthesizable(
    codebook: Codebook,
    table: str | Relation | None,
    columns: str | Sequence[str],
    bins: Mapping[str, int],
    opened: Mapping[str, Attribute] | None = None,
) -> Attributes:
    """The attributes of these columns, or of all but the identifiers for "all"; refused where a column has no public cells.

    Columns that are `opened` have the attributes given.
    """
    source, given = private_rows(codebook, table), opened or {}
    names = column_names(source, columns)
    for name in bins:
        if name not in names:
            raise InvalidArgument(f"bins= names {shown(name)}, which is not among the columns {', '.join(names)}")
    return Attributes(tuple(given.get(name) or _column(source, name, bins.get(name)) for name in names))


def column_names(source: Relation, columns: str | Sequence[str]) -> list[str]:
    """The names of the columns that are asked for; all but the identifiers for "all"."""
    if not (isinstance(columns, str) and columns == "all"):
        return _named(columns)
    if isinstance(source, Scan):
        return _all(source.codebook[source.table])
    below = shape(source)
    return [name for name in below.columns if name not in below.anchors]


def private_rows(codebook: Codebook, table: str | Relation | None) -> Relation:
    """The rows of the one private table or of the one that is named, or those of a question."""
    return scan(codebook, private_table(codebook, table).name) if table is None or isinstance(table, str) else table


def column_facts(source: Relation, name: str) -> Facts:
    """What is publicly known about a column of these rows."""
    if isinstance(source, Scan):
        return source.codebook[source.table][name].facts()
    known = schema(source)
    if name not in known:
        raise InvalidArgument(f"these rows have no column {shown(name)}; they have {', '.join(known)}")
    return known[name]


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
            f"a synthesizer takes one table, and joins between synthetic tables are not modelled; name one of {names}, or ask "
            "for one row of each unit: synthesizer(session.query(...).per_unit(...).join(...))"
        )
    return private[0]


def attribute(variable: Variable, bins: int | None = None) -> Attribute:
    """The cells of one variable; numbers without bins get one cell for each grid point, or `bins` cells of equal width."""
    facts = variable.facts()
    if bins is not None and not variable.type.numeric:
        raise InvalidArgument(f"bins= cuts numbers, and {variable.name} is none: its cells come from the codebook")
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


def _column(source: Relation, name: str, bins: int | None) -> Attribute:
    """The cells of a column: those of its variable where it is one, else those of what is publicly known about it."""
    known = column_facts(source, name)
    variable = variable_of(source, name)
    if variable is not None and variable.facts().with_null(known.nullable) == known:
        return replace(attribute(variable, bins), missing=known.nullable)
    match known.kind:
        case Kind.BOOLEAN:
            return Attribute(name, "boolean", labels=("false", "true"), missing=known.nullable)
        case Kind.STRING if known.categories is not None:
            return Attribute(name, "string", labels=known.categories, missing=known.nullable)
        case Kind.NUMBER if known.bounded:
            kind = "integer" if known.step.denominator == 1 else "number"
            return Attribute(name, kind, edges=_widths(known, bins), step=known.step, missing=known.nullable)
        case Kind.DATE if known.ends != (days(FIRST_DATE), days(LAST_DATE)):
            return Attribute(name, "date", edges=_calendar(*known.ends), missing=known.nullable)
        case _:
            raise InvalidArgument(
                f"{name} ({known}) has no public cells; limit it (per_unit(..., bounds={{{name!r}: (0, 20)}}), clamp(x, 0, 20), "
                "CAST(x AS DATE) of a moment), or leave it out with columns=[...]"
            )


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
    return _widths(facts, bins)


def _widths(facts: Facts, bins: int | None) -> tuple[int, ...]:
    """Cells of equal width, one for each grid point where they are few."""
    low, high = facts.ends
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
    return _calendar(low, high)


def _calendar(low: int, high: int) -> tuple[int, ...]:
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
