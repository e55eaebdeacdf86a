"""Quantiles of many groups from their occupied bins: the law of a choice among all candidates one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deniable.audit.exact_law import output_law
from deniable.exact import exp
from deniable.query import ranking
from deniable.query.ranking import Occupied, ranked_choices
from deniable.testing import Seeded, Silent

SHARES = st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10)


def occupied(*groups: list[int]) -> Occupied:
    """From the counts of all bins of each group."""
    table = np.array(groups, dtype=np.int64)
    group, bins = np.nonzero(table)
    return Occupied(len(groups), group, bins, table[group, bins])


def score(counts: list[int], place: int, q: Fraction) -> Fraction:
    """Minus how many rows too many lie on one side of a candidate, by the definition."""
    total, below = sum(counts), sum(counts[:place])
    above = total - below - counts[place]
    return -max(below - q * total, above - (1 - q) * total, Fraction(0))


@given(counts=st.lists(st.integers(0, 4), min_size=1, max_size=6), q=SHARES)
def test_the_law_is_that_of_single_candidates(counts: list[int], q: Fraction) -> None:
    temperature = Fraction(3, 2)
    law = output_law(
        lambda entropy: ranked_choices(
            occupied(counts), q=q, bins=len(counts), temperature=temperature, entropy=entropy
        )
    )
    weights = [exp(score(counts, place, q) / temperature, 200) for place in range(len(counts))]
    total = sum(weights[1:], weights[0])
    for place, weight in enumerate(weights):
        wanted, found = weight / total, law.probability((place,))
        assert found.lower <= wanted.upper
        assert wanted.lower <= found.upper
        assert found.upper - found.lower < Fraction(1, 10**9)


@given(
    tables=st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=6),
    q=SHARES,
    most=st.integers(1, 40),
)
def test_groups_are_chosen_for_apart_however_they_are_blocked(tables: list[list[int]], q: Fraction, most: int) -> None:
    """Without noise each group gets the first of its own best candidates, and blocks of any size hold every group once."""
    before, ranking._PIECES = ranking._PIECES, most
    try:
        found = ranked_choices(occupied(*tables), q=q, bins=5, temperature=Fraction(1), entropy=Silent())
    finally:
        ranking._PIECES = before
    for counts, place in zip(tables, found.tolist(), strict=True):
        scores = [score(counts, each, q) for each in range(5)]
        assert place == scores.index(max(scores))


def test_draws_follow_the_law_over_a_wide_range() -> None:
    """Two rows far apart among a million candidates: the stretch between them is as likely as its width says."""
    many, runs = 10**6, 4000
    group = np.repeat(np.arange(runs), 2)
    rows = Occupied(runs, group, np.tile([250_000, 750_000], runs), np.ones(2 * runs, dtype=np.int64))
    drawn = ranked_choices(rows, q=Fraction(1, 2), bins=many, temperature=Fraction(1), entropy=Seeded(5))
    inner = np.exp(0) * 500_001
    share = inner / (inner + np.exp(-1) * 499_999)
    between = (drawn >= 250_000) & (drawn <= 750_000)
    assert abs(between.mean() - share) < 0.05  # six standard deviations
    assert abs(drawn[between].mean() - 500_000) < 6 * 500_000 / np.sqrt(12 * between.sum())
    assert drawn.min() >= 0
    assert drawn.max() < many


def test_entries_that_meet_are_added_up() -> None:
    columns = ([1, 0, 1, 0, 1], [4, 2, 4, 0, 1], [5, 1, 2, 3, 1])
    found = Occupied.added(3, *(np.array(column, dtype=np.int64) for column in columns))
    assert list(zip(found.group.tolist(), found.bin.tolist(), found.count.tolist(), strict=True)) == [
        (0, 0, 3), (0, 2, 1), (1, 1, 1), (1, 4, 7),
    ]  # fmt: skip
    empty = np.array([], dtype=np.int64)
    assert Occupied.added(2, empty, empty, empty).group.size == 0


def test_groups_without_rows_choose_among_all_candidates() -> None:
    empty = np.array([], dtype=np.int64)
    nobody = Occupied(2000, empty, empty, empty)
    drawn = ranked_choices(nobody, q=Fraction(1, 2), bins=4, temperature=Fraction(1), entropy=Seeded(2))
    assert np.abs(np.bincount(drawn, minlength=4) / 2000 - 0.25).max() < 0.06
