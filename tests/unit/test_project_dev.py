"""`dev.py`: old Pythons get one line, environments are remade when half made, nothing foreign leaks in."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
DEV = ROOT / "dev.py"


@pytest.fixture
def dev(tmp_path, monkeypatch):
    """dev.py with its root in an empty folder that has one requirement file."""
    spec = importlib.util.spec_from_file_location("dev", DEV)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "base.txt").write_text("")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_syntax_is_old_enough_for_old_pythons():
    ast.parse(DEV.read_text(encoding="utf-8"), feature_version=(3, 8))


def old_pythons() -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return sorted(map(str, root.glob("versions/3.[89].*/bin/python3"))) + sorted(
        map(str, root.glob("versions/3.10.*/bin/python3"))
    )


def test_an_old_python_gets_one_clear_line():
    pythons = old_pythons()
    if not pythons:
        pytest.skip("no Python older than 3.11 on this machine")
    for python in pythons:
        answer = subprocess.run([python, str(DEV), "demo"], capture_output=True, text=True, check=False)
        assert answer.returncode == 1
        assert answer.stdout == ""
        assert re.fullmatch(r"dev\.py: needs Python 3\.11 or newer, this is 3\.\d+\.\d+; .*\n", answer.stderr)


def test_help_and_unknown_commands():
    helped = subprocess.run([sys.executable, str(DEV)], capture_output=True, text=True, check=False)
    assert helped.returncode == 0
    for command in ["demo", "test", "check", "bench", "golden", "docs", "shape", "pins"]:
        assert f"python3 dev.py {command}" in helped.stdout
    unknown = subprocess.run([sys.executable, str(DEV), "tset"], capture_output=True, text=True, check=False)
    assert unknown.returncode == 2


def test_foreign_environments_do_not_leak_in_but_settings_do(dev, monkeypatch):
    foreign = {"PYTHONPATH": "/elsewhere", "PYTHONHOME": "/elsewhere", "VIRTUAL_ENV": "/v", "CONDA_PREFIX": "/c"}
    foreign["PYTHONDONTWRITEBYTECODE"] = "1"  # each of the processes tests start would compile the package again
    settings = {"PIP_INDEX_URL": "https://example.org", "HTTPS_PROXY": "http://proxy", "NO_PROXY": "localhost"}
    for name, value in {**foreign, **settings}.items():
        monkeypatch.setenv(name, value)
    passed = dev.environment_variables()
    assert foreign.keys().isdisjoint(passed)
    assert {name: passed[name] for name in settings} == settings


def test_pip_is_given_no_index_and_no_isolation_from_user_settings():
    text = DEV.read_text(encoding="utf-8")
    assert "--isolated" not in text
    assert "--index" not in text
    assert "-index-url" not in text.replace("--no-emit-index-url", "").replace('"extra-index-url": ("UV_INDEX"', "")
    assert "://" not in text


def test_uv_looks_where_pip_looks(dev, monkeypatch):
    for name in ("UV_INDEX", "UV_FIND_LINKS", "UV_DEFAULT_INDEX", "UV_INDEX_STRATEGY"):
        monkeypatch.delenv(name, raising=False)
    printed = "\n".join(
        [
            ":env:.find-links='/mine'",
            "global.extra-index-url='file:///a/index\\nfile:///b/index'",
            "global.find-links='/hidden /by-mine'",
            "global.timeout='3'",
            "install.index-url='https://example.org/index'",
            "freeze.index-url='https://example.org/second'",
        ]
    )
    told = dev.uv_variables(printed)
    assert told["UV_INDEX"] == "file:///a/index file:///b/index"
    assert told["UV_FIND_LINKS"] == "/mine"
    assert told["UV_DEFAULT_INDEX"] == "https://example.org/index"
    assert told["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert told.items() >= dev.environment_variables().items()
    monkeypatch.setenv("UV_INDEX", "file:///own")
    assert dev.uv_variables(printed)["UV_INDEX"] == "file:///own"
    assert set(dev.uv_variables("")) == set(dev.environment_variables()) | {"UV_INDEX_STRATEGY"}


def test_uv_installs_and_where_it_cannot_pip_does(dev, monkeypatch):
    (dev.ROOT / "requirements" / "dev.txt").write_text((ROOT / "requirements" / "dev.txt").read_text())
    (dev.ROOT / "requirements" / "bare.txt").write_text("")
    inside = dev.ROOT / ".venv" / dev.SCRIPTS / "python"
    uv, codes, ran, pinned = inside.parent / "uv", [0] * 3, [], []

    def must(*words, **_):
        ran.append(["pip" if "pip" in words else "other", *map(str, words)])
        if str(words[-1]).endswith("uv.txt"):
            pinned.append(Path(words[-1]).read_text())
            uv.parent.mkdir(parents=True)
            uv.touch()

    monkeypatch.setattr(dev, "must", must)
    monkeypatch.setattr(dev, "make", lambda *_: None)
    monkeypatch.setattr(dev, "run", lambda *words, **_: ran.append(["uv", *map(str, words)]) or codes.pop())
    dev.environment("dev", "bare")
    installers = [words[0] for words in ran if words[0] != "other"]
    assert installers == ["pip", "uv", "pip", "uv"]  # uv itself, dev by uv, bare by pip alone, and deniable
    assert len(pinned) == 1
    assert re.fullmatch(r"uv==\S+ \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+", pinned[0])
    ran.clear()
    codes[:] = [0, 1]
    (inside.parent.parent / dev.STAMP).unlink()
    dev.environment("dev")
    assert [words[0] for words in ran if words[0] != "other"] == ["uv", "pip", "uv"]
    assert all("--require-hashes" in words or "--editable" in words for words in ran if words[0] != "other")


def complete(dev) -> Path:
    """A folder that looks to dev.py like a finished environment."""
    folder = dev.ROOT / ".venv"
    (folder / dev.SCRIPTS).mkdir(parents=True)
    (folder / dev.SCRIPTS / "python").symlink_to(sys.executable)
    (folder / dev.STAMP).write_text("\n".join(dev.fingerprint(["base"], sys.executable)))
    return folder


def test_a_finished_environment_is_kept_without_running_anything(dev, monkeypatch):
    folder = complete(dev)
    monkeypatch.setattr(dev, "must", lambda *_, **__: pytest.fail("nothing needs to be installed"))
    assert dev.environment("base") == folder / dev.SCRIPTS / "python"


@pytest.mark.parametrize("damage", ["no stamp", "requirements changed", "python gone", "moved here from elsewhere"])
def test_an_unfinished_or_outdated_environment_is_remade(dev, monkeypatch, damage):
    folder = complete(dev)
    if damage == "no stamp":
        (folder / dev.STAMP).unlink()
    elif damage == "requirements changed":
        (dev.ROOT / "requirements" / "base.txt").write_text("numpy==2.4.6")
    elif damage == "python gone":
        (folder / dev.SCRIPTS / "python").unlink()
    else:
        stamp = folder / dev.STAMP
        stamp.write_text(stamp.read_text().replace(str(dev.ROOT), "/elsewhere"))
    (folder / "left-over").touch()
    commands = []
    monkeypatch.setattr(dev, "must", lambda *words, **_: commands.append([str(word) for word in words]))
    folder_made = dev.ROOT / ".venv"
    monkeypatch.setattr(dev, "make", lambda *_: (remove(folder_made), folder_made.mkdir()))
    dev.environment("base")
    assert not (folder / "left-over").exists()
    installed = [words for words in commands if "install" in words]
    assert "--require-hashes" in installed[0]
    assert all("--no-deps" in words for words in installed)
    assert (folder / dev.STAMP).read_text().splitlines() == dev.fingerprint(["base"], sys.executable)


def remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def test_more_is_added_to_a_finished_environment(dev, monkeypatch):
    folder = complete(dev)
    (dev.ROOT / "requirements" / "dev.txt").write_text("")
    (folder / "kept").touch()
    monkeypatch.setattr(dev, "must", lambda *_, **__: None)
    dev.environment("base", "dev")
    assert (folder / "kept").exists()
    assert set((folder / dev.STAMP).read_text().splitlines()) == set(dev.fingerprint(["base", "dev"], sys.executable))


def test_a_failed_installation_leaves_no_stamp(dev, monkeypatch):
    folder = complete(dev)
    (dev.ROOT / "requirements" / "dev.txt").write_text("")

    def fail(*_, **__):
        raise dev.Stop("the network is gone")

    monkeypatch.setattr(dev, "must", fail)
    with pytest.raises(dev.Stop):
        dev.environment("base", "dev")
    assert not (folder / dev.STAMP).exists()


def test_without_root_the_packages_are_named_and_left_out(dev, monkeypatch, capsys):
    monkeypatch.setattr(dev.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(dev.shutil, "which", lambda _: None)
    monkeypatch.setattr(dev, "run", lambda *_: pytest.fail("must not run anything"))
    assert dev.apt(["postgresql"], "the tests also need PostgreSQL") is False
    assert capsys.readouterr().out == (
        "dev.py: left out, the tests also need PostgreSQL; "
        "on Debian or Ubuntu: sudo apt-get install -y --no-install-recommends postgresql\n"
    )


def test_as_root_the_command_is_shown_before_it_runs(dev, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(dev.os, "geteuid", lambda: 0)
    monkeypatch.setattr(dev.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(dev, "run", lambda *words: shown.append((words, capsys.readouterr().out)) or 0)
    assert dev.apt(["postgresql"], "the tests also need PostgreSQL") is True
    assert [words[:2] for words, _ in shown] == [("apt-get", "update"), ("apt-get", "install")]
    assert "apt-get update && apt-get install -y --no-install-recommends postgresql" in shown[0][1]


def test_exit_codes_are_passed_on(dev):
    assert dev.run(sys.executable, "-c", "raise SystemExit(7)") == 7
    assert dev.run(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)") == 128 + 9
    assert dev.all_of({"good": [sys.executable, "-c", ""], "bad": [sys.executable, "-c", "raise SystemExit(3)"]}) == 3


def test_steps_run_side_by_side_and_what_each_prints_stays_together(dev, monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(dev.os, "cpu_count", lambda: 2)
    meet = "\n".join(
        [
            "import pathlib, sys, time",
            "mine, other = map(pathlib.Path, sys.argv[1:3])",
            "print(mine.name, 'begins', flush=True)",
            "mine.touch()",
            "end = time.monotonic() + 60",
            "while not other.exists() and time.monotonic() < end: time.sleep(0.01)",
            "print(mine.name, 'ends')",
            "sys.exit(0 if other.exists() else 9)",
        ]
    )
    a, b = tmp_path / "a", tmp_path / "b"
    pairs = {"a": [sys.executable, "-c", meet, a, b], "b": [sys.executable, "-c", meet, b, a]}
    assert dev.side_by_side(pairs) == {"a": 0, "b": 0}
    printed = capfd.readouterr().out
    assert "a begins\na ends\n" in printed
    assert "b begins\nb ends\n" in printed
    assert dev.verdict(dev.side_by_side({"bad": [sys.executable, "-c", "raise SystemExit(3)"], **pairs})) == 3


def test_the_suite_and_what_runs_beside_it_are_all_in_the_verdict(dev, tmp_path):
    steps = {name: [sys.executable, "-c", f"raise SystemExit({code})"] for name, code in {"a": 0, "b": 3}.items()}
    codes = dev.beside(steps, sys.executable, "-c", "raise SystemExit(5)")
    assert codes == {"a": 0, "b": 3, "tests": 5}
    assert list(codes)[-1] == "tests"
    assert dev.verdict(codes) == 3


def test_an_interrupt_waits_for_the_command_to_end(tmp_path):
    (tmp_path / "dev.py").write_bytes(DEV.read_bytes())
    child = "\n".join(
        [
            "import time",
            "try: open('started', 'w').close(); time.sleep(60)",
            "except KeyboardInterrupt: time.sleep(1); open('done', 'w').close()",
        ]
    )
    script = f"import dev, sys\ntry: dev.run(sys.executable, '-c', {child!r})\nexcept KeyboardInterrupt: sys.exit(130)"
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where we run in the background
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, start_new_session=True, preexec_fn=heard)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_every_requirement_is_pinned_with_hashes_and_names_no_host(path):
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    entries = text.replace("\\\n", " ").splitlines()
    assert entries
    for entry in entries:
        assert re.match(r"^[a-z0-9._-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry), entry


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        ("base", []),
        ("dev", ["dev", "frames"]),
        ("test", ["postgres", "spark", "attacks", "models", "server"]),
        ("server", ["server", "postgres"]),
        ("bare", ["torch"]),
    ],
)
def test_the_pins_serve_what_the_project_asks_for(file, extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    always = [] if file == "bare" else project["dependencies"]
    asked = map(Requirement, always + [line for extra in extras for line in optional[extra]])
    text = (ROOT / "requirements" / f"{file}.txt").read_text(encoding="utf-8")
    for requirement in asked:
        if requirement.name == "deniable":
            continue
        versions = re.findall(rf"^{re.escape(requirement.name)}==(\S+)", text, flags=re.MULTILINE)
        assert versions, f"{requirement} is not pinned in requirements/{file}.txt; run python3 dev.py pins"
        assert all(requirement.specifier.contains(version) for version in versions)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for a Python without venv is a shell script")
def test_a_python_without_venv_is_one_line_that_names_the_package(dev, monkeypatch, tmp_path):
    bare = tmp_path / "python3"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o755)
    monkeypatch.setattr(dev.os, "geteuid", lambda: 1000)
    with pytest.raises(dev.Stop, match=r"cannot make virtual environments; install python3-venv and run this again"):
        dev.make(tmp_path / ".venv", bare)
    assert not (tmp_path / ".venv").exists()


def test_exploring_tries_ten_times_as_many_new_examples(dev, monkeypatch):
    from hypothesis import settings

    from tests.conftest import exploring

    stated = settings(max_examples=7, derandomize=True)
    found = exploring(stated)
    assert (found.max_examples, found.derandomize) == (70, False)
    assert found.database is not None
    asked = []
    monkeypatch.setattr(dev, "engines", lambda: None)
    monkeypatch.setattr(dev, "environment", lambda *names, **options: Path("python"))
    monkeypatch.setattr(dev, "other_pythons", list)
    monkeypatch.setattr(dev, "run", lambda *command, **_: asked.append(command) if "pytest" in command else 0)
    monkeypatch.setenv("DENIABLE_EXPLORE", "")
    dev.test(["--explore", "tests/laws"])
    assert dev.os.environ["DENIABLE_EXPLORE"] == "1"
    assert asked[0][-1] == "tests/laws"
    assert "--explore" not in asked[0]


def test_the_whole_run_includes_the_self_audit_and_a_part_of_it_does_not(dev, monkeypatch):
    ran: list[list[str]] = []
    monkeypatch.setattr(dev, "engines", lambda: None)
    monkeypatch.setattr(dev, "environment", lambda *_, **__: Path(sys.executable))
    monkeypatch.setattr(dev, "other_pythons", list)
    monkeypatch.setattr(dev, "run", lambda *command, **_: ran.append([str(word) for word in command]) or 0)
    assert dev.test(["tests/unit"]) == 0
    assert not any("audit" in command for command in ran)
    assert dev.test([]) == 0
    audits = [command for command in ran if "audit" in command]
    assert len(audits) == 1
    assert " -m deniable audit self --quick " in " ".join(audits[0])
    monkeypatch.setattr(dev, "run", lambda *command, **_: 3 if "audit" in command else 0)
    assert dev.test([]) == 3


def test_a_fresh_clone_is_compiled_once_before_the_workers_start(dev, monkeypatch):
    ran: list[tuple[object, ...]] = []
    monkeypatch.setattr(dev, "engines", lambda: None)
    monkeypatch.setattr(dev, "environment", lambda *_, **__: Path(sys.executable))
    monkeypatch.setattr(dev, "other_pythons", list)
    monkeypatch.setattr(dev, "run", lambda *command, **_: ran.append(command) or 0)
    assert dev.test(["tests/laws"]) == 0
    assert [("--collect-only" in command) for command in ran if "pytest" in command] == [True, False]
    ran.clear()
    (dev.ROOT / "tests" / "__pycache__").mkdir(parents=True)
    assert dev.test(["tests/laws"]) == 0
    assert [("--collect-only" in command) for command in ran if "pytest" in command] == [False]


def test_the_demo_of_a_server_goes_to_the_servers_own(dev, monkeypatch):
    ran: list[list[str]] = []
    monkeypatch.setattr(dev, "environment", lambda *_, **__: Path(sys.executable))
    monkeypatch.setattr(dev, "run", lambda *command, **_: ran.append([str(word) for word in command]) or 0)
    assert dev.demo(["--server"]) == 0
    assert dev.demo(["--server", "here", "--prepare"]) == 0
    assert dev.demo([]) == 0
    assert ran[0][1:6] == ["-m", "deniable", "serve", "demo", "--open"]
    assert ran[0][6].endswith("tried")
    assert ran[1][6:] == ["here", "--prepare"]
    assert ran[2][1:] == ["-m", "deniable", "demo"]


def test_a_benchmark_that_starts_servers_has_what_they_need(dev, monkeypatch):
    monkeypatch.setattr(dev, "ROOT", ROOT)
    assert dev.needed_by("noise") == ["base", "dev"]
    for name in ("server", "sql", "scale"):
        assert dev.needed_by(name) == ["base", "dev", "test"], name


class Item:
    """As much of a collected test as the order of the suite looks at."""

    def __init__(self, nodeid: str, *marks: pytest.MarkDecorator) -> None:
        self.nodeid, self.marks = nodeid, [mark.mark for mark in marks]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.mark)


def test_files_stay_together_and_the_heaviest_group_comes_first():
    from tests.conftest import share_out

    spark = pytest.mark.xdist_group("spark")
    items = [
        Item("a.py::one"),
        Item("b.py::one", pytest.mark.slow),
        Item("a.py::two[Spark]", spark),
        Item("c.py::one"),
        Item("a.py::three"),
        Item("b.py::two"),
    ]
    share_out(items)
    assert [item.nodeid for item in items] == [
        "a.py::two[Spark]",
        "b.py::one",
        "b.py::two",
        "a.py::one",
        "a.py::three",
        "c.py::one",
    ]
    groups = [item.get_closest_marker("xdist_group").args for item in items]
    assert groups == [("spark",), ("b.py",), ("b.py",), ("a.py",), ("a.py",), ("c.py",)]
