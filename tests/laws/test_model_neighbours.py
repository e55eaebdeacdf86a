"""For every estimator: one unit more or less moves each inner total by at most its declared length, whatever came before."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.core.gate import Planned
from deniable.cost import Gaussian, composed
from deniable.errors import DeniableError
from deniable.models import (
    PCA,
    AdditiveModel,
    DecisionTree,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    Network,
    Training,
    descent,
    unit_totals,
)
from deniable.models.centring import UNIT, Centre
from deniable.models.encoding import GRID
from deniable.models.naive_bayes import BayesPart
from deniable.models.task import condensed, planned_task
from deniable.models.trees import SCORES, RandomForest, candidates, part_of_row, score_range, side_score, split_scores
from deniable.models.unit_totals import PrivateRows, cut, root_up
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
ESTIMATORS = {
    "linear": LinearRegression("wage"),
    "linear descent": LinearRegression("wage", method="descent", steps=3),
    "logistic": LogisticRegression("smoker", steps=3),
    "multinomial": LogisticRegression("town", steps=2),
    "additive": AdditiveModel("smoker", turns=1, thresholds=2),
    "k-means": KMeans(2, rounds=2),
    "components": PCA(1),
    "tree": DecisionTree("town", depth=2, thresholds=2),
    "information tree": DecisionTree("smoker", depth=1, thresholds=1, split="information", cap=50),
    "forest": RandomForest("smoker", depth=1, thresholds=1, trees=3, split="correct"),
    "network": Training(Network((2,)), target="smoker", rate=1, steps=2),
    "disjoint batches": Training(
        Network(()), target="town", loss="multinomial", rate=Fraction(1, 2), steps=2, batches="disjoint"
    ),
    "naive Bayes": NaiveBayes("smoker", law={"age": "lognormal", "wage": "exponential", "height": "binned"}),
}
ONE_ROW = {"functional": LinearRegression("wage", features=["age", "town"], method="functional")}
"""Proved for units of one row, and refused for more."""
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", [*ESTIMATORS, *ONE_ROW])
@FEW
@given(rows=st.lists(ROW, min_size=0, max_size=5), new=ROW)
def test_one_row_more_moves_no_total_further_than_declared(monkeypatch, name, rows, new):
    model = (ESTIMATORS | ONE_ROW)[name]
    reading = model.reading(book(ROW_BOOK))
    fit = model.at(reading, 2)
    for left, right, cost in replayed(monkeypatch, fit, table(reading, rows), table(reading, [*rows, new])):
        assert within(left, right, cost)


@pytest.mark.parametrize("name", ESTIMATORS)
@FEW
@given(rows=st.lists(st.tuples(st.integers(1, 3), ROW), max_size=6), new=st.lists(ROW, min_size=1, max_size=3))
# a squared length of 16, where five columns of three rows make 15
@example(rows=[], new=[(0, 0, 0, 0, 0, 0), (0, 0, 1, 1, 0, 0)])
def test_one_unit_with_several_rows_moves_no_total_further_than_declared(monkeypatch, name, rows, new):
    model = ESTIMATORS[name]
    reading = model.reading(book(UNIT_BOOK))
    assert reading.per_unit == 3
    fit = model.at(reading, 2)
    units, cells = [unit for unit, _ in rows], [row for _, row in rows]
    left = table(reading, cells, units)
    right = table(reading, [*cells, *new], [*units, *[9] * len(new)])
    for one, other, cost in replayed(monkeypatch, fit, left, right):
        assert within(one, other, cost)


def test_rows_clipped_one_by_one_are_caught(monkeypatch):
    """The planted fault: each row is cut to the unit's length, and the unit adds three of them."""

    def by_row(vectors, starts, norm):
        return cut(vectors, norm).sum(axis=0, dtype=np.int64)

    monkeypatch.setattr(unit_totals, "cut_total", by_row)
    model = ESTIMATORS["linear"]
    reading = model.reading(book(UNIT_BOOK))
    far = (40, 16, 1, 2, 1, 50)
    with monkeypatch.context() as patch:
        patch.setattr(unit_totals, "cut_total", by_row)
        fit = model.at(reading, 2)
        pairs = replayed(patch, fit, table(reading, [], []), table(reading, [far] * 3, [1] * 3))
    assert not all(within(*pair) for pair in pairs)


