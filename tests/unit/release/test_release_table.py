"""The release table: the book's eight rows, the longer one, three formats, and nothing in a value becomes markup."""

from __future__ import annotations

import json
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import __version__
from deniable.cost import Bounded
from deniable.errors import InvalidArgument
from deniable.ledger import Ledger
from deniable.release.release_facts import ReleaseFacts
from deniable.release.release_table import extended_release_table, release_table

EIGHT = ["Project Scope", "Preprocessing methods", "ε", "δ", "Unit of privacy", "Mechanism", "Implementation", "URL"]


def facts(**changes: object) -> ReleaseFacts:
    stated: dict[str, object] = {
        "scope": "Reports on broadband usage in the USA by zip code",
        "epsilon": Fraction(1, 5),
        "delta": Fraction(0),
        "unit": "Individual device",
        "mechanisms": ("Laplace",),
    }
    return ReleaseFacts(**{**stated, **changes})  # type: ignore[arg-type]


def test_the_eight_rows_of_table_13_2():
    made = release_table(
        facts(implementation="SmartNoise and OpenDP", url="https://github.com/microsoft/USBroadbandUsagePercentages")
    )
    assert made.rows == (
        ("Project Scope", "Reports on broadband usage in the USA by zip code"),
        ("Preprocessing methods", "None"),
        ("ε", "0.2"),
        ("δ", "0"),
        ("Unit of privacy", "Individual device"),
        ("Mechanism", "Laplace"),
        ("Implementation", "SmartNoise and OpenDP"),
        ("URL", "https://github.com/microsoft/USBroadbandUsagePercentages"),
    )


def test_the_eight_rows_of_table_13_1():
    made = release_table(
        facts(
            scope="Reports on top jobs and skills for recent hires in 3-month period",
            preprocessing=("Tf-idf on skills keyset",),
            epsilon=4 * Fraction("1.2"),
            delta=4 * Fraction("1e-10"),
            unit="Hire",
            implementation="UnkLap",
            url="https://economicgraph.linkedin.com",
        )
    )
    assert [name for name, _ in made.rows] == EIGHT
    assert dict(made.rows)["ε"] == "4.8"
    assert dict(made.rows)["δ"] == "4e-10"
    assert dict(made.rows)["Preprocessing methods"] == "Tf-idf on skills keyset"


def test_what_is_not_known_says_so():
    made = extended_release_table(facts())
    assert [name for name, _ in made.rows[:8]] == EIGHT
    assert dict(made.rows)["URL"] == "not stated"
    assert {value for _, value in made.rows[8:]} == {"not stated"}
    assert dict(made.rows)["Implementation"] == f"deniable {__version__}"


def test_every_fact_has_its_row():
    words = {
        name: f"fact {name}"
        for name, value in facts().to_record().items()
        if value == "" and name not in {"scope", "unit"}
    }
    lists = {
        name: (f"fact {name}", "second") for name in ("accuracy", "postprocessing", "not_included", "preprocessing")
    }
    made = extended_release_table(facts(**words, **lists))
    printed = [value for _, value in made.rows]
    for name in (*words, *lists):
        assert sum(f"fact {name}" in value for value in printed) == 1, name


@given(st.fractions(min_value=0, max_value=100), st.fractions(min_value=0, max_value=1))
def test_the_table_never_promises_more_than_was_kept(epsilon: Fraction, delta: Fraction):
    rows = dict(release_table(facts(epsilon=epsilon, delta=delta)).rows)
    assert Fraction(rows["ε"]) >= epsilon
    assert Fraction(rows["δ"]) >= delta


def test_markdown():
    text = release_table(facts(scope="a | b\n\n## <b>x</b> `y` [z](w)")).markdown().splitlines()
    assert text[0] == "| Name | Value |"
    assert text[1] == "|---|---|"
    assert text[2] == "| Project Scope | a \\| b ## &lt;b&gt;x&lt;/b&gt; \\`y\\` \\[z\\](w) |"
    assert len(text) == 10


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.seen.extend(f"{tag}.{name}" for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", '" onmouseover="alert(1)', "</td></tr></table><img src=x>"]
)
@pytest.mark.parametrize("where", ["scope", "url", "unit", "implementation", "contact"])
def test_html_holds_no_markup_but_its_own(hostile: str, where: str):
    parsed = Tags()
    parsed.feed(extended_release_table(facts(**{where: hostile})).html())
    assert set(parsed.seen) == {"table", "table.class", "tr", "th", "td"}
    assert hostile in parsed.text


@pytest.mark.parametrize(
    ("url", "link"), [("https://a.org/x?y=1&z", True), ("javascript:alert(1)", False), ("http://a b", False)]
)
def test_only_web_addresses_become_links(url: str, link: bool):
    parsed = Tags()
    parsed.feed(release_table(facts(url=url)).html())
    assert ("a.href" in parsed.seen) is link
    assert url in parsed.text


def test_json_is_exact_and_comes_back():
    stated = facts(epsilon=Fraction(1, 3), delta=Fraction(1, 10**12), accuracy=("n: ±5", "avg: ±0.2"))
    record = json.loads(extended_release_table(stated).json())
    assert record["format"] == "deniable release table 1"
    assert record["facts"]["epsilon"] == "1/3"
    assert dict(record["rows"])["ε"] == "0.333334"
    assert ReleaseFacts.from_record(record["facts"]) == stated


def test_text_lines_up():
    lines = str(release_table(facts())).splitlines()
    assert len(lines) == 8
    assert lines[2] == "ε                      0.2"


def test_a_notebook_shows_html():
    made = release_table(facts())
    assert made._repr_html_() == made.html()


@pytest.mark.parametrize(
    "change",
    [
        {"scope": ""},
        {"unit": ""},
        {"mechanisms": ()},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"delta": 2},
        {"epsilon": "1"},
    ],
)
def test_bad_facts_are_refused(change):
    with pytest.raises(InvalidArgument):
        facts(**change)


@pytest.mark.parametrize(
    "record", [None, [], {"scope": "x"}, {**facts().to_record(), "more": 1}, {**facts().to_record(), "epsilon": 0.2}]
)
def test_bad_records_are_refused(record: object):
    with pytest.raises(InvalidArgument):
        ReleaseFacts.from_record(record)


def test_the_receipt_fills_in_what_only_the_ledger_knows(ledger: Ledger):
    receipt = ledger.answer(Bounded(epsilon=0.1), lambda: b"").receipt
    rows = dict(extended_release_table(facts().with_receipt(receipt)).rows)
    assert rows["Receipt"] == receipt.id
    assert rows["Ledger head"] == receipt.head
    assert (rows["Spent so far"], rows["Left"], rows["Data version"]) == ("epsilon = 0.1", "epsilon = 0.9", "1")
