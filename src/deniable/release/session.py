"""A session: one budget over one data set. It prices for free, charges before it touches data, and hands out what is stored.

Guarantee: everything a session (and every other session on the same ledger) releases stays within the ledger's budget, for
queries chosen from earlier answers, priced along the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never, Unpack

from deniable.query import Price, Query
from deniable.query.payment import Payment, PaymentTerms, with_payment
from deniable.query.sql import Explanation
from deniable.release.answer import Release
from deniable.release.session_models import ModelVerbs
from deniable.release.session_overview import OverviewVerbs
from deniable.release.session_sql import answer_between_quantiles, answer_statement, price_between_quantiles
from deniable.release.session_synthesis import SynthesisVerbs


class Session(OverviewVerbs, ModelVerbs, SynthesisVerbs):
    """Ask one data set under one budget. Made by `Dataset.session`."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            from deniable.misnamed import no_attribute

            raise no_attribute(self, name)

    @with_payment
    def sql(
        self,
        text: str,
        *unnamed: Never,
        request: str | None = None,
        dialect: str = "duckdb",
        **payment: Unpack[PaymentTerms],
    ) -> Release | Explanation:
        """The answer to one SELECT; after `EXPLAIN DP` what it would do and cost, for free.

        Guarantee: the aggregates are charged, drawn and stored like a builder's query; what is above them sees noise only.
        """
        paid = Payment.of(payment, unnamed)
        return answer_statement(self, self._engine, text, dialect=dialect, request=request, payment=paid)

    def _price_in_stages(self, query: Query[Any], payment: Payment) -> Price:
        return price_between_quantiles(self, query, payment)

    def _answer_in_stages(self, query: Query[Any], payment: Payment, request: str | None, question: str) -> Release:
        return answer_between_quantiles(self, query, payment, request=request, question=question)
