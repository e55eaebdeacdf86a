"""The main job end to end, on the reference engine: price for free, charge first, draw once, say how wrong it may be."""

import copy
import pickle
import sys
from fractions import Fraction

import pytest

from deniable.accounting import budget
from deniable.engines.reference import ReferenceEngine
from deniable.errors import BudgetExceeded, EngineFailed, InvalidArgument, LedgerError, QueryRefused, Retired
from deniable.ledger.store import Packed, pack
from deniable.plan.codebook import Codebook
from deniable.plan.unit import unit
from deniable.query import aggregates as ask
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.testing import Silent

BOOK = """
format: 1
name: visits
unit: {id: who, groups: 2, rows_per_group: 3}
tables:
  visits:
    variables:
      who: {type: integer}
      city: {type: string, categories: [Lyon, Paris, Nice]}
      tag: {type: string}
      age: {type: integer, bounds: [0, 100]}
      cost: {type: number, bounds: [-10, 10], step: 0.5}
      day: {type: date, bounds: [2025-01-01, 2025-03-31]}
"""
ROWS = {
    "who": [1, 1, 2, 3, 3, 4, 5],
    "city": ["Paris", "Lyon", "Paris", "Paris", "Paris", "Lyon", "Paris"],
    "tag": ["a", "b", "a", "a", "a", "b", "rare"],
    "age": [30, 30, 50, 20, 20, 80, 40],
    "cost": [1.5, -2.0, 3.0, 0.5, 0.5, 10.0, -10.0],
    "day": ["2025-01-05", "2025-02-01", "2025-01-09", "2025-03-01", "2025-03-02", "2025-02-02", "2025-01-31"],
}


def dataset(rows=None, book=BOOK):
    codebook = Codebook.from_yaml(book)
    return Dataset(ReferenceEngine({"visits": rows or ROWS}, codebook, key=7), codebook=codebook)


@pytest.fixture
def exact():
    """A session whose noise is zero: what it answers is the plain aggregate."""
    return dataset().session(budget(epsilon=10**6, delta=1e-6), entropy=Silent())


@pytest.fixture
def session(tmp_path):
    return dataset().session(budget(epsilon=1, delta=1e-6), ledger=tmp_path / "v.ledger")


def by_city(session):
    return session.query().group_by("city")


def test_without_noise_answers_are_the_plain_aggregates(exact):
    answer = (
        by_city(exact)
        .agg(
            n=ask.count(),
            people=ask.count_distinct(),
            tags=ask.count_distinct("tag"),
            total=ask.sum("cost"),
            avg=ask.mean("age"),
            var=ask.variance("age"),
            sd=ask.std("age"),
            mid=ask.median("age"),
            both=ask.covariance("age", "cost"),
        )
        .release(epsilon=10**5)
    )
    rows = {row["city"]: row for row in answer.table}
    assert list(rows) == ["Lyon", "Paris", "Nice"]  # every declared key, in public order, empty ones too
    paris = rows["Paris"]
    assert (paris["n"], paris["people"], paris["tags"], paris["total"]) == (5, 4, 2, -4.5)
    assert paris["avg"] == pytest.approx(32)
    assert paris["var"] == pytest.approx(136)
    assert paris["sd"] == pytest.approx(136**0.5)
    assert paris["mid"] == 30
    assert paris["both"] == pytest.approx(
        sum(a * c for a, c in [(30, 1.5), (50, 3), (20, 0.5), (20, 0.5), (40, -10)]) / 5 + 32 * 0.9
    )
    assert (rows["Nice"]["n"], rows["Nice"]["people"]) == (0, 0)
    assert "NO GUARANTEE" in answer.guarantee


