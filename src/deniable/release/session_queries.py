"""Queries of a session: priced from public facts, charged, run, drawn once, stored."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

from deniable.core.compositor import grouped
from deniable.engines.engine import Keeping, Selective
from deniable.engines.table_space import PrivateTables
from deniable.errors import InvalidArgument
from deniable.exact import digits
from deniable.exact.guards import shown
from deniable.ledger.store import Packed
from deniable.noise import Entropy
from deniable.plan.expression import Column
from deniable.plan.nodes import Project, scan
from deniable.plan.provenance import codebooks, tables_of
from deniable.plan.relation import schema
from deniable.query import (
    CompiledQuery,
    ErrorBasis,
    Payment,
    Price,
    Query,
    Request,
    answer_columns,
    compile_query,
    draw_slices,
    price_for_accuracy,
    price_query,
    shares_as_errors,
)
from deniable.release.answer import Release
from deniable.release.answer_record import column_record, layout_record
from deniable.release.digest import query_digest
from deniable.release.query_mechanism import QueryFamily, QueryMechanism
from deniable.release.session_budget import BudgetedSession
from deniable.release.statement import facts, guarantee, notes, outputs_said


class QuerySession(BudgetedSession):
    """The part of a session that answers queries."""

    def query(self, table: str | None = None) -> Query[Release]:
        """A question about a table (the only one unless named): add where, group_by, agg; then price or release."""
        return Query(source=scan(self.codebook, table), runner=self)

    def public_values(self, table: str, column: str) -> tuple[Any, ...]:
        """The values of a column of a public table, each once: group keys to declare with `group_by(..., values=...)`."""
        source = scan(self.codebook, table)
        if column not in (known := schema(source)):
            raise InvalidArgument(f"table {table} has no column {column!r}; it has {', '.join(known)}")
        found = self._engine.public(Project(source, ((column, Column(column)),)))[column]
        step = known[column].step
        held = (value * step if type(value) is int else value for value in found if value is not None)
        return tuple(dict.fromkeys(held))

    def price_query(self, query: Query[Any], payment: Payment) -> Price:
        """The price of a query; nothing is spent or looked at."""
        self._check_query(query)
        if query.in_stages:
            return self._price_in_stages(query, payment)
        return self._price(self._compile(query), payment)

    def release_query(
        self, query: Query[Any], payment: Payment, request: str | None = None, *, question: str = ""
    ) -> Release:
        """Price, charge durably, run, draw once, store, and only then show."""
        self._check_query(query)
        if query.in_stages:
            release = self._answer_in_stages(query, payment, request, question)
        else:
            release = self._release_priced(self._query_member(query, payment), request, question=question)
        return reduce(Release.viewed, query.views, release)

    def _price_in_stages(self, query: Query[Any], payment: Payment) -> Price:
        """The price of a query with stages, all of them together."""
        raise NotImplementedError

    def _answer_in_stages(self, query: Query[Any], payment: Payment, request: str | None, question: str) -> Release:
        """The answer to a query with stages, under one charge."""
        raise NotImplementedError

    def tables_read(self, query: Query[Any]) -> tuple[str, ...]:
        """The private tables a query reads, for the ledger."""
        return tuple(tables_of(self._compile(query).plan))

    def query_mechanism(self, query: Query[Any]) -> QueryFamily:
        """The query as a mechanism on the table space; its payment picks the member."""
        self._check_query(query)
        return QueryFamily.of(self.space, query, lambda payment: self._query_member(query, payment))

    def prepare(self, query: Query[Any]) -> None:
        """Have the engine keep a query's bounded rows; nothing is released."""
        if not isinstance(self._engine, Keeping):
            raise InvalidArgument(f"{self.engine} keeps no rows between queries; ask without prepare()")
        self._engine.prepare(self._compile(query).plan)

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

    def _affordable(self, mechanism: QueryMechanism, payment: Payment) -> QueryMechanism:
        """A query of this session at its own price; what is offered for it is a ceiling."""
        if mechanism.query.runner is not self:
            raise InvalidArgument("this query belongs to another session; build it from this one's query()")
        price = mechanism.price.pair
        if payment.epsilon is not None and (price.unit != "epsilon" or price.loss > payment.epsilon):
            raise InvalidArgument(
                f"this query at its price costs {price}, more than the {digits(payment.epsilon)} offered"
            )
        return mechanism

    def _release_priced(self, mechanism: QueryMechanism, request: str | None, *, question: str = "") -> Release:
        compiled, charge = mechanism.compiled, mechanism.price.charge
        tables = tables_of(compiled.plan)
        packed, receipt = self._released(
            mechanism,
            charge,
            request=request,
            plan=mechanism.recipe or "",
            question=question or f"{outputs_said(compiled)} from {', '.join(tables)}",
            tables=tables,
        )
        self._last = self.filters.read(charge)
        return Release.from_packed(packed, receipt).under([name for name, _ in compiled.outputs])

    def _answer(self, compiled: CompiledQuery, price: Price, data: PrivateTables, entropy: Entropy) -> Packed:
        drawn = draw_slices(compiled, data.run(compiled.plan), price.allocation, entropy)
        columns = answer_columns(compiled, drawn, price)
        record = {
            **layout_record(compiled, drawn),
            "columns": [column_record(column) for column in columns],
            "confidence": float(price.confidence),
            "guarantee": guarantee(price, self.unit, compiled, self.rehearsal),
            "notes": notes(price, self.codebook, compiled),
        }
        return Packed(record, facts(self, compiled, price).to_record())

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
        wanted = shares_as_errors(compiled, payment.accuracy, payment.shares, payment.group_size)
        return price_for_accuracy(compiled, asked, self.filters, basis, wanted, spent=spent)

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
