"""The protocol of the ledger: reserve, store, release, fetch; what is charged once, what is refused, what is kept."""

from __future__ import annotations

import copy
import json
import pickle
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from deniable.accounting import Spend, budget
from deniable.core.gate import Gate
from deniable.cost import FREE, Bounded, Concentrated, Exponential, Gaussian
from deniable.errors import BudgetExceeded, InvalidArgument, LedgerError, Retired, Unaccountable, Unanswered
from deniable.ledger import Ledger, Terms, fingerprint
from deniable.ledger.anchor import Unanchored
from deniable.ledger.receipt import Receipt

TENTH = Bounded(epsilon=0.1)


@pytest.fixture
def path(place: Path | str) -> Path | str:
    """The protocol is the same in a file and in PostgreSQL."""
    return place


def spend(loss: object, delta: object = 0) -> Spend:
    return Spend(Fraction(loss), Fraction(delta))  # type: ignore[arg-type]


def never() -> bytes:
    raise AssertionError("this must not run")


# reserve, store, release


def test_the_whole_path(ledger: Ledger):
    reservation = ledger.reserve(TENTH, request="r1", plan="count(*)")
    assert (reservation.answered, reservation.charged) == (False, True)
    assert ledger.spent == spend("1/10")
    ledger.store(reservation, b"42")
    released = ledger.release(reservation)
    assert released.payload == b"42"
    assert released.receipt.charged == spend("1/10")
    assert released.receipt.spent == spend("1/10")
    assert released.receipt.left == spend("9/10")
    assert released.receipt.cost == TENTH
    assert (released.receipt.unit, released.receipt.dataset, released.receipt.data_version) == ("patient", "visits", 1)


def test_a_release_leaves_with_the_same_bytes_and_receipt_every_time(ledger: Ledger):
    first = ledger.answer(TENTH, lambda: b"42", request="r1")
    events = ledger.mark.count
    assert ledger.fetch("r1") == first
    assert ledger.answer(TENTH, never, request="r1") == first
    assert ledger.mark.count == events
    assert ledger.spent == spend("1/10")


def test_the_same_plan_on_the_same_data_is_served_from_the_store(ledger: Ledger):
    first = ledger.answer(TENTH, lambda: b"42", request="r1", plan="count(*)")
    again = ledger.answer(TENTH, never, request="r2", plan="count(*)")
    assert again.payload == first.payload
    assert again.receipt.cost == TENTH
    assert ledger.spent == spend("1/10")
    assert ledger.fetch("r2") == again


def test_a_plan_at_another_cost_is_another_question(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"42", plan="count(*)")
    assert ledger.answer(Bounded(epsilon=0.2), lambda: b"43", plan="count(*)").payload == b"43"
    assert ledger.spent == spend("3/10")


def test_a_plan_on_new_data_is_another_question(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"42", plan="count(*)")
    assert ledger.new_version(reason="the October file", by="curator") == 2
    assert ledger.answer(TENTH, lambda: b"43", plan="count(*)").payload == b"43"
    assert ledger.data_version == 2
    assert ledger.spent == spend("1/5")


def test_without_a_plan_nothing_is_shared(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"1")
    assert ledger.answer(TENTH, lambda: b"2").payload == b"2"
    assert ledger.spent == spend("1/5")


def test_a_plan_still_running_is_not_shared(ledger: Ledger):
    ledger.reserve(TENTH, request="r1", plan="count(*)")
    assert not ledger.reserve(TENTH, request="r2", plan="count(*)").answered
    assert ledger.spent == spend("1/5")


def test_a_session_on_old_data_is_refused_before_it_is_charged(ledger: Ledger):
    ledger.new_version(reason="the October file", by="curator")
    with pytest.raises(InvalidArgument, match="data_version is 2 by now, got 1; open a new session"):
        ledger.reserve(TENTH, data_version=1)
    assert ledger.spent == spend(0)


def test_a_ledger_opened_on_old_data_says_so_even_if_nobody_names_the_version(ledger: Ledger, path: Path, terms):
    other = Ledger.open(path, terms=terms())
    first = other.answer(TENTH, lambda: b"42", plan="count(*)")
    ledger.new_version(reason="the October file", by="curator")
    with pytest.raises(InvalidArgument, match="data_version is 2 by now, got 1; open a new session"):
        other.answer(TENTH, never, plan="sum(x)")
    assert other.answer(TENTH, never, plan="count(*)").payload == first.payload
    ledger.answer(TENTH, lambda: b"43", plan="count(*)")
    Ledger.open(path, terms=terms()).charge(TENTH)
    assert ledger.spent == spend("3/10")


