"""The exact law of everything an analyst can see of a release, through the public API, on tiny tables.

One path through every outcome of every draw is one release in a session of its own: priced, charged, run, drawn, stored and
read back. What is seen is one event: which groups are shown and in which order, every value and interval end with its type,
or the class of the error. Two such laws on neighbouring tables are held against the loss that the session charged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import deniable as dp
from deniable.accounting import Budget, Spend
from deniable.cost import Bounded
from deniable.engines.engine import Engine, Result
from deniable.errors import DeniableError
from deniable.noise import Entropy
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import Plan
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.testing import Silent
from deniable.testing.laws_privacy import Verdict, compare
from deniable.testing.output_law import OutputLaw, output_law

KEY = 2**200 + 7
"""One order key for a table and its neighbour, as for one data set with and without a person."""


class Remembering:
    """An engine is a function of its data (its own suite proves it), so each plan is run once."""

    def __init__(self, inner: Engine) -> None:
        self.inner, self.known = inner, dict[str, Result | Exception]()

    @property
    def name(self) -> str:
        return self.inner.name

    def run(self, plan: Plan) -> Result:
        asked = repr(plan)
        if asked not in self.known:
            try:
                self.known[asked] = self.inner.run(plan)
            except Exception as error:
                self.known[asked] = error
        found = self.known[asked]
        if isinstance(found, Exception):
            raise found
        return found

    def public(self, relation: Any) -> Any:
        return self.inner.public(relation)

    def close(self) -> None:
        self.inner.close()


TWO_EPSILON = dp.budget(epsilon=2)

_VARIABLES = (
    "{who: {type: integer}, word: {type: string}, kind: {type: string, categories: [a, b]}, "
    "day: {type: date, bounds: [2024-01-01, 2024-12-31]}, x: {type: integer, bounds: [0, 2]}}"
)


@cache
def _codebook(unit: str) -> Codebook:
    return Codebook.from_yaml(f"format: 1\nname: tiny\nunit: {unit}\ntables: {{tiny: {{variables: {_VARIABLES}}}}}")


def table(*rows: tuple[Any, Any, Any, Any, Any]) -> dict[str, list[Any]]:
    """Rows of (who, word, kind, day, x) as columns."""
    return {name: [row[i] for row in rows] for i, name in enumerate(("who", "word", "kind", "day", "x"))}


@dataclass(frozen=True)
class Scenario:
    """A question on two neighbouring tables, and what is paid for it."""

    unit: str
    left: Mapping[str, list[Any]]
    right: Mapping[str, list[Any]]
    ask: Callable[[Session], Any]
    budget: Budget = TWO_EPSILON
    tail: Fraction = Fraction(1, 200)

    @property
    def codebook(self) -> Codebook:
        """The same columns for every scenario, under its unit."""
        return _codebook(self.unit)


def seen(answer: Any) -> tuple[Any, ...]:
    """Everything an analyst can tell two releases apart by."""
    rows = [[(name, type(value).__name__, _flat(value)) for name, value in row.items()] for row in answer.table]
    return (
        tuple(answer.groups),
        tuple(tuple(row) for row in rows),
        tuple(_flat(list(row.values())) for row in answer.measured),
        (answer.level, answer.other),
        tuple(answer.columns),
        answer.guarantee,
        answer.notes,
    )


def _flat(value: Any) -> Any:
    return tuple(map(_flat, value)) if isinstance(value, list | tuple) else value


def observed(scenario: Scenario, engine: Engine, entropy: Entropy) -> tuple[Any, ...]:
    """One release in a session of its own, or the error that came instead of it."""
    try:
        session = Dataset(engine, codebook=scenario.codebook).session(scenario.budget, entropy=entropy)
        answers = scenario.ask(session)
        answers = answers if isinstance(answers, tuple) else (answers,)
        return tuple(seen(answer) for answer in answers)
    except DeniableError as error:
        return ("error", type(error).__name__, str(error))


def charged(scenario: Scenario, engine: Engine) -> Spend:
    """What a session is charged for the question, epsilons and deltas added up; the same on every path."""
    session = Dataset(engine, codebook=scenario.codebook).session(scenario.budget, entropy=Silent())
    with suppress(DeniableError):
        scenario.ask(session)
    filters = session.filters
    return filters.spent(session._ledger.balances()[0].whole, filters.rules[0])


def audited(
    scenario: Scenario, connect: Callable[..., Engine], *, spoil: Callable[[Engine], Engine] = lambda engine: engine
) -> Verdict:
    """The exact loss of what can be seen, in both directions, against the loss that was charged."""
    laws: list[OutputLaw] = []
    spend = None
    for columns in (scenario.left, scenario.right):
        engine = Remembering(spoil(connect({"tiny": dict(columns)}, scenario.codebook, key=KEY)))
        spend = spend or charged(scenario, engine)
        laws.append(output_law(lambda entropy, e=engine: observed(scenario, e, entropy), tail=scenario.tail))  # type: ignore[misc]
        engine.close()
    assert spend is not None
    claim = Bounded(epsilon=spend.loss, delta=spend.delta)
    return compare(laws[0], laws[1], claim, losses=[spend.loss, spend.loss / 2])


@pytest.fixture
def in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers of sessions that name none live where syncing costs nothing; what they do is the same."""
    shared = Path("/dev/shm")
    monkeypatch.setattr(tempfile, "tempdir", str(shared) if shared.is_dir() else str(tmp_path))
