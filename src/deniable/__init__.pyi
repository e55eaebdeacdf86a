"""Made by `python -m docs.stub` from the table in `__init__.py`."""

from deniable import accounting as accounting
from deniable import cost as costs
from deniable.accounting import Bracket as Bracket
from deniable.accounting import Budget as Budget
from deniable.accounting import budget as budget
from deniable.accounting import calibrate as calibrate
from deniable.accounting import delta as delta
from deniable.accounting import epsilon as epsilon
from deniable.accounting import explain as explain
from deniable.accounting import profile as profile
from deniable.accounting import tradeoff as tradeoff
from deniable.errors import BudgetExceeded as BudgetExceeded
from deniable.errors import DeniableError as DeniableError
from deniable.errors import EngineFailed as EngineFailed
from deniable.errors import InvalidArgument as InvalidArgument
from deniable.errors import LedgerError as LedgerError
from deniable.errors import QueryRefused as QueryRefused
from deniable.errors import Retired as Retired
from deniable.errors import SpaceMismatch as SpaceMismatch
from deniable.errors import Unaccountable as Unaccountable
from deniable.errors import Unanswered as Unanswered
from deniable.release import ledger as ledger
from deniable.release.facts import ReleaseFacts as ReleaseFacts
from deniable.release.receipt import Receipt as Receipt
from deniable.release.release_table import extended_release_table as extended_release_table
from deniable.release.release_table import release_table as release_table
from deniable.version import __version__ as __version__

__all__ = [
    "Bracket",
    "Budget",
    "BudgetExceeded",
    "DeniableError",
    "EngineFailed",
    "InvalidArgument",
    "LedgerError",
    "QueryRefused",
    "Receipt",
    "ReleaseFacts",
    "Retired",
    "SpaceMismatch",
    "Unaccountable",
    "Unanswered",
    "__version__",
    "accounting",
    "budget",
    "calibrate",
    "costs",
    "delta",
    "epsilon",
    "explain",
    "extended_release_table",
    "ledger",
    "profile",
    "release_table",
    "tradeoff",
]
