"""A dossier as sections: the same content as Markdown lines and as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from deniable.deciding import web_page
from deniable.deciding.plain_words import NOT_PROTECTED, explain_epsilon
from deniable.ledger.numbers import digits

if TYPE_CHECKING:
    from deniable.deciding.dossier import Dossier

Rows = list[tuple[str, ...]]
Section = tuple[str, list[str], list[str], Rows]
"""A heading, paragraphs, the heads of a table (none: no table), and its rows."""


def sections(dossier: Dossier) -> list[Section]:
    """What a dossier says, in order."""
    facts = dossier.release.facts
    meaning = explain_epsilon(facts.epsilon, delta=facts.delta)
    blocked = [f"Blocks publication: {each}" for each in dossier.blockers] or ["Nothing blocks publication."]
    short: Rows = [(name, value) for name, value in dossier.release.release_table().rows]
    return [
        ("State", blocked, [], []),
        ("Label", [], ["", ""], [tuple(row) for row in dossier.label()]),
        ("Guarantee", [dossier.release.guarantee, *meaning.sentences], [], []),
        ("Release table", [], ["Name", "Value"], short),
        ("All facts", [], ["Name", "Value"], [tuple(row) for row in dossier._extended().rows[len(short) :]]),
        (
            "Loss in other readings",
            [],
            ["delta", "epsilon"],
            [(row["delta"], row["epsilon"]) for row in dossier.readings()],
        ),
        ("Decision on epsilon", *_decision(dossier)),
        ("Context", *_context(dossier)),
        ("Checklist", [], ["step", "question", "state", "evidence"], _checklist(dossier)),
        ("Audit", [dossier.certificate or "No audit certificate was added."], [], []),
        ("What is not protected", list(NOT_PROTECTED), [], []),
    ]


def _decision(dossier: Dossier) -> tuple[list[str], list[str], Rows]:
    told = dossier.decided
    if told is None:
        return ["No decision was recorded."], [], []
    row = (digits(told.epsilon), digits(told.delta), told.reason, told.by, told.on.isoformat())
    return [], ["epsilon", "delta", "reason", "by", "on"], [row]


def _context(dossier: Dossier) -> tuple[list[str], list[str], Rows]:
    if dossier.flow is None:
        return ["The context form was not filled in."], [], []
    return (
        [],
        ["Parameter", "Answer"],
        [(name.replace("_", " "), text) for name, text in dossier.flow.to_record().items()],
    )


def _checklist(dossier: Dossier) -> Rows:
    rows: Rows = []
    for item in dossier.full_checklist.items:
        if item.evidence is not None:
            who = ", ".join(part for part in (item.evidence.by, item.evidence.role) if part)
            told = f"{who}, {item.evidence.on.isoformat()}: {item.evidence.text}"
            told += f" ({item.evidence.link})" if item.evidence.link else ""
            told += f" (sha256 {item.evidence.file_hash[:16]}…)" if item.evidence.file_hash else ""
        else:
            told = item.not_applicable or ("blocks publication" if item.blocks else "")
        rows.append((item.step, item.question, item.state, told))
    return rows


def html_parts(dossier: Dossier) -> list[str]:
    """The sections as HTML, each with its heading."""
    parts = []
    for heading, lines, head, rows in sections(dossier):
        table = web_page.table(rows, head=head, caption=heading) if head else ""
        words = web_page.paragraphs(lines)
        blocked = heading == "State" and dossier.blockers
        parts.append(
            f"<h2>{escape(heading)}</h2>" + (f'<div class="block">{words}</div>' if blocked else words) + table
        )
    return parts


def markdown(dossier: Dossier) -> str:
    """The sections as Markdown."""
    lines = [f"# {_plain(dossier.title)}", ""]
    for heading, words, head, rows in sections(dossier):
        lines += [f"## {heading}", ""]
        lines += [line for word in words for line in (_plain(word), "")]
        if head:
            lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
            lines += ["| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows] + [""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text that cannot break out of its cell or become markup."""
    plain = escape(" ".join(text.split()), quote=False)
    for mark in "\\|`*_[]":
        plain = plain.replace(mark, "\\" + mark)
    return plain
