"""What a notebook shows: values with their errors in the reader's colours, points for means and columns for times."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import date

import pytest

import deniable as dp
from deniable.testing import Seeded, Silent

BOOK = {
    "name": "clinic", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "v",
    "variables": {
        "p": "integer", "x": {"type": "number", "bounds": [0, 100], "step": 0.5},
        "ward": {"type": "string", "categories": ["<b>", "w", "empty"]},
        "day": {"type": "date", "bounds": ["2024-01-01", "2024-04-30"]},
    },
}  # fmt: skip
N = 900
DATA = {
    "p": list(range(N)), "x": [i % 100 for i in range(N)], "ward": [("<b>", "w")[i % 2] for i in range(N)],
    "day": [date(2024, 1 + i % 4, 1 + i % 28) for i in range(N)],
}  # fmt: skip


def session(entropy=None):
    return dp.Dataset(DATA, codebook=BOOK).session(dp.budget(epsilon=1000), entropy=entropy or Seeded(3))


def asked(entropy=None):
    return session(entropy).query().group_by("ward").agg(n=dp.count(), m=dp.mean("x"), q=dp.median("x"))


def test_an_answer_has_one_cell_for_a_value_and_its_error():
    form = asked().release(epsilon=2)._repr_html_()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", form)
    assert len(cells) == 3 * 4
    assert "_low" not in form
    assert "&lt;b&gt;" in form
    assert "<b>" not in form
    assert re.fullmatch(r"-?\d+ ± \d+", cells[1])
    assert "overflow-x:auto" in form  # a wide table scrolls in its own room, so that 600 pixels are enough
    assert not re.search(r"#[0-9a-f]{3,6}", form)  # no colours of its own: readable in light and in dark


def test_prices_explanations_sessions_and_codebooks_have_a_form():
    here = session()
    query = here.query().group_by("ward").agg(n=dp.count(), m=dp.mean("x"))
    price = query.price(epsilon=1)
    explained = here.sql("EXPLAIN DP SELECT COUNT(*) AS n FROM v", epsilon=1)
    forms = [thing._repr_html_() for thing in (price, explained, here, here.codebook)]
    assert all(form.startswith('<div class="dn-card">') for form in forms)
    assert "± " in forms[0]
    assert "says something in groups of about" in forms[0]
    assert "protects" in forms[1]
    assert "Not kept" in forms[2]
    assert "0 to 100" in forms[3]
    for form in forms:
        ET.fromstring(form.replace("&nbsp;", " "))  # well formed
    assert str(here.codebook) == here.codebook.to_yaml()


def test_a_cell_that_says_nothing_is_a_dash_and_none():
    """The empty ward's mean could be anything its bounds allow; the price said from which size on it is not."""
    query = asked(Silent())
    least = query.price(epsilon=0.5).least_rows["m"]
    assert 1 < least < 450
    answer = query.release(epsilon=0.5)
    rows = {row["ward"]: row for row in answer.table}
    assert rows["empty"]["m"] is None
    assert (rows["empty"]["m_low"], rows["empty"]["m_high"]) == (0, 100)
    assert rows["w"]["m"] == pytest.approx(50)
    (line,) = [line for line in str(answer).splitlines() if line.startswith("empty")]
    assert "–" in line
    assert answer.to_columns()["m"][-1] is None
    assert "empty" not in answer.plot("m").svg
    smaller = query.price(epsilon=5).least_rows["m"]
    assert smaller < least


def test_the_least_size_is_where_the_interval_becomes_shorter_than_the_bounds():
    """A group of that size whose mean is in the middle has an interval inside its bounds; a tenth of it has not."""
    query = asked(Silent())
    least = query.price(epsilon=0.5).least_rows["m"]
    for share, told in ((1.1, True), (0.1, False)):
        rows = int(least * share) // 2 * 2
        data = {
            "p": list(range(rows)),
            "x": [25, 75] * (rows // 2),
            "ward": ["w"] * rows,
            "day": DATA["day"][:1] * rows,
        }
        here = dp.Dataset(data, codebook=BOOK).session(dp.budget(epsilon=9), entropy=Silent())
        ask = here.query().group_by("ward").agg(n=dp.count(), m=dp.mean("x"), q=dp.median("x"))
        assert (ask.release(epsilon=0.5).value("m", ward="w") is not None) == told


def test_a_ratio_that_may_be_anything_is_a_dash():
    text = "SELECT ward, COUNT(*) FILTER (WHERE x > 50) * 1.0 / COUNT(*) AS share FROM v GROUP BY ward"
    answer = session(Silent()).sql(text, epsilon=0.2)
    rows = {row["ward"]: row["share"] for row in answer.table}
    assert rows["empty"] is None
    assert 0.4 < rows["w"] < 0.6


def _sizes(picture: str) -> list[float]:
    return [float(size) for size in re.findall(r'font-size[=:]"?([\d.]+)', picture)]


def test_means_are_points_counts_are_bars_and_months_are_columns():
    here = session(Silent())
    counts = here.query().group_by("ward").agg(n=dp.count(), m=dp.mean("x")).release(epsilon=20)
    assert "<circle" not in counts.plot("n").svg
    assert "<circle" in counts.plot("m").svg
    months = here.query().group_by(month="date_trunc('month', day)").agg(n=dp.count()).release(epsilon=20)
    picture = months.plot("n", title="Visits", size=(600, 300))
    assert (picture.width, picture.height) == (600, 300)
    assert ">Visits<" in picture.svg
    assert ">2024-02<" in picture.svg
    assert "00:00:00" not in picture.svg
    assert min(_sizes(picture.svg) + _sizes(counts.plot("m").svg)) >= 11
