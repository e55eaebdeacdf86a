"""Intervals of quantiles: the law of their ends, what one row moves, and that they hold, by enumeration and over many draws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dp
from deniable.audit.exact_law import output_law
from deniable.errors import InvalidArgument
from deniable.exact import exp
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.kernels.rank_scores import lower_end_scores, upper_end_scores
from deniable.query.aggregates.percentile import QuantileGrid, QuantileOf, Ranked
from deniable.query.ranking import Occupied, ranked_ends
from deniable.testing import Seeded, Silent

HALF = Fraction(1, 2)
METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased",
)  # fmt: skip


def occupied(*groups: list[int]) -> Occupied:
    table = np.array(groups, dtype=np.int64)
    group, bins = np.nonzero(table)
    return Occupied(len(groups), group, bins, table[group, bins])


def end_scores(counts: list[int], q: Fraction, reach: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """The scores of the lower and of the upper end, by the definition."""
    total, lows, highs = sum(counts), [], []
    for place in range(len(counts)):
        below, above = sum(counts[:place]), sum(counts[place + 1 :])
        few, many = below - q * total, above - (1 - q) * total
        lows.append(-max(*([] if place == 0 else [few + reach]), many - reach, Fraction(0)))
        highs.append(-max(*([] if place == len(counts) - 1 else [many + reach]), few - reach, Fraction(0)))
    return lows, highs


def chances(scores: list[Fraction], temperature: Fraction) -> list[Fraction]:
    weights = [exp(score / temperature, 100).upper for score in scores]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.slow
@given(
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    q=st.fractions(Fraction(1, 5), Fraction(4, 5), max_denominator=5),
    reach=st.integers(0, 12),
)
def test_the_law_of_both_ends(counts, q, reach):
    temperature = Fraction(3, 2)
    scores = end_scores(counts, q, Fraction(reach, q.denominator))
    for end, wanted in enumerate(scores):
        law = output_law(
            lambda entropy, end=end: ranked_ends(
                occupied(counts), q=q, bins=len(counts), reach=reach, temperature=temperature, entropy=entropy
            )[end]
        )
        for place, chance in enumerate(chances(wanted, temperature)):
            found = law.probability((place,))
            assert abs(found.lower - chance) < Fraction(1, 10**8)
            assert found.upper - found.lower < Fraction(1, 10**8)


def _moves(counts: list[int], place: int, q: Fraction, reach: Fraction) -> Fraction:
    more = [count + (index == place) for index, count in enumerate(counts)]
    pairs = zip(end_scores(counts, q, reach), end_scores(more, q, reach), strict=True)
    return max(abs(a - b) for before, after in pairs for a, b in zip(before, after, strict=True))


def test_one_row_moves_the_scores_of_ends_no_further():
    """All tables of up to two rows in each of four bins; and the code's scores are those of the definition."""
    for counts in product(range(3), repeat=4):
        below = np.concatenate([[0], np.cumsum(counts)[:-1]])
        above = sum(counts) - np.cumsum(counts)
        for q, reach in product((Fraction(1, 4), HALF, Fraction(9, 10)), (0, 3, 100)):
            steps = Fraction(reach, q.denominator)
            assert all(_moves(list(counts), place, q, steps) <= max(q, 1 - q) for place in range(4))
            lows, highs = end_scores(list(counts), q, steps)
            first, last = np.arange(4) == 0, np.arange(4) == 3
            low = lower_end_scores(below, above, sum(counts), q, reach=reach, first=first)
            high = upper_end_scores(below, above, sum(counts), q, reach=reach, last=last)
            assert [Fraction(int(each), q.denominator) for each in low] == lows
            assert [Fraction(int(each), q.denominator) for each in high] == highs


def test_a_target_clamped_at_zero_would_move_by_a_row():
    """The planted fault: a rank that cannot be below zero makes one row count whole, more than is paid for."""

    def clamped(counts: list[int], place: int) -> Fraction:
        return sum(counts[:place]) - max(HALF * sum(counts) - 2, Fraction(0))

    assert clamped([2, 0], 1) - clamped([1, 0], 1) == 1 > HALF


def _missed(counts: list[int], q: Fraction, temperature: Fraction, reach: Fraction) -> Fraction:
    """The exact chance that an end lies beyond some quantile of the rows."""
    rows = [place for place, count in enumerate(counts) for _ in range(count)]
    truths = [np.quantile(rows, float(q), method=method) for method in METHODS]
    lows, highs = (chances(scores, temperature) for scores in end_scores(counts, q, reach))
    late = sum(chance for place, chance in enumerate(lows) if place > min(truths))
    early = sum(chance for place, chance in enumerate(highs) if place < max(truths))
    return late + early


def test_every_interval_holds_by_enumeration():
    """Every table of up to three rows in each of five bins; a reach without the logarithm of the candidates fails."""
    beta, worst, careless = Fraction(1, 5), Fraction(0), Fraction(0)
    for q, temperature in ((HALF, Fraction(1, 3)), (Fraction(1, 5), Fraction(1, 4))):
        reach = exponential_score_error(beta / 2, count=5, scale=temperature) + 1
        for counts in product((0, 1, 3), repeat=5):
            if any(counts):
                worst = max(worst, _missed(list(counts), q, temperature, reach))
                careless = max(careless, _missed(list(counts), q, temperature, Fraction(0)))
    assert worst <= beta < careless


