"""Requests and grants: a charge needs a live grant that covers it; the chain tells who asked, who granted, and what was wrong."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from deniable.accounting import Spend, budget
from deniable.cost import Bounded
from deniable.errors import BudgetExceeded, InvalidArgument, NotGranted
from deniable.ledger import Cap, Each, EventKind, FolderAnchor, Ledger, Progress, journal_at, verify
from deniable.ledger.chain import canonical, linked

START = datetime(2026, 5, 4, 12, tzinfo=UTC)
TENTH = Bounded(epsilon=Fraction(1, 10))


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def granting(path, terms, clock):
    return Ledger.open(path, terms=terms(grants=True), clock=clock)


def ask(ledger, *, account="ana", request="r1", cost=TENTH, plan="p", purpose="report"):
    price = ledger.desk.price(cost)
    return ledger.desk.request(
        "SELECT count(*) FROM visits",
        account=account,
        request=request,
        payment={"epsilon": "1/10"},
        plan=plan,
        price=price,
        purpose=purpose,
    )


def grant(ledger, *, account="ana", request="r1", by="allocator", days=7, **more):
    return ledger.desk.grant(account, request, by=by, expires=START + timedelta(days=days), **more)


def answer(ledger, *, account="ana", request="r1", cost=TENTH, plan="p"):
    return ledger.answer(cost, lambda: b"answer", request=request, plan=plan, account=account)


def progress(ledger, *, account="ana", request="r1"):
    return ledger.desk.one(account, request).progress


def test_the_whole_way_of_a_request(granting, path):
    assert ask(granting).progress is Progress.PENDING
    assert granting.spent.loss == 0
    assert grant(granting).progress is Progress.APPROVED
    assert granting.spent.loss == 0
    assert [each.request for each in granting.desk.ready()] == ["r1"]
    assert answer(granting).payload == b"answer"
    assert progress(granting) is Progress.RELEASED
    assert granting.desk.ready() == ()
    assert granting.desk.publish("ana", "r1", by="owner").progress is Progress.PUBLISHED
    assert answer(granting).payload == b"answer"  # the same again, at no cost and without another grant
    assert granting.spent.loss == Fraction(1, 10)
    assert verify(path).problems == ()
    kinds = [json.loads(line)["kind"] for line in granting.export()]
    assert kinds == ["open", "request", "grant", "reserve", "store", "release", "publication"]


def sign(ledger, item="audience", **more):
    return ledger.desk.sign("ana", "r1", **{"by": "olga", "role": "owner", "item": item, "text": "the wards", **more})


def test_a_checklist_is_signed_in_the_chain_and_the_last_signature_counts(granting, path):
    with pytest.raises(InvalidArgument, match="no request"):
        sign(granting)
    ask(granting)
    sign(granting, link="https://example.org/x", file_hash="ab" * 32)
    known = sign(granting, text="and the\n  ministry")
    assert [event.body["text"] for event in known.signatures] == ["the wards", "and the ministry"]
    assert known.progress is Progress.PENDING
    assert granting.spent.loss == 0
    granting.desk.refuse("ana", "r1", by="allocator", reason="no")
    with pytest.raises(NotGranted, match="signature does not follow"):
        sign(granting)
    assert verify(path).problems == ()


@pytest.mark.parametrize(
    "wrong",
    [{"text": " "}, {"text": "x" * 1001}, {"text": "a\x00b"}, {"role": ""}, {"by": "a\nb"}]
    + [{"link": each} for each in ("http://example.org", "javascript:alert(1)", "https://a b", "https://" + "x" * 501)]
    + [{"file_hash": each} for each in ("AB" * 32, "ab", "g" * 64)],
)
def test_an_odd_signature_is_refused(granting, wrong):
    ask(granting)
    with pytest.raises(InvalidArgument):
        sign(granting, **wrong)
    assert granting.desk.one("ana", "r1").signatures == ()


@pytest.mark.parametrize("step", ["nothing", "asked", "refused", "expired"])
def test_without_a_live_grant_nothing_is_charged(granting, clock, step):
    if step != "nothing":
        ask(granting)
    if step == "refused":
        grant(granting)
        granting.desk.refuse("ana", "r1", by="allocator", reason="changed our mind")
    if step == "expired":
        grant(granting, days=1)
        clock.now += timedelta(days=1)
    with pytest.raises(NotGranted):
        answer(granting)
    with pytest.raises(NotGranted):
        granting.charge(TENTH, account="ana")
    assert granting.spent.loss == 0


def test_a_grant_covers_its_plan_its_analyst_and_its_limit_only(granting):
    ask(granting)
    grant(granting)
    with pytest.raises(NotGranted, match="another plan"):
        answer(granting, plan="other")
    with pytest.raises(NotGranted, match="no grant"):
        answer(granting, account="bob")
    with pytest.raises(NotGranted, match="granted up to epsilon = 0"):
        answer(granting, cost=Bounded(epsilon=Fraction(2, 10)))
    assert granting.spent.loss == 0
    assert answer(granting).payload == b"answer"


def test_a_partial_grant_covers_the_smaller_plan(granting):
    ask(granting)
    smaller = Bounded(epsilon=Fraction(1, 20))
    grant(granting, limit=granting.desk.price(smaller), plan="p at half", payment={"epsilon": "1/20"})
    with pytest.raises(NotGranted):
        answer(granting)
    assert answer(granting, cost=smaller, plan="p at half").payload == b"answer"
    assert granting.spent.loss == Fraction(1, 20)


def test_nobody_grants_to_oneself_or_more_than_was_asked_or_than_is_left(granting):
    ask(granting)
    with pytest.raises(NotGranted, match="your own"):
        grant(granting, by="ana")
    with pytest.raises(InvalidArgument, match="at most what was asked"):
        grant(granting, limit=Spend(Fraction(1, 5), Fraction(0), "epsilon"))
    with pytest.raises(InvalidArgument, match="in the future"):
        grant(granting, days=-1)
    ask(granting, request="big", cost=Bounded(epsilon=Fraction(3, 2)), plan="big")
    with pytest.raises(BudgetExceeded, match="more than what is left"):
        grant(granting, request="big")


def test_steps_out_of_order_are_refused(granting):
    with pytest.raises(InvalidArgument, match="no request"):
        grant(granting)
    ask(granting)
    with pytest.raises(InvalidArgument, match="already used"):
        ask(granting)
    with pytest.raises(NotGranted, match="publication does not follow"):
        granting.desk.publish("ana", "r1", by="owner")
    with pytest.raises(NotGranted, match="expiry does not follow"):
        granting.desk.expire("ana", "r1", by="worker")
    grant(granting)
    with pytest.raises(InvalidArgument, match="holds until"):
        granting.desk.expire("ana", "r1", by="worker")
    with pytest.raises(NotGranted, match="grant does not follow"):
        grant(granting)
    granting.desk.refuse("ana", "r1", by="allocator", reason="no")
    with pytest.raises(NotGranted):
        granting.desk.refuse("ana", "r1", by="allocator", reason="no")


def test_what_has_run_out_is_found_and_written_down(granting, clock):
    ask(granting)
    grant(granting, days=1)
    assert granting.desk.overdue() == ()
    clock.now += timedelta(days=2)
    assert [each.request for each in granting.desk.overdue()] == ["r1"]
    assert granting.desk.expire("ana", "r1", by="worker").progress is Progress.EXPIRED
    assert granting.desk.overdue() == ()


def test_a_crash_after_the_charge_is_told_and_never_run_again(granting, path):
    ask(granting)
    grant(granting)
    granting.reserve(TENTH, request="r1", plan="p", account="ana")
    assert progress(granting) is Progress.RUNNING
    assert granting.desk.ready() == ()
    assert granting.desk.refuse("ana", "r1", by="worker", reason="no answer").progress is Progress.FAILED
    assert granting.spent.loss == Fraction(1, 10)
    assert verify(path).problems == ()


def test_the_same_plan_granted_to_two_is_drawn_once(granting):
    ask(granting)
    grant(granting)
    ask(granting, account="bob")
    with pytest.raises(NotGranted):
        answer(granting, account="bob")
    answer(granting)
    with pytest.raises(NotGranted, match="no grant"):
        answer(granting, account="bob")
    grant(granting, account="bob")
    assert answer(granting, account="bob").payload == b"answer"
    assert progress(granting, account="bob") is Progress.RELEASED
    assert granting.spent.loss == Fraction(1, 10)


def test_grants_are_a_term_that_is_kept(path, terms):
    Ledger.open(path, terms=terms(grants=True))
    assert Ledger.existing(path).terms.grants
    from deniable.errors import LedgerError

    with pytest.raises(LedgerError, match="grants"):
        Ledger.open(path, terms=terms())


def test_a_ledger_without_grants_has_a_desk_but_needs_none(path, terms):
    ledger = Ledger.open(path, terms=terms())
    assert answer(ledger).payload == b"answer"
    assert "grants" not in next(ledger.export())
    ask(ledger, request="r2")
    assert progress(ledger, request="r2") is Progress.PENDING


def test_turning_grants_on_leaves_what_was_charged_before_alone(path, terms):
    ledger = Ledger.open(path, terms=terms())
    answer(ledger)
    ledger.amend(terms(grants=True), reason="from now on", by="owner")
    with pytest.raises(NotGranted):
        answer(ledger, request="r2", plan="q")
    assert verify(path).problems == ()


def test_an_analysts_own_cap_holds_besides_the_grant(path, terms, clock):
    cap = Cap(budget=budget(epsilon=Fraction(3, 20)), analyst=Each.ANALYST)
    ledger = Ledger.open(path, terms=terms(grants=True, caps=(cap,)), clock=clock)
    for number in (1, 2):
        ask(ledger, request=f"r{number}", plan=f"p{number}")
        grant(ledger, request=f"r{number}")
    answer(ledger, request="r1", plan="p1")
    with pytest.raises(BudgetExceeded):
        answer(ledger, request="r2", plan="p2")
    assert progress(ledger, request="r2") is Progress.APPROVED


@pytest.mark.parametrize("fault", ["charge without grant", "grant to oneself", "grant twice", "late charge"])
def test_a_forged_chain_is_noticed(granting, path, clock, tmp_path, fault):
    """Whoever can write the file writes a chain that links; what it says is still wrong."""
    ask(granting)
    grant(granting)
    answer(granting)
    events = [json.loads(line) for line in granting.export()]
    bodies = [(EventKind(event["kind"]), event["body"]) for event in events]
    if fault == "charge without grant":
        del bodies[2]
    elif fault == "grant to oneself":
        bodies[2][1]["by"] = "ana"
    elif fault == "grant twice":
        bodies.insert(3, bodies[2])
        bodies[5][1]["reservation"] = bodies[6][1]["reservation"] = 5
    else:
        bodies[2][1]["expires"] = START.isoformat()
    if fault == "charge without grant":
        bodies[3][1]["reservation"] = bodies[4][1]["reservation"] = 3
    place = tmp_path / "forged.ledger"
    journal = journal_at(place)
    journal.create()
    with journal.writing() as writing:
        before = None
        for kind, body in bodies:
            count, previous = (before.count + 1, before.head) if before else (1, events[0]["previous"])
            before = linked(count=count, kind=kind, body=body, previous=previous)
            writing.append(before)
    with sqlite3.connect(path) as source, sqlite3.connect(place) as target:
        ((_, payload, salt),) = source.execute("SELECT * FROM answers").fetchall()
        reserved = next(number for number, (kind, _) in enumerate(bodies, start=1) if kind is EventKind.RESERVE)
        target.execute("INSERT INTO answers VALUES (?, ?, ?)", (reserved, payload, salt))
    source.close()
    target.close()
    problems = verify(place, anchor=FolderAnchor(tmp_path / "other")).problems
    assert problems
    assert canonical(list(problems))


def test_who_has_read_what_is_told(granting, path, capsys):
    from deniable.cli import main

    for account in ("ana", "bob"):
        ask(granting, account=account)
        grant(granting, account=account)
        answer(granting, account=account)
    (charge,) = granting.charges()
    assert charge.readers == ("ana", "bob")
    granting.desk.read("ana", "r1", by="eve")
    before = granting.mark
    granting.desk.read("ana", "r1", by="eve")
    granting.desk.read("ana", "r1", by="ana")
    assert granting.mark == before  # once for each person
    main(["ledger", "readers", str(path)])
    assert "r1: ana, bob, eve" in capsys.readouterr().out
    assert verify(path).problems == ()
    main(["ledger", "requests", str(path), "--json"])
    assert [row["state"] for row in json.loads(capsys.readouterr().out)] == ["released", "released"]
