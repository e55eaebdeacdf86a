"""Ticks stand at round numbers, cover the data, do not crowd, and their labels tell them apart."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.svg.axes import Scale, axis, nice_step
from deniable.svg.lettering import number, powers_of_ten, shorten, tick, width

sizes = st.builds(lambda m, e: m * 10.0**e, st.floats(1, 9.99), st.integers(-30, 30))


@given(sizes, sizes, st.booleans())
@example(0.25, 1.0, False)
@example(1e6, 2e7, False)
def test_linear_ticks(a, b, negative):
    values = [-a if negative else a, b]
    found = axis(values, scale=Scale.LINEAR, limits=None, start=0, end=640, zero=False)
    places = [place for place, _ in found.ticks]
    labels = [label for _, label in found.ticks]
    hair = (found.high - found.low) * 1e-6  # far less than a pixel
    assert found.low - hair <= min(values)
    assert max(values) <= found.high + hair
    assert 3 <= len(places) <= 13
    assert len(set(labels)) == len(labels)
    steps = {f"{y - x:.6e}" for x, y in itertools.pairwise(places)}
    assert len(steps) == 1
    assert f"{float(steps.pop()):.2e}".split("e")[0] in {"1.00", "2.00", "2.50", "5.00"}
    assert -0.01 <= found.pixel(min(values)) <= found.pixel(max(values)) <= 640.01


@given(sizes, sizes)
@example(1e-12, 1e-9)
@example(3.0, 3.0)
@example(1e-30, 1e30)
def test_logarithmic_ticks(a, b):
    found = axis([a, b], scale=Scale.LOG, limits=None, start=300, end=0, zero=False)
    places = [place for place, _ in found.ticks]
    assert found.low <= min(a, b) * 1.0001
    assert found.high >= max(a, b) * 0.9999
    assert 1 <= len(places) <= 12
    assert len({label for _, label in found.ticks}) == len(places)
    for place in places:
        assert round(place / 10.0 ** math.floor(math.log10(place) + 1e-9)) in {1, 2, 5}


def test_ends_stay_near_the_data():
    """A bar that falls a little below zero does not open half an empty frame."""
    found = axis([-45, 2400], scale=Scale.LINEAR, limits=None, start=0, end=400, zero=True)
    assert -200 < found.low <= -45
    assert 2400 <= found.high <= 2500


def test_given_limits_are_kept():
    found = axis([5, 6], scale=Scale.LINEAR, limits=(0.3, 1.7), start=0, end=400, zero=True)
    assert (found.low, found.high) == (0.3, 1.7)
    assert all(0.3 <= place <= 1.7 for place, _ in found.ticks)


@pytest.mark.parametrize(
    ("rough", "step"), [(1, 1), (1.1, 2), (2.2, 2.5), (2.6, 5), (6, 10), (0.013, 0.02), (251, 500), (1e-9, 1e-9)]
)
def test_nice_steps(rough, step):
    assert nice_step(rough) == pytest.approx(step)


@pytest.mark.parametrize(
    ("value", "step", "label"),
    [
        (0, 1, "0"),
        (1500, 500, "1,500"),
        (-0.25, 0.25, "−0.25"),
        (2.5, 2.5, "2.5"),
        (5.0, 2.5, "5.0"),
        (2.5e6, 2.5e6, "2.5M"),
        (3e9, 1e9, "3B"),
        (2e-7, 1e-7, "2×10⁻⁷"),
        (7.5e-8, 2.5e-8, "7.5×10⁻⁸"),
        (1e15, 1e15, "10¹⁵"),
    ],
)
def test_tick_labels(value, step, label):
    assert tick(value, step) == label


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0, "0"),
        (1203.0, "1,203"),
        (99.5, "99.5"),
        (-3.14159, "−3.142"),
        (123456.7, "123,457"),
        (1.5e-7, "1.5×10⁻⁷"),
        (2e12, "2×10¹²"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        (float("nan"), "–"),
        (5e-324, "4.941×10⁻³²⁴"),
    ],
)
def test_value_labels(value, label):
    assert number(value) == label


def test_powers_of_ten_are_written_alike():
    assert powers_of_ten([-2, 0, 3]) == ["0.01", "1", "1,000"]
    assert powers_of_ten([-6, -3, 0]) == ["10⁻⁶", "10⁻³", "1"]


@given(st.text(max_size=60), st.floats(20, 400))
def test_shortened_text_fits(words, room):
    assert width(shorten(words, 12, room), 12) <= room