def test_an_answer_on_old_data_can_still_be_fetched(ledger: Ledger):
    first = ledger.answer(TENTH, lambda: b"42", request="r1", data_version=1)
    ledger.new_version(reason="the October file", by="curator")
    assert ledger.fetch("r1") == first
    assert ledger.answer(TENTH, never, request="r1", data_version=1) == first


def test_if_the_run_fails_the_charge_stands(ledger: Ledger):
    with pytest.raises(ZeroDivisionError):
        ledger.answer(TENTH, lambda: b"%d" % (1 // 0), request="r1")
    assert ledger.spent == spend("1/10")
    for again in (lambda: ledger.fetch("r1"), lambda: ledger.answer(TENTH, never, request="r1")):
        with pytest.raises(Unanswered, match="request 'r1' was charged as event 2 but no answer is stored"):
            again()
    assert [charge.asked for charge in ledger.unanswered()] == [("analyst", "r1")]
    assert ledger.spent == spend("1/10")


def test_an_answer_is_stored_once(ledger: Ledger):
    reservation = ledger.reserve(TENTH, request="r1")
    ledger.store(reservation, b"first")
    with pytest.raises(Retired, match="answered already"):
        ledger.store(reservation, b"second")
    assert ledger.release(reservation).payload == b"first"


def test_nothing_leaves_before_it_is_stored(ledger: Ledger):
    reservation = ledger.reserve(TENTH, request="r1")
    with pytest.raises(Unanswered):
        ledger.release(reservation)


@pytest.mark.parametrize("payload", ["text", 42, None, bytearray(b"x")])
def test_an_answer_is_bytes(ledger: Ledger, payload: object):
    with pytest.raises(InvalidArgument, match="stored as bytes"):
        ledger.store(ledger.reserve(TENTH), payload)  # type: ignore[arg-type]


def test_a_request_id_belongs_to_one_query(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"42", request="r1", plan="count(*)")
    for cost, plan in ((TENTH, "sum(x)"), (Bounded(epsilon=0.2), "count(*)")):
        with pytest.raises(InvalidArgument, match="request 'r1' was already used for another query"):
            ledger.reserve(cost, request="r1", plan=plan)
    assert ledger.spent == spend("1/10")


def test_a_free_request_id_cannot_be_bound_to_two_answers(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"42", plan="count(*)")
    shared = ledger.reserve(TENTH, request="r2", plan="count(*)")
    ledger.answer(TENTH, lambda: b"7", request="r2", plan="sum(x)")
    with pytest.raises(InvalidArgument, match="already used for another query"):
        ledger.release(shared)
    assert ledger.fetch("r2").payload == b"7"


def test_request_ids_of_one_analyst_mean_nothing_to_another(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"for alice", request="r1", account="alice")
    with pytest.raises(InvalidArgument, match="no request 'r1' by 'bob'"):
        ledger.fetch("r1", account="bob")
    assert ledger.answer(TENTH, lambda: b"for bob", request="r1", account="bob").payload == b"for bob"
    assert ledger.spent == spend("1/5")


def test_a_reservation_belongs_to_its_ledger(ledger: Ledger, tmp_path: Path, terms):
    other = Ledger.open(tmp_path / "other.ledger", terms=terms())
    with pytest.raises(InvalidArgument, match="reserved in another ledger"):
        other.store(ledger.reserve(TENTH), b"x")


# the budget


def test_the_budget_is_filled_exactly_and_never_exceeded(ledger: Ledger):
    for _ in range(10):
        ledger.charge(TENTH)
    assert (ledger.spent, ledger.left) == (spend(1), spend(0))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(Bounded(epsilon=Fraction(1, 10**30)))
    assert refusal.value.left == spend(0)
    assert refusal.value.spent == spend(1)
    assert "nothing was spent" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert ledger.spent == spend(1)


def test_a_refusal_writes_nothing(ledger: Ledger):
    before = ledger.mark
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Bounded(epsilon=2), request="r1")
    assert ledger.mark == before
    assert ledger.reserve(TENTH, request="r1").charged


def test_a_cost_no_theorem_reads_is_refused_before_it_is_charged(ledger: Ledger):
    before = ledger.mark
    with pytest.raises(Unaccountable):
        ledger.reserve(Gaussian(scale=1, sensitivity=1))
    assert ledger.mark == before


def test_public_information_costs_nothing(ledger: Ledger):
    ledger.charge(Bounded(epsilon=1))
    assert ledger.answer(FREE, lambda: b"public").payload == b"public"


def test_fits_asks_without_spending(ledger: Ledger):
    assert ledger.fits(Bounded(epsilon=1))
    assert not ledger.fits(Bounded(epsilon=1.01))
    assert ledger.spent == spend(0)


def test_a_concentrated_budget_counts_rho(path: Path, terms):
    ledger = Ledger.open(path, terms=terms(budget=budget(rho=1, delta=1e-6)))
    receipt = ledger.answer(Gaussian(scale=1, sensitivity=1), lambda: b"").receipt
    assert receipt.measure == "rho"
    assert ledger.spent == spend("1/2")
    ledger.charge(Concentrated(rho=0.5, delta=1e-6))
    assert ledger.left == spend(0)
    with pytest.raises(BudgetExceeded, match="asked for rho = 0, delta = 1e-6"):
        ledger.charge(Concentrated(rho=0, delta=1e-6))


def test_a_ledger_is_a_gate_for_a_compositor(ledger: Ledger):
    gate: Gate = ledger
    gate.charge(Exponential(eta=1))
    assert ledger.left == spend(0)
    assert ledger.unanswered() == ()
    with pytest.raises(BudgetExceeded):
        gate.charge(TENTH)


# terms


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"dataset": "stays"}, "dataset 'visits', not 'stays'"),
        ({"unit": "visit"}, "unit 'patient', not 'visit'"),
        ({"codebook": fingerprint("other")}, "codebook '"),
        ({"budget": budget(epsilon=2)}, "budget epsilon = 1, not epsilon = 2"),
        ({"budget": budget(rho=1)}, "budget epsilon = 1, not rho = 1"),
    ],
)
def test_other_terms_are_refused_in_one_line(ledger: Ledger, path: Path, terms, change, told: str):
    ledger.charge(TENTH)
    with pytest.raises(LedgerError) as refusal:
        Ledger.open(path, terms=terms(**change))
    assert told in str(refusal.value)
    assert "`deniable ledger amend`" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert Ledger.open(path, terms=terms()).spent == spend("1/10")


