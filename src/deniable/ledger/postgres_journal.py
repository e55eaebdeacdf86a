"""The journal in a PostgreSQL schema, for many analysts on many machines.

Choices and reasons. One connection for each journal, used by one operation at a time, let go after any error, and none open
while the process forks. A writer takes an advisory lock
before it looks, so each sees all that was committed before; `synchronous_commit` is on, and a server that does not flush
to disk (`fsync` off) is refused. Triggers that no setting switches off refuse every change, removal and insert out of order,
and recompute each event's hash, and even the owner gives up the rights to update or delete. Another schema, other
triggers or row filters are found by `check`. Neither the ledger nor an error holds who logs in.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from deniable.engines.postgres_server import PostgresServer, failure, psycopg_module
from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger.chain import FORMAT, ROOT, Event, canonical, checked
from deniable.ledger.journal import LET_GO, ONE_AT_A_TIME
from deniable.ledger.sqlite_journal import SqliteJournal
from deniable.ledger.store import Answer

_MARK = f"deniable ledger, format {FORMAT}"
_LOCK = 0x44504C44
SETTINGS = {
    "synchronous_commit": "on",
    "default_transaction_isolation": "read\\ committed",
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "lock_timeout": "60s",
    "statement_timeout": "120s",
    "idle_in_transaction_session_timeout": "120s",
}

WEB_KINDS = ("request", "grant", "refusal", "publication", "reading", "proposal", "signature")
"""Kinds of events that a web process may append where it has a role of its own; see `web_role`."""
_EARLIER_KINDS = (WEB_KINDS[:-1], WEB_KINDS[:-2])
"""What a web role that was bound by earlier versions may append; `deniable serve check` binds it again."""

_REFUSE = "BEGIN RAISE EXCEPTION 'a ledger is append-only' USING ERRCODE = 'integrity_constraint_violation'; END"
_NEXT = f"""DECLARE last_count bigint; last_head text;
BEGIN
  EXECUTE format('SELECT count, head FROM %I.events ORDER BY count DESC LIMIT 1', TG_TABLE_SCHEMA)
    INTO last_count, last_head;
  IF NEW.count IS DISTINCT FROM coalesce(last_count, 0) + 1
    OR NEW.previous IS DISTINCT FROM coalesce(last_head, '{ROOT}')
    OR NEW.head IS DISTINCT FROM encode(sha256(convert_to('[{FORMAT},' || NEW.count || ',"' || NEW.kind || '","'
      || NEW.previous || '"]' || NEW.body, 'UTF8')), 'hex') THEN
    RAISE EXCEPTION 'a ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END"""
_FUNCTIONS = {"refuse": _REFUSE, "next_event": _NEXT}

_COLUMNS = {
    "events": {"count": "bigint", "kind": "text", "body": "text", "previous": "text", "head": "text"},
    "answers": {"reservation": "bigint", "payload": "bytea", "salt": "bytea"},
}
_ROW, _BEFORE, _INSERT, _DELETE, _UPDATE, _TRUNCATE = 1, 2, 4, 8, 16, 32
"""Bits of `pg_trigger.tgtype`."""
_TRIGGERS = {
    (table, f"{table}_{name}"): (kind, "refuse")
    for table in _COLUMNS
    for name, kind in (("change", _ROW | _BEFORE | _DELETE | _UPDATE), ("truncate", _BEFORE | _TRUNCATE))
} | {("events", "events_insert"): (_ROW | _BEFORE | _INSERT, "next_event")}


