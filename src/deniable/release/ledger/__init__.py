"""The durable ledger: one budget that threads, notebooks and processes share, and that nothing can shrink back."""

from deniable.release.anchor import Anchor, FolderAnchor, Mark, Unanchored
from deniable.release.ledger.caps import Balance, Cap, Each, Period
from deniable.release.ledger.event import FORMAT, Event, Kind
from deniable.release.ledger.journal import Journal, Reading, Writing
from deniable.release.ledger.ledger import Ledger
from deniable.release.ledger.places import journal_at
from deniable.release.ledger.request import Released, Reservation
from deniable.release.ledger.sqlite import SqliteJournal
from deniable.release.ledger.state import Charge
from deniable.release.ledger.terms import Terms, fingerprint
from deniable.release.ledger.verify import Verification, verify

__all__ = [
    "FORMAT",
    "Anchor",
    "Balance",
    "Cap",
    "Charge",
    "Each",
    "Event",
    "FolderAnchor",
    "Journal",
    "Kind",
    "Ledger",
    "Mark",
    "Period",
    "Reading",
    "Released",
    "Reservation",
    "SqliteJournal",
    "Terms",
    "Unanchored",
    "Verification",
    "Writing",
    "fingerprint",
    "journal_at",
    "verify",
]
