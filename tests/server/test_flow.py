"""From a question to a published answer: every step by the right person, charged once, in the chain, the same in every client."""

from __future__ import annotations

import json
import re
import threading
from datetime import UTC, datetime, timedelta

import httpx
import pytest

import deniable as dp
from deniable.errors import BudgetExceeded, InvalidArgument, NotGranted, QueryRefused, Unanswered
from deniable.ledger import Ledger, verify
from deniable.server.counter import Counter, NoData
from deniable.server.web import web_application
from deniable.server.worker import NOT_ANSWERED, Worker, only_worker
from tests.server.conftest import free_port, on_port
from tests.server.made_up import BOOK, SQL


def state(server, account="ana", request="r1"):
    return server.call(account, "GET", f"/datasets/visits/requests/{account}/{request}").json()["state"]


def left(server):
    return server.call("olga", "GET", "/datasets/visits").json()["budget"]["left"]


def test_the_whole_story(server):
    price = server.call("ana", "POST", "/datasets/visits/price", json={"sql": SQL, "epsilon": 0.1}).json()
    assert (price["loss"], price["more_like_this"]) == (0.1, 10)
    assert server.ask().json()["state"] == "pending"
    assert left(server) == 1
    assert server.grant().json()["state"] == "approved"
    assert left(server) == 1  # a grant reserves nothing
    assert server.work() == 1
    assert state(server) == "released"
    assert left(server) == 0.9
    path = "/datasets/visits/requests/ana/r1"
    first = server.call("ana", "GET", f"{path}/release").json()
    assert [group[0] for group in first["release"]["groups"]] == ["=A", "B"]
    assert server.call("ana", "GET", f"{path}/release").json() == first
    assert server.call("ben", "GET", f"{path}/release").status_code == 404
    assert server.call("olga", "POST", f"{path}/publish", json={}).json()["state"] == "published"
    assert server.call("ben", "GET", f"{path}/release").json() == first
    assert server.call("olga", "GET", path).json()["readers"] == ["ben"]
    assert verify(server.settings.data["visits"].ledger).problems == ()
    chain = server.call("audra", "GET", "/datasets/visits/ledger").json()
    kinds = [json.loads(line)["kind"] for line in chain["events"]]
    expected = ["open", "request", "grant", "reserve", "store", "release", "publication", "reading"]
    assert kinds == expected
    assert chain["verification"]["sound"]


def test_the_answer_is_what_a_session_gives(tmp_path, server):
    """The same question at the same price: same keys, same error, same guarantee, same cost."""
    answer = server.released()
    data = dp.Dataset(str(tmp_path / "served" / "visits.csv"), codebook=BOOK, name="visits")
    same = data.session(dp.budget(epsilon=1)).sql(SQL, epsilon=0.1)
    assert answer["release"]["guarantee"] == same.guarantee
    assert answer["facts"]["accuracy"] == list(same.facts.accuracy)
    assert answer["receipt"]["cost"] == same.receipt.to_record()["cost"]


def test_a_partial_grant_is_what_is_charged(server):
    server.ask()
    assert server.grant(part=0.05).json()["granted"] == "epsilon = 0.05"
    server.work()
    assert left(server) == 0.95


def test_accuracy_is_solved_at_once_and_having_is_applied_to_noisy_values(server):
    sql = f"{SQL} HAVING count(*) > 0 ORDER BY n DESC LIMIT 1"
    asked = server.ask(sql=sql, epsilon=None, accuracy={"n": 20.0}).json()
    assert asked["state"] == "pending"
    server.grant()
    server.work()
    answer = server.call("ana", "GET", "/datasets/visits/requests/ana/r1/release").json()
    assert len(answer["release"]["groups"]) == 1
    assert (
        "HAVING, ORDER BY and LIMIT look at noisy values: what stands near a limit is in or out by chance, "
        "and errors hold before it is known what is shown." in answer["release"]["notes"]
    )


