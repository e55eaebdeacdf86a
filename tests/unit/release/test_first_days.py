"""The first days with a ledger: it is made at the first charge, bound by what prices rest on, amended and looked back on."""

from __future__ import annotations

import copy
import json
import threading

import pytest

import deniable as dp
from deniable import cli
from deniable.errors import BudgetExceeded, InvalidArgument, LedgerError, QueryRefused, Retired

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {
        "v": {
            "variables": {
                "p": "integer",
                "ward": {"type": "string", "categories": ["A", "B"]},
                "word": "string",
                "m": {"type": "integer", "bounds": [0, 60]},
            }
        }
    },
}
ROWS = {"p": list(range(40)), "ward": ["A", "B"] * 20, "word": ["w"] * 40, "m": [5] * 40, "z": [1] * 40}
BUDGET = dp.budget(epsilon=1, delta=1e-6)


def data(**changed):
    book = copy.deepcopy(BOOK)
    book["tables"]["v"]["variables"].update(changed)
    return dp.Dataset(ROWS, codebook=book)


def count(session, **terms):
    return session.query().agg(n=dp.count()).release(**terms)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "v.ledger"


def test_a_ledger_is_made_at_the_first_charge(place):
    session = data().session(BUDGET, ledger=place)
    assert str(session.remaining) == "epsilon = 1, delta = 2e-7"
    assert len(session.history) == 0
    assert session.ledger.charges() == ()
    session.query().agg(n=dp.count()).price(epsilon=1)
    for refused, error in [({"epsilon": 2}, BudgetExceeded), ({"epsilon": 0}, InvalidArgument)]:
        with pytest.raises(error):
            count(session, **refused)
    with pytest.raises(QueryRefused, match="delta"):
        data().session(dp.budget(epsilon=1), ledger=place).query().group_by("word").agg(n=dp.count()).release(
            epsilon=0.1
        )
    with pytest.raises(InvalidArgument, match="no request"):
        session.fetch("nothing")
    with pytest.raises(InvalidArgument, match="nothing was charged yet"):
        session.ledger.backup(place.with_suffix(".copy"))
    assert not place.exists()
    answer = count(session, epsilon=0.1)
    assert place.exists()
    assert session.ledger.confirms(answer.receipt)
    assert dp.ledger.verify(place).sound


def test_two_sessions_planned_at_one_place_share_one_ledger(place):
    first, second = (data().session(BUDGET, ledger=place) for _ in range(2))
    count(first, epsilon=0.6)
    assert str(second.remaining).startswith("epsilon = 0.4")
    with pytest.raises(BudgetExceeded):
        second.query().where("m > 1").agg(n=dp.count()).release(epsilon=0.6)
    assert first.ledger.id == second.ledger.id


def test_threads_that_begin_a_ledger_together_spend_one_budget(place):
    session, granted, barrier = data().session(BUDGET, ledger=place), [], threading.Barrier(8)

    def ask(number):
        barrier.wait()
        try:
            session.query().where(f"m >= {number}").agg(n=dp.count()).release(epsilon=0.25)
            granted.append(number)
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 4


def test_a_ledger_without_a_charge_takes_other_terms_and_one_with_a_charge_does_not(place):
    terms = data().session(BUDGET, ledger=place).ledger.terms
    dp.ledger.Ledger.open(place, terms=terms)
    session = data(m={"type": "integer", "bounds": [0, 90]}).session(dp.budget(epsilon=2), ledger=place)
    assert str(session.remaining) == "epsilon = 2"
    count(session, epsilon=0.1)
    with pytest.raises(LedgerError, match=r"budget .*not .*; v.m .*60.*; state the same terms") as refusal:
        data().session(BUDGET, ledger=place)
    assert "`deniable ledger amend` or dataset.amend(...)" in str(refusal.value)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"m": {"type": "integer", "bounds": [0, 60], "description": "minutes", "provenance": "the booking system"}},
            None,
        ),
        ({"z": {"type": "integer", "bounds": [0, 1]}}, None),
        ({"m": {"type": "integer", "bounds": [0, 90]}}, r"v.m {\"bounds\":\[0,60\],\"type\":\"integer\"}, not .*90"),
        ({"m": {"type": "number", "bounds": [0, 60]}}, "v.m .*integer.*, not .*number"),
        ({"ward": {"type": "string", "categories": ["A", "B", "C"]}}, "v.ward .*, not"),
    ],
)
def test_what_prices_rest_on_binds_and_nothing_else(place, changed, told):
    count(data().session(BUDGET, ledger=place), epsilon=0.1)
    if told is None:
        assert len(data(**changed).session(BUDGET, ledger=place).history) == 1
        return
    with pytest.raises(LedgerError, match=told):
        data(**changed).session(BUDGET, ledger=place)


