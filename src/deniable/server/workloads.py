"""Several questions as one request: shared out and priced at once, granted whole, charged once, all released or none.

A workload travels as names and SQL texts; what was shared out is written into the request exactly, question by question, so that
the worker charges what the allocator saw. Questions that measure the same are measured once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.accounting import Spend
from deniable.errors import InvalidArgument
from deniable.ledger import Application, Ledger
from deniable.ledger.numbers import number_from_text, number_text
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed
from deniable.query import Payment
from deniable.query.sql import PrivateStatement
from deniable.release.answer import Release, statement_view
from deniable.release.session import Session
from deniable.release.session_sql import private_query
from deniable.release.workload import Workload, WorkloadRelease, shared_measurements

MARK = "workload/"
"""How the dialect of a request with several questions begins."""
MOST_QUESTIONS = 50


def is_workload(known: Application) -> bool:
    """Has this request several questions?"""
    return str(known.body["dialect"]).startswith(MARK)


def questions_of(known: Application) -> dict[str, str]:
    """The SQL of every question of a workload, by name."""
    found: dict[str, str] = json.loads(known.body["text"])
    return found


@dataclass(frozen=True, slots=True)
class WorkloadOffer:
    """A workload with its prices, and the exact payment, plan digest and amount under which it is asked for."""

    work: Workload
    text: str
    payment: Mapping[str, str]
    amount: Spend

    def view(self) -> dict[str, Any]:
        """The table of prices, what it costs in all, and how many more like it fit."""
        return {"questions": self.work.table, "amount": str(self.amount), "more_like_this": self.work.more}


def offered(
    session: Session, ledger: Ledger, questions: Mapping[str, str], *, dialect: str, **shares: Any
) -> WorkloadOffer:
    """Share out and price; `shares` are those of `Session.workload`. Nothing is spent."""
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise InvalidArgument(f"a workload has 1 to {MOST_QUESTIONS} questions, got {len(questions)}")
    for name in questions:
        if not name.isidentifier():
            raise InvalidArgument(f"a question's name has letters, digits and _ only, got {name!r}")
    statements = _statements(session, questions, dialect)
    work = session.workload({name: each.query for name, each in statements.items()}, **shares)
    payment = {
        f"{name}.{part}": number_text(amount)
        for name, price in work.prices.items()
        for part, amount in ((price.pair.unit, price.pair.loss), ("delta", price.pair.delta))
    }
    exact = _exact(session, statements, payment)
    text = json.dumps(dict(questions), ensure_ascii=False)
    return WorkloadOffer(exact, text, payment, ledger.desk.price(exact.charge))


def rebuilt(session: Session, known: Application) -> tuple[Workload, dict[str, PrivateStatement[Release]]]:
    """The workload of a request, at exactly what was shared out when it was asked for."""
    dialect = str(known.body["dialect"]).removeprefix(MARK)
    statements = _statements(session, questions_of(known), dialect)
    return _exact(session, statements, known.body["payment"]), statements


def shown(session: Session, known: Application, packed: Packed, receipt: Receipt) -> WorkloadRelease:
    """Stored answers as their questions show them."""
    work, statements = rebuilt(session, known)
    return WorkloadRelease(
        {
            name: statement_view(answer, statements[name])
            for name, answer in work.named(WorkloadRelease.from_packed(packed, receipt)).items()
        },
        receipt,
    )


def _statements(session: Session, questions: Mapping[str, str], dialect: str) -> dict[str, PrivateStatement[Release]]:
    return {name: private_query(session, sql, dialect=dialect) for name, sql in questions.items()}


def _exact(
    session: Session, statements: Mapping[str, PrivateStatement[Release]], payment: Mapping[str, str]
) -> Workload:
    """The workload whose every question is paid exactly so; those without a payment are measured with another."""
    queries = {name: each.query for name, each in statements.items()}
    terms: dict[str, dict[str, Any]] = {}
    for word, amount in payment.items():
        name, _, part = word.rpartition(".")
        terms.setdefault(name, dict(_TERMS))[part] = number_from_text(amount)
    prices = {name: session.price_query(queries[name], Payment.read(**each)) for name, each in terms.items()}
    return Workload(session, queries, prices, terms, shared_measurements(session, queries))


_TERMS: dict[str, Any] = {
    "epsilon": None,
    "rho": None,
    "accuracy": None,
    "delta": Fraction(0),
    "law": None,
    "group_size": 1000,
    "confidence": Fraction(19, 20),
}
