"""Answers from a twin with honest intervals: the noise of what was measured, and what no measurement covers as a term of its own.

A question that touches three columns or more is refused unless their table was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact.figures import NOTHING, text_table, value_figures
from deniable.synth.fitted.conditions import Condition
from deniable.synth.fitted.intervals import expected, group_labels, measured, total_error
from deniable.synth.fitted.joined_cells import group_sums
from deniable.synth.fitted.noise_sizes import sum_quantile
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.fitted.twin_sql import TwinAggregate, TwinQuestion, read_question

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TwinAnswer:
    """Rows of an answer; each output has its value and the ends of its interval, as `name`, `name_low` and `name_high`."""

    rows: tuple[dict[str, Any], ...]
    confidence: float
    basis: str

    def __str__(self) -> str:
        ends = {name + end for name in self._outputs for end in ("_low", "_high")}
        names = [name for name in (self.rows[0] if self.rows else {}) if name not in ends]
        rows = [[self._cell(row, name) for name in names] for row in self.rows]
        lines = text_table(names, rows, keys=len(names) - len(self._outputs))
        return "\n".join([*lines, f"({self.basis}; each interval {self.confidence:.0%})"])

    @property
    def _outputs(self) -> list[str]:
        first = self.rows[0] if self.rows else {}
        return [name for name in first if f"{name}_low" in first and f"{name}_high" in first]

    def _cell(self, row: dict[str, Any], name: str) -> str:
        if name not in self._outputs:
            return str(row[name])
        return NOTHING if row[name] is None else value_figures(row[name], row[f"{name}_low"], row[f"{name}_high"])

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False)
class _Factor:
    """What a column contributes to a sum at each of its levels: on average, at least, at most."""

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """The table behind an answer: what was released for it, and how far sums over it can be off."""

    estimate: Floats
    centre: Floats
    table: Marginal | None
    distance: float
    apart: float

    def half(self, values: Floats, chance: float) -> float:
        """How far the sum of `values` times counts can be from that of the centre."""
        if self.table is not None:
            return sum_quantile([(self.table, values)], chance)
        middle = float(values.max() + values.min()) / 2
        return float(values.max() - values.min()) / 2 * self.distance + abs(middle) * self.apart


def ask(model: RecordModel, stored: TwinMeasurements, text: str, *, confidence: float = 0.95) -> TwinAnswer:
    """The answer to a question in SQL, with intervals; refused where they would be guesses."""
    question = read_question(text, stored.attributes)
    places = question.places
    if len(places) > 2 and measured(stored, places) is None:
        names = ", ".join(stored.attributes.names[place] for place in places)
        raise InvalidArgument(
            f"this touches {len(places)} columns ({names}), and no released table covers them together: its intervals would be "
            "guesses; explore with twin.frame(), or ask the data in a session"
        )
    chance = 1 - confidence
    grounds, basis = _ground(model, stored, places, chance / 2)
    keys = _keys(stored, question, places)
    rows = []
    for key, labels in keys:
        row: dict[str, Any] = dict(
            zip((stored.attributes.names[place] for place in question.keys), labels, strict=True)
        )
        for output in question.outputs:
            value, low, high = _output(model, stored, question, output, places, key, grounds, chance / 2)
            row |= {output.name: value, f"{output.name}_low": low, f"{output.name}_high": high}
        rows.append(row)
    return TwinAnswer(tuple(rows), confidence, basis)


def _ground(
    model: RecordModel, stored: TwinMeasurements, places: tuple[int, ...], chance: float
) -> tuple[_Ground, str]:
    off = total_error(stored, chance / 2)
    if not places:
        whole = np.array([model.total])
        return _Ground(whole, whole, None, 0.0, off), "the noisy number of rows"
    estimate = model.table(places) if len(places) == 1 else model.group_table(places)
    table = measured(stored, places)
    if table is not None:
        return _Ground(estimate, table.counts.astype(float), table, 0.0, 0.0), "measured"
    pair = (min(places), max(places))
    if len(places) == 2 and pair in stored.scores:
        product = expected(stored, pair)
        product = product if places == pair else product.T
        distance = stored.scores[pair] + NormalDist().inv_cdf(1 - chance / 2) * float(stored.score_scale) + 0.5
        apart = abs(float(product.sum()) - model.total) + off
        return _Ground(estimate, product, None, max(distance, 0.0), apart), "implied: by its score, not measured itself"
    names = " and ".join(stored.attributes.names[place] for place in places)
    raise InvalidArgument(f"no released table covers {names}: an interval would be a guess; explore with twin.frame()")


def _keys(
    stored: TwinMeasurements, question: TwinQuestion, places: tuple[int, ...]
) -> list[tuple[dict[int, int], list[str]]]:
    """For every group the level of each key, and its labels."""
    found: list[tuple[dict[int, int], list[str]]] = [({}, [])]
    for place in question.keys:
        labels = group_labels(stored, place, cells=len(places) == 1)
        found = [({**key, place: at}, [*said, label]) for key, said in found for at, label in enumerate(labels)]
    return found


def _output(
    model: RecordModel,
    stored: TwinMeasurements,
    question: TwinQuestion,
    output: TwinAggregate,
    places: tuple[int, ...],
    key: dict[int, int],
    ground: _Ground,
    chance: float,
) -> tuple[float | None, float | None, float | None]:
    """A value with the ends of its interval; an average that may be anything within its bounds has no value."""

    def functional(shift: float | None) -> tuple[float, float, float]:
        factors = [
            _factor(model, stored, question.where, output, place, key, len(places) == 1, shift) for place in places
        ]
        return _sum(ground, factors, chance)

    if output.function != "avg":
        value, low, high = functional(0.0 if output.function == "sum" else None)
        return (value, max(low, 0.0), max(high, 0.0)) if output.function == "count" else (value, low, high)
    assert output.place is not None
    floor, ceiling = _ends(stored, output.place)
    count, fewest, _ = functional(None)
    total = functional(0.0)[0]
    if not count > 0 or not fewest > 0:
        return None, floor, ceiling
    mean = min(max(total / count, floor), ceiling)
    _, low, high = functional(mean)
    low, high = max(mean + min(low / fewest, 0.0), floor), min(mean + max(high / fewest, 0.0), ceiling)
    return (mean if (low, high) != (floor, ceiling) or floor == ceiling else None), low, high


def _ends(stored: TwinMeasurements, place: int) -> tuple[float, float]:
    """The least and the largest value of a column, from the codebook."""
    least, most = stored.attributes.columns[place].bounds()
    return float(min(least)), float(max(most))


def _sum(ground: _Ground, factors: list[_Factor], chance: float) -> tuple[float, float, float]:
    """The model's sum, and an interval: noise around what was released, and the spread within levels on top."""
    mean: Floats = np.ones(1)
    low: Floats = np.ones(1)
    high: Floats = np.ones(1)
    for factor in factors:
        mean = np.multiply.outer(mean, factor.mean)
        ends = [np.multiply.outer(a, b) for a in (low, high) for b in (factor.low, factor.high)]
        low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    mean, low, high = (part.reshape(ground.estimate.shape) for part in (mean, low, high))
    value = float((mean * ground.estimate).sum())
    half = ground.half(mean, chance)
    counts = np.maximum(ground.centre, 0.0)
    over, under = float(((high - mean) * counts).sum()), float(((mean - low) * counts).sum())
    middle = float((mean * ground.centre).sum())
    over, under = over + ground.half(high - mean, chance), under + ground.half(mean - low, chance)
    return value, min(value, middle - half - under), max(value, middle + half + over)


