"""The ledger's file: durable settings, append-only even for SQL, recognised, and every kind of damage found."""

from __future__ import annotations

import json
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from deniable.cost import Bounded
from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger import EventKind, Ledger, SqliteJournal, verify
from deniable.ledger.anchor import Unanchored
from deniable.ledger.chain import canonical, checked, linked

TENTH = Bounded(epsilon=0.1)
TRIGGERS = ("events_update", "events_delete", "events_insert", "answers_update", "answers_delete", "answers_insert")


def sql(path: Path, *statements: str) -> None:
    """Change the file behind the ledger's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def without_triggers(path: Path, *statements: str) -> None:
    """What someone does who may write the file and knows SQLite: drop the guards, edit, put the guards back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        guards = [text for (text,) in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
        for statement in (*(f"DROP TRIGGER {name}" for name in TRIGGERS), *statements, *guards):
            connection.execute(statement)


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    ledger.answer(TENTH, lambda: b"forty-two", request="r1", plan="count(*)")
    ledger.reserve(TENTH, request="r2")
    return ledger


def test_every_commit_is_synced_and_there_is_one_file(path: Path, used: Ledger):
    settings = {}
    with used._replay.journal.writing() as rows:
        for name in ("synchronous", "journal_mode", "fullfsync", "recursive_triggers"):
            ((settings[name],),) = rows._connection.execute(f"PRAGMA {name}")
    assert settings == {"synchronous": 3, "journal_mode": "delete", "fullfsync": 1, "recursive_triggers": 1}
    assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == ["visits.ledger"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_the_owner_reads_the_file(path: Path, used: Ledger, tmp_path: Path):
    used.backup(tmp_path / "copy.ledger")
    for file in (path, tmp_path / "copy.ledger"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events",
        "DELETE FROM events WHERE count = 5",
        "DELETE FROM answers",
        "UPDATE events SET body = '{}' WHERE count = 2",
        "UPDATE answers SET payload = x'00'",
        "INSERT OR REPLACE INTO events SELECT * FROM events WHERE count = 2",
        "REPLACE INTO events SELECT count, 'note', body, previous, head FROM events WHERE count = 5",
        "INSERT INTO events SELECT count + 1, kind, body, previous, head FROM events WHERE count = 5",
        "INSERT INTO events SELECT count + 9, kind, body, head, head FROM events WHERE count = 5",
        "REPLACE INTO answers SELECT reservation, x'00', salt FROM answers",
        "INSERT INTO events (kind, body, previous, head) VALUES ('note', '{}', 'x', 'y')",
    ],
)
def test_sql_cannot_change_or_remove_anything(path: Path, used: Ledger, statement: str):
    before = list(used.export())
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        sql(path, statement)
    assert list(used.export()) == before
    assert used.fetch("r1").payload == b"forty-two"


@pytest.mark.parametrize(
    "edit",
    [
        """UPDATE events SET body = replace(body, '"loss":"1/10"', '"loss":"1/99"') WHERE count = 2""",
        "UPDATE events SET kind = 'note' WHERE count = 5",
        "UPDATE events SET head = previous WHERE count = 3",
        "UPDATE events SET previous = head WHERE count = 3",
        "DELETE FROM events WHERE count = 2",
        "DELETE FROM events WHERE count = 1",
        "UPDATE events SET count = 9 WHERE count = 5",
        "UPDATE events SET body = 'nonsense' WHERE count = 5",
    ],
)
def test_an_edited_event_is_found(path: Path, used: Ledger, terms, edit: str):
    without_triggers(path, edit)
    with pytest.raises(LedgerError, match="restore the file from a backup"):
        Ledger.open(path, terms=terms())
    found = verify(SqliteJournal(path))
    assert not found.sound
    assert "was edited, removed or moved" in " ".join(found.problems)
    del used


def test_a_removed_tail_is_found_by_the_open_ledger_and_by_the_anchor(path: Path, used: Ledger, terms):
    without_triggers(path, "DELETE FROM events WHERE count = 5")
    with pytest.raises(LedgerError, match="5 with another head were seen"):
        used.charge(TENTH)
    with pytest.raises(LedgerError, match="5 with another head were seen"):
        Ledger.open(path, terms=terms())
    assert not verify(SqliteJournal(path)).sound
    assert verify(SqliteJournal(path), anchor=Unanchored()).sound, (
        "the chain alone cannot know: that is why anchors exist"
    )


def test_a_rewritten_chain_is_found_by_the_anchor(path: Path, used: Ledger, terms):
    """Someone rewrites history consistently: smaller charge, all hashes made right. Only the second place can tell."""
    events = [json.loads(line) for line in used.export()]
    events[1]["body"]["charges"][0]["loss"] = "1/1000"
    previous, rows = events[0]["previous"], []
    for event in events:
        new = linked(count=event["count"], kind=EventKind(event["kind"]), body=event["body"], previous=previous)
        rows.append(
            f"UPDATE events SET body = '{canonical(new.body)}', previous = '{previous}', head = '{new.head}' "
            f"WHERE count = {new.count}"
        )
        previous = new.head
    without_triggers(path, *rows)
    with pytest.raises(LedgerError, match="5 with another head were seen"):
        Ledger.open(path, terms=terms())
    found = verify(SqliteJournal(path), anchor=Unanchored())
    assert found.problems == ("event 2 charged 'data set' less than this version of deniable reads",)


@pytest.mark.parametrize(
    "edit", ["UPDATE answers SET payload = x'3433'", "DELETE FROM answers", "UPDATE answers SET salt = x'00'"]
)
def test_an_edited_answer_is_never_served(path: Path, used: Ledger, edit: str):
    without_triggers(path, edit)
    with pytest.raises(LedgerError, match="a stored answer was edited or removed"):
        used.fetch("r1")
    assert verify(SqliteJournal(path)).problems == ("the stored answer of event 2 was edited or removed",)


def test_a_planted_answer_is_never_served(path: Path, used: Ledger):
    sql(path, "INSERT INTO answers VALUES (5, x'3433', x'00')")
    with pytest.raises(Exception, match="no answer is stored"):
        used.fetch("r2")
    assert verify(SqliteJournal(path)).problems == ("an answer is stored for event 5, but no event says so",)


def test_dropped_guards_are_noticed(path: Path, used: Ledger, terms):
    sql(path, "DROP TRIGGER events_delete")
    with pytest.raises(LedgerError, match=r"tables or triggers .* were changed"):
        Ledger.open(path, terms=terms())
    assert not verify(SqliteJournal(path)).sound
    del used


def test_an_added_trigger_is_noticed(path: Path, used: Ledger, terms):
    sql(path, "CREATE TRIGGER refund AFTER INSERT ON events BEGIN SELECT 1; END")
    with pytest.raises(LedgerError, match=r"tables or triggers .* were changed"):
        Ledger.open(path, terms=terms())
    del used


def test_torn_pages_are_noticed(path: Path, used: Ledger, terms):
    for _ in range(30):
        used.note("x" * 200, by="curator")
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 2000] = bytes(range(250)) * 8
    path.write_bytes(data)
    with pytest.raises(LedgerError):
        Ledger.open(path, terms=terms())
    assert not verify(SqliteJournal(path)).sound


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at", b"{}" * 2000])
def test_another_file_is_not_touched(path: Path, terms, content: bytes):
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        Ledger.open(path, terms=terms())
    assert path.read_bytes() == content


