"""What SQL engines are given to run: one query of a plan, and rows they may keep, bounded once and read by later plans."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from deniable.plan.expression import Expression
from deniable.plan.nodes import GroupAgg
from deniable.plan.profile import Profile
from deniable.plan.provenance import joins_limited


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The bounded rows of `plan` in a table of the engine: units, keys, and `values` (expression to column).

    With `counted`, every row has beside it how many rows its unit has in its group, see `keyed_order.first_groups`.
    Guarantee: a plan that may read them gets the integers it would get from the rows themselves.
    """

    plan: GroupAgg
    table: str
    values: Mapping[Expression, str]
    counted: bool

    def serves(self, plan: GroupAgg) -> bool:
        """Same rows, keys and bounds, and no value that is not there; where rows are ranked by their values, the same values."""
        mine, asked = self.plan, plan
        if (mine.source, mine.keys, mine.bounding) != (asked.source, asked.keys, asked.bounding):
            return False
        ranked = asked.bounding.rows_per_group is not None or asked.bounding.rows_per_unit is not None
        ranked = ranked or bool(joins_limited(asked.source))
        return asked.inputs == mine.inputs if ranked else set(asked.inputs) <= set(self.values)


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One query of a plan. Its columns: the keys in order, then `cells`; for a Histogram the bin and the count."""

    tree: exp.Expression
    cells: tuple[str, ...]

    def text(self, profile: Profile) -> str:
        """The query in the engine's dialect."""
        with _nested():
            return self.tree.sql(dialect=profile.dialect, comments=False, copy=False)


_FRAMES = 20_000
"""A join that limits its sides nests eleven queries, each of a dozen calls while it is written: Python's thousand is too few."""
_writing, _before = threading.Lock(), list[int]()


@contextmanager
def _nested() -> Iterator[None]:
    """As many nested calls as a finite statement needs, wherever it is written from; the last writer puts the limit back."""
    with _writing:
        _before.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_before[0], _FRAMES))
    try:
        yield
    finally:
        with _writing:
            first, _ = _before[0], _before.pop()
            if not _before:
                sys.setrecursionlimit(first)
