"""The page of the builder names every method of a query, every way to pay, and every way to take an answer elsewhere."""

from __future__ import annotations

import re

import pytest

from deniable.query import Query
from deniable.query.payment import PaymentTerms
from deniable.release.answer import Release
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/builder.md").read_text(encoding="utf-8")
FIELDS = set(Query.__dataclass_fields__)
METHODS = sorted(name for name in dir(Query) if not name.startswith("_") and name not in FIELDS)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_on_the_page(name: str) -> None:
    assert re.search(rf"`{name}[`(]", PAGE), f"docs/builder.md does not explain {name}"


@pytest.mark.parametrize("name", sorted(PaymentTerms.__annotations__))
def test_every_way_to_pay_is_on_the_page(name: str) -> None:
    assert f"{name}=" in PAGE


def test_every_way_to_take_an_answer_elsewhere_is_on_the_page() -> None:
    ways = [name for name in dir(Release) if name.startswith("to_") and name not in ("to_columns", "to_file")]
    assert [name for name in ways if f"`{name}(" not in PAGE] == []
