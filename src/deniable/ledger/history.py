"""What was asked of a ledger so far, in order: when, by whom, in which words and at what price."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deniable.exact import loss_text
from deniable.ledger.ledger import Ledger
from deniable.ledger.state import Charge, tally_from_record


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One charge. `price` is what the data-wide budget was charged, rounded up; `answer` says whether one can be fetched."""

    at: str
    account: str
    request: str
    question: str
    price: str
    data_version: int
    answer: str

    def __str__(self) -> str:
        return (
            f"{self.at}  {self.account}  {self.price}  {self.question or 'not stated'}  ({self.answer}, {self.request})"
        )


@dataclass(frozen=True, slots=True)
class History:
    """Every charge, the oldest first."""

    entries: tuple[HistoryEntry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[HistoryEntry]:
        return iter(self.entries)

    def __getitem__(self, place: int) -> HistoryEntry:
        return self.entries[place]

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries)) or "nothing was charged yet"


def history(ledger: Ledger) -> History:
    """What this ledger tells of its past; nothing is read but the chain of events."""
    return History(tuple(_entry(ledger, charge) for charge in ledger.charges()))


def _entry(ledger: Ledger, charge: Charge) -> HistoryEntry:
    body, filters = charge.body, ledger.terms.main.filters
    tally = (
        filters.read(charge.costs[ledger.terms.unit])
        if _restated(ledger, charge)
        else tally_from_record(body["charges"][0])
    )
    paid = filters.stated(tally) or filters.used(tally)
    price = loss_text(filters.unit, paid.loss, paid.delta)
    answer = "stored" if charge.sealed else "not stored here" if body["answer"] == "elsewhere" else "no answer"
    return HistoryEntry(
        body["at"], body["account"], body["request"], body.get("question", ""), price, body["data_version"], answer
    )


def _restated(ledger: Ledger, charge: Charge) -> bool:
    return charge.count < ledger.amended
