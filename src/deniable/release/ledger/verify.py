"""Everything that can be checked about a ledger, in one go and without stopping at the first fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from deniable.errors import LedgerError, Unaccountable
from deniable.release.anchor import Anchor, FolderAnchor, Mark
from deniable.release.ledger.book import Book, Look
from deniable.release.ledger.journal import Journal
from deniable.release.ledger.state import Charge, spend_from_record
from deniable.release.receipt import Receipt
from deniable.release.store import opened


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


def verify(journal: Journal, *, anchor: Anchor | None = None, receipts: Iterable[Receipt] = ()) -> Verification:
    """Check the storage, the chain, the anchor, every stored answer, every reading, and these receipts."""
    book = Book(journal, anchor=FolderAnchor() if anchor is None else anchor)
    problems: list[str] = []
    if not journal.exists:
        resident = book.anchor.living_at(journal.place)
        problems.append(f"the file of ledger {resident[:12]} is gone" if resident else "there is no ledger here")
        return Verification(journal.place, resident or "", 0, "", 0, (), tuple(problems))
    try:
        journal.check()
    except LedgerError as error:
        problems.append(str(error))
    try:
        with book.looking() as look:
            problems += [*_place(look, book), *_answers(look), *_readings(look), *_receipts(look, receipts)]
            return _found(look, journal.place, problems)
    except LedgerError as error:
        return Verification(journal.place, "", 0, "", 0, (), (*problems, str(error)))


def _found(look: Look, place: str, problems: list[str]) -> Verification:
    state = look.state
    open_requests = tuple(c.body["request"] for c in state.charges.values() if c.waiting)
    return Verification(
        place, state.ledger, state.count, state.head, state.data_version, open_requests, tuple(dict.fromkeys(problems))
    )


def _place(look: Look, book: Book) -> Iterator[str]:
    state = look.state
    resident = book.anchor.living_at(book.journal.place)
    if resident not in (None, state.ledger):
        yield f"ledger {resident[:12]} lived here before; this file is another ledger"
    anchored = book.anchor.last(state.ledger)
    if anchored and not state.holds(anchored):
        yield f"the anchor saw {anchored.count} events, this file has {state.count} or others: it is an older copy or a fork"


def _answers(look: Look) -> Iterator[str]:
    charges = look.state.charges
    for number in look.reading.kept() - {count for count, charge in charges.items() if charge.sealed}:
        yield f"an answer is stored for event {number}, but no event says so"
    for charge in charges.values():
        if charge.sealed:
            try:
                opened(look.reading.answer(charge.count), charge.sealed)
            except LedgerError:
                yield f"the stored answer of event {charge.count} was edited or removed"


def _readings(look: Look) -> Iterator[str]:
    """Charges since the terms last changed, read again: none may have been written down too small."""
    caps = {cap.name: cap for cap in look.terms.all_caps}
    for charge in look.state.charges.values():
        for paid in charge.body["charges"] if charge.count > look.state.amended else ():
            cap = caps.get(paid["cap"])
            if cap is None:
                yield f"event {charge.count} charged {paid['cap']!r}, which is no cap of this ledger"
            elif _below(charge, paid, cap.filter, cap.unit or look.terms.unit):
                yield f"event {charge.count} charged {paid['cap']!r} less than this version of deniable reads"


def _below(charge: Charge, paid: dict[str, str], rule: Any, unit: str) -> bool:
    try:
        now = rule.read(charge.costs[unit])
    except (Unaccountable, KeyError):
        return True
    written = spend_from_record(paid)
    return bool(written.loss < now.loss or written.delta < now.delta)


def _receipts(look: Look, receipts: Iterable[Receipt]) -> Iterator[str]:
    state = look.state
    for receipt in receipts:
        if receipt.ledger != state.ledger:
            yield f"receipt {receipt.id} belongs to another ledger"
        elif not state.holds(Mark(receipt.count, receipt.head)):
            yield f"receipt {receipt.id} names event {receipt.count}, which this file does not have: events were lost"
