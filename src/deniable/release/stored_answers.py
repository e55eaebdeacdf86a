"""A stored answer as what it was when it was released: a table, a value, a model, synthetic rows, a workload."""

from __future__ import annotations

from typing import Any

from deniable.ledger import StoredAnswer
from deniable.ledger.store import unpacked
from deniable.release.answer import Release
from deniable.release.value import VALUE_KINDS, ValueRelease


def stored_answer(found: StoredAnswer) -> Any:
    """The answer in these bytes; nothing is drawn again."""
    packed = unpacked(found.payload)
    kind = packed.release.get("kind")
    if kind in VALUE_KINDS:
        return ValueRelease.from_packed(packed, found.receipt).shown()
    if kind == "synthetic":
        from deniable.release.twin import Twin

        return Twin.from_packed(packed, found.receipt)
    if kind == "workload":
        from deniable.release.workload import WorkloadRelease

        return WorkloadRelease.from_packed(packed, found.receipt)
    return Release.from_packed(packed, found.receipt)
