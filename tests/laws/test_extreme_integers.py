"""Whole numbers near the ends of int64, through everything that adds them: no sum wraps, no error, no answer that differs from
Python's own arithmetic by more than the ends.

Silence draws no noise, so what a mechanism answers can be compared with the exact answer.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable import mechanisms as m
from deniable import noise
from deniable.core import (
    L1,
    AbsoluteDistance,
    Hamming,
    Keyed,
    Lattice,
    LInfinity,
    Numbers,
    Rows,
    Space,
    SymmetricDistance,
    Vectors,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.kernels import DiscreteLaplaceNoise
from deniable.kernels.exponential_choice import Tails, chance_of, integer_choice
from deniable.kernels.rank_scores import rank_scores
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.carried import exact_sums, read_steps, whole, wide_sum
from deniable.mechanisms.grid import values_of
from deniable.mechanisms.noisy_max import noisy_scores
from deniable.mechanisms.tree import tree_sums
from deniable.noise import coin, weighted_choice
from deniable.testing import Seeded, Silent
from deniable.testing.neighbours import data_sets, try_stability
from tests.laws import test_every_mechanism as every
from tests.laws import test_stability as stability

LEAST, MOST = -(2**63), 2**63 - 1
ENDS = [LEAST, LEAST + 1, -(2**62), -1, 0, 2**62, MOST - 1, MOST]
BEYOND = [*ENDS, 2**63, -(2**70), 2**70]


def held(value: int) -> int:
    return min(max(value, LEAST), MOST)


def sums_of(leaves: list[int]) -> list[list[int]]:
    return [[held(sum(map(held, leaves)))], [held(leaf) for leaf in leaves]]


def best(scores: list[int]) -> int:
    return scores.index(max(scores))


def ranked(scores: list[int], k: int) -> list[int]:
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]


def spare(scores: list[int], ahead: int, behind: int) -> int:
    return scores[ahead] - scores[behind] - (behind < ahead)


def leaders(scores: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    order = ranked(scores, 3)
    return tuple(order[:2]), tuple(spare(scores, order[i], order[i + 1]) for i in range(2))


def leader(scores: list[int]) -> tuple[int, int]:
    return best(scores), spare(scores, *ranked(scores, 2))


TOP = m.MaxNoise
LIST = Space(Vectors(Lattice(), 2), L1())
KEYED = Space(Keyed(Lattice(), every.SIDES), L1())
VECTORS: dict[str, tuple[Any, int, Any, Any]] = {  # mechanism, entries, what the answer says, the exact answer
    "laplace": (LIST >> m.laplace(scale=1), 2, list, lambda d: [held(x) for x in d]),
    "gaussian": (LIST >> m.gaussian(scale=1), 2, list, lambda d: [held(x) for x in d]),
    "discrete_gaussian": (LIST >> m.discrete_gaussian(scale=1), 2, list, lambda d: [held(x) for x in d]),
    "truncated_laplace": (
        LIST >> m.truncated_laplace(scale=1, radius=3),
        2,
        list,
        lambda d: [held(x) for x in d],
    ),
    "upper_estimate": (
        LIST >> m.upper_estimate(scale=1, radius=2**63),
        2,
        list,
        lambda d: [held(held(x) + 2**63) for x in d],
    ),
    "lower_estimate": (
        LIST >> m.lower_estimate(scale=1, radius=2**62),
        2,
        list,
        lambda d: [held(held(x) - 2**62) for x in d],
    ),
    "staircase": (LIST >> m.staircase(width=3, scale=2), 2, list, lambda d: [held(x) for x in d]),
    "exponential": (every.SCORES >> m.exponential(scale=2), 3, int, best),
    "exponential_over_integers": (
        every.SCORES >> m.exponential_over_integers(first=0, fall=(Fraction(1, 3), 2**40), scale=2),
        3,
        int,
        best,
    ),
    "report_noisy_max": (every.SCORES >> m.report_noisy_max(scale=2, noise=TOP.LAPLACE), 3, int, best),
    "noisy_max_with_gap": (
        every.SCORES >> m.noisy_max_with_gap(scale=1),
        3,
        lambda answer: (answer.winner, answer.gap),
        leader,
    ),
    "noisy_top_k": (every.SCORES >> m.noisy_top_k(k=2, scale=2), 3, list, lambda d: ranked(d, 2)),
    "one_shot_top_k": (
        every.SCORES >> m.one_shot_top_k(k=2, scale=1),
        3,
        lambda answer: (answer.winners, answer.gaps),
        leaders,
    ),
    "above_threshold": (
        every.SCORES >> m.above_threshold(threshold=MOST, scale=1),
        3,
        lambda answer: answer,
        lambda d: next((i for i, x in enumerate(d) if x >= MOST), None),
    ),
    "above_threshold_with_gap": (
        every.SCORES >> m.above_threshold_with_gap(threshold=MOST, scale=1),
        3,
        lambda hit: hit and (hit.candidate, hit.gap),
        lambda d: next(((i, x - MOST) for i, x in enumerate(d) if x >= MOST), None),
    ),
    "all_above_threshold": (
        every.SCORES >> m.all_above_threshold(threshold=MOST, scale=1, hits=3),
        3,
        list,
        lambda d: [i for i, x in enumerate(d) if x >= MOST],
    ),
    "noisy_tree": (LIST >> m.noisy_tree(scale=1, branching=2), 2, every._levels, sums_of),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_and_scores_at_the_ends(name):
    mechanism, size, read, exact = VECTORS[name]
    for data in product(BEYOND if size == 2 else [*ENDS[::2], 2**63, 2**70], repeat=size):
        assert read(mechanism.function(list(data), Silent())) == exact(list(data)), data


def test_noise_at_the_ends():
    """Scores of a contest are never held at the ends; answers that are released are."""
    values = [MOST, LEAST, MOST - 1, LEAST + 1] * 8
    draws = noise.discrete_laplaces(Fraction(5), len(values), Seeded(1)).tolist()
    sums = [value + draw for value, draw in zip(values, draws, strict=True)]
    assert max(sums) > MOST
    assert min(sums) < LEAST
    assert noisy_scores(np.array(values), Fraction(5), Seeded(1)).tolist() == sums
    released = noisy_values(np.array(values), noise=DiscreteLaplaceNoise(Fraction(5)), entropy=Seeded(1))
    assert released.tolist() == [held(value) for value in sums]


def test_permute_and_flip_at_the_ends():
    """A coin of chance e**-(2**62) is decided by a geometric draw, also where every bit is zero."""
    mechanism = every.SCORES >> m.report_noisy_max(scale=2, noise=TOP.EXPONENTIAL)
    for end in (LEAST, MOST - 2, 2**63, -(2**70)):
        for data in product([end, end + 1, end + 2], repeat=3):
            assert mechanism.function(list(data), Silent()) == best(list(data))
    for data in product(ENDS[::2], repeat=3):
        assert mechanism.function(list(data), Silent()) == best(list(data))


def test_the_work_of_an_integer_choice_is_bounded_for_all_scores(monkeypatch):
    """Counted: no weight further than FAR scales, or a block of the tail, from the best is ever enclosed."""
    asked, enclose = [], weighted_choice.exp
    monkeypatch.setattr(weighted_choice, "exp", lambda x, bits: asked.append(x) or enclose(x, bits))
    offer = weighted_choice.proposal(
        np.array([[0, -1, -(2**20), -(2**63), -(2**90)]], dtype=object),
        scale=Fraction(1, 3),
        counts=np.ones((1, 5), int),
    )
    for index, word in product(range(5), (0, 1, 2**40, 2**62)):
        weighted_choice._below(offer, 0, index, word, Silent())
    assert min(asked) >= -(coin.FAR + 1)
    entropy, tails = Seeded(7), Tails(Fraction(1, 2**30), Fraction(1), Fraction(1))
    for scores in product([LEAST, -(2**20), 0, MOST, 2**70], repeat=3):
        place = integer_choice(scores, tails, entropy)
        assert place < 0 or place >= 3 or scores[place] == max(scores)
        chance_of(scores, tails, place)


NUMBERS = ["laplace", "gaussian", "discrete_gaussian", "truncated_laplace"]
KEYS = ["threshold_histogram", "most_frequent", "select_partitions", "private_top_k"]
NO_SUMS = {
    "bounded_geometric",
    "exponential_interval",
    "propose_test_release",
    "set_union",
    "randomized_response",
    "coin_flip",
    "release_if_stable",
}
"""Public bounds, functions of a user's own, or no whole numbers."""