def test_a_model_that_knows_the_exact_number_of_rows_is_caught(monkeypatch):
    """The planted fault: a divisor is the data's own count, which is in no noisy answer."""

    model = ESTIMATORS["naive Bayes"]
    reading = model.reading(book(ROW_BOOK))
    honest = model.at(reading, 2)
    row = (0, 0, 0, 0, 0, 0)

    def leaking(data, entropy):
        return replace(honest.function(data, entropy), counts=(float(len(data.columns["smoker"])), 0.0))

    with pytest.raises(AssertionError, match="knows more"), monkeypatch.context() as patch:
        replayed(patch, replace(honest, function=leaking), table(reading, [row]), table(reading, [row, row]))


@pytest.mark.parametrize("name", [*ESTIMATORS, *ONE_ROW])
def test_inner_costs_add_up_to_the_declared_cost(monkeypatch, name):
    model = (ESTIMATORS | ONE_ROW)[name]
    reading = model.reading(book(ROW_BOOK))
    fit, charged, honest = model.at(reading, 2), [], Planned.charge

    def noted(self, cost):
        charged.append(cost)
        return honest(self, cost)

    monkeypatch.setattr(Planned, "charge", noted)
    fit.function(table(reading, codes(people(20))), Silent())
    assert condensed(charged) == fit.cost(d_in=1)
    spent = dp.epsilon(composed(charged), delta=Fraction(1, 10**5)).upper
    assert spent >= dp.epsilon(fit.cost(d_in=1), delta=Fraction(1, 10**5)).lower


def test_a_step_that_was_not_planned_is_refused(monkeypatch):
    """The planted fault: one more gradient than was charged for."""
    model = ESTIMATORS["logistic"]
    reading, honest = model.reading(book(ROW_BOOK)), planned_task

    def short(space, *, costs, **words):
        return honest(space, costs=costs[:-1], **words)

    monkeypatch.setattr(descent, "planned_task", short)
    with pytest.raises(DeniableError):
        model.at(reading, 2).function(table(reading, codes(people(5))), Silent())


def test_sums_that_are_not_centred_are_caught(monkeypatch):
    """The planted fault: places from the lower bound on, so that a row counts for twice what the noise is for."""
    model = NaiveBayes("smoker", features=["wage"])
    reading = model.reading(book(ROW_BOOK))
    honest = BayesPart.places
    monkeypatch.setattr(BayesPart, "places", lambda self, cells: honest(self, cells) + GRID)
    with monkeypatch.context() as patch:
        pairs = replayed(patch, model.at(reading, 2), table(reading, []), table(reading, [(0, 0, 0, 0, 1, 50)]))
    assert not all(within(*pair) for pair in pairs)


@FEW
@given(rows=st.lists(ROW, max_size=5), old=ROW, label=st.integers(0, 1))
def test_a_moved_label_moves_sums_by_at_most_twice_a_row(monkeypatch, rows, old, label):
    """Changed rows: the whole row leaves one class and enters another, which is two rows and charged as two."""
    model = ESTIMATORS["naive Bayes"]
    reading = model.reading(book(CHANGED_BOOK))
    assert reading.replaces
    new = (*old[:4], label, old[5])
    fit = model.at(reading, 2)
    pairs = replayed(monkeypatch, fit, table(reading, [*rows, old]), table(reading, [*rows, new]))
    for left, right, cost in pairs:
        assert within(left, right, Gaussian(scale=cost.scale, squared_sensitivity=4 * cost.squared_sensitivity))
    assert fit.cost(d_in=2) == fit.cost(d_in=1).group(2)


@given(
    vectors=st.lists(st.lists(st.integers(-(2**25), 2**25), min_size=3, max_size=3), min_size=1, max_size=4),
    norm=st.integers(1, 2**26),
)
@settings(max_examples=200, deadline=None)
def test_cut_vectors_are_never_longer_and_point_the_same_way(vectors, norm):
    before = np.array(vectors, dtype=np.int64)
    after = cut(before, norm)
    for one, other in zip(before.tolist(), after.tolist(), strict=True):
        assert sum(entry * entry for entry in other) <= norm * norm
        assert all(abs(b) <= abs(a) and a * b >= 0 for a, b in zip(one, other, strict=True))
        if sum(entry * entry for entry in one) <= norm * norm:
            assert one == other


# Splits ---------------------------------------------------------------------------------------------------------------

COUNTS = st.lists(st.integers(0, 40), min_size=3, max_size=3)


