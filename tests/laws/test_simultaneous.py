"""Errors of all numbers of a table at once: exact where noises are independent, a union bound where they are shared."""

from __future__ import annotations

from fractions import Fraction

import pytest

import deniable as dp
from deniable.audit.exact_law import output_law
from deniable.errors import InvalidArgument, QueryRefused
from deniable.kernels import Law
from deniable.query import compile_query
from deniable.query.simultaneous import simultaneous_betas
from deniable.testing import Silent
from tests.attacks.end_to_end import in_memory

__all__ = ["in_memory"]

pytestmark = pytest.mark.usefixtures("in_memory")

WARDS = [f"w{i}" for i in range(6)]
BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {
        "v": {
            "variables": {
                "p": "integer",
                "x": {"type": "integer", "bounds": [0, 4]},
                "sex": {"type": "string", "categories": ["f", "m"]},
                "ward": {"type": "string", "categories": WARDS},
                "word": "string",
            }
        }
    },
}
DATA = {"p": [1, 2, 3], "x": [1, 2, 4], "sex": ["f", "f", "m"], "ward": ["w0", "w1", "w0"], "word": ["a", "b", "a"]}
CONFIDENCE = Fraction(9, 10)


def session(entropy=None):
    total = dp.budget(epsilon=100, delta=Fraction(1, 10))
    return dp.Dataset(DATA, codebook=BOOK).session(total, entropy=entropy or Silent())


def stated(query, **terms):
    return query.price(epsilon=3, confidence=CONFIDENCE, simultaneous=True, **terms)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("by", [["sex"], ["ward"], ["sex", "ward"]])
def test_counts_hold_together_exactly_as_often_as_they_can(law, by):
    """All counts are within the stated error with the confidence, by their exact law; one step less would be too little."""
    price = stated(session().query().group_by(*by).agg(n=dp.count()), law=law)
    (noise,), groups = price.allocation.noises.values(), {"sex": 2, "ward": 6}
    cells = groups[by[0]] * (groups[by[1]] if len(by) > 1 else 1)
    within = int(price.errors["n"].within)

    def together(reach):
        return (1 - 2 * noise.tail(reach + 1).midpoint) ** cells

    assert together(within) >= CONFIDENCE
    assert together(within - 1) < CONFIDENCE


def outcome(entropy):
    """Whether every interval of one release holds its truth."""
    asked = session(entropy).query().group_by("sex").agg(n=dp.count(), s=dp.sum("x"))
    answer = asked.release(epsilon=60, confidence=CONFIDENCE, simultaneous=True, law="laplace")
    truth = {"f": (2, 3), "m": (1, 4)}
    return all(
        row["n_low"] <= truth[row["sex"]][0] <= row["n_high"] and row["s_low"] <= truth[row["sex"]][1] <= row["s_high"]
        for row in answer.table
    )


def test_every_outcome_of_a_release():
    """Every draw through the public path, with its probability."""
    seen = output_law(outcome, tail=Fraction(1, 10**3))
    assert seen.probability(True).upper >= CONFIDENCE
    assert seen.probability(False).lower <= 1 - CONFIDENCE


def test_errors_of_single_cells_do_not_hold_together():
    """The planted fault: the error of each of six counts, taken for that of all of them."""
    asked = session().query().group_by("ward").agg(n=dp.count())
    price = asked.price(epsilon=3, confidence=CONFIDENCE, law="gaussian", delta=0.01)
    (noise,) = price.allocation.noises.values()
    within = int(price.errors["n"].within)
    assert (1 - 2 * noise.tail(within + 1).midpoint) ** 6 < CONFIDENCE


def betas(query):
    return simultaneous_betas(compile_query(query, query.runner.unit), Fraction(1, 10))


def test_families_share_and_strangers_do_not():
    rows = session().query().where("x >= 0").group_by("sex")
    alone = 1 - Fraction(9, 10) ** Fraction(1, 4)
    apart = betas(rows.agg(n=dp.count(), s=dp.sum("x")))
    assert all(float(beta) == pytest.approx(alone, rel=1e-9) and beta <= Fraction(alone) for beta in apart.values())
    shared = betas(rows.agg(n=dp.count(), m=dp.mean("x")))
    assert all(float(beta) == pytest.approx((1 - 0.9**0.5) / 2, rel=1e-9) for beta in shared.values())
    bins = betas(rows.agg(h=dp.histogram("x", edges=[0, 1, 2, 4])))
    assert float(bins["h"]) == pytest.approx(1 - 0.9 ** (1 / 6), rel=1e-9)
    fitted = betas(session().query().group_by("sex", "ward").rollup().agg(n=dp.count()))
    assert fitted == {"n": Fraction(1, 10) / (12 + 2 + 1)}


def test_it_is_said_and_is_another_question():
    asked = session()
    query = asked.query().group_by("sex").agg(n=dp.count())
    each, every = query.release(epsilon=1), query.release(epsilon=1, simultaneous=True)
    assert "with probability 0.95, all at once;" in " ".join(every.notes)
    assert "all at once" in str(query.price(epsilon=1, simultaneous=True))
    assert "all at once" not in " ".join(each.notes)
    assert asked.spent.loss == 2
    (error,) = query.mechanism(epsilon=1).accuracy(simultaneous=True)
    assert error.error == every.columns["n"].within


def test_groups_that_come_from_the_data_have_none():
    with pytest.raises(QueryRefused, match="observed-keys"):
        session().query().group_by("word").agg(n=dp.count()).price(epsilon=1, simultaneous=True)
    with pytest.raises(InvalidArgument, match="simultaneous must be True or False"):
        session().query().agg(n=dp.count()).price(epsilon=1, simultaneous="yes")