@pytest.mark.parametrize("name", NUMBERS)
def test_single_numbers_have_no_end(name):
    mechanism = every.CASES[name].mechanism
    for data in BEYOND:
        assert mechanism.function(data, Silent()) == data


def test_a_hierarchy_at_the_ends():
    mechanism = KEYED >> m.noisy_hierarchy(scales=[1, 1, 1])
    for data in product(BEYOND, repeat=2):
        measured = mechanism.function(dict(zip(every.SIDES, data, strict=True)), Silent()).measured
        root, leaves = sums_of(list(data))
        assert [level.tolist() for level in measured] == [root, root, leaves]


def test_keys_of_the_data_at_the_ends():
    for data in product(BEYOND, repeat=2):
        table = dict(zip("ab", data, strict=True))
        shown = every.CASES["threshold_histogram"].mechanism.function(table, Silent())
        assert shown == {key: held(value) for key, value in table.items() if value >= 3}
        for name in KEYS[1:]:
            every.CASES[name].mechanism.function(table, Silent())


@pytest.mark.parametrize(("name", "case"), [(n, c) for n, c in every.CASES.items() if isinstance(c, every.Case)])
def test_rows_at_the_ends_raise_nothing_and_are_read_one_by_one(name, case):
    space = getattr(case.mechanism, "source", None)
    if space is None or not isinstance(space.domain, Rows) or not isinstance(space.domain.element, Numbers):
        return
    many = [space] if name == "private_bounds" else [replace(space, domain=Rows(Lattice())), space]
    step = _rebuilt(name)
    for source in many if step is not None else []:
        mechanism = source >> step
        for data in product([LEAST, 2**53 + 1, MOST, 2**63, 2**70, -(2**70)], repeat=2):
            mechanism.function(list(data), Silent())


