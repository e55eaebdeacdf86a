"""The deployment checklist: eleven steps, each item a record with its evidence. What is still open is said, and what
blocks is named.

The steps follow "Hands-On Differential Privacy" (chapter 13); the wording is ours. An item is done when somebody in a
named role says so, on a date, with evidence: a file (kept by its hash), a link or a remark. What the system can show
by itself, it fills in.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from deniable.deciding.yaml_records import yaml_record
from deniable.errors import InvalidArgument
from deniable.release.release_facts import ReleaseFacts

SYSTEM = "system"
"""The role of what the software fills in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Why an item counts as done: who says so in which role, when, and what shows it."""

    role: str
    on: date
    text: str
    file_hash: str = ""
    by: str = ""
    """Who signed it, where it was signed at a server."""
    link: str = ""

    def to_record(self) -> dict[str, str]:
        """As JSON-able text."""
        more = {name: getattr(self, name) for name in ("by", "link", "file_hash") if getattr(self, name)}
        return {"role": self.role, "on": self.on.isoformat(), "text": self.text, **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question of one step. `blocks`: nothing is to be published while it is open."""

    id: str
    step: str
    question: str
    blocks: bool
    evidence: Evidence | None = None
    not_applicable: str = ""

    @property
    def open(self) -> bool:
        """Neither done nor explained away."""
        return self.evidence is None and not self.not_applicable

    @property
    def state(self) -> str:
        """In a word."""
        return "open" if self.open else "not applicable" if self.not_applicable else "done"


def _items(step: str, **questions: tuple[str, bool]) -> tuple[Item, ...]:
    return tuple(Item(id=id, step=step, question=text, blocks=blocks) for id, (text, blocks) in questions.items())


ITEMS: tuple[Item, ...] = (
    *_items(
        "1 Know the data",
        structure=("Are the columns described, with types, bounds and categories, in a codebook?", True),
        frame=("Where rows come from a survey or a sample: which frame were they drawn from?", False),
        public_parts=("Which parts may be public, and which may not?", True),
        similar_public=("Which public data are similar enough to rehearse on or to take bounds from?", False),
    ),
    *_items(
        "2 Other security",
        policies=("Does the release fit the rules for storing, moving and reading private data?", True),
    ),
    *_items(
        "3 Communication",
        stakeholder_plan=("How will each group of stakeholders be told, and by whom?", False),
        experts=("Which experts were or will be asked?", False),
    ),
    *_items(
        "4 Tracking",
        tracking=("Is it written down who has been part of which release, and who has read which?", False),
        tracking_current=("Is that record kept up to date?", False),
    ),
    *_items(
        "5 Audience",
        audience=("Who will read the release, and how will it reach them?", True),
        useful=("Is the release useful to them at the accuracy it has?", True),
        worth_risk=("Is what is gained worth the privacy that is lost?", True),
    ),
    *_items("6 Regulation", regulation=("Which laws and rules apply, and who has checked them?", True)),
    *_items(
        "7 Unit of privacy",
        unit=("Who or what is protected: a person, a household, an event?", True),
        rows_are=("What is one row, and how many can one protected unit have?", True),
    ),
    *_items(
        "8 Privacy risk",
        precedent=("Which guideline or comparable release was looked at?", False),
        epsilon=("Who decided on epsilon and delta, and why?", True),
    ),
    *_items(
        "9 Plan",
        outputs=("Is everything listed that is computed from private values and will be seen?", True),
        ranking=("Which outputs matter most for the audience?", False),
        public_facts=("Which public facts are used: bounds, keys, sizes?", True),
        unprotected=("What is left unprotected, on purpose?", True),
    ),
    *_items(
        "10 Query",
        mechanisms=("Which mechanisms are used?", True),
        library=("Which software, in which version?", True),
        leaks=("Was the query checked for ways around the privacy loss: errors, keys, timing, order?", True),
        budget=("What is the whole budget, and how much is spent?", True),
        rehearsed=("Was it tried on public or made-up data first?", False),
        accuracy=("How large are the errors, and are they acceptable?", True),
    ),
    *_items(
        "11 Release",
        released=("Was it charged, drawn once and stored?", True),
        recorded=("Is it in the record of releases?", True),
    ),
)
"""Every item, in order."""


