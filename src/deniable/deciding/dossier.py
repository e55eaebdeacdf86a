"""The dossier of one release: everything a reader, a lawyer or an auditor needs, in HTML, Markdown, JSON and PDF.

It holds the release table (eight rows and all facts), the guarantee and the loss in all readings, the decision on
epsilon, the checklist, the context form, and a label in everyday words. It is made of public facts only, and says
what still blocks publication.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from deniable.accounting import epsilon as read_epsilon
from deniable.deciding import web_page
from deniable.deciding.checklist import Checklist
from deniable.deciding.epsilon_choice import EpsilonChoice, EpsilonDecision
from deniable.deciding.information_flow import InformationFlow
from deniable.deciding.plain_words import NOT_PROTECTED, explain_epsilon
from deniable.deciding.registry_entry import FORMAT as REGISTRY_FORMAT
from deniable.deciding.registry_entry import registry_problems
from deniable.errors import DeniableError, InvalidArgument
from deniable.exact import loss_text
from deniable.ledger.numbers import digits, number_text
from deniable.release.answer import Release
from deniable.release.release_table import ReleaseTable
from deniable.release.value import ValueRelease
from deniable.version import __version__

FORMAT = "deniable dossier 1"
_DELTAS = (Fraction(0), Fraction(1, 10**10), Fraction(1, 10**8), Fraction(1, 10**6))

AnyRelease: TypeAlias = Release | ValueRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """A release with what was decided about it. Every method that adds something gives a new dossier."""

    release: AnyRelease
    items: Checklist
    flow: InformationFlow | None = None
    decided: EpsilonDecision | None = None
    certificate: str = ""

    def checklist(self, source: str | os.PathLike[str] | Checklist) -> Dossier:
        """With the deployment checklist from a YAML file; what the release shows by itself is filled in."""
        given = source if isinstance(source, Checklist) else Checklist.load(source)
        return replace(self, items=given)

    def context(self, source: str | os.PathLike[str] | InformationFlow) -> Dossier:
        """With the contextual-integrity form from a YAML file."""
        return replace(self, flow=source if isinstance(source, InformationFlow) else InformationFlow.load(source))

    def decision(self, choice: EpsilonChoice | EpsilonDecision) -> Dossier:
        """With the decision on epsilon; a choice that is not decided is refused."""
        found = choice.decision if isinstance(choice, EpsilonChoice) else choice
        if found is None:
            raise InvalidArgument("nothing was decided yet; record it with choice.decide(epsilon, reason=..., by=...)")
        return replace(self, decided=found)

    def audit(self, certificate: str) -> Dossier:
        """With the words of an audit certificate."""
        return replace(self, certificate=certificate)

    @property
    def full_checklist(self) -> Checklist:
        """The checklist with what the release and the decision show."""
        facts = self.release.facts
        receipt = self.release.receipt
        known = facts.with_receipt(receipt) if receipt else facts
        decided = (
            ""
            if self.decided is None
            else f"epsilon = {digits(self.decided.epsilon)}, by {self.decided.by}: {self.decided.reason}"
        )
        return self.items.filled(known, receipt="" if receipt is None else str(receipt), decided=decided)

    @property
    def blockers(self) -> tuple[str, ...]:
        """What must be settled before the release is published."""
        found = [f"{item.step}: {item.question}" for item in self.full_checklist.blocking]
        if self.flow is None:
            found.append("the context form is missing: who expected which flow, and what does the release change?")
        if self.decided is not None and self.release.facts.epsilon > self.decided.epsilon:
            found.append(
                f"the release costs epsilon = {digits(self.release.facts.epsilon)}, "
                f"more than the {digits(self.decided.epsilon)} decided"
            )
        if self.release.guarantee.startswith("NO GUARANTEE"):
            found.append("the release was drawn with testing entropy and carries no guarantee")
        return tuple(found)

    def readings(self) -> list[dict[str, str]]:
        """What the release costs in epsilon at several values of delta, read from its cost record, rounded up."""
        rows = []
        for delta in dict.fromkeys((self.release.facts.delta, *_DELTAS)):
            try:
                loss = read_epsilon(self.release.cost, delta=delta).upper
            except DeniableError:
                continue
            if loss < float("inf"):
                rows.append({"delta": digits(delta), "epsilon": digits(Fraction(loss))})
        return rows

    def label(self) -> tuple[tuple[str, str], ...]:
        """The facts of a release in six lines, as on a packet."""
        facts, meaning = self.release.facts, explain_epsilon(self.release.facts.epsilon, delta=self.release.facts.delta)
        return (
            ("What", facts.scope),
            ("Who is protected", facts.unit),
            ("Privacy loss", loss_text("epsilon", facts.epsilon, facts.delta)),
            ("Right guesses about one person", f"at most {meaning.right_of_hundred} of 100, where 50 is guessing"),
            ("Error", "; ".join(facts.accuracy) or "not stated"),
            ("Not protected", "what the data say about everybody, and what is public already"),
        )

    def to_record(self) -> dict[str, Any]:
        """Everything in it as JSON-able values."""
        receipt = self.release.receipt
        return {
            "format": FORMAT,
            "title": self.title,
            "guarantee": self.release.guarantee,
            "label": dict(self.label()),
            "release_table": [list(row) for row in self._extended().rows],
            "facts": self.release.facts.to_record(),
            "receipt": receipt.to_record() if receipt else None,
            "readings": self.readings(),
            "decision": self.decided.to_record() if self.decided else None,
            "context": self.flow.to_record() if self.flow else None,
            "checklist": self.full_checklist.to_record(),
            "certificate": self.certificate,
            "blockers": list(self.blockers),
            "software": {"deniable": __version__, "python": platform.python_version()},
        }

    @property
    def title(self) -> str:
        """What the dossier is called."""
        return f"Dossier: {self.release.facts.scope}"

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The dossier as JSON text, written to `path` if given."""
        return web_page.written(json.dumps(self.to_record(), indent=2, sort_keys=True, ensure_ascii=False) + "\n", path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The dossier as Markdown, written to `path` if given; nothing in a value can become markup."""
        return web_page.written(markdown(self), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The dossier as one HTML page with its JSON embedded, written to `path` if given."""
        return web_page.written(self._html(), path)

    def to_pdf(self, path: str | os.PathLike[str]) -> Path:
        """The dossier as a PDF with its JSON attached (needs WeasyPrint)."""
        try:
            from weasyprint import HTML, Attachment
        except ImportError:
            raise InvalidArgument("a PDF needs WeasyPrint: pip install 'deniable[server]', or use to_html") from None
        attached = Attachment(string=self.to_json(), name="dossier.json", description="the dossier as JSON")
        HTML(string=self._html(), url_fetcher=_no_fetching).write_pdf(str(path), attachments=[attached])
        return Path(path)

    def registry_entry(self) -> dict[str, Any]:
        """The entry for an epsilon registry; a dossier without a decision has no justification and is refused."""
        if self.decided is None:
            raise InvalidArgument("a registry entry says why epsilon was chosen; add .decision(choice.decide(...))")
        facts = self.release.facts
        receipt = self.release.receipt
        known = facts.with_receipt(receipt) if receipt else facts
        entry: dict[str, Any] = {
            "format": REGISTRY_FORMAT,
            "use": known.scope,
            "dataset": known.dataset,
            "unit": known.unit,
            "neighbours": known.neighbours,
            "contribution": known.contribution,
            "epsilon": number_text(known.epsilon),
            "delta": number_text(known.delta),
            "variant": known.measure or "(epsilon, delta)",
            "period": known.period,
            "budget_spent": known.spent,
            "budget_left": known.left,
            "mechanisms": list(known.mechanisms),
            "accuracy": list(known.accuracy),
            "implementation": known.implementation,
            "justification": self.decided.reason,
            "decided_by": self.decided.by,
            "flow": self.flow.to_record() if self.flow else {},
            "receipt": known.receipt,
            "url": known.url,
        }
        problems = registry_problems(entry)
        if problems:
            raise InvalidArgument(f"the registry entry does not fit its schema: {'; '.join(problems)}")
        return entry

    def to_registry(self, path: str | os.PathLike[str] | None = None) -> str:
        """The registry entry as YAML, checked against the schema, written to `path` if given."""
        import yaml

        return web_page.written(yaml.safe_dump(self.registry_entry(), sort_keys=False, allow_unicode=True), path)

    def _extended(self) -> ReleaseTable:
        return self.release.extended_table()

    def _html(self) -> str:
        embedded = json.dumps(self.to_record(), sort_keys=True).replace("<", "\\u003c")
        return web_page.page(
            self.title, *html_parts(self), f'<script type="application/json" id="dossier">{embedded}</script>'
        )

    def __str__(self) -> str:
        state = "nothing blocks publication" if not self.blockers else f"{len(self.blockers)} things block publication"
        return f"{self.title}; {state}"

    __repr__ = __str__


def dossier(release: AnyRelease) -> Dossier:
    """The dossier of a release: add `.checklist(...)`, `.context(...)`, `.decision(...)`; write `.to_html(...)` or `.to_pdf(...)`.

    Guarantee: made of the release and public facts alone; nothing is computed from data.
    """
    if not isinstance(release, Release | ValueRelease):
        raise InvalidArgument(f"a dossier is about a release, got {type(release).__name__}")
    return Dossier(release=release, items=Checklist())


def _no_fetching(url: str, *_: Any, **__: Any) -> Any:
    """A PDF is made of what is in the page: nothing is fetched, from anywhere."""
    raise ValueError(f"a dossier fetches nothing, got {escape(url)}")


__all__ = ["NOT_PROTECTED", "Dossier", "dossier"]


# The same content as sections: Markdown lines and HTML -----------------------------------------------------------------

Rows: TypeAlias = list[tuple[str, ...]]
Section: TypeAlias = tuple[str, list[str], list[str], Rows]
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
