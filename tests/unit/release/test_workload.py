"""Workloads, first looks and choices by slices: one charge, shares that add up, and nothing spent on a refusal."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

import deniable as dp
from deniable.engines.reference import ReferenceEngine
from deniable.errors import BudgetExceeded, InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.release.slice_choice import separates_most
from deniable.testing import Seeded, Silent

BOOK = """
name: people
unit: {id: who, groups: 1, rows_per_group: 1}
tables:
  people:
    variables:
      who: {type: integer}
      ward: {type: string, categories: [a, b]}
      sex: {type: string, categories: [f, m]}
      member: {type: boolean}
      note: {type: string}
      income: {type: number, bounds: [0, 100], step: 1}
"""
COUNT = 400
ROWS = {
    "who": list(range(COUNT)),
    "ward": ["ab"[n % 2] for n in range(COUNT)],
    "sex": ["fm"[n // 2 % 2] for n in range(COUNT)],
    "member": [n % 4 == 0 for n in range(COUNT)],
    "note": ["x"] * COUNT,
    "income": [40 + 20 * (n % 2) if n % 10 else None for n in range(COUNT)],
}


def opened(budget=None, entropy=None, rows=ROWS):
    book = Codebook.from_yaml(BOOK)
    data = dp.Dataset(ReferenceEngine({"people": rows}, book, key=5), codebook=book)
    return data.session(budget or dp.budget(epsilon=2), entropy=entropy)


def questions(session):
    counts = session.query().group_by("ward").agg(n=dp.count())
    return {"counts": counts, "means": session.query().agg(m=dp.mean("income"))}


def test_even_shares_are_one_charge_and_all_released():
    session = opened(entropy=Silent())
    released = session.workload(questions(session), epsilon=1).release(request="w")
    assert [row["n"] for row in released["counts"].table] == [200, 200]
    assert released["means"].value("m") == pytest.approx(51.1, abs=0.5)
    assert session.spent.loss == 1
    assert len(session._ledger.charges()) == 1
    assert session.fetch("w")["counts"].table == released["counts"].table
    session.workload(questions(session), epsilon=1).release()
    assert session.spent.loss == 1  # the same again is the stored one


def test_weights_and_locks_add_up():
    session = opened()
    by_weight = session.workload(questions(session), epsilon=1, by="weights", weights={"counts": 3})
    assert [row["epsilon"] for row in by_weight.table] == [0.75, 0.25]
    locked = session.workload(questions(session), epsilon=1, locked={"means": 0.9})
    assert [row["epsilon"] for row in locked.table] == pytest.approx([0.1, 0.9])
    assert session.filters.stated(session.filters.read(locked.charge)).loss == 1


def test_wanted_errors_are_met_and_the_rest_is_shared():
    session = opened()
    solved = session.workload(questions(session), epsilon=1, by="accuracy", wanted={"means": "5%"})
    assert solved.prices["means"].errors["m"].within <= 5.0
    assert sum(row["epsilon"] for row in solved.table) == pytest.approx(1)
    alone = questions(session)["means"].price(accuracy={"m": 5.0})
    assert solved.prices["means"].pair.loss == alone.pair.loss
    counted = session.workload({"c": questions(session)["counts"]}, by="accuracy", wanted={"c": {"n": "1%"}})
    assert counted.prices["c"].errors["n"].within <= 10


def test_questions_that_measure_the_same_are_measured_once():
    session = opened(entropy=Silent())
    again = session.query().group_by("ward").agg(other=dp.count())
    work = session.workload({**questions(session), "again": again}, epsilon=1)
    assert work.same_as == {"again": "counts"}
    assert [row["epsilon"] for row in work.table] == [0.5, 0.5, 0.0]
    released = work.release()
    assert [row["other"] for row in released["again"].table] == [200, 200]
    assert session.spent.loss == 1


def test_a_workload_over_budget_spends_nothing():
    session = opened()
    with pytest.raises(BudgetExceeded):
        session.workload(questions(session), epsilon=3).release()
    assert session.spent.loss == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "epsilon= or rho="),
        ({"epsilon": 1, "rho": 1}, "not both"),
        ({"epsilon": 1, "by": "luck"}, "by must be one of"),
        ({"epsilon": 1, "by": "accuracy"}, "needs wanted="),
        ({"epsilon": 1, "by": "weights"}, "needs weights="),
        ({"epsilon": 1, "by": "weights", "weights": {"x": 1}}, "weights names 'x'"),
        ({"epsilon": 1, "by": "accuracy", "wanted": {"means": "-5%"}}, "above zero"),
        ({"epsilon": 1, "by": "accuracy", "wanted": {"means": "x%"}}, "written '5%'"),
        ({"epsilon": 1, "by": "accuracy", "wanted": {"means": {"z": 1}}}, "does not compute"),
        ({"epsilon": 0.001, "by": "accuracy", "wanted": {"means": 0.1}}, "more than the 0.001 offered"),
        ({"by": "accuracy", "wanted": {"means": 5}}, "nothing is left for counts"),
        ({"epsilon": 1, "locked": {"means": 2}}, "more than the 1 offered"),
    ],
)
def test_bad_shares_are_refused_before_anything_is_spent(arguments, words):
    session = opened()
    with pytest.raises(InvalidArgument, match=words):
        session.workload(questions(session), **arguments)
    assert session.spent.loss == 0


def test_a_workload_in_rho():
    session = opened(dp.budget(rho=1, delta=1e-6))
    session.workload(questions(session), rho=0.5).release()
    assert 0.499 < session.spent.loss <= Fraction(1, 2)


def test_a_forecast_and_the_curve_of_a_finer_split():
    session = opened()
    work = session.workload(questions(session), epsilon=0.5)
    assert work.more == 4
    assert work.plot("counts").svg.startswith("<svg")
    assert "in all: epsilon = 0.5" in str(work)


def test_what_a_question_costs_is_said_rounded_up():
    session = opened()
    asked = {**questions(session), "more": session.query().agg(s=dp.sum("income"))}
    said = str(session.workload(asked, epsilon=1))
    assert said.count("epsilon = 0.333334;") == 3


def test_a_first_look_shows_every_variable_and_spends_its_share():
    session = opened(entropy=Silent())
    look = session.describe(share=0.5)
    found = {row["about"]: row for row in look.table}
    assert set(found) == {"rows", "ward", "sex", "member", "note", "income"}
    assert found["rows"]["rows"] == COUNT
    assert found["income"]["present"] == COUNT - COUNT // 10
    assert (found["income"]["q1"], found["income"]["q3"]) == (40, 60)
    assert found["ward"]["counts"] == {"a": 200, "b": 200}
    assert session.spent.loss == 1
    assert len(session._ledger.charges()) == 1
    with pytest.raises(InvalidArgument, match="share"):
        session.describe(share=2)


def test_a_first_look_fits_on_a_screen_and_costs_what_was_said():
    session = opened(entropy=Silent())
    look = session.describe(epsilon=0.25)
    text = str(look)
    assert session.spent.loss == 0.25
    assert text.startswith(f"rows    {COUNT} ± ")
    assert len(text.splitlines()) == len(look.table) + 3
    assert look._repr_html_().count("<tr>") >= len(look.table)
    for bad in ({}, {"epsilon": 0.1, "share": 0.1}, {"epsilon": -1}):
        with pytest.raises(InvalidArgument, match="epsilon"):
            session.describe(**bad)
    assert session.spent.loss == 0.25


def test_quartiles_of_a_first_look_carry_their_error_and_are_not_shown_where_it_hides_them():
    cheap = opened(entropy=Silent()).describe(epsilon=0.25)
    assert "present; quartiles say nothing at this price; histogram " in str(cheap)
    look = opened(dp.budget(epsilon=100), entropy=Silent()).describe(epsilon=20)
    income = look.released["income"].columns
    ranks = max(income[name].off[0] for name in ("q1", "median", "q3"))
    assert 0 < ranks < income["present"].values[0] / 4
    row = next(row for row in look.table if row["about"] == "income")
    shown = re.search(r"quartiles (\d+), (\d+), (\d+) \(± (\d+) ranks\); histogram ", str(look))
    assert [int(each) for each in shown.groups()[:3]] == [row["q1"], row["median"], row["q3"]]
    assert ranks <= int(shown[4]) <= ranks * 1.2


def test_quartiles_of_a_first_look_are_in_order_and_few_values_have_a_bin_each():
    session = opened(entropy=Seeded(3))
    for row in session.describe(epsilon=0.02).table:
        if "median" in row:
            assert row["q1"] <= row["median"] <= row["q3"]
    flag = {"name": "f", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "f"}
    flag["variables"] = {"p": "integer", "late": {"type": "integer", "bounds": [0, 1]}}
    data = dp.Dataset({"p": list(range(10)), "late": [0] * 7 + [1] * 3}, codebook=flag)
    look = data.session(dp.budget(epsilon=100), entropy=Silent()).describe(epsilon=50)
    assert look.released["late"].columns["bins"].values[0] == [7, 3]


def test_a_first_look_counts_what_has_one_value_only():
    flag = {"name": "f", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "f"}
    flag["variables"] = {"p": "integer", "year": {"type": "integer", "bounds": [2024, 2024]}, "late": "boolean"}
    data = dp.Dataset({"p": [1, 2, 3], "year": [2024, None, 2024], "late": [True] * 3}, codebook=flag)
    look = data.session(dp.budget(epsilon=100), entropy=Silent()).describe(epsilon=50)
    assert look.released["year"].columns["present"].values == (2,)
    assert "year  2 ± " in str(look)


def test_the_choice_by_slices_finds_what_separates_and_is_charged():
    session = opened(entropy=Seeded(1))
    chosen = session.slices(["sex", "ward"], choose="income by", epsilon=1, slices=20)
    assert chosen.chosen == "ward"
    assert session.spent.loss == 1
    for bad in (["ward"], ["ward", "ward"]):
        with pytest.raises(InvalidArgument, match="two different candidates"):
            session.slices(bad, choose="income by", epsilon=1)
    with pytest.raises(InvalidArgument, match="written '<column> by'"):
        session.slices(["sex", "ward"], choose="income", epsilon=1)
    with pytest.raises(InvalidArgument, match="slices compare means, which needs a number; sex is a string"):
        session.slices(["ward", "member"], choose="sex by", epsilon=1)


def test_one_unit_moves_one_vote():
    """By brute force: whatever one person's row is, with the others' slices fixed, at most one slice votes otherwise."""
    vote = separates_most("v", ["a", "b"])
    parts = [{"v": [1, 5], "a": [0, 1], "b": [0, 0]}, {"v": [2, 2], "a": [0, 1], "b": [1, 0]}]
    before = [vote(part) for part in parts]
    for at in range(2):
        for row in [(v, a, b) for v in (0, 9) for a in (0, 1) for b in (0, 1)]:
            grown = [dict(part) for part in parts]
            grown[at] = {name: [*parts[at][name], cell] for name, cell in zip("vab", row, strict=True)}
            after = [vote(part) for part in grown]
            assert sum(x != y for x, y in zip(before, after, strict=True)) <= 1
    assert vote({"v": [None], "a": [0], "b": [1]}) == 0


def test_dual_enrolled_people_are_left_out_or_bounded_by_choice():
    """X17: memberships that overlap. Redact: only people in one school; bound: one school of each, kept by a public order."""
    book = Codebook.from_yaml(
        "name: s\nunit: {id: who, groups: 2, rows_per_group: 1}\ntables:\n  s:\n    variables:\n"
        "      who: {type: integer}\n      school: {type: string, categories: [x, y]}\n"
        "      year: {type: integer, bounds: [1, 9]}\n"
    )
    rows = {"who": [1, 1, 2, 3, 4], "school": ["x", "y", "x", "y", "y"], "year": [1, 2, 1, 1, 1]}
    data = dp.Dataset(ReferenceEngine({"s": rows}, book, key=5), codebook=book)
    session = data.session(dp.budget(epsilon=10), entropy=Silent())
    memberships = session.query().per_unit("who", schools=dp.count_distinct("school"), bounds={"schools": (0, 2)})
    only_one = session.query().join(memberships, on="who").where("schools = 1")
    redacted = only_one.group_by("school").agg(n=dp.count()).bound(groups=1, rows=1).release(epsilon=1)
    assert [row["n"] for row in redacted.table] == [1, 2]
    bounded = (
        session.query().group_by("school").agg(n=dp.count()).bound(groups=1).keeping(first="year").release(epsilon=1)
    )
    assert [row["n"] for row in bounded.table] == [2, 2]
