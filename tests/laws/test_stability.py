"""Every stability map against brute force: all neighbouring data sets of small size. Too small fails; needlessly large fails."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import transformations as t
from deniable.core import (
    L1,
    Ball,
    Booleans,
    Categories,
    ChangeOne,
    Hamming,
    InsertDelete,
    Lattice,
    LInfinity,
    Numbers,
    RangeDistance,
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
    plain,
    rows,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.testing.neighbours import data_sets, try_stability, within

NAN = float("nan")
INTS = [-1, 0, 2]
FLOATS = [NAN, float("inf"), -3.5, 0.0, 1.0]
UNSIZED = [SymmetricDistance(), InsertDelete()]
SIZED = [ChangeOne(), Hamming()]
whole = integers(lower=-1, upper=2)
bounded = Numbers(Fraction(-4), Fraction(4))
pairs = Vectors(Lattice(Fraction(1), -1, 1), 2)
ball = Vectors(Lattice(Fraction(1), -2, 2), 2, Ball(Fraction(2)))

# name, space, rows to combine, step, is the map attained exactly at d = 1 and 2?
CASES = [
    ("clamp floats", Rows(Numbers()), FLOATS, t.clamp(lower=-1, upper=1), True),
    ("clamp ints", Rows(whole), INTS, t.clamp(lower=0, upper=1), True),
    ("impute", Rows(Numbers()), FLOATS, t.impute(value=0), True),
    ("fill", Rows(integers(lower=0, upper=2, missing=True)), [None, 0, 2], t.fill(value=1), True),
    ("cast", Rows(Texts()), ["1", "x", None], t.cast(to=numbers()), True),
    ("categorize", Rows(Texts()), ["a", "b", None], t.categorize(values=("a",), other="other"), True),
    ("bins", Rows(Numbers()), FLOATS, t.bins(edges=[-4, 0, 4]), True),
    ("log_bands", Rows(Numbers()), [NAN, 0.0, 5e-324, -3.0, float("inf")], t.log_bands(lowest=-2, highest=3), True),
    ("one_hot", Rows(Categories(("a", "b", "c"))), ["a", "b", "c"], t.one_hot(), True),
    ("map_rows", Rows(whole), INTS, t.map_rows(lambda x: 1 // x, to=whole, default=0, author="test"), True),
    ("filter_rows", Rows(whole), INTS, t.filter_rows(lambda x: x >= 0, author="test"), True),
    ("drop_missing", Rows(Numbers()), [NAN, 0.0, 1.0], t.drop_missing(), True),
    ("count", Rows(whole), INTS, t.count(), True),
    ("count_by_key", Rows(Texts()), ["a", "b", None], t.count_by_key(), True),
    ("count_distinct", Rows(whole), INTS, t.count_distinct(), True),
    ("largest_of", Rows(whole), INTS, t.largest_of(t.count(), t.total(), t.count_distinct()), False),
    ("histogram", Rows(whole), INTS, t.histogram(), True),
    ("histogram of truth values", Rows(Booleans()), [True, False], t.histogram(), True),
    ("bin_counts", Rows(whole), INTS, t.bin_counts(edges=[-1, 0, 3]), True),
    ("tree_counts", Rows(integers(lower=0, upper=2)), [0, 1, 2], t.tree_counts(), True),
    ("total", Rows(whole), INTS, t.total(), True),
    ("sum_of_squares", Rows(whole), INTS, t.sum_of_squares(), True),
    ("quantile_scores", Rows(whole), INTS, t.quantile_scores(q=0.25, candidates=[-1, 0, 1]), False),
    ("category_counts", Rows(Categories(("a", "b", "c"))), ["a", "b", "c"], t.category_counts(), True),
    ("in_total", Rows(whole), INTS, t.histogram() >> t.in_total(), True),
    ("tree_counts by three", Rows(integers(lower=0, upper=3)), [0, 1, 3], t.tree_counts(branching=3), True),
    ("moments", Rows(integers(lower=0, upper=4)), [0, 1, 4], t.moments(), False),
    ("cumulative_counts", Rows(whole), INTS, t.cumulative_counts(edges=[-1, 0, 2]), True),
    ("sum_of_squares one sign", Rows(integers(lower=1, upper=3)), [1, 2, 3], t.sum_of_squares(), True),
    ("vector_total", Rows(pairs), [(1, 1), (-1, 0), (0, 1)], t.vector_total(), True),
    ("gram", Rows(pairs), [(1, 1), (-1, 1), (0, 1)], t.gram(), True),
    ("gram one sign", Rows(Vectors(Lattice(Fraction(1), 0, 2), 2)), [(2, 2), (0, 1), (0, 0)], t.gram(), True),
    ("gram in a ball", Rows(ball), [(2, 0), (0, -2), (1, 1)], t.gram(), True),
    ("vector_moments", Rows(pairs), [(1, 1), (-1, -1), (0, 1)], t.vector_moments(), False),
    ("vector_total in a ball", Rows(ball), [(2, 0), (-2, 0), (1, 1)], t.vector_total(), True),
    (
        "clamp_norm",
        Rows(Vectors(Lattice(Fraction(1), -2, 2), 2)),
        [(2, 2), (-2, 1), (0, 1)],
        t.clamp_norm(radius=1),
        True,
    ),
]
VECTORS = Rows(Vectors(Lattice(Fraction(1), -2, 2), 2))
CASES += [
    (f"clamp_norm, p = {p}", VECTORS, [(2, 2), (-2, 1), (0, 1)], t.clamp_norm(radius=1, p=p, origin=origin), False)
    for p in (1, 2, math.inf)
    for origin in (0, (1, -1))
]
CASES += [
    (
        f"vector_total, p = {p}",
        Rows(Vectors(Lattice(Fraction(1), -2, 2), 2, Ball(Fraction(2), p))),
        far,
        t.vector_total(),
        True,
    )
    for p, far in ((1, [(2, 0), (-2, 0), (1, 1)]), (None, [(2, 2), (-2, -2), (0, 1)]))
]
AWAY = Vectors(Lattice(Fraction(1), 0, 7), 2, Ball(Fraction(1), 2, (Fraction(3), Fraction(4))))
CASES += [("vector_total around an origin", Rows(AWAY), [(3, 4), (4, 4), (3, 5), (2, 4)], t.vector_total(), False)]
UNSIZED_ONLY = [
    ("distance_to", Rows(whole), INTS, t.distance_to([0, 0, 2], [-1, 2, 2]), True),
    ("mean_of_at_least", Rows(whole), INTS, t.mean_of_at_least(size=1, grid=Fraction(1, 1000)), True),
    (
        "mean_of_at_least, coarse",
        Rows(integers(lower=0, upper=10)),
        [0, 4, 10],
        t.mean_of_at_least(size=4, grid=3),
        False,
    ),
    ("partition_by", Rows(whole), INTS, t.partition_by(lambda x: x > 0, keys=[True, False], author="test"), True),
]
SIZED_ONLY = [
    ("distance_to", Rows(whole, 3), INTS, t.distance_to([0, 0, 2], [-1, 2, 2]), True),
    ("mean", Rows(whole, 3), INTS, t.mean(), True),
    ("vector_mean", Rows(pairs, 3), [(1, 1), (-1, 0), (0, 1)], t.vector_mean(), True),
    ("vector_mean in a ball", Rows(ball, 3), [(2, 0), (-2, 0), (1, 1)], t.vector_mean(), True),
    ("variance", Rows(whole, 3), INTS, t.variance(), False),
    ("population variance", Rows(whole, 3), INTS, t.variance(ddof=0), False),
    ("std", Rows(whole, 3), INTS, t.std(grid=Fraction(1, 1000)), False),
    ("vector_variance", Rows(pairs, 3), [(1, 1), (-1, 0), (0, 1)], t.vector_variance(), False),
    ("population vector_variance", Rows(pairs, 3), [(1, 1), (-1, 0), (-1, 1)], t.vector_variance(ddof=0), False),
    ("vector_variance in a ball", Rows(ball, 3), [(2, 0), (0, -2), (-1, 1)], t.vector_variance(), False),
    ("unbounded", Rows(whole, 3), INTS, t.unbounded(), True),
]


def _check(transformation: Transformation, data, exact: bool) -> None:
    for d_in in (Fraction(1), Fraction(2)):
        verdict = try_stability(transformation, data, d_in)
        assert verdict.broken is None, f"moved further than the map says: {verdict.broken}"
        limit = transformation.stability_map(d_in)
        if exact:
            assert _attained(limit, verdict.furthest), f"map says {limit} at {d_in}, furthest seen {verdict.furthest}"


def _attained(limit, furthest) -> bool:
    if isinstance(limit, Triple):
        reached = [max(getattr(f, part) for f in furthest) for part in ("l0", "l1", "linf")]
        return reached[1:] == [limit.l1, limit.linf] or (reached[1] == limit.l1 and reached[2] * 2 >= limit.linf)
    if isinstance(limit, Root):
        return max(f.square for f in furthest) == limit.square
    return limit == 0 or max(furthest) >= limit * Fraction(9, 10)


def _sizes(data, many):
    return data_sets(data, sizes=range(many))


@pytest.mark.parametrize("metric", UNSIZED, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    ("name", "domain", "values", "step", "exact"), CASES + UNSIZED_ONLY, ids=lambda v: v if isinstance(v, str) else ""
)
def test_rows_that_come_and_go(metric, name, domain, values, step, exact):
    space = Space(domain, metric)
    try:
        built = space >> step
    except SpaceMismatch:
        assert isinstance(metric, InsertDelete), "only the order may be refused"
        return
    _check(built, _sizes(values[:3], 4), exact)
    if len(values) > 3:
        _check(built, _sizes(values, 3), False)


@pytest.mark.parametrize("metric", SIZED, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    ("name", "domain", "values", "step", "exact"), CASES + SIZED_ONLY, ids=lambda v: v if isinstance(v, str) else ""
)
def test_rows_that_are_replaced(metric, name, domain, values, step, exact):
    space = Space(Rows(domain.element, 3), metric)
    built = space >> step
    _check(built, data_sets(values[:4], sizes=[3]), exact and len(values) <= 4)


@pytest.mark.parametrize(
    ("name", "domain", "values", "step", "exact"), CASES + SIZED_ONLY, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_public_size_halves_what_rows_added_and_removed_do(name, domain, values, step, exact):
    """Under symmetric distance with a public size d rows are d // 2 replaced ones; 3 is no more than 2."""
    space = Space(Rows(domain.element, 3), SymmetricDistance())
    try:
        built = space >> step
    except SpaceMismatch:
        assert name == "unbounded"
        return
    replaced = Space(Rows(domain.element, 3), ChangeOne()) >> step
    aggregate = not isinstance(built.target.domain, Rows) and name != "distance_to"  # which counts in the metric itself
    for d_in in (1, 2, 3):
        assert try_stability(built, data_sets(values[:3], sizes=[3]), Fraction(d_in)).broken is None
        assert not aggregate or built.map(d_in=d_in) == replaced.map(d_in=d_in // 2)


def test_the_size_of_a_class_gives_twenty_not_four_hundred():
    """A hundred ages between 90 and 100, four rows apart: two replaced rows, ten each."""
    ages = rows(integers(lower=90, upper=100), size=100, metric=SymmetricDistance())
    assert (ages >> t.total()).map(d_in=4) == 20
    assert (ages >> t.count()).map(d_in=4) == 0
    assert (ages >> t.mean()).map(d_in=5) == Fraction(1, 5)


def test_e19_variance_and_std_are_tight():
    """Errata E19: (U-L)²/N bounds one replaced row, is attained, and beats the printed (U-L)²/(N-1)."""
    for size in (2, 3, 4):
        space = rows(integers(lower=0, upper=3), size=size)
        built = space >> t.variance()
        verdict = try_stability(built, data_sets([0, 3], sizes=[size]), Fraction(1))
        assert verdict.broken is None
        assert max(verdict.furthest) == built.map(d_in=1) == Fraction(9, size)
        assert built.map(d_in=1) < Fraction(9, size - 1)
        deviation = space >> t.std(grid=Fraction(1, 10**6))
        seen = try_stability(deviation, data_sets([0, 3], sizes=[size]), Fraction(1))
        assert seen.broken is None
        assert max(seen.furthest) >= deviation.map(d_in=1) - Fraction(3, 10**6)
        assert float(deviation.map(d_in=1)) < 3 / (size - 1) ** 0.5 + 1e-9


@pytest.mark.parametrize("grid", [Fraction(3, 2), Fraction(8, 5)])
def test_a_grid_coarser_than_the_reach_still_moves_by_a_step(grid):
    """A result that moves by less than a step may still cross a rounding: the map says one step, and it is reached."""
    deviation = rows(integers(lower=0, upper=3), size=6) >> t.std(grid=grid)
    average = rows(integers(lower=0, upper=10)) >> t.mean_of_at_least(size=4, grid=3)
    for built, data in ((deviation, data_sets([0, 3], sizes=[6])), (average, data_sets([0, 10], sizes=range(6)))):
        verdict = try_stability(built, data, Fraction(1))
        assert verdict.broken is None
        assert max(verdict.furthest) == built.map(d_in=1) == built.target.domain.step


def test_replaced_rows_move_two_groups():
    """A replaced row leaves one group and enters another, or moves one group by two: all of (2, 2, 2) is reached."""
    split = t.partition_by(lambda x: x > 0, keys=[True, False], author="test")
    framed = frame({"town": Texts(), "x": integers(lower=0, upper=1)}, size=2) >> t.group_by("town", keys=KEYS)
    cells = list(product(["s", "t", "u"], [0, 1]))
    both = [{"town": [a, b], "x": [x, y]} for (a, x), (b, y) in product(cells, repeat=2)]
    for built, data in ((rows(whole, size=2) >> split, data_sets(INTS, sizes=[2])), (framed, both)):
        for d_in in (1, 2):
            verdict = try_stability(built, data, Fraction(d_in))
            assert verdict.broken is None
            furthest = [max(getattr(far, part) for far in verdict.furthest) for part in ("l0", "l1", "linf")]
            limit = built.map(d_in=d_in)
            assert furthest == [min(limit.l0, 2), limit.l1, limit.linf]


def test_e34_an_unknown_size_mean_moves_little():
    """Errata E34: for n >= 1 one more row moves a clipped mean by at most (U-L)/(n+1); nothing goes to infinity."""
    low, high = 0, 10
    for n in (1, 2, 3):
        worst = max(
            abs(Fraction(sum(rows_), n) - Fraction(sum(rows_) + extra, n + 1))
            for rows_ in data_sets([low, high], sizes=[n])
            for extra in (low, high)
        )
        assert worst == Fraction(high - low, n + 1)
        ours = rows(integers(lower=low, upper=high)) >> t.mean_of_at_least(size=n, grid=Fraction(1, 1000))
        verdict = try_stability(ours, data_sets([low, high], sizes=range(n + 3)), Fraction(1))
        assert verdict.broken is None
        assert (
            worst <= ours.map(d_in=1) <= Fraction(high - low, n) + Fraction(1, 500)
        )  # finite, and not far from the truth


def test_e16_the_metric_decides_a_histograms_sensitivity():
    """Errata E16: L1 is 1 for add/remove and 2 for replace-one; L2 is 1 and √2."""
    added = rows(integers(lower=0, upper=1)) >> t.histogram()
    replaced = rows(integers(lower=0, upper=1), size=3) >> t.histogram()
    assert (added.map(d_in=1).total, added.map(d_in=1).root) == (1, Root(Fraction(1)))
    assert (replaced.map(d_in=1).total, replaced.map(d_in=1).root) == (2, Root(Fraction(2)))


def test_variances_of_vectors_use_up_their_maps():
    """(U-L)²/n for every entry, and 3√3·r²/n for their sum in a ball: reached at an angle of 60 degrees from the other rows."""
    for ddof in (0, 1):
        built = rows(pairs, size=2) >> t.vector_variance(ddof=ddof)
        furthest = try_stability(built, data_sets([(1, -1), (-1, 1), (-1, -1)], sizes=[2]), Fraction(1)).furthest
        assert max(furthest) == built.map(d_in=1) == Fraction(2, 2 - ddof)
    radius = 1000
    near = rows(Vectors(Lattice(Fraction(1), -1000, 1000), 2, Ball(Fraction(radius))), size=2) >> t.vector_variance()
    other, low, high = (-707, 707), (965, 258), (-258, -965)
    moved = L1().distance(near.steps([other, low]), near.steps([other, high]), near.target.domain)
    assert Fraction(99, 100) < plain(moved) / plain(near.map(d_in=1)) <= 1
    wide = np.array([(2**50, -(2**50)), (-(2**50), 2**50)])
    assert (rows(Vectors(Lattice(Fraction(1), -(2**50), 2**50), 2), size=2) >> t.vector_variance()).steps(wide)[
        0
    ] == 2**102


def test_vector_moments_are_read_entry_by_entry():
    built = rows(Vectors(Lattice(Fraction(1), 0, 10), 2)) >> t.vector_moments()
    first, second = t.vector_moments_of(built([(0, 5), (10, 5), (5, 5)]), lower=0, upper=10)
    assert (first.count, first.mean, second.mean) == (3, 5, 5)
    assert (round(first.variance, 3), round(second.variance, 3)) == (25, 0)
    with pytest.raises(InvalidArgument, match="odd number of entries"):
        t.vector_moments_of([1.0, 2.0], lower=0, upper=1)
    with pytest.raises(InvalidArgument, match=r"2\*\*30 steps apart"):
        rows(Vectors(Lattice(Fraction(1), 1, 1), 2)) >> t.vector_moments()


def test_e20_log_bands_have_a_place_for_everything():
    """Errata E20: zero, subnormals, NaN and infinities have declared bands; exponents come from bits."""
    built = rows(numbers()) >> t.log_bands(lowest=-3, highest=4)
    values = [0.0, -0.0, 5e-324, NAN, None, float("inf"), float("-inf"), 1.0, -1.0, 0.25, 8.0, 2.0**1000]
    assert built.steps(values).tolist() == [0, 0, 0, 0, 0, 8, -8, 4, -4, 2, 7, 8]
    exact = [2.0**k for k in range(-3, 5)] + [float(np.nextafter(2.0**k, 0)) for k in range(-2, 5)]
    assert built.steps(exact).tolist() == [*range(1, 9), *range(1, 8)]

    def printed(cells):
        with np.errstate(all="ignore"):
            return np.log2(np.abs(np.array(cells, dtype=np.float64))).astype(int)

    odd = printed([0.0, float("inf"), NAN])  # not numbers: whatever the machine makes of them
    assert (np.abs(odd.astype(np.float64)) > 2**60).any()
    below = float(np.nextafter(2.0**29, 0))
    assert printed([below]).tolist() == [29]  # the logarithm rounds up: a band too high; the exponent bits say 28
    wide = rows(numbers()) >> t.log_bands(lowest=0, highest=40)
    assert wide([below]).tolist() == [28 + 1]


@pytest.mark.parametrize(
    ("name", "domain", "values", "step", "exact"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_larger_data_of_every_kind(name, domain, values, step, exact, data):
    """Rows added, and rows replaced, in data sets far beyond what can be enumerated."""
    cells = st.lists(st.sampled_from(values), min_size=3, max_size=25)
    common, more = data.draw(cells), data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    _compare(Space(domain, SymmetricDistance()) >> step, common, common + more, len(more))
    sized = Space(Rows(domain.element, len(common) + len(more)), ChangeOne()) >> step
    others = data.draw(st.lists(st.sampled_from(values), min_size=len(more), max_size=len(more)))
    _compare(sized, common + more, common + others, len(more))


def _compare(built: Transformation, left, right, d_in) -> None:
    moved = built.target.metric.distance(built.steps(left), built.steps(right), built.target.domain)
    assert within(moved, built.stability_map(Fraction(d_in)))


@settings(max_examples=60, deadline=None)
@given(
    left=st.lists(st.one_of(st.none(), st.floats(width=32), st.integers(-(10**30), 10**30)), max_size=30),
    extra=st.lists(st.one_of(st.none(), st.floats(), st.just("text")), max_size=3),
)
def test_larger_data_through_clamp_and_total(left, extra):
    built = rows(numbers()) >> t.clamp(lower=-2.5, upper=100) >> t.total()
    moved = abs(built.steps(left + extra) - built.steps(left)) * built.target.domain.step
    assert within(moved, built.map(d_in=len(extra)))


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.floats(-1e6, 1e6), max_size=50), order=st.randoms())
def test_sums_do_not_depend_on_the_order(values, order):
    built = rows(numbers()) >> t.clamp(lower=-1000, upper=1000) >> t.total()
    shuffled = list(values)
    order.shuffle(shuffled)
    assert built.steps(values) == built.steps(shuffled)


def test_sums_never_overflow():
    built = rows(integers(lower=-(2**50), upper=2**50)) >> t.total()
    assert built.steps(np.full(100_000, 2**50)) == 100_000 * 2**50


def test_norm_clamp_is_exact_after_rounding():
    space = rows(Vectors(Numbers(), 3))
    built = space >> t.clamp_entries(lower=-10, upper=10, grid=Fraction(1, 8)) >> t.clamp_norm(radius=1)
    out = built.steps([[9.0, -9.0, 3.3], [0.5, 0.5, 0.5], [NAN, 1.0, 0.0]])
    assert ((out.astype(object) ** 2).sum(axis=1) <= 64).all()
    assert out[1].tolist() == [4, 4, 4]
    assert (built >> t.vector_total()).map(d_in=1) == Root(Fraction(1))


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("origin", [0, (1, -2, 0)])
@pytest.mark.parametrize("width", [3, 2**20, 2**50])
def test_every_norm_clamp_ends_within_its_ball(p, origin, width):
    """All corners and sign patterns of small, large and huge entries: the exact norm of the result is at most the radius."""
    space = rows(Vectors(Lattice(Fraction(1, 3), -width, width), 3))
    data = [list(row) for row in product([-width, -1, 0, width // 2, width], repeat=3)]
    for radius in (1, Fraction(10, 3), Fraction(width, 4)):
        built = space >> t.clamp_norm(radius=radius, p=p, origin=origin)
        element = built.target.domain.element
        out = built.steps(data).tolist()
        assert all(row in element for row in out)
        assert all(after == row for row, after in zip(data, out, strict=True) if row in element)


def test_norms_of_totals_around_an_origin():
    """(3, 4) is five away: a row in the ball of one around it moves a sum by at most six, a replaced one by two."""
    added, replaced = rows(AWAY) >> t.vector_total(), rows(AWAY, size=3) >> t.vector_total()
    assert (added.map(d_in=1), replaced.map(d_in=1)) == (Root(Fraction(36)), Root(Fraction(4)))
    assert (rows(AWAY, size=4) >> t.vector_mean()).map(d_in=1) == Root(Fraction(1, 4))
    assert [3, 4] in AWAY
    assert [3, 6] not in AWAY
    space = Space(VECTORS, SymmetricDistance())
    with pytest.raises(InvalidArgument, match="must lie on the grid"):
        space >> t.clamp_norm(radius=1, origin=Fraction(1, 2))
    with pytest.raises(InvalidArgument, match="one entry or 2"):
        space >> t.clamp_norm(radius=1, origin=[1, 2, 3])
    with pytest.raises(InvalidArgument, match="1, 2 or infinity"):
        space >> t.clamp_norm(radius=1, p=3)
    with pytest.raises(InvalidArgument, match="origin must have 2 entries"):
        Vectors(Lattice(), 2, Ball(Fraction(1), 1, (Fraction(0),)))


@pytest.mark.parametrize("p", [1, 2, None])
@pytest.mark.parametrize("origin", [(0, 0), (3, -1)])
@pytest.mark.parametrize("size", [None, 2])
def test_a_declared_ball_is_made_true(p, origin, size):
    """Rows outside the ball a space declares are drawn into it, as `clamp_norm` does: neighbours move by no more than the map."""
    lattice = Lattice(Fraction(1, 2), -4, 4)
    declared = rows(Vectors(lattice, 2, Ball(Fraction(1), p, origin)), size=size)
    clamped = rows(Vectors(lattice, 2), size=size) >> t.clamp_norm(radius=1, p=p, origin=origin)
    outside = [(4, 4), (-4, -4), (0, 1), (4, -3), (9**99, "x"), (-4,)]
    data = data_sets(outside, sizes=range(3) if size is None else [2])
    for step in (t.vector_total(), t.gram(), *([] if size is None else [t.vector_mean()])):
        built, same = declared >> step, clamped >> step
        _check(built, data, False)
        if step.name != "gram()" or (p is not None and origin == (0, 0)):  # otherwise it rests on the entries' bounds
            assert all(np.array_equal(built.steps(each), same.steps(each)) for each in data)


def test_a_declared_ball_costs_nothing_where_it_holds():
    """Rows inside stay as they are, a ball wider than the bounds is not looked at, and an origin off the grid is refused."""
    inside = np.array([(2**49, 0), (0, 1 - 2**49)])
    for radius in (2**49, 2**90):
        built = rows(Vectors(Lattice(Fraction(1), -(2**50), 2**50), 2, Ball(Fraction(radius)))) >> t.vector_total()
        assert built.steps(inside).tolist() == [2**49, 1 - 2**49]
    with pytest.raises(InvalidArgument, match="must lie on the grid"):
        rows(Vectors(Lattice(Fraction(1), 0, 2), 2, Ball(Fraction(2), 2, Fraction(1, 2)))) >> t.vector_total()


def test_data_never_raises():
    odd = [None, NAN, float("inf"), -0.0, "x", b"y", True, 10**400, [], {}]
    space = rows(numbers())
    for step in (
        t.clamp(lower=0, upper=1),
        t.impute(value=0),
        t.drop_missing(),
        t.bins(edges=[0, 1]),
        t.log_bands(lowest=0, highest=1),
        t.cast(to=numbers()),
        t.categorize(values=(1,), other=0),
        t.count(),
        t.count_distinct(),
        t.bin_counts(edges=[0, 1]),
        t.cumulative_counts(edges=[0, 1]),
    ):
        built = space >> step
        built.steps(odd)
        built.steps([])


ELSEWHERE = {
    # random: their couplings are decided in test_couplings.py
    "pair_randomly": "test_couplings",
    "partition_randomly": "test_couplings",
    "resize": "test_couplings",
    "truncate_rows": "test_couplings",
    # frames, partitions and orders have spaces of their own: below
    "clamp_entries": "here",
    "column": "here",
    "group_by": "here",
    "in_each": "here",
    "join_public": "here",
    "union": "here",
    "unordered": "here",
    # random parts of a compositor's data
    "sample_per_person": "test_per_person",
    "max_per_person": "test_per_person",
    "mean_per_person": "test_per_person",
    "median_per_person": "test_per_person",
    "min_per_person": "test_per_person",
    "mode_per_person": "test_per_person",
    "quantile_per_person": "test_per_person",
    "in_random_parts": "test_sample_and_aggregate",
    "sample_and_aggregate": "test_sample_and_aggregate",
    # several frames about the same people
    "join_frames": "test_joins",
    "take_frame": "test_joins",
    # graphs, and sums along a public network
    "degree_counts": "test_graphs",
    "degree_total": "test_graphs",
    "degrees": "test_graphs",
    "edge_count": "test_graphs",
    "neighbour_totals": "test_graphs",
    "node_count": "test_graphs",
    "total_over_edges": "test_graphs",
    "triangle_count": "test_graphs",
    # no transformations
    "Summary": "post-processing",
    "moments_of": "post-processing",
    "vector_moments_of": "post-processing",
}


def test_the_laws_walk_every_constructor():
    walked = {
        part.split("(")[0]
        for _, _, _, step, _ in CASES + UNSIZED_ONLY + SIZED_ONLY
        for part in repr(step).split(" >> ")
    }
    assert walked | set(ELSEWHERE) == set(t.__all__)


KEYS = ["s", "t"]
FRAMES = [
    {"who": [who for who, _ in people], "town": [town for _, town in people], "x": [1] * size}
    for size in range(3)
    for people in product(product(["a", "b"], ["s", "t", "u"]), repeat=size)
]


def _frame(**identifier):
    return frame({"who": Texts(), "town": Texts(), "x": integers(lower=0, upper=1)}, **identifier)


_TALL = t.filter_rows(lambda row: row["town"] != "s", author="test")
_WIDE = t.map_rows(lambda row: {"y": row["town"] + row["who"]}, to={"y": Texts()}, default={"y": ""}, author="test")
REGIONS = {"s": {"region": "north"}, "u": {"region": "south"}}


@pytest.mark.parametrize(
    ("space", "step"),
    [
        (_frame(), t.column("town")),
        (_frame(), t.group_by("town", keys=KEYS)),
        (_frame(), t.count()),
        (_frame(), _TALL),
        (_frame(identifier="who"), _TALL),
        (_frame(), _WIDE),
        (_frame(identifier="who"), _WIDE),
        (_frame(), t.map_rows(lambda row: len(row["town"]), to=integers(lower=0, upper=1), default=0, author="test")),
        (_frame(), t.group_by("town", keys=["s", "t", "u"]) >> t.union()),
        (_frame(), t.count_by_key("town")),
        (_frame(), t.count_by_key("who", "town")),
        (_frame(), t.group_by("town", keys=KEYS) >> t.in_each(t.column("x") >> t.total())),
        (_frame(), t.join_public(REGIONS, on="town", columns={"region": Texts()})),
        (_frame(identifier="who"), t.join_public(REGIONS, on="town", columns={"region": Texts()})),
    ],
    ids=lambda v: repr(v).split("(")[0] if not isinstance(v, Space) else type(v.metric).__name__,
)
def test_frames(space, step):
    built = space >> step
    assert len(FRAMES) == 43
    _check(built, FRAMES, True)


def test_rows_of_a_frame_that_are_replaced():
    """With a public size: as many columns as one likes, one row for one; a filter loses the size and counts a row twice."""
    space = frame({"town": Texts(), "x": integers(lower=0, upper=1)}, size=2)
    cells = list(product(["s", "t"], [0, 1]))
    data = [{"town": [a, b], "x": [x, y]} for (a, x), (b, y) in product(cells, repeat=2)]
    for step in (
        t.count(),
        t.filter_rows(lambda row: row["x"] == 1, author="test"),
        t.map_rows(lambda row: row["x"], to=integers(lower=0, upper=1), default=0, author="test"),
        t.map_rows(lambda row: {"x": row["x"]}, to={"x": integers()}, default={"x": 0}, author="test"),
        t.count_by_key("town"),
    ):
        _check(space >> step, data, True)


def test_whose_row_it_is_cannot_be_changed_by_a_function():
    """A function that gives a row to someone else would let one person move many: the identifier is not the function's."""
    space = _frame(identifier="who")
    with pytest.raises(InvalidArgument, match="stays as it is"):
        space >> t.map_rows(lambda row: row, to={"who": Texts()}, default={"who": ""}, author="test")
    with pytest.raises(SpaceMismatch, match="any number of rows"):
        space >> t.map_rows(lambda row: 1, to=integers(), default=0, author="test")
    with pytest.raises(SpaceMismatch, match="any number of rows"):
        space >> t.count()
    built = space >> _WIDE
    assert built.steps({"who": ["a", "b"], "town": ["s", None], "x": [1, 1]}) == {"who": ["a", "b"], "y": ["sa", ""]}


def test_the_largest_of_queries_on_different_grids():
    """Thirds and halves meet on sixths; the map is the larger of the two, not their sum."""
    halves = t.map_rows(lambda x: x, to=Lattice(Fraction(1, 2), 0, 3), default=0, author="test") >> t.total()
    thirds = t.map_rows(lambda x: x, to=Lattice(Fraction(1, 3), 0, 3), default=0, author="test") >> t.total()
    built = rows(whole) >> t.largest_of(halves, thirds)
    assert (built.target.domain.step, built.map(d_in=1)) == (Fraction(1, 6), Fraction(3, 2))
    assert built([2, 2]) == 2.0
    assert built.claims == ("test: <lambda>",)
    _check(built, _sizes([0, 1, 2], 3), False)
    with pytest.raises(SpaceMismatch, match="single numbers"):
        rows(whole) >> t.largest_of(t.histogram())
    with pytest.raises(InvalidArgument, match="at least one"):
        rows(whole) >> t.largest_of()


def test_the_distance_to_public_data_sets_of_people():
    space = _frame(identifier="who")
    built = space >> t.distance_to({"who": ["a"], "town": ["s"], "x": [1]}, {"who": [], "town": [], "x": []})
    _check(built, FRAMES, False)
    with pytest.raises(InvalidArgument, match="at least one public data set"):
        rows(whole) >> t.distance_to([7])


def test_partitions_of_rows():
    space = Space(Rows(whole), SymmetricDistance())
    split = t.partition_by(lambda x: x > 0, keys=[True, False], author="test")
    for step in (split >> t.union(), split >> t.in_each(t.clamp(lower=0, upper=1) >> t.total())):
        _check(space >> step, _sizes(INTS, 4), True)


def test_orders_are_forgotten():
    _check(Space(Rows(whole), InsertDelete()) >> t.unordered(), _sizes(INTS, 4), True)
    _check(Space(Rows(whole, 3), Hamming()) >> t.unordered(), data_sets(INTS, sizes=[3]), True)


def test_entries_of_vectors_are_clamped_one_by_one():
    space = rows(Vectors(numbers(), 2))
    built = space >> t.clamp_entries(lower=[0, -1], upper=[1, 1], grid=1)
    _check(built, _sizes([(0.2, NAN), (5.0, -7.0), (1.0, 1.0)], 3), True)


def test_monotonic_scores_move_together():
    """`LInfinity(monotonic=True)` halves what a selection pays, because entries never drift apart by more than the map says."""
    built = rows(whole) >> t.cumulative_counts(edges=[-1, 0, 2])
    assert built.target.metric == LInfinity(monotonic=True)
    assert (rows(whole, size=3) >> t.cumulative_counts(edges=[-1, 0, 2])).target.metric == LInfinity()
    drift = replace(built, target=Space(built.target.domain, RangeDistance()))
    _check(drift, _sizes(INTS, 4), True)
