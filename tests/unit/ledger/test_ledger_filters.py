"""Several filters in a durable ledger, and ledgers that version 0.1 wrote, with one rule each."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from deniable.accounting import RuleKind, budget
from deniable.cost import Bounded, Calibrated, Gaussian, Laplace
from deniable.errors import BudgetExceeded, Unanswered
from deniable.ledger import Ledger, fingerprint, journal_at, verify
from deniable.ledger.caps import Balance, Cap
from deniable.ledger.state import tally_from_record, tally_record
from tests.unit.release.test_session import ask, dataset

OLD = Path(__file__).parent / "ledgers"
BUDGET = budget(epsilon=1, delta=1e-6)


@pytest.fixture
def old(tmp_path):
    def copied(name):
        shutil.copy(OLD / name, tmp_path / name)
        (tmp_path / name).chmod(0o600)
        return tmp_path / name

    return copied


def test_a_session_of_version_0_1_goes_on_under_its_one_rule(old):
    path = old("basic.ledger")
    session = dataset().session(BUDGET, ledger=path)
    assert session.rule.kind is RuleKind.BASIC
    assert (session.spent.loss, session.spent.delta) == (Fraction(1, 2), Fraction(1, 2 * 10**7))
    again = session.fetch("r1")
    assert again.receipt.charged.loss == Fraction(1, 4)
    assert session.spent.loss == Fraction(1, 2), "the stored answer is shown again, at no cost"
    anew = session.query().group_by("city").agg(n=ask.count()).release(epsilon=0.25)
    assert anew.receipt.id != again.receipt.id
    assert session.spent.loss == Fraction(3, 4), (
        "rows beyond a bound mean something else now, so it is another question"
    )
    session.query().agg(n=ask.count()).release(epsilon=0.25)
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0\.01"):
        session.query().agg(n=ask.count()).release(epsilon=0.01)
    assert verify(journal_at(path)).sound


def test_caps_of_version_0_1_stand_where_they_stood(old):
    path = old("caps.ledger")
    ledger = Ledger.existing(path)
    kinds = {name: ledger.balances(account=name)[1].rule.kind for name in ("ann", "bob", "cat")}
    assert kinds == {"ann": RuleKind.GAUSSIAN, "bob": RuleKind.RENYI, "cat": RuleKind.PURE}
    shown = [
        str(ledger.balances(account=name)[place]) for name, place in (("ann", 0), ("ann", 1), ("bob", 1), ("cat", 1))
    ]
    assert shown == [
        "data set: rho = 0.00550834, delta = 1e-8 of rho = 0.0237474, delta = 2.5e-7 spent; rho = 0.0182389, delta = 2.4e-7 left",
        "analyst ann: mu squared = 0.0004 of mu squared = 0.056029 spent; mu squared = 0.0556289 left",
        "analyst bob: divergence = 6.87724e-9 of divergence = 0.535832 spent; divergence = 0.535831 left",
        "analyst cat: epsilon = 0.1 of epsilon = 0.5 spent; epsilon = 0.4 left",
    ]
    assert verify(journal_at(path)).sound
    ledger.charge(Bounded(epsilon=Fraction(1, 10)), account="cat")
    assert ledger.balances(account="cat")[1].left.loss == Fraction(3, 10)


def test_an_amended_ledger_of_version_0_1_opens_verifies_and_gives_its_answers(old):
    path = old("amended.ledger")
    ledger = Ledger.existing(path)
    assert (ledger.terms.budget, ledger.data_version) == (budget(rho=1, delta=1e-6), 2)
    answers = {
        ("first", "analyst"): b"first answer",
        ("second", "ann"): b"second answer",
        ("third", "analyst"): b"third answer",
    }
    for (request, account), payload in answers.items():
        released = ledger.fetch(request, account=account)
        assert released.payload == payload
        assert ledger.confirms(released.receipt)
    with pytest.raises(Unanswered):
        ledger.fetch("lost")
    found = verify(journal_at(path))
    assert (found.problems, found.unanswered) == ((), ("lost",))
    (balance,) = ledger.balances()
    written = Fraction(7031765364378104244937426221262679585130612504194138771, 124041583379136212697486458880 * 10**27)
    assert balance.spent.loss == written, "what version 0.1 had counted, to the last digit"
    ledger.charge(Gaussian(scale=10, sensitivity=1))
    assert ledger.spent.loss == written + Fraction(1, 200)


def filled(path, terms, costs):
    ledger = Ledger.open(path, terms=terms(budget=BUDGET))
    for cost in costs:
        ledger.charge(cost)
    return ledger


def test_replaying_the_recorded_costs_gives_the_same_filters(path, terms):
    ledger = filled(path, terms, [Laplace(scale=50), Gaussian(scale=60, sensitivity=1), Bounded(epsilon=0, delta=1e-8)])
    (balance,) = ledger.balances()
    filters = balance.cap.filters
    assert filters.alive(balance.tally) == [False, True, True, True]
    replayed = filters.nothing
    for charge in ledger.charges():
        replayed = replayed + filters.read(charge.costs["patient"])
    assert replayed == balance.tally
    again = Ledger.existing(path).balances()[0]
    assert (again.tally, filters.alive(again.tally), again.rule) == (
        balance.tally,
        [False, True, True, True],
        balance.rule,
    )
    assert verify(journal_at(path)).sound


def test_the_ledger_refuses_what_the_gate_in_memory_refuses(path, terms):
    import deniable as dp

    ledger, gate = Ledger.open(path, terms=terms(budget=BUDGET)), dp.calculus.PrivacyFilter(BUDGET.filters())
    costs = [Gaussian(scale=30, sensitivity=1), Laplace(scale=9), Bounded(epsilon=Fraction(1, 20), delta=1e-8)]
    for step in range(30):
        cost, outcomes = costs[step * step % 3], []
        for each in (ledger, gate):
            try:
                each.charge(cost)
                outcomes.append("answered")
            except BudgetExceeded:
                outcomes.append("refused")
        assert outcomes[0] == outcomes[1]
        filters, tally = ledger.terms.main.filters, ledger.balances()[0].tally
        assert (filters.spent(tally), filters.left(tally)) == (gate.spent, gate.remaining)


def test_a_reading_written_too_small_is_found(path, terms, monkeypatch):
    ledger = filled(path, terms, [Laplace(scale=50)])
    import deniable.ledger.request as request

    small = lambda tally: tally_record(ledger.terms.main.filters.nothing)  # noqa: E731
    monkeypatch.setattr(request, "tally_record", small)
    ledger.charge(Laplace(scale=50))
    assert "less than this version" in verify(journal_at(path)).problems[0]


def test_amending_an_old_budget_moves_to_several_filters(old, terms):
    """Costs recorded by version 0.1 are read afresh by every filter; none that cannot read one is alive."""
    path = old("caps.ledger")
    ledger = Ledger.existing(path)
    ledger.amend(terms(budget=BUDGET, codebook=fingerprint("columns: {}")), reason="best of several", by="curator")
    (balance,) = ledger.balances()
    assert balance.cap.filters.alive(balance.tally) == [False, True, True, True]
    assert verify(journal_at(path)).sound


def test_a_tally_is_written_exactly():
    filters = BUDGET.filters()
    for tally in (filters.read(Gaussian(scale=30, sensitivity=1)), budget(rho=1).filters().read(Laplace(scale=7))):
        assert tally_from_record(json.loads(json.dumps(tally_record(tally)))) == tally


def test_a_session_counts_each_query_by_the_filter_that_leaves_most(tmp_path):
    session = dataset().session(BUDGET, ledger=tmp_path / "many.ledger")
    for number in range(24):
        session.query().where(f"age >= {number}").agg(n=ask.count()).release(epsilon=0.03, law="gaussian")
    assert session.rule.kind is RuleKind.GAUSSIAN
    assert session.rule.unit == "mu squared"
    assert "epsilon" in str(session.remaining)
    assert session.remaining.more_like_the_last > 10
    price = session.query().agg(n=ask.count()).price(epsilon=0.03, law="gaussian")
    assert "costs epsilon = 0.03" in str(price)
    assert "counted in the budget as mu squared" in str(price)


def test_a_declared_workload_shares_delta_its_way(tmp_path):
    data = dataset()
    price = data.session(BUDGET).query().agg(n=ask.count()).price(epsilon=0.03, law="gaussian")
    session = data.session(BUDGET, ledger=tmp_path / "w.ledger", workload=[price.cost] * 40)
    assert session.filters.rules[2].limit.loss > BUDGET.filters().rules[2].limit.loss
    session.query().agg(n=ask.count()).release(epsilon=0.03)
    assert data.session(BUDGET, ledger=tmp_path / "w.ledger").filters == session.filters


def test_the_pair_noise_was_calibrated_to_is_implied_by_the_cost():
    """Who writes a pair down vouches for it: read by the tightest theorem, the cost never says more."""
    import deniable as dp
    from deniable.cost import Calibrated, Composed

    session = dataset().session(BUDGET)
    for law in ("gaussian", "laplace"):
        for keys in ("city", "tag"):
            for pay in ({"epsilon": 0.2}, *([{"rho": 0.001, "delta": 1e-8}] if keys == "city" else [])):
                price = session.query().group_by(keys).agg(n=ask.count(), m=ask.median("age")).price(law=law, **pay)
                parts = price.charge.costs if isinstance(price.charge, Composed) else (price.charge,)
                pair = parts[0]
                assert isinstance(pair, Calibrated)
                assert dp.delta(pair.cost, epsilon=pair.epsilon).lower <= pair.delta
                assert price.pair.loss == pair.epsilon


def test_which_releases_a_unit_could_have_been_in(path, terms):
    """From tables and versions alone; what named no tables may have read them all."""
    ledger = Ledger.open(path, terms=terms())
    cost = Bounded(epsilon=Fraction(1, 20))
    ledger.answer(cost, lambda: b"1", request="visits", tables=["visits"])
    ledger.answer(cost, lambda: b"2", request="both", tables=["stays", "visits"])
    ledger.charge(cost)
    ledger.new_version(reason="May", by="curator")
    ledger.answer(cost, lambda: b"3", request="later", tables=["stays"])

    def named(**facts):
        return [charge.body["request"].partition("-")[0] for charge in Ledger.existing(path).touching(**facts)]

    assert named() == ["visits", "both", "request", "later"]
    assert named(tables=["visits"]) == ["visits", "both", "request"]
    assert named(tables=["stays"], versions=[2]) == ["later"]
    assert named(versions=[1]) == ["visits", "both", "request"]
    assert named(tables=["bills"]) == ["request"]
    assert verify(path).sound


def test_a_session_writes_down_which_tables_a_query_read(tmp_path):
    session = dataset().session(BUDGET, ledger=tmp_path / "t.ledger")
    session.query().agg(n=ask.count()).release(epsilon=0.1)
    (charge,) = Ledger.existing(tmp_path / "t.ledger").touching(tables=["visits"])
    assert charge.body["tables"] == ["visits"]
    assert Ledger.existing(tmp_path / "t.ledger").touching(tables=["stays"]) == ()


def test_a_ledger_in_rho_says_what_sampling_was_lost(path, terms):
    """The same remark as a filter in memory makes, and none where the sample's amplification is read."""
    ledger = Ledger.open(path, terms=terms(budget=budget(rho=Fraction(1, 1000))))
    with pytest.raises(BudgetExceeded, match=r"as if it held everybody; dp\.epsilon reads its amplification"):
        ledger.charge(Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 100)))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(Laplace(scale=1).sampled(rate=Fraction(1, 2)))
    assert "everybody" not in str(refusal.value)