def test_another_database_is_not_touched(path: Path, terms):
    sql(path, "CREATE TABLE t (x)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is a database but not a ledger"):
        Ledger.open(path, terms=terms())
    assert path.read_bytes() == before


def test_a_later_format_is_refused(path: Path, used: Ledger, terms):
    sql(path, "PRAGMA user_version = 2")
    with pytest.raises(LedgerError, match="has ledger format 2, this version reads 1; upgrade deniable"):
        Ledger.open(path, terms=terms())
    del used


def test_a_deleted_file_is_not_made_again(path: Path, used: Ledger, terms):
    path.unlink()
    with pytest.raises(LedgerError, match="is gone"):
        used.charge(TENTH)
    with pytest.raises(LedgerError, match=r"lived at .* and is no longer there"):
        Ledger.open(path, terms=terms())
    with pytest.raises(LedgerError, match="no longer there"):
        Ledger.existing(path)
    assert not path.exists()
    assert not verify(SqliteJournal(path)).sound


def test_an_emptied_file_is_not_filled_again(path: Path, used: Ledger, terms):
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match="no longer there"):
        Ledger.open(path, terms=terms())
    del used


def test_a_crash_while_making_the_file_leaves_no_trap(path: Path, terms):
    SqliteJournal(path).create()
    with pytest.raises(LedgerError, match="holds no ledger"):
        Ledger.existing(path)
    Ledger.open(path, terms=terms()).charge(TENTH)


