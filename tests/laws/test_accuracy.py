"""Stated errors against exact laws: of each output, of all at once, and of mechanisms made of mechanisms."""

from fractions import Fraction
from itertools import product

import pytest

import deniable as dp
from deniable import mechanisms as m
from deniable.audit.exact_law import output_law
from deniable.core import (
    L1,
    Booleans,
    Categories,
    DiscreteDistance,
    Hamming,
    Keyed,
    Lattice,
    Rows,
    Space,
    SymmetricDistance,
    Vectors,
)
from deniable.cost import FREE, Selected, Stopping
from deniable.errors import InvalidArgument
from deniable.exact import exp
from deniable.kernels import DiscreteLaplaceNoise
from deniable.mechanisms.best_of import _all_miss
from deniable.mechanisms.tree import tree_nodes, tree_sums
from deniable.noise.counts import NegativeBinomial, Poisson
from tests.laws import test_every_mechanism as every

PAIR = Space(Vectors(Lattice(), 2), L1())
ROWS = Space(Rows(Categories(("x", "y"))), SymmetricDistance())
COIN = Space(Booleans(), DiscreteDistance())
QUARTER = Fraction(1, 4)
BETAS = [Fraction(k, 100) for k in (1, 2, 5, 10, 15, 20, 30, 40, 60, 80)]


def _flat(levels):
    return [value for level in levels for value in level]


SEVERAL = {  # mechanism, data, the outputs less their truth
    "laplace": (PAIR >> m.laplace(scale=1), [0, 0], list),
    "gaussian": (PAIR >> m.gaussian(scale=1), [0, 0], list),
    "discrete_gaussian": (PAIR >> m.discrete_gaussian(scale=1), [0, 0], list),
    "truncated_laplace": (PAIR >> m.truncated_laplace(scale=1, radius=3), [0, 0], list),
    "upper_estimate": (PAIR >> m.upper_estimate(scale=1, radius=2), [0, 0], list),
    "private_histogram": (ROWS >> m.private_histogram(scale=1), [], lambda answer: list(answer.values())),
    "noisy_tree": (PAIR >> m.noisy_tree(scale=Fraction(1, 2), branching=2), [0, 0], lambda tree: _flat(tree.levels)),
    "noisy_hierarchy": (
        Space(Keyed(Lattice(), (("n", "a"),)), L1()) >> m.noisy_hierarchy(scales=[1, Fraction(1, 2), Fraction(1, 3)]),
        {("n", "a"): 0},
        lambda spine: _flat(spine.measured),
    ),
}


def _masses(law):
    """What each answer certainly has, and what is left."""
    known = {answer: law.probability(answer).lower for answer in law.chances}
    return known, 1 - sum(known.values())


@pytest.mark.parametrize("name", SEVERAL)
def test_errors_of_all_outputs_at_once_are_exact(name):
    mechanism, data, outputs = SEVERAL[name]
    law = output_law(
        lambda entropy: max(abs(int(x)) for x in outputs(mechanism.function(data, entropy))), tail=Fraction(1, 10**4)
    )
    known, unknown = _masses(law)
    assert unknown < Fraction(1, 500)
    for beta in BETAS:
        error = int(mechanism.accuracy(confidence=1 - beta, simultaneous=True).error)
        beyond = [sum(low for t, low in known.items() if t > limit) for limit in (error, error - 1)]
        assert beyond[0] <= beta
        assert not error or beyond[1] + unknown > beta, "a smaller error would do"
        assert error >= mechanism.accuracy(confidence=1 - beta).error


def test_many_outputs_need_more_than_one():
    """k entries of Laplace noise: about scale·ln(k/beta), here summed from the masses."""
    many, scale = Space(Vectors(Lattice(), 1000), L1()) >> m.laplace(scale=5), Fraction(5)
    error = int(many.accuracy(simultaneous=True).error)
    inside = [
        sum((DiscreteLaplaceNoise(scale).mass(k).lower for k in range(-t, t + 1)), Fraction(0))
        for t in (error, error - 1)
    ]
    assert inside[0] ** 1000 >= Fraction(19, 20) > inside[1] ** 1000
    assert str(many.accuracy(simultaneous=True)).endswith("(value of each entry, all at once) with probability 0.95")