def test_the_rule_counts_only_where_it_is_stated(path: Path, terms):
    promise = budget(epsilon=1, delta=1e-6)
    Ledger.open(path, terms=terms(budget=promise, rule=promise.rule([Bounded(epsilon=0.5)])))
    recorded = Ledger.open(path, terms=terms(budget=promise)).terms
    assert recorded.rule is not None
    assert recorded.rule.name == "basic"
    with pytest.raises(LedgerError, match="rule 'basic' for data set, not 'concentrated'"):
        Ledger.open(path, terms=terms(budget=promise, rule=promise.rule()))


@pytest.mark.parametrize("change", [{"dataset": ""}, {"unit": ""}, {"dataset": "two\nlines"}, {"codebook": "x" * 201}])
def test_terms_say_something(terms, change):
    with pytest.raises(InvalidArgument):
        terms(**change)


def test_terms_come_back_from_their_record(terms):
    stated = terms(budget=budget(epsilon=1, delta=1e-6))
    assert stated.differences(Terms.from_record(json.loads(json.dumps(stated.to_record())))) == []


def test_amending_the_budget_is_recorded_and_carries_what_was_spent(ledger: Ledger, path: Path, terms):
    ledger.charge(Bounded(epsilon=0.9))
    ledger.amend(terms(budget=budget(epsilon=2)), reason="the board agreed", by="curator")
    assert (ledger.spent, ledger.left) == (spend("9/10"), spend("11/10"))
    ledger.charge(Bounded(epsilon=1))
    with pytest.raises(LedgerError, match="budget"):
        Ledger.open(path, terms=terms())
    event = json.loads(list(ledger.export())[2])
    assert (event["kind"], event["body"]["reason"], event["body"]["by"]) == ("amend", "the board agreed", "curator")


