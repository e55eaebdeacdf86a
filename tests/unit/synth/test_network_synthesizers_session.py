"""Network synthesizers through the one door, what their training says of itself, and what they are worth beside tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable.accounting import RuleKind
from deniable.errors import InvalidArgument
from deniable.noise import system_entropy
from deniable.synth.fitted import generator as generators
from deniable.synth.fitted.mixture import fit_modes
from deniable.synth.fitted.row_vectors import RowVectors, tables_record, vectors_of_record
from deniable.synth.fitted.stored import Marginal
from deniable.synth.fitted.twin_evaluation import TrainingTrace, non_convergence, vanishing_gradient
from deniable.synth.fitted.twin_model import fit
from deniable.synth.measured import ctgan_rounds
from deniable.synth.measured.coded import CellRows
from deniable.synth.network_synthesis import BESIDE_MARGINALS, NETWORKS, network_note
from deniable.synth.synthesis import synthesis
from deniable.testing import Seeded
from tests.unit.synth.people import COLUMNS, people, people_rows

QUICK = {
    "ctgan": {"steps": 6, "batches": 4, "hidden": 8},
    "pate-ctgan": {"parts": 5, "rounds": 3, "samples": 8, "hidden": 8},
    "quail": {"target": "sex", "base": "tree"},
}


@pytest.mark.parametrize("method", QUICK)
def test_a_network_twin_is_priced_for_free_charged_once_and_stored(method, tmp_path):
    session = people(people_rows(60)).session(dp.budget(epsilon=10, delta=1e-5), ledger=tmp_path / "p.ledger")
    plan = session.synthesizer(method=method, **QUICK[method])
    assert network_note(method) in repr(plan)
    price = plan.price(epsilon=2)
    assert price.plan["noise of a table"] > 0
    assert "marginal model" in str(price)
    assert session.spent.loss == 0
    twin = plan.release(epsilon=2, request="t")
    spent = session.spent.loss
    assert 0 < spent <= 2
    assert plan.release(epsilon=2).measurements.to_record() == twin.measurements.to_record()
    assert session.spent.loss == spent
    fetched = session.fetch("t")
    assert fetched.to_json() == twin.to_json()
    assert network_note(method) in twin.card()
    frame = twin.frame(200, form="dict")
    assert list(frame) == COLUMNS
    assert set(frame["sex"]) <= {"f", "m"}
    assert all(cell is None or 0 <= cell <= 9 for cell in frame["age"])
    assert 0 <= twin.error("age").tvd <= 1
    assert fetched.model.table([2]).sum() == pytest.approx(twin.model.total)


def test_quail_takes_tables_as_its_base():
    session = people(people_rows(200)).session(dp.budget(epsilon=100, delta=1e-5))
    twin = session.synthesizer(method="quail", target="works", base="tree", split=0.3).release(epsilon=50)
    frame = twin.frame(2000, form="dict")
    pairs = [(works, age) for works, age in zip(frame["works"], frame["age"], strict=True) if None not in (works, age)]
    old = [works for works, age in pairs if age >= 6]
    young = [works for works, age in pairs if age <= 2]
    assert np.mean(old) > np.mean(young) + 0.3  # the classifier saw that whoever is older than four works


@pytest.mark.parametrize(
    ("method", "options", "text"),
    [
        ("gan", {}, "ctgan, pate-ctgan, quail"),
        ("ctgan", {"steps": 0}, "steps"),
        ("ctgan", {"batches": 1}, "batches"),
        ("ctgan", {"clip": 0}, "clip"),
        ("ctgan", {"clip": 1e9}, "clip"),
        ("ctgan", {"parts": 3}, "no option 'parts'"),
        ("ctgan", {"focus": ["sex"]}, "focus"),
        ("ctgan", {"quantiles": {"pay": 4}}, "quantiles"),
        ("pate-ctgan", {"parts": 0}, "parts"),
        ("quail", {}, "target="),
        ("quail", {"target": "pay"}, "categories"),
        ("quail", {"target": "nobody"}, "no column"),
        ("quail", {"target": "sex", "base": "mwem"}, "base must be"),
        ("quail", {"target": "sex", "split": 1}, "split"),
        ("quail", {"target": "sex", "columns": ["sex"]}, "besides its target"),
    ],
)
def test_settings_that_make_no_sense_are_refused_for_nothing(method, options, text):
    session = people(people_rows(20)).session(dp.budget(epsilon=1, delta=1e-5))
    with pytest.raises(InvalidArgument, match=text):
        session.synthesizer(method=method, **options)
    pure = people(people_rows(20)).session(dp.budget(epsilon=1))
    with pytest.raises(InvalidArgument, match="needs a delta"):
        pure.synthesizer(method="ctgan").release(epsilon=1)
    assert session.spent.loss == 0


@pytest.mark.parametrize("method", QUICK)
@pytest.mark.parametrize("rows", [0, 1])
def test_data_never_raises(method, rows):
    found = asked(method, **QUICK[method])
    cells = CellRows(tuple(np.full(rows, size - 1) for size in found.attributes.sizes), np.arange(rows))
    stored = found.family(RuleKind.GAUSSIAN).at(Fraction(1)).function(cells, Seeded(1))
    model, _ = fit(stored)
    assert all(cell.size == 50 for cell in model.cells(50, system_entropy()))


# What a training says of itself ---------------------------------------------------------------------------------------


def asked(method, **options):
    book = people(people_rows(3)).codebook
    told = {"columns": "all", "method": method, "focus": (), "rows": None, "bins": None}
    return synthesis(book, None, **told, options=options)


def trained(multiplier=Fraction(1, 4), **options):
    found = asked("ctgan", **{"steps": 60, "batches": 2, "hidden": 16, **options})
    random = np.random.default_rng(3)  # noqa: TID251 - made-up rows
    first = random.integers(2, size=800)
    columns = [
        np.where(random.random(800) < 0.8, first % size, random.integers(size, size=800))
        for size in found.attributes.sizes
    ]
    cells = CellRows(tuple(columns), np.arange(800))
    return found.family(RuleKind.GAUSSIAN).at(multiplier).function(cells, Seeded(5)), cells


def test_a_healthy_training_shows_no_sign_and_learns_what_depends_on_what():
    stored, cells = trained(steps=150)
    assert stored.notes == (network_note("ctgan"),)
    model, _ = fit(stored)
    table, truth = model.table([0, 5]) / model.total, cells.table((0, 5), (2, 3)).reshape(2, 3) / 800
    apart = np.outer(table.sum(axis=1), table.sum(axis=0))
    assert np.abs(table - truth).sum() < 0.7 * np.abs(apart - truth).sum()


def test_a_discriminator_that_has_nothing_more_to_say_is_noticed(monkeypatch):
    """Planted: generated rows are labelled real, so that everything is real to the discriminator."""
    honest = ctgan_rounds.public_rows
    monkeypatch.setattr(ctgan_rounds, "public_rows", lambda vectors, truth: honest(vectors, 1.0))
    stored, _ = trained(speed=16, steps=20)
    assert stored.notes[0].startswith("Vanishing gradient")


def test_a_discriminator_that_learns_too_fast_goes_silent_and_is_noticed():
    stored, _ = trained(speed=64, steps=40)
    assert stored.notes[0].startswith("Vanishing gradient")


def test_a_generator_that_does_not_settle_is_noticed(monkeypatch):
    """Planted: steps of the generator that are far too long."""
    monkeypatch.setattr(generators, "_RATE", 20.0)
    stored, _ = trained(steps=60)
    assert any(note.startswith("Non-convergence") for note in stored.notes)


def test_signs_are_read_from_the_trace_alone():
    assert TrainingTrace([1.0, 0.9, 1.1, 1.0], [0.1, 0.05]).signs() == ()
    assert vanishing_gradient([1.0] * 10 + [1e-5] * 10)
    assert not vanishing_gradient([1.0] * 10 + [1e-2] * 10)
    assert vanishing_gradient([0.0, 0.0])
    assert non_convergence([0.02, 0.3])
    assert non_convergence([0.02, 0.1])
    assert not non_convergence([0.1, 0.06])
    assert not non_convergence([]) + vanishing_gradient([])


# From released tables to vectors and back -----------------------------------------------------------------------------


def test_modes_are_those_of_the_released_table():
    places = np.arange(60.0)
    shares = np.exp(-((places - 10) ** 2) / 8) + np.exp(-((places - 45) ** 2) / 50)
    means, spreads = fit_modes(shares / shares.sum(), 2)
    assert np.allclose(means, [10, 45], atol=1)
    assert np.allclose(spreads, [2, 5], atol=1)
    one, _ = fit_modes(np.eye(60)[7])
    assert np.allclose(one, 7)


def test_rows_become_whole_vectors_and_come_back_with_their_released_shares():
    data = asked("ctgan", **QUICK["ctgan"]).attributes
    random = np.random.default_rng(2)  # noqa: TID251 - made-up rows
    columns = tuple(random.integers(size, size=500) for size in data.sizes)
    ones = [
        Marginal((k,), np.bincount(c, minlength=s), Fraction(1, 64))
        for k, (c, s) in enumerate(zip(columns, data.sizes, strict=True))
    ]
    vectors = RowVectors.of(data, ones)
    found = vectors.vectors(columns)
    assert (found == np.rint(found)).all()
    assert np.abs(found).max() <= 1024
    assert found.shape[1] == 1 + vectors.width
    alone = vectors.vectors(tuple(column[7:8] for column in columns))
    assert (found[7] == alone[0]).all()  # a row's vector is its own
    back = vectors.cells(found[:, 1:] / 1024)
    for column, cells in zip(columns, back, strict=True):
        assert np.abs(np.bincount(column, minlength=99) - np.bincount(cells, minlength=99)).sum() <= 12
    again = vectors_of_record(tables_record(vectors))
    assert (again.vectors(columns) == found).all()


def test_the_figures_that_users_are_told_are_there():
    assert set(BESIDE_MARGINALS) == {"pairs", *NETWORKS}
    assert all(BESIDE_MARGINALS[method] > BESIDE_MARGINALS["pairs"] for method in NETWORKS)
    assert 0.02 < BESIDE_MARGINALS["pairs"] < 0.06
