"""A session asked in SQL: the same query, price, charge and stored answer as from the builder; the rest is post-processing.

What is charged and stored is the release under the SELECT's aggregates. HAVING, ORDER BY, LIMIT, renaming and arithmetic are
applied after it was fetched, so asking for another view of the same aggregates costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from deniable.engines.engine import Engine
from deniable.engines.table_space import PrivateTables
from deniable.errors import QueryRefused
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed
from deniable.noise import Entropy
from deniable.plan.wording import with_quotes
from deniable.query import AnswerColumn, Law, Payment, Price, Query, compile_query
from deniable.query.aggregates import Error
from deniable.query.price import price_of_stages
from deniable.query.sql import (
    AnswerTable,
    Explanation,
    PrivateStatement,
    PublicRows,
    StagedStatement,
    StagePart,
    Statement,
    bind_predictions,
    compile_stages,
    compile_statement,
    explain_statement,
    public_answer,
    public_tables,
    read,
)
from deniable.query.sql.quantile_bins import between_quantiles
from deniable.release.answer import Release, statement_view
from deniable.release.answer_record import table_record
from deniable.release.release_facts import ReleaseFacts
from deniable.release.staged import PlannedStages, answer_stages, check_ending, ending_tables, explained_stages
from deniable.release.statement import contribution

if TYPE_CHECKING:
    from deniable.release.session import Session


def answer_statement(
    session: Session, engine: Engine, text: str, *, dialect: str, request: str | None, payment: Payment
) -> Release | Explanation:
    """The answer to one statement, or its explanation when it begins with EXPLAIN DP."""
    with _quotes_named(session, text, dialect):
        return _answer_statement(session, engine, text, dialect=dialect, request=request, payment=payment)


@contextmanager
def _quotes_named(session: Session, text: str, dialect: str) -> Iterator[None]:
    """Refusals name a column that stands without the quotes it needs."""
    try:
        yield
    except QueryRefused as refusal:
        names = [variable.name for table in session.codebook.tables for variable in table.variables]
        raise with_quotes(refusal, text, names, dialect) from None


def _answer_statement(
    session: Session, engine: Engine, text: str, *, dialect: str, request: str | None, payment: Payment
) -> Release | Explanation:
    statement = read(text, dialect=dialect)
    tables = public_tables(statement, session.codebook)
    if tables is not None:
        if statement.explain:
            return Explanation("nobody", "", "", (), (), None, "", (), (f"tables: {', '.join(tables)}",), public=True)
        return _public(session, public_answer(statement, session.codebook, tables, engine))
    offered = payment.otherwise(**_options(statement))
    try:
        private = _in_one_release(session, statement)
    except QueryRefused as refusal:
        staged = _in_stages(session, engine, statement, refusal)
        if statement.explain:
            return explained_stages(session, staged, offered)
        return answer_stages(
            session, engine, statement, staged, payment=offered, request=request, question=text.strip()
        )
    if statement.explain:
        return explanation(session, private, offered)
    release = session.release_query(private.query, offered, request, question=text.strip())
    return statement_view(release, private)


def price_between_quantiles(session: Session, query: Query[Release], payment: Payment) -> Price:
    """The price of a query with bins between quantiles, both stages together."""
    prices = PlannedStages.of(session, _between_quantiles(query), payment).prices
    return price_of_stages(prices, session.filters, spent=session._ledger.balances()[0].tally)


def answer_between_quantiles(
    session: Session, query: Query[Release], payment: Payment, *, request: str | None, question: str
) -> Release:
    """The answer to a query with bins between quantiles, which are a stage of their own.

    Guarantee: one durable charge, made before data is read, covers both stages; a refusal spends nothing.
    """
    outputs, keys = (
        ", ".join(name for name, *_ in named) for named in (query.aggregates, [(k.name,) for k in query.keys])
    )
    staged, asked = _between_quantiles(query), question or f"{outputs} by {keys}"
    return answer_stages(session, session._engine, None, staged, payment=payment, request=request, question=asked)


def _between_quantiles(query: Query[Release]) -> StagedStatement[Release]:
    edges, table, between = between_quantiles(query)
    stage = StagePart(table.name, PrivateStatement(edges, (), ()), table)
    return StagedStatement((stage,), PrivateStatement(between, (), ()), ())


@dataclass(frozen=True, slots=True)
class PricedQuestion:
    """A question at a price, with what decides its answer; nothing is charged here.

    `prices` are those of its private parts by name, `run` draws an answer on tables of the session's space, `shown` is a
    stored answer as the statement shows it.
    """

    price: Price
    prices: Mapping[str, Price]
    plan: str
    run: Callable[[PrivateTables, Entropy], Packed]
    shown: Callable[[Packed, Receipt | None], Release]

    @property
    def first(self) -> tuple[str, Error]:
        """The first output of the last part, and its error."""
        *_, last = self.prices.values()
        return next(iter(last.errors.items()))


@dataclass(frozen=True, slots=True)
class Question:
    """A statement about private tables as a session understands it: one release, or several in stages."""

    session: Session
    statement: Statement
    asked: PrivateStatement[Release] | StagedStatement[Release]

    @classmethod
    def read(cls, session: Session, text: str, *, dialect: str) -> Question:
        """The question in this text; one that needs no charge is refused."""
        with _quotes_named(session, text, dialect):
            statement = _of_private_tables(session, text, dialect)
            try:
                return cls(session, statement, _in_one_release(session, statement))
            except QueryRefused as refusal:
                return cls(session, statement, _in_stages(session, session._engine, statement, refusal))

    def at(self, payment: Payment) -> PricedQuestion:
        """Priced for what is offered, where the text does not say otherwise."""
        offered, session = payment.otherwise(**_options(self.statement)), self.session
        if isinstance(self.asked, StagedStatement):
            planned = PlannedStages.of(session, self.asked, offered)
            price = price_of_stages(planned.prices, session.filters, spent=session._ledger.balances()[0].tally)
            named = dict(zip(planned.names, planned.prices, strict=True))
            shown = partial(planned.shown, session._engine, self.statement)
            return PricedQuestion(price, named, planned.digest, planned.run, shown)
        member = session._query_member(self.asked.query, offered)
        assert member.recipe is not None
        named = {"answer": member.price}
        return PricedQuestion(member.price, named, member.recipe, member.function, partial(_shown, self.asked))

    @property
    def public_tables(self) -> tuple[str, ...]:
        """The public tables whose rows its last stage reads once all others are released."""
        end = self.asked.end if isinstance(self.asked, StagedStatement) else self.asked
        return () if isinstance(end, PrivateStatement) else ending_tables(end, self.session.codebook)


def _shown(private: PrivateStatement[Release], packed: Packed, receipt: Receipt | None) -> Release:
    names = [name for name, _ in private.query.aggregates]
    return statement_view(Release.from_packed(packed, receipt).under(names), private)


def private_query(session: Session, text: str, *, dialect: str) -> PrivateStatement[Release]:
    """The private query of a statement that one release answers; one that needs no charge is refused."""
    with _quotes_named(session, text, dialect):
        return _in_one_release(session, _of_private_tables(session, text, dialect))


def statement_prices(session: Session, text: str, *, dialect: str, payment: Payment) -> tuple[Price, ...]:
    """The prices of a statement's private parts: one, or one for each of its stages; one that needs no charge is refused.

    Guarantee: nothing is charged, and no private row is read.
    """
    return tuple(Question.read(session, text, dialect=dialect).at(payment).prices.values())


def _of_private_tables(session: Session, text: str, dialect: str) -> Statement:
    statement = read(text, dialect=dialect)
    if statement.explain or public_tables(statement, session.codebook) is not None:
        raise QueryRefused(
            "nothing-private",
            "this asks nothing of private tables",
            rewrite="leave out EXPLAIN DP, or ask a private table",
        )
    return statement


_SAID_BETTER = frozenset({"aggregate-below-noise", "subquery"})
"""Refusals of a query in one release for which that of its stages says more."""
_SAYS_BETTER = frozenset({"ambiguous-column", "integer-division"})
"""Refusals of what is left when all parts are released that say more than the first reason."""


def _in_stages(
    session: Session, engine: Engine, statement: Statement, refusal: QueryRefused
) -> StagedStatement[Release]:
    """The stages of a statement that one release does not answer; refused for the first reason where there are none."""
    try:
        staged = compile_stages(statement, session.codebook, session, engine.public)
        check_ending(session, statement, staged)
        return staged
    except QueryRefused as other:
        better = refusal.code in _SAID_BETTER or other.code in _SAYS_BETTER
        raise (other if better else refusal) from None


def _in_one_release(session: Session, statement: Statement) -> PrivateStatement[Release]:
    bind_predictions(statement, session.fetch)
    return compile_statement(statement, session.codebook, session)


def _options(statement: Statement) -> dict[str, Any]:
    options = statement.options
    law = Law.LAPLACE if options.strategy == "laplace_threshold" and not options.laws else options.law
    return {"epsilon": options.epsilon, "delta": options.delta, "law": law, "laws": options.laws}


def _public(session: Session, rows: PublicRows) -> Release:
    columns = tuple(AnswerColumn(name, "public", values, None, None, "exact") for name, values in rows.columns.items())
    shown = AnswerTable((), ((),) * rows.count, columns)
    record = table_record(shown, 1.0, "Public: computed from public tables only, exact; nothing was charged.", [])
    facts = ReleaseFacts(
        scope=f"{', '.join(rows.columns)} from public tables of {session.name}",
        epsilon=Fraction(0),
        delta=Fraction(0),
        unit=session.unit.phrase,
        mechanisms=("none: public tables only",),
        dataset=session.name,
    )
    return Release(record, facts, None)


def explanation(session: Session, private: PrivateStatement[Release], payment: Payment) -> Explanation:
    """What a statement would cost and say, before it is paid for."""
    if payment.is_open:
        one = Fraction(1)
        payment = replace(payment, epsilon=one) if session.filters.unit == "epsilon" else replace(payment, rho=one)
    compiled = compile_query(private.query, session.unit)
    price = session.price_query(private.query, payment)
    return explain_statement(private, compiled, price, unit=session.unit.phrase, bounds=contribution(compiled))
