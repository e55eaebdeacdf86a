"""What keeps its promise is not accused, however it answers and wherever it draws. Each of these was a false alarm once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable import noise
from deniable.audit import subject, two_halves
from deniable.audit.answer_columns import Failure, columns, is_plain, whole
from deniable.audit.claims import curve_of
from deniable.audit.exact_law import NotEnumerable, output_law
from deniable.core import Lattice, Numbers, Rows, Space, SymmetricDistance
from deniable.core.compositor import interactive
from deniable.core.metric import AbsoluteDistance
from deniable.cost import Bounded
from deniable.errors import DeniableError, InvalidArgument
from deniable.testing import Seeded
from tests.shared_memory import ledgers_in_memory

__all__ = ["ledgers_in_memory"]

pytestmark = pytest.mark.usefixtures("ledgers_in_memory")

ONE, HALF = Bounded(epsilon=1), Fraction(1, 2)
NUMBER = Space(Lattice(), AbsoluteDistance())
NOISE = NUMBER >> dp.calculus.laplace(scale=1)
ROWS = Space(Rows(Numbers()), SymmetricDistance())
COUNT = ROWS >> dp.calculus.count() >> dp.calculus.laplace(scale=1)
PAIR = ([1.0, 2.0], [1.0, 2.0, 3.0])


class Thing:
    """An object that is equal to itself alone."""


@pytest.mark.parametrize(
    "odd",
    [lambda: float("inf") * 0, Thing, lambda: [np.float64("nan")]],
    ids=["a float", "an object", "a float in a list"],
)
def test_answers_that_are_not_equal_to_themselves(odd):
    """Two NaN, or two objects, made on either side look the same to whoever sees them."""

    def answers(data, entropy):
        return odd() if noise.bernoulli(HALF, entropy) else 1

    verdict = dp.audit.check(answers, claim=Bounded(epsilon=0), neighbours=(0, 1))
    assert (verdict.method, verdict.broken, verdict.epsilon_at_least) == ("exact", False, 0)


@pytest.mark.parametrize("pair", [(1, 1.0), (0.0, -0.0), (True, 1), (np.int64(1), 1), ((1,), [1]), ("1", 1)], ids=str)
def test_the_exact_law_tells_types_and_signs_apart(pair):
    def leaks(data, entropy):
        return pair[data] if noise.bernoulli(HALF, entropy) else "other"

    verdict = dp.audit.check(leaks, claim=ONE, neighbours=(0, 1))
    assert verdict.method == "exact"
    assert verdict.broken


def test_a_source_of_its_own_beside_the_entropy_is_left_to_draws(monkeypatch):
    """Enumerating the draws says nothing of a law that is not drawn there."""
    own = Seeded(5)

    def ignores(data, entropy):
        return data + noise.uniform_below(1001, own)

    def mixes(data, entropy):
        return ignores(data, entropy) + noise.bernoulli(HALF, entropy)

    for target in (ignores, mixes):
        verdict = dp.audit.check(target, claim=Bounded(epsilon=1, delta=0.1), neighbours=(0, 1))
        assert not verdict.broken
        assert (verdict.method, verdict.entropy) == ("samples", "its own")
        assert "not for everything" in verdict.notes[0]
    monkeypatch.setattr(subject.Subject, "repeats_itself", lambda *_: True)
    assert not dp.audit.check(mixes, claim=Bounded(epsilon=1, delta=0.1), neighbours=(0, 1)).broken
    monkeypatch.setattr("deniable.audit.auditor._AGAIN", 0)
    assert dp.audit.check(mixes, claim=Bounded(epsilon=1, delta=0.1), neighbours=(0, 1)).broken, "the control is needed"


def test_one_that_hardly_ever_answers_otherwise_is_left_to_draws():
    """At epsilon = 6 each side repeats itself almost always; a law of one answer would read as no randomness at all."""
    own = Seeded(6)

    def response(data, entropy):
        return data if noise.bernoulli(Fraction(9975, 10_000), own) else 1 - data

    verdict = dp.audit.check(response, claim=Bounded(epsilon=6), neighbours=(0, 1))
    assert (verdict.method, verdict.broken) == ("samples", False)


def test_one_that_once_answers_otherwise_while_its_law_is_followed_is_left_to_draws():
    """A draw of its own, once in hundreds of answers: one path of the law then reads as an answer of one side alone."""
    calls = iter(range(10**6))

    def odd_once(data, entropy):
        answer = data + noise.discrete_laplace(1, entropy)
        return 10**6 if next(calls) == 200 else answer  # after forty times two answers about either side

    verdict = dp.audit.check(odd_once, claim=ONE, neighbours=(0, 1), entropy=Seeded(2))
    assert (verdict.method, verdict.broken, verdict.entropy) == ("samples", False, "its own")


ODD = [{"a": 5}, {}, {"a": "x"}, 3, None, [1, 2], {"a": 5, "b": float("nan")}, -0.0, Failure("KeyError", "'a'")]


def test_what_comes_later_has_no_part_in_what_is_chosen():
    """A later draw with a new column changed how its lack was read in the first draws: it had a say in the choice."""
    entropy, curve = Seeded(4), curve_of(ONE)

    def some(values, count):
        return [values[noise.uniform_below(len(values), entropy)] for _ in range(count)]

    for _ in range(12):
        firsts = [some(some(ODD, 3), 20) for _ in range(2)]
        later = some(ODD, 5)
        alone = [columns(side) for side in firsts]
        parted = [two_halves.parts(columns(side + later), 20)[0] for side in firsts]
        for chosen in (two_halves.likeliest, two_halves.choose, two_halves.other_side):
            assert chosen(*parted, draws=20, curve=curve) == chosen(*alone, draws=20, curve=curve)


def test_what_keeps_its_answers_is_noted():
    verdict = dp.audit.check(lambda data: data, claim=ONE, neighbours=(0, 1), samples=400)
    assert verdict.broken
    assert "judged as if it drew nothing" in verdict.notes[-1]
    array = type("Kept", (), {"draws": lambda _, data, count, entropy: np.full(count, data), "function": print})
    assert (
        "judged as if it drew nothing" in dp.audit.check(array(), claim=ONE, neighbours=(0, 1), samples=400).notes[-1]
    )


def test_a_draw_that_cannot_be_enumerated_is_not_an_answer_even_if_it_is_caught():
    def catches(entropy):
        try:
            return entropy.word()
        except Exception:
            return "error"

    with pytest.raises(NotEnumerable, match="raw words"):
        output_law(catches)

    def careless(entropy):
        try:
            return noise.uniform_below(40, entropy)
        except Exception:
            return "error"

    law = output_law(careless, cut=Fraction(1, 20))
    assert law.chances == {}
    assert law.lost >= 1


def test_the_type_of_a_batch_is_no_event():
    """An array has one type for all its draws: one draw that changes it would speak for all the others."""
    plain, odd = np.array([1, 2, 3]), np.array([1, 2, 3.0])
    assert columns(plain).keys() == columns(odd).keys()
    assert not any("type" in name for name in columns(plain))


def test_a_lower_bound_is_stated_at_its_own_delta():
    """Of several claims the largest bound belongs to one delta; it is not carried over to another."""

    def noisy(data, entropy):
        return data + noise.discrete_laplace(Fraction(1, 3), entropy)

    verdict = dp.audit.check(
        noisy,
        claim=[Bounded(epsilon=0, delta=0.3), Bounded(epsilon=Fraction(5, 2))],
        neighbours=(0, 1),
        samples=4_000,
        entropy=Seeded(1),
    )
    truth = dp.epsilon(dp.costs.DiscreteLaplace(scale=Fraction(1, 3)), delta=verdict.delta).upper
    assert verdict.delta == 0.3
    assert verdict.epsilon_at_least <= truth < max(trial.epsilon for trial in verdict.trials)


def test_a_claim_beyond_all_floats_is_refused_in_one_line():
    with pytest.raises(InvalidArgument, match="too few draws"):
        dp.audit.check(lambda x, entropy: x, claim=Bounded(epsilon=1000), neighbours=(0, 1), samples=1_000)


def test_an_audit_of_errors_alone_says_so():
    def fails(data):
        raise KeyError("nobody")

    verdict = dp.audit.check(fails, claim=ONE, neighbours=(0, 1), samples=1_000)
    assert not verdict.broken
    assert "every answer was an error" in verdict.notes[-1]


def test_somebody_elses_object_with_a_function_of_data_alone():
    class Measurement:
        def __init__(self) -> None:
            self.drawn = iter(noise.discrete_laplaces(1, 10_000, Seeded(3)).tolist())

        def function(self, data):
            return data + next(self.drawn)

    verdict = dp.audit.check(Measurement(), claim=ONE, neighbours=(0, 1), samples=4_000)
    assert not verdict.broken
    assert verdict.epsilon_at_least > 0.3
    assert verdict.entropy == "its own"


# Questions ----------------------------------------------------------------------------------------------------------------

BOOK = dp.Codebook.from_yaml(
    "format: 1\nname: tiny\nunit: rows\ntables: {tiny: {variables: {x: {type: integer, bounds: [0, 2]}}}}"
)


def counted(session):
    return session.query().agg(n=dp.count()).release(epsilon=2)


def test_a_question_is_held_against_the_measure_of_its_budget():
    """A budget in rho charges rho; read as epsilon, an honest count would be accused."""
    tables = dp.audit.small_tables(BOOK, budget=dp.budget(rho=10))
    verdict = dp.audit.check(counted, tables=tables)
    assert not verdict.broken
    assert 1.5 < verdict.claims[0].rho < 2
    assert dp.audit.check(counted, claim=dp.costs.Concentrated(rho=Fraction(1, 50)), tables=tables).broken
    with pytest.raises(InvalidArgument, match="'cheap'"):
        dp.audit.check(counted, claim="cheap", tables=tables)


def test_a_question_that_draws_itself_has_no_law_of_its_own():
    """What a count is called is no secret and costs nothing; a law that follows one name on each side would read as a leak."""
    own = Seeded(11)

    def either(session):
        return session.query().agg(**{f"n{noise.uniform_below(3, own)}": dp.count()}).release(epsilon=2)

    tables = dp.audit.small_tables(BOOK)
    with pytest.raises(InvalidArgument, match="not the same each time"):
        dp.audit.check(either, tables=replace(tables, pairs=tables.pairs[:1], tail=Fraction(1, 10)))


# Replay -------------------------------------------------------------------------------------------------------------------


def broken(program, *, pair=(0, 1), **more):
    return dp.audit.replay(program, neighbours=pair, entropy=Seeded(7), **more).broken


def test_a_charge_may_pay_for_several_answers():
    def program(times):
        def asks(data, recorder):
            recorder.charge(Bounded(epsilon=2))
            return [recorder.release(NOISE, data) for _ in range(times)]

        return asks

    assert not broken(program(2))
    assert broken(program(3))


def test_a_price_that_is_not_proved_is_no_finding():
    """Two Gaussian answers under a claim in (epsilon, delta): no accusation unless some epsilon shows more."""
    gaussian = NUMBER >> dp.calculus.gaussian(scale=1)

    def program(data, recorder):
        return [recorder.release(gaussian, data) for _ in range(2)]

    total = gaussian.cost(d_in=1).repeated(2)
    enough = dp.delta(total, epsilon=1)
    assert not broken(program, claim=Bounded(epsilon=1, delta=Fraction(enough.upper)))
    assert broken(program, claim=Bounded(epsilon=1, delta=Fraction(enough.lower) * Fraction(9, 10)))


def test_what_a_program_draws_itself_is_the_same_in_both_runs():
    def shaken(data, recorder):
        return recorder.release(NOISE, data) + noise.uniform_below(10**9, recorder.entropy)

    own = Seeded(8)
    assert not broken(shaken)
    with pytest.raises(InvalidArgument, match=r"recorder\.entropy"):
        broken(lambda data, recorder: recorder.release(NOISE, data) + noise.uniform_below(9, own))


def test_answers_that_a_program_changes_are_handed_out_anew():
    def program(data, recorder):
        bins = recorder.release(LETTERS, data)
        bins += 100  # in place
        return bins

    LETTERS = dp.calculus.rows(dp.calculus.Categories(("a", "b"))) >> dp.calculus.private_histogram(scale=1)
    assert not broken(program, pair=(["a"], ["a", "b"]))


def test_an_input_that_a_program_changes_later_is_judged_as_it_was_asked_about():
    def program(data, recorder):
        held = list(data)
        first = recorder.release(COUNT, held, d_in=1)
        held.extend(data)
        return first, recorder.release(COUNT, held, d_in=2)

    assert not dp.audit.replay(program, neighbours=PAIR, entropy=Seeded(3)).broken


def test_a_program_may_look_at_its_budget_and_catch_a_refusal():
    def spends_all(compositor):
        answers = []
        try:
            while True:
                answers.append(compositor.release(COUNT))
        except DeniableError:
            return answers

    def looks(data, recorder):
        mine = recorder.compositor(data, ROWS, budget=dp.budget(epsilon=3))
        return [mine.release(COUNT), mine.remaining.loss, mine.release(COUNT), mine.remaining.loss]

    cost = COUNT.cost(d_in=1)
    assert not broken(interactive(ROWS, costs=[cost, cost], run=spends_all), pair=PAIR)
    assert not broken(looks, pair=PAIR)


def test_a_conversation_or_a_sample_cannot_be_frozen_and_is_refused():
    questions = NUMBER >> dp.calculus.query_stream(sensitivity=1, hits=1, threshold=1, scale=1, query_scale=1)
    with pytest.raises(InvalidArgument, match="goes on answering"):
        broken(lambda data, recorder: recorder.release(questions, data))
    drawing = dp.calculus.own_transformation(
        ROWS, ROWS, function=lambda rows: rows, stability_map=lambda d_in: d_in, author="a test"
    )

    def program(data, recorder):
        return recorder.release(COUNT, recorder.apply(drawing, data))

    assert not broken(program, pair=PAIR)


def test_the_text_of_an_answer_is_all_that_can_be_seen_of_it():
    assert whole({"a": [1, 2.0, None], "b": (True, "x")}) == "{'a': [1, 2.0, None], 'b': (True, 'x')}"
    assert whole(np.array([1, 2])) == "[1, 2] (int64)"
    assert whole({2, 1}) == "{1, 2}"
    assert whole(Thing()) == whole(Thing())
    assert whole({"a": 1, "b": 2}) != whole({"b": 2, "a": 1})
    assert not is_plain(Thing())
    assert is_plain([ONE.epsilon, {"a": np.ones(2)}])
