"""Charge, then run; never refund. Gates are exact under threads, refuse after a fork, and cannot be copied."""

import contextlib
import copy
import os
import pickle
import threading
from dataclasses import dataclass
from fractions import Fraction

import pytest

from deniable import cost as costs
from deniable.accounting import Rule, RuleKind, Spend, budget
from deniable.core import (
    AbsoluteDistance,
    Compositor,
    Lattice,
    PrivacyFilter,
    Space,
    compositor,
    integers,
    numbers,
    odometer,
    own_mechanism,
    rows,
)
from deniable.errors import BudgetExceeded, InvalidArgument, Retired, SpaceMismatch
from tests.interleaving import Meeting

SPACE = Space(Lattice(), AbsoluteDistance())


def fixed(epsilon, seen=None):
    """A mechanism of known cost that records whether it ran."""

    def answer(data, entropy):
        if seen is not None:
            seen.append(data)
        return "answer"

    return own_mechanism(
        SPACE, function=answer, privacy_map=lambda d: costs.Bounded(epsilon=epsilon * d), author="test"
    )


def test_ten_tenths_fill_a_budget_of_one_exactly():
    session = compositor(7, SPACE, budget=budget(epsilon=1))
    for _ in range(10):
        assert session.release(fixed(Fraction(1, 10))) == "answer"
    assert session.remaining.loss == 0
    with pytest.raises(BudgetExceeded, match="left") as refused:
        session.release(fixed(Fraction(1, 10**9)))
    assert refused.value.left.loss == 0
    assert refused.value.spent.loss == 1


def test_a_refused_mechanism_never_sees_the_data_and_costs_nothing():
    seen = []
    session = compositor(7, SPACE, budget=budget(epsilon=1))
    with pytest.raises(BudgetExceeded):
        session.release(fixed(2, seen))
    assert seen == []
    assert session.spent.loss == 0


def test_the_charge_comes_before_the_run_and_stays():
    def fails(data, entropy):
        raise RuntimeError("disk full")

    broken = own_mechanism(SPACE, function=fails, privacy_map=lambda d: costs.Bounded(epsilon=d), author="test")
    session = compositor(7, SPACE, budget=budget(epsilon=1))
    with pytest.raises(RuntimeError):
        session.release(broken)
    assert session.spent.loss == 1


def test_the_declared_distance_sets_the_price():
    session = compositor(7, SPACE, budget=budget(epsilon=1), d_in=3)
    session.release(fixed(Fraction(1, 3)))
    assert session.remaining.loss == 0


