"""Mechanisms of the calculus on the tables of a session, through the same door as its queries."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from deniable.core.distance import Distance, distance
from deniable.core.domain import Pieces
from deniable.core.mechanism import Mechanism
from deniable.core.step import MechanismFamily
from deniable.core.stream import RunMechanism, begun_beside
from deniable.core.transformation import Transformation
from deniable.engines.engine import RowEngine
from deniable.engines.table_space import table_rows
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real
from deniable.noise import system_entropy
from deniable.query import Query
from deniable.query.payment import Payment, PaymentTerms, with_payment
from deniable.release.digest import value_digest
from deniable.release.purchase import Purchase, purchase
from deniable.release.query_mechanism import QueryFamily, QueryMechanism
from deniable.release.report import report_page
from deniable.release.session_queries import QuerySession
from deniable.release.statement import value_statement
from deniable.release.stored_answers import stored_answer
from deniable.release.value import ValueRelease, accuracy_of, value_packed


class MechanismSession(QuerySession):
    """The part of a session that releases queries and mechanisms, and fetches what was released."""

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

    @with_payment
    def release(
        self,
        question: Query[Any] | Mechanism | MechanismFamily,
        *,
        request: str | None = None,
        **payment: Unpack[PaymentTerms],
    ) -> Any:
        """The one door: a query or a mechanism on this session's tables, priced, charged durably, run, stored, and only then shown.

        A mechanism without a scale gets the one its payment buys; with a scale, `epsilon` is a ceiling. Equal questions are
        answered by the stored release, at no cost; a mechanism that holds a function of one's own is a new question each
        time, unless the same `request` is given.

        Guarantee: what leaves was charged to the ledger before data was read; all of it together stays within the budget.
        """
        paid = Payment.of(payment)
        if isinstance(question, QueryFamily):
            question = question.query
        if isinstance(question, Query):
            return self.release_query(question, paid, request)
        if isinstance(question, QueryMechanism):
            return self._release_priced(self._affordable(question, paid), request)
        bought = self._bought(question, paid)
        if isinstance(bought.mechanism, RunMechanism):
            raise InvalidArgument(
                "a session stores every answer, and this mechanism's release goes on answering; begin it with session.start"
            )
        return self._value(bought, paid, request)

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

    def fetch(self, request: str) -> Any:
        """An answer this session's analyst already paid for, by its request id: of whatever kind it was."""
        return stored_answer(self._ledger.fetch(request, account=self.account))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write everything this session's analyst was shown so far as one page (HTML): questions, prices, answers, pictures.

        Guarantee: made from stored releases alone; nothing is drawn, charged or read from the data.
        """
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise InvalidArgument(f"a report is an HTML page: give a name such as 'report.html', got {target.name!r}")
        page = report_page(self._ledger, account=self.account)
        try:
            target.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InvalidArgument(f"cannot write {target}: {error.strerror}") from None
        return target

    def _bought(self, question: Any, payment: Payment) -> Purchase:
        """A mechanism on this session's tables, at the price that is offered."""
        if isinstance(question, Transformation):
            raise InvalidArgument(
                "a transformation alone adds no noise: put a mechanism after it, such as >> c.laplace()"
            )
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
