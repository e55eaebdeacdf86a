"""At least thirty-eight of the forty planted faults are found; no mechanism of ours is accused. Draws are scripted."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import import_module

import jsonschema_rs
import pytest

import deniable as dp
from deniable import mechanisms as m
from deniable.audit.answer_columns import columns
from deniable.audit.claims import curve_of
from deniable.audit.exact_law import PLACES, output_law
from deniable.audit.faults import PLANTED
from deniable.audit.faults.noise_faults import DrawnOnce
from deniable.audit.self_audit import SELF_SCHEMA, SelfReport, audit_fault, audit_sound, replay_fault
from deniable.audit.sound import SCALES, Sound, sound
from deniable.audit.subject import subject_of
from deniable.audit.two_halves import Choice, try_event
from deniable.core.mechanism import Mechanism
from deniable.cost import Bounded
from deniable.testing import Seeded
from tests.docs.pages import ROOT
from tests.laws.test_every_mechanism import COMBINATORS, NO_MECHANISM

MISSED: set[str] = set()
"""Faults that may be missed, by title, each with its reason; at most two."""


def test_there_are_forty_and_each_says_what_it_is():
    assert len(PLANTED) == 40
    assert len({fault.title for fault in PLANTED}) == 40
    for fault in PLANTED:
        assert "NOT PRIVATE" in (fault.__doc__ or "")
        assert fault.best
        assert not isinstance(fault(), Mechanism)
    assert len(MISSED) <= 2


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(fault):
    verdict = audit_fault(fault, entropy=Seeded(list(PLANTED).index(fault)))
    assert verdict.broken == (fault.title not in MISSED)
    assert str(verdict.event)


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.__name__)
def test_the_event_that_a_fault_names_gives_it_away_with_its_draws(fault):
    """The named event alone, on so many draws, or by its law: what the auditor has to find is really there."""
    planted, curve = fault(), curve_of(fault.claim)
    if fault is DrawnOnce:
        planted._kept = 0
    if fault.samples is None:
        laws = [output_law(lambda e, d=data: planted.function(d, e)) for data in (fault.left, fault.right)]
        (high,) = [end for _, end in fault.event.intervals]
        rates = [float(sum(low for at, (low, _) in law.chances.items() if at <= high) / 2**PLACES) for law in laws]
        assert curve.excess(*rates) > 0
        return
    draws = fault.samples // 2
    sides = [
        columns(subject_of(planted).draws(data, draws, Seeded(500 + place)))
        for place, data in enumerate((fault.left, fault.right))
    ]
    trials = [
        try_event(Choice(fault.event, is_reversed), *sides, draws=draws, curve=curve, error=0.01)
        for is_reversed in (False, True)
    ]
    assert any(trial.broken for trial in trials)
    assert str(fault.event).startswith(("the ", "answer["))


@pytest.mark.parametrize("fault", [f for f in PLANTED if hasattr(f, "program")], ids=lambda fault: fault.__name__)
def test_replay_alone_finds_it_and_names_the_function(fault):
    assert replay_fault(fault)


CASES = [(scale, case) for scale in SCALES for case in sound(scale)]
LEVEL = 0.01


@pytest.mark.parametrize(("scale", "case"), CASES, ids=[f"{case.name}-{scale}" for scale, case in CASES])
def test_a_sound_mechanism_is_not_accused(scale, case):
    found = audit_sound(case, samples=2_000, error=LEVEL / len(CASES), entropy=Seeded(hash_of(case.name)))
    assert found in {"cleared", "beyond"}
    if scale == 1:
        assert found == "cleared" or case.name in {"all_above_threshold", "one_shot_top_k", "set_union"}


def hash_of(name: str) -> int:
    return sum(ord(letter) * (place + 1) for place, letter in enumerate(name))


def test_every_public_mechanism_is_in_the_sound_set():
    assert {case.name for case in sound(Fraction(1))} == {*m.__all__} - NO_MECHANISM - {*COMBINATORS}


def test_nobody_and_one_person():
    """n = 0 and n = 1: the empty data set beside one row."""
    space = dp.calculus.Space(dp.calculus.Rows(dp.calculus.Numbers()), dp.calculus.SymmetricDistance())
    for epsilon in (Fraction(1, 10), 1, 10):
        counted = space >> dp.calculus.count() >> dp.calculus.laplace(scale=1 / Fraction(epsilon))
        assert not dp.audit.check(counted, neighbours=([], [3.0])).broken


def test_a_report_fails_when_somebody_is_accused_or_much_is_missed():
    good = SelfReport(("a",), (), ("r",), (), ("c",), (), (), 0.01, "system")
    assert good.passed
    assert "1 of 1 caught" in str(good)
    assert good.record()["passed"] is True
    assert not SelfReport(("a",), (), (), (), (), (), ("laplace",), 0.01, "system").passed
    assert not SelfReport((), ("a", "b", "c"), (), (), (), (), (), 0.01, "system").passed
    assert not SelfReport((), (), (), ("r",), (), (), (), 0.01, "system").passed


def test_the_certificate_beside_the_documentation_is_that_of_this_version():
    """`deniable audit self --quick --level 0.0001 --certificate docs/certificates/self-audit.json` makes it again."""
    record = json.loads((ROOT / "docs" / "certificates" / "self-audit.json").read_text(encoding="utf-8"))
    jsonschema_rs.validate(SELF_SCHEMA, record)
    assert record["version"] == dp.__version__
    assert record["passed"] is True
    assert record["our mechanisms"]["accused"] == []
    faults = record["planted faults"]
    assert {*faults["caught"], *faults["missed"]} == {fault.title for fault in PLANTED}
    assert record["entropy"] == "system"
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(SELF_SCHEMA, {**record, "passed": "yes"})


class Understated(Sound):
    """A sound mechanism that claims a thousandth."""

    @property
    def claim(self):
        return Bounded(epsilon=Fraction(1, 1000))


def test_a_self_audit_sorts_what_it_finds(monkeypatch):
    """Each mechanism and each fault has its own test above, and `dev.py test` runs the whole: here it is put together."""
    replayed = [fault for fault in PLANTED if hasattr(fault, "program")]
    few = [*replayed[:1], *(fault for fault in PLANTED if fault.samples is None and fault not in replayed)][:3]
    self_auditor = import_module("deniable.audit.self_audit")
    monkeypatch.setattr(self_auditor, "PLANTED", few)
    cases = [case for case in sound(Fraction(1)) if case.name in {"laplace", "randomized_response"}]
    first = cases[0]
    wrong = Understated(first.name, first.mechanism, first.left, first.right, first.d_in, first.ask, first.enumerable)
    monkeypatch.setattr(self_auditor, "sound", lambda scale: cases)
    said: list[str] = []
    report = dp.audit.self_audit(quick=True, entropy=Seeded(1), scales=(Fraction(1),), say=said.append)
    assert report.passed
    assert report.caught == tuple(fault.title for fault in few)
    assert report.replayed == tuple(fault.title for fault in few if fault in replayed)
    assert (report.missed, report.not_replayed, report.beyond, report.accused) == ((), (), (), ())
    assert report.cleared == tuple(f"{case.name} at scale 1" for case in cases)
    assert len(said) == 2 + len(few) + 1
    monkeypatch.setattr(self_auditor, "sound", lambda scale: [*cases, wrong])
    accused = dp.audit.self_audit(quick=True, entropy=Seeded(1), scales=(Fraction(1),))
    assert not accused.passed
    assert accused.accused == (f"{wrong.name} at scale 1",)
