"""The checklist at the server: signed by the person who was proved in a role of theirs, in the chain, and told in the dossier."""

from __future__ import annotations

import json

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
