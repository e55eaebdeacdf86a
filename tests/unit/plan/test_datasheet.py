"""A datasheet has its seven sections whatever is stated, filled in from the codebook; everything on it survives a round trip."""

import pytest

from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.datasheet import datasheet
from deniable.plan.tables import SECTIONS

BARE = """
name: survey
unit: {id: who, groups: 1, rows_per_group: 1}
tables: {survey: {variables: {who: integer, age: {type: integer, bounds: [0, 99], provenance: "law"},
  born: {type: date, bounds: [1930-01-01, 2010-12-31]}}}}
"""
FULL = (
    BARE
    + """
sampling:
  design: "simple random sample"
  fraction: 0.01
  population: "residents of 2024"
  frame: "the <b>register</b> of residents"
  secrecy: "who was drawn is known to the field office"
earlier_releases: ["counts by county, epsilon 1, March 2024"]
datasheet:
  motivation: "to plan schools"
  maintenance: "every year, by the office"
"""
)


def test_seven_sections_in_order_whatever_is_stated():
    for text in (BARE, FULL):
        page = datasheet(Codebook.from_yaml(text))
        places = [page.index(f"\n## {name.capitalize()}\n") for name in SECTIONS]
        assert places == sorted(places)
    assert datasheet(Codebook.from_yaml(BARE)).count("Not stated.") == 4


def test_what_the_codebook_knows_is_filled_in():
    page = datasheet(Codebook.from_yaml(FULL))
    for said in (
        "to plan schools",
        "every year, by the office",
        "Sampling: simple random sample, 0.01 of residents of 2024",
        "Secrecy of the sample: who was drawn is known to the field office",
        "counts by county, epsilon 1, March 2024",
        "Protected unit: one who, in at most 1 group, 1 row in each",
        "| age | integer in \\[0, 99\\] |",
        "| born | date in \\[1930-01-01, 2010-12-31\\] |",
    ):
        assert said in page
    assert "<b>" not in page


def test_everything_survives_a_round_trip():
    book = Codebook.from_yaml(FULL)
    assert Codebook.from_record(book.to_record()) == book
    assert Codebook.from_yaml(book.to_yaml()) == book
    assert "datasheet" not in Codebook.from_yaml(BARE).to_record()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("datasheet: {moral: x}", "moral"),
        ("datasheet: {uses: 3}", "expected text"),
        ("earlier_releases: all", "list of texts"),
        ("sampling: {design: x, secret: y}", "secret"),
    ],
)
def test_what_is_not_known_is_refused_by_name(wrong, said):
    with pytest.raises(InvalidArgument, match=said):
        Codebook.from_yaml(BARE + wrong)