def test_the_curator_amends_codebook_and_budget_and_nothing_is_given_back(place):
    before = data().session(BUDGET, ledger=place)
    count(before, epsilon=0.5)
    wider = data(m={"type": "integer", "bounds": [0, 90]})
    wider.amend(place, reason="longer visits", budget=dp.budget(epsilon=2, delta=1e-6))
    with pytest.raises(Retired, match="open it again"):
        before.query().where("m > 3").agg(n=dp.count()).release(epsilon=0.1)
    after = wider.session(dp.budget(epsilon=2, delta=1e-6), ledger=place)
    assert str(after.remaining).startswith("epsilon = 1.5")
    for unit in ({"id": "m"}, {"unique": True}, {"period": {"column": "day", "length": "month"}}):
        with pytest.raises(InvalidArgument, match="start a new ledger"):
            bounded(**unit).amend(place, reason="other people")


def test_a_table_that_belongs_to_others_is_not_amended(place):
    """The unit keeps its name, but another column, or a link, says who it is: old costs hold for the people of then."""

    def protecting(column, **tables):
        book = copy.deepcopy(BOOK)
        book["tables"]["v"]["unit"] = column
        book["tables"]["v"]["variables"]["z"] = "integer"
        book["tables"] |= tables
        return dp.Dataset({"v": ROWS} | {name: {"p": [1]} for name in tables}, codebook=book)

    count(protecting("p").session(BUDGET, ledger=place), epsilon=0.5)
    with pytest.raises(InvalidArgument, match=r"table v has unit: p, in this codebook unit: z: .*; start a new ledger"):
        protecting("z").amend(place, reason="other people")
    protecting("p", w={"unit": "p", "variables": {"p": "integer"}}).amend(place, reason="a second table")


def bounded(**unit):
    book = copy.deepcopy(BOOK)
    book["unit"] |= unit
    book["tables"]["v"]["variables"] |= {"m": "integer", "day": "date"}
    return dp.Dataset(ROWS | {"day": ["2024-01-01"] * 40}, codebook=book)


@pytest.mark.parametrize("unit", [{"groups": 2}, {"rows_per_group": 7}, {"groups": 3, "rows": 9}])
def test_bounds_on_a_units_groups_and_rows_are_amended_and_old_costs_stay_what_they_are(place, unit):
    """Who is protected is the same; the same words under other bounds are another question, at its price."""
    first = bounded().session(BUDGET, ledger=place)
    count(first, epsilon=0.5)
    with pytest.raises(LedgerError, match="unit 'one p"):
        bounded(**unit).session(BUDGET, ledger=place)
    bounded(**unit).amend(place, reason="people come more often")
    after = bounded(**unit).session(BUDGET, ledger=place)
    assert (after.spent.loss, len(after.history)) == (first.spent.loss, 1)
    after.query().group_by("ward").agg(n=dp.count()).release(epsilon=0.25)
    assert str(after.remaining).startswith("epsilon = 0.25")
    assert dp.ledger.verify(dp.ledger.journal_at(place)).sound


