"""Wanted errors said as a share of a group, and columns that are never missing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.testing import Silent

VARIABLES = {
    "p": "integer",
    "x": {"type": "integer", "bounds": [2, 10]},
    "w": {"type": "string", "categories": ["a", "b"]},
}
DATA = {"p": [1, 2, 3, 4], "x": [4, None, 8, 8], "w": ["a", "a", "b", None]}


def session(**missing):
    variables = {
        name: {**known, "missing": missing[name]} if name in missing else known for name, known in VARIABLES.items()
    }
    book = {"name": "t", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "t", "variables": variables}
    return dp.Dataset(DATA, codebook=book).session(dp.budget(epsilon=10**6), entropy=Silent())


def test_a_share_is_of_the_group_size_that_is_stated():
    query = session().query().group_by("w").agg(n=dp.count(), people=dp.count_distinct(), m=dp.mean("x"))
    shares, plain = (
        query.price(accuracy={"n": "5%"}, group_size=2000),
        query.price(accuracy={"n": 100}, group_size=2000),
    )
    assert shares.errors == plain.errors
    assert shares.errors["n"].within <= 100
    assert query.price(accuracy={"people": "2.5 %"}).errors["people"].within <= 25


def test_a_share_of_a_mean_is_of_its_bounds_and_of_a_sum_of_the_largest_there_can_be():
    query = session().query().agg(m=dp.mean("x"), s=dp.sum("x"), middle=dp.median("x"))
    for name, error in (("m", Fraction(5 * (10 - 2), 100)), ("s", 5 * 10 * 20), ("middle", 100)):
        shares, plain = (
            query.price(accuracy={name: "5%"}, group_size=2000),
            query.price(accuracy={name: error}, group_size=2000),
        )
        assert shares.errors == plain.errors
        assert shares.errors[name].within <= error


def test_a_workload_takes_shares_of_the_same_sizes():
    here = session()
    query = here.query().agg(m=dp.mean("x"))
    work = here.workload({"q": query}, by="accuracy", wanted={"q": {"m": "5%"}})
    assert work.prices["q"].errors == query.price(accuracy={"m": "5%"}).errors


def test_the_only_call_of_a_function_goes_by_the_functions_name():
    def price(text, accuracy):
        return session().sql(f"EXPLAIN DP {text}", accuracy=accuracy).price

    text = "SELECT w, avg(x), count(*) FROM t GROUP BY w"
    for short, column in (("avg", "avg(x)"), ("count", "count(*)")):
        for error in (3, "5%"):
            assert price(text, {short: error}).errors == price(text, {column: error}).errors
    named = "SELECT count(*) AS avg, avg(x) FROM t"
    assert price(named, {"avg": 40}).errors["avg"].within <= 40 < price(named, {"avg(x)": 1}).errors["avg"].within
    for text, wanted in (
        ("SELECT sum(x), sum(x * 2) FROM t", {"sum": 9}),
        ("SELECT avg(x) FROM t", {"avg": 3, "avg(x)": 1}),
        ("SELECT avg(x) FROM t", {"av": 3}),
        ("SELECT avg(x) FROM t", {"": "5%"}),
    ):
        with pytest.raises(InvalidArgument, match="which the query does not compute"):
            price(text, wanted)


def test_what_has_no_public_size_is_refused_before_anything_is_spent():
    here = session()
    with pytest.raises(InvalidArgument, match="no size that is publicly known"):
        here.query().agg(v=dp.variance("x")).release(accuracy={"v": "5%"})
    assert here.spent.loss == 0


@pytest.mark.parametrize("accuracy", [{"m": "5"}, {"n": "5"}, {"n": "five%"}, {"n": "-5%"}, {"n": "0%"}, {"n": "%"}])
def test_what_cannot_be_solved_is_refused_with_the_reason(accuracy):
    query = session().query().agg(n=dp.count(), m=dp.mean("x"))
    with pytest.raises(InvalidArgument, match=r"such as"):
        query.price(accuracy=accuracy)


def test_a_column_that_is_never_missing_needs_no_count_of_its_own():
    asked = {"n": dp.count(), "m": dp.mean("x")}
    numbers = [
        len(each.query().agg(**asked).mechanism(epsilon=1).compiled.measurements.additive)
        for each in (session(), session(x="never"))
    ]
    assert numbers == [3, 2]


def test_a_cell_that_is_missing_all_the_same_reads_as_the_lowest_value():
    here = session(x="never", w="never")
    row = here.query().agg(n=dp.count(), m=dp.mean("x"), s=dp.sum("x")).release(epsilon=10**5).table[0]
    assert (row["n"], row["m"], row["s"]) == (4, pytest.approx(22 / 4), 4 + 2 + 8 + 8)
    counts = here.query().group_by("w").agg(n=dp.count()).release(epsilon=1000)
    assert [row["n"] for row in counts.table] == [3, 1]
    with pytest.raises(InvalidArgument, match="never needs bounds or categories"):
        session(p="never") if isinstance(VARIABLES["p"], dict) else dp.Codebook.from_record(
            {"name": "t", "unit": "rows", "table": "t", "variables": {"p": {"type": "integer", "missing": "never"}}}
        )


def _coverage(within, *, rows, off, scale):
    """The chance that a mean from halves is within so much of the truth, `off` from the middle of bounds 8 apart.

    The sum is off by half the difference of two Laplace draws of this scale, and the count by an eighth of their sum.
    """
    first = np.arange(-60, 60, 1 / 64) * scale
    mass = np.exp(-np.abs(first) / scale)
    ends = [
        (first / 2 - (off + w) * first / 8 - w * rows) / (1 / 2 + (off + w) / 8) for w in (within, -within)
    ]  # what the second draw is between

    def below(at):
        tail = np.exp(-np.abs(at) / scale) / 2
        return np.where(at < 0, tail, 1 - tail)

    return float((mass * (below(ends[1]) - below(ends[0]))).sum() / mass.sum())


@pytest.mark.parametrize("rows", [300, 6366])
def test_the_stated_error_of_a_mean_holds_wherever_it_lies(rows):
    """A mean at the end of its bounds feels one draw alone: an error for one in the middle holds too seldom."""
    price = session().query().agg(m=dp.mean("x")).price(epsilon=0.25, group_size=rows, law="laplace")
    scale, other = (float(noise.scale * 2 * noise.step) for noise in price.allocation.noises.values())
    assert (scale, other) == (8 / 0.25, 2 / 0.25), (
        "in the column's units; one row moves both halves by 8, and two counts by one"
    )
    within = float(price.errors["m"].within)
    for off in (0, 1, 4):
        assert _coverage(within, rows=rows, off=off, scale=scale) >= 0.95
    middle = next(w for w in np.arange(0, 9, 1e-3) if _coverage(w, rows=rows, off=0, scale=scale) >= 0.95)
    assert _coverage(middle, rows=rows, off=4, scale=scale) < 0.95, (
        "the planted fault: an error for means in the middle"
    )
