"""What the chain of events adds up to. The state is a function of the chain alone: nothing is kept that cannot be replayed.

Sums are exact rationals of the readings written down when each charge was made, so a later version of the library that
reads a cost more tightly gives nothing back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from deniable.accounting import Spend, Tally
from deniable.cost import Cost
from deniable.errors import LedgerError
from deniable.ledger.anchor import Mark
from deniable.ledger.applications import Application, transition_fault
from deniable.ledger.caps import Balance, Cap, Slot
from deniable.ledger.chain import FORMAT, ROOT, Event, EventKind
from deniable.ledger.costs_json import cost_from_record
from deniable.ledger.numbers import number_from_text, number_text
from deniable.ledger.proposals import ProposedCodebook, proposal_fault
from deniable.ledger.terms import Terms

Asked = tuple[str, str]
"""Who asked, and under which request id: ids of one analyst mean nothing to another."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One reservation as the chain tells it: what was asked, what it cost, and how far it got."""

    count: int
    body: Mapping[str, Any]
    costs: Mapping[str, Cost]
    sealed: str = ""
    """The keyed hash of the stored answer, or nothing while there is none."""
    releases: Mapping[Asked, Event] = field(default_factory=dict)

    @property
    def asked(self) -> Asked:
        """Who asked, and under which request id."""
        return self.body["account"], self.body["request"]

    def costs_the_same(self, costs: Mapping[str, Cost]) -> bool:
        """Is this the cost of the same thing, in every unit asked for?"""
        return all(self.costs.get(unit) == cost for unit, cost in costs.items())

    @property
    def readers(self) -> tuple[str, ...]:
        """Who has been given its answer, in the order they were."""
        return tuple(dict.fromkeys(account for account, _ in self.releases))

    @property
    def waiting(self) -> bool:
        """Charged, its answer to be stored here, and not stored: still running, or lost."""
        return not self.sealed and self.body["answer"] == "stored"


def touching(
    charges: Iterable[Charge], *, tables: Iterable[str] | None, versions: Iterable[int] | None
) -> tuple[Charge, ...]:
    """The charges that may have read one of these tables in one of these versions; what was not written down may have been."""
    among = None if tables is None else set(tables)
    dated = None if versions is None else set(versions)
    return tuple(
        charge
        for charge in charges
        if (dated is None or charge.body["data_version"] in dated)
        and (among is None or not charge.body.get("tables") or among & set(charge.body["tables"]))
    )


