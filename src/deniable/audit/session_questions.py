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
from deniable.audit.answer_columns import is_plain, whole
from deniable.audit.auditor import OWN_PRICE, Pairs, audit_by_draws, verdict_of_laws
from deniable.audit.claims import ClaimCurve, curve_of
from deniable.audit.exact_law import NotEnumerable, output_law
from deniable.audit.long_run import odometer_reading
from deniable.audit.subject import Subject
from deniable.audit.verdict import Verdict
from deniable.cost import Bounded, Cost
from deniable.engines.engine import Engine, Result
from deniable.engines.reference import ReferenceEngine
from deniable.errors import DeniableError, InvalidArgument
from deniable.exact.guards import integer, open_probability, shown
from deniable.noise import Entropy, system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Kind, date_of, timestamp_of
from deniable.plan.nodes import Plan
from deniable.plan.variable import Variable
from deniable.query.builder import Query
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.release.session import Session

Columns = Mapping[str, list[Any]]
Ask = Callable[[Session], Any]
ORDER_KEY = 2**200 + 7
"""One order key for a table and its neighbour, as for one data set with and without a person."""
_LARGE = budget(epsilon=64, delta=0.25)
_ODD = (None, float("nan"))
_TAIL = Fraction(1, 200)
_PATHS = 200_000


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


def visible(answer: Any) -> Any:
    """Everything an analyst can tell two releases apart by; what is no release (a model, records) is seen as it is."""
    if not isinstance(answer, Release):
        return answer if is_plain(answer) else whole(answer)
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


def answers_text(seen: tuple[Any, ...]) -> str:
    """What was seen of the answers to a question, as a person reads it: rows and their intervals, or the error."""
    if seen and seen[0] == "error":
        return f"the error {seen[1]}"
    return ", then ".join(map(_answer_text, seen))


def _answer_text(seen: Any) -> str:
    if not (isinstance(seen, tuple) and len(seen) == 7 and isinstance(seen[1], tuple)):
        return str(seen)
    rows = [_row_text({name: value for name, _, value in row}) for row in seen[1]]
    return "; ".join(rows) or "no group"


def _row_text(row: Mapping[str, Any]) -> str:
    ends = {name: f" ({row[f'{name}_low']} to {row[f'{name}_high']})" for name in row if f"{name}_low" in row}
    own = {f"{name}{end}" for name in ends for end in ("_low", "_high")}
    return " ".join(f"{name} = {value!r}{ends.get(name, '')}" for name, value in row.items() if name not in own)


def _flat(value: Any) -> Any:
    return tuple(map(_flat, value)) if isinstance(value, list | tuple) else value


def observed(ask: Ask, engine: Engine, codebook: Codebook, limit: Budget, entropy: Entropy) -> Any:
    """One release in a session of its own, or the error that came instead of it."""
    try:
        answers = ask(Dataset(engine, codebook=codebook).session(limit, entropy=entropy))
    except DeniableError as error:
        return ("error", type(error).__name__, str(error))
    return tuple(map(visible, _released(answers)))


def _released(answers: Any) -> tuple[Any, ...]:
    """What was released; a query that nobody released says nothing, and an audit of it would look like a pass."""
    listed = answers if isinstance(answers, tuple) else (answers,)
    if any(isinstance(answer, Query) for answer in listed):
        raise InvalidArgument("the question gave back a query that was not released; end it with .release(epsilon=...)")
    return listed


def charged(ask: Ask, engine: Engine, codebook: Codebook, limit: Budget) -> Cost:
    """What a session is charged for the question, in the measure of its budget."""
    session = Dataset(engine, codebook=codebook).session(limit, entropy=system_entropy())
    answers = None
    with suppress(DeniableError):
        answers = ask(session)
    _released(answers)
    return odometer_reading(session)


