"""Three small worlds for SQL: a clinic (one private table, a public one), a shop (links, three private tables), a survey (rows).

Contribution bounds are never reached and every value lies on its grid, so with silent noise an answer is plain SQL's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

import duckdb

from deniable.accounting import budget
from deniable.plan.codebook import Codebook
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.testing import Silent


@dataclass(frozen=True)
class World:
    """A codebook, its tables, and the types plain SQL gives them."""

    codebook: dict[str, Any]
    tables: dict[str, dict[str, list[Any]]]
    types: dict[str, dict[str, str]]


def _mixed(index: int, by: int) -> int:
    """A number that looks shuffled, the same on every machine."""
    return (index * 2654435761 + by * 40503 + (index * index) % 1013) % 104729


def _clinic() -> World:
    count = 600

    def some(by: int, of: list[Any], gap: int = 0) -> list[Any]:
        return [None if gap and _mixed(i, by + 7) % gap == 0 else of[_mixed(i, by) % len(of)] for i in range(count)]

    visits = {
        "patient_id": [_mixed(i, 1) % 90 for i in range(count)],
        "specialty": some(2, ["heart", "skin", "eyes"], 31),
        "duration": some(3, list(range(0, 121, 5)), 23),
        "cost": [_mixed(i, 4) % 4001 / 4 for i in range(count)],
        "city": some(5, ["Oslo", "Rome", "Bern"], 41),
        "urgent": some(6, [True, False], 29),
        "day": [date(2024, 1, 1) + timedelta(days=_mixed(i, 7) % 366) for i in range(count)],
        "seen": [datetime(2024, 3, 1) + timedelta(minutes=_mixed(i, 8) % 40000) for i in range(count)],
    }
    cities = {
        "name": ["Oslo", "Rome", "Bern", "Graz"],
        "country": ["NO", "IT", "CH", "AT"],
        "pop": [700, 2800, 130, 290],
    }
    patients = {
        "patient_id": list(range(90)),
        "born": [1930 + _mixed(i, 9) % 80 for i in range(90)],
        "sex": ["fm"[_mixed(i, 10) % 2] for i in range(90)],
    }
    book = {
        "unit": {"id": "patient_id", "groups": 60, "rows_per_group": 40},
        "tables": {
            "visits": {
                "variables": {
                    "patient_id": "integer",
                    "specialty": {"type": "string", "categories": ["heart", "skin", "eyes"]},
                    "duration": {"type": "integer", "bounds": [0, 120]},
                    "cost": {"type": "number", "bounds": [0, 1000], "step": 0.25},
                    "city": "string",
                    "urgent": "boolean",
                    "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
                    "seen": {"type": "timestamp", "bounds": ["2024-03-01", "2024-04-01"]},
                }
            },
            "patients": {
                "variables": {
                    "patient_id": "integer",
                    "born": {"type": "integer", "bounds": [1900, 2024]},
                    "sex": {"type": "string", "categories": ["f", "m"]},
                }
            },
            "cities": {
                "public": True,
                "variables": {"name": "string", "country": "string", "pop": {"type": "integer", "bounds": [0, 100000]}},
            },
        },
    }
    types = {
        "visits": {
            "patient_id": "BIGINT",
            "specialty": "VARCHAR",
            "duration": "BIGINT",
            "cost": "DECIMAL(12,2)",
            "city": "VARCHAR",
            "urgent": "BOOLEAN",
            "day": "DATE",
            "seen": "TIMESTAMP",
        },
        "patients": {"patient_id": "BIGINT", "born": "BIGINT", "sex": "VARCHAR"},
        "cities": {"name": "VARCHAR", "country": "VARCHAR", "pop": "BIGINT"},
    }
    return World(book, {"visits": visits, "cities": cities, "patients": patients}, types)


def _shop() -> World:
    people, orders, items = 80, 300, 900
    data: dict[str, dict[str, list[Any]]] = {
        "customers": {
            "customer_id": list(range(people)),
            "region": ["north", "south"] * (people // 2),
            "age": [18 + _mixed(i, 1) % 60 for i in range(people)],
        },
        "orders": {
            "order_id": list(range(orders)),
            "customer_id": [_mixed(i, 2) % (people - 5) for i in range(orders)],
            "placed": [date(2023, 1, 1) + timedelta(days=_mixed(i, 3) % 730) for i in range(orders)],
            "status": ["open" if _mixed(i, 4) % 3 else "done" for i in range(orders)],
        },
        "items": {
            "order_id": [_mixed(i, 5) % (orders - 9) for i in range(items)],
            "product_id": [_mixed(i, 6) % 12 for i in range(items)],
            "quantity": [1 + _mixed(i, 7) % 9 for i in range(items)],
            "price": [_mixed(i, 8) % 5000 / 100 for i in range(items)],
        },
        "products": {
            "product_id": list(range(12)),
            "kind": ["book", "toy", "food"] * 4,
            "weight": [i * 3 % 7 for i in range(12)],
        },
    }
    book = {
        "unit": {"id": "customer_id", "groups": 60, "rows_per_group": 200},
        "tables": {
            "customers": {
                "variables": {
                    "customer_id": "integer",
                    "region": {"type": "string", "categories": ["north", "south"]},
                    "age": {"type": "integer", "bounds": [0, 120]},
                }
            },
            "orders": {
                "unit": "customer_id",
                "variables": {
                    "order_id": "integer",
                    "customer_id": "integer",
                    "placed": {"type": "date", "bounds": ["2023-01-01", "2024-12-31"]},
                    "status": {"type": "string", "categories": ["open", "done"]},
                },
            },
            "items": {
                "links": ["order_id -> orders.order_id"],
                "variables": {
                    "order_id": "integer",
                    "product_id": {"type": "integer", "bounds": [0, 11]},
                    "quantity": {"type": "integer", "bounds": [0, 10]},
                    "price": {"type": "number", "bounds": [0, 50], "step": 0.01},
                },
            },
            "products": {
                "public": True,
                "variables": {
                    "product_id": {"type": "integer", "bounds": [0, 11]},
                    "kind": {"type": "string", "categories": ["book", "toy", "food"]},
                    "weight": {"type": "integer", "bounds": [0, 10]},
                },
            },
        },
    }
    types = {
        "customers": {"customer_id": "BIGINT", "region": "VARCHAR", "age": "BIGINT"},
        "orders": {"order_id": "BIGINT", "customer_id": "BIGINT", "placed": "DATE", "status": "VARCHAR"},
        "items": {"order_id": "BIGINT", "product_id": "BIGINT", "quantity": "BIGINT", "price": "DECIMAL(12,2)"},
        "products": {"product_id": "BIGINT", "kind": "VARCHAR", "weight": "BIGINT"},
    }
    return World(book, data, types)


def _survey() -> World:
    count = 400
    answers = {
        "age": [18 + _mixed(i, 1) % 70 for i in range(count)],
        "income": [_mixed(i, 2) % 100 * 1000 for i in range(count)],
        "vote": [["yes", "no", "none"][_mixed(i, 3) % 3] for i in range(count)],
        "score": [None if i % 17 == 0 else _mixed(i, 4) % 11 for i in range(count)],
    }
    book = {
        "unit": "rows",
        "tables": {
            "answers": {
                "variables": {
                    "age": {"type": "integer", "bounds": [18, 100]},
                    "income": {"type": "integer", "bounds": [0, 100000]},
                    "vote": {"type": "string", "categories": ["yes", "no", "none"]},
                    "score": {"type": "integer", "bounds": [0, 10]},
                }
            }
        },
    }
    types = {"answers": {"age": "BIGINT", "income": "BIGINT", "vote": "VARCHAR", "score": "BIGINT"}}
    return World(book, {"answers": answers}, types)


_WORLDS = {"clinic": _clinic, "shop": _shop, "survey": _survey}


@cache
def world(name: str) -> World:
    """One of the worlds."""
    return _WORLDS[name]()


def session(name: str, **options: Any) -> Session:
    """A silent session over a world, with more budget than any test spends."""
    here = world(name)
    data = Dataset(here.tables, codebook=Codebook.from_record(here.codebook), name=name)
    return data.session(budget(epsilon=10**9, delta=0.5), entropy=Silent(), **options)


def plain(name: str) -> duckdb.DuckDBPyConnection:
    """The same tables in plain DuckDB."""
    here = world(name)
    database = duckdb.connect(":memory:")
    for table, columns in here.types.items():
        database.execute(f"CREATE TABLE {table} ({', '.join(f'{c} {t}' for c, t in columns.items())})")
        cells = ", ".join(f"unnest(?::{kind}[])" for kind in columns.values())
        database.execute(f"INSERT INTO {table} SELECT {cells}", [list(here.tables[table][name]) for name in columns])
    return database
