"""A session: one budget over one data set. It prices for free, charges before it touches data, and hands out what is stored.

Guarantee: everything a session (and every other session on the same ledger) releases stays within the ledger's budget, for
queries chosen from earlier answers, priced along the way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from deniable.accounting import Rule, Spend
from deniable.engines.engine import Engine, Keeping, Selective
from deniable.errors import EngineFailed, InvalidArgument, Retired
from deniable.exact.guards import Real, integer, open_probability, positive, probability
from deniable.noise import Entropy, system_entropy
from deniable.plan.canonical import identity
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Project, scan
from deniable.plan.relation import schema
from deniable.plan.unit import Unit
from deniable.query import Law, Lowered, Price, Query, Request, answered, drawn, lowered, priced, solved
from deniable.query.price import Terms as PriceTerms
from deniable.query.sql import Explanation
from deniable.release.answer import Release, column_record, layout
from deniable.release.ledger import Ledger
from deniable.release.statement import facts, guarantee, notes
from deniable.release.store import Packed, pack, unpacked

DELTA_SHARE = Fraction(1, 20)
"""A query that needs a delta and names none gets this share of the session's delta, or what is left of it."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left, and how many more queries like the last one that is enough for (None before the first)."""

    spend: Spend
    unit: str
    more_like_the_last: int | None

    def __str__(self) -> str:
        delta = f", delta = {float(self.spend.delta):.3g}" if self.spend.delta else ""
        again = (
            "" if self.more_like_the_last is None else f"; enough for {self.more_like_the_last} more like the last one"
        )
        return f"{self.unit} = {float(self.spend.loss):.6g}{delta}{again}"

    __repr__ = __str__


