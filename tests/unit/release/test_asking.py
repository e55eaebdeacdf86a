"""What the codebook declares is used, and what an analyst may fix can be fixed: bins, public keys, shares of the budget, forms."""

from fractions import Fraction

import pytest

from deniable.accounting import budget, epsilon
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument, QueryRefused
from deniable.plan.codebook import Codebook
from deniable.query import aggregates as ask
from deniable.release.dataset import Dataset
from deniable.testing import Silent

BOOK = """
format: 1
name: stays
unit: {id: who, groups: 2, rows_per_group: 3}
sampling: {design: every third hospital}
tables:
  stays:
    unit: who
    variables:
      who: {type: integer}
      age: {type: integer, bounds: [0, 100], bins: [0, 18, 65, 100], provenance: the registry}
      cost: {type: decimal, bounds: [0, 99.99], step: 0.01}
      urgent: {type: boolean, missing: {impute: false}}
      at: {type: timestamp, bounds: [2025-01-01 00:00:00, 2025-01-01 23:59:59]}
      place: {type: string}
  places:
    public: true
    variables:
      name: {type: string}
      beds: {type: number, bounds: [0, 10], step: 0.5}
"""
STAYS = {
    "who": [1, 2, 3, 4, 5, 6],
    "age": [5, 18, 64, 65, 100, None],
    "cost": ["1.25", 2.5, 3, "n/a", 100, 0.01],
    "urgent": [True, "yes", 0, None, "no", 1],
    "at": [f"2025-01-01 0{hour}:30:00" for hour in (0, 0, 1, 1, 1, 9)],
    "place": ["north", "north", "south", "rare", "north", "south"],
}
PLACES = {"name": ["north", "south", "west", "west"], "beds": [1.5, 2, 2, 0.5]}


@pytest.fixture(params=[ReferenceEngine, DuckDBEngine])
def exact(request):
    codebook = Codebook.from_yaml(BOOK)
    engine = request.param({"stays": STAYS, "places": PLACES}, codebook, key=bytes(range(1, 33)))
    return Dataset(engine, codebook=codebook).session(budget(epsilon=100, delta=1e-6), entropy=Silent())


def test_a_number_with_bins_is_grouped_by_them(exact):
    answer = exact.query("stays").group_by("age").agg(n=ask.count()).release(epsilon=1)
    assert {row["age"]: row["n"] for row in answer.table} == {"[0, 18)": 1, "[18, 65)": 2, "[65, 100]": 2}
    listed = exact.query("stays").group_by("age", values={"age": [5, 6]}).agg(n=ask.count()).release(epsilon=1)
    assert [(row["age"], row["n"]) for row in listed.table] == [(5, 1), (6, 0)]
    kept = (
        exact.query("stays").where("urgent").derive(years="age").group_by("years").agg(n=ask.count()).release(epsilon=1)
    )
    assert [row["n"] for row in kept.table] == [1, 1, 0]  # a renamed column is still that variable


def test_a_histogram_takes_the_bins_of_the_codebook(exact):
    answer = exact.query("stays").agg(h=ask.histogram("age")).release(epsilon=1)
    assert answer.value("h") == [1, 2, 2]
    with pytest.raises(QueryRefused, match="public bins"):
        exact.query("stays").agg(h=ask.histogram("cost")).price(epsilon=1)


def test_keys_from_a_public_table_are_all_shown(exact):
    assert exact.public_values("places", "name") == ("north", "south", "west")
    assert exact.public_values("places", "beds") == (Fraction(1, 2), Fraction(3, 2), 2)
    keys = {"place": exact.public_values("places", "name")}
    answer = exact.query("stays").group_by("place", values=keys).agg(n=ask.count()).release(epsilon=1)
    assert [(row["place"], row["n"]) for row in answer.table] == [("north", 3), ("south", 2), ("west", 0)]
    assert exact.spent.delta == 0
    with pytest.raises(QueryRefused):
        exact.public_values("stays", "place")
    with pytest.raises(InvalidArgument, match="no column"):
        exact.public_values("places", "rooms")


def test_every_type_is_read_and_hours_are_cut(exact):
    answer = (
        exact.query("stays")
        .agg(total=ask.sum("cost"), urgent=ask.count("case when urgent then 1 end"), costs=ask.count_distinct("cost"))
        .release(epsilon=5)
    )
    (row,) = answer.table
    assert (row["total"], row["urgent"], row["costs"]) == (pytest.approx(1.25 + 2.5 + 3 + 99.99 + 0.01), 3, 5)
    hours = exact.query("stays").group_by(hour="date_trunc('hour', at)").agg(n=ask.count()).release(epsilon=1)
    assert len(hours.groups) == 24
    assert [row["n"] for row in hours.table][:2] == [2, 3]


