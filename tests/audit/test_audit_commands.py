"""`deniable audit` and `deniable attack`: exit codes, certificates and one line where something cannot be audited."""

from __future__ import annotations

import json

import pytest

from deniable.audit.self_audit import SelfReport
from deniable.cli import audit as audit_command
from deniable.cli import main

FILE = """
from deniable import noise

NEIGHBOURS = (0, 1)

def sound(count, entropy):
    return count + noise.discrete_laplace(1, entropy)

def broken(count, entropy):
    return count + noise.discrete_laplace(0.25, entropy)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mechanisms.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def run(*words):
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return stopped.value.code


def test_a_sound_function_is_not_refuted(file, capsys):
    main(["audit", f"{file}::sound", "--epsilon", "1"])  # exit code 0 returns
    assert "not refuted" in capsys.readouterr().out


def test_a_broken_function_ends_with_three_and_a_certificate(file, tmp_path, capsys):
    place = tmp_path / "audit.json"
    assert run("audit", f"{file}::broken", "--epsilon", "1", "--samples", "4000", "--certificate", place) == 3
    assert "BROKEN" in capsys.readouterr().out
    record = json.loads(place.read_text(encoding="utf-8"))
    assert record["broken"] is True
    assert record["entropy"] == "system"


@pytest.mark.parametrize(
    ("target", "more", "said"),
    [
        ("::nothing", ["--epsilon", "1"], "has no"),
        ("::sound", [], "claim must be"),
        ("::sound", ["--epsilon", "1", "--samples", "10"], "too few draws"),
        ("", ["--epsilon", "1"], "file.py::name"),
        ("::sound", ["--epsilon", "1", "--samples", "0"], "samples must be at least 2"),
        ("::sound", ["--epsilon", "1", "--samples", "200", "--level", "1"], "level must be strictly between 0 and 1"),
        ("::sound", ["--epsilon", "-1"], "epsilon must not be negative"),
        ("::sound", ["--epsilon", "1", "--adapter", "horse"], "adapter must be"),
        ("::sound", ["--epsilon", "1", "--certificate", "/dev/null/a.json"], "a.json cannot be written"),
    ],
)
def test_what_cannot_be_audited_ends_with_two(file, capsys, target, more, said):
    assert run("audit", f"{file}{target}", *more) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_a_level_of_nought_is_no_promise(capsys):
    assert run("audit", "self", "--level", "0") == 2
    assert "level must be strictly between 0 and 1" in capsys.readouterr().err


def test_a_file_that_fails_and_a_function_that_only_fails_end_with_two(tmp_path, capsys):
    torn, silent = tmp_path / "torn.py", tmp_path / "silent.py"
    torn.write_text("1 / 0\n", encoding="utf-8")
    silent.write_text("NEIGHBOURS = (0, 1)\ndef silent():\n    pass\n", encoding="utf-8")
    assert run("audit", f"{torn}::sound", "--epsilon", "1") == 2
    assert "torn.py cannot be loaded: ZeroDivisionError" in capsys.readouterr().err
    assert run("audit", f"{silent}::silent", "--epsilon", "1", "--samples", "2000") == 2
    assert "every answer was an error" in capsys.readouterr().out


@pytest.mark.parametrize(("accused", "code"), [((), 0), (("laplace",), 3)])
def test_self_reports_and_fails_when_somebody_is_accused(accused, code, monkeypatch, capsys, tmp_path):
    report = SelfReport(("a",), (), ("r",), (), ("c",), (), accused, 0.01, "system")
    monkeypatch.setattr(audit_command, "self_audit", lambda **_: report)
    place = tmp_path / "self.json"
    words = ["audit", "self", "--quick", "--certificate", str(place)]
    if code:
        assert run(*words) == code
    else:
        main(words)
    assert json.loads(place.read_text(encoding="utf-8"))["passed"] is (code == 0)
    assert "1 of 1 caught" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reconstruction", "--people", "40", "--queries", "120"], "100.0% of 40"),
        (["reconstruction", "--people", "40", "--queries", "40", "--noise", "5"], "40 answers"),
        (["reconstruction", "--people", "40", "--queries", "40", "--epsilon", "1"], "40 answers"),
        (["tracing", "--people", "20", "--attributes", "100"], "the test that works: "),
    ],
)
def test_attacks_are_shown(words, said, capsys):
    main(["attack", *words])
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reconstruction", "--people", "0"], "people must be at least 2, got 0"),
        (["reconstruction", "--people", "9", "--queries", "0"], "queries must be at least 1, got 0"),
        (["reconstruction", "--people", "9", "--epsilon", "0"], "epsilon must be positive, got 0.0"),
        (["reconstruction", "--people", "9", "--noise", "nan"], "noise must be a finite number, got nan"),
        (["reconstruction", "--people", "9", "--method", "magic"], "method must be 'least squares' or 'lp'"),
        (["tracing", "--people", "0"], "people must be at least 1, got 0"),
        (["tracing", "--epsilon", "-1"], "epsilon must be positive, got -1.0"),
        (["matrix", "--people", "1"], "people must be at least 2, got 1"),
    ],
)
def test_attacks_refuse_bad_input_in_one_line(words, said, capsys):
    assert run("attack", *words) == 1
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_a_mechanism_needs_no_neighbours(tmp_path, capsys):
    path = tmp_path / "own.py"
    path.write_text(
        "import deniable as dp\nspace = dp.calculus.Space(dp.calculus.Lattice(), dp.calculus.AbsoluteDistance())\n"
        "noisy = space >> dp.calculus.laplace(scale=1)\n"
        "def plain(data, entropy):\n    return data\n",
        encoding="utf-8",
    )
    main(["audit", f"{path}::noisy"])
    assert "not refuted exactly on 2 pairs" in capsys.readouterr().out
    assert run("audit", f"{path}::plain", "--epsilon", "1") == 2
    assert "NEIGHBOURS" in capsys.readouterr().err