def test_no_row_decides_how_another_is_read():
    rows = [2**53 + 1, 2**63, -1, 2**62 + 1, 0.5, None, 2**70, True]
    for element in (Lattice(), Numbers(), Lattice(Fraction(1, 2))):
        for some in (*product(rows, repeat=2), tuple(rows)):
            alone = [value for row in some for value in values_of([row], element).tolist()]
            assert values_of(list(some), element).tolist() == alone
    assert values_of(np.array([2**64 - 1], dtype=np.uint64), Lattice()).tolist() == [MOST]


def _rebuilt(name: str) -> Any:
    """The mechanism's step on a wide grid."""
    wide = {"lower": LEAST, "upper": MOST, "grid": 2**8, "scale": 10**30}
    match name:
        case "private_quantile" | "private_upper_bound":
            return getattr(m, name)(q=Fraction(1, 3), **wide)
        case "private_median" | "private_minimum" | "private_maximum":
            return getattr(m, name)(**wide)
        case "private_quantiles":
            return m.private_quantiles(qs=[Fraction(1, 3), Fraction(2, 3)], ties=16, **wide)
        case "private_iqr":
            return m.private_iqr(ties=3, **wide)
        case "private_bounds":
            return m.private_bounds(scale=1)
        case "private_cdf":
            return m.private_cdf(edges=[LEAST, 0, MOST], scale=2**60, branching=2)
        case _:
            return None


def test_every_mechanism_of_whole_numbers_is_walked():
    walked = set(VECTORS) | {"private_histogram", "private_mode", "private_covariance", "local_mean", "noisy_hierarchy"}
    walked |= set(KEYS) | NO_SUMS | {name for name in every.CASES if _rebuilt(name) is not None}
    walked |= {"query_stream", "alerts", "running_total", "stream_maximum"}  # Python's integers, one at a time
    assert set(every.CASES) <= walked


def test_streams_add_python_integers():
    total = (every.STREAM >> m.running_total(horizon=4, scale=1))([], entropy=Silent())
    assert [total.feed(2**63 - 1) for _ in range(4)] == [k * (2**63 - 1) for k in range(1, 5)]


