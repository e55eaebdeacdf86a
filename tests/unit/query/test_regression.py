"""REGR_SLOPE and REGR_INTERCEPT: the plain least-squares line without noise, held by their intervals, empty where nothing is."""

import sys

import numpy as np
import pytest

import deniable as dp
from deniable.errors import QueryRefused
from deniable.query.aggregates.correlation import LeastSquares
from deniable.testing import Seeded, Silent
from tests.unit.query.test_correlation import HOLES, X, Y, session

LINE = "SELECT REGR_SLOPE(y, x) AS b, REGR_INTERCEPT(y, x) AS a FROM v"


@pytest.mark.parametrize("columns", [{}, HOLES, {"y": [None, *Y[1:]]}])
def test_without_noise_it_is_the_plain_line(columns):
    data = {"x": X, "y": Y} | columns
    both = [(x, y) for x, y in zip(data["x"], data["y"], strict=True) if x is not None and y is not None]
    slope, intercept = np.polyfit(*zip(*both, strict=True), 1)
    row = session(Silent(), **columns).sql(LINE, epsilon=10**4).table[0]
    assert (row["b"], row["a"]) == pytest.approx((slope, intercept), abs=1e-6)
    assert row["b_low"] <= row["b"] <= row["b_high"]
    assert row["a_low"] <= row["a"] <= row["a_high"]


def test_five_numbers_are_measured_and_shared_with_a_correlation():
    told = str(session(Silent()).sql(f"EXPLAIN DP {LINE}", epsilon=1))
    assert told.count("one unit moves it by") == 3
    assert told.count("one unit moves both together by") == 1, "the sum of one number and the count, in halves"
    beside = LINE.replace(" FROM", ", CORR(x, y) AS r, COVAR_POP(x, y) AS c FROM")
    assert str(session(Silent()).sql(f"EXPLAIN DP {beside}", epsilon=1)).count("one unit moves it by") == 4


def _missed(runs, epsilon):
    slope, intercept = np.polyfit(X, Y, 1)
    found = [session(Seeded(seed)).sql(LINE, epsilon=epsilon).table[0] for seed in range(runs)]
    missed = [not (r["b_low"] <= slope <= r["b_high"] and r["a_low"] <= intercept <= r["a_high"]) for r in found]
    return sum(missed), [r["b_high"] - r["b_low"] for r in found]


def test_intervals_hold_the_truth_and_say_something():
    missed, widths = _missed(12, 4)
    assert (
        missed <= 4
    )  # two that each fail once in twenty, at most: more has probability below 1e-3, and seeds are fixed
    assert np.median(widths) < 0.5


def test_a_variance_whose_noise_is_forgotten_is_found(monkeypatch):
    def certain(output, noisy, beta):
        found = plain(output, noisy, beta)
        return type(found)(found.value, found.value, found.value)

    lines = sys.modules[LeastSquares.__module__]
    plain = lines.moment_intervals
    monkeypatch.setattr(lines, "moment_intervals", certain)
    assert _missed(12, 4)[0] > 8


def test_nothing_known_is_an_empty_cell():
    asked = session(Seeded(1), x=[3] * 3000)
    answer = asked.sql(LINE, epsilon=0.01)
    assert answer.table[0]["b"] is answer.table[0]["a"] is None
    assert "–" in str(answer)


def test_the_price_forecasts_it_and_what_cannot_be_is_refused():
    asked = session(Silent())
    small, large = (str(asked.sql(f"EXPLAIN DP {LINE}", epsilon=2, group_size=size)) for size in (3, 10**6))
    assert "b: ± 0.0" in large
    assert small != large
    with pytest.raises(QueryRefused, match="same-column"):
        asked.sql("SELECT REGR_SLOPE(x, x) AS b FROM v", epsilon=1)
    with pytest.raises(QueryRefused, match="not-a-number"):
        dp.Dataset(
            {"p": [1], "x": [1], "s": ["a"]},
            codebook={"name": "v", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "v",
                      "variables": {"p": "integer", "x": {"type": "integer", "bounds": [0, 1]}, "s": "string"}},
        ).session(dp.budget(epsilon=1)).sql("SELECT REGR_SLOPE(s, x) AS b FROM v", epsilon=1)  # fmt: skip
