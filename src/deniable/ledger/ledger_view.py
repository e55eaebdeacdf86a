"""What can be seen of a ledger: its terms, balances, charges and events. Nothing here spends anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager

from deniable.accounting import Spend
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.ledger.anchor import Mark
from deniable.ledger.caps import Balance
from deniable.ledger.chain import canonical
from deniable.ledger.desk import Desk
from deniable.ledger.opening import OpenedLedger
from deniable.ledger.receipt import Receipt
from deniable.ledger.request import (
    costs_by_unit,
)
from deniable.ledger.state import Charge, touching
from deniable.ledger.terms import Terms

ANALYST = "analyst"
"""The account of a session that names none."""


class LedgerView(OpenedLedger):
    """The readable side of a ledger."""

    __slots__ = ()

    @property
    def desk(self) -> Desk:
        """Where requests are made, granted, refused, expired and published."""
        return Desk(self._replay)

    @property
    def terms(self) -> Terms:
        """What this ledger counts, as last seen; after an amendment elsewhere `reserve` asks to open it again."""
        return self._replay.terms if self._planned is None else self._planned

    @property
    def id(self) -> str:
        """What tells this ledger from every other."""
        return self._replay.ledger

    @property
    def mark(self) -> Mark:
        """How far the chain has come: the count and hash of its last event."""
        with self._snapshot() as snapshot:
            return Mark(snapshot.state.count, snapshot.state.head)

    def held(self) -> AbstractContextManager[None]:
        """Whatever this thread reads of a ledger inside is one state, read once; nothing can be written inside."""
        return self._replay.held()

    @property
    def data_version(self) -> int:
        """The public label of the data now: a counter the curator raises."""
        with self._snapshot() as snapshot:
            return snapshot.state.data_version

    @property
    def amended(self) -> int:
        """The number of the event that last changed the terms, or zero."""
        with self._snapshot() as snapshot:
            return snapshot.state.amended

    @property
    def stale(self) -> bool:
        """Have the terms or the data changed since this was opened? Then it charges nothing: open it again."""
        with self._snapshot() as snapshot:
            return (snapshot.state.amended, snapshot.state.data_version) != (self._amended, self._version)

    @property
    def spent(self) -> Spend:
        """What was spent of the data-wide budget over its lifetime, exactly."""
        return self.balances()[0].lifetime

    @property
    def left(self) -> Spend:
        """What the data-wide budget has left (in this period, if it has one), exactly."""
        return self.balances()[0].left

    def balances(self, *, account: str = ANALYST) -> tuple[Balance, ...]:
        """Where every cap stands that a charge by this analyst falls under; the data-wide one first."""
        with self._snapshot() as snapshot:
            caps = (cap for cap in snapshot.terms.all_caps if cap.covers(account))
            return tuple(snapshot.state.balance(cap, account, snapshot.moment) for cap in caps)

    def fits(self, cost: Cost | Mapping[str, Cost], *, account: str = ANALYST) -> bool:
        """Would a new charge of this cost be accepted now? Nothing is spent by asking."""
        terms = self.terms
        costs = costs_by_unit(cost, terms)
        return all(
            each.cap.filters.fits(each.tally + each.cap.filters.read(costs[each.cap.unit or terms.unit]))
            for each in self.balances(account=account)
        )

    def charges(self) -> tuple[Charge, ...]:
        """Every charge in order: what was asked, by whom, at what cost, and whether its answer is stored."""
        with self._snapshot() as snapshot:
            return tuple(snapshot.state.charges.values())

    def touching(
        self, *, tables: Iterable[str] | None = None, versions: Iterable[int] | None = None
    ) -> tuple[Charge, ...]:
        """The charges whose answers a unit could have been in, from public facts alone: nobody looks at the data.

        `tables` are those that could hold rows of the unit, `versions` the versions of the data it could have been part of;
        without them any. A charge that named no tables may have read all of them, and conditions of a query exclude nobody.
        """
        return touching(self.charges(), tables=tables, versions=versions)

    def unanswered(self) -> tuple[Charge, ...]:
        """Charges whose answer was to be stored and never was: spent, with nothing to fetch."""
        return tuple(charge for charge in self.charges() if charge.waiting)

    def confirms(self, receipt: Receipt) -> bool:
        """Is this receipt part of the chain? If it is not, events were lost or it belongs to another ledger."""
        with self._snapshot() as snapshot:
            return receipt.ledger == snapshot.state.ledger and snapshot.state.holds(Mark(receipt.count, receipt.head))

    def export(self) -> Iterator[str]:
        """Every event as one line of JSON, answers not included."""
        with self._snapshot() as snapshot:
            lines = [canonical(event.to_record()) for event in snapshot.reading.events(after=None)]
        return iter(lines)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """A consistent copy of the whole ledger, answers included, in a new file."""
        if self._planned is not None and not self._replay.journal.exists:
            raise InvalidArgument("nothing was charged yet, so there is no ledger to copy")
        self._replay.journal.backup(os.fspath(target))
