"""Several questions as one request: one price list, one grant, one charge, all answered; exactly what was shared out is charged."""

from __future__ import annotations

import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.ledger import Ledger, verify
from tests.server.made_up import BOOK, SQL

MEAN = "SELECT ward, avg(minutes) AS m FROM visits GROUP BY ward ORDER BY m DESC LIMIT 1"
QUESTIONS = {"counts": SQL, "means": MEAN, "again": SQL.replace(" n ", " rows_of_it ")}
PATH = "/datasets/visits/workloads"


def ask(server, person="ana", **more):
    body = {"questions": QUESTIONS, "epsilon": 0.5, "purpose": "yearly report", "request": "w1", **more}
    return server.call(person, "POST", PATH, json=body)


def test_one_request_one_charge_and_all_answers(server):
    priced = server.call("ana", "POST", f"{PATH}/price", json={"questions": QUESTIONS, "epsilon": 0.5}).json()
    assert [(row["question"], row["epsilon"], row["measured"]) for row in priced["questions"]] == [
        ("counts", 0.25, "here"),
        ("means", 0.25, "here"),
        ("again", 0.0, "with counts"),
    ]
    assert (priced["amount"], priced["more_like_this"]) == ("epsilon = 0.5", 2)
    assert ask(server).json()["price"] == "epsilon = 0.5"
    assert server.grant(request="w1").status_code == 200
    server.work()
    path = "/datasets/visits/requests/ana/w1"
    assert server.call("ana", "GET", path).json()["state"] == "released"
    answers = server.call("ana", "GET", f"{path}/release").json()["answers"]
    assert list(answers) == list(QUESTIONS)
    assert len(answers["means"]["release"]["groups"]) == 1  # LIMIT, on noisy values
    first, second = (answers[name]["release"]["columns"][0] for name in ("counts", "again"))
    assert (first["values"], second["name"]) == (second["values"], "rows_of_it")
    assert server.call("ana", "GET", f"{path}/release.csv").status_code == 422
    assert server.call("ben", "GET", f"{path}/release").status_code == 404
    page = server.browse("ana").get("/data/visits/requests/ana/w1").text
    assert "counts" in page
    assert "rows_of_it" in page
    ledger = Ledger.existing(server.settings.data["visits"].ledger)
    assert (len(ledger.charges()), float(ledger.spent.loss)) == (1, 0.5)
    assert verify(ledger.place).problems == ()


def test_shares_are_those_of_a_session(tmp_path, server):
    shares = {"by": "accuracy", "wanted": {"means": "40%"}}
    body = {"questions": {"counts": SQL, "means": MEAN}, "epsilon": 0.9, **shares}
    priced = server.call("ana", "POST", f"{PATH}/price", json=body).json()["questions"]
    data = dp.Dataset(str(tmp_path / "served" / "visits.csv"), codebook=BOOK, name="visits")
    session = data.session(dp.budget(epsilon=1))
    base = session.query().group_by("ward")
    same = session.workload(
        {"counts": base.agg(n=dp.count()), "means": base.agg(m=dp.mean("minutes"))}, epsilon=0.9, **shares
    )
    assert [row["epsilon"] for row in priced] == [row["epsilon"] for row in same.table]
    data.close()


def test_the_client_asks_and_reads_a_workload(listening):
    with dp.connect(listening.settings.public_url, token=listening.secrets["ana"]) as client:
        asked = client.workload("visits", QUESTIONS, epsilon=0.6, by="weights", weights={"means": 2}, purpose="report")
        listening.grant(request=asked.id)
        listening.work()
        found = asked.wait()
        assert set(found.answers) == set(QUESTIONS)
        assert found["counts"].receipt == found.receipt
        with pytest.raises(InvalidArgument, match="weights="):
            client.workload("visits", QUESTIONS, purpose="x", parts={"means": 1})


WRONG = [
    ({"questions": {}}, 422),
    ({"questions": {"a b": SQL}}, 422),
    ({"questions": {"a": "SELECT patient FROM visits"}}, 422),
    ({"by": "luck"}, 422),
    ({"by": "weights"}, 422),
    ({"epsilon": None}, 422),
    ({"epsilon": -1}, 422),
    ({"weights": {"nothing": 1}}, 422),
]


@pytest.mark.parametrize(("wrong", "status"), WRONG)
def test_what_is_wrong_with_a_workload_is_told(server, wrong, status):
    answer = ask(server, **wrong)
    assert answer.status_code == status
    assert "\n" not in answer.json()["message"]


def test_a_workload_is_granted_in_full_and_not_disguised_as_one_question(server):
    ask(server)
    refused = server.grant(request="w1", part=0.1)
    assert (refused.status_code, "in full" in refused.json()["message"]) == (422, True)
    text = '{"a": "SELECT count(*) AS n FROM visits"}'
    assert server.ask(request="x", sql=text, dialect="workload/duckdb").status_code == 422
