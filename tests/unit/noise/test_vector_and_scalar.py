"""Words of 64 bits, as in production: floats decide as exact arithmetic does, and vectors draw what single draws would.

Enumerations use short words, where almost everything is decided exactly; here almost nothing is.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable.noise.gaussian import StepSampler, cells, points
from deniable.noise.laplace import Digits, _geometric, _laplace, lower_tables
from deniable.noise.race import Race, Runners, _race, _Runner
from deniable.noise.table import AliasTable
from deniable.noise.table_laws import DiscreteGaussianLaw, Geometric, signed
from deniable.testing import Scripted, Seeded

SCALES = [Fraction(201), Fraction(1000), Fraction(2**20)]
KINDS = [cells, points]


def _proposals(sampler: StepSampler, count: int) -> list[tuple[int, int, int]]:
    """Blocks, positions and chances of random proposals."""
    entropy = Seeded(3)
    found = []
    for _ in range(count):
        block, word = sampler._table.draw(entropy), entropy.word()
        found.append((block, word >> sampler._chance_bits, word & ((1 << sampler._chance_bits) - 1)))
    return found


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_floats_keep_what_exact_arithmetic_keeps(kind, scale: Fraction) -> None:
    sampler, kept = kind(scale, word_bits=64), 0
    for block, position, chance in _proposals(sampler, 2000):
        exact = sampler._settled(block, position, chance, Seeded(9))
        assert sampler._keeps(block, position, position, chance, Seeded(9)) == exact
        kept += exact
    assert 1900 < kept < 2000  # some are refused, or nothing is tested


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_decisions_next_to_the_edge(kind, scale: Fraction) -> None:
    """Chances a few doubts away from the true share, where a decision that is slightly off is wrong."""
    sampler = kind(scale, word_bits=64)
    most = (1 << sampler._chance_bits) - 1
    for block, position, _ in _proposals(sampler, 40):
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if sampler._settled(block, position, middle, Seeded(1)) else (low, middle)
        away = max(int(3 * sampler._doubt * (most + 1)), 2)
        for chance in {
            max(low - away, 0),
            max(low - away // 2, 0),
            min(high + away, most),
            min(high + away // 2, most),
        }:
            exact = sampler._settled(block, position, chance, Seeded(1))
            assert sampler._keeps(block, position, position, chance, Seeded(1)) == exact


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_proposals_are_single_proposals(kind, scale: Fraction) -> None:
    sampler, size = kind(scale, word_bits=64), 3000
    values, refused = sampler.proposals(size, Seeded(5))
    words = Seeded(5)
    blocks, rest = words.words(size).tolist(), words.words(size).tolist()
    for i in range(size):
        one = sampler.proposal(Scripted([blocks[i], rest[i], 1, 2, 3, 4]))
        assert one == (None if refused[i] else int(values[i]))
    assert refused.any()


LAYERS = [Fraction(1, 2), Fraction(40), Fraction(1000), Fraction(10**7, 3), Fraction(2**40), Fraction(2**50)]


def _columns(digits: Digits, size: int) -> list[list[int]]:
    """Words for `size` draws, one list per table, highest digit first."""
    entropy = Seeded(8)
    return [entropy.words(size).tolist() for _ in range(1 + len(digits._lower))]


@pytest.mark.parametrize("scale", LAYERS, ids=str)
@pytest.mark.parametrize("two_sided", [True, False])
def test_vectors_of_digits_are_single_draws_and_negative_ones_count_downwards(two_sided: bool, scale: Fraction) -> None:
    digits, size = _laplace(scale, None, 64) if two_sided else _geometric(scale, 64), 400
    columns = _columns(digits, size)
    values, _ = digits.proposals(size, Scripted([word for column in columns for word in column]))
    for i in range(size):
        words = [column[i] for column in columns]
        assert digits.proposal(Scripted(words)) == int(values[i])
        top, *lower = (
            table.draw(Scripted([word])) for table, word in zip([digits._top, *digits._lower], words, strict=True)
        )
        magnitude = top if top >= 0 else -1 - top
        for digit in lower:
            magnitude = magnitude * 2**digits._bits + digit
        assert int(values[i]) == (magnitude if top >= 0 else -1 - magnitude)
    assert (values < 0).any() == two_sided


def test_lower_digits_stand_highest_first() -> None:
    scale, digits, bits = Fraction(10**5), 3, 4
    words = Seeded(6).words(300).tolist()
    for place, table in enumerate(lower_tables(scale, digits=digits, bits=bits, word_bits=64)):
        law = AliasTable(Geometric(Fraction(2 ** (bits * (digits - 1 - place))) / scale, size=2**bits), word_bits=64)
        assert [table.draw(Scripted([word])) for word in words] == [law.draw(Scripted([word])) for word in words]


def test_vectors_of_one_table_are_single_draws() -> None:
    table = AliasTable(DiscreteGaussianLaw(Fraction(9)), word_bits=64, label=signed)
    words = Seeded(2).words(2000).tolist()
    assert table.draws(2000, Scripted(words)).tolist() == [table.draw(Scripted([word])) for word in words]


@pytest.mark.parametrize("scale", [Fraction(3, 2), Fraction(1000)], ids=str)
def test_race_noise_in_vectors_is_single_noise(scale: Fraction) -> None:
    race = _race(scale, True, 64)
    columns = _columns(race._noise, 100)
    vector = race.draws(100, Scripted([word for column in columns for word in column]))
    assert vector == [race._noise.draw(Scripted([column[i] for column in columns])) for i in range(100)]
    assert min(vector) < 0 < max(vector)


def test_the_digits_of_negative_race_noise_count_downwards() -> None:
    race = Race(Fraction(3, 2), two_sided=True, word_bits=64, fineness=0)
    for word in Seeded(4).words(200).tolist():
        up, down = (_Runner(5, 0, negative=negative).digit(0, race, Scripted([word, 0])) for negative in (False, True))
        assert up + down == race.largest_digit


def test_ties_of_negative_and_positive_race_noise_are_settled_by_the_digits() -> None:
    """Score 0 with noise in [-1, 0) and score -1 with noise in [0, 1) share a lattice point; the fractions rank them."""
    race, seen = Race(Fraction(3, 2), two_sided=True, word_bits=64, fineness=0), set()
    for seed in range(300):
        entropy = Seeded(seed)
        field = Runners([0, -1], race, entropy)
        first, second = field.runners
        if first.place != second.place:
            continue
        behind = field.behind(first, second)
        fractions = [
            sum(Fraction(runner.digit(depth, race, entropy), 256 ** (depth + 1)) for depth in range(4))
            for runner in (first, second)
        ]
        negative = first.place < 0
        assert [first._negative, second._negative] == [negative, second.place + 1 < 0]
        seen.add((negative, fractions[0] > fractions[1]))
        assert (behind < 0) == (fractions[0] > fractions[1])
    assert len(seen) == 4


def test_values_are_whole() -> None:
    assert cells(Fraction(201), word_bits=64).draws(10, Seeded(1)).dtype == np.int64
