"""The exactness gate as a rate: every corpus on every engine, answered exactly, refused or wrong.

`python -m tests.engines.rates` prints the table of `docs/engines.md`; it starts a PostgreSQL and a Spark and takes minutes.
Exact is what plain SQL says of the same query on the same tables.
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

import duckdb

from deniable.accounting import budget
from deniable.errors import QueryRefused
from deniable.release.answer import Release
from deniable.release.session import Session
from deniable.testing import Silent
from tests.engines.everywhere import Servers, placed
from tests.engines.plain_sql import compared
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import plain, world
from tests.servers import running_postgres, running_spark

ENGINES = ("DuckDB", "PostgreSQL", "Spark", "reference")
REFUSED = [
    tuple(asked.split(": ", 1))
    for asked in json.loads((Path(__file__).parents[1] / "golden" / "sql_refusals.json").read_text(encoding="utf-8"))
]
"""The corpus of what must be refused: world and query."""

Opened = Callable[[str, str], Session]


def outcome(opened: Opened, engine: str, name: str, query: str) -> str:
    """What became of one query on one engine."""
    try:
        found = opened(engine, name).sql(query, epsilon=100)
    except QueryRefused:
        return "refused"
    assert isinstance(found, Release)
    beside = compared(found, query, _plain(name))
    return "exact" if (beside.wrong, beside.hidden) == (0, 0) else "wrong"


@cache
def _plain(name: str) -> duckdb.DuckDBPyConnection:
    return plain(name)


def sessions(servers: Servers) -> Opened:
    """A silent session for each world and engine, opened when first asked for."""
    found: dict[tuple[str, str], Session] = {}

    def opened(engine: str, name: str) -> Session:
        if (engine, name) not in found:
            data = placed(engine, world(name), servers, name=name)
            found[engine, name] = data.session(budget(epsilon=10**6, delta=0.5), entropy=Silent())
        return found[engine, name]

    return opened


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
    chosen = engines or ENGINES
    with ExitStack() as stack:
        start = stack.enter_context
        opened = sessions(Servers(cache(lambda: start(running_postgres())), cache(lambda: start(running_spark()))))
        say(f"| corpus | queries | {' | '.join(chosen)} |\n|---|--:|{'---|' * len(chosen)}")
        for corpus, asked in corpora.items():
            cells = []
            for engine in chosen:
                seen = Counter(outcome(opened, engine, *each) for each in asked)
                cells.append(f"{seen['exact']} exact, {seen['refused']} refused, {seen['wrong']} wrong")
            say(f"| {corpus} | {len(asked)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