class Session:
    """Ask one data set under one budget. Made by `Dataset.session`."""

    def __init__(
        self, *, engine: Engine, codebook: Codebook, ledger: Ledger, name: str, account: str, entropy: Entropy | None
    ) -> None:
        self._engine, self.codebook, self._ledger = engine, codebook, ledger
        self.name, self.account = name, account
        self._entropy = entropy
        self._last: Spend | None = None
        self._retired = False

    # What an analyst does

    def query(self, table: str | None = None) -> Query:
        """A question about a table (the only one unless named): add where, group_by, agg; then price or release."""
        return Query(source=scan(self.codebook, table), asker=self)

    def sql(
        self,
        text: str,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | None = None,
        delta: Real | None = None,
        law: Law | str | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
        request: str | None = None,
        dialect: str = "duckdb",
    ) -> Release | Explanation:
        """The answer to one SELECT; after `EXPLAIN DP` what it would do and cost, for free.

        Guarantee: the aggregates are charged, drawn and stored like a builder's query; what is above them sees noise only.
        """
        from deniable.release.sql import asked

        terms = {"epsilon": epsilon, "rho": rho, "accuracy": accuracy, "delta": delta, "law": law}
        terms |= {"group_size": group_size, "confidence": confidence}
        return asked(self, self._engine, text, dialect=dialect, request=request, terms=terms)

    def public_values(self, table: str, column: str) -> tuple[Any, ...]:
        """The values of a column of a public table, each once: group keys to declare with `group_by(..., values=...)`."""
        source = scan(self.codebook, table)
        if column not in (known := schema(source)):
            raise InvalidArgument(f"table {table} has no column {column!r}; it has {', '.join(known)}")
        found = self._engine.public(Project(source, ((column, Column(column)),)))[column]
        step = known[column].step
        held = (value * step if type(value) is int else value for value in found if value is not None)
        return tuple(dict.fromkeys(held))

    @property
    def rule(self) -> Rule:
        """How the budget is kept, and by which theorem."""
        return self._ledger.terms.main.filter

    @property
    def spent(self) -> Spend:
        """What has been spent over the ledger's lifetime, exactly."""
        return self._ledger.spent

    @property
    def remaining(self) -> Remaining:
        """What is left, and how many more queries like the last one fit."""
        left = self._ledger.left
        return Remaining(left, self.rule.unit, self._more(left))

    def _more(self, left: Spend) -> int | None:
        last = self._last
        if last is None:
            return None
        rooms = [have // need for have, need in ((left.loss, last.loss), (left.delta, last.delta)) if need > 0]
        return int(min(rooms)) if rooms else None

    def fetch(self, request: str) -> Release:
        """An answer this session's analyst already paid for, by its request id."""
        found = self._ledger.fetch(request, account=self.account)
        return Release.from_bytes(found.payload, found.receipt)

    # What a query asks of its session

    def price_of(self, query: Query, **terms: Any) -> Price:
        """The price of a query; nothing is spent or looked at."""
        return self._priced(self._lowered(query), terms)

    def release_of(self, query: Query, *, request: str | None = None, **terms: Any) -> Release:
        """Price, charge durably, run, draw once, store, and only then show."""
        if self._retired:
            raise Retired("this session met an engine failure; ask the curator, then open a new session")
        ready = self._lowered(query)
        price = self._priced(ready, terms)
        packed: dict[bytes, Packed] = {}  # what was stored need not be parsed again if it is this

        def run() -> bytes:
            made = self._answer(ready, price)
            payload = pack(made)
            packed[payload] = made
            return payload

        released = self._ledger.answer(
            price.charge, run, request=request, plan=_digest(ready, price), account=self.account
        )
        self._last = price.spend
        stored = Release.from_packed(packed.get(released.payload) or unpacked(released.payload), released.receipt)
        return stored.under([name for name, _ in ready.outputs])

    def prepare(self, query: Query) -> None:
        """Have the engine keep a query's bounded rows; nothing is released."""
        if not isinstance(self._engine, Keeping):
            raise InvalidArgument(f"{self.engine} keeps no rows between queries; ask without prepare()")
        self._engine.prepare(self._lowered(query).plan)

    def _answer(self, ready: Lowered, price: Price) -> Packed:
        try:
            result = self._engine.run(ready.plan)
            drawing = drawn(ready, result, price.bill, self._entropy or system_entropy())
            columns = answered(ready, drawing, price)
        except EngineFailed:
            self._retired = True
            raise
        except Exception:
            # whatever went wrong after data was touched may quote it: one constant text, the charge stands
            self._retired = True
            raise EngineFailed from None
        record = {
            **layout(ready, drawing),
            "columns": [column_record(column) for column in columns],
            "confidence": float(price.confidence),
            "guarantee": guarantee(price, self.unit, ready, self.rehearsal),
            "notes": notes(price, self.codebook, ready),
        }
        return Packed(record, facts(self, ready, price).to_record())

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        assert self.codebook.unit is not None
        return self.codebook.unit

    @property
    def rehearsal(self) -> bool:
        """Whether the noise is a test's, so that answers carry no guarantee."""
        return self._entropy is not None and self._entropy.is_testing

    @property
    def engine(self) -> str:
        """The engine's name and version."""
        return self._engine.name

    def _lowered(self, query: Query) -> Lowered:
        """The plan of a query; one the engine cannot be trusted with is refused here, before it has a price."""
        ready = lowered(query, self.unit)
        if isinstance(self._engine, Selective):
            self._engine.check(ready.plan)
        return ready

    def _priced(self, ready: Lowered, terms: Mapping[str, Any]) -> Price:
        stated = PriceTerms(
            open_probability(confidence=terms["confidence"]), integer(group_size=terms["group_size"], least=1)
        )
        asked = self._request(ready, terms)
        if terms["accuracy"] is not None:
            return solved(ready, asked, self.rule, stated, terms["accuracy"])
        return priced(ready, asked, self.rule, stated)

    def _request(self, ready: Lowered, terms: Mapping[str, Any]) -> Request:
        given = [name for name in ("epsilon", "rho", "accuracy") if terms[name] is not None]
        if len(given) != 1:
            raise InvalidArgument(f"say what to pay: epsilon=, rho= or accuracy=, one of them; got {given or 'none'}")
        epsilon, rho = _loss(terms, self.rule)
        return Request(epsilon, rho, self._delta(terms["delta"]), _law(terms["law"]))

    def _delta(self, delta: Real | None) -> Fraction:
        if delta is not None:
            return probability(delta=delta)
        return min(self.rule.limit.delta * DELTA_SHARE, max(self._ledger.left.delta, Fraction(0)))

    def __repr__(self) -> str:
        return f"Session({self.name!r}, {self.remaining})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Session holds private data and a budget: it cannot be copied or pickled")


def _loss(terms: Mapping[str, Any], rule: Rule) -> tuple[Fraction | None, Fraction | None]:
    if terms["epsilon"] is not None:
        return positive(epsilon=terms["epsilon"]), None
    if terms["rho"] is not None:
        return None, positive(rho=terms["rho"])
    return (Fraction(1), None) if rule.unit == "epsilon" else (None, Fraction(1))


def _law(law: Law | str | None) -> Law | None:
    if law is None or isinstance(law, Law):
        return law
    named = {"laplace": Law.LAPLACE, "gaussian": Law.GAUSSIAN}
    if law not in named:
        raise InvalidArgument(f"law must be 'laplace' or 'gaussian', got {law!r}")
    return named[law]


def _digest(ready: Lowered, price: Price) -> str:
    """Everything public that decides the answer: the plan, what is computed from it, the noise and the threshold.

    What the outputs are called decides nothing: asked under another name it is the same answer.
    """
    bill = price.bill
    decided = {
        "plan": identity(ready.plan),
        "outputs": repr([output for _, output in ready.outputs]),
        "notes": ready.notes,
        "choices": repr(sorted(ready.choices.items())),
        "noises": {name: [noise.law.value, str(noise.scale)] for name, noise in bill.noises.items()},
        "etas": {name: str(eta) for name, eta in bill.etas.items()},
        "thresholds": repr(bill.thresholds),
        "labels": ready.keys.labels,
        "other": ready.other,
        "whole": ready.whole,
        "confidence": str(price.confidence),
    }
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()
