"""The durable ledger: one budget that threads, notebooks and processes share, and that nothing can shrink back."""

from deniable.lazy import named_module
from deniable.ledger.anchor import Anchor, FolderAnchor, Mark, Unanchored
from deniable.ledger.applications import Application, Progress
from deniable.ledger.caps import Balance, Cap, Each, Period
from deniable.ledger.chain import FORMAT, Event, EventKind
from deniable.ledger.desk import Desk
from deniable.ledger.history import History, HistoryEntry, history
from deniable.ledger.journal import Journal, Reading, Writing
from deniable.ledger.ledger import Ledger
from deniable.ledger.opening import journal_at
from deniable.ledger.proposals import ProposedCodebook
from deniable.ledger.request import Reservation, StoredAnswer
from deniable.ledger.sqlite_journal import SqliteJournal
from deniable.ledger.state import Charge
from deniable.ledger.terms import Terms, fingerprint
from deniable.ledger.verify import Verification, verify

named_module(__name__)

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
    "EventKind",
    "FolderAnchor",
    "History",
    "HistoryEntry",
    "Journal",
    "Ledger",
    "Mark",
    "Period",
    "Progress",
    "ProposedCodebook",
    "Reading",
    "Reservation",
    "SqliteJournal",
    "StoredAnswer",
    "Terms",
    "Unanchored",
    "Verification",
    "Writing",
    "fingerprint",
    "history",
    "journal_at",
    "verify",
]
