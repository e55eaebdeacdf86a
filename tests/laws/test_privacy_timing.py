"""The time an answer takes is a release: with a clock of our own its exact law keeps the price, and an early answer is caught."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable import mechanisms as m
from deniable.audit.comparison import compare
from deniable.audit.exact_law import output_law
from deniable.core import AbsoluteDistance, Lattice, Mechanism, Space
from deniable.core.step import Step
from deniable.cost import FREE, Bounded, TruncatedLaplace
from deniable.errors import InvalidArgument
from deniable.mechanisms.timed import Clock

NUMBER = Space(Lattice(lower=0, upper=9), AbsoluteDistance())
TICK = Fraction(1, 1000)


class Watch:
    """Time that passes only where it is made to: work of `data` ticks and a half, and what is waited for."""

    def __init__(self):
        self.time = 7

    def works(self, data):
        self.time += int(data * 10**6) + 500_000

    def clock(self):
        return Clock(lambda: self.time, self.wait)

    def wait(self, nanoseconds):
        self.time += nanoseconds


def mechanism(watch, cost=FREE, answer=lambda data, entropy: "done", **settings):
    def working(space):
        def function(data, entropy):
            watch.works(data)
            return answer(data, entropy)

        return Mechanism(space, function, lambda d_in: cost)

    stated = {"slowdown": TICK, "scale": 2 * TICK, "radius": 4 * TICK, "author": "a test", **settings}
    return NUMBER >> dp.calculus.timed(Step("work", working), clock=watch.clock(), **stated)


def elapsed(data, **settings):
    def run(entropy):
        watch = Watch()
        answer = mechanism(watch, **settings).function(data, entropy)
        return answer, watch.time - 7

    return output_law(run)


@pytest.mark.parametrize(("near", "far"), [(0, 1), (3, 4), (8, 9)])
def test_answer_and_time_keep_the_price_and_use_it_up(near, far):
    cost = mechanism(Watch()).cost(d_in=far - near)
    assert cost == TruncatedLaplace(scale=2, radius=4, sensitivity=1)
    verdict = compare(elapsed(near), elapsed(far), cost)
    assert verdict.kept
    assert verdict.reaches(Fraction(999, 1000))


def test_without_its_claim_the_price_is_caught():
    """Work that is two ticks longer where one was claimed breaks the promise: the law is about the clock, not about the text."""
    half = mechanism(Watch()).cost(d_in=1)
    assert compare(elapsed(0), elapsed(2), half).broken


def test_it_is_never_early_and_at_most_two_radii_late():
    for data in (0, 5):
        ready = int(data * 10**6) + 500_000
        times = {outcome[1] for outcome in elapsed(data).chances}
        assert min(times) >= ready
        assert max(times) <= ready + (2 * 4 + 1) * 10**6
        assert {time % 10**6 for time in times} == {0}


def test_the_inner_price_and_claims_travel():
    built = mechanism(Watch(), cost=Bounded(epsilon=1))
    assert built.cost() == Bounded(epsilon=1) + TruncatedLaplace(scale=2, radius=4, sensitivity=1)
    assert built.claims == ("a test: one step of distance takes at most 0.001 s more",)


def test_a_real_clock_waits():
    built = NUMBER >> dp.calculus.timed(
        m.laplace(scale=1), slowdown=0, scale=TICK, radius=TICK, author="a test", tick=Fraction(1, 10**4)
    )
    assert isinstance(built(3), int)


@pytest.mark.parametrize("bad", [{"radius": TICK / 2}, {"tick": 0}, {"scale": -1}, {"slowdown": -1}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(InvalidArgument):
        mechanism(Watch(), **bad)
