"""The configuration is read whole or refused in one line, and a server beyond this machine needs TLS."""

from __future__ import annotations

import socket
import sys
import threading

import pytest
import yaml

from deniable.cli import main
from deniable.errors import InvalidArgument
from deniable.server.client import connect
from deniable.server.identity import RateLimit, ShortLived, Tokens, Visits
from deniable.server.settings import Role, ServerSettings
from tests.server.made_up import BOOK, configured, set_up


def changed(tmp_path, **changes):
    path = configured(tmp_path)
    record = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, value in changes.items():
        if value is None:
            record.pop(name)
        else:
            record[name] = value
    path.write_text(yaml.safe_dump(record), encoding="utf-8")
    return path


def test_a_whole_configuration_is_read(tmp_path):
    found = ServerSettings.load(configured(tmp_path))
    assert set(found.data) == {"visits", "other"}
    assert found.people["ana"].may("visits", Role.ANALYST)
    assert not found.people["eve"].may("visits", *Role)
    assert found.tokens.parent == tmp_path / "state"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"public_url": "http://example.org"}, "must be https"),
        ({"public_url": "ftp://example.org"}, "public_url is written"),
        ({"public_url": "https://me@example.org"}, "public_url is written"),
        ({"bind": "0.0.0.0"}, "--behind-tls"),
        ({"bind": "127.0.0.1:8765"}, "bind: 127.0.0.1 and port: 8765"),
        ({"port": 0}, "port"),
        ({"tick_seconds": -1}, "tick_seconds"),
        ({"surprise": 1}, "no 'surprise'"),
        ({"people": None}, "needs people"),
        ({"people": {"ana": {"roles": ["king"]}}}, "roles are among"),
        ({"people": {"a b": {"roles": ["analyst"]}}}, "letters, digits"),
        ({"people": {"ana": {"roles": ["analyst"], "datasets": ["gone"]}}}, "not served"),
        ({"data": {"visits": {}}}, "needs source"),
        ({"data": {"../x": {"source": "a", "codebook": "b", "ledger": "c", "budget": {}}}}, "letters, digits"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, changes, words):
    with pytest.raises(InvalidArgument, match=words) as found:
        ServerSettings.load(changed(tmp_path, **changes))
    assert "\n" not in str(found.value)


def two_tables(tmp_path, source):
    path = configured(tmp_path)
    people = {"variables": {"patient": "integer", "sex": {"type": "string", "categories": ["f", "m"], "of_unit": True}}}
    book = {**BOOK, "tables": {**BOOK["tables"], "people": people}}
    (tmp_path / "visits.yaml").write_text(yaml.safe_dump(book), encoding="utf-8")
    (tmp_path / "who.csv").write_text("patient,sex\n" + "".join(f"{n},{'fm'[n % 2]}\n" for n in range(200)))
    record = yaml.safe_load(path.read_text(encoding="utf-8"))
    record["data"] = {"visits": {**record["data"]["visits"], "source": source}}
    record["people"]["eve"].pop("datasets")
    path.write_text(yaml.safe_dump(record), encoding="utf-8")
    return path


def test_every_table_has_its_file_and_the_worker_joins_them(tmp_path, capsys):
    path = two_tables(tmp_path, {"visits": "visits.csv", "people": "who.csv"})
    main(["serve", "check", "--config", str(path)])
    assert "visits: data can be reached" in capsys.readouterr().out
    sql = "SELECT sex, count(*) AS n FROM visits JOIN people USING (patient) GROUP BY sex"
    released = set_up(path).released(sql=sql, epsilon=1)
    assert released["release"]["groups"] == [["f"], ["m"]]


@pytest.mark.parametrize(
    "source", ["visits.csv", "visits.csv,who.csv", {"visits": "visits.csv"}, {"visits": "visits.csv", "men": "who.csv"}]
)
def test_a_table_without_its_file_is_refused_before_anything_starts(tmp_path, source):
    """A server used to start, grant and never answer: only its worker had looked, and was gone."""
    with pytest.raises(InvalidArgument, match=r"a file for each table of its codebook: \{people: people.csv, visits"):
        ServerSettings.load(two_tables(tmp_path, source))


def test_behind_a_proxy_any_address_may_be_bound(tmp_path):
    path = changed(tmp_path, bind="0.0.0.0", public_url="https://privacy.example.org")
    assert ServerSettings.load(path, behind_tls=True).secure


def test_commands_draft_check_and_issue(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["serve", "init"])
    drafted = yaml.safe_load((tmp_path / "server.yaml").read_text(encoding="utf-8"))
    assert {"data", "people", "tick_seconds"} <= set(drafted)
    with pytest.raises(SystemExit):
        main(["serve", "init"])
    path = configured(tmp_path / "served")
    main(["serve", "check", "--config", str(path)])
    said = capsys.readouterr().out
    assert "visits: data can be reached" in said
    main(["serve", "token", "ana", "--config", str(path)])
    token = capsys.readouterr().out.strip()
    settings = ServerSettings.load(path)
    live = Tokens(settings.tokens)
    assert live.person(token) == "ana"
    assert token not in settings.tokens.read_text(encoding="utf-8")
    assert settings.tokens.stat().st_mode & 0o077 == 0
    main(["serve", "token", "ana", "--revoke", "--config", str(path)])
    assert live.person(token) is None  # also in a process that had seen it
    with pytest.raises(SystemExit):
        main(["serve", "token", "nobody", "--config", str(path)])