def test_bounds_are_applied_after_filters():
    rows = {name: [*ROWS[name], *[ROWS[name][0]] * 20] for name in ROWS}
    exact = dataset(rows).session(budget(epsilon=1000), entropy=Silent())
    answer = exact.query().where("city = 'Paris' and age >= 30").agg(n=ask.count(), s=ask.sum("age")).release(epsilon=1)
    assert answer.value("n") == 3 + 1 + 1  # unit 1 has 21 rows and counts for 3
    assert answer.value("s") == 3 * 30 + 50 + 40  # each of its 21 rows weighs 3/21
    total = exact.query().where("city = 'Paris' and age >= 30").agg(s=ask.sum("age", clip="total")).release(epsilon=1)
    assert total.value("s") == 300 + 50 + 40  # clipped to what 3 rows can add
    sampled = exact.query().where("city = 'Paris' and age >= 30").agg(m=ask.mean("age")).release(epsilon=300)
    assert sampled.value("m") == pytest.approx((30 * 3 + 50 + 40) / 5)


def test_a_price_touches_nothing_and_is_what_is_charged(session):
    query = by_city(session).agg(n=ask.count(), avg=ask.mean("age"))
    price = query.price(epsilon=0.25)
    assert session.spent.loss == 0
    answer = query.release(epsilon=0.25)
    assert answer.receipt.charged == price.spend
    assert session.spent == price.spend
    assert session.remaining.more_like_the_last == 3
    assert "n: ±" in str(price)


def test_the_same_question_again_is_free_and_the_same(session):
    first = by_city(session).agg(n=ask.count()).release(epsilon=0.5)
    again = by_city(session).agg(n=ask.count()).release(epsilon=0.5)
    assert again.table == first.table
    assert session.spent.loss == Fraction(1, 2)
    assert again.guarantee == first.guarantee


def test_an_equivalent_writing_is_the_same_question(session):
    one = session.query().where("age > 30 and cost > 0").agg(n=ask.count()).release(epsilon=0.5)
    two = session.query().where("0 < cost and 30 < age").agg(n=ask.count()).release(epsilon=0.5)
    assert one.table == two.table
    assert session.spent.loss == Fraction(1, 2)


def test_a_request_id_is_charged_once_and_can_be_fetched(session):
    answer = by_city(session).agg(n=ask.count()).release(epsilon=0.5, request="monday")
    assert session.fetch("monday").table == answer.table
    assert session.spent.loss == Fraction(1, 2)


def test_over_budget_is_refused_and_costs_nothing(session):
    with pytest.raises(BudgetExceeded, match="nothing was spent"):
        by_city(session).agg(n=ask.count()).release(epsilon=1.5)
    assert session.spent.loss == 0


def test_the_ledger_outlives_the_session(session, tmp_path):
    by_city(session).agg(n=ask.count()).release(epsilon=0.75)
    later = dataset().session(budget(epsilon=1, delta=1e-6), ledger=tmp_path / "v.ledger")
    assert later.remaining.spend.loss == Fraction(1, 4)
    with pytest.raises(LedgerError, match="budget"):
        dataset().session(budget(epsilon=2, delta=1e-6), ledger=tmp_path / "v.ledger")


def test_observed_keys_need_a_delta_and_hide_rare_ones(session):
    answer = session.query().group_by("tag").agg(n=ask.count()).release(epsilon=0.5)
    assert answer.table == []  # three tags, each with a handful of people: none may be shown
    assert any("not shown" in note for note in answer.notes)
    pure = dataset().session(budget(epsilon=1))
    with pytest.raises(QueryRefused, match="keys-need-delta"):
        pure.query().group_by("tag").agg(n=ask.count()).price(epsilon=0.5)


def test_declared_values_and_dates_as_keys(exact):
    answer = exact.query().group_by("tag", values={"tag": ["b", "zzz"]}).agg(n=ask.count()).release(epsilon=1)
    assert [(row["tag"], row["n"]) for row in answer.table] == [("b", 2), ("zzz", 0)]
    months = exact.query().group_by(month="date_trunc('month', day)").agg(n=ask.count()).release(epsilon=1)
    assert [(row["month"].month, row["n"]) for row in months.table] == [(1, 3), (2, 2), (3, 2)]


