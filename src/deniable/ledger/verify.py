"""Everything that can be checked about a ledger, in one go and without stopping at the first fault."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deniable.accounting import Filters
from deniable.errors import LedgerError, Unaccountable
from deniable.exact import number_of
from deniable.ledger.anchor import Anchor, FolderAnchor, Mark
from deniable.ledger.chain import EventKind
from deniable.ledger.journal import Journal
from deniable.ledger.opening import journal_at
from deniable.ledger.receipt import Receipt
from deniable.ledger.replay import Replay, Snapshot
from deniable.ledger.state import Charge, tally_from_record
from deniable.ledger.store import opened


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found. `unanswered` is no fault: those requests are charged and there is nothing to fetch."""

    place: str
    ledger: str
    count: int
    head: str
    data_version: int
    unanswered: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Nothing is wrong."""
        return not self.problems

    def to_record(self) -> dict[str, Any]:
        """As a JSON-able dictionary."""
        return {
            "place": self.place,
            "ledger": self.ledger,
            "count": self.count,
            "head": self.head,
            "data_version": self.data_version,
            "unanswered": list(self.unanswered),
            "sound": self.sound,
            "problems": list(self.problems),
        }


ABSENT = "there is no ledger here; one is made at the first charge"


def verify(
    ledger: str | os.PathLike[str] | Journal, *, anchor: Anchor | None = None, receipts: Iterable[Receipt] = ()
) -> Verification:
    """Check the storage, the chain, the anchor, every stored answer, every reading, and these receipts.

    `ledger` is its file, its `postgresql://` URL, or a journal.
    """
    journal = journal_at(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    replay = Replay(journal, anchor=FolderAnchor() if anchor is None else anchor)
    problems: list[str] = []
    if not journal.exists:
        resident = replay.anchor.living_at(journal.place)
        problems.append(f"the file of ledger {resident[:12]} is gone" if resident else ABSENT)
        return Verification(journal.place, resident or "", 0, "", 0, (), tuple(problems))
    try:
        journal.check()
    except LedgerError as error:
        problems.append(str(error))
    try:
        with replay.snapshot() as snapshot:
            problems += [
                *_place(snapshot, replay),
                *_answers(snapshot),
                *_readings(snapshot),
                *_receipts(snapshot, receipts),
                *snapshot.state.faults,
                *_grants(snapshot),
            ]
            return _found(snapshot, journal.place, problems)
    except LedgerError as error:
        return Verification(journal.place, "", 0, "", 0, (), (*problems, str(error)))


def _found(snapshot: Snapshot, place: str, problems: list[str]) -> Verification:
    state = snapshot.state
    open_requests = tuple(c.body["request"] for c in state.charges.values() if c.waiting)
    return Verification(
        place, state.ledger, state.count, state.head, state.data_version, open_requests, tuple(dict.fromkeys(problems))
    )


def _place(snapshot: Snapshot, replay: Replay) -> Iterator[str]:
    state = snapshot.state
    resident = replay.anchor.living_at(replay.journal.place)
    if resident not in (None, state.ledger):
        yield f"ledger {resident[:12]} lived here before; this file is another ledger"
    anchored = replay.anchor.last(state.ledger)
    if anchored and not state.holds(anchored):
        seen = number_of(anchored.count, "event")
        yield f"the anchor saw {seen}, this file has {state.count} or others: it is an older copy or a fork"


def _answers(snapshot: Snapshot) -> Iterator[str]:
    charges = snapshot.state.charges
    for number in snapshot.reading.kept() - {count for count, charge in charges.items() if charge.sealed}:
        yield f"an answer is stored for event {number}, but no event says so"
    for charge in charges.values():
        if charge.sealed:
            try:
                opened(snapshot.reading.answer(charge.count), charge.sealed)
            except LedgerError:
                yield f"the stored answer of event {charge.count} was edited or removed"


def _readings(snapshot: Snapshot) -> Iterator[str]:
    """Charges since the terms last changed, read again: none may have been written down too small."""
    caps = {cap.name: cap for cap in snapshot.terms.all_caps}
    for charge in snapshot.state.charges.values():
        for paid in charge.body["charges"] if charge.count > snapshot.state.amended else ():
            cap = caps.get(paid["cap"])
            if cap is None:
                yield f"event {charge.count} charged {paid['cap']!r}, which is no cap of this ledger"
            elif _below(charge, paid, cap.filters, cap.unit or snapshot.terms.unit):
                yield f"event {charge.count} charged {paid['cap']!r} less than this version of deniable reads"


def _below(charge: Charge, paid: dict[str, Any], filters: Filters, unit: str) -> bool:
    """Is one filter's reading too small, or does it stand where this version has none? A filter written off may stay so."""
    try:
        now = filters.read(charge.costs[unit])
        written = tally_from_record(paid)
        pairs = list(zip(written.parts, now.parts, strict=True))
    except (Unaccountable, KeyError, ValueError):
        return True
    held = [(old, new) for old, new in pairs if old is not None]
    return written.leak < now.leak or any(new is None or not new <= old for old, new in held)


def _grants(snapshot: Snapshot) -> Iterator[str]:
    """Charges made since every charge needs a grant: each has one, given by somebody else before it, for its plan and in time."""
    state = snapshot.state
    for charge in state.charges.values() if state.granting_since else ():
        known = state.applications.get(charge.asked)
        if charge.count < state.granting_since:
            continue
        event = None if known is None else known.events.get(EventKind.GRANT)
        if known is None or event is None or event.count > charge.count:
            yield f"event {charge.count} is a charge without a grant"
        elif event.body["plan"] != charge.body["plan"]:
            yield f"event {charge.count} is a charge for another plan than was granted"
        elif not datetime.fromisoformat(charge.body["at"]) < known.expires:
            yield f"event {charge.count} is a charge after its grant had run out"


def _receipts(snapshot: Snapshot, receipts: Iterable[Receipt]) -> Iterator[str]:
    state = snapshot.state
    for receipt in receipts:
        if receipt.ledger != state.ledger:
            yield f"receipt {receipt.id} belongs to another ledger"
        elif not state.holds(Mark(receipt.count, receipt.head)):
            yield f"receipt {receipt.id} names event {receipt.count}, which this file does not have: events were lost"
