"""Open categories: values of a text column that nobody declared, kept where enough units have them; the rest is "other".

Guarantee: noise on numbers of units, charged to the synthesizer's own filter, and a delta, named in its price: the chance that a
value which one unit alone has is shown. `docs/theory/open-categories.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core.compositor import Compositor, grouped
from deniable.core.gate import PrivacyFilter
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.cost import Bounded, composed
from deniable.engines.table_space import PrivateTables
from deniable.errors import EngineFailed, InvalidArgument
from deniable.exact.guards import integer, shown
from deniable.kernels import Noise, Sensitivity
from deniable.kernels.key_threshold import key_threshold
from deniable.mechanisms.additive import noisy_values
from deniable.noise import Entropy
from deniable.plan.expression import Column
from deniable.plan.facts import Kind
from deniable.plan.nodes import Bounding, GroupAgg, KeyColumn, Relation, Units
from deniable.plan.sensitivity import sensitivities
from deniable.synth.attribute import CELLS, Attribute
from deniable.synth.measured.allowance import Allowance
from deniable.synth.measured.cells_of_codebook import column_facts

OPENING = 0.1
"""The share of the whole that finding the values of all open columns costs."""
OTHER = "other"
"""What stands for every value that was not kept."""


@dataclass(frozen=True, slots=True)
class OpenColumn:
    """A text column without declared categories: its place, at most how many values are kept, and the plan that counts units."""

    place: int
    name: str
    most: int
    plan: GroupAgg
    missing: bool

    @property
    def moved(self) -> Sensitivity:
        """How far one unit moves the numbers of units."""
        return sensitivities(self.plan)["units"]

    def attribute(self, kept: Sequence[str] = ()) -> Attribute:
        """The column with the values that were kept, and one more for all others."""
        labels = (*(label for label in kept if label != OTHER), OTHER)
        return Attribute(self.name, "string", labels=labels, missing=self.missing, open=True)

    def widest(self) -> Attribute:
        """The column as it may be at most, for sizes and prices."""
        return self.attribute([f"value {place}" for place in range(self.most)])

    def noise(self, allowance: Allowance, columns: int) -> Noise:
        """The noise on the numbers of units, one of so many open columns."""
        return allowance.noise(OPENING / columns, self.moved)

    def threshold(self, allowance: Allowance, columns: int) -> int:
        """The least noisy number of units that shows a value."""
        delta = allowance.delta / columns
        return key_threshold(delta, noise=self.noise(allowance, columns), apart=self.moved)

    def kept(self, data: Any, allowance: Allowance, columns: int, entropy: Entropy) -> list[str]:
        """The values that pass, those with the most units if there are too many, in the order of their letters."""
        values, units = _found(data, self.plan)
        noisy = noisy_values(units, noise=self.noise(allowance, columns), entropy=entropy)
        passed = np.flatnonzero(noisy >= self.threshold(allowance, columns)).tolist()
        best = sorted(passed, key=lambda place: (-int(noisy[place]), values[place]))[: self.most]
        return sorted(values[place] for place in best)


def opened_attributes(
    columns: Sequence[OpenColumn],
    data: Any,
    space: Space,
    allowance: Allowance,
    gate: PrivacyFilter,
    entropy: Entropy,
) -> dict[int, Attribute]:
    """Every open column with its values, found one after another behind the filter of the synthesizer.

    Guarantee: each costs its noise and its part of the delta, both charged to `gate` before the data is read.
    """
    behind = Compositor(data, space, gate, Fraction(1), entropy)
    count = len(columns)
    return {each.place: each.attribute(behind.release(_finding(each, space, allowance, count))) for each in columns}


def _finding(column: OpenColumn, space: Space, allowance: Allowance, count: int) -> Mechanism:
    """The mechanism that finds the values of one of `count` open columns."""
    leak = Bounded(epsilon=0, delta=allowance.delta / count)
    cost = composed([column.noise(allowance, count).cost(column.moved), leak])

    def function(data: Any, entropy: Entropy) -> list[str]:
        return column.kept(data, allowance, count, entropy)

    return Mechanism(space, function, lambda d_in: grouped(cost, d_in))


def open_columns(
    source: Relation, names: Sequence[str], asked: Mapping[str, int] | Sequence[str] | str, *, rows: int
) -> tuple[OpenColumn, ...]:
    """The open columns among the columns of a synthesizer; `rows` is how many values one unit may have at most."""
    most = asked if isinstance(asked, Mapping) else dict.fromkeys([asked] if isinstance(asked, str) else asked, CELLS)
    found = []
    for name, count in most.items():
        if name not in names:
            raise InvalidArgument(f"open= names {shown(name)}, which is not among the columns {', '.join(names)}")
        known = column_facts(source, name)
        if known.kind is not Kind.STRING or known.categories is not None:
            raise InvalidArgument(f"open= is for text without declared categories, and {name} is none")
        keys = (KeyColumn("value", Column(name)),)
        plan = GroupAgg(source, keys, Bounding(groups=rows), (("units", Units()),))
        least = integer(least=1, **{f"open categories of {name}": count})
        found.append(OpenColumn(list(names).index(name), name, least, plan, known.nullable))
    return tuple(found)


def _found(data: Any, plan: GroupAgg) -> tuple[list[str], Any]:
    """The values there are and the units of each, in the order of their letters; private."""
    if not isinstance(data, PrivateTables):
        raise EngineFailed
    result = data.run(plan)
    pairs = sorted(zip(map(str, result.keys["value"]), result.columns["units"].tolist(), strict=True))
    return [value for value, _ in pairs], np.array([units for _, units in pairs], dtype=np.int64)
