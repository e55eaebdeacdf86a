"""The durable ledger: one budget that threads, notebooks and processes share, and that nothing can shrink back."""

from deniable.ledger.anchor import Anchor, FolderAnchor, Mark, Unanchored
from deniable.ledger.applications import Application, Progress
from deniable.ledger.caps import Balance, Cap, Each, Period
from deniable.ledger.chain import FORMAT, Event, Kind
from deniable.ledger.desk import Desk
from deniable.ledger.history import History, HistoryEntry, history
from deniable.ledger.journal import Journal, Reading, Writing
from deniable.ledger.ledger import Ledger
from deniable.ledger.open import journal_at
from deniable.ledger.request import Released, Reservation
from deniable.ledger.sqlite import SqliteJournal
from deniable.ledger.state import Charge
from deniable.ledger.terms import Terms, fingerprint
from deniable.ledger.verify import Verification, verify

__all__ = [
    "FORMAT",
    "Anchor",
    "Application",
    "Balance",
    "Cap",
    "Charge",
    "Desk",
    "Each",
    "Event",
    "FolderAnchor",
    "History",
    "HistoryEntry",
    "Journal",
    "Kind",
    "Ledger",
    "Mark",
    "Period",
    "Progress",
    "Reading",
    "Released",
    "Reservation",
    "SqliteJournal",
    "Terms",
    "Unanchored",
    "Verification",
    "Writing",
    "fingerprint",
    "history",
    "journal_at",
    "verify",
]
