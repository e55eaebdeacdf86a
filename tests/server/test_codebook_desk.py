"""A curator edits the codebook at the server: only what may change, with sources, taken up by the worker, in the chain."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import yaml

from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger import Ledger, fingerprint, verify
from deniable.plan.codebook import Codebook
from deniable.plan.unit import row_unit, unit
from deniable.release.dataset import amend
from deniable.server.codebook_desk import NOT_OPENED, drafted, take_up, unit_sentence
from deniable.server.counter import Counter
from deniable.server.worker import CHANGED
from tests.server.made_up import BOOK, DESCRIBED, SQL, made_up

PATH = "/datasets/visits/codebook"
MEAN = "SELECT ward, avg(minutes) AS m FROM visits GROUP BY ward"


def edited(change):
    """The codebook's text after a change to its record."""
    record = json.loads(json.dumps(BOOK))
    change(record, record["tables"]["visits"]["variables"])
    return yaml.safe_dump(record, sort_keys=False)


def wider(record, variables):
    variables["minutes"] |= {"bounds": [0, 90], "provenance": "opening hours of 2026"}


def propose(server, text, reason="longer opening hours"):
    return server.call("carl", "POST", PATH, json={"codebook": text, "reason": reason})


def seen(server):
    return server.call("carl", "GET", PATH).json()


def test_an_amendment_goes_through_the_chain_and_prices_follow(server):
    server.released()
    before = server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release").content
    body = {"sql": MEAN, "epsilon": 0.2}
    old = server.call("ana", "POST", "/datasets/visits/price", json=body).json()["errors"]["m"]["within"]
    shown = server.call("carl", "POST", f"{PATH}/preview", json={"codebook": edited(wider)}).json()
    assert shown["changes"] == [
        "visits.minutes.bounds: [0, 60] becomes [0, 90]",
        "visits.minutes.provenance: not stated becomes opening hours of 2026",
    ]
    assert "at most 1 group and at most 2 rows in each count" in shown["unit"]
    assert {"variable": "visits.minutes", "bounds": "0 to 90", "provenance": "opening hours of 2026"} in shown["bounds"]
    assert seen(server)["proposals"] == []
    asked = propose(server, edited(wider))
    assert (asked.status_code, asked.json()["state"]) == (201, "open")
    assert server.call("ana", "POST", "/datasets/visits/price", json=body).json()["errors"]["m"]["within"] == old
    server.work()
    assert [each["state"] for each in seen(server)["proposals"]] == ["amended"]
    assert server.call("ana", "POST", "/datasets/visits/price", json=body).json()["errors"]["m"]["within"] > old
    assert server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release").content == before
    ledger = Ledger.existing(server.settings.data["visits"].ledger)
    assert (ledger.terms.grants, float(ledger.spent.loss)) == (True, 0.1)
    kinds = [json.loads(line)["kind"] for line in ledger.export()]
    assert kinds[-2:] == ["proposal", "amend"]
    assert verify(ledger.place).problems == ()
    again = made_up(
        server.settings.folder.parent
    )  # started again with the old file: the chain knows the codebook in force
    assert again.call("carl", "GET", PATH).json()["bounds"] == shown["bounds"]
    assert again.released(request="r2", sql=MEAN)["release"]


NOT_HERE = {
    "unit": lambda record, _: record.update(unit="rows"),
    "who": lambda record, _: record["unit"].update(id="ward"),
    "unique": lambda record, _: record["unit"].update(unique=True),
    "table": lambda record, _: record["tables"].update(more={"variables": {"patient": "integer"}}),
    "public": lambda record, _: record["tables"]["visits"].update(public=True),
    "gone": lambda _, variables: variables.pop("ward"),
    "type": lambda _, variables: variables.update(ward="integer"),
    "source": lambda _, variables: variables["minutes"].update(bounds=[0, 90]),
    "same": lambda record, _: record,
}


@pytest.mark.parametrize("kind", NOT_HERE)
def test_what_may_not_change_is_refused_on_both_sides(server, kind):
    """At the desk, and again by the worker for a web process that was taken over."""
    text = edited(NOT_HERE[kind])
    answer = propose(server, text)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert "\n" not in answer.json()["message"]
    data = server.settings.data["visits"]
    ledger = Ledger.existing(data.ledger)
    forged = ledger.desk.propose(text, codebook=fingerprint(Codebook.from_yaml(text).identity()), reason="x", by="carl")
    take_up(ledger, data, forged, by="worker")
    assert [(each.state, bool(each.why)) for each in ledger.desk.proposals()] == [("rejected", True)]
    assert ledger.amended == 0


def test_a_mistake_is_told_with_its_line_beside_the_field(server):
    text = edited(wider).replace("step: 1", "stepp: 1")
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "stepp" in each)
    answer = propose(server, text)
    assert f"line {line}" in answer.json()["message"]
    browser = server.browse("carl")
    csrf = re.search(r'name="csrf" value="(\w+)"', browser.get("/").text)[1]
    page = browser.post("/data/visits/codebook", data={"codebook": text, "reason": "", "csrf": csrf})
    assert page.status_code == 422
    assert f"line {line}" in re.search(r'id="problem" role="alert">([^<]*)<', page.text)[1]
    assert "stepp: 1" in page.text
    missing = browser.post(
        "/data/visits/codebook", data={"codebook": DESCRIBED, "reason": " ", "csrf": csrf, "action": "propose"}
    )
    assert "say why" in missing.text
    assert seen(server)["proposals"] == []