class _Kept:
    """The open connection of a journal, if there is one; whoever uses it holds `ONE_AT_A_TIME`."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        self._connection: Any = None

    def answering(self, library: Any) -> Any:
        """The connection, if it still answers: the server may have ended it meanwhile."""
        if self._connection is not None:
            try:
                self._connection.execute("SELECT")
            except library.Error:
                self.close()
        return self._connection

    def opened(self, server: PostgresServer) -> Any:
        """A new connection, kept for the next operation."""
        self._connection = self._closing.enter_context(
            server.connected(application="deniable ledger", settings=SETTINGS)
        )
        return self._connection

    def close(self) -> None:
        """Let go of it; what was begun on it is undone."""
        self._connection = None
        self._closing.close()


_ALL_KEPT: weakref.WeakSet[_Kept] = weakref.WeakSet()


def _close_all() -> None:
    for kept in list(_ALL_KEPT):
        kept.close()


LET_GO.append(_close_all)


class PostgresJournal:
    """A ledger's schema: `postgresql://…/database?ledger=name`; the name is `deniable` if none is given."""

    def __init__(self, url: str) -> None:
        self._server = PostgresServer(url, own=("ledger",))
        self._schema = self._server.own.get("ledger", "deniable")
        self._kept = _Kept()
        _ALL_KEPT.add(self._kept)
        weakref.finalize(self, self._kept.close)
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", self._schema) or self._schema.startswith("pg_"):
            raise InvalidArgument(
                f"ledger= in the URL names a schema: small letters, digits and _, got {self._schema!r}"
            )

    @property
    def place(self) -> str:
        """Server, database and ledger, without credentials."""
        return f"{self._server.place}?ledger={self._schema}"

    @property
    def exists(self) -> bool:
        """Is the schema there?"""
        with self._connected() as connection:
            found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self._schema,))
            return found.fetchone() is not None

    def create(self) -> None:
        """Make the schema, its tables and its guards, all at once."""
        with self._connected() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self._schema,))
            if found.fetchone() is None:
                for statement in self._definition():
                    connection.execute(statement)

    def _definition(self) -> Iterator[str]:
        schema = self._schema
        yield f"CREATE SCHEMA {schema}"
        yield f"COMMENT ON SCHEMA {schema} IS '{_MARK}'"
        for table, columns in _COLUMNS.items():
            written = ", ".join(f"{name} {kind} NOT NULL" for name, kind in columns.items())
            yield f"CREATE TABLE {schema}.{table} ({written}, PRIMARY KEY ({next(iter(columns))}))"
        for name, body in _FUNCTIONS.items():
            yield (
                f"CREATE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog "
                f"AS $body${body}$body$"
            )
        for (table, name), (kind, function) in _TRIGGERS.items():
            words = {_INSERT: "INSERT", _DELETE: "DELETE", _UPDATE: "UPDATE", _TRUNCATE: "TRUNCATE"}
            events = " OR ".join(word for bit, word in words.items() if kind & bit)
            level = "ROW" if kind & _ROW else "STATEMENT"
            yield (
                f"CREATE TRIGGER {name} BEFORE {events} ON {schema}.{table} FOR EACH {level} "
                f"EXECUTE FUNCTION {schema}.{function}()"
            )
            yield f"ALTER TABLE {schema}.{table} ENABLE ALWAYS TRIGGER {name}"
        for table in _COLUMNS:
            yield f"REVOKE UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON {schema}.{table} FROM CURRENT_USER"

    @contextmanager
    def reading(self) -> Iterator[_PostgresTables]:
        """A consistent look."""
        with self._connected() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PostgresTables(connection, self._schema)
            connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[_PostgresTables]:
        """Alone with the ledger; committed and flushed on leaving, undone on an error (closing rolls back)."""
        with self._connected() as connection:
            connection.execute("BEGIN")
            # Read committed: what follows sees everything that was committed before we had the lock.
            connection.execute(
                "SELECT pg_advisory_xact_lock((%s::bigint << 32) | %s::regclass::oid::bigint)",
                (_LOCK, f"{self._schema}.events"),
            )
            yield _PostgresTables(connection, self._schema)
            connection.execute("COMMIT")

    def check(self) -> None:
        """Is it our schema, in our format, with all its guards and no others, on a server that flushes to disk?"""
        with self._connected() as connection:
            self._check_identity(connection)
            known = [_expected_guards(), *(_expected_guards(kinds) for kinds in (WEB_KINDS, *_EARLIER_KINDS))]
            if _found_guards(connection, self._schema) not in known:
                raise LedgerError(f"the tables or triggers of {self.place} were changed; restore it from a backup")
            ((flushing,),) = connection.execute("SHOW fsync").fetchall()
            if flushing != "on":
                raise LedgerError(f"the server of {self.place} runs with fsync off: a charge would not survive a crash")

    def _check_identity(self, connection: Any) -> None:
        query = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"
        row = connection.execute(query, (self._schema,)).fetchone()
        comment = str(row[0] if row else "")
        if comment == _MARK:
            return
        if comment.startswith("deniable ledger, format "):
            version = comment.rpartition(" ")[2]
            raise LedgerError(
                f"{self.place} has ledger format {version}, this version reads {FORMAT}; upgrade deniable"
            )
        raise LedgerError(f"{self.place} is a schema but not a ledger; give the name of a ledger or a new name")

    def backup(self, target: str) -> None:
        """A consistent copy in a new SQLite ledger file, which every command reads just as well."""
        with self.reading() as rows:
            events = list(rows.events(after=None))
            answers = {number: rows.answer(number) for number in sorted(rows.kept())}
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise LedgerError(f"cannot write the backup {target}: {error.strerror}; choose a new file name") from None
        copy = SqliteJournal(Path(target))
        copy.create()
        with copy.writing() as written:
            for event in events:
                written.append(event)
            for number, answer in answers.items():
                if answer is not None:
                    written.keep(number, answer)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        library = psycopg_module()
        with ONE_AT_A_TIME:
            try:
                yield self._kept.answering(library) or self._kept.opened(self._server)
            except library.Error as error:
                self._kept.close()
                raise LedgerError(f"the ledger {self.place} cannot be used: {failure(error)}") from None
            except BaseException:
                self._kept.close()  # what was begun is undone
                raise

    def __repr__(self) -> str:
        return f"PostgresJournal({self.place!r})"


