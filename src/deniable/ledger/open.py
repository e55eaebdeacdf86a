"""Where a ledger lives: a file for one machine, a PostgreSQL database for many."""

from __future__ import annotations

import os

from deniable.engines.places import is_postgres, is_url
from deniable.errors import InvalidArgument
from deniable.ledger.journal import Journal
from deniable.ledger.sqlite import SqliteJournal


def journal_at(place: str | os.PathLike[str]) -> Journal:
    """The journal at a path, or in the database of a `postgresql://` URL (its schema: `?ledger=name`)."""
    if isinstance(place, str) and is_postgres(place):
        from deniable.ledger.postgres import PostgresJournal

        return PostgresJournal(place)
    if is_url(place):
        raise InvalidArgument(
            "this URL names no ledger; write postgresql://user@host/database?ledger=name, or a file's name"
        )
    return SqliteJournal(place)