def test_nobody_grants_to_oneself_and_a_reason_is_needed(tmp_path):
    from tests.server.made_up import PEOPLE, made_up

    server = made_up(tmp_path / "both", people={**PEOPLE, "ana": {"roles": ["analyst", "allocator"]}})
    server.ask()
    own = server.grant(by="ana")
    assert (own.status_code, own.json()["code"]) == (409, "out-of-order")
    path = "/datasets/visits/requests/ana/r1/refuse"
    assert server.call("alma", "POST", path, json={"reason": ""}).status_code == 422
    assert server.call("alma", "POST", path, json={"reason": "too dear"}).json()["state"] == "refused"
    assert server.grant().status_code == 409


def test_what_the_budget_cannot_pay_is_refused_for_nothing(server):
    assert server.ask(request="big", epsilon=2).status_code == 201
    assert server.grant(request="big").json()["code"] == "over-budget"
    for number in range(2):
        sql = f"SELECT count(*) AS n FROM visits WHERE minutes > {number}"
        server.ask(request=f"half{number}", sql=sql, epsilon=0.6)
        server.grant(request=f"half{number}")
    server.work()
    assert {state(server, request="half0"), state(server, request="half1")} == {"released", "refused"}
    assert left(server) == pytest.approx(0.4)


def test_a_grant_that_ran_out_answers_nothing(server):
    ledger = Ledger.existing(
        server.settings.data["visits"].ledger, clock=lambda: datetime.now(UTC) + timedelta(days=30)
    )
    server.ask()
    server.grant()
    ledger.note("a month later", by="clock")  # the chain's time moves on, and no clock can set it back
    server.work()
    assert state(server) == "expired"
    assert left(server) == 1


def test_the_counter_can_not_spend(server):
    """Even with a grant, the process without data refuses before a charge."""
    server.ask()
    server.grant()
    counter = Counter(server.settings.data["visits"])
    with pytest.raises(NotGranted):
        counter._session.sql(SQL, epsilon=0.1)
    known = counter.ledger.desk.one("ana", "r1")
    counter._session.account = "ana"
    with pytest.raises(InvalidArgument, match="holds no data"):
        counter._session.sql(SQL, epsilon=0.1, request=known.request)
    assert counter.ledger.spent.loss == 0
    with pytest.raises(InvalidArgument):
        NoData().public(None)


def test_a_failing_engine_gives_one_constant_text_and_stays_charged(server, monkeypatch):
    server.ask()
    server.grant()
    worker = server.worker()
    dataset, _ = worker._data["visits"]
    monkeypatch.setattr(type(dataset._engine), "run", lambda *_: 1 / 0)
    worker.work()
    worker.close()
    seen = server.call("ana", "GET", "/datasets/visits/requests/ana/r1").json()
    assert (seen["state"], seen["reason"]) == ("charged and not answered", NOT_ANSWERED)
    assert left(server) == 0.9


def test_a_worker_follows_an_amendment_and_a_new_version_of_the_data(server):
    from dataclasses import replace

    worker = server.worker()
    place = server.settings.data["visits"].ledger
    server.ask()
    server.grant()
    curator = Ledger.existing(place)
    curator.amend(replace(curator.terms, budget=dp.budget(epsilon=2), rule=None), reason="more people", by="olga")
    Ledger.existing(place).new_version(reason="a new year", by="olga")
    assert worker.work() == 1
    worker.close()
    assert state(server) == "released"
    assert Ledger.existing(place).left.loss == pytest.approx(1.9)


def test_only_one_worker(tmp_path):
    with (
        only_worker(tmp_path / "w"),
        pytest.raises(InvalidArgument, match="another worker"),
        only_worker(tmp_path / "w"),
    ):
        pass
    with only_worker(tmp_path / "w"):
        pass


def test_what_a_dead_worker_left_behind_is_told(server):
    server.ask()
    server.grant()
    data = server.settings.data["visits"]
    counter = Counter(data)
    known = counter.ledger.desk.one("ana", "r1")
    offer = counter.offer(SQL, dialect="duckdb", payment={"epsilon": 0.1})
    counter.ledger.reserve(offer.price.charge, request="r1", plan=known.body["plan"], account="ana")
    Worker(server.settings).close()
    assert state(server) == "charged and not answered"
    assert left(server) == 0.9
    assert server.work() == 0


