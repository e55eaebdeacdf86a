"""Laplace and Gaussian noise on numbers, vectors and keyed tables: units, costs, error bars, refusals."""

from fractions import Fraction

import numpy as np
import pytest

import deniable.cost as costs
from deniable.core.distance import Root, Triple
from deniable.core.domain import Keyed, Lattice, Numbers, Rows, Vectors
from deniable.core.metric import L1, L2, AbsoluteDistance, LInfinity, Lp, PartitionDistance, SymmetricDistance
from deniable.core.space import Space
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.kernels import Law, noise_of
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms.additive import discrete_gaussian, gaussian, laplace, noisy_values
from deniable.mechanisms.carried import read_steps, saturated_sum, whole
from deniable.mechanisms.lattice_norms import norms, spread
from deniable.testing.scripted_entropy import Seeded, Silent

NUMBER = Space(Lattice(), AbsoluteDistance())
TENTHS = Space(Lattice(Fraction(1, 10)), AbsoluteDistance())


def vector(metric, length=4, step=1):
    return Space(Vectors(Lattice(Fraction(step)), length), metric)


def keyed(metric, keys=("b", "a", "c")):
    return Space(Keyed(Lattice(), keys), metric)


@pytest.mark.parametrize("mechanism", [laplace, gaussian, discrete_gaussian])
def test_whole_numbers_get_whole_noise_and_no_rounding_bias(mechanism):
    counted = NUMBER >> mechanism(scale=2)
    draws = [counted(7, entropy=Seeded(seed)) for seed in range(300)]
    assert all(type(draw) is int for draw in draws)
    assert abs(sum(draws) / 300 - 7) < 1.5  # cutting float noise would shift every count by one half; see the law tests
    assert counted(7, entropy=Silent()) == 7


def test_a_grid_answer_is_a_multiple_of_the_step_nearest_to_it():
    priced = TENTHS >> laplace(scale=3)
    assert priced(57, entropy=Silent()) == 5.7
    assert priced.cost(d_in=1) == costs.DiscreteLaplace(scale=30, sensitivity=10)
    assert priced.cost(d_in=Fraction(19, 100)) == costs.DiscreteLaplace(scale=30, sensitivity=1)  # 1.9 steps reach one


def test_costs_follow_the_metric():
    assert (vector(L1()) >> laplace(scale=3)).cost(d_in=2) == costs.DiscreteLaplace(
        scale=3, sensitivity=2, coordinates=2
    )
    assert (vector(L2()) >> gaussian(scale=3)).cost(d_in=Root(Fraction(2))) == costs.Gaussian(
        scale=3, squared_sensitivity=2
    )
    assert (vector(LInfinity()) >> gaussian(scale=3)).cost(d_in=2) == costs.Gaussian(scale=3, squared_sensitivity=16)
    table = keyed(PartitionDistance(AbsoluteDistance())) >> discrete_gaussian(scale=3)
    assert table.cost(d_in=(2, 5, 3)) == costs.DiscreteGaussian(
        scale=3, squared_sensitivity=15, coordinates=2, largest=3
    )
    assert (NUMBER >> gaussian(scale=3)).cost(d_in=0) == costs.Gaussian(scale=3, squared_sensitivity=0)


def test_loss_and_accuracy_of_the_readme_example():
    total = Space(Lattice(Fraction(1, 10)), AbsoluteDistance()) >> laplace(scale=20)
    assert total.loss(d_in=100).upper == 5.0
    assert total.accuracy(confidence=0.95).error == Fraction(599, 10)


def test_vectors_keep_shape_and_tables_keep_public_order():
    values = vector(L1()) >> laplace(scale=1)
    answer = values([1, 2, 3, 4], entropy=Silent())
    assert isinstance(answer, np.ndarray)
    assert answer.dtype == np.int64
    assert answer.tolist() == [1, 2, 3, 4]
    table = keyed(L1()) >> laplace(scale=1)
    assert list(table({"a": 1, "b": 2, "c": 3}, entropy=Silent()).items()) == [("b", 2), ("a", 1), ("c", 3)]


def test_accuracy_of_a_vector_is_that_of_each_entry():
    assert (vector(L1()) >> laplace(scale=5)).accuracy().error == (NUMBER >> laplace(scale=5)).accuracy().error


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Space(Numbers(), AbsoluteDistance()), "grid"),
        (Space(Lattice(missing=True), AbsoluteDistance()), "missing"),
        (Space(Rows(Lattice()), SymmetricDistance()), "count\\(\\) or total\\(\\)"),
        (Space(Keyed(Lattice(), None), L1()), "keys"),
        (Space(Vectors(Lattice(), 2), Lp(3)), "norm"),
    ],
)
def test_spaces_that_do_not_fit_are_refused_when_built(space, message):
    with pytest.raises(SpaceMismatch, match=message):
        space >> laplace(scale=1)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "3"])
