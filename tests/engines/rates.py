"""The exactness gate as a rate: every corpus on every engine, answered exactly, refused or wrong.

`python -m tests.engines.rates` prints the table of `docs/engines.md`; it starts a PostgreSQL and a Spark and takes minutes.
Exact is what plain SQL says of the same query on the same tables; where keys come from the data, groups of few units are
hidden, and those shown must be exact.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from deniable.accounting import budget
from deniable.errors import QueryRefused
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.testing import Silent
from tests.engines.everywhere import Servers, parquet_in_postgres, placed
from tests.engines.plain_sql import compared
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import plain, world
from tests.servers import running_postgres, running_spark
from tests.tpch import BOOK, files, queries
from tests.tpch import plain as plain_tpch

ENGINES = ("DuckDB", "PostgreSQL", "Spark", "reference")
REFUSED = [
    tuple(asked.split(": ", 1))
    for asked in json.loads((Path(__file__).parents[1] / "golden" / "sql_refusals.json").read_text(encoding="utf-8"))
]
"""The corpus of what must be refused: world and query."""

TPCH = "TPC-H, scale 0.01"
"""All 22, each to be answered or refused; too much for the reference engine."""

Opened = Callable[[str, str], Session]


def outcome(opened: Opened, engine: str, name: str, query: str) -> str:
    """What became of one query on one engine."""
    try:
        found = opened(engine, name).sql(query, epsilon=100)
    except QueryRefused:
        return "refused"
    assert isinstance(found, Release)
    beside = compared(found, query, plain_tpch() if name == "tpch" else plain(name))
    return "wrong" if beside.wrong else "hidden" if beside.hidden else "exact"


def sessions(servers: Servers) -> Opened:
    """A silent session for each world and engine, opened when first asked for."""
    found: dict[tuple[str, str], Session] = {}

    def opened(engine: str, name: str) -> Session:
        if (engine, name) not in found:
            data = tpch(engine, servers) if name == "tpch" else placed(engine, world(name), servers, name=name)
            found[engine, name] = data.session(budget(epsilon=10**6, delta=0.5), entropy=Silent())
        return found[engine, name]

    return opened


def tpch(engine: str, servers: Servers) -> Dataset:
    """TPC-H on one engine."""
    if engine == "PostgreSQL":
        server = servers.postgres()
        return Dataset(server.url(), tables=parquet_in_postgres(server, files()), codebook=BOOK)
    if engine == "Spark":
        spark = servers.spark()
        return Dataset({name: spark.read.parquet(path) for name, path in files().items()}, codebook=BOOK)
    return Dataset(files(), codebook=BOOK)


def say(line: str) -> None:
    """One line of the page."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(*engines: str) -> None:
    """Print the table."""
    corpora = {
        f"{name}, to be answered": [q for q in ANSWERED if q[0] == name] for name in ("clinic", "shop", "survey")
    }
    corpora["to be refused"] = REFUSED  # type: ignore[assignment]
    corpora[TPCH] = [("tpch", text) for text in queries().values()]
    chosen = engines or ENGINES
    with ExitStack() as stack:
        start = stack.enter_context
        opened = sessions(Servers(cache(lambda: start(running_postgres())), cache(lambda: start(running_spark()))))
        say(f"| corpus | queries | {' | '.join(chosen)} |\n|---|--:|{'---|' * len(chosen)}")
        for corpus, asked in corpora.items():
            cells = []
            for engine in chosen:
                if (corpus, engine) == (TPCH, "reference"):
                    cells.append("–")
                    continue
                seen = Counter(outcome(opened, engine, *each) for each in asked)
                shown = f"{seen['exact'] + seen['hidden']} exact, {seen['refused']} refused, {seen['wrong']} wrong"
                cells.append(shown + (f" ({seen['hidden']} with hidden groups)" if seen["hidden"] else ""))
            say(f"| {corpus} | {len(asked)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
