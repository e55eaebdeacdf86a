"""W1, T2, T3 and S1-S4 at the server: every route by every role, forms, texts, sizes, headers, and neighbouring data sets."""

from __future__ import annotations

import json
import logging
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.server.protection import SECURITY_HEADERS
from deniable.server.views import csv_cell
from deniable.server.worker import Worker
from tests.server.made_up import DESCRIBED, PEOPLE, ROWS, SQL, made_up

EVERYBODY = [None, *PEOPLE]
RIGHTS = {
    "": {"olga", "carl", "alma", "ana", "ben", "audra"},
    "/price": {"olga", "carl", "alma", "ana", "ben", "audra"},
    "/workloads": {"ana", "ben"},
    "/workloads/price": {"olga", "carl", "alma", "ana", "ben", "audra"},
    "/requests GET": {"olga", "carl", "alma", "ana", "ben", "audra"},
    "/requests POST": {"ana", "ben"},
    "/requests/{account}/{request}": {"olga", "carl", "alma", "ana", "audra"},
    "/requests/{account}/{request}/grant": {"alma"},
    "/requests/{account}/{request}/refuse": {"alma"},
    "/requests/{account}/{request}/publish": {"olga", "carl"},
    "/requests/{account}/{request}/release": {"ana", "olga"},
    "/requests/{account}/{request}/release.csv": {"ana", "olga"},
    "/requests/{account}/{request}/checklist GET": {"olga", "carl", "alma", "ana", "audra"},
    "/requests/{account}/{request}/checklist POST": {"carl"},
    "/ledger": {"olga", "audra"},
    "/codebook GET": {"carl"},
    "/codebook POST": {"carl"},
    "/codebook/preview": {"carl"},
}
"""Who may do what to a request of ana's that is released and not published. A step out of order is allowed and fails later."""

BODIES = {
    "price": {"sql": SQL, "epsilon": 0.1},
    "workload price": {"questions": {"a": SQL}, "epsilon": 0.1},
    "workloads": {"questions": {"a": SQL}, "epsilon": 0.1, "purpose": "x"},
    "requests": {"sql": SQL, "epsilon": 0.1, "purpose": "x"},
    "grant": {"days": 1},
    "refuse": {"reason": "no"},
    "publish": {},
    "checklist": {"item": "audience", "role": "curator", "text": "the ward's own staff"},
    "codebook": {"codebook": DESCRIBED, "reason": "words"},
    "preview": {"codebook": DESCRIBED},
}


def routes(server):
    """Every route of a data set, from the server's own description."""
    for path, methods in server.client.app.openapi()["paths"].items():
        inside = path.removeprefix("/api/v1/datasets/{name}")
        if inside != path:
            yield from ((method.upper(), inside) for method in methods)


def test_every_route_by_every_role(server):
    server.released()
    seen = set()
    for method, inside in sorted(
        routes(server), key=lambda route: "publish" in route[1]
    ):  # what is published, all may read
        right = RIGHTS.get(inside) or RIGHTS[f"{inside} {method}"]
        seen.add(inside if inside in RIGHTS else f"{inside} {method}")
        path = "/datasets/visits" + inside.replace("{account}", "ana").replace("{request}", "r1")
        last = "workload price" if inside == "/workloads/price" else inside.rpartition("/")[2]
        body = BODIES.get(last) if method == "POST" else None
        order = sorted(EVERYBODY, key=lambda who: who in right)  # those who may last: what they do changes the state
        for person in order:
            answer = server.call(person, method, path, json=body)
            if person is None:
                assert answer.status_code == 401
            elif person in right:
                assert answer.status_code in (200, 201, 409), (person, method, path, answer.text)
            else:
                assert answer.status_code in (403, 404), (person, method, path)
                assert (answer.status_code == 404) or "role" in answer.json()["message"]
    assert seen == set(RIGHTS)


def test_absent_and_forbidden_look_the_same(server):
    server.released()
    absent = server.call("ben", "GET", "/datasets/visits/requests/ana/nothing")
    hidden = server.call("ben", "GET", "/datasets/visits/requests/ana/r1")
    unknown, closed = server.call("eve", "GET", "/datasets/nowhere"), server.call("eve", "GET", "/datasets/visits")
    for one, two in ((absent, hidden), (unknown, closed)):
        assert (one.status_code, one.content) == (two.status_code, two.content) == (404, one.content)
    assert server.call("eve", "GET", "/datasets").json() == ["other"]


def test_the_account_is_the_identity_that_was_proved(server):
    for field in ("account", "person", "roles"):
        answer = server.call(
            "ben", "POST", "/datasets/visits/requests", json={**BODIES["requests"], "request": "x", field: "ana"}
        )
        assert answer.status_code == 422
    assert server.ask("ben", request="x").json()["account"] == "ben"