def _asked_by_sixteen(gate):
    """How often sixteen threads, each asking for the whole budget, are granted it."""
    session, granted = Compositor(7, SPACE, gate, Fraction(1)), []

    def spend():
        with contextlib.suppress(BudgetExceeded):
            session.release(fixed(1))
            granted.append(1)

    threads = [threading.Thread(target=spend) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(granted)


@dataclass(frozen=True)
class Slow:
    """A rule that, in the middle of its decision, waits for a second thread to come in."""

    inner: Rule
    meeting: Meeting

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def fits(self, spend):
        decided = self.inner.fits(spend)
        self.meeting.wait()
        return decided


def test_sixteen_threads_cannot_overspend():
    rule = Slow(budget(epsilon=1).rule(), Meeting())
    assert _asked_by_sixteen(PrivacyFilter(rule)) == 1
    assert not rule.meeting.met


def test_without_its_lock_a_filter_is_seen_to_overspend():
    """The test above can fail."""

    class Open(PrivacyFilter):
        def _turn(self):
            return contextlib.nullcontext()

    rule = Slow(budget(epsilon=1).rule(), Meeting(patience=60))
    assert _asked_by_sixteen(Open(rule)) > 1
    assert rule.meeting.met


def test_a_forked_budget_retires(monkeypatch):
    session = compositor(7, SPACE, budget=budget(epsilon=1))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(Retired, match="ledger"):
        session.release(fixed(Fraction(1, 10)))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_compositors_and_gates_cannot_be_copied(duplicate):
    session = compositor(7, SPACE, budget=budget(epsilon=1))
    for thing in (session, session.gate):
        with pytest.raises(TypeError, match="cannot be copied"):
            duplicate(thing)


def test_repr_shows_no_data():
    assert "123456" not in repr(compositor(123456, SPACE, budget=budget(epsilon=1)))


def test_a_child_filter_is_paid_in_full_when_opened():
    parent = compositor(7, SPACE, budget=budget(epsilon=1))
    child = parent.filter(budget(epsilon=Fraction(3, 5)))
    assert parent.remaining.loss == Fraction(2, 5)
    child.release(fixed(Fraction(1, 5)))
    parent.release(fixed(Fraction(2, 5)))  # interleaved: children run concurrently
    child.release(fixed(Fraction(2, 5)))
    with pytest.raises(BudgetExceeded):
        child.release(fixed(Fraction(1, 10)))
    with pytest.raises(BudgetExceeded):
        parent.filter(budget(epsilon=Fraction(1, 10)))


def leaking(delta, epsilon=0):
    return own_mechanism(
        SPACE,
        function=lambda data, entropy: "answer",
        privacy_map=lambda d: costs.Bounded(epsilon=epsilon, delta=delta),
        author="test",
    )


LEAK = Fraction(1, 10**6)


def basic():
    """Data behind a filter that adds epsilons up to 1 and deltas up to `LEAK`."""
    return Compositor(7, SPACE, PrivacyFilter(Rule(RuleKind.BASIC, Spend(Fraction(1), LEAK))), Fraction(1))


def test_a_filter_counts_delta_beside_epsilon():
    session = basic()
    for left in (2, 1, 0):
        session.release(leaking(LEAK / 3))
        assert session.remaining == Spend(Fraction(1), LEAK * left / 3)
    with pytest.raises(BudgetExceeded):
        session.release(leaking(Fraction(1, 10**9)))
    session.release(fixed(1))


def test_children_together_leak_no_more_than_their_parent():
    """Each child can be made to leak all its delta; so its parent has paid for that, and a sixth one does not fit."""
    parent, leaked = basic(), Fraction(0)
    for _ in range(100):
        try:
            child = parent.filter(budget(epsilon=Fraction(1, 1000), delta=LEAK / 5))
        except BudgetExceeded:
            break
        own = child.gate.filters.pool  # what it keeps for leaks
        child.release(leaking(own))
        with pytest.raises(BudgetExceeded):
            child.release(leaking(own / 10))
        leaked += own
        assert parent.spent.delta >= leaked > 0
    assert 0 < leaked <= LEAK


def test_a_child_odometer_counts_and_charges_its_parent():
    parent = compositor(7, SPACE, budget=budget(epsilon=1))
    child = parent.odometer()
    child.release(fixed(Fraction(1, 4)))
    parent.release(fixed(Fraction(1, 4)))
    assert child.spent.loss == Fraction(1, 4)
    assert parent.spent.loss == Fraction(1, 2)
    with pytest.raises(BudgetExceeded):
        child.release(fixed(1))
    assert child.spent.loss == Fraction(1, 4)


def test_filters_nest_in_odometers_and_in_filters():
    outer = odometer(7, SPACE)
    inner = outer.filter(budget(epsilon=2))
    innermost = inner.filter(budget(epsilon=1))
    innermost.release(fixed(1))
    assert outer.spent.loss == 2
    assert inner.remaining.loss == 1
    with pytest.raises(BudgetExceeded):
        innermost.release(fixed(Fraction(1, 100)))


def test_an_odometer_counts_and_never_refuses():
    counting = odometer(7, SPACE)
    for _ in range(100):
        counting.release(fixed(Fraction(1, 10)))
    assert counting.spent.loss == 10
    with pytest.raises(InvalidArgument, match="only a filter"):
        _ = counting.remaining


def test_a_plan_takes_its_costs_in_order_and_nothing_else():
    plan = [costs.Bounded(epsilon=1), costs.Bounded(epsilon=2)]
    session = compositor(7, SPACE, costs=plan)
    with pytest.raises(BudgetExceeded, match="declared"):
        session.release(fixed(2))
    session.release(fixed(1))
    session.release(fixed(2))
    with pytest.raises(Retired):
        session.release(fixed(1))
    assert session.gate.total == costs.Composed(tuple(plan))


def test_e05_a_compositor_costs_the_sum_for_any_smaller_distance():
    """Errata E5: the map is sum(d_mids) for every input distance up to d_in, not d_in times that."""
    session = compositor(7, SPACE, budget=budget(epsilon=3), d_in=2)
    asked = [fixed(Fraction(1, 2)), fixed(Fraction(1, 4))]
    for mechanism in asked:
        session.release(mechanism)
    d_mids = [mechanism.loss(d_in=2).upper for mechanism in asked]
    assert session.spent.loss == sum(d_mids) == Fraction(3, 2)

    def printed(d_in):
        return d_in * sum(
            d_mids
        )  # for data sets at distance 2 it asks for twice what was lost, at distance 1/2 for half

    assert printed(2) == 2 * session.spent.loss
    assert printed(Fraction(1, 2)) < session.spent.loss  # and understates what neighbours up to d_in may lose
    with pytest.raises(InvalidArgument):
        compositor(7, SPACE, budget=budget(epsilon=3), d_in=-1)


def test_the_wrong_space_is_refused_before_the_charge():
    session = compositor(7, SPACE, budget=budget(epsilon=1))
    elsewhere = own_mechanism(
        rows(numbers()), function=lambda data, entropy: 0, privacy_map=lambda d: costs.Bounded(epsilon=d), author="test"
    )
    with pytest.raises(SpaceMismatch):
        session.release(elsewhere)
    assert session.spent.loss == 0


def test_a_public_size_must_be_true():
    sized = rows(integers(lower=0, upper=1), size=3)
    compositor([0, 1, 1], sized, budget=budget(epsilon=1))
    for opened in (lambda: compositor([0], sized, budget=budget(epsilon=1)), lambda: odometer([0, 1], sized)):
        with pytest.raises(InvalidArgument, match="declares 3 rows as public"):
            opened()


def test_bad_terms_are_refused():
    with pytest.raises(InvalidArgument, match="not both"):
        compositor(7, SPACE)
    with pytest.raises(InvalidArgument):
        compositor(7, SPACE, budget=budget(epsilon=1), costs=[])
    with pytest.raises(InvalidArgument):
        budget(epsilon=-1)
