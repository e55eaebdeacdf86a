"""The command line's frame: versions, help, unknown words, errors of ours as one line, and nothing loaded too early."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

from deniable import __version__, cli
from deniable.errors import InvalidArgument


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "deniable", *words], capture_output=True, text=True, check=False)


def test_version():
    answer = run("--version")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"deniable {__version__}\n", "")


def test_help_names_every_command(capsys):
    cli.main(["--help"])
    text = capsys.readouterr().out
    for name, command in cli.COMMANDS.items():
        assert f"  {name} " in text
        assert command.summary in text


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_can_be_loaded(name):
    assert callable(import_module(cli.COMMANDS[name].module).app)


def test_unknown_command_is_one_line_with_a_hint(monkeypatch, capsys):
    monkeypatch.setitem(cli.COMMANDS, "ledger", cli.Command("deniable.cli.ledger_command", "audit the budget"))
    with pytest.raises(SystemExit) as stop:
        cli.main(["leger"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        "deniable: 'leger' is not a command, did you mean 'ledger'?; deniable --help lists them\n"
    )


def failing(error: BaseException):
    """A command module whose app raises."""

    class Module:
        @staticmethod
        def app(**_: object) -> None:
            raise error

    return Module


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [(InvalidArgument("epsilon must be positive, got -1"), 1, "epsilon must be positive, got -1"),
     (KeyboardInterrupt(), 130, "interrupted")],
)  # fmt: skip
def test_failures_are_one_line(monkeypatch, capsys, error, code, line):
    monkeypatch.setitem(cli.COMMANDS, "broken", cli.Command("a module of the test", "fails"))
    monkeypatch.setattr(cli, "import_module", lambda _: failing(error))
    with pytest.raises(SystemExit) as stop:
        cli.main(["broken"])
    assert stop.value.code == code
    assert capsys.readouterr().err == f"deniable: {line}\n"


def test_version_and_help_load_no_command():
    code = (
        "import sys; from deniable.cli import main; main(['--version']); main(['--help']); "
        "print('typer' in sys.modules, 'numpy' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.endswith("False False\n")


def test_demo_shows_charged_releases_beside_the_truth(tmp_path):
    answer = run("demo", "--folder", str(tmp_path))
    assert answer.returncode == 0
    assert answer.stderr == ""
    for word in ["budget", "costs epsilon", "±", "Guarantee", "receipt", "left", "report", "question 4 of 4", "truth"]:
        assert word in answer.stdout
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == page.count("</svg>") == 6
    assert page.count("deniable-release-table") - page.count(".deniable-release-table") == 4
    assert page.count("<h2>") == 4
    assert '<td class="truth">6,165</td>' in page  # the data is the same every time, so the truth is too
    assert "<script" not in page
    assert (tmp_path / "twin.parquet").is_file()
    twin = (tmp_path / "twin.html").read_text()
    assert "specialty" in twin
    assert "<svg" in twin


def test_demo_as_json(tmp_path):
    answer = run("demo", "--folder", str(tmp_path), "--json")
    told = json.loads(answer.stdout)
    assert [len(part["release"]["columns"]) for part in told["answers"]] == [2, 2, 1, 1]
    counted = [column for part in told["answers"] for column in part["release"]["columns"] if "within" in column]
    assert [column["name"] for column in counted] == ["n", "patients", "n", "users"]
    for column in counted:  # who tries it first sees answers, not noise; a value so far off has a chance below 1e-12
        assert all(value > 2 * column["within"] for value in column["values"])
    assert told["twin"] == str(tmp_path / "twin.html")
    counts = told["answers"][0]
    (values,) = [column["values"] for column in counts["release"]["columns"] if column["name"] == "patients"]
    truth = [row["patients"] for row in counts["truth"]]
    # noise of scale 16: all eight within 60 scales, but for a chance below 1e-24
    assert all(abs(value - true) < 1000 for value, true in zip(values, truth, strict=True))
