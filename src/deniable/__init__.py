"""deniable: differential privacy, sound to the last bit.

`import deniable as dp` is the whole public interface, and it is quick: nothing is loaded before it is used, no engine,
no SQL compiler and no command line come along. Every public name stands once in the table, with the place it lives.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deniable.version import __version__

_PUBLIC = {
    # costs: what an answer cost, as records
    "costs": "deniable.cost",
    # accounting: reading costs, budgets, calibration
    "accounting": "deniable.accounting",
    "Bracket": "deniable.accounting:Bracket",
    "Budget": "deniable.accounting:Budget",
    "budget": "deniable.accounting:budget",
    "calibrate": "deniable.accounting:calibrate",
    "delta": "deniable.accounting:delta",
    "epsilon": "deniable.accounting:epsilon",
    "explain": "deniable.accounting:explain",
    "profile": "deniable.accounting:profile",
    "tradeoff": "deniable.accounting:tradeoff",
    # ledger: the durable budget, its terms, caps and anchors; receipts and release tables
    "ledger": "deniable.release.ledger",
    "Receipt": "deniable.release.receipt:Receipt",
    "ReleaseFacts": "deniable.release.facts:ReleaseFacts",
    "extended_release_table": "deniable.release.release_table:extended_release_table",
    "release_table": "deniable.release.release_table:release_table",
    # errors
    "DeniableError": "deniable.errors:DeniableError",
    "InvalidArgument": "deniable.errors:InvalidArgument",
    "SpaceMismatch": "deniable.errors:SpaceMismatch",
    "Unaccountable": "deniable.errors:Unaccountable",
    "BudgetExceeded": "deniable.errors:BudgetExceeded",
    "QueryRefused": "deniable.errors:QueryRefused",
    "Retired": "deniable.errors:Retired",
    "LedgerError": "deniable.errors:LedgerError",
    "Unanswered": "deniable.errors:Unanswered",
    "EngineFailed": "deniable.errors:EngineFailed",
}
"""Public name -> "module:attribute", or "module" for a module under another name."""

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"deniable has no public name {name!r}; dir(deniable) lists them")
    module, _, attribute = _PUBLIC[name].partition(":")
    value = import_module(module)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
