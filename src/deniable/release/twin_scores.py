"""What a twin is worth on the real data: charged numbers, with what noise does to them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.cost import Cost
from deniable.engines.table_space import table_space
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real
from deniable.ledger.receipt import Receipt
from deniable.plan.nodes import Relation
from deniable.plan.relation import schema
from deniable.release.twin import Twin
from deniable.release.value import ValueRelease
from deniable.synth.attribute import Attribute
from deniable.synth.fitted.cell_regression import CellRegression, area_under_curve, train
from deniable.synth.fitted.record_model import Floats
from deniable.synth.fitted.twin_randomness import ReleasedWords
from deniable.synth.measured.cells_of_codebook import private_rows
from deniable.synth.measured.coded import cell_rows, row_order
from deniable.synth.measured.on_data import OnData, score_table, table_distances, workload

if TYPE_CHECKING:
    from deniable.release.session_mechanisms import MechanismSession

_ROWS, _BINS = 20_000, 40


@dataclass(frozen=True, slots=True)
class TwinScores:
    """Noisy numbers about a twin on the real data. `within` is how far noise moves each, 95 times in 100."""

    values: dict[str, float]
    within: dict[str, float]
    guarantee: str
    receipt: Receipt

    @property
    def cost(self) -> Cost:
        """What it cost, as a record."""
        return self.receipt.cost

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __str__(self) -> str:
        lines = [f"{name}: {value:.4f} ± {self.within[name]:.4f}" for name, value in self.values.items()]
        return "\n".join([*lines, self.guarantee, str(self.receipt)])

    __repr__ = __str__


def on_data(
    session: MechanismSession,
    twin: Twin,
    table: str | Relation | None,
    rows: int | None,
    *,
    first: str | None = None,
    last: str | None = None,
) -> OnData:
    """The session's table, or the rows of a question, read in the twin's own cells."""
    source = private_rows(session.codebook, table)
    known = schema(source)
    missing = [name for name in twin.columns if name not in known]
    if missing:
        raise InvalidArgument(
            f"the twin has a column {missing[0]!r} and these rows have not; evaluate it on its own data, with the table= or the "
            "question it was made of"
        )
    order = row_order(session.codebook, source, first, last)
    read, moved, reading = cell_rows(session.codebook, source, twin.measurements.attributes, rows=rows, order=order)
    return OnData(table_space(session.codebook), read, moved, reading)


def distances_on_data(
    session: MechanismSession, twin: Twin, on: OnData, *, epsilon: Real, request: str | None
) -> TwinScores:
    """Mean distances (TVD) between the twin's tables and the data's, of one, two and three columns."""
    stored = twin.measurements
    orders = [order for order in (1, 2, 3) if workload(stored, order)]
    family = table_distances(on, stored, twin.model, orders, _what("distances", twin, {"orders": orders}))
    answer = _value(session, family, epsilon, request)
    *sums, count = (float(each) for each in answer.value["counts"])
    total = max(count, 1.0)
    half = log(20) * float(answer.value["scale"])
    values = {
        f"{order}-way TVD": min(max(found, 0.0) / (2 * total), 1.0) for order, found in zip(orders, sums, strict=True)
    }
    return TwinScores(values, dict.fromkeys(values, half / total), answer.guarantee, answer.receipt)


def teaching_on_data(
    session: MechanismSession,
    twin: Twin,
    on: OnData,
    *,
    target: str,
    positive: str | None,
    epsilon: Real,
    request: str | None,
) -> TwinScores:
    """A logistic regression trained on synthetic rows, tried on real ones: accuracy and area under the curve."""
    stored = twin.measurements
    place = stored.attributes.place(target)
    wanted = _wanted(stored.attributes.columns[place], positive)
    regression, cuts = _taught(twin, place, wanted)
    what = _what("teaching", twin, {"target": target, "wanted": wanted})
    answer = _value(session, score_table(on, stored, regression, cuts, place, wanted, what), epsilon, request)
    noisy, scale = np.asarray(answer.value["counts"], dtype=float), float(answer.value["scale"])
    table, total = np.maximum(noisy, 0.0), max(float(noisy.sum()), 1.0)
    values = {"accuracy": _accuracy(noisy, cuts, total), "AUC": area_under_curve(table[1], table[0])}
    half = 1.96 * scale * sqrt(2 * table.size) / total
    smaller = max(float(table.sum(axis=1).min()), 1.0)
    within = {"accuracy": half, "AUC": min(1.96 * scale * sqrt(2 * table.size) / smaller, 0.5)}
    return TwinScores(values, within, answer.guarantee, answer.receipt)


def _accuracy(table: Floats, cuts: Sequence[float], total: float) -> float:
    first = int(np.searchsorted(np.array(cuts), 0.0, side="right"))  # bins from here on predict the class
    right = float(table[1, first:].sum() + table[0, :first].sum())
    return min(max(right / total, 0.0), 1.0)


def _taught(twin: Twin, target: int, wanted: Sequence[int]) -> tuple[CellRegression, list[float]]:
    """The regression, and cuts of its score: even odds, and quantiles of what it gives synthetic rows."""
    stored, model = twin.measurements, twin.model
    cells = model.cells(_ROWS, ReleasedWords(f"train {json.dumps(stored.to_record(), sort_keys=True)}"))
    groups = [np.array(each)[column] for each, column in zip(stored.groups, cells, strict=True)]
    sizes = stored.group_sizes(range(len(cells)))
    places = [place for place in range(len(cells)) if place != target]
    regression = train(groups, sizes, np.isin(cells[target], wanted), places)
    scores = regression.scores(groups)
    cuts = sorted({0.0, *np.quantile(scores, np.arange(1, _BINS) / _BINS).tolist()})
    return regression, cuts


def _wanted(column: Attribute, positive: str | None) -> list[int]:
    if not column.labels:
        raise InvalidArgument(
            f"target {column.name} must have categories; give numbers a category of their own in the codebook"
        )
    if positive is None:
        if len(column.labels) != 2:
            raise InvalidArgument(
                f"target {column.name} has {len(column.labels)} categories: say positive=, the one to predict"
            )
        return [1]
    if positive not in column.labels:
        raise InvalidArgument(f"positive must be one of {', '.join(column.labels)}, got {positive!r}")
    return [column.labels.index(positive)]


def _what(name: str, twin: Twin, told: dict[str, Any]) -> str:
    stored = json.dumps(twin.measurements.to_record(), sort_keys=True)
    return f"{name}({hashlib.sha256(stored.encode()).hexdigest()}, {json.dumps(told, sort_keys=True)})"


def _value(session: MechanismSession, family: Any, epsilon: Real, request: str | None) -> ValueRelease:
    answer = session.release(family, epsilon=epsilon, request=request)
    assert isinstance(answer, ValueRelease)
    return answer
