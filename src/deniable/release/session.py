"""A session: one budget over one data set. It prices for free, charges before it touches data, and hands out what is stored.

Guarantee: everything a session (and every other session on the same ledger) releases stays within the ledger's budget, for
queries chosen from earlier answers, priced along the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from deniable.accounting import Filters, Implications, Rule, Spend, Tally, implications
from deniable.core.distance import Distance, distance
from deniable.core.domain import Pieces
from deniable.core.family import MechanismFamily
from deniable.core.interactive import grouped
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.stream import RunMechanism, begun_beside
from deniable.core.transformation import Transformation
from deniable.cost import Cost
from deniable.engines.engine import Engine, Keeping, Looking, RowEngine, Selective
from deniable.engines.table_space import PrivateTables, table_rows, table_space
from deniable.errors import EngineFailed, InvalidArgument, Retired, SpaceMismatch
from deniable.exact.guards import Real, shown
from deniable.ledger import History, Ledger, history
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed, pack, unpacked
from deniable.noise import Entropy, system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Project, scan
from deniable.plan.provenance import codebooks, tables_of
from deniable.plan.relation import schema
from deniable.plan.unit import Unit
from deniable.query import (
    CompiledQuery,
    ErrorBasis,
    LawName,
    Payment,
    Price,
    Query,
    Request,
    answer_columns,
    compile_query,
    draw_slices,
    price_for_accuracy,
    price_query,
)
from deniable.query.sql import Explanation
from deniable.release.answer import Release, column_record, layout
from deniable.release.digest import query_digest, value_digest
from deniable.release.purchase import Purchase, purchase
from deniable.release.query_mechanism import QueryFamily, QueryMechanism
from deniable.release.remaining import Remaining
from deniable.release.sql import answer_statement
from deniable.release.statement import facts, guarantee, notes, value_statement
from deniable.release.value import VALUE_KINDS, ValueRelease, accuracy_of, value_packed

if TYPE_CHECKING:
    from deniable.models.estimator import Estimator, RowsReader
    from deniable.models.fitted import FittedModel
    from deniable.models.private_scores import Score
    from deniable.models.teachers import Teachers
    from deniable.release.first_look import FirstLook
    from deniable.release.slice_choice import SliceChoice
    from deniable.release.synthetic import Synthesizer
    from deniable.release.twin import Twin
    from deniable.release.twin_scores import TwinScores
    from deniable.release.workload import Workload

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

    def query(self, table: str | None = None) -> Query[Release]:
        """A question about a table (the only one unless named): add where, group_by, agg; then price or release."""
        return Query(source=scan(self.codebook, table), runner=self)

    def sql(
        self,
        text: str,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | None = None,
        delta: Real | None = None,
        law: LawName | Mapping[str, LawName] | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
        simultaneous: bool = False,
        request: str | None = None,
        dialect: str = "duckdb",
    ) -> Release | Explanation:
        """The answer to one SELECT; after `EXPLAIN DP` what it would do and cost, for free.

        Guarantee: the aggregates are charged, drawn and stored like a builder's query; what is above them sees noise only.
        """
        payment = Payment.read(
            epsilon=epsilon,
            rho=rho,
            accuracy=accuracy,
            delta=delta,
            law=law,
            group_size=group_size,
            confidence=confidence,
            simultaneous=simultaneous,
        )
        return answer_statement(self, self._engine, text, dialect=dialect, request=request, payment=payment)

    def workload(
        self,
        questions: Mapping[str, Query[Any]],
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        by: str = "even",
        weights: Mapping[str, Real] | None = None,
        wanted: Mapping[str, Any] | None = None,
        locked: Mapping[str, Real] | None = None,
        delta: Real | None = None,
        law: LawName | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
    ) -> Workload:
        """Several questions under one budget: one table of prices, one charge, all released or none.

        `by` is "even", "weights" (parts in `weights`) or "accuracy": `wanted` gives errors as numbers or as shares such as "5%" (of
        `group_size` rows for counts and sums, of the width of the bounds for means), and what is left goes evenly to the others.
        `locked` fixes what some questions get. Nothing is spent before `.release()`.
        """
        from deniable.release.workload import plan_workload

        options = {"delta": delta, "law": law, "group_size": group_size, "confidence": confidence}
        shares = {"epsilon": epsilon, "rho": rho, "weights": weights, "wanted": wanted, "locked": locked}
        return plan_workload(self, questions, by=by, options=options, **shares)  # type: ignore[arg-type]

    def describe(self, *, share: Real, table: str | None = None, request: str | None = None) -> FirstLook:
        """A first look at a table for a share of what is left: rows, present values, quartiles, histograms and counts by key.

        Guarantee: one charge, made before data is read, of at most that share of what is left.
        """
        from deniable.release.first_look import first_look

        return first_look(self, share=share, table=table, request=request)

    def slices(
        self,
        candidates: Sequence[str],
        *,
        choose: str,
        epsilon: Real,
        slices: int = 50,
        table: str | None = None,
        request: str | None = None,
    ) -> SliceChoice:
        """Choose privately which of these columns to look at: `session.slices(["sex", "region"], choose="income by",
        epsilon=0.05)`.

        The people are spread over random slices; each slice votes for the column by which the mean of the named value differs most.

        Guarantee: one unit moves one vote; the choice is an exponential mechanism over the votes, charged first.
        """
        from deniable.release.slice_choice import choose_by_slices

        terms = {"choose": choose, "epsilon": epsilon, "slices": slices, "table": table, "request": request}
        return choose_by_slices(self, candidates, **terms)  # type: ignore[arg-type]

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
        question: Query[Any] | Mechanism | MechanismFamily,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        accuracy: Mapping[str, Real] | Real | None = None,
        delta: Real | None = None,
        law: LawName | Mapping[str, LawName] | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
        simultaneous: bool = False,
        request: str | None = None,
    ) -> Any:
        """The one door: a query or a mechanism on this session's tables, priced, charged durably, run, stored, and only then shown.

        A mechanism without a scale gets the one its payment buys; with a scale, `epsilon` is a ceiling. Equal questions are
        answered by the stored release, at no cost; a mechanism that holds a function of one's own is a new question each
        time, unless the same `request` is given.

        Guarantee: what leaves was charged to the ledger before data was read; all of it together stays within the budget.
        """
        payment = Payment.read(
            epsilon=epsilon,
            rho=rho,
            accuracy=accuracy,
            delta=delta,
            law=law,
            group_size=group_size,
            confidence=confidence,
            simultaneous=simultaneous,
        )
        if isinstance(question, QueryFamily):
            question = question.query
        if isinstance(question, Query):
            return self.release_query(question, payment, request)
        if isinstance(question, QueryMechanism):
            return self._release_priced(self._affordable(question, payment), request)
        bought = self._bought(question, payment)
        if isinstance(bought.mechanism, RunMechanism):
            raise InvalidArgument(
                "a session stores every answer, and this mechanism's release goes on answering; begin it with session.start"
            )
        return self._value(bought, payment, request)

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
        return self._bought(question, Payment.read(epsilon=epsilon, rho=rho, accuracy=accuracy, delta=delta))

    def start(
        self,
        mechanism: Mechanism | MechanismFamily,
        *,
        d_in: Distance | Real | tuple[Real, Real, Real] | None = None,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
    ) -> Any:
        """A run that goes on answering, such as a query stream on `session.rows(...)`, charged as a whole before it begins.

        A mechanism on a stream (alerts, running totals, stream maxima) is fed piece by piece with data that is in no table. Say
        with `d_in` how far one unit of this session moves that stream: (pieces, total, largest), or one number where pieces are
        compared one by one. The run lives in this process and nothing of it is stored: whoever wants its answers again keeps them.

        Guarantee: the whole run, however long, costs what the ledger was charged; of a stream, if `d_in` is true of what it is fed.
        """
        if d_in is not None:
            mechanism = begun_beside(mechanism, self.space, d_in=distance(d_in))
        bought = self._bought(mechanism, Payment.read(epsilon=epsilon, rho=rho, delta=delta))
        if not isinstance(bought.mechanism, RunMechanism):
            raise InvalidArgument("this mechanism answers once: use session.release, which stores its answer")
        self._check_open()
        self._look()
        self._ledger.charge(bought.charge, account=self.account)
        self._last = self.filters.read(bought.charge)
        return self._guarded(lambda: bought.mechanism.function(self._data, self._entropy or system_entropy()))

    def _bought(self, question: Any, payment: Payment) -> Purchase:
        """A mechanism on this session's tables, at the price that is offered."""
        if not isinstance(question, Mechanism | MechanismFamily):
            raise InvalidArgument(
                f"a session releases queries and mechanisms on its tables, got {type(question).__name__}; "
                "start from session.query() or session.rows(column=...)"
            )
        if isinstance(question.source.domain, Pieces):
            raise SpaceMismatch(
                "the pieces of a stream are in no table: say how far one unit moves it with "
                "session.start(..., d_in=(pieces, total, largest))"
            )
        if question.source != self.space:
            raise SpaceMismatch(
                "this mechanism is not about this session's tables; start its chain with session.rows(column=...)"
            )
        return purchase(question, payment, self.filters, delta=self._delta(payment.delta))

    def _value(self, bought: Purchase, payment: Payment, request: str | None) -> Any:
        stated = accuracy_of(bought.mechanism, payment.confidence, simultaneous=payment.simultaneous)
        promise, facts = value_statement(self, bought, stated)
        kept = bought.mechanism.post(lambda answer: value_packed(answer, stated, promise, facts))
        plan = "" if bought.mechanism.recipe is None else value_digest(bought, payment)
        packed, receipt = self._released(kept, bought.charge, request=request, plan=plan, question=facts.scope)
        self._last = self.filters.read(bought.charge)
        return ValueRelease.from_packed(packed, receipt).shown()

    def _released(
        self,
        mechanism: Mechanism,
        charge: Cost,
        *,
        request: str | None,
        plan: str,
        question: str,
        tables: Sequence[str] = (),
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
            charge,
            run,
            request=request,
            plan=plan,
            account=self.account,
            look=self._look,
            tables=tables,
            question=question,
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
    def ledger(self) -> Ledger:
        """The durable budget behind this session: its balances, charges and events."""
        return self._ledger

    @property
    def history(self) -> History:
        """Every charge so far: when, who, what was asked and its price, from the ledger alone."""
        return history(self._ledger)

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
        kind = packed.release.get("kind")
        if kind in VALUE_KINDS:
            return ValueRelease.from_packed(packed, found.receipt).shown()
        if kind == "synthetic":
            from deniable.release.twin import Twin

            return Twin.from_packed(packed, found.receipt)
        if kind == "workload":
            from deniable.release.workload import WorkloadRelease

            return WorkloadRelease.from_packed(packed, found.receipt)
        return Release.from_packed(packed, found.receipt)

    # What a query asks of its session

    def price_query(self, query: Query[Any], payment: Payment) -> Price:
        """The price of a query; nothing is spent or looked at."""
        return self._price(self._compile(query), payment)

    def release_query(
        self, query: Query[Any], payment: Payment, request: str | None = None, *, question: str = ""
    ) -> Release:
        """Price, charge durably, run, draw once, store, and only then show."""
        return self._release_priced(self._query_member(query, payment), request, question=question)

    def _affordable(self, mechanism: QueryMechanism, payment: Payment) -> QueryMechanism:
        """A query of this session at its own price; what is offered for it is a ceiling."""
        if mechanism.query.runner is not self:
            raise InvalidArgument("this query belongs to another session; build it from this one's query()")
        price = mechanism.price.pair
        if payment.epsilon is not None and (price.unit != "epsilon" or price.loss > payment.epsilon):
            raise InvalidArgument(
                f"this query at its price costs {price}, more than the epsilon {float(payment.epsilon):.6g} offered"
            )
        return mechanism

    def _release_priced(self, mechanism: QueryMechanism, request: str | None, *, question: str = "") -> Release:
        compiled, charge = mechanism.compiled, mechanism.price.charge
        packed, receipt = self._released(
            mechanism,
            charge,
            request=request,
            plan=mechanism.recipe or "",
            question=question or facts(self, compiled, mechanism.price).scope,
            tables=tables_of(compiled.plan),
        )
        self._last = self.filters.read(charge)
        return Release.from_packed(packed, receipt).under([name for name, _ in compiled.outputs])

    def tables_read(self, query: Query[Any]) -> tuple[str, ...]:
        """The private tables a query reads, for the ledger."""
        return tuple(tables_of(self._compile(query).plan))

    def query_mechanism(self, query: Query[Any]) -> QueryFamily:
        """The query as a mechanism on the table space; its payment picks the member."""
        self._check_query(query)
        return QueryFamily.of(self.space, query, lambda payment: self._query_member(query, payment))

    def _query_member(self, query: Query[Any], payment: Payment) -> QueryMechanism:
        """The query at this price as one mechanism on the table space; its answer is a packed release."""
        compiled = self._compile(query)
        price = self._price(compiled, payment)
        return QueryMechanism(
            self.space,
            lambda data, entropy: self._answer(compiled, price, data, entropy),
            lambda d_in: grouped(price.cost, d_in),
            recipe=query_digest(compiled, price),
            query=query,
            compiled=compiled,
            price=price,
        )

    def _look(self) -> None:
        """Before a charge: what is public about the data may refuse, so that nothing is spent in vain."""
        if isinstance(self._engine, Looking):
            self._engine.look()

    def prepare(self, query: Query[Any]) -> None:
        """Have the engine keep a query's bounded rows; nothing is released."""
        if not isinstance(self._engine, Keeping):
            raise InvalidArgument(f"{self.engine} keeps no rows between queries; ask without prepare()")
        self._engine.prepare(self._compile(query).plan)

    def _answer(self, compiled: CompiledQuery, price: Price, data: PrivateTables, entropy: Entropy) -> Packed:
        drawn = draw_slices(compiled, data.run(compiled.plan), price.allocation, entropy)
        columns = answer_columns(compiled, drawn, price)
        record = {
            **layout(compiled, drawn),
            "columns": [column_record(column) for column in columns],
            "confidence": float(price.confidence),
            "guarantee": guarantee(price, self.unit, compiled, self.rehearsal),
            "notes": notes(price, self.codebook, compiled),
        }
        return Packed(record, facts(self, compiled, price).to_record())

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

    def _check_query(self, query: Any) -> None:
        """Refuse what is no query of this session."""
        if not isinstance(query, Query):
            raise InvalidArgument(
                f"a session answers queries such as session.query().agg(n=dp.count()), got {shown(query)}"
            )
        if query.runner is not self or any(book != self.codebook for book in codebooks(query.source)):
            raise InvalidArgument("this query belongs to another session; build it from this one's query()")

    def _compile(self, query: Query[Any]) -> CompiledQuery:
        """The plan of a query; one the engine cannot be trusted with is refused here, before it has a price."""
        self._check_query(query)
        compiled = compile_query(query, self.unit)
        if isinstance(self._engine, Selective):
            self._engine.check(compiled.plan)
        return compiled

    def _price(self, compiled: CompiledQuery, payment: Payment) -> Price:
        basis = ErrorBasis(
            confidence=payment.confidence, group_size=payment.group_size, simultaneous=payment.simultaneous
        )
        spent = self._ledger.balances()[0].tally
        asked = self._request(payment)
        if payment.accuracy is None:
            return price_query(compiled, asked, self.filters, basis, spent=spent)
        if not isinstance(payment.accuracy, Mapping):
            raise InvalidArgument("the accuracy of a query names its outputs, such as accuracy={'n': 10}")
        return price_for_accuracy(compiled, asked, self.filters, basis, payment.accuracy, spent=spent)

    def _request(self, payment: Payment) -> Request:
        if payment.is_open:
            raise InvalidArgument("say what to pay: epsilon=, rho= or accuracy=, one of them; got none")
        one = {self.filters.unit: Fraction(1)} if payment.accuracy is not None else {}
        return Request(
            one.get("epsilon", payment.epsilon),
            one.get("rho", payment.rho),
            self._delta(payment.delta),
            payment.law,
            payment.laws,
        )

    def _delta(self, delta: Fraction | None) -> Fraction:
        if delta is not None:
            return delta
        return min(self.filters.pool * DELTA_SHARE, self.filters.pool_left(self._ledger.balances()[0].tally))

    def synthesizer(
        self,
        table: str | None = None,
        *,
        columns: str | Sequence[str] = "all",
        method: str = "pairs",
        focus: str | Sequence[str] = (),
        rows: int | None = None,
        bins: Mapping[str, int] | None = None,
        quantiles: Mapping[str, int] | None = None,
        **options: Any,
    ) -> Synthesizer:
        """A plan for synthetic rows of a table: `price` it for free, `release` it under one charge for a twin.

        Cells come from the codebook; `bins` says into how many cells of equal width a number is cut, `quantiles` into how many of
        about equal counts (found privately, a tenth of the price). Errors in pairs with a `focus` column count more. One unit
        keeps at most `rows` rows. `options` are those of the method.
        """
        from deniable.release.synthetic import Synthesizer
        from deniable.synth.synthesis import synthesis

        if not isinstance(self._engine, RowEngine):
            raise InvalidArgument(
                f"{self.engine} hands out no rows, which a synthesizer counts; use DuckDB or PostgreSQL"
            )
        told: dict[str, Any] = {"columns": columns, "method": method, "focus": focus, "rows": rows, "bins": bins}
        asked = synthesis(self.codebook, table, **told, quantiles=quantiles, options=options)
        return Synthesizer(self, asked)

    def evaluate(
        self,
        twin: Twin,
        *,
        epsilon: Real,
        target: str | None = None,
        positive: str | None = None,
        table: str | None = None,
        rows: int | None = None,
        request: str | None = None,
    ) -> TwinScores:
        """A twin against the data, charged: how far its tables are, or with a `target` how well what it teaches works on real rows.

        Train on synthetic, test on real: a logistic regression for `target` (its second category, or the `positive` one).

        Guarantee: charged before data was read; the numbers are noisy, and stored.
        """
        from deniable.release.twin import Twin as TwinType
        from deniable.release.twin_scores import distances_on_data, on_data, teaching_on_data

        if not isinstance(twin, TwinType):
            raise InvalidArgument(f"evaluate takes a twin of session.synthesizer(...).release(...), got {shown(twin)}")
        on = on_data(self, twin, table, rows)
        if target is None:
            return distances_on_data(self, twin, on, epsilon=epsilon, request=request)
        return teaching_on_data(self, twin, on, target=target, positive=positive, epsilon=epsilon, request=request)

    def __repr__(self) -> str:
        return f"Session({self.name!r}, {self.remaining})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Session holds private data and a budget: it cannot be copied or pickled")
