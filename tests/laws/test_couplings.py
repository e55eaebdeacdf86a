"""Random transformations keep their promise: on every pair of small neighbours the two output laws can be coupled within the map.

Also: what teaching texts print instead (E4, E7, E8, E25) is shown to move further than they say.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest

from deniable import transformations as t
from deniable.core import (
    InsertDelete,
    Numbers,
    Rows,
    Space,
    SymmetricDistance,
    Texts,
    Triple,
    Vectors,
    frame,
    integers,
    rows,
)
from deniable.errors import SpaceMismatch
from deniable.testing.couplings import couples, keeps_coupling, law_of
from deniable.testing.neighbours import data_sets, neighbours, within

WHOLE = integers(lower=0, upper=9)
ONE, TWO = Fraction(1), Fraction(2)


def _distinct_rows(most):
    """Data sets of distinct rows, the hardest to couple, and each with one more: sizes 0 to `most`."""
    return [(list(range(1, n + 1)), list(range(1, n + 2))) for n in range(most)]


def test_a_coupling_is_found_exactly_when_there_is_one():
    half = Fraction(1, 2)
    fair, biased = {0: half, 1: half}, {0: Fraction(1, 3), 1: Fraction(2, 3)}
    assert couples(fair, fair, lambda a, b: a == b)
    assert not couples(fair, biased, lambda a, b: a == b)
    assert couples(fair, biased, lambda a, b: a <= b)
    assert not couples(biased, fair, lambda a, b: a <= b)
    third = Fraction(1, 3)
    ring = {0: third, 1: third, 2: third}  # a greedy match must be undone on the way
    assert couples(ring, ring, lambda a, b: (b - a) % 3 in (0, 1))
    assert couples(ring, ring, lambda a, b: (a, b) in {(0, 0), (0, 1), (1, 0), (2, 2), (1, 2)})
    assert not couples(ring, ring, lambda a, b: (a, b) in {(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)})


@pytest.mark.parametrize("size", [1, 2, 3])
def test_e04_resize_moves_one_row_for_one(size):
    """Errata E4: data of the right size comes back, and one added row becomes at most one replaced row (symmetric 2)."""
    built = rows(WHOLE) >> t.resize(size=size, constant=0)
    whole = list(range(1, size + 1))
    assert sorted(built(whole)) == whole
    for left, right in _distinct_rows(5):
        assert keeps_coupling(built, left, right, apart=ONE)
        assert keeps_coupling(built, right, left, apart=ONE)
        assert len(built(left)) == size
    assert built.map(d_in=1) == 1
    assert (built >> t.unbounded()).map(d_in=1) == 2


def test_e04_the_printed_resize_loses_data_of_the_right_size():
    """Errata E4, as printed: no value is returned when the size already matches, so what follows gets nothing at all."""

    def printed(data, size, constant):
        if len(data) < size:
            return data + [constant] * (size - len(data))
        if len(data) > size:
            return data[:size]
        return None

    ours = rows(WHOLE) >> t.resize(size=2, constant=0)
    assert printed([1, 2], 2, 0) is None
    assert sorted(ours([1, 2])) == [1, 2]
    # and where it does return, the first rows are kept: one row more at the front replaces every row that follows it
    assert set(printed([1, 2, 3, 4], 2, 0)) & set(printed([5, 6, 1, 2, 3, 4], 2, 0)) == set()


def test_resize_on_all_small_neighbours():
    space = rows(WHOLE)
    built = space >> t.resize(size=2, constant=0)
    small = [data for data in data_sets([0, 1], sizes=range(4)) if data == sorted(data)]
    for d_in in (ONE, TWO):
        for left, right in neighbours(space, small, d_in):
            assert keeps_coupling(built, left, right, apart=built.stability_map(d_in))
    replaced = rows(WHOLE, size=3) >> t.resize(size=2, constant=0)
    for left, right in neighbours(replaced.source, [data for data in small if len(data) == 3], ONE):
        assert keeps_coupling(replaced, left, right, apart=replaced.stability_map(ONE))


def test_resize_refuses_an_ordered_metric():
    """An ordered metric is refused: a random subset has no order, and the first rows of a multiset are not defined."""
    with pytest.raises(SpaceMismatch, match="no order"):
        Space(Rows(WHOLE), InsertDelete()) >> t.resize(size=2, constant=0)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_e07_independent_parts_move_one_row_in_one_part(parts):
    """Errata E7: each row to its own uniform part keeps (d, d, d)."""
    built = rows(WHOLE) >> t.partition_randomly(parts=parts)
    for left, right in _distinct_rows(4):
        assert keeps_coupling(built, left, right, apart=Triple(ONE, ONE, ONE))
    assert built.map(d_in=2) == Triple(TWO, TWO, TWO)
    replaced = rows(WHOLE, size=3) >> t.partition_randomly(parts=parts)
    assert keeps_coupling(replaced, [1, 2, 3], [1, 2, 4], apart=replaced.stability_map(ONE))


def test_e07_shuffle_and_split_moves_rows_between_parts():
    """Errata E7: shuffling and cutting into equal parts reaches (2, 3, 2), although (1, 1, 1) is claimed."""
    built = rows(WHOLE) >> t.partition_randomly(parts=2)
    metric, domain = built.target.metric, built.target.domain

    def printed(data):
        orders = list(permutations(data))
        cut = -(-len(data) // 2)
        law = Counter((tuple(sorted(order[:cut])), tuple(sorted(order[cut:]))) for order in orders)
        return {outcome: Fraction(n, len(orders)) for outcome, n in law.items()}

    def coupled(left, right, limit):
        def close(a, b):
            return within(metric.distance(dict(enumerate(a)), dict(enumerate(b)), domain), limit)

        return couples(printed(left), printed(right), close)

    far = Triple(Fraction(2), Fraction(3), Fraction(2))
    assert all(coupled(left, right, far) for left, right in _distinct_rows(5))
    for tighter in (Triple(ONE, Fraction(3), TWO), Triple(TWO, TWO, TWO), Triple(TWO, Fraction(3), ONE)):
        assert not all(coupled(left, right, tighter) for left, right in _distinct_rows(5))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_e08_pairs_move_by_two(size):
    """Errata E8: shuffle, pair, drop the random left-over: 1 when the old size is odd, 2 when it is even."""
    built = rows(WHOLE) >> t.pair_randomly()
    left, right = list(range(1, size + 1)), list(range(1, size + 2))
    assert built.map(d_in=1) == 2
    exact = ONE if size % 2 else TWO if size else Fraction(0)
    assert keeps_coupling(built, left, right, apart=exact)
    if exact:
        assert not keeps_coupling(built, left, right, apart=exact - 1)


def test_e08_cutting_before_the_shuffle_moves_three():
    """Errata E8: truncating to an even size first moves the pairs by 3 when the old size is odd, not by the claimed 1."""
    domain = Rows(Vectors(WHOLE, 2))

    def printed(data):
        even = data[: len(data) // 2 * 2]
        orders = list(permutations(even))
        law = Counter(tuple(sorted(order[i : i + 2] for i in range(0, len(order), 2))) for order in orders)
        return {outcome: Fraction(n, len(orders)) for outcome, n in law.items()}

    def coupled(limit):
        def close(a, b):
            return SymmetricDistance().distance(a, b, domain) <= limit

        return couples(printed([1, 2, 3]), printed([1, 2, 3, 4]), close)

    assert not coupled(2)
    assert coupled(3)


def test_pairs_of_replaced_rows_and_several_matchings():
    replaced = rows(WHOLE, size=3) >> t.pair_randomly()
    assert keeps_coupling(replaced, [1, 2, 3], [1, 2, 4], apart=replaced.stability_map(ONE))
    assert replaced.target.domain.size == 1
    twice = rows(WHOLE) >> t.pair_randomly(matchings=2)
    assert twice.map(d_in=1) == 4
    assert keeps_coupling(twice, [1, 2], [1, 2, 3], apart=Fraction(4))
    assert not keeps_coupling(twice, [1, 2], [1, 2, 3], apart=Fraction(3))
    assert len(twice([1, 2, 3, 4, 5])) == 4


def test_theil_sen_slopes_have_a_declared_value_where_dx_is_zero():
    points = rows(Vectors(Numbers(), 2))

    def slope(pair):
        (x, y), (u, v) = pair
        return (v - y) / (u - x)

    built = points >> t.pair_randomly() >> t.map_rows(slope, to=Numbers(missing=False), default=0.0, author="test")
    assert built([[1.0, 1.0], [1.0, 5.0]]) == [0.0]
    assert built([[0.0, 1.0], [2.0, 5.0]]) == [2.0]
    assert built.map(d_in=3) == 6


def _people(**rows_of):
    names = [name for name, values in rows_of.items() for _ in values]
    return {"who": names, "x": [value for values in rows_of.values() for value in values]}


PEOPLE = frame({"who": Texts(), "x": WHOLE}, identifier="who")


@pytest.mark.parametrize("most", [1, 2])
def test_e25_truncation_keeps_light_users_whole_and_couples(most):
    """Errata E25: a person added or removed moves at most `rows` rows, one whose rows changed twice as many; both are reached."""
    built = PEOPLE >> t.truncate_rows(rows=most)
    cases = [
        (_people(a=[1, 2]), _people(a=[1, 2], b=[3, 4, 5])),
        (_people(a=[1, 2, 3]), _people()),
        (_people(a=[1, 2, 3], c=[1]), _people(a=[4, 5, 6], c=[1])),
        (_people(a=[1, 2, 3]), _people(a=[1, 2])),
    ]
    for left, right in cases:
        d_in = PEOPLE.distance(left, right)
        assert keeps_coupling(built, left, right, apart=built.stability_map(d_in))
    reached = built.stability_map(TWO)
    assert not keeps_coupling(built, *cases[2], apart=reached - 1)
    assert not keeps_coupling(built, *cases[1], apart=built.stability_map(ONE) - 1)
    light = _people(a=[7], b=[8])
    assert built(light) == light


def test_e25_sampling_with_replacement_inflates_light_users():
    """Errata E25: as printed, a person with one row is given as many as a heavy one."""
    most, light, heavy = 3, [7], [1, 2, 3, 4]
    printed = [set(map(len, product(own, repeat=most))) for own in (light, heavy)]  # every sample(3, replace=True)
    assert printed == [{3}, {3}]
    built = PEOPLE >> t.truncate_rows(rows=most)
    assert [len(built(_people(a=own))["x"]) for own in (light, heavy)] == [1, 3]


def test_a_cap_keeps_k_rows_not_one_fewer():
    for most in (1, 2, 3):
        built = PEOPLE >> t.truncate_rows(rows=most)
        law, outs = law_of(lambda e, b=built: b.function(_people(a=[1, 2, 3, 4]), e))
        assert {len(out["x"]) for out in outs.values()} == {most}
        chosen = Counter()
        for name, chance in law.items():
            for value in outs[name]["x"]:
                chosen[value] += chance
        assert set(chosen.values()) == {Fraction(most, 4)}


def test_rows_without_an_owner_are_bounded_together():
    built = frame({"who": Numbers(), "x": WHOLE}, identifier="who") >> t.truncate_rows(rows=2)
    nan = float("nan")
    assert len(built({"who": [nan, None, float("nan"), nan], "x": [1, 2, 3, 4]})["x"]) == 2
