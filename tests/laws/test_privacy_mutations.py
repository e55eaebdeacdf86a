"""The law suite catches wrong mechanisms: each test plants one mistake in the code or in its price and sees it refuted.

Every planted mistake is also shown to be the only one: without it the same check passes.
"""

from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from deniable import noise as samplers
from deniable.audit.comparison import check_privacy, compare
from deniable.core.domain import Categories, Keyed, Lattice, Numbers, Rows, Vectors
from deniable.core.metric import L1, AbsoluteDistance, ChangeOne, LInfinity, PartitionDistance, SymmetricDistance
from deniable.core.space import Space
from deniable.cost import Bounded
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms import (
    MaxNoise,
    discrete_gaussian,
    exponential,
    gaussian,
    laplace,
    most_frequent,
    private_histogram,
    private_median,
    private_mode,
    report_noisy_max,
    threshold_histogram,
    truncated_laplace,
)
from deniable.mechanisms.sparse import Sparse
from tests.laws.test_privacy_sparse import integrated
from tests.planted_noise import plant, scaled

NUMBER = Space(Lattice(), AbsoluteDistance())
THREE = Space(Vectors(Lattice(), 3), LInfinity())
TABLE = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))
TAIL = Fraction(1, 10**5)


def module(name: str):
    return import_module(f"deniable.mechanisms.{name}")


@pytest.mark.parametrize("step", [laplace, gaussian, discrete_gaussian])
def test_a_halved_scale_of_one_number(step, monkeypatch):
    assert check_privacy(NUMBER >> step(scale=2), 0, 1, tail=TAIL).kept
    plant(monkeypatch, "one", scaled(2))
    assert check_privacy(NUMBER >> step(scale=2), 0, 1, tail=TAIL).broken


@pytest.mark.parametrize("step", [laplace, gaussian])
def test_a_halved_scale_of_a_vector(step, monkeypatch):
    space = Space(Vectors(Lattice(), 2), L1())
    assert check_privacy(space >> step(scale=1), [0, 0], [1, 0], tail=TAIL).kept
    plant(monkeypatch, "draw", scaled(2))
    assert check_privacy(space >> step(scale=1), [0, 0], [1, 0], tail=TAIL).broken


def test_a_halved_scale_of_a_choice(monkeypatch):
    mechanism = THREE >> exponential(scale=2)
    assert check_privacy(mechanism, [4, 0, 0], [3, 1, 1]).kept
    halved = SimpleNamespace(exponential_choice=lambda v, scale, e: samplers.exponential_choice(v, scale / 2, e))
    monkeypatch.setattr(module("exponential_mechanism"), "noise", halved)
    assert check_privacy(mechanism, [4, 0, 0], [3, 1, 1]).broken


@pytest.mark.parametrize("noise", [MaxNoise.EXPONENTIAL, MaxNoise.GUMBEL])
def test_a_halved_scale_of_a_quantile(noise, monkeypatch):
    rows = Space(Rows(Numbers()), SymmetricDistance())
    mechanism = rows >> private_median(scale=1, lower=0, upper=40, grid=1, noise=noise)
    left, right = [39.5], [39.5, 40]  # one point rises while forty, which hold almost all weight, fall
    assert check_privacy(mechanism, left, right).kept
    honest = module("private_quantile").scored

    def doubled(*rows, **how):  # scores twice as large are a scale half as large
        edges, scores = honest(*rows, **how)
        return edges, 2 * scores

    monkeypatch.setattr(module("private_quantile"), "scored", doubled)
    assert check_privacy(mechanism, left, right).broken


def test_a_scale_in_the_wrong_units(monkeypatch):
    tenths = Space(Lattice(Fraction(1, 10)), AbsoluteDistance())
    assert check_privacy(tenths >> laplace(scale=1), 0, 10, tail=TAIL).kept
    plant(monkeypatch, "one", scaled(10))
    assert check_privacy(tenths >> laplace(scale=1), 0, 10, tail=TAIL).broken


