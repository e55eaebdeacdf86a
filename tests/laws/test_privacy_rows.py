"""Mechanisms on rows: quantiles, bounds, histograms, mode, trees, totals, covariance and randomized response."""

from fractions import Fraction
from itertools import pairwise

import pytest

from deniable.audit.comparison import check_privacy, compare, hockey_stick
from deniable.audit.exact_law import output_law
from deniable.core.domain import Booleans, Categories, Keyed, Lattice, Numbers, Rows, Vectors
from deniable.core.metric import (
    L1,
    AbsoluteDistance,
    ChangeOne,
    DiscreteDistance,
    Hamming,
    SymmetricDistance,
)
from deniable.core.space import Space
from deniable.core.stream import stream
from deniable.cost import Bounded, Exponential
from deniable.mechanisms import (
    Law,
    MaxNoise,
    coin_flip,
    local_mean,
    noisy_hierarchy,
    noisy_tree,
    private_bounds,
    private_cdf,
    private_covariance,
    private_histogram,
    private_iqr,
    private_maximum,
    private_median,
    private_minimum,
    private_mode,
    private_quantile,
    private_quantiles,
    private_upper_bound,
    randomized_response,
    running_total,
)
from deniable.mechanisms.private_quantiles import relative_shares

NUMBERS = Space(Rows(Numbers()), SymmetricDistance())
FIXED = Space(Rows(Numbers(), size=3), ChangeOne())
GRID = {"lower": 0, "upper": 5, "grid": 1}
TAIL = Fraction(1, 10**5)
ADDED = [([], [2]), ([2], [2, 2]), ([0, 5], [0, 5, 3]), ([1, 4, 4], [1, 4, 4, 0]), ([3, 3, 3], [3, 3, 3, float("nan")])]


BETWEEN = [([], [2.5]), ([2.5, 2.5], [2.5]), ([1.5, 4.0], [1.5, 4.0, 3.2]), ([0.1] * 4, [0.1] * 5), ([4.9, 5], [5])]
CONTESTS = [MaxNoise.EXPONENTIAL, MaxNoise.GUMBEL]


@pytest.mark.parametrize("noise", CONTESTS)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10)])
@pytest.mark.parametrize(("left", "right"), ADDED + BETWEEN)
def test_a_quantile_when_rows_are_added(q, left, right, noise):
    mechanism = NUMBERS >> private_quantile(q=q, scale=2, noise=noise, **GRID)
    verdict = check_privacy(mechanism, left, right)
    assert verdict.kept
    promise = {MaxNoise.EXPONENTIAL: Bounded(epsilon=max(q, 1 - q)), MaxNoise.GUMBEL: Exponential(eta=max(q, 1 - q))}
    assert mechanism.cost() == promise[noise]


@pytest.mark.parametrize("scale", [Fraction(1, 8), 3])
def test_a_quantile_of_crowded_cells(scale):
    """A cell that holds every value may count at its lower point, whatever the price of that in scales."""
    for many in range(6):
        left, right = [2.5] * many, [2.5] * (many + 1)
        assert check_privacy(NUMBERS >> private_median(scale=scale, **GRID), left, right).kept


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, 2, 3], [1, 2, 5]),
        ([0, 0, 5], [0, 5, 5]),
        ([4, 4, 4], [4, 4, 0]),
        ([2.5, 2.5, 1], [2.5, 3.5, 1]),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 5]),
    ],
)
@pytest.mark.parametrize("noise", CONTESTS)
def test_a_quantile_when_rows_change(q, left, right, noise):
    assert check_privacy(FIXED >> private_quantile(q=q, scale=1, noise=noise, **GRID), left, right).kept


@pytest.mark.parametrize("noise", CONTESTS)
def test_the_median_price_is_used_up(noise):
    mechanism = NUMBERS >> private_median(scale=Fraction(1, 4), noise=noise, **GRID)
    worst = [
        check_privacy(mechanism, left, right).reaches(Fraction(1, 5))
        for left, right in (([2, 2, 3], [2, 2, 3, 3]), ([0, 5], [0, 5, 5]))
    ]
    assert any(worst)


@pytest.mark.parametrize(("step", "q"), [(private_minimum, Fraction(1, 100)), (private_maximum, Fraction(99, 100))])
def test_extremes_are_quantiles(step, q):
    mechanism = NUMBERS >> step(scale=2, **GRID)
    assert mechanism.cost() == Bounded(epsilon=max(q, 1 - q))
    assert check_privacy(mechanism, [1, 2], [1, 2, 5]).kept