def test_sub_queries_per_unit(exact):
    per_person = exact.query().per_unit(
        visits=ask.count(), spent=ask.sum("cost"), bounds={"visits": (0, 3), "spent": (-30, 30)}
    )
    answer = per_person.agg(people=ask.count(), mean=ask.mean("visits"), total=ask.sum("spent")).release(epsilon=5)
    assert answer.value("people") == 5
    assert answer.value("mean") == pytest.approx(7 / 5)
    assert answer.value("total") == sum(ROWS["cost"])
    with pytest.raises(InvalidArgument, match="not among"):
        exact.query().per_unit(n=ask.count(), bounds={"m": (0, 1)})
    with pytest.raises(InvalidArgument, match="summed up by"):
        exact.query().per_unit(n=ask.variance("age"))
    with pytest.raises(InvalidArgument, match="mode are for per_unit"):
        exact.query().agg(n=ask.mode("age"))


def test_first_and_last_rows_are_kept_by_a_public_order():
    rows = {name: [cells[0]] * 5 for name, cells in ROWS.items()} | {"age": [10, 20, 30, 40, 50]}
    exact = dataset(rows).session(budget(epsilon=1000), entropy=Silent())
    first = exact.query().keeping(first="age").agg(m=ask.mean("age")).release(epsilon=100)
    last = exact.query().keeping(last="age").agg(m=ask.mean("age")).release(epsilon=100)
    assert (first.value("m"), last.value("m")) == (pytest.approx(20), pytest.approx(40))


def test_entity_and_period_units_count_once_per_period():
    book = BOOK.replace(
        "groups: 2, rows_per_group: 3}", "groups: 1, rows_per_group: 1, period: {column: day, length: month}}"
    )
    exact = dataset(book=book).session(budget(epsilon=10), entropy=Silent())
    answer = exact.query().agg(units=ask.count_distinct()).release(epsilon=1)
    assert answer.value("units") == 6  # person 1 in January and in February, person 3 once in March, three others
    assert "one month of day" in answer.facts.unit


def test_changed_rows_as_units_cost_more():
    books = [
        BOOK.replace("unit: {id: who, groups: 2, rows_per_group: 3}", f"unit: {unit}")
        for unit in ("rows", "changed rows")
    ]
    errors = [
        by_city(dataset(book=b).session(budget(epsilon=1))).agg(n=ask.count()).price(epsilon=1).errors["n"].within
        for b in books
    ]
    assert errors[1] > errors[0]


def test_unions_add_rows(exact):
    twice = exact.query().union(exact.query()).agg(n=ask.count()).release(epsilon=1)
    assert twice.value("n") == sum(min(3, 2 * ROWS["who"].count(who)) for who in set(ROWS["who"]))


def test_histogram_and_top_k(exact):
    answer = (
        exact.query().agg(h=ask.histogram("age", edges=[0, 25, 50, 100]), t=ask.top_k("city", 2)).release(epsilon=2)
    )
    assert answer.value("h") == [2, 3, 2]
    assert answer.value("t") == ["Paris", "Lyon"]


def test_histograms_and_lists_of_quantiles_as_rows(exact):
    asked = by_city(exact).agg(h=ask.histogram("age", edges=[0, 25, 50.5, 100]), q=ask.quantile("age", [0.25, 0.75]))
    answer = asked.release(epsilon=2)
    stored = Release.from_bytes(pack(Packed(dict(answer._record), answer.facts.to_record())))
    for each in (answer, stored):
        rows = each.bins("h")
        assert len(rows) == 9
        assert rows[1].keys() == {"city", "h_bin", "h_from", "h_to", "h", "h_low", "h_high"}
        assert [(row["h_from"], row["h_to"]) for row in rows[:3]] == [(0, 25), (25, 50.5), (50.5, 100)]
        for place, group in enumerate(each.table):
            mine = rows[3 * place : 3 * place + 3]
            assert {row["city"] for row in mine} == {group["city"]}
            assert all([row[name] for row in mine] == group[name] for name in ("h", "h_low", "h_high"))
        quantiles = each.bins("q")
        assert [row["q"] for row in quantiles[:2]] == each.table[0]["q"]
        assert [row["q_bin"] for row in quantiles[:2]] == ["0.25", "0.75"]
    levels = by_city(exact).rollup().agg(h=ask.histogram("age", edges=[0, 50, 100])).release(epsilon=2)
    assert [row["h_to"] for row in levels.bins()] == [50, 100] * 4
    with pytest.raises(InvalidArgument, match="n is no histogram"):
        by_city(exact).agg(n=ask.count()).release(epsilon=1).bins("n")