@pytest.mark.parametrize("name", [name for name, case in every.CASES.items() if isinstance(case, every.Case)])
def test_every_mechanism_states_an_error_of_all_its_outputs_or_says_what_it_lacks(name):
    mechanism, chance = every.STATED.get(name) or every.CASES[name].mechanism, Fraction(9, 10)
    if name in {"threshold_histogram", "query_stream", "alerts"}:
        with pytest.raises(InvalidArgument, match=r"declare the keys|queries=|pieces="):
            mechanism.accuracy(confidence=chance, simultaneous=True)
    else:
        together = mechanism.accuracy(confidence=chance, simultaneous=True)
        assert together.error >= mechanism.accuracy(confidence=chance).error


COMBINED = {
    "sampled": ROWS >> dp.calculus.sampled(m.private_histogram(scale=1), rate=QUARTER),
    "shuffled": Space(Rows(Booleans(), size=9), Hamming())
    >> dp.calculus.shuffled(m.randomized_response(truth=Fraction(3, 4))),
    "in_batches": ROWS >> dp.calculus.in_batches(m.private_histogram(scale=1), batches=4),
    "timed": PAIR
    >> dp.calculus.timed(m.laplace(scale=1), slowdown=0, scale=1e-4, radius=1e-4, tick=1e-4, author="a test"),
    "best_of": COIN >> dp.calculus.best_of(m.randomized_response(truth=Fraction(3, 4)), score=int, tries=QUARTER),
    "first_above": COIN
    >> dp.calculus.first_above(m.randomized_response(truth=Fraction(3, 4)), score=int, threshold=1, stop=QUARTER),
}


@pytest.mark.parametrize("name", COMBINED)
def test_mechanisms_made_of_mechanisms_state_their_accuracy(name):
    assert set(COMBINED) == set(every.COMBINATORS) - {"together"}  # each of its answers has its own
    mechanism = COMBINED[name]
    likely, surely = (mechanism.accuracy(confidence=c) for c in (Fraction(1, 2), Fraction(99, 100)))
    assert likely.error <= surely.error
    assert surely.error <= mechanism.accuracy(confidence=Fraction(99, 100), simultaneous=True).error
    assert surely.measure


def test_a_sample_is_answered_as_the_inner_mechanism_answers():
    inner = ROWS >> m.private_histogram(scale=1)
    assert COMBINED["sampled"].accuracy().error == inner.accuracy().error
    assert COMBINED["sampled"].accuracy().measure.endswith("of the sample that was drawn")
    assert (
        COMBINED["in_batches"].accuracy(simultaneous=True).error
        == inner.accuracy(confidence=1 - Fraction(1, 80), simultaneous=True).error
    )


STOPS = [
    (Stopping.NEGATIVE_BINOMIAL, shape, gamma)
    for shape, gamma in product((1, 0, Fraction(-1, 2), 2), (QUARTER, Fraction(1, 2)))
] + [(Stopping.POISSON, 1, 3)]


def _series(price: Selected, miss: Fraction) -> float:
    """E[miss**runs] summed run by run, from the ratios of neighbouring chances."""
    poisson = price.stopping is Stopping.POISSON
    law = Poisson(price.tries) if poisson else NegativeBinomial(price.shape, price.tries)
    chance, total, missed = 1.0, 0.0, 0.0
    for i in range(400):
        total, missed = total + chance, missed + chance * float(miss) ** (i if poisson else i + 1)
        chance *= float(law.ratio(i))
    return missed / total


@pytest.mark.parametrize(("stopping", "shape", "tries"), STOPS)
def test_the_best_of_some_runs_misses_as_often_as_said(stopping, shape, tries):
    price = Selected(FREE, stopping=stopping, tries=tries, shape=shape)
    mechanism = COIN >> dp.calculus.best_of(m.coin_flip(), score=int, tries=tries, stopping=stopping, shape=shape)
    for q in (Fraction(1, 10), Fraction(1, 5), Fraction(3, 4)):
        beta = _all_miss(price, q)
        assert float(beta) == pytest.approx(_series(price, 1 - q), rel=1e-9)
        assert q <= mechanism.accuracy(confidence=1 - beta).error + Fraction(1, 2**20)
        assert mechanism.accuracy(confidence=1 - beta).error <= q + Fraction(1, 2**20)


