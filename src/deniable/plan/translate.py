"""Expressions from text, as in `parse("duration > 0")`, and from SQLGlot trees, one allowed node class at a time.

SQLGlot only parses. What we accept is our own list of node classes; every other one is refused with a code, its place
in the text, the reason and what to write instead. The SQL compiler reads its expressions here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import exp

from deniable.errors import QueryRefused, Span
from deniable.exact.figures import counted
from deniable.exact.guards import shown
from deniable.plan import translate_operators as operators
from deniable.plan.analysis import facts
from deniable.plan.canonical import rename_columns
from deniable.plan.expression import Column, Compare, Comparison, Expression, Literal, depth
from deniable.plan.facts import Facts, Kind
from deniable.plan.functions.catalogue import BY_NAME, BY_NODE
from deniable.plan.functions.textual import Fold, folded
from deniable.plan.wording import ADVICE, absent, spoken, unread, unspaced

IGNORES_CASE = "ignores case"
"""What a comparison is marked with, for a dialect whose default collation ignores case."""

PREDICTION = "prediction"
"""What a call of prediction('request') is marked with: what the fitted model of that request predicts for a row."""

_COMPARISONS: dict[type[exp.Expression], Comparison] = {
    exp.EQ: Comparison.EQUAL,
    exp.NEQ: Comparison.NOT_EQUAL,
    exp.LT: Comparison.LESS,
    exp.LTE: Comparison.AT_MOST,
    exp.GT: Comparison.MORE,
    exp.GTE: Comparison.AT_LEAST,
}
_REWRITES = {
    "IntDiv": "write floor(a / b)",
    "ILike": "write lower(x) LIKE 'pattern'",
    "DPipe": "group by both columns instead of joining their texts",
    "Pow": "write x * x",
    "Placeholder": "write the value itself",
    "Rand": "a query may not draw random numbers",
    "CurrentDate": "write the date itself, such as DATE '2024-01-31'",
    "CurrentTimestamp": "write the timestamp itself, such as TIMESTAMP '2024-01-31 12:00:00'",
    "now": "write the timestamp itself, such as TIMESTAMP '2024-01-31 12:00:00'",
    "today": "write the date itself, such as DATE '2024-01-31'",
    "Subquery": "join along the unit or a declared link instead",
    "Select": "join along the unit or a declared link instead",
    "Exists": "use a semi join along the unit or a declared link",
}
_READ: dict[type[exp.Expression], frozenset[str]] = {
    exp.Column: frozenset({"table", "db", "catalog"}),
    exp.Literal: frozenset({"is_string"}),
    exp.Between: frozenset({"low", "high"}),
    exp.In: frozenset({"query"}),
    exp.Like: frozenset({"negate"}),
    exp.Is: frozenset({"negate"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.If: frozenset({"true", "false"}),
    exp.Cast: frozenset({"to", "safe"}),
    exp.TryCast: frozenset({"to", "safe"}),
    exp.Div: frozenset({"typed", "safe"}),
}
"""What is read of a node besides its operands (the rest of a node is refused); flags that cannot matter here are listed too."""
LONGEST_TEXT = 20_000
"""Longer expressions are refused before they are parsed."""
DEEPEST = 60
"""Expressions nested deeper are refused: every engine can take this much."""


def span(node: exp.Expression, text: str) -> Span | None:
    """Where a node stands in the text, as far as the parser remembers."""
    starts = [(inner.meta["start"], inner.meta["end"]) for inner in node.walk() if "start" in inner.meta]
    if not starts or not text:
        return None
    start, end = min(start for start, _ in starts), max(end for _, end in starts)
    return Span(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), text[start : end + 1][:60])


class Translator:
    """Turns SQLGlot trees into expressions, one allowed node class at a time.

    `column` resolves a column node to a name of the relation (by default its bare name, case-insensitively matched
    against `schema`); the SQL compiler gives its own, which also knows table aliases.
    """

    def __init__(
        self,
        *,
        text: str = "",
        schema: Mapping[str, Facts] | None = None,
        column: Callable[[exp.Column], str] | None = None,
    ) -> None:
        self._text, self.schema = text, schema
        self.resolve = column or self._bare

    def refusal(self, node: exp.Expression, code: str, reason: str, rewrite: str = "") -> QueryRefused:
        """The refusal of one node, with its place."""
        return QueryRefused(code, reason, span=span(node, self._text), rewrite=rewrite)

    def facts(self, expression: Expression) -> Facts:
        """The facts of an expression here; only with a schema."""
        assert self.schema is not None, "ask `schema` first"
        return facts(expression, self.schema)

    def expression(self, node: Any) -> Expression:
        """The expression a tree means."""
        kind = type(node)
        self._checked(node)
        if kind in _COMPARISONS:
            left, right = self.alike(node, [node.this, node.expression])
            self.check_case(node, left, right)
            return Compare(_COMPARISONS[kind], left, right)
        if kind in BY_NODE:
            return BY_NODE[kind].read(self, node)
        if kind not in _ALLOWED:
            name = kind.__name__
            word, rewrite = spoken(node, self._text), _REWRITES.get(name, "") or ADVICE.get(name, "")
            raise self.refusal(node, "unsupported", f"{word} is outside the expression language", rewrite)
        return _ALLOWED[kind](self, node)

    def check_case(self, node: exp.Expression, *parts: Expression) -> None:
        """Refuse a comparison of text in a dialect that ignores case, unless case can make no difference here."""
        dialect = node.meta.get(IGNORES_CASE)
        if dialect is None or self.schema is None:
            return
        known = [facts(part, self.schema) for part in parts]
        if any(each.kind is not Kind.STRING for each in known):
            return
        said = [part.value for part in parts if isinstance(part, Literal) and isinstance(part.value, str)]
        cases = {part.case for part in parts if isinstance(part, Fold)}
        if len(cases) == 1 and all(folded(word, case) == word for word in said for case in cases):
            return
        words = {word for each in known for word in each.categories or ()}
        listed = not isinstance(node, exp.Like) and all(each.categories is not None for each in known)
        if listed and len({word.lower() for word in words}) == len(words):
            return
        raise self.refusal(
            node,
            "dialect",
            f"{dialect} compares text without regard to case",
            "write LOWER(x) = 'word' or LOWER(x) LIKE 'word%'",
        )

    def _checked(self, node: Any) -> None:
        """Refuse a node that says more than we read: an overlooked word would change what the text means."""
        kind = type(node)
        if kind in BY_NODE:
            read = BY_NODE[kind].reads
        elif kind in _ALLOWED or kind in _COMPARISONS:
            read = _READ.get(kind, frozenset())
        else:
            return
        for name, value in node.args.items():
            if value and name not in read and name not in ("this", "expression", "expressions"):
                raise self.refusal(
                    node,
                    "unsupported",
                    f"{spoken(node, self._text)} with {name.upper()} is outside the expression language",
                )

    def _bare(self, node: exp.Column) -> str:
        name = node.name
        if node.args.get("table"):
            raise self.refusal(
                node, "qualified-column", f"{node.sql()!r} names a table", "write the column's name alone"
            )
        if self.schema is None or name in self.schema:
            return name
        near = [known for known in self.schema if known.lower() == name.lower()]
        if len(near) == 1 and not node.this.args.get("quoted"):
            return near[0]
        raise self.refusal(node, "unknown-column", *absent(node, self.schema))

    def alike(self, node: exp.Expression, parts: list[exp.Expression]) -> list[Expression]:
        """The parts, texts beside a date or timestamp read as one."""
        for part in parts:
            if isinstance(part, exp.Null):
                raise self.refusal(node, "null-comparison", "a comparison with NULL is never true", "write IS NULL")
        translated = [self.expression(part) for part in parts]
        if self.schema is None:
            return translated
        kinds = {facts(part, self.schema).kind for part in translated}
        wanted = kinds & {Kind.DATE, Kind.TIMESTAMP}
        if len(wanted) != 1 or Kind.STRING not in kinds:
            return translated
        kind = wanted.pop()
        return [
            Literal(self.time(node, part.value, kind))
            if isinstance(part, Literal) and isinstance(part.value, str)
            else part
            for part in translated
        ]

    def time(self, node: exp.Expression, text: str, kind: Kind) -> date | datetime:
        """A text read as a date or timestamp."""
        try:
            value = date.fromisoformat(text) if kind is Kind.DATE else datetime.fromisoformat(text)
        except ValueError:
            raise self.refusal(
                node, "bad-constant", f"{text!r} is not a {kind.value}", "write it as 2024-01-31"
            ) from None
        if isinstance(value, datetime) and value.tzinfo is not None:
            raise self.refusal(node, "bad-constant", f"{text!r} has a time zone", "leave the zone out")
        return value

    def constant(self, node: exp.Expression, whole: exp.Expression) -> Fraction:
        """The number a constant is; `whole` is what it belongs to, for the refusal."""
        value = self.expression(node)
        if not (isinstance(value, Literal) and isinstance(value.value, Fraction)):
            raise self.refusal(whole, "bad-constant", f"{node.sql()!r} must be a constant number here")
        return value.value

    def _paren(self, node: exp.Paren) -> Expression:
        return self.expression(node.this)

    def _column(self, node: exp.Column) -> Expression:
        return Column(self.resolve(node))

    def _literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return Literal(node.this)
        try:
            return Literal(_fraction(node.this))
        except ValueError:
            raise self.refusal(node, "bad-constant", f"{node.this[:40]!r} is not a number we can read") from None

    def _boolean(self, node: exp.Boolean) -> Expression:
        return Literal(bool(node.this))

    def _named(self, node: exp.Anonymous) -> Expression:
        name, count = str(node.this).lower(), len(node.expressions)
        if name == PREDICTION and PREDICTION in node.meta:
            return rename_columns(node.meta[PREDICTION], lambda column: self.resolve(exp.column(column)))
        spelling = BY_NAME.get(name)
        if spelling is not None:
            least, most = spelling.arity
            if least <= count and (most is None or count <= most):
                return spelling.read(self, node)
        near = [] if name in BY_NAME else get_close_matches(name, BY_NAME, n=1)
        rewrite = _REWRITES.get(name, f"did you mean {BY_NAME[near[0]].form}?" if near else "")
        raise self.refusal(
            node,
            "unknown-function",
            f"there is no function {name} that takes {counted(count, 'value')}",
            rewrite if spelling is None else f"write {spelling.form}",
        )


_ALLOWED: dict[type[exp.Expression], Callable[[Translator, Any], Expression]] = {
    exp.Paren: Translator._paren,
    exp.Column: Translator._column,
    exp.Literal: Translator._literal,
    exp.Boolean: Translator._boolean,
    exp.Anonymous: Translator._named,
    exp.Neg: operators.negative,
    exp.Add: operators.arithmetic,
    exp.Sub: operators.arithmetic,
    exp.Mul: operators.arithmetic,
    exp.Div: operators.quotient,
    exp.And: operators.conjunction,
    exp.Or: operators.disjunction,
    exp.Not: operators.negation,
    exp.Is: operators.test,
    exp.Between: operators.range_test,
    exp.In: operators.membership,
    exp.Like: operators.likeness,
    exp.Case: operators.case,
    exp.If: operators.condition,
    exp.Nullif: operators.nullified,
    exp.Cast: operators.cast,
    exp.TryCast: operators.cast,
}
"""Every node class we read, besides comparisons and the table of functions; what is not here is refused."""


def _fraction(text: str) -> Fraction:
    mantissa, _, exponent = text.replace("_", "").lower().partition("e")
    if len(mantissa) > 80 or len(exponent) > 3:
        raise ValueError("a number of this size fits no grid")
    return Fraction(text.replace("_", ""))


def parse(text: str, *, schema: Mapping[str, Facts] | None = None, dialect: str = "duckdb") -> Expression:
    """The expression written in `text`; with a `schema`, names and types are checked too."""
    if not isinstance(text, str) or not text.strip():
        raise QueryRefused("empty", f'an expression is text such as "year > 2007", got {_named(text)}')
    if schema is not None and text in schema:
        return Column(text)
    if len(text) > LONGEST_TEXT:
        raise QueryRefused("too-long", f"an expression may have {LONGEST_TEXT} characters, got {len(text)}")
    try:
        trees = sqlglot.parse(text, dialect=dialect)
        if len(trees) != 1 or trees[0] is None:
            raise QueryRefused("several-statements", "expected one expression")
        if schema is not None and isinstance(trees[0], sqlglot.exp.Alias):
            raise unspaced(text, schema)
        translated = Translator(text=text, schema=schema).expression(trees[0])
        if depth(translated) > DEEPEST:
            raise RecursionError
        if schema is not None:
            facts(translated, schema)
    except sqlglot.errors.SqlglotError as error:
        raise unread(error, text, "an expression", names=schema or ()) from None
    except RecursionError:
        raise QueryRefused(
            "too-deep", "the expression is nested too deeply", rewrite="derive parts of it first"
        ) from None
    return translated


def _named(value: object) -> str:
    return "a function" if callable(value) else shown(value)
