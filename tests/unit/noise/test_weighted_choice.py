"""The exact weighted choice: proposals dominate, points find their entry, and acceptance compares with the true weight."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.exact import exp
from deniable.noise.weighted_choice import DRAWN, _below, proposal, weighted_choice, weighted_choices
from deniable.testing.entropy import Scripted, Seeded, Silent

CASES = [
    ([0, 1, 2, 3], None, Fraction(1)),
    ([5, 5, 5], None, Fraction(1, 7)),
    ([0, -3, 10, 9], [7, 0, 2, 1], Fraction(3, 2)),
    ([0, -(10**9), 10**9], [1, 10**15, 1], Fraction(10**8)),
    ([-(2**63), 2**63 - 1, 0], None, Fraction(2**62)),
    ([0, 1, 2], [2**62, 1, 1], Fraction(1, 10**6)),
    ([3, 1], [1, 2**40], Fraction(10) ** 400),
]


def _true(scores, counts, scale, index):
    """count · exp((score - best)/scale), best among counts above zero."""
    able = [s for s, c in zip(scores, counts or [1] * len(scores), strict=True) if c]
    return exp(Fraction(scores[index] - max(able)) / scale, 96) * (counts or [1] * len(scores))[index]


@pytest.mark.parametrize(("scores", "counts", "scale"), CASES)
def test_proposed_weights_dominate_the_true_ones(scores, counts, scale):
    table = None if counts is None else np.array([counts], dtype=np.int64)
    offer = proposal(np.array([scores], dtype=np.int64), scale=scale, counts=table)
    unit = Fraction(2) ** int(offer.unit[0])
    assert 2 ** (DRAWN - 2) <= offer.weights.sum() < 2**DRAWN
    for index in range(len(scores)):
        proposed, true = int(offer.weights[0, index]), _true(scores, counts, scale, index) * unit
        assert proposed >= true.upper
        if counts and not counts[index]:
            assert proposed == 0
        elif true.lower > 2**30:
            assert proposed <= true.lower * (1 + Fraction(1, 2**28))


def test_scores_beyond_int64_stay_exact():
    offer = proposal(np.array([[2**80, 2**80 + 2**70]], dtype=object), scale=Fraction(2**70))
    assert offer.gaps.tolist() == [[2**70, 0]]
    assert int(offer.weights[0, 0]) >= (exp(Fraction(-1)) * 2 ** int(offer.unit[0])).upper


@pytest.mark.parametrize(("scores", "counts", "scale"), CASES[:3])
def test_every_point_falls_into_the_entry_that_holds_it(scores, counts, scale):
    table = None if counts is None else np.array([counts], dtype=np.int64)
    weights = proposal(np.array([scores], dtype=np.int64), scale=scale, counts=table).weights[0].tolist()
    heaviest = weights.index(max(weights))
    at = 0
    for turn in range(len(weights)):  # zero lies at the start of the heaviest, then the others follow in a circle
        index = (heaviest + turn) % len(weights)
        for point in {at, at + weights[index] - 1} if weights[index] else set():
            words = Scripted([point << 2, 0])  # a second word of zeros accepts
            assert (
                weighted_choice(
                    np.array(scores),
                    scale=scale,
                    counts=np.ones(len(scores), dtype=int) if counts is None else np.array(counts),
                    entropy=words,
                )
                == index
            )
        at += weights[index]
    refused = Scripted([at << 2, 0, 0, 0])  # the first point past the end is drawn again
    assert (
        weighted_choice(
            np.array(scores),
            scale=scale,
            counts=np.ones(len(scores), dtype=int) if counts is None else np.array(counts),
            entropy=refused,
        )
        == heaviest
    )


@pytest.mark.parametrize(("scores", "counts", "scale"), CASES)
def test_acceptance_compares_with_the_true_share(scores, counts, scale):
    table = None if counts is None else np.array([counts], dtype=np.int64)
    offer = proposal(np.array([scores], dtype=np.int64), scale=scale, counts=table)
    for index in range(len(scores)):
        if not int(offer.weights[0, index]):
            continue
        share = _true(scores, counts, scale, index) * Fraction(2) ** int(offer.unit[0]) / int(offer.weights[0, index])
        edge = int(share.lower * 2**63)
        if edge > 0:
            assert _below(offer, 0, index, edge - 1, Scripted([0] * 4))
        if edge + 1 < 2**63:
            assert not _below(offer, 0, index, edge + 1, Scripted([2**64 - 1] * 4))
        more = Scripted([0] * 4)  # at the edge itself more bits are read, and zeros lie below
        if share.lower * 2**63 > edge and share.lower > Fraction(1, 2**200):
            assert _below(offer, 0, index, edge, more)


def test_silence_chooses_the_likeliest():
    assert weighted_choice(np.array([1, 9, 3]), counts=np.ones(3), scale=Fraction(2), entropy=Silent()) == 1
    assert weighted_choices(np.array([[1, 9, 3], [7, 0, 0]]), scale=Fraction(2), entropy=Silent()).tolist() == [1, 0]


def test_rows_are_drawn_by_their_own_laws():
    rows = np.tile(np.array([[0, 1, 2, 3], [0, 0, 0, 0]]), (20_000, 1))
    sizes = np.tile(np.array([[5, 0, 2, 1], [1, 1, 1, 1]]), (20_000, 1))
    drawn = weighted_choices(rows, scale=Fraction(1), entropy=Seeded(1), counts=sizes)
    weights = np.array([5, 0, 2, 1]) * np.exp([0, 1, 2, 3])
    for share, law in ((drawn[::2], weights / weights.sum()), (drawn[1::2], np.full(4, 0.25))):
        assert np.abs(np.bincount(share, minlength=4) / 20_000 - law).max() < 0.02  # six standard deviations
    assert not (drawn[::2] == 1).any()


def test_short_words_serve_as_well():
    short = weighted_choices(np.array([[0, 1, 2]] * 50), scale=Fraction(1), entropy=Seeded(3, word_bits=8))
    assert set(short.tolist()) <= {0, 1, 2}
