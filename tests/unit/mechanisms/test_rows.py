"""Mechanisms on rows: quantiles with their window, bounds, counts, trees, hierarchies, set union and moments."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.core.domain import Anything, Booleans, Categories, Keyed, Lattice, Numbers, Rows, Texts, Vectors
from deniable.core.metric import L1, AbsoluteDistance, ChangeOne, PartitionDistance, SymmetricDistance
from deniable.core.space import Space
from deniable.cost import Composed, Exponential, Gaussian, Grouped
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.mechanisms import (
    Law,
    MaxNoise,
    consistent,
    exponential_interval,
    most_frequent,
    noisy_hierarchy,
    noisy_tree,
    private_bounds,
    private_cdf,
    private_covariance,
    private_histogram,
    private_iqr,
    private_median,
    private_mode,
    private_quantile,
    private_quantiles,
    private_upper_bound,
    select_partitions,
    set_union,
    threshold_histogram,
    whole_counts,
)
from deniable.mechanisms.bounds import Bands
from deniable.mechanisms.counted import _even, _evenly_spaced, _searched
from deniable.mechanisms.covariance import exact_moments
from deniable.mechanisms.exponential_mechanism import interval_choice
from deniable.mechanisms.grid import public_grid, values_of
from deniable.mechanisms.private_quantile import Window, pieces, quantile_point, ranked, scored
from deniable.mechanisms.set_union import item_weight, union_threshold
from deniable.mechanisms.tree import tree_depth, tree_sums
from deniable.noise.weighted_choice import DRAWN, proposal, upper_weights
from deniable.noise.windowed_choice import Rest, _cover, windowed_choice
from deniable.testing.scripted_entropy import Scripted, Seeded, Silent

NUMBERS = Space(Rows(Numbers()), SymmetricDistance())
GRID = {"lower": 0, "upper": 100, "grid": 1}


# Grids and pieces -------------------------------------------------------------------------------------------------------------


def test_values_fall_on_the_grid():
    grid = public_grid(0, 1, Fraction(1, 4))
    assert grid.count == 5
    assert grid.points(np.array([-3.0, 0.0, 0.26, 0.99, 7.0, np.inf, -np.inf])).tolist() == [0, 0, 1, 3, 4, 4, 0]
    assert public_grid(-10, 10, 5).points(np.array([-10, -6, 4, 99])).tolist() == [0, 0, 2, 4]
    assert [grid.read(k) for k in range(5)] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert public_grid(-10, 10, 5).read(1) == -5
    for wrong in ((1, 1, 1), (0, 1, 0), (0, 10**30, 1)):
        with pytest.raises(InvalidArgument):
            public_grid(*wrong)


def test_what_cannot_be_read_is_left_out():
    assert values_of([1, None, float("nan"), 2.5], Numbers()).tolist() == [1.0, 2.5]
    assert values_of(["x", 3], Numbers()).tolist() == [3.0]
    assert values_of([2, 4], Lattice(Fraction(1, 2))).tolist() == [1.0, 2.0]
    assert values_of([2, None], Lattice(missing=True)).tolist() == [2]


def test_places_tell_on_a_point_from_between_two():
    grid = public_grid(0, 1, Fraction(1, 10))
    values = np.array(
        [-3.0, 0.0, 0.05, 0.1, 0.1 + 0.2, 0.3, 0.31, 0.7, 1.0, np.inf]
    )  # 0.1 + 0.2 is 0.3 but for the last bit
    assert grid.places(values).tolist() == [0, 0, 1, 2, 6, 6, 7, 14, 20, 20]
    whole = public_grid(-10, 10, 5)
    assert whole.places(np.array([-99, -10, -6, 0, 4, 99])).tolist() == [0, 0, 1, 4, 5, 8]
    assert whole.places(np.array([0, 250], dtype=np.uint8)).tolist() == [4, 8]
    assert whole.places(np.array([2**64 - 1, 3], dtype=np.uint64)).tolist() == [8, 5]
    numbers = np.sort(np.random.default_rng(3).normal(0.5, 0.5, 5000))  # noqa: TID251 - public test data
    assert (np.diff(grid.places(numbers)) >= 0).all()


def test_spots_lie_around_their_nearest_point():
    grid, values = public_grid(0, 4, 1), np.array([-1.0, 0.0, 0.4, 0.6, 1.0, 1.0, 3.99, 4.0, 9.0])
    spots = grid.spots(values, np.array([0, 3, 1, 1, 0, 7, 1, 2, 7]), 8)
    assert spots.tolist() == [
        0,
        3,
        7,
        8,
        8,
        15,
        35,
        34,
        39,
    ]  # on a point: its turn; between two: eighths from half a step before
    assert (spots // 8).tolist() == [0, 0, 0, 1, 1, 1, 4, 4, 4]
    assert grid.spots(np.array([3, 0]), np.array([0, 0]), 1).tolist() == [3, 0]


@pytest.mark.parametrize("values", [[], [0], [5, 5, 5], [0, 9], [1, 3, 3, 8], [2.5], [2, 2.5, 2.5, 3, 8.1, 9]])
def test_pieces_know_what_lies_below_and_above(values):
    edges, below, above, crowd = pieces(public_grid(0, 9, 1).places(np.array(values, dtype=float)), 10)
    assert (edges[0], edges[-1]) == (0, 10)
    for piece in range(len(below)):
        for point in range(edges[piece], edges[piece + 1]):
            assert below[piece] == sum(v < point for v in values)
            assert above[piece] == sum(v > point for v in values)
            assert crowd[piece] == sum(point < v < point + 1 for v in values)


def test_a_point_of_a_piece_is_uniform():
    drawn = [
        interval_choice(np.array([0, 3, 10]), np.array([0, -(10**6)]), scale=Fraction(1), entropy=Seeded(k))
        for k in range(90)
    ]
    assert set(drawn) == {0, 1, 2}


# The window --------------------------------------------------------------------------------------------------------------------


WIDE = public_grid(0, 10**9, 1)
HALF = Fraction(1, 2)


def _rows(values):
    return ranked(np.asarray(values), WIDE, first=0, last=len(values) - 1)


def _window(scale):
    values = np.random.default_rng(7).integers(0, 2 * 10**9, 4000) / 2  # noqa: TID251 - public test data, on and off the grid
    rows = _rows(values)
    low, high = (int(rows.places[rank]) >> 1 for rank in (1500, 2500))
    return rows, Window(rows, WIDE.count, HALF, scale, low, high + 1)


def test_the_rest_is_covered_and_scored_no_better_than_said():
    scale = Fraction(10)
    rows, window = _window(scale)
    (scores, counts), rest = window.near(), window.rest()
    far_scores, far_counts = rest.load()
    assert counts.sum() + far_counts.sum() == 10**9 + 1
    assert rest.count == far_counts.sum()
    assert rest.entries >= np.count_nonzero(far_counts)
    assert far_scores[far_counts > 0].max() <= rest.best_score
    units = scale * 2
    offer, best = proposal(scores[None, :], scale=units, counts=counts[None, :]), int(scores[counts > 0].max())
    cover = _cover(offer, rest, best, units)
    gaps = np.where(far_counts > 0, best - far_scores, 0).astype(np.uint64)
    assert int(upper_weights(gaps[None, :], far_counts[None, :], offer.unit, units).sum()) <= cover
    assert offer.weights.sum() + cover < 2**DRAWN
    full_edges, full = scored(rows.whole(), WIDE.count, q=HALF, scale=scale)
    inside = (
        (full_edges[:-1] >= window.near_edges()[0])
        & (full_edges[1:] <= window.near_edges()[-1])
        & (np.diff(full_edges) > 0)
    )
    assert full[inside].tolist() == scores[counts > 0].tolist()  # the window scores as the whole does


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).normal(5e8, 1e8, 40_000),  # noqa: TID251 - public test data
        np.random.default_rng(2).integers(0, 50, 40_000),  # noqa: TID251 - public test data
        np.arange(40_000)[::-1] * 1000,
        np.r_[np.zeros(20_000), np.arange(20_000) ** 2],
        np.full(40_000, 7),
        np.random.default_rng(4).exponential(3, 40_000).astype(np.float32),  # noqa: TID251 - public test data
        np.tile(np.r_[np.zeros(8), 1e9], 5000),  # the sample of every ninth value would see zeros only
    ],
    ids=["normal", "ages", "falling", "heavy", "one value", "float32", "in step"],
)
@pytest.mark.parametrize(("first", "last"), [(19_900, 20_100), (-5, 40), (39_990, 41_000)])
def test_only_the_rows_near_a_rank_are_placed(values, first, last):
    """Whatever order the rows come in, the places near a rank and the number below them are those of a full sort."""
    found, full = ranked(values, WIDE, first=first, last=last), np.sort(WIDE.places(values))
    assert found.size == full.size
    assert found.places.tolist() == full[found.before : found.before + found.places.size].tolist()
    cells = full >> 1
    least, most = cells[max(first, 0)], cells[min(last, full.size - 1)]
    assert found.before <= np.searchsorted(cells, least, side="left")
    assert found.before + found.places.size >= np.searchsorted(cells, most, side="right")
    assert (found.whole() == full).all()


def test_a_draw_outside_the_window_finds_its_entry():
    scores, counts = np.array([0, -1]), np.array([5, 5])
    rest = Rest(3, 7, -2000, lambda: (np.array([-2000, -3000, 9]), np.array([3, 4, 0])))
    scale = Fraction(60)
    inside = int(proposal(scores[None, :], scale=scale, counts=counts[None, :]).weights.sum())
    pick = windowed_choice((scores, counts), rest, scale=scale, entropy=Scripted([inside << 2, 0]))
    assert (pick.index, pick.outside) == (0, True)
    pick = windowed_choice((scores, counts), rest, scale=scale, entropy=Scripted([0, 0]))
    assert (pick.index, pick.outside) == (0, False)
    near = Rest(3, 7, -1, rest.load)
    assert windowed_choice((scores, counts), near, scale=scale, entropy=Silent()) is None  # not negligible: no shortcut


@pytest.mark.parametrize("noise", [MaxNoise.EXPONENTIAL, MaxNoise.GUMBEL])
def test_the_window_gives_the_law_of_the_whole(noise):
    rows, _ = _window(Fraction(4))
    drawn = [
        quantile_point(rows, WIDE.count, q=HALF, scale=Fraction(4), noise=noise, entropy=Seeded(k)) for k in range(400)
    ]
    ranks = np.searchsorted(rows.places, 2 * np.array(drawn))
    assert abs(ranks - 2000).max() < 4 * 40
    assert (
        abs(np.median(ranks) - 2000) < 4
    )  # exp(-|rank|/4): the median of 400 ranks strays by a standard deviation of 0.3


# Quantiles ---------------------------------------------------------------------------------------------------------------------


def test_quantiles_without_noise_are_the_quantiles():
    data = list(range(101))
    assert (NUMBERS >> private_median(scale=1, **GRID))(data, entropy=Silent()) == 50
    assert (NUMBERS >> private_quantile(q=0.9, scale=1, **GRID))(data, entropy=Silent()) == 90
    many = NUMBERS >> private_quantiles(qs=[0.1, 0.5, 0.9], scale=1, ties=1, **GRID)
    assert many(data, entropy=Silent()) == pytest.approx([10, 50, 90], abs=1)
    assert (NUMBERS >> private_iqr(scale=1, ties=1, **GRID))(data, entropy=Silent()) == pytest.approx(50, abs=2)


def test_a_heavy_value_is_found():
    ages = [20] * 30 + [40] * 1000 + [60] * 30
    assert (NUMBERS >> private_median(scale=2, **GRID))(ages) == 40  # every other point is 500 ranks off: exp(-250)
    spread = NUMBERS >> private_quantiles(qs=[0.25, 0.5, 0.75], scale=2, **GRID)
    assert spread(ages) == [40, 40, 40]


def test_a_crowded_cell_is_found():
    """All values between two grid points: the lower one is the answer, and not any point of the grid."""
    assert (NUMBERS >> private_median(scale=1, **GRID))([41.5] * 1000) == 41
    assert (NUMBERS >> private_median(scale=1, lower=0, upper=1, grid=Fraction(1, 10)))([0.1 + 0.2] * 1000) == 0.3


def test_laplace_noise_is_refused_for_quantiles():
    with pytest.raises(InvalidArgument, match="EXPONENTIAL or MaxNoise"):
        NUMBERS >> private_median(scale=1, noise=MaxNoise.LAPLACE, **GRID)


def test_empty_rows_are_answered():
    assert 0 <= (NUMBERS >> private_median(scale=1, **GRID))([]) <= 100
    assert len((NUMBERS >> private_quantiles(qs=[0.2, 0.8], scale=1, **GRID))([None, float("nan")])) == 2


@pytest.mark.parametrize("qs", [[], [0.5, 0.5], [0.7, 0.3], [1.5], [Fraction(1, 999983), Fraction(1, 2)]])
def test_bad_lists_of_shares_are_refused(qs):
    with pytest.raises(InvalidArgument):
        NUMBERS >> private_quantiles(qs=qs, scale=1, **GRID)


def test_rank_accuracy_holds():
    data, mechanism = list(range(1000)), NUMBERS >> private_median(scale=5, lower=0, upper=1000, grid=1)
    error = mechanism.accuracy(confidence=0.99).error
    assert error == pytest.approx(5 * np.log(1000 * 99), rel=1e-3)
    assert (
        sum(abs(mechanism(data, entropy=Seeded(k)) - 500) > error + 1 for k in range(200)) <= 20
    )  # far below 1 % in truth
    several = NUMBERS >> private_quantiles(qs=[0.25, 0.5, 0.75], scale=5, lower=0, upper=1000, grid=1)
    assert several.accuracy().error > mechanism.accuracy().error


def test_an_interval_of_your_own():
    def around_two(data, grid):
        return np.array([0, 2, 3, grid.count]), np.array([0, len(data), 0])

    mechanism = NUMBERS >> exponential_interval(
        pieces=around_two, spread=lambda d: d, lower=0, upper=9, grid=1, scale=1, author="a test"
    )
    assert mechanism([1] * 50) == 2
    assert mechanism.cost() == Exponential(eta=1)
    assert mechanism.claims == ("a test: around_two",)


# Bounds ------------------------------------------------------------------------------------------------------------------------


def test_bands_read_the_exponent_of_any_float():
    bands = Bands(-2, 3)
    values = np.array([0.0, -0.0, 5e-324, 0.25, 0.24, 1.0, -1.0, 7.9, 8.0, np.inf, -np.inf, 1e308])
    places = {float(v): int(np.flatnonzero(bands.counts(np.array([v])))[0]) - bands.each for v in values}
    assert places[0.0] == places[5e-324] == places[0.24] == 0
    assert (places[0.25], places[1.0], places[-1.0], places[7.9]) == (1, 3, -3, 5)
    assert places[8.0] == places[np.inf] == places[1e308] == 5
    assert places[-np.inf] == -5
    for value in (0.25, 0.24, 1.0, -1.0, 7.9):
        place = places[value] + bands.each
        assert bands.edge(place) <= value <= bands.edge(place + 1)
    assert [bands.edge(k) for k in range(bands.size + 1)] == [-8, -4, -2, -1, -0.5, -0.25, 0.25, 0.5, 1, 2, 4, 8]


def test_bounds_hold_the_values():
    found = (NUMBERS >> private_bounds(scale=1))([*np.linspace(100, 900, 500), *[-3.0] * 50], entropy=Silent())
    assert (found.lower, found.upper) == (-4.0, 1024.0)
    assert (NUMBERS >> private_bounds(scale=1))([], entropy=Silent()) is None
    assert (NUMBERS >> private_bounds(scale=1)).accuracy().error > 0
    assert (NUMBERS >> private_upper_bound(q=0.9, scale=1, **GRID))(list(range(101)), entropy=Silent()) == 90
    with pytest.raises(InvalidArgument, match="exponents"):
        NUMBERS >> private_bounds(scale=1, lowest=5, highest=5)
    with pytest.raises(SpaceMismatch):
        Space(Rows(Texts()), SymmetricDistance()) >> private_bounds(scale=1)


# Counts and trees ---------------------------------------------------------------------------------------------------------------


def test_histograms_show_every_public_group():
    letters = Space(Rows(Categories(("b", "a", "c"))), SymmetricDistance())
    assert (letters >> private_histogram(scale=1))(["a", "a", "z"], entropy=Silent()) == {"b": 0, "a": 2, "c": 0}
    answers = Space(Rows(Booleans()), SymmetricDistance()) >> private_histogram(scale=1)
    assert answers([True, False, True], entropy=Silent()) == {True: 2, False: 1}
    edged = NUMBERS >> private_histogram(scale=1, edges=[0, 1, 2.5])
    assert edged([0.0, 0.99, 1.0, 2.5, -1, None, float("nan")], entropy=Silent()).tolist() == [2, 1]
    assert (letters >> private_mode(scale=1))(["c"] * 50 + ["a"]) == "c"
    for wrong in ([1], [1, 1], [2, 1]):
        with pytest.raises(InvalidArgument, match="edges"):
            NUMBERS >> private_histogram(scale=1, edges=wrong)
    with pytest.raises(SpaceMismatch):
        NUMBERS >> private_histogram(scale=1)
    with pytest.raises(SpaceMismatch):
        letters >> private_histogram(scale=1, edges=[0, 1])
    with pytest.raises(SpaceMismatch):
        NUMBERS >> private_mode(scale=1)


def test_even_edges_find_the_bins_a_search_finds():
    values = np.concatenate(
        [np.linspace(-1, 11, 4001), np.linspace(0, 10, 101), np.nextafter(np.linspace(0, 10, 101), -1)]
    )
    for borders in (np.linspace(0, 10, 101), np.linspace(0, 10, 101) + 1e-12 * np.arange(101) ** 2):
        inside = values[(values >= borders[0]) & (values < borders[-1])]
        assert _evenly_spaced(borders)
        assert _even(borders, inside).tolist() == _searched(borders, inside).tolist()
    assert not _evenly_spaced(np.array([0.0, 1.0, 5.0]))


@pytest.mark.parametrize(("size", "branching", "depth"), [(1, 2, 1), (2, 2, 2), (3, 2, 3), (16, 16, 2), (17, 16, 3)])
def test_tree_sums_add_up(size, branching, depth):
    leaves = np.arange(1, size + 1)
    levels = tree_sums(leaves, branching)
    assert len(levels) == tree_depth(size, branching) == depth
    assert all(level.sum() == leaves.sum() for level in levels)
    assert levels[0].size == 1


def test_a_tree_answers_ranges_shares_and_quantiles():
    tree = (Space(Vectors(Lattice(), 10), L1()) >> noisy_tree(scale=1, branching=3))(list(range(10)), entropy=Silent())
    assert tree.counts.tolist() == pytest.approx(list(range(10)))
    assert tree.between(2, 5) == pytest.approx(9)
    assert tree.cdf()[-1] == 1.0
    assert tree.quantiles([0.5]) == [7]  # 21 of 45 lie in bins 0 to 6, 28 in 0 to 7
    with pytest.raises(InvalidArgument, match="bins"):
        tree.between(5, 11)
    noisy = (NUMBERS >> private_cdf(edges=list(range(0, 101, 5)), scale=1))(list(range(100)))
    assert (np.diff(noisy.cdf()) >= 0).all()
    with pytest.raises(SpaceMismatch):
        NUMBERS >> noisy_tree(scale=1)


def test_consistency_is_the_best_linear_unbiased_estimate():
    """Against ordinary least squares on every tree's own equations, with unequal noise and an exactly known node."""
    parents = [np.array([0, 0, 0]), np.array([0, 0, 1, 2, 2])]
    variances, generator = [2.0, 1.0, 0.5], np.random.default_rng(3)  # noqa: TID251 - public test data
    measured = [generator.normal(size=n) for n in (1, 3, 5)]
    design = np.zeros((9, 5))
    design[0], design[4:] = 1, np.eye(5)
    for leaf, parent in enumerate(parents[1]):
        design[1 + parent, leaf] = 1
    weights = 1 / np.repeat(variances, [1, 3, 5])
    normal = design.T @ (weights[:, None] * design)
    leaves = np.linalg.solve(normal, design.T @ (weights * np.concatenate(measured)))
    found = consistent(measured, variances=variances, parents=parents)
    assert np.concatenate(found.levels) == pytest.approx(design @ leaves)
    assert np.concatenate(found.variances) == pytest.approx(np.diag(design @ np.linalg.inv(normal) @ design.T))
    with pytest.raises(InvalidArgument, match="levels"):
        consistent(measured, variances=[1.0], parents=parents)


