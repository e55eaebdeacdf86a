"""Plans whose tables of values become known: what an earlier stage released takes its place in a later one.

Guarantee: columns, facts and with them every sensitivity stay as they were; only rows within those facts are put in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from deniable.plan.nodes import Filter, Join, Project, Relation, Scan, Union, UnitAgg, ValueTable


def with_values(relation: Relation, tables: Mapping[str, ValueTable]) -> Relation:
    """The relation with these tables of values in place of those that are still to be released, by name."""
    match relation:
        case Scan():
            return relation
        case ValueTable(name, columns, rows):
            if rows is not None or name not in tables:
                return relation
            assert tables[name].columns == columns, "a stage releases the columns it was planned with"
            return tables[name]
        case Filter(source) | Project(source) | UnitAgg(source):
            return replace(relation, source=with_values(source, tables))
        case Join(left, right):
            return replace(relation, left=with_values(left, tables), right=with_values(right, tables))
        case Union(sources):
            return Union(tuple(with_values(source, tables) for source in sources))
        case _:
            assert_never(relation)
