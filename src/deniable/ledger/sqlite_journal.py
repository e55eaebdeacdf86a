"""The journal in one SQLite file.

Choices and reasons. Rollback journal with `synchronous=EXTRA`, not WAL: a committed charge must survive a power cut (in this
mode only EXTRA also syncs the folder after the commit), the ledger stays one file that can be moved, and a few
milliseconds do not matter beside a query. One connection per operation, one operation at a time per process, none open
while the process forks: SQLite's locks do not survive a fork. Triggers refuse every UPDATE, DELETE and out-of-order INSERT.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger.chain import FORMAT, ROOT, Event, canonical, checked
from deniable.ledger.journal import ONE_AT_A_TIME
from deniable.ledger.store import Answer

_APPLICATION = 0x44504C44
_PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

_SCHEMA = (
    """CREATE TABLE events (count INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, previous TEXT NOT NULL,
 head TEXT NOT NULL)""",
    "CREATE TABLE answers (reservation INTEGER PRIMARY KEY, payload BLOB NOT NULL, salt BLOB NOT NULL)",
    *(
        f"CREATE TRIGGER {table}_{action.lower()} BEFORE {action} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
        for table in ("events", "answers")
        for action in ("UPDATE", "DELETE")
    ),
    # REPLACE removes rows without firing delete triggers, so an insert is let through only where nothing is yet.
    f"""CREATE TRIGGER events_insert BEFORE INSERT ON events
 WHEN NEW.count IS NOT (SELECT COALESCE(MAX(count), 0) + 1 FROM events)
 OR NEW.previous IS NOT COALESCE((SELECT head FROM events ORDER BY count DESC LIMIT 1), '{ROOT}')
 BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER answers_insert BEFORE INSERT ON answers
 WHEN EXISTS (SELECT 1 FROM answers WHERE reservation = NEW.reservation)
 BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
)


class SqliteJournal:
    """A ledger's file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        if not text or "\0" in text:
            raise InvalidArgument(f"a ledger lives in a file, got the path {text!r}")
        self._path = Path(text).expanduser().absolute()

    @property
    def place(self) -> str:
        """The file's path with symbolic links resolved."""
        return str(self._path.resolve())

    @property
    def exists(self) -> bool:
        """Is there a file that is not empty?"""
        return self._path.is_file() and self._path.stat().st_size > 0

    def create(self) -> None:
        """Make the file, readable by its owner alone, and its tables."""
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise LedgerError(f"cannot make a ledger at {self._path}: {error.strerror}; choose another place") from None
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                for statement in _SCHEMA:
                    connection.execute(statement)
            connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[_SqliteTables]:
        """A consistent look."""
        with self._connected() as connection:
            connection.execute("BEGIN")
            yield _SqliteTables(connection)
            connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[_SqliteTables]:
        """Alone with the file; committed and synced on leaving, undone on an error (closing rolls back)."""
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield _SqliteTables(connection)
            connection.execute("COMMIT")

    def check(self) -> None:
        """Is it our file, in our format, with all its triggers, and sound as a database?"""
        with self._connected() as connection:
            self._check_identity(connection)
            tables = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
            if sorted(tables) != sorted(_SCHEMA):
                raise LedgerError(
                    f"the tables or triggers of {self._path} were changed; restore the file from a backup"
                )
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise LedgerError(f"the ledger file {self._path} is damaged; restore it from a backup")

    def _check_identity(self, connection: sqlite3.Connection) -> None:
        ((application,),) = connection.execute("PRAGMA application_id")
        ((version,),) = connection.execute("PRAGMA user_version")
        if application != _APPLICATION:
            raise LedgerError(
                f"{self._path} is a database but not a ledger; give the path of a ledger or of a new file"
            )
        if version != FORMAT:
            raise LedgerError(
                f"{self._path} has ledger format {version}, this version reads {FORMAT}; upgrade deniable"
            )

    def backup(self, target: str) -> None:
        """Copy through SQLite's own backup, so that a write under way is either wholly in it or not at all."""
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise LedgerError(f"cannot write the backup {target}: {error.strerror}; choose a new file name") from None
        with self._connected() as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with ONE_AT_A_TIME:
            try:
                mode = "rw" if os.access(self._path, os.W_OK) else "ro"
                uri = f"{self._path.as_uri()}?mode={mode}"
                with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)) as connection:
                    connection.execute("PRAGMA synchronous = EXTRA")
                    connection.execute("PRAGMA fullfsync = ON")
                    connection.execute("PRAGMA recursive_triggers = ON")
                    yield connection
            except sqlite3.Error as error:
                raise self._explained(error) from None

    def _explained(self, error: sqlite3.Error) -> LedgerError:
        if not self._path.exists():
            return LedgerError(f"the ledger file {self._path} is gone; restore it from a backup")
        if "locked" in str(error):
            return LedgerError(
                f"the ledger {self._path} was busy for {_PATIENCE:.0f} seconds; nothing was spent, try again"
            )
        return LedgerError(f"the ledger file {self._path} cannot be used ({error}); check the disk or restore a backup")


class _SqliteTables:
    """The tables, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def events(self, *, after: Event | None) -> Iterator[Event]:
        """The events after this one; refused if this one is no longer what it was."""
        if after and self._at(after.count) != after.head:
            raise LedgerError("the ledger's file was replaced by an older or another one; restore the latest one")
        rows = self._connection.execute(
            "SELECT count, kind, body, previous, head FROM events WHERE count > ? ORDER BY count",
            (after.count if after else 0,),
        )
        for count, kind, body, previous, head in rows:
            after = checked(count=count, kind=kind, body=body, previous=previous, head=head, after=after)
            yield after

    def _at(self, count: int) -> str | None:
        row = self._connection.execute("SELECT head FROM events WHERE count = ?", (count,)).fetchone()
        return row[0] if row else None

    def answer(self, reservation: int) -> Answer | None:
        """The stored answer, if there is one."""
        row = self._connection.execute(
            "SELECT payload, salt FROM answers WHERE reservation = ?", (reservation,)
        ).fetchone()
        return Answer(bytes(row[0]), bytes(row[1])) if row else None

    def kept(self) -> frozenset[int]:
        """The reservations that have an answer."""
        return frozenset(number for (number,) in self._connection.execute("SELECT reservation FROM answers"))

    def append(self, event: Event) -> None:
        """Add the next event."""
        self._connection.execute(
            "INSERT INTO events (count, kind, body, previous, head) VALUES (?, ?, ?, ?, ?)",
            (event.count, event.kind.value, canonical(event.body), event.previous, event.head),
        )

    def keep(self, reservation: int, answer: Answer) -> None:
        """Add an answer."""
        self._connection.execute(
            "INSERT INTO answers (reservation, payload, salt) VALUES (?, ?, ?)",
            (reservation, answer.payload, answer.salt),
        )