def test_top_k_of_bounded_numbers_and_truth_values(exact):
    """The bounds declare the values: whole numbers, a finer grid, and what a condition can be."""
    rows = exact.query()
    assert rows.agg(t=ask.top_k("age", 2)).release(epsilon=2).value() == [20, 30]
    assert rows.agg(t=ask.top_k("cost", 1)).release(epsilon=2).value() == [0.5]
    assert rows.agg(t=ask.top_k("age >= 40", 2)).release(epsilon=2).value() == [False, True]
    assert exact.sql("SELECT APPROX_TOP_K(age, 1) AS t FROM visits WHERE age > 20", epsilon=2).value() == [30]
    by = rows.group_by("city").agg(t=ask.top_k("age", 1)).release(epsilon=2)
    assert {row["city"]: row["t"] for row in by.table} == {"Lyon": [30], "Paris": [20], "Nice": [0]}
    with pytest.raises(QueryRefused, match=r"at most 10,000 numbers, and these bounds hold 20,001"):
        rows.agg(t=ask.top_k("age * 200", 1)).price(epsilon=1)
    with pytest.raises(QueryRefused, match="a number's bounds"):
        rows.agg(t=ask.top_k("who", 1)).price(epsilon=1)


def test_accuracy_is_solved_for_the_cheapest_price(session):
    query = by_city(session).agg(n=ask.count())
    price = query.price(accuracy={"n": 40})
    assert price.errors["n"].within <= 40
    assert query.price(epsilon=float(price.spend.loss) * 0.95).errors["n"].within > 38
    with pytest.raises(InvalidArgument, match="does not compute"):
        query.price(accuracy={"m": 1})


def test_rho_sessions():
    session = dataset().session(budget(rho=0.5, delta=1e-6))
    answer = by_city(session).agg(n=ask.count(), p=ask.quantile("age", 0.9)).release(rho=0.1)
    assert session.spent.loss <= Fraction(1, 10)
    assert "rho" in answer.guarantee


@pytest.mark.parametrize(
    ("ask_it", "error", "says"),
    [
        (lambda s: by_city(s).agg(n=ask.count()).release(epsilon=-1), InvalidArgument, "positive"),
        (lambda s: by_city(s).agg(n=ask.count()).release(epsilon=float("nan")), InvalidArgument, "finite"),
        (lambda s: by_city(s).agg(n=ask.count()).release(), InvalidArgument, "say what to pay"),
        (lambda s: by_city(s).agg(n=ask.count()).release(epsilon="1"), InvalidArgument, "number"),
        (lambda s: s.query().where("nope > 1"), QueryRefused, "unknown-column"),
        (lambda s: s.query().group_by("nope"), QueryRefused, "unknown-column"),
        (lambda s: s.query("nope"), InvalidArgument, "no table"),
        (lambda s: s.query().agg(x=ask.sum("who")).price(epsilon=1), QueryRefused, "unbounded"),
        (lambda s: s.query().agg(x=ask.mean("city")).price(epsilon=1), QueryRefused, "number"),
        (lambda s: s.query().price(epsilon=1), InvalidArgument, "something to compute"),
        (lambda s: s.query().agg(x=3), InvalidArgument, "aggregate"),
        (lambda s: s.query().agg(n=ask.count()).release(epsilon=1, law="cauchy"), InvalidArgument, "laplace"),
        (lambda s: s.query().group_by("tag", values={"city": ["a"]}), InvalidArgument, "not a key"),
        (lambda s: by_city(s).where("age > 1"), InvalidArgument, "come before"),
        (lambda s: by_city(s).agg(x=ask.sum("cost")).release(epsilon=1e-14), InvalidArgument, "pay more"),
        (
            lambda s: by_city(s).agg(q=ask.quantile("age", 0.1234567890123456)).release(epsilon=0.1),
            InvalidArgument,
            "denominator",
        ),
    ],
)
def test_bad_questions_get_one_line_and_cost_nothing(session, ask_it, error, says):
    with pytest.raises(error, match=says) as caught:
        ask_it(session)
    assert "\n" not in str(caught.value)
    assert session.spent.loss == 0


