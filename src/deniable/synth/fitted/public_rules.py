"""Public rules that synthetic rows keep: combinations that cannot be, and columns in order. Known beforehand, never learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.errors import InvalidArgument
from deniable.synth.attribute import Attributes
from deniable.synth.fitted.conditions import Condition, conditions, point


@dataclass(frozen=True, slots=True)
class PublicRules:
    """`never`: conditions that do not hold together in any row; `order`: pairs of columns of which the first is never larger."""

    attributes: Attributes
    never: tuple[dict[int, Condition], ...] = ()
    order: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(
        cls, attributes: Attributes, never: Sequence[Mapping[str, Any]], order: Sequence[tuple[str, str]]
    ) -> PublicRules:
        """The rules in a caller's words; refused where columns do not exist or cannot be compared."""
        pairs = tuple(_comparable(attributes, pair) for pair in order)
        return cls(attributes, tuple(conditions(each, attributes) for each in never), pairs)

    def __bool__(self) -> bool:
        return bool(self.never or self.order)

    def kept(self, columns: Mapping[str, Sequence[Any]], rows: int) -> list[int]:
        """The numbers of the rows that keep every rule. A missing value breaks no rule of order."""
        return [row for row in range(rows) if self._keeps({name: cells[row] for name, cells in columns.items()})]

    def _keeps(self, row: Mapping[str, Any]) -> bool:
        names = self.attributes.names
        for first, second in self.order:
            low, high = row[names[first]], row[names[second]]
            if low is not None and high is not None and low > high:
                return False
        return not any(
            all(self._fits(place, each, row[names[place]]) for place, each in rule.items()) for rule in self.never
        )

    def _fits(self, place: int, wanted: Condition, value: Any) -> bool:
        column = self.attributes.columns[place]
        if value is None or wanted.missing:
            return value is None and wanted.missing
        if column.labels:
            return (str(value).lower() if column.type == "boolean" else value) in wanted.labels
        at = point(column, value)
        return (wanted.low is None or at >= wanted.low) and (wanted.high is None or at <= wanted.high)


def _comparable(attributes: Attributes, pair: tuple[str, str]) -> tuple[int, int]:
    first, second = attributes.places(pair)
    kinds = [attributes.columns[place].type for place in (first, second)]
    numbers = {"integer", "number", "decimal"}
    if not (set(kinds) <= numbers or (kinds[0] == kinds[1] and kinds[0] in ("date", "timestamp"))):
        raise InvalidArgument(f"order needs two numbers, two dates or two moments, got {kinds[0]} and {kinds[1]}")
    return first, second
