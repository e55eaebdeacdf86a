"""One setting for the whole suite: property tests try the same examples on every run, and no clock decides anything.

With DENIABLE_EXPLORE=1 (`dev.py test --explore`) they try ten times as many, new ones on every run, and keep what failed.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.servers import postgres, spark

__all__ = ["postgres", "spark"]

EXPLORES = os.environ.get("DENIABLE_EXPLORE") == "1"

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


def pytest_collection_modifyitems(items: list[Any]) -> None:
    if not EXPLORES:
        return
    for item in items:
        function = getattr(item, "obj", None)
        stated = getattr(function, "_hypothesis_internal_use_settings", None)
        if stated is not None and stated.derandomize:
            function._hypothesis_internal_use_settings = exploring(stated)  # type: ignore[union-attr]
