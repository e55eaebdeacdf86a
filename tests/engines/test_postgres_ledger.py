"""The ledger's PostgreSQL schema: append-only even for its owner, every change found, credentials nowhere.

The threats every ledger must withstand run on it too, in `tests/attacks/test_ledger_threats.py`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from deniable.accounting import budget
from deniable.cost import Bounded
from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger import Ledger, Terms, fingerprint, journal_at, verify
from deniable.ledger.anchor import Unanchored
from deniable.ledger.chain import EventKind
from tests.needs import require_module
from tests.servers import PASSWORD, POSTGRES, Postgres

pytestmark = POSTGRES
TENTH = Bounded(epsilon=0.1)
GUARDS = ("events_change", "events_truncate", "answers_change", "answers_truncate", "events_insert")


def terms(dataset: str = "visits") -> Terms:
    return Terms(dataset=dataset, unit="patient", budget=budget(epsilon=1), codebook=fingerprint("columns: {}"))


@pytest.fixture(autouse=True)
def _state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def schema(postgres: Postgres) -> str:
    return postgres.fresh("ledger")


@pytest.fixture
def url(postgres: Postgres, schema: str) -> str:
    return postgres.url(ledger=schema)


@pytest.fixture
def used(url: str) -> Ledger:
    ledger = Ledger.open(url, terms=terms())
    ledger.answer(TENTH, lambda: b"forty-two", request="r1", plan="count(*)")
    ledger.reserve(TENTH, request="r2")
    return ledger


def without_guards(postgres: Postgres, schema: str, *statements: str) -> None:
    """What someone does who rules the server: switch the guards off, edit, switch them on again."""
    tables = {name: name.partition("_")[0] for name in GUARDS}
    postgres.sql(
        *(f"ALTER TABLE {schema}.{table} DISABLE TRIGGER {name}" for name, table in tables.items()),
        *statements,
        *(f"ALTER TABLE {schema}.{table} ENABLE ALWAYS TRIGGER {name}" for name, table in tables.items()),
    )


@pytest.mark.parametrize("replica", [False, True], ids=["plain", "as a replica"])
def test_not_even_the_ruler_of_the_server_changes_anything_while_the_guards_stand(
    postgres: Postgres, schema: str, used: Ledger, replica: bool
):
    before = list(used.export())
    copy = f"INSERT INTO {schema}.events SELECT"
    for statement in (
        f"UPDATE {schema}.events SET body = '{{}}' WHERE count = 2",
        f"DELETE FROM {schema}.events WHERE count = 5",
        f"DELETE FROM {schema}.answers",
        f"UPDATE {schema}.answers SET payload = '\\x00'",
        f"TRUNCATE {schema}.events",
        f"TRUNCATE {schema}.answers",
        f"{copy} count, kind, body, previous, head FROM {schema}.events WHERE count = 5",
        f"{copy} count + 1, kind, body, previous, head FROM {schema}.events WHERE count = 5",
        f"{copy} count + 1, kind, body, head, head FROM {schema}.events WHERE count = 5",
        f"{copy} count + 2, kind, body, head, head FROM {schema}.events WHERE count = 5",
        f"INSERT INTO {schema}.answers SELECT * FROM {schema}.answers",
        f"INSERT INTO {schema}.answers SELECT * FROM {schema}.answers ON CONFLICT (reservation) DO UPDATE SET salt = ''",
    ):
        with pytest.raises(require_module("psycopg").IntegrityError):
            postgres.sql(f"SET session_replication_role = {'replica' if replica else 'origin'}", statement)
    assert list(used.export()) == before
    assert used.fetch("r1").payload == b"forty-two"


def test_the_owner_has_no_right_to_change_and_others_have_none_at_all(postgres: Postgres, schema: str, used: Ledger):
    denied = require_module("psycopg").errors.InsufficientPrivilege
    for statement in (f"UPDATE {schema}.events SET body = ''", f"TRUNCATE {schema}.answers"):
        with pytest.raises(denied):
            postgres.sql(statement, user="curator")
    with pytest.raises(denied):
        postgres.sql(f"SELECT * FROM {schema}.events", user="reader")
    del used


def test_another_role_asks_with_the_rights_to_read_and_to_append(postgres: Postgres, schema: str, used: Ledger):
    postgres.sql(
        f"GRANT USAGE ON SCHEMA {schema} TO reader", f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO reader"
    )
    theirs = Ledger.open(postgres.url("reader", ledger=schema), terms=terms())
    assert theirs.answer(TENTH, lambda: b"43", request="r3").payload == b"43"
    assert used.fetch("r3").payload == b"43"
    assert used.spent.loss * 10 == 3


@pytest.mark.parametrize(
    "edit",
    [
        'UPDATE {0}.events SET body = replace(body, \'"loss":"1/10"\', \'"loss":"1/99"\') WHERE count = 2',
        "UPDATE {0}.events SET kind = 'note' WHERE count = 5",
        "UPDATE {0}.events SET head = previous WHERE count = 3",
        "DELETE FROM {0}.events WHERE count = 2",
        "UPDATE {0}.events SET count = 9 WHERE count = 5",
    ],
)
def test_an_edited_event_is_found(postgres: Postgres, schema: str, url: str, used: Ledger, edit: str):
    without_guards(postgres, schema, edit.format(schema))
    with pytest.raises(LedgerError, match="was edited, removed or moved"):
        Ledger.open(url, terms=terms())
    assert "was edited, removed or moved" in " ".join(verify(journal_at(url)).problems)
    del used


def test_a_removed_tail_is_found_by_the_anchor(postgres: Postgres, schema: str, url: str, used: Ledger):
    without_guards(postgres, schema, f"DELETE FROM {schema}.events WHERE count = 5")
    for attempt in (lambda: used.charge(TENTH), lambda: Ledger.open(url, terms=terms())):
        with pytest.raises(LedgerError, match="5 with another head were seen"):
            attempt()
    assert verify(journal_at(url), anchor=Unanchored()).sound, "the chain alone cannot know: that is why anchors exist"


@pytest.mark.parametrize("edit", ["UPDATE {0}.answers SET payload = '\\x3433'", "DELETE FROM {0}.answers"])
def test_an_edited_answer_is_never_served(postgres: Postgres, schema: str, url: str, used: Ledger, edit: str):
    without_guards(postgres, schema, edit.format(schema))
    with pytest.raises(LedgerError, match="a stored answer was edited or removed"):
        used.fetch("r1")
    assert verify(journal_at(url)).problems == ("the stored answer of event 2 was edited or removed",)


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER events_change ON {0}.events",
        "ALTER TABLE {0}.events ENABLE TRIGGER events_change",
        "ALTER TABLE {0}.events ENABLE ROW LEVEL SECURITY",
        "CREATE RULE hide AS ON INSERT TO {0}.answers DO ALSO NOTHING",
        "CREATE OR REPLACE FUNCTION {0}.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
        "CREATE TABLE {0}.more () INHERITS ({0}.events)",
        "ALTER TABLE {0}.events ALTER body DROP NOT NULL",
        "CREATE TRIGGER refund AFTER INSERT ON {0}.events FOR EACH ROW EXECUTE FUNCTION {0}.refuse()",
    ],
)
def test_changed_guards_are_noticed(postgres: Postgres, schema: str, url: str, used: Ledger, change: str):
    postgres.sql(change.format(schema))
    with pytest.raises(LedgerError, match=r"tables or triggers .* were changed"):
        Ledger.open(url, terms=terms())
    assert not verify(journal_at(url)).sound
    del used


def test_a_dropped_ledger_is_not_made_again(postgres: Postgres, schema: str, url: str, used: Ledger):
    postgres.sql(f"DROP SCHEMA {schema} CASCADE")
    with pytest.raises(LedgerError, match="cannot be used: something is missing"):
        used.charge(TENTH)
    with pytest.raises(LedgerError, match=r"lived at .* and is no longer there"):
        Ledger.open(url, terms=terms())
    assert postgres.sql(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'") == []


def test_another_schema_is_not_touched(postgres: Postgres, schema: str, url: str):
    postgres.sql(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.events (x int)")
    with pytest.raises(LedgerError, match="is a schema but not a ledger"):
        Ledger.open(url, terms=terms())
    postgres.sql(
        f"COMMENT ON SCHEMA {schema} IS 'deniable ledger, format 2'", f"GRANT ALL ON SCHEMA {schema} TO curator"
    )
    with pytest.raises(LedgerError, match="has ledger format 2, this version reads 1; upgrade deniable"):
        Ledger.open(url, terms=terms())


def test_a_server_that_does_not_flush_is_refused(postgres: Postgres, url: str, used: Ledger):
    try:
        postgres.sql("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)")
        with pytest.raises(LedgerError, match="fsync off: a charge would not survive a crash"):
            Ledger.open(url, terms=terms())
    finally:
        postgres.sql("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)")
    assert Ledger.open(url, terms=terms()).mark == used.mark


def test_every_write_is_flushed_and_serialised(used: Ledger):
    with used._replay.journal.writing() as rows:
        query = "SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation')"
        assert rows._connection.execute(query).fetchone() == ("on", "read committed")


def test_a_backup_is_a_ledger_file(used: Ledger, tmp_path: Path):
    used.backup(tmp_path / "copy.ledger")
    copy = Ledger.existing(tmp_path / "copy.ledger")
    assert (copy.mark, copy.spent, copy.fetch("r1").payload) == (used.mark, used.spent, b"forty-two")
    with pytest.raises(LedgerError, match="choose a new file name"):
        used.backup(tmp_path / "copy.ledger")


def test_credentials_are_nowhere(postgres: Postgres, schema: str, url: str, used: Ledger, tmp_path: Path):
    used.backup(tmp_path / "copy.ledger")
    shown = [repr(used), repr(used._replay.journal), str(used.terms), *used.export(), verify(journal_at(url)).place]
    for wrong in (
        url.replace(PASSWORD, f"{PASSWORD}-not"),
        url.replace("/shop", f"/{PASSWORD}-shop"),
        url.replace(str(postgres.port), "1"),
        f"postgresql://curator:{PASSWORD}@127.0.0.1:{postgres.port}/shop?{PASSWORD}=1",
        f"postgresql://cur%ator:{PASSWORD}@[::1/shop",
    ):
        with pytest.raises((LedgerError, InvalidArgument)) as refusal:
            Ledger.open(wrong, terms=terms())
        if "-shop" not in wrong:  # where a database is may be shown
            shown.append(str(refusal.value))
    shown += [file.read_bytes().decode(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    shown += [file.name for file in tmp_path.rglob("*")]
    assert not [text for text in shown if PASSWORD in text or "curator" in text]


@pytest.mark.parametrize("name", ["Big", "a-b", "pg_mine", "1a", 'x"', ""])
def test_a_ledger_has_a_plain_name(postgres: Postgres, name: str):
    with pytest.raises(InvalidArgument, match="small letters, digits and _"):
        journal_at(postgres.url(ledger=name))


def test_two_ledgers_in_one_database_are_two_budgets(postgres: Postgres, used: Ledger):
    other = Ledger.open(postgres.url(ledger=postgres.fresh("ledger")), terms=terms("other"))
    other.charge(Bounded(epsilon=1))
    assert used.spent.loss * 10 == 2


# the connection that is kept between operations


def backend(ledger: Ledger) -> int | None:
    """The server's number of the kept connection, if one is open."""
    connection = ledger._replay.journal._kept._connection
    return None if connection is None else int(connection.info.backend_pid)


