"""One setting for the whole suite: property tests try the same examples on every run, and no clock decides anything."""

from __future__ import annotations

from hypothesis import settings

from tests.servers import postgres, spark

__all__ = ["postgres", "spark"]

settings.register_profile("deniable", derandomize=True, deadline=None, database=None)
settings.load_profile("deniable")