@pytest.mark.parametrize(("left", "right"), ADDED)
def test_several_quantiles_share_layers(left, right):
    mechanism = NUMBERS >> private_quantiles(qs=[0.25, 0.5, 0.75], scale=1, ties=1, **GRID)
    assert check_privacy(mechanism, left, right, losses=[0, 1, 2, 3]).kept
    assert check_privacy(NUMBERS >> private_iqr(scale=1, ties=1, **GRID), left, right, losses=[0, 1, 2]).kept


@pytest.mark.parametrize(("left", "right"), [([], [1]), ([1], [1, 1]), ([0, 1], [0, 1, 1])])
def test_rows_spread_over_ties_are_still_one_row_each(left, right):
    mechanism = NUMBERS >> private_quantiles(qs=[0.25, 0.5, 0.75], scale=1, ties=2, lower=0, upper=1, grid=1)
    assert check_privacy(mechanism, left, right, losses=[0, 1, 2, 3]).kept


def test_several_quantiles_when_a_row_changes():
    mechanism = FIXED >> private_quantiles(qs=[0.25, 0.75], scale=1, ties=1, **GRID)
    assert check_privacy(mechanism, [0, 2, 5], [2, 2, 5], losses=[0, 2, 4]).kept


def test_errata_6_every_quantile_is_returned_sorted_and_every_layer_is_paid():
    """E6: the printed recursion drops the middle estimate and is deeper than the layers it pays for; ours is neither."""
    for count in range(1, 16):
        shares = [Fraction(k, count + 1) for k in range(1, count + 1)]
        layers = relative_shares(shares)
        assert len(layers) == count.bit_length()
        assert sum(map(len, layers)) == count
        mechanism = NUMBERS >> private_quantiles(qs=shares, scale=2, lower=0, upper=50, grid=1)
        drawn = mechanism(list(range(50)))
        assert len(drawn) == count
        assert all(low <= high for low, high in pairwise(drawn))
    assert (
        _printed_depth(7) == 4 > (7).bit_length() == 3
    )  # as printed, seven quantiles use four layers and pay for three
    assert _printed(list(range(7))) == []  # and none of the seven is returned
    one = NUMBERS >> private_quantiles(qs=[Fraction(k, 8) for k in range(1, 8)], scale=2, **GRID)
    assert len(one.cost().costs) == 3