@dataclass(frozen=True, slots=True)
class Checklist:
    """The items with what is known about each."""

    items: tuple[Item, ...] = ITEMS

    @property
    def open(self) -> tuple[Item, ...]:
        """What is not yet done."""
        return tuple(item for item in self.items if item.open)

    @property
    def blocking(self) -> tuple[Item, ...]:
        """What must be done before anything is published."""
        return tuple(item for item in self.open if item.blocks)

    def __getitem__(self, id: str) -> Item:
        for item in self.items:
            if item.id == id:
                return item
        raise InvalidArgument(f"the checklist has no item {id!r}; it has {', '.join(item.id for item in self.items)}")

    def done(self, id: str, *, role: str, text: str, on: date | None = None, file: Path | None = None) -> Checklist:
        """This checklist with one item done, on evidence: a remark or link, and a file that is kept by its hash."""
        if not (role.strip() and text.strip()):
            raise InvalidArgument(f"item {id} needs the role of who says so and a text, got {role!r} and {text!r}")
        hashed = "" if file is None else _hash_of(file)
        return self._with(
            replace(self[id], evidence=Evidence(role=role, on=on or date.today(), text=text, file_hash=hashed))
        )

    def signed(self, signatures: Iterable[Mapping[str, Any]]) -> Checklist:
        """This checklist with what was signed at a server, as the ledger keeps it: of one item the last signature counts."""
        last = {str(each["item"]): each for each in signatures}
        return Checklist(tuple(_signed(item, last[item.id]) if item.id in last else item for item in self.items))

    def without(self, id: str, *, reason: str) -> Checklist:
        """This checklist with one item declared not applicable, with the reason."""
        if not reason.strip():
            raise InvalidArgument(f"item {id} needs the reason why it does not apply, got {reason!r}")
        return self._with(replace(self[id], not_applicable=reason))

    def filled(self, facts: ReleaseFacts, *, receipt: str, on: date | None = None, decided: str = "") -> Checklist:
        """This checklist with what the release itself shows; what a person has answered is left alone."""
        said = {
            "unit": facts.unit,
            "rows_are": facts.contribution,
            "outputs": facts.scope,
            "public_facts": "; ".join(text for text in (facts.bounds, facts.keys) if text),
            "mechanisms": "; ".join(facts.mechanisms),
            "library": facts.implementation,
            "leaks": "keys, order, types, errors and prices come from the codebook and the plan alone"
            if receipt
            else "",
            "budget": "; ".join(
                text for text in (facts.spent and f"spent {facts.spent}", facts.left and f"left {facts.left}") if text
            ),
            "accuracy": "; ".join(facts.accuracy),
            "released": receipt,
            "recorded": facts.head and f"ledger head {facts.head}",
            "epsilon": decided,
        }
        found = self
        for id, text in said.items():
            if text and found[id].open:
                found = found.done(id, role=SYSTEM, text=text, on=on)
        return found

    def _with(self, changed: Item) -> Checklist:
        return Checklist(tuple(changed if item.id == changed.id else item for item in self.items))

    def to_record(self) -> list[dict[str, Any]]:
        """As JSON-able records, in order."""
        return [
            {"id": item.id, "step": item.step, "question": item.question, "state": item.state, "blocks": item.blocks}
            | ({"evidence": item.evidence.to_record()} if item.evidence else {})
            | ({"not_applicable": item.not_applicable} if item.not_applicable else {})
            for item in self.items
        ]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checklist:
        """The checklist a YAML file fills in: `items: {unit: {role: curator, date: 2026-03-01, text: ..., file: ...}}`."""
        record = yaml_record(path, "checklist")
        items = record.get("items", {})
        if not isinstance(items, Mapping) or set(record) - {"items", "format"}:
            raise InvalidArgument(f"a checklist file has `items:` by id and nothing else, got {sorted(record)}")
        found = cls()
        for id, said in items.items():
            found = found._read(str(id), said, Path(path).parent)
        return found

    def _read(self, id: str, said: object, folder: Path) -> Checklist:
        if not isinstance(said, Mapping):
            raise InvalidArgument(f"item {id} is written as role, date, text and file, or not_applicable; got {said!r}")
        if "not_applicable" in said:
            return self.without(id, reason=str(said["not_applicable"]))
        unknown = set(said) - {"role", "date", "text", "file"}
        if unknown or not {"role", "date", "text"} <= set(said) or not isinstance(said["date"], date):
            raise InvalidArgument(
                f"item {id} needs role, date and text, and may have file; got {', '.join(map(str, said))}"
            )
        file = folder / str(said["file"]) if "file" in said else None
        return self.done(id, role=str(said["role"]), text=str(said["text"]), on=said["date"], file=file)


def _signed(item: Item, said: Mapping[str, Any]) -> Item:
    text, signed = str(said["text"]), date.fromisoformat(str(said["at"])[:10])
    if not said["applies"]:
        return replace(item, evidence=None, not_applicable=f"{text} ({said['by']}, {said['role']}, {signed})")
    shown = {name: str(said.get(name, "")) for name in ("by", "link", "file_hash")}
    return replace(item, evidence=Evidence(role=str(said["role"]), on=signed, text=text, **shown), not_applicable="")


def _hash_of(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        raise InvalidArgument(f"the evidence {str(file)!r} cannot be read; give a file that is there") from None
