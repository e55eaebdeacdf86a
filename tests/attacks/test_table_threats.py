"""Attacks on private tables through the public API, on the embedded engine: keys, order, types, errors, joins, repetition."""

import hashlib
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.cli.demo_data import VISITS_CODEBOOK, visits
from deniable.engines.parquet import write_arrays
from deniable.errors import BudgetExceeded, DeniableError, QueryRefused
from deniable.mechanisms.private_keys import new_key_delta
from deniable.release.registry import Registry
from deniable.testing import Silent

BOOK = dp.Codebook.from_yaml("""
format: 1
name: shop
unit: {id: who, groups: 2, rows_per_group: 3}
tables:
  orders:
    variables:
      who: {type: integer}
      item: {type: string}
      kind: {type: string, categories: [book, toy], other: rest}
      price: {type: number, bounds: [0, 50], step: 0.25}
  people:
    variables:
      who: {type: integer}
      town: {type: string, categories: [north, south]}
  towns:
    public: true
    variables:
      town: {type: string, categories: [north, south]}
      tax: {type: integer, bounds: [0, 30]}
""")
ORDERS = {
    "who": [1, 1, 1, 2, 3, 3, 4, None],
    "item": ["x", "y", "x", "x", "x", "z", "x", "x"],
    "kind": ["book", "toy", "book", "book", "toy", "lamp", "book", "book"],
    "price": [1.0, 2.5, 3.0, 50.0, 0.25, 7.0, 9.0, 8.0],
}
PEOPLE = {"who": [1, 2, 3, 4], "town": ["north", "south", "south", "north"]}
TOWNS = {"town": ["north", "south"], "tax": [10, 20]}


def shop(orders=None, people=None):
    return dp.Dataset(
        {
            "orders": ORDERS if orders is None else orders,
            "people": PEOPLE if people is None else people,
            "towns": TOWNS,
        },
        codebook=BOOK,
    )


def exact(orders=None, people=None):
    """Zero noise, no durable ledger: what the inner integers are."""
    return shop(orders, people).session(dp.budget(epsilon=1000, delta=1e-6), entropy=Silent())


def kinds(session):
    return session.query("orders").group_by("kind").agg(n=dp.count(), s=dp.sum("price"), u=dp.count_distinct())


def test_k1_a_unique_key_shows_with_probability_at_most_delta():
    session = shop().session(dp.budget(epsilon=10, delta=1e-6))
    price = session.query("orders").group_by("item").agg(n=dp.count()).price(epsilon=1)
    noise = price.allocation.noises[price.allocation.thresholds[0].column]
    assert (
        new_key_delta(price.threshold, scale=noise.scale, l0=2, linf=1, law=noise.law)
        <= price.pair.delta
        <= Fraction(1, 10**6)
    )


def test_k2_an_outlier_opens_no_new_group_and_k5_types_stay():
    plain, odd = (
        exact(),
        exact({**ORDERS, "kind": [*ORDERS["kind"][:-1], "<<outlier>>"], "price": [*ORDERS["price"][:-1], 1e308]}),
    )
    tables = [kinds(session).release(epsilon=100).table for session in (plain, odd)]
    assert [[row["kind"] for row in table] for table in tables] == [["book", "toy", "rest"]] * 2
    assert [[type(v) for v in row.values()] for row in tables[0]] == [
        [type(v) for v in row.values()] for row in tables[1]
    ]


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(8)))
def test_k3_the_order_of_rows_changes_nothing(order):
    shuffled = {name: [cells[i] for i in order] for name, cells in ORDERS.items()}
    assert kinds(exact(shuffled)).release(epsilon=100).table == kinds(exact()).release(epsilon=100).table


ODD = [None, float("nan"), float("inf"), float("-inf"), -0.0, "n/a", "x" * 100_000, 10**30, True]