def test_there_is_no_default_bound():
    book = BOOK.replace("unit: {id: who, groups: 2, rows_per_group: 3}", "unit: {id: who}")
    session = dataset(book=book).session(budget(epsilon=1))
    with pytest.raises(InvalidArgument, match="no default bound"):
        by_city(session).agg(n=ask.count()).price(epsilon=1)
    assert by_city(session).bound(groups=1, rows=2).agg(n=ask.count()).price(epsilon=1)


def test_stating_the_unit_twice_differently_is_refused():
    with pytest.raises(InvalidArgument, match="state one"):
        Dataset(ROWS, codebook=Codebook.from_yaml(BOOK), unit=unit("who", groups=9, rows=9))
    with pytest.raises(InvalidArgument, match="codebook"):
        Dataset(ROWS)


def test_a_dataset_shows_its_schema_and_nothing_else():
    data = dataset()
    assert "Paris" not in repr(data)
    assert "age: integer" in repr(data)
    for refuse in (len, iter, copy.copy, pickle.dumps):
        with pytest.raises(TypeError):
            refuse(data)
    with pytest.raises(TypeError):
        pickle.dumps(data.session(budget(epsilon=1)))


class Broken:
    """An engine that fails while it runs, quoting a cell."""

    name = "broken"

    def run(self, plan):
        raise ValueError("could not convert 'secret cell'")

    def public(self, relation):
        return {}

    def close(self):
        pass


def test_a_failure_after_the_charge_is_constant_stays_charged_and_retires(tmp_path):
    session = Dataset(Broken(), codebook=Codebook.from_yaml(BOOK)).session(budget(epsilon=1), ledger=tmp_path / "l")
    with pytest.raises(EngineFailed) as caught:
        by_city(session).agg(n=ask.count()).release(epsilon=0.5)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert session.spent.loss == Fraction(1, 2)
    with pytest.raises(Retired):
        by_city(session).agg(n=ask.count()).release(epsilon=0.1)


def test_testing_entropy_and_a_durable_ledger_do_not_meet(tmp_path):
    with pytest.raises(InvalidArgument, match="testing entropy"):
        dataset().session(budget(epsilon=1), ledger=tmp_path / "l", entropy=Silent())


def test_a_release_is_values_and_survives_storage(session, monkeypatch):
    answer = (
        by_city(session)
        .agg(n=ask.count(), avg=ask.mean("age"), h=ask.histogram("age", edges=[0, 50, 100]))
        .release(epsilon=0.5)
    )
    again = Release.from_bytes(session._ledger.fetch(answer_request(session)).payload)
    assert again.table == answer.table
    assert answer.to_pandas().shape[0] == 3
    assert answer.to_polars().height == 3
    assert answer.to_arrow().num_rows == 3
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InvalidArgument, match=r"needs polars: pip install 'deniable\[frames\]', or use to_columns\(\)"):
        answer.to_polars()
    assert answer.plot("n").svg.startswith("<svg")
    assert "ε" in answer.release_table().markdown()
    assert "<table" in answer._repr_html_()
    assert "Guarantee: epsilon = 0.5" in str(answer)


