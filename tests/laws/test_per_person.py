"""One row for each person: on all small frames, people who come, go or change move as many rows, and no row looks at others."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest

from deniable import transformations as t
from deniable.core import Categories, Lattice, Texts, frame, integers, numbers
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.testing.couplings import keeps_coupling
from deniable.testing.neighbours import try_stability

COLUMNS = {"who": Texts(), "x": integers(lower=0, upper=3), "y": numbers(), "c": Categories(("late", "early"))}
SPACE = frame(COLUMNS, identifier="who")
CELLS = [("a", 0), ("a", 1), ("a", 3), ("b", 1)]


def _frame(people):
    values = [x for _, x in people]
    kinds = ["early" if x else "late" for x in values]
    return {"who": [who for who, _ in people], "x": values, "y": [x / 2 for x in values], "c": kinds}


FRAMES = [_frame(people) for size in range(4) for people in combinations_with_replacement(CELLS, size)]
STEPS = [
    t.mean_per_person("x"),
    t.mean_per_person("y", lower=0, upper=1, grid=Fraction(1, 8)),
    t.quantile_per_person("x", q=Fraction(1, 4)),
    t.median_per_person("y", lower=0, upper=1),
    t.min_per_person("x", lower=1, upper=2),
    t.max_per_person("x"),
    t.mode_per_person("x"),
    t.mode_per_person("c"),
]


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_people_become_rows(step):
    built = SPACE >> step
    for d_in in (Fraction(1), Fraction(2)):
        verdict = try_stability(built, FRAMES, d_in)
        assert verdict.broken is None
        assert max(verdict.furthest) == built.map(d_in=d_in) == d_in
    for data in FRAMES:
        turned = {name: column[::-1] for name, column in data.items()}
        assert Counter(built.steps(turned)) == Counter(built.steps(data))
        assert built.steps(data) in built.target.domain


def test_what_the_summaries_say():
    data = {
        "who": ["a", "b", "a", "a", "a", "c"],
        "x": [3, 2, 0, 0, 2, 9],
        "y": [8.0, float("nan"), 0.25, 0.5, 0.5, 0.0],
        "c": ["late", "early", "early", "late", "early", "never"],
    }
    assert (SPACE >> t.mean_per_person("x", grid=Fraction(1, 4)))(data) == [1.25, 2, 3]
    assert (SPACE >> t.mean_per_person("y", lower=0, upper=1, grid=Fraction(1, 16)))(data) == [0.5625, 0]
    assert (SPACE >> t.median_per_person("x"))(data) == [0, 2, 3]
    assert (SPACE >> t.quantile_per_person("x", q=0.75))(data) == [2, 2, 3]
    assert (SPACE >> t.min_per_person("x"))(data) == [0, 2, 3]
    assert (SPACE >> t.max_per_person("y", lower=0, upper=1, grid=1))(data) == [1, 0]
    assert (SPACE >> t.mode_per_person("x"))(data) == [0, 2, 3]
    assert (SPACE >> t.mode_per_person("c"))(data) == ["late", "early"]  # a tie goes to the first of the public list
    assert (SPACE >> t.mode_per_person("who"))(data) == ["a", "b", "c"]


def test_a_row_for_each_person_drawn_from_their_own():
    space = frame({"who": Texts(), "x": integers(lower=0, upper=3)}, identifier="who")
    built = space >> t.sample_per_person("x")
    both, one = {"who": ["a", "a", "b"], "x": [0, 1, 3]}, {"who": ["a", "a"], "x": [0, 1]}
    assert keeps_coupling(built, both, one, apart=Fraction(1))
    assert not keeps_coupling(built, both, one, apart=Fraction(0))
    assert keeps_coupling(built, both, {"who": ["a", "b"], "x": [2, 3]}, apart=built.map(d_in=2))


def test_what_is_refused_when_built():
    for name in ("mean_per_person", "min_per_person"):
        with pytest.raises(SpaceMismatch, match="give lower and upper"):
            SPACE >> getattr(t, name)("y")
        with pytest.raises(InvalidArgument, match="both bounds or neither"):
            SPACE >> getattr(t, name)("y", lower=0)
        with pytest.raises(InvalidArgument, match="is not a column"):
            SPACE >> getattr(t, name)("z")
        with pytest.raises(SpaceMismatch, match="under identifier distance"):
            frame(COLUMNS) >> getattr(t, name)("x")
    with pytest.raises(SpaceMismatch, match="texts, categories"):
        SPACE >> t.mode_per_person("y")
    with pytest.raises(InvalidArgument, match="leave grid out"):
        SPACE >> t.max_per_person("x", grid=Fraction(1, 2))
    assert (SPACE >> t.mean_per_person("x", grid=2)).target.domain.element == Lattice(Fraction(2), 0, 2)
