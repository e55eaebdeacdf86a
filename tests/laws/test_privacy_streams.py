"""Streams: how far a stream maps another apart, how far finished blocks lie apart, and what runs say, by exact laws."""

from fractions import Fraction
from functools import cache
from itertools import product

import pytest

import deniable as dp
from deniable.audit.comparison import compare, hockey_stick
from deniable.audit.exact_law import output_law
from deniable.core import AbsoluteDistance, Lattice, PerPiece, Space, Triple, integers, rows, stream
from deniable.cost import Bounded, DiscreteLaplace
from deniable.errors import Retired
from deniable.mechanisms.continual import blocks_apart
from deniable.testing.neighbours import within
from deniable.testing.scripted_entropy import Silent

NUMBERS = stream(Space(Lattice(), AbsoluteDistance()))
DAILY = stream(Space(Lattice(), AbsoluteDistance()), metric=PerPiece(AbsoluteDistance()))
BITS = rows(integers(lower=0, upper=1))
HALF = Fraction(1, 2)


# A stream maps to a stream


@pytest.mark.parametrize("every", [False, True], ids=["all pieces together", "each piece"])
@pytest.mark.parametrize(
    "inner",
    [
        dp.calculus.count(),
        dp.calculus.count_distinct(),
        dp.calculus.clamp(lower=0, upper=1) >> dp.calculus.total(),
        dp.calculus.filter_rows(bool, author="a test"),
    ],
    ids=["count", "distinct", "total", "filter"],
)
def test_a_stream_maps_to_a_stream_no_further_than_it_says(inner, every):
    """All pairs of streams of two pieces of up to two rows; in each of two metrics the bound is also reached."""
    source = stream(BITS, metric=PerPiece(BITS.metric)) if every else stream(BITS)
    built = source >> dp.calculus.in_each(inner)
    pieces = [[], [0], [1], [0, 1], [1, 1]]
    tight = False
    for left, right in product(product(pieces, repeat=2), repeat=2):
        apart = source.distance(left, right)
        moved = built.target.distance(built(list(left)), built(list(right)))
        limit = built.map(d_in=apart)
        assert within(moved, limit)
        tight |= moved == limit != built.map(d_in=source.distance(left, left))
    assert tight


def test_plain_rows_in_a_stream_are_rows_in_all_pieces_together():
    counted = stream(BITS) >> dp.calculus.in_each(dp.calculus.count())
    assert counted.map(d_in=2) == Triple(Fraction(2), Fraction(2), Fraction(2))


def test_pieces_to_come_are_mapped_as_they_arrive():
    totals = (
        stream(BITS)
        >> dp.calculus.in_each(dp.calculus.clamp(lower=0, upper=1) >> dp.calculus.total())
        >> dp.calculus.running_total(horizon=4, scale=1)
    )
    run = totals([], entropy=Silent())
    assert [run.feed(piece) for piece in ([1, 1], [0, 7], [])] == [2, 3, 3]
    assert totals.cost(d_in=1) == DiscreteLaplace(scale=1, sensitivity=3, coordinates=3)


# Finished blocks


def _blocks(numbers):
    """By definition: piece t ends the block of the 2**k pieces up to it, 2**k being the largest power that divides t."""
    return [sum(numbers[t - (t & -t) : t]) for t in range(1, len(numbers) + 1)]