@pytest.mark.parametrize("scale", [2**51, 2**70])
def test_noise_too_wide_for_int64_is_drawn_one_by_one(scale):
    for name in ("laplace", "gaussian", "discrete_gaussian"):
        assert list((LIST >> getattr(m, name)(scale=scale)).function([5, 2**70], Silent())) == [5, MOST]
    assert every._levels((LIST >> m.noisy_tree(scale=scale)).function([5, 6], Silent())) == [[11], [5, 6] + [0] * 14]
    assert (every.SCORES >> m.report_noisy_max(scale=scale, noise=TOP.LAPLACE)).function([5, 6, 2], Silent()) == 1
    draws = iter([2**64, -(2**64)])
    assert wide_sum(np.array([-(2**62), 3]), lambda: next(draws)).tolist() == [MOST, LEAST]


def test_neighbouring_trees_stay_neighbours():
    """The example of a wrapped root: two vectors one apart, whose roots must be no further apart."""
    roots = [tree_sums(whole(leaves), 2)[0].tolist() for leaves in ([2**62, 2**62 - 1], [2**62, 2**62])]
    assert roots == [[MOST], [MOST]]


def test_sums_of_halves_are_the_sums():
    for data in product(ENDS, repeat=3):
        wanted = [held(sum(data)), held(data[0] + data[2])]
        (found,) = exact_sums(np.array(data), lambda part: [np.array([part.sum(), part[0] + part[2]])])
        assert found.tolist() == wanted


def test_rank_scores_of_more_rows_than_memory_holds():
    q, total = Fraction(333333, 10**6), 2**62
    scores = rank_scores(np.array([0, 2**61]), np.array([total, 2**61]), total, q)
    wrong = [max(b * 10**6 - total * 333333, a * 10**6 - total * 666667, 0) for b, a in ((0, total), (2**61, 2**61))]
    assert scores.tolist() == [-value for value in wrong]


def test_a_step_beyond_int64_is_read_exactly():
    assert read_steps(Lattice(Fraction(2**70)), np.array([3, -1])).tolist() == [3 * 2**70, -(2**70)]


def test_a_grid_that_int64_cannot_hold_is_refused_when_built():
    space = Space(Rows(Numbers()), SymmetricDistance())
    with pytest.raises(InvalidArgument, match=r"2\*\*60"):
        space >> m.private_quantiles(qs=[0.5], lower=0, upper=2**59, grid=1, scale=1, ties=16)
    with pytest.raises(InvalidArgument, match="bin"):
        Space(Vectors(Lattice(), 2**31), L1()) >> m.noisy_tree(scale=1)


WIDEST = [MOST, 2**53, 2**52, 2**51 - 1, 2**29, 2]
ENUMERATES = {"histogram", "tree_counts", "in_total", "tree_counts by three"}
"""One entry for each value, so bounds stay narrow."""


def _widened(domain: Rows, width: int) -> Rows | None:
    element = domain.element
    match element:
        case Lattice(missing=False):
            return replace(domain, element=Lattice(element.step, -width, width))
        case Vectors(Lattice() as inner, _, None):
            return replace(domain, element=replace(element, element=Lattice(inner.step, -width, width)))
        case _:
            return None


def _rows_at(domain: Rows, width: int) -> list[Any]:
    if isinstance(domain.element, Vectors):
        return [(width, -width), (-width, -width), (width - 1, width)]
    return [-width, 1 - width, 0, width]


ROWS = [(case[0], case[1], case[3]) for case in stability.CASES + stability.UNSIZED_ONLY + stability.SIZED_ONLY]


@pytest.mark.parametrize(("name", "domain", "step"), ROWS, ids=[row[0] for row in ROWS])
def test_transformations_at_the_widest_bounds_they_take(name, domain, step):
    if _widened(domain, 1) is None:
        return
    metrics = [Hamming()] if domain.size is not None else [SymmetricDistance(), Hamming()]
    for metric in metrics:
        for width in WIDEST if name not in ENUMERATES else [2]:
            wide = _widened(domain, width)
            try:
                built = Space(wide, metric) >> step
            except (SpaceMismatch, InvalidArgument):
                continue
            sizes = [domain.size] if domain.size is not None else [0, 1, 2]
            verdict = try_stability(built, data_sets(_rows_at(wide, width), sizes=sizes), Fraction(1))
            assert verdict.broken is None, (metric, width)
            break
        else:
            assert domain.size is None, "no bounds fit"


def test_distances_of_scalars():
    assert LInfinity().distance([LEAST], [MOST], Vectors(Lattice(), 1)) == 2**64 - 1
    assert AbsoluteDistance().distance(LEAST, MOST, Lattice()) == 2**64 - 1
