"""The chance of a loss above epsilon: never below the exact one, never below delta, and zero where no loss is that large."""

import math
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import pytest

import deniable as dp
from deniable.accounting import Approximate, Pure, delta
from deniable.accounting.measures.probabilistic_privacy import Probabilistic, exceeding
from deniable.accounting.spend import Spend
from deniable.cost import Bounded, Gaussian, Mixed, RandomizedResponse, TruncatedLaplace
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import exp


def test_no_less_than_the_exact_chance():
    for at in (0.2, 1.0, 3.0):
        mu = 0.7
        exact = 1 - NormalDist().cdf(at / mu - mu / 2)
        found = exceeding(Gaussian(scale=1, sensitivity=Fraction(7, 10)), epsilon=Fraction(at))
        assert exact <= found <= min(1.0, 12 * exact)
    times, truth = 6, Fraction(3, 4)
    for at in (Fraction(1, 2), Fraction(3), Fraction(5)):
        exact = Fraction(0)
        for answers in product((1, -1), repeat=times):
            if sum(answers) * math.log(3) > at:
                exact += math.prod(truth if each == 1 else 1 - truth for each in answers)
        assert exact <= Fraction(exceeding(RandomizedResponse(truth=truth).repeated(times), epsilon=at))


def test_it_is_stronger_than_epsilon_and_delta():
    for cost in (Gaussian(scale=1, sensitivity=1), TruncatedLaplace(scale=2, radius=9), Bounded(epsilon=1).repeated(3)):
        for at in (Fraction(1, 2), Fraction(2)):
            assert exceeding(cost, epsilon=at) >= delta(cost, epsilon=at).lower


def test_the_ends():
    assert exceeding(Bounded(epsilon=1), epsilon=1) == 0
    assert exceeding(Gaussian(scale=1, sensitivity=1), epsilon=0) == 1
    with pytest.raises(InvalidArgument):
        exceeding(Bounded(epsilon=1), epsilon=-1)


EIGHTHS = [(a, b, 8 - a - b) for a in range(9) for b in range(9 - a)]
"""Every law on three outcomes with masses in eighths."""


def chance_above(p, q, epsilon):
    """P[loss > epsilon], exactly: no ratio of small whole numbers lies within 2**-64 of e^epsilon, unless it is equal."""
    grown = exp(epsilon).upper
    return Fraction(sum(a for a, b in zip(p, q, strict=True) if a > grown * b), sum(p))


def hockey_stick(p, q, epsilon):
    """The delta at epsilon, rounded up."""
    grown = exp(epsilon).lower
    return sum((max(a - grown * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0)) / sum(p)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(2)])
def test_a_pair_implies_a_probability_and_back(epsilon):
    """On every pair of small laws: their exact delta gives a chance that is never exceeded, and that chance is a delta."""
    for p, q in product(EIGHTHS, repeat=2):
        pair = Spend(epsilon, max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)))
        found = dp.accounting.strength.convert(pair, source=Approximate(), target=Probabilistic())
        assert max(chance_above(p, q, found.loss), chance_above(q, p, found.loss)) <= found.delta
        likely = Spend(epsilon, max(chance_above(p, q, epsilon), chance_above(q, p, epsilon)))
        back = dp.accounting.strength.convert(likely, source=Probabilistic(), target=Approximate())
        assert max(hockey_stick(p, q, back.loss), hockey_stick(q, p, back.loss)) <= back.delta


def test_neither_constant_can_be_lowered():
    """One outcome with a loss of just more than epsilon + ln 2: its chance is just less than 2 delta."""
    epsilon, mass = Fraction(1, 10), Fraction(1, 1000)
    p = (mass, 1 - mass)
    q = (mass / (2 * exp(epsilon).upper) * Fraction(999, 1000), Fraction(0))
    q = (q[0], 1 - q[0])
    pair = Spend(epsilon, max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)))
    found = dp.accounting.strength.convert(pair, source=Approximate(), target=Probabilistic())
    assert found.delta * Fraction(99, 100) < chance_above(p, q, found.loss) <= found.delta


def test_two_answers_add_their_losses_and_their_chances():
    measure = Probabilistic()
    for p, q in [((7, 1, 0), (3, 4, 1)), ((1, 3, 4), (0, 5, 3)), ((6, 1, 1), (1, 1, 6))]:
        for epsilon in (Fraction(1, 4), Fraction(1)):
            one = Spend(epsilon, chance_above(p, q, epsilon))
            both = measure.repeat(one, 2)
            pairs = [[a * b for a, b in product(law, law)] for law in (p, q)]
            assert chance_above(*pairs, both.loss) <= both.delta
            assert both == measure.compose([one, one])


QUARTERS = [(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)]


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1)])
def test_two_steps_are_a_group(epsilon):
    """On every chain of three small laws: what the worst step implies for both together."""
    measure = Probabilistic()
    found = {Fraction(k, 4): measure.group(Spend(epsilon, Fraction(k, 4)), 2) for k in range(5)}
    for p, q, r in product(QUARTERS, repeat=3):
        steps = [(p, q), (q, p), (q, r), (r, q)]
        both = found[max(chance_above(*step, epsilon) for step in steps)]
        assert max(chance_above(p, r, both.loss), chance_above(r, p, both.loss)) <= both.delta


def test_the_chance_of_a_group_is_attained():
    """The first step exceeds epsilon = ln 2 on one outcome, the second on another which the first has doubled."""
    p, q, r = (1, 2, 97), (0, 1, 99), (0, 0, 100)
    laws = [tuple(map(Fraction, law)) for law in (p, q, r)]
    one = Spend(Fraction(6931471, 10**7), Fraction(1, 100))
    assert chance_above(laws[0], laws[1], one.loss + Fraction(1, 10**6)) == one.delta
    assert chance_above(laws[1], laws[2], one.loss) == one.delta
    both = Probabilistic().group(one, 2)
    reached = chance_above(laws[0], laws[2], both.loss)
    assert reached * Fraction(999, 1000) <= both.delta <= reached * Fraction(1001, 1000)


def test_what_is_pure_keeps_its_epsilon_and_what_is_not_is_read_over_a_pair():
    measure = Probabilistic()
    cost = dp.costs.Laplace(scale=2).repeated(3)
    assert measure.read(cost) == Spend(Pure().read(cost))
    assert measure.read(dp.costs.Grouped(cost, 2)) == Spend(Fraction(3))
    leak = Bounded(epsilon=1, delta=Fraction(1, 100))
    found = measure.read(leak)
    assert found.delta == Fraction(2, 100)
    assert Fraction(1.6931471) < found.loss < Fraction(1.6931473)
    grouped = measure.read(dp.costs.Grouped(leak, 2))
    assert grouped.delta >= 2 * Approximate().read(dp.costs.Grouped(leak, 2)).delta
    with pytest.raises(Unaccountable, match="exceeding"):
        measure.read(Gaussian(scale=1, sensitivity=1))


def test_a_hidden_draw_is_read_over_a_pair():
    """A draw that is not shown is a processing of the answer, which can raise the chance of a large loss: it is allowed for."""
    measure = Probabilistic()
    parts = [(Fraction(1, 2), Bounded(epsilon=1, delta=Fraction(1, 50))), (Fraction(1, 2), Bounded(epsilon=0))]
    read = measure.read(Mixed(parts))
    plain = Spend.mixed([(chance, measure.read(each)) for chance, each in parts])
    assert read.loss > plain.loss
    assert read.delta == 2 * plain.delta
