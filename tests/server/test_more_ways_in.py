"""The same story from the shell, on a ledger in PostgreSQL, and a fuzz of every route from the server's own description."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from deniable.cli import main
from deniable.ledger import verify
from tests.needs import require_module
from tests.server.made_up import DESCRIBED, PEOPLE, SQL, made_up


def test_the_story_from_the_shell(listening, tmp_path, monkeypatch, capsys):
    files = {}
    for name in PEOPLE:
        files[name] = tmp_path / f"{name}.token"
        files[name].write_text(listening.secrets[name], encoding="utf-8")
    monkeypatch.setenv("DENIABLE_URL", listening.settings.public_url)

    def remote(person, *words):
        monkeypatch.setenv("DENIABLE_TOKEN", str(files[person]))
        main(["remote", *words])
        return capsys.readouterr().out

    assert "visits" in remote("ana", "datasets")
    assert json.loads(remote("ana", "price", "visits", SQL, "--epsilon", "0.1"))["loss"] == 0.1
    account, id = remote("ana", "ask", "visits", SQL, "--accuracy", "n=20", "--purpose", "report").split()[:2]
    assert "pending" in remote("alma", "requests", "visits")
    assert json.loads(remote("alma", "grant", "visits", account, id, "--days", "2"))["state"] == "approved"
    listening.work()
    assert "=A" in remote("ana", "wait", "visits", account, id)
    (tmp_path / "minutes.txt").write_text("agreed", encoding="utf-8")
    blocking = json.loads(remote("carl", "checklist", "visits", account, id))["blocking"]
    words = ("--role", "curator", "--text", "the wards", "--file", str(tmp_path / "minutes.txt"))
    said = remote("carl", "sign", "visits", account, id, "audience", *words)
    assert said == f"audience is signed; {len(blocking) - 1} items still block publication\n"
    signed = listening.call("ana", "GET", f"/datasets/visits/requests/{account}/{id}/checklist").json()["items"]
    assert sha256(b"agreed").hexdigest() in json.dumps(signed)
    assert "blocks publication" in remote("ana", "dossier", "visits", account, id, str(tmp_path / "dossier.md"))
    assert "carl, curator" in (tmp_path / "dossier.md").read_text(encoding="utf-8")
    assert json.loads(remote("olga", "publish", "visits", account, id))["state"] == "published"
    assert json.loads(remote("ben", "wait", "visits", account, id, "--json"))["receipt"]
    _, other = remote("ana", "ask", "visits", SQL, "--epsilon", "0.2", "--purpose", "more").split()[:2]
    assert json.loads(remote("alma", "refuse", "visits", "ana", other, "--reason", "enough"))["state"] == "refused"
    (tmp_path / "new.yaml").write_text(DESCRIBED, encoding="utf-8")
    assert (
        json.loads(remote("carl", "amend", "visits", str(tmp_path / "new.yaml"), "--reason", "words"))["state"]
        == "open"
    )
    listening.work()
    assert "said in words" in json.dumps(listening.call("ana", "GET", "/datasets/visits").json()["codebook"])
    with pytest.raises(SystemExit):
        main(["remote", "datasets", "--token", listening.secrets["ana"]])
    assert "other people can see command lines" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_the_story_on_a_ledger_in_postgresql(tmp_path, postgres):
    place = postgres.url(ledger=postgres.fresh("ledger"))
    entry = {"source": "visits.csv", "codebook": "visits.yaml", "ledger": place, "budget": {"epsilon": 1}}
    server = made_up(tmp_path / "served", data={"visits": entry, "other": {**entry, "ledger": "other.ledger"}})
    answer = server.released()
    assert answer["receipt"]["dataset"] == "visits"
    assert server.call("audra", "GET", "/datasets/visits/ledger").json()["verification"]["sound"]
    assert verify(place).problems == ()
    assert "postgres" not in server.call("audra", "GET", "/datasets/visits/ledger").json()["verification"]["place"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_call_made_from_the_description_makes_it_fail(server):
    schemathesis = require_module("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    server.released()
    described = schemathesis.openapi.from_asgi("/api/v1/openapi.json", server.client.app, headers={"Host": "127.0.0.1"})
    count = 0
    for operation in described.get_all_operations():
        case_of = operation.ok().as_strategy()

        @settings(
            max_examples=6,
            derandomize=True,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=case_of)
        def fuzz(case):
            nonlocal count
            count += 1
            path = case.formatted_path
            more = {"json": case.body} if isinstance(case.body, dict | list | str | int) else {}
            headers = {"Authorization": f"Bearer {server.secrets['olga']}"}
            answer = server.client.request(case.method, path, headers=headers, params=case.query or {}, **more)
            assert answer.status_code < 500, (case.method, path, answer.text)

        fuzz()
    assert count > 20