def test_several_quantiles_share_one_pass_and_keep_their_order_without_noise(exact):
    asked = {f"q{q}": ask.quantile("age", Fraction(q, 100)) for q in (10, 50, 90)}
    query = exact.query("stays").agg(**asked)
    (row,) = query.release(epsilon=50).table
    assert row["q10"] <= row["q50"] <= row["q90"]
    assert len(query.price(epsilon=1).allocation.etas) == 3


def test_the_budget_is_shared_evenly_or_as_fixed(exact):
    query = exact.query("stays").group_by("age").agg(n=ask.count(), s=ask.sum("cost"))
    even, fixed = query.price(epsilon=1), query.split(n=3).price(epsilon=1)
    assert "2 numbers share the price evenly" in str(even)
    assert "in the parts asked for" in str(fixed)
    assert fixed.pair == even.pair
    scale = {name.column: noise.scale for name, noise in fixed.allocation.noises.items()}
    usual = {name.column: noise.scale for name, noise in even.allocation.noises.items()}
    assert float(usual["m0"] / scale["m0"]) == pytest.approx(1.5, rel=1e-6)  # three quarters instead of a half
    assert float(usual["m1"] / scale["m1"]) == pytest.approx(0.5, rel=1e-6)
    observed = exact.query("stays").group_by("place").agg(n=ask.count())
    plain, keys = observed.price(epsilon=1), observed.split(keys=4).price(epsilon=1)
    assert keys.threshold < plain.threshold
    with pytest.raises(InvalidArgument, match="split names"):
        query.split(m=2)
    with pytest.raises(InvalidArgument, match="n must be positive"):
        query.split(n=0)


@pytest.mark.parametrize("pay", [{"epsilon": 1}, {"rho": 0.1}])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_fixed_shares_never_cost_more_than_was_asked(pay, law):
    codebook = Codebook.from_yaml(BOOK)
    engine = ReferenceEngine({"stays": STAYS, "places": PLACES}, codebook, key=1)
    money = budget(rho=5, delta=1e-6) if "rho" in pay else budget(epsilon=5, delta=1e-6)
    session = Dataset(engine, codebook=codebook).session(money)
    query = session.query("stays").group_by("place").agg(n=ask.count(), m=ask.mean("cost"), q=ask.median("age"))
    for shares in ({}, {"n": 5}, {"q": 9, "keys": Fraction(1, 7)}):
        price = query.split(**shares).price(law=law, **pay)
        asked = Fraction(str(next(iter(pay.values()))))
        if "rho" in pay:
            assert price.charge == price.cost
            assert session.rule.read(price.cost).loss <= asked * Fraction(1000001, 1000000)
        else:
            assert price.pair.loss == asked
            assert epsilon(price.cost, delta=price.pair.delta).lower <= float(asked) * (1 + 1e-9)


def test_a_dataset_describes_its_codebook_and_refuses_rows():
    codebook = Codebook.from_yaml(BOOK)
    data = Dataset(ReferenceEngine({"stays": STAYS, "places": PLACES}, codebook, key=1), codebook=codebook)
    assert Codebook.from_yaml(data.describe()).identity() == codebook.identity()
    assert "rare" not in data.describe()
    with pytest.raises(TypeError, match="private"):
        data.head()


def test_totals_read_all_in_a_notebook(exact):
    answer = exact.query("stays").group_by("age").rollup().agg(n=ask.count()).release(epsilon=1)
    assert ">all</td>" in answer._repr_html_()
    assert answer.to_arrow().column("age").to_pylist()[-1] is None
    assert answer.to_pandas().shape[0] == answer.to_polars().height == 4


def test_a_release_tells_all_its_facts(tmp_path):
    codebook = Codebook.from_yaml(BOOK)
    data = Dataset(ReferenceEngine({"stays": STAYS, "places": PLACES}, codebook, key=1), codebook=codebook)
    session = data.session(budget(epsilon=3), ledger=tmp_path / "s.ledger")
    query = session.query("stays").group_by("urgent").rollup().whole_numbers().agg(n=ask.count(), years=ask.sum("age"))
    answer = query.release(epsilon=1)
    short, full = answer.release_table(), answer.extended_table()
    assert len(short.rows) == 8
    text = str(full)
    for fact in (
        "age in [0, 100] (the registry)",
        "totals add up",
        "non-negative whole numbers",
        "every third hospital",
    ):
        assert fact in text
    assert answer.receipt.id in text
    assert "not stated" in full.markdown()
    assert full.json().startswith("{")
    assert "<table" in full.html()
