"""A choice among all integers: the sampler's own law by enumeration, the closed form, its promise, its accuracy."""

from fractions import Fraction
from itertools import product

import pytest

from deniable import mechanisms as m
from deniable.audit.comparison import check_privacy
from deniable.audit.exact_law import output_law
from deniable.core import Keyed, Lattice, LInfinity, Space, Vectors
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import exp
from deniable.kernels import exponential_choice as kernel
from deniable.kernels.exponential_choice import Tails, attempt, chance_of, integer_choice, log_chance, shortfall
from deniable.noise import system_entropy

HALF = Fraction(1, 2)
SHAPES = [
    ([0], Tails(Fraction(1), Fraction(1), Fraction(1))),
    ([0], Tails(HALF, Fraction(3), Fraction(2))),
    ([3, 0, 1], Tails(Fraction(1), Fraction(2, 3), Fraction(2))),
    ([0, 2], Tails(None, Fraction(1, 3), Fraction(1))),
    ([1, 0], Tails(Fraction(5, 2), None, Fraction(3, 2))),
    ([2, 0, 2], Tails(None, None, Fraction(1))),
]


def _weight(scores, tails, place):
    """exp(score / scale) by the definition, with the score found by walking outwards."""
    if place < 0:
        score = scores[0] - sum((tails.left for _ in range(-place)), Fraction(0))
    elif place >= len(scores):
        score = scores[-1] - sum((tails.right for _ in range(place - len(scores) + 1)), Fraction(0))
    else:
        score = scores[place]
    return exp(Fraction(score) / tails.scale, 128)


def _accepted(scores, tails):
    """The law of one attempt, and the chance that it answers at all."""
    law = output_law(lambda entropy: attempt(scores, tails, entropy), tail=Fraction(1, 10**9))
    return law, 1 - law.probability(None).lower


@pytest.mark.parametrize(("scores", "tails"), SHAPES)
def test_what_one_attempt_keeps_has_the_law_that_is_stated(scores, tails):
    law, answers = _accepted(scores, tails)
    assert answers > Fraction(1, 8)
    for place in (p for p in law.chances if p is not None and -6 <= p <= len(scores) + 5):
        stated = chance_of(scores, tails, place)
        seen = law.probability(place)
        assert abs(seen.lower / answers - stated.midpoint) <= Fraction(1, 10**6)


@pytest.mark.parametrize(("scores", "tails"), SHAPES)
def test_the_closed_form_is_the_definition(scores, tails):
    """Ratios of neighbouring places, and a sum of one up to a tail that is bounded by its first place."""
    low, high = (0 if tails.left is None else 80), (0 if tails.right is None else 80)
    places = range(-low, len(scores) + high)
    total = sum((chance_of(scores, tails, place) for place in places), start=exp(0) * 0)
    assert total.lower <= 1
    assert total.upper >= 1 - Fraction(1, 10**3)
    for place in places:
        ratio = _weight(scores, tails, place) / _weight(scores, tails, 0)
        stated = chance_of(scores, tails, place) / chance_of(scores, tails, 0)
        assert stated.lower <= ratio.upper
        assert ratio.lower <= stated.upper
        logged = exp(log_chance(scores, tails, place).midpoint, 80)
        assert abs(logged.midpoint / chance_of(scores, tails, place).midpoint - 1) < Fraction(1, 10**9)


def test_a_sampler_that_forgets_the_blocks_is_caught(monkeypatch):
    """Planted: a tail that never lies more than one block out, or inner places kept always, has another law."""
    scores, tails = SHAPES[2]
    monkeypatch.setattr(kernel, "_further", lambda *_: 0)
    law, answers = _accepted(scores, tails)
    gaps = [abs(law.probability(p).lower / answers - chance_of(scores, tails, p).midpoint) for p in (0, 1, -1)]
    assert max(gaps) > Fraction(1, 100)


def test_real_draws_reach_both_tails():
    entropy, tails = system_entropy(), Tails(Fraction(1, 50), Fraction(1, 50), Fraction(1))
    drawn = [integer_choice([0, 0], tails, entropy) for _ in range(300)]
    assert min(drawn) < -5
    assert max(drawn) > 5