@pytest.mark.parametrize("noise", list(MaxNoise))
def test_a_dropped_factor_two_of_a_selection(noise, monkeypatch):
    mechanism = THREE >> report_noisy_max(scale=Fraction(1, 2), noise=noise)
    assert check_privacy(mechanism, [3, 0, 0], [2, 1, 1], tail=TAIL).kept
    right = module("scores").spread
    monkeypatch.setattr(module("scores"), "spread", lambda metric, d_in, *, step: right(metric, d_in, step=step) // 2)
    assert check_privacy(mechanism, [3, 0, 0], [2, 1, 1], tail=TAIL).broken


def test_a_dropped_factor_two_of_a_changed_row(monkeypatch):
    space = Space(Rows(Categories(("x", "y")), size=2), ChangeOne())
    counted = space >> private_histogram(scale=1)
    assert check_privacy(counted, ["x", "x"], ["x", "y"], tail=TAIL).kept
    monkeypatch.setattr(module("counted"), "counts_apart", lambda metric, d_in: Sensitivity(l0=1, l1=1, linf=1))
    assert check_privacy(counted, ["x", "x"], ["x", "y"], tail=TAIL).broken
    best = space >> private_mode(scale=1)
    assert check_privacy(best, ["x", "x"], ["x", "y"]).kept
    monkeypatch.setattr(module("counted"), "added_or_removed", lambda metric, d_in: 1)
    assert check_privacy(best, ["x", "x"], ["x", "y"]).broken


def test_a_dropped_factor_two_of_a_sparse_vector():
    """Scores that move both ways priced as if they moved one way: 1/s + 1/q instead of 1/s + 2/q."""
    terms = Sparse(2, Fraction(1), Fraction(1, 2), 1)
    left, right = (integrated(values, terms, reach=30) for values in ([0] * 100 + [-4], [1] * 100 + [-5]))
    both, one = terms.loss(least=-1, most=1), terms.loss(least=0, most=1)
    assert (both, one) == (5, 3)
    assert compare(left, right, Bounded(epsilon=both), losses=[both]).kept
    assert compare(left, right, Bounded(epsilon=one), losses=[one]).broken


def test_an_off_by_one_threshold_in_the_code(monkeypatch):
    mechanism = TABLE >> threshold_histogram(scale=1, threshold=4)
    assert check_privacy(mechanism, {}, {"a": 1}, d_in=(1, 1, 1), losses=[0, 1], tail=TAIL).kept
    right = module("private_keys").noisy_values
    monkeypatch.setattr(module("private_keys"), "noisy_values", lambda values, **how: right(values, **how) + 1)
    assert check_privacy(mechanism, {}, {"a": 1}, d_in=(1, 1, 1), losses=[0, 1], tail=TAIL).broken


def test_an_off_by_one_threshold_in_the_price(monkeypatch):
    """Counting only the mass above the threshold, as if the rule were `noisy > threshold`."""
    right = module("private_keys").new_key_chance
    monkeypatch.setattr(module("private_keys"), "new_key_chance", lambda threshold, **how: right(threshold + 1, **how))
    mechanism = TABLE >> threshold_histogram(scale=1, threshold=4)
    assert check_privacy(mechanism, {}, {"a": 1}, d_in=(1, 1, 1), losses=[0, 1], tail=TAIL).broken


def test_a_lead_counted_to_a_change_instead_of_a_tie(monkeypatch):
    mechanism = Space(Keyed(Lattice(), None), L1()) >> most_frequent(scale=Fraction(1, 2), delta=Fraction(1, 50))
    assert check_privacy(mechanism, {"a": 1, "b": 2}, {"a": 2, "b": 2}, losses=[0, 2], tail=TAIL).kept
    right = module("propose_test_release")._leader
    monkeypatch.setattr(module("propose_test_release"), "_leader", lambda data: (right(data)[0], right(data)[1] + 1))
    assert check_privacy(mechanism, {"a": 1, "b": 2}, {"a": 2, "b": 2}, losses=[0, 2], tail=TAIL).broken


def test_a_radius_priced_one_too_wide(monkeypatch):
    mechanism = NUMBER >> truncated_laplace(scale=1, radius=3)
    assert check_privacy(mechanism, 0, 1, losses=[0, 1, 2]).kept
    record = module("bounded_noise").TruncatedLaplace
    monkeypatch.setattr(
        module("bounded_noise"),
        "TruncatedLaplace",
        lambda *, scale, radius, sensitivity: record(scale=scale, radius=radius + 1, sensitivity=sensitivity),
    )
    assert check_privacy(mechanism, 0, 1, losses=[0, 1, 2]).broken


def test_noise_shared_between_entries(monkeypatch):
    """One draw used for both entries of a vector: the difference of the two is then exact."""
    plant(monkeypatch, "draw", lambda _: lambda self, count, entropy: np.repeat(self.one(entropy), count))
    mechanism = Space(Vectors(Lattice(), 2), L1()) >> laplace(scale=2)
    assert check_privacy(mechanism, [0, 0], [1, 0], tail=TAIL).broken
