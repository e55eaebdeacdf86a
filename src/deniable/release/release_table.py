"""The release table: the eight rows by which differentially private releases are compared, and a longer one.

The eight rows and their names follow "Hands-On Differential Privacy" (chapter 13, tables 13-1 and 13-2). The longer table adds what
one needs to check the claim: measure, neighbours, bounds, composition, accuracy, what is not included, and the receipt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from deniable.ledger.numbers import digits
from deniable.release.release_facts import ReleaseFacts

FORMAT = "deniable release table 1"
MISSING = "not stated"
_EXTENDED = {
    "dataset": "Data set",
    "data_version": "Data version",
    "period": "Period",
    "measure": "Privacy measure",
    "neighbours": "Neighbouring data sets",
    "contribution": "Contribution of one unit",
    "sampling": "Sampling",
    "keys": "Group keys",
    "bounds": "Bounds",
    "composition": "Composition theorem",
    "adaptivity": "Adaptivity",
    "budget": "Budget",
    "spent": "Spent so far",
    "left": "Left",
    "accuracy": "Accuracy",
    "suppression": "Suppressed groups",
    "failure": "What delta covers",
    "postprocessing": "Post-processing",
    "not_included": "Not included in the error",
    "receipt": "Receipt",
    "head": "Ledger head",
    "license": "License",
    "contact": "Contact",
}


@dataclass(frozen=True, slots=True)
class ReleaseTable:
    """Rows of name and value, printable as Markdown, HTML or JSON."""

    rows: tuple[tuple[str, str], ...]
    facts: ReleaseFacts

    def markdown(self) -> str:
        """A Markdown table; nothing in a value can break out of its cell or become markup."""
        lines = ["| Name | Value |", "|---|---|", *(f"| {_cell(name)} | {_cell(value)} |" for name, value in self.rows)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """An HTML table; values are escaped, and only an http(s) address becomes a link."""
        rows = "\n".join(f"<tr><th>{escape(name)}</th><td>{_linked(value)}</td></tr>" for name, value in self.rows)
        return f'<table class="deniable-release-table">\n<tr><th>Name</th><th>Value</th></tr>\n{rows}\n</table>\n'

    def json(self) -> str:
        """The rows as printed, and the facts with exact numbers."""
        return json.dumps(self.to_record(), indent=2, ensure_ascii=False) + "\n"

    def to_record(self) -> dict[str, Any]:
        """As a JSON-able dictionary."""
        return {"format": FORMAT, "rows": [list(row) for row in self.rows], "facts": self.facts.to_record()}

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.rows)


def release_table(facts: ReleaseFacts) -> ReleaseTable:
    """The eight rows. Epsilon and delta are rounded up."""
    rows = (
        ("Project Scope", facts.scope),
        ("Preprocessing methods", _joined(facts.preprocessing) or "None"),
        ("ε", digits(facts.epsilon)),
        ("δ", digits(facts.delta)),
        ("Unit of privacy", facts.unit),
        ("Mechanism", _joined(facts.mechanisms)),
        ("Implementation", facts.implementation),
        ("URL", facts.url or MISSING),
    )
    return ReleaseTable(rows, facts)


def extended_release_table(facts: ReleaseFacts) -> ReleaseTable:
    """The eight rows and everything else that is known; what is not known is shown as not stated."""
    more = tuple((title, _joined(getattr(facts, name)) or MISSING) for name, title in _EXTENDED.items())
    return ReleaseTable(release_table(facts).rows + more, facts)


def _joined(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else "; ".join(value)


def _cell(text: str) -> str:
    plain = escape(" ".join(text.split()), quote=False)
    for mark in "\\|`*_[]":
        plain = plain.replace(mark, "\\" + mark)
    return plain


def _linked(text: str) -> str:
    if text.startswith(("https://", "http://")) and not any(letter.isspace() for letter in text):
        return f'<a href="{escape(text)}">{escape(text)}</a>'
    return escape(text)
