"""Values as text and as whole numbers: STRFTIME, TO_CHAR and CAST."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from deniable.plan.arithmetic import refused
from deniable.plan.expression import Expression
from deniable.plan.facts import Facts, Kind, date_of, timestamp_of
from deniable.plan.functions.scalar import Cell, ScalarFunction, Spelling, Writer, unwrapped
from deniable.plan.sql_trees import Tree, binary, call, case, cast, number, text

if TYPE_CHECKING:
    from deniable.plan.translate import Translator

_MOST_TEXTS = 1000
_MOST_MOMENTS = 40_000
_FIELDS = {"%Y": ("YEAR", 4), "%m": ("MONTH", 2), "%d": ("DAY", 2), "%H": ("HOUR", 2), "%M": ("MINUTE", 2)}
_OF_A_DATE = ("%Y", "%m", "%d")
_PATTERNS = (("YYYY", "%Y"), ("MM", "%m"), ("DD", "%d"), ("HH24", "%H"), ("MI", "%M"))
_SPLIT = re.compile(r"(%.)")
_BETWEEN = re.compile(r"[-/:._ T]*")


# Dates as text --------------------------------------------------------------------------------------------------------


def _format(translator: Translator, node: exp.Expression) -> str:
    written = node.args.get("format")
    if not (isinstance(written, exp.Literal) and written.is_string):
        raise translator.refusal(node, "bad-constant", "a date is written in a constant format", "write '%Y-%m'")
    return str(written.this)


def _read_strftime(translator: Translator, node: exp.TimeToStr) -> Expression:
    return TimeText(translator.expression(unwrapped(node.this)), _format(translator, node))


def _read_to_char(translator: Translator, node: exp.ToChar) -> Expression:
    return TimeText(translator.expression(unwrapped(node.this)), _fields_of(_format(translator, node)))


def _fields_of(pattern: str) -> str:
    """A pattern of TO_CHAR as a format of STRFTIME."""
    for letters, field in _PATTERNS:
        pattern = pattern.replace(letters, field)
    return pattern


def without_to_char(tree: exp.Expression) -> exp.Expression:
    """The tree with TO_CHAR as STRFTIME: what the parser writes for TO_CHAR leaves out the pattern, and two of them look alike."""

    def changed(node: exp.Expression) -> exp.Expression:
        pattern = node.args.get("format") if isinstance(node, exp.ToChar) else None
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            return node
        said = {name: value for name, value in node.args.items() if name != "format"}
        written = exp.TimeToStr(**said, format=exp.Literal.string(_fields_of(str(pattern.this))))
        written.meta.update(node.meta)  # where it stands in the text
        return written

    return tree.transform(changed, copy=False)


@dataclass(frozen=True, slots=True)
class TimeText(ScalarFunction):
    """A date or timestamp as text: year, month, day, hour and minute with leading zeros, and what stands between them."""

    value: Expression
    format: str

    spellings = (
        Spelling("STRFTIME(t, '%Y-%m')", exp.TimeToStr, _read_strftime, reads=frozenset({"format"})),
        Spelling("TO_CHAR(t, 'YYYY-MM')", exp.ToChar, _read_to_char, reads=frozenset({"format"})),
    )
    meaning = "a date as text, of `%Y`, `%m`, `%d`, `%H`, `%M` (`YYYY`, `MM`, `DD`, `HH24`, `MI`) and `- / : . _ T` between them"
    probes: ClassVar[Mapping[str, str]] = {
        "dates as text": "case when strftime(day, '%Y-%m-%d') in ('0001-01-01', '2024-03-03', '9999-12-31') then 1 "
        "when strftime(day, '%Y/%m') = '1969/12' then 2 end",
        "timestamps as text": "case when strftime(moment, '%Y-%m-%d %H:%M') in ('0001-01-01 00:00', '2024-02-29 12:30') "
        "then 1 when strftime(moment, '%H.%M') = '23.59' then 2 end",
    }
    feature = "dates as text"

    @property
    def copies(self) -> int:
        return max(1, len(self._fields))

    def facts(self, *known: Facts) -> Facts:
        (value,) = known
        if value.kind not in (Kind.DATE, Kind.TIMESTAMP):
            raise refused("type-mismatch", f"a date is needed to write it as text, got a {value.kind.value}")
        allowed = _OF_A_DATE if value.kind is Kind.DATE else tuple(_FIELDS)
        if not self._fields or any(part not in allowed for part in self._fields) or not self._is_plain:
            raise refused(
                "bad-constant",
                f"{self.format!r} is not a format we can write a {value.kind.value} in",
                f"use {', '.join(allowed)} with - / : . _ T or a blank between them",
            )
        return Facts(Kind.STRING, value.nullable, categories=_texts(self, value) if value.bounded else None)

    def evaluate(self, *cells: Any) -> Cell:
        return self.written(cells[0])

    def sql(self, writer: Writer) -> Tree:
        pieces = [self._piece(writer, piece) for piece in _SPLIT.split(self.format) if piece]
        joined = pieces[0]
        for piece in pieces[1:]:
            joined = binary(exp.DPipe, joined, piece)
        return joined

    def written(self, moment: date) -> str:
        """A date or timestamp in this format."""
        clock = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)
        values = {"%Y": f"{clock.year:04}", "%m": f"{clock.month:02}", "%d": f"{clock.day:02}"}
        values |= {"%H": f"{clock.hour:02}", "%M": f"{clock.minute:02}"}
        return "".join(values.get(piece, piece) for piece in _SPLIT.split(self.format))

    @property
    def _fields(self) -> list[str]:
        return _SPLIT.findall(self.format)

    @property
    def _is_plain(self) -> bool:
        return all(_BETWEEN.fullmatch(piece) for piece in _SPLIT.split(self.format)[::2])

    def _piece(self, writer: Writer, piece: str) -> Tree:
        if piece not in _FIELDS:
            return text(piece)
        part, width = _FIELDS[piece]
        return call("LPAD", cast(writer.profile.part(part, writer.tree(self.value)), "TEXT"), number(width), text("0"))


@lru_cache(maxsize=256)
def _texts(function: TimeText, known: Facts) -> tuple[str, ...] | None:
    """Every text a bounded date or timestamp can become, in order; None when there are too many."""
    found: set[str] = set()
    for count, moment in enumerate(_moments(function.format, known)):
        found.add(function.written(moment))
        if len(found) > _MOST_TEXTS or count > _MOST_MOMENTS:
            return None
    return tuple(sorted(found))


def _moments(written: str, known: Facts) -> Iterator[date]:
    """Moments from the first to the last, so close that no text is passed over."""
    if known.kind is Kind.DATE:
        yield from (date_of(day) for day in range(known.ends[0], known.ends[1] + 1))
        return
    first, last = (timestamp_of(end) for end in known.ends)
    step = timedelta(minutes=1) if "%M" in written else timedelta(hours=1) if "%H" in written else timedelta(days=1)
    while first < last:
        yield first
        try:
            first += step
        except OverflowError:
            break
    yield last


# Casts ----------------------------------------------------------------------------------------------------------------

_TEXTS = frozenset(
    {exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR, exp.DataType.Type.NVARCHAR}
)
_WHOLE = frozenset(
    {exp.DataType.Type.INT, exp.DataType.Type.BIGINT, exp.DataType.Type.SMALLINT, exp.DataType.Type.TINYINT}
)


def _read_text(translator: Translator, node: exp.Cast) -> Expression:
    if node.to.expressions:
        raise translator.refusal(
            node, "unsupported", "a text of limited length is cut by some engines", "write VARCHAR"
        )
    return ToText(translator.expression(node.this))


@dataclass(frozen=True, slots=True)
class ToText(ScalarFunction):
    """A whole number, truth value, date or text as text."""

    value: Expression

    spellings = (Spelling("CAST(x AS VARCHAR)", exp.Cast, _read_text, types=_TEXTS),)
    meaning = "a whole number, truth value (`true`, `false`) or date (`2024-01-31`) as text"
    probes: ClassVar[Mapping[str, str]] = {
        "numbers as text": "case when cast(whole as varchar) in ('-1000', '-95', '5', '1000') then 1 "
        "when cast(tens as varchar) in ('0', '-50', '50') then 2 end",
        "truths as text": "case when cast(truth as varchar) = 'true' then 1 when cast(truth as varchar) = 'false' then 2 end",
    }
    feature = "values as text"
    regrids = True

    def facts(self, *known: Facts) -> Facts:
        (value,) = known
        match value.kind:
            case Kind.STRING:
                return value
            case Kind.BOOLEAN:
                return Facts(Kind.STRING, value.nullable, categories=("false", "true"))
            case Kind.NUMBER if value.step.denominator == 1:
                return Facts(Kind.STRING, value.nullable, categories=_numerals(value))
            case Kind.NUMBER:
                reason, rewrite = "engines write fractions as text in different ways", "write CAST(FLOOR(x) AS VARCHAR)"
            case _:
                reason, rewrite = "engines write timestamps as text in different ways", "write STRFTIME(t, '%Y-%m-%d')"
        raise refused("type-mismatch", reason, rewrite)

    def exact(self, *known: Facts) -> Expression | None:
        """A date as its year, month and day."""
        return TimeText(self.value, "%Y-%m-%d") if known[0].kind is Kind.DATE else None

    def evaluate(self, *cells: Any) -> Cell:
        (value,) = cells
        return str(value).lower() if isinstance(value, bool) else str(value)

    def sql(self, writer: Writer) -> Tree:
        match writer.known(self.value).kind:
            case Kind.BOOLEAN:
                tree = writer.tree(self.value)
                return case([(tree, text("true")), (exp.Not(this=tree.copy()), text("false"))])
            case Kind.NUMBER:
                return cast(writer.on(self.value, Fraction(1)), "TEXT")
            case _:
                return writer.tree(self.value)


def _numerals(known: Facts) -> tuple[str, ...] | None:
    """The texts of a bounded whole number, in its order; None when there are too many."""
    if not known.bounded or known.ends[1] - known.ends[0] >= _MOST_TEXTS:
        return None
    return tuple(str(count * known.step) for count in range(known.ends[0], known.ends[1] + 1))


@dataclass(frozen=True, slots=True)
class ToInteger(ScalarFunction):
    """A whole number as it is, and a truth value as 1 or 0."""

    value: Expression

    spellings = (
        Spelling(
            "CAST(x AS INTEGER)",
            exp.Cast,
            lambda translator, node: ToInteger(translator.expression(node.this)),
            types=_WHOLE,
        ),
    )
    meaning = (
        "a whole number as it is, a truth value as 1 or 0; fractions say how they round: `CAST(FLOOR(x) AS INTEGER)`"
    )
    probes: ClassVar[Mapping[str, str]] = {
        "truths as numbers": "cast(truth as integer) + cast(whole as bigint) * 2",
    }
    feature = "CAST to INTEGER"

    def facts(self, *known: Facts) -> Facts:
        (value,) = known
        if value.kind is Kind.BOOLEAN:
            return Facts(Kind.NUMBER, value.nullable, Fraction(1), 0, 1)
        if value.kind is not Kind.NUMBER:
            raise refused(
                "type-mismatch", f"a {value.kind.value} is not read as a number", "declare the column a number"
            )
        if value.step.denominator != 1:
            raise refused(
                "type-mismatch", "engines round fractions in different ways here", "write FLOOR(x), CEIL(x) or ROUND(x)"
            )
        return value

    def evaluate(self, *cells: Any) -> Cell:
        return Fraction(cells[0])

    def sql(self, writer: Writer) -> Tree:
        tree = writer.tree(self.value)
        if writer.known(self.value).kind is Kind.NUMBER:
            return tree
        return cast(case([(tree, number(1)), (exp.Not(this=tree.copy()), number(0))]), "BIGINT")


CASTING: tuple[type[ScalarFunction], ...] = (TimeText, ToText, ToInteger)
