"""Samples, shufflers and batches keep their promise: the exact law of sample and answer together, against the claimed profile."""

from fractions import Fraction
from itertools import pairwise

import pytest

import deniable as dp
from deniable.audit.comparison import check_privacy, compare
from deniable.audit.exact_law import output_law
from deniable.core import (
    Booleans,
    ChangeOne,
    Hamming,
    InsertDelete,
    Lattice,
    LInfinity,
    Space,
    Texts,
    Vectors,
    frame,
    integers,
    rows,
)
from deniable.core.sampler import sampler
from deniable.cost import Bounded, Laplace, Mixed, Neighbours, Sampled, Sampling, Shuffled
from deniable.errors import BudgetExceeded, InvalidArgument, SpaceMismatch, Unaccountable
from deniable.testing import Seeded

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
BIT = integers(lower=0, upper=1)
COUNT = dp.calculus.count() >> dp.calculus.laplace(scale=1)
TOTAL = dp.calculus.total() >> dp.calculus.laplace(scale=1)
TAIL = Fraction(1, 10**6)


def kept(mechanism, left, right, **more):
    verdict = check_privacy(mechanism, left, right, tail=TAIL, **more)
    assert verdict.kept
    return verdict


# Poisson samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [THIRD, Fraction(9, 10), Fraction(1)])
def test_a_poisson_sample_costs_what_its_exact_law_loses(rate):
    mechanism = rows(BIT) >> dp.calculus.sampled(COUNT, rate=rate)
    verdicts = [kept(mechanism, few, many) for few, many in pairwise([[0] * n for n in range(4)])]
    assert verdicts[0].reaches(Fraction(9, 10))  # with others in the data their coins hide the unit further
    assert mechanism.cost(d_in=1) == Sampled(mechanism_cost(COUNT, rows(BIT)), rate=rate)
    assert mechanism.cost(d_in=0) == mechanism.cost(d_in=HALF) == dp.costs.FREE


def mechanism_cost(inner, space, d_in=1):
    return (space >> inner).cost(d_in=d_in)


def test_a_poisson_sample_with_a_replaced_row():
    space = rows(BIT, size=3)
    mechanism = space >> dp.calculus.sampled(TOTAL, rate=THIRD)
    assert mechanism.cost(d_in=1).neighbours is Neighbours.REPLACE
    for left, right in ([[0, 0, 0], [0, 0, 1]], [[1, 1, 1], [1, 0, 1]], [[0, 1, 0], [0, 1, 1]]):
        kept(mechanism, left, right)
    signed = rows(integers(lower=-1, upper=1), size=2) >> dp.calculus.sampled(TOTAL, rate=HALF)
    assert kept(signed, [0, 1], [0, -1]).reaches(Fraction(1, 2))


def test_a_smaller_claim_is_refuted():
    """What sampling at 1/2 really loses is more than sampling at 1/3 may."""
    laws = [
        output_law(lambda e, d=data: (rows(BIT) >> dp.calculus.sampled(COUNT, rate=HALF)).function(d, e), tail=TAIL)
        for data in ([0], [0, 0])
    ]
    honest = (rows(BIT) >> dp.calculus.sampled(COUNT, rate=HALF)).cost(d_in=1)
    assert compare(*laws, honest).kept
    assert compare(*laws, (rows(BIT) >> dp.calculus.sampled(COUNT, rate=THIRD)).cost(d_in=1)).broken


def test_people_are_drawn_with_all_their_rows():
    people = frame({"who": Texts(), "x": BIT}, identifier="who")
    inner = dp.calculus.truncate_rows(rows=2) >> dp.calculus.column("x") >> COUNT
    mechanism = people >> dp.calculus.sampled(inner, rate=THIRD)
    left, right = {"who": ["a", "b"], "x": [0, 1]}, {"who": ["a", "b", "c", "c"], "x": [0, 1, 1, 1]}
    assert kept(mechanism, left, right).reaches(HALF)
    sizes = output_law(
        lambda e: len((people >> dp.calculus.sampled(own_size(), rate=HALF)).function(right, e)), tail=TAIL
    ).chances
    assert set(sizes) == {0, 1, 2, 3, 4}


@dp.calculus.step
def own_size(space):
    return dp.calculus.own_mechanism(
        space, function=lambda data, _: data["x"], privacy_map=lambda _: Bounded(epsilon=0), author="test"
    )


# Samples of a fixed size --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_sample_of_fixed_size(size):
    space = rows(BIT, size=3)
    mechanism = space >> dp.calculus.sampled(TOTAL, size=size)
    cost = mechanism.cost(d_in=1)
    assert (cost.rate, cost.how, cost.neighbours) == (
        Fraction(size, 3),
        Sampling.WITHOUT_REPLACEMENT,
        Neighbours.REPLACE,
    )
    for left, right in ([[0, 0, 0], [0, 0, 1]], [[1, 1, 1], [1, 0, 1]]):
        assert kept(mechanism, left, right).reaches(Fraction(9, 10))