def test_whole_counts_add_up_and_are_never_negative():
    parents = [np.array([0, 0, 0]), np.array([0, 0, 1, 2, 2])]
    generator = np.random.default_rng(4)  # noqa: TID251 - public test data
    for _ in range(50):
        found = consistent([generator.normal(5, 6, n) for n in (1, 3, 5)], variances=[1.0, 1.0, 1.0], parents=parents)
        levels = whole_counts(found, parents=parents)
        assert all((level >= 0).all() for level in levels)
        for depth, parent in enumerate(parents):
            assert np.bincount(parent, weights=levels[depth + 1]).tolist() == levels[depth].tolist()


def test_a_hierarchy_of_places():
    keys = (("n", "a"), ("n", "b"), ("s", "c"))
    space = Space(Keyed(Lattice(), keys), L1())
    noisy = space >> noisy_hierarchy(scales=[1, 1, 2])
    told = noisy({("n", "a"): 4, ("n", "b"): 5, ("s", "c"): 6}, entropy=Silent())
    assert told.whole() == {(): 15, ("n",): 9, ("s",): 6, ("n", "a"): 4, ("n", "b"): 5, ("s", "c"): 6}
    assert told.estimates()[()] == pytest.approx(15)
    with pytest.raises(InvalidArgument, match="scales"):
        space >> noisy_hierarchy(scales=[1, 1])
    with pytest.raises(SpaceMismatch, match="tuples"):
        Space(Keyed(Lattice(), ("a", "b")), L1()) >> noisy_hierarchy(scales=[1, 1])


