"""Private selection keeps its promise: the exact law of the best run, by generating functions and by running the mechanism."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.audit.comparison import compare
from deniable.audit.exact_law import OutputLaw, chance, output_law
from deniable.core import Booleans, DiscreteDistance, Space, categories, integers, rows
from deniable.cost import FREE, Bounded, Concentrated, Mixed, Selected, Stopping
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import Interval, exp, ln, power
from deniable.testing import Seeded

HALF, THIRD, TENTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)
YES_NO = Space(Booleans(), DiscreteDistance())
FOUR = Space(categories("abcd"), DiscreteDistance())
TOLD = dp.calculus.randomized_response(truth=Fraction(3, 4))
NB, POISSON = Stopping.NEGATIVE_BINOMIAL, Stopping.POISSON
RANK = "abcd".index


def generating(stopping, tries, shape, x):
    """E[x^K] of the number of tries, as published."""
    if stopping is POISSON:
        return exp(tries * (x - 1), 200) if x != 1 else Interval.point(1)
    if shape == 0:
        return ln(1 - (1 - tries) * x, 200) / ln(tries, 200)
    return (1 / power(1 - (1 - tries) * x, shape, 200) - 1) / (1 / power(tries, shape, 200) - 1)


def best_law(space, candidate, data, stopping, tries, shape=Fraction(1), score=float):
    """P[best score <= s] = E[F(s)^K], F the law of one run's score: without running the selection."""
    single = output_law(lambda e: (space >> candidate).function(data, e))
    law, below = OutputLaw(), Fraction(0)
    if stopping is POISSON:
        law.add(None, chance(generating(stopping, tries, shape, Fraction(0))))
    for outcome in sorted(single.chances, key=score):
        share = single.probability(outcome).lower.limit_denominator(1000)
        low, high = (generating(stopping, tries, shape, x) for x in (below, below + share))
        law.add(outcome, chance(high - low))
        below += share
    assert below == 1
    return law


CASES = [
    (NB, TENTH, Fraction(1)),
    (NB, Fraction(1, 100), Fraction(1)),
    (NB, TENTH, Fraction(0)),
    (NB, Fraction(1, 100), -HALF),
    (NB, THIRD, Fraction(2)),
    (POISSON, Fraction(3), Fraction(1)),
    (POISSON, HALF, Fraction(1)),
]


@pytest.mark.parametrize(("stopping", "tries", "shape"), CASES)
@pytest.mark.parametrize("space", [YES_NO, FOUR], ids=["two answers", "four answers"])
def test_the_best_of_many_keeps_its_promise(space, stopping, tries, shape):
    score = float if space is YES_NO else RANK
    mechanism = space >> dp.calculus.best_of(TOLD, score=score, stopping=stopping, tries=tries, shape=shape)
    inputs = [False, True] if space is YES_NO else ["a", "b", "d"]
    laws = {data: best_law(space, TOLD, data, stopping, tries, shape, score) for data in inputs}
    for left in inputs:
        for right in inputs:
            if left != right:
                assert compare(laws[left], laws[right], mechanism.cost(d_in=1)).kept
    assert mechanism.cost(d_in=1) == Selected((space >> TOLD).cost(d_in=1), stopping=stopping, tries=tries, shape=shape)
    assert mechanism.cost(d_in=0) == FREE


@pytest.mark.parametrize(
    ("stopping", "tries", "shape"),
    [(NB, Fraction(9, 10), Fraction(1)), (NB, Fraction(9, 10), -HALF), (POISSON, TENTH, HALF)],
)
def test_running_it_has_the_law_of_the_formula(stopping, tries, shape):
    mechanism = YES_NO >> dp.calculus.best_of(TOLD, score=float, stopping=stopping, tries=tries, shape=shape)
    for data in (False, True):
        run = output_law(lambda e, d=data: mechanism.function(d, e), tail=Fraction(1, 10**7))
        formula = best_law(YES_NO, TOLD, data, stopping, tries, shape)
        for outcome in formula.chances:
            found, said = run.probability(outcome), formula.probability(outcome)
            assert found.lower <= said.upper
            assert said.lower <= found.upper
        assert run.lost < Fraction(1, 10**6)


def test_the_geometric_law_comes_near_three_epsilon():
    """Many tries make the claim of 3 epsilon nearly true: fewer would be refuted, so the map is not idle."""
    rare = dp.calculus.randomized_response(truth=Fraction(999, 1000))
    laws = {data: best_law(YES_NO, rare, data, NB, Fraction(1, 31)) for data in (False, True)}
    loss = dp.accounting.pure((YES_NO >> rare).cost(d_in=1))
    assert compare(laws[False], laws[True], Bounded(epsilon=3 * loss)).kept
    assert compare(laws[False], laws[True], Bounded(epsilon=loss * Fraction(14, 10))).broken


