"""A newcomer's first hour in a shell, on a file as spreadsheets write it, and the page at its end in a real browser."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import require, require_module

WIDTHS = [390, 1280]
WARDS = ["north", "south", "east"]


def files(folder: Path) -> None:
    """Visits with a mark at the start, semicolons, free text with quotes and line ends, and dates of two kinds."""
    with (folder / "visits.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["patient_id", "ward", "day", "minutes", "What was said"])
        for i in range(3000):
            day = f"2024-{1 + i % 12:02}-05" if i % 10 else "05.01.2024"
            said = 'he said: "fine";\nthen left' if i % 7 == 0 else "–"
            writer.writerow([i // 3, WARDS[i // 3 % 3], day, 10 + i % 50, said])
    with (folder / "patients.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient_id", "sex"])
        writer.writerows([i, "fm"[i % 2]] for i in range(1000))


class Shell:
    """Runs `deniable` in a folder and keeps what it said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}

    def __call__(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "deniable", *words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr


def filled(draft: str) -> str:
    """The draft as a curator fills it in, knowing the ward and the forms, not the data."""
    book = {
        "name": "clinic",
        "unit": {"id": "patient_id", "groups": 1, "rows_per_group": 5},
        "tables": {
            "visits": {
                "variables": {
                    "patient_id": "integer",
                    "ward": {"type": "string", "categories": WARDS},
                    "day": "date",
                    "minutes": {"type": "integer", "bounds": [0, 90]},
                    "What was said": "string",
                }
            },
            "patients": {
                "variables": {"patient_id": "integer", "sex": {"type": "string", "categories": ["f", "m"]}},
            },
        },
    }
    assert all(name in draft for name in book["tables"]["visits"]["variables"])
    return json.dumps(book)


@pytest.mark.slow
def test_the_first_hour(tmp_path):
    files(tmp_path)
    shell = Shell(tmp_path)
    draft = shell("codebook", "init", "visits.csv")
    assert "???" in draft
    assert "\ufeff" not in draft
    (tmp_path / "draft.yaml").write_text(draft, encoding="utf-8")
    ledger = ["--ledger", "clinic.ledger", "--budget-epsilon", "20"]
    asked = ["--epsilon", "1", "--agg", "n=count()"]
    assert "???" in shell("query", "visits.csv", "--codebook", "draft.yaml", *ledger, *asked, code=1)
    (tmp_path / "clinic.yaml").write_text(filled(draft), encoding="utf-8")

    data, book = "visits.csv,patients.csv", ["--codebook", "clinic.yaml"]
    told = shell("data", "check", data, *book, code=3)
    assert told.startswith("NOT PRIVATE")
    assert "day: 300 of 3,000 cells (10 %) cannot be read as declared and become missing, e.g. '05.01.2024'" in told
    assert "ward is the same in all rows of each patient" in told

    assert "epsilon" in shell("price", data, *book, *ledger, "--table", "visits", *asked)
    assert not (tmp_path / "clinic.ledger").exists()
    counted = shell("query", data, *book, *ledger, "--table", "visits", "--by", "ward", *asked)
    assert all(ward in counted for ward in WARDS)

    wider = (tmp_path / "clinic.yaml").read_text().replace("[0, 90]", "[0, 120]")
    (tmp_path / "clinic.yaml").write_text(wider)
    assert "visits.minutes" in shell("query", data, *book, *ledger, "--table", "visits", *asked, code=1)
    shell("ledger", "amend", "clinic.ledger", *book, "--reason", "longer visits")

    kept = [*book, "--ledger", "clinic.ledger", "--epsilon", "4"]
    joined = "SELECT sex, COUNT(*) AS n FROM visits JOIN patients USING (patient_id) GROUP BY sex"
    by_sex = shell("sql", data, joined, *kept, "--output", "by_sex.csv")
    assert "±" in by_sex
    with (tmp_path / "by_sex.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["sex"]: abs(int(row["n"]) - 1500) < 60 for row in rows} == {"f": True, "m": True}
    share = shell("sql", data, "SELECT AVG(minutes > 30) AS late FROM visits", *kept, "--json")
    assert abs(json.loads(share)["release"]["columns"][0]["values"][0] - 29 / 50) < 0.05
    middle = shell("sql", data, "SELECT MEDIAN(minutes) AS middle FROM visits", *kept)
    assert re.search(r"\d+ (±|\[)", middle)
    assert "AVG(minutes > 30)" in shell("ledger", "history", "clinic.ledger")

    shell("release", "report", "clinic.ledger", "--output", "report.html")
    looked_at(tmp_path / "report.html")


def looked_at(page_file: Path) -> None:
    """The page in a browser: everything is there and nothing is wider than the window."""
    require_module("playwright")
    chromium = require("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 800})
            requests: list[str] = []
            page.on("request", lambda request, seen=requests: seen.append(request.url))
            page.goto(page_file.as_uri())
            over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(over) <= 0, width
            assert page.get_by_role("heading", level=2).count() == 4
            assert page.locator("svg").count() >= 2
            assert page.get_by_role("cell", name="north").first.is_visible()
            page.locator("summary").first.click()
            assert page.evaluate(over) <= 0, width
            assert requests == [page_file.as_uri()]
            page.close()
        browser.close()
