"""Queries that are answered, and must be answered as plain SQL answers them: one per line of `sql/<world>.sql`."""

from __future__ import annotations

from pathlib import Path

ANSWERED = [
    (world, line)
    for world in ("clinic", "shop", "survey")
    for line in (Path(__file__).parent / "sql" / f"{world}.sql").read_text(encoding="utf-8").splitlines()
]
"""Every query here is answered, exactly when noise is silent."""
