"""Audits of questions to a session: everything an analyst can see of a release, on small neighbouring tables from the codebook.

What is seen is one event: which groups are shown and in which order, every value and interval end with its type, the notes, or the
class of the error. Its exact law on two neighbouring tables is held against the loss that the session charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.accounting import Budget, budget
from deniable.audit.auditor import OWN_PRICE, verdict_of_laws
from deniable.audit.claims import curve_of
from deniable.audit.exact_law import NotEnumerable, output_law
from deniable.audit.long_run import odometer_reading
from deniable.audit.verdict import Verdict
from deniable.cost import Bounded, Cost
from deniable.engines.engine import Engine, Result
from deniable.engines.reference import ReferenceEngine
from deniable.errors import DeniableError, InvalidArgument
from deniable.noise import Entropy, system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Kind, date_of, timestamp_of
from deniable.plan.nodes import Plan
from deniable.plan.variable import Variable
from deniable.release.dataset import Dataset
from deniable.release.session import Session

Columns = Mapping[str, list[Any]]
Ask = Callable[[Session], Any]
ORDER_KEY = 2**200 + 7
"""One order key for a table and its neighbour, as for one data set with and without a person."""
_LARGE = budget(epsilon=64, delta=0.25)
_ODD = (None, float("nan"))


class RememberingEngine:
    """An engine is a function of its data, so each plan is run once."""

    def __init__(self, inner: Engine) -> None:
        self.inner, self.known = inner, dict[str, Result | Exception]()

    @property
    def name(self) -> str:
        """The engine's own name."""
        return self.inner.name

    def run(self, plan: Plan) -> Result:
        """The result of a plan, or the error it had the first time."""
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
        """What is public needs no memory."""
        return self.inner.public(relation)

    def close(self) -> None:
        """Close the engine."""
        self.inner.close()


def visible(answer: Any) -> tuple[Any, ...]:
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


def observed(ask: Ask, engine: Engine, codebook: Codebook, limit: Budget, entropy: Entropy) -> tuple[Any, ...]:
    """One release in a session of its own, or the error that came instead of it."""
    try:
        answers = ask(Dataset(engine, codebook=codebook).session(limit, entropy=entropy))
        answers = answers if isinstance(answers, tuple) else (answers,)
        return tuple(visible(answer) for answer in answers)
    except DeniableError as error:
        return ("error", type(error).__name__, str(error))


def charged(ask: Ask, engine: Engine, codebook: Codebook, limit: Budget) -> Cost:
    """What a session is charged for the question, in the measure of its budget."""
    session = Dataset(engine, codebook=codebook).session(limit, entropy=system_entropy())
    with suppress(DeniableError):
        ask(session)
    return odometer_reading(session)


@dataclass(frozen=True, slots=True)
class SmallTables:
    """Pairs of neighbouring tables that fit one codebook; `check` audits a question on all of them."""

    codebook: Codebook
    table: str
    pairs: tuple[tuple[Columns, Columns], ...]
    budget: Budget = _LARGE

    def check(
        self,
        ask: Ask,
        *,
        claim: Cost | Sequence[Cost] | str = OWN_PRICE,
        level: Any = 0.01,
        samples: Any = None,
        entropy: Any = None,
    ) -> Verdict:
        """The exact law of what can be seen, in both directions, on every pair, against the claim or the charge.

        The law is exact, so `samples`, `level` and `entropy` say nothing here and are refused where given.
        """
        if samples is not None or entropy is not None:
            raise InvalidArgument(
                "questions to a session are audited by their exact law on small tables: leave samples out"
            )
        if isinstance(claim, str) and claim != OWN_PRICE:
            raise InvalidArgument(f"claim must be a cost record of dp.costs, or {OWN_PRICE!r}, got {claim!r}")
        laws, cost = [], claim
        for left, right in self.pairs:
            engines = [
                RememberingEngine(ReferenceEngine({self.table: dict(side)}, self.codebook, key=ORDER_KEY))
                for side in (left, right)
            ]
            if isinstance(cost, str):
                cost = charged(ask, engines[0], self.codebook, self.budget)
            laws.append(tuple(self._law(ask, engine) for engine in engines))
        costs = list(cost) if isinstance(cost, Sequence) and not isinstance(cost, str) else [cost]
        curves = [curve_of(each) for each in costs]
        name = getattr(ask, "__qualname__", "a question")
        most = Fraction(curves[0].losses[-1])
        few = [most, most / 2] if isinstance(curves[0].cost, Bounded) else None
        return verdict_of_laws(name, laws, curves, losses=few)

    def _law(self, ask: Ask, engine: Engine) -> Any:
        try:
            return output_law(
                lambda entropy: observed(ask, engine, self.codebook, self.budget, entropy),
                tail=Fraction(1, 200),
                most=20_000,
            )
        except NotEnumerable as refusal:
            raise InvalidArgument(
                f"this question has no law that can be enumerated on small tables: {refusal}"
            ) from None


def small_tables(codebook: Codebook, *, budget: Budget = _LARGE, table: str | None = None) -> SmallTables:
    """Neighbouring tables with the edge values the codebook allows: bounds, zero, missing, duplicates, none, a busy unit.

    The first table that is not public is varied, or the one named; other tables would have to be filled by hand, so a codebook with
    several private tables is refused.
    """
    private = [each for each in codebook.tables if not each.public and (table is None or each.name == table)]
    if len(private) != 1 or len(codebook.tables) != 1:
        raise InvalidArgument(
            f"small tables are made for a codebook with one table, got {[each.name for each in codebook.tables]}"
        )
    chosen = private[0]
    unit = codebook.unit.id if codebook.unit is not None else None
    edges = [_edge(variable) for variable in chosen.variables]
    names = [variable.name for variable in chosen.variables]

    def rows(who: int, count: int) -> list[list[Any]]:
        return [
            [
                who if name == unit else values[(turn + place) % len(values)]
                for place, (name, values) in enumerate(zip(names, edges, strict=True))
            ]
            for turn in range(count)
        ]

    def columns(*parts: list[list[Any]]) -> dict[str, list[Any]]:
        listed = [row for part in parts for row in part]
        return {name: [row[place] for row in listed] for place, name in enumerate(names)}

    base, busy = rows(1, 1), rows(2, 6 if unit else 1)
    pairs = [
        (columns(rows(1, 1)), columns()),
        (columns(base, busy), columns(base)),
        (columns(base, rows(3, 1), rows(4, 1)), columns(base, rows(3, 1))),
    ]
    return SmallTables(codebook, chosen.name, tuple(pairs), budget)


def _edge(variable: Variable) -> list[Any]:
    """The values of one column worth trying."""
    facts = variable.facts()
    match facts.kind:
        case Kind.BOOLEAN:
            return [True, False, None]
        case Kind.STRING:
            return [*(facts.categories or ("rare",))[:2], None]
        case Kind.NUMBER:
            ends = facts.ends if facts.bounded else (0, 1)
            return [*(float(step * facts.step) for step in (ends[1], ends[0])), *_ODD, 1e300]
        case Kind.DATE | Kind.TIMESTAMP:
            make: Any = date_of if facts.kind is Kind.DATE else timestamp_of
            return [make(facts.ends[0]), make(facts.ends[1])]
