"""The wheel is pure Python, holds the package and nothing else, and runs in a clean environment with the base packages only."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from deniable import __version__

ROOT = Path(__file__).parents[2]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def test_wheel_is_pure_and_complete(wheel):
    assert wheel.name == f"deniable-{__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "deniable").rglob("*.py*")
        if path.suffix in {".py", ".pyi"}
    }
    assert sources <= set(names)
    assert "deniable/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {"deniable", f"deniable-{__version__}.dist-info"}


def test_wheel_says_what_it_is(wheel):
    text = zipfile.ZipFile(wheel).read(f"deniable-{__version__}.dist-info/METADATA").decode()
    about = Parser().parsestr(text)
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    assert {"postgres", "spark", "frames", "attacks", "models", "torch", "mbi", "server", "dev"} == set(
        about.get_all("Provides-Extra")
    )


def test_wheel_runs_in_a_clean_environment(wheel, tmp_path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}

    def said(*command: object) -> str:
        done = subprocess.run(
            list(map(str, command)), env=clean, capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    venv.create(tmp_path / "clean", with_pip=True)
    python, command = (tmp_path / "clean" / SCRIPTS / name for name in ("python", "deniable"))
    base = ROOT / "requirements" / "base.txt"
    said(python, "-m", "pip", "install", "-qq", "--require-hashes", "--no-build-isolation", "-r", base)
    said(python, "-m", "pip", "install", "-qq", "--no-deps", wheel)
    said(python, "-m", "pip", "check")
    assert said(command, "--version") == f"deniable {__version__}\n"
    assert said(python, "-c", "import deniable; print(deniable.__file__)").startswith(str(tmp_path / "clean"))
    assert "Guarantee" in said(command, "demo")


def test_wheel_carries_the_stubs_that_lazy_packages_read(wheel):
    stubs = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "deniable").rglob("*.pyi")}
    assert len(stubs) > 5
    assert stubs <= set(zipfile.ZipFile(wheel).namelist())
