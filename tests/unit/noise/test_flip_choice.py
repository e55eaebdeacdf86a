"""Permute-and-flip over groups: the law by its definition, the clock, and the sampler against the law."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.audit.exact_law import _choice_branches, _flip_branches, grouped_flip_branches
from deniable.exact import exp
from deniable.noise.flip_choice import _Clock, flip_choice
from deniable.testing.scripted_entropy import Scripted, Seeded, Silent

GROUPS = [
    ((0, -1), (1, 1), Fraction(1)),
    ((0, -1, -2), (1, 1, 3), Fraction(2)),
    ((-3, 0, 0, -1), (1, 2, 0, 2), Fraction(1)),
    ((0, -5), (1, 4), Fraction(10)),
]


@pytest.mark.parametrize(("scores", "counts", "scale"), GROUPS)
def test_the_law_of_groups_is_the_law_of_their_candidates(scores, counts, scale):
    """The integral over the time of arrival agrees with a uniform order and the first coin that comes up."""
    alone = [score for score, count in zip(scores, counts, strict=True) for _ in range(count)]
    owner = [index for index, count in enumerate(counts) for _ in range(count)]
    defined = dict.fromkeys(owner, 0)
    for candidate, (low, high) in _flip_branches(tuple(alone), scale):
        defined[owner[candidate]] += Fraction(low + high, 2)
    for index, (low, high) in grouped_flip_branches(scores, counts, scale):
        assert abs(Fraction(low + high, 2) - defined[index]) < 1 << 20  # units of 2**-192


@pytest.mark.parametrize(("scores", "counts", "scale"), GROUPS)
def test_draws_follow_the_law(scores, counts, scale):
    law = {index: (low + high) / 2**193 for index, (low, high) in grouped_flip_branches(scores, counts, scale)}
    entropy, many = Seeded(5), 4000
    drawn = [flip_choice(np.array(scores), counts=np.array(counts), scale=scale, entropy=entropy) for _ in range(many)]
    for index, share in law.items():
        assert abs(drawn.count(index) / many - share) < 6 * (share * (1 - share) / many) ** 0.5
    plain = {index: (low + high) / 2**193 for index, (low, high) in _choice_branches(scores, counts, scale)}
    best = max(range(len(scores)), key=lambda index: (counts[index] > 0, scores[index]))
    assert law[best] > plain[best]  # permute-and-flip finds the best more often than the exponential mechanism


def test_great_groups_cost_as_much_as_small_ones():
    counts = np.array([1, 2**61, 5])
    drawn = flip_choice(np.array([0, -(2**20), -1]), counts=counts, scale=Fraction(1), entropy=Seeded(1))
    assert drawn in (0, 2)


@pytest.mark.parametrize("lack", [Fraction(1, 1000), Fraction(1), Fraction(40)])
def test_the_clock_compares_with_the_true_waiting_time(lack):
    """u words of the clock and one of the coin: spared exactly while own <= product of (1 - u) ** ((1 - p)/rate)."""
    rate = Fraction(2)
    for word in (1 << 62, 3 << 60, (1 << 63) - 5):
        uniform = 1 - (word + Fraction(1, 2)) / 2**63
        edge = float(uniform) ** ((1 - float(exp(-lack).midpoint)) / 2)
        for own, spared in ((edge * (1 - 1e-9), True), (edge * (1 + 1e-9), False)):
            clock = _Clock(rate)
            script = Scripted([word << 1, min(int(own * 2**63), 2**63 - 1) << 1, *[1 << 63] * 20])
            clock.tick(script)
            assert clock.spared(lack, script) is spared or own >= 1


def test_an_open_comparison_reads_on():
    """A first word of ones says only that the time is long; more words decide."""
    clock = _Clock(Fraction(1))
    script = Scripted([2**64 - 1, 1 << 40, *[1 << 62] * 4])
    clock.tick(script)
    assert clock.spared(Fraction(1, 2**70), script)
    assert script.read > 2


def test_silence_picks_the_heaviest_at_once():
    assert flip_choice(np.array([0, -1]), counts=np.array([1, 100]), scale=Fraction(1), entropy=Silent()) == 1
    assert flip_choice(np.array([0, -1]), counts=np.array([1, 1]), scale=Fraction(1), entropy=Silent()) == 0
