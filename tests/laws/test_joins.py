"""Joins of private frames: a person is protected across all frames at once, and nobody's rows depend on anyone else's."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

import deniable as dp
from deniable import transformations as t
from deniable.core import Frame, IdentifierDistance, Texts, frames, integers
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.testing.neighbours import try_stability

ONE, TWO = Fraction(1), Fraction(2)
DIGIT = integers(lower=0, upper=1)
CLINIC = frames(
    {"visits": {"who": Texts(), "day": DIGIT}, "bills": {"who": Texts(), "day": DIGIT, "paid": DIGIT}}, identifier="who"
)
SIMPLE = frames({"visits": {"who": Texts(), "day": DIGIT}, "bills": {"who": Texts(), "paid": DIGIT}}, identifier="who")


def _frame(rows, *columns):
    return {name: [row[place] for row in rows] for place, name in enumerate(columns)}


def _clinics(second):
    """Every pair of frames with up to two visits and one bill, over two people and two days."""
    visits = [rows for size in range(3) for rows in product(product("ab", (0, 1)), repeat=size)]
    cells = [(0, 1)] + [(0,)] * (len(second) - 2)
    bills = [rows for size in range(2) for rows in product(product("ab", *cells), repeat=size)]
    return [
        {"visits": _frame(first, "who", "day"), "bills": _frame(other, *second)}
        for first, other in product(visits, bills)
    ]


PAID, DATED = ("who", "paid"), ("who", "day", "paid")


@pytest.mark.parametrize(
    ("space", "step", "columns"),
    [
        (SIMPLE, t.join_frames("visits", "bills"), PAID),
        (CLINIC, t.join_frames("visits", "bills", on=["day"]), DATED),
        (CLINIC, t.join_frames("bills", "visits", on=["day"]), DATED),
        (SIMPLE, t.take_frame("visits"), PAID),
    ],
    ids=["by person", "by person and day", "the other way", "one of them"],
)
def test_people_move_people(space, step, columns):
    """One person more or less moves one person of the result, a changed person two: never more, and it is reached."""
    built, data = space >> step, _clinics(columns)
    for d_in in (ONE, TWO):
        verdict = try_stability(built, data, d_in)
        assert verdict.broken is None
        assert max(verdict.furthest) == built.stability_map(d_in) == d_in
    halved = replace(built, stability_map=lambda d: d / 2)
    assert try_stability(halved, data, ONE).broken is not None


def test_a_join_across_people_is_caught():
    """Joined on the day alone, one person's bill meets everyone's visits: the same map is refuted."""
    honest = CLINIC >> t.join_frames("visits", "bills", on=["day"])

    def across(data, _):
        visits, bills = data["visits"], data["bills"]
        met = [
            (who, day, paid)
            for who, day in zip(visits["who"], visits["day"], strict=True)
            for other, paid in zip(bills["day"], bills["paid"], strict=True)
            if day == other
        ]
        return _frame(met, "who", "day", "paid")

    assert try_stability(replace(honest, function=across), _clinics(DATED), ONE).broken is not None


def test_a_joined_frame_is_bounded_and_answered():
    data = {
        "visits": {"who": ["a", "a", "b", None], "day": [0, 1, 1, 0]},
        "bills": {"who": ["a", "b", "b", None, "c"], "paid": [1, 0, 1, 1, 1]},
    }
    joined = SIMPLE >> t.join_frames("visits", "bills")
    assert joined(data) == {"who": ["a", "a", "b", "b"], "day": [0, 1, 1, 1], "paid": [1, 1, 0, 1]}
    assert (joined.target.domain, joined.target.metric) == (
        Frame({"who": Texts(), "day": DIGIT, "paid": DIGIT}),
        IdentifierDistance("who"),
    )
    paid = (
        joined
        >> dp.calculus.truncate_rows(rows=2)
        >> dp.calculus.column("paid")
        >> dp.calculus.total()
        >> dp.calculus.laplace(scale=2)
    )
    assert paid.loss(d_in=1).upper == 1
    assert isinstance(paid(data), int)


def test_the_distance_of_several_frames_counts_people_once():
    both = {"visits": {"who": ["a"], "day": [0]}, "bills": {"who": ["a", "a"], "paid": [0, 1]}}
    none = {"visits": {"who": [], "day": []}, "bills": {"who": [], "paid": []}}
    other = {"visits": {"who": ["a"], "day": [1]}, "bills": {"who": ["a", "a"], "paid": [0, 1]}}
    assert SIMPLE.distance(both, none) == 1
    assert SIMPLE.distance(both, other) == 2  # removed and added
    moved = {"visits": {"who": ["a"], "day": [0]}, "bills": {"who": ["b"], "paid": [0]}}
    assert SIMPLE.distance(both, moved) == 3
    assert dp.calculus.adjacent(both, none, SIMPLE)
    assert {"visits": {}} not in SIMPLE.domain
    assert 7 not in SIMPLE.domain


@pytest.mark.parametrize(
    ("build", "error", "match"),
    [
        (lambda: frames({}, identifier="who"), InvalidArgument, "at least one"),
        (lambda: frames({"x": {"y": DIGIT}}, identifier="who"), InvalidArgument, "not a column of 'x'"),
        (lambda: SIMPLE >> t.join_frames("visits", "invoices"), InvalidArgument, "not one of the frames"),
        (lambda: CLINIC >> t.join_frames("visits", "bills"), InvalidArgument, "columns of both frames"),
        (lambda: SIMPLE >> t.join_frames("visits", "bills", on=["day"]), InvalidArgument, "column of both"),
        (lambda: dp.calculus.rows(dp.calculus.numbers()) >> t.take_frame("visits"), SpaceMismatch, "several frames"),
        (lambda: SIMPLE >> dp.calculus.truncate_rows(rows=1), SpaceMismatch, "works on a frame"),
    ],
)
def test_wrong_joins_are_refused_when_built(build, error, match):
    with pytest.raises(error, match=match):
        build()
