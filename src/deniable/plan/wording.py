"""Refusals in the words of whoever wrote the text: their own function names and signs, and what was expected where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import sqlglot
from sqlglot import exp

from deniable.errors import QueryRefused, Span

_SIGNS = {
    "Between": "BETWEEN",
    "ArrayOverlaps": "&&",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "BitwiseNot": "~",
    "BitwiseLeftShift": "<<",
    "BitwiseRightShift": ">>",
    "Bracket": "[ ]",
    "DPipe": "||",
    "Glob": "GLOB",
    "ILike": "ILIKE",
    "IntDiv": "//",
    "Lambda": "->",
    "Pow": "**",
    "RegexpILike": "~*",
    "RegexpLike": "~",
    "Select": "SELECT",
    "SimilarTo": "SIMILAR TO",
    "Star": "*",
    "Subquery": "SELECT",
}
_ONE_ROW = "one row's value is private: write APPROX_TOP_K(x, 5), or GROUP BY x with COUNT(*)"
_CURVED = "sums are exact on whole numbers: group by FLOOR(x / 10) * 10, or ask QUANTILE(x, 0.5)"
_PATTERN = "write x LIKE '%word%', or x IN ('a', 'b')"
ADVICE = {
    "Alias": "a name with spaces stands in double quotes",
    "ArrayOverlaps": "write AND",
    "BitwiseAnd": "write AND",
    "BitwiseOr": "write OR",
    "BitwiseNot": "write NOT",
    "AnyValue": _ONE_ROW,
    "ApproxDistinct": "write COUNT(DISTINCT x)",
    "ApproxQuantile": "write QUANTILE(x, 0.9)",
    "ArgMax": _ONE_ROW,
    "ArgMin": _ONE_ROW,
    "ArrayAgg": _ONE_ROW,
    "Concat": "group by both columns instead of joining their texts",
    "Dayname": "write EXTRACT(dow FROM t), 0 for Sunday",
    "Dot": "conditions are SQL: write x IS NULL, x = 5, x IN (1, 2)",
    "Exp": _CURVED,
    "First": _ONE_ROW,
    "FirstValue": _ONE_ROW,
    "GroupConcat": _ONE_ROW,
    "Last": _ONE_ROW,
    "LastValue": _ONE_ROW,
    "Ln": _CURVED,
    "Log": _CURVED,
    "LogicalAnd": "write COUNT_IF(x), or AVG(x) for the share",
    "LogicalOr": "write COUNT_IF(x), or AVG(x) for the share",
    "Mode": "write APPROX_TOP_K(x, 1)",
    "Monthname": "write EXTRACT(month FROM t), or STRFTIME(t, '%m')",
    "Replace": "write CASE WHEN x = 'a' THEN 'b' ELSE x END",
    "RegexpILike": _PATTERN,
    "RegexpLike": _PATTERN,
    "SimilarTo": _PATTERN,
    "Sqrt": "take the root of the answer, SQRT(AVG(x * x)), or group by FLOOR(x / 10) * 10",
    "Trim": "a category is read as it is written; list those with spaces too, or write x IN ('a', 'a ')",
    "Trunc": "write FLOOR(x), or CEIL(x) below zero",
    "Week": "write DATE_TRUNC('week', t)",
    "WeekOfYear": "write DATE_TRUNC('week', t)",
    "TimeToStr": "write date_trunc('month', day), year(day) or month(day)",
    "WidthBucket": "group by floor(x / 10) * 10, or declare bins in the codebook",
}
"""What to write instead of a sign or function of other languages."""


def spoken(node: Any, text: str = "") -> str:
    """A part of a text as its author would call it: a function by the name it was written with, a sign as it stands.

    Guarantee: the parser's own names for things never reach a reader.
    """
    name = type(node).__name__
    if isinstance(node, exp.Alias):
        return f"{node.this.sql()} {node.alias}"
    if name in _SIGNS and (not isinstance(node, exp.Func) or _SIGNS[name].lower() in text.lower()):
        return _SIGNS[name]
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    if isinstance(node, exp.Func):
        written = {word.upper() for word in re.findall(r"(\w+)\s*\(", text)}
        known = [word for word in (*type(node).sql_names(), node.sql().partition("(")[0]) if word]
        own = written - {str(each).upper() for each in _other_functions(node)}
        return next((word for word in known if word.upper() in written), min(own, default=known[0])).upper()
    return repr(" ".join(node.sql().split())[:40])


def _other_functions(node: Any) -> Iterable[str]:
    """Names of the functions around and inside this one."""
    for each in node.root().find_all(exp.Func):
        if each is not node:
            yield from (str(each.this),) if isinstance(each, exp.Anonymous) else type(each).sql_names()
            yield each.sql().partition("(")[0]


def unread(error: Exception, text: str, what: str, *, names: Iterable[str] = ()) -> QueryRefused:
    """The refusal of a text that the parser gave up on: where, and what was expected there."""
    first: dict[str, Any] = (getattr(error, "errors", None) or [{}])[0]
    place, rewrite = _span(first), ""
    said = f"this is not {what} we can read"
    if first and _at_end(first, text):
        said = f"the text ends after {_tail(text)!r}, where more was expected"
    elif first.get("highlight"):
        said += f": {str(first['highlight'])[:40]!r} was not expected there"
    near = get_close_matches(text.strip(), list(names), n=1)
    odd = str(first.get("highlight") or "").upper()
    if odd == "(" and what == "SQL":
        rewrite = "a comma stands between two columns"
    elif odd == "-":
        rewrite = "a name with a hyphen in it stands in double quotes"
    elif odd == "BY":
        rewrite = "write GROUP BY, or ORDER BY"
    elif odd.isdigit() and re.search(rf"\bTOP\s+{odd}\b", text, re.IGNORECASE):
        rewrite = f"write LIMIT {odd} at the end"
    if near and not near[0].isidentifier():
        rewrite = f'a name with spaces stands in double quotes: "{near[0]}"'
    elif what == "SQL" and not re.match(r"\s*(SELECT|WITH|\(|EXPLAIN|--|/\*)", text, re.IGNORECASE):
        rewrite = "a query begins with SELECT"
    return QueryRefused("syntax", said, span=place, rewrite=rewrite)


_MISREAD = frozenset({"set-operation", "syntax", "unknown-column", "unknown-function", "unsupported"})
"""Refusals that a column without its quotes may be the reason of."""


def with_quotes(refusal: QueryRefused, text: str, names: Iterable[str], dialect: str) -> QueryRefused:
    """A refusal that says how a column is written whose name SQL reads otherwise, if one stands in the text without quotes."""
    bare = _bare_name(text, names, dialect) if refusal.code in _MISREAD else None
    if bare is None:
        return refusal
    quoted = exp.to_identifier(bare, quoted=True).sql(dialect=dialect)
    rewrite = f"SQL reads the name of the column {bare} otherwise: write {quoted}"
    rewrite += f"; {refusal.rewrite}" if refusal.rewrite else ""
    return QueryRefused(refusal.code, refusal.reason, span=refusal.span, rewrite=rewrite)


def _bare_name(text: str, names: Iterable[str], dialect: str) -> str | None:
    """The first column in a text that stands there without quotes and cannot: a word of SQL, or a name with spaces or signs."""
    plain = re.sub(r"""'[^']*('|$)|"[^"]*("|$)|`[^`]*(`|$)""", lambda found: " " * len(found.group()), text)
    found = []
    for name in names:
        place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", plain, re.IGNORECASE)
        if place and not _stands_alone(name, dialect):
            found.append((place.start(), -len(name), name))
    return min(found)[2] if found else None


def _stands_alone(name: str, dialect: str) -> bool:
    """Is this name read as a column without quotes?"""
    try:
        tree = sqlglot.parse_one(f"SELECT {name} FROM t", dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return False
    read = tree.selects if isinstance(tree, exp.Select) else []
    return len(read) == 1 and isinstance(read[0], exp.Column) and read[0].name.lower() == name.lower()


def unspaced(text: str, names: Iterable[str]) -> QueryRefused:
    """The refusal of words side by side, which are no expression: most often a name with spaces in it."""
    known = list(names)
    near = get_close_matches(text.strip(), known, n=1)
    meant = near[0] if near else text.strip()
    here = "" if near else f"; columns here: {', '.join(known)}"
    return QueryRefused(
        "syntax",
        f"there is no column {text.strip()!r}",
        rewrite=f'a name with spaces stands in double quotes: "{meant}"{here}',
    )


def absent(node: exp.Column, names: Iterable[str]) -> tuple[str, str]:
    """What is said of a column that is not there, and what to write: in double quotes it was most often meant as text."""
    known = list(names)
    advice = f"columns here: {', '.join(known)}"
    if node.this.args.get("quoted") and not any(each.lower() == node.name.lower() for each in known):
        advice = f"a text stands in single quotes, '{node.name}', a column in double quotes; {advice}"
    elif not node.table and not get_close_matches(node.name.lower(), [each.lower() for each in known], n=1):
        advice = f"{advice}; a text stands in single quotes, '{node.name}'"
    name = f"{node.table}.{node.name}" if node.table else node.name
    return f"there is no column {name!r}", advice


def _at_end(first: dict[str, Any], text: str) -> bool:
    return not str(first.get("end_context") or "").strip(" ;\n\t)") and text.rstrip(" ;\n\t").endswith(
        str(first.get("highlight") or "")
    )


def _tail(text: str) -> str:
    words = text.split()
    return " ".join(words[-3:])[-40:]


def _span(first: dict[str, Any]) -> Span | None:
    if not first.get("line"):
        return None
    word = str(first.get("highlight") or "")
    return Span(int(first["line"]), max(1, int(first.get("col") or 1) - max(len(word) - 1, 0)), word)
