"""A session: one budget over one data set. It prices for free, charges before it touches data, and hands out what is stored.

Guarantee: everything a session (and every other session on the same ledger) releases stays within the ledger's budget, for
queries chosen from earlier answers, priced along the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from deniable.accounting import Filters, Implications, Rule, Spend, Tally, implications
from deniable.core.family import MechanismFamily
from deniable.core.interactive import grouped
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.stream import RunMechanism
from deniable.core.transformation import Transformation
from deniable.cost import Cost
from deniable.engines.engine import Engine, Keeping, Looking, RowEngine, Selective
from deniable.engines.table_space import PrivateTables, table_rows, table_space
from deniable.errors import EngineFailed, InvalidArgument, Retired, SpaceMismatch
from deniable.exact.guards import Real, integer, open_probability, positive, probability, shown
from deniable.ledger import Ledger
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed, pack, unpacked
from deniable.noise import Entropy, system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Project, scan
from deniable.plan.provenance import codebooks, tables_of
from deniable.plan.relation import schema
from deniable.plan.unit import Unit
from deniable.query import Law, Lowered, Price, Query, Request, answered, drawn, lowered, priced, solved
from deniable.query.price import Terms as PriceTerms
from deniable.query.sql import Explanation
from deniable.release.answer import Release, column_record, layout
from deniable.release.digest import query_digest, value_digest
from deniable.release.payment import Payment, Purchase, purchase
from deniable.release.remaining import Remaining
from deniable.release.statement import facts, guarantee, notes, value_statement
from deniable.release.value import VALUE_KINDS, ValueRelease, accuracy_of, value_packed

if TYPE_CHECKING:
    from deniable.models.estimator import Estimator, RowsReader
    from deniable.models.fitted import FittedModel
    from deniable.models.private_scores import Score
    from deniable.models.teachers import Teachers

Made = TypeVar("Made")

DELTA_SHARE = Fraction(1, 20)
"""A query that needs a delta and names none gets this share of what the session keeps for leaks and pairs, or what is left."""


class Session:
    """Ask one data set under one budget. Made by `Dataset.session`."""

    def __init__(
        self, *, engine: Engine, codebook: Codebook, ledger: Ledger, name: str, account: str, entropy: Entropy | None
    ) -> None:
        self._engine, self.codebook, self._ledger = engine, codebook, ledger
        self._data, self._data_space = PrivateTables(engine, codebook), table_space(codebook)
        self.name, self.account = name, account
        self._entropy = entropy
        self._last: Tally | None = None
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

    @property
    def space(self) -> Space:
        """The space of this session's tables: what the codebook allows, with the distance of its unit."""
        return self._data_space

    def rows(
        self,
        table: str | None = None,
        *,
        column: str | None = None,
        columns: Sequence[str] | Mapping[str, str] | None = None,
        where: str | None = None,
        rows: int | None = None,
    ) -> Transformation:
        """The bounded rows of a table, for mechanisms of the calculus: `session.rows(column="age") >> private_median(...)`.

        `column` is a column or an expression; its values on the codebook's grid follow, rows without one left out. With
        `columns` it is a frame, with the label of its unit in the column `unit`. One unit keeps at most `rows` rows: what the
        codebook allows it in all groups together unless said otherwise. Nothing is read before it is released.

        Guarantee: the transformation's own; it holds no data and may be built upon by anyone.
        """
        if not isinstance(self._engine, RowEngine):
            raise InvalidArgument(f"{self.engine} hands out no rows; ask for aggregates with session.query()")
        return table_rows(self.codebook, table, column=column, columns=columns, where=where, rows=rows)

    def release(
        self,
        question: Query | Mechanism | MechanismFamily,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | Real | None = None,
        delta: Real | None = None,
        law: Law | str | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
        request: str | None = None,
    ) -> Any:
        """The one door: a query or a mechanism on this session's tables, priced, charged durably, run, stored, and only then shown.

        A mechanism without a scale gets the one its payment buys; with a scale, `epsilon` is a ceiling. Equal questions are
        answered by the stored release, at no cost; a mechanism that holds a function of one's own is a new question each
        time, unless the same `request` is given.

        Guarantee: what leaves was charged to the ledger before data was read; all of it together stays within the budget.
        """
        terms: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "accuracy": accuracy, "delta": delta}
        terms |= {"law": law, "group_size": group_size, "confidence": confidence}
        if isinstance(question, Query):
            return self.release_of(question, request=request, **terms)
        bought = self._bought(question, terms)
        if isinstance(bought.mechanism, RunMechanism):
            raise InvalidArgument(
                "a session stores every answer, and this mechanism's release goes on answering; begin it with session.start"
            )
        return self._value(bought, open_probability(confidence=confidence), request)

    def quote(
        self,
        question: Mechanism | MechanismFamily,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Real | None = None,
        delta: Real | None = None,
    ) -> Purchase:
        """What a payment would buy of a mechanism: its scale, its cost, its charge. Nothing is spent and no data is touched."""
        terms: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "accuracy": accuracy, "delta": delta}
        return self._bought(question, terms | {"confidence": Fraction(19, 20)})

    def start(
        self,
        mechanism: Mechanism | MechanismFamily,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
    ) -> Any:
        """A run that goes on answering, such as a query stream on `session.rows(...)`, charged as a whole before it begins.

        It lives in this process and nothing of it is stored: whoever wants its answers again keeps them.

        Guarantee: the whole run, however long, costs what the ledger was charged.
        """
        terms: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "accuracy": None, "delta": delta}
        bought = self._bought(mechanism, terms | {"confidence": Fraction(19, 20)})
        if not isinstance(bought.mechanism, RunMechanism):
            raise InvalidArgument("this mechanism answers once: use session.release, which stores its answer")
        self._check_open()
        self._look()
        self._ledger.charge(bought.charge, account=self.account)
        self._last = self.filters.read(bought.charge)
        return self._guarded(lambda: bought.mechanism.function(self._data, self._entropy or system_entropy()))

    def _bought(self, question: Any, terms: Mapping[str, Any]) -> Purchase:
        """A mechanism on this session's tables, at the price that is offered."""
        if not isinstance(question, Mechanism | MechanismFamily):
            raise InvalidArgument(
                f"a session releases queries and mechanisms on its tables, got {type(question).__name__}; "
                "start from session.query() or session.rows(column=...)"
            )
        if question.source != self.space:
            raise SpaceMismatch(
                "this mechanism is not about this session's tables; start its chain with session.rows(column=...)"
            )
        return purchase(question, Payment.read(terms, self._delta(terms["delta"])), self.filters)

    def _value(self, bought: Purchase, confidence: Fraction, request: str | None) -> Any:
        stated = accuracy_of(bought.mechanism, confidence)
        promise, facts = value_statement(self, bought, stated)
        kept = bought.mechanism.post(lambda answer: value_packed(answer, stated, promise, facts))
        plan = "" if bought.mechanism.recipe is None else value_digest(bought, confidence)
        packed, receipt = self._released(kept, bought.charge, request=request, plan=plan)
        self._last = self.filters.read(bought.charge)
        return ValueRelease.from_packed(packed, receipt).shown()

    def _released(
        self, mechanism: Mechanism, charge: Cost, *, request: str | None, plan: str, tables: Sequence[str] = ()
    ) -> tuple[Packed, Receipt]:
        """Charge durably, run, draw, store, and only then show: everything a session releases comes through here.

        `mechanism` answers with a packed release. Whatever goes wrong while it runs may quote the data: it becomes one
        constant text, the charge stands and the session retires.
        """
        self._check_open()
        made: dict[bytes, Packed] = {}  # what was stored need not be parsed again if it is this

        def run() -> bytes:
            def answer() -> tuple[Packed, bytes]:
                packed = mechanism.function(self._data, self._entropy or system_entropy())
                return packed, pack(packed)

            packed, payload = self._guarded(answer)
            made[payload] = packed
            return payload

        released = self._ledger.answer(
            charge, run, request=request, plan=plan, account=self.account, look=self._look, tables=tables
        )
        return made.get(released.payload) or unpacked(released.payload), released.receipt

    def _check_open(self) -> None:
        if self._retired:
            raise Retired("this session met an engine failure; ask the curator, then open a new session")

    def _guarded(self, run: Callable[[], Made]) -> Made:
        """What `run` makes of the data. Whatever goes wrong may quote it: one constant text, and the session retires."""
        try:
            return run()
        except EngineFailed:
            self._retired = True
            raise
        except KeyboardInterrupt:
            raise KeyboardInterrupt("interrupted; it stays charged") from None
        except Exception:
            self._retired = True
            raise EngineFailed from None

    def public_values(self, table: str, column: str) -> tuple[Any, ...]:
        """The values of a column of a public table, each once: group keys to declare with `group_by(..., values=...)`."""
        source = scan(self.codebook, table)
        if column not in (known := schema(source)):
            raise InvalidArgument(f"table {table} has no column {column!r}; it has {', '.join(known)}")
        found = self._engine.public(Project(source, ((column, Column(column)),)))[column]
        step = known[column].step
        held = (value * step if type(value) is int else value for value in found if value is not None)
        return tuple(dict.fromkeys(held))

    # Models

    def score(
        self,
        model: FittedModel,
        *,
        metric: str,
        table: str | None = None,
        where: str | None = None,
        rows: int | None = None,
        floor: Real = 1,
        confidence: Real = Fraction(19, 20),
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        request: str | None = None,
    ) -> Score:
        """A private score of a fitted model on this session's rows: accuracy, precision, recall, auc, calibration, mae, mape or r2.

        Who was in the rows the model was fitted on and is in these as well is charged for both; so it is one ledger for both.

        Guarantee: charged before a row is read; the score and its interval come from one noisy table.
        """
        from deniable.models.private_scores import score_family

        asked = score_family(
            self.codebook, model, metric=metric, table=table, where=where, rows=rows, floor=floor, confidence=confidence
        )
        found: Score = self.release(asked, epsilon=epsilon, rho=rho, delta=delta, request=request)
        return found

    def best_of(
        self,
        models: Sequence[RowsReader],
        *,
        score: str,
        tries: Real = 10,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        request: str | None = None,
    ) -> Any:
        """The best of about `tries` fits, each of a model drawn from the list, by a private score; one charge for all of it.

        `score` is a metric of `score`, or "calinski_harabasz" for k-means. The model's own score is in its settings.

        Guarantee: losers and the number of tries are not shown; the price is that of private selection from private candidates.
        """
        from deniable.models.best_model import best_family

        asked = best_family(self.codebook, models, score=score, tries=tries)
        return self.release(asked, epsilon=epsilon, rho=rho, delta=delta, request=request)

    def teachers(self, model: Estimator, *, parts: int) -> Teachers:
        """Teachers of one estimator on disjoint parts of the people, whose noisy votes label public rows (PATE).

        Guarantee: every unit is in one part, by its keyed hash alone; nothing is read before `label` is charged.
        """
        from deniable.models.teachers import Teachers

        return Teachers(self, model, parts)

    @property
    def rule(self) -> Rule:
        """How the budget is counted, and by which theorem: of several rules the one that leaves most."""
        return self._ledger.balances()[0].rule

    @property
    def filters(self) -> Filters:
        """Every rule that counts; a query is answered while one that has allowed all of them so far allows it."""
        return self._ledger.terms.main.filters

    @property
    def spent(self) -> Spend:
        """What has been spent over the ledger's lifetime; of an (epsilon, delta) budget what it has less than at first."""
        return self._ledger.spent

    @property
    def remaining(self) -> Remaining:
        """What is left, and how many more queries like the last one fit.

        Of an (epsilon, delta) budget, which several rules keep side by side, it is the largest epsilon one more query may cost.
        """
        balance = self._ledger.balances()[0]
        more = None if self._last is None else self.filters.more(self._last, balance.tally)
        left = balance.left
        return Remaining(left, left.unit or balance.rule.unit, more)

    def implied(
        self, *, coarser: Mapping[str, int] | None = None, finer: Iterable[str] = (), delta: Real | None = None
    ) -> Implications:
        """What this session's budget says about units other than its own: coarser={"household": 4}, finer=["test"].

        Guarantee: holds for everything the ledger ever releases (in one period, if its budget starts afresh). A coarser unit is
        at most so many units, a finer one a part of one unit. Rho budgets with a delta need the `delta` at which to read them.
        """
        promise = self._ledger.terms.budget
        return implications(promise, unit=str(self.unit), coarser=coarser or {}, finer=finer, delta=delta)

    def fetch(self, request: str) -> Any:
        """An answer this session's analyst already paid for, by its request id: of whatever kind it was."""
        found = self._ledger.fetch(request, account=self.account)
        packed = unpacked(found.payload)
        if packed.release.get("kind") in VALUE_KINDS:
            return ValueRelease.from_packed(packed, found.receipt).shown()
        return Release.from_packed(packed, found.receipt)

    # What a query asks of its session

    def price_of(self, query: Query, **terms: Any) -> Price:
        """The price of a query; nothing is spent or looked at."""
        return self._priced(self._lowered(query), terms)

    def release_of(self, query: Query, *, request: str | None = None, **terms: Any) -> Release:
        """Price, charge durably, run, draw once, store, and only then show."""
        ready = self._lowered(query)
        price = self._priced(ready, terms)
        mechanism = self._mechanism(ready, price)
        packed, receipt = self._released(
            mechanism, price.charge, request=request, plan=query_digest(ready, price), tables=tables_of(ready.plan)
        )
        self._last = self.filters.read(price.charge)
        return Release.from_packed(packed, receipt).under([name for name, _ in ready.outputs])

    def mechanism_of(self, query: Query, **terms: Any) -> Mechanism:
        """The query at this price as one mechanism on the table space; its answer is a packed release."""
        ready = self._lowered(query)
        return self._mechanism(ready, self._priced(ready, terms))

    def _mechanism(self, ready: Lowered, price: Price) -> Mechanism:
        return Mechanism(
            self.space,
            lambda data, entropy: self._answer(ready, price, data, entropy),
            lambda d_in: grouped(price.cost, d_in),
            recipe=query_digest(ready, price),
        )

    def _look(self) -> None:
        """Before a charge: what is public about the data may refuse, so that nothing is spent in vain."""
        if isinstance(self._engine, Looking):
            self._engine.look()

    def prepare(self, query: Query) -> None:
        """Have the engine keep a query's bounded rows; nothing is released."""
        if not isinstance(self._engine, Keeping):
            raise InvalidArgument(f"{self.engine} keeps no rows between queries; ask without prepare()")
        self._engine.prepare(self._lowered(query).plan)

    def _answer(self, ready: Lowered, price: Price, data: PrivateTables, entropy: Entropy) -> Packed:
        drawing = drawn(ready, data.run(ready.plan), price.bill, entropy)
        columns = answered(ready, drawing, price)
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
        if not isinstance(query, Query):
            raise InvalidArgument(
                f"a session answers queries such as session.query().agg(n=dp.count()), got {shown(query)}"
            )
        if query.asker is not self or any(book != self.codebook for book in codebooks(query.source)):
            raise InvalidArgument("this query belongs to another session; build it from this one's query()")
        ready = lowered(query, self.unit)
        if isinstance(self._engine, Selective):
            self._engine.check(ready.plan)
        return ready

    def _priced(self, ready: Lowered, terms: Mapping[str, Any]) -> Price:
        stated = PriceTerms(
            open_probability(confidence=terms["confidence"]),
            integer(group_size=terms["group_size"], least=1),
            self._ledger.balances()[0].tally,
        )
        asked = self._request(ready, terms)
        if terms["accuracy"] is not None:
            return solved(ready, asked, self.filters, stated, terms["accuracy"])
        return priced(ready, asked, self.filters, stated)

    def _request(self, ready: Lowered, terms: Mapping[str, Any]) -> Request:
        given = [name for name in ("epsilon", "rho", "accuracy") if terms[name] is not None]
        if len(given) != 1:
            raise InvalidArgument(f"say what to pay: epsilon=, rho= or accuracy=, one of them; got {given or 'none'}")
        epsilon, rho = _loss(terms, self.filters)
        return Request(epsilon, rho, self._delta(terms["delta"]), _law(terms["law"]))

    def _delta(self, delta: Real | None) -> Fraction:
        if delta is not None:
            return probability(delta=delta)
        return min(self.filters.pool * DELTA_SHARE, self.filters.pool_left(self._ledger.balances()[0].tally))

    def __repr__(self) -> str:
        return f"Session({self.name!r}, {self.remaining})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Session holds private data and a budget: it cannot be copied or pickled")


def _loss(terms: Mapping[str, Any], filters: Filters) -> tuple[Fraction | None, Fraction | None]:
    if terms["epsilon"] is not None:
        return positive(epsilon=terms["epsilon"]), None
    if terms["rho"] is not None:
        return None, positive(rho=terms["rho"])
    return (Fraction(1), None) if filters.unit == "epsilon" else (None, Fraction(1))


def _law(law: Law | str | None) -> Law | None:
    if law is None or isinstance(law, Law):
        return law
    named = {"laplace": Law.LAPLACE, "gaussian": Law.GAUSSIAN, "discrete gaussian": Law.DISCRETE_GAUSSIAN}
    if law not in named:
        raise InvalidArgument(f"law must be one of {', '.join(map(repr, named))}, got {law!r}")
    return named[law]