def test_bad_scales_are_refused(scale):
    with pytest.raises(InvalidArgument, match="scale"):
        NUMBER >> gaussian(scale=scale)


def test_sums_beyond_int64_stay_at_its_ends():
    most, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    left, right = np.array([most, least, 5, most]), np.array([3, -3, -7, -3])
    assert saturated_sum(left, right).tolist() == [most, least, -2, most - 3]
    assert whole([2**70, -(2**70), 3]).tolist() == [most, least, 3]
    assert whole(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [most]
    with pytest.raises(TypeError, match="float64"):
        whole([1.5])


@pytest.mark.parametrize("step", [Fraction(1, 10), Fraction(3, 7), Fraction(5), Fraction(1, 2**60), Fraction(2**60, 3)])
def test_arrays_are_read_like_single_numbers(step):
    lattice = Lattice(step)
    steps = np.array([0, 1, -7, 12345678901, 2**62, -(2**61) + 1])
    limit = int(np.iinfo(np.int64).max) // step.numerator * step.numerator
    wanted = [
        max(-limit, min(limit, lattice.read(k))) if step.denominator == 1 else lattice.read(k) for k in steps.tolist()
    ]
    assert read_steps(lattice, steps).tolist() == wanted


def test_plain_arrays_keep_their_shape():
    counts = np.arange(12).reshape(3, 4)
    assert noisy_values(counts, noise=noise_of(Law.GAUSSIAN, Fraction(3)), entropy=Silent()).tolist() == counts.tolist()
    assert noisy_values(counts, noise=noise_of(Law.DISCRETE_GAUSSIAN, Fraction(3)), entropy=Seeded(1)).shape == (3, 4)


def _vectors(size, reach):
    if not size:
        yield ()
        return
    for rest in _vectors(size - 1, reach):
        for value in range(-reach, reach + 1):
            yield (value, *rest)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_norms_hold_for_every_small_difference_and_are_reached(size):
    space = {
        "L1": (L1(), lambda v: sum(map(abs, v)), Fraction),
        "L2": (L2(), lambda v: sum(x * x for x in v), Root),
        "LInfinity": (LInfinity(), lambda v: max(map(abs, v)), Fraction),
    }
    for metric, measured, distance in space.values():
        for d in range(5):
            bound = norms(metric, distance(Fraction(d)), step=Fraction(1), size=size)
            close = [v for v in _vectors(size, 4) if measured(v) <= d]
            reached = Sensitivity(
                l0=max(sum(x != 0 for x in v) for v in close),
                l1=max(sum(map(abs, v)) for v in close),
                squares=max(sum(x * x for x in v) for v in close),
                linf=max(max(map(abs, v)) for v in close),
            )
            for name in ("l0", "l1", "l2_squared", "linf"):
                assert getattr(bound, name) >= getattr(reached, name)
            assert (bound.l1, bound.linf) == (reached.l1, reached.linf) or metric == L2()
            if metric != L2():
                assert bound == reached


def test_norms_of_a_partition_triple_hold():
    metric = PartitionDistance(AbsoluteDistance())
    for l0 in range(4):
        for l1 in range(5):
            for linf in range(4):
                bound = norms(
                    metric,
                    Triple(*map(Fraction, (l0, l1, linf))),
                    step=Fraction(1),
                    size=3,
                )
                for v in _vectors(3, 3):
                    size0, size1, most = sum(x != 0 for x in v), sum(map(abs, v)), max(map(abs, v))
                    if size0 <= l0 and size1 <= l1 and most <= linf:
                        assert size0 <= bound.l0
                        assert size1 <= bound.l1
                        assert sum(x * x for x in v) <= bound.l2_squared
                        assert most <= bound.linf


def test_spread_is_the_most_that_scores_can_move_apart():
    for metric, allowed in (
        (LInfinity(), lambda v, d: max(map(abs, v)) <= d),
        (LInfinity(monotonic=True), lambda v, d: max(map(abs, v)) <= d and (min(v) >= 0 or max(v) <= 0)),
        (L1(), lambda v, d: sum(map(abs, v)) <= d),
    ):
        for d in range(4):
            reached = max(max(v) - min(v) for v in _vectors(3, 3) if allowed(v, d))
            assert spread(metric, Fraction(d), step=Fraction(1)) == reached
