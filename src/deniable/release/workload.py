"""Several questions under one budget: shared out evenly, by weight, or solved from wanted errors; one table of prices, one charge.

Questions that measure the same are measured once. Everything is priced from public facts before anything is spent, and the whole is
charged at once: all of it is released or none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

from deniable.core.compositor import grouped
from deniable.core.mechanism import Mechanism
from deniable.cost import Composed, Cost
from deniable.errors import InvalidArgument
from deniable.exact import loss_text, number_of
from deniable.exact.guards import Real, positive, shown
from deniable.ledger.numbers import digits
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed
from deniable.query import Payment, Price, Query, public_size
from deniable.release.answer import Release
from deniable.svg import Figure, Line, plot

if TYPE_CHECKING:
    from deniable.release.session_mechanisms import MechanismSession

BY = ("even", "weights", "accuracy")
"""How a budget can be shared."""


@dataclass(frozen=True, slots=True)
class WorkloadRelease:
    """The answers to all questions of a workload, by name, charged as one."""

    answers: Mapping[str, Release]
    receipt: Receipt

    def __getitem__(self, name: str) -> Release:
        if name not in self.answers:
            raise InvalidArgument(f"no answer {name!r} in this workload; it has {', '.join(self.answers)}")
        return self.answers[name]

    @classmethod
    def from_packed(cls, packed: Packed, receipt: Receipt) -> WorkloadRelease:
        """The answers that were stored as this record."""
        parts = packed.release["parts"]
        return cls(
            {
                name: Release.from_packed(Packed(each["release"], each["facts"]), receipt)
                for name, each in parts.items()
            },
            receipt,
        )

    def __str__(self) -> str:
        return "\n\n".join(f"{name}\n{answer}" for name, answer in self.answers.items()) + f"\n\n{self.receipt}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Workload:
    """Questions with their prices. `price` is free to look at; `release` charges all of it at once."""

    session: MechanismSession
    questions: Mapping[str, Query[Any]]
    prices: Mapping[str, Price]
    terms: Mapping[str, Mapping[str, Any]]
    same_as: Mapping[str, str]
    """Questions that are measured by another one's measurement."""

    @property
    def charge(self) -> Cost:
        """What is charged in all: every measurement once."""
        return Composed(tuple(price.charge for price in self.prices.values()))

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dictionary for each question: what it costs, and the error of each output."""
        rows = []
        for name in self.questions:
            price = self.prices[self.same_as.get(name, name)]
            paid = name in self.prices
            rows.append(
                {
                    "question": name,
                    price.pair.unit: float(price.pair.loss) if paid else 0.0,
                    "delta": float(price.pair.delta) if paid else 0.0,
                    "errors": {output: str(error) for output, error in price.errors.items()},
                    "measured": "here" if paid else f"with {self.same_as[name]}",
                }
            )
        return rows

    @property
    def more(self) -> int | None:
        """How many more workloads like this one fit into what is left; None where any number does."""
        balance = self.session._ledger.balances()[0]
        return self.session.filters.more(self.session.filters.read(self.charge), balance.tally)

    def release(self, *, request: str | None = None) -> WorkloadRelease:
        """Charge everything at once, run, store, and only then show.

        Guarantee: one durable charge covers all answers, made before data was read; a refusal spends nothing.
        """
        parts = self._parts()

        def answers(data: Any, entropy: Any) -> Packed:
            made = {name: part.function(data, entropy) for name, part in parts.items()}
            kept = {name: {"release": each.release, "facts": each.facts} for name, each in made.items()}
            return Packed({"kind": "workload", "parts": kept}, next(iter(made.values())).facts)

        digest = _digest(parts)
        costs = Composed(tuple(price.cost for price in self.prices.values()))
        whole = Mechanism(self.session.space, answers, lambda d_in: grouped(costs, d_in), recipe=digest)
        tables = sorted({table for name in self.prices for table in self.session.tables_read(self.questions[name])})
        question = f"a workload of {number_of(len(self.questions), 'question')}: {', '.join(self.questions)}"
        packed, receipt = self.session._released(
            whole, self.charge, request=request, plan=digest, question=question, tables=tables
        )
        return WorkloadRelease(self.named(WorkloadRelease.from_packed(packed, receipt)), receipt)

    @property
    def plan(self) -> str:
        """The digest of everything that is measured and how: what a grant names."""
        return _digest(self._parts())

    def _parts(self) -> dict[str, Mechanism]:
        return {
            name: self.session.query_mechanism(self.questions[name]).member(Payment.read(**self.terms[name]))
            for name in self.prices
        }

    def named(self, found: WorkloadRelease) -> dict[str, Release]:
        """The stored answers under each question's own name and those of its outputs."""
        named = {name: found.answers[self.same_as.get(name, name)] for name in self.questions}
        outputs = {name: [output for output, _ in query.aggregates] for name, query in self.questions.items()}
        return {
            name: reduce(Release.viewed, self.questions[name].views, each.under(outputs[name]))
            for name, each in named.items()
        }

    def plot(self, name: str, *, output: str | None = None) -> Figure:
        """The error of one output against the epsilon its question gets: what a finer split would cost."""
        question, terms = self.questions[name], dict(self.terms[self.same_as.get(name, name)])
        unit = self.session.filters.unit
        spent = float(self.prices[self.same_as.get(name, name)].pair.loss)
        losses = [spent * factor for factor in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)]
        errors = []
        for loss in losses:
            offered = {**terms, "epsilon": None, "rho": None, "accuracy": None, unit: loss}
            price = self.session.price_query(question, Payment.read(**offered))
            errors.append(price.errors[output or next(iter(price.errors))].within)
        return plot(
            Line(losses, errors, label=output or ""), title=f"error of {name} by {unit}", x_label=unit, y_label="error"
        )

    def __str__(self) -> str:
        lines = []
        for row in self.table:
            unit = next(key for key in ("epsilon", "rho") if key in row)
            errors = ", ".join(f"{output} {error}" for output, error in row["errors"].items())
            here = self.prices.get(row["question"])
            paid = row["measured"] if here is None else f"{unit} = {digits(here.pair.loss)}"
            lines.append(f"{row['question']}: {paid}; {errors}")
        total = self.session.filters.stated(self.session.filters.read(self.charge))
        return "\n".join([*lines, f"in all: {total if total is not None else 'see prices'}"])

    __repr__ = __str__


