"""The benchmarks' clock and pages: what they measure is what happened, what is missing is a dash and not an error."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from datetime import date
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the clock reads CPU time from the resource module")

from benchmarks import noise, peers, report, sql_peers, table_errors
from deniable.core import Mechanism


def test_the_clock_counts_work_not_waiting():
    busy = peers.cpu(peers.OURS, setup="x = list(range(20_000))", call="sorted(x)", least=0.02, rounds=2)
    longer = peers.cpu(peers.OURS, setup="x = list(range(400_000))", call="sorted(x)", least=0.02, rounds=2)
    asleep = peers.cpu(peers.OURS, setup="import time", call="time.sleep(0.05)", least=0.02, rounds=1, most=2)
    assert busy.calls > 1
    assert longer.seconds > 4 * busy.seconds
    assert asleep.seconds < 0.02


def test_answers_come_back_as_json():
    code = "print('noise on standard output')\nanswer = {'epsilon': [1.5, 2]}"
    assert peers.answer(peers.OURS, code) == {"epsilon": [1.5, 2]}


def test_what_fails_or_is_missing_is_left_out(capsys):
    assert peers.cpu(None, call="1") is None
    assert peers.answer(peers.OURS, "raise ValueError('not in this version')") is None
    assert "ValueError: not in this version" in capsys.readouterr().out
    assert peers.version(peers.OURS, "no-such-package") == "–"
    assert report.ratio(None, 1.0) == "–"


def test_a_page_has_its_table_and_a_chart_that_parses(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    page = report.Report("some", title="Some & more", versions={"ours": "1"})
    page.table(["case", "ours", "theirs"], [["n = 1", report.number(0.001234), report.ratio(3.0, 1.5)]])
    page.bars("a < b", {"n = 1": {"ours": 12.5, "theirs": 0.3}, "n = 10": {"ours": 100.0, "theirs": None}})
    page.write()
    text = (tmp_path / "some.md").read_text(encoding="utf-8")
    assert "| n = 1 | 0.00123 | 2× |" in text
    assert f"Measured on {date.today()}: ours 1; " in text
    assert "(some.svg)" in text
    chart = ElementTree.fromstring((tmp_path / "some.svg").read_text(encoding="utf-8"))
    bars = [
        node
        for node in chart.iter("{http://www.w3.org/2000/svg}rect")
        if float(node.get("height", "0").rstrip("%")) == 13
    ]
    assert len(bars) == 3


def test_a_chart_of_nothing_is_empty():
    assert report.bars("nothing", {"n = 1": {"ours": None}}) == ""


@pytest.mark.slow
def test_a_peer_lives_in_an_environment_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(peers.dev, "ROOT", tmp_path)
    python = peers.peer("iniconfig")
    assert python == tmp_path / ".venv-bench-iniconfig" / peers.dev.SCRIPTS / "python"
    assert peers.version(python, "iniconfig") != "–"
    assert peers.version(python, "numpy") == "–"
    stamp = Path(python).parents[1] / peers.dev.STAMP
    made = stamp.stat().st_mtime_ns
    assert peers.peer("iniconfig") == python
    assert stamp.stat().st_mtime_ns == made
    assert peers.peer("a-package-that-does-not-exist-anywhere") is None


def test_errors_of_two_libraries_are_told_apart_only_beyond_their_intervals():
    near, far = [1.0, 1.2, 0.8, 1.1, 0.9] * 40, [2.0, 2.2, 1.8, 2.1, 1.9] * 40
    assert table_errors.compared(near, far) == "ahead"
    assert table_errors.compared(far, near) == "behind"
    assert table_errors.compared(near, [each + 0.01 for each in near]) == "within the interval"
    assert table_errors.compared([0.0] * 5, [0.0] * 5) == "within the interval"


def test_errors_are_pooled_over_all_shapes_or_not_at_all():
    found = {shape: {"mean": [float(at)]} for at, shape in enumerate(table_errors.SHAPES)}
    assert table_errors.pooled(found, "mean") == [0.0, 1.0, 2.0]
    found.pop(next(iter(table_errors.SHAPES)))
    assert table_errors.pooled(found, "mean") == table_errors.pooled(None, "mean") == []


def test_what_one_system_is_asked_in_other_words_stands_on_the_page():
    for pairs in sql_peers.REWRITES.values():
        for here, there in pairs.items():
            assert any(here in text for text in sql_peers.QUERIES.values())
            assert f"`{there}` for `{here}`" in sql_peers.rewrites()
    code = sql_peers.table() + "answer = [N, max(uid.count(p) for p in range(20)), words('deniable', 'AVG(n)')]"
    assert peers.answer(peers.OURS, code) == [11_000, 10, "AVG(CLAMP(n, 0, 10))"]


@pytest.mark.parametrize(("law", "grid", "size"), [("Laplace", False, 1), ("Gaussian", True, 1000)])
def test_our_mechanism_is_timed_as_a_mechanism(monkeypatch, law, grid, size):
    asked = []
    monkeypatch.setattr(noise, "cpu", lambda python, *, setup, call: asked.append((setup, call)))
    noise.ours(noise.Case(law, 1 << 20, grid=grid), size)
    names: dict[str, object] = {}
    exec(asked[0][0], names)
    assert isinstance(names["mechanism"], Mechanism)
    assert asked[0][1] == "mechanism(data)"
    found = eval(asked[0][1], names)
    assert size == 1 or len(found) == size


def test_a_page_says_which_peer_is_quicker():
    case = noise.Case("Laplace", 10)
    by = {"deniable": 2.0, noise.SAMPLER: 0.1, "NumPy": 0.5, "OpenDP": 50.0, "diffprivlib": None, "python-dp": 1.0}
    told = noise.ahead({case: {1: by, 10: by | {"python-dp": 2.0}}})
    assert told == "Quicker than our mechanism: python-dp (Laplace, integers, scale 10, n = 1, 2×)."
    assert noise.ahead({case: {1: by | {"python-dp": None}}}) == "No peer is quicker than our mechanism."