def backends(postgres: Postgres) -> set[int]:
    """Connections of ledgers that the server has now."""
    return {
        pid for (pid,) in postgres.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'deniable ledger'")
    }


def test_one_connection_serves_all_threads_and_a_fork_finds_none_open(postgres: Postgres, url: str, used: Ledger):
    kept = backend(used)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: used.charge(Bounded(epsilon=0.01)), range(8)))
    assert backend(used) == kept is not None
    child = os.fork()
    if child == 0:  # neither has what the other could write into
        code = 1
        with suppress(BaseException):
            code = int(backend(used) is not None)
            used.charge(Bounded(epsilon=0.01))
            code += int(backend(used) in (None, kept))
        os._exit(code)
    after_fork = backend(used)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert after_fork is None
    assert used.spent.loss * 100 == 29
    assert kept not in backends(postgres)
    assert verify(url).sound


def test_a_connection_that_the_server_ended_is_replaced(postgres: Postgres, used: Ledger):
    """As a restart of the server does."""
    kept = backend(used)
    postgres.sql(f"SELECT pg_terminate_backend({kept}, 5000)")
    used.charge(TENTH)
    assert used.spent.loss * 10 == 3
    assert backend(used) != kept


def test_an_error_in_the_middle_leaves_nothing_committed_and_no_connection(postgres: Postgres, used: Ledger):
    before, kept = used.mark, backend(used)

    def half(then: Callable[[], object]) -> None:
        with used._replay.transaction() as transaction:
            transaction.append(EventKind.NOTE, {"text": "half"})
            then()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half(interrupt)
    assert backend(used) is None
    assert used.mark == before
    with pytest.raises(LedgerError, match="cannot be used"):
        half(lambda: postgres.sql(f"SELECT pg_terminate_backend({backend(used)}, 5000)"))
    assert used.mark == before
    assert backend(used) not in (None, kept)
    used.charge(TENTH)
    assert used.mark.count == before.count + 1


def test_a_ledger_that_is_let_go_closes_its_connection(postgres: Postgres, url: str):
    ledger = Ledger.open(url, terms=terms())
    kept = backend(ledger)
    assert kept in backends(postgres)
    del ledger
    gc.collect()
    deadline = monotonic() + 10
    while kept in backends(postgres) and monotonic() < deadline:
        sleep(0.01)
    assert kept not in backends(postgres)