def answer_request(session):
    """The id of the only request in the ledger."""
    (charge,) = session._ledger.charges()
    return charge.body["request"]


def test_names_are_escaped_in_html():
    book = BOOK.replace("city:", '"<b>x</b>":')
    rows = {("<b>x</b>" if name == "city" else name): cells for name, cells in ROWS.items()}
    session = dataset(rows, book).session(budget(epsilon=1))
    answer = session.query().group_by(**{"k<script>": '"<b>x</b>"'}).agg(n=ask.count()).release(epsilon=1)
    assert "<script>" not in answer._repr_html_()
    assert "<script>" not in answer.plot().svg


def test_a_rehearsal_knows_only_the_codebook():
    made_up = dataset().dummy(rows=40)
    assert "made up" in made_up.name


@pytest.mark.parametrize("cells", [None, float("nan"), float("inf"), -0.0, "text", 10**30, [], True])
def test_odd_cells_never_raise_and_keep_the_schema(cells):
    rows = {name: [*values, cells] for name, values in ROWS.items()}
    session = dataset(rows).session(budget(epsilon=10), entropy=Silent())
    answer = (
        by_city(session)
        .agg(n=ask.count(), s=ask.sum("cost"), m=ask.mean("age"), q=ask.median("age"))
        .release(epsilon=1)
    )
    plain = (
        by_city(dataset().session(budget(epsilon=10), entropy=Silent()))
        .agg(n=ask.count(), s=ask.sum("cost"), m=ask.mean("age"), q=ask.median("age"))
        .release(epsilon=1)
    )
    assert list(answer.table[0]) == list(plain.table[0])
    assert [type(v) for v in answer.table[0].values()] == [type(v) for v in plain.table[0].values()]
    assert [row["city"] for row in answer.table] == [row["city"] for row in plain.table]


def test_an_empty_table_is_answered():
    empty = {name: [] for name in ROWS}
    answer = by_city(dataset(empty).session(budget(epsilon=1))).agg(n=ask.count(), m=ask.mean("age")).release(epsilon=1)
    assert len(answer.table) == 3


COARSE = BOOK.replace("bounds: [0, 100]}", "bounds: [-3, 100000]}")


@pytest.mark.parametrize("ages", [[-3, -3, -3, 7, 99_000], [-3, 7, 100_000, 100_000, 100_000], [-9, -9, -9, 10**9, 0]])
def test_a_quantile_at_a_bound_is_the_bound_however_coarse_its_candidates(ages):
    """Clamped values pile up at the bounds: each is a candidate of its own, and nothing beyond them is one."""
    rows = {name: values[:5] for name, values in ROWS.items()} | {"age": ages, "who": [1, 2, 3, 4, 5]}
    session = dataset(rows, COARSE).session(budget(epsilon=10), entropy=Silent())
    answer = session.query().agg(m=ask.median("age"), top=ask.quantile("age", 0.999)).release(epsilon=1)
    clamped = sorted(min(max(age, -3), 100_000) for age in ages)
    assert answer.value("m") == clamped[2]
    assert abs(answer.value("top") - clamped[-1]) <= 100_003 / 1024
    assert answer.value("top") <= 100_000


def test_a_session_says_what_it_implies_for_other_units(session):
    said = session.implied(coarser={"household": 3}, finer=["visit"])
    assert [row.unit for row in said.rows] == ["visit", session.unit.phrase, "household"]
    assert said.rows[0].spend == said.rows[1].spend
    assert said.rows[2].spend.loss == 3
    assert float(said.rows[2].spend.delta) == pytest.approx(1e-6 * (1 + 2.718281828459045 + 7.38905609893065))
    assert "household (up to 3 units): epsilon = 3, delta = 1.11074e-5" in str(said)
