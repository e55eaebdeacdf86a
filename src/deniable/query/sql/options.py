"""`SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...)`, and bounds written inside an aggregate, as some warehouses write them.

The clause is read with the dialect's tokenizer, so texts and comments that look like it are left alone, and then blanked
out of the query; places in the rest of the text do not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp

from deniable.errors import InvalidArgument, QueryRefused, Span
from deniable.kernels import Law
from deniable.query.payment import law_of

Token: TypeAlias = Any
"""A token of SQLGlot, whose module of tokens differs between its versions: text, start, end."""

_BOUNDED = (
    "avg", "sum", "count", "median", "percentile_cont", "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp",
)  # fmt: skip
STAND_INS = {f"{name[:-1]}_": name.upper() for name in _BOUNDED}
"""Aggregates with written bounds are parsed as plain calls under these names, as long as their own so that no place moves."""

STRATEGIES = ("laplace_threshold", "public_groups")
"""How groups may be chosen: by a threshold on units, or as declared."""

_WHOLE = ("max_groups_contributed", "max_rows_contributed", "min_privacy_units_per_group")
_KNOWN = {"epsilon", "delta", "privacy_unit_column", "group_selection_strategy", "noise", *_WHOLE}


@dataclass(frozen=True, slots=True)
class Options:
    """What a query says about its own price and bounds; None where it says nothing."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    unit: str | None = None
    groups: int | None = None
    rows: int | None = None
    least_units: int | None = None
    strategy: str | None = None
    law: Law | None = None
    laws: tuple[tuple[str, Law], ...] = ()


def taken(text: str, dialect: str) -> tuple[str, Options]:
    """The text without the clause, and what the clause said."""
    if "differential_privacy" not in text.lower() and "contribution_bounds" not in text.lower():
        return text, Options()
    tokens = sqlglot.Dialect.get_or_raise(dialect).tokenize(text)
    text, options = _without_clause(text, tokens)
    return _renamed(text, sqlglot.Dialect.get_or_raise(dialect).tokenize(text)), options


def _without_clause(text: str, tokens: Sequence[Token]) -> tuple[str, Options]:
    for index in range(len(tokens)):
        words = [each.text.upper() for each in tokens[index : index + 3]]
        if words == ["SELECT", "WITH", "DIFFERENTIAL_PRIVACY"]:
            start, end, options = tokens[index + 1].start, tokens[index + 2].end, Options()
            if index + 3 < len(tokens) and tokens[index + 3].text.upper() == "OPTIONS":
                options, last = _options(text, tokens, index + 4)
                end = tokens[last].end
            blank = "".join("\n" if letter == "\n" else " " for letter in text[start : end + 1])
            return text[:start] + blank + text[end + 1 :], options
    return text, Options()


def _options(text: str, tokens: Sequence[Token], at: int) -> tuple[Options, int]:
    if at >= len(tokens) or tokens[at].text != "(":
        raise _refused(text, tokens[at - 1], "OPTIONS is followed by (name = value, ...)")
    found: dict[str, Token] = {}
    laws: tuple[tuple[str, Law], ...] = ()
    at += 1
    while at < len(tokens) and tokens[at].text != ")":
        if tokens[at].text == ",":
            at += 1
            continue
        if at + 2 >= len(tokens) or tokens[at + 1].text != "=":
            raise _refused(text, tokens[at], "an option is written name = value")
        name = tokens[at].text.lower()
        if name not in _KNOWN or name in found:
            known = ", ".join(sorted(_KNOWN))
            raise _refused(text, tokens[at], f"{name!r} is not an option here, or stands twice; known: {known}")
        if name == "noise" and at + 2 < len(tokens) and tokens[at + 2].text == "(":
            laws, at = _laws(text, tokens, at + 3)
            continue
        found[name], at = _value(tokens, at + 2)
    if at >= len(tokens):
        raise _refused(text, tokens[-1], "OPTIONS( is never closed")
    return replace(_read(text, found), laws=laws), at


