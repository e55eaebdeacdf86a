"""Means whose sum and count are measured in two halves, under one price: which ones can be, and which of them gain by it.

Both halves together move by what one of them moves, so each has the noise that one of them costs (`docs/theory/halves.md`).
Levels that are fitted to one another, and whole numbers, are made of columns with noises of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.kernels import DiscreteLaplaceNoise, HalvesNoise, Sensitivity
from deniable.plan.halves import Halves, halves_of
from deniable.plan.nodes import GroupAgg, RowCount, Total
from deniable.plan.relation import Shape
from deniable.plan.sensitivity import halves_sensitivity
from deniable.query.columns import SliceColumn

if TYPE_CHECKING:
    from deniable.query.aggregates.aggregate import MeanColumns, Output


@dataclass(frozen=True, slots=True, kw_only=True)
class HalvedMean:
    """A total and a count that may be measured in two halves, and how far one unit moves both halves together.

    `weight` is that of the two columns; `count_used` says whether the count serves more than means of this one total.
    """

    total: SliceColumn
    count: SliceColumn
    halves: Halves
    sensitivity: Sensitivity
    weight: Fraction
    count_used: bool

    def noises(self, half: DiscreteLaplaceNoise) -> dict[SliceColumn, HalvesNoise]:
        """What the total and the count carry where each half has this noise."""
        steps = {self.total: self.halves.total_step, self.count: self.halves.count_step}
        return {key: HalvesNoise(half.scale, str(self.total), step) for key, step in steps.items()}

    def gains(self, half: DiscreteLaplaceNoise, total: Fraction, count: Fraction) -> bool:
        """Whether no shown number has more variance than where both columns have noise of their own, of these variances.

        A mean's variance is that of the total and, times the square of its distance from the middle of the bounds, that of the
        count: where the count serves nothing else, the middle and the ends decide.
        """
        new_total, new_count = (noise.variance * noise.step**2 for noise in self.noises(half).values())
        if self.count_used:
            return new_total <= total and new_count <= count
        reach = (self.halves.width * self.halves.scale * self.halves.step / 2) ** 2
        return new_total <= total and new_total + reach * new_count <= total + reach * count


def halved_means(
    node: GroupAgg, below: Shape, outputs: Sequence[Output], weights: Mapping[str, Fraction]
) -> Iterator[HalvedMean]:
    """The totals and counts that can be measured in halves: each count with the first total that is asked for beside it."""
    measured, taken = dict(node.aggregates), set[str]()
    for mean in dict.fromkeys(mean for output in outputs for mean in output.mean_columns):
        total, count = measured[mean.total], measured[mean.count]
        assert isinstance(total, Total)
        assert isinstance(count, RowCount)
        halves = halves_of(total, count, node.source)
        users = [output for output in outputs if mean.total in output.columns]
        if (
            taken.intersection((mean.total, mean.count))
            or halves is None
            or not all(_from_the_middle(output, mean, halves) for output in users)
        ):
            continue
        taken |= {mean.total, mean.count}
        beside = [output for output in outputs if mean.count in output.columns and not _is_mean_of(output, mean)]
        yield HalvedMean(
            total=SliceColumn(mean.total),
            count=SliceColumn(mean.count),
            halves=halves,
            sensitivity=halves_sensitivity(halves, node, below),
            weight=weights[mean.total] + weights[mean.count],
            count_used=bool(beside),
        )


def _is_mean_of(output: Output, mean: MeanColumns) -> bool:
    return any(each.exact and each.total == mean.total for each in output.mean_columns)


def _from_the_middle(output: Output, mean: MeanColumns, halves: Halves) -> bool:
    """Whether an output can be computed from a total of distances from the very middle of the bounds."""
    mine = [each for each in output.mean_columns if each.total == mean.total]
    return bool(mine) and (halves.low == -halves.high or all(each.exact for each in mine))
