"""Chains meet or are refused when built; maps and functions compose in order; claims travel along."""

from fractions import Fraction

import pytest

from deniable import cost as costs
from deniable.core import (
    AbsoluteDistance,
    Lattice,
    Rows,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    integers,
    own_mechanism,
    own_transformation,
    plain,
    rows,
    step,
)
from deniable.errors import InvalidArgument, SpaceMismatch

DATA = rows(integers(lower=0, upper=10))
NUMBER = Space(Lattice(), AbsoluteDistance())


@step
def total(space):
    """The sum."""
    return own_transformation(space, NUMBER, function=sum, stability_map=lambda d: 10 * plain(d), author="Ada")


@step
def noisy(space, *, scale):
    """A stand-in with a map."""
    return own_mechanism(
        space,
        function=lambda data, entropy: data,
        privacy_map=lambda d: costs.Laplace(scale=scale, sensitivity=plain(d)),
        author="Bob",
    )


def test_a_chain_composes_functions_and_maps():
    mechanism = DATA >> total() >> noisy(scale=5)
    assert mechanism([1, 2, 3]) == 6
    assert mechanism.cost(d_in=2) == costs.Laplace(scale=5, sensitivity=20)
    assert mechanism.claims == ("Ada: sum", "Bob: <lambda>")


def test_steps_compose_before_a_space_arrives():
    recipe = total() >> noisy(scale=5)
    assert isinstance(recipe, Step)
    assert (DATA >> recipe).cost(d_in=1) == costs.Laplace(scale=5, sensitivity=10)
    assert repr(recipe) == "total() >> noisy(scale=5)"


def test_post_processing_keeps_the_cost():
    doubled = (DATA >> total() >> noisy(scale=5)) >> (lambda answer: 2 * answer)
    assert doubled([1, 2]) == 6
    assert doubled.cost(d_in=1) == costs.Laplace(scale=5, sensitivity=10)
    with pytest.raises(InvalidArgument, match="states no accuracy"):
        doubled.accuracy()


def test_ends_that_do_not_meet_are_refused_when_built():
    summed = DATA >> total()
    with pytest.raises(SpaceMismatch, match="expects"):
        summed >> (DATA >> total())
    with pytest.raises(SpaceMismatch, match="mechanism"):
        (total() >> noisy(scale=1) >> total()).build(DATA)


def test_the_map_of_a_transformation_is_exact():
    assert (DATA >> total()).map(d_in=0.1) == 1
    assert (DATA >> total()).map(d_in=Fraction(1, 3)) == Fraction(10, 3)


def test_random_transformations_draw_from_the_entropy_they_are_handed():
    drawn = []

    def take(data, entropy):
        drawn.append(entropy)
        return data[:1]

    first = Transformation(
        DATA, Space(Rows(Lattice(Fraction(1), 0, 10)), SymmetricDistance()), take, lambda d: 2 * plain(d)
    )
    token = object()
    assert first([4, 5], entropy=token) == [4]
    assert drawn == [token]