@pytest.mark.parametrize("cell", ODD, ids=[str(c)[:6] for c in ODD])
@pytest.mark.parametrize("column", ["who", "item", "kind", "price"])
def test_k4_f8_one_odd_cell_raises_nothing_and_moves_one_unit_only(column, cell):
    orders = {name: [*cells[:-1], cell if name == column else cells[-1]] for name, cells in ORDERS.items()}
    table = kinds(exact(orders)).release(epsilon=100).table
    plain = kinds(exact()).release(epsilon=100).table
    for row, before in zip(table, plain, strict=True):
        assert abs(row["u"] - before["u"]) <= 1
        assert abs(row["n"] - before["n"]) <= 3
        assert abs(row["s"] - before["s"]) <= 150


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, lambda d: pl.DataFrame(d, strict=False), pa.table, dict],
    ids=["pandas", "polars", "arrow", "dict"],
)
def test_every_source_gives_the_same_integers(make):
    assert (
        kinds(exact(make(ORDERS), make(PEOPLE))).release(epsilon=100).table == kinds(exact()).release(epsilon=100).table
    )


def test_f9_empty_tables_are_answered():
    empty = {name: [] for name in ORDERS}
    table = kinds(exact(empty)).release(epsilon=100).table
    assert [(row["kind"], row["n"], row["u"]) for row in table] == [("book", 0, 0), ("toy", 0, 0), ("rest", 0, 0)]


def test_c2_null_ids_are_dropped_and_duplicates_are_one_unit():
    table = {row["kind"]: row for row in kinds(exact()).release(epsilon=100).table}
    assert table["book"]["u"] == 3  # units 1, 2, 4; the row without an id counts for nobody
    many = {name: [*cells, *[cells[0]] * 50] for name, cells in ORDERS.items()}
    table = {row["kind"]: row for row in kinds(exact(many)).release(epsilon=100).table}
    assert (table["book"]["u"], table["book"]["n"]) == (3, 5)  # unit 1 has 52 rows there and counts for 3


def test_c1_a_self_join_cannot_multiply_a_unit():
    session = exact()
    orders = session.query("orders")
    other = session.query("orders").select(who="who", again="item")
    joined = orders.join(other, on="who").group_by("kind").agg(n=dp.count(), u=dp.count_distinct()).release(epsilon=100)
    assert all(row["n"] <= 3 * row["u"] for row in joined.table)


def test_joins_public_and_along_the_unit():
    session = exact()
    people = session.query("people").join(session.query("towns").select(town="town", tax="tax"), on="town")
    table = people.group_by("tax", values={"tax": [10, 20]}).agg(u=dp.count_distinct()).release(epsilon=100).table
    assert [(row["tax"], row["u"]) for row in table] == [(10, 2), (20, 2)]
    along = session.query("orders").join(session.query("people").select(who="who", town="town"), on="who")
    table = along.group_by("town").agg(n=dp.count()).release(epsilon=100).table
    assert {row["town"]: row["n"] for row in table} == {"north": 4, "south": 3}


def test_a_join_not_along_a_link_is_refused():
    session = exact()
    with pytest.raises(DeniableError):
        session.query("orders").join(session.query("people").select(town="town"), on={"item": "town"}).agg(
            n=dp.count()
        ).price(epsilon=1)


@pytest.mark.parametrize(
    "condition",
    ["1 / (price - 1) > 0", "price / 0 > 1", "cast(item as integer) > 0", "price * price * price * 1000000 > 1"],
)
def test_s1_no_expression_is_an_oracle(condition):
    session = shop().session(dp.budget(epsilon=10))
    try:
        query = session.query("orders").where(condition).agg(n=dp.count())
        query.price(epsilon=1)
    except QueryRefused:
        return  # refused from the plan alone
    query.release(epsilon=1)  # or answered: never an error that depends on a row


def test_s4_a_price_does_not_depend_on_the_data():
    one = {name: cells[:1] for name, cells in ORDERS.items()}
    prices = [str(kinds(shop(orders).session(dp.budget(epsilon=10))).price(epsilon=1)) for orders in (ORDERS, one)]
    assert prices[0] == prices[1]