def test_a_budget_lowered_below_what_is_spent_leaves_nothing(ledger: Ledger, terms):
    ledger.charge(Bounded(epsilon=0.9))
    ledger.amend(terms(budget=budget(epsilon=0.5)), reason="too generous", by="curator")
    assert (ledger.spent, ledger.left) == (spend("9/10"), spend(0))
    with pytest.raises(BudgetExceeded):
        ledger.charge(Bounded(epsilon=0.01))


def test_amending_the_measure_reads_the_old_costs_afresh(ledger: Ledger, terms):
    ledger.charge(Bounded(epsilon=0.5))
    ledger.amend(terms(budget=budget(rho=1)), reason="many small queries", by="curator")
    read = budget(rho=1).rule().read(Bounded(epsilon=0.5))
    assert ledger.spent == read
    assert 0 < read.loss <= Fraction(1, 8)
    ledger.charge(Gaussian(scale=2, sensitivity=1))
    assert ledger.spent == read + spend("1/8")


def test_a_measure_that_cannot_read_the_past_is_refused(path: Path, terms):
    ledger = Ledger.open(path, terms=terms(budget=budget(rho=1)))
    ledger.charge(Gaussian(scale=1, sensitivity=1))
    before = ledger.mark
    with pytest.raises(Unaccountable):
        ledger.amend(terms(), reason="pure is nicer", by="curator")
    assert ledger.mark == before


def test_another_unit_needs_to_know_what_the_old_costs_mean_in_it(ledger: Ledger, terms):
    ledger.charge(TENTH)
    household = terms(unit="household of up to 4 patients")
    with pytest.raises(InvalidArgument, match="event 2 was not priced in unit"):
        ledger.amend(household, reason="families", by="curator")
    ledger.amend(household, reason="families", by="curator", restate=lambda cost: cost.group(4))
    assert ledger.spent == spend("4/10")
    ledger.charge(TENTH)
    assert ledger.spent == spend("5/10")


def test_a_receipt_after_an_amendment_speaks_of_the_new_terms(ledger: Ledger, path: Path, terms):
    before = ledger.answer(TENTH, lambda: b"1", request="r1")
    ledger.store(ledger.reserve(TENTH, request="r2"), b"2")
    ledger.amend(terms(unit="pair"), reason="twins", by="curator", restate=lambda cost: cost.group(2))
    assert ledger.fetch("r1") == before
    receipt = ledger.fetch("r2").receipt
    assert (receipt.unit, receipt.charged, receipt.spent) == ("pair", spend("1/5"), spend("2/5"))
    assert Ledger.existing(path).spent == spend("2/5")


def test_an_answer_is_still_the_same_answer_after_the_unit_was_restated(ledger: Ledger, terms):
    first = ledger.answer(TENTH, lambda: b"42", request="r1", plan="count(*)")
    ledger.amend(terms(unit="pair"), reason="twins", by="curator", restate=lambda cost: cost.group(2))
    assert ledger.answer(TENTH.group(2), never, request="r1", plan="count(*)") == first
    assert ledger.answer(TENTH.group(2), never, request="r2", plan="count(*)").payload == b"42"
    assert ledger.spent == spend("1/5")


def test_a_session_that_missed_an_amendment_must_open_again(ledger: Ledger, path: Path, terms):
    other = Ledger.open(path, terms=terms())
    ledger.amend(terms(unit="pair"), reason="twins", by="curator")
    with pytest.raises(Retired, match="open it again with the new ones"):
        other.charge(TENTH)
    assert ledger.spent == spend(0)
    Ledger.open(path, terms=terms(unit="pair")).charge(TENTH)


# what is kept and shown


def test_reopening_replays_everything(ledger: Ledger, path: Path, terms):
    released = ledger.answer(TENTH, lambda: b"42", request="r1", plan="count(*)")
    ledger.reserve(TENTH, request="r2")
    ledger.note("end of day", by="curator")
    again = Ledger.open(path, terms=terms())
    assert again.mark == ledger.mark
    assert again.spent == spend("1/5")
    assert again.fetch("r1") == released
    assert [charge.asked for charge in again.unanswered()] == [("analyst", "r2")]
    assert again.id == ledger.id