def _factor(
    model: RecordModel,
    stored: TwinMeasurements,
    where: dict[int, Condition],
    output: TwinAggregate,
    place: int,
    key: dict[int, int],
    at_cells: bool,
    shift: float | None,
) -> _Factor:
    """What each level of a column contributes: its share under the condition, times its value (less `shift`) where it is summed."""
    column = stored.attributes.columns[place]
    share = where[place].share(column) if place in where else np.ones(column.size)
    low, high = (share >= 1).astype(float), (share > 0).astype(float)
    mean = share
    if output.place == place:
        present = np.arange(column.size) < column.present
        mean, low, high = (part * present for part in (mean, low, high))
        if shift is not None:
            least, most = (np.append(part, [0.0] * column.missing) - shift * present for part in column.bounds())
            mean = mean * (least + most) / 2
            low, high = (
                np.minimum.reduce([least * low, least * high, most * low, most * high]),
                np.maximum.reduce([least * low, least * high, most * low, most * high]),
            )
    if not at_cells:
        mean, low, high = _levels(model, place, mean, low, high)
    if place in key:
        only = np.arange(mean.size) == key[place]
        mean, low, high = mean * only, low * only, high * only
    return _Factor(mean, low, high)


def _levels(model: RecordModel, place: int, mean: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """From cells to groups: the mean as cells are spread, the ends over every cell of the group."""
    group = np.array(model.groups[place])
    count = int(group.max()) + 1
    least, most = np.full(count, inf), np.full(count, -inf)
    np.minimum.at(least, group, low)
    np.maximum.at(most, group, high)
    return group_sums(group, model.within[place] * mean), least, most
