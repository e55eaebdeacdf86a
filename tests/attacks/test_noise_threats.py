"""Attacks on the noise itself: float artefacts (F1, F5), repeated randomness (R1-R4), telling work (T1)."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType

import numpy as np
import pytest

from deniable import noise
from deniable.errors import InvalidArgument
from deniable.noise import Entropy
from deniable.noise.gaussian import StepSampler
from deniable.noise.redraw import BATCH
from deniable.noise.table_laws import Steps
from deniable.testing import Exhausted, Scripted, Seeded, oracle

# F1: the precision attack -----------------------------------------------------------------------------------------------


def float_laplace(value: float, count: int, entropy: Entropy) -> np.ndarray:
    """The textbook mechanism in floating point: value + sign * -ln(u), scale 1. Planted: it must be caught."""
    uniform = (entropy.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    sign = np.where(entropy.words(count) & np.uint64(1), 1.0, -1.0)
    return value + sign * -np.log(uniform)


def grid_laplace(value: float, count: int, entropy: Entropy) -> np.ndarray:
    """Ours: value and noise on a public grid of 2**-20, scale 1, added as integers, turned to floats at the end."""
    steps = round(value * 2**20) + noise.discrete_laplaces(1 << 20, count, entropy)
    return steps * 2.0**-20


def impossible_for_one(outputs: np.ndarray) -> np.ndarray:
    """Between -1/2 and 1/2 but no multiple of 2**-53: a float sum with 1 cannot land there."""
    scaled = outputs * 2.0**53
    return (np.abs(outputs) < 0.5) & (scaled != np.rint(scaled))


def test_f1_float_noise_gives_itself_away() -> None:
    from_zero, from_one = (impossible_for_one(float_laplace(value, 20_000, Seeded(1))) for value in (0.0, 1.0))
    assert from_zero.mean() > 0.2
    assert not from_one.any()


def test_f1_ours_has_one_support() -> None:
    for value in (0.0, 1.0):
        outputs = grid_laplace(value, 20_000, Seeded(1))
        assert not impossible_for_one(outputs).any()
        steps = outputs * 2.0**20
        assert (steps == np.rint(steps)).all()


def test_f1_every_output_is_as_likely_under_a_neighbour_up_to_e_to_the_epsilon() -> None:
    """On the grid, moving the value by d steps moves the output's law by d: the ratio of any two probabilities one step
    apart is exp(1/scale) or its inverse, here for every outcome the bounds of a table know, within what rounding takes."""
    from deniable.noise.table_laws import Blocks, signed

    scale, bits = Fraction(5), 200
    chance = {signed(i): bound for i, bound in enumerate(Blocks(scale).bounds(bits))}
    ratio = math.exp(1 / scale)
    likely = [k for k in chance if abs(k) < 300]
    assert all(abs(chance[k] / chance[k + 1] - (ratio if k >= 0 else 1 / ratio)) < 1e-12 for k in likely)
    assert set(likely) == set(range(-299, 300))


# F5: extreme values and scales ------------------------------------------------------------------------------------------


def test_f5_large_values_keep_their_last_digit() -> None:
    """2**60 + noise of scale 1: in floats the answer could only be a multiple of 256."""
    noisy = {(1 << 60) + noise.discrete_laplace(1, entropy) for entropy in [Seeded(3)] for _ in range(200)}
    assert {value % 256 for value in noisy} > {0, 1, 255}
    vector = (1 << 60) + noise.rounded_gaussians(1, 200, Seeded(3))
    assert {value % 256 for value in vector.tolist()} > {0, 1, 255}


SAMPLERS = [noise.discrete_laplace, noise.geometric, noise.rounded_gaussian, noise.discrete_gaussian]
VECTORS = [noise.discrete_laplaces, noise.geometrics, noise.rounded_gaussians, noise.discrete_gaussians]


@pytest.mark.parametrize("scale", [1e-300, 5e-324, 2.0**-1022])
def test_f5_tiny_scales_are_exact(scale: float) -> None:
    assert [draw(scale, Seeded(1)) for draw in SAMPLERS] == [0] * 4
    assert [draw(scale, 3, Seeded(1)).tolist() for draw in VECTORS] == [[0, 0, 0]] * 4


def test_f5_huge_scales_are_exact_or_refused() -> None:
    for draw in SAMPLERS:
        value = draw(1e300, Seeded(1))
        assert isinstance(value, int)
        assert 10**297 < abs(value) < 10**303
    for draw in VECTORS:
        with pytest.raises(InvalidArgument, match="vector draws"):
            draw(1e300, 3, Seeded(1))


@pytest.mark.parametrize("scale", [math.inf, -math.inf, math.nan, 0.0, -1.0])
def test_f5_what_is_no_scale_is_refused(scale: float) -> None:
    for draw in SAMPLERS:
        with pytest.raises(InvalidArgument, match="scale must be"):
            draw(scale, Scripted([]))
    for draw in VECTORS:
        with pytest.raises(InvalidArgument, match="scale must be"):
            draw(scale, 1, Scripted([]))


# R1-R4: noise never repeats ---------------------------------------------------------------------------------------------

RERUN = """
import random
import numpy as np
random.seed(1)
np.random.seed(1)
from deniable.noise import discrete_laplaces, system_entropy
print(discrete_laplaces(2**40, 4, system_entropy()).tolist(), system_entropy().word())
"""


def test_r1_no_seed_and_no_rerun_repeats_noise() -> None:
    """The same notebook run twice, every other library's generator seeded."""
    runs = {subprocess.run([sys.executable, "-c", RERUN], capture_output=True, text=True).stdout for _ in range(3)}
    assert len(runs) == 3
    assert all(len(run) > 40 for run in runs)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_r2_forked_workers_draw_different_noise() -> None:
    source = noise.system_entropy()
    noise.discrete_laplace(1 << 40, source)
    seen = [noise.discrete_laplace(1 << 40, source)]
    for _ in range(4):
        read, write = os.pipe()
        if not (child := os.fork()):
            values = [noise.discrete_laplace(1 << 40, source), int(noise.discrete_laplaces(1 << 40, 1, source)[0])]
            os.write(write, repr(values).encode())
            os._exit(0)
        os.waitpid(child, 0)
        seen += [int(value) for value in os.read(read, 1000).decode().strip("[]").split(",")]
        os.close(read)
        os.close(write)
    assert len(set(seen)) == 9  # by chance with probability below 1e-9