@pytest.mark.parametrize(
    ("stopping", "tries"), [(Stopping.NEGATIVE_BINOMIAL, Fraction(9, 10)), (Stopping.POISSON, Fraction(1, 4))]
)
def test_the_best_of_some_runs_by_its_exact_law(stopping, tries):
    """A run scores one with probability 3/4; the answer scores zero when all runs do, or there is none."""
    mechanism = COIN >> dp.calculus.best_of(
        m.randomized_response(truth=Fraction(3, 4)), score=int, tries=tries, stopping=stopping
    )
    law = output_law(lambda entropy: mechanism.function(True, entropy) is True, tail=Fraction(1, 10**3))
    missed = _all_miss(Selected(FREE, stopping=stopping, tries=tries, shape=1), Fraction(3, 4))
    known, unknown = _masses(law)
    assert unknown < Fraction(1, 50)
    assert known[False] <= missed <= known[False] + unknown


def test_no_run_at_all_is_said():
    few = COIN >> dp.calculus.best_of(m.coin_flip(), score=int, tries=1, stopping=Stopping.POISSON)
    with pytest.raises(InvalidArgument, match="raise tries"):
        few.accuracy(confidence=Fraction(99, 100))
    assert exp(-few.accuracy(confidence=Fraction(1, 2)).error).lower <= Fraction(1, 2)


def test_the_first_above_gives_up_as_often_as_said():
    for truth, stop in product((Fraction(3, 4), Fraction(9, 10)), (QUARTER, Fraction(1, 2))):
        mechanism = COIN >> dp.calculus.first_above(
            m.randomized_response(truth=truth), score=int, threshold=1, stop=stop
        )
        law = output_law(lambda entropy, run=mechanism: run.function(True, entropy), tail=Fraction(1, 10**4))
        missed = (1 - truth) * stop / (truth + stop - truth * stop)
        known, unknown = _masses(law)
        assert unknown < Fraction(1, 50)
        assert known[None] <= missed <= known[None] + unknown
        assert mechanism.accuracy(confidence=1 - missed).error == truth


MADE_OF_SEVERAL = {
    "sampled": lambda several: dp.calculus.sampled(several, rate=QUARTER),
    "in_batches": lambda several: dp.calculus.in_batches(several, batches=3),
    "timed": lambda several: dp.calculus.timed(several, slowdown=1, scale=1, radius=2, author="the test"),
    "in_each": lambda several: (
        dp.calculus.partition_by(lambda row: row, keys=["x", "y"], author="the test") >> dp.calculus.in_each(several)
    ),
    "together": dp.calculus.together,
}


@pytest.mark.parametrize("name", MADE_OF_SEVERAL)
def test_several_as_one_state_the_error_of_each_whatever_is_made_of_them(name):
    counts = [dp.calculus.count() >> m.laplace(scale=scale) for scale in (1, 3)]
    made = ROWS >> MADE_OF_SEVERAL[name](dp.calculus.together(*counts))
    for together in (False, True):
        stated = made.accuracy(simultaneous=together)
        first, second = stated[0] if name == "together" else stated
        alone = [(ROWS >> count).accuracy().error for count in counts]
        assert [first.error > alone[0], second.error > alone[1]] == [together] * 2
        assert first.confidence == Fraction(19, 20)


def test_an_answer_that_was_processed_says_where_to_ask():
    with pytest.raises(InvalidArgument, match="before its answer was processed"):
        ((PAIR >> m.laplace(scale=1)) >> sum).accuracy()
    told = Space(Lattice(lower=0, upper=4), DiscreteDistance()) >> m.local_mean(truth=Fraction(1, 2))
    with pytest.raises(InvalidArgument, match="raise truth"):
        told.accuracy()


@pytest.mark.parametrize("branching", [2, 3, 16])
def test_the_nodes_of_a_tree_are_counted(branching):
    for size in range(1, 60):
        levels = tree_sums(m.tree.np.zeros(size, dtype=m.tree.np.int64), branching)
        assert tree_nodes(size, branching) == sum(level.size for level in levels)