def test_a_token_that_is_taken_away_while_another_is_issued_stays_away(tmp_path, monkeypatch):
    one, other = (Tokens(tmp_path / "tokens.json", quick=True) for _ in range(2))  # two commands at the same time
    taken, read = one.issue("ben", days=1), one._read
    revoking = threading.Thread(target=other.revoke, args=("ben",))

    def while_reading():
        found = read()
        revoking.start()
        revoking.join(timeout=0.5)
        return found

    monkeypatch.setattr(one, "_read", while_reading)
    kept = one.issue("ana", days=1)
    monkeypatch.undo()
    revoking.join()
    later = Tokens(tmp_path / "tokens.json", quick=True)
    assert (later.person(taken), later.person(kept)) == (None, "ana")


def test_a_token_that_is_taken_away_while_it_is_verified_is_not_remembered(tmp_path, monkeypatch):
    here, elsewhere = (Tokens(tmp_path / "tokens.json", quick=True) for _ in range(2))
    token, matches = here.issue("ben", days=1), here._matches

    def slowly(hashed, word):
        elsewhere.revoke("ben")
        here.person("dn_x_y")  # somebody else's request finds that the file has changed
        return matches(hashed, word)

    monkeypatch.setattr(here, "_matches", slowly)
    here.person(token)
    monkeypatch.undo()
    assert here.person(token) is None


def test_tokens_end_and_wrong_ones_are_nobodys(tmp_path):
    now = [1000.0]
    tokens = Tokens(tmp_path / "tokens.json", clock=lambda: now[0], quick=True)
    token = tokens.issue("ana", days=1)
    assert tokens.person(token) == tokens.person(token) == "ana"
    for wrong in (token[:-1] + ("0" if token[-1] != "0" else "1"), "dn_x_y", "", "dn_", token.upper(), "x" * 10_000):
        assert tokens.person(wrong) is None
    now[0] += 86_400
    assert tokens.person(token) is None
    with pytest.raises(InvalidArgument, match="1 to 366"):
        tokens.issue("ana", days=0)


def test_visits_end_and_are_always_new():
    now = [0.0]
    visits = Visits(ShortLived(clock=lambda: now[0]), hours=1)
    first, second = visits.begin("ana"), visits.begin("ana")
    assert first != second
    assert visits.find(first).csrf != visits.find(second).csrf
    assert visits.find(None) is visits.find("x") is None
    visits.end(first)
    assert visits.find(first) is None
    now[0] = 3600.0
    assert visits.find(second) is None


def test_visits_and_attempts_are_shared_by_processes_and_their_file_opens_nothing(tmp_path):
    path = tmp_path / "state" / "visits.db"
    here, there = ShortLived(path), ShortLived(path)
    visit = Visits(here).begin("ana")
    assert Visits(there).find(visit).person == "ana"
    assert visit.encode() not in b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert path.stat().st_mode & 0o077 == 0
    Visits(there).end(visit)
    assert Visits(here).find(visit) is None
    attempt = here.keep({"state": "s"}, seconds=60)
    assert [each.take(attempt) for each in (there, here)] == [{"state": "s"}, None]
    assert Visits(here).find(here.keep({"state": "s"}, seconds=60)) is None  # a log-in under way is no visit


def test_a_rate_limit_fills_steadily():
    now = [0.0]
    limit = RateLimit(2, clock=lambda: now[0])
    assert [limit.allows("ana") for _ in range(3)] == [True, True, False]
    assert limit.allows("ben")
    now[0] = 30.0
    assert [limit.allows("ana") for _ in range(2)] == [True, False]


def test_the_demo_is_prepared_whole(tmp_path, capsys):
    folder = tmp_path / "demo"
    main(["serve", "demo", str(folder), "--prepare"])
    assert "/data/visits/ask" in capsys.readouterr().out
    main(["serve", "check", "--config", str(folder / "server.yaml")])
    assert "visits: data can be reached" in capsys.readouterr().out
    settings = ServerSettings.load(folder / "server.yaml")
    token = (folder / "analyst.token").read_text(encoding="utf-8").strip()
    assert Tokens(settings.tokens).person(token) == "analyst"
    assert folder.stat().st_mode & 0o077 == 0
    with pytest.raises(SystemExit):
        main(["serve", "demo", str(folder)])


def test_a_port_in_use_is_refused_before_anything_is_started(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        path = changed(tmp_path, port=port, public_url=f"http://127.0.0.1:{port}")
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--config", str(path)])
    assert ended.value.code == 1  # a service manager that starts failures anew sees one
    assert f"port {port} of 127.0.0.1 cannot be had (address already in use)" in capsys.readouterr().err


def test_a_client_without_its_package_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(InvalidArgument, match=r"needs httpx: pip install 'deniable\[server\]'"):
        connect("http://127.0.0.1:1", token="t")
    with pytest.raises(SystemExit):
        main(["remote", "requests", "visits", "--url", "http://127.0.0.1:1", "--token", "t"])
    assert "Traceback" not in capsys.readouterr().err