@pytest.mark.parametrize("workload", [None, [Gaussian(scale=100, sensitivity=1)] * 12])
def test_what_was_spent_is_never_more_delta_than_the_budget_nor_less_than_it_takes(workload):
    """Answers of delta 4e-7 each come to more than 1e-6; the promise that is kept is one at 1e-6, whatever share a rule has."""
    each = Fraction(4, 10**7)
    cap = Cap(budget=BUDGET, rule=BUDGET.filters(workload))
    one = cap.filters.read(Calibrated(Gaussian(scale=100, sensitivity=1), epsilon=Fraction(1, 20), delta=each))
    tally = cap.filters.nothing
    for number in range(1, 13):
        tally += one
        balance = Balance(cap, "", "", tally, tally)
        assert cap.filters.fits(tally)
        assert balance.spent.delta == balance.lifetime.delta == min(number * each, BUDGET.delta)


def test_what_no_rule_keeps_is_said_in_full():
    """As after a curator lowered the budget below what was spent."""
    cap = Cap(budget=BUDGET)
    one = Calibrated(Gaussian(scale=1, sensitivity=1), epsilon=Fraction(1, 2), delta=Fraction(4, 10**7))
    tally = cap.filters.read(one) + cap.filters.read(one) + cap.filters.read(one)
    assert not cap.filters.fits(tally)
    assert Balance(cap, "", "", tally, tally).spent.delta == Fraction(12, 10**7)