@pytest.mark.parametrize("kind", SCORES)
@FEW
@given(rows=st.lists(ROW, max_size=8), new=st.lists(ROW, min_size=1, max_size=3))
def test_one_unit_moves_the_scores_of_all_cuts_within_one_range(kind, rows, new):
    reading = DecisionTree("town").reading(book(ROW_BOOK))
    cuts, (_, spread) = candidates(reading.features, 3), score_range(kind, 3, 20)

    def scores(cells):
        held = PrivateRows.of(table(reading, cells))
        return np.array(split_scores(held, held.codes["town"], 3, cuts, kind, 20))

    moved = scores([*rows, *new]) - scores(rows)
    assert moved.max() - moved.min() <= spread * len(new)


def test_a_cap_beyond_exact_logarithms_is_refused():
    """The entropy of counts is computed in floating point and two steps are allowed for it: no count may be too large for that."""
    with pytest.raises(DeniableError, match="cap"):
        DecisionTree("smoker", split="information", cap=2**40)


@given(counts=COUNTS, klass=st.integers(0, 2), kind=st.sampled_from(SCORES))
@settings(max_examples=300, deadline=None)
def test_one_row_moves_split_scores_within_their_range(counts, klass, kind):
    """Scores of two cuts: on one the new row joins this side, on the other any side; so each moves within one common range."""
    _, spread = score_range(kind, 3, 20)
    after = [count + (place == klass) for place, count in enumerate(counts)]
    moved = side_score(after, kind, 20) - side_score(counts, kind, 20)
    low, high = {"correct": (0, spread), "gini": (-spread // 2, spread // 2), "information": (-spread, 0)}[kind]
    assert low <= moved <= high


def test_the_ranges_of_split_scores_are_reached():
    steps, spread = score_range("gini", 2, 10)
    assert side_score([6, 0], "gini", 10) - side_score([5, 0], "gini", 10) == steps == spread // 2
    assert side_score([6, 0], "correct", 10) - side_score([5, 0], "correct", 10) == 1
    steps, spread = score_range("information", 2, 64)
    assert side_score([64, 0], "information", 64) - side_score([64, 1], "information", 64) > 0.9 * spread - 2 * steps


@given(rows=st.lists(ROW, min_size=1, max_size=6), new=ROW)
@settings(max_examples=30, deadline=None)
def test_nobody_else_moves_a_unit_to_another_tree(rows, new):
    reading = RandomForest("town").reading(book(ROW_BOOK))
    before = part_of_row(PrivateRows.of(table(reading, rows)), 5)
    after = part_of_row(PrivateRows.of(table(reading, [*rows, new])), 5)
    assert (before == after[:-1]).all()


# Rows from a released middle ------------------------------------------------------------------------------------------


@given(
    rows=st.lists(st.lists(st.integers(-GRID, GRID), min_size=4, max_size=4), min_size=1, max_size=4),
    means=st.lists(st.integers(-GRID, GRID), min_size=4, max_size=4),
    reach=st.integers(GRID, 3 * GRID),
)
@settings(max_examples=200, deadline=None)
def test_a_push_is_never_longer_than_its_unit_and_exact(rows, means, reach):
    centre = Centre(np.array(means), reach, 1.0)
    for row, push in zip(rows, centre.pushes(np.array(rows, dtype=np.float64)).tolist(), strict=True):
        moved = [entry - mean for entry, mean in zip(row, means, strict=True)]
        length = max(root_up(sum(entry * entry for entry in moved)), reach)
        assert push == [(1 if entry > 0 else -1) * (abs(entry) * UNIT // length) for entry in moved]
        assert sum(entry * entry for entry in push) <= UNIT**2


def test_rows_that_are_moved_and_not_shortened_are_caught(monkeypatch):
    """The planted fault: a row far from the middle pushes as far as it is away, but noise is for a usual one."""

    def whole(self, features):
        return np.trunc((features - self.means) * UNIT / self.reach)

    monkeypatch.setattr(Centre, "pushes", whole)
    model = ESTIMATORS["logistic"]
    reading = model.reading(book(ROW_BOOK))
    near, far = (0, 0, 0, 0, 0, 0), (40, 16, 1, 2, 1, 50)
    with monkeypatch.context() as patch:
        patch.setattr(Centre, "pushes", whole)
        pairs = replayed(patch, model.at(reading, 2), table(reading, [near] * 20), table(reading, [*[near] * 20, far]))
    assert not all(within(*pair) for pair in pairs)
