"""Values, refusals and defects known from elsewhere: each transformation does what its docstring says."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from deniable import mechanisms, transformations
from deniable import transformations as t
from deniable.core import (
    L2,
    AbsoluteDistance,
    Ball,
    Categories,
    Hamming,
    IdentifierDistance,
    InsertDelete,
    Keyed,
    Lattice,
    Linear,
    Numbers,
    PartitionDistance,
    Root,
    Rows,
    Space,
    SymmetricDistance,
    Texts,
    Transformation,
    Triple,
    Vectors,
    frame,
    integers,
    numbers,
    own_transformation,
    plain,
    rows,
    step,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.testing import Silent

NAN = float("nan")
ONE = Fraction(1)


def test_every_name_has_one_meaning():
    assert not set(transformations.__all__) & set(mechanisms.__all__)


# Bins ----------------------------------------------------------------------------------------------------------------------


def test_edges_are_exact():
    """0.1 + 0.2 lies above three tenths as a double, and on a grid edges are compared in whole steps."""
    built = rows(numbers()) >> t.bins(edges=[0, 0.3, 1])
    assert built.steps([0.3, 0.1 + 0.2, 0.29999999999999993, NAN, 5.0, -5.0]).tolist() == [0, 1, 0, 0, 1, 0]
    tenths = rows(numbers()) >> t.clamp(lower=0, upper=1, grid=0.1) >> t.bins(edges=[0, 0.3, 0.7, 1])
    assert tenths([0.2, 0.3, 0.6, 0.7]).tolist() == [0, 1, 1, 2]


def test_bins_and_casts_say_whether_values_may_be_missing():
    """Nullability follows the operation: after a cast anything may be missing, after bins nothing is."""
    full = rows(Numbers(missing=False))
    assert (full >> t.cast(to=integers())).target.domain.element.missing
    assert (full >> t.cast(to=Numbers(missing=False))).target.domain.element.missing
    assert not (rows(numbers()) >> t.bins(edges=[0, 1])).target.domain.element.missing
    with pytest.raises(SpaceMismatch, match="clamp first"):
        full >> t.cast(to=integers(lower=0, upper=9)) >> t.total()
    assert (full >> t.cast(to=integers(lower=0, upper=9)) >> t.fill(value=0) >> t.total())([1.0, 2.5, 99.0, 4]) == 5


def test_cumulative_counts_are_at_or_below():
    built = rows(numbers()) >> t.cumulative_counts(edges=[0, 0.5, 1])
    assert built.steps([0.0, 0.5, 0.7, 1.0, 2.0, NAN]).tolist() == [2, 3, 5]


# Counts --------------------------------------------------------------------------------------------------------------------


def test_histogram_keys_come_from_the_domain_never_from_data():
    built = rows(Categories(("b", "a"))) >> t.histogram()
    assert built.steps(["a", "zzz", "a", None]) == {"b": 0, "a": 2}
    with pytest.raises(SpaceMismatch, match="never keys from the data"):
        rows(Texts()) >> t.histogram()
    with pytest.raises(SpaceMismatch, match="bin first"):
        rows(integers(lower=0, upper=2**30)) >> t.histogram()


def test_counts_agree_with_counting():
    data = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5])
    space = rows(integers(lower=0, upper=9))
    expected = {key: Counter(data.tolist())[key] for key in range(10)}
    assert (space >> t.histogram())(data) == expected
    assert (space >> t.category_counts())(data).tolist() == list(expected.values())
    assert (space >> t.count_distinct())(data) == 7
    tree = (space >> t.tree_counts(branching=3))(data)
    assert tree[0] == len(data)
    assert tree[1:4].sum() == len(data)
    assert tree[-27:-17].tolist() == list(expected.values())
    half = rows(Lattice(Fraction(1, 2), 0, 2)) >> t.histogram()
    assert half([0, 1, 1]) == {0.0: 1, 0.5: 2, 1.0: 0}


def test_a_gaussian_on_counts_pays_the_l2_norm():
    """One replaced row moves two counts by one: L2 is root two, not two."""
    space = rows(integers(lower=0, upper=3), size=5)
    for built in (space >> t.category_counts(), space >> t.bin_counts(edges=[0, 1, 2])):
        assert built.map(d_in=1).root == Root(Fraction(2))
    assert (rows(integers(lower=0, upper=3)) >> t.tree_counts()).map(d_in=1).root == Root(Fraction(3))


# Sums ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("widest", [10, 2**20, 2**31, 2**52])
def test_squares_and_variances_are_exact_at_any_width(widest):
    """The sum of squared deviations has no rounding: it equals arithmetic on fractions."""
    values = [-widest, widest, 3, -7, widest - 1]
    space = rows(integers(lower=-widest, upper=widest), size=len(values))
    assert (space >> t.sum_of_squares())(values) == sum(value**2 for value in values)
    mean = Fraction(sum(values), len(values))
    exact = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    built = space >> t.variance()
    assert built.steps(values) * built.target.domain.step == exact


def test_bounds_too_wide_for_exact_sums_are_refused():
    with pytest.raises(SpaceMismatch, match=r"2\*\*52"):
        rows(integers(lower=0, upper=2**60)) >> t.total()


def test_declared_bounds_are_made_true():
    """Data outside the declared bounds is moved to them, so that the map holds for every input."""
    built = rows(integers(lower=0, upper=10)) >> t.total()
    assert built.steps([5, 10**9]) == 15
    assert built.steps(np.array([5, 10**9, -4])) == 15


def test_nan_through_clamp_becomes_the_lower_bound():
    built = rows(numbers()) >> t.clamp(lower=2, upper=9, grid=1)
    assert built.steps([NAN, None, "x", float("inf"), float("-inf"), 4.4]).tolist() == [2, 2, 2, 9, 2, 4]
    with pytest.raises(InvalidArgument, match="beyond what a double can hold"):
        rows(numbers()) >> t.clamp(lower=0, upper=Fraction(1, 10**400))


def test_moments_give_mean_and_variance():
    data = [10.0, 20.0, 40.0, 70.0]
    built = rows(numbers()) >> t.clamp(lower=0, upper=100) >> t.moments()
    step_size = built.target.domain.element.step
    answer = [int(entry) * float(step_size) for entry in built.steps(data)]
    read = t.moments_of(answer, lower=0, upper=100)
    assert read.count == 4
    assert read.mean == pytest.approx(35)
    assert read.variance == pytest.approx(np.var(data, ddof=1), rel=1e-5)
    assert built.map(d_in=1) == Triple(Fraction(3), Fraction(3), ONE)
    nonsense = t.moments_of([-3.0, 50.0, -50.0], lower=0, upper=100)
    assert (nonsense.mean, nonsense.variance) == (100, 0)


# Vectors -------------------------------------------------------------------------------------------------------------------


def test_a_norm_bound_around_another_origin_is_not_mistaken_for_one_around_zero():
    element = Vectors(Lattice(ONE, 0, 9), 2, Ball(ONE, 2, origin=Fraction(8)))
    built = rows(element) >> t.vector_total()
    assert built.target.metric == L2()
    assert 1 + 8 * 2**0.5 <= float(built.map(d_in=1).square) ** 0.5 < 12.5
    assert (rows(element) >> t.gram()).map(d_in=1) == 81


@pytest.mark.parametrize("largest", [9, 2**16, 2**23, 2**40])
def test_gram_is_exact_at_any_width(largest):
    table = [[largest, -largest, 1], [-largest, 5, 2], [7, largest - 1, -3]] * 200
    built = rows(Vectors(Lattice(ONE, -largest, largest), 3)) >> t.gram()
    expected = [sum(row[i] * row[j] for row in table) for i in range(3) for j in range(i, 3)]
    assert built.steps(np.array(table)).tolist() == expected


@pytest.mark.parametrize("grid", [1, Fraction(1, 2**20), Fraction(1, 2**40)])
def test_norms_are_inside_the_ball_after_rounding(grid):
    built = rows(Vectors(Numbers(), 3)) >> t.clamp_entries(lower=-9, upper=9, grid=grid) >> t.clamp_norm(radius=3)
    out = built.steps([[9.0, -9.0, 3.3], [1.0, 2.0, 2.0], [NAN, 9.0, 0.1], [3.0, 0.0, 0.0]])
    squares = [sum(entry**2 for entry in row) * grid**2 for row in out.tolist()]
    assert all(square <= 9 for square in squares)
    assert out[3].tolist() == [3 / grid, 0, 0]
    assert all(tuple(row) in built.target.domain.element for row in out.tolist())


# Partitions and frames -----------------------------------------------------------------------------------------------------


@step
def _rooted(space):
    """A map that is linear at 1, 2 and 3 only."""
    return own_transformation(
        space,
        Space(Lattice(), AbsoluteDistance()),
        function=len,
        stability_map=lambda d: plain(d) if plain(d) <= 3 else 10 * plain(d),
        author="test",
    )


def test_in_each_trusts_only_maps_known_to_be_linear():
    parts = rows(integers(lower=0, upper=9)) >> t.partition_by(lambda x: x % 2, keys=[0, 1], author="test")
    sums = parts >> t.in_each(t.clamp(lower=0, upper=5) >> t.total())
    assert sums([1, 2, 3, 9]) == {0: 2, 1: 9}
    assert sums.map(d_in=4) == Triple(Fraction(4), Fraction(20), Fraction(20))
    odd = parts.target >> t.in_each(_rooted())
    assert odd.map(d_in=(2, 5, 4)) == Triple(
        Fraction(2), Fraction(41), Fraction(40)
    )  # four rows in one part, one in the other
    assert odd.claims == ("test: len",)
    with pytest.raises(SpaceMismatch, match="plain distance"):
        parts >> t.in_each(t.histogram())


def test_in_each_refuses_a_map_that_is_not_zero_at_zero():
    moving = Transformation(
        rows(integers()), Space(Lattice(), AbsoluteDistance()), lambda d, _: len(d), lambda d: plain(d) + 1
    )

    @step
    def shaken(space):
        return moving

    parts = Space(Keyed(Rows(integers()), ("a",)), PartitionDistance(SymmetricDistance()))
    with pytest.raises(SpaceMismatch, match="zero at zero"):
        parts >> t.in_each(shaken())


def test_chained_linear_maps_stay_linear():
    chain = rows(numbers()) >> t.clamp(lower=0, upper=4) >> t.total()
    assert chain.stability_map == Linear(Fraction(4))


def test_counts_compared_in_total_feed_a_noisy_tree():
    counts = rows(integers(lower=0, upper=7), size=3) >> t.category_counts() >> t.in_total()
    assert counts.map(d_in=2) == 4
    tree = counts >> mechanisms.noisy_tree(scale=2, branching=2)
    assert tree([1, 2, 3], entropy=Silent()).between(0, 8) == pytest.approx(3)
    with pytest.raises(SpaceMismatch, match="partition distance"):
        counts >> t.in_total()


def test_union_of_named_data_sets():
    space = Space(Keyed(Rows(integers()), ("a", "b")), PartitionDistance(SymmetricDistance()))
    built = space >> t.union()
    assert sorted(built.steps({"a": [1, 2], "b": [3]})) == [1, 2, 3]
    assert built.map(d_in=(2, 3, 2)) == 3


PEOPLE = frame({"who": Texts(), "town": Texts(), "x": integers(lower=0, upper=9)}, identifier="who")
DATA = {"who": ["a", "a", "b"], "town": ["s", "t", "s"], "x": [1, 2, 3]}


def test_a_frame_by_people_towns_and_one_column():
    bounded = PEOPLE >> t.truncate_rows(rows=2)
    summed = bounded >> t.group_by("town", keys=["s", "t", "u"]) >> t.in_each(t.column("x") >> t.total())
    assert summed(DATA) == {"s": 4, "t": 2, "u": 0}
    assert summed.map(d_in=1) == Triple(Fraction(2), Fraction(18), Fraction(18))
    with pytest.raises(SpaceMismatch, match="truncate_rows"):
        PEOPLE >> t.column("x")
    with pytest.raises(InvalidArgument, match="not a column"):
        bounded >> t.column("y")


def test_a_public_join_adds_columns_and_never_touches_private_ones():
    region = {"s": {"region": "north"}, None: {"region": "nowhere"}}
    built = PEOPLE >> t.join_public(region, on="town", columns={"region": Texts()})
    assert built.target.metric == IdentifierDistance("who")
    joined = built.steps({**DATA, "town": ["s", NAN, "t"]})
    assert (joined["who"], joined["region"]) == (["a", "a"], ["north", "nowhere"])
    with pytest.raises(InvalidArgument, match="private columns"):
        PEOPLE >> t.join_public({"s": {"who": "z"}}, on="town", columns={"who": Texts()})
    with pytest.raises(InvalidArgument, match="no 'region'"):
        PEOPLE >> t.join_public({"s": {}}, on="town", columns={"region": Texts()})


@pytest.mark.parametrize("metric", [InsertDelete(), Hamming()])
def test_what_forgets_the_order_refuses_an_ordered_metric(metric):
    size = 3 if isinstance(metric, Hamming) else None
    space = Space(Rows(integers(lower=0, upper=9), size), metric)
    forgetful = [
        t.resize(size=2, constant=0),
        t.partition_randomly(parts=2),
        t.partition_by(lambda x: x, keys=[0], author="test"),
        t.pair_randomly(),
    ]
    for each in forgetful:
        with pytest.raises(SpaceMismatch, match="order"):
            space >> each
        space >> t.unordered() >> each


def test_pairs_of_an_odd_number_leave_one_row_over():
    built = rows(integers()) >> t.pair_randomly()
    assert [len(built.steps(list(range(n)))) for n in range(6)] == [0, 0, 1, 1, 2, 2]
    used = [row for pair in built.steps([1, 2, 3, 4, 5]) for row in pair]
    assert len(set(used)) == 4
    assert built.steps(np.array([1, 2, 3])).shape == (1, 2)


def test_a_quantile_with_a_very_long_fraction_is_refused():
    with pytest.raises(InvalidArgument, match="round it"):
        rows(integers()) >> t.quantile_scores(q=0.123456789, candidates=[1, 2])
