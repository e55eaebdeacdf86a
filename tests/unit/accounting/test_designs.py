"""Costs of designs, and the designs that are refused."""

import math
from fractions import Fraction
from itertools import combinations

import pytest

from deniable.accounting import delta, epsilon
from deniable.accounting.classic import classic_gaussian_scale, noted_gaussian_scale, shuffled_epsilon
from deniable.accounting.designs import (
    Design,
    by_sampling,
    gaussian_sparse_vector,
    tree_cost,
    truncated_batches,
    truncated_laplace_cost,
)
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import Gaussian, Laplace, Neighbours, Sampled, Sampling, Shuffled, TruncatedLaplace
from deniable.errors import InvalidArgument
from deniable.exact import binomial_tail


@pytest.mark.parametrize("design", [Design.CLUSTER, Design.STRATIFIED, Design.SYSTEMATIC, Design.WITH_REPLACEMENT])
def test_designs_without_a_proof_are_refused_with_the_reason(design):
    with pytest.raises(InvalidArgument, match="does not amplify"):
        by_sampling(Laplace(scale=1), rate=0.1, design=design)


def test_designs_with_one_become_costs():
    assert by_sampling(Laplace(scale=1), rate=0.1) == Laplace(scale=1).sampled(rate=0.1)
    found = by_sampling(Laplace(scale=1), rate=0.1, design=Design.SIMPLE_RANDOM, neighbours=Neighbours.REPLACE)
    assert found == Sampled(Laplace(scale=1), rate=0.1, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.REPLACE)


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 7, 8, 1000])
def test_a_leaf_lies_below_as_many_nodes_as_the_tree_has_levels(leaves):
    nodes = [
        (start, size)
        for size in (2**k for k in range(leaves.bit_length()))
        for start in range(0, leaves - size + 1, size)
    ]
    most = max(sum(start <= leaf < start + size for start, size in nodes) for leaf in range(leaves))
    assert tree_cost(scale=3, leaves=leaves, sensitivity=2).squared_sensitivity == 4 * most


def test_sparse_vector_with_gaussian_noise_is_its_formula():
    cost = gaussian_sparse_vector(threshold_scale=5, query_scale=8, queries=20, hits=2)
    patterns = 1 + 20 + 190
    bounds = dict(cost.curve)
    assert float(bounds[Fraction(4)]) == pytest.approx(math.log(patterns) / 3 + 4 * (1 / 50 + 2 * 4 / 128))
    assert RenyiPrivacy().read(cost).at(Fraction(4)) <= bounds[Fraction(4)]
    monotonic = gaussian_sparse_vector(threshold_scale=5, query_scale=8, queries=20, hits=2, monotonic=True)
    assert epsilon(monotonic, delta=1e-6).upper < epsilon(cost, delta=1e-6).upper


@pytest.mark.parametrize(
    ("trials", "chance", "least"), [(100, "0.1", 20), (999, "0.01", 50), (50, "0.9", 50), (5, "0.5", 9)]
)
def test_binomial_tails_round_up(trials, chance, least):
    p = Fraction(chance)
    right = sum(
        (math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(least, min(trials, least + 200) + 1)),
        Fraction(0),
    )
    found = binomial_tail(trials, p, least)
    assert right <= found
    assert float(found) == pytest.approx(float(right), rel=1e-12)


def test_truncated_batches_cost_a_little_more_than_poisson_ones():
    base = Gaussian(scale=1, sensitivity=1)
    exact = base.sampled(rate=0.01)
    roomy = truncated_batches(base, rate=0.01, cap=200, population=10_000)
    tight = truncated_batches(base, rate=0.01, cap=101, population=10_000)
    plain = delta(exact, epsilon=1).upper
    assert plain <= delta(roomy, epsilon=1).upper <= plain * 1.001
    assert delta(tight, epsilon=1).upper > 10 * plain
    assert delta(tight, epsilon=1).upper <= delta(base.group(2).sampled(rate=0.01), epsilon=1).upper


