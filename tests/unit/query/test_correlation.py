"""Correlations: the plain number without noise, in [-1, 1] always, held by their intervals, alike in builder, SQL and words."""

from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable.cli.asking import aggregate
from deniable.errors import InvalidArgument, QueryRefused
from deniable.query.aggregates import correlation
from deniable.testing import Seeded, Silent

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {
        "v": {
            "variables": {
                "p": "integer",
                "x": {"type": "integer", "bounds": [0, 10]},
                "y": {"type": "number", "bounds": [-5, 5], "step": 0.5},
            }
        }
    },
}
X = [(7 * i) % 11 for i in range(3000)]
Y = [min(5.0, max(-5.0, (x - 5) * 0.5 + ((3 * i) % 7 - 3) / 2)) for i, x in enumerate(X)]
HOLES = {
    "x": [None if i % 5 == 0 else x for i, x in enumerate(X)],
    "y": [None if i % 7 == 0 else y for i, y in enumerate(Y)],
}


def session(entropy, **columns):
    data = {"p": list(range(len(X))), "x": X, "y": Y} | columns
    return dp.Dataset(data, codebook=BOOK).session(dp.budget(epsilon=10**6), entropy=entropy)


@pytest.mark.parametrize("columns", [{}, HOLES, {"y": [None, *Y[1:]]}])
def test_without_noise_it_is_the_plain_correlation(columns):
    data = {"x": X, "y": Y} | columns
    both = [(x, y) for x, y in zip(data["x"], data["y"], strict=True) if x is not None and y is not None]
    truth = np.corrcoef(*zip(*both, strict=True))[0, 1]
    asked = session(Silent(), **columns)
    built = asked.query().agg(r=dp.correlation("x", "y")).release(epsilon=1)
    assert built.value() == pytest.approx(truth, abs=1e-9)
    assert asked.sql("SELECT CORR(x, y) AS r FROM v", epsilon=1).value() == built.value()
    assert asked.spent.loss == 1, "one question, asked in two ways"


def test_six_numbers_are_measured_and_shared():
    rows = session(Silent()).query()
    alone = rows.agg(r=dp.correlation("x", "y"))
    assert len(alone.price(epsilon=1).allocation.noises) == 6
    beside = rows.where("x >= 0 and y >= -5").agg(r=dp.correlation("x", "y"), v=dp.variance("x"), m=dp.mean("y"))
    assert len(beside.price(epsilon=1).allocation.noises) == 6


def test_the_interval_holds_the_truth_and_the_forecast_is_not_idle():
    truth = np.corrcoef(X, Y)[0, 1]
    asked = session(Silent()).query().agg(r=dp.correlation("x", "y"))
    missed, narrow = 0, 0
    for seed in range(12):
        row = session(Seeded(seed)).query().agg(r=dp.correlation("x", "y")).release(epsilon=2).table[0]
        assert -1 <= row["r_low"] <= row["r"] <= row["r_high"] <= 1
        missed += not row["r_low"] <= truth <= row["r_high"]
        narrow += row["r_high"] - row["r_low"] < 1
    assert missed <= 3
    assert narrow > 8
    small, large = (asked.price(epsilon=2, group_size=size).errors["r"].within for size in (30, 10**5))
    assert large < 0.1 < small <= 2


def test_nothing_known_is_the_whole_range():
    row = session(Seeded(1), x=[3] * 3000).query().agg(r=dp.correlation("x", "y")).release(epsilon=0.01).table[0]
    assert (row["r_low"], row["r_high"]) == (-1, 1)


def test_its_words_and_refusals():
    assert aggregate("r=correlation(x, y)") == ("r", correlation("x", "y"))
    with pytest.raises(InvalidArgument, match="wrong number of columns"):
        aggregate("r=correlation(x)")
    with pytest.raises(QueryRefused, match="same-column"):
        session(Silent()).query().agg(r=dp.correlation("x", "x")).price(epsilon=Fraction(1))
