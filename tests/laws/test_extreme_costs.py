"""Extreme costs: little or much noise, rare or all units, once or a billion times. Every reading ends, within a bound on memory,
with a sound bracket and never with a Python error."""

import json
import math
import os
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise, product

import pytest

import deniable as dp
from tests.conftest import EXPLORES

LAWS = ("Gaussian", "Laplace", "DiscreteLaplace", "DiscreteGaussian")
SCALES, RATES, TIMES = ("1/1000", "1", "1000000"), ("1/1000000000", "1/2", "1"), (1, 10**9)
CHANCES, LOSSES = ("0", f"1/{10**300}", "1/1000000", "99/100"), ("0", "1", "10000")
ALL = list(product(LAWS, SCALES, RATES, TIMES))
FAST = [
    (("Gaussian", "1/1000", "1/2", 10**9), ("1/1000000",), ()),
    (("Gaussian", "1000000", "1/1000000000", 10**9), (), ("1",)),
    (("Gaussian", "1/10", "1/100000", 10**5), (), ("1",)),  # one direction has a long thin tail
    (("Laplace", "1/1000", "1/2", 10**9), (), ("1",)),
    (("Laplace", "1/1000", "1", 10**9), ("1/1000000",), ()),
    (("DiscreteLaplace", "1/1000", "1/2", 10**9), (), ("1",)),
    (("DiscreteGaussian", "1/1000", "1", 1), ("1/1000000",), ()),
]
SPREAD = [
    (("Gaussian", "1/1000", "1/1000000000", 1), (), ("0",)),
    (("Gaussian", "1", "1/2", 10**9), (f"1/{10**300}",), ()),
    (("Gaussian", "1000000", "1", 1), (), ("10000",)),
    (("Laplace", "1", "1/2", 1), (), ("1",)),
    (("DiscreteLaplace", "1/1000", "1/1000000000", 1), (), ("0",)),
    (("DiscreteLaplace", "1000000", "1", 1), (), ("10000",)),
    (("DiscreteGaussian", "1/1000", "1/1000000000", 10**9), (f"1/{10**300}",), ()),
    (("DiscreteGaussian", "1", "1/2", 1), (), ("1",)),
    (("DiscreteGaussian", "1000000", "1", 10**9), ("99/100",), ()),
]
"""Laws, scales, rates, times and questions in turn: those of the whole table that take less than seconds."""
MEMORY = 1_000_000_000
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))
from fractions import Fraction
import deniable as dp
from deniable.errors import Unaccountable
from tests.conftest import EXPLORES

def cost(law, scale, rate, times):
    made = getattr(dp.costs, law)(scale=Fraction(scale), sensitivity=1)
    return (made.sampled(rate=Fraction(rate)) if Fraction(rate) < 1 else made).repeated(times)

def ends(read, *args, **more):
    try:
        found = read(*args, **more)
    except Unaccountable:
        return None
    return [found.lower, found.upper, found.gap, found.note]

dp.delta(dp.costs.Laplace(scale=1).repeated(3), epsilon=1)
start, answers = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
for case, chances, losses in json.loads(sys.argv[1]):
    made = cost(*case)
    answers.append([
        [ends(dp.epsilon, made, delta=Fraction(chance)) for chance in chances],
        [ends(dp.delta, made, epsilon=Fraction(loss)) for loss in losses],
    ])
print(json.dumps([answers, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start)]))
"""


def answers_within_memory(cases):
    """Both kinds of answers for every case, from a process of its own with its memory watched."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    asked = json.dumps(cases)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, asked], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers, memory = json.loads(done.stdout)
    assert memory < MEMORY
    return answers


def assert_sound(answer, most):
    """Ends in order and within range, and no larger where more is allowed."""
    for lower, upper, gap, note in filter(None, answer):
        assert 0 <= lower <= upper <= most
        assert gap <= 1e-3 or upper <= 1e-300 or note or lower == 0
    for (_, before, *_), (after, *_) in pairwise(filter(None, answer)):
        assert after <= before


def assert_all_sound(cases):
    for losses, chances in answers_within_memory(cases):
        assert_sound(losses, math.inf)
        assert_sound(chances, 1.0)
        assert all(chances)


pytestmark = pytest.mark.skipif(os.name == "nt", reason="no limits on memory")


def test_extreme_costs_are_read_within_bounds():
    assert_all_sound(FAST + SPREAD)


def test_the_questions_in_turn_meet_every_word():
    """A law, scale, rate or number of times that no question of the short list has would be tried by exploring alone."""
    asked = [case for case, _, _ in FAST + SPREAD]
    for place, words in enumerate((LAWS, SCALES, RATES, TIMES)):
        assert set(words) <= {case[place] for case in asked}
    assert {loss for _, _, losses in FAST + SPREAD for loss in losses} == set(LOSSES)


@pytest.mark.parametrize(
    "answer", [[[2.0, 1.0, 0.0, ""]], [[0.5, 0.6, 0.2, ""]], [[0.1, 0.2, 0, ""], [0.3, 0.4, 0, ""]]]
)
def test_an_unsound_answer_is_caught(answer):
    """Planted: ends that changed places, a wide bracket without a word, a reading that grows where more is allowed."""
    with pytest.raises(AssertionError):
        assert_sound(answer, math.inf)


@pytest.mark.slow
@pytest.mark.skipif(not EXPLORES, reason="all 504 questions take long: dev.py test --explore")
@pytest.mark.parametrize("law", LAWS)
def test_every_extreme_cost_is_read_within_bounds(law):
    assert_all_sound([(case, CHANCES, LOSSES) for case in ALL if case[0] == law])


HUGE = {
    "pure": (dp.costs.Bounded(epsilon=10**7), 10**7),
    "pure with a leak": (dp.costs.Bounded(epsilon=10**7, delta=Fraction(1, 10**7)), 10**7),
    "coins": (dp.costs.RandomizedResponse(truth=1 - Fraction(1, 10**400)), 922),
    "Laplace": (dp.costs.Laplace(scale=Fraction(1, 10**7)), 10**7),
    "Gaussian": (dp.costs.Gaussian(scale=Fraction(1, 10**4), sensitivity=1), 6 * 10**7),
}


@pytest.mark.parametrize("name", HUGE)
def test_losses_that_no_exponential_holds_are_read_all_the_same(name):
    """No reader ends in an error about the exponential of a number nobody gave; what cannot be told apart is not promised."""
    cost, most = HUGE[name]
    assert 0 < dp.epsilon(cost, delta=Fraction(1, 10**6)).upper <= most
    assert dp.delta(cost, epsilon=1).upper >= Fraction(9, 10)
    assert str(dp.explain(cost, delta=Fraction(1, 10**6)))
    for alpha in (0, Fraction(1, 10), 1):
        assert 0 <= dp.tradeoff(cost)(alpha) <= 1 - alpha
    assert dp.accounting.probabilistic.exceeding(cost, epsilon=1) >= 0.9


@pytest.mark.parametrize("loss", [2000, 5000, 10**7, 10**400])
def test_words_for_huge_losses(loss):
    assert dp.odds(loss) == math.inf
    assert dp.truth_probability(loss) == dp.detection_power(Fraction(1, 100), epsilon=loss) == 1
    assert dp.detection_power(0, epsilon=loss, delta=Fraction(1, 8)) == Fraction(1, 8)
    belief = dp.posterior(Fraction(1, 3), epsilon=loss)
    assert (belief.lower <= 1e-300, belief.upper) == (True, 1.0)
    assert (dp.posterior(0, epsilon=loss).upper, dp.posterior(1, epsilon=loss).lower) == (0.0, 1.0)
