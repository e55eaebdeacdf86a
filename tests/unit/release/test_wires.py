"""Single wires from a question to its answer, each of which would be missed alone: errors, prices, stored answers, anchors."""

from __future__ import annotations

import os
import stat
import sys
import traceback
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import deniable as dp
from deniable.cost import Exponential
from deniable.errors import EngineFailed, QueryRefused
from deniable.ledger.anchor import FolderAnchor, Mark
from deniable.query.allocation import allocate, request
from deniable.query.columns import SliceColumn
from deniable.query.measurements import Measurements, Selection
from deniable.query.sql import compiler
from deniable.release.session import Session
from deniable.testing import Silent

BOOK = {
    "unit": {"id": "who", "groups": 1, "rows_per_group": 1},
    "tables": {"t": {"unit": "who", "variables": {"who": "integer", "tag": "string", "x": "integer"}}},
}
ROWS = {"who": list(range(60)), "tag": ["a"] * 40 + ["b"] * 20, "x": [1] * 60}


def _session(**terms: object) -> Session:
    return dp.Dataset({"t": ROWS}, codebook=BOOK).session(dp.budget(rho=100, delta=1e-2), **terms)


def _words(error: BaseException) -> str:
    """All a reader of the error can see, in its text and its traceback."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, ArithmeticError, MemoryError])
def test_an_unexpected_error_while_running_does_not_show_its_own_text(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _session()

    def fail(*_: object) -> object:
        raise kind("cell " + str(4700 + 11))

    monkeypatch.setattr(asked._engine, "run", fail)
    with pytest.raises(EngineFailed) as failed:
        asked.query().agg(n=dp.count()).release(rho=1)
    assert str(failed.value) == str(EngineFailed())
    assert "4711" not in _words(failed.value)


def test_an_unexpected_error_while_reading_does_not_show_its_own_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise KeyError("inner " + str(4700 + 11))

    monkeypatch.setattr(compiler, "_select", fail)
    with pytest.raises(QueryRefused, match="not-understood") as refused:
        _session().sql("SELECT COUNT(*) AS n FROM t", rho=1)
    assert "4711" not in _words(refused.value)


@pytest.mark.parametrize("paid", [{"epsilon": Fraction(3)}, {"rho": Fraction(1, 2)}])
def test_the_bill_of_choices_counts_every_group_and_every_time(paid: dict[str, Fraction]) -> None:
    asked = _session()
    for groups, times in product((1, 2, 5), repeat=2):
        needs = Measurements((), (Selection(SliceColumn("m"), Fraction(1), False, groups, times, 10),))
        made = allocate(needs, request(**paid), asked.filters)
        assert made.cost == Exponential(eta=made.etas[SliceColumn("m")]).repeated(groups * times)


def test_a_median_by_group_costs_as_many_choices_as_a_unit_has_groups() -> None:
    asked = _session()
    for groups in (1, 3):
        query = asked.query().group_by("tag", values={"tag": ["a", "b", "c", "d"]}).bound(groups=groups)
        price = query.agg(m=dp.median("clamp(x, 0, 9)")).price(rho=1)
        (eta,) = price.allocation.etas.values()
        assert price.allocation.cost == Exponential(eta=eta).repeated(
            3 * groups
        )  # the median and the ends of its interval


def test_another_threshold_is_another_answer() -> None:
    asked = _session(entropy=Silent())
    query = asked.query().group_by("tag").agg(n=dp.count())
    paid = [{"rho": Fraction(1, 50), "delta": delta} for delta in (Fraction(1, 1000), Fraction(1, 10**60))]
    few, many = (query.price(**terms) for terms in paid)
    assert few.allocation.noises == many.allocation.noises
    assert few.threshold < 40 < many.threshold
    assert len({query.mechanism(**terms).recipe for terms in paid}) == 2
    assert [row["n"] for row in query.release(**paid[0]).table] != []
    assert list(query.release(**paid[1]).table) == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not synced there")
def test_every_new_entry_of_an_anchor_is_synced_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: dict[int, list[str]] = {}

    def note(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            synced[os.fstat(handle).st_ino] = os.listdir(handle)

    monkeypatch.setattr(os, "fsync", note)
    root = tmp_path / "far" / "away"
    anchor = FolderAnchor(root / "anchors")
    anchor.advance("abc", Mark(1, "1" * 64))
    anchor.settle("abc", "/data/a")
    anchor.advance("xyz", Mark(1, "2" * 64))
    anchor.advance("abc", Mark(2, "3" * 64))
    for folder, folders, files in os.walk(tmp_path):
        assert set(folders + files) <= set(synced.get(os.stat(folder).st_ino, [])), folder
