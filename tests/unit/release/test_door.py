"""The one door: any mechanism on a session's tables is priced, charged before it runs, stored, and shown with its error."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

import deniable as dp
from deniable import calculus as c
from deniable.core import numbers, rows, stream
from deniable.core.compositor import interactive
from deniable.core.mechanism import Mechanism, own_mechanism
from deniable.engines.reference import ReferenceEngine
from deniable.errors import EngineFailed, InvalidArgument, Retired, SpaceMismatch
from deniable.kernels import Law
from deniable.plan.codebook import Codebook
from deniable.release.value import value_from_record, value_record
from deniable.testing import Silent

BOOK = """
name: visits
unit: {id: who, groups: 1, rows_per_group: 2}
tables:
  visits:
    variables:
      who: {type: integer}
      ward: {type: string, categories: [a, b, c]}
      note: {type: string}
      minutes: {type: number, bounds: [0, 60], step: 0.5}
"""
ROWS = {
    "who": [1, 1, 1, 2, 3, None, 4],
    "ward": ["a", "a", "b", "c", "x", "a", "b"],
    "note": list("abcdefg"),
    "minutes": [5, 5, 5, 61, 20, 30, None],
}


def dataset(rows=None):
    book = Codebook.from_yaml(BOOK)
    return dp.Dataset(ReferenceEngine({"visits": rows or ROWS}, book, key=7), codebook=book)


@pytest.fixture
def session(tmp_path):
    return dataset().session(dp.budget(epsilon=10), ledger=tmp_path / "v.ledger")


@pytest.fixture
def silent():
    return dataset().session(dp.budget(epsilon=1000, delta=1e-6), entropy=Silent())


def test_any_mechanism_is_released_and_a_missing_scale_is_solved(session):
    answer = session.release(session.rows(column="minutes") >> c.private_median(lower=0, upper=60, grid=1), epsilon=1)
    assert 0 <= answer.value <= 60
    assert answer.accuracy.measure == "rank"
    assert session.spent.loss == 1
    assert answer.cost == dp.costs.Bounded(epsilon=1)
    assert "epsilon = 1: the presence or absence of one who changes the chance of any answer" in answer.guarantee
    assert len(answer.release_table().rows) == 8


def test_an_error_in_ranks_is_not_printed_as_one_of_values(session):
    """77 ± 510 would be read as between -433 and 587."""
    minutes = session.rows(column="minutes")
    median = session.release(minutes >> c.private_median(lower=0, upper=60, grid=1), epsilon=0.5)
    assert str(median).startswith(f"{median.value}, off by at most ")
    assert "(rank) with probability 0.95" in str(median)
    total = session.release(minutes >> c.clamp(lower=0, upper=60) >> c.total() >> c.laplace(), epsilon=0.5)
    assert f"{total.value} ± " in str(total)


def test_parts_of_parts_are_printed_each_with_its_error(silent):
    counts = [c.count() >> c.laplace(scale=scale) for scale in (2, 3, 4)]
    nested = silent.rows(column="minutes") >> c.together(c.together(*counts[:2]), counts[2])
    one, two, three = (f"{{}} ± {error} (value) with probability 0.95" for error in (6, 9, 12))
    (a, b), last = (answer := silent.release(nested)).value
    assert str(answer).splitlines()[:2] == [f"({one.format(a)}; {two.format(b)})", three.format(last)]


def test_what_is_drawn_is_the_mechanism_on_the_bounded_rows(silent):
    total = silent.rows(column="minutes") >> c.total() >> c.laplace()
    # 1 has three visits of 5 and keeps two, 2 is clamped to 60, 3 has 20; nobody's row and the missing value are left out
    assert silent.release(total, epsilon=1).value == 5 + 5 + 60 + 20
    wards = silent.rows(column="ward", rows=3) >> c.histogram() >> c.laplace()
    assert silent.release(wards, epsilon=1).value == {"a": 2, "b": 2, "c": 1}
    few = silent.rows(column="minutes", where="ward = 'a'") >> c.count() >> c.laplace()
    assert silent.release(few, epsilon=1).value == 2


def test_a_frame_holds_labels_that_say_nothing_of_others(silent):
    taken = silent.rows(columns=["minutes", "ward"])
    assert taken.map(d_in=1) == 1
    both = taken.function(silent._data, None)
    fewer = dataset({name: cells[3:] for name, cells in ROWS.items()}).session(dp.budget(epsilon=1))
    less = taken.function(fewer._data, None)
    assert set(less["unit"]) < set(both["unit"])
    assert len(set(both["unit"]) - set(less["unit"])) == 1


def test_a_given_scale_makes_epsilon_a_ceiling(session):
    total = session.rows(column="minutes") >> c.total() >> c.laplace(scale=240)
    with pytest.raises(InvalidArgument, match=r"costs epsilon = 0\.5, more than the 0\.25 offered"):
        session.release(total, epsilon=0.25)
    assert session.spent.loss == 0
    session.release(total, epsilon=3)
    assert session.spent.loss == Fraction(1, 2)
    session.release(session.rows(column="minutes") >> c.total() >> c.laplace(scale=120))
    assert session.spent.loss == Fraction(3, 2)


def test_paid_by_accuracy_and_with_a_delta(session, tmp_path):
    answer = session.release(session.rows(column="minutes") >> c.total() >> c.laplace(), accuracy=500)
    assert answer.accuracy.error <= 500
    gaussian = session.rows(column="minutes") >> c.total() >> c.gaussian()
    with pytest.raises(InvalidArgument, match="delta"):
        session.release(gaussian, epsilon=1)
    wide = dataset().session(dp.budget(epsilon=10, delta=1e-6), ledger=tmp_path / "w.ledger")
    noisy = wide.release(gaussian, epsilon=1)
    assert isinstance(noisy.cost, dp.costs.Calibrated)
    assert noisy.cost.epsilon <= 1
    assert 0 < noisy.cost.delta < Fraction(1, 10**6)
    assert dp.epsilon(noisy.cost.cost, delta=noisy.cost.delta).upper <= noisy.cost.epsilon


def test_rho_budgets_are_charged_the_cost_itself(tmp_path):
    session = dataset().session(dp.budget(rho=1), ledger=tmp_path / "r.ledger")
    answer = session.release(session.rows(column="minutes") >> c.total() >> c.gaussian(), rho=0.25)
    assert isinstance(answer.cost, dp.costs.Gaussian)
    assert Fraction(24, 100) < session.spent.loss <= Fraction(1, 4)


def test_the_same_question_is_drawn_once_and_a_function_of_ones_own_is_new(session):
    def question():
        return session.rows(column="minutes") >> c.total() >> c.laplace()

    first, again = session.release(question(), epsilon=1), session.release(question(), epsilon=1)
    assert first.value == again.value
    assert session.spent.loss == 1
    session.release(session.rows(column="minutes", rows=1) >> c.total() >> c.laplace(), epsilon=1)
    assert session.spent.loss == 2
    for _ in range(2):
        session.release(question() >> (lambda total: total / 2), epsilon=1)
    assert session.spent.loss == 4
    for _ in range(2):
        session.release(question() >> (lambda total: total / 2), epsilon=1, request="half")
    assert session.spent.loss == 5
    assert session.fetch("half").value == session.fetch("half").value
    assert "receipt" in str(session.fetch("half"))


def test_equal_words_of_different_functions_are_told_apart():
    @dp.calculus.step
    def total(space):
        return space >> c.total()

    space = dp.calculus.rows(dp.calculus.integers(lower=0, upper=9))
    assert (space >> c.total()).recipe == "total()"
    assert (space >> total()).recipe is None
    assert (space >> c.total() >> c.laplace(scale=2)).recipe == "total() >> laplace(scale=2)"
    assert (space >> c.map_rows(abs, to=dp.calculus.integers(lower=0, upper=9), default=0, author="Zoe")).recipe is None


def test_a_query_is_a_mechanism_of_the_same_space(session):
    query = session.query().group_by("ward").agg(n=dp.count())
    mechanism = query.mechanism(epsilon=1)
    assert mechanism.source == session.space
    assert mechanism.loss().upper == 1
    assert mechanism.cost(d_in=2) == mechanism.cost().group(2)
    answer = session.release(query, epsilon=1)
    assert answer.table == query.release(epsilon=1).table
    assert session.spent.loss == 1


def test_an_interactive_mechanism_runs_under_one_planned_charge(session):
    rows = session.rows(column="minutes")
    one = rows >> c.total() >> c.laplace(scale=1200)

    def three(compositor):
        return [compositor.release(one) for _ in range(3)]

    task = interactive(session.space, costs=[one.cost()] * 3, run=three)
    answer = session.release(task, epsilon=0.3)
    assert len(answer.value) == 3
    assert session.spent.loss == Fraction(3, 10)
    greedy = interactive(session.space, costs=[one.cost()], run=three)
    with pytest.raises(EngineFailed):
        session.release(greedy)
    assert session.spent.loss == Fraction(4, 10)
    with pytest.raises(Retired):
        session.release(task)


def test_whatever_fails_on_the_data_stays_charged_and_says_nothing(session):
    secret = own_mechanism(
        session.space,
        function=lambda data, entropy: 1 / 0,
        privacy_map=lambda d_in: dp.costs.Bounded(epsilon=1),
        author="Zoe",
    )
    with pytest.raises(EngineFailed) as failure:
        session.release(secret)
    assert failure.value.__cause__ is None
    assert "zero" not in str(failure.value)
    assert session.spent.loss == 1
    with pytest.raises(Retired):
        session.release(session.query().agg(n=dp.count()), epsilon=1)


def test_an_answer_that_cannot_be_stored_is_not_shown(session):
    odd = (session.rows(column="minutes") >> c.total() >> c.laplace(scale=240)) >> (lambda total: object())
    with pytest.raises(EngineFailed):
        session.release(odd)
    assert session.spent.loss == Fraction(1, 2)


@pytest.mark.parametrize(
    ("make", "payment", "error"),
    [
        (
            lambda s: dp.calculus.rows(dp.calculus.integers(lower=0, upper=9)) >> c.total() >> c.laplace(),
            {"epsilon": 1},
            SpaceMismatch,
        ),
        (lambda s: s.rows(column="minutes") >> c.total(), {"epsilon": 1}, InvalidArgument),
        (lambda s: "SELECT 1", {"epsilon": 1}, InvalidArgument),
        (lambda s: s.rows(column="minutes") >> c.total() >> c.laplace(), {}, InvalidArgument),
        (lambda s: s.rows(column="minutes") >> c.total() >> c.laplace(), {"epsilon": 1, "rho": 1}, InvalidArgument),
        (lambda s: s.rows(column="minutes") >> c.total() >> c.laplace(), {"epsilon": math.nan}, InvalidArgument),
        (lambda s: s.rows(column="minutes") >> c.total() >> c.laplace(), {"epsilon": -1}, InvalidArgument),
        (lambda s: s.rows(), {"epsilon": 1}, InvalidArgument),
        (lambda s: s.rows(column="minutes", columns=["ward"]), {}, InvalidArgument),
        (lambda s: s.rows(column="minutes", rows=0), {}, InvalidArgument),
        (lambda s: s.rows(columns={"unit": "minutes"}), {}, InvalidArgument),
        (lambda s: s.rows(column="note"), {}, dp.errors.QueryRefused),
        (lambda s: s.rows("nowhere", column="minutes"), {}, InvalidArgument),
    ],
)
def test_bad_input_is_refused_before_anything_is_spent(session, make, payment, error):
    with pytest.raises(error):
        session.release(make(session), **payment)
    assert session.spent.loss == 0


class _Foreign(Enum):
    ONE = 1


VALUES = [
    None, True, 7, 10**5000, -1.5, math.inf, -math.inf, Fraction(1, 3), "a", b"\x00", date(2020, 1, 2),
    datetime(2020, 1, 2, 3, 4, 5), [1, [2.5, None]], (1, "x"), {"a": 1, 2: (3,)}, {(1, 2): [0]}, Law.LAPLACE,
    dp.costs.Gaussian(scale=2, sensitivity=1), np.int64(5), np.float64(0.25), [],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back_as_they_were(value):
    back = value_from_record(json.loads(json.dumps(value_record(value), allow_nan=False)))
    assert back == value
    assert type(back) is (type(value.item()) if isinstance(value, np.generic) else type(value))


def test_arrays_come_back_with_their_type():
    array = np.array([[1, 2], [3, 4]], dtype=np.int32)
    back = value_from_record(value_record(array))
    assert back.dtype == array.dtype
    assert (back == array).all()
    assert math.isnan(value_from_record(value_record(math.nan)))


@pytest.mark.parametrize("value", [object(), _Foreign.ONE, {1, 2}, lambda: 0, 1j])
def test_what_is_not_ours_is_not_written(value):
    with pytest.raises(InvalidArgument):
        value_record(value)


@pytest.mark.parametrize(
    "record",
    [
        {"record": "os:system", "fields": {}},
        {"record": "deniable.release.session:Session", "fields": {}},
        {"choice": "deniable.cost:Gaussian", "name": "x"},
        {"unknown": 1},
    ],
)
def test_a_forged_record_makes_nothing(record):
    with pytest.raises(InvalidArgument):
        value_from_record(record)


def test_what_goes_on_answering_is_refused_before_it_is_charged(session):
    """A session stores its answers; a run cannot be stored, and would have been charged for and lost."""
    for width in ({"scale": 4, "query_scale": 4}, {}):  # with a scale, and the family without one
        asked = session.rows(column="minutes") >> c.query_stream(threshold=1, sensitivity=1, d_in=4, **width)
        with pytest.raises(InvalidArgument, match="goes on answering"):
            session.release(asked, epsilon=5)
    assert session.spent.loss == 0


STREAM = stream(rows(numbers())) >> c.in_each(c.count())
STREAMS = {
    "alerts": (c.alerts(threshold=10**9, scale=4), lambda run: run.feed([1.0])),
    "running_total": (c.running_total(horizon=4, scale=2), lambda run: run.feed([1.0, 2.0])),
    "stream_maximum": (c.stream_maximum(scale=2), lambda run: run.feed([])),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_fed_by_hand_are_charged_by_the_session(session, name):
    """What one unit does to the stream is said by whoever feeds it; the ledger is charged the stream's cost at that distance."""
    step, feed = STREAMS[name]
    built, apart = STREAM >> step, (2, 3, 2)
    cost = built.loss(d_in=apart).upper
    assert cost > built.loss(d_in=(1, 1, 1)).upper
    with pytest.raises(SpaceMismatch, match="in no table"):
        session.start(built, epsilon=cost)
    with pytest.raises(InvalidArgument, match="more than the"):
        session.start(built, d_in=apart, epsilon=cost / 2)
    with pytest.raises(SpaceMismatch, match="in no table"):
        session.release(built, epsilon=cost)
    assert session.spent.loss == 0
    run = session.start(built, d_in=apart, epsilon=cost)
    charged = session.spent.loss
    assert Fraction(cost) * (1 - Fraction(1, 2**50)) <= charged <= Fraction(cost)
    for _ in range(3):
        feed(run)
    assert session.spent.loss == charged


