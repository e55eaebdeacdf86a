"""Noise within public bounds, the constant-time table, and randomized answers with their estimates."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from deniable.core.domain import Booleans, Categories, Lattice, Rows, Vectors
from deniable.core.metric import L1, AbsoluteDistance, ChangeOne, DiscreteDistance, Hamming
from deniable.core.space import Space
from deniable.cost import FREE, RandomizedResponse, Repeated, TruncatedLaplace
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import exp, ln
from deniable.mechanisms import (
    bounded_geometric,
    coin_flip,
    estimate_mean,
    estimate_share,
    estimate_shares,
    local_mean,
    lower_estimate,
    randomized_response,
    truncated_laplace,
    upper_estimate,
)
from deniable.mechanisms.constant_time import GeometricTable
from deniable.testing.scripted_entropy import Scripted, Seeded, Silent

NUMBER = Space(Lattice(), AbsoluteDistance())


def test_noise_never_leaves_the_radius():
    tight = NUMBER >> truncated_laplace(scale=5, radius=3)
    assert all(abs(tight(10, entropy=Seeded(seed)) - 10) <= 3 for seed in range(100))
    assert tight.accuracy(confidence=0.999).error <= 3
    pair = Space(Vectors(Lattice(), 2), L1()) >> truncated_laplace(scale=5, radius=3)
    assert pair.cost(d_in=2) == Repeated(TruncatedLaplace(scale=5, radius=3, sensitivity=2), 2)
    assert (Space(Lattice(Fraction(1, 2)), AbsoluteDistance()) >> truncated_laplace(scale=5, radius=3)).cost(
        d_in=1
    ) == (TruncatedLaplace(scale=10, radius=6, sensitivity=2))


def test_one_sided_accuracy_counts_the_shift():
    assert (NUMBER >> upper_estimate(scale=2, radius=10)).accuracy(confidence=0.9).error == 13
    assert (NUMBER >> lower_estimate(scale=2, radius=10))(5, entropy=Silent()) == -5


def test_a_radius_below_one_step_is_refused():
    with pytest.raises(InvalidArgument, match="one step"):
        NUMBER >> truncated_laplace(scale=1, radius=0.5)


# Constant time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "reach"), [(Fraction(1), 1), (Fraction(1), 5), (Fraction(7, 2), 20), (Fraction(1, 3), 12)]
)
def test_the_table_is_the_law_and_its_loss_is_exact(scale, reach):
    table = GeometricTable(scale, reach)
    masses, whole = table.masses(), 1 << table.bits
    assert sum(masses) == whole
    assert masses == masses[::-1]
    q = exp(-1 / scale, 200)
    for place, z in enumerate(range(-reach + 1, reach), start=1):
        law = exp(-abs(Fraction(z)) / scale, 200) * (1 - q) / (1 + q)
        assert abs(Fraction(masses[place], whole) - law.midpoint) < Fraction(4, 2 ** (table.bits - 2))
    laws = []
    for x in range(reach + 1):  # the law of the answer from every number, straight from the table
        answers = [0] * (reach + 1)
        for z, mass in zip(range(-reach, reach + 1), masses, strict=True):
            answers[min(max(x + z, 0), reach)] += mass
        laws.append(answers)
    worst = max(Fraction(max(a, b), min(a, b)) for p, r in pairwise(laws) for a, b in zip(p, r, strict=True))
    assert ln(worst, 200).lower <= table.loss
    assert table.loss - ln(worst, 200).upper < Fraction(1, 10**30)
    assert abs(table.loss - 1 / scale) < Fraction(1, 10**25)


def test_every_edge_of_the_table_divides_the_noise():
    table = GeometricTable(Fraction(2), 4)
    words, start = table.bits // 64, table.cumulative[3]

    def drawn(point):
        turned = (point - start) % (1 << table.bits)
        return table.draw(Scripted([turned >> 64 * k & (1 << 64) - 1 for k in reversed(range(words))]))

    for z, edge in zip(range(-4, 4), table.cumulative, strict=True):
        assert drawn(edge - 1) == z
        assert drawn(edge) == z + 1
    assert table.draw(Silent()) == 0


def test_answers_stay_within_the_bounds():
    space = Space(Lattice(Fraction(1), 0, 6), AbsoluteDistance())
    kept = space >> bounded_geometric(scale=3)
    answers = {kept(5, entropy=Seeded(seed)) for seed in range(200)}
    assert answers <= set(range(7))
    assert {0, 6} <= answers
    assert kept(99, entropy=Silent()) == 6
    assert kept.cost(d_in=2).epsilon == 2 * kept.cost(d_in=1).epsilon
    assert kept.cost(d_in=100).epsilon == 6 * kept.cost(d_in=1).epsilon
    one = Space(Lattice(Fraction(1), 3, 3), AbsoluteDistance()) >> bounded_geometric(scale=3)
    assert (one(3, entropy=Seeded(1)), one.cost().epsilon) == (3, 0)


def test_the_same_words_are_read_whatever_the_data():
    kept = Space(Lattice(Fraction(1), 0, 50), AbsoluteDistance()) >> bounded_geometric(scale=5)
    reads = set()
    for value in (0, 25, 50, 10**9):
        script = Scripted([2**63] * 20)
        kept(value, entropy=script)
        reads.add(script.read)
    assert len(reads) == 1


def test_unfit_ranges_are_refused():
    with pytest.raises(SpaceMismatch, match="bounds"):
        NUMBER >> bounded_geometric(scale=1)
    with pytest.raises(InvalidArgument, match="too"):
        Space(Lattice(Fraction(1), 0, 10**6), AbsoluteDistance()) >> bounded_geometric(scale=10**5)


# Randomized answers -----------------------------------------------------------------------------------------------------------


def test_costs_count_the_answers_that_differ():
    bits = Space(Rows(Booleans(), size=4), Hamming()) >> randomized_response(truth=0.8)
    one = RandomizedResponse(truth=Fraction(4, 5), categories=2)
    assert bits.cost(d_in=1) == one
    assert bits.cost(d_in=3) == Repeated(one, 3)
    assert bits.cost(d_in=0) == FREE
    assert len(bits([True] * 4, entropy=Seeded(1))) == 4
    assert bits(np.array([True, False, True, False]), entropy=Silent()) == [True, False, True, False]


def test_unknown_answers_are_harmless():
    three = Space(Categories(("a", "b", "c")), DiscreteDistance()) >> randomized_response(truth=0.9)
    assert three("z", entropy=Silent()) == "a"


@pytest.mark.parametrize(
    ("space", "truth", "error"),
    [
        (Space(Booleans(missing=True), DiscreteDistance()), 0.7, SpaceMismatch),
        (Space(Categories(("a",)), DiscreteDistance()), 0.7, SpaceMismatch),
        (Space(Rows(Booleans(), size=2), ChangeOne()), 0.7, SpaceMismatch),
        (Space(Booleans(), DiscreteDistance()), 0.4, InvalidArgument),
        (Space(Booleans(), DiscreteDistance()), 1, InvalidArgument),
    ],
)
def test_unfit_answers_are_refused(space, truth, error):
    with pytest.raises(error):
        space >> randomized_response(truth=truth)


def test_the_coin_flip_is_for_yes_and_no():
    with pytest.raises(SpaceMismatch, match="yes or no"):
        Space(Categories(("a", "b")), DiscreteDistance()) >> coin_flip()
    assert (Space(Booleans(), DiscreteDistance()) >> coin_flip()).cost() == RandomizedResponse(truth=Fraction(3, 4))


def test_estimates_are_unbiased():
    """The expected number of yeses, put in, gives the true share back."""
    for share in (Fraction(0), Fraction(1, 4), Fraction(1)):
        yes = 1000 * (share * Fraction(3, 4) + (1 - share) * Fraction(1, 4))
        assert estimate_share(int(yes), 1000, truth=Fraction(3, 4)).value == pytest.approx(float(share))
    told = {"a": 540, "b": 240, "c": 220}
    shares = estimate_shares(told, truth=Fraction(3, 5))
    assert sum(estimate.value for estimate in shares.values()) == pytest.approx(1)
    assert shares["a"].value == pytest.approx((0.54 - 0.2) / 0.4)
    assert estimate_mean(500, 1000, lower=-10, upper=30, truth=0.9).value == pytest.approx(10)


def _tail(share, answers, truth, at_least):
    """P[yes >= at_least] when round(share·answers) people truly say yes: an exact convolution of two binomials."""
    true = round(share * answers)
    first, second = (_binomial(n, p) for n, p in ((true, truth), (answers - true, 1 - truth)))
    return float(np.convolve(first, second)[at_least:].sum())


def _binomial(n, p):
    row = np.array([1.0])
    for _ in range(n):
        row = np.convolve(row, [1 - p, p])
    return row


@pytest.mark.parametrize("yes", [3, 12, 30, 48])
def test_intervals_hold_for_every_share_outside(yes):
    """Every share below the interval makes as many yeses rarer than 2.5 %, and the same above: exact binomials."""
    found = estimate_share(yes, 50, truth=0.75, confidence=0.95)
    assert found.lower <= min(max(found.value, 0), 1) <= found.upper
    for people in range(51):
        share = people / 50
        if share < found.lower:
            assert _tail(share, 50, 0.75, yes) <= 0.025
        if share > found.upper:
            assert 1 - _tail(share, 50, 0.75, yes + 1) <= 0.025


def test_a_local_mean_reports_one_bit():
    space = Space(Lattice(Fraction(1, 2), 0, 20), DiscreteDistance())
    report = space >> local_mean(truth=0.9)
    bits = [report(15, entropy=Seeded(seed)) for seed in range(400)]
    found = estimate_mean(sum(bits), 400, lower=0, upper=10, truth=0.9, confidence=0.999999999)
    assert found.lower <= 7.5 <= found.upper
    with pytest.raises(SpaceMismatch, match="bounds"):
        Space(Lattice(), DiscreteDistance()) >> local_mean(truth=0.9)


@pytest.mark.parametrize(("yes", "answers", "truth"), [(5, 4, 0.7), (-1, 4, 0.7), (1, 0, 0.7), (1, 4, 0.5), (1, 4, 1)])
def test_impossible_counts_are_refused(yes, answers, truth):
    with pytest.raises(InvalidArgument):
        estimate_share(yes, answers, truth=truth)
