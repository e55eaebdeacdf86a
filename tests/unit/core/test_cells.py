"""Cells of any kind are read by themselves alone: equal cells alike, odd cells without an error."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import deniable as dp
from deniable.core.cells import OpaqueCell, countable, items, key, number, parts, public_order, table, whole
from deniable.mechanisms.grid import values_of


class Unfriendly:
    def __hash__(self):
        raise RuntimeError


class Incomparable:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise RuntimeError

    def __ne__(self, other):
        return False


def test_numbers_that_are_equal_are_one_key():
    for alike in (
        [1, 1.0, Fraction(1), Decimal("1.00"), np.int8(1), np.float64(1), True],
        [0.5, Fraction(1, 2), Decimal("0.5")],
    ):
        assert len({(type(key(cell)), key(cell)) for cell in alike}) == 1
    assert key(Decimal("0.1")) == Fraction(1, 10) != key(0.1)
    assert key(10**400) == 10**400
    assert key(math.inf) == math.inf


def test_what_can_be_no_key_is_none():
    assert [
        key(cell) for cell in (None, math.nan, [1], {1}, frozenset({1}), {}, Unfriendly(), object(), (1, None))
    ] == [None] * 9
    assert key(("a", 1.0)) == ("a", 1)


def test_unfriendly_objects_are_counted_by_themselves():
    one, other = Unfriendly(), Unfriendly()
    assert len({countable(one), countable(one), countable(other)}) == 2
    assert isinstance(countable(one), OpaqueCell)
    assert len({countable(Incomparable()), countable(Incomparable())}) == 2
    assert countable({1, 2}) == countable({2, 1}) != countable([1, 2])


def test_scalars_are_read_or_left_alone():
    assert (whole(3.0), whole("3"), whole(3.5), whole([3]), whole(Decimal(3))) == (3, None, None, None, 3)
    assert math.isnan(number("3"))
    assert (number(10**400), number(-(10**400)), number(Decimal("1.5"))) == (math.inf, -math.inf, 1.5)


def test_a_text_is_one_item_and_no_vector():
    assert (items("cat"), items(None), items(5), items(["a", "b"])) == (["cat"], [], [5], ["a", "b"])
    assert (parts("cat"), parts(5), parts((1, 2))) == ([], [], [1, 2])


def test_columns_of_unequal_length_are_filled():
    assert table({"u": [1, 2], "v": [1]}, ["u", "v", "w"]) == {"u": [1, 2], "v": [1, None], "w": [None, None]}


def test_how_a_number_is_read_does_not_depend_on_its_neighbours():
    """2**53 + 1 is no double: beside a fraction or alone, it must become the same one."""
    large = 2**53 + 1
    alone = values_of([large], dp.calculus.numbers())
    for beside in ([large, 0.5], [large, None], [large, "x"], [large, [1]], np.array([large, 0.5], dtype=object)):
        assert values_of(beside, dp.calculus.numbers())[0] == alone[0] == 2.0**53


def test_the_order_of_keys_does_not_depend_on_the_order_they_come_in():
    sets = [frozenset({1}), frozenset({2}), frozenset({1, 2}), frozenset({3})]
    for keys in (sets, [1, "a", 2.5], [(1, "a"), (1, 2)], ["b", "a", "c"]):
        assert len({tuple(map(repr, public_order(order))) for order in permutations(keys)}) == 1


@pytest.mark.parametrize("row", [["cat"] * 80, [["cat"]] * 80, [("cat", None, math.nan, ["odd"])] * 80])
def test_a_basket_that_is_a_text_is_one_item(row):
    found = (dp.calculus.rows(dp.calculus.Anything()) >> dp.calculus.set_union(items=2, scale=1, delta=0.001))(row)
    assert found == ["cat"]


@pytest.mark.parametrize("data", [5, "rows", {"a": [1]}, None, iter([1])])
def test_what_is_no_list_of_rows_is_refused_when_it_is_opened(data):
    with pytest.raises(dp.errors.InvalidArgument, match="no list or array"):
        dp.calculus.compositor(data, dp.calculus.rows(dp.calculus.numbers()), budget=dp.budget(epsilon=1))
