"""The checklist at the server: signed by the person who was proved in a role of theirs, in the chain, and told in the dossier."""

from __future__ import annotations

import json
import re

from deniable.ledger import Ledger, verify

PATH = "/datasets/visits/requests/ana/r1/checklist"
SAID = {"item": "audience", "role": "curator", "text": "the wards", "link": "https://example.org/minutes"}


def signed(server, person="carl", **more):
    return server.call(person, "POST", PATH, json={**SAID, **more})


def item(record, id="audience"):
    return next(each for each in record["items"] if each["id"] == id)


def test_a_signature_has_its_person_role_date_and_evidence(server):
    server.ask()
    before = server.call("ana", "GET", PATH).json()
    assert "audience" in before["blocking"]
    found = signed(server, file_hash="ab" * 32).json()
    evidence = item(found)["evidence"]
    moment = Ledger.existing(server.settings.data["visits"].ledger).desk.one("ana", "r1").signatures[0].body["at"]
    assert evidence == {
        "by": "carl",
        "role": "curator",
        "on": moment[:10],
        "text": "the wards",
        "link": "https://example.org/minutes",
        "file_hash": "ab" * 32,
    }
    assert set(before["blocking"]) - set(found["blocking"]) == {"audience"}
    found = signed(server, applies=False, text="nobody reads it", link="").json()
    assert item(found)["state"] == "not applicable"
    assert item(found)["not_applicable"].startswith("nobody reads it (carl, curator, ")


def test_what_the_release_shows_is_filled_in_and_the_dossier_tells_the_rest(server):
    server.released()
    signed(server)
    found = server.call("olga", "GET", PATH).json()
    assert item(found, "unit")["evidence"]["role"] == "system"
    assert "unit" not in found["blocking"]
    text = server.browse("ana").get("/data/visits/requests/ana/r1/dossier").text
    assert "carl, curator" in text
    place = server.settings.data["visits"].ledger
    events = [json.loads(line)["kind"] for line in Ledger.existing(place).export()]
    assert events.count("signature") == 1
    assert "reading" not in events  # a checklist shows no answer
    assert verify(place).problems == ()


def test_nobody_signs_as_another_or_in_a_role_that_is_not_theirs(server):
    server.ask()
    assert signed(server, "ana").status_code == 403
    assert signed(server, role="king").status_code == 422
    assert signed(server, by="olga").status_code == 422
    assert signed(server, item="nothing").status_code == 422
    assert signed(server, link="javascript:alert(1)").status_code == 422
    assert signed(server, "eve").status_code == signed(server, "ben").status_code == 404
    assert Ledger.existing(server.settings.data["visits"].ledger).desk.one("ana", "r1").signatures == ()


CONTEXT = {
    "subject": "patients of the wards",
    "sender": "the clinic",
    "recipient": "the ministry",
    "type": "numbers of visits",
    "principle": "medical confidentiality",
    "disrupted": "numbers leave the clinic",
    "mended": "what they say about one patient",
    "not_mended": "what they say about a ward",
}


def test_the_context_form_is_signed_field_by_field_and_told_in_the_dossier(server):
    server.released()
    open_fields = {f"context.{name}" for name in CONTEXT}
    assert open_fields <= set(server.call("olga", "GET", PATH).json()["blocking"])
    carl, page = server.browse("carl"), "/data/visits/requests/ana/r1/context"
    form = carl.get(page).text
    assert "8 of 8 fields are open" in form
    csrf = form.split('name="csrf" value="', 1)[1].split('"', 1)[0]
    sent = {**CONTEXT, "not_mended": "", "csrf": csrf, "role": "curator"}
    assert "1 of 8 fields are open" in carl.post(page, data=sent).text
    dossier = "/data/visits/requests/ana/r1/dossier"
    assert "context form is missing" in server.browse("ana").get(dossier).text
    assert signed(server, item="context.not_mended", text=CONTEXT["not_mended"], link="").status_code == 201
    assert "carl, curator" in carl.get(page).text
    carl.post(page, data={**CONTEXT, "recipient": "the <b>press</b>", "csrf": csrf, "role": "curator"})
    found = server.call("ana", "GET", PATH).json()
    assert not open_fields & set(found["blocking"])
    assert found["context"]["recipient"]["text"] == "the <b>press</b>"
    assert "<b>press" not in carl.get(page).text
    assert "what they say about a ward" in server.browse("ana").get(dossier).text
    ledger = Ledger.existing(server.settings.data["visits"].ledger)
    assert len(ledger.desk.one("ana", "r1").signatures) == 9  # what was left as it was is not signed again
    assert verify(ledger.place).problems == ()


def test_what_is_no_field_of_the_form_is_refused_and_nothing_is_written(server):
    server.ask()
    assert signed(server, item="context.weather").status_code == 422
    assert signed(server, item="context.subject", applies=False).status_code == 422
    page = "/data/visits/requests/ana/r1/context"
    ana, ben = server.browse("ana"), server.browse("ben")
    csrf = ana.get(page).text.split('name="csrf" value="', 1)[1].split('"', 1)[0]
    assert ana.post(page, data={**CONTEXT, "csrf": csrf, "role": "curator"}).status_code == 422
    assert ana.post(page, data={**CONTEXT, "csrf": "x", "role": "analyst"}).status_code == 403
    assert ben.get(page).status_code == 404
    assert Ledger.existing(server.settings.data["visits"].ledger).desk.one("ana", "r1").signatures == ()


def test_nobody_signs_what_another_wrote_while_the_form_was_open(server):
    """A field that is sent as it was shown stays the other person's, and shows what is signed by now."""
    server.ask()
    page = "/data/visits/requests/ana/r1/context"
    signed(server, item="context.recipient", text="the press", link="")
    ana = server.browse("ana")
    form = ana.get(page).text
    csrf = form.split('name="csrf" value="', 1)[1].split('"', 1)[0]
    shown = re.findall('name="was" value="([^"]*)"', form)
    assert shown == ["", "", "the press", *[""] * 5]
    signed(server, item="context.recipient", text="the press and the wards", link="")
    sent = {"csrf": csrf, "role": "analyst", "was": shown, "recipient": "the press", "sender": "the hospital"}
    refused = ana.post(page, data={**sent, "role": "owner"})
    assert refused.status_code == 422
    assert "the press and the wards</textarea>" in refused.text
    assert "the hospital</textarea>" in refused.text
    ana.post(page, data=sent)
    found = server.call("ana", "GET", PATH).json()["context"]
    assert {name: (each["text"], each["by"]) for name, each in found.items()} == {
        "recipient": ("the press and the wards", "carl"),
        "sender": ("the hospital", "ana"),
    }
    ana.post(page, data={**sent, "recipient": "everybody"})
    assert server.call("ana", "GET", PATH).json()["context"]["recipient"]["by"] == "ana"
