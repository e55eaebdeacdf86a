"""Bounds nobody declared: found within the charge of the fit, at a cost that does not depend on what is found."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.models import learnt_bounds
from deniable.models.learnt_bounds import BITS, WIDEST, band_counts, bands, fit_with_bounds, found_ends
from deniable.models.unit_totals import PrivateRows
from deniable.testing import Seeded
from tests.models_kit import CHANGED_BOOK, ROW_BOOK, UNIT_BOOK, book, people, session


def _open(text):
    return text.replace("integer, bounds: [0, 40]", "integer").replace("integer, bounds: [-10, 50]", "integer")


OPEN_BOOK = _open(ROW_BOOK)


def test_every_value_lies_between_the_ends_of_its_band():
    edges = [0, *((1 << bit) + off for bit in range(BITS) for off in (-1, 0, 1)), WIDEST - 1, WIDEST]
    for value in {sign * edge for edge in edges for sign in (1, -1)}:
        place = int(bands(np.array([value]))[0])
        counts = np.zeros(learnt_bounds.BANDS)
        counts[place] = 9
        lower, upper = found_ends(counts, 5)
        assert lower <= value <= upper
        assert max(abs(lower), abs(upper)) <= max(2 * abs(value), 1)
        assert abs(lower) <= WIDEST >= abs(upper)
    assert found_ends(np.zeros(learnt_bounds.BANDS), 5) == (0, 1)


def _furthest(starts):
    """The largest squared move of the counts of bands when one unit leaves: rows of one unit in one band, and in several."""
    columns = {"a": np.array([1, 1, 1, 8, 0, -5]), "b": np.array([2, 2, 2, 9, 9, 1 << 39])}
    ends = np.append(np.arange(6) if starts is None else np.array(starts), 6).tolist()

    def counts(keep):
        kept = {name: cells[keep] for name, cells in columns.items()}
        sizes = [int(keep[first:last].sum()) for first, last in pairwise(ends)]
        begins = None if starts is None else np.cumsum([0, *(size for size in sizes if size)])[:-1]
        return band_counts(PrivateRows(kept, int(keep.sum()), begins, None), ("a", "b"), norm=2)

    whole, moves = counts(np.ones(6, dtype=bool)), []
    for first, last in pairwise(ends):
        keep = np.ones(6, dtype=bool)
        keep[first:last] = False
        moves.append(int(((whole - counts(keep)) ** 2).sum()))
    return max(moves)


def test_one_unit_moves_the_counts_of_bands_by_at_most_the_norm(monkeypatch):
    assert _furthest(None) == 2
    assert _furthest([0, 3, 4]) <= 4
    monkeypatch.setattr(
        learnt_bounds, "cut_total", lambda vectors, *_: vectors.sum(axis=0)
    )  # the planted fault: no cut
    assert _furthest([0, 3, 4]) > 4


@pytest.mark.parametrize(
    "model",
    [
        dp.models.LinearRegression("wage", bounds="private"),
        dp.models.NaiveBayes("smoker", bounds="private"),
        dp.models.DecisionTree("smoker", bounds="private"),
        dp.models.Training(dp.models.Network((2,)), target="smoker", steps=2, bounds="private"),
    ],
    ids=lambda model: model.title,
)
@pytest.mark.parametrize("text", [OPEN_BOOK, _open(CHANGED_BOOK)])
def test_the_cost_does_not_depend_on_the_bounds(model, text):
    reading = model.reading(book(text))
    assert set(reading.open) == {"age", "wage"}
    ends = [(0, 0), (0, 1), (-1, 0), (3, 1 << 20), (-WIDEST, WIDEST), (-7, 255)]
    fits = [model.at(learnt_bounds._within(reading, {"age": one, "wage": two}), 3) for one in ends for two in ends]
    moved = Fraction(2 if reading.replaces else 1)
    assert len({fit.privacy_map(moved) for fit in fits}) == 1


def test_an_estimator_whose_noise_depends_on_its_bounds_is_refused():
    """The planted fault: twice the noise where a column is wide, so that the cost would tell which bounds were found."""

    class Telling:
        title = "telling fit"

        def at(self, reading, multiplier):
            wide = max(each.upper - each.lower for each in reading.features if each.is_number) > 10**6
            return dp.models.LinearRegression("wage").at(reading, multiplier * (2 if wide else 1))

    reading = dp.models.LinearRegression("wage", bounds="private").reading(book(OPEN_BOOK))
    with pytest.raises(InvalidArgument, match="depends on the bounds"):
        fit_with_bounds(Telling(), reading, 3)


def test_bounds_and_model_are_one_charge_and_the_card_says_so():
    rows = people(2000, seed=5)
    asked = session(rows, text=OPEN_BOOK, entropy=Seeded(3))
    with pytest.raises(InvalidArgument, match="bounds='private'"):
        dp.models.LinearRegression("wage").fit(asked, epsilon=1)
    assert asked.spent.loss == 0
    model = dp.models.LinearRegression("wage", features=["age", "town"], bounds="private")
    price = model.price(asked, epsilon=3)
    assert price.steps == 2
    assert "bounds of age, wage are found first" in str(price)
    fitted = model.fit(asked, epsilon=3)
    assert 2.99 < asked.spent.loss <= 3
    assert "bounds found in noisy counts" in fitted.card()["Noise"]
    assert "bounds = private" in fitted.card()["Settings"]
    wage = fitted.target
    assert -31 <= wage.lower < 0 < 40 < wage.upper <= 63
    assert np.corrcoef(fitted.predict(rows), rows["wage"])[0, 1] > 0.8
    assert asked.score(fitted, metric="r2", epsilon=5).value > 0.5
    found = asked.query().derive(p=fitted.expression()).group_by("town").agg(level=dp.mean("p")).release(epsilon=5)
    assert found


@pytest.mark.parametrize("text", [UNIT_BOOK, CHANGED_BOOK])
def test_other_units_and_empty_tables_get_bounds_too(text):
    rows = people(30, who=text is UNIT_BOOK)
    for some in (rows, {name: [] for name in rows}):
        asked = session(some, text=_open(text))
        assert dp.models.LogisticRegression("smoker", steps=2, bounds="private").fit(asked, epsilon=1).coefficients


@pytest.mark.parametrize(
    "model",
    [
        dp.models.DecisionTree("smoker", features=["age"], depth=2),
        dp.models.RandomForest("smoker", features=["age"], depth=1, trees=2),
        dp.models.AdditiveModel("smoker", features=["age"], turns=1),
        dp.models.NaiveBayes("smoker", features=["age"], law="lognormal"),
    ],
    ids=lambda model: model.title,
)
def test_bounds_of_one_value_fit_like_any_others(model):
    """Bounds that were found may be so: a failure would say, after the charge, that all rows are alike."""
    rows = {**people(60), "age": [7] * 60}
    fitted = model.fit(session(rows, text=ROW_BOOK.replace("[0, 40]", "[7, 7]")), epsilon=1)
    (age,) = fitted.features
    assert (age.lower, age.upper) == (7, 7)
    assert len(fitted.predict(rows)) == 60


def test_other_words_are_refused():
    with pytest.raises(InvalidArgument, match="bounds must be 'private'"):
        dp.models.LinearRegression("wage", bounds="guess")


def test_bands_are_cut_to_the_length_that_is_charged(monkeypatch):
    model, asked = (
        dp.models.NaiveBayes("smoker", bounds="private"),
        session(people(30, who=True), text=_open(UNIT_BOOK)),
    )
    charged = learnt_bounds.BoundsPlan.of(model.reading(book(_open(UNIT_BOOK))), 3).noise.square
    norms = []
    monkeypatch.setattr(
        learnt_bounds, "band_counts", lambda *given, norm: norms.append(norm) or band_counts(*given, norm=norm)
    )
    model.fit(asked, epsilon=1)
    assert [norm**2 for norm in norms] == [charged]