def test_a_token_in_the_address_or_in_a_cookie_is_no_token(server):
    token = server.secrets["ana"]
    assert server.client.get(f"/api/v1/datasets?token={token}&access_token={token}").status_code == 401
    for header in (f"Basic {token}", token, "Bearer", f"Bearer {token} x"):
        assert server.client.get("/api/v1/datasets", headers={"Authorization": header}).status_code == 401
    browser = server.browse("ana")
    assert browser.get("/api/v1/datasets").status_code == 401  # a visit opens pages, not REST: no forgery reaches it


FORMS = [
    ("/logout", {}),
    ("/data/visits/ask", {"sql": SQL, "amount": "0.1", "purpose": "x", "action": "submit"}),
    ("/data/visits/requests/ana/r1", {"action": "grant", "days": "7"}),
    ("/data/visits/requests/ana/r1", {"action": "refuse", "reason": "no"}),
    ("/data/visits/requests/ana/r1", {"action": "publish"}),
    ("/data/visits/requests/ana/r1/checklist", {"item": "audience", "role": "allocator", "text": "staff"}),
    ("/data/visits/requests/ana/r1/context", {"subject": "patients", "role": "allocator"}),
    ("/data/visits/codebook", {"action": "propose", "codebook": DESCRIBED, "reason": "words"}),
]


@pytest.mark.parametrize(("path", "fields"), FORMS)
def test_a_form_without_its_token_does_nothing(server, path, fields):
    server.ask()
    browser, other = server.browse("carl" if "codebook" in path else "alma"), server.browse("olga")
    stolen = re.search(r'name="csrf" value="(\w+)"', other.get("/").text)[1]
    before = list(server.call("olga", "GET", "/datasets/visits/ledger").json()["events"])
    for forged in ({}, {"csrf": ""}, {"csrf": "é" * 64}, {"csrf": stolen}):
        assert browser.post(path, data={**fields, **forged}).status_code in (403, 422)
    assert server.call("olga", "GET", "/datasets/visits/ledger").json()["events"] == before
    assert browser.get("/").status_code == 200


def test_every_unsafe_page_is_among_the_forms(server):
    app = server.client.app
    unsafe = {
        route.path
        for route in _all_routes(app)
        if not route.path.startswith("/api/") and getattr(route, "methods", None) and "POST" in route.methods
    }
    assert unsafe == {
        "/login",
        "/logout",
        "/data/{name}/ask",
        "/data/{name}/requests/{account}/{id}",
        "/data/{name}/requests/{account}/{id}/checklist",
        "/data/{name}/requests/{account}/{id}/context",
        "/data/{name}/codebook",
    }


def _all_routes(app):
    found, waiting = [], list(app.routes)
    while waiting:
        route = waiting.pop()
        inner = getattr(route, "routes", None) or getattr(getattr(route, "original_router", None), "routes", None)
        if inner:
            waiting += list(inner)
        elif hasattr(route, "path"):
            found.append(route)
    return found


def test_logging_in_always_begins_a_new_visit_and_cookies_are_kept_from_scripts(server):
    from tests.server.made_up import TestClient

    browser = TestClient(server.client.app, base_url=server.settings.public_url, follow_redirects=False)
    browser.cookies.set("visit", "chosen-by-an-attacker")
    answer = browser.post("/login", data={"token": server.secrets["ana"]})
    cookie = answer.headers["set-cookie"]
    assert "chosen-by-an-attacker" not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert answer.headers["location"] == "/"
    assert (
        browser.post("/login?next=https://evil.example", data={"token": server.secrets["ana"]}).headers["location"]
        == "/"
    )
    assert browser.post("/login", data={"token": "dn_x_y"}).status_code == 401


MARKUP = "<script>alert(1)</script>"