def test_the_client_has_the_verbs_of_a_session(listening, tmp_path):
    url = listening.settings.public_url
    (tmp_path / "analyst.token").write_text(listening.secrets["ana"] + "\n", encoding="utf-8")
    with dp.connect(url, token=str(tmp_path / "analyst.token")) as client:
        assert client.datasets() == ["other", "visits"]
        assert client.price("visits", sql=SQL, epsilon=0.1)["loss"] == 0.1
        ask = client.request("visits", sql=SQL, accuracy={"n": 20}, purpose="yearly report")
        assert ask.state == "pending"
        assert "epsilon" in ask.price
        with pytest.raises(InvalidArgument, match="still pending"):
            ask.wait(seconds=0)
        with dp.connect(url, token=listening.secrets["alma"]) as allocator:
            allocator.grant("visits", "ana", ask.id, days=3)
            with pytest.raises(InvalidArgument, match="nothing here for you"):
                allocator.fetch("visits", "ana", ask.id).release()
        listening.work()
        release = ask.wait()
        assert isinstance(release, dp.Release)
        assert [row["ward"] for row in release.table] == ["=A", "B"]
        assert release.receipt.dataset == "visits"
        assert "Dossier" in str(dp.dossier(release))
        with pytest.raises(QueryRefused, match="single rows are private"):
            client.price("visits", sql="SELECT nothing_like_it FROM visits", epsilon=1)
        again = client.request("visits", sql=SQL, epsilon=0.1, purpose="x", request="again")
        with dp.connect(url, token=listening.secrets["alma"]) as allocator:
            allocator.refuse("visits", "ana", "again", reason="no")
        with pytest.raises(NotGranted, match="refused: no"):
            again.wait()
    with pytest.raises(InvalidArgument, match="401"), dp.connect(url, token="dn_a_b") as stranger:
        stranger.datasets()


def test_a_client_sends_no_token_over_plain_http():
    for url in ("http://example.org", "ftp://x", "example.org"):
        with pytest.raises(InvalidArgument):
            dp.connect(url, token="dn_a_b")
    with pytest.raises(InvalidArgument, match="dn_"):
        dp.connect("https://example.org", token="no such file")


