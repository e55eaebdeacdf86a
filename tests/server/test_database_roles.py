"""The web process has a database role of its own: requests and grants pass, a charge and an answer do not, whoever writes them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from deniable.cost import Bounded
from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger import Ledger, verify
from deniable.ledger.web_role import APPENDED, can_charge, grant_web_role, web_role_statements
from deniable.server.counter import Counter
from deniable.server.running import check_settings
from deniable.server.settings import ServerSettings
from tests.server.made_up import SQL, configured, made_up
from tests.servers import POSTGRES

pytestmark = POSTGRES


@pytest.fixture
def served(postgres, tmp_path, monkeypatch):
    """A server whose ledger is in PostgreSQL, with the ledger's own role and one for the web."""
    role = postgres.fresh("web")
    postgres.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'correct-horse-battery'")
    places = {
        "LEDGER": postgres.url(ledger=(schema := postgres.fresh("ledger"))),
        "WEB_LEDGER": postgres.url(role, ledger=schema),
    }
    for name, url in places.items():
        monkeypatch.setenv(name, url)
    entry = {"source": "visits.csv", "codebook": "visits.yaml", "ledger": "env:LEDGER", "web_ledger": "env:WEB_LEDGER"}
    changes = {"data": {"visits": {**entry, "budget": {"epsilon": 1}}}, "people": {"ana": {"roles": ["analyst"]}}}
    return configured(tmp_path / "served", **changes), schema, role, places, changes


def test_the_web_role_takes_requests_to_their_grant_and_the_worker_answers(served, tmp_path, monkeypatch):
    config, _, role, places, _ = served
    settings = ServerSettings.load(config)
    with pytest.raises((InvalidArgument, LedgerError)):
        Counter(settings.data["visits"])  # nobody has set the role up yet
    said = check_settings(settings)
    assert any(f"the role {role} may append" in line for line in said)
    assert said == check_settings(settings)  # once more changes nothing
    monkeypatch.delenv("LEDGER")  # the web process knows neither the data nor the ledger's own role
    alone = ServerSettings.load(config, web_only=True)
    assert alone.data["visits"].source == ""
    counter = Counter(alone.data["visits"])
    payment = {"epsilon": Fraction(1, 10)}
    counter.request(SQL, account="ana", purpose="report", payment=payment, dialect="duckdb", request="r1")
    counter.grant("ana", "r1", by="alma", days=3, most=9)
    monkeypatch.setenv("LEDGER", places["LEDGER"])
    from deniable.server.worker import Worker

    worker = Worker(settings)
    try:
        assert worker.work() == 1
    finally:
        worker.close()
    known = counter.ledger.desk.one("ana", "r1")
    assert counter.release(known, reader="ana").table
    assert verify(places["WEB_LEDGER"]).sound
    assert verify(places["LEDGER"]).sound


def test_the_web_role_cannot_charge_or_answer_by_any_door(served, postgres, monkeypatch):
    config, schema, role, places, _ = served
    settings = ServerSettings.load(config)
    check_settings(settings)
    web = Ledger.existing(places["WEB_LEDGER"])
    monkeypatch.setattr("deniable.ledger.ledger.check_grant", lambda *_: None)  # a process that was taken over
    with pytest.raises(LedgerError, match="cannot be used"):
        web.reserve(Bounded(epsilon=0.1), request="stolen")
    psycopg = pytest.importorskip("psycopg")
    denied = psycopg.errors.InsufficientPrivilege
    for statement in (
        f"INSERT INTO {schema}.answers VALUES (1, 'x', 'y')",
        f"INSERT INTO {schema}.events SELECT count + 1, 'reserve', body, head, head FROM {schema}.events",
        f"UPDATE {schema}.events SET kind = 'note'",
        f"DELETE FROM {schema}.events",
        f"DROP POLICY ledger_web ON {schema}.events",
        f"ALTER TABLE {schema}.events DISABLE ROW LEVEL SECURITY",
    ):
        with pytest.raises((denied, psycopg.errors.IntegrityError)):
            postgres.sql(statement, user=role)
    Ledger.existing(places["LEDGER"]).reserve(Bounded(epsilon=0.1), request="its own role")  # the fault is real
    assert not can_charge(places["WEB_LEDGER"])
    assert can_charge(places["LEDGER"])


def test_a_role_that_could_charge_is_refused_and_other_policies_are_found(served, postgres):
    config, schema, _, places, _ = served
    settings = ServerSettings.load(config)
    check_settings(settings)
    owner = replace(settings.data["visits"], web_ledger=places["LEDGER"])
    with pytest.raises(InvalidArgument, match="could write a charge"):
        Counter(owner)
    postgres.sql(f"CREATE POLICY hide ON {schema}.events AS RESTRICTIVE FOR SELECT USING (count < 2)")
    with pytest.raises(LedgerError, match="were changed"):
        Ledger.existing(places["LEDGER"])


def test_names_and_places_are_checked(tmp_path, served):
    with pytest.raises(InvalidArgument, match="role's name"):
        list(web_role_statements("deniable", 'x"; DROP SCHEMA deniable'))
    with pytest.raises(LedgerError, match="cannot be set up"):
        grant_web_role(served[3]["LEDGER"], role="nobody_of_this_name")
    assert {kind.value for kind in APPENDED}.isdisjoint({"open", "reserve", "store", "release", "amend", "note"})
    entry = {**served[4]["data"]["visits"], "web_ledger": "visits.ledger"}
    with pytest.raises(InvalidArgument, match="only there"):
        made_up(tmp_path / "files", data={"visits": entry})
    with pytest.raises(InvalidArgument, match="needs a web_ledger"):
        ServerSettings.load(configured(tmp_path / "none", people=served[4]["people"]), web_only=True)
