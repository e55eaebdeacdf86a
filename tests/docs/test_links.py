"""Every relative link on a page leads to a file of the repository."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, pages


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    here = (ROOT / page).parent
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    dead = [target for target in targets if "://" not in target and not (here / target).exists()]
    assert dead == []
