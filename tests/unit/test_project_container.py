"""The steps of the Containerfile, run in a folder and an environment of their own; no image is built, nothing else is touched."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = [
    line for line in (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")
]
STEPS = [tuple(line.split(" ", 1)) for line in LINES]
OF_THE_SYSTEM = ("apt-get ", "useradd ")
"""What a container does to its own system; a test does not do it to this one."""


def test_every_step_is_one_we_know_and_no_account_of_root_serves():
    assert {word for word, _ in STEPS} == {
        "FROM",
        "RUN",
        "WORKDIR",
        "COPY",
        "USER",
        "ENV",
        "EXPOSE",
        "ENTRYPOINT",
        "CMD",
    }
    assert [rest for word, rest in STEPS if word == "USER"] == ["deniable"]
    assert all(rest.startswith((*OF_THE_SYSTEM, "python -m pip ")) for word, rest in STEPS if word == "RUN")


@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
@pytest.mark.skipif(os.name == "nt", reason="containers are Linux")
def test_the_steps_leave_a_server_that_starts_where_it_is_told_to(tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    image, home = tmp_path / "image", tmp_path / "home"
    image.mkdir()
    home.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    clean["PATH"] = f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{clean['PATH']}"

    def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True, check=False)

    for word, rest in STEPS:
        if word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                path, place = ROOT / source, image / target
                if path.is_dir():
                    shutil.copytree(path, place, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    place.mkdir(exist_ok=True)
                    shutil.copy(path, place)
        elif word == "RUN" and not rest.startswith(OF_THE_SYSTEM):
            done = run(shlex.split(rest), image)
            assert done.returncode == 0, done.stdout + done.stderr
    (entry,) = (json.loads(rest) for word, rest in STEPS if word == "ENTRYPOINT")
    assert run([*entry, "init", "--config", "server.yaml"], home).returncode == 0
    checked = run([*entry, "check", "--config", "server.yaml"], home)
    assert checked.returncode == 1
    assert checked.stderr.count("\n") == 1  # one line: what the draft still lacks
    assert "visits.yaml" in checked.stderr