def test_an_ordered_sample_keeps_its_order():
    ordered = rows(BIT, size=3, metric=Hamming())
    mechanism = ordered >> dp.calculus.sampled(dp.calculus.unordered() >> TOTAL, size=2)
    assert kept(mechanism, [0, 1, 1], [0, 1, 0])
    drawn = Space(ordered.domain, Hamming()) >> dp.calculus.sampled(own_rows(), size=2)
    law = output_law(lambda e: drawn.function([0, 1, 0], e))
    assert set(law.chances) == {(0, 1), (0, 0), (1, 0)}


@dp.calculus.step
def own_rows(space):
    return dp.calculus.own_mechanism(
        space, function=lambda data, _: list(data), privacy_map=lambda _: Bounded(epsilon=0), author="test"
    )


# Truncated batches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [1, 2])
def test_a_capped_sample(cap):
    """With a public size the chance that a unit pushes another out is counted; without it that is charged always."""
    public = rows(BIT, size=3) >> dp.calculus.sampled(TOTAL, rate=HALF, cap=cap)
    assert isinstance(public.cost(d_in=1), Mixed)
    for left, right in ([[0, 0, 0], [0, 0, 1]], [[1, 1, 1], [1, 0, 1]]):
        kept(public, left, right)
    private = rows(BIT) >> dp.calculus.sampled(TOTAL, rate=HALF, cap=cap)
    for left, right in ([[0, 0], [0, 0, 1]], [[1, 1], [1, 1, 0]], [[1, 1, 1], [1, 1, 1, 0]]):
        kept(private, left, right)


def test_a_capped_sample_priced_as_a_poisson_one_is_refuted():
    """A row that pushes another out moves a signed total by two: the plain Poisson price is too small."""
    mechanism = rows(integers(lower=-1, upper=1)) >> dp.calculus.sampled(TOTAL, rate=Fraction(9, 10), cap=1)
    left, right = [1, 1], [1, 1, -1]
    laws = [output_law(lambda e, d=data: mechanism.function(d, e), tail=TAIL) for data in (left, right)]
    assert compare(*laws, mechanism.cost(d_in=1)).kept
    assert compare(*laws, mechanism_cost(TOTAL, rows(integers(lower=-1, upper=1))).sampled(rate=Fraction(9, 10))).broken


# Shuffling and batches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("truth", [Fraction(3, 4), Fraction(19, 20)])
def test_shuffled_reports(size, truth):
    space = rows(Booleans(), size=size)
    mechanism = space >> dp.calculus.shuffled(dp.calculus.randomized_response(truth=truth))
    assert mechanism.cost(d_in=1).reports == size
    same, other = [False] * size, [False] * (size - 1) + [True]

    def counted(data):
        return output_law(lambda e: sum(mechanism.function(data, e)))

    assert compare(counted(same), counted(other), mechanism.cost(d_in=1)).kept
    assert kept(mechanism, same, other)
    assert mechanism.cost(d_in=0) == dp.costs.FREE
    if size > 1:
        assert mechanism.cost(d_in=2) == mechanism.cost(d_in=1).group(2)
        assert (
            dp.delta(mechanism.cost(d_in=1), epsilon=HALF).upper
            < dp.delta(
                (space >> dp.calculus.shuffled(dp.calculus.randomized_response(truth=truth))).cost(d_in=2), epsilon=HALF
            ).upper
        )


def test_one_pass_through_disjoint_batches_costs_one_batch():
    mechanism = rows(BIT) >> dp.calculus.in_batches(COUNT, batches=2)
    assert mechanism.cost(d_in=1) == mechanism_cost(COUNT, rows(BIT))
    assert kept(mechanism, [0], [0, 0], losses=[0, HALF, 1]).reaches(HALF)
    replaced = rows(BIT, size=2) >> dp.calculus.in_batches(TOTAL, batches=2)
    kept(replaced, [0, 0], [0, 1], losses=[0, HALF, 1])
    law = output_law(lambda e: (rows(BIT) >> dp.calculus.in_batches(own_rows(), batches=2)).function([0, 1], e))
    assert set(law.chances) == {((0, 1), ()), ((0,), (1,)), ((1,), (0,)), ((), (0, 1))}
    ordered = rows(BIT, metric=InsertDelete()) >> dp.calculus.in_batches(own_rows(), batches=3)
    assert sum(map(len, ordered([0, 1, 1, 0]))) == 4
    with pytest.raises(InvalidArgument, match="one row at a time"):
        mechanism.cost(d_in=2)


# People of several rows -----------------------------------------------------------------------------------------------------