# Private keys --------------------------------------------------------------------------------------------------------------------

TABLE = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))


def test_keys_come_out_in_public_order():
    counts = {"z": 90, "a": 80, "m": 1, "q": 0}
    assert list((TABLE >> threshold_histogram(scale=1, threshold=20))(counts, entropy=Silent())) == ["a", "z"]
    assert (TABLE >> select_partitions(epsilon=1, delta=1e-6))(counts, entropy=Seeded(1)) == ["a", "z"]
    mixed = {3: 90, "a": 90, None: 90}
    assert len((TABLE >> threshold_histogram(scale=1, threshold=20))(mixed, entropy=Silent())) == 3
    assert (TABLE >> select_partitions(epsilon=1, delta=1e-6)).accuracy().error < 20
    assert (TABLE >> most_frequent(scale=1, delta=1e-6))({"a": 100, "b": 3}) == "a"
    assert (TABLE >> most_frequent(scale=1, delta=1e-6))({}) is None


def test_public_keys_and_odd_steps_are_refused():
    with pytest.raises(SpaceMismatch, match="public"):
        Space(Keyed(Lattice(), ("a",)), L1()) >> threshold_histogram(scale=1, threshold=3)
    with pytest.raises(SpaceMismatch, match="units"):
        Space(Keyed(Lattice(Fraction(1, 2)), None), L1()) >> select_partitions(epsilon=1, delta=0.1)
    with pytest.raises(InvalidArgument, match="multiple"):
        TABLE >> threshold_histogram(scale=1, threshold=2.5)