def test_bounds_are_not_amended_silently_where_a_cap_counts_in_another_unit(place):
    count(bounded().session(BUDGET, ledger=place), epsilon=0.5)
    household = dp.ledger.Cap(budget=dp.budget(epsilon=1), unit="household")
    with pytest.raises(InvalidArgument, match="start a new ledger"):
        bounded(groups=2).amend(place, reason="families", caps=(household,))


def test_next_years_data_is_a_new_version_and_the_budget_goes_on(place, capsys):
    first = data().session(BUDGET, ledger=place)
    before = count(first, epsilon=0.25, request="last year")
    assert data().new_version(place, reason="the rows of 2027") == 2
    again = data().session(BUDGET, ledger=place)
    count(again, epsilon=0.25)
    assert len(again.history) == 2  # the same words, of other data: a new answer at its price
    assert again.fetch("last year").table == before.table
    cli.main(["ledger", "new-version", str(place), "--reason", "the rows of 2028"])
    assert "data version 3; what was charged stays charged" in capsys.readouterr().out
    assert str(data().session(BUDGET, ledger=place).remaining).startswith("epsilon = 0.5")


def test_caps_from_the_shell(place, tmp_path, capsys):
    count(data().session(BUDGET, ledger=place, account="ann"), epsilon=0.25)
    (tmp_path / "v.yaml").write_text(data().codebook.to_yaml())
    words = ["ledger", "amend", str(place), "--codebook", str(tmp_path / "v.yaml"), "--reason", "a fair share"]
    cli.main([*words, "--cap", "each=0.3", "--cap", "bob=0.2", "--cap", "everyone/year=0.9"])
    capsys.readouterr()
    cli.main(["budget", str(place), "--account", "ann"])
    told = capsys.readouterr().out
    assert "each analyst: epsilon = 0.25 of epsilon = 0.3 spent" in told
    assert "per year" in told
    Cap, Each, Period = dp.ledger.Cap, dp.ledger.Each, dp.ledger.Period
    limits = {
        name: dp.budget(epsilon=amount, delta=1e-6) for name, amount in (("each", 0.3), ("bob", 0.2), ("all", 0.9))
    }
    caps = (
        Cap(budget=limits["each"], analyst=Each.ANALYST),
        Cap(budget=limits["bob"], analyst="bob"),
        Cap(budget=limits["all"], period=Period.YEAR),
    )
    bob, ann = (data().session(BUDGET, ledger=place, account=who, caps=caps) for who in ("bob", "ann"))
    for who in (bob, ann):
        with pytest.raises(BudgetExceeded):
            who.query().where("m > 1").agg(n=dp.count()).release(epsilon=0.25)
    rows = tmp_path / "v.csv"
    rows.write_text("p,ward,word,m\n" + "".join(f"{i},A,w,5\n" for i in range(40)))
    ask = ["sql", str(rows), "--codebook", str(tmp_path / "v.yaml"), "--ledger", str(place), "--account", "bob"]
    cli.main([*ask, "SELECT SUM(m) AS s FROM v", "--epsilon", "0.15"])
    with pytest.raises(SystemExit):
        cli.main([*ask, "SELECT AVG(m) AS s FROM v", "--epsilon", "0.15"])
    assert "(cap: analyst bob)" in capsys.readouterr().err
    for wrong in ("each", "each=many", "each/fortnight=1", "=1", "each=-1"):
        with pytest.raises(SystemExit):
            cli.main([*words, "--cap", wrong])
        assert "a cap is written each=0.5, ann=2 or everyone/month=1" in capsys.readouterr().err
    cli.main([*words, "--cap", "none="])
    assert data().session(BUDGET, ledger=place).ledger.terms.caps == ()