PEOPLE = frame({"who": Texts(), "x": BIT}, identifier="who")
ANYONE = dp.calculus.truncate_rows(rows=1) >> dp.calculus.column("x") >> COUNT
"""Any one row of a person says all that two of them do."""


@pytest.mark.parametrize("how", [{"rate": HALF}, {"rate": HALF, "cap": 2}])
def test_the_rows_of_a_person_are_drawn_together(how):
    drawn = sampler(PEOPLE, **how)
    data = {"who": ["a", "b", "a"], "x": [1, 1, 1]}
    law = output_law(lambda entropy: tuple(drawn.draw(data, entropy)["who"]))
    quarter = Fraction(1, 4)
    assert {people: law.probability(people).lower for people in law.chances} == {
        (): quarter, ("a", "a"): quarter, ("b",): quarter, ("a", "b", "a"): quarter
    }  # fmt: skip


def test_a_person_of_two_rows_is_one_unit_of_the_sample():
    """Were the rows tossed one by one, a person of two would be seen three times in four: the promise would be broken."""
    mechanism = PEOPLE >> dp.calculus.sampled(ANYONE, rate=HALF)
    nobody, one = {"who": [], "x": []}, {"who": ["a", "a"], "x": [1, 1]}
    assert check_privacy(mechanism, nobody, one, tail=TAIL).kept
    by_row = dp.calculus.own_mechanism(
        PEOPLE,
        function=lambda data, entropy: (rows(BIT) >> COUNT).function(
            [1] if any(dp.noise.bernoulli(HALF, entropy) for _ in data["who"]) else [], entropy
        ),
        privacy_map=mechanism.privacy_map,
        author="test",
    )
    assert check_privacy(by_row, nobody, one, tail=TAIL).broken


# A sample of a population -------------------------------------------------------------------------------------------------


def test_a_population_pays_once_for_all_answers_about_the_sample():
    whole = Laplace(scale=2).repeated(3)
    found = dp.accounting.population_cost(
        whole, rate=THIRD, design=dp.accounting.Design.SIMPLE_RANDOM, secrecy=dp.accounting.Secrecy.SECRET
    )
    assert found == Sampled(whole, rate=THIRD, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.REPLACE)
    apart = Laplace(scale=2).sampled(rate=THIRD).repeated(3)
    assert dp.delta(found, epsilon=Fraction(1, 2)).upper > dp.delta(apart, epsilon=Fraction(1, 2)).upper


def test_adding_amplified_answers_about_one_sample_is_refuted():
    """One row in the sample or not, and each of two answers says which: together they lose more than two fresh samples."""
    honest = Bounded(epsilon=2)

    def law(size):
        def run(entropy):
            drawn = [1 for _ in range(size) if dp.noise.bernoulli(THIRD, entropy)]
            return tuple(dp.noise.bernoulli(Fraction(22, 30) if drawn else Fraction(8, 30), entropy) for _ in range(2))

        return output_law(run)

    laws = law(0), law(1)
    once = Bounded(epsilon=Fraction(102, 100))  # ln(22/8) = 1.0116
    assert compare(*laws, once.repeated(2).sampled(rate=THIRD)).kept
    assert compare(*laws, once.sampled(rate=THIRD).repeated(2), losses=[Fraction(4, 5)]).broken
    assert compare(*laws, honest).kept


@pytest.mark.parametrize(
    "design",
    [
        each
        for each in dp.accounting.Design
        if each not in (dp.accounting.Design.POISSON, dp.accounting.Design.SIMPLE_RANDOM)
    ],
)
def test_designs_that_do_not_amplify_are_refused(design):
    with pytest.raises(InvalidArgument, match="does not amplify"):
        dp.accounting.population_cost(Laplace(scale=1), rate=HALF, design=design, secrecy=dp.accounting.Secrecy.SECRET)


def test_a_known_sample_is_refused():
    with pytest.raises(InvalidArgument, match="only while it is secret"):
        dp.accounting.population_cost(
            Laplace(scale=1), rate=HALF, design=dp.accounting.Design.SIMPLE_RANDOM, secrecy=dp.accounting.Secrecy.KNOWN
        )


# Refusals -----------------------------------------------------------------------------------------------------------------


def test_what_a_sample_refuses():
    with pytest.raises(InvalidArgument, match="one unit at a time"):
        (rows(BIT) >> dp.calculus.sampled(COUNT, rate=HALF)).cost(d_in=2)
    with pytest.raises(SpaceMismatch, match="public number of rows"):
        rows(BIT) >> dp.calculus.sampled(COUNT, size=2)
    with pytest.raises(SpaceMismatch, match="public number of rows"):
        frame({"who": Texts()}, identifier="who") >> dp.calculus.sampled(COUNT, size=2)
    with pytest.raises(InvalidArgument, match="at most the number of rows, 3"):
        rows(BIT, size=3) >> dp.calculus.sampled(TOTAL, size=4)
    with pytest.raises(SpaceMismatch, match="drawn from rows"):
        Space(Vectors(Lattice(), 2), LInfinity()) >> dp.calculus.sampled(COUNT, rate=HALF)
    for wrong in (
        {},
        {"rate": HALF, "size": 1},
        {"size": 1, "cap": 1},
        {"rate": 0},
        {"rate": 2},
        {"rate": 1, "cap": 0},
    ):
        with pytest.raises(InvalidArgument):
            rows(BIT, size=3) >> dp.calculus.sampled(TOTAL, **wrong)


