"""Questions in stages at the desk: one price, one grant, one charge, one stored answer that is shown the same every time."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.ledger import Ledger, verify
from deniable.plan.codebook import Codebook
from deniable.release.staged import StagedRelease
from deniable.server.counter import Counter
from tests.server.made_up import BOOK, SQL, made_up

ABOVE = "SELECT ward, count(*) AS n FROM visits WHERE minutes > (SELECT avg(minutes) FROM visits) GROUP BY ward"
SHARE = "SELECT ward, count(*) * 1.0 / (SELECT count(*) FROM visits) AS share FROM visits GROUP BY ward"
BY_WARD = "(SELECT ward, count(*) AS n FROM visits GROUP BY ward)"
LARGEST = f"SELECT max(n) AS m FROM {BY_WARD} t"
BINS = "SELECT NTILE(4) OVER (ORDER BY minutes) AS bin, count(*) AS n FROM visits GROUP BY bin"
STAGES = {ABOVE: 2, SHARE: 2, LARGEST: 1, BINS: 2}
PATH = "/datasets/visits/requests/ana/r1"


def ledger_of(server):
    return Ledger.existing(server.settings.data["visits"].ledger)


def price(server, sql, **offer):
    return server.call("ana", "POST", "/datasets/visits/price", json={"sql": sql, **(offer or {"epsilon": 0.1})})


@pytest.mark.parametrize("sql", STAGES)
def test_one_request_one_grant_one_charge_one_answer(server, sql):
    told = price(server, sql).json()
    assert (told["amount"], len(told["stages"])) == ("epsilon = 0.1", STAGES[sql])
    assert sum(stage["loss"] for stage in told["stages"]) == pytest.approx(0.1)
    first = server.released(sql=sql)
    assert server.work() == 0
    assert first["facts"]["epsilon"] == "1/10"
    assert [*first["stages"], *(["answer"] if sql != LARGEST else [])] == [each["stage"] for each in told["stages"]]
    found = ledger_of(server)
    assert (len(found.charges()), float(found.spent.loss)) == (1, 0.1)
    kinds = [json.loads(line)["kind"] for line in found.export()]
    assert kinds == ["open", "request", "grant", "reserve", "store", "release"]
    assert verify(found.place).problems == ()
    server.client.app.state.counters["visits"]._answers.clear()  # shown anew, from what was stored
    assert server.call("ana", "GET", f"{PATH}/release").json() == first
    assert server.ask(sql=sql).status_code == 422  # the same id twice
    assert server.call("ben", "GET", f"{PATH}/release").status_code == 404


def test_it_is_what_a_session_charges(tmp_path, server):
    """The same plan, cost and guarantee: the desk prices without data what the session runs on it."""
    answer = server.released(sql=ABOVE)
    data = dp.Dataset(str(tmp_path / "served" / "visits.csv"), codebook=BOOK, name="visits")
    with data.session(dp.budget(epsilon=1), ledger=tmp_path / "own.ledger") as session:
        same = session.sql(ABOVE, epsilon=0.1)
    (own,), (served,) = Ledger.existing(tmp_path / "own.ledger").charges(), ledger_of(server).charges()
    assert own.body["plan"] == served.body["plan"]
    assert answer["receipt"]["cost"] == same.receipt.to_record()["cost"]
    assert answer["release"]["guarantee"] == same.guarantee
    data.close()


def test_a_smaller_grant_is_shared_among_the_stages(server):
    server.ask(sql=ABOVE)
    assert server.grant(part=0.05).json()["granted"] == "epsilon = 0.05"
    server.work()
    assert float(ledger_of(server).spent.loss) == 0.05
    assert server.call("ana", "GET", f"{PATH}/release").json()["facts"]["epsilon"] == "1/20"


def test_the_client_gets_what_a_session_gives(listening):
    with dp.connect(listening.settings.public_url, token=listening.secrets["ana"]) as client:
        asked = client.request("visits", sql=ABOVE, epsilon=0.1, purpose="report")
        listening.grant(request=asked.id)
        listening.work()
        found = asked.wait()
        assert isinstance(found, StagedRelease)
        assert list(found.stages) == ["stage 1"]
        assert found.stages["stage 1"].receipt == found.receipt
        assert json.loads(found.to_json())["stages"].keys() == {"stage 1"}


def test_the_pages_show_the_stages(server):
    ana = server.browse("ana")
    form = ana.get("/data/visits/ask").text
    csrf = form.split('name="csrf" value="', 1)[1].split('"', 1)[0]
    asked = {"csrf": csrf, "sql": ABOVE, "amount": "0.1", "purpose": "report"}
    told = ana.post("/data/visits/ask", data={**asked, "action": "preview"}).text
    for words in (
        "Answered in stages under one charge",
        "<td>stage 1</td><td>0.05</td>",
        "What an answer may look like",
    ):
        assert words in told
    server.released(sql=ABOVE)
    shown = ana.get("/data/visits/requests/ana/r1").text
    assert "Released on the way: stage 1" in shown
    assert "avg(minutes)" in shown
    assert "Released in 2 stages" in shown
    assert "epsilon = 0.1" in ana.get("/data/visits/requests/ana/r1/dossier").text
    facts, _ = server.client.app.state.counters["visits"].facts(ledger_of(server).desk.one("ana", "r1"))
    assert facts.epsilon == Fraction(1, 10)


def test_the_law_that_a_question_names_is_the_one_that_is_granted(tmp_path):
    entry = {"source": "visits.csv", "codebook": "visits.yaml", "budget": {"epsilon": 1, "delta": 1e-6}}
    server = made_up(
        tmp_path / "both", data={name: {**entry, "ledger": f"{name}.ledger"} for name in ("visits", "other")}
    )
    named = SQL.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise='gaussian')", 1)
    plain, other = (price(server, sql, epsilon=0.1).json()["noise"] for sql in (SQL, named))
    assert plain != other
    assert "Gaussian" in " ".join(server.released(sql=named)["facts"]["mechanisms"])


REFUSED = {
    "accuracy": ({"sql": ABOVE, "accuracy": {"n": 5.0}}, "shared evenly"),
    "no end": ({"sql": f"WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) {LARGEST}"}, "recursive"),
    "rows": ({"sql": "SELECT patient FROM (SELECT patient FROM visits) t"}, "single rows are private"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_no_stages_answer_is_told_at_once(server, wrong):
    offer, words = REFUSED[wrong]
    answer = price(server, **{"epsilon": 0.1, **offer} if "accuracy" not in offer else offer)
    assert answer.status_code == 422
    assert words in answer.json()["message"]
    assert "\n" not in answer.json()["message"]


def test_a_workload_takes_questions_of_one_release(server):
    body = {"questions": {"a": SQL, "b": ABOVE}, "epsilon": 0.5, "purpose": "report", "request": "w1"}
    assert server.call("ana", "POST", "/datasets/visits/workloads", json=body).status_code == 422


PUBLIC = {
    "its last stage": f"SELECT w.beds, t.n FROM wards w JOIN {BY_WARD} t ON w.ward = t.ward",
    "its keys": "SELECT w.ward FROM wards w WHERE w.beds > (SELECT count(*) FROM visits v WHERE v.ward = w.ward)",
}


@pytest.mark.parametrize("needs", PUBLIC)
def test_rows_of_public_tables_are_not_at_the_desk_and_that_is_said_for_nothing(tmp_path, server, needs):
    wards = {"public": True, "variables": {"ward": {"type": "string", "categories": ["=A", "B"]}, "beds": "integer"}}
    book = Codebook.from_record({**BOOK, "tables": {**BOOK["tables"], "wards": wards}})
    counter = Counter(replace(server.settings.data["visits"], codebook=book, ledger=str(tmp_path / "wards.ledger")))
    with pytest.raises(InvalidArgument, match="pages hold no tables; ask it in a session"):
        counter.offer(PUBLIC[needs], dialect="duckdb", payment={"epsilon": Fraction(1, 10)})
