"""Cross-validation: one unit more or less changes all fits but one and one score, and what they cost is what is charged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.core.gate import Planned
from deniable.cost import composed
from deniable.models import DecisionTree, LinearRegression, NaiveBayes, Network, Training, cross_validation
from deniable.models.cross_validation import fold_of_row, folds_cost, folds_on
from deniable.models.private_scores import METRICS, score_cost
from deniable.models.trees import part_of_row
from deniable.models.unit_totals import PrivateRows
from deniable.testing import Silent
from tests.models_kit import (
    CHANGED_BOOK,
    COLUMNS,
    ENDS,
    ROW_BOOK,
    UNIT_BOOK,
    book,
    codes,
    people,
    replayed,
    table,
    within,
)

ROW = st.tuples(*(st.integers(*ENDS[name]) for name in COLUMNS))
FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MODELS = {
    "naive Bayes": (NaiveBayes("smoker"), "accuracy"),
    "tree": (DecisionTree("smoker", depth=1, thresholds=1), "auc"),
    "linear": (LinearRegression("wage", features=["age", "town"]), "mae"),
}
DELTA = Fraction(1, 10**5)


def _asked(model, score, folds, text):
    reading = model.reading(book(text))
    return reading, folds_on(reading, model, score=score, folds=folds).at(2)


def _by_fold(pairs, folds):
    """Each fold's steps: those of its fit, and its score, the last."""
    steps = len(pairs) // folds
    assert steps * folds == len(pairs)
    return [(pairs[at : at + steps - 1], pairs[at + steps - 1]) for at in range(0, len(pairs), steps)]


def _same(pair):
    return np.array_equal(np.asarray(pair[0]), np.asarray(pair[1]))


def _kept(pairs, folds, fold):
    """Nothing about the unit's own fold moves but its score, nothing about another but its fit, and all within its cost."""
    parts = _by_fold(pairs, folds)
    others = [part for place, part in enumerate(parts) if place != fold]
    fits_stay = all(_same(pair) for pair in parts[fold][0])
    scores_stay = all(_same(score) for _, score in others)
    return fits_stay and scores_stay and all(within(*pair) for pair in pairs)


def _fold(reading, rows, units, folds):
    return int(fold_of_row(PrivateRows.of(table(reading, rows, units)), folds)[0])


@pytest.mark.parametrize("folds", [2, 3])
@pytest.mark.parametrize("name", MODELS)
@FEW
@given(rows=st.lists(ROW, max_size=5), new=ROW)
def test_one_row_more_changes_all_fits_but_one_and_one_score(monkeypatch, name, folds, rows, new):
    reading, asked = _asked(*MODELS[name], folds, ROW_BOOK)
    pairs = replayed(monkeypatch, asked, table(reading, rows), table(reading, [*rows, new]))
    assert _kept(pairs, folds, _fold(reading, [new], None, folds))


@pytest.mark.parametrize("folds", [2, 3])
@pytest.mark.parametrize("name", MODELS)
@FEW
@given(rows=st.lists(st.tuples(st.integers(1, 4), ROW), max_size=6), new=st.lists(ROW, min_size=1, max_size=3))
def test_one_unit_with_several_rows_changes_all_fits_but_one_and_one_score(monkeypatch, name, folds, rows, new):
    reading, asked = _asked(*MODELS[name], folds, UNIT_BOOK)
    units, cells = [unit for unit, _ in rows], [row for _, row in rows]
    left = table(reading, cells, units)
    right = table(reading, [*cells, *new], [*units, *[9] * len(new)])
    assert _kept(replayed(monkeypatch, asked, left, right), folds, _fold(reading, new, [9] * len(new), folds))


@FEW
@given(rows=st.lists(ROW, max_size=4), old=ROW, new=ROW)
def test_a_changed_row_changes_two_scores_at_most(monkeypatch, rows, old, new):
    """By its content it may leave one fold and enter another; what is paid for are all fits and two scores."""
    reading, asked = _asked(*MODELS["naive Bayes"], 3, CHANGED_BOOK)
    pairs = replayed(monkeypatch, asked, table(reading, [*rows, old]), table(reading, [*rows, new]))
    moved = {_fold(reading, [row], None, 3) for row in (old, new)}
    changed = {place for place, (_, score) in enumerate(_by_fold(pairs, 3)) if not _same(score)}
    assert changed <= moved
    fit, price = MODELS["naive Bayes"][0].at(reading, 2), score_cost(1, METRICS["accuracy"], 2)
    paid = composed([fit.cost(d_in=2).repeated(3), price.group(2).repeated(2)])
    assert dp.epsilon(asked.cost(d_in=2), delta=DELTA) == dp.epsilon(paid, delta=DELTA)


