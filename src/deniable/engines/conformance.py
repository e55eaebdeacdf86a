"""Does this engine, in this version, compute what every engine must? Asked once per process, before the first plan.

The kit is written and run as any plan is. At connect two statements are run and the digests of their answers compared
with the reference engine's, which tests keep true. The whole kit runs in the tests of every engine, and at connect where
a version is not among those tested or a digest differs; then the reference is asked live, to name what differs.
It holds no private row.

Guarantee: no plan runs that uses what the engine was seen to compute differently, or to fail on: it is refused before
anything is spent. An engine that differs in what all plans rest on is not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import TypeAlias

import numpy as np
from sqlglot import exp

from deniable.engines.engine import Integers, KeyValue, Result
from deniable.engines.kit import (
    KIT_KEY,
    PROBES,
    QUICK,
    kit_plans,
    kit_reference,
    kit_source,
    kit_vectors,
    probed_rows,
    probed_sums,
    quick_plan,
    vouched,
)
from deniable.engines.order import order_key
from deniable.engines.reference import ReferenceEngine
from deniable.engines.results import Fetched, fetched_result, key_rank, python_values
from deniable.engines.sql.groups import Groups, statements
from deniable.engines.sql.relations import Relations
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.engines.sql.unit_vectors import fetched_vector, vector_statement
from deniable.errors import EngineFailed, InvalidArgument
from deniable.plan.nodes import GroupAgg, UnitVector
from deniable.plan.profile import Profile
from deniable.plan.relation import schema

Execute: TypeAlias = Callable[[SqlStatement], Fetched]
"""How an engine runs a statement; it raises `EngineFailed` and nothing else."""

QUICK_DIGESTS = (
    "4b2798cb0e42725847d8706fed395ab506360f6fca09fdc47b5a1ef401c7caf3",
    "7c7fd156db5f32de6ae2cf6463a64c5b80cf42835f31153f74cb9acfd4769083",
)
"""What the reference engine's answers to the two quick statements hash to; `tests/engines` recomputes them."""

TESTED = ("DuckDB 2.0.", "PostgreSQL 15.", "Spark 4.3.")
"""The versions whose whole kit runs in our tests; another version answers the whole kit when it is opened."""

_lacking: dict[str, Mapping[str, str]] = {}
_lock = Lock()


def row_digest(columns: Sequence[Sequence[object]]) -> str:
    """One text for many rows, whatever their order."""
    rows = sorted(repr(tuple(row)) for row in zip(*columns, strict=True))
    return sha256("\n".join(rows).encode()).hexdigest()


def result_digest(result: Result) -> str:
    """One text for a result."""
    return row_digest([*result.keys.values(), *(column.tolist() for column in result.columns.values())])


class Kit:
    """The kit as one engine answers it."""

    def __init__(self, profile: Profile, execute: Execute) -> None:
        self._profile, self._execute = profile, execute
        self._relations = Relations(kit_source(profile), profile, order_key(KIT_KEY))

    def rows(self, probes: Iterable[str]) -> dict[str, list[KeyValue]]:
        """What the engine says to these probes, row by row; the rows in any order, their numbers beside them."""
        relation = probed_rows(probes)
        known = schema(relation)
        fetched = self._execute(SqlStatement(self._relations.select(relation, known), tuple(known)))
        return {name: python_values(fetched[name], facts.kind) for name, facts in known.items()}

    def result(self, plan: GroupAgg) -> Result:
        """What the engine says to a plan."""
        main, further = statements(plan, self._relations, self._profile, order_key(KIT_KEY))
        return fetched_result(plan, self._execute(main), {name: self._execute(each) for name, each in further.items()})

    def kept(self, plan: GroupAgg) -> Result | None:
        """The same from bounded rows that were chosen and counted before; None where a unit may be in all groups."""
        key, table = order_key(KIT_KEY), "kept_rows"
        groups = Groups(plan, self._relations, self._profile, key)
        if not groups.capped:
            return None
        kept, rows = groups.bounded(table)
        written = statements(plan, self._relations, self._profile, key, kept)
        answers = [self._execute(_with_table(each, table, rows)) for each in (written[0], *written[1].values())]
        return fetched_result(plan, answers[0], dict(zip(written[1], answers[1:], strict=True)))

    def vector(self, plan: UnitVector) -> Integers:
        """What the engine says to a joint vector."""
        statement = vector_statement(plan, self._relations, self._profile, order_key(KIT_KEY))
        return fetched_vector(self._execute(statement), statement)


