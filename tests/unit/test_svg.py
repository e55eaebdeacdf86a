"""Drawings are well-formed, safe with any name, the same every time, and never fail because of a value."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.svg import (
    BarShape,
    Figure,
    Line,
    Points,
    ReferenceLine,
    Scale,
    Series,
    ShadedBand,
    Stems,
    StepLine,
    horizontal_bars,
    plot,
    vertical_bars,
)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(\"x\")</script>&<a href='javascript:1'>"
COORDINATES = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "d", "width", "height")

anything = st.floats(allow_nan=True, allow_infinity=True)
names = st.text(max_size=30)


def parsed(figure: Figure) -> ET.Element:
    return ET.fromstring(figure.svg)


def texts(figure: Figure) -> list[str]:
    return [element.text or "" for element in parsed(figure).iter(f"{SVG}text")]


def sound(figure: Figure) -> bool:
    """Well-formed, nothing that runs, and every coordinate a number on or near the drawing."""
    root = parsed(figure)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    allowed = {"svg", "style", "desc", "title", "g", "rect", "line", "path", "circle", "text"}
    numbers = [
        float(number)
        for element in root.iter()
        for name in COORDINATES
        for number in re.findall(r"[^MLZ\s]+", element.get(name, ""))
    ]
    attributes = {name for element in root.iter() for name in element.keys()}  # noqa: SIM118
    return (
        tags <= allowed
        and not any(name.startswith("on") or "href" in name for name in attributes)
        and all(abs(number) < 40_000 for number in numbers)
    )


@settings(max_examples=60)
@given(
    st.lists(st.tuples(anything, anything, anything, anything), max_size=8),
    st.sampled_from(list(Scale)),
    st.sampled_from(list(Scale)),
    names,
)
@example([(1e308, -1e308, 5e-324, 1e300), (-1e308, 1e308, 0.0, -0.0)], Scale.LINEAR, Scale.LINEAR, HOSTILE)
@example([(5e-324, 1e308, 1.0, 1.0)], Scale.LOG, Scale.LOG, "\x00\ud800")
@example([(1.0, 3.0, 3.0, 3.0)] * 3, Scale.LINEAR, Scale.LOG, "‮gnp.exe")
def test_any_values_and_any_words_make_a_sound_plot(rows, x_scale, y_scale, words):
    x, y, lower, upper = (tuple(column) for column in zip(*rows, strict=True)) if rows else ((), (), (), ())
    marks = [
        Line(x, y, label=words),
        StepLine(x, upper, label="steps"),
        Stems(x, lower),
        Points(x, y, lower, upper, label=words + "!"),
        ShadedBand(x, lower, upper, label=words),
        *(ReferenceLine(y=value, label=words) for value in y[:1]),
        *(ReferenceLine(x=value, label=words) for value in x[:1]),
    ]
    options = {"title": words, "subtitle": words, "x_label": words, "y_label": words, "note": words}
    figure = plot(*marks, **options, x_scale=x_scale, y_scale=y_scale)
    assert sound(figure)
    assert figure == plot(*marks, **options, x_scale=x_scale, y_scale=y_scale)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(names, anything, anything, anything), min_size=1, max_size=8),
    st.sampled_from(list(Scale)),
    st.sampled_from(list(BarShape)),
    names,
)
def test_any_values_and_any_names_make_sound_bars(rows, scale, shape, words):
    groups, values, lower, upper = (tuple(column) for column in zip(*rows, strict=True))
    series = [Series(groups, values, lower, upper, label=words), Series(groups, values)]
    for draw, rule in (
        (vertical_bars, ReferenceLine(y=values[0])),
        (horizontal_bars, ReferenceLine(x=values[0], label=words)),
    ):
        figure = draw(*series, title=words, note=words, scale=scale, shape=shape, rule=rule)
        assert sound(figure)
        assert figure == draw(*series, title=words, note=words, scale=scale, shape=shape, rule=rule)


def test_a_hostile_name_is_shown_and_not_run():
    figure = horizontal_bars(Series([HOSTILE], [3], label=HOSTILE), title=HOSTILE, width=2000)
    assert "<script" not in figure.svg
    assert HOSTILE in texts(figure)
    assert sound(figure)


def test_names_cannot_turn_or_hide_text():
    shown = texts(vertical_bars(Series(["abc\u202edef", "a\nb\x07c"], [1, 2])))
    assert "abc\N{REPLACEMENT CHARACTER}def" in shown
    assert "a b\N{REPLACEMENT CHARACTER}c" in shown


def test_long_names_are_cut_and_kept_whole_in_the_tooltip():
    name = "a very long name " * 20
    root = parsed(horizontal_bars(Series([name], [1])))
    assert any((e.text or "").endswith("…") for e in root.iter(f"{SVG}text"))
    assert name.strip() in {e.text for e in root.iter(f"{SVG}title")}


def test_names_too_long_for_their_bars_are_slanted_whole_and_touch_no_note():
    months = [f"2025-{month:02}" for month in range(1, 13)]
    narrow = vertical_bars(Series(months, range(12)), note="error bars: noise, 95%", width=480, height=300)
    assert set(months) <= set(texts(narrow))
    written = {element.text: element for element in parsed(narrow).iter(f"{SVG}text")}
    assert "rotate" in written["2025-06"].get("transform")
    assert float(written["2025-06"].get("y")) + 20 < float(written["error bars: noise, 95%"].get("y"))


def test_very_many_groups_are_drawn_in_part_and_said_so():
    many = Series([f"g{i}" for i in range(2000)], range(2000))
    lying = horizontal_bars(many)
    assert lying.height < 10_000
    assert any("1,700 more are not drawn" in text for text in texts(lying))
    assert "g299" in texts(lying)
    assert "g300" not in texts(lying)
    standing = vertical_bars(many)
    assert sound(standing)
    assert sum(text.startswith("g") for text in texts(standing)) < 80


def test_exact_numbers_are_drawn_too():
    exact = plot(Line([Fraction(1, 2), Decimal(2)], [1, Fraction(10**400)]), Points([1], [Fraction(1, 3)]))
    assert sound(exact)
    assert plot(Line([0, 1], [Fraction(1, 2), 1])) == plot(Line([0.0, 1.0], [0.5, 1.0]))


def paths(figure: Figure) -> list[list[tuple[float, float]]]:
    found = [element.get("d", "") for element in parsed(figure).iter(f"{SVG}path") if element.get("fill") == "none"]
    return [[tuple(map(float, pair.split())) for pair in d.removeprefix("M").split("L")] for d in found]


def test_a_line_goes_through_its_points_in_proportion():
    (route,) = paths(plot(Line([0, 1, 2, 4], [0, 10, 20, 40])))
    (x0, y0), (x4, y4) = route[0], route[-1]
    assert x0 < x4
    assert y0 > y4  # up is up
    for share, (x, y) in zip((0, 0.25, 0.5, 1), route, strict=True):
        assert x == pytest.approx(x0 + share * (x4 - x0), abs=0.02)
        assert y == pytest.approx(y0 + share * (y4 - y0), abs=0.02)


def test_a_logarithmic_axis_spaces_factors_evenly():
    (route,) = paths(plot(Line([1, 2, 3], [1e-6, 1e-3, 1]), y_scale=Scale.LOG))
    assert route[0][1] - route[1][1] == pytest.approx(route[1][1] - route[2][1], abs=0.02)


def test_a_value_without_a_place_is_a_gap():
    assert len(paths(plot(Line([0, 1, 2, 3, 4], [1, 2, float("nan"), 3, 4])))) == 2
    assert len(paths(plot(Line([0, 1, 2, 3, 4], [1, 2, 0, 3, 4]), y_scale=Scale.LOG))) == 2


def test_steps_hold_until_the_next_point():
    (route,) = paths(plot(StepLine([0, 1, 2], [0, 5, 10])))
    assert len(route) == 5
    assert route[0][1] == route[1][1]
    assert route[1][0] == route[2][0]


def test_a_long_line_is_thinned_without_losing_its_peaks():
    ys = [0.0] * 100_000
    ys[54_321] = 7.0
    figure = plot(Line(range(100_000), ys))
    (route,) = paths(figure)
    assert len(route) < 4000
    (full,) = paths(plot(Line([0, 54_321, 99_999], [0, 7, 0])))
    assert min(y for _, y in route) == pytest.approx(min(y for _, y in full), abs=0.02)


def test_bars_start_at_zero_and_have_the_right_length():
    root = parsed(vertical_bars(Series(["a", "b"], [10, -5])))
    up, down = [e for e in root.iter(f"{SVG}rect") if "dn-f0" in e.get("class", "")]
    assert float(up.get("height")) == pytest.approx(2 * float(down.get("height")), abs=0.03)
    assert float(up.get("y")) + float(up.get("height")) == pytest.approx(float(down.get("y")), abs=0.02)


def test_bars_on_a_logarithmic_scale_start_at_the_rule():
    root = parsed(horizontal_bars(Series(["slow", "fast"], [0.1, 10]), scale=Scale.LOG, rule=ReferenceLine(x=1)))
    slow, fast = [e for e in root.iter(f"{SVG}rect") if "dn-f0" in e.get("class", "")]
    assert float(slow.get("width")) == pytest.approx(float(fast.get("width")), abs=0.03)
    assert float(slow.get("x")) + float(slow.get("width")) == pytest.approx(float(fast.get("x")), abs=0.02)


def test_error_bars_reach_from_lower_to_upper():
    for draw, first, second in ((vertical_bars, "y1", "y2"), (horizontal_bars, "x1", "x2")):
        root = parsed(draw(Series(["a", "b"], [10, 20], [8, 20], [14, 20])))
        whiskers = [e for e in root.iter(f"{SVG}line") if e.get("class") == "dn-whisker"]
        assert len(whiskers) == 3  # b has no error: no bar is drawn for it
        stem = max(abs(float(e.get(first)) - float(e.get(second))) for e in whiskers)
        (bar, _) = [e for e in root.iter(f"{SVG}rect") if "dn-f0" in e.get("class", "")]
        length = float(bar.get("height" if draw is vertical_bars else "width"))
        assert stem / length == pytest.approx(0.6, abs=0.01)


def test_legend_names_each_label_once_and_one_label_has_one_colour():
    figure = plot(
        ShadedBand([0, 1], [0, 0], [1, 1], label="ours"),
        Line([0, 1], [0, 1], label="ours"),
        Line([0, 1], [1, 0], label="theirs"),
    )
    assert texts(figure).count("ours") == 1
    lines = [e.get("class") for e in parsed(figure).iter(f"{SVG}path") if e.get("fill") == "none"]
    assert lines == ["dn-s0", "dn-s1"]


def test_a_figure_shows_itself_and_saves_the_same_bytes(tmp_path):
    figure = plot(Line([0, 1], [0, 1]), title="ε against δ")
    path = figure.save(tmp_path / "figure.svg")
    assert path.read_bytes() == figure.svg.encode("utf-8")
    assert figure._repr_svg_() == figure.svg
    assert repr(figure).startswith("Figure(720 x 420")
    root = parsed(figure)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "ε against δ"
    assert "prefers-color-scheme:dark" in figure.svg


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: Line([1, 2], [1]), "same length, but x has 2, y has 1"),
        (lambda: Line([1], ["a"]), "y must be a sequence of numbers: got 'a'"),
        (lambda: Line(1, [1]), "x must be a sequence of numbers"),
        (lambda: Points([1], [1], [1, 2]), "lower has 2"),
        (lambda: ShadedBand([1], [1], [1, 2]), "upper has 2"),
        (lambda: ReferenceLine(), "needs x or y and not both"),
        (lambda: ReferenceLine(x=1, y=2), "needs x or y and not both"),
        (lambda: Series(["a"], [1, 2]), "groups has 1, values has 2"),
        (lambda: horizontal_bars(), "at least one series"),
        (lambda: vertical_bars(Series([], [])), "at least one series"),
        (lambda: vertical_bars(Series(["a"], [1]), Series(["b"], [1], label="late")), "'late' differs"),
        (lambda: plot(width=10), "width must be a whole number of pixels from 160 to 10000, got 10"),
        (lambda: plot(height=1e6), "height must be"),
        (lambda: plot(y_limits=(2, 1)), r"y_limits must be two increasing finite numbers .* got \(2, 1\)"),
        (lambda: plot(x_limits=(0, 1), x_scale=Scale.LOG), "x_limits must be"),
        (lambda: plot(x_limits=(0, float("inf"))), "x_limits must be"),
        (lambda: plot(x_limits=(1, 2, 3)), "x_limits must be"),
        (lambda: plot(x_limits=(0, 5e-324)), "x_limits must be"),
        (lambda: plot(x_limits=(float("nan"), 1)), "x_limits must be"),
    ],
)
def test_mistakes_of_the_caller_are_refused(attempt, message):
    with pytest.raises(InvalidArgument, match=message):
        attempt()