def test_a_stream_without_a_scale_is_solved_for_the_price(session):
    run = session.start(STREAM >> c.running_total(horizon=4), d_in=(1, 1, 1), epsilon=1)
    run.feed([1.0])
    assert 0 < session.spent.loss <= 1
    with pytest.raises(InvalidArgument, match="leave out d_in"):
        session.start(session.rows(column="minutes") >> c.total() >> c.laplace(scale=9), d_in=1, epsilon=1)


def test_a_run_is_charged_as_a_whole_and_goes_on(session):
    rows = session.rows(column="minutes", rows=1)
    stream = rows >> c.query_stream(threshold=3, scale=4, sensitivity=1, hits=1, query_scale=8)
    cost = stream.loss(d_in=1).upper
    with pytest.raises(InvalidArgument, match=r"session\.start"):
        session.release(stream)
    with pytest.raises(InvalidArgument, match="more than the"):
        session.start(stream, epsilon=cost / 2)
    assert session.spent.loss == 0
    run = session.start(stream, epsilon=cost)
    assert session.spent.loss == Fraction(cost)
    asked = 0
    while run.hits_left and asked < 1000:
        run.ask(c.count())
        asked += 1
    with pytest.raises(Retired):
        run.ask(c.count())
    assert session.spent.loss == Fraction(cost)
    with pytest.raises(InvalidArgument, match=r"session\.release"):
        session.start(rows >> c.total() >> c.laplace(), epsilon=1)


