"""Bounded rows as integers: what an engine hands to mechanisms that need rows, in one order and with one name for each unit.

Guarantee: a unit's label is a keyed hash of the unit alone, so who else is there changes nobody's label; two units that share
a label by accident are treated as one, which only makes the promise stronger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np

from deniable.engines.engine import Integers, KeyValue, RowTable
from deniable.engines.fetched import Fetched, python_values
from deniable.engines.order import OrderKey, words
from deniable.errors import QueryRefused
from deniable.plan.analysis import checked_facts
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import UnitRows
from deniable.plan.relation import Shape
from deniable.plan.sensitivity import checked


def checked_rows(plan: UnitRows) -> Shape:
    """The shape below, where every column is a bounded number; anything else is refused from the plan."""
    below = checked(plan.bounded)
    for name, expression in plan.columns:
        known = checked_facts(expression, below.columns)
        if known.kind is not Kind.NUMBER or not known.bounded:
            raise QueryRefused(
                "unbounded",
                f"column {name} is {known}, and rows are handed out as bounded numbers",
                rewrite="declare bounds or categories in the codebook, or write clamp(x, lower, upper)",
            )
    return below


def fetched_rows(plan: UnitRows, table: Fetched, names: Sequence[str], key: OrderKey) -> RowTable:
    """The rows of a statement written by `Groups.rows`, whose columns are `names`."""
    below = checked_rows(plan)
    count = len(below.identity)
    inputs = dict(zip(plan.bounded.inputs, names[len(names) - len(plan.bounded.inputs) :], strict=True))
    identities = list(
        zip(
            *(python_values(table[name], fact.kind) for name, fact in zip(names, below.identity, strict=False)),
            strict=True,
        )
    )
    units = labels(identities, below.identity, key) if count else None
    return row_table(units, {name: table[inputs[expression]] for name, expression in plan.columns})


def row_table(units: Integers | None, columns: Mapping[str, Any]) -> RowTable:
    """Columns (masked where missing) in their one order."""
    missing = {name: np.ma.getmaskarray(column) for name, column in columns.items()}
    filled = {
        name: np.where(missing[name], 0, np.ma.getdata(column)).astype(np.int64) for name, column in columns.items()
    }
    ranks = [part for name in reversed(filled) for part in (filled[name], missing[name])]
    order = np.lexsort([*ranks, *([] if units is None else [units])])
    return RowTable(
        None if units is None else units[order],
        {name: column[order] for name, column in filled.items()},
        {name: column[order] for name, column in missing.items()},
    )


def labels(identities: Sequence[tuple[KeyValue, ...]], facts: Sequence[Facts], key: OrderKey) -> Integers:
    """A 63-bit keyed label for every row's unit."""
    found = {identity: _label(identity, facts, key) for identity in dict.fromkeys(identities)}
    return np.array([found[identity] for identity in identities], dtype=np.int64)


def _label(identity: tuple[KeyValue, ...], facts: Sequence[Facts], key: OrderKey) -> int:
    parts = [
        word for value, known in zip(identity, facts, strict=True) for word in words(_value(value, known), known, key)
    ]
    digest = blake2b(repr(parts).encode(), digest_size=8, key=key.salt.encode(), person=b"deniable-unit")
    return int.from_bytes(digest.digest(), "big") >> 1


def _value(value: KeyValue, known: Facts) -> object:
    return Fraction(value) * known.step if isinstance(value, int) and not isinstance(value, bool) else value
