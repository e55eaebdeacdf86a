"""What makes a shell pleasant: completion that knows every command, and a line that counts seconds for people only."""

from __future__ import annotations

import io
import shutil
import subprocess
import time

import pytest

from deniable import cli
from deniable.cli.completion import words
from deniable.cli.elapsed import elapsed


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_every_command_and_option_is_completed(capsys):
    known = words()
    assert {name.split()[0] for name in known} == {name.split()[0] for name in cli.COMMANDS}
    assert {"--epsilon", "--confidence", "--group-size", "--output", "--account"} <= set(known["query"])
    assert "amend" in known["ledger"]
    assert "--reason" in known["ledger amend"]
    for shell in ("zsh", "fish"):
        cli.main(["completion", shell])
        assert "--reason" in (out := capsys.readouterr().out) or "-l reason" in out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["le"], "ledger"),
        (["query", "--budget-d"], "--budget-delta"),
        (["ledger", "am"], "amend"),
        (["ledger", "amend", "--rea"], "--reason"),
        (["data", "ch"], "check"),
    ],
)
def test_bash_offers_what_fits(typed, offered, capsys):
    cli.main(["completion", "bash"])
    script = capsys.readouterr().out
    asked = f'COMP_WORDS=(deniable {" ".join(typed)}); COMP_CWORD={len(typed)}; _deniable; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [offered]


def test_seconds_are_counted_for_people_and_for_nobody_else():
    seen = Terminal()
    with elapsed("deniable audit", stream=seen, patience=0.01, tick=0.01):
        while "working" not in seen.getvalue():
            time.sleep(0.005)
    assert seen.getvalue().startswith("\rdeniable audit: working, 0 s")
    assert seen.getvalue().endswith("\r")
    quick, piped = Terminal(), io.StringIO()
    with elapsed("x", stream=quick, patience=60):
        pass
    with elapsed("x", stream=piped, patience=0, tick=0.01):
        time.sleep(0.05)
    assert (quick.getvalue(), piped.getvalue()) == ("", "")
