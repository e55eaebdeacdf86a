"""Neighbours made from a space: edges are among them, all are neighbours, faults are found there and ours are not accused."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import deniable as dp
from deniable.audit.auditor import audit_exactly
from deniable.audit.claims import curve_of
from deniable.audit.neighbour_search import within
from deniable.audit.sound import SCALES, sound
from deniable.audit.subject import subject_of
from deniable.core import Lattice, Numbers, Rows, Space, SymmetricDistance, own_mechanism
from deniable.core.distance import distance
from deniable.core.metric import AbsoluteDistance
from deniable.cost import Bounded
from deniable.errors import InvalidArgument
from deniable.testing import Seeded

BOUNDED = Space(Rows(Numbers(lower=Fraction(0), upper=Fraction(9))), SymmetricDistance())


def test_edges_are_among_them():
    pairs = dp.audit.small_neighbours(BOUNDED, most=1000)
    shown = {repr(row) for pair in pairs for side in pair for row in side}
    assert {"0.0", "9.0", "nan", "None"} <= shown
    sizes = {tuple(map(len, pair)) for pair in pairs}
    assert {(0, 1), (1, 2), (2, 3)} <= sizes
    assert any(len(right) == 3 and len({repr(row) for row in right}) == 1 for _, right in pairs), "duplicates"


@pytest.mark.parametrize("case", sound(Fraction(1)), ids=lambda case: case.name)
def test_every_pair_is_one_of_neighbours(case):
    space, limit = case.mechanism.source, distance(case.d_in)
    pairs = dp.audit.small_neighbours(space, d_in=case.d_in)
    assert 1 <= len(pairs) <= 12
    for left, right in pairs:
        assert left in space.domain
        assert right in space.domain
        assert within(space.metric.distance(left, right, space.domain), limit)


def test_a_space_without_known_edges_says_so():
    with pytest.raises(InvalidArgument, match="give neighbours"):
        dp.audit.small_neighbours(Space(Lattice(lower=3, upper=3), AbsoluteDistance()))
    with pytest.raises(InvalidArgument, match="pair"):
        dp.audit.check(lambda data, entropy: 0, claim=Bounded(epsilon=1))


def careless(function):
    """A mechanism whose author says that it is worth epsilon = 1."""
    return own_mechanism(BOUNDED, function=function, privacy_map=lambda _: Bounded(epsilon=1), author="a test")


def through_the_clip(data, entropy):
    clipped = [0 if row < 0 else 1 if row > 1 else row for row in (0.0 if row is None else row for row in data)]
    return sum(clipped) + dp.noise.discrete_laplace(1, entropy)


def fails_on_nobody(data, entropy):
    return dp.noise.discrete_laplace(1, entropy) / len(data)


def true_size(data, entropy):
    return [len(data) + dp.noise.discrete_laplace(1, entropy), len(data) > 1]


@pytest.mark.parametrize("fault", [through_the_clip, fails_on_nobody, true_size])
def test_a_fault_at_an_edge_is_found_without_being_told_where(fault):
    assert dp.audit.check(careless(fault), samples=2_000, entropy=Seeded(1)).broken


def test_an_honest_one_is_not_accused_there():
    def honest(data, entropy):
        return len(data) + dp.noise.discrete_laplace(1, entropy)

    verdict = dp.audit.check(careless(honest))
    assert (verdict.method, verdict.broken) == ("exact", False)
    assert verdict.epsilon_at_least == pytest.approx(1, abs=1e-4)


ROWS = [
    (scale, case)
    for scale in SCALES
    for case in sound(scale)
    if isinstance(case.mechanism.source.domain, Rows) and case.mechanism.source.domain.size is None and case.enumerable
]


@pytest.mark.parametrize(("scale", "case"), ROWS, ids=[f"{case.name}-{scale}" for scale, case in ROWS])
def test_nobody_and_one_row_of_every_kind(scale, case):
    """n = 0 beside n = 1, about epsilon = .01, 1 and 10: an ordinary row and one that is missing, NaN or infinite."""
    pairs = [pair for pair in dp.audit.small_neighbours(case.mechanism.source, most=1000) if len(pair[0]) == 0]
    assert all(len(right) == 1 for _, right in pairs)
    odd = [pair for pair in pairs if isinstance(pair[1][0], float) and not math.isfinite(pair[1][0])]
    chosen = [*odd[:1], pairs[-1]]
    verdict = audit_exactly(subject_of(case), chosen, [curve_of(case.claim)], most=1_000)
    assert verdict is None or not verdict.broken