def test_r3_threads_draw_different_noise() -> None:
    from concurrent.futures import ThreadPoolExecutor

    source = Entropy()
    with ThreadPoolExecutor(8) as pool:
        parts = pool.map(lambda _: noise.discrete_laplaces(1 << 50, 50, source).tolist(), range(16))
        values = [value for part in parts for value in part]
    assert len(set(values)) == 800  # by chance a pair agrees with probability below 1e-9


def test_r4_a_restored_snapshot_does_not_repeat_vectors_and_few_scalars() -> None:
    """A machine restored from a snapshot keeps its process id and all memory; only the system's bytes are new."""
    source = Entropy()
    source.word()
    snapshot = {name: getattr(source, name) for name in ("_chain", "_last_seed", "_pid")}, list(source._pool)

    def restored() -> tuple[list[int], list[int]]:
        state, pool = snapshot
        for name, value in state.items():
            setattr(source, name, value)
        source._pool = list(pool)
        return source.words(4).tolist(), [source.word() for _ in range(2 * Entropy.POOL_WORDS)]

    (vectors, scalars), (vectors_again, scalars_again) = restored(), restored()
    assert not set(vectors) & set(vectors_again)
    assert len(set(scalars) & set(scalars_again)) < Entropy.POOL_WORDS  # what the pool held; see docs/known-issues.md


# T1: work that does not tell --------------------------------------------------------------------------------------------


