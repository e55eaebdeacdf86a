"""Local sensitivity and the distance to instability against their definitions, and a release that rests on them."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from deniable import mechanisms as m
from deniable import transformations as t
from deniable.audit.comparison import check_privacy, compare
from deniable.audit.exact_law import output_law
from deniable.core import (
    AbsoluteDistance,
    Booleans,
    Categories,
    Hamming,
    Lattice,
    Numbers,
    Rows,
    Space,
    SymmetricDistance,
    Texts,
    integers,
    own_transformation,
    rows,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.mechanisms.propose_test_release import StabilityTest

SIZED = rows(integers(lower=0, upper=4), size=3)
UNSIZED = rows(integers(lower=0, upper=2))
ALL_SIZED = [list(each) for each in combinations_with_replacement(range(5), 3)]
ALL_UNSIZED = [list(each) for size in range(6) for each in combinations_with_replacement(range(3), size)]


def median(space):
    return own_transformation(
        space,
        Space(Lattice(), AbsoluteDistance()),
        function=lambda data: sorted(data)[(len(data) - 1) // 2] if len(data) else 0,
        stability_map=lambda d: 99 * d,
        author="test",
    )


def by_definition(space, query, every, data, distance):
    """The largest jump between neighbours of which one lies within `distance` of the data."""
    near = [each for each in every if space.distance(each, data) <= distance]
    return max(
        abs(query.steps(here) - query.steps(there))
        for here in near
        for there in every
        if space.distance(here, there) <= 1
    )


@pytest.mark.parametrize("build", [median, lambda space: space >> t.total(), lambda space: space >> t.count_distinct()])
def test_curves_are_the_definition(build):
    query = build(SIZED)
    study = m.local_stability(query)
    for data in ALL_SIZED[::4]:
        curve = study.curve(data)
        assert curve == [by_definition(SIZED, query, ALL_SIZED, data, d) for d in range(len(curve))]
        assert curve[0] <= query.stability_map(Fraction(1))


def test_curves_where_rows_come_and_go():
    query = median(UNSIZED)
    study = m.local_stability(query, most_rows=4)
    for data in ([], [0], [0, 2], [0, 0, 1, 2]):
        curve = study.curve(data)
        assert len(curve) == 5 - len(data)
        assert curve == [by_definition(UNSIZED, query, ALL_UNSIZED, data, d) for d in range(len(curve))]
    with pytest.raises(InvalidArgument, match="at most 4 rows"):
        study.curve([0] * 5)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_median_in_closed_form_is_the_table(size):
    space = rows(Lattice(Fraction(1, 2), -1, 3), size=size)
    query = own_transformation(
        space,
        Space(Lattice(Fraction(1, 2)), AbsoluteDistance()),
        function=lambda data: sorted(data)[(len(data) - 1) // 2],
        stability_map=lambda d: 99 * d,
        author="test",
    )
    table, closed = m.local_stability(query), m.median_stability(space)
    for data in combinations_with_replacement(range(-1, 4), size):
        whole, seen = closed.curve(data), table.curve(data)
        assert seen == whole[: len(seen)]
        assert set(whole[len(seen) :]) <= {seen[-1]}
        assert closed.answer(data) == table.answer(data)
        for bound in (0, Fraction(1, 2), 1, Fraction(3, 2)):
            assert closed.distance(data, bound=bound) == table.distance(data, bound=bound)
        assert closed.distance(data, bound=2) == table.distance(data, bound=2) == size + 1  # never unstable


@pytest.mark.parametrize(("space", "every", "most"), [(SIZED, ALL_SIZED, None), (UNSIZED, ALL_UNSIZED, 3)])
def test_the_distance_to_instability_moves_by_one_for_each_unit(space, every, most):
    study = m.local_stability(median(space), most_rows=most)
    for bound in (0, 1):
        far = study.meter(bound)
        for left, right in product(every, repeat=2):
            assert abs(far(left) - far(right)) <= space.distance(left, right)
        stable = [data for data in every if far(data)]
        assert stable
        for data in stable:
            moved = [study.answer(other) for other in every if space.distance(data, other) <= 1]
            assert max(moved) - study.answer(data) <= bound
            assert study.answer(data) - min(moved) <= bound


def _released(**changed):
    study = m.median_stability(SIZED)
    return SIZED >> m.release_if_stable(
        **{"stability": study, "proposal": 1, "test_scale": 1, "delta": Fraction(1, 10), "scale": 1} | changed
    )


@pytest.mark.parametrize("proposal", [0, 1, 2])
def test_what_is_released_where_the_data_is_stable_keeps_the_promise(proposal):
    mechanism = _released(proposal=proposal)
    laws = [
        output_law(lambda entropy, data=data: mechanism.function(data, entropy), tail=Fraction(1, 50))
        for data in ALL_SIZED
    ]
    for left, right in product(range(len(ALL_SIZED)), repeat=2):
        if SIZED.distance(ALL_SIZED[left], ALL_SIZED[right]) == 1 and (left + right) % 3 == 0:
            verdict = compare(laws[left], laws[right], mechanism.cost())
            assert not verdict.broken


def test_a_proposal_tested_at_the_data_itself_is_caught():
    """Planted: where the local sensitivity itself decides, a stable data set speaks beside an unstable one that is silent."""
    study = m.median_stability(SIZED)
    careless = replace(_released(), function=_untested(study))
    calm, wild = next(
        (a, b)
        for a, b in product(ALL_SIZED, repeat=2)
        if SIZED.distance(a, b) == 1 and study.curve(a)[0] <= 1 < study.curve(b)[0]
    )
    assert check_privacy(_released(), calm, wild, tail=Fraction(1, 10**3)).kept
    assert check_privacy(careless, calm, wild, tail=Fraction(1, 10**3)).broken


def _untested(study):
    def answer(data, entropy):
        return study.answer(data) if study.curve(data)[0] <= 1 else None

    return answer


def test_the_test_and_the_noise_are_both_paid_for():
    mechanism = _released(proposal=2, scale=4, test_scale=8)
    assert float(mechanism.loss(delta=Fraction(1, 10)).upper) == pytest.approx(1 / 8 + 2 / 4, rel=0.2)
    with pytest.raises(InvalidArgument, match="one unit at a time"):
        mechanism.cost(d_in=2)
    assert mechanism.claims == ()
    law = output_law(lambda entropy: _released().function([0, 0, 0], entropy) is None)
    enough = StabilityTest.made(scale=1, delta=Fraction(1, 10)).enough(Fraction(1, 20))
    far = m.median_stability(SIZED).distance([0, 0, 0], bound=1)
    assert (law.probability(True).upper <= Fraction(1, 20)) == (far >= enough)


def test_a_table_serves_as_well_as_the_closed_form():
    table = _released(stability=m.local_stability(replace(median(SIZED), source=SIZED)))
    for data in ([0, 0, 0], [0, 4, 4], [1, 2, 3]):
        left, right = (
            output_law(lambda entropy, run=run, data=data: run.function(data, entropy), tail=Fraction(1, 100))
            for run in (table, _released())
        )
        assert left.chances == right.chances
        assert compare(left, right, table.cost()).kept


def test_pictures():
    study = m.median_stability(SIZED)
    svg = m.stability_plot(study, [1, 2, 2], bound=1)._repr_svg_()
    assert "proposed bound" in svg
    assert f"{study.distance([1, 2, 2], bound=1)} changed units away" in svg
    assert "local sensitivity" in m.stability_plot(m.local_stability(median(SIZED)), [1, 2, 2])._repr_svg_()


def test_what_cannot_be_studied_is_refused():
    with pytest.raises(InvalidArgument, match="most_rows"):
        m.local_stability(UNSIZED >> t.total())
    with pytest.raises(SpaceMismatch, match="finitely many kinds"):
        m.local_stability(rows(Texts()) >> t.count(), most_rows=2)
    with pytest.raises(SpaceMismatch, match="one number"):
        m.local_stability(SIZED >> t.histogram())
    with pytest.raises(InvalidArgument, match="data sets to try"):
        m.local_stability(rows(integers(lower=0, upper=99), size=5) >> t.total())
    with pytest.raises(SpaceMismatch, match="ChangeOne or SymmetricDistance"):
        m.local_stability(rows(integers(lower=0, upper=1), size=2, metric=Hamming()) >> t.total())
    with pytest.raises(SpaceMismatch, match="public bounds"):
        m.median_stability(rows(integers(), size=3))
    with pytest.raises(SpaceMismatch, match="public number"):
        m.median_stability(UNSIZED)
    with pytest.raises(InvalidArgument, match="draws at random"):
        m.local_stability(SIZED >> t.unbounded() >> t.resize(size=1, constant=0) >> t.total())
    with pytest.raises(SpaceMismatch, match="release_if_stable"):
        UNSIZED >> m.release_if_stable(
            stability=m.median_stability(SIZED), proposal=1, test_scale=1, delta=Fraction(1, 10), scale=1
        )
    assert m.local_stability(rows(Booleans(), size=2) >> t.count_distinct()).members == (False, True)
    kinds = Space(Rows(Categories(("a", "b"))), SymmetricDistance())
    assert m.local_stability(kinds >> t.count(), most_rows=2).curve(["a"]) == [1, 1]
    with pytest.raises(SpaceMismatch):
        m.local_stability(rows(Numbers(), size=2) >> t.clamp(lower=0, upper=1, grid=1) >> t.total())