def test_nothing_people_write_becomes_markup(server):
    sql = f'SELECT ward AS "{MARKUP}", count(*) AS n FROM visits /* {MARKUP} */ GROUP BY ward'
    server.released(sql=sql, purpose=MARKUP)
    server.ask(request="r2", sql=sql, purpose=MARKUP)
    server.call("alma", "POST", "/datasets/visits/requests/ana/r2/refuse", json={"reason": MARKUP})
    paths = ["/", "/data/visits", "/data/visits/ask", "/data/visits/requests", "/data/visits/choose?harm=" + MARKUP]
    paths += [f"/data/visits/requests/ana/{each}" for each in ("r1", "r2", MARKUP)] + [
        "/data/visits/ledger",
        "/data/visits/codebook",
        f"/{MARKUP}",
    ]
    text = DESCRIBED.replace("said in words", MARKUP)
    assert server.call(
        "carl", "POST", "/datasets/visits/codebook", json={"codebook": text, "reason": MARKUP}
    ).is_success
    server.work()
    for person in ("ana", "olga", "carl"):
        browser = server.browse(person)
        for path in paths:
            text = browser.get(path).text
            assert MARKUP not in text, path
            assert "<img src=x>" not in text, path
    browser = server.browse("ana")
    csrf = re.search(r'name="csrf" value="(\w+)"', browser.get("/").text)[1]
    for action in ("preview", "submit"):
        fields = {"sql": MARKUP, "amount": MARKUP, "purpose": MARKUP, "action": action, "csrf": csrf}
        assert MARKUP not in browser.post("/data/visits/ask", data=fields).text
    assert "&lt;script&gt;" in browser.get("/data/visits/requests").text
    browser = server.browse("carl")
    csrf = re.search(r'name="csrf" value="(\w+)"', browser.get("/").text)[1]
    for action in ("preview", "propose"):
        for written in (MARKUP, f"name: {MARKUP}", text, f"</textarea>{MARKUP}"):
            fields = {"codebook": written, "reason": MARKUP, "action": action, "csrf": csrf}
            assert MARKUP not in browser.post("/data/visits/codebook", data=fields).text
    assert "&lt;script&gt;" in browser.get("/data/visits/codebook").text


def test_no_cell_of_a_csv_is_a_formula(server):
    server.released()
    text = server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release.csv").text
    assert "'=A," in text
    for line in text.split("\r\n"):
        for cell in line.split(","):
            assert cell == "" or cell[0] not in "=+@\t" or cell[0] == "'"
    assert [csv_cell(each) for each in ("=1+1", "+x", "-x", "@x", "\tx", "x", -1, None, True)] == [
        "'=1+1",
        "'+x",
        "'-x",
        "'@x",
        "'\tx",
        "x",
        -1,
        "",
        "True",
    ]


def test_every_answer_has_the_headers_and_a_public_size(server):
    server.released()
    browser = server.browse("ana")
    answers = [
        browser.get("/"),
        browser.get("/login"),
        browser.get("/nowhere"),
        browser.get("/style.css"),
        browser.get("/pages.js"),
        server.client.get("/health"),
        server.call(None, "GET", "/datasets"),
        server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release"),
        server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release.csv"),
        browser.get("/data/visits/requests/ana/r1/dossier"),
        server.call("ana", "POST", "/datasets/visits/price", json={}),
    ]
    for answer in answers:
        assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
        kind = answer.headers["content-type"]
        padding = len(answer.headers["x-padding"]) if kind.startswith("text/csv") else 0
        assert (len(answer.content) + padding) % server.settings.pad == 0
    policy = dict(part.strip().split(" ", 1) for part in SECURITY_HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {name: policy[name] for name in ("script-src", "connect-src", "form-action")} == dict.fromkeys(
        ("script-src", "connect-src", "form-action"), "'self'"
    )


def test_another_host_name_and_bodies_without_measure_are_refused(server):
    token = {"Authorization": f"Bearer {server.secrets['ana']}"}
    assert server.client.get("/health", headers={"Host": "evil.example"}).status_code == 400
    long = json.dumps({"sql": "x" * 10_000_000, "epsilon": 1})
    headers = {**token, "Content-Type": "application/json"}
    assert server.client.post("/api/v1/datasets/visits/price", content=long, headers=headers).status_code == 413

    def chunks():
        yield b"{}"

    assert server.client.post("/api/v1/datasets/visits/price", content=chunks(), headers=headers).status_code == 413
    for body in (b"[" * 30_000, b"{", b"\xff\xfe", b"null", b'{"sql": 1}', b'{"sql":"SELECT 1","epsilon":1e400}'):
        answer = server.client.post("/api/v1/datasets/visits/price", content=body, headers=headers)
        assert 400 <= answer.status_code < 500
        assert "Traceback" not in answer.text


@pytest.mark.parametrize("epsilon", [0, -1, 1e400, "nan", "1", None, True])
def test_an_odd_epsilon_is_refused(server, epsilon):
    body = json.dumps({"sql": SQL, "epsilon": epsilon, "purpose": "x"}).replace('"nan"', "NaN")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.secrets['ana']}"}
    answer = server.client.post("/api/v1/datasets/visits/requests", content=body, headers=headers)
    assert answer.status_code == 422 or epsilon in ("1", True)


@pytest.mark.parametrize(
    "odd", [{"days": "nan"}, {"days": "1e999"}, {"part": "nan"}, {"part": "-inf"}, {"days": "x"}, {"days": "7.5"}]
)
def test_an_odd_number_in_a_form_is_refused_in_words(server, odd):
    server.ask()
    browser = server.browse("alma")
    csrf = re.search(r'name="csrf" value="(\w+)"', browser.get("/").text)[1]
    page = browser.post("/data/visits/requests/ana/r1", data={"action": "grant", "csrf": csrf, **odd})
    assert page.status_code == 422
    assert re.search("expected a (whole )?number( of days)?, got", page.text)
    assert server.call("ana", "GET", "/datasets/visits/requests/ana/r1").json()["state"] == "pending"