@dataclass(frozen=True, slots=True)
class SmallTables:
    """Pairs of neighbouring tables that fit one codebook; `check` audits a question on all of them."""

    codebook: Codebook
    table: str
    pairs: tuple[tuple[Columns, Columns], ...]
    budget: Budget = _LARGE
    connect: Callable[..., Engine] = ReferenceEngine
    """Makes an engine of columns by table, a codebook and an order key."""
    tail: Fraction = _TAIL
    """How much of each draw may be cut off."""

    def check(
        self,
        ask: Ask,
        *,
        claim: Cost | Sequence[Cost] | str = OWN_PRICE,
        level: Any = 0.01,
        samples: Any = None,
        entropy: Any = None,
    ) -> Verdict:
        """What can be seen, in both directions, on every pair, against the claim or the charge: by its law, or by `samples` draws.

        The law is exact, so `entropy` says nothing about it and is refused without `samples`.
        """
        if samples is None and entropy is not None:
            raise InvalidArgument(
                "the law of a question is exact and draws nothing: give samples, or leave entropy out"
            )
        if isinstance(claim, str) and claim != OWN_PRICE:
            raise InvalidArgument(f"claim must be a cost record of dp.costs, or {OWN_PRICE!r}, got {claim!r}")
        if not callable(ask):
            raise InvalidArgument(
                "what is asked of small tables is a function of the session, such as "
                f"lambda session: session.query().agg(n=dp.count()).release(epsilon=1), got {shown(ask)}"
            )
        engines = [(self._engine(left), self._engine(right)) for left, right in self.pairs]
        try:
            cost = charged(ask, engines[0][0], self.codebook, self.budget) if isinstance(claim, str) else claim
            curves = [curve_of(each) for each in (cost if isinstance(cost, Sequence) else [cost])]
            if samples is not None:
                return self._by_draws(ask, engines, curves, samples=samples, level=level, entropy=entropy)
            laws = self._laws(ask, engines)
            most = Fraction(curves[0].losses[-1])
            few = [most, most / 2] if isinstance(curves[0].cost, Bounded) else None
            verdict = verdict_of_laws(_name(ask), laws, curves, losses=few, words=answers_text)
            if verdict.broken and self._laws(ask, engines) != laws:
                raise InvalidArgument(
                    "this question is not the same each time it is asked: give samples, or let it draw nothing itself"
                )
            return verdict
        finally:
            for pair in engines:
                for engine in pair:
                    engine.close()

    def _laws(self, ask: Ask, engines: Pairs) -> list[tuple[Any, ...]]:
        return [tuple(self._law(ask, engine) for engine in pair) for pair in engines]

    def _engine(self, side: Columns) -> RememberingEngine:
        return RememberingEngine(self.connect({self.table: dict(side)}, self.codebook, key=ORDER_KEY))

    def _by_draws(
        self, ask: Ask, engines: Pairs, curves: Sequence[ClaimCurve], *, samples: Any, level: Any, entropy: Any
    ) -> Verdict:
        def one(engine: Engine, source: Entropy) -> Any:
            return observed(ask, engine, self.codebook, self.budget, source)

        return audit_by_draws(
            Subject(_name(ask), one, None, None, ()),
            engines,
            curves,
            samples=integer(samples=samples, least=2),
            level=float(open_probability(level=level)),
            entropy=entropy or system_entropy(),
        )

    def _law(self, ask: Ask, engine: Engine) -> Any:
        try:
            return output_law(
                lambda entropy: observed(ask, engine, self.codebook, self.budget, entropy), tail=self.tail, most=_PATHS
            )
        except NotEnumerable as refusal:
            raise InvalidArgument(
                f"this question has no law that can be enumerated on small tables, give samples: {refusal}"
            ) from None


def _name(ask: Ask) -> str:
    return getattr(ask, "__qualname__", "a question")


def small_tables(codebook: Codebook, *, budget: Budget = _LARGE, table: str | None = None) -> SmallTables:
    """Neighbouring tables with the edge values the codebook allows: bounds, zero, missing, duplicates, none, a busy unit.

    The first table that is not public is varied, or the one named; other tables would have to be filled by hand, so a codebook with
    several private tables is refused.
    """
    given: object = codebook
    if not isinstance(given, Codebook):
        raise InvalidArgument(
            f"small tables are made for a codebook, such as dp.Codebook.load(path), got {shown(given)}"
        )
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
