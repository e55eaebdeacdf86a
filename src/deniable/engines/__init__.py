"""Engines: the same plan gives the same exact integers on each; see `engine.Engine`."""

from __future__ import annotations

from typing import Any

from deniable.engines.engine import Engine
from deniable.plan.codebook import Codebook


def connect(source: Any, codebook: Codebook, *, key: bytes | int) -> Engine:
    """The engine for a source: a Parquet or CSV file, a pandas, Polars or Arrow table, columns, or tables by name.

    `key` is the secret of the keyed order (at least 128 bits), held by the curator's process.
    """
    from deniable.engines.duckdb import DuckDBEngine

    return DuckDBEngine(source, codebook, key=key)
