"""Tiny private tables for models, and a run on one data set that is replayed on its neighbour, step by step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import deniable as dp
from deniable.core.compositor import Compositor
from deniable.cost import DiscreteLaplace, Exponential, Gaussian
from deniable.engines.engine import RowTable
from deniable.engines.reference import ReferenceEngine
from deniable.models.unit_totals import PrivateRows
from deniable.plan.codebook import Codebook
from deniable.testing import Silent

VARIABLES = """
      age: {type: integer, bounds: [0, 40]}
      height: {type: number, bounds: [-1, 2], step: 0.125}
      sex: {type: string, categories: [f, m]}
      town: {type: string, categories: [a, b, c]}
      smoker: {type: boolean}
      wage: {type: integer, bounds: [-10, 50]}
"""
ROW_BOOK = f"name: people\nunit: rows\ntables:\n  people:\n    variables:{VARIABLES}"
CHANGED_BOOK = ROW_BOOK.replace("unit: rows", "unit: changed rows")
UNIT_BOOK = (
    "name: people\nunit: {id: who, groups: 1, rows_per_group: 3}\ntables:\n  people:\n    variables:"
    f"\n      who: {{type: integer}}{VARIABLES}"
)
COLUMNS = ("age", "height", "sex", "town", "smoker", "wage")


def book(text=ROW_BOOK):
    return Codebook.from_yaml(text)


def session(rows, *, text=ROW_BOOK, epsilon=1000, delta=1e-4, entropy=None, **kwargs):
    known = book(text)
    return dp.Dataset(ReferenceEngine({"people": rows}, known, key=7), codebook=known).session(
        dp.budget(epsilon=epsilon, delta=delta), entropy=entropy, **kwargs
    )


def people(count, seed=0, *, who=False):
    """Public made-up rows with a pattern in them."""
    rng = np.random.default_rng(seed)  # noqa: TID251
    age, town = rng.integers(0, 41, count), rng.integers(0, 3, count)
    smoker = rng.random(count) < 1 / (1 + np.exp(-(age - 20) / 5.0))
    wage = np.clip(np.rint(age - 5 + 5 * (town == 1) + rng.normal(0, 4, count)), -10, 50)
    rows = {
        "age": age.tolist(),
        "height": (np.rint(rng.uniform(-1, 2, count) * 8) / 8).tolist(),
        "sex": rng.choice(["f", "m"], count).tolist(),
        "town": np.array(["a", "b", "c"])[town].tolist(),
        "smoker": smoker.tolist(),
        "wage": wage.astype(int).tolist(),
    }
    return {"who": rng.integers(0, max(count // 2, 1), count).tolist(), **rows} if who else rows


ENDS = {"age": (0, 40), "height": (-8, 16), "sex": (0, 1), "town": (0, 2), "smoker": (0, 1), "wage": (-10, 50)}


def table(reading, rows, units=None):
    """Codes (one tuple of COLUMNS for each row) as an engine hands them out."""
    names = [name for name in reading.space.domain.columns if name != "unit"]
    cells = {name: np.array([row[COLUMNS.index(name)] for row in rows], dtype=np.int64) for name in names}
    labels = None if units is None else np.array(units, dtype=np.int64)
    order = np.arange(len(rows)) if labels is None else np.argsort(labels, kind="stable")
    missing = {name: np.zeros(len(rows), dtype=bool) for name in names}
    cells = {name: column[order] for name, column in cells.items()}
    return RowTable(None if labels is None else labels[order], cells, missing)


def codes(rows):
    """Made-up rows as tuples of codes."""
    places = {"sex": ["f", "m"], "town": ["a", "b", "c"]}
    cells = {name: [places[name].index(cell) for cell in column] for name, column in rows.items() if name in places}
    cells |= {"age": rows["age"], "wage": rows["wage"], "smoker": [int(cell) for cell in rows["smoker"]]}
    cells["height"] = [round(cell * 8) for cell in rows["height"]]
    return list(zip(*(cells[name] for name in COLUMNS), strict=True))


def trained(model, rows, *, multiplier, entropy):
    """A fit without a session and its engine, which takes its time over thousands of rows."""
    reading = model.reading(book())
    return model.at(reading, multiplier).function(table(reading, codes(rows)), entropy)


def replayed(monkeypatch, mechanism, left, right):
    """Every inner answer on `left` (without noise) beside what the same question gives on `right`, with its declared cost.

    The second run is given the first one's answers, so both must come to the same model: all they know of the rows are these.
    """
    answers, pairs = [], []

    def first(self, asked):
        self.gate.charge(asked.privacy_map(Fraction(1)))
        answers.append(asked.function(self._data, Silent()))
        return answers[-1]

    def second(self, asked):
        found = asked.function(self._data, Silent())
        pairs.append((answers[len(pairs)], found, asked.cost(d_in=1)))
        return pairs[-1][0]

    monkeypatch.setattr(Compositor, "release", first)
    known = mechanism.function(left, Silent())
    monkeypatch.setattr(Compositor, "release", second)
    same = repr(mechanism.function(right, Silent())) == repr(known)
    monkeypatch.undo()
    assert same, "the model knows more of the rows than the answers tell"
    assert len(pairs) == len(answers) > 0
    return pairs


def within(left, right, cost):
    """Whether two exact totals are as near as the cost of the noise on them says."""
    gap = np.asarray(left).astype(object) - np.asarray(right).astype(object)
    match cost:
        case Gaussian():
            return sum(entry * entry for entry in gap.ravel()) <= cost.squared_sensitivity
        case DiscreteLaplace():
            return sum(abs(entry) for entry in gap.ravel()) <= cost.sensitivity
        case Exponential():
            return True
        case _:
            raise AssertionError(f"no rule for {cost!r}")


__all__ = ["PrivateRows", "people", "replayed", "session", "table", "within"]
