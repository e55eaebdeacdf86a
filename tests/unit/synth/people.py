"""Small private tables for the tests of synthetic data: one with one row per person, one with several."""

from __future__ import annotations

from datetime import date

import numpy as np

import deniable as dp
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook

BOOK = """
name: people
unit: {id: who, groups: 1, rows_per_group: 2}
tables:
  people:
    variables:
      who: {type: integer}
      sex: {type: string, categories: [f, m], missing: {category: f}}
      town: {type: string, categories: [a, b, c], other: rest}
      age: {type: integer, bounds: [0, 9]}
      pay: {type: number, bounds: [0, 1000], step: 0.5, bins: [0, 10, 100, 1000]}
      since: {type: date, bounds: [2020-01-01, 2020-12-31]}
      works: {type: boolean}
"""
COLUMNS = ["sex", "town", "age", "pay", "since", "works"]


def people_rows(count: int, seed: int = 1, per_unit: int = 3) -> dict[str, list[object]]:
    """Made-up rows: `count` units with up to `per_unit` rows each; age depends on sex, pay on age."""
    random = np.random.default_rng(seed)  # noqa: TID251 - made-up rows
    rows: dict[str, list[object]] = {name: [] for name in ["who", *COLUMNS]}
    for who in range(count):
        for _ in range(int(random.integers(1, per_unit + 1))):
            sex = "fm"[int(random.integers(2))]
            age = int(np.clip(random.normal(3 if sex == "f" else 6, 2), 0, 9))
            rows["who"].append(who)
            rows["sex"].append(sex)
            rows["town"].append(["a", "b", "c", "x", None][int(random.integers(5))])
            rows["age"].append(None if random.random() < 0.05 else age)
            rows["pay"].append(float(np.round(age * 50 * random.random(), 1)))
            rows["since"].append(date(2020, int(random.integers(1, 13)), 3))
            rows["works"].append(bool(age > 4))
    return rows


def people(rows: dict[str, list[object]], book: str = BOOK) -> dp.Dataset:
    """A data set on the reference engine."""
    read = Codebook.from_yaml(book)
    return dp.Dataset(ReferenceEngine({"people": rows}, read, key=7), codebook=read)


def wide_book() -> str:
    """Rows that are people of their own, with the same columns."""
    return BOOK.replace("unit: {id: who, groups: 1, rows_per_group: 2}", "unit: rows").replace(
        "      who: {type: integer}\n", ""
    )