def test_a_read_only_file_can_be_verified(monkeypatch: pytest.MonkeyPatch, path: Path, used: Ledger):
    monkeypatch.setattr("deniable.ledger.sqlite_journal.os.access", lambda *_: False)
    assert verify(SqliteJournal(path)).sound
    with pytest.raises(LedgerError, match="cannot be used"):
        used.charge(TENTH)


@pytest.mark.parametrize("bad", ["", "a\0b"])
def test_a_path_is_a_path(terms, bad: str):
    with pytest.raises(InvalidArgument, match="lives in a file"):
        Ledger.open(bad, terms=terms())


@pytest.mark.parametrize(
    "name", ["with space.ledger", "50%?mode=memory#x.ledger", "Überblick.ledger", "'quoted\".ledger"]
)
def test_odd_file_names_work(tmp_path: Path, terms, name: str):
    Ledger.open(tmp_path / name, terms=terms()).charge(TENTH)
    assert (tmp_path / name).is_file()
    assert Ledger.existing(str(tmp_path / name)).mark.count == 2


def test_a_place_that_cannot_be_is_one_line(tmp_path: Path, terms):
    with pytest.raises(LedgerError, match=r"cannot make a ledger at .*; choose another place") as refusal:
        Ledger.open(tmp_path / "no" / "folder" / "x.ledger", terms=terms())
    assert "\n" not in str(refusal.value)


def test_a_symbolic_link_is_the_same_ledger(path: Path, used: Ledger, tmp_path: Path, terms):
    (tmp_path / "link.ledger").symlink_to(path)
    linked_ledger = Ledger.open(tmp_path / "link.ledger", terms=terms())
    assert linked_ledger.mark == used.mark
    linked_ledger.charge(TENTH)
    assert linked_ledger.mark == used.mark


def test_a_sound_ledger_is_sound_and_says_what_is_open(path: Path, used: Ledger):
    found = verify(SqliteJournal(path), receipts=[used.fetch("r1").receipt])
    assert found.sound
    assert (found.count, found.head) == (used.mark.count, used.mark.head)
    assert found.unanswered == ("r2",)
    assert json.loads(json.dumps(found.to_record()))["sound"] is True


def test_a_receipt_finds_a_lost_event_without_an_anchor(used: Ledger, tmp_path: Path, terms):
    used.backup(tmp_path / "old.ledger")
    receipt = used.answer(TENTH, lambda: b"43", request="r3").receipt
    old = SqliteJournal(tmp_path / "old.ledger")
    assert not Ledger.existing(tmp_path / "old.ledger", anchor=Unanchored()).confirms(receipt)
    found = verify(old, anchor=Unanchored(), receipts=[receipt])
    assert found.problems == (f"receipt {receipt.id} names event 8, which this file does not have: events were lost",)
    other = Ledger.open(tmp_path / "other.ledger", terms=terms())
    other.charge(TENTH)
    (problem,) = verify(SqliteJournal(tmp_path / "other.ledger"), receipts=[receipt]).problems
    assert "belongs to another ledger" in problem


# the chain itself


def test_the_chain_depends_on_every_part_of_every_event():
    first = linked(count=1, kind=EventKind.NOTE, body={"text": "a"}, previous="0" * 64)
    heads = {
        linked(count=count, kind=kind, body=body, previous=previous).head
        for count in (1, 2)
        for kind in (EventKind.NOTE, EventKind.OPEN)
        for body in ({"text": "a"}, {"text": "b"}, {})
        for previous in ("0" * 64, first.head)
    }
    assert len(heads) == 24


def test_canonical_text_has_one_spelling_and_no_floats():
    assert canonical({"b": 1, "a": ["é", None, True]}) == '{"a":["\\u00e9",null,true],"b":1}'
    for bad in (0.1, {"a": float("nan")}, [1.0], {1: "a"}):
        with pytest.raises(InvalidArgument):
            canonical(bad)


def test_an_unknown_kind_asks_for_a_later_version():
    event = linked(count=1, kind=EventKind.NOTE, body={}, previous="")
    with pytest.raises(LedgerError):
        checked(count=1, kind="note", body="{}", previous="", head=event.head, after=None)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:secret@db/shop",
        "postgresql:ann:secret@db",
        " postgresql://ann:secret@db",
        "POSTGRES://ann:secret@db",
    ],
)
def test_a_url_of_something_else_is_no_file_name(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file it would be made, with the password for its name."""
    monkeypatch.chdir(tmp_path)
    for place in (url, Path(url)):
        with pytest.raises(InvalidArgument, match="this URL names no ledger; write postgresql://user@host") as refusal:
            Ledger.existing(place)
        assert "secret" not in str(refusal.value)
    assert not list(tmp_path.iterdir())