@pytest.mark.parametrize(("horizon", "largest"), [(1, 3), (2, 3), (3, 2), (4, 2), (5, 1), (7, 1), (8, 1)])
def test_no_change_of_a_stream_moves_its_blocks_further_than_they_are_priced(horizon, largest):
    """Every change of the pieces, against all four norms; for one change of one piece each norm is reached."""
    priced, reached = cache(lambda apart: blocks_apart(apart, Fraction(1), horizon)), set()
    for change in product(range(-largest, largest + 1), repeat=horizon):
        sizes = [Fraction(abs(each)) for each in change if each]
        apart = Triple(Fraction(len(sizes)), sum(sizes, Fraction(0)), max(sizes, default=Fraction(0)))
        moved = [abs(each) for each in _blocks(change)]
        seen = (sum(map(bool, moved)), sum(moved), sum(each * each for each in moved), max(moved))
        known = priced(apart)
        limit = (known.l0, known.l1, known.l2_squared, known.linf)
        assert all(found <= most for found, most in zip(seen, limit, strict=True)), (change, seen, limit)
        if apart == Triple(Fraction(1), Fraction(1), Fraction(1)):
            reached |= {place for place in range(4) if seen[place] == limit[place]}
    assert reached == {0, 1, 2, 3}


def test_the_blocks_of_the_definition_are_the_ones_that_get_noise():
    run, numbers, noisy, draws = (
        (NUMBERS >> dp.calculus.running_total(horizon=8, scale=1))([], entropy=Silent()),
        [],
        [],
        [],
    )
    run._noise = lambda entropy: draws.append(1) or 0
    for number in (3, 1, 4, 1, 5, 9, 2, 6):
        numbers.append(number)
        run.feed(number)
        seen = run._state.seen
        noisy.append(run._state.noisy[(seen & -seen).bit_length() - 1])
    assert noisy == _blocks(numbers)
    assert len(draws) == 8  # one for each


# What runs say


def _law(mechanism, pieces, *, ask=lambda run: None, tail=Fraction(1, 10**4)):
    def said(entropy):
        run, seen = mechanism([], entropy=entropy), []
        for piece in pieces:
            try:
                seen.append(run.feed(piece))
            except Retired:
                seen.append("retired")
        return (*seen, ask(run))

    return output_law(said, tail=tail)


@pytest.mark.parametrize(
    ("left", "right", "d_in"), [([0, 0], [1, 0], (1, 1, 1)), ([0, 2], [1, 1], (2, 2, 1)), ([0, 0], [2, 0], (1, 2, 2))]
)
def test_an_answer_for_every_piece(left, right, d_in):
    noisy = NUMBERS >> dp.calculus.in_each(dp.calculus.laplace(scale=1))
    cost = noisy.cost(d_in=d_in)
    assert compare(_law(noisy, left), _law(noisy, right), cost).kept
    assert hockey_stick(_law(noisy, left), _law(noisy, right), Fraction(d_in[1]) * Fraction(9, 10)).lower > 0


@pytest.mark.parametrize("monotonic", [False, True])
def test_the_largest_piece_of_a_stream(monotonic):
    """All pairs of streams of three numbers that move by at most one, or one way; ties are everywhere."""
    mechanism = DAILY >> dp.calculus.stream_maximum(scale=1, monotonic=monotonic)
    cost = mechanism.cost(d_in=1)
    assert cost == Bounded(epsilon=1 if monotonic else 2)
    laws = {
        numbers: _law(mechanism, numbers, ask=lambda run: run.finish(), tail=Fraction(1, 10**3))
        for numbers in (*product((0, 1), repeat=3), (2, 1, 1), (1, 2, 2))
    }
    for left, right in product(laws, repeat=2):
        changes = [b - a for a, b in zip(left, right, strict=True)]
        if max(map(abs, changes)) <= 1 and (not monotonic or min(changes) >= 0):
            assert compare(laws[left], laws[right], cost).kept
    apart = compare(laws[2, 1, 1], laws[1, 2, 2], Bounded(epsilon=HALF))
    assert apart.broken  # less would not have been enough


def test_the_end_of_a_run_is_an_answer():
    """When a run retires depends on the data; it is a function of its alerts, and the law above it is no further apart."""
    watched = DAILY >> dp.calculus.alerts(threshold=2, scale=HALF, query_scale=HALF, monotonic=True)
    cost = watched.cost(d_in=1)
    for left, right in (([0, 0, 0], [1, 1, 1]), ([1, 0, 2], [2, 0, 2])):
        assert compare(_law(watched, left), _law(watched, right), cost).kept
