"""A mechanism in each part of a partition: exact output laws on neighbours, rows added and rows replaced, in every spread."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

import deniable as dp
from deniable.audit.comparison import check_privacy
from deniable.core import AbsoluteDistance, ChangeOne, Keyed, Lattice, PartitionDistance, Space, integers, rows
from deniable.cost import FREE, Bounded, Composed, DiscreteLaplace, Parallel
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.testing.scripted_entropy import Silent
from deniable.transformations.each import _ways

HALF = Fraction(1, 2)
ROW = integers(lower=0, upper=3)
SPLIT = dp.calculus.partition_by(lambda row: row % 2, keys=[0, 1], author="a test")
NOISY = dp.calculus.count() >> dp.calculus.laplace(scale=1)
FINER = dp.calculus.count() >> dp.calculus.laplace(scale=2)
TAIL = Fraction(1, 10**4)


@pytest.mark.parametrize("inner", [NOISY, {0: NOISY, 1: FINER}], ids=["one for all", "one for each"])
@pytest.mark.parametrize(("left", "right"), [([], [0]), ([], [1]), ([0, 1], [0, 1, 3])])
def test_a_row_added_is_paid_for_in_one_part(inner, left, right):
    mechanism = rows(ROW) >> SPLIT >> dp.calculus.in_each(inner)
    verdict = check_privacy(mechanism, left, right, tail=TAIL)
    assert verdict.kept
    assert mechanism.loss(d_in=1).upper == 1
    used = check_privacy(mechanism, left, right, losses=[Fraction(1, 4)], tail=TAIL)
    assert any(finding.measured.lower > 0 for finding in used.findings)


REPLACED = [([0, 0], [0, 1]), ([0, 0], [2, 0]), ([1, 2], [1, 3])]


@pytest.mark.parametrize("inner", [NOISY, {0: NOISY, 1: FINER}], ids=["one for all", "one for each"])
@pytest.mark.parametrize(("left", "right"), REPLACED)
def test_a_row_replaced_moves_two_parts(inner, left, right):
    """From one part to another, or within one, which the counts do not see."""
    mechanism = rows(ROW, size=2) >> SPLIT >> dp.calculus.in_each(inner)
    assert check_privacy(mechanism, left, right, losses=[1, 2], tail=Fraction(1, 10**3)).kept


def test_paying_for_one_part_of_a_replaced_row_is_caught():
    """The look-alike that calls a replaced row one change in one part: its promise is broken by a row that changes parts."""
    space = Space(Keyed(dp.calculus.rows(ROW).domain, (0, 1)), PartitionDistance(dp.calculus.rows(ROW).metric))
    mechanism = space >> dp.calculus.in_each(NOISY)
    left, right = {0: [0, 0], 1: []}, {0: [0], 1: [1]}
    assert space.distance(left, right) == dp.calculus.Triple(Fraction(2), Fraction(2), Fraction(1))
    assert check_privacy(mechanism, left, right, d_in=(1, 1, 1), losses=[1, HALF], tail=TAIL).broken
    assert check_privacy(mechanism, left, right, d_in=(2, 2, 1), tail=TAIL).kept


def test_the_price_is_the_worst_spread():
    one, two = (DiscreteLaplace(scale=1, sensitivity=k) for k in (1, 2))
    for size, cost in ((None, one), (2, Parallel((two, Composed((one, one)))))):
        assert (rows(ROW, size=size) >> SPLIT >> dp.calculus.in_each(NOISY)).cost(d_in=1) == cost
    parts = Space(
        Keyed(dp.calculus.rows(ROW).domain, (0, 1)), PartitionDistance(dp.calculus.rows(ROW).metric)
    ) >> dp.calculus.in_each(NOISY)
    assert parts.cost(d_in=(0, 0, 0)) == FREE
    assert parts.cost(d_in=(1, 2, 2)) == two
    assert parts.cost(d_in=(2, 2, 1)) == Composed((one, one))
    assert parts.cost(d_in=(5, 5, 1)) == Composed((one, one))  # there are two parts
    assert parts.cost(d_in=(2, 99, 99)) == Composed((DiscreteLaplace(scale=1, sensitivity=99),) * 2)
    numbers = Space(Keyed(Lattice(), ("a", "b")), PartitionDistance(AbsoluteDistance())) >> dp.calculus.in_each(
        dp.calculus.laplace(scale=1)
    )
    assert numbers.cost(d_in=(2, 3, 2)) == Composed((two, two))


@pytest.mark.parametrize(("l0", "l1", "linf"), list(product((1, 2, 3), (1, 2, 3, 4), (1, 2, 4))))
def test_every_spread_of_changes_is_within_a_priced_one(l0, l1, linf):
    """Brute force: whole distances of three parts that keep to (l0, l1, linf) lie below one of the ways, part by part."""
    ways = [(*way, 0, 0, 0)[:3] for way in _ways(min(l1, l0 * linf), l0, linf)]
    for spread in combinations_with_replacement(range(linf, -1, -1), 3):
        if sum(map(bool, spread)) <= l0 and sum(spread) <= l1:
            assert any(all(far <= most for far, most in zip(spread, way, strict=True)) for way in ways)
    for way in ways:  # and none is dearer than it need be
        assert sum(map(bool, way)) <= l0
        assert sum(way) <= l1
        assert max(way) <= linf


def test_answers_come_for_every_public_key_in_public_order():
    mechanism = rows(ROW) >> SPLIT >> dp.calculus.in_each({1: NOISY, 0: FINER})
    assert list(mechanism([3, 1, 2], entropy=Silent()).items()) == [(0, 1), (1, 2)]
    assert mechanism.function({}, Silent()) == {0: 0, 1: 0}
    medians = rows(ROW) >> SPLIT >> dp.calculus.in_each(dp.calculus.private_median(lower=0, upper=3, grid=1, scale=1))
    assert set(medians([3, 1, 2])) == {0, 1}
    assert "each part" in medians.accuracy().measure
    counts = rows(ROW) >> SPLIT >> dp.calculus.in_each(NOISY)
    assert (
        counts.accuracy(confidence=0.9, simultaneous=True).error == (rows(ROW) >> NOISY).accuracy(confidence=0.95).error
    )
    with pytest.raises(InvalidArgument, match="how many pieces"):
        (dp.calculus.stream(rows(ROW)) >> dp.calculus.in_each(NOISY)).accuracy(simultaneous=True)


def test_what_is_not_a_mechanism_for_each_key_is_refused():
    parts = rows(ROW) >> SPLIT
    with pytest.raises(InvalidArgument, match=r"one mechanism for each of the keys \[0, 1\]"):
        parts >> dp.calculus.in_each({0: NOISY})
    with pytest.raises(InvalidArgument, match="its own mechanism"):
        parts >> dp.calculus.in_each({0: dp.calculus.count(), 1: dp.calculus.count()})
    with pytest.raises(InvalidArgument, match="got <built-in"):
        parts >> dp.calculus.in_each(len)
    with pytest.raises(SpaceMismatch, match="partition or a stream"):
        rows(ROW) >> dp.calculus.in_each(NOISY)
    with pytest.raises(SpaceMismatch, match="in each part"):
        parts >> dp.calculus.in_each(rows(integers()) >> NOISY)
    hidden = Space(Keyed(rows(ROW).domain, None), PartitionDistance(rows(ROW).metric))
    with pytest.raises(SpaceMismatch, match="which keys there are"):
        hidden >> dp.calculus.in_each(NOISY)


def test_several_mechanisms_in_each_part_and_a_built_one():
    built = rows(ROW) >> NOISY
    assert (rows(ROW) >> SPLIT >> dp.calculus.in_each(built)).cost(d_in=1) == built.cost(d_in=1)
    assert Counter(
        (rows(ROW, size=2, metric=ChangeOne()) >> SPLIT >> dp.calculus.in_each(built))([0, 1], entropy=Silent())
    ) == {
        0: 1,
        1: 1,
    }
    pure = (rows(ROW) >> SPLIT >> dp.calculus.in_each({0: NOISY, 1: FINER})).cost(d_in=1)
    assert isinstance(pure, Parallel)
    assert dp.epsilon(pure + Bounded(epsilon=1), delta=0).upper == 2