def _digest(parts: Mapping[str, Mechanism]) -> str:
    recipes = {name: part.recipe for name, part in parts.items()}
    return hashlib.sha256(json.dumps(["workload", recipes], sort_keys=True).encode()).hexdigest()


def shared_measurements(session: MechanismSession, questions: Mapping[str, Query[Any]]) -> dict[str, str]:
    """Which questions are measured by an earlier one's measurement, whatever is paid for it."""
    options = {"delta": session._delta(None), "law": None, "group_size": 1000, "confidence": Fraction(19, 20)}
    return _same(session, questions, {**options, session.filters.unit: Fraction(1)})


def plan_workload(
    session: MechanismSession,
    questions: Mapping[str, Query[Any]],
    *,
    epsilon: Real | None,
    rho: Real | None,
    by: str,
    weights: Mapping[str, Real] | None,
    wanted: Mapping[str, Any] | None,
    locked: Mapping[str, Real] | None,
    options: Mapping[str, Any],
) -> Workload:
    """Share the budget and price every question; nothing is spent."""
    _checked(session, questions, by=by, weights=weights, wanted=wanted, locked=locked)
    unit, amount = _amount(epsilon, rho)
    same_as = _same(
        session, questions, {**options, unit or session.filters.unit: (amount or Fraction(1)) / len(questions)}
    )
    measured = [name for name in questions if name not in same_as]
    slip = session._delta(None) / len(measured) if options["delta"] is None else options["delta"]
    base = {**options, "epsilon": None, "rho": None, "accuracy": None, "delta": slip}
    terms: dict[str, dict[str, Any]] = {}
    prices: dict[str, Price] = {}
    goals = _goals(session, questions, wanted or {}, same_as, options["group_size"]) if by == "accuracy" else {}
    for name, goal in goals.items():
        terms[name] = {**base, "accuracy": goal}
        prices[name] = session.price_query(questions[name], Payment.read(**terms[name]))
        if (
            unit is not None and amount is not None
        ):  # pay the solved amount in the words of the budget, so that sums add up
            terms[name] = {**base, unit: prices[name].pair.loss, "delta": prices[name].pair.delta or slip}
    rest = [name for name in measured if name not in goals]
    shares = _shares(rest, amount, prices, by=by, weights=weights or {}, locked=locked or {}, unit=unit)
    for name, share in shares.items():
        terms[name] = {**base, unit or session.filters.unit: share}
    final = {name: session.price_query(questions[name], Payment.read(**terms[name])) for name in measured}
    return Workload(session, dict(questions), final, terms, same_as)


