"""What a second reading of the server found: log-ins from elsewhere, redirects of another scheme, texts that stop a worker."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

import deniable as dp
from deniable.accounting import Spend
from deniable.errors import InvalidArgument
from deniable.server.codebook_desk import NOT_READ
from deniable.server.views import csv_cell
from deniable.server.worker import NOT_ANSWERED, UNREADABLE, Pace, TickingLedger
from tests.server.made_up import SQL, TestClient, made_up


@pytest.mark.parametrize(
    ("site", "welcome"), [("same-origin", True), ("none", True), ("cross-site", False), ("same-site", False)]
)
def test_nobody_is_logged_in_by_another_site(server, site, welcome):
    """A page elsewhere could log a browser in as somebody else, whose account its owner then asked with."""
    browser = TestClient(server.client.app, base_url=server.settings.public_url, follow_redirects=False)
    answer = browser.post("/login", data={"token": server.secrets["ben"]}, headers={"Sec-Fetch-Site": site})
    assert ("set-cookie" in answer.headers) is welcome
    assert (browser.get("/").status_code == 200) is welcome


def test_behind_tls_no_cookie_can_come_from_another_host_and_no_redirect_leads_to_plain_http(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "of this server")
    entry = {"issuer": "http://127.0.0.1:9", "client_id": "deniable", "client_secret": "env:SECRET"}
    server = made_up(tmp_path / "tls", public_url="https://desk.example", oidc=entry)
    pages = server.client.app.state.pages
    assert {pages._cookie, pages._attempt} == {"__Host-visit", "__Host-attempt"}
    plain = TestClient(server.client.app, base_url="http://desk.example", follow_redirects=False)
    for path in ("/login/", "/data/visits/", "/api/v1/datasets/", "/health/"):
        answer = plain.get(path)  # as a proxy hands it on
        assert answer.status_code == 404 or not urlsplit(answer.headers.get("location", "")).netloc


@pytest.mark.parametrize("cell", ["\n=1+1", " =1+1", "\u00a0@SUM(A1)", "＝1+1", "＋1", "－1", "＠x", "\v-1"])
def test_formulas_after_blanks_and_in_wide_letters_are_text(cell):
    assert csv_cell(cell) == f"'{cell}"
    assert csv_cell("a = b") == "a = b"


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/price", {"sql": SQL, "epsilon": 0}, "epsilon must be positive, got 0.0"),
        ("/price", {"sql": SQL, "epsilon": -1}, "epsilon must be positive, got -1.0"),
        (
            "/price",
            {"sql": SQL, "epsilon": 2000},
            "not understood: epsilon: input should be less than or equal to 1000",
        ),
        ("/price", {"epsilon": 1}, "not understood: sql: field required"),
        ("/price", {"sql": SQL, "epsilon": "<b>"}, "not understood: epsilon: not of the right kind"),
        ("/requests", {"sql": SQL, "epsilon": 0.1, "purpose": ""}, "purpose must be a short printable text, got ''"),
    ],
)
def test_rest_says_what_is_wrong_with_which_field(server, path, body, said):
    answer = server.call("ana", "POST", f"/datasets/visits{path}", json=body)
    assert (answer.status_code, answer.json()["message"]) == (422, said)
    if "epsilon" in body and body.get("sql") and isinstance(body["epsilon"], int) and body["epsilon"] <= 0:
        browser = server.browse("ana")
        page = browser.get("/data/visits/ask").text
        token = page.split('name="csrf" value="')[1].split('"')[0]
        shown = browser.post("/data/visits/ask", data={"csrf": token, "sql": SQL, "amount": str(body["epsilon"])})
        assert (shown.status_code, said in shown.text) == (422, True)


def test_a_grant_says_the_same(server):
    server.ask()
    for body, said in (
        ({"days": 0}, "days must be at least 1, got 0"),
        ({"days": 7, "part": 0}, "epsilon must be positive, got 0.0"),
    ):
        answer = server.call("alma", "POST", "/datasets/visits/requests/ana/r1/grant", json=body)
        assert (answer.status_code, answer.json()["message"]) == (422, said)
    answer = server.call("alma", "POST", "/datasets/visits/requests/ana/r1/refuse", json={"reason": ""})
    assert answer.json()["message"] == "reason must be a short printable text, got ''"


@pytest.mark.parametrize("text", ["[" * 20_000, "name: visits\nunit: {" + "a: {" * 5_000, "\x00"])
def test_a_proposal_that_no_page_wrote_is_rejected_and_the_worker_goes_on(server, text):
    """A web process that was taken over can write any text; one that nests too deeply stopped the worker for good."""
    desk = server.client.app.state.counters["visits"].ledger.desk
    desk.propose(text, codebook="0" * 64, reason="words", by="carl")
    server.released()
    (seen,) = desk.proposals()
    assert seen.state == "rejected"
    assert seen.why == NOT_READ or "codebook" in seen.why


@pytest.mark.parametrize(
    "told",
    [
        {"text": "no JSON", "dialect": "workload/duckdb"},
        {"text": json.dumps([1]), "dialect": "workload/duckdb"},
        {"text": SQL, "payment": {"epsilon": "a tenth"}},
        {"text": SQL, "payment": {"colour": "1/10"}},
    ],
)
def test_a_request_that_no_page_wrote_is_refused_and_the_others_are_answered(server, told):
    """Such a request, once granted, stopped the worker, which met it again at every start."""
    desk = server.client.app.state.counters["visits"].ledger.desk
    spend = Spend(1, 0, "epsilon")
    desk.request(
        **{"payment": {"epsilon": "1/10"}, **told}, account="ben", request="odd", plan="p", price=spend, purpose="odd"
    )
    desk.grant("ben", "odd", by="alma", expires=datetime.now(UTC) + timedelta(days=1))
    assert "facts" in server.released()
    seen = desk.one("ben", "odd")
    assert (seen.progress.value, seen.charge) == ("refused", None)
    assert seen.reason == UNREADABLE or "epsilon" in seen.reason or "number" in seen.reason


class Late(Pace):
    """Ticks that are counted instead of waited for."""

    def __init__(self) -> None:
        super().__init__(1, sleep=lambda _: None)
        self.waits = 0

    def wait(self) -> None:
        self.waits += 1


def test_what_fails_after_the_charge_is_told_at_a_tick(server, monkeypatch):
    """Only an engine's failure waited for the tick; how long another took to fail was seen in the chain."""

    def fails(self, reservation, payload):
        raise InvalidArgument("after the charge")

    server.ask()
    server.grant()
    pace = Late()
    worker = server.worker(pace)
    monkeypatch.setattr(TickingLedger, "store", fails)
    assert worker.work() == 1
    worker.close()
    seen = server.client.app.state.counters["visits"].refresh().ledger.desk.one("ana", "r1")
    assert (seen.progress.value, seen.reason) == ("charged and not answered", NOT_ANSWERED)
    assert pace.waits == 1