def test_truncated_batches_bound_the_enumerated_mechanism():
    """Three others, rate 1/2, at most two kept: the batch's Gaussian sum with the worst others, both directions, by quadrature."""
    rate, cap, others = 0.5, 2, 3
    scale = 1.0

    def laws(present):
        """Mixture over batches of the mean of the sum; the unit adds 1, every other -1."""
        means = {}
        for size in range(others + 1):
            weight = math.comb(others, size) * rate**size * (1 - rate) ** (others - size)
            for inside, chance in ((1, rate), (0, 1 - rate)) if present else ((0, 1.0),):
                total = size + inside
                kept = min(cap, total)
                share = kept / total if inside else 0.0
                for with_unit, part in ((1, share), (0, 1 - share)):
                    if part:
                        mean = with_unit - (kept - with_unit)
                        means[mean] = means.get(mean, 0.0) + weight * chance * part
        return means

    def density(means, x):
        return sum(w * math.exp(-((x - m) ** 2) / (2 * scale**2)) for m, w in means.items()) / math.sqrt(2 * math.pi)

    one, two = laws(present=True), laws(present=False)
    cost = truncated_batches(Gaussian(scale=1, sensitivity=1), rate=0.5, cap=cap, population=others + 1)
    for e in (0.1, 0.5, 1.0, 2.0):
        for p, q in ((one, two), (two, one)):
            excess = sum(max(0.0, density(p, x / 50) - math.exp(e) * density(q, x / 50)) for x in range(-600, 600)) / 50
            assert excess <= delta(cost, epsilon=e).upper + 1e-6


def test_the_closed_form_of_shuffling():
    cost = Shuffled(epsilon=1, reports=10**6)
    found = shuffled_epsilon(cost, delta=Fraction(1, 10**8))
    grown = math.e
    right = math.log1p((grown - 1) / (grown + 1) * (8 * math.sqrt(grown * math.log(4e8) / 1e6) + 8 * grown / 1e6))
    assert float(found) == pytest.approx(right, rel=1e-12)
    assert shuffled_epsilon(Shuffled(epsilon=1, reports=100), delta=Fraction(1, 10**8)) is None
    assert shuffled_epsilon(Shuffled(epsilon=0, reports=10), delta=Fraction(1, 2)) == 0


def test_classic_scales_are_sound_where_proved_and_refused_elsewhere():
    for e in (0.1, 0.5, 1.0):
        classic = classic_gaussian_scale(epsilon=e, delta=1e-5)
        assert epsilon(Gaussian(scale=classic, sensitivity=1), delta=1e-5) <= e
        assert noted_gaussian_scale(epsilon=e, delta=1e-5) > classic
    with pytest.raises(InvalidArgument, match="up to 1"):
        classic_gaussian_scale(epsilon=1.01, delta=1e-5)


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 5, 7, 8])
def test_trees_in_which_a_unit_takes_part_several_times(leaves):
    """Every set of leaves of small trees: the squared norm of what one unit adds to the nodes, and where it is reached."""
    nodes = [
        range(start, start + 2**level)
        for level in range(leaves.bit_length())
        for start in range(0, leaves - 2**level + 1, 2**level)
    ]
    for times in range(1, leaves + 1):
        truth = max(
            sum(len(set(node) & set(chosen)) ** 2 for node in nodes) for chosen in combinations(range(leaves), times)
        )
        found = tree_cost(scale=1, leaves=leaves, participations=times).squared_sensitivity
        assert found >= truth
        if leaves in (1, 2, 4, 8):
            assert found == truth


@pytest.mark.parametrize(("scale", "radius", "moved"), [(1, 4, 1), (2, 3, 2), (1, 2, 2), (1, 2, 3), (5, 1, 1)])
def test_continuous_truncated_laplace_noise(scale, radius, moved):
    """Delta is the integral of the density over what the neighbour cannot answer; inside the ratio is at most e^loss."""
    cost = truncated_laplace_cost(scale=scale, radius=radius, sensitivity=moved)
    whole = 2 * scale * -math.expm1(-radius / scale)
    cells = 20_000
    width = moved / cells
    alone = math.fsum(math.exp(-abs(-radius + width * (k + 0.5)) / scale) * width for k in range(cells)) / whole
    assert alone * (1 - 1e-7) <= float(cost.delta) <= alone * (1 + 1e-7)
    assert cost.epsilon == Fraction(moved, scale)
    assert delta(cost, epsilon=cost.epsilon).upper == pytest.approx(float(cost.delta))
    steps = 200  # the same on a fine grid: the discrete record converges to it
    fine = TruncatedLaplace(scale=scale * steps, radius=radius * steps, sensitivity=moved * steps)
    assert delta(fine, epsilon=cost.epsilon).upper == pytest.approx(float(cost.delta), rel=2e-2)


def test_truncated_noise_at_its_ends():
    assert truncated_laplace_cost(scale=1, radius=1, sensitivity=0).delta == 0
    assert truncated_laplace_cost(scale=1, radius=1, sensitivity=2).delta == 1
    with pytest.raises(InvalidArgument):
        truncated_laplace_cost(scale=1, radius=0)
