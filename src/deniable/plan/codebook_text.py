"""Codebooks read from YAML and from plain records, strictly.

Only plain YAML is read (no object tags). A field we do not know, a field written twice or a value that does not fit is
refused with its line, because a mistyped bound that is silently ignored would be a wrong guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import yaml

from deniable.errors import InvalidArgument
from deniable.exact.guards import rational
from deniable.plan.tables import FORMAT, SECTIONS, Link, SamplingDesign, Table
from deniable.plan.unit import MOST_JOINED, Unit, UnitPeriod, _length, row_unit
from deniable.plan.variable import Drop, Impute, Missing, Outside, Type, Variable

Path: TypeAlias = tuple[str | int, ...]
Book = TypeVar("Book")
"""What is built of all that was read: the codebook."""


class _Mistake(Exception):
    """What is wrong, and at which path of the record."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


_TOP = {
    "format",
    "name",
    "description",
    "unit",
    "sampling",
    "earlier_releases",
    "datasheet",
    "tables",
    "table",
    "variables",
    "links",
    "period",
    "public",
}
_TABLE = {"description", "unit", "period", "links", "public", "variables"}
_UNIT = {"id", "groups", "rows_per_group", "rows", "rows_per_join", "period", "unique", "label"}
_VARIABLE = {
    "type", "bounds", "step", "categories", "other", "bins", "missing", "outside", "of_unit", "provenance", "description",
}  # fmt: skip


UNSTATED = "???"
"""What a draft leaves for a person to state."""

_WANTED: dict[str | int, str] = {
    "id": "write the column that names the person (or household, device, ...) to protect",
    "groups": "write how many groups one unit may touch in one query",
    "rows_per_group": "write how many rows one unit may add to a group",
    "rows": "write how many rows one unit may have in all",
    "bounds": "write [lower, upper] from documentation, or leave bounds out if the column is never added up",
}


_MEANT = {
    **dict.fromkeys(("called", "name", "noun"), "label"),
    **dict.fromkeys(("bound", "range", "limits"), "bounds"),
    **dict.fromkeys(("values", "levels", "domain"), "categories"),
    **dict.fromkeys(("column", "key", "primary_key"), "id"),
    "max_groups": "groups",
    "max_rows": "rows",
    "grid": "step",
}
"""What else a field is called by those who write their first codebook."""


