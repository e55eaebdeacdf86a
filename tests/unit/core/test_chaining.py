"""Chains meet or are refused when built; maps and functions compose in order; claims travel along."""

import inspect
from fractions import Fraction

import pytest

import deniable as dp
from deniable import calculus as c
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
BUDGET = dp.budget(epsilon=1)
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


STEPS = [
    name for name in c.__all__ if hasattr(getattr(c, name), "__wrapped__") and inspect.isfunction(getattr(c, name))
]


@pytest.mark.parametrize("name", STEPS)
def test_a_setting_that_is_not_there_is_refused_before_there_is_a_space(name):
    with pytest.raises(InvalidArgument, match=f"{name} has no setting"):
        getattr(c, name)(certainly_no_setting=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: c.clamp(0, 60), "clamp needs lower and upper: clamp(lower=..., upper=...)"),
        (lambda: c.clamp(lowr=0, upper=60), "clamp has no setting 'lowr'; it takes lower, upper, grid"),
        (lambda: c.laplace(5), "laplace takes its settings by name, and these: scale"),
        (lambda: c.total(5), "total has no settings: total()"),
        (lambda: c.column(), "column needs name: column(name)"),
    ],
)
def test_settings_are_told_in_words(call, said):
    with pytest.raises(InvalidArgument) as refusal:
        call()
    assert str(refusal.value) == said


def test_what_is_no_step_and_no_domain_is_told_in_words():
    with pytest.raises(SpaceMismatch, match=r"write laplace\(\.\.\.\), with its settings"):
        _ = DATA >> c.laplace
    with pytest.raises(InvalidArgument, match="values come from a domain"):
        c.rows(int)
    with pytest.raises(InvalidArgument, match="values come from a domain"):
        c.frame({"age": int})


ROWS = c.rows(c.integers(lower=0, upper=9))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ROWS >> c.bins(edges=3), r"bins cannot be built from edges=3: .* it takes edges: Sequence\[Real\]"),
        (lambda: ROWS >> c.map_rows(abs, to=int, default=0, author="A"), "map_rows cannot be built from .* to: Domain"),
        (lambda: c.rows(c.categories("ab"), size=3) >> c.shuffled(3), "shuffled cannot be built from 3"),
        (
            lambda: c.rows(c.numbers()) >> c.impute(value=10**400),
            "impute cannot be built from value=1000.*, or larger, than it takes",
        ),
        (lambda: c.frame(["age"]), r"columns come as \{name: domain\}, .* got \['age'\]"),
        (lambda: c.frames([], identifier="who"), r"frames needs at least one frame, .* got \[\]"),
        (lambda: c.Vectors(int, 2), "values come from a domain"),
        (lambda: c.Keyed(int, ("a",)), "values come from a domain"),
        (lambda: c.graphs(nodes=3), "nodes are a list of names, got 3"),
        (lambda: c.Space(int, c.L1()), "a space is a domain and a metric"),
        (lambda: c.compositor([1], ROWS, budget=1), r"a budget is made by dp\.budget\(.*\), got 1"),
        (lambda: c.compositor([1], ROWS.domain, budget=BUDGET), "data is held in a space"),
        (lambda: c.odometer([1], ROWS, budget=1), "a budget is made by"),
        (lambda: c.compositor([1], ROWS, budget=BUDGET).filter(0.5), "a budget is made by"),
        (lambda: dp.calibrate(3, epsilon=1), "calibrate takes a function .* got 3"),
        (lambda: c.loss_at(3, 3, left=[1], right=[2]), "the loss is that of a mechanism's answer, got 3"),
    ],
)
def test_what_is_of_another_kind_is_told_in_words(call, said):
    with pytest.raises(InvalidArgument, match=said) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_an_error_of_a_step_of_ones_own_stays_what_it_is():
    @c.step
    def broken(space, *, scale):
        return space.no_such_thing

    with pytest.raises(AttributeError, match="no_such_thing"):
        ROWS >> broken(scale=1)


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


def test_a_transformation_by_itself_shows_numbers_people_read():
    """Called alone a sum is the sum; inside a chain, and as `steps`, it is an exact whole number of grid steps."""
    space = dp.calculus.rows(dp.calculus.numbers())
    clamped = space >> dp.calculus.clamp(lower=0, upper=10, grid=Fraction(1, 4))
    assert clamped([1.5, 3.1, 99, None]) == [1.5, 3.0, 10.0, 0.0]
    total = clamped >> dp.calculus.total()
    assert (total([1.5, 2.25, 3]), total.steps([1.5, 2.25, 3])) == (6.75, 27)
    sized = dp.calculus.rows(dp.calculus.integers(lower=0, upper=4), size=4) >> dp.calculus.mean()
    assert (sized([1, 2, 3, 4]), sized.steps([1, 2, 3, 4])) == (2.5, 10)
    pairs = dp.calculus.rows(dp.calculus.Vectors(dp.calculus.numbers(), 2)) >> dp.calculus.clamp_entries(
        lower=0, upper=2, grid=0.5
    )
    assert pairs([[0.5, 9]]) == [[0.5, 2.0]]
    split = clamped >> dp.calculus.partition_by(lambda x: x > 8, keys=[True, False], author="test")
    assert split([1.5, 3]) == {True: [3.0], False: [1.5]}
    assert (total >> dp.calculus.laplace(scale=1)).cost(d_in=1) == dp.costs.DiscreteLaplace(scale=4, sensitivity=40)
    counted = space >> dp.calculus.count()
    assert counted([1.0, 2.0]) == 2