@pytest.mark.parametrize("rate", [Fraction(1, 4), 1])
def test_what_a_changed_row_costs_covers_one_that_comes(rate):
    """A changed row that leaves a fold comes to the rows of one fit, which was priced for changed rows."""
    model = Training(Network(()), target="smoker", rate=rate, steps=4)
    reading = model.reading(book(CHANGED_BOOK))
    fit = model.at(reading, 2)
    for delta in (Fraction(1, 100), DELTA, Fraction(1, 10**9)):
        assert dp.epsilon(fit.cost(d_in=2), delta=delta).lower >= dp.epsilon(fit.cost(d_in=1), delta=delta).upper


def test_folds_by_the_order_of_rows_are_caught(monkeypatch):
    """The planted fault: one row more, at the beginning, moves all others to other folds."""
    rows = codes(people(6))
    reading, asked = _asked(*MODELS["naive Bayes"], 2, ROW_BOOK)
    left, right = table(reading, rows[1:]), table(reading, rows)
    fold = _fold(reading, rows[:1], None, 2)
    assert _kept(replayed(monkeypatch, asked, left, right), 2, fold)
    with monkeypatch.context() as patch:
        patch.setattr(cross_validation, "fold_of_row", lambda rows, folds: np.arange(rows.count) % folds)
        pairs = replayed(patch, asked, left, right)
    assert not _kept(pairs, 2, 0)
    assert not _kept(pairs, 2, 1)


def _charged(monkeypatch, asked, data, folds, fold):
    """What was charged inside for steps that a unit of this fold changes."""
    charged, honest = [], Planned.charge

    def noted(self, cost):
        charged.append(cost)
        return honest(self, cost)

    with monkeypatch.context() as patch:
        patch.setattr(Planned, "charge", noted)
        asked.function(data, Silent())
    steps = len(charged) // folds
    return [cost for place, cost in enumerate(charged) if (place // steps == fold) == (place % steps == steps - 1)]


@pytest.mark.parametrize("folds", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_what_a_unit_changes_adds_up_to_the_declared_cost(monkeypatch, name, folds):
    reading, asked = _asked(*MODELS[name], folds, ROW_BOOK)
    declared = dp.epsilon(asked.cost(d_in=1), delta=DELTA)
    for fold in range(folds):
        inner = _charged(monkeypatch, asked, table(reading, codes(people(20))), folds, fold)
        spent = dp.epsilon(composed(inner), delta=DELTA)
        assert spent.lower <= declared.upper
        assert declared.lower <= spent.upper


def test_a_score_that_nobody_pays_for_is_caught(monkeypatch):
    """The planted fault: the fits are charged, and the score is left out."""

    def short(fit, price, folds, d_in):
        return fit.privacy_map(d_in).repeated(folds - 1)

    monkeypatch.setattr(cross_validation, "folds_cost", short)
    reading, asked = _asked(*MODELS["tree"], 2, ROW_BOOK)
    declared = dp.epsilon(asked.cost(d_in=1), delta=DELTA)
    inner = _charged(monkeypatch, asked, table(reading, codes(people(20))), 2, 0)
    assert dp.epsilon(composed(inner), delta=DELTA).lower > declared.upper


def test_units_that_change_together_pay_for_every_fold_they_may_be_in():
    reading, _ = _asked(*MODELS["naive Bayes"], 3, ROW_BOOK)
    fit, price = NaiveBayes("smoker").at(reading, 2), score_cost(1, METRICS["accuracy"], 2)
    for units, fits, scores in ((1, 2, 1), (2, 3, 2), (7, 3, 3)):
        paid = composed([fit.cost(d_in=units).repeated(fits), price.group(units).repeated(scores)])
        assert dp.epsilon(folds_cost(fit, price, 3, Fraction(units)), delta=DELTA) == dp.epsilon(paid, delta=DELTA)


@given(rows=st.lists(ROW, min_size=1, max_size=6), new=ROW, folds=st.integers(2, 7))
@settings(max_examples=30, deadline=None)
def test_nobody_else_moves_a_unit_to_another_fold(rows, new, folds):
    reading = NaiveBayes("smoker").reading(book(ROW_BOOK))
    before = fold_of_row(PrivateRows.of(table(reading, rows)), folds)
    after = fold_of_row(PrivateRows.of(table(reading, [new, *rows])), folds)
    assert (before == after[1:]).all()


@pytest.mark.parametrize("text", [ROW_BOOK, UNIT_BOOK])
def test_folds_are_about_even_and_are_not_the_parts_of_a_forest(text):
    """Where a forest of as many trees deals units alike, one tree would have nobody to learn from."""
    rows = codes(people(3000))
    labels = None if text == ROW_BOOK else np.arange(3000) * 7919
    reading = NaiveBayes("smoker").reading(book(text))
    held = PrivateRows.of(table(reading, rows, labels))
    fold, part = fold_of_row(held, 5), part_of_row(held, 5)
    assert np.bincount(fold, minlength=5).min() > 480
    both = np.bincount(5 * fold + part, minlength=25)
    assert both.min() > 70