def test_a_second_open_ledger_sees_what_the_first_does(ledger: Ledger, path: Path, terms):
    other = Ledger.open(path, terms=terms())
    ledger.answer(TENTH, lambda: b"42", request="r1", plan="count(*)")
    assert other.spent == spend("1/10")
    assert other.answer(TENTH, never, request="r9", plan="count(*)").payload == b"42"


def test_receipts_are_in_the_chain_and_survive_json(ledger: Ledger, tmp_path: Path, terms):
    receipt = ledger.answer(TENTH, lambda: b"42").receipt
    ledger.charge(TENTH)
    back = Receipt.from_record(json.loads(json.dumps(receipt.to_record())))
    assert back == receipt
    assert ledger.confirms(back)
    assert not Ledger.open(tmp_path / "other.ledger", terms=terms()).confirms(back)
    assert str(receipt) == f"receipt {receipt.id}: epsilon = 0.1 charged; epsilon = 0.1 spent, epsilon = 0.9 left"


def test_export_is_the_chain_line_by_line_without_answers(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"forty-two", request="r1")
    events = [json.loads(line) for line in ledger.export()]
    assert [event["kind"] for event in events] == ["open", "reserve", "store", "release"]
    assert [event["count"] for event in events] == [1, 2, 3, 4]
    assert all(after["previous"] == before["head"] for before, after in pairwise(events))
    assert events[-1]["head"] == ledger.mark.head
    assert events[0]["body"]["format"] == 1


def test_how_long_a_query_ran_is_not_written_down(ledger: Ledger):
    ledger.answer(TENTH, lambda: b"42", request="r1")
    bodies = {event["kind"]: event["body"] for event in map(json.loads, ledger.export())}
    assert "at" in bodies["open"]
    assert "at" in bodies["reserve"]
    assert "at" not in bodies["store"]
    assert "at" not in bodies["release"]


def test_no_plain_hash_of_an_answer_and_not_its_length(ledger: Ledger):
    """The same answer stored twice leaves two different seals, so a seal cannot be guessed from a list of likely answers."""
    ledger.answer(TENTH, lambda: b"42")
    ledger.answer(TENTH, lambda: b"42")
    stores = [event["body"] for event in map(json.loads, ledger.export()) if event["kind"] == "store"]
    assert len({store["seal"] for store in stores}) == 2
    assert all(set(store) == {"reservation", "seal"} for store in stores)


def test_a_backup_is_a_whole_ledger(ledger: Ledger, tmp_path: Path, terms):
    released = ledger.answer(TENTH, lambda: b"42", request="r1")
    ledger.backup(tmp_path / "copy.ledger")
    copied = Ledger.open(tmp_path / "copy.ledger", terms=terms(), anchor=Unanchored())
    assert copied.fetch("r1") == released
    assert copied.id == ledger.id
    with pytest.raises(LedgerError, match="choose a new file name"):
        ledger.backup(tmp_path / "copy.ledger")


@pytest.mark.usefixtures("ledger")
def test_an_existing_ledger_opens_under_its_own_terms(path: Path, tmp_path: Path, terms):
    assert Ledger.existing(path).terms.differences(terms()) == []
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.existing(tmp_path / "nowhere.ledger")
    assert not (tmp_path / "nowhere.ledger").exists()


@pytest.mark.parametrize("name", ["request", "account", "plan"])
@pytest.mark.parametrize("value", ["two\nlines", "x" * 201, 7, " padded "])
def test_names_are_short_and_printable(ledger: Ledger, name: str, value: object):
    before = ledger.mark
    with pytest.raises(InvalidArgument, match=name):
        ledger.reserve(TENTH, **{name: value})
    assert ledger.mark == before


def test_generated_request_ids_differ(ledger: Ledger):
    assert ledger.reserve(TENTH).request != ledger.reserve(TENTH).request


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_neither_a_ledger_nor_a_reservation_can_be_copied(ledger: Ledger, duplicate):
    for thing in (ledger, ledger.reserve(TENTH)):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            duplicate(thing)


def test_repr_shows_the_place_alone(ledger: Ledger, path: Path | str):
    assert repr(ledger) == f"Ledger({re.sub('//.*@', '//', str(path))!r})"
