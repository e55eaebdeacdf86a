"""One setting for the whole suite: property tests try the same examples on every run, and no clock decides anything.

Temporary files lie in memory where there is enough of it: a suite of ledgers asks for tens of thousands of synced writes, which
a disk takes milliseconds for and memory none. That each is asked for is tested by what is called, not by the disk.
Under xdist the tests of a file stay together, so that what a file sets up or works out once is not made on every worker, and
what takes longest begins first, so that no worker waits at the end for the other's last file.

With DENIABLE_EXPLORE=1 (`dev.py test --explore`) they try ten times as many, new ones on every run, and keep what failed.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.servers import postgres, spark

__all__ = ["postgres", "spark"]

EXPLORES = os.environ.get("DENIABLE_EXPLORE") == "1"

MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30  # bytes


def available() -> int:
    """How many bytes the system can still give to files in memory."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return next(int(words[1]) << 10 for words in lines if words[0] == "MemAvailable:")


def in_memory() -> bool:
    """Whether temporary files may lie in memory: nobody said where, there is room, and what is installed there can run."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return False
    runs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    return runs and min(shutil.disk_usage(MEMORY).free, available()) > ENOUGH


if in_memory():
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# Each worker of xdist has one core: more threads for one product of small matrices only wait for one another.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

gc.disable()  # until the tests begin: modules and the syntax trees they are made from are no garbage

settings.register_profile("deniable", derandomize=True, deadline=None, database=None)
settings.load_profile("deniable")


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Anchors of ledgers made by tests stay with the run: a later one may use the same temporary folder for others."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


def exploring(stated: settings) -> settings:
    """A test's own settings with ten times the examples, drawn anew on every run."""
    kept = DirectoryBasedExampleDatabase(".hypothesis/examples")
    return settings(stated, max_examples=10 * stated.max_examples, derandomize=False, database=kept)


def group_of(item: Any) -> str:
    """The server a test needs, or its file."""
    mark = item.get_closest_marker("xdist_group")
    return mark.args[0] if mark else item.nodeid.split("::")[0]


def weight(item: Any) -> int:
    """About how long a test takes beside others; those that need a server begin first."""
    if item.get_closest_marker("xdist_group"):
        return 1000
    return 50 if item.get_closest_marker("slow") else 1


def share_out(items: list[Any]) -> None:
    """Put the tests of a group beside one another, the heaviest group first, and name each test's group for xdist."""
    groups = {item: group_of(item) for item in items}
    weights: Counter[str] = Counter()
    for item in items:
        weights[groups[item]] += weight(item)
    items.sort(key=lambda item: (-weights[groups[item]], groups[item]))
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(groups[item]))


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    if hasattr(config, "workerinput"):
        share_out(items)
    if EXPLORES:
        explore(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """What was collected stays until the end: the garbage collector need not walk through it, nor through every 700 new objects."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


def explore(items: list[Any]) -> None:
    for item in items:
        function = getattr(item, "obj", None)
        stated = getattr(function, "_hypothesis_internal_use_settings", None)
        if stated is not None and stated.derandomize:
            function._hypothesis_internal_use_settings = exploring(stated)  # type: ignore[union-attr]
