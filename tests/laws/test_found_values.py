"""The most frequent of values nobody declared, in tables and SQL: priced and chosen by the calculus, rare values hidden."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting import Pure
from deniable.audit.exact_law import output_law
from deniable.cost import Bounded, Exponential
from deniable.errors import QueryRefused
from deniable.query import compile_query
from deniable.query.found_values import found_mechanism
from deniable.testing import Seeded, Silent
from tests.attacks.end_to_end import in_memory

__all__ = ["in_memory"]

pytestmark = pytest.mark.usefixtures("in_memory")

DELTA = Fraction(1, 100)
WORDS = [*(f"w{k}" for k in range(6) for _ in range(1600 >> k)), "only mine"]


def session(entropy=None, *, unit=None, words=WORDS, paid="epsilon"):
    book = {
        "name": "v",
        "unit": unit or {"id": "p", "groups": 2, "rows_per_group": 3},
        "tables": {
            "v": {"variables": {"p": "integer", "word": "string", "sex": {"type": "string", "categories": ["f"]}}}
        },
    }
    data = {"p": [i // 2 for i in range(len(words))], "word": words, "sex": ["f"] * len(words)}
    total = dp.budget(**{paid: 1000}, delta=Fraction(1, 10))
    return dp.Dataset(data, codebook=book).session(total, entropy=entropy or Seeded(1))


def test_the_fullest_are_found_in_order_and_the_rare_one_is_not():
    asked = session().query().agg(t=dp.top_k("word", 3))
    answer = asked.release(epsilon=50, delta=DELTA)
    assert answer.value() == [word for word, _ in Counter(WORDS).most_common(3)]
    long = session().query().agg(t=dp.top_k("word", 9)).release(epsilon=50, delta=DELTA)
    assert set(long.value()) <= set(WORDS) - {"only mine"}
    assert any("come from the data" in note for note in answer.notes)


def test_in_sql_it_is_the_same_question():
    asked = session()
    built = asked.query().agg(t=dp.top_k("word", 2)).release(epsilon=5, delta=DELTA)
    assert asked.sql("SELECT APPROX_TOP_K(word, 2) AS t FROM v", epsilon=5, delta=DELTA).table == built.table
    assert asked.spent.loss == 5
    filtered = asked.sql(
        "SELECT APPROX_TOP_K(word, 2) FILTER (WHERE word <> 'w1') AS t FROM v", epsilon=50, delta=DELTA
    )
    assert "w1" not in filtered.value()
    declared = asked.sql("SELECT APPROX_TOP_K(sex, 1) AS t FROM v", epsilon=1)
    assert declared.value() == ["f"]


@pytest.mark.parametrize("unit", [None, "rows", "changed rows", {"id": "p", "groups": 1, "rows_per_group": 1}])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("paid", [{"epsilon": Fraction(2)}, {"rho": Fraction(1, 2)}])
def test_the_price_is_that_of_the_mechanism_of_the_calculus(unit, k, paid):
    """The records that are charged are those the calculus states for what one unit can do to the counts."""
    asked = (
        session(Silent(), unit=unit, paid=next(iter(paid))).query().bound(groups=2, rows=2).agg(t=dp.top_k("word", k))
    )
    price = asked.price(**paid, delta=DELTA)
    (selection,) = compile_query(asked, asked.runner.unit).measurements.found
    eta, (margin,) = price.allocation.etas[selection.key], price.allocation.margins
    mechanism = found_mechanism(selection, eta, margin.at)
    choices, leak = mechanism.cost(d_in=(selection.l0, selection.l1, selection.linf)).costs
    assert Pure().read(choices) <= Pure().read(Exponential(eta=eta).repeated(k))
    assert leak.delta <= margin.delta <= DELTA
    assert Bounded(epsilon=0, delta=margin.delta) in price.cost.costs
    one_less = found_mechanism(selection, eta, margin.at - 1)
    assert one_less.cost(d_in=(selection.l0, selection.l1, selection.linf)).costs[1].delta > margin.delta


def test_a_value_one_person_alone_has_shows_at_most_as_often_as_delta():
    """Every draw of a table with one row: the value is shown with probability at most delta, and not with next to none."""
    one = {"id": "p", "groups": 1, "rows_per_group": 1}

    def shown(entropy):
        asked = session(entropy, unit=one, words=["mine"]).query().agg(t=dp.top_k("word", 1))
        return bool(asked.release(epsilon=2, delta=DELTA).value())

    found = output_law(shown, tail=Fraction(1, 10**6)).probability(True)
    assert found.lower <= DELTA
    assert found.upper > DELTA / 10


def test_the_stated_error_holds():
    """In nearly all runs every chosen word has nearly as many rows as the best one left."""
    counts = Counter(WORDS)
    price = session(Silent()).query().agg(t=dp.top_k("word", 3)).price(epsilon=Fraction(1, 2), delta=DELTA)
    missed = 0
    for seed in range(8):
        chosen = session(Seeded(seed)).query().agg(t=dp.top_k("word", 3)).release(epsilon=Fraction(1, 2), delta=DELTA)
        left = dict(counts)
        for word in chosen.value():
            missed += max(left.values()) - left.pop(word) > price.errors["t"].within
    assert missed <= 2


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda q: q.agg(t=dp.top_k("word", 2), n=dp.count()), "no-categories"),
        (lambda q: q.group_by("sex").agg(t=dp.top_k("word", 2)), "no-categories"),
        (lambda q: q.agg(t=dp.top_k("word", 10**4)), "too-many-values"),
        (lambda q: q.agg(t=dp.top_k("p", 2)), "no-categories"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, code):
    with pytest.raises(QueryRefused, match=code):
        ask(session().query()).price(epsilon=1, delta=DELTA)


def test_it_needs_a_delta():
    with pytest.raises(QueryRefused, match="keys-need-delta"):
        session().query().agg(t=dp.top_k("word", 2)).price(epsilon=1, delta=0)