def test_a_union_of_sets():
    people = Space(Rows(Anything()), SymmetricDistance())
    union = people >> set_union(items=3, scale=1, delta=1e-6)
    assert union([["tea", "milk"]] * 60 + [["secret"]], entropy=Seeded(1)) == ["milk", "tea"]
    assert isinstance(union.cost(), Composed)
    assert union.cost().costs[0] == Gaussian(scale=1, sensitivity=1)
    assert isinstance(union.cost(d_in=2), Grouped)
    assert union([[str(k) for k in range(50)]] * 400) != []  # more items than allowed: a random choice of three each
    for m in range(1, 20):
        assert m * item_weight(m) ** 2 <= 2**40
    assert union_threshold(1, scale=Fraction(2**20), delta=Fraction(1, 100)) <= union_threshold(
        1, scale=Fraction(2**20), delta=Fraction(1, 1000)
    )
    with pytest.raises(InvalidArgument, match="items"):
        people >> set_union(items=10**6, scale=1, delta=1e-6)


# Moments -------------------------------------------------------------------------------------------------------------------------


def test_sums_of_products_are_exact():
    reach = 1 << 15
    data = np.random.default_rng(5).integers(-reach, reach + 1, (100_000, 3))  # noqa: TID251 - public test data
    data[:50_000] = reach
    sums, products = exact_moments(data, reach)
    whole = data.astype(object)
    assert products.tolist() == (whole.T @ whole).tolist()
    assert sums.tolist() == data.sum(axis=0).tolist()


