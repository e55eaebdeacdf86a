"""Whose object is it: every public method that takes a query refuses another session's, and whatever is no query at all."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, get_type_hints

import pytest

import deniable as dp
from deniable.errors import DeniableError, InvalidArgument
from deniable.query import Payment
from deniable.query.builder import Query
from deniable.release.answer import Release
from deniable.release.bounds_view import BoundsView
from deniable.release.dataset import Rehearsal
from deniable.release.session import Session
from deniable.testing import Silent

UNIT = {"id": "u", "groups": 2, "rows_per_group": 3}
VARIABLES = {"u": "integer", "v": {"type": "integer", "bounds": [0, 10]}}
TOWNS = {"town": {"type": "integer", "bounds": [0, 10]}}
DATA = {
    "x": {"u": list(range(20)), "v": [1, 2] * 10},
    "towns": {"u": list(range(20)), "town": [1, 2] * 10},
}


def session(public: bool = False) -> Session:
    towns: dict[str, Any] = {"variables": TOWNS if public else {"u": "integer", **TOWNS}}
    towns |= {"public": True} if public else {}
    book = {"name": "b", "unit": UNIT, "tables": {"x": {"variables": VARIABLES}, "towns": towns}}
    data = {**DATA, "towns": {"town": [1, 2]}} if public else DATA
    return dp.Dataset(data, codebook=book).session(dp.budget(epsilon=10), entropy=Silent())


class Everything:
    """Something of the wrong kind, with a long name."""

    def __repr__(self) -> str:
        return "line one\nline two " + "x" * 500


STRANGE = ["towns", b"towns", 5, 2.5, None, True, ["towns"], {"a": 1}, lambda row: row, Everything(), dp.count(), Query]


def takers() -> Iterator[tuple[type, str, str]]:
    """Every public method of a public class that takes a query, found by its signature."""
    classes = {value for name in dir(dp) if isinstance(value := getattr(dp, name, None), type)}
    for owner in sorted(classes | {Query, Session, Rehearsal}, key=lambda each: each.__qualname__):
        if not owner.__module__.startswith("deniable."):
            continue
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if name.startswith("_"):
                continue
            hints = {key: str(hint) for key, hint in inspect.signature(method).parameters.items() if key != "self"}
            for key, hint in hints.items():
                if "Query" in hint.rpartition(":")[2] and "Callable" not in hint:
                    yield owner, name, key


TAKERS = sorted({(owner.__name__, name, key) for owner, name, key in takers()})


@cache
def twin() -> Any:
    """Something to evaluate."""
    return session().synthesizer("towns", columns=["town"]).release(epsilon=1)


def call(mine: Session, owner: str, name: str, key: str, given: Any) -> Any:
    """The method with `given` in place of a query."""
    target: Any = mine.query("x") if owner == "Query" else mine
    if name == "evaluate":
        return target.evaluate(twin(), epsilon=1, **{key: given})
    terms = (Payment(epsilon=Fraction(1)),) if name in ("release_query", "price_query") else ()
    return getattr(target, name)(given, *terms)


def test_the_walk_finds_them():
    assert {("Query", "join", "other"), ("Query", "union", "others"), ("Session", "release_query", "query")} <= set(
        TAKERS
    )
    types = {"Session": Session, "Query": Query, "Release": Release, "BoundsView": BoundsView}
    assert get_type_hints(Rehearsal.bounds_view, localns=types)["ask"]


@pytest.mark.parametrize(("owner", "name", "key"), TAKERS)
def test_another_sessions_query_is_refused(owner, name, key):
    mine = session()
    for theirs in (session(public=True), session()):
        for table in ("x", "towns"):
            with pytest.raises(InvalidArgument, match="session") as refusal:
                call(mine, owner, name, key, theirs.query(table))
            assert "\n" not in str(refusal.value)
    assert mine.spent.loss == 0


@pytest.mark.parametrize(("owner", "name", "key"), TAKERS)
@pytest.mark.parametrize("strange", STRANGE, ids=lambda value: type(value).__name__)
def test_what_is_no_query_is_refused_in_one_line(owner, name, key, strange):
    mine = session()
    if key == "table" and (strange is None or isinstance(strange, str)):  # a table may be named there
        strange = "no such table"
    with pytest.raises(InvalidArgument) as refusal:
        call(mine, owner, name, key, strange)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300
    assert mine.spent.loss == 0


def test_a_source_of_another_codebook_is_refused_however_it_came_in():
    mine, theirs = session(), session(public=True)
    mixed = replace(mine.query("x"), source=theirs.query("x").source).agg(n=dp.count())
    with pytest.raises(InvalidArgument, match="belongs to another session"):
        mixed.release(epsilon=1)
    assert mine.spent.loss == 0


def test_a_query_that_already_counts_is_not_rows():
    mine = session()
    counted = mine.query("towns").group_by("town").agg(n=dp.count())
    with pytest.raises(InvalidArgument, match="join takes rows"):
        mine.query("x").join(counted, on="u")


def test_bounds_are_viewed_for_the_session_that_is_given():
    made_up = Rehearsal(
        {"x": DATA["x"]}, codebook={"name": "b", "unit": UNIT, "tables": {"x": {"variables": VARIABLES}}}
    )
    for ask in (lambda s: session().query("x").agg(n=dp.count()), lambda s: "x", "x", None):
        with pytest.raises(InvalidArgument, match="ask must make a query"):
            made_up.bounds_view(ask, groups=[1], epsilon=1)


@pytest.mark.parametrize("strange", [5, None, lambda row: row, Everything(), ["v"], dp.count()])
@pytest.mark.parametrize("method", ["where", "derive", "select", "group_by", "keeping", "per_unit", "join"])
def test_an_expression_is_text(method, strange):
    asked = session().query("x")
    calls = {
        "where": lambda: asked.where(strange),
        "derive": lambda: asked.derive(w=strange),
        "select": lambda: asked.select(w=strange),
        "group_by": lambda: asked.group_by(w=strange),
        "keeping": lambda: asked.keeping(first=strange),
        "per_unit": lambda: asked.per_unit(strange, n=dp.count()),
        "join": lambda: asked.join(asked, on=strange),
    }
    with pytest.raises(DeniableError) as refusal:
        calls[method]()
    assert "\n" not in str(refusal.value).split("\n  ")[0]