def _laws(text: str, tokens: Sequence[Token], at: int) -> tuple[tuple[tuple[str, Law], ...], int]:
    """`noise = (n = gaussian, avg = laplace)`: the law of the noise of single outputs; and where the next option stands."""
    laws: dict[str, Law] = {}
    while at < len(tokens) and tokens[at].text != ")":
        if tokens[at].text == ",":
            at += 1
            continue
        if at + 2 >= len(tokens) or tokens[at + 1].text != "=" or tokens[at].text in laws:
            raise _refused(text, tokens[at], "laws of noise are written (output = law, ...), each output once")
        laws[tokens[at].text] = _law(text, tokens[at + 2])
        at += 3
    return tuple(laws.items()), at + 1


def _law(text: str, token: Token) -> Law:
    try:
        return law_of(token.text.lower().replace("_", " "))
    except InvalidArgument:
        raise _refused(text, token, f"a law of noise is one of {', '.join(law.name for law in Law)}") from None


def _value(tokens: Sequence[Token], at: int) -> tuple[Token, int]:
    """A value's token and where the next one stands; `.01` comes as a dot and a number that touch."""
    value = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if value.text == "." and following is not None and following.start == value.end + 1:
        return SimpleNamespace(text=f"0.{following.text}", start=value.start, end=following.end), at + 2
    return value, at + 1


def _read(text: str, found: dict[str, Token]) -> Options:
    numbers = {name: _number(text, found[name]) for name in ("epsilon", "delta", *_WHOLE) if name in found}
    for name in _WHOLE:
        if name in numbers and (numbers[name].denominator != 1 or numbers[name] < 1):
            raise _refused(text, found[name], f"{name} is a whole number of at least 1")
    whole = {name: int(numbers[name]) for name in _WHOLE if name in numbers}
    unit = found["privacy_unit_column"].text if "privacy_unit_column" in found else None
    strategy = found["group_selection_strategy"].text.lower() if "group_selection_strategy" in found else None
    if strategy is not None and strategy not in STRATEGIES:
        raise _refused(text, found["group_selection_strategy"], f"a strategy is one of {', '.join(STRATEGIES).upper()}")
    return Options(
        epsilon=numbers.get("epsilon"),
        delta=numbers.get("delta"),
        unit=unit,
        groups=whole.get("max_groups_contributed"),
        rows=whole.get("max_rows_contributed"),
        least_units=whole.get("min_privacy_units_per_group"),
        strategy=strategy,
        law=_law(text, found["noise"]) if "noise" in found else None,
    )


def _number(text: str, token: Token) -> Fraction:
    try:
        if len(token.text) > 40:
            raise ValueError
        return Fraction(token.text)
    except (ValueError, ZeroDivisionError):
        raise _refused(text, token, f"{token.text[:40]!r} is not a number") from None


def _renamed(text: str, tokens: Sequence[Token]) -> str:
    """Aggregates whose own argument list has a `contribution_bounds_...`, renamed so that they parse as plain calls."""
    opened: list[int] = []
    heads: set[int] = set()
    for index, token in enumerate(tokens):
        if token.text == "(":
            opened.append(index)
        elif token.text == ")" and opened:
            opened.pop()
        elif token.text.lower().startswith("contribution_bounds_") and opened and opened[-1] > 0:
            heads.add(opened[-1] - 1)
    for index in sorted(heads, reverse=True):
        head = tokens[index]
        if head.text.lower() not in _BOUNDED:
            raise _refused(text, head, f"contribution bounds go with {', '.join(_BOUNDED)}, not with {head.text}")
        text = f"{text[: head.end]}_{text[head.end + 1 :]}"
    return text


def renamed_back(tree: Any) -> None:
    """Give stand-ins their names again: they stay plain calls, which no aggregate without bounds is parsed as."""
    for node in tree.find_all(exp.Anonymous):
        node.set("this", STAND_INS.get(str(node.this).lower(), node.this))


def _refused(text: str, token: Token, reason: str) -> QueryRefused:
    start = token.start
    span = Span(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), token.text[:60])
    return QueryRefused("bad-option", reason, span=span)