def _printed(estimates: list[int]) -> list[int]:
    """The recursion that returns its halves without the middle estimate."""
    if not estimates:
        return []
    middle = min((len(estimates) + 1) // 2, len(estimates) - 1)
    return [*_printed(estimates[:middle]), *_printed(estimates[middle + 1 :])]


def _printed_depth(count: int) -> int:
    """The depth of the recursion that splits at (count + 1)//2."""
    if not count:
        return 0
    middle = min((count + 1) // 2, count - 1)
    return 1 + max(_printed_depth(middle), _printed_depth(count - middle - 1))


# Counts ---------------------------------------------------------------------------------------------------------------------

LETTERS = Space(Rows(Categories(("x", "y"))), SymmetricDistance())
SWAPPED = Space(Rows(Categories(("x", "y")), size=2), ChangeOne())


@pytest.mark.parametrize("law", list(Law))
def test_a_histogram(law):
    mechanism = LETTERS >> private_histogram(scale=1, law=law)
    assert check_privacy(mechanism, ["x"], ["x", "y"], tail=TAIL).kept
    assert check_privacy(
        SWAPPED >> private_histogram(scale=1, law=law), ["x", "x"], ["x", "y"], tail=Fraction(1, 10**6)
    ).kept
    edged = NUMBERS >> private_histogram(scale=1, edges=[0, 1, 2], law=law)
    assert check_privacy(edged, [0.5], [0.5, 1.5], tail=TAIL).kept
    assert check_privacy(edged, [0.5], [0.5, 7.0], tail=TAIL).kept


@pytest.mark.parametrize("noise", [MaxNoise.GUMBEL, MaxNoise.EXPONENTIAL, MaxNoise.LAPLACE])
def test_the_mode(noise):
    added, changed = LETTERS >> private_mode(scale=1, noise=noise), SWAPPED >> private_mode(scale=1, noise=noise)
    assert check_privacy(added, ["x"], ["x", "x"], tail=TAIL).kept
    assert check_privacy(changed, ["x", "x"], ["x", "y"], tail=TAIL).kept
    assert check_privacy(added, ["x", "x"], ["y", "x"], tail=TAIL).broken  # a changed row costs two


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
def test_trees(law):
    space = Space(Vectors(Lattice(), 2), L1())
    read = {"ask": lambda tree: [level.tolist() for level in tree.levels], "tail": Fraction(1, 10**3)}
    tree = space >> noisy_tree(scale=Fraction(1, 2), branching=2, law=law)
    assert check_privacy(tree, [1, 0], [1, 1], losses=[0, 1, 2, 4], **read).kept
    cdf = NUMBERS >> private_cdf(edges=[0, 1, 2], scale=Fraction(1, 2), branching=2, law=law)
    assert check_privacy(cdf, [0.5], [0.5, 1.5], losses=[0, 2, 4], **read).kept


def test_a_hierarchy():
    space = Space(Keyed(Lattice(), (("n", "a"), ("n", "b"))), L1())
    spine = space >> noisy_hierarchy(scales=[Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)])
    read = {"ask": lambda spine: [level.tolist() for level in spine.measured], "tail": Fraction(1, 50)}
    assert check_privacy(
        spine, {("n", "a"): 1, ("n", "b"): 0}, {("n", "a"): 1, ("n", "b"): 1}, losses=[0, 3, 6], **read
    ).kept


def test_a_running_total():
    mechanism = stream(Space(Lattice(), AbsoluteDistance())) >> running_total(horizon=3, scale=Fraction(1, 2))

    def totals(numbers, entropy):
        run = mechanism([], entropy=entropy)
        return tuple(run.feed(number) for number in numbers)

    laws = [
        output_law(lambda e, n=n: totals(n, e), tail=Fraction(1, 10**3))
        for n in ([0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, -1])
    ]
    for other in laws[1:4]:
        assert compare(laws[0], other, mechanism.cost(d_in=(1, 1, 1)), losses=[0, 1, 2, 4]).kept
    assert compare(laws[0], laws[4], mechanism.cost(d_in=(2, 2, 1)), losses=[0, 2, 4, 6]).kept
    assert (
        hockey_stick(laws[1], laws[0], Fraction(7, 2)).lower > 0
    )  # two levels hold the first piece: the loss is near four


# Bounds and moments -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "right"), [([], [1.5]), ([1.5], [1.5, -3.0]), ([0.0], [0.0, float("inf")])])
def test_learnt_bounds(left, right):
    mechanism = NUMBERS >> private_bounds(scale=Fraction(1, 3), lowest=0, highest=1, confidence=Fraction(1, 2))
    assert check_privacy(mechanism, left, right, ask=lambda b: b and (b.lower, b.upper), tail=Fraction(1, 10**3)).kept


@pytest.mark.parametrize(("left", "right"), [([], [1]), ([0, 3], [0, 3, 3]), ([2], [2, 0]), ([1], [1, float("nan")])])
def test_a_bound_by_search(left, right):
    search = NUMBERS >> private_upper_bound(q=Fraction(3, 4), scale=Fraction(1, 2), lower=0, upper=3, grid=1)
    assert check_privacy(search, left, right, tail=Fraction(1, 10**5), losses=[0, 1, 2, 3]).kept


def test_moments():
    """One column of three steps: count, sum and sum of squares, all the numbers that leave."""
    space = Space(Rows(Vectors(Lattice(lower=0, upper=2), 1)), SymmetricDistance())
    mechanism = space >> private_covariance(scale=Fraction(1, 2))
    read = {"ask": lambda m: (m.count, m.sums[0], m.products[0, 0]), "tail": Fraction(1, 10**3)}
    for left, right in (([[1]], [[1], [2]]), ([[1]], [[1], [0]]), ([], [[1]])):
        verdict = check_privacy(mechanism, left, right, losses=[0, 2, 4, 8], **read)
        assert verdict.kept


# Randomized response ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("truth", [Fraction(1, 2), Fraction(3, 4), Fraction(99, 100)])
def test_randomized_response(truth):
    coin = Space(Booleans(), DiscreteDistance()) >> randomized_response(truth=truth)
    verdict = check_privacy(coin, True, False)
    assert verdict.kept
    assert truth == Fraction(1, 2) or verdict.reaches(Fraction(999, 1000))
    if truth > Fraction(1, 3):
        three = Space(Categories(("a", "b", "c")), DiscreteDistance()) >> randomized_response(truth=truth)
        assert check_privacy(three, "a", "b").kept


def test_bit_vectors_and_the_coin_flip():
    bits = Space(Rows(Booleans(), size=3), Hamming()) >> coin_flip()
    assert check_privacy(bits, [True, True, False], [True, False, True], d_in=2).kept
    assert check_privacy(bits, [True, True, False], [True, False, True], d_in=1).broken


def test_a_local_mean_is_no_worse_than_its_coin():
    mean = Space(Lattice(lower=0, upper=4), DiscreteDistance()) >> local_mean(truth=Fraction(3, 4))
    for left in range(5):
        for right in range(5):
            assert check_privacy(mean, left, right).kept
    assert check_privacy(mean, 0, 4).reaches(Fraction(999, 1000))
    assert compare(*(output_law(lambda e, x=x: mean.function(x, e)) for x in (0, 4)), Bounded(epsilon=1)).broken
