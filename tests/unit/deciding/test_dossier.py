"""A dossier tells everything about a release, names what blocks it, and fits the registry's schema."""

from __future__ import annotations

import json
import re
import zlib
from datetime import date

import pytest
import yaml

import deniable as dp
from deniable.deciding import Checklist, InformationFlow, choose_epsilon, dossier, registry_problems
from deniable.deciding.checklist import ITEMS, SYSTEM
from deniable.errors import InvalidArgument
from tests.needs import require_module
from tests.unit.deciding.test_epsilon_choice import BOOK

FLOW = {
    "subject": "patients",
    "sender": "the hospital",
    "recipient": "the public",
    "type": "counts of visits",
    "principle": "for care only",
    "disrupted": "figures leave the hospital",
    "mended": "membership and reconstruction",
    "not_mended": "that figures leave at all; the board agreed",
}


@pytest.fixture(autouse=True)
def _state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def release():
    rows = {"patient": [1, 2, 3, 4], "ward": ["A", "B", "A", "C"], "smokes": [True, False, True, None]}
    session = dp.Dataset(rows, codebook=BOOK).session(dp.budget(epsilon=1))
    return session.query().group_by("ward").agg(**{"n<script>": dp.count()}).release(epsilon=0.5)


def decided(epsilon=1):
    shown = choose_epsilon(BOOK, harm="serious", attack="tracing", people=5_000)
    return shown.decide(epsilon, reason="as the board agreed", by="A. Curator", on=date(2026, 5, 4))


def filled(folder):
    """A checklist file in which every item that a person must answer is answered."""
    (folder / "rules.txt").write_text("the rules", encoding="utf-8")
    items = {
        item.id: {"role": "curator", "date": date(2026, 5, 4), "text": f"see minutes on {item.id}"} for item in ITEMS
    }
    items["policies"]["file"] = "rules.txt"
    items["frame"] = {"not_applicable": "a full register"}
    (folder / "checklist.yaml").write_text(yaml.safe_dump({"items": items}), encoding="utf-8")
    (folder / "context.yaml").write_text(yaml.safe_dump(FLOW), encoding="utf-8")
    return folder / "checklist.yaml", folder / "context.yaml"


def test_a_bare_release_is_blocked_and_a_complete_dossier_is_not(release, tmp_path):
    bare = dossier(release)
    assert any("Regulation" in each for each in bare.blockers)
    assert any("context form" in each for each in bare.blockers)
    checklist, context = filled(tmp_path)
    whole = bare.checklist(checklist).context(context).decision(decided())
    assert whole.blockers == ()
    assert "nothing blocks" in str(whole)


def test_the_system_fills_in_what_the_release_shows_and_leaves_people_their_answers(release):
    given = Checklist().done("unit", role="lawyer", text="patients, see the ruling")
    found = dossier(release).checklist(given).full_checklist
    assert found["unit"].evidence.role == "lawyer"
    assert found["released"].evidence.role == SYSTEM
    assert release.receipt.id in found["released"].evidence.text
    assert found["mechanisms"].evidence.text == "; ".join(release.facts.mechanisms)
    assert found["regulation"].open


def test_a_release_dearer_than_decided_blocks(release, tmp_path):
    checklist, context = filled(tmp_path)
    whole = dossier(release).checklist(checklist).context(context).decision(decided(0.4))
    assert [each for each in whole.blockers if "more than the 0.4 decided" in each] == list(whole.blockers)


def test_evidence_is_kept_by_its_hash(tmp_path):
    import hashlib

    checklist, _ = filled(tmp_path)
    assert Checklist.load(checklist)["policies"].evidence.file_hash == hashlib.sha256(b"the rules").hexdigest()
    (tmp_path / "rules.txt").unlink()
    with pytest.raises(InvalidArgument, match="cannot be read"):
        Checklist.load(checklist)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("items: [1", "not valid YAML at line 1"),
        ("[1]", "must be a mapping"),
        ("items: {nothing_like_it: {role: a, date: 2026-01-01, text: b}}", "no item 'nothing_like_it'"),
        ("items: {unit: {role: a, text: b}}", "needs role, date"),
        ("items: {unit: {role: '', date: 2026-01-01, text: b}}", "needs the role"),
        ("items: {unit: {not_applicable: ' '}}", "reason why"),
        ("items: !!python/object/apply:os.getcwd []", "not valid YAML"),
    ],
)
def test_a_broken_checklist_is_refused_in_one_line(tmp_path, text, words):
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=words):
        Checklist.load(tmp_path / "c.yaml")


