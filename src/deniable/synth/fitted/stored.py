"""Measurements as they are stored: noisy tables with their noise, and nothing else a model may use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.synth.attribute import Attribute, Attributes


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Noisy counts of one table: of cells, or of groups of cells where `grouped`. `scale` and `law` are those of its noise.

    A margin of a released table has `draws` noises in each cell; what is stored has one.
    """

    places: tuple[int, ...]
    counts: NDArray[np.int64]
    scale: Fraction
    law: str = "gaussian"
    grouped: bool = False
    draws: int = 1

    @property
    def variance(self) -> float:
        """The variance of the noise in one cell."""
        return float(self.scale) ** 2 * (2 if self.law == "laplace" else 1) * self.draws

    def margin(self, places: Sequence[int]) -> Marginal:
        """The table of some of its columns, in this order; what is added up are released counts."""
        rest = tuple(axis for axis, place in enumerate(self.places) if place not in places)
        kept = [place for place in self.places if place in places]
        sums = self.counts.sum(axis=rest)
        order = [kept.index(place) for place in places]
        draws = self.draws * (self.counts.size // max(sums.size, 1))
        return replace(self, places=tuple(places), counts=np.transpose(sums, order), draws=draws)

    def to_record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "places": list(self.places),
            "shape": list(self.counts.shape),
            "counts": self.counts.ravel().tolist(),
            "scale": str(self.scale),
            "law": self.law,
            "grouped": self.grouped,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Marginal:
        """What `to_record` wrote."""
        counts = np.array(record["counts"], dtype=np.int64).reshape(record["shape"])
        return cls(tuple(record["places"]), counts, Fraction(record["scale"]), record["law"], record["grouped"])


@dataclass(frozen=True, slots=True)
class TwinMeasurements:
    """Everything that was released to make a twin.

    `groups` says for every column which group each of its cells belongs to. `scores` are noisy distances (in rows, both signs
    added up) between a pair's table of groups and the product of its released one-way tables; `score_scale` is their noise.
    `network` lists columns with their parents where a method draws one; `notes` are sentences for the reader.
    """

    method: str
    attributes: Attributes
    marginals: tuple[Marginal, ...]
    groups: tuple[tuple[int, ...], ...]
    scores: Mapping[tuple[int, int], int] = field(default_factory=dict)
    score_scale: Fraction = Fraction(0)
    network: tuple[tuple[int, tuple[int, ...]], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def ones(self) -> list[Marginal]:
        """The one-way tables."""
        return [table for table in self.marginals if len(table.places) == 1]

    def group_count(self, place: int) -> int:
        """How many groups a column has."""
        return max(self.groups[place]) + 1

    def group_sizes(self, places: Iterable[int]) -> tuple[int, ...]:
        """The shape of a table of groups."""
        return tuple(self.group_count(place) for place in places)

    def to_record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "method": self.method,
            "attributes": [each.to_record() for each in self.attributes.columns],
            "marginals": [each.to_record() for each in self.marginals],
            "groups": [list(each) for each in self.groups],
            "scores": [[*pair, value] for pair, value in self.scores.items()],
            "score_scale": str(self.score_scale),
            "network": [[child, list(parents)] for child, parents in self.network],
            "options": dict(self.options),
            "notes": list(self.notes),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> TwinMeasurements:
        """What `to_record` wrote."""
        return cls(
            record["method"],
            Attributes(tuple(map(Attribute.from_record, record["attributes"]))),
            tuple(map(Marginal.from_record, record["marginals"])),
            tuple(tuple(each) for each in record["groups"]),
            {(first, second): value for first, second, value in record["scores"]},
            Fraction(record["score_scale"]),
            tuple((child, tuple(parents)) for child, parents in record["network"]),
            record["options"],
            tuple(record["notes"]),
        )


def ungrouped(attributes: Attributes) -> tuple[tuple[int, ...], ...]:
    """Every cell a group of its own."""
    return tuple(tuple(range(size)) for size in attributes.sizes)
