"""What the numbers of an answer are of, in sentences for its reader, where a unit may have more groups or rows than count.

All of it follows from the codebook and the query; none of it is part of the question's identity.
"""

from __future__ import annotations

from math import prod
from typing import Any

from deniable.exact.figures import counted
from deniable.plan.expression import columns
from deniable.plan.provenance import unit_columns
from deniable.plan.relation import shape
from deniable.query.aggregates import BinnedCounts, Count, CountUnits, Sum
from deniable.query.aggregates.measuring import Measuring
from deniable.query.builder import Query
from deniable.query.keys import KeySet


def unit_groups(query: Query[Any]) -> int | None:
    """One group for each unit where every key is constant for it; a unit that breaks the word is kept in one all the same."""
    constant = unit_columns(query.source)
    return 1 if query.keys and all(columns(key.of) and columns(key.of) <= constant for key in query.keys) else None


def measured_notes(
    query: Query[Any], measuring: Measuring, keys: KeySet, *, groups: int, label: str
) -> tuple[str, ...]:
    """In how many groups a unit counts, and with how many rows in each."""
    return tuple(filter(None, [_groups_note(query, keys, groups, label), _rows_note(query, measuring, label)]))


def _rows_note(query: Query[Any], measuring: Measuring, label: str) -> str:
    """What counts and sums are of; what outputs are called is left out."""
    rows, said = measuring.rows, []
    for word, kinds in (("counts", (Count, BinnedCounts)), ("sums", (Sum,))):
        asked = [each for _, each in query.aggregates if isinstance(each, kinds)]
        said += [word] if any(each.clip_note("", rows) is None for each in asked) else []
    if not said or not measuring.spreads:
        return ""
    *first, last = [label, *(key.name for key in query.keys)]
    per = f"{', '.join(first)} and {last}" if first else last
    return f"{' and '.join(said)} are of at most {counted(rows, 'row')} per {per}; choose_bounds finds a bound that few pass"


def _groups_note(query: Query[Any], keys: KeySet, groups: int, label: str) -> str:
    """That a unit with more groups than may count is left out of some of them, and what that does to numbers that add up."""
    if not _left_out(query, keys, groups):
        return ""
    said = (
        f"one {label} in more than {counted(groups, 'group')} counts in {'one' if groups == 1 else groups} of them only"
    )
    found = [
        word
        for word, kinds in (("counts", (Count, BinnedCounts, CountUnits)), ("sums", (Sum,)))
        if any(isinstance(each, kinds) for _, each in query.aggregates)
    ]
    return f"{said}, so {' and '.join(found)} can come out too small" if found else said


def _left_out(query: Query[Any], keys: KeySet, groups: int) -> bool:
    """Whether a unit can be in more groups than may count."""
    if not keys.columns or unit_groups(query) is not None:
        return False
    possible = [len(column.domain) + column.keep_missing for column in keys.columns if column.domain is not None]
    there = prod(possible) if not keys.observed else groups + 1
    rows = [most for most in (shape(query.source).most_rows, query.total) if most is not None]
    return min([there, *rows]) > groups