def test_the_context_form_is_whole_or_refused():
    assert InformationFlow.from_record(FLOW).to_record() == FLOW
    for name in FLOW:
        with pytest.raises(InvalidArgument, match=name):
            InformationFlow.from_record({key: value for key, value in FLOW.items() if key != name})
        with pytest.raises(InvalidArgument, match=name):
            InformationFlow.from_record({**FLOW, name: "  "})
    with pytest.raises(InvalidArgument, match="unknown"):
        InformationFlow.from_record({**FLOW, "more": "x"})


def test_every_form_says_the_same_and_nothing_becomes_markup(release, tmp_path):
    checklist, context = filled(tmp_path)
    whole = dossier(release).checklist(checklist).context(context).decision(decided()).audit("no claim refuted")
    record = json.loads(whole.to_json(tmp_path / "d.json"))
    page, text = whole.to_html(tmp_path / "d.html"), whole.to_markdown(tmp_path / "d.md")
    assert "n<script>" not in page
    assert "n<script>" not in text
    embedded = re.search(r'<script type="application/json" id="dossier">(.*?)</script>', page, re.DOTALL)
    assert json.loads(embedded[1]) == record
    for fact in (release.guarantee, "as the board agreed", "no claim refuted", "for care only", release.receipt.id):
        assert fact in page
    assert record["receipt"]["id"] == release.receipt.id
    assert {"delta": "0", "epsilon": "0.5"} in record["readings"]
    assert set(record["label"]) == {
        "What",
        "Who is protected",
        "Privacy loss",
        "Right guesses about one person",
        "Error",
        "Not protected",
    }


@pytest.mark.slow
def test_the_pdf_carries_its_json_and_fetches_nothing(release, tmp_path):
    require_module("weasyprint")
    whole = dossier(release).context(InformationFlow.from_record(FLOW)).decision(decided())
    raw = whole.to_pdf(tmp_path / "d.pdf").read_bytes()
    assert raw.startswith(b"%PDF-")
    streams = []
    for found in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", raw, re.DOTALL):
        try:
            streams.append(zlib.decompress(found[1]))
        except zlib.error:
            streams.append(found[1])
    assert any(json.dumps("as the board agreed").encode() in each and b'"format"' in each for each in streams)


def test_the_registry_entry_fits_its_schema_and_needs_a_decision(release):
    with pytest.raises(InvalidArgument, match="why epsilon was chosen"):
        dossier(release).registry_entry()
    entry = yaml.safe_load(dossier(release).decision(decided()).to_registry())
    assert registry_problems(entry) == []
    assert (entry["epsilon"], entry["justification"]) == ("1/2", "as the board agreed")
    for broken in (
        {**entry, "epsilon": "0.5"},
        {**entry, "mechanisms": []},
        {**entry, "unit": ""},
        {**entry, "format": "another"},
        {**entry, "surprise": "x"},
        {key: value for key, value in entry.items() if key != "justification"},
        {**entry, "flow": {"subject": ""}},
        {**entry, "accuracy": "fine"},
    ):
        assert registry_problems(broken)


def test_the_schema_is_read_alike_by_a_validator_of_json_schema(release):
    schemas = require_module("jsonschema_rs")
    from deniable.deciding.registry_entry import SCHEMA

    entry = dossier(release).decision(decided()).registry_entry()
    assert schemas.is_valid(SCHEMA, entry)
    assert not schemas.is_valid(SCHEMA, {**entry, "epsilon": "x"})


def test_an_undecided_choice_and_anything_but_a_release_are_refused(release):
    with pytest.raises(InvalidArgument, match="nothing was decided"):
        dossier(release).decision(choose_epsilon(BOOK, harm="grave", attack="linkage", people=10))
    with pytest.raises(InvalidArgument, match="about a release"):
        dossier("release")