def test_m1_repeated_and_rewritten_questions_are_drawn_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = shop().session(dp.budget(epsilon=1), ledger=tmp_path / "l")
    answers = {
        str(session.query("orders").where(text).agg(n=dp.count()).release(epsilon=0.5).table)
        for text in ("price > 1 and price < 9", "price < 9 and price > 1", "1 < price and 9 > price")
        for _ in range(3)
    }
    assert len(answers) == 1
    assert session.spent.loss == Fraction(1, 2)


def test_b1_threads_share_one_budget(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = shop().session(dp.budget(epsilon=1), ledger=tmp_path / "l")
    granted = []

    def spend(number):
        for k in range(3):
            try:
                session.query("orders").where(f"price > {number + k / 4}").agg(n=dp.count()).release(epsilon=0.1)
                granted.append(1)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=spend, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 10


rows = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["book", "toy", "?"]), st.floats(-10, 100)), min_size=0, max_size=14
)


@settings(max_examples=25, deadline=None)
@given(data=rows, gone=st.integers(1, 4))
def test_removing_one_unit_moves_the_integers_by_at_most_the_declared_sensitivities(data, gone):
    def columns(kept):
        return {
            "who": np.array([r[0] for r in kept], dtype=np.int64),
            "item": np.array([r[1] for r in kept], dtype=object),
            "kind": np.array([r[1] for r in kept], dtype=object),
            "price": np.array([r[2] for r in kept], dtype=np.float64),
        }

    key = 2**200 + 7  # one order key for both, as for one data set with and without a person
    from deniable.engines.duckdb import DuckDBEngine

    answers = []
    for kept in (data, [r for r in data if r[0] != gone]):
        tables = {"orders": columns(kept), "people": PEOPLE, "towns": TOWNS}
        session = dp.Dataset(DuckDBEngine(tables, BOOK, key=key), codebook=BOOK).session(
            dp.budget(epsilon=1000), entropy=Silent()
        )
        query = (
            session.query("orders")
            .group_by("kind")
            .agg(n=dp.count(), s=dp.sum("price"), u=dp.count_distinct(), h=dp.histogram("price", edges=[0, 25, 50]))
        )
        answers.append(query.release(epsilon=100).table)
    differences = [
        {name: np.abs(np.subtract(a[name], b[name])) for name in ("n", "s", "u", "h")}
        for a, b in zip(*answers, strict=True)
    ]
    assert sum(d["u"] > 0 for d in differences) <= 2
    for d in differences:
        assert d["u"] <= 1
        assert d["n"] <= 3
        assert d["s"] <= 150
        assert d["h"].sum() <= 3


def test_preparing_a_question_releases_nothing_and_changes_no_answer():
    plain, prepared = exact(), exact()
    question = kinds(prepared).prepare()
    assert prepared.spent.loss == 0
    assert question.release(epsilon=100).table == kinds(plain).release(epsilon=100).table
    fewer = [session.query("orders").group_by("kind").agg(n=dp.count()) for session in (plain, prepared)]
    assert fewer[0].release(epsilon=100).table == fewer[1].release(epsilon=100).table


# B9, B10: two analysts, two ledgers


@pytest.fixture
def visits_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_arrays(visits(patients=50), tmp_path / "visits.parquet")
    (tmp_path / "visits.yaml").write_text(VISITS_CODEBOOK)
    return tmp_path / "visits.parquet"


def opened(path, ledger, **terms):
    data = dp.Dataset(path, codebook=path.parent / "visits.yaml")
    return data.session(dp.budget(epsilon=1), ledger=path.parent / ledger, **terms)


def charged(path, ledger, **terms):
    """A session whose ledger is there: the first charge makes it, and tells the curator's register."""
    session = opened(path, ledger, **terms)
    session.query().agg(n=dp.count()).release(epsilon=0.1)
    return session