def _checked(
    session: MechanismSession, questions: Mapping[str, Query[Any]], *, by: str, **named: Mapping[str, Any] | None
) -> None:
    if not isinstance(questions, Mapping):
        raise InvalidArgument(
            f"a workload is queries of this session by name, {{'counts': ...}}, got {shown(questions)}"
        )
    if not questions:
        raise InvalidArgument("a workload needs at least one question, such as {'counts': session.query()...}")
    if by not in BY:
        raise InvalidArgument(f"by must be one of {', '.join(map(repr, BY))}, got {by!r}")
    for name, question in questions.items():
        if not isinstance(question, Query) or question.runner is not session:
            raise InvalidArgument(f"{name} must be a query of this session, got {shown(question)}")
    for argument, names in named.items():
        unknown = sorted(set(names or {}) - set(questions))
        if unknown:
            raise InvalidArgument(
                f"{argument} names {unknown[0]!r}, which is not among the questions {', '.join(questions)}"
            )
    if by == "accuracy" and not named["wanted"]:
        raise InvalidArgument("by='accuracy' needs wanted=, such as wanted={'means': '5%'}")
    if by == "weights" and not named["weights"]:
        raise InvalidArgument("by='weights' needs weights=, such as weights={'counts': 2, 'means': 1}")


def _amount(epsilon: Real | None, rho: Real | None) -> tuple[str | None, Fraction | None]:
    if epsilon is not None and rho is not None:
        raise InvalidArgument("say epsilon= or rho= for the whole workload, not both")
    if epsilon is not None:
        return "epsilon", positive(epsilon=epsilon)
    return ("rho", positive(rho=rho)) if rho is not None else (None, None)


def _same(session: MechanismSession, questions: Mapping[str, Query[Any]], options: Mapping[str, Any]) -> dict[str, str]:
    """Which questions are measured by an earlier one: those with equal recipes at an equal price, here an even share."""
    trial = {"epsilon": None, "rho": None, "accuracy": None, **options}
    first: dict[Any, str] = {}
    same = {}
    for name, question in questions.items():
        recipe = session.query_mechanism(question).member(Payment.read(**trial)).recipe
        if recipe in first:
            same[name] = first[recipe]
        else:
            first[recipe] = name
    return same


def _goals(
    session: MechanismSession,
    questions: Mapping[str, Query[Any]],
    wanted: Mapping[str, Any],
    same: Mapping[str, str],
    group_size: int,
) -> dict[str, dict[str, float]]:
    """The wanted error of every output that has one; of questions measured together the strictest."""
    goals: dict[str, dict[str, float]] = {}
    for name, goal in wanted.items():
        target, question = same.get(name, name), questions[name]
        outputs = [output for output, _ in question.aggregates]
        given = dict(goal) if isinstance(goal, Mapping) else dict.fromkeys(outputs, goal)
        renamed = [output for output, _ in questions[target].aggregates]
        for output, error in given.items():
            if output not in outputs:
                raise InvalidArgument(f"wanted names {output!r}, which {name} does not compute: {', '.join(outputs)}")
            at = renamed[outputs.index(output)]
            size = _error_size(session, error, question, output, group_size)
            known = goals.setdefault(target, {})
            known[at] = min(known.get(at, size), size)
    return goals


def _error_size(session: MechanismSession, error: Any, question: Query[Any], output: str, group_size: int) -> float:
    """An absolute error; a share such as "5%" of what is publicly known about the output's size."""
    if not (isinstance(error, str) and error.strip().endswith("%")):
        return float(positive(**{output: error}))
    try:
        share = float(error.strip()[:-1]) / 100
    except ValueError:
        raise InvalidArgument(f"a relative error is written '5%', got {error!r}") from None
    if not share > 0:
        raise InvalidArgument(f"a relative error must be above zero, got {error!r}")
    return share * float(public_size(session._compile(question), output, group_size))


def _shares(
    names: Sequence[str],
    amount: Fraction | None,
    solved: Mapping[str, Price],
    *,
    by: str,
    weights: Mapping[str, Real],
    locked: Mapping[str, Real],
    unit: str | None,
) -> dict[str, Fraction]:
    """What each question that is not solved may spend; locked ones what they were given."""
    used = sum((price.pair.loss for price in solved.values()), Fraction(0))
    fixed = {name: positive(**{name: locked[name]}) for name in names if name in locked}
    used += sum(fixed.values(), Fraction(0))
    if amount is None and by != "accuracy":
        raise InvalidArgument("say how much the workload may cost in all: epsilon= or rho=")
    if amount is not None and used > amount:
        raise InvalidArgument(
            f"the wanted errors and locked shares take {loss_text(unit or 'loss', used)}, more than the {digits(amount)} offered; "
            "offer that much or ask for larger errors"
        )
    free = [name for name in names if name not in fixed]
    if not free:
        return fixed
    if amount is None or used == amount:
        raise InvalidArgument(f"nothing is left for {', '.join(free)}; offer more, or state their wanted errors")
    parts = {name: positive(**{name: weights.get(name, 1)}) if by == "weights" else Fraction(1) for name in free}
    whole = sum(parts.values(), Fraction(0))
    return fixed | {name: (amount - used) * part / whole for name, part in parts.items()}
