"""The counter of one data set: prices from its codebook, writes requests and grants into its ledger, and reads stored
answers. No data.

It holds a session whose engine has no rows and refuses before anything could be charged, so nothing here can spend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import isfinite
from threading import Lock, RLock
from typing import Any, NoReturn

from deniable.accounting import Spend
from deniable.engines.table_space import PrivateTables
from deniable.errors import BudgetExceeded, EngineFailed, InvalidArgument
from deniable.exact.guards import Real, integer, positive
from deniable.ledger import Application, Ledger, Progress, StoredAnswer
from deniable.ledger.numbers import number_from_text, number_text
from deniable.ledger.replay import Clock
from deniable.ledger.store import unpacked
from deniable.ledger.web_role import can_charge
from deniable.noise import system_entropy
from deniable.plan.codebook import Codebook
from deniable.query import Payment, Price
from deniable.release.answer import Release
from deniable.release.release_facts import ReleaseFacts
from deniable.release.session import Session
from deniable.release.session_sql import PricedQuestion, Question
from deniable.release.workload import WorkloadRelease
from deniable.server.codebook_desk import codebook_then, in_force, open_ledger
from deniable.server.identity import secret
from deniable.server.settings import ServedData
from deniable.server.workloads import MARK, WorkloadOffer, is_workload, offered, shown

_NO_DATA = "this process holds no data: ask for it, and the worker answers"
_NO_TABLES = (
    "reads the rows of a public table when it is priced or shown, and pages hold no tables; ask it in a session"
)


DOTS = 20
"""Outcomes that a drawing of dots shows."""
MOST_OFFERS = 200
"""Prices that are remembered: as long as nothing was spent meanwhile, the same question costs the same."""
MOST_ANSWERS = 50
"""Answers that are remembered as they are shown: what is stored never changes."""
MADE_UP_ROWS = 10_000
"""Rows of a table that is made up for drawings."""


class NoData:
    """An engine without rows: whatever would read data is refused, before a charge where there is one."""

    name = "none: prices only"

    def run(self, plan: Any) -> NoReturn:
        """Refused."""
        raise EngineFailed

    def public(self, relation: Any) -> NoReturn:
        """Refused."""
        raise InvalidArgument(f"this question {_NO_TABLES}")

    def look(self) -> NoReturn:
        """Refused, so that no charge follows."""
        raise InvalidArgument(_NO_DATA)

    def close(self) -> None:
        """There is nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A question with its price, and the exact payment, plan digest and amount under which it is asked for."""

    question: Question
    priced: PricedQuestion
    payment: Mapping[str, str]
    plan: str
    amount: Spend
    more: int | None
    """How many more like this fit into what is left; None where any number does."""

    @property
    def price(self) -> Price:
        """What it costs in all."""
        return self.priced.price


class Counter:
    """One data set's prices, requests and answers.

    Guarantee: no method reads rows or charges; prices come from the codebook and the ledger's terms alone.
    """

    def __init__(self, data: ServedData, *, clock: Clock | None = None) -> None:
        self.data = self._first = data
        if data.web_ledger and can_charge(data.web_ledger):
            raise InvalidArgument(
                f"the web_ledger of {data.name} could write a charge: run `deniable serve check` with the ledger's own role"
            )
        self._clock = clock or (lambda: datetime.now(UTC))
        self._rehearsing, self._turn = Lock(), RLock()
        self._begin(open_ledger(Ledger, data.counter_ledger, data, clock=clock))

    def _begin(self, ledger: Ledger) -> None:
        """Price by the codebook that is in force in this ledger."""
        data = in_force(ledger, self._first)
        self._session = self._session_with(data.codebook, ledger)
        self._made_up: PrivateTables | None = None
        self._offers: dict[Any, Offer] = {}
        self._answers: dict[tuple[str, str], Release] = {}
        self.ledger, self.data = ledger, data

    def _session_with(self, codebook: Codebook, ledger: Ledger) -> Session:
        name = self.data.name
        return Session(engine=NoData(), codebook=codebook, ledger=ledger, name=name, account="counter", entropy=None)

    def refresh(self) -> Counter:
        """This counter, by the terms of now: after an amendment it prices by the new codebook."""
        with self._turn:
            if self.ledger.stale:
                self._begin(Ledger.existing(self.data.counter_ledger, clock=self._clock))
        return self

    @contextmanager
    def _held(self) -> Iterator[None]:
        """One codebook and one state of its ledger, whatever other threads find amended meanwhile."""
        with self._turn, self.ledger.held():
            yield

    def offer(self, text: str, *, dialect: str, payment: Mapping[str, Any]) -> Offer:
        """The price of a question, with a payment that says everything: later it means the same."""
        while True:
            with self._held():
                if not self.ledger.stale:
                    return self._remembered(text, dialect=dialect, payment=payment)
            self.refresh()

    def _remembered(self, text: str, *, dialect: str, payment: Mapping[str, Any]) -> Offer:
        """A price found before, if nothing that it depends on is another one by now."""
        spent = self.ledger.balances()[0]
        asked = text, dialect, repr(sorted(payment.items())), spent.tally, spent.whole, self.ledger.terms.codebook
        found = self._offers.get(asked)
        if found is None:
            found = self._offers[asked] = self._offer(text, dialect=dialect, payment=payment)
        while len(self._offers) > MOST_OFFERS:
            self._offers.pop(next(iter(self._offers)), None)
        return found

    def _offer(self, text: str, *, dialect: str, payment: Mapping[str, Any]) -> Offer:
        question = Question.read(self._session, text, dialect=dialect)
        if question.public_tables:
            raise InvalidArgument(f"this question, with {', '.join(question.public_tables)}, {_NO_TABLES}")
        offered, unit = self._payment(payment), self._session.filters.unit
        priced = question.at(offered)
        loss = priced.price.pair.loss
        exact = {unit: number_text(loss), "delta": number_text(offered.delta or Fraction(0))}
        same = Payment.read(**exact_terms(exact)) == offered  # else it was asked for in other words, such as an error
        return self._stated(question, priced, exact) if same else self._priced(question, exact)

    def _priced(self, question: Question, exact: Mapping[str, str]) -> Offer:
        return self._stated(question, question.at(Payment.read(**exact_terms(exact))), exact)

    def _stated(self, question: Question, priced: PricedQuestion, exact: Mapping[str, str]) -> Offer:
        filters, charge = self._session.filters, priced.price.charge
        more = filters.more(filters.read(charge), self.ledger.balances()[0].tally)
        return Offer(question, priced, dict(exact), priced.plan, self.ledger.desk.price(charge), more)

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
        if payment.get("accuracy") is not None:
            self._check_payable(offer.amount)
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

    def _check_payable(self, amount: Spend) -> None:
        """Refuse wanted errors that nobody could grant, as they take more than the whole budget, and say what they take."""
        whole = self.ledger.balances()[0].cap.filters.whole
        if amount.loss > whole.loss:
            raise BudgetExceeded(
                f"these errors take {amount}, more than the whole budget of {whole}; ask for larger ones",
                asked=amount,
                left=self.ledger.left,
            )

    def grant(
        self, account: str, request: str, *, by: str, days: int, most: int, part: Real | None = None
    ) -> Application:
        """Grant a request, in full or for a smaller amount in the unit of the budget, for so many days."""
        ends = self._clock() + timedelta(days=integer(days=days, least=1, greatest=most))
        if part is None:
            return self.ledger.desk.grant(account, request, by=by, expires=ends)
        known = self.ledger.desk.one(account, request)
        if is_workload(known):
            raise InvalidArgument("several questions in one request are granted in full or refused")
        unit = self._session.filters.unit
        exact = {**known.body["payment"], unit: number_text(positive(**{unit: part}))}
        offer = self._priced(self._question(known), exact)
        return self.ledger.desk.grant(
            account, request, by=by, expires=ends, limit=offer.amount, plan=offer.plan, payment=offer.payment
        )

    def _question(self, known: Application) -> Question:
        """A question as it was understood when it was asked, whatever codebook is in force by now."""
        return Question.read(self._session_then(known), known.body["text"], dialect=known.body["dialect"])

    def _session_then(self, known: Application) -> Session:
        then = codebook_then(self.ledger, self._first, known.count)
        return self._session if then == self.data.codebook else self._session_with(then, self.ledger)

    def offer_workload(self, questions: Mapping[str, str], *, dialect: str, shares: Mapping[str, Any]) -> WorkloadOffer:
        """The prices of several questions under one amount, with payments that say everything."""
        with self._turn:
            self.refresh()
            return offered(self._session, self.ledger, questions, dialect=dialect, **shares)

    def request_workload(
        self,
        questions: Mapping[str, str],
        *,
        account: str,
        purpose: str,
        shares: Mapping[str, Any],
        dialect: str,
        request: str | None = None,
    ) -> Application:
        """Ask for several questions as one request; nothing is reserved."""
        offer = self.offer_workload(questions, dialect=dialect, shares=shares)
        if shares.get("wanted") is not None:
            self._check_payable(offer.amount)
        return self.ledger.desk.request(
            offer.text,
            account=account,
            request=request or f"request-{secret(96)}",
            payment=offer.payment,
            plan=offer.work.plan,
            price=offer.amount,
            purpose=purpose,
            dialect=MARK + dialect,
        )

    def workload_release(self, known: Application, *, reader: str) -> WorkloadRelease:
        """The stored answers of a request with several questions; that `reader` was given them is in the chain first."""
        found = self._fetched(known, reader)
        return shown(self._session_then(known), known, unpacked(found.payload), found.receipt)

    def release(self, known: Application, *, reader: str) -> Release:
        """The stored answer of a request, as its question shows it; that `reader` was given it is in the chain first."""
        if is_workload(known):
            raise InvalidArgument("this request has several questions; read its answers together, by name")
        return self._shown(known, self._fetched(known, reader))

    def _shown(self, known: Application, found: StoredAnswer) -> Release:
        """What was stored, as the question it was granted for shows it; found once, since it stays what it is."""
        place = known.account, known.request
        release = self._answers.get(place)
        if release is None:
            assert known.grant is not None
            priced = self._question(known).at(Payment.read(**exact_terms(known.grant["payment"])))
            release = priced.shown(unpacked(found.payload), found.receipt)
            with self._turn:
                self._answers[place] = release
                while len(self._answers) > MOST_ANSWERS:
                    self._answers.pop(next(iter(self._answers)))
        return release

    def _fetched(self, known: Application, reader: str) -> StoredAnswer:
        if known.progress not in (Progress.RELEASED, Progress.PUBLISHED):
            raise InvalidArgument(f"request {known.request!r} is {known.progress.value}; there is no answer to read")
        self.ledger.desk.read(known.account, known.request, by=reader)
        return self.ledger.fetch(known.request, account=known.account)

    def facts(self, known: Application) -> tuple[ReleaseFacts, str]:
        """What is public about a stored answer, and its receipt in words; none of its numbers."""
        found = self.ledger.fetch(known.request, account=known.account)
        return self._shown(known, found).facts.with_receipt(found.receipt), str(found.receipt)

    def dots(self, offer: Offer) -> tuple[str, str, list[float]]:
        """The first output, the words of its error, and how far off it may be: `DOTS` outcomes that are equally likely, in order.

        They are the middles of as many equal parts of the noise's own law, rounded outwards; an error without a bound gives none.
        """
        name, error = offer.priced.first
        terms, off = exact_terms(offer.payment), []
        with self._held():
            for place in range(1, DOTS, 2):
                payment = Payment.read(**{**terms, "confidence": Fraction(place, DOTS)})
                off.append(float(offer.question.at(payment).first[1].within))
        known = all(map(isfinite, off))
        return name, error.measure, [*(-each for each in reversed(off)), *off] if known else []

    def rehearsed(self, offer: Offer) -> Release:
        """An answer to this question at this price, drawn on made-up rows that know the codebook and nothing else."""
        with self._rehearsing:
            made_up = self._made_up = self._made_up or PrivateTables(
                _made_up_engine(self.data.codebook), self.data.codebook
            )
            packed = offer.priced.run(made_up, system_entropy())
        return offer.priced.shown(packed, None)

    def curve(
        self, offer: Offer, factors: tuple[float, ...] = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
    ) -> list[tuple[float, float]]:
        """The error of the first output against what is paid: pairs of amount and error."""
        unit = self._session.filters.unit
        paid = number_from_text(offer.payment[unit])
        found = []
        with self._held():
            for factor in factors:
                exact = {**offer.payment, unit: number_text(paid * Fraction(factor))}
                _, error = offer.question.at(Payment.read(**exact_terms(exact))).first
                found.append((float(paid) * factor, error.within))
        return found


def _made_up_engine(codebook: Codebook) -> Any:
    from deniable.release.dataset import Rehearsal
    from deniable.release.dummy import dummy_tables

    return Rehearsal(dummy_tables(codebook, MADE_UP_ROWS), codebook=codebook, name="made up", time_limit=5)._engine


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
