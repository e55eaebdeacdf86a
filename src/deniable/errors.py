"""Every error deniable raises. One line each: what is wrong with its value, what was expected, what to do next.

Parameters may raise; data may not. No message here ever carries a private value or an engine's own text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "BudgetExceeded",
    "DeniableError",
    "EngineFailed",
    "InvalidArgument",
    "LedgerError",
    "NoSuchName",
    "QueryRefused",
    "Retired",
    "SpaceMismatch",
    "Span",
    "Unaccountable",
    "Unanswered",
]


class DeniableError(Exception):
    """The root of the tree: catch this to catch everything deniable raises on purpose."""


class InvalidArgument(DeniableError, ValueError):
    """A parameter has a value we cannot accept; the message shows it."""


class NoSuchName(DeniableError, AttributeError):
    """An attribute that is not there; the message says what it is called here."""


class SpaceMismatch(DeniableError, TypeError):
    """Two pieces do not meet: the output space of one is not the input space of the next."""


class Unaccountable(DeniableError, TypeError):
    """No theorem we know reads this cost under this measure; the message names one that does."""


class BudgetExceeded(DeniableError):
    """The filter refused: asked, spent and left are exact, and nothing was spent by asking."""

    def __init__(self, message: str, *, asked: Any = None, spent: Any = None, left: Any = None) -> None:
        super().__init__(message)
        self.asked, self.spent, self.left = asked, spent, left


@dataclass(frozen=True, slots=True)
class Span:
    """Where in the query text: 1-based line and column, and the offending text."""

    line: int
    column: int
    text: str = ""


class QueryRefused(DeniableError, ValueError):
    """A query we will not answer: a stable code, where, why, and what to write instead."""

    def __init__(self, code: str, reason: str, *, span: Span | None = None, rewrite: str = "") -> None:
        where = f" at line {span.line}, column {span.column}" if span else ""
        hint = f"; {rewrite}" if rewrite else ""
        super().__init__(f"{code}{where}: {reason}{hint}")
        self.code, self.reason, self.span, self.rewrite = code, reason, span, rewrite


class Retired(DeniableError):
    """An interactive object that has said all it may say."""


class NotGranted(DeniableError):
    """A step that needs another one first: a charge without a live grant, a grant to oneself, an event out of order."""


class LedgerError(DeniableError):
    """The ledger's file is damaged, older than its anchor, or opened with terms it was not made for."""


class Unanswered(DeniableError):
    """A request that was charged but whose answer was never stored: the charge stands and it cannot run again."""


class EngineFailed(DeniableError):
    """The engine failed. The text is constant: an engine's own words may quote cells."""

    def __init__(self) -> None:
        super().__init__(
            "the engine could not finish this query; it stays charged, ask the curator to look at the engine"
        )
