"""Theory pages name code and tests that exist, and every constructor of the calculus is on one of them."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

from tests.docs.pages import ROOT, is_a_test, pages, quoted, resolved

THEORY = [page for page in pages() if page.startswith("docs/theory/")]


@pytest.mark.parametrize("page", THEORY)
def test_page(page):
    words = quoted((ROOT / page).read_text(encoding="utf-8"))
    names = [match[0] for word in words if (match := re.match(r"(dp|deniable)(\.\w+)+", word))]
    tests = [word for word in words if word.startswith("tests/")]
    assert names, "a theory page names the code that uses the theorem, as in `deniable.cost.composed`"
    assert tests, "a theory page names the test that checks it, as in `tests/laws/test_x.py::test_y`"
    for name in names:
        assert resolved(name) is not None
    assert [test for test in tests if not (is_a_test(test) or ("::" not in test and (ROOT / test).exists()))] == []


CONSTRUCTORS = sorted(
    f"{package}.{name}"
    for package in ("deniable.transformations", "deniable.mechanisms")
    for name in import_module(package).__all__
    if inspect.isfunction(getattr(import_module(package), name))
)


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_every_constructor_is_on_a_page(constructor):
    told = {word.split("(")[0] for page in THEORY for word in quoted((ROOT / page).read_text(encoding="utf-8"))}
    name = constructor.rpartition(".")[2]
    assert told & {constructor, f"dp.calculus.{name}", f"deniable.calculus.{name}"}, (
        f"docs/theory says nothing of `{constructor}`"
    )
