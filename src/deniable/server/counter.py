"""The counter of one data set: prices from its codebook, writes requests and grants into its ledger, and reads stored
answers. No data.

It holds a session whose engine has no rows and refuses before anything could be charged, so nothing here can spend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, NoReturn

from deniable.accounting import Spend
from deniable.errors import EngineFailed, InvalidArgument
from deniable.exact.guards import Real, integer, positive
from deniable.ledger import Application, Ledger, Progress, Terms, fingerprint
from deniable.ledger.numbers import number_from_text, number_text
from deniable.ledger.replay import Clock
from deniable.ledger.store import unpacked
from deniable.ledger.web_role import can_charge
from deniable.query import Payment, Price
from deniable.query.sql import PrivateStatement
from deniable.release.answer import Release, statement_view
from deniable.release.dataset import unit_text
from deniable.release.session import Session
from deniable.release.session_sql import private_question
from deniable.server.identity import secret
from deniable.server.settings import ServedData

_NO_DATA = "this process holds no data: ask for it, and the worker answers"


class NoData:
    """An engine without rows: whatever would read data is refused, before a charge where there is one."""

    name = "none: prices only"

    def run(self, plan: Any) -> NoReturn:
        """Refused."""
        raise EngineFailed

    def public(self, relation: Any) -> NoReturn:
        """Refused."""
        raise InvalidArgument(_NO_DATA)

    def look(self) -> NoReturn:
        """Refused, so that no charge follows."""
        raise InvalidArgument(_NO_DATA)

    def close(self) -> None:
        """There is nothing to let go of."""


def ledger_terms(data: ServedData) -> Terms:
    """The terms of a served data set: its codebook and budget, and a grant for every charge."""
    assert data.codebook.unit is not None
    return Terms(
        dataset=data.name,
        unit=unit_text(data.codebook.unit),
        budget=data.budget,
        codebook=fingerprint(data.codebook.identity()),
        grants=True,
    )


@dataclass(frozen=True, slots=True)
class Offer:
    """A question with its price, and the exact payment, plan digest and amount under which it is asked for."""

    private: PrivateStatement[Release]
    price: Price
    payment: Mapping[str, str]
    plan: str
    amount: Spend


class Counter:
    """One data set's prices, requests and answers.

    Guarantee: no method reads rows or charges; prices come from the codebook and the ledger's terms alone.
    """

    def __init__(self, data: ServedData, *, clock: Clock | None = None) -> None:
        self.data = data
        if data.web_ledger and can_charge(data.web_ledger):
            raise InvalidArgument(
                f"the web_ledger of {data.name} could write a charge: run `deniable serve check` with the ledger's own role"
            )
        self.ledger = Ledger.open(data.counter_ledger, terms=ledger_terms(data), clock=clock)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._session = Session(
            engine=NoData(), codebook=data.codebook, ledger=self.ledger, name=data.name, account="counter", entropy=None
        )

    def offer(self, text: str, *, dialect: str, payment: Mapping[str, Any]) -> Offer:
        """The price of a question, with a payment that says everything: later it means the same."""
        private, offered = private_question(self._session, text, dialect=dialect, payment=self._payment(payment))
        price = self._session.price_query(private.query, offered)
        unit = self._session.filters.unit
        exact = {unit: number_text(price.pair.loss), "delta": number_text(offered.delta or Fraction(0))}
        return self._priced(private, exact)

    def _priced(self, private: PrivateStatement[Release], exact: Mapping[str, str]) -> Offer:
        member = self._session.query_mechanism(private.query).member(Payment.read(**exact_terms(exact)))
        price, plan = member.price, member.recipe
        assert plan is not None
        return Offer(private, price, dict(exact), plan, self.ledger.desk.price(price.charge))

    def _payment(self, payment: Mapping[str, Any]) -> Payment:
        given = {name: payment.get(name) for name in ("epsilon", "rho", "accuracy")}
        return Payment.read(**{**_FIXED, **given, "delta": self._session._delta(None)})

    def request(
        self,
        text: str,
        *,
        account: str,
        purpose: str,
        payment: Mapping[str, Any],
        dialect: str,
        request: str | None = None,
    ) -> Application:
        """Ask for a question at a price; nothing is reserved."""
        offer = self.offer(text, dialect=dialect, payment=payment)
        return self.ledger.desk.request(
            text,
            account=account,
            request=request or f"request-{secret(96)}",
            payment=offer.payment,
            plan=offer.plan,
            price=offer.amount,
            purpose=purpose,
            dialect=dialect,
        )

    def grant(
        self, account: str, request: str, *, by: str, days: int, most: int, part: Real | None = None
    ) -> Application:
        """Grant a request, in full or for a smaller amount in the unit of the budget, for so many days."""
        ends = self._clock() + timedelta(days=integer(days=days, least=1, greatest=most))
        if part is None:
            return self.ledger.desk.grant(account, request, by=by, expires=ends)
        known = self.ledger.desk.one(account, request)
        unit = self._session.filters.unit
        exact = {**known.body["payment"], unit: number_text(positive(**{unit: part}))}
        private, _ = self._question(known)
        offer = self._priced(private, exact)
        return self.ledger.desk.grant(
            account, request, by=by, expires=ends, limit=offer.amount, plan=offer.plan, payment=offer.payment
        )

    def _question(self, known: Application) -> tuple[PrivateStatement[Release], Payment]:
        body = known.body
        payment = Payment.read(**exact_terms(body["payment"]))
        return private_question(self._session, body["text"], dialect=body["dialect"], payment=payment)

    def release(self, known: Application, *, reader: str) -> Release:
        """The stored answer of a request, as its question shows it; that `reader` was given it is in the chain first."""
        if known.progress not in (Progress.RELEASED, Progress.PUBLISHED):
            raise InvalidArgument(f"request {known.request!r} is {known.progress.value}; there is no answer to read")
        self.ledger.desk.read(known.account, known.request, by=reader)
        found = self.ledger.fetch(known.request, account=known.account)
        private, _ = self._question(known)
        names = [name for name, _ in private.query.aggregates]
        release = Release.from_packed(unpacked(found.payload), found.receipt).under(names)
        return statement_view(release, private)

    def more(self, offer: Offer) -> int | None:
        """How many more like this fit into what is left."""
        filters, balance = self._session.filters, self.ledger.balances()[0]
        return filters.more(filters.read(offer.price.charge), balance.tally)

    def curve(self, offer: Offer, factors: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)) -> list[tuple[float, float]]:
        """The error of the first output against what is paid: pairs of amount and error."""
        unit = self._session.filters.unit
        paid = number_from_text(offer.payment[unit])
        found = []
        for factor in factors:
            exact = {**offer.payment, unit: number_text(paid * Fraction(factor))}
            price = self._session.price_query(offer.private.query, Payment.read(**exact_terms(exact)))
            found.append((float(paid) * factor, next(iter(price.errors.values())).within))
        return found


_FIXED: dict[str, Any] = {
    "epsilon": None,
    "rho": None,
    "accuracy": None,
    "law": None,
    "group_size": 1000,
    "confidence": Fraction(19, 20),
}


def exact_terms(payment: Mapping[str, str]) -> dict[str, Any]:
    """A written payment as the arguments of a price or a release."""
    return {**_FIXED, "delta": Fraction(0), **{name: number_from_text(text) for name, text in payment.items()}}