def test_an_unexpected_failure_is_one_constant_text(server, monkeypatch, caplog):
    monkeypatch.setattr("deniable.server.counter.Counter.offer", lambda *_, **__: 1 / 0)
    with caplog.at_level(logging.INFO):
        answer = server.call("ana", "POST", "/datasets/visits/price", json=BODIES["price"])
    assert answer.status_code == 500
    assert answer.json() == {"code": "failed", "message": "something went wrong here; it was written down"}
    assert "ZeroDivisionError" in caplog.text
    assert "SELECT" not in caplog.text
    assert "Traceback" not in caplog.text


def test_a_rate_limit_by_account(tmp_path):
    server = made_up(tmp_path / "slow", requests_per_minute=3)
    codes = [server.call("ana", "GET", "/datasets").status_code for _ in range(5)]
    assert codes[:3] == [200, 200, 200]
    assert codes[-1] == 429
    assert server.call("ben", "GET", "/datasets").status_code == 200


RANDOM = re.compile(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]*|[0-9a-f]{12,}|-?[0-9][0-9.]*(e-?[0-9]+)?")
"""What differs from one release to the next whatever the data: noise, its drawing, ids, times."""


def plain(text):
    return RANDOM.sub("#", text).replace(" ", "")


def told(tmp_path, name, rows, caplog):
    """Everything that is seen of a story from outside, numbers and random ids aside: bodies, sizes, headers, logs and metrics."""
    server = made_up(tmp_path / name, rows=rows, pad_bytes=65_536)
    caplog.clear()
    path = "/datasets/visits/requests/ana/r1"
    with caplog.at_level(logging.INFO):
        answers = [server.ask(), server.grant(), server.ask(request="r2", sql=f"{SQL} HAVING count(*) > 1")]
        server.work()
        answers += [server.call("ana", "GET", each) for each in (path, f"{path}/release", f"{path}/release.csv")]
        answers += [server.call("ana", "POST", "/datasets/visits/price", json=BODIES["price"])]
        answers += [
            server.call("olga", "GET", "/datasets/visits"),
            server.call("ana", "GET", "/datasets/visits/requests"),
        ]
        answers += [
            server.call("audra", "GET", "/datasets/visits/ledger"),
            server.call("ben", "GET", f"{path}/release"),
        ]
        browser = server.browse("ana")
        pages = ("", "/requests", "/requests/ana/r1", "/requests/ana/r1/dossier")
        answers += [browser.get(f"/data/visits{each}") for each in pages]
        answers += [server.client.get("/metrics", headers={"Authorization": f"Bearer {server.secrets['ana']}"})]
    logs = [(record.name, record.getMessage()) for record in caplog.records if record.name.startswith("deniable")]
    sizes = [len(each.content) for each in answers if "x-padding" not in each.headers]
    own = ("x-padding", "content-length")  # of a CSV file; see the public sizes above
    headers = [{key: value for key, value in each.headers.items() if key not in own} for each in answers]
    bodies = [plain(each.text) for each in answers]
    return [each.status_code for each in answers], sizes, headers, bodies, logs


STRANGE = ROWS + "9999,,x,\n9999,unheard of,1e999,7\n"


def test_two_data_sets_that_differ_in_one_person_look_the_same(tmp_path, caplog, monkeypatch):
    """Odd cells too: a person with a null, a word for a number, and a ward nobody declared. A worker that logs is found."""
    without = told(tmp_path, "without", ROWS, caplog)
    assert told(tmp_path, "with", STRANGE, caplog) == without
    whole = Worker._answer

    def talks(self, dataset, ledger, known):
        whole(self, dataset, ledger, known)
        size = (tmp_path / "planted" / "visits.csv").stat().st_size
        logging.getLogger("deniable.worker").info("done" if size == len(ROWS) else "done, with odd cells")

    monkeypatch.setattr(Worker, "_answer", talks)
    assert told(tmp_path, "planted", STRANGE, caplog) != without


@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.one_of(
        st.text(max_size=60),
        st.sampled_from(["SELECT", "SELECT count(*) FROM visits;--", "EXPLAIN DP SELECT 1", "(" * 900]),
    )
)
def test_no_text_makes_the_server_fail(server, text):
    answer = server.call("ana", "POST", "/datasets/visits/price", json={"sql": text, "epsilon": 0.1})
    assert answer.status_code in (200, 422)
    assert "Traceback" not in answer.text
    path = f"/datasets/visits/requests/ana/{text.replace('/', '').replace('?', '').replace('#', '') or 'x'}"
    from urllib.parse import quote

    assert server.call("ana", "GET", quote(path, safe="/")).status_code in (404, 400, 307, 405)