def test_b9_colluding_analysts_share_the_cap_of_the_data_set(visits_file):
    """Each may spend 0.8, both together 1: whoever comes later gets what is left."""
    each = dp.ledger.Cap(budget=dp.budget(epsilon=0.8), analyst=dp.ledger.Each.ANALYST)
    sessions = {name: opened(visits_file, "l", account=name, caps=(each,)) for name in ("alice", "bob", "carol")}
    granted = dict.fromkeys(sessions, 0)
    for round_ in range(10):
        for place, (name, session) in enumerate(sessions.items()):
            try:
                session.query().where(f"age > {round_ * 3 + place}").agg(n=dp.count()).release(epsilon=0.1)
                granted[name] += 1
            except BudgetExceeded:
                pass
    assert sum(granted.values()) == 10
    assert max(granted.values()) <= 8
    assert sessions["bob"].spent.loss == 1


def test_b10_one_file_under_two_ledgers_is_told_to_the_curator_alone(visits_file, tmp_path):
    copy = tmp_path / "again.parquet"
    copy.write_bytes(visits_file.read_bytes())
    other = tmp_path / "other.parquet"
    write_arrays(visits(patients=51), other)
    seen = []
    for path, ledger in ((visits_file, "first.ledger"), (copy, "second.ledger"), (other, "third.ledger")):
        session = opened(path, ledger)
        answer = session.query().agg(n=dp.count()).release(epsilon=0.5)
        seen.append((repr(session), answer.guarantee, answer.notes, str(answer.columns["n"].error)))
        opened(path, ledger)  # the same ledger again is not a second budget
    assert seen[0] == seen[1] == seen[2]
    (found,) = Registry().copies()
    assert [ledger for _, ledger in found.held] == sorted(
        str(tmp_path / name) for name in ("first.ledger", "second.ledger")
    )


def test_b10_other_rows_under_an_old_ledger_are_told_to_the_curator_alone(visits_file, tmp_path):
    path, other = tmp_path / "moving.parquet", tmp_path / "other.parquet"
    path.write_bytes(visits_file.read_bytes())
    write_arrays(visits(patients=51), other)
    seen = []
    for patients in (visits_file, visits_file, other):
        path.write_bytes(patients.read_bytes())
        session = opened(path, "l")
        answer = session.query().agg(n=dp.count()).release(epsilon=0.5)
        seen.append((answer.columns["n"].values, str(session.spent), answer.guarantee, answer.notes))
        assert len(Registry().replacements()) == (patients is other)
    assert seen[0] == seen[1] == seen[2]
    (found,) = Registry().replacements()
    assert str(found).startswith(f"{path} had 2 contents under {tmp_path / 'l'}: ")
    dp.Dataset(path, codebook=path.parent / "visits.yaml").new_version(tmp_path / "l", reason="the rows of 2025")
    opened(path, "l")
    assert Registry().replacements() == ()
    assert Registry().copies() == ()


def test_b10_what_is_noted_cannot_be_compared_without_the_key(visits_file, tmp_path):
    charged(visits_file, "l")
    content = visits_file.read_bytes()
    plain = {make(content).hexdigest() for make in (hashlib.sha256, hashlib.md5, hashlib.blake2b, hashlib.sha1)}
    plain.add(hashlib.blake2b(content, digest_size=32).hexdigest())
    folder = tmp_path / "state" / "deniable" / "registry"
    written = [path.name + path.read_bytes().decode("latin1") for path in folder.rglob("*") if path.is_file()]
    written.append((tmp_path / "l").read_bytes().decode("latin1"))
    assert len(written) == 4
    assert not any(digest in text for digest in plain for text in written)
    assert (folder / "key").stat().st_mode & 0o077 == 0
    monkey = Registry(tmp_path / "elsewhere")
    monkey.note([visits_file], dataset="v", ledger="x", place="p", version=1)
    names = [{path.name for path in Path(f).iterdir()} for f in (folder, tmp_path / "elsewhere")]
    assert names[0] & names[1] == {"key", "seen"}


def test_b10_a_folder_that_cannot_be_used_shows_nothing(visits_file, tmp_path):
    (tmp_path / "state" / "deniable").mkdir(parents=True)
    (tmp_path / "state" / "deniable" / "registry").write_text("not a folder")
    assert opened(visits_file, "l").remaining.spend.loss == 1
    assert Registry().copies() == ()
