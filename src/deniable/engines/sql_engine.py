"""Engines that speak SQL: a plan becomes statements, they run over one state of the data, integers come back.

Guarantee: whatever fails is an `EngineFailed` with a constant text that carries nothing of the engine's own words.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from deniable.engines.engine import Integers, KeyValue, Result, RowTable, SparseTable
from deniable.engines.order import order_key
from deniable.engines.results import Fetched, fetched_result, python_values
from deniable.engines.sql.groups import Groups, statements
from deniable.engines.sql.relations import Relations, Source
from deniable.engines.sql.sql_statement import Kept, SqlStatement
from deniable.engines.sql.unit_vectors import fetched_tables, fetched_vector, tables_statement, vector_statement
from deniable.engines.unit_rows import checked_rows, fetched_rows
from deniable.errors import EngineFailed, InvalidArgument, QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import GroupAgg, Relation, UnitRows, UnitVector
from deniable.plan.profile import Profile
from deniable.plan.relation import shape
from deniable.plan.sensitivity import sensitivities
from deniable.plan.unit_tables import UnitTables


class SqlEngine(ABC):
    """What all SQL engines share; each has a profile, and says how it binds tables and how it runs statements together."""

    def __init__(self, codebook: Codebook, profile: Profile, *, key: bytes | int) -> None:
        self._codebook, self._profile, self._key = codebook, profile, order_key(key)
        self._lock, self._process = threading.Lock(), os.getpid()
        self._bound: dict[str, Source] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """The engine and its version, public."""

    @abstractmethod
    def _fetch_all(self, texts: Sequence[str]) -> list[Fetched] | None:
        """The rows of all statements over one state of the data; None when anything failed."""

    def _sources(self) -> Mapping[str, Source]:
        """Where the codebook's tables are; none when the engine is closed."""
        return self._bound

    def _kept(self, plan: GroupAgg) -> Kept | None:
        """Bounded rows that were kept for plans such as this one."""
        return None

    def look(self) -> None:
        """Refuse when the data cannot be reached, which is public; nothing is run."""
        if not self._bound:
            raise InvalidArgument("the data set is closed; nothing was spent, open it again")

    def check(self, plan: GroupAgg) -> None:
        """Refuse a plan that uses what this version computes differently; nothing is run."""
        if self._profile.lacking:
            with self._alone():
                self._statements(plan)

    def run(self, plan: GroupAgg) -> Result:
        """The plan's integers."""
        sensitivities(plan)
        with self._alone():
            main, further = self._statements(plan, self._kept(plan))
            first, *others = self._fetched([main, *further.values()])
        return fetched_result(plan, first, dict(zip(further, others, strict=True)))

    def rows(self, plan: UnitRows) -> RowTable:
        """The bounded rows of a plan."""
        checked_rows(plan)
        with self._alone():
            statement = Groups(plan.bounded, self._relations(), self._profile, self._key).rows()
            return fetched_rows(plan, self._execute(statement), statement.cells, self._key)

    @property
    def distributed(self) -> bool:
        """Whether the rows are too many for one machine."""
        return False

    def vector(self, plan: UnitVector) -> Integers:
        """The joint vector of a plan."""
        with self._alone():
            statement = vector_statement(plan, self._relations(), self._profile, self._key)
            return fetched_vector(self._execute(statement), statement)

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in this process's memory already."""
        return False

    def tables(self, plan: UnitTables) -> list[SparseTable]:
        """The tables of a plan, counted in one statement."""
        with self._alone():
            statement = tables_statement(plan, self._relations(), self._profile, self._key)
            return fetched_tables(plan, self._execute(statement), statement)

    def statements(self, plan: GroupAgg) -> list[str]:
        """The SQL a plan runs, for explanations; it holds the order key, so it is for the curator alone."""
        main, further = self._statements(plan)
        return [self._text(statement) for statement in (main, *further.values())]

    def public(self, relation: Relation) -> Mapping[str, tuple[KeyValue, ...]]:
        """The rows of a relation over public tables only, sorted."""
        known = shape(relation)
        if not known.public:
            raise QueryRefused("private", "this relation holds private rows", rewrite="ask for aggregates in a session")
        with self._alone():
            table = self._execute(SqlStatement(self._relations().select(relation, known.columns), tuple(known.columns)))
        columns = [python_values(table[name], known.columns[name].kind) for name in known.columns]
        rows = sorted(zip(*columns, strict=True), key=lambda row: [(value is not None, value) for value in row])
        return {name: tuple(row[index] for row in rows) for index, name in enumerate(known.columns)}

    def close(self) -> None:
        """Forget where the data is."""
        with self._alone():
            self._bound = {}

    def _relations(self) -> Relations:
        sources = self._sources()
        if not sources:
            raise InvalidArgument("the engine is closed; open the data set again")
        return Relations(sources, self._profile, self._key)

    def _statements(self, plan: GroupAgg, kept: Kept | None = None) -> tuple[SqlStatement, dict[str, SqlStatement]]:
        return statements(plan, self._relations(), self._profile, self._key, kept)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One query at a time; a lock that another thread held when this process was forked is replaced."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.Lock()
        with self._lock:
            yield

    def _text(self, statement: SqlStatement) -> str:
        return statement.text(self._profile)

    def _fetched(self, wanted: Sequence[SqlStatement]) -> list[Fetched]:
        found = self._fetch_all([self._text(statement) for statement in wanted])
        # Raised here and not where it failed, so that no engine error hangs on it as its context.
        if found is None:
            raise EngineFailed
        return found

    def _execute(self, statement: SqlStatement) -> Fetched:
        return self._fetched([statement])[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(table.name for table in self._codebook.tables)})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an engine reaches private data: it cannot be copied or pickled")


def fetched_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Fetched:
    """Rows of Python values as columns: 64-bit integers where all are, objects otherwise, masked where missing."""
    columns: Fetched = {}
    for place, name in enumerate(names):
        values = [row[place] for row in rows]
        absent = [value is None for value in values]
        whole = all(value is None or type(value) is int for value in values)
        kind = np.dtype(np.int64) if whole else np.dtype(object)
        data = np.empty(len(values), dtype=kind)
        data[:] = [0 if gone else value for gone, value in zip(absent, values, strict=True)] if whole else values
        columns[name] = np.ma.array(data, mask=absent) if any(absent) else data
    return columns