def from_yaml(text: str, build: Callable[..., Book], *, source: str) -> Book:
    """The codebook in YAML text; every refusal names the line."""
    try:
        if "*" in text and any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=yaml.SafeLoader)):
            raise InvalidArgument(f"{source}: write every value out; YAML aliases are not read")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[Path, int] = {}
        record = _plain(node, (), lines) if node is not None else {}
        return _codebook(record, build)
    except _Mistake as mistake:
        place = f"line {lines[_nearest(mistake.path, lines)]}" if lines else "line 1"
        raise InvalidArgument(f"{source}, {place}: {_dotted(mistake.path)}{mistake.message}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "it cannot be read"
        if mark and any(UNSTATED in line for line in text.splitlines()[mark.line : mark.line + 1]):
            raise InvalidArgument(f"{source}{place}: it is still {UNSTATED}; write what is publicly known") from None
        raise InvalidArgument(f"{source}{place}: not plain YAML: {reason}") from None


def from_record(record: Mapping[str, Any], build: Callable[..., Book]) -> Book:
    """The codebook a plain record describes."""
    try:
        return _codebook(record, build)
    except _Mistake as mistake:
        raise InvalidArgument(f"codebook: {_dotted(mistake.path)}{mistake.message}") from None


def _dotted(path: Path) -> str:
    return ".".join(map(str, path)) + ": " if path else ""


def _nearest(path: Path, lines: Mapping[Path, int]) -> Path:
    while path and path not in lines:
        path = path[:-1]
    return path


def _plain(node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    lines[path] = node.start_mark.line + 1
    if not isinstance(node, yaml.ScalarNode) and node.tag not in ("tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"):
        raise _Mistake(path, f"not plain YAML: no tag {node.tag} is read")
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, (*path, index), lines) for index, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key_node, child in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _Mistake(path, "a field needs a plain name")
            key: str = key_node.value
            here = (*path, key)
            if key in found:
                lines[here] = key_node.start_mark.line + 1
                raise _Mistake(here, "written twice")
            found[key] = _plain(child, here, lines)
            lines[here] = key_node.start_mark.line + 1
        return found
    if node.value == UNSTATED and path and path[-1] in _WANTED:
        raise _Mistake(path, f"it is still {UNSTATED}; {_WANTED[path[-1]]}")
    constructor = yaml.constructor.SafeConstructor()
    return constructor.construct_object(node)


def _fields(record: object, known: set[str], path: Path) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise _Mistake(path, f"expected fields ({', '.join(sorted(known))}), got {record!r}")
    for name in record:
        if name not in known:
            meant = f"did you mean {_MEANT[name]}? " if _MEANT.get(name) in known else ""
            raise _Mistake((*path, str(name)), f"unknown field; {meant}known here: {', '.join(sorted(known))}")
    return record


def _at(path: Path, build: Callable[[], Any]) -> Any:
    """The value `build` makes; what it refuses is a mistake at `path`."""
    try:
        return build()
    except InvalidArgument as refusal:
        raise _Mistake(path, str(refusal)) from None


def _codebook(record: object, build: Callable[..., Book]) -> Book:
    fields = _fields(record, _TOP, ())
    if fields.get("format", FORMAT) != FORMAT:
        raise _Mistake(("format",), f"this version reads format {FORMAT}, got {fields['format']!r}")
    if ("tables" in fields) == ("variables" in fields):
        raise _Mistake((), "give either tables: or, for a single table, variables:")
    if "tables" in fields:
        for stray in ("table", "links", "period", "public"):
            if stray in fields:
                raise _Mistake((stray,), "belongs inside a table when tables: is used")
        declared = _fields(
            fields["tables"], set(fields["tables"]) if isinstance(fields["tables"], Mapping) else set(), ("tables",)
        )
        tables = [_table(str(name), entry, ("tables", str(name))) for name, entry in declared.items()]
    else:
        single = {name: fields[name] for name in ("variables", "links", "period", "public") if name in fields}
        tables = [_table(str(fields.get("table", fields.get("name", "data")) or "data"), single, ())]
    unit = _unit(fields["unit"], ("unit",)) if "unit" in fields else None
    sampling = _sampling(fields["sampling"], ("sampling",)) if "sampling" in fields else None
    name, description = (_text(fields.get(word, ""), (word,)) for word in ("name", "description"))
    earlier, sections = _earlier(fields.get("earlier_releases", [])), _sections(fields.get("datasheet", {}))
    codebook: Book = _at(
        (),
        lambda: build(
            tables=tuple(tables),
            unit=unit,
            sampling=sampling,
            name=name,
            description=description,
            earlier=earlier,
            sections=sections,
        ),
    )
    return codebook


def _earlier(record: object) -> tuple[str, ...]:
    if not isinstance(record, list):
        raise _Mistake(("earlier_releases",), f"expected a list of texts, got {record!r}")
    return tuple(_text(entry, ("earlier_releases",)) for entry in record)


def _sections(record: object) -> tuple[tuple[str, str], ...]:
    fields = _fields(record, set(SECTIONS), ("datasheet",))
    return tuple((name, _text(fields[name], ("datasheet", name))) for name in SECTIONS if name in fields)


def _text(value: object, path: Path) -> str:
    if not isinstance(value, str):
        raise _Mistake(path, f"expected text, got {value!r}; put it in quotes")
    return value


def _unit(record: object, path: Path) -> Unit:
    if record in ("rows", "changed rows"):
        return row_unit(changed=record == "changed rows")
    fields = _fields(record, _UNIT, path)
    if "id" not in fields:
        raise _Mistake(path, 'needs id: <column>, or the word "rows" or "changed rows"')
    period = None
    if "period" in fields:
        span = _fields(fields["period"], {"column", "length"}, (*path, "period"))
        if set(span) != {"column", "length"}:
            raise _Mistake((*path, "period"), "needs column: and length: (hour, day, week, month, quarter, year)")
        period = UnitPeriod(
            _text(span["column"], path), _at((*path, "period", "length"), lambda: _length(span["length"]))
        )
    built: Unit = _at(
        path,
        lambda: Unit(
            id=_text(fields["id"], (*path, "id")),
            period=period,
            groups=fields.get("groups"),
            rows=fields.get("rows_per_group"),
            total=fields.get("rows"),
            joined=fields.get("rows_per_join", MOST_JOINED),
            unique=_flag(fields.get("unique", False), (*path, "unique")),
            called=_text(fields["label"], (*path, "label")) if "label" in fields else None,
        ),
    )
    return built


def _flag(value: object, path: Path) -> bool:
    if not isinstance(value, bool):
        raise _Mistake(path, f"expected true or false, got {value!r}")
    return value


def _sampling(record: object, path: Path) -> SamplingDesign:
    fields = _fields(record, {"design", "fraction", "population", "frame", "secrecy"}, path)
    fraction = _number(fields["fraction"], (*path, "fraction")) if "fraction" in fields else None
    words = {name: _text(fields.get(name, ""), (*path, name)) for name in ("design", "population", "frame", "secrecy")}
    sampling: SamplingDesign = _at(path, lambda: SamplingDesign(fraction=fraction, **words))
    return sampling


def _table(name: str, record: object, path: Path) -> Table:
    fields = _fields(record, _TABLE, path)
    declared = fields.get("variables")
    if not isinstance(declared, Mapping) or not declared:
        raise _Mistake(path, "needs variables: with at least one")
    variables = tuple(_variable(str(key), entry, (*path, "variables", str(key))) for key, entry in declared.items())
    links = fields.get("links", [])
    if not isinstance(links, list):
        raise _Mistake((*path, "links"), "expected a list such as [order_id -> orders.order_id]")
    table: Table = _at(
        path,
        lambda: Table(
            name=name,
            variables=variables,
            unit=_text(fields["unit"], (*path, "unit")) if "unit" in fields else None,
            period=_text(fields["period"], (*path, "period")) if "period" in fields else None,
            links=tuple(_link(link, name, (*path, "links", index)) for index, link in enumerate(links)),
            public=_flag(fields.get("public", False), (*path, "public")),
            description=_text(fields.get("description", ""), (*path, "description")),
        ),
    )
    return table


def _link(record: object, table: str, path: Path) -> Link:
    child, arrow, parent = str(record).partition("->")
    column, (target, dot, key) = child.strip(), parent.strip().partition(".")
    if column.startswith(f"{table}."):
        column = column[len(table) + 1 :]
    if not (isinstance(record, str) and arrow and dot and column and target and key):
        raise _Mistake(path, f"expected `column -> table.column`, got {record!r}")
    return Link(column, target, key)


def _variable(name: str, record: object, path: Path) -> Variable:
    fields = {"type": record} if isinstance(record, str) else _fields(record, _VARIABLE, path)
    try:
        kind = Type(fields.get("type"))
    except ValueError:
        known = ", ".join(entry.value for entry in Type)
        raise _Mistake((*path, "type"), f"expected one of {known}, got {fields.get('type')!r}") from None
    lower, upper = _bounds(fields["bounds"], kind, (*path, "bounds")) if "bounds" in fields else (None, None)
    variable: Variable = _at(
        path,
        lambda: Variable(
            name=name,
            type=kind,
            lower=lower,
            upper=upper,
            step=_number(fields["step"], (*path, "step")) if "step" in fields else None,
            categories=_categories(fields["categories"], (*path, "categories")) if "categories" in fields else None,
            other=_text(fields["other"], (*path, "other")) if "other" in fields else None,
            bins=_bins(fields["bins"], (*path, "bins")) if "bins" in fields else None,
            missing=_missing(_never(fields, kind, (*path, "missing")), kind, (*path, "missing")),
            outside=_outside(fields.get("outside", "clamp"), (*path, "outside")),
            of_unit=_flag(fields.get("of_unit", False), (*path, "of_unit")),
            provenance=_text(fields.get("provenance", ""), (*path, "provenance")),
            description=_text(fields.get("description", ""), (*path, "description")),
        ),
    )
    return variable


def _number(value: object, path: Path) -> Fraction:
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise _Mistake(path, f"expected a number, got {value!r}") from None
    number: Fraction = _at(path, lambda: rational(value=value))
    return number


def _value(value: object, kind: Type, path: Path) -> Any:
    """A written value of this type; dates may come as text (JSON has none)."""
    if kind.numeric:
        return _number(value, path)
    if isinstance(value, str) and kind in (Type.DATE, Type.TIMESTAMP):
        try:
            return date.fromisoformat(value) if kind is Type.DATE else datetime.fromisoformat(value)
        except ValueError:
            raise _Mistake(path, f"expected a {kind.value} such as 2024-01-31, got {value!r}") from None
    return datetime(value.year, value.month, value.day) if kind is Type.TIMESTAMP and type(value) is date else value


def _bounds(value: object, kind: Type, path: Path) -> tuple[Any, Any]:
    if not (isinstance(value, list) and len(value) == 2):
        quoted = "; take away the quotes" if isinstance(value, str) and value.startswith("[") else ""
        raise _Mistake(path, f"expected [lower, upper], got {value!r}{quoted}")
    return _value(value[0], kind, path), _value(value[1], kind, path)


def _categories(value: object, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _Mistake(path, f"expected a list of texts, got {value!r}")
    return tuple(_text(entry, (*path, index)) for index, entry in enumerate(value))


def _bins(value: object, path: Path) -> tuple[Fraction, ...]:
    if not isinstance(value, list):
        raise _Mistake(path, f"expected a list of edges, got {value!r}")
    return tuple(_number(edge, path) for edge in value)


def _never(fields: Mapping[str, Any], kind: Type, path: Path) -> object:
    """What `missing:` says; with `never`, a cell that is missing all the same reads as the lowest value."""
    said = fields.get("missing", "drop")
    if said != "never":
        return said
    lowest = fields.get("bounds") or fields.get("categories") or ([False] if kind is Type.BOOLEAN else None)
    if not (isinstance(lowest, list | tuple) and lowest):
        raise _Mistake(path, "never needs bounds or categories to read a missing cell as, should there be one")
    return {"impute": lowest[0]}


def _missing(value: object, kind: Type, path: Path) -> Missing:
    if value == "drop":
        return Drop()
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("impute", "category"):
        ((rule, imputed),) = value.items()
        if rule == "category" and kind is not Type.STRING:
            raise _Mistake(path, "a category of its own is for text; use impute: <value>")
        return Impute(_value(imputed, kind, path))
    raise _Mistake(path, f"expected drop, never, {{impute: value}} or {{category: text}}, got {value!r}")


def _outside(value: object, path: Path) -> Outside:
    if value not in ("clamp", "missing"):
        raise _Mistake(path, f"expected clamp or missing, got {value!r}")
    return Outside(value)