def test_the_first_above_a_threshold_costs_twice():
    """Pr[answer] = P(answer)/(1 - (1-p)(1-stop)), Pr[None] = (1-p) stop/(1 - (1-p)(1-stop)): Liu and Talwar's law."""
    stop = Fraction(1, 1000)
    for truth in (Fraction(3, 4), Fraction(19, 20)):
        candidate = dp.calculus.randomized_response(truth=truth)
        mechanism = FOUR >> dp.calculus.first_above(candidate, score=RANK, threshold=2, stop=stop)
        laws = {}
        for data in "abcd":
            single = output_law(lambda e, d=data, c=candidate: (FOUR >> c).function(d, e))
            good = {x: single.probability(x).lower.limit_denominator(1000) for x in "cd"}
            hit = sum(good.values())
            whole = 1 - (1 - hit) * (1 - stop)
            laws[data] = OutputLaw()
            for outcome, share in {**{x: p / whole for x, p in good.items()}, None: (1 - hit) * stop / whole}.items():
                laws[data].add(outcome, chance(share))
        cost = mechanism.cost(d_in=1)
        assert cost == Bounded(epsilon=2 * dp.accounting.pure((FOUR >> candidate).cost(d_in=1)))
        assert all(compare(laws[a], laws[b], cost).kept for a in "abcd" for b in "abcd")
        less = Bounded(epsilon=cost.epsilon * Fraction(3, 5))
        assert any(compare(laws[a], laws[b], less).broken for a in "abcd" for b in "abcd")
        assert mechanism.cost(d_in=0) == FREE


def test_running_the_first_above_has_that_law():
    stop = Fraction(9, 10)
    mechanism = YES_NO >> dp.calculus.first_above(TOLD, score=float, threshold=1, stop=stop)
    run = output_law(lambda e: mechanism.function(False, e), cut=Fraction(1, 10**9))
    hit = Fraction(1, 4)
    whole = 1 - (1 - hit) * (1 - stop)
    for outcome, said in ((True, hit / whole), (None, (1 - hit) * stop / whole)):
        assert run.probability(outcome).lower <= said <= run.probability(outcome).upper
    assert run.lost < Fraction(1, 10**6)


def test_several_candidates_are_drawn_with_equal_chances():
    exact, vague = (
        dp.calculus.randomized_response(truth=Fraction(9, 10)),
        dp.calculus.randomized_response(truth=Fraction(3, 5)),
    )
    mechanism = YES_NO >> dp.calculus.best_of([exact, vague], score=float, tries=Fraction(99, 100))
    one = mechanism.cost(d_in=1).cost
    assert isinstance(one, Mixed)
    assert [part for part, _ in one.parts] == [HALF, HALF]
    law = output_law(lambda e: mechanism.function(True, e), tail=Fraction(1, 10**4))
    assert law.probability(True).lower > Fraction(74, 100)  # (9/10 + 3/5)/2, and a little more for a second try
    assert compare(
        law, output_law(lambda e: mechanism.function(False, e), tail=Fraction(1, 10**4)), mechanism.cost(d_in=1)
    ).kept
    same = YES_NO >> dp.calculus.best_of([vague, vague], score=float, tries=HALF)
    assert same.cost(d_in=1).cost == (YES_NO >> vague).cost(d_in=1)


def test_a_score_that_fails_is_the_lowest_and_never_an_error():
    def score(answer):
        if answer == "d":
            raise RuntimeError("data-dependent")
        return float("nan") if answer == "c" else RANK(answer)

    mechanism = FOUR >> dp.calculus.best_of(
        dp.calculus.randomized_response(truth=Fraction(1, 4)), score=score, tries=Fraction(1, 20)
    )
    seeds = [mechanism(data, entropy=Seeded(seed)) for seed, data in enumerate("abcd" * 5)]
    assert set(seeds) <= set("abcd")
    assert seeds.count("b") > 10  # the highest score that does not fail
    assert (
        FOUR
        >> dp.calculus.first_above(
            dp.calculus.randomized_response(truth=Fraction(1, 4)), score=score, threshold=0, stop=TENTH
        )
    )("c", entropy=Seeded(1)) in ("a", "b", None)


def test_a_candidate_with_a_renyi_curve_and_refusals():
    counted = dp.calculus.count() >> dp.calculus.gaussian(scale=30)
    mechanism = rows(integers()) >> dp.calculus.best_of(counted, score=lambda answer: -abs(answer), tries=TENTH)
    one = dp.epsilon((rows(integers()) >> counted).cost(d_in=1), delta=1e-6)
    best = dp.epsilon(mechanism.cost(d_in=1), delta=1e-6)
    assert one.upper < best.upper < 4 * one.upper
    assert isinstance(mechanism([1, 2, 3]), int)
    with pytest.raises(Unaccountable):
        (rows(integers()) >> dp.calculus.first_above(counted, score=float, threshold=0, stop=HALF)).cost(d_in=1)
    for wrong in ({"tries": 1}, {"tries": 0}, {"tries": HALF, "shape": -1}):
        with pytest.raises(InvalidArgument):
            YES_NO >> dp.calculus.best_of(TOLD, score=float, **wrong)
    with pytest.raises(InvalidArgument, match="tries is the chance to stop"):
        YES_NO >> dp.calculus.best_of(TOLD, score=float, tries=3)
    with pytest.raises(InvalidArgument, match="at least one candidate"):
        YES_NO >> dp.calculus.best_of([], score=float, tries=HALF)
    with pytest.raises(InvalidArgument):
        YES_NO >> dp.calculus.first_above(TOLD, score=float, threshold=0, stop=0)


def test_selecting_among_leaky_candidates_is_refused():
    leaky = dp.calculus.step(
        lambda space: dp.calculus.own_mechanism(
            space,
            function=lambda data, _: data,
            privacy_map=lambda _: Concentrated(rho=1, delta=Fraction(1, 10**6)),
            author="test",
        )
    )
    mechanism = YES_NO >> dp.calculus.best_of(leaky(), score=float, tries=HALF)
    with pytest.raises(Unaccountable, match="no delta"):
        dp.epsilon(mechanism.cost(d_in=1), delta=1e-5)
    assert mechanism.claims
