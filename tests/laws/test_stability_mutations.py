"""The laws notice a wrong map: halved, a factor two dropped, one too small, or needlessly large."""

from dataclasses import replace
from fractions import Fraction

import pytest

from deniable import transformations as t
from deniable.audit.comparison import check_privacy
from deniable.core import Hamming, Root, Rows, Space, SymmetricDistance, Triple, Vectors, integers, rows
from deniable.mechanisms import discrete_gaussian, laplace
from deniable.testing.couplings import keeps_coupling
from deniable.testing.neighbours import data_sets, try_stability
from tests.laws.test_stability import CASES, SIZED_ONLY, _attained
from tests.naming import case

ONE, TWO = Fraction(1), Fraction(2)


def _scaled(distance, factor):
    if isinstance(distance, Triple):
        return Triple(distance.l0 * factor, distance.l1 * factor, distance.linf * factor)
    return distance * factor


def _built():
    for name, domain, values, step, exact in CASES:
        if exact:
            yield name, Space(domain, SymmetricDistance()) >> step, data_sets(values[:3], sizes=range(3))
    for name, domain, values, step, exact in SIZED_ONLY:
        if exact:
            yield name, Space(domain, Hamming()) >> step, data_sets(values[:3], sizes=[3])


@pytest.mark.parametrize(("name", "built", "data"), list(_built()), ids=lambda v: v if isinstance(v, str) else "")
def test_a_halved_map_is_caught(name, built, data):
    honest = built.stability_map
    halved = replace(built, stability_map=lambda d: _scaled(honest(d), Fraction(1, 2)))
    assert try_stability(built, data, ONE).broken is None
    assert try_stability(halved, data, ONE).broken is not None


@pytest.mark.parametrize(("name", "built", "data"), list(_built()), ids=lambda v: v if isinstance(v, str) else "")
def test_a_doubled_map_is_caught(name, built, data):
    furthest = try_stability(built, data, ONE).furthest
    limit = built.stability_map(ONE)
    assert not _attained(_scaled(limit, 4) if isinstance(limit, Triple) else _scaled(limit, 2), furthest)


REPLACED = rows(integers(lower=-1, upper=2), size=2)


@pytest.mark.parametrize(
    ("step", "forgotten"),
    [
        (t.histogram(), Triple(ONE, ONE, ONE)),
        (t.category_counts(), Triple(ONE, ONE, ONE)),
        (t.tree_counts(), Triple(Fraction(2), Fraction(2), ONE)),
        (t.filter_rows(lambda x: x >= 0, author="test"), ONE),
        (t.unbounded(), ONE),
        (t.total(), TWO),  # the largest absolute value where the range is meant
        (t.total(), Fraction(3) - Fraction(1, 100)),
    ],
    ids=case,
)
def test_a_dropped_factor_two_is_caught(step, forgotten):
    built = replace(REPLACED >> step, stability_map=lambda d: forgotten)
    assert try_stability(built, data_sets([-1, 0, 2], sizes=[2]), ONE).broken is not None


def test_a_gram_without_its_root_two_is_caught():
    ball = t.clamp_norm(radius=2).build(rows(Vectors(integers(lower=-2, upper=2), 2), size=1))
    built = ball >> t.gram()
    assert built.map(d_in=1) == Root(Fraction(32))
    wrong = replace(built, stability_map=lambda d: Root(Fraction(16)))
    assert try_stability(wrong, data_sets([(2, 0), (0, 2), (1, 1)], sizes=[1]), ONE).broken is not None


def test_a_coupling_one_too_tight_is_caught():
    resized = rows(integers(lower=0, upper=9)) >> t.resize(size=2, constant=0)
    assert not keeps_coupling(resized, [1, 2], [1, 2, 3], apart=Fraction(0))
    pairs = Space(Rows(integers()), SymmetricDistance()) >> t.pair_randomly()
    assert not keeps_coupling(pairs, [1, 2], [1, 2, 3], apart=ONE)


@pytest.mark.parametrize("noise", [laplace(scale=1), discrete_gaussian(scale=1)], ids=case)
def test_a_wrong_map_in_a_chain_breaks_the_promise_of_the_whole(noise):
    """From data to noise: a histogram under replaced rows priced as under added rows is caught on its output law."""
    space = rows(integers(lower=0, upper=1), size=2)
    honest = space >> t.category_counts()
    careless = replace(honest, stability_map=lambda d: Triple(ONE, ONE, ONE))
    assert check_privacy(honest >> noise, [0, 0], [0, 1], tail=Fraction(1, 10**4)).kept
    assert check_privacy(careless >> noise, [0, 0], [0, 1], tail=Fraction(1, 10**4)).broken