def test_history_says_what_was_asked_in_words_and_at_what_price(place, capsys):
    session = data().session(BUDGET, ledger=place)
    count(session, epsilon=0.1)
    session.sql("SELECT AVG(m) FROM v", epsilon=0.2)
    median = session.rows(column="m") >> dp.calculus.private_median(lower=0, upper=60, grid=1)
    session.release(median, epsilon=0.1, request="median")
    assert [(entry.question, entry.price, entry.answer) for entry in session.history] == [
        ("n from v", "epsilon = 0.1", "stored"),
        ("SELECT AVG(m) FROM v", "epsilon = 0.2", "stored"),
        ("one answer of a mechanism from v", "epsilon = 0.1", "stored"),
    ]
    cli.main(["ledger", "history", str(place), "--json"])
    assert json.loads(capsys.readouterr().out)[2]["request"] == "median"


def test_history_names_the_tables_that_a_question_read(tmp_path):
    """A data set of several tables has one name, which said nothing."""
    book = {"name": "pay", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}}
    tables = {"wages": {"variables": {"p": "integer"}}, "men": {"variables": {"p": "integer"}}}
    held = dp.Dataset({name: {"p": [1]} for name in tables}, codebook={**book, "tables": tables})
    session = held.session(BUDGET, ledger=tmp_path / "pay.ledger")
    session.query("men").agg(n=dp.count()).release(epsilon=0.1)
    session.query("wages").join(session.query("men"), on="p").agg(n=dp.count()).release(epsilon=0.1)
    assert [entry.question for entry in session.history] == ["n from men", "n from men, wages"]


def test_amending_from_the_shell(place, tmp_path, capsys):
    count(data().session(BUDGET, ledger=place), epsilon=0.5)
    wider = data(m={"type": "integer", "bounds": [0, 90]})
    (tmp_path / "new.yaml").write_text(wider.codebook.to_yaml())
    words = ["ledger", "amend", str(place), "--codebook", str(tmp_path / "new.yaml"), "--reason", "longer visits"]
    cli.main([*words, "--budget-epsilon", "2", "--budget-delta", "1e-6"])
    assert "amended: epsilon = 2, delta = 1e-6; sessions that are open must be opened again" in capsys.readouterr().out
    assert str(wider.session(dp.budget(epsilon=2, delta=1e-6), ledger=place).remaining).startswith("epsilon = 1.5")


def test_a_budget_is_amended_without_a_codebook(place, capsys):
    session = data().session(BUDGET, ledger=place)
    count(session, epsilon=0.5)
    unit = session.ledger.terms.unit
    cli.main(["ledger", "amend", str(place), "--reason", "more", "--budget-epsilon", "2", "--budget-delta", "1e-6"])
    again = data().session(dp.budget(epsilon=2, delta=1e-6), ledger=place)
    assert str(again.remaining).startswith("epsilon = 1.5")
    assert again.ledger.terms.unit == unit
    for words, budget in ((["--budget-epsilon", "3"], (3, 1e-6)), (["--budget-delta", "1e-5"], (3, 1e-5))):
        cli.main(["ledger", "amend", str(place), "--reason", "one of the two", *words])
        assert dp.ledger.Ledger.existing(place).terms.budget == dp.budget(epsilon=budget[0], delta=budget[1])
    with pytest.raises(SystemExit):
        cli.main(["ledger", "amend", str(place), "--reason", "nothing"])
    assert "say what changes: --codebook, --budget-epsilon or --cap" in capsys.readouterr().err


def test_a_label_may_change_under_a_ledger_and_paid_answers_are_found_again(place):
    def asked(**said):
        book = {**BOOK, "unit": {**BOOK["unit"], **said}}
        return dp.Dataset(ROWS, codebook=book).session(BUDGET, ledger=place)

    first = asked().query().group_by("ward").agg(n=dp.count()).release(epsilon=0.5)
    session = asked(label="family")
    again = session.query().group_by("ward").agg(n=dp.count()).release(epsilon=0.5)
    assert again.columns["n"].values == first.columns["n"].values
    assert len(session.history) == 1
    other = session.query().group_by("ward").agg(n=dp.count("m")).release(epsilon=0.4)
    assert "at most 1 row per family and ward" in str(other)
    assert "the presence or absence of one family" in str(other)