def test_one_session_takes_queries_rows_and_tasks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count = 300
    duckdb.sql(
        f"SELECT i AS who, ['a', 'b', 'c'][1 + i % 3] AS ward, i % 60 AS minutes FROM range({count}) AS r(i)"
    ).write_parquet("visits.parquet")
    Path("visits.yaml").write_text(BOOK.replace("      note: {type: string}\n", ""))

    session = dp.Dataset("visits.parquet", codebook="visits.yaml").session(
        dp.budget(epsilon=2, delta=1e-6), ledger="visits.ledger"
    )
    by_ward = session.query().group_by("ward").agg(n=dp.count(), avg=dp.mean("minutes"))
    paid = by_ward.mechanism(epsilon=0.5)
    assert isinstance(paid, Mechanism)
    assert by_ward.mechanism.source == paid.source == session.space
    assert by_ward.mechanism.cost(epsilon=0.5) == paid.cost()
    assert by_ward.mechanism.accuracy(epsilon=0.5) == paid.accuracy()
    assert by_ward.mechanism.explain(epsilon=0.5) == paid.explain()
    assert repr(by_ward.mechanism).startswith("QueryFamily(n=count, avg=mean by ward; .cost(epsilon=0.5)")
    answer = session.release(by_ward, epsilon=0.5)
    assert by_ward.release(epsilon=0.5).table == answer.table
    sql = "SELECT ward, COUNT(*) AS n, AVG(minutes) AS avg FROM visits GROUP BY ward"
    assert session.sql(sql, epsilon=0.5).table == answer.table
    assert session.spent.loss == Fraction(1, 2)

    minutes = session.rows("visits", column="minutes")
    median = session.release(minutes >> c.private_median(lower=0, upper=60, grid=1), epsilon=0.1)
    assert 0 <= median.value <= 60
    one = minutes >> c.total() >> c.laplace(scale=240)
    task = interactive(session.space, costs=[one.cost()] * 2, run=lambda turn: [turn.release(one) for _ in range(2)])
    both = session.release(task, epsilon=1, request="task")
    assert session.fetch("task").value == both.value
    assert session.spent.loss == Fraction(1, 2) + Fraction(1, 10) + 1