def _skewed(n: int) -> list[int]:
    return [int(1000 * np.exp(3 * (i + 0.5) / n) / np.exp(3)) for i in range(n)]


SHAPES = {
    "even": ([i * 1000 // 400 for i in range(400)], 1001),
    "skewed": (_skewed(400), 1001),
    "two values": ([0] * 199 + [1000] * 201, 1001),
    "one value": ([7] * 300, 1001),
    "at the bounds": ([0] * 10 + [1000] * 390, 1001),
    "wide bounds": ([2**39 + i for i in range(400)], 2**40),
    "few rows": ([3, 900], 1001),
    "nobody": ([], 1001),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("q", [HALF, Fraction(1, 10), Fraction(99, 100)])
def test_coverage_over_shapes(shape, q):
    """1,000 draws at once, as groups with the same rows, at a noise that matters; what is missed is within its chance."""
    values, bins = SHAPES[shape]
    runs, beta, temperature = 1000, Fraction(1, 10), Fraction(3)
    places, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    tables = Occupied(runs, np.repeat(np.arange(runs), len(places)), np.tile(places, runs), np.tile(counts, runs))
    choice = Ranked("m0", (q,), bins, 1, ends=True)
    chosen = np.array(choice.pick(_Fixed(tables), temperature=temperature, beta=beta, entropy=Seeded(11)))
    truths = [np.quantile(values, float(q), method=method) for method in METHODS] if values else [0, bins - 1]
    held = (chosen[:, 1] <= min(truths)) & (chosen[:, 2] >= max(truths))
    assert held.mean() >= 1 - float(beta) - 2 * np.sqrt(float(beta) / runs)
    if shape in ("even", "skewed", "wide bounds") and q == HALF:  # narrow, too: about the reach on either side
        inside = np.mean([(np.searchsorted(values, h) - np.searchsorted(values, low)) for _, low, h in chosen])
        assert inside <= 2.5 * choice._reach(q, temperature, beta / 2) / q.denominator


class _Fixed:
    def __init__(self, tables: Occupied) -> None:
        self.tables = tables

    def occupied(self) -> Occupied:
        return self.tables

    def blocks(self, bins: int):
        raise NotImplementedError


def test_lists_rise_and_intervals_only_widen():
    shares = (Fraction(1, 4), HALF, Fraction(3, 4))
    grid = QuantileGrid(Fraction(0), Fraction(1), Fraction(0), Fraction(99), 100, False, Fraction(1))
    output = QuantileOf("c0", grid, shares, ends=True, several=True)
    values, lower, upper = output._cell((60, 50, 70, 40, 30, 45, 80, 20, 99))
    assert (values, lower, upper) == ([40, 60, 80], [20, 20, 20], [70, 70, 99])
    assert grid.value(3, beside=-1) == grid.value(3, beside=1) == 3


def _session(entropy, bounds=(0, 1000)):
    book = {
        "name": "m", "unit": {"id": "u", "groups": 1, "rows_per_group": 2}, "table": "m",
        "variables": {"u": "integer", "x": {"type": "integer", "bounds": list(bounds)}},
    }  # fmt: skip
    data = {"u": [i // 3 for i in range(3000)], "x": [i % 100 for i in range(3000)]}
    return dp.Dataset(data, codebook=book).session(dp.budget(epsilon=1000), entropy=entropy)


def test_wide_bounds_are_answered_on_the_declared_step():
    asked = _session(Seeded(3), (-(10**9), 10**9)).query().agg(m=dp.median("x"))
    row = asked.release(epsilon=20).table[0]
    assert row["m_low"] <= 49 <= row["m_high"] <= 60
    assert 40 <= row["m_low"] <= row["m"]
    assert "bins" not in str(asked.price(epsilon=1))


def test_a_list_costs_what_is_stated_and_is_one_answer():
    asked = _session(Seeded(4)).query().agg(q=dp.quantile("x", [0.25, 0.5, 0.75]))
    price = asked.price(epsilon=9)
    assert dp.epsilon(price.cost, delta=0).upper <= 9
    (selection,) = asked.mechanism(epsilon=9).compiled.measurements.selections
    assert selection.times == 9
    assert price.allocation.etas[selection.key] == 1
    row = asked.release(epsilon=9).table[0]
    assert row["q"] == sorted(row["q"])
    assert all(low <= value <= high for low, value, high in zip(row["q_low"], row["q"], row["q_high"], strict=True))
    for bad in ([], [0.5, 0.5], [0.9, 0.1], [0, 0.5]):
        with pytest.raises(InvalidArgument, match="q"):
            dp.quantile("x", bad)
    with pytest.raises(InvalidArgument, match="interval"):
        dp.median("x", interval=3)


def test_without_an_interval_one_choice_has_the_whole_price():
    both = {each: _session(Silent()).query().agg(m=dp.median("x", interval=each)) for each in (True, False)}
    near, bare = (both[each].price(epsilon=1).errors["m"].within for each in (True, False))
    assert near == pytest.approx(3 * bare)
    assert set(both[False].release(epsilon=1).table[0]) == {"m", "m_ranks"}


def test_sql_gives_intervals_and_computes_with_them():
    answer = _session(Seeded(5)).sql("SELECT MEDIAN(x) AS m, MAX(x) - MIN(x) AS r FROM m", epsilon=20)
    row = answer.table[0]
    assert row["m_low"] <= 49 <= row["m_high"]
    assert row["r_low"] <= 98 <= row["r_high"]
