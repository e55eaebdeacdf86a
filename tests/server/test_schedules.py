"""Schedules file requests, once a period; a grant for one run is none for the next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from deniable.errors import InvalidArgument
from deniable.server.schedules import Schedule, Scheduler
from deniable.server.settings import ServerSettings
from tests.server.made_up import SQL, configured, made_up

ENTRY = {"data": "visits", "account": "ana", "sql": SQL, "epsilon": 0.1, "purpose": "weekly report", "every": "week"}


def states(server):
    found = server.call("ana", "GET", "/datasets/visits/requests").json()
    return {each["request"]: each["state"] for each in found}


def test_every_run_is_filed_once_and_needs_its_own_grant(tmp_path):
    server = made_up(tmp_path / "served", schedules={"weekly": ENTRY})
    now = [datetime(2026, 11, 16, tzinfo=UTC)]
    made = [Schedule(**each) for each in server.settings.schedules]
    scheduler = Scheduler(made, server.client.app.state.counters, clock=lambda: now[0])
    assert scheduler.file() == ["weekly-2026-W47"]
    assert scheduler.file() == []
    assert Scheduler(made, server.client.app.state.counters, clock=lambda: now[0]).file() == []  # after a restart
    assert server.work() == 0  # filed is not granted
    assert server.grant(request="weekly-2026-W47").status_code == 200
    assert server.work() == 1
    now[0] += timedelta(days=7)
    assert scheduler.file() == ["weekly-2026-W48"]
    assert server.work() == 0  # the grant of last week is used up
    assert states(server) == {"weekly-2026-W47": "released", "weekly-2026-W48": "pending"}


@pytest.mark.parametrize(
    ("every", "ids"),
    [
        ("day", ["2026-12-31", "2027-01-01", "2027-01-01"]),
        ("week", ["2026-W53", "2026-W53", "2026-W53"]),
        ("month", ["2026-12", "2027-01", "2027-01"]),
    ],
)
def test_periods_are_those_of_utc(every, ids):
    fields = {key: value for key, value in ENTRY.items() if key != "epsilon"}
    schedule = Schedule(**{**fields, "every": every}, name="s", payment={"epsilon": 1})
    east = timezone(timedelta(hours=5))
    moments = [
        datetime(2027, 1, 1, 4, 59, tzinfo=east),
        datetime(2027, 1, 1, 5, 0, tzinfo=east),
        datetime(2027, 1, 1, 23, 59, tzinfo=UTC),
    ]
    assert [schedule.request(moment) for moment in moments] == [f"s-{label}" for label in ids]


def test_what_cannot_be_filed_is_left_out_and_the_rest_is_filed(tmp_path, caplog):
    bad = {**ENTRY, "sql": "SELECT secret FROM visits"}
    server = made_up(tmp_path / "served", schedules={"bad": bad, "weekly": ENTRY})
    made = [Schedule(**each) for each in server.settings.schedules]
    filed = Scheduler(made, server.client.app.state.counters).file()
    assert [name.partition("-")[0] for name in filed] == ["weekly"]
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"every": "hour"}, "day, week or month"),
        ({"account": "alma"}, "one of its analysts"),
        ({"account": "nobody"}, "one of its analysts"),
        ({"data": "absent"}, "served data set"),
        ({"rho": 1}, "epsilon or rho"),
        ({"epsilon": -1}, "epsilon"),
    ],
)
def test_odd_schedules_are_refused(tmp_path, changes, said):
    with pytest.raises(InvalidArgument, match=said):
        ServerSettings.load(configured(tmp_path / "served", schedules={"weekly": {**ENTRY, **changes}}))
    with pytest.raises(InvalidArgument, match="schedules is written"):
        ServerSettings.load(configured(tmp_path / "served", schedules=["weekly"]))
