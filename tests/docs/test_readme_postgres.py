"""The README alone leads from a PostgreSQL URL to a charged answer: its statements, codebook and code run on a real server."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction
from pathlib import Path

import pytest

import deniable as dp
from deniable.cli import main
from tests.docs.pages import ROOT
from tests.needs import require_module
from tests.servers import PASSWORD, POSTGRES, Postgres

pytestmark = POSTGRES

_URL = "postgresql://deniable_reader@db.example.org/shop"
_SHOP = """
CREATE TABLE customers (customer_id integer PRIMARY KEY, region text, email text);
INSERT INTO customers SELECT n, (ARRAY['north', 'south', 'west'])[1 + n % 3], n || '@example.org' FROM generate_series(0, 2999) n;
CREATE TABLE orders (order_id serial PRIMARY KEY, customer_id integer REFERENCES customers, amount numeric(10, 2));
INSERT INTO orders (customer_id, amount) SELECT n % 3000, 20 + (n * 7919) % 9000 / 100.0 FROM generate_series(0, 7999) n;
"""


def _section() -> dict[str, str]:
    """The section's blocks by their language."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    section = page.split("## From a PostgreSQL URL")[1].split("\n## ")[0]
    return dict(re.findall(r"^```(\w+)\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL))


def test_the_readme_leads_from_a_url_to_a_charged_answer(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database, blocks = postgres.fresh("shop"), _section()
    postgres.sql(f"CREATE DATABASE {database} OWNER curator")
    role = postgres.fresh("deniable_reader")
    _run(postgres, database, _SHOP)
    _run(postgres, database, blocks["sql"].replace("deniable_reader", role).replace("choose one", PASSWORD))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    Path("shop.yaml").write_text(blocks["yaml"], encoding="utf-8")
    url = f"postgresql://{role}@127.0.0.1:{postgres.port}/{database}"
    names: dict[str, object] = {}
    exec(blocks["py"].replace(_URL, url), names)
    said = capsys.readouterr().out
    assert _shape(said) == _shape(blocks["text"])
    assert PASSWORD not in said
    session = names["session"]
    assert isinstance(session, dp.Session)
    assert session.spent.loss == 0.5
    assert Path("shop.ledger").exists()
    again = session.sql(str(names["query"]), epsilon=0.5)
    assert isinstance(again, dp.Release)
    assert session.spent.loss == 0.5
    truth = {"north": 2667, "south": 2667, "west": 2666}
    for region, count in truth.items():
        assert (
            abs(again.value("orders", region=region) - count) < 2000
        )  # noise of scale 72: further with chance below 1e-11
    command, *words = shlex.split(blocks["sh"].replace("\\\n", " ").replace(_URL, url))
    assert command == "deniable"
    main(words)
    said = capsys.readouterr().out
    assert "Guarantee: epsilon = 0.1" in said
    assert PASSWORD not in said
    assert session.spent.loss == Fraction(6, 10)


def _run(server: Postgres, database: str, statements: str) -> None:
    with require_module("psycopg").connect(server.url("postgres", database), autocommit=True) as connection:
        connection.execute(statements)


def _shape(text: str) -> list[str]:
    """What a printout says without the noise: digits, order and widths left out."""
    words = re.sub(r"[\d.,]+|-{2,}", "#", text)
    return sorted(" ".join(line.split()) for line in words.strip().splitlines() if line.strip())
