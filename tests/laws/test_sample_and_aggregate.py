"""Sample and aggregate: one unit moves one estimate, whatever the estimator does (errata E7)."""

from fractions import Fraction
from statistics import median

import pytest

import deniable as dp
from deniable.audit.comparison import check_privacy
from deniable.core import Hamming, InsertDelete, Lattice, Numbers, Space, Texts, Vectors, frame, integers, rows
from deniable.core.metric import LInfinity
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.testing import Seeded
from deniable.testing.couplings import keeps_coupling

SMALL = integers(lower=0, upper=9)
ONE, TWO = Fraction(1), Fraction(2)


def wild(part):
    """As unstable as a function can be: depends on size, order and every value."""
    return (sum((i + 2) * row for i, row in enumerate(part)) + len(part)) % 10


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_e07_one_row_moves_one_estimate(parts):
    """Errata E7: independent parts; a row added or removed changes one estimate at most, however unstable the estimator."""
    built = rows(SMALL) >> dp.calculus.in_random_parts(wild, parts=parts, to=SMALL, default=0, author="test")
    for size in range(3):
        left, right = list(range(1, size + 1)), list(range(1, size + 2))
        assert keeps_coupling(built, left, right, apart=ONE)
        assert keeps_coupling(built, right, left, apart=ONE)
    assert built.map(d_in=1) == 1
    assert built.map(d_in=3) == 3


def test_a_replaced_row_moves_one_estimate():
    built = rows(SMALL, size=3) >> dp.calculus.in_random_parts(wild, parts=2, to=SMALL, default=0, author="test")
    assert keeps_coupling(built, [1, 2, 3], [1, 2, 9], apart=ONE)
    assert keeps_coupling(built, [1, 2, 3], [7, 2, 9], apart=TWO)
    plain = rows(SMALL, size=2) >> dp.calculus.in_random_parts(sum, parts=2, to=integers(), default=0, author="test")
    assert not keeps_coupling(plain, [1, 2], [7, 9], apart=ONE)


def test_an_order_that_the_metric_ignores_is_no_order_for_the_estimator():
    built = rows(SMALL) >> dp.calculus.in_random_parts(wild, parts=2, to=SMALL, default=0, author="test")
    assert keeps_coupling(built, [1, 2, 3], [3, 1, 2], apart=Fraction(0))
    ordered = rows(SMALL, metric=InsertDelete()) >> dp.calculus.in_random_parts(
        wild, parts=1, to=SMALL, default=0, author="test"
    )
    assert ordered([1, 2, 3]) == [wild([1, 2, 3])]
    assert (
        rows(SMALL, size=2, metric=Hamming())
        >> dp.calculus.in_random_parts(wild, parts=1, to=SMALL, default=0, author="t")
    )([4, 5]) == [wild([4, 5])]


def test_a_person_moves_one_estimate():
    people = frame({"who": Texts(), "x": SMALL}, identifier="who")
    built = people >> dp.calculus.in_random_parts(
        lambda part: wild(part["x"]), parts=2, to=SMALL, default=0, author="test"
    )
    left, right = {"who": ["a"], "x": [1]}, {"who": ["a", "b", "b"], "x": [1, 2, 3]}
    assert keeps_coupling(built, left, right, apart=ONE)


def test_what_the_estimator_breaks_is_the_default():
    def broken(part):
        if not part:
            raise ValueError("no rows")
        return 77 if len(part) == 1 else part[0]

    built = rows(SMALL) >> dp.calculus.in_random_parts(broken, parts=1, to=SMALL, default=5, author="test")
    assert [built(data) for data in ([], [3], [4, 4])] == [[5], [5], [4]]
    assert built.claims == ("test: broken",)


def test_equal_cells_look_alike():
    built = rows(Numbers()) >> dp.calculus.in_random_parts(repr, parts=1, to=Texts(), default="", author="test")
    assert built([-0.0]) == built([0.0])
    assert built([float("nan")]) == built([None])


def test_the_whole_mechanism_keeps_its_promise():
    step = dp.calculus.sample_and_aggregate(
        wild,
        parts=2,
        to=integers(lower=0, upper=1),
        default=0,
        aggregate=dp.calculus.total() >> dp.calculus.laplace(scale=2),
        author="test",
    )
    mechanism = rows(integers(lower=0, upper=1)) >> step
    assert dp.accounting.pure(mechanism.cost(d_in=1)) == Fraction(1, 2)
    for left, right in (([], [1]), ([1], [1, 1]), ([0, 1], [0, 1, 1])):
        assert check_privacy(mechanism, left, right, tail=Fraction(1, 10**6)).kept


def test_a_private_median_of_medians():
    median_of = dp.calculus.private_median(lower=0, upper=9, grid=1, scale=Fraction(1, 2))
    step = dp.calculus.sample_and_aggregate(
        lambda part: int(median(part)),
        parts=9,
        to=SMALL,
        default=0,
        aggregate=median_of,
        author="test",
    )
    mechanism = rows(SMALL) >> step
    answers = [mechanism([7] * 90, entropy=Seeded(seed)) for seed in range(9)]
    assert answers.count(7) >= 8  # nine estimates agree; the seeds are fixed, so this cannot flake
    assert mechanism.cost(d_in=1) == (rows(SMALL, size=9) >> median_of).cost(d_in=1)


def test_refusals():
    with pytest.raises(InvalidArgument, match="default must be a member"):
        rows(SMALL) >> dp.calculus.in_random_parts(wild, parts=2, to=SMALL, default=-1, author="test")
    with pytest.raises(InvalidArgument):
        rows(SMALL) >> dp.calculus.in_random_parts(wild, parts=0, to=SMALL, default=0, author="test")
    with pytest.raises(SpaceMismatch, match="rows or a frame"):
        Space(Vectors(Lattice(), 2), LInfinity()) >> dp.calculus.in_random_parts(
            wild, parts=2, to=SMALL, default=0, author="t"
        )
