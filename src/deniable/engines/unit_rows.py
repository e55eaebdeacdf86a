"""Bounded rows as integers: what an engine hands to mechanisms that need rows, in one order and with one name for each unit.

Guarantee: a unit's label is a keyed hash of the unit alone, so who else is there changes nobody's label. A unit has that of one of
n others with a chance below n / 2**63; a model would then cut the sums of both as one's (docs/known-issues.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from math import isqrt, prod
from typing import Any

import numpy as np

from deniable.engines.engine import Integers, KeyValue, RowTable
from deniable.engines.order import OrderKey, words
from deniable.engines.results import Fetched, python_values
from deniable.errors import QueryRefused
from deniable.exact.figures import counted
from deniable.plan.analysis import checked_facts
from deniable.plan.expression import Column, Expression
from deniable.plan.facts import LARGEST, Facts, Kind
from deniable.plan.nodes import UnitRows, UnitVector
from deniable.plan.relation import Shape
from deniable.plan.sensitivity import checked
from deniable.plan.unit_tables import UnitTables


def _called(expression: Expression) -> str:
    return expression.name if isinstance(expression, Column) else "x"


@lru_cache(maxsize=16)
def checked_rows(plan: UnitRows) -> Shape:
    """The shape below, where every column is a bounded number; anything else is refused from the plan."""
    below = checked(plan.bounded)
    for _, expression in plan.columns:
        known = checked_facts(expression, below.columns)
        if known.kind is not Kind.NUMBER or not known.bounded:
            raise QueryRefused(
                "unbounded",
                f"{_called(expression)} is {known}, and rows are handed out as bounded numbers",
                rewrite="declare bounds or categories in the codebook, or name it with bounds: "
                f"column='clamp({_called(expression)}, lower, upper)'",
            )
    return below


def checked_vector(plan: UnitVector) -> tuple[Shape, dict[str, Facts]]:
    """The shape below and the columns that features read; refused from the plan where a unit's part could leave 64 bits."""
    below = checked_rows(plan.rows)
    columns = {}
    for name, expression in plan.rows.columns:
        known = checked_facts(expression, below.columns)
        columns[name] = Facts(Kind.NUMBER, known.nullable, Fraction(1), *known.ends)
    sizes = [_size(feature, columns) for feature in plan.features]
    rows = min(plan.rows.rows, below.most_rows or plan.rows.rows)
    reach = [rows * prod(sizes[place] for place in entry) for entry in plan.entries]
    if not (sum(most**2 for most in reach) < LARGEST and max(reach) * plan.norm < LARGEST and plan.norm**2 < LARGEST):
        raise QueryRefused(
            "too-wide",
            f"what {counted(rows, 'row')} of one unit may add to a vector could not be cut exactly in 64 bits",
            rewrite="use fewer features, or fewer rows of one unit",
        )
    return below, columns


def checked_tables(plan: UnitTables) -> Shape:
    """The shape below, where no column is ever missing."""
    below = checked_rows(plan.rows)
    for name, expression in plan.rows.columns:
        if checked_facts(expression, below.columns).nullable:
            raise QueryRefused("missing", f"column {name} may be missing, and cells of a table are not")
    return below


def _size(feature: Expression, columns: dict[str, Facts]) -> int:
    """The largest size of a feature, which must be a bounded whole number."""
    known = checked_facts(feature, columns)
    if known.kind is not Kind.NUMBER or not known.bounded or known.step.denominator != 1:
        raise QueryRefused("bad-feature", f"a feature of a vector is a bounded whole number, got {known}")
    return max(map(abs, known.ends)) * known.step.numerator


def cut_part(part: Sequence[int], norm: int) -> list[int]:
    """What one unit adds, every entry shortened towards zero until the Euclidean length is at most `norm`."""
    square = sum(entry * entry for entry in part)
    if square <= norm * norm:
        return list(part)
    root = isqrt(square)
    length = root if root * root == square else root + 1
    return [abs(entry) * norm // length * (1 if entry >= 0 else -1) for entry in part]


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
    gaps = {name for name, mask in missing.items() if mask.any()}
    filled = {
        name: (np.where(missing[name], 0, np.ma.getdata(column)) if name in gaps else np.ma.getdata(column)).astype(
            np.int64
        )
        for name, column in columns.items()
    }
    ranks = [part for name in reversed(filled) for part in (filled[name], *([missing[name]] if name in gaps else []))]
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