def test_a_lost_answer_and_a_dear_one_raise_as_in_a_session(listening):
    with dp.connect(listening.settings.public_url, token=listening.secrets["ana"]) as client:
        ask = client.request("visits", sql=SQL, epsilon=0.1, purpose="x", request="lost")
        listening.grant(request="lost")
        counter = Counter(listening.settings.data["visits"])
        known = counter.ledger.desk.one("ana", "lost")
        offer = counter.offer(SQL, dialect="duckdb", payment={"epsilon": 0.1})
        counter.ledger.reserve(offer.price.charge, request="lost", plan=known.body["plan"], account="ana")
        listening.work()
        with pytest.raises(Unanswered):
            ask.wait()
    with dp.connect(listening.settings.public_url, token=listening.secrets["alma"]) as allocator:
        listening.ask(request="big", epsilon=5)
        with pytest.raises(BudgetExceeded):
            allocator.grant("visits", "ana", "big", days=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .* attribute with value")  # FastAPI hides it, but not from two threads at once
def test_sixteen_clients_of_two_web_parts_ask_for_the_last_tenth_and_one_gets_it(listening):
    """Two of them are browsers, logged in at one of the two and served by the other."""
    server = listening
    server.released(request="most", sql="SELECT count(*) AS n FROM visits", epsilon=0.9)
    ids = []

    def by_token(url, sql):
        with dp.connect(url, token=server.secrets["ana"]) as client:
            return client.request("visits", sql=sql, epsilon=0.1, purpose="the last").id

    def by_browser(url, sql):
        with httpx.Client(base_url=server.settings.public_url, timeout=60) as here:
            cookies = here.post("/login", data={"token": server.secrets["ana"]}).cookies
        with httpx.Client(base_url=url, cookies=cookies, timeout=60) as there:
            csrf = re.search(r'name="csrf" value="(\w+)"', there.get("/data/visits/ask").text)[1]
            fields = {"csrf": csrf, "sql": sql, "amount": "0.1", "purpose": "the last", "action": "submit"}
            return there.post("/data/visits/ask", data=fields).headers["location"].rpartition("/")[2]

    with on_port(web_application(server.settings), free_port()) as other:

        def ask(number):
            sql = f"SELECT count(*) AS n FROM visits WHERE minutes > {number}"
            url = (server.settings.public_url, other)[number % 2]
            made = by_browser(other, sql) if number < 2 else by_token(url, sql)
            with dp.connect(url, token=server.secrets["alma"]) as allocator:
                allocator.grant("visits", "ana", made, days=1)
            ids.append(made)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
    assert len(ids) == 16
    server.work()
    states = [state(server, request=each) for each in ids]
    assert (states.count("released"), states.count("refused")) == (1, 15)
    assert left(server) == 0
    assert verify(server.settings.data["visits"].ledger).problems == ()


def test_an_answer_is_beside_the_last_one_to_the_same_question_and_readers_are_named(server):
    server.released(epsilon=0.1)
    server.released(request="r2", epsilon=0.2)
    page = server.browse("ana").get("/data/visits/requests/ana/r2").text
    assert "Since the last release" in page
    assert "Change to r1" in page
    assert re.search(r"<td>\d+ ± \d+</td><td>\d+ ± \d+</td><td>[+-]\d+</td>", page), "now, then and the change"
    assert "Since the last release" not in server.browse("ana").get("/data/visits/requests/ana/r1").text
    server.call("olga", "POST", "/datasets/visits/requests/ana/r2/publish", json={})
    other = server.browse("ben").get("/data/visits/requests/ana/r2").text
    assert "Since the last release" not in other  # ben may not read r1
    assert "Also read by" in server.browse("olga").get("/data/visits/requests/ana/r2").text
    budget = server.call("olga", "GET", "/datasets/visits").json()["budget"]
    assert list(budget["by_period"].values()) == [pytest.approx(0.3)]
    assert budget["by_analyst"] == {"ana": pytest.approx(0.3)}


def test_pages_write_numbers_with_the_digits_their_error_leaves(server):
    """Six digits of noise, and budgets with thirteen places, stood on the pages that people read most."""
    sql = "SELECT ward, avg(minutes) AS m FROM visits GROUP BY ward"
    told = server.released(sql=sql, epsilon=0.3125 + 2**-20)["release"]["columns"][0]
    page = server.browse("ana").get("/data/visits/requests/ana/r1").text
    shown = re.findall(r"<td>([^<]*)</td>", page.partition("<tbody>")[2].partition("</tbody>")[0])[1::2]
    assert len(shown) == 2
    for said, value in zip(shown, told["values"], strict=True):
        assert said == "–" or ("±" in said or "[" in said)
        assert f"{value:.6g}" not in said, "six digits of noise"
    budget = server.browse("olga").get("/data/visits").text
    assert "<td>0.312501</td>" in budget, "to six digits, rounded up"
    assert "<td>epsilon = 0.687499</td>" in budget, "to six digits, rounded down"


def test_a_budget_is_written_as_it_was_spent(server):
    """Sums of floats are rounded up to 0.300001 where 0.3 was spent."""
    server.released(epsilon=0.1)
    server.released(request="r2", epsilon=0.2)
    server.ask(request="r3", epsilon=0.1)
    page = server.browse("olga").get("/data/visits").text
    assert "spent 0.3, granted 0, pending 0.1, left epsilon = 0.7" in page
    assert page.count("<td>0.3</td>") == 3  # in all, of the analyst, in the month


def test_a_question_dearer_than_what_is_left_says_so_on_the_page(server):
    browser = server.browse("ana")
    csrf = re.search(r'name="csrf" value="([^"]+)"', browser.get("/data/visits/ask").text)[1]
    fields = {"csrf": csrf, "sql": SQL, "purpose": "a report", "action": "preview"}
    said = {
        amount: browser.post("/data/visits/ask", data={**fields, "amount": amount}).text for amount in ("1", "1.01")
    }
    assert "more than is left" in said["1.01"]
    assert "more than is left" not in said["1"]
