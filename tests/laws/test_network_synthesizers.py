"""Network synthesizers: one unit more or less moves every inner whole-number answer by at most its declared length."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable.accounting import RuleKind
from deniable.cost import Composed, Gaussian, Neighbours, Repeated, Sampled
from deniable.models.links import LOGISTIC
from deniable.models.network import layers, passed
from deniable.models.task import condensed
from deniable.models.unit_totals import PrivateRows
from deniable.synth.fitted.row_vectors import RowVectors
from deniable.synth.fitted.stored import Marginal
from deniable.synth.measured import pate_ctgan_rounds as pate
from deniable.synth.measured.coded import CellRows
from deniable.synth.measured.ctgan_rounds import real_gradient
from deniable.synth.measured.network_rounds import discriminator, one_way_tables, row_table
from deniable.synth.synthesis import synthesis
from tests.models_kit import replayed, within
from tests.unit.synth.people import people, people_rows, wide_book

TINY = {
    "ctgan": {"steps": 2, "batches": 2, "hidden": 3},
    "pate-ctgan": {"parts": 3, "rounds": 2, "samples": 8, "hidden": 3},
    "quail": {"target": "sex", "base": "ctgan", "steps": 2},
}


def asked(method, rows, book=None, **options):
    data = people(rows) if book is None else people(rows, book)
    told = {**TINY[method], **options}
    found = synthesis(data.codebook, None, columns="all", method=method, focus=(), rows=None, bins=None, options=told)
    return found, found.read(data.session(dp.budget(epsilon=1))._data)


def without(rows, unit):
    kept = [place for place, who in enumerate(rows["who"]) if who != unit]
    return {name: [cells[place] for place in kept] for name, cells in rows.items()}


def inner(cost):
    return cost.cost if isinstance(cost, Sampled) else cost


@pytest.mark.parametrize("method", TINY)
@pytest.mark.parametrize("per_unit", [1, 3])
def test_one_unit_moves_no_inner_answer_further_than_declared(method, per_unit, monkeypatch):
    rows = people_rows(9, seed=4, per_unit=per_unit)
    if per_unit == 1:
        rows, book = {**rows}, wide_book()
        whole, cells = asked(method, {n: c for n, c in rows.items() if n != "who"}, book)
    else:
        book = None
        whole, cells = asked(method, rows)
        assert cells.labels is not None
    mechanism = whole.family(RuleKind.GAUSSIAN).at(Fraction(1, 8))
    furthest = 0
    for unit in (0, 4, 8):
        fewer = without(rows, unit)
        left_out = {n: c for n, c in fewer.items() if n != "who"} if per_unit == 1 else fewer
        _, less = asked(method, left_out, book)
        for left, right, cost in replayed(monkeypatch, mechanism, cells, less):
            assert within(left, right, inner(cost))
            furthest = max(furthest, float(np.abs(np.asarray(left) - np.asarray(right)).max()))
    assert furthest > 0


@pytest.mark.parametrize("method", TINY)
def test_the_declared_cost_is_that_of_all_inner_answers_together(method, monkeypatch):
    whole, cells = asked(method, people_rows(9))
    mechanism = whole.family(RuleKind.GAUSSIAN).at(Fraction(3))
    costs = [cost for _, _, cost in replayed(monkeypatch, mechanism, cells, cells)]
    delta = Fraction(1, 10**6)
    assert dp.epsilon(mechanism.cost(d_in=1), delta=delta).upper == dp.epsilon(condensed(costs), delta=delta).upper
    assert dp.epsilon(condensed(costs[:-1]), delta=delta).upper < dp.epsilon(condensed(costs), delta=delta).upper


def test_a_replaced_row_is_charged_by_the_theorem_for_replaced_rows():
    rows = {name: cells for name, cells in people_rows(6, per_unit=1).items() if name != "who"}
    changed, _ = asked("ctgan", rows, wide_book().replace("unit: rows", "unit: changed rows"))
    plain, _ = asked("ctgan", rows, wide_book())
    costs = [each.family(RuleKind.GAUSSIAN).at(Fraction(2)).cost(d_in=1) for each in (changed, plain)]
    assert all(isinstance(cost, Composed) for cost in costs)
    steps = [next(part.cost for part in cost.costs if isinstance(part, Repeated)) for cost in costs]
    assert [step.neighbours for step in steps] == [Neighbours.REPLACE, Neighbours.ADD_REMOVE]
    assert dp.epsilon(costs[0], delta=1e-6).upper > dp.epsilon(costs[1], delta=1e-6).upper


# Planted faults -------------------------------------------------------------------------------------------------------


def _parts(rows_count=40):
    rows = {name: cells for name, cells in people_rows(rows_count, per_unit=1).items() if name != "who"}
    whole, cells = asked("ctgan", rows, wide_book())
    data = whole.network_data
    private = PrivateRows.of(row_table(cells))
    noise = data.tables_noise(Fraction(1, 64))
    tables = np.split(one_way_tables(data.cells(private), data.attributes), np.cumsum(data.attributes.sizes)[:-1])
    ones = [Marginal((place,), table, noise.scale) for place, table in enumerate(tables)]
    vectors = RowVectors.of(data.attributes, ones)
    return data, cells, vectors, discriminator(vectors, 3, LOGISTIC)


def _less(cells, place):
    return CellRows(tuple(np.delete(column, place) for column in cells.columns))


def test_clipping_a_batch_instead_of_each_row_is_caught():
    data, cells, vectors, path = _parts()
    clip = path.grid // 64
    weights = path.start()

    def by_batch(some):
        rows = PrivateRows.of(row_table(some))
        run = passed(vectors.vectors(data.cells(rows)), np.ones((rows.count, 1)), layers(path.sizes, weights), LOGISTIC)
        whole = np.concatenate([(each.T @ error).ravel() for each, error in zip(run.inputs, run.errors, strict=True)])
        return whole * 64 / max(np.sqrt((whole**2).sum()) * 64 / clip, 1) * rows.count

    def by_row(some):
        return real_gradient(path, data, vectors, weights, clip)(PrivateRows.of(row_table(some)))

    def moved(total):
        gaps = [total(cells) - total(_less(cells, place)) for place in range(0, 40, 5)]
        return max(float(np.sqrt((gap.astype(np.float64) ** 2).sum())) for gap in gaps)

    assert 0 < moved(by_row) <= clip
    assert moved(by_batch) > clip


def test_teachers_by_row_order_are_caught(monkeypatch):
    data, cells, vectors, path = _parts()
    settings = pate.TeacherSettings(parts=4, rounds=3, samples=30, hidden=3, speed=8.0)
    drawn = vectors.vectors(tuple(column[::-1][:30] for column in cells.columns))

    def furthest():
        def votes(some):
            rows = PrivateRows.of(row_table(some))
            return [pate.TeacherVotes(path, data, vectors, settings, drawn)(rows) for _ in range(3)]

        whole = votes(cells)
        return max(
            int(np.abs(a - b).max())
            for place in range(0, 40, 4)
            for a, b in zip(whole, votes(_less(cells, place)), strict=True)
        )

    assert furthest() == 1
    monkeypatch.setattr(pate, "part_of_row", lambda rows, parts: np.arange(rows.count) % parts)
    assert furthest() > 1


def test_tables_of_a_unit_with_several_rows_reach_their_bound():
    rows = {name: [cell] * 2 for name, cell in zip(people_rows(1), [0, "f", "a", 3, 5.0, None, True], strict=True)}
    whole, cells = asked("ctgan", rows)
    data = whole.network_data
    found = one_way_tables(data.cells(PrivateRows.of(row_table(cells))), data.attributes)
    assert int((found**2).sum()) == data.tables_noise(1).square == 6 * 4
    assert isinstance(data.tables_noise(1).cost, Gaussian)
