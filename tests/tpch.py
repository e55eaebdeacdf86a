"""TPC-H at scale 0.01, with the customer as the unit: data, query texts and the codebook.

The data comes from `tpchgen-cli`, the texts from the DuckDB extension that carries them, loaded by path into the older DuckDB
it was built for. Both are installed into an environment of their own when first asked for; neither is part of the repository.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

import dev
from benchmarks.peers import peer
from tests.needs import without

PACKAGES = ("tpchgen-cli==4.0.0", "duckdb==1.5.5", "duckdb-extension-tpch==1.5.5")
TABLES = ("customer", "orders", "lineitem", "part", "partsupp", "supplier", "nation", "region")

_TEXTS = """
import json, pathlib, sys
import duckdb, duckdb_extension_tpch
extension = next(pathlib.Path(duckdb_extension_tpch.__file__).parent.rglob("*.duckdb_extension"))
database = duckdb.connect()
database.load_extension(str(extension))
texts = dict(database.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
pathlib.Path(sys.argv[1]).write_text(json.dumps(texts))
"""


@cache
def folder() -> Path:
    """Where the eight Parquet files and `queries.json` are; made once, by whichever process comes first."""
    import fcntl

    with (dev.ROOT / "dev.py").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = peer("tpch", *PACKAGES)
        if python is None:
            without("TPC-H (tpchgen-cli and duckdb-extension-tpch)")
        place = python.parents[1] / "scale-0.01"
        if not (place / "queries.json").exists():
            _make(python, place)
        return place


def _make(python: Path, place: Path) -> None:
    command = [python.with_name("tpchgen-cli"), "parquet", "-s", "0.01", "--overwrite", "--output-dir", place]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run([python, "-c", _TEXTS, place / "queries.json"], check=True, capture_output=True)


def files() -> dict[str, str]:
    """The file of each table."""
    return {name: str(folder() / f"{name}.parquet") for name in TABLES}


@cache
def plain() -> duckdb.DuckDBPyConnection:
    """The tables in a plain database, without privacy."""
    database = duckdb.connect()
    for name, path in files().items():
        database.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{path}')")
    return database


def queries() -> dict[int, str]:
    """The 22 texts by number."""
    texts = json.loads((folder() / "queries.json").read_text(encoding="utf-8"))
    return {int(number): text for number, text in sorted(texts.items(), key=lambda entry: int(entry[0]))}


def _money(lower: float, upper: float) -> dict[str, Any]:
    return {"type": "decimal", "bounds": [lower, upper], "step": 0.01}


def _whole(lower: int, upper: int) -> dict[str, Any]:
    return {"type": "integer", "bounds": [lower, upper]}


def _among(*values: str) -> dict[str, Any]:
    return {"type": "string", "categories": list(values)}


_DAY = {"type": "date", "bounds": ["1992-01-01", "1998-12-31"]}
_NATIONS = (
    "ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY", "INDIA", "INDONESIA", "IRAN", "IRAQ",
    "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE", "PERU", "CHINA", "ROMANIA", "SAUDI ARABIA", "VIETNAM", "RUSSIA",
    "UNITED KINGDOM", "UNITED STATES",
)  # fmt: skip

BOOK: dict[str, Any] = {
    "name": "tpch",
    "unit": {"id": "c_custkey", "groups": 200, "rows_per_group": 140},
    "tables": {
        "customer": {
            "variables": {
                "c_custkey": "integer",
                "c_name": "string",
                "c_address": "string",
                "c_nationkey": _whole(0, 24),
                "c_phone": "string",
                "c_acctbal": _money(-1000, 10000),
                "c_mktsegment": _among("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"),
                "c_comment": "string",
            }
        },
        "orders": {
            "unit": "o_custkey",
            "variables": {
                "o_orderkey": "integer",
                "o_custkey": "integer",
                "o_orderstatus": _among("F", "O", "P"),
                "o_totalprice": _money(0, 1000000),
                "o_orderdate": _DAY,
                "o_orderpriority": _among("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"),
                "o_clerk": "string",
                "o_shippriority": _whole(0, 0),
                "o_comment": "string",
            },
        },
        "lineitem": {
            "links": ["l_orderkey -> orders.o_orderkey"],
            "variables": {
                "l_orderkey": "integer",
                "l_partkey": "integer",
                "l_suppkey": _whole(1, 100),
                "l_linenumber": _whole(1, 7),
                "l_quantity": _whole(1, 50),
                "l_extendedprice": _money(0, 110000),
                "l_discount": _money(0, 0.1),
                "l_tax": _money(0, 0.08),
                "l_returnflag": _among("A", "N", "R"),
                "l_linestatus": _among("F", "O"),
                "l_shipdate": _DAY,
                "l_commitdate": _DAY,
                "l_receiptdate": _DAY,
                "l_shipinstruct": _among("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"),
                "l_shipmode": _among("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"),
                "l_comment": "string",
            },
        },
        "part": {
            "public": True,
            "variables": {
                "p_partkey": "integer",
                "p_name": "string",
                "p_mfgr": "string",
                "p_brand": "string",
                "p_type": "string",
                "p_size": _whole(1, 50),
                "p_container": "string",
                "p_retailprice": _money(0, 3000),
                "p_comment": "string",
            },
        },
        "partsupp": {
            "public": True,
            "variables": {
                "ps_partkey": "integer",
                "ps_suppkey": "integer",
                "ps_availqty": _whole(0, 10000),
                "ps_supplycost": _money(0, 1000),
                "ps_comment": "string",
            },
        },
        "supplier": {
            "public": True,
            "variables": {
                "s_suppkey": "integer",
                "s_name": "string",
                "s_address": "string",
                "s_nationkey": _whole(0, 24),
                "s_phone": "string",
                "s_acctbal": _money(-1000, 10000),
                "s_comment": "string",
            },
        },
        "nation": {
            "public": True,
            "variables": {
                "n_nationkey": _whole(0, 24),
                "n_name": _among(*_NATIONS),
                "n_regionkey": _whole(0, 4),
                "n_comment": "string",
            },
        },
        "region": {
            "public": True,
            "variables": {
                "r_regionkey": _whole(0, 4),
                "r_name": _among("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"),
                "r_comment": "string",
            },
        },
    },
}
"""What the benchmark's own specification says about the columns; contribution bounds that nobody reaches."""
