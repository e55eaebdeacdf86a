"""Caps in a hierarchy: a charge fits under all of them or is made under none; periods start afresh, lifetimes never do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.accounting import Spend, budget
from deniable.cost import Bounded
from deniable.errors import BudgetExceeded, InvalidArgument
from deniable.ledger import Cap, Each, Ledger, Period

TENTH = Bounded(epsilon=0.1)


@pytest.fixture
def path(place: Path | str) -> Path | str:
    """Caps are the same in a file and in PostgreSQL."""
    return place


def spend(text: str) -> Spend:
    return Spend(Fraction(text), Fraction(0))


class Clock:
    """A clock that stands where the test puts it."""

    def __init__(self, moment: str) -> None:
        self.set(moment)

    def set(self, moment: str) -> None:
        self.now = datetime.fromisoformat(moment).replace(tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def never() -> bytes:
    raise AssertionError("this must not run")


def test_one_charge_counts_under_every_cap_it_falls_under(path: Path, terms):
    caps = (
        Cap(budget=budget(epsilon=0.5), analyst=Each.ANALYST),
        Cap(budget=budget(epsilon=0.3), analyst="bob"),
        Cap(budget=budget(epsilon=0.4), period=Period.MONTH),
    )
    ledger = Ledger.open(path, terms=terms(caps=caps), clock=Clock("2026-03-31"))
    ledger.charge(TENTH, account="alice")
    ledger.charge(TENTH, account="bob")
    told = {balance.cap.name: balance.spent for balance in ledger.balances(account="bob")}
    assert told == {
        "data set": spend("2/10"),
        "each analyst": spend("1/10"),
        "analyst bob": spend("1/10"),
        "data set, per month": spend("2/10"),
    }
    assert [balance.cap.name for balance in ledger.balances(account="alice")] == [
        "data set",
        "each analyst",
        "data set, per month",
    ]


@pytest.mark.parametrize(
    ("cap", "account"),
    [
        (Cap(budget=budget(epsilon=0.05), analyst=Each.ANALYST), "alice"),
        (Cap(budget=budget(epsilon=0.05), analyst="alice"), "alice"),
        (Cap(budget=budget(epsilon=0.05), period=Period.DAY), "alice"),
        (Cap(budget=budget(epsilon=0.05), analyst=Each.ANALYST, period=Period.YEAR), "alice"),
    ],
)
def test_one_cap_that_is_full_stops_the_charge_everywhere(path: Path, terms, cap: Cap, account: str):
    ledger = Ledger.open(path, terms=terms(caps=(cap,)))
    before = ledger.mark
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(TENTH, account=account)
    assert cap.name in str(refusal.value)
    assert refusal.value.asked == spend("1/10")
    assert ledger.mark == before
    assert all(balance.spent == spend("0") for balance in ledger.balances(account=account))
    assert not ledger.fits(TENTH, account=account)


def test_a_cap_of_one_analyst_does_not_bind_another(path: Path, terms):
    ledger = Ledger.open(path, terms=terms(caps=(Cap(budget=budget(epsilon=0), analyst="bob"),)))
    ledger.charge(TENTH, account="alice")
    with pytest.raises(BudgetExceeded):
        ledger.charge(TENTH, account="bob")


def test_colluding_analysts_share_the_data_wide_cap(path: Path, terms):
    ledger = Ledger.open(path, terms=terms(caps=(Cap(budget=budget(epsilon=0.4), analyst=Each.ANALYST),)))
    granted = 0
    for number in range(10):
        for _ in range(5):
            if ledger.fits(TENTH, account=f"analyst {number}"):
                ledger.charge(TENTH, account=f"analyst {number}")
                granted += 1
    assert granted == 10
    assert ledger.spent == spend("1")


def test_a_period_starts_afresh_and_the_lifetime_goes_on(path: Path, terms):
    clock = Clock("2026-03-31T23:59:59")
    monthly = terms(budget=budget(epsilon=0.1), period=Period.MONTH)
    ledger = Ledger.open(path, terms=monthly, clock=clock)
    ledger.charge(TENTH)
    with pytest.raises(BudgetExceeded, match="in 2026-03"):
        ledger.charge(TENTH)
    clock.set("2026-04-01T00:00:00")
    ledger.charge(TENTH)
    (balance,) = ledger.balances()
    assert (balance.period, balance.spent, balance.left) == ("2026-04", spend("1/10"), spend("0"))
    assert balance.lifetime == ledger.spent == spend("2/10")
    assert str(balance) == (
        "data set, per month: epsilon = 0.1 of epsilon = 0.1 spent in 2026-04, epsilon = 0.2 over its lifetime; epsilon = 0 left"
    )
    again = Ledger.open(path, terms=monthly, clock=clock)
    assert again.balances() == ledger.balances()


def test_a_period_under_a_lifetime_cap(path: Path, terms):
    clock = Clock("2026-01-15")
    capped = terms(budget=budget(epsilon=0.3), caps=(Cap(budget=budget(epsilon=0.1), period=Period.MONTH),))
    ledger = Ledger.open(path, terms=capped, clock=clock)
    for month in ("01", "02", "03"):
        clock.set(f"2026-{month}-15")
        ledger.charge(TENTH)
        with pytest.raises(BudgetExceeded):
            ledger.charge(TENTH)
    clock.set("2026-04-15")
    with pytest.raises(BudgetExceeded, match=r"cap: data set\)"):
        ledger.charge(TENTH)


def test_a_clock_set_back_does_not_reopen_a_period(path: Path, terms):
    clock = Clock("2026-03-10")
    ledger = Ledger.open(path, terms=terms(budget=budget(epsilon=0.1), period=Period.MONTH), clock=clock)
    ledger.charge(TENTH)
    clock.set("2026-02-10")
    with pytest.raises(BudgetExceeded, match="in 2026-03"):
        ledger.charge(TENTH)


def test_the_time_zone_of_the_clock_does_not_matter(path: Path, terms):
    def clock() -> datetime:
        return datetime(2026, 4, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))

    ledger = Ledger.open(path, terms=terms(period=Period.DAY), clock=clock)
    assert ledger.balances()[0].period == "2026-03-31"


@pytest.mark.parametrize(
    ("period", "label"),
    [
        (Period.DAY, "2027-01-01"),
        (Period.WEEK, "2026-W53"),
        (Period.MONTH, "2027-01"),
        (Period.QUARTER, "2027-Q1"),
        (Period.YEAR, "2027"),
    ],
)
def test_periods_are_named(period: Period, label: str):
    assert period.label(datetime(2027, 1, 1, 12, tzinfo=UTC)) == label


@given(st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1)), st.sampled_from(Period))
def test_period_names_never_go_back(moment: datetime, period: Period):
    assert period.label(moment) <= period.label(moment + timedelta(days=1))


# units


def test_a_cap_in_another_unit_wants_the_cost_in_it(path: Path, terms):
    ledger = Ledger.open(path, terms=terms(caps=(Cap(budget=budget(epsilon=0.1), unit="visit"),)))
    with pytest.raises(InvalidArgument, match="give the cost in it too"):
        ledger.charge(TENTH)
    with pytest.raises(InvalidArgument, match="no cap is written in unit 'household'"):
        ledger.reserve({"patient": TENTH, "visit": TENTH, "household": TENTH})
    reservation = ledger.reserve({"patient": Bounded(epsilon=0.3), "visit": TENTH})
    assert [balance.spent for balance in ledger.balances()] == [spend("3/10"), spend("1/10")]
    with pytest.raises(BudgetExceeded, match="unit visit"):
        ledger.reserve({"patient": Bounded(epsilon=0.3), "visit": TENTH})
    ledger.store(reservation, b"x")
    receipt = ledger.release(reservation).receipt
    assert (receipt.unit, receipt.cost, receipt.charged) == ("patient", Bounded(epsilon=0.3), spend("3/10"))


# answers that another analyst paid for


def test_another_analyst_gets_a_stored_answer_at_no_cost_to_the_data(path: Path, terms):
    ledger = Ledger.open(path, terms=terms())
    ledger.answer(TENTH, lambda: b"42", plan="count(*)", account="alice")
    reservation = ledger.reserve(TENTH, plan="count(*)", account="bob")
    assert (reservation.answered, reservation.charged) == (True, False)
    assert ledger.release(reservation).payload == b"42"
    assert ledger.spent == spend("1/10")


def test_but_what_an_analyst_may_learn_counts_everything_they_see(path: Path, terms):
    ledger = Ledger.open(path, terms=terms(caps=(Cap(budget=budget(epsilon=0.2), analyst=Each.ANALYST),)))
    for plan in ("a", "b"):
        ledger.answer(TENTH, plan.encode, plan=plan, account="alice")
    assert ledger.answer(TENTH, never, request="r1", plan="a", account="bob").payload == b"a"
    assert ledger.answer(TENTH, never, request="r2", plan="a", account="bob").payload == b"a"
    assert ledger.answer(TENTH, never, request="r1", plan="a", account="bob").payload == b"a"
    assert [balance.spent for balance in ledger.balances(account="bob")] == [spend("2/10"), spend("1/10")]
    ledger.answer(TENTH, lambda: b"c", plan="c", account="bob")
    with pytest.raises(BudgetExceeded, match="each analyst"):
        ledger.reserve(TENTH, plan="b", account="bob")
    assert ledger.spent == spend("3/10")


def test_amending_carries_every_cap_over(path: Path, terms):
    clock = Clock("2026-01-15")
    ledger = Ledger.open(path, terms=terms(), clock=clock)
    ledger.answer(TENTH, lambda: b"a", plan="a", account="alice")
    clock.set("2026-02-15")
    ledger.answer(TENTH, lambda: b"b", plan="b", account="bob")
    own = Cap(budget=budget(epsilon=0.2), analyst=Each.ANALYST)
    ledger.amend(terms(caps=(own,)), reason="quotas", by="curator")
    ledger.answer(TENTH, never, plan="a", account="bob")
    monthly = Cap(budget=budget(epsilon=0.2), period=Period.MONTH)
    ledger.amend(terms(caps=(own, monthly)), reason="and per month", by="curator")
    told = {balance.cap.name: (balance.spent, balance.lifetime) for balance in ledger.balances(account="bob")}
    assert told == {
        "data set": (spend("2/10"), spend("2/10")),
        "each analyst": (spend("2/10"), spend("2/10")),
        "data set, per month": (spend("1/10"), spend("2/10")),
    }
    assert Ledger.existing(path, clock=clock).balances(account="bob") == ledger.balances(account="bob")


def test_two_caps_on_the_same_thing_are_refused(terms):
    with pytest.raises(InvalidArgument, match="two caps limit the same thing, 'analyst bob'"):
        terms(caps=(Cap(budget=budget(epsilon=1), analyst="bob"), Cap(budget=budget(epsilon=2), analyst="bob")))


def test_caps_come_back_from_their_record():
    for cap in (
        Cap(budget=budget(epsilon=1)),
        Cap(budget=budget(rho=0.1, delta=1e-9), analyst=Each.ANALYST, period=Period.WEEK),
        Cap(budget=budget(epsilon=1, delta=1e-9), analyst="each", unit="visit"),
    ):
        back = Cap.from_record(cap.to_record())
        assert (back.promise(), back.name, back.filters) == (cap.promise(), cap.name, cap.filters)


def test_what_differs_of_a_budget_or_a_cap_is_told_as_people_say_it(terms):
    """`{"delta":"1/10000000","epsilon":"6"}` is no sentence."""
    plain, capped = terms(), terms(caps=(Cap(budget=budget(epsilon=0.5), analyst=Each.ANALYST),))
    other = replace(plain, budget=budget(epsilon=6, delta=1e-7))
    assert plain.differences(other) == [f"budget {plain.main.budget}, not epsilon = 6, delta = 1e-7"]
    assert plain.differences(capped) == ["caps none, not epsilon = 0.5 (each analyst)"]
    near, nearer = (replace(plain, budget=budget(epsilon=Fraction(1) + Fraction(1, 10**n))) for n in (18, 19))
    (said,) = near.differences(nearer)
    assert said.count("10000000") == 4, "two budgets that print alike are told exactly"
