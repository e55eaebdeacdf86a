"""`deniable ledger` and `deniable release` from the shell: text, JSON, exit codes, one line for each failure."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from deniable import cli
from deniable.cost import Bounded
from deniable.ledger import Ledger, SqliteJournal, verify
from deniable.ledger.store import Packed, pack
from deniable.release.release_facts import ReleaseFacts

TENTH = Bounded(epsilon=0.1)
FACTS = ReleaseFacts(
    scope="visits by specialty",
    epsilon=Fraction(1, 10),
    delta=Fraction(0),
    unit="patient",
    mechanisms=("discrete Laplace",),
)


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    payload = pack(Packed({"n": 42}, FACTS.to_record()))
    ledger.answer(TENTH, lambda: payload, request="r1", plan="count(*)")
    ledger.answer(TENTH, lambda: b"\x00raw", request="raw", account="bob")
    ledger.reserve(TENTH, request="lost")
    return ledger


def run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """The exit code, what was printed, and what was complained."""
    code = 0
    try:
        cli.main([str(word) for word in words])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    out, err = capfd.readouterr()
    return code, out, err


def test_verify_a_sound_ledger(capfd, path: Path, used: Ledger):
    code, out, err = run(capfd, "ledger", "verify", path)
    assert (code, err) == (0, "")
    assert out.startswith(f"{path} is sound: {used.mark.count} events, data version 1, head {used.mark.head}")
    assert out.endswith("charged, but without a stored answer (running or lost): lost\n")
    code, out, _ = run(capfd, "ledger", "verify", path, "--json")
    record = json.loads(out)
    assert (code, record["sound"], record["head"], record["unanswered"]) == (0, True, used.mark.head, ["lost"])


def test_verify_finds_an_older_file(capfd, path: Path, used: Ledger):
    before = path.read_bytes()
    used.charge(TENTH)
    path.write_bytes(before)
    code, out, _ = run(capfd, "ledger", "verify", path)
    assert code == 3
    assert out.startswith(f"{path} is not sound:\n  the anchor saw")
    code, out, _ = run(capfd, "ledger", "verify", path, "--json")
    assert (code, json.loads(out)["sound"]) == (3, False)


def test_verify_checks_receipts_and_other_anchors(capfd, path: Path, used: Ledger, tmp_path: Path):
    before = path.read_bytes()
    note = tmp_path / "receipt.json"
    note.write_text(json.dumps(used.answer(TENTH, lambda: b"", request="r3").receipt.to_record()))
    assert run(capfd, "ledger", "verify", path, "--receipt", note)[0] == 0
    path.write_bytes(before)
    code, out, _ = run(capfd, "ledger", "verify", path, "--receipt", note, "--anchor", tmp_path / "elsewhere")
    assert code == 3
    assert "events were lost" in out


def test_verify_says_when_there_is_nothing(capfd, tmp_path: Path):
    code, out, _ = run(capfd, "ledger", "verify", tmp_path / "no.ledger")
    assert code == 3
    assert "there is no ledger here" in out


def test_a_file_that_is_no_receipt_is_one_line(capfd, path: Path, used: Ledger, tmp_path: Path):
    (tmp_path / "bad.json").write_text("{}")
    code, out, err = run(capfd, "ledger", "verify", path, "--receipt", tmp_path / "bad.json")
    assert (code, out) == (1, "")
    assert err == f"deniable: {tmp_path / 'bad.json'} holds no receipt; give a file with the JSON of one\n"
    del used


def test_export(capfd, path: Path, used: Ledger, tmp_path: Path):
    lines = list(used.export())
    code, out, err = run(capfd, "ledger", "export", path)
    assert (code, err) == (0, "")
    assert out.splitlines() == lines
    assert json.loads(run(capfd, "ledger", "export", path, "--json")[1]) == [json.loads(line) for line in lines]
    target = tmp_path / "events.jsonl"
    assert run(capfd, "ledger", "export", path, "--output", target) == (0, "", "")
    assert target.read_text().splitlines() == lines
    code, _, err = run(capfd, "ledger", "export", path, "--output", target)
    assert code == 1
    assert err.endswith("choose a new file name\n")


def test_backup(capfd, path: Path, used: Ledger, tmp_path: Path):
    target = tmp_path / "copy.ledger"
    assert run(capfd, "ledger", "backup", path, target) == (0, f"{used.mark.count} events copied to {target}\n", "")
    assert verify(SqliteJournal(target)).head == used.mark.head
    code, _, err = run(capfd, "ledger", "backup", path, target)
    assert code == 1
    assert err.count("\n") == 1
    second = tmp_path / "second.ledger"
    code, out, _ = run(capfd, "ledger", "backup", path, second, "--json")
    assert json.loads(out) == {"target": str(second), "count": used.mark.count, "head": used.mark.head}


def test_show_lists_what_was_asked(capfd, path: Path, used: Ledger):
    code, out, err = run(capfd, "release", "show", path)
    assert (code, err) == (0, "")
    words = [line.split() for line in out.splitlines()]
    assert [(line[1], line[2], " ".join(line[6:])) for line in words] == [
        ("analyst", "r1", "released"),
        ("bob", "raw", "released"),
        ("analyst", "lost", "running or lost"),
    ]
    rows = json.loads(run(capfd, "release", "show", path, "--json")[1])
    assert rows[0]["costs"] == {"patient": {"type": "Bounded", "epsilon": "1/10", "delta": "0"}}
    del used


@pytest.mark.usefixtures("ledger")
def test_show_an_unused_ledger(capfd, path: Path):
    assert run(capfd, "release", "show", path) == (0, "nothing was asked yet\n", "")


def test_show_one_release(capfd, path: Path, used: Ledger):
    receipt = used.fetch("r1").receipt
    code, out, _ = run(capfd, "release", "show", path, "r1")
    assert code == 0
    assert out == f'{receipt}\n{{\n  "n": 42\n}}\n'
    record = json.loads(run(capfd, "release", "show", path, "r1", "--json")[1])
    assert record == {"receipt": receipt.to_record(), "answer": {"n": 42}}
    assert '"bytes": 4' in run(capfd, "release", "show", path, "raw", "--account", "bob")[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "lost"), "request 'lost' was charged as event"),
        (("show", "unknown"), "no request 'unknown' by 'analyst' in this ledger"),
        (("show", "raw"), "no request 'raw' by 'analyst' in this ledger"),
        (("table", "raw", "--account", "bob"), "this answer is not a packed release"),
    ],
)
def test_what_cannot_be_shown_is_one_line(capfd, path: Path, used: Ledger, words: tuple[str, ...], told: str):
    code, out, err = run(capfd, "release", words[0], path, *words[1:])
    assert (code, out) == (5 if words[1] == "lost" else 1, "")
    assert told in err
    assert err.count("\n") == 1
    del used


def test_table(capfd, path: Path, used: Ledger):
    code, out, _ = run(capfd, "release", "table", path, "r1")
    assert code == 0
    assert len(out.splitlines()) == 8
    assert "ε                      0.1\n" in out
    assert run(capfd, "release", "table", path, "r1", "--format", "markdown")[1].startswith(
        "| Name | Value |\n|---|---|\n"
    )
    assert run(capfd, "release", "table", path, "r1", "--format", "html")[1].startswith("<table")
    extended = json.loads(run(capfd, "release", "table", path, "r1", "--extended", "--json")[1])
    assert dict(extended["rows"])["Receipt"] == used.fetch("r1").receipt.id
    assert run(capfd, "release", "table", path, "r1", "--format", "csv")[0] == 2


def test_export_gives_the_stored_bytes(capfdbinary, path: Path, used: Ledger, tmp_path: Path):
    payload = used.fetch("r1").payload
    cli_words = ["release", "export", str(path), "r1"]
    cli.main(cli_words)
    assert capfdbinary.readouterr().out == payload
    cli.main(["release", "export", str(path), "raw", "--account", "bob", "--output", str(tmp_path / "raw")])
    assert (tmp_path / "raw").read_bytes() == b"\x00raw"
    cli.main([*cli_words, "--json"])
    record = json.loads(capfdbinary.readouterr().out)
    assert record["answer"] == {"n": 42}
    assert used.confirms(type(used.fetch("r1").receipt).from_record(record["receipt"]))
    with pytest.raises(SystemExit) as stop:
        cli.main([*cli_words, "--output", str(tmp_path / "raw")])
    assert stop.value.code == 1


def test_from_a_real_shell(path: Path, used: Ledger):
    answer = subprocess.run(
        [sys.executable, "-m", "deniable", "ledger", "verify", str(path), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["head"] == used.mark.head


def test_verify_takes_a_path(path: Path, used: Ledger):
    """A file's name, a path or a journal: the same finding."""
    assert verify(str(path)) == verify(path) == verify(SqliteJournal(path))
    assert verify(path).sound


def test_touching_lists_what_a_unit_could_have_been_in(capfd, path: Path, used: Ledger):
    code, out, err = run(capfd, "ledger", "touching", path, "--json")
    assert (code, err) == (0, "")
    assert len(json.loads(out)) == len(used.charges()) > 0
    code, out, _ = run(capfd, "ledger", "touching", path, "--version", "99")
    assert (code, out.strip()) == (0, "no release could have had it in")