class _PostgresTables:
    """The tables, inside one transaction."""

    def __init__(self, connection: Any, schema: str) -> None:
        self._connection, self._schema = connection, schema

    def events(self, *, after: Event | None) -> Iterator[Event]:
        """The events after this one; refused if this one is no longer what it was."""
        if after and self._at(after.count) != after.head:
            raise LedgerError("the ledger was replaced by an older or another one; restore the latest one")
        query = f"SELECT count, kind, body, previous, head FROM {self._schema}.events WHERE count > %s ORDER BY count"
        for count, kind, body, previous, head in self._connection.execute(query, (after.count if after else 0,)):
            after = checked(count=count, kind=kind, body=body, previous=previous, head=head, after=after)
            yield after

    def _at(self, count: int) -> str | None:
        query = f"SELECT head FROM {self._schema}.events WHERE count = %s"
        row = self._connection.execute(query, (count,)).fetchone()
        return row[0] if row else None

    def answer(self, reservation: int) -> Answer | None:
        """The stored answer, if there is one."""
        query = f"SELECT payload, salt FROM {self._schema}.answers WHERE reservation = %s"
        row = self._connection.execute(query, (reservation,)).fetchone()
        return Answer(bytes(row[0]), bytes(row[1])) if row else None

    def kept(self) -> frozenset[int]:
        """The reservations that have an answer."""
        rows = self._connection.execute(f"SELECT reservation FROM {self._schema}.answers")
        return frozenset(number for (number,) in rows)

    def append(self, event: Event) -> None:
        """Add the next event."""
        self._connection.execute(
            f"INSERT INTO {self._schema}.events (count, kind, body, previous, head) VALUES (%s, %s, %s, %s, %s)",
            (event.count, event.kind.value, canonical(event.body), event.previous, event.head),
        )

    def keep(self, reservation: int, answer: Answer) -> None:
        """Add an answer."""
        self._connection.execute(
            f"INSERT INTO {self._schema}.answers (reservation, payload, salt) VALUES (%s, %s, %s)",
            (reservation, answer.payload, answer.salt),
        )


def _expected_guards(web_kinds: tuple[str, ...] = ()) -> set[tuple[Any, ...]]:
    """What a ledger has, and nothing else; with a web role also the three policies that bind it and nobody else."""
    expected: set[tuple[Any, ...]] = {("function", name, body) for name, body in _FUNCTIONS.items()}
    expected |= {("trigger", table, name, kind, "A", f, True) for (table, name), (kind, f) in _TRIGGERS.items()}
    for table, columns in _COLUMNS.items():
        expected.add(("table", table, "r", bool(web_kinds) and table == "events", False, False, False))
        expected.add(("index", table, next(iter(columns)), True, True))
        expected |= {("column", table, name, kind, True, False) for name, kind in columns.items()}
    kinds = ", ".join(f"'{kind}'::text" for kind in web_kinds)
    policies = {
        ("policy", "events", "ledger_read", "r", True, "true", None, True),
        ("policy", "events", "ledger_append", "a", True, None, "true", True),
        ("policy", "events", "ledger_web", "a", False, None, f"(kind = ANY (ARRAY[{kinds}]))", False),
    }
    return expected | policies if web_kinds else expected


_GUARDS = {
    "function": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace",
    # A condition, a list of columns or arguments would let some statements pass.
    "trigger": """SELECT c.relname, t.tgname, t.tgtype, t.tgenabled, p.proname,
 t.tgqual IS NULL AND t.tgnargs = 0 AND t.tgattr::text = '' FROM pg_trigger t
 JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
 WHERE c.relnamespace = %(schema)s::regnamespace""",
    # A rule, a row filter, a partition or a child table could show other rows than were written.
    "table": """SELECT relname, relkind, relrowsecurity, relforcerowsecurity, relhasrules, relhassubclass FROM pg_class
 WHERE relnamespace = %(schema)s::regnamespace AND relkind <> 'i'""",
    "policy": """SELECT c.relname, p.polname, p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid),
 pg_get_expr(p.polwithcheck, p.polrelid), p.polroles = ARRAY[0::oid] FROM pg_policy p
 JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = %(schema)s::regnamespace""",
    "index": """SELECT c.relname, a.attname, i.indisprimary, i.indisvalid FROM pg_index i
 JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
 WHERE c.relnamespace = %(schema)s::regnamespace""",
    "column": """SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attisdropped
 FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
 WHERE c.relnamespace = %(schema)s::regnamespace AND c.relkind = 'r' AND a.attnum > 0""",
}


def _found_guards(connection: Any, schema: str) -> set[tuple[Any, ...]]:
    return {
        (kind, *(part.decode() if isinstance(part, bytes) else part for part in row))
        for kind, query in _GUARDS.items()
        for row in connection.execute(query, {"schema": schema})
    }
