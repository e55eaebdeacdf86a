"""Whatever is done to a ledger, in whatever order, reopened at any time, it agrees with a few lines of plain arithmetic."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from deniable.accounting import budget
from deniable.cost import Bounded
from deniable.errors import BudgetExceeded, InvalidArgument, Unanswered
from deniable.ledger import Cap, Each, FolderAnchor, Ledger, Terms, fingerprint, journal_at, verify
from tests.servers import Postgres

AMOUNTS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 7), Fraction(0), Fraction(1, 10**20)])
ACCOUNTS = st.sampled_from(["alice", "bob"])
REQUESTS = st.sampled_from(["r1", "r2", "r3", "r4"])
PLANS = st.sampled_from(["", "count(*)", "sum(x)"])


class LedgerAgainstModel(RuleBasedStateMachine):
    """The model: what was paid by whom, which request has which answer, which plan was answered on which version."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.place = self.somewhere()
        self.paid: dict[str, Fraction] = {"alice": Fraction(0), "bob": Fraction(0)}
        self.total = Fraction(0)
        self.requests: dict[tuple[str, str], tuple[str, Fraction, bytes | None]] = {}
        self.plans: dict[tuple[str, int, Fraction], tuple[bytes, set[str]]] = {}
        self.version, self.draws, self.limit = 1, 0, Fraction(1)
        self.open()

    def somewhere(self) -> str:
        """Where this ledger lives."""
        return str(self.folder / "l")

    def terms(self) -> Terms:
        cap = Cap(budget=budget(epsilon=Fraction(3, 5)), analyst=Each.ANALYST)
        return Terms(dataset="d", unit="u", budget=budget(epsilon=self.limit), codebook=fingerprint("c"), caps=(cap,))

    @rule()
    def open(self) -> None:
        self.ledger = Ledger.open(self.place, terms=self.terms(), anchor=FolderAnchor(self.folder / "anchors"))

    @rule()
    def new_data(self) -> None:
        self.version += 1
        assert self.ledger.new_version(reason="more", by="curator") == self.version

    @rule(limit=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]))
    def amend(self, limit: Fraction) -> None:
        self.limit = limit
        self.ledger.amend(self.terms(), reason="decided", by="curator")

    @rule(amount=AMOUNTS, account=ACCOUNTS, request=REQUESTS, plan=PLANS, crash=st.booleans())
    def ask(self, amount: Fraction, account: str, request: str, plan: str, crash: bool) -> None:
        draw = f"draw {self.draws}".encode()
        self.draws += 1

        def run() -> bytes:
            if crash:
                raise ZeroDivisionError
            return draw

        expected = self.expected(amount, account, request, plan, draw, crash)
        try:
            got: object = self.ledger.answer(
                Bounded(epsilon=amount), run, request=request, plan=plan, account=account
            ).payload
        except (BudgetExceeded, InvalidArgument, Unanswered, ZeroDivisionError) as error:
            got = type(error)
        assert got == expected

    def expected(self, amount: Fraction, account: str, request: str, plan: str, draw: bytes, crash: bool) -> object:
        known = self.requests.get((account, request))
        if known:
            same = known[:2] == (plan, amount)
            return (known[2] if known[2] is not None else Unanswered) if same else InvalidArgument
        stored = self.plans.get((plan, self.version, amount)) if plan else None
        if stored:
            answer, seen_by = stored
            if account not in seen_by:
                if self.paid[account] + amount > Fraction(3, 5):
                    return BudgetExceeded
                self.paid[account] += amount
                seen_by.add(account)
            self.requests[account, request] = (plan, amount, answer)
            return answer
        if self.total + amount > self.limit or self.paid[account] + amount > Fraction(3, 5):
            return BudgetExceeded
        self.total += amount
        self.paid[account] += amount
        self.requests[account, request] = (plan, amount, None if crash else draw)
        if plan and not crash:
            self.plans[plan, self.version, amount] = (draw, {account})
        return ZeroDivisionError if crash else draw

    @invariant()
    def sums_agree(self) -> None:
        for account, paid in self.paid.items():
            whole, own = self.ledger.balances(account=account)
            assert (whole.spent.loss, own.spent.loss) == (self.total, paid)
            assert whole.left.loss == max(self.limit - self.total, Fraction(0))

    def teardown(self) -> None:
        found = verify(journal_at(self.place), anchor=FolderAnchor(self.folder / "anchors"))
        shutil.rmtree(self.folder)
        assert found.problems == ()


LedgerAgainstModel.TestCase.settings = settings(
    max_examples=12, stateful_step_count=20, derandomize=True, deadline=None
)
TestLedgerAgainstModel = LedgerAgainstModel.TestCase


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_a_ledger_in_postgresql_agrees_with_the_model(postgres: Postgres) -> None:
    class InPostgres(LedgerAgainstModel):
        def somewhere(self) -> str:
            return postgres.url(ledger=postgres.fresh("ledger"))

    few = settings(max_examples=5, stateful_step_count=20, derandomize=True, deadline=None)
    run_state_machine_as_test(InPostgres, settings=few)
