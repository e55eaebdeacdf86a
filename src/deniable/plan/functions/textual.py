"""Functions of text: letters, parts and lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from deniable.plan.arithmetic import refused
from deniable.plan.expression import Expression
from deniable.plan.facts import Facts, Kind
from deniable.plan.functions.scalar import Cell, ScalarFunction, Spelling, Writer, of_argument
from deniable.plan.sql_trees import Tree, binary, call, case, number, text

if TYPE_CHECKING:
    from deniable.plan.translate import Translator

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _changed(known: Facts, change: Callable[[str], str]) -> Facts:
    """A text changed in a way that is known for each of its categories."""
    if known.kind is not Kind.STRING:
        raise refused("type-mismatch", f"text is needed, got a {known.kind.value}")
    if known.categories is None:
        return known
    changed = dict.fromkeys(change(value) for value in known.categories)
    return Facts(Kind.STRING, known.nullable, categories=tuple(changed))


# Letters --------------------------------------------------------------------------------------------------------------


class LetterCase(Enum):
    """Which letters."""

    LOWER = "lower"
    UPPER = "upper"


def folded(value: str, case: LetterCase) -> str:
    """The text with every letter that has one counterpart in the other case replaced by it."""
    change = str.lower if case is LetterCase.LOWER else str.upper
    return "".join(other if len(other := change(letter)) == 1 else letter for letter in value)


def folded_ascii(value: str, case: LetterCase) -> str:
    """The text with its ASCII letters in one case: what every engine agrees on for free text."""
    pair = (_LETTERS, _LETTERS.lower())
    source, target = pair if case is LetterCase.LOWER else pair[::-1]
    return value.translate(str.maketrans(source, target))


@dataclass(frozen=True, slots=True)
class Fold(ScalarFunction):
    """A text with its letters in one case: all of them where categories are declared, else the ASCII ones, as on every engine."""

    case: LetterCase
    value: Expression

    spellings = (
        Spelling("LOWER(text)", exp.Lower, of_argument(lambda value: Fold(LetterCase.LOWER, value))),
        Spelling("UPPER(text)", exp.Upper, of_argument(lambda value: Fold(LetterCase.UPPER, value))),
    )
    meaning = "letters in one case: all of them where categories are declared, else A to Z alone"
    probes: ClassVar[Mapping[str, str]] = {
        "letters of categories": "case when upper(word) = 'É' then 1 when upper(word) = 'REST' then 2 end"
    }
    feature = "upper and lower case"
    regrids = True

    def facts(self, *known: Facts) -> Facts:
        return _changed(known[0], lambda value: folded(value, self.case))

    def exact(self, *known: Facts) -> Expression | None:
        """Free text is changed in its ASCII letters alone."""
        return AsciiFold(self.case, self.value) if known[0].categories is None else None

    def evaluate(self, *cells: Any) -> Cell:
        return folded(cells[0], self.case)

    def sql(self, writer: Writer) -> Tree:
        tree = writer.tree(self.value)
        pairs = [
            (binary(exp.EQ, tree.copy(), text(category)), text(folded(category, self.case)))
            for category in writer.known(self.value).categories or ()
            if folded(category, self.case) != folded_ascii(category, self.case)
        ]
        plain = AsciiFold(self.case, self.value).sql(writer)
        return case(pairs, plain) if pairs else plain

    def note(self, *known: Facts) -> str | None:
        if known[0].categories is not None:
            return None
        return "UPPER and LOWER change the letters A to Z alone in columns without declared categories"


@dataclass(frozen=True, slots=True)
class AsciiFold(ScalarFunction):
    """A text with its letters A to Z in one case."""

    case: LetterCase
    value: Expression

    spellings = ()
    meaning = "what LOWER and UPPER do to text without declared categories"
    probes: ClassVar[Mapping[str, str]] = {
        "letters": "case when upper(name) = 'ÉA😀' then 1 when lower(name) = 'f' then 2 end"
    }
    feature = Fold.feature

    def facts(self, *known: Facts) -> Facts:
        return _changed(known[0], lambda value: folded_ascii(value, self.case))

    def evaluate(self, *cells: Any) -> Cell:
        return folded_ascii(cells[0], self.case)

    def sql(self, writer: Writer) -> Tree:
        pair = (_LETTERS, _LETTERS.lower())
        source, target = pair if self.case is LetterCase.LOWER else pair[::-1]
        return call("TRANSLATE", writer.tree(self.value), text(source), text(target))


# Parts and lengths ----------------------------------------------------------------------------------------------------


def _read_substring(translator: Translator, node: exp.Substring) -> Expression:
    if node.args.get("length") is None:
        raise translator.refusal(node, "bad-constant", "substring takes a start and a length")
    start, length = (translator.constant(node.args[name], node) for name in ("start", "length"))
    return _cut(translator, node, start, length)


def _read_left(translator: Translator, node: exp.Left) -> Expression:
    return _cut(translator, node, Fraction(1), translator.constant(node.expression, node))


def _cut(translator: Translator, node: exp.Expression, start: Fraction, length: Fraction) -> Expression:
    if start.denominator != 1 or length.denominator != 1 or start < 1 or length < 0:
        raise translator.refusal(node, "bad-constant", "substring counts from 1 and takes a whole length")
    return Substring(translator.expression(node.this), int(start), int(length))


@dataclass(frozen=True, slots=True)
class Substring(ScalarFunction):
    """`length` characters of a text from position `start`, which counts from 1."""

    value: Expression
    start: int
    length: int

    spellings = (
        Spelling("SUBSTRING(text, 1, 3)", exp.Substring, _read_substring, reads=frozenset({"start", "length"})),
        Spelling("LEFT(text, 3)", exp.Left, _read_left),
    )
    meaning = "so many characters from a position that counts from 1"
    probes: ClassVar[Mapping[str, str]] = {"substring": "case when substring(name, 2, 1) = 'a' then 1 end"}
    feature = "substrings"

    def facts(self, *known: Facts) -> Facts:
        if not (1 <= self.start < 2**31 and 0 <= self.length < 2**31):
            raise refused("bad-constant", "substring counts from 1 and takes a length of 0 or more")
        return _changed(known[0], self._part)

    def evaluate(self, *cells: Any) -> Cell:
        return self._part(cells[0])

    def sql(self, writer: Writer) -> Tree:
        return exp.Substring(this=writer.tree(self.value), start=number(self.start), length=number(self.length))

    def _part(self, value: str) -> str:
        return value[self.start - 1 : self.start - 1 + self.length]


@dataclass(frozen=True, slots=True)
class CharacterCount(ScalarFunction):
    """How many characters (Unicode code points) a text has."""

    value: Expression

    spellings = (Spelling("LENGTH(text)", exp.Length, of_argument(lambda value: CharacterCount(value))),)
    meaning = "how many characters (Unicode code points) a text has"
    probes: ClassVar[Mapping[str, str]] = {"length": "clamp(length(name), 0, 9)"}
    feature = "the length of a text"

    def facts(self, *known: Facts) -> Facts:
        (value,) = known
        if value.kind is not Kind.STRING:
            raise refused("type-mismatch", f"length needs text, got a {value.kind.value}")
        if value.categories is None:
            return Facts(Kind.NUMBER, value.nullable, Fraction(1), 0, None)
        sizes = [len(category) for category in value.categories]
        return Facts(Kind.NUMBER, value.nullable, Fraction(1), min(sizes), max(sizes))

    def evaluate(self, *cells: Any) -> Cell:
        return Fraction(len(cells[0]))

    def sql(self, writer: Writer) -> Tree:
        return writer.profile.characters(writer.tree(self.value))


TEXTUAL: tuple[type[ScalarFunction], ...] = (Fold, AsciiFold, Substring, CharacterCount)
