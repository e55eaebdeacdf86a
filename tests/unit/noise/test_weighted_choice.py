"""The exact weighted choice: proposals dominate, points find their entry, and acceptance compares with the true weight."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.exact import exp
from deniable.mechanisms.private_quantile import scored
from deniable.noise import coin
from deniable.noise import weighted_choice as module
from deniable.noise.weighted_choice import (
    DRAWN,
    Proposal,
    _below,
    accepted,
    proposal,
    weighted_choice,
    weighted_choices,
)
from deniable.noise.windowed_choice import Arrivals, Rest
from deniable.testing.scripted_entropy import Scripted, Seeded, Silent

CASES = [
    ([0, 1, 2, 3], None, Fraction(1)),
    ([5, 5, 5], None, Fraction(1, 7)),
    ([0, -3, 10, 9], [7, 0, 2, 1], Fraction(3, 2)),
    ([0, -(10**9), 10**9], [1, 10**15, 1], Fraction(10**8)),
    ([-(2**63), 2**63 - 1, 0], None, Fraction(2**62)),
    ([0, 1, 2], [2**62, 1, 1], Fraction(1, 10**6)),
    ([3, 1], [1, 2**40], Fraction(10) ** 400),
    ([0, -1000, -44, -46], [1, 2**60, 2**62, 2**62], Fraction(1)),
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
        elif proposed >= 2**30 and int(offer.gaps[0, index]) < 45 * scale:
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


def _keeps(offer: Proposal, index: int, word: int, more: int = 2**63) -> bool:
    """What `accepted` itself says to a word of 63 bits, followed by `more`."""
    first = word << (64 - module._WORD)
    return bool(accepted(offer, np.array([0]), np.array([index]), Scripted([first] + [more] * 8))[0])


def _words_kept(offer: Proposal, index: int) -> int:
    """How many words are kept, by bisection: a smaller word is kept if a larger one is."""
    low, high = -1, 2**module._WORD
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _keeps(offer, index, middle) else (low, middle)
    return high


@pytest.mark.parametrize(("scores", "counts", "scale"), CASES)
def test_the_shortcut_keeps_no_word_too_many(scores, counts, scale):
    table = None if counts is None else np.array([counts], dtype=np.int64)
    offer = proposal(np.array([scores], dtype=np.int64), scale=scale, counts=table)
    for index in np.flatnonzero(offer.weights[0]).tolist():
        share = _true(scores, counts, scale, index) * Fraction(2) ** int(offer.unit[0]) / int(offer.weights[0, index])
        kept = _words_kept(offer, index)
        assert kept - 1 <= share.upper * 2**63
        assert share.lower * 2**63 <= kept + 1


def test_every_short_word_is_decided_by_the_true_share(monkeypatch):
    """All constants shrunk, so that every word, near and far entries, small and large proposals are tried."""
    for name, value in {"_WORD": 8, "_LARGE": 16, "_SURE": 204, "MARGIN": 1 / 8, "DRAWN": 12, "LARGEST": 2.0}.items():
        monkeypatch.setattr(module, name, value)
    seen = set()
    for scores, counts in [
        ([0, -1, -2, -3, -5], [1, 2, 40, 300, 900]),
        ([-4, 0, -1, -8], [700, 1, 0, 900]),
        ([0, -9], [900, 1]),
    ]:
        offer = proposal(np.array([scores]), scale=Fraction(3, 2), counts=np.array([counts]))
        for index in np.flatnonzero(offer.weights[0]).tolist():
            weight, far = int(offer.weights[0, index]), offer.gaps[0, index] / offer.scale >= 2
            seen.add((weight >= 16, far))
            share = _true(scores, counts, Fraction(3, 2), index) * Fraction(2) ** int(offer.unit[0]) / weight
            for word in range(256):
                assert _keeps(offer, index, word, 0) == (Fraction(word, 256) < share.lower)
                assert _keeps(offer, index, word, 2**64 - 1) == (Fraction(word + 1, 256) <= share.lower)
    assert seen == {(True, True), (True, False), (False, True), (False, False)}


@pytest.mark.parametrize(("gap", "forgotten"), [(7, 0), (7, 2), (3, 0), (2**70, 0)])
def test_entries_beyond_the_reach_of_enclosures_have_their_chance_too(gap, forgotten, monkeypatch):
    """The word decides exp(-near) in proportion to the proposal, a second coin the rest, and both together are the true share."""
    for name, value in {"_WORD": 8, "MARGIN": 1 / 8, "DRAWN": 12, "LARGEST": 2.0}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(coin, "FAR", 2)
    coins = []
    monkeypatch.setattr(module, "passes", lambda exponent, _: coins.append(exponent - forgotten) or True)
    offer = proposal(np.array([[0, -gap]], dtype=object), scale=Fraction(3, 2), counts=np.array([[1, 900]]))
    kept = sum(_keeps(offer, 1, word, 0) for word in range(256))
    (beyond,) = set(coins)
    assert 0 < kept < 256
    share = exp(beyond - Fraction(2 * gap, 3)) * offer.factor(0, 1)  # the true share over the second coin's chance
    assert (kept - 1 < share.lower * 256 <= kept) is (forgotten == 0)


def _law_of_the_code(places: list[int], points: int) -> list[tuple[Fraction, Fraction]]:
    """The least and the largest chance of every piece of a median's grid, from the code's own weights and keeping rule."""
    scale = Fraction(1)
    edges, scores = scored(np.array(places, dtype=np.int64), points, q=Fraction(1, 2), scale=scale)
    offer = proposal(scores[None, :], scale=2 * scale, counts=np.diff(edges)[None, :])
    weights = offer.weights[0].tolist()
    kept = [_words_kept(offer, index) if weight else 0 for index, weight in enumerate(weights)]
    least = [weight * max(words - 1, 0) for weight, words in zip(weights, kept, strict=True)]
    most = [weight * words for weight, words in zip(weights, kept, strict=True)]
    return [(Fraction(a, sum(most)), Fraction(b, sum(least))) for a, b in zip(least, most, strict=True)]


def test_one_row_moves_the_chance_of_far_points_by_no_more_than_epsilon():
    """The total weight passes a power of two when one row leaves, so the proposals of far pieces pass _LARGE units."""
    middle, far = 19, round(2**38.5)
    at, points = (far, far + middle + 1), 2 * far + middle + 2
    with_it, without = [2 * at[0]] * 1000 + [2 * at[1]] * 1000, [2 * at[0]] * 1000 + [2 * at[1]] * 999
    laws = [_law_of_the_code(places, points) for places in (with_it, without)]
    for one, other in (laws, laws[::-1]):
        for (_, most), (least, _) in zip(one, other, strict=True):
            bound = exp(Fraction(1)).lower * least + Fraction(
                4, 2**63
            )  # a word of 63 bits is as fine as this law is known
            assert most <= bound


def test_far_entries_outside_a_window_are_tested_too():
    window = np.zeros(4, dtype=np.int64), np.full(4, 2**10, dtype=np.int64)
    far = np.array([-1000], dtype=np.int64), np.array([2**50], dtype=np.int64)
    stream = Arrivals.of(window, Rest(1, 2**50, -1000, lambda: far), scale=Fraction(1))
    assert stream is not None
    assert stream.cover > 2**30
    inside = int(stream.offer.weights.sum())
    for word in (1, 2**62, 2**63 - 2**39 - 1):
        picks = stream.picks(Scripted([inside << 2, word << 1, 0, 0, 0]))
        assert next(picks) is None


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
