"""Files, URLs and variables as words of the shell; what a URL says of who logs in is never said again."""

from __future__ import annotations

import pytest

from deniable.cli import main
from deniable.cli.locations import place, table_places, without_logins
from deniable.errors import InvalidArgument

_URL = "postgresql://walburga:s%40fe/pass@db.example.org:5432/shop"
_SECRETS = ("walburga", "s%40fe", "s@fe", "fe/pass")


def test_a_file_and_a_url_stand_for_themselves_and_a_variable_for_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP", _URL)
    assert [place(word) for word in ("visits.csv", "./env:SHOP", _URL, "env:SHOP")] == [
        "visits.csv",
        "./env:SHOP",
        _URL,
        _URL,
    ]


def test_a_variable_that_is_missing_or_holds_no_url_is_refused_without_what_it_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SHOP", raising=False)
    with pytest.raises(InvalidArgument, match="there is no environment variable 'SHOP'; set it to"):
        place("env:SHOP")
    monkeypatch.setenv("SHOP", "mysql://walburga:s@fe@db/shop")
    with pytest.raises(InvalidArgument, match="'SHOP' must hold a postgresql:// URL") as refusal:
        place("env:SHOP")
    assert "walburga" not in str(refusal.value)


def test_tables_are_a_list_or_go_by_the_names_of_the_codebook() -> None:
    assert table_places(None) is None
    assert table_places("orders") == ["orders"]
    assert table_places("sales.orders, people") == ["sales.orders", "people"]
    assert table_places("orders=sales.orders_2024, people=hr.people") == {
        "orders": "sales.orders_2024",
        "people": "hr.people",
    }
    for wrong in ("", "a,,b", "a=x,b", "=x", "a="):
        with pytest.raises(InvalidArgument, match="--tables is written"):
            table_places(wrong)


def test_a_message_keeps_everything_but_the_logins() -> None:
    said = f"no {_URL!r} for s@fe/pass at db.example.org; WHERE user=5 stays"
    told = without_logins(said, ["SELECT a FROM t WHERE user=5", f"--ledger={_URL}"])
    assert told == "no 'postgresql://…@db.example.org:5432/shop' for … at db.example.org; WHERE user=5 stays"
    assert "hidden" not in without_logins("got hidden", ["postgresql://db/shop?user=walburga&password=hidden"])


@pytest.mark.parametrize(
    "words",
    [
        ["sql", "visits.csv", "SELECT 1", "--codebook", "a.yaml", "--ledger", "a.ledger", _URL],
        ["sql", "SELECT 1", _URL, "--codebook", "a.yaml", "--ledger", "a.ledger"],
        ["sql", f"nothing:/{_URL}", "SELECT 1", "--codebook", "a.yaml", "--ledger", "a.ledger"],
        ["price", "visits.csv", "--codebook", _URL, "--ledger", "a.ledger", "--agg", "n=count()"],
        ["query", "visits.csv", "--codebook", "a.yaml", "--ledger", _URL, "--agg", "n=count()", f"--epsilon={_URL}"],
        ["ledger", "verify", _URL.replace("db.example.org:5432", "127.0.0.1:1")],
        ["budget", "a.ledger", _URL],
    ],
)
def test_no_command_says_a_login_again(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code in (1, 2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("deniable: ")
    for secret in _SECRETS:
        assert secret not in said.err
