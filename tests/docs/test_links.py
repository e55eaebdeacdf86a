"""Every relative link on a page leads to a file of the repository, and every public name has its place in the reference."""

from __future__ import annotations

import re

import pytest

import deniable as dp
from docs.reference import reference
from tests.docs.pages import ROOT, pages


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    here = (ROOT / page).parent
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    made = {"reference.md"} if page == "docs/index.md" else set()
    dead = [target for target in targets if "://" not in target and not (here / target).exists() and target not in made]
    assert dead == []


def test_every_public_name_has_its_place_in_the_reference():
    text = reference()
    for name in dp.__all__[1:]:
        assert f"\n## dp.{name}\n" in text