def lines_of(call: Callable[[], object]) -> tuple[object, int]:
    """What a call returns, and how many lines of deniable.noise it executes."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        nonlocal lines
        if os.path.join("deniable", "noise") not in frame.f_code.co_filename:
            return None
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome = call()
    finally:
        sys.settrace(before)
    return outcome, lines


def work(draw: Callable[[Entropy], object], words: list[int], word_bits: int) -> tuple[object, int, int]:
    """The outcome, the words read and the lines executed."""
    script = Scripted(words, word_bits=word_bits)
    outcome, lines = lines_of(lambda: draw(script))
    return outcome, script.read, lines


def works(draw: Callable[[Entropy], object], *, word_bits: int, depth: int) -> dict[object, set[tuple[int, int]]]:
    """Per outcome every (words, lines), over all sequences of `depth` words that decide."""
    draw(Seeded(1, word_bits=word_bits))  # tables are built before anything is counted
    found: dict[object, set[tuple[int, int]]] = {}
    for sequence in range(1 << (word_bits * depth)):
        words = [sequence >> (word_bits * i) & ((1 << word_bits) - 1) for i in range(depth)]
        try:
            outcome, read, lines = work(draw, words, word_bits)
        except Exhausted:
            continue
        found.setdefault(outcome, set()).add((read, lines))
    return found


CELLS = StepSampler(Steps(Fraction(3), 2, Fraction(1, 2)), fine_bits=1, word_bits=6)
POINTS = StepSampler(Steps(Fraction(3), 2, Fraction(0)), fine_bits=0, word_bits=6)

CONSTANT = {
    "laplace": (lambda e: noise.discrete_laplace(3, e), 10, 1, 25),
    "laplace in digits": (lambda e: noise.discrete_laplace(40, e), 6, 2, 38),
    "laplaces": (lambda e: tuple(noise.discrete_laplaces(1, 2, e).tolist()), 5, 2, 25),
    "geometric": (lambda e: noise.geometric(3, e), 10, 1, 15),
    "truncated laplace": (lambda e: noise.truncated_laplace(3, 9, e), 10, 1, 15),
    "rounded gaussian": (lambda e: noise.rounded_gaussian(3, e), 10, 1, 15),
    "rounded gaussians": (lambda e: tuple(noise.rounded_gaussians(1, 2, e).tolist()), 5, 2, 9),
    "discrete gaussian": (lambda e: noise.discrete_gaussian(3, e), 10, 1, 15),
    "bernoulli": (lambda e: noise.bernoulli(Fraction(3, 7), e), 10, 1, 2),
    "bernoulli_exp": (lambda e: noise.bernoulli_exp(Fraction(3, 7), e), 8, 1, 2),
    "uniform_below": (lambda e: noise.uniform_below(11, e), 10, 1, 11),
    "categorical": (lambda e: noise.categorical([1, 2, 4], e), 10, 1, 3),
}
"""Sampler, word size, words that decide, outcomes that must be reached."""


@pytest.mark.parametrize("name", CONSTANT)
def test_t1_work_is_the_same_for_every_outcome(name: str) -> None:
    """All words that decide at once: one number of words and one number of lines, whatever comes out."""
    draw, word_bits, depth, outcomes = CONSTANT[name]
    found = works(draw, word_bits=word_bits, depth=depth)
    assert len(found) >= outcomes
    assert len(set().union(*found.values())) == 1


@pytest.mark.parametrize("sampler", [CELLS, POINTS], ids=["cells", "points"])
def test_t1_a_proposal_costs_the_same_kept_or_refused(sampler: StepSampler) -> None:
    """The proposals of large Gaussians that floats decide: `tests/exactness` shows that the kept ones have the law wanted,
    so their number is independent of the value; here each costs the same."""
    found = works(sampler.proposal, word_bits=6, depth=2)
    sure = [min(costs, key=lambda cost: cost[1]) for costs in found.values()]
    assert None in found
    assert len(found) > 10
    assert len(set(sure)) == 1


@pytest.mark.parametrize("choose", [noise.exponential_choice, noise.permute_and_flip])
def test_t1_choosing_costs_the_same_for_all_scores_of_one_length(choose: Callable[..., int]) -> None:
    words = Seeded(4).words(20).tolist()
    scores = [[0, 0, 0, 0], [0, 5, 100, -3], [7, 7, 1, 10**12], [-1, -2, -3, -4]]
    costs = {work(lambda e, given=given: choose(np.array(given), 2, e), words, 64)[1:] for given in scores}
    assert len(costs) == 1


@pytest.mark.parametrize("draw", [noise.discrete_laplace, noise.rounded_gaussian, noise.discrete_gaussian])
@pytest.mark.parametrize("scale", [10, 1000])
def test_t1_a_scalar_draw_is_handed_out_untouched(draw: Callable[..., int], scale: int) -> None:
    """The product serves scalar draws from batches: every draw but the first of a batch is the same few lines."""
    source = Entropy()
    draw(scale, source)
    costs = [lines_of(lambda: draw(scale, source))[1] for _ in range(3 * BATCH)]
    usual = min(costs)
    assert costs.count(usual) == 3 * BATCH - 3
    assert [i for i, cost in enumerate(costs) if cost > usual] == [BATCH - 1, 2 * BATCH - 1, 3 * BATCH - 1]


def test_t1_what_is_read_on_is_about_one_word_per_outcome() -> None:
    """The only work that can tell: of 2**64 words fewer than 2**12 are read on, for any scale and law."""
    from deniable.noise.gaussian import _discrete, _rounded
    from deniable.noise.laplace import _laplace

    for scale in (Fraction(1, 1000), Fraction(1), Fraction(22), Fraction(1000), Fraction(1 << 40)):
        digits = _laplace(scale, None, 64)
        tables = [digits._top, *digits._lower, _rounded(scale, 64)._table, _discrete(scale, 64)._table]
        assert all((1 << 64) - table.limit < 1 << 12 for table in tables)


def test_t1_the_check_notices_a_sampler_whose_work_tells() -> None:
    """The samplers of Canonne, Kamath and Steinke read more words for every unit of the magnitude; ours read one."""
    theirs, ours = [], []
    for seed in range(300):
        words = Seeded(seed).words(300).tolist()
        theirs.append(work(lambda e: oracle.laplace(Fraction(3), e), words, 64))
        ours.append(work(lambda e: noise.discrete_laplace(3, e), words, 64))
    small, large = ([read for k, read, _ in theirs if abs(k) in some] for some in (range(3), range(6, 99)))
    assert np.mean(large) > np.mean(small) + 2
    assert {(read, lines) for _, read, lines in ours[1:]} == {ours[1][1:]}
    assert len({k for k, _, _ in ours}) > 10
