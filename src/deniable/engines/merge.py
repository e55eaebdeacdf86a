"""Results of shards added up: tables split by unit are asked apart, and their integers are those of the whole.

Bounding is per unit and sums of integers are exact in any order, so nothing is lost and nothing is rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deniable.engines.engine import Result
from deniable.engines.results import Place, assembled
from deniable.errors import InvalidArgument
from deniable.plan.nodes import Distinct, GroupAgg, Histogram


def merged(plan: GroupAgg, results: Sequence[Result]) -> Result:
    """The result of a plan over all shards, from its results over each, asked with the same order key.

    Guarantee: if all rows of a unit (in every private table) lie in one shard, and every shard has the whole of each
    public table, this is what one engine would say of all rows together.
    Edge cases: distinct values cannot be added up, for two shards may hold the same one; such a plan is refused.
    """
    if any(isinstance(aggregate, Distinct) for _, aggregate in plan.aggregates):
        raise InvalidArgument("distinct values of shards cannot be added up; ask one engine that sees all rows")
    if not results:
        raise InvalidArgument("merging needs the result of at least one shard")
    places: dict[Place, int] = {}
    for result in results:
        for place in _places(result):
            places.setdefault(place, len(places))
    cells: dict[str, list[object]] = {}
    for name, aggregate in plan.aggregates:
        histogram = isinstance(aggregate, Histogram)
        totals: list[object] = [Counter() if histogram else 0 for _ in places]
        for result in results:
            at = [places[place] for place in _places(result)]
            if histogram:
                _add_bins(totals, at, result, name)
            else:
                for group, value in zip(at, result.columns[name].tolist(), strict=True):
                    totals[group] += value
        cells[name] = totals
    return assembled(plan, list(places), cells)


def _places(result: Result) -> list[Place]:
    keys = list(zip(*result.keys.values(), strict=True)) if result.keys else [()] * result.groups
    return list(zip(result.level.tolist(), keys, strict=True))


def _add_bins(totals: list[object], at: list[int], result: Result, name: str) -> None:
    bins = result.histograms[name]
    for group, place, count in zip(bins.group.tolist(), bins.bin.tolist(), bins.count.tolist(), strict=True):
        totals[at[group]][place] += count
