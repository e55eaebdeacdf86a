"""Rows an engine keeps: a plan's source with every unit in the groups it may touch, computed once and read by later plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deniable.plan.expression import Expression
from deniable.plan.nodes import GroupAgg
from deniable.plan.provenance import joins_limited


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The bounded rows of `plan` in a table of the engine: units, keys, and `values` (expression to column).

    Guarantee: a plan that may read them gets the integers it would get from the rows themselves.
    """

    plan: GroupAgg
    table: str
    values: Mapping[Expression, str]

    def serves(self, plan: GroupAgg) -> bool:
        """Same rows, keys and bounds, and no value that is not there; where rows are ranked by their values, the same values."""
        mine, asked = self.plan, plan
        if (mine.source, mine.keys, mine.bounding) != (asked.source, asked.keys, asked.bounding):
            return False
        ranked = asked.bounding.rows_per_group is not None or asked.bounding.rows_per_unit is not None
        ranked = ranked or bool(joins_limited(asked.source))
        return asked.inputs == mine.inputs if ranked else set(asked.inputs) <= set(self.values)
