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
from deniable.query import AnswerColumn, Law, Payment, compile_query
from deniable.query.sql import (
    Explanation,
    PrivateStatement,
    PublicRows,
    Released,
    Statement,
    applied,
    compile_statement,
    explain_statement,
    public_answer,
    public_tables,
    read,
)
from deniable.release.answer import Release, column_record, written
from deniable.release.facts import ReleaseFacts
from deniable.release.statement import contribution

if TYPE_CHECKING:
    from deniable.release.session import Session

_NOISY = "HAVING, ORDER BY and LIMIT look at noisy values."


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
    private, paid = _offered(session, statement, payment)
    if statement.explain:
        return _explanation(session, private, paid)
    return finished(session.release_query(private.query, paid, request, question=text.strip()), private)


def private_question(
    session: Session, text: str, *, dialect: str, payment: Payment
) -> tuple[PrivateStatement[Release], Payment]:
    """The private query of a statement and what is offered for it; one that needs no charge is refused."""
    statement = read(text, dialect=dialect)
    if statement.explain or public_tables(statement, session.codebook) is not None:
        raise QueryRefused(
            "nothing-private",
            "this asks nothing of private tables",
            rewrite="leave out EXPLAIN DP, or ask a private table",
        )
    return _offered(session, statement, payment)


def _offered(session: Session, statement: Statement, payment: Payment) -> tuple[PrivateStatement[Release], Payment]:
    private = compile_statement(statement, session.codebook, session)
    options = statement.options
    law = Law.LAPLACE if options.strategy == "laplace_threshold" and not options.laws else options.law
    return private, payment.otherwise(epsilon=options.epsilon, delta=options.delta, law=law, laws=options.laws)


def _explanation(session: Session, private: PrivateStatement[Release], payment: Payment) -> Explanation:
    if payment.is_open:
        one = Fraction(1)
        payment = replace(payment, epsilon=one) if session.filters.unit == "epsilon" else replace(payment, rho=one)
    compiled = compile_query(private.query, session.unit)
    price = session.price_query(private.query, payment)
    return explain_statement(private, compiled, price, unit=session.unit.phrase, bounds=contribution(compiled))


def finished(release: Release, private: PrivateStatement[Release]) -> Release:
    """The release as its statement shows it: stages over noisy values only, so nothing more is spent."""
    if not private.stages and not private.notices:
        return release
    confidence = Fraction(release.confidence).limit_denominator(10**9)
    several = len(release.levels) > 1
    shown = Released(
        release.keys,
        release.groups,
        tuple(release.columns.values()),
        release.levels if several else (),
        release.level if several else (),
    )
    for stage in private.stages:
        shown = applied(stage, shown, confidence)
    cut = any(stage.where is not None or stage.order or stage.limit is not None for stage in private.stages)
    computed = [column for column in shown.columns if column.kind == "computed"]
    notes = [*release.notes, *private.notices, *([_NOISY] if cut else [])]
    notes += [f"{column.name}: {column.error}." for column in computed]
    record = _record(shown, release.confidence, release.guarantee, notes)
    done = tuple(["HAVING, ORDER BY, LIMIT on noisy values"] if cut else []) + tuple(c.name for c in computed)
    facts = replace(release.facts, postprocessing=(*release.facts.postprocessing, *done))
    return Release(record, facts, release.receipt)


def _record(shown: Released, confidence: float, guarantee: str, notes: list[str]) -> dict[str, Any]:
    levels: dict[str, Any] = {"levels": [list(level) for level in shown.levels], "level": list(shown.level)}
    return {
        **(levels if shown.levels else {}),
        "keys": list(shown.keys),
        "groups": [[written(part) for part in group] for group in shown.groups],
        "columns": [column_record(column) for column in shown.columns],
        "confidence": confidence,
        "guarantee": guarantee,
        "notes": notes,
    }


def _public(session: Session, rows: PublicRows) -> Release:
    columns = tuple(AnswerColumn(name, "public", values, None, None, "exact") for name, values in rows.columns.items())
    shown = Released((), ((),) * rows.count, columns)
    record = _record(shown, 1.0, "Public: computed from public tables only, exact; nothing was charged.", [])
    facts = ReleaseFacts(
        scope=f"{', '.join(rows.columns)} from public tables of {session.name}",
        epsilon=Fraction(0),
        delta=Fraction(0),
        unit=session.unit.phrase,
        mechanisms=("none: public tables only",),
        dataset=session.name,
    )
    return Release(record, facts, None)
