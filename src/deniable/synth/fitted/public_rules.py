"""Public rules that synthetic rows keep: combinations that cannot be, columns in order, columns that others imply.

Known beforehand, never learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deniable.errors import InvalidArgument
from deniable.exact.guards import shown
from deniable.synth.attribute import Attributes
from deniable.synth.fitted.conditions import Condition, conditions, point, value_of

Implied = Mapping[str, Callable[[dict[str, Any]], Any]]
"""For a column, what it is in a row: a function of the row's other values, as a caller writes it."""


@dataclass(frozen=True, slots=True)
class PublicRules:
    """`never`: conditions that do not hold together in any row; `order`: pairs of columns of which the first is never larger.

    `implied`: columns that are a function of others, computed in their order; `wanted`: what a row must be after that.
    """

    attributes: Attributes
    never: tuple[dict[int, Condition], ...] = ()
    order: tuple[tuple[int, int], ...] = ()
    implied: Implied = field(default_factory=dict)
    wanted: Mapping[int, Condition] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        attributes: Attributes,
        never: Sequence[Mapping[str, Any]],
        order: Sequence[tuple[str, str]],
        implied: Implied | None = None,
        wanted: Mapping[int, Condition] | None = None,
    ) -> PublicRules:
        """The rules in a caller's words; refused where columns do not exist or cannot be compared."""
        pairs = tuple(_comparable(attributes, pair) for pair in order)
        implied = implied or {}
        for name, rule in implied.items():
            attributes.place(name)
            if not callable(rule):
                raise InvalidArgument(
                    f"implied takes for {name} a function of a row, such as lambda row: row['days'] - 1, got {shown(rule)}"
                )
        kept = tuple(conditions(each, attributes) for each in never)
        return cls(attributes, kept, pairs, implied, (wanted or {}) if implied else {})

    def __bool__(self) -> bool:
        return bool(self.never or self.order or self.implied)

    def completed(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """The columns with those that others imply computed anew; a value the codebook does not have is refused."""
        found = {name: list(cells) for name, cells in columns.items()}
        for name, rule in self.implied.items():
            column = self.attributes.columns[self.attributes.place(name)]
            rows = (dict(zip(found, cells, strict=True)) for cells in zip(*found.values(), strict=True))
            found[name] = [value_of(column, rule(row)) for row in rows]
        return found

    def kept(self, columns: Mapping[str, Sequence[Any]], rows: int) -> list[int]:
        """The numbers of the rows that keep every rule. A missing value breaks no rule of order."""
        return [row for row in range(rows) if self._keeps({name: cells[row] for name, cells in columns.items()})]

    def _keeps(self, row: Mapping[str, Any]) -> bool:
        names = self.attributes.names
        for first, second in self.order:
            low, high = row[names[first]], row[names[second]]
            if low is not None and high is not None and low > high:
                return False
        fits = all(self._fits(place, each, row[names[place]]) for place, each in self.wanted.items())
        return fits and not any(
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