def test_the_page_previews_and_proposes_without_a_script(server):
    browser = server.browse("carl")
    assert "/data/visits/codebook" in browser.get("/data/visits").text
    assert "/data/visits/codebook" not in server.browse("ana").get("/data/visits").text
    csrf = re.search(r'name="csrf" value="(\w+)"', browser.get("/").text)[1]
    fields = {"codebook": edited(wider).replace("\n", "\r\n"), "reason": "opening hours", "csrf": csrf}
    page = browser.post("/data/visits/codebook", data={**fields, "action": "preview"}).text
    assert "visits.minutes.bounds: [0, 60] becomes [0, 90]" in page
    assert "not stated" in page  # a bound whose source nobody wrote down
    assert "Nothing was proposed yet." in page
    page = browser.post("/data/visits/codebook", data={**fields, "action": "propose"}).text
    assert re.search(r"opening hours</td><td>open", page)
    server.work()
    assert re.search(r"opening hours</td><td>amended", browser.get("/data/visits/codebook").text)


def test_of_two_proposals_from_one_codebook_the_second_is_rejected(server):
    propose(server, edited(wider))
    propose(server, DESCRIBED, reason="words")
    server.work()
    states = {each["reason"]: (each["state"], each["why"]) for each in seen(server)["proposals"]}
    assert states["longer opening hours"] == ("amended", "")
    assert states["words"][0] == "rejected"
    assert server.work() == 0


def test_a_column_the_data_does_not_have_is_rejected_in_constant_words(server):
    propose(server, edited(lambda _, variables: variables.update(height={"type": "integer"})))
    server.work()
    assert seen(server)["proposals"][0]["why"] == NOT_OPENED
    assert server.released()["release"]  # the old codebook is in force, and answers go on


def test_a_grant_from_before_an_amendment_spends_nothing_where_the_question_became_another(server):
    server.ask(sql=MEAN)
    server.ask(request="r2", sql=SQL)
    server.grant()
    server.grant(request="r2")
    propose(server, edited(wider))
    server.work()
    found = server.call("ana", "GET", "/datasets/visits/requests/ana/r1").json()
    assert (found["state"], found["reason"]) == ("refused", CHANGED)
    ledger = Ledger.existing(server.settings.data["visits"].ledger)
    other = server.call("ana", "GET", "/datasets/visits/requests/ana/r2").json()["state"]
    assert float(ledger.spent.loss) == (0.1 if other == "released" else 0)
    assert server.work() == 0


def test_the_shells_amendment_keeps_grants_and_a_codebook_from_elsewhere_needs_a_new_start(tmp_path, server):
    data = server.settings.data["visits"]
    amend(data.ledger, Codebook.from_yaml(edited(wider)), reason="beside the data", by="olga")
    assert Ledger.existing(data.ledger).terms.grants
    assert server.call("ana", "GET", "/datasets/visits").status_code == 422
    with pytest.raises(LedgerError, match="codebook"):
        Counter(data)
    assert Counter(replace(data, codebook=Codebook.from_yaml(edited(wider)))).ledger.amended


@pytest.mark.parametrize("kind", ["unknown", "twice", "another"])
def test_verify_finds_an_answer_to_a_proposal_that_does_not_follow(server, kind):
    """Planted: amendments that name no proposal, an answered one, or another codebook than was proposed."""
    propose(server, edited(wider))
    ledger = Ledger.existing(server.settings.data["visits"].ledger)
    number = ledger.desk.proposals()[0].count
    terms = ledger.terms
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deniable.ledger.ledger.open_proposal", lambda proposals, count: None)
        patch.setattr("deniable.ledger.ledger._check_base", lambda *_: None)
        right = replace(terms, codebook=ledger.desk.proposals()[0].body["codebook"])
        if kind == "twice":
            ledger.amend(right, reason="x", by="carl", proposal=number)
        planted = terms if kind == "another" else right
        ledger.amend(planted, reason="x", by="carl", proposal=99 if kind == "unknown" else number)
    assert len(verify(ledger.place).problems) == 1


def test_sentences_of_units():
    assert unit_sentence(None) == "Nobody is protected yet."
    assert unit_sentence(row_unit()) == "Protected is one row: nobody can tell from answers whether it was there."
    assert unit_sentence(row_unit(changed=True)).endswith("whether it was there or what it said.")
    said = unit_sentence(unit("patient_id", period="day", per="month", unique=True))
    assert said == (
        "Protected is one patient in one month of day: all rows with the same patient_id together. In one question as many "
        "groups as a question states and as many rows as it states in each count; what is beyond is left out. That every "
        "patient has one row is taken on the curator's word."
    )
    with pytest.raises(InvalidArgument, match="line 1"):
        drafted(Codebook.from_record(BOOK), "tables: [")