def test_a_sample_after_a_choice_by_the_data_is_refused():
    """A transformation that moves more than one row for one is no row-by-row choice: sampling after it does not amplify."""
    doubled = dp.calculus.own_transformation(
        rows(BIT), rows(BIT), function=lambda data: data + data, stability_map=lambda d: 2 * d, author="test"
    )
    twice = doubled >> dp.calculus.sampled(COUNT, rate=HALF)
    with pytest.raises(InvalidArgument, match="one unit at a time"):
        twice.cost(d_in=1)


def test_what_a_shuffler_refuses():
    with pytest.raises(SpaceMismatch, match="public number of reports"):
        rows(Booleans()) >> dp.calculus.shuffled(dp.calculus.randomized_response(truth=HALF))
    with pytest.raises(Unaccountable):
        rows(Lattice(Fraction(1), 0, 1), size=5) >> dp.calculus.shuffled(leaky())


@dp.calculus.step
def leaky(space):
    return dp.calculus.own_mechanism(
        space,
        function=lambda data, _: data,
        privacy_map=lambda _: Bounded(epsilon=1, delta=Fraction(1, 10)),
        author="test",
    )


# Batches of a training run ------------------------------------------------------------------------------------------------

STEP = (rows(BIT) >> COUNT).cost(d_in=1)


def test_e29_what_is_charged_is_what_is_drawn():
    """Errata E29: the loader is the accountant; every batch drawn is charged, no other batch exists, and nothing else fits it."""
    price = STEP.sampled(rate=HALF)
    session = dp.calculus.compositor([1] * 40, rows(BIT), costs=[price] * 3, entropy=Seeded(1))
    seen = []
    for batch in session.batches([STEP], rate=HALF, steps=3):
        seen.append(batch.release(batch.space >> COUNT))
        assert session.gate.charged == dp.costs.composed([price] * len(seen))
    assert len(seen) == 3
    assert all(0 < answer < 40 for answer in seen)
    assert session.gate.total == dp.costs.composed([price] * 3)


def test_e29_a_batch_is_charged_before_it_is_drawn_and_takes_what_was_declared():
    budget = dp.budget(epsilon=1)
    session = dp.calculus.compositor([1] * 40, rows(BIT), budget=budget, entropy=Seeded(2))
    batches = session.batches([STEP], rate=HALF, steps=100)
    assert session.spent == dp.accounting.NOTHING
    first = next(batches)
    assert session.spent.loss > 0
    with pytest.raises(BudgetExceeded, match="declared to cost"):
        first.release(first.space >> dp.calculus.count() >> dp.calculus.laplace(scale=HALF))
    affordable = int(1 / dp.accounting.Pure().read(STEP.sampled(rate=HALF)))
    for _ in range(affordable - 1):
        next(batches)
    with pytest.raises(BudgetExceeded):
        next(batches)


def test_e29_a_loop_over_the_whole_data_is_refuted():
    """Charging for a sample while training on everything is caught: the whole data lose more than the sampled price."""
    wrong = rows(BIT) >> COUNT
    laws = [output_law(lambda e, d=data: wrong.function(d, e), tail=TAIL) for data in ([1], [1, 1])]
    assert compare(*laws, STEP.sampled(rate=HALF)).broken
    assert compare(*laws, STEP).kept


def test_batches_of_a_fixed_size():
    space = rows(BIT, size=6)
    session = dp.calculus.odometer([1, 0, 1, 0, 1, 1], space, entropy=Seeded(3))
    price = (rows(BIT, size=2) >> TOTAL).cost(d_in=1)
    answers = [batch.release(batch.space >> TOTAL) for batch in session.batches([price], size=2, steps=4)]
    assert len(answers) == 4
    one = Sampled(price, rate=THIRD, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.REPLACE)
    assert session.gate.charged == dp.costs.composed([one] * 4)
    with pytest.raises(InvalidArgument):
        session.batches([price], steps=4)


def test_shuffled_price():
    assert (rows(Booleans(), size=9, metric=ChangeOne()) >> dp.calculus.shuffled(dp.calculus.coin_flip())).cost(
        d_in=1
    ) == Shuffled(epsilon=dp.accounting.pure(dp.costs.RandomizedResponse(truth=Fraction(3, 4))), reports=9)
