"""For every estimator: one unit more or less moves each inner total by at most its declared length, whatever came before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.models import PCA, AdditiveModel, KMeans, LinearRegression, LogisticRegression, NaiveBayes, unit_totals
from deniable.models.trees import SCORES, RandomForest, part_of_row, score_range, side_score
from deniable.models.unit_totals import PrivateRows, cut
from tests.models_kit import COLUMNS, ENDS, ROW_BOOK, UNIT_BOOK, book, replayed, table, within

ROW = st.tuples(*(st.integers(*ENDS[name]) for name in COLUMNS))
ESTIMATORS = {
    "linear": LinearRegression("wage"),
    "linear descent": LinearRegression("wage", method="descent", steps=3),
    "logistic": LogisticRegression("smoker", steps=3),
    "multinomial": LogisticRegression("town", steps=2),
    "additive": AdditiveModel("smoker", turns=1, thresholds=2),
    "k-means": KMeans(2, rounds=2),
    "components": PCA(1),
    "naive Bayes": NaiveBayes("smoker", law={"age": "lognormal", "wage": "exponential", "height": "binned"}),
}
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", ESTIMATORS)
@FEW
@given(rows=st.lists(ROW, min_size=0, max_size=5), new=ROW)
def test_one_row_more_moves_no_total_further_than_declared(monkeypatch, name, rows, new):
    model = ESTIMATORS[name]
    reading = model.reading(book(ROW_BOOK))
    fit = model.at(reading, 2)
    for left, right, cost in replayed(monkeypatch, fit, table(reading, rows), table(reading, [*rows, new])):
        assert within(left, right, cost)


@pytest.mark.parametrize("name", ESTIMATORS)
@FEW
@given(rows=st.lists(st.tuples(st.integers(1, 3), ROW), max_size=6), new=st.lists(ROW, min_size=1, max_size=3))
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