def test_what_no_grant_could_pay_is_refused_with_what_it_takes(server):
    """A wanted error that takes more than the whole budget was accepted, and then refused to every allocator."""
    asked = {"sql": SQL, "accuracy": {"n": 0.5}, "purpose": "x", "request": "dear"}
    answer = server.call("ana", "POST", "/datasets/visits/requests", json=asked)
    assert (answer.status_code, answer.json()["code"]) == (409, "over-budget")
    assert answer.json()["message"].startswith(
        "these errors take epsilon = 7.32813, more than the whole budget of epsilon = 1;"
    )
    questions = {"questions": {"a": SQL}, "by": "accuracy", "wanted": {"a": 0.5}, "purpose": "x"}
    assert server.call("ana", "POST", "/datasets/visits/workloads", json=questions).status_code in (409, 422)
    assert server.call("ana", "GET", "/datasets/visits/requests").json() == []


def test_no_proxy_of_the_environment_is_shown_a_token_that_is_not_encrypted(listening, monkeypatch):
    """To a server on this machine a token goes in plain text, and a proxy named in the environment was handed it."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(0.2)
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        with dp.connect(listening.settings.public_url, token=listening.secrets["ana"]) as client:
            client._http.timeout = 2
            assert "visits" in client.datasets()
        with pytest.raises(TimeoutError):
            proxy.accept()