def _with_table(statement: SqlStatement, table: str, rows: SqlStatement) -> SqlStatement:
    """A statement that reads a table, and what the table holds, as one query."""
    tree = statement.tree.copy()
    assert isinstance(tree, exp.Select)
    return SqlStatement(tree.with_(table, as_=rows.tree), statement.cells)


def quick_digests(kit: Kit) -> tuple[str, str]:
    """The digests of an engine's answers to the two quick statements."""
    return row_digest(list(kit.rows(QUICK).values())), result_digest(kit.result(quick_plan()))


@cache
def _reference() -> ReferenceEngine:
    return kit_reference()


@cache
def _reference_rows(probes: tuple[str, ...]) -> Mapping[str, Sequence[object]]:
    return _reference().public(probed_rows(probes))


@cache
def _reference_result(plan: GroupAgg) -> Result:
    return _reference().run(plan)


def differences(kit: Kit) -> list[str]:
    """The names of the behaviours in which an engine differs from the reference; none is the only good answer.

    Plans come first: only where all are right is a statement that failed taken apart, to find the probes that fail.
    """
    basic = [found for name, plan in kit_plans().items() for found in _unlike_result(kit, name, plan)]
    basic += [name for name, vector in kit_vectors().items() if _unlike_vector(kit, vector)]
    probes = _unlike_rows(kit, tuple(PROBES))
    if probes is None and not basic:
        probes = [name for name in PROBES if _unlike_rows(kit, (name,)) != []]
    if probes is None:
        return [*basic, "expressions"]
    right = [name for name in PROBES if name not in probes]
    return [*basic, *probes, *_unlike_result(kit, "sums", probed_sums(right))] if right else [*basic, *probes]


def _unlike_rows(kit: Kit, probes: tuple[str, ...]) -> list[str] | None:
    """The probes answered differently in some row; None when the engine failed."""
    wanted = _reference_rows(probes)
    try:
        found = kit.rows(probes)
    except EngineFailed:
        return None
    places = sorted(range(len(found["row"])), key=lambda place: key_rank([found["row"][place]]))
    told = {name: tuple(values[place] for place in places) for name, values in found.items()}
    return [name for name in probes if told["row"] != wanted["row"] or told[name] != wanted[name]]


def _unlike_result(kit: Kit, name: str, plan: GroupAgg) -> list[str]:
    wanted = _reference_result(plan)
    try:
        answers = [kit.result(plan), kit.kept(plan)]
    except EngineFailed:
        return [name]
    return list(dict.fromkeys(other for each in answers if each is not None for other in _unlike(name, wanted, each)))


def _unlike(name: str, wanted: Result, found: Result) -> list[str]:
    if wanted.keys != found.keys:
        return [name]
    unlike = [column for column in wanted.columns if wanted.columns[column].tolist() != found.columns[column].tolist()]
    for histogram, bins in wanted.histograms.items():
        other = found.histograms[histogram]
        pairs = [(bins.group, other.group), (bins.bin, other.bin), (bins.count, other.count)]
        unlike += [histogram] if any(a.tolist() != b.tolist() for a, b in pairs) else []
    return [f"{name} ({column})" for column in unlike]


def _unlike_vector(kit: Kit, plan: UnitVector) -> bool:
    try:
        return not np.array_equal(_reference().vector(plan), kit.vector(plan))
    except EngineFailed:
        return True


def conform(engine: str, profile: Profile, execute: Execute) -> Mapping[str, str]:
    """The features an engine lacks, each with the line that says so; `engine` names it with its version.

    It is asked once per process. One that differs in what all plans rest on is refused.
    """
    with _lock:
        if engine not in _lacking:
            _lacking[engine] = _asked(engine, Kit(profile, execute))
        return _lacking[engine]


def _asked(engine: str, kit: Kit) -> Mapping[str, str]:
    try:
        same = quick_digests(kit) == QUICK_DIGESTS
    except EngineFailed:
        same = False
    if same and engine.startswith(TESTED):
        return {}
    different = differences(kit)
    features = {name: vouched(name) if name in PROBES else frozenset() for name in different}
    if not all(features.values()) or not (same or different):
        raise InvalidArgument(
            f"{engine} computes {', '.join(different) or 'some rows'} differently; use a version we support"
        )
    lacking: dict[str, list[str]] = {}
    for name, used in features.items():
        for feature in used:
            lacking.setdefault(feature, []).append(name)
    return {feature: f"{engine} computes {', '.join(names)} differently" for feature, names in lacking.items()}