def test_covariance_and_correlation():
    columns = Space(Rows(Vectors(Lattice(Fraction(1, 10), -100, 100), 2)), SymmetricDistance())
    base = np.random.default_rng(6).integers(-90, 91, 4000)  # noqa: TID251 - public test data
    data = np.stack([base, base // 2], axis=1)
    told = (columns >> private_covariance(scale=1))(data, entropy=Silent())
    assert told.covariance == pytest.approx(np.cov(data.T / 10, ddof=0), rel=1e-9)
    assert told.mean == pytest.approx(data.mean(axis=0) / 10)
    assert told.correlation[0, 1] == pytest.approx(np.corrcoef(data.T)[0, 1])
    assert (columns >> private_covariance(scale=2)).cost() == Gaussian(scale=2, squared_sensitivity=6)
    fixed = Space(Rows(Vectors(Lattice(Fraction(1, 10), -100, 100), 2), size=10), ChangeOne())
    assert (fixed >> private_covariance(scale=2)).cost() == Gaussian(scale=2, squared_sensitivity=20)
    small = (columns >> private_covariance(scale=50))(data[:3], entropy=Seeded(1))
    assert np.linalg.eigvalsh(small.covariance).min() > -1e-6
    with pytest.raises(SpaceMismatch, match="bounds"):
        NUMBERS >> private_covariance(scale=1)
    with pytest.raises(InvalidArgument, match="steps"):
        Space(Rows(Vectors(Lattice(Fraction(1), 0, 10**6), 2)), SymmetricDistance()) >> private_covariance(scale=1)


def test_one_price_for_every_law():
    for law in Law:
        assert (NUMBERS >> private_histogram(scale=2, edges=[0, 1], law=law)).accuracy().error > 0