def test_scores_beyond_64_bits_and_odd_falls():
    entropy = system_entropy()
    assert integer_choice([10**30, 0], Tails(Fraction(10**6), Fraction(1, 7), Fraction(1)), entropy) == 0
    assert integer_choice([0, 10**30], Tails(None, Fraction(10**6), Fraction(1)), entropy) == 1


@pytest.mark.parametrize("fall", [0, -1, (1, 0), (0, None), (-1, 1)])
def test_weights_that_do_not_add_up_are_refused(fall):
    with pytest.raises(InvalidArgument, match="must fall"):
        Space(Vectors(Lattice(), 2), LInfinity()) >> m.exponential_over_integers(first=0, fall=fall, scale=1)


def test_what_cannot_be_chosen_among_is_refused():
    with pytest.raises(SpaceMismatch, match="keys of their own"):
        Space(Keyed(Lattice(), ("a", "b")), LInfinity()) >> m.exponential_over_integers(first=0, fall=1, scale=1)
    with pytest.raises(InvalidArgument, match=r"\(left, right\)"):
        Space(Vectors(Lattice(), 2), LInfinity()) >> m.exponential_over_integers(first=0, fall=(1, 1, 1), scale=1)
    with pytest.raises(InvalidArgument, match="too little"):
        Tails(Fraction(1, 2**50), None, Fraction(1))
    with pytest.raises(InvalidArgument, match="where there are none"):
        chance_of([0, 1], Tails(None, Fraction(1), Fraction(1)), -1)


SCORES = Space(Vectors(Lattice(HALF), 2), LInfinity())


def test_the_promise_on_all_small_scores():
    mechanism = SCORES >> m.exponential_over_integers(first=-3, fall=(1, HALF), scale=1)
    for left in product(range(3), repeat=2):
        for moved in product((-1, 0, 1), repeat=2):
            right = [a + b for a, b in zip(left, moved, strict=True)]
            verdict = check_privacy(mechanism, left, right, d_in=HALF, tail=Fraction(1, 10**6))
            assert verdict.kept
            assert not verdict.broken


def test_a_tail_that_does_not_move_with_its_end_is_caught(monkeypatch):
    """All scores one higher is no change at all (a range of zero). Planted: tails that hang on a fixed score tell the two apart."""
    tails, honest = SHAPES[0][1], kernel._with_tails

    def fixed(scores, tails):
        values, unit = honest(scores, tails)
        values[0] = values[-1] = -unit
        return values, unit

    def laws():
        return [_accepted(scores, tails)[0].chances for scores in ([0, 0], [1, 1])]

    same, moved = laws()
    assert same == moved
    monkeypatch.setattr(kernel, "_with_tails", fixed)
    same, moved = laws()
    assert same != moved


@pytest.mark.parametrize(("scores", "tails"), SHAPES)
@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(2, 5)])
def test_the_score_falls_short_no_further_than_stated(scores, tails, beta):
    error, best = shortfall(beta, count=len(scores), tails=tails), max(scores)
    near = [place for place in range(-60, 60) if _within(scores, tails, place, best - error)]
    assert sum(chance_of(scores, tails, place).upper for place in near) >= 1 - beta


def _within(scores, tails, place, least):
    if (place < 0 and tails.left is None) or (place >= len(scores) and tails.right is None):
        return False
    return kernel._score(scores, tails, place) >= least


def test_the_loss_at_an_answer_far_out():
    mechanism = SCORES >> m.exponential_over_integers(first=0, fall=1, scale=1)
    loss = m.loss_at(mechanism, -(10**6), left=[2, 0], right=[0, 0])
    assert loss.lower > 0
    assert loss.upper <= float(mechanism.loss(d_in=1).upper) + 1e-9
    assert "nothing learnt" in loss.plot()._repr_svg_()
    with pytest.raises(InvalidArgument, match="no integer"):
        m.loss_at(mechanism, "x", left=[2, 0], right=[0, 0])
