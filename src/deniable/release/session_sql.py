"""A session asked in SQL: the same query, price, charge and stored answer as from the builder; the rest is post-processing.

What is charged and stored is the release under the SELECT's aggregates. HAVING, ORDER BY, LIMIT, renaming and arithmetic are
applied after it was fetched, so asking for another view of the same aggregates costs nothing.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.engines.engine import Engine
from deniable.errors import QueryRefused
from deniable.query import AnswerColumn, Law, Payment, Price, Query, compile_query
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
from deniable.release.staged import answer_stages, check_ending, explained_stages, stage_prices
from deniable.release.statement import contribution

if TYPE_CHECKING:
    from deniable.release.session import Session


def answer_statement(
    session: Session, engine: Engine, text: str, *, dialect: str, request: str | None, payment: Payment
) -> Release | Explanation:
    """The answer to one statement, or its explanation when it begins with EXPLAIN DP."""
    statement = read(text, dialect=dialect)
    tables = public_tables(statement, session.codebook)
    if tables is not None:
        if statement.explain:
            return Explanation("nobody", "", "", (), (), None, "", (), (f"tables: {', '.join(tables)}",), public=True)
        return _public(session, public_answer(statement, session.codebook, tables, engine))
    try:
        private, paid = _offered(session, statement, payment)
    except QueryRefused as refusal:
        staged = _in_stages(session, engine, statement, refusal)
        offered = payment.otherwise(**_options(statement))
        if statement.explain:
            return explained_stages(session, staged, offered)
        return answer_stages(
            session, engine, statement, staged, payment=offered, request=request, question=text.strip()
        )
    if statement.explain:
        return explanation(session, private, paid)
    release = session.release_query(private.query, paid, request, question=text.strip())
    return statement_view(release, private)


def price_between_quantiles(session: Session, query: Query[Release], payment: Payment) -> Price:
    """The price of a query with bins between quantiles, both stages together."""
    prices = stage_prices(session, _between_quantiles(query), payment)
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


def private_question(
    session: Session, text: str, *, dialect: str, payment: Payment
) -> tuple[PrivateStatement[Release], Payment]:
    """The private query of a statement and what is offered for it; one that needs no charge is refused."""
    return _offered(session, _of_private_tables(session, text, dialect), payment)


def statement_prices(session: Session, text: str, *, dialect: str, payment: Payment) -> tuple[Price, ...]:
    """The prices of a statement's private parts: one, or one for each of its stages; one that needs no charge is refused.

    Guarantee: nothing is charged, and no private row is read.
    """
    statement = _of_private_tables(session, text, dialect)
    try:
        private, paid = _offered(session, statement, payment)
    except QueryRefused as refusal:
        staged = _in_stages(session, session._engine, statement, refusal)
        return stage_prices(session, staged, payment.otherwise(**_options(statement)))
    return (session.price_query(private.query, paid),)


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


def _in_stages(
    session: Session, engine: Engine, statement: Statement, refusal: QueryRefused
) -> StagedStatement[Release]:
    """The stages of a statement that one release does not answer; refused for the first reason where there are none."""
    try:
        staged = compile_stages(statement, session.codebook, session, engine.public)
        check_ending(session, statement, staged)
        return staged
    except QueryRefused as other:
        raise (other if refusal.code in _SAID_BETTER else refusal) from None


def _offered(session: Session, statement: Statement, payment: Payment) -> tuple[PrivateStatement[Release], Payment]:
    bind_predictions(statement, session.fetch)
    private = compile_statement(statement, session.codebook, session)
    return private, payment.otherwise(**_options(statement))


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
