"""A question means what plain SQL means: limits between grid points, letters beyond ASCII, quotients, on both local engines."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import deniable as dp
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.testing import Silent

WORDS = ["École", "ÉCOLE", "école", "straße", "Bar"]
BOOK = {
    "name": "t",
    "unit": "rows",
    "tables": {
        "t": {
            "variables": {
                "x": {"type": "integer", "bounds": [-3, 3]},
                "y": {"type": "integer", "bounds": [-3, 3]},
                "named": {"type": "string", "categories": WORDS},
                "free": "string",
            }
        }
    },
}
PAIRS = [(x, y) for x, y in product([*range(-3, 4), None], repeat=2)]
DATA = {
    "x": [x for x, _ in PAIRS],
    "y": [y for _, y in PAIRS],
    "named": [WORDS[i % 5] for i in range(len(PAIRS))],
    "free": [WORDS[i % 5] for i in range(len(PAIRS))],
}


@pytest.fixture(scope="module", params=[ReferenceEngine, DuckDBEngine])
def session(request):
    codebook = Codebook.from_record(BOOK)
    engine = request.param({"t": DATA}, codebook, key=bytes(range(32)))
    return dp.Dataset(engine, codebook=codebook).session(dp.budget(epsilon=10**6, delta=1e-6), entropy=Silent())


def answer(session, text):
    return session.sql(text, epsilon=1)


@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("limit", ["1/3", "0.1", "-0.5", "x", "y / 3", "x / 2"])
def test_a_quotient_is_compared_exactly(session, sign, limit):
    compare = {"=": "==", "<>": "!="}.get(sign, sign)
    exact = limit.replace("1/3", "Fraction(1, 3)").replace("0.1", "Fraction(1, 10)")
    wanted = sum(
        eval(f"Fraction(x) / y {compare} {exact}", {"Fraction": Fraction, "x": Fraction(x), "y": Fraction(y)})
        for x, y in PAIRS
        if x is not None and y
    )
    told = answer(session, f"SELECT COUNT(*) AS n FROM t WHERE x / y {sign} {limit.replace('1/3', '(1 / 3)')}")
    assert told.value("n") == wanted
    assert not any("rounded" in note for note in told.notes)


def test_a_quotient_that_is_added_up_says_that_it_is_rounded(session):
    told = answer(session, "SELECT SUM(x / y) AS s FROM t")
    assert any("rounded to a multiple of 2^-20" in note for note in told.notes)
    assert not any("2^-20" in note for note in answer(session, "SELECT SUM(x / 3) AS s FROM t").notes)


@pytest.mark.parametrize(("low", "high"), [(0, 2.5), (-1.5, 10), (-10, 0.25), (0.2, 0.4), (-3, 3)])
def test_limits_between_grid_points_are_meant_as_written(session, low, high):
    present = [x for x in DATA["x"] if x is not None]
    wanted = sum(min(max(x, low), high) for x in present)
    asked = [
        f"SELECT SUM(CLAMP(x, {low}, {high})) AS s FROM t",
        f"SELECT SUM(GREATEST(LEAST(x, {high}), {low})) AS s FROM t WHERE x IS NOT NULL",
        f"SELECT SUM(x, contribution_bounds_per_row => ({low}, {high})) AS s FROM t",
    ]
    for text in asked:
        assert answer(session, text).value("s") == pytest.approx(wanted, abs=1e-9), text
    at_end = answer(session, f"SELECT COUNT(*) AS n FROM t WHERE CLAMP(x, {low}, {high}) = {high}")
    assert at_end.value("n") == sum(x >= high for x in present)
    clipped = session.query().agg(s=dp.sum("x", clip=(low, high))).release(epsilon=1)
    assert clipped.value("s") == pytest.approx(wanted, abs=1e-9), "every row is a unit: clipping its sum is the same"


@pytest.mark.parametrize(
    ("case", "word", "wanted"), [("LOWER", "école", 3), ("UPPER", "ÉCOLE", 3), ("UPPER", "BAR", 1)]
)
def test_letters_change_exactly_where_categories_are_declared(session, case, word, wanted):
    count = sum((getattr(each, case.lower())()) == word for each in DATA["named"])
    assert wanted * 12 <= count <= wanted * 13
    told = answer(session, f"SELECT COUNT(*) AS n FROM t WHERE {case}(named) = '{word}'")
    assert told.value("n") == count
    assert not any("UPPER and LOWER" in note for note in told.notes)
    free = answer(session, f"SELECT COUNT(*) AS n FROM t WHERE {case}(free) = '{word}'")
    assert any("letters A to Z alone" in note for note in free.notes)


def test_groups_by_letters_are_not_split(session):
    told = answer(session, "SELECT UPPER(named) AS w, COUNT(*) AS n FROM t GROUP BY UPPER(named)")
    assert {row["w"] for row in told.table} == {"ÉCOLE", "STRAßE", "BAR"}


def test_limits_per_unit_between_grid_points():
    book = {**BOOK, "unit": {"id": "p", "groups": 1, "rows_per_group": 9}}
    book["tables"] = {"t": {"variables": {"p": "integer", "x": {"type": "integer", "bounds": [0, 3]}}}}
    data = dp.Dataset({"p": [1, 1, 2, 3], "x": [3, 3, 1, 2]}, codebook=book)
    asked = data.session(dp.budget(epsilon=100), entropy=Silent()).query()
    for summary, wanted in ((dp.sum("x"), 2.5 + 1 + 2), (dp.count(), 2 + 1 + 1)):
        told = asked.per_unit(v=summary, bounds={"v": (0, 2.5)}).agg(s=dp.sum("v")).release(epsilon=1)
        assert told.value("s") == pytest.approx(wanted)
