"""The data behind `tests.mistakes`: flights, planes, and files that are made where a test may write."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import deniable as dp

BOOK: dict[str, Any] = {
    "name": "air",
    "unit": {"id": "tail", "groups": 2, "rows_per_group": 3},
    "tables": {
        "flights": {
            "variables": {
                "tail": "integer",
                "tail2": "string",
                "year": {"type": "integer", "bounds": [2000, 2015]},
                "origin": {"type": "string", "categories": ["EWR", "JFK", "LGA"]},
                "delay": {"type": "number", "bounds": [-60, 240]},
                "free": {"type": "number", "step": 0.25},
                "late": "boolean",
                "Body Mass (g)": {"type": "integer", "bounds": [0, 9000]},
            }
        },
        "planes": {"variables": {"tail": "integer", "seats": {"type": "integer", "bounds": [0, 500]}}},
    },
}
COUNT = 60
FLIGHTS = {
    "tail": list(range(COUNT)),
    "tail2": ["x"] * COUNT,
    "year": [2008] * COUNT,
    "origin": ["JFK", "EWR", "LGA"] * (COUNT // 3),
    "delay": [10.0] * COUNT,
    "free": [1.0] * COUNT,
    "late": [True, False] * (COUNT // 2),
    "Body Mass (g)": [4000] * COUNT,
}
PLANES = {"tail": list(range(COUNT)), "seats": [100] * COUNT}
SMALL = {
    "name": "x",
    "unit": {"id": "a", "groups": 1, "rows_per_group": 1},
    "table": "x",
    "variables": {"a": "integer"},
}


def names(folder: Path) -> dict[str, Any]:
    """What the code of a mistake may use; files are made in `folder`."""
    rows = {"flights": FLIGHTS, "planes": PLANES}
    data = dp.Dataset(rows, codebook=BOOK)
    wider = copy.deepcopy(BOOK)
    wider["tables"]["flights"]["variables"]["delay"]["bounds"] = [-90, 240]

    def text(content: str, name: str = "a.csv") -> Any:
        (folder / name).write_text(content)
        return dp.TextFile(folder / name)

    def closed() -> Any:
        gone = dp.Dataset(rows, codebook=BOOK)
        session = gone.session(dp.budget(epsilon=9))
        gone.close()
        return session

    def moved() -> Any:
        import duckdb

        path = folder / "moved.parquet"
        duckdb.sql("SELECT 1 AS a").write_parquet(str(path))
        session = dp.Dataset(path, codebook=SMALL).session(dp.budget(epsilon=9))
        os.rename(path, folder / "elsewhere.parquet")
        return session

    def kept() -> Path:
        budget = dp.budget(epsilon=9, delta=1e-6)
        data.session(budget, ledger=folder / "l").query("flights").agg(n=dp.count()).release(epsilon=1)
        return folder / "l"

    def model() -> Any:
        session = data.session(dp.budget(epsilon=9, delta=1e-6))
        return dp.models.LinearRegression("delay", features=["year"], table="flights").fit(session, epsilon=8)

    text("tail,x\n1,2\n", "flights.csv")
    return Lazily(
        dp=dp, np=np, pd=pd, data=data, rows=rows, book=BOOK, wider=wider, small=SMALL, text=text,
        book_text=data.codebook.to_yaml(),
        s=lambda: data.session(dp.budget(epsilon=100)), other=lambda: data.session(dp.budget(epsilon=100)),
        closed=closed, moved=moved, kept=kept, model=model,
    )  # fmt: skip


class Lazily(dict[str, Any]):
    """Names of which some are made when they are first asked for."""

    _MADE = ("s", "other", "closed", "moved", "kept", "model")

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if name in self._MADE and callable(found) and not isinstance(found, dp.Session):
            found = self[name] = found()
        return found
