"""A newcomer's hour, in a shell and a browser: the README's words on a CSV file as it comes out of a spreadsheet.

A file with a byte-order mark, semicolons, column names with spaces, dates of two kinds and free text that goes over lines; a draft
that is filled in, a look for the curator, a price, a first answer, a forgotten category, an amendment, a share and a median with
its interval, a join, a report.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import WIDTHS, open_browser, open_page, too_wide
from tests.docs.pages import ROOT

TOWNS = ["north", "south", "west"]
PEOPLE = 3000
BOOK = """
name: survey
unit: {id: "Person ID", groups: 1, rows_per_group: 2}
tables:
  survey:
    variables:
      "Person ID": integer
      town: {type: string, categories: [north, south]}
      day: date
      "Hours worked": {type: number, bounds: [0, 80], step: 0.1}
      late: {type: integer, bounds: [0, 1]}
  people:
    variables:
      "Person ID": integer
      sex: {type: string, categories: [f, m], of_unit: true}
"""


def write_files(folder: Path) -> None:
    """Every person twice; one in ten rows late and with a date of another kind; the middle of the hours is 35."""
    with (folder / "survey.csv").open("w", newline="", encoding="utf-8-sig") as file:
        out = csv.writer(file, delimiter=";")
        out.writerow(["Person ID", "town", "day", "Hours worked", "late", "comment"])
        for row in range(2 * PEOPLE):
            person = row // 2
            said = 'two;\nlines, "quoted"' if person % 50 == 0 else "fine"
            day = f"2024-{1 + row % 12:02}-05" if row % 10 else "05.01.2024"
            out.writerow([person, TOWNS[person % 3], day, 20 + person % 31, int(row % 10 == 0), said])
    with (folder / "people.csv").open("w", newline="", encoding="utf-8-sig") as file:
        out = csv.writer(file)
        out.writerow(["Person ID", "sex"])
        out.writerows([person, "fm"[person % 2]] for person in range(PEOPLE))


class Shell:
    """A shell in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, code: int = 0) -> str:
        """What a command prints, on both streams; its exit code must be this one, and no traceback may show."""
        paths = {"PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(self.folder / "state"), "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "deniable", *words],
            cwd=self.folder, env=os.environ | paths, capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert "Traceback" not in said
        return said


def cells(said: str, key: str) -> list[str]:
    """The cells of a printed row."""
    row = next(line for line in said.splitlines() if line.startswith(f"{key} "))
    return re.split(r"\s{2,}", row.strip())


def interval(cell: str) -> tuple[float, float, float]:
    """A printed value with the two ends of its interval."""
    numbers = [float(part.replace(",", "")) for part in re.findall(r"-?[\d.,]*\d", cell)]
    return (numbers[0], numbers[0] - numbers[1], numbers[0] + numbers[1]) if "±" in cell else (*numbers,)  # type: ignore[return-value]


@pytest.mark.slow
def test_a_newcomers_hour(tmp_path: Path) -> None:
    """Values are checked to ten times the stated error or more: a false alarm has a chance below 1e-9."""
    write_files(tmp_path)
    shell = Shell(tmp_path)

    draft = shell("codebook", "init", "survey.csv")
    assert '"Person ID": {type: string}' in draft, "the byte-order mark is no part of a name"
    (tmp_path / "draft.yaml").write_text(draft, encoding="utf-8")
    assert "unit.id: it is still ???" in shell("codebook", "check", "draft.yaml", code=1)
    count = ["--table", "survey", "--by", "town", "--agg", "n=count()", "--epsilon", "1"]
    unpaid = ["--ledger", "survey.ledger", "--budget-epsilon", "8"]
    assert "???" in shell("query", "survey.csv", "--codebook", "draft.yaml", *unpaid, *count, code=1)

    (tmp_path / "survey.yaml").write_text(BOOK, encoding="utf-8")
    files = "survey=survey.csv,people=people.csv"
    budget = ["--codebook", "survey.yaml", *unpaid]
    checked = shell("data", "check", files, "--codebook", "survey.yaml", code=3)
    assert "NOT PRIVATE" in checked
    assert "e.g. 'west'" in checked
    assert "day: 600 of 6,000 cells (10 %) cannot be read as declared and become missing, e.g. '05.01.2024'" in checked
    assert "town is the same in all rows of each" in checked

    assert "costs epsilon = 1" in shell("price", files, *budget, *count)
    assert not (tmp_path / "survey.ledger").exists(), "a price makes no ledger"
    first = shell("query", files, *budget, *count)
    assert interval(cells(first, "north")[1])[0] == pytest.approx(2 * PEOPLE / 3, abs=60)
    assert "changes the chance of any answer by at most a factor of 2.72" in first

    (tmp_path / "survey.yaml").write_text(BOOK.replace("[north, south]", "[north, south, west]"), encoding="utf-8")
    assert "survey.town" in shell("query", files, *budget, *count, code=1), "what differs is named"
    shell("ledger", "amend", "survey.ledger", "--codebook", "survey.yaml", "--reason", "west was forgotten")
    assert interval(cells(shell("query", files, *budget, *count), "west")[1])[0] == pytest.approx(2000, abs=60)

    share = 'SELECT AVG(late) AS share, MEDIAN("Hours worked") AS middle FROM survey'
    said = shell("sql", files, share, *budget, "--epsilon", "2", "--json", "--output", "share.csv")
    with (tmp_path / "share.csv").open(encoding="utf-8") as file:
        row = {name: float(value) for name, value in next(csv.DictReader(file)).items()}
    assert row["share"] == pytest.approx(0.1, abs=0.03)
    assert row["middle_low"] <= row["middle"] <= row["middle_high"]
    assert row["middle"] == pytest.approx(35, abs=5)
    assert json.loads(said)["release"]["columns"][0]["values"][0] == pytest.approx(row["share"])

    joined = 'SELECT sex, COUNT(*) AS n FROM survey JOIN people USING ("Person ID") GROUP BY sex ORDER BY sex'
    assert interval(cells(shell("sql", files, joined, *budget, "--epsilon", "1"), "f")[1])[0] == pytest.approx(
        3000, abs=60
    )

    assert "nothing was spent" in shell("sql", files, joined, *budget, "--epsilon", "6", code=4)
    history = shell("ledger", "history", "survey.ledger").splitlines()
    assert [line.split("  ")[2] for line in history] == ["epsilon = 1", "epsilon = 1", "epsilon = 2", "epsilon = 1"]
    assert "epsilon = 5 of epsilon = 8 spent; epsilon = 3 left" in shell("budget", "survey.ledger")
    shell("release", "report", "survey.ledger", "--output", "report.html")

    with open_browser() as browser:
        for width in WIDTHS:
            page = open_page(browser, width)
            assert too_wide(page, tmp_path / "report.html") == []
            assert page.locator("section").count() == 4
            assert page.get_by_text('MEDIAN("Hours worked")').first.is_visible()
            assert page.get_by_text("left: epsilon = 3").is_visible()
            assert page.locator("svg").count() >= 3
            page.locator("summary").first.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