@dataclass(slots=True)
class State:
    """A replayed ledger."""

    ledger: str = ""
    terms: Terms | None = None
    last: Event | None = None
    moment: str = ""
    data_version: int = 0
    amended: int = 0
    """The event that last changed the terms, if any did."""
    charges: dict[int, Charge] = field(default_factory=dict)
    by_request: dict[Asked, int] = field(default_factory=dict)
    by_plan: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    shared: dict[tuple[str, int], str] = field(default_factory=dict)
    """Which analyst paid, under a cap of their own, for which answer first paid by another, and when."""
    sums: dict[Slot, Tally] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    applications: dict[Asked, Application] = field(default_factory=dict)
    """Requests at the desk, by who asked under which id."""
    proposals: dict[int, ProposedCodebook] = field(default_factory=dict)
    """Proposed codebooks, by the event that proposed them."""
    granting_since: int = 0
    """The event since which every charge needs a grant; 0 while none does."""
    faults: list[str] = field(default_factory=list)
    """Events of requests that do not follow from what was before them."""

    @property
    def count(self) -> int:
        """How many events there are."""
        return self.last.count if self.last else 0

    @property
    def head(self) -> str:
        """The hash of the last event."""
        return self.last.head if self.last else ROOT

    def holds(self, mark: Mark) -> bool:
        """Is this point on the chain?"""
        return 0 < mark.count <= self.count and self.heads[mark.count - 1] == mark.head

    def apply(self, event: Event) -> None:
        """Take one more event into account."""
        body = event.body
        match event.kind:
            case EventKind.OPEN:
                self._open(body)
            case EventKind.RESERVE:
                self._reserve(event)
            case EventKind.STORE:
                self._store(body)
            case EventKind.RELEASE:
                self._release(event)
            case EventKind.AMEND:
                self._amend(body)
                self.amended = event.count
                if "proposal" in body:
                    self._answered(event)
            case EventKind.NEW_VERSION:
                self.data_version = body["data_version"]
            case EventKind.NOTE:
                pass
            case EventKind.PROPOSAL:
                self.proposals[event.count] = ProposedCodebook(event.count, body)
            case EventKind.REJECTION:
                self._answered(event)
            case (
                EventKind.REQUEST
                | EventKind.GRANT
                | EventKind.REFUSAL
                | EventKind.EXPIRY
                | EventKind.PUBLICATION
                | EventKind.READING
                | EventKind.SIGNATURE
            ):
                self._application(event)
        self.granting_since = (self.granting_since or event.count) if self.terms and self.terms.grants else 0
        self.last, self.moment = event, body.get("at", self.moment)
        self.heads.append(event.head)

    def _open(self, body: Mapping[str, Any]) -> None:
        if body["format"] != FORMAT:
            raise LedgerError(
                f"this ledger has format {body['format']!r}, this version reads {FORMAT}; upgrade deniable"
            )
        self.ledger, self.data_version = body["ledger"], 1
        self.terms = Terms.from_record(body["terms"])

    def _reserve(self, event: Event) -> None:
        body = event.body
        for charge in body["charges"]:
            self._add(Slot(charge["cap"], charge["account"], charge["period"]), tally_from_record(charge))
        origin = body["of"]
        self.by_request[body["account"], body["request"]] = origin or event.count
        asked = (body["account"], body["request"])
        self._paid(asked, origin or event.count, stored=bool(origin and self.charges[origin].sealed))
        if origin:
            self.shared[body["account"], origin] = body["at"]
            return
        costs = {unit: cost_from_record(record) for unit, record in body["costs"].items()}
        self.charges[event.count] = Charge(event.count, body, costs)

    def _application(self, event: Event) -> None:
        asked = event.body["account"], event.body["request"]
        known = self.applications.get(asked)
        fault = transition_fault(known, event)
        if fault is not None:
            self.faults.append(fault)
        elif event.kind is EventKind.REQUEST:
            self.applications[asked] = Application(*asked, event.count, event.body, {})
        elif known is not None and event.kind is EventKind.READING:
            self.applications[asked] = replace(known, readers=(*known.readers, event.body["by"]))
        elif known is not None and event.kind is EventKind.SIGNATURE:
            self.applications[asked] = replace(known, signatures=(*known.signatures, event))
        elif known is not None:
            self.applications[asked] = replace(known, events={**known.events, event.kind: event})

    def _answered(self, event: Event) -> None:
        """Note at a proposal that it was taken up or rejected."""
        found = self.proposals.get(event.body["proposal"])
        fault = proposal_fault(found, event)
        if fault is not None:
            self.faults.append(fault)
        elif found is not None:
            self.proposals[found.count] = replace(found, answer=event)

    def _paid(self, asked: Asked, number: int, *, stored: bool) -> None:
        """Note at the request, if there is one, that it was charged, and whether its answer is stored."""
        if asked in self.applications:
            self.applications[asked] = replace(self.applications[asked], charge=number, stored=stored)

    def _add(self, slot: Slot, tally: Tally) -> None:
        for each in {slot, slot.lifetime}:
            before = self.sums.get(each)
            self.sums[each] = tally if before is None else before + tally

    def _store(self, body: Mapping[str, Any]) -> None:
        charge = self.charges[body["reservation"]]
        self.charges[charge.count] = replace(charge, sealed=body["seal"])
        self._paid(charge.asked, charge.count, stored=True)
        if charge.body["plan"]:
            key = charge.body["plan"], charge.body["data_version"]
            self.by_plan.setdefault(key, []).append(charge.count)

    def _release(self, event: Event) -> None:
        asked = event.body["account"], event.body["request"]
        charge = self.charges[event.body["reservation"]]
        self.charges[charge.count] = replace(charge, releases={**charge.releases, asked: event})
        self.by_request[asked] = charge.count
        self._paid(asked, charge.count, stored=True)

    def _amend(self, body: Mapping[str, Any]) -> None:
        self.terms = Terms.from_record(body["terms"])
        for count, unit, record in body["restated"]:
            charge = self.charges[count]
            self.charges[count] = replace(charge, costs={**charge.costs, unit: cost_from_record(record)})
        self.sums = {
            Slot(balance["cap"], balance["account"], balance["period"]): tally_from_record(balance)
            for balance in body["balances"]
        }

    def spent(self, slot: Slot, cap: Cap) -> Tally:
        """One running sum."""
        return self.sums.get(slot) or cap.filters.nothing

    def balance(self, cap: Cap, account: str, moment: datetime) -> Balance:
        """Where a cap stands for this analyst at this moment."""
        slot = cap.slot(account, moment)
        return Balance(cap, slot.account, slot.period, self.spent(slot, cap), self.spent(slot.lifetime, cap))

    def stored(self, plan: str, version: int, costs: Mapping[str, Cost]) -> Charge | None:
        """An answer to the same plan at the same cost on the same data, if one is stored."""
        answers = (self.charges[count] for count in self.by_plan.get((plan, version), ()))
        return next((charge for charge in answers if charge.costs_the_same(costs)), None)


def tally_record(tally: Tally) -> dict[str, Any]:
    """What each filter counts, exactly; one rule alone is written as its spend."""
    if len(tally.parts) == 1 and tally.parts[0] is not None:
        return spend_record(tally.parts[0])
    parts = [None if spend is None else spend_record(spend) for spend in tally.parts]
    return {"leak": number_text(tally.leak), "parts": parts}


def tally_from_record(record: Mapping[str, Any]) -> Tally:
    """The tally `tally_record` wrote."""
    if "parts" not in record:
        spend = spend_from_record(record)
        return Tally((spend,), spend.delta)
    parts = (None if part is None else spend_from_record(part) for part in record["parts"])
    return Tally(tuple(parts), number_from_text(record["leak"]))


def spend_record(spend: Spend) -> dict[str, str]:
    """A spend as JSON-able exact numbers."""
    return {"loss": number_text(spend.loss), "delta": number_text(spend.delta)}


def spend_from_record(record: Mapping[str, Any]) -> Spend:
    """The spend `spend_record` wrote."""
    return Spend(number_from_text(record["loss"]), number_from_text(record["delta"]))
