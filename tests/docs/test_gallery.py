"""The gallery's pictures are drawn from today's numbers, and every picture and every arrow is on the page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import deniable as dp
from docs.gallery import FOLDER, PICTURES
from tests.docs.pages import ROOT, rows

SLOW = {"training-profile"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def parts(svg):
    """The words of a drawing, and its numbers: coordinates may differ in the last digit from machine to machine."""
    return NUMBER.split(svg), [float(number) for number in NUMBER.findall(svg)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in PICTURES]
)
def test_a_picture_is_what_we_draw_today(name):
    (words, numbers), (old_words, old_numbers) = (
        parts(svg) for svg in (PICTURES[name]().svg, (FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
    )
    assert words == old_words, "draw the pictures again with python -m docs.gallery"
    assert numbers == pytest.approx(old_numbers, abs=0.06)


def test_every_picture_is_a_document_and_on_the_page():
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    assert sorted(path.stem for path in FOLDER.glob("*.svg")) == sorted(PICTURES)
    for name in PICTURES:
        assert ElementTree.fromstring((FOLDER / f"{name}.svg").read_text(encoding="utf-8")).tag.endswith("svg")
        assert f"(gallery/{name}.svg)" in page


def test_the_table_of_arrows_is_the_data():
    listed = [(row[1], row[2]) for row in rows("docs/gallery.md")[1:]]
    assert listed == [(each.strong.name, each.weak.name) for each in dp.accounting.strength.IMPLICATIONS]
