"""`deniable sql`, `query` and `price` on a real PostgreSQL: a URL or a variable that holds one, and no login anywhere."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from deniable.cli import main
from tests.servers import PASSWORD, POSTGRES, Postgres

pytestmark = POSTGRES

_BOOK = """
name: shop
unit: {id: buyer, groups: 2, rows_per_group: 9}
tables:
  people: {variables: {buyer: integer, town: {type: string, categories: [here, there]}}}
  orders: {unit: buyer, variables: {buyer: integer, amount: {type: integer, bounds: [0, 9]}}}
"""
_QUERY = "SELECT town, COUNT(*) AS n FROM orders JOIN people USING (buyer) GROUP BY town"
_OPTIONS = "--codebook shop.yaml --budget-epsilon 2"


@pytest.fixture
def schema(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A schema with two tables that `reader` may read, and a folder with their codebook to work in."""
    name = postgres.fresh("sales")
    postgres.sql(
        f"CREATE SCHEMA {name}",
        f"CREATE TABLE {name}.people AS SELECT n AS buyer, CASE n % 2 WHEN 0 THEN 'here' ELSE 'there' END AS town "
        "FROM generate_series(0, 99) n",
        f"CREATE TABLE {name}.orders_2024 AS SELECT n % 100 AS buyer, n % 10 AS amount FROM generate_series(0, 399) n",
        f"GRANT USAGE ON SCHEMA {name} TO reader",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader",
        user="curator",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "shop.yaml").write_text(_BOOK, encoding="utf-8")
    return name


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str, int]:
    """What a command prints, its errors, and its exit code; neither has a login, and no file it left behind."""
    code = 0
    try:
        main(words)
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    left = b"".join(path.read_bytes() for path in Path().rglob("*") if path.is_file())
    for secret in (PASSWORD, "reader"):
        assert secret not in out + err
        assert secret.encode() not in left
    return out, err, code


def _tables(schema: str) -> list[str]:
    return ["--tables", f"people={schema}.people,orders={schema}.orders_2024"]


def test_a_price_is_free_and_an_answer_is_charged_once(
    postgres: Postgres, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url, options = postgres.url("reader"), shlex.split(f"{_OPTIONS} --ledger shop.ledger --json")
    ask = ["--table", "orders", "--agg", "n=count()", "--epsilon", "0.5"]
    out, _, code = _said(capsys, "price", url, *options, *_tables(schema), *ask)
    assert (code, json.loads(out)["epsilon"]) == (0, 0.5)
    first, _, code = _said(capsys, "query", url, *options, *_tables(schema), *ask)
    assert code == 0
    (n,) = json.loads(first)["release"]["columns"]
    assert abs(n["values"][0] - 400) < 2000  # noise of scale 36: further with chance below 1e-11
    _, _, code = _said(capsys, "sql", url, _QUERY, *options, *_tables(schema), "--epsilon", "0.5")
    assert code == 0
    again, _, _ = _said(capsys, "query", url, *options, *_tables(schema), *ask)
    assert json.loads(again)["release"] == json.loads(first)["release"]
    out, _, _ = _said(capsys, "budget", "shop.ledger", "--json")
    assert json.loads(out)[0]["spent"]["loss"] == "1"


def test_urls_of_data_and_ledger_are_read_from_variables(
    postgres: Postgres, schema: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_DATA", postgres.url("reader"))
    monkeypatch.setenv("SHOP_LEDGER", postgres.url("curator", ledger=postgres.fresh("ledger")))
    options = shlex.split(f"{_OPTIONS} --ledger env:SHOP_LEDGER --epsilon 0.5 --time-limit 60")
    out, _, code = _said(capsys, "sql", "env:SHOP_DATA", _QUERY, *options, *_tables(schema))
    assert code == 0
    assert "left: epsilon = 1.5" in out
    for words in (["budget"], ["ledger", "verify"], ["ledger", "export"], ["release", "show"]):
        out, _, code = _said(capsys, *words, "env:SHOP_LEDGER")
        assert code == 0
        assert out


def test_libpq_finds_the_password_by_itself(
    postgres: Postgres, schema: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    url = postgres.url("reader").replace(f":{PASSWORD}", "")
    out, _, code = _said(
        capsys, "sql", url, f"EXPLAIN DP {_QUERY}", *shlex.split(f"{_OPTIONS} --ledger a"), *_tables(schema)
    )
    assert code == 0
    assert "protects  one buyer" in out


def test_what_cannot_be_used_is_one_line_without_a_login(
    postgres: Postgres, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url, rest = postgres.url("reader"), shlex.split(f"{_OPTIONS} --ledger shop.ledger --epsilon 0.5")
    for words, told in (
        ([url, _QUERY, *rest], "there is no public.people in postgresql://127.0.0.1:"),
        ([url, _QUERY, *rest, "--tables", f"{schema}.people"], "the codebook has tables people, orders, got people"),
        ([url, _QUERY, *rest, *_tables(schema), "--time-limit", "0"], "time_limit must be from 1 to 2,147,483 seconds"),
        ([url.replace(PASSWORD, f"no{PASSWORD}"), _QUERY, *rest, *_tables(schema)], "refused the login"),
        (
            [url.replace(PASSWORD, f"no/{PASSWORD}"), _QUERY, *rest, *_tables(schema)],
            "special characters in a password",
        ),
        (["people=a.csv,orders=b.csv", _QUERY, *rest, *_tables(schema)], "tables= goes with a PostgreSQL URL"),
    ):
        out, err, code = _said(capsys, "sql", *words)
        assert (out, code, err.count("\n")) == ("", 1, 1)
        assert told in err
    assert not Path("shop.ledger").exists()
