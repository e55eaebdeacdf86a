"""The noise of each statistic by its own law, in builder and SQL: priced, drawn, thresholded and stated by the same noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import deniable as dp
from deniable.accounting import Approximate, Filters, Rule, RuleKind, Spend, budget, epsilon
from deniable.audit.exact_law import output_law
from deniable.errors import InvalidArgument, QueryRefused
from deniable.kernels import Law
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.query import allocation
from deniable.query.allocation import Request, allocate
from deniable.query.columns import SliceColumn
from deniable.query.measurements import Additive, Measurements, Selection
from deniable.testing import Silent
from tests.attacks.end_to_end import in_memory

__all__ = ["in_memory"]

pytestmark = pytest.mark.usefixtures("in_memory")

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {"v": {"variables": {"p": "integer", "x": {"type": "integer", "bounds": [0, 1]}, "ward": "string"}}},
}
ALONE = {"p": [1], "x": [1], "ward": ["A"]}
DELTA = Fraction(1, 100)
EPSILON_RULE = Filters.single(Rule(RuleKind.BASIC, Spend(Fraction(10), Fraction(1, 10))))


def session(entropy=None, **paid):
    total = dp.budget(**{name: 2 * value for name, value in (paid or {"epsilon": 8}).items()}, delta=Fraction(1, 10))
    return dp.Dataset(ALONE, codebook=BOOK).session(total, entropy=entropy or Silent())


@pytest.mark.parametrize("laws", [("laplace", "gaussian"), ("discrete gaussian", "laplace")])
@pytest.mark.parametrize("paid", [{"epsilon": Fraction(20)}, {"rho": Fraction(20)}])
def test_each_statistic_is_drawn_by_the_law_chosen_for_it(laws, paid):
    """One row: the law of every pair of released numbers is the product of the two priced noises."""
    chosen = dict(zip(("n", "s"), laws, strict=True))

    def answer(entropy):
        asked = session(entropy, **paid).query().agg(n=dp.count(), s=dp.sum("x", clip="total"))
        row = asked.release(**paid, delta=DELTA, law=chosen).table[0]
        return row["n"], row["s"]

    price = (
        session(**paid).query().agg(n=dp.count(), s=dp.sum("x", clip="total")).price(**paid, delta=DELTA, law=chosen)
    )
    rows, total = price.allocation.noises.values()
    assert [noise.law.value for noise in (rows, total)] == price.law.split(" and ")
    seen = output_law(answer, tail=Fraction(1, 10**3))
    for n, s in seen.chances:
        found, exact = seen.probability((n, s)), rows.mass(n - 1) * total.mass(s - 1)
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper


def mixtures():
    additive = [Additive(SliceColumn(f"m{i}"), Sensitivity(l0=2, l1=2 * i, linf=i), Fraction(i)) for i in (1, 2, 3)]
    choice = Selection(SliceColumn("c"), Fraction(1), False, 2, 1, 8)
    for laws, units, chosen in product(product([None, *Law], repeat=3), (False, True), ((), (choice,))):
        parts = tuple(
            Additive(each.key, each.sensitivity, each.weight, law) for each, law in zip(additive, laws, strict=True)
        )
        yield Measurements(parts, chosen, (SliceColumn("m1"),) if units else ())


def covered(measurements, asked, filters):
    """Whether the charge is within what was asked, and covers the records by a reading that knows nothing of the split."""
    made = allocate(measurements, asked, filters)
    spend = Approximate().read(made.charge)
    assert spend.loss <= asked.epsilon
    assert spend.delta <= asked.delta
    return epsilon(made.cost, delta=spend.delta or Fraction(0)).lower <= float(asked.epsilon) * (1 + 1e-9)


def test_the_charge_covers_every_mixture_of_laws():
    asked = Request(Fraction(1), None, Fraction(1, 1000))
    assert all(covered(each, asked, EPSILON_RULE) for each in list(mixtures())[5::43])


def test_a_block_that_takes_the_whole_budget_is_found(monkeypatch):
    """Planted: the Laplace columns of a mixture are calibrated as if they were alone."""
    monkeypatch.setattr(allocation, "_epsilon", lambda part, weight, asked: asked.epsilon * part.weight)
    asked = Request(Fraction(1), None, Fraction(1, 1000))
    mixed = [each for each in mixtures() if {part.law for part in each.additive} == {Law.LAPLACE, Law.GAUSSIAN}]
    assert not all(covered(each, asked, EPSILON_RULE) for each in mixed[:2])


@pytest.mark.parametrize("law", list(Law))
def test_the_threshold_follows_the_law_chosen_for_the_keys(law):
    asked = session().query().group_by("ward").agg(n=dp.count())
    price = asked.price(epsilon=2, delta=DELTA, law={"n": "gaussian", "keys": law})
    (threshold,) = price.allocation.thresholds
    noise = price.allocation.noises[threshold.column]
    assert noise.law is law
    assert noise.tail(threshold.at - 1).upper <= threshold.delta < noise.tail(threshold.at - 2).upper


def test_in_sql_it_is_the_same_question():
    asked = session()
    built = asked.query().agg(n=dp.count(), s=dp.sum("x"))
    first = built.release(epsilon=2, delta=DELTA, law={"n": "gaussian", "s": "laplace"})
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 2, delta = .01, noise = (n = GAUSSIAN, s = laplace))"
    again = asked.sql(f"SELECT {clause} COUNT(*) AS n, SUM(x) AS s FROM v")
    assert again.table == first.table
    assert asked.spent.loss == 2, "asked in two ways, paid once"
    whole = asked.sql(
        "EXPLAIN DP SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, noise = DISCRETE_GAUSSIAN) COUNT(*) FROM v"
    )
    assert whole.price.law == "discrete Gaussian"


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"k": "laplace"}, "law names 'k', which is not computed; it may name n, m, q"),
        ({"q": "laplace"}, "q is a private choice, by the exponential mechanism; it has no law of noise"),
        ({"n": "laplace", "m": "gaussian"}, "n and m are computed from the same noisy number, so they have one law"),
        ({"n": "normal"}, "law must be one of 'laplace', 'gaussian', 'discrete gaussian', 'staircase', got 'normal'"),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_words(law, words):
    asked = session().query().where("x >= 0").agg(n=dp.count(), m=dp.mean("x"), q=dp.median("x"))
    with pytest.raises(InvalidArgument, match=words):
        asked.price(epsilon=1, law=law)


@pytest.mark.parametrize("noise", ["normal", "(n = normal)", "(n gaussian)", "(n = laplace, n = laplace)", "("])
def test_a_bad_clause_is_refused_in_its_place(noise):
    text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, noise = {noise}) COUNT(*) AS n FROM v"
    with pytest.raises(QueryRefused) as refused:
        session().sql(text)
    assert refused.value.code == "bad-option"


def test_a_gaussian_needs_a_delta_wherever_it_is_chosen():
    pure = dp.Dataset(ALONE, codebook=BOOK).session(budget(epsilon=1), entropy=Silent())
    with pytest.raises(InvalidArgument, match="needs a delta"):
        pure.query().agg(n=dp.count()).price(epsilon=1, law={"n": "gaussian"})
