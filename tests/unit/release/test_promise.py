"""What a price means for one person: the odds are rounded up, and the promise names who it is for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import deniable as dp
from deniable.plan.unit import Unit
from deniable.release.promise import chance_factor, promise


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [("0.01", "1.02"), ("0.1", "1.11"), ("0.5", "1.65"), ("1", "2.72"), ("3", "20.1"), ("10", "22,100")],
)
def test_the_odds_are_e_to_the_epsilon_rounded_up(epsilon, factor):
    assert chance_factor(Fraction(epsilon)) == factor


@pytest.mark.parametrize("steps", range(1, 1300, 7))
def test_the_factor_is_never_below_the_truth_and_close_above(steps):
    shown, truth = float(chance_factor(Fraction(steps, 100)).replace(",", "")), math.exp(steps / 100)
    assert truth * (1 - 1e-12) <= shown <= truth * 1.01


def test_where_a_row_is_the_unit_its_one_row_is_not_mentioned():
    rows = {"a": [1, 2], "p": [1, 2]}
    said = {}
    for unit in ("rows", {"id": "p", "groups": 1, "rows_per_group": 1, "unique": True}):
        book = {"name": "x", "unit": unit, "table": "x", "variables": {"a": "integer", "p": "integer"}}
        session = dp.Dataset(rows, codebook=book).session(dp.budget(epsilon=1))
        said[str(unit)[:4]] = session.query().agg(n=dp.count()).release(epsilon=1).guarantee
    assert said["rows"].endswith("a factor of 2.72 (one total).")
    assert "(one total; no p has more than one row in a group)" in said["{'id"]


def test_a_huge_epsilon_is_not_spelled_out():
    assert chance_factor(Fraction(14)) == chance_factor(Fraction(10**9)) == "more than 400,000"
    assert math.exp(13) > 400_000


def test_a_promise_names_the_unit_the_odds_and_the_chance_that_it_fails():
    patient = Unit(id="patient_id", groups=1, rows=1)
    assert promise("epsilon = 1, delta = 1e-8", Fraction(1), Fraction(1, 10**8), patient) == (
        "epsilon = 1, delta = 1e-8: the presence or absence of one patient changes the chance of any answer by at most "
        "a factor of 2.72 plus 1e-8"
    )
    assert promise("rho = 0.1", None, Fraction(0), patient) == "rho = 0.1 for data sets with and without one patient"
