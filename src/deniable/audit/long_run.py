"""Many questions against an odometer: what an analyst makes of a whole conversation is held against what was counted.

One answer is one conversation from its start: the analyst asks as often as they like, choosing each question from earlier answers,
and gives back what they conclude. The claim is the reading of whoever counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from deniable.accounting import Rule, Spend
from deniable.audit.auditor import audit_by_draws
from deniable.audit.claims import curve_of
from deniable.audit.subject import Subject
from deniable.audit.verdict import Verdict
from deniable.core.compositor import Compositor
from deniable.core.gate import Both, Odometer
from deniable.cost import Bounded, Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability
from deniable.noise import Entropy, system_entropy
from deniable.release.session import Session

Start = Callable[[Any, Entropy], Any]
Analyst = Callable[[Any], Any]


@dataclass(slots=True)
class Conversations:
    """Starts a conversation for every draw, and keeps the readings at their ends."""

    start: Start
    analyst: Analyst
    readings: list[Cost] = field(default_factory=list)

    def one(self, data: Any, entropy: Entropy) -> Any:
        """What the analyst concludes from one conversation; the reading at its end is public and part of it."""
        holder = self.start(data, entropy)
        concluded = self.analyst(holder)
        reading = odometer_reading(holder)
        if reading not in self.readings:
            self.readings.append(reading)
        return {"conclusion": concluded, "reading": repr(reading)}


def odometer_reading(holder: Any) -> Cost:
    """What a session, a compositor or an odometer says it has spent, as a cost."""
    if isinstance(holder, Session):
        filters = holder.filters
        return _cost(filters.spent(holder.ledger.balances()[0].whole, filters.rules[0]), filters.rules[0])
    if isinstance(holder, Compositor):
        gate = holder.gate.inner if isinstance(holder.gate, Both) else holder.gate
        if isinstance(gate, Odometer):
            return _cost(gate.spent, gate.rule)
    raise InvalidArgument(f"a session or an odometer counts what is spent; start gave back a {type(holder).__name__}")


def _cost(spent: Spend, rule: Rule) -> Cost:
    return replace(rule, limit=spent).promise if spent.loss or spent.delta else Bounded(epsilon=0)


def long_run(
    analyst: Analyst,
    *,
    start: Start,
    neighbours: tuple[Any, Any],
    samples: int,
    claim: Cost | None = None,
    level: Real = 0.01,
    entropy: Entropy | None = None,
) -> Verdict:
    """Hold what `analyst` concludes from whole conversations against the reading of the odometer at their end.

    `start(data, entropy)` opens a new session or odometer about one of the two data sets. The reading must be the same in every
    conversation, or a `claim` must be given: a reading that follows the answers is no bound by itself.

    Guarantee: a reading that holds is called broken with probability at most `level`.
    """
    source, kept = entropy or system_entropy(), Conversations(start, analyst)
    name = f"{analyst.__module__}:{analyst.__qualname__}" if hasattr(analyst, "__qualname__") else "an analyst"
    if claim is None:
        kept.one(neighbours[0], source)
    subject = Subject(name, kept.one, None, None, ())
    verdict = audit_by_draws(
        subject,
        [neighbours],
        [curve_of(claim if claim is not None else kept.readings[0])],
        samples=integer(samples=samples, least=2),
        level=float(open_probability(level=level)),
        entropy=source,
    )
    if claim is None and len(kept.readings) > 1:
        raise InvalidArgument(
            f"the odometer read {kept.readings[0]!r} after one conversation and {kept.readings[1]!r} after another: "
            "give the claim that bounds them all"
        )
    return verdict
