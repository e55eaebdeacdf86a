"""Contribution bounds chosen from the data, privately: quantiles over units of what each of them contributes.

The question's rows are summed up twice: once per unit and group, then per unit. What is left is one row for each unit, so one
unit moves a rank by at most one, however much it contributes. Theory: `docs/theory/choosing-bounds.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability
from deniable.plan.expression import And, Column, IsNull, Not
from deniable.plan.nodes import ByHash, Filter, Relation, UnitAgg, UnitSummary, UnitValue
from deniable.plan.relation import shape
from deniable.query.aggregates import quantile
from deniable.query.payment import Payment

if TYPE_CHECKING:
    from deniable.query.builder import Query

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ChosenBounds(Generic[Answer]):
    """Bounds that were chosen privately: the question with them, and the release that paid for them."""

    query: Query[Answer]
    groups: int
    rows: int
    share: Fraction
    release: Answer

    def __str__(self) -> str:
        return f"groups: {self.groups}, rows: {self.rows}; about {float(self.share):.0%} of the units fit within each"

    __repr__ = __str__


def choose_bounds(
    query: Query[Answer], *, share: Real, most: Mapping[str, int], payment: Payment, request: str | None
) -> ChosenBounds[Answer]:
    """Charge for the quantiles, and give the question the bounds they are."""
    unit = shape(query.source).unit
    if unit is not None and unit.is_row:
        raise InvalidArgument("every row is a unit of its own here: there is no bound to choose")
    wanted = open_probability(share=share)
    for name, limit in most.items():
        integer(**{f"most_{name}": limit}, least=2)
    asked = {name: quantile(name, wanted, interval=False) for name in (["groups"] if query.keys else []) + ["rows"]}
    contributions = replace(
        query,
        source=unit_contributions(query, most),
        keys=(),
        aggregates=tuple(asked.items()),
        levels=None,
        other=None,
        whole=False,
        groups=None,
        rows=1,
        total=None,
        choice=ByHash(),
        sampled=False,
        shares=(),
        views=(),
    )
    release: Any = query.runner.release_query(contributions, payment, request)
    groups = max(1, int(release.value("groups"))) if query.keys else 1
    rows = max(1, int(release.value("rows")))
    return ChosenBounds(query.bound(groups=groups, rows=rows), groups, rows, wanted, release)


def unit_contributions(query: Query[Any], most: Mapping[str, int]) -> Relation:
    """One row for every unit that has any: in how many groups it is, and how many rows it has in its fullest."""
    source: Relation = query.source
    if query.total is not None:
        raise InvalidArgument("bounds are chosen for groups and rows; ask without bound(total=...)")
    if query.keys:
        there = tuple(Not(IsNull(key.of)) for key in query.keys)
        source = Filter(source, there[0] if len(there) == 1 else And(there))
    in_group = UnitValue("rows", UnitSummary.ROWS, None, Fraction(0), Fraction(most["rows"]))
    keys = tuple((f"key {index}", key.of) for index, key in enumerate(query.keys))
    by_group = UnitAgg(source, keys, (in_group,))
    values = (
        UnitValue("groups", UnitSummary.ROWS, None, Fraction(0), Fraction(most["groups"])),
        UnitValue("rows", UnitSummary.GREATEST, Column("rows"), Fraction(0), Fraction(most["rows"])),
    )
    return UnitAgg(by_group, (), values)
