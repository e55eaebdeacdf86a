"""The exact law of everything an analyst can see of a release, through the public API, on tiny tables.

One path through every outcome of every draw is one release in a session of its own: priced, charged, run, drawn, stored and
read back. What is seen is one event: which groups are shown and in which order, every value and interval end with its type,
or the class of the error. Two such laws on neighbouring tables are held against the loss that the session charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import deniable as dp
from deniable.accounting import Budget
from deniable.audit.comparison import LawComparison, compare
from deniable.audit.exact_law import OutputLaw, output_law
from deniable.audit.session_questions import ORDER_KEY, RememberingEngine, charged, observed
from deniable.engines.engine import Engine
from deniable.noise import Entropy
from deniable.plan.codebook import Codebook
from deniable.query.aggregates import measuring
from deniable.release.session import Session
from tests.shared_memory import in_shared_memory

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


def audited(
    scenario: Scenario, connect: Callable[..., Engine], *, spoil: Callable[[Engine], Engine] = lambda engine: engine
) -> LawComparison:
    """The exact loss of what can be seen, in both directions, against the loss that was charged."""
    laws: list[OutputLaw] = []
    claim = None
    for columns in (scenario.left, scenario.right):
        engine = RememberingEngine(spoil(connect({"tiny": dict(columns)}, scenario.codebook, key=ORDER_KEY)))
        claim = claim or charged(scenario.ask, engine, scenario.codebook, scenario.budget)
        laws.append(output_law(lambda entropy, e=engine: _observed(scenario, e, entropy), tail=scenario.tail))  # type: ignore[misc]
        engine.close()
    assert claim is not None
    return compare(laws[0], laws[1], claim, losses=[claim.epsilon, claim.epsilon / 2])


def _observed(scenario: Scenario, engine: Engine, entropy: Entropy) -> tuple[Any, ...]:
    return observed(scenario.ask, engine, scenario.codebook, scenario.budget, entropy)


@pytest.fixture
def in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers of sessions that name none live where syncing costs nothing; what they do is the same.

    Units with too many rows are spread in halves of rows instead of parts of a thousandth: the same code, with few outcomes.
    """
    monkeypatch.setattr(measuring, "FINEST", 1)
    monkeypatch.setattr(measuring, "fine_bits", lambda most: 1)
    in_shared_memory(monkeypatch, tmp_path)
