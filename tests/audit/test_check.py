"""The auditor's verdicts: broken where a promise is broken, silent where it is kept, bounds below the truth; draws are scripted."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache

import jsonschema_rs
import numpy as np
import pytest

import deniable as dp
from deniable import noise
from deniable.audit import clopper_pearson, two_halves
from deniable.audit.answer_columns import columns
from deniable.audit.answer_events import AnswerEvent
from deniable.audit.auditor import exact_epsilon
from deniable.audit.claims import claim_text, curve_of
from deniable.audit.exact_law import output_law
from deniable.cost import Bounded, Concentrated, Gaussian
from deniable.errors import InvalidArgument
from deniable.noise import Entropy
from deniable.testing import Seeded

ONE = Bounded(epsilon=1)
NUMBER = dp.calculus.Space(dp.calculus.Lattice(), dp.calculus.AbsoluteDistance())


class Noisy:
    """A number with discrete Laplace noise that is worth `epsilon`."""

    def __init__(self, epsilon: float) -> None:
        self.scale = 1 / Fraction(str(epsilon))

    def function(self, data: int, entropy: Entropy) -> int:
        return data + noise.discrete_laplace(self.scale, entropy)

    def draws(self, data: int, count: int, entropy: Entropy) -> np.ndarray:
        return data + noise.discrete_laplaces(self.scale, count, entropy)


def runs(epsilon: float, samples: int, times: int, *, first: int = 0) -> int:
    target = Noisy(epsilon)
    return sum(
        dp.audit.check(target, claim=ONE, neighbours=(0, 1), samples=samples, entropy=Seeded(first + run)).broken
        for run in range(times)
    )


def test_one_and_a_half_against_one_is_caught_with_five_thousand_draws():
    assert runs(1.5, 5_000, 100) >= 90


def test_one_and_a_quarter_against_one_is_caught_with_twenty_thousand_draws():
    assert runs(1.25, 20_000, 100, first=1000) >= 85


@cache
def first_accusations() -> int:
    """Of two hundred runs in which the claim is true; a longer test goes on from there."""
    return runs(1.0, 2_000, 200, first=2000)


def test_what_is_true_is_not_refuted_more_often_than_the_level():
    assert first_accusations() <= 2


@pytest.mark.slow
def test_what_is_true_is_not_refuted_more_often_than_the_level_in_a_thousand_runs():
    assert first_accusations() + runs(1.0, 2_000, 800, first=2200) <= 10


def test_choosing_and_testing_on_the_same_draws_would_accuse_the_honest(monkeypatch):
    """The mutation: without the split, and without sharing the level, honest mechanisms are accused; so the split is needed."""

    def cheated(left, right, *, curve, error):
        sides = [columns(each) for each in (left, right)]
        chosen = [choice for choice, _ in two_halves.likeliest(*sides, draws=len(left), curve=curve)]
        chosen += two_halves.choose(*sides, draws=len(left), curve=curve)
        return [two_halves.try_event(c, *sides, draws=len(left), curve=curve, error=0.1) for c in chosen]

    honest = [Seeded(5000 + run) for run in range(60)]

    def accused() -> int:
        return sum(
            dp.audit.check(Noisy(1), claim=ONE, neighbours=(0, 1), samples=400, level=0.01 / 60, entropy=entropy).broken
            for entropy in honest
        )

    assert accused() == 0  # the sixty runs share one in a hundred
    honest = [Seeded(5000 + run) for run in range(60)]
    monkeypatch.setattr("deniable.audit.auditor.two_halves", cheated)
    assert accused() > 10


def test_without_sharing_the_level_the_honest_would_be_accused(monkeypatch):
    """The mutation: every event tested at the whole level. Six pairs and two claims then accuse almost always."""

    def accused() -> int:
        return sum(
            dp.audit.check(
                Noisy(1), claim=[ONE] * 2, neighbours=[(0, 1)] * 6, samples=200, level=0.1, entropy=Seeded(7000 + run)
            ).broken
            for run in range(4)
        )

    assert accused() == 0
    real = two_halves.try_event
    monkeypatch.setattr(two_halves, "try_event", lambda *sides, error, **more: real(*sides, error=0.8, **more))
    assert accused() > 2


def spied(monkeypatch, left, right, *, curve=None):
    """Which draws each test was made with, and at what error."""
    seen = []
    real = two_halves.try_event

    def spy(choice, *sides, draws, error, **more):
        seen.append((sides, draws, error))
        return real(choice, *sides, draws=draws, error=error, **more)

    monkeypatch.setattr(two_halves, "try_event", spy)
    two_halves.two_halves(left, right, curve=curve or curve_of(ONE), error=0.01)
    return seen


COINS = {zeros: np.array([0] * zeros + [1] * (200 - zeros)) for zeros in (100, 104, 130)}
"""So many heads of two hundred on one side, as many tails on the other: which side has more is open, open, and clear."""


def test_both_sides_are_tested_where_the_first_draws_leave_the_side_open():
    """The first draws say the wrong thing, and not clearly; all the others are sure, and refute by the side that was not chosen."""
    sides = [(columns(coins), columns(1 - coins)) for coins in COINS.values()]
    assert [len(two_halves.other_side(*pair, draws=200, curve=curve_of(ONE))) for pair in sides] == [1, 1, 0]
    left = np.concatenate([COINS[104], *[1 - COINS[130]] * 9])
    found = two_halves.two_halves(left, 1 - left, curve=curve_of(Bounded(epsilon=Fraction(1, 10))), error=0.01)
    turned = [trial for trial in found if trial.pairs.error == 0.01 * two_halves.TURNED]
    assert [(trial.broken, trial.reversed) for trial in turned] == [(True, True)]


@pytest.mark.parametrize("epsilon", [1, Fraction(1, 100)])
def test_the_error_is_shared_out_and_no_more(epsilon, monkeypatch):
    """Whatever is chosen: numbers whose middle is clear or not, names, answers that are all the same."""
    noisy = [Noisy(epsilon).draws(x, 3_000, Seeded(x)) for x in (0, 1)]
    names = [["a", "b", "c"] * 1_000, ["a", "b", "b"] * 1_000]
    for sides in (noisy, names, [[1] * 3_000, [2] * 3_000], [[{"n": 1, "m": "x"}] * 3_000, [{"m": "x"}] * 3_000]):
        with monkeypatch.context() as patch:
            errors = [error for _, _, error in spied(patch, *sides)]
        assert 0 < len(errors) <= 6
        assert 0.99 * 0.01 < sum(errors) <= 0.01 * (1 + 1e-12)


def test_no_draw_is_both_looked_at_and_counted(monkeypatch):
    """The draws after the first ones may be anything: what is chosen on the first ones does not change."""
    left, right = (np.asarray(Noisy(Fraction(1, 50)).draws(x, 20_000, Seeded(x))) for x in (0, 1))
    real, sizes = two_halves.likeliest, []

    def spy(first, second, *, draws, curve):
        sizes.append(draws)
        return real(first, second, draws=draws, curve=curve)

    monkeypatch.setattr(two_halves, "likeliest", spy)
    seen = spied(monkeypatch, left, right)
    (size,) = sizes
    assert size > two_halves.few(20_000), "this middle is not clear at once"
    assert {draws for _, draws, _ in seen} == {20_000 - size, 10_000}
    for sides, draws, _ in seen:
        for sample, whole in zip(sides, (left, right), strict=True):
            assert (sample["answer"].numbers == whole[20_000 - draws :]).all()
    spoilt = [np.concatenate([side[:size], side[size:][::-1] * 3]) for side in (left, right)]
    firsts = [[two_halves.parts(columns(side), size)[0] for side in sides] for sides in ((left, right), spoilt)]
    assert two_halves._until_clear(*map(columns, spoilt), draws=20_000) == size
    assert real(*firsts[0], draws=size, curve=curve_of(ONE)) == real(*firsts[1], draws=size, curve=curve_of(ONE))


def test_sides_swapped_would_find_nothing(monkeypatch):
    real = two_halves.try_event
    monkeypatch.setattr(
        two_halves,
        "try_event",
        lambda choice, left, right, **more: real(choice, right, left, **more),
    )
    assert runs(1.5, 5_000, 5) == 0


@pytest.mark.parametrize(("successes", "draws"), [(0, 10), (3, 10), (10, 10), (1, 400), (199, 400), (5, 5000)])
def test_clopper_pearson_encloses_the_exact_bound(successes, draws):
    """Against the exact tail in rationals: the bound is on the safe side, and a little further would not be."""

    def tail(p: Fraction) -> Fraction:
        return 1 - sum(math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(successes))

    error = 0.01
    low = clopper_pearson.lower_bound(successes, draws, error=error)
    if successes == 0:
        assert low == 0
    else:
        assert tail(Fraction(low).limit_denominator(10**7) - Fraction(1, 10**6)) <= Fraction(error)
        assert tail(Fraction(low).limit_denominator(10**7) + Fraction(1, 10**4)) > Fraction(error)
    assert clopper_pearson.upper_bound(draws - successes, draws, error=error) == pytest.approx(1 - low, abs=1e-12)


def test_bounds_refuse_what_is_no_count():
    with pytest.raises(InvalidArgument, match="successes"):
        clopper_pearson.lower_bound(11, 10, error=0.1)
    with pytest.raises(InvalidArgument, match="error"):
        clopper_pearson.lower_bound(1, 10, error=0)


class Table:
    """A random answer with the probabilities of a small table, one row for each data set."""

    def __init__(self, seed: int) -> None:
        entropy = Seeded(seed)
        size = 2 + noise.uniform_below(4, entropy)
        self.weights = [[1 + int(w) for w in noise.uniforms_below(20, size, entropy)] for _ in range(2)]

    def draws(self, data: int, count: int, entropy: Entropy) -> np.ndarray:
        ends = np.cumsum(self.weights[data])
        return np.searchsorted(ends, noise.uniforms_below(int(ends[-1]), count, entropy), side="right")

    def function(self, data: int, entropy: Entropy) -> int:
        return int(
            np.searchsorted(
                np.cumsum(self.weights[data]), noise.uniform_below(sum(self.weights[data]), entropy), "right"
            )
        )

    @property
    def epsilon(self) -> float:
        chances = [[w / sum(row) for w in row] for row in self.weights]
        return max(abs(math.log(a / b)) for a, b in zip(*chances, strict=True))


def test_lower_bounds_are_never_above_the_exact_law():
    tight = 0
    for seed in range(500):
        target = Table(seed)
        verdict = dp.audit.check(
            target, claim=Bounded(epsilon=0), neighbours=(0, 1), samples=1_000, entropy=Seeded(seed)
        )
        assert verdict.epsilon_at_least <= target.epsilon
        tight += verdict.epsilon_at_least > 0.3 * target.epsilon
    assert tight > 100


def test_the_exact_law_needs_no_draws_and_is_tight():
    verdict = dp.audit.check(Noisy(1.5), claim=ONE, neighbours=(0, 1))
    assert (verdict.method, verdict.broken, verdict.samples) == ("exact", True, 0)
    assert verdict.epsilon_at_least == pytest.approx(1.5, abs=1e-4)
    assert verdict.epsilon_at_least <= 1.5
    kept = dp.audit.check(NUMBER >> dp.calculus.laplace(scale=1), neighbours=(0, 1))
    assert not kept.broken
    assert kept.epsilon_at_least == pytest.approx(1, abs=1e-4)
    laws = [output_law(lambda e, x=x: Noisy(1).function(x, e)) for x in (0, 1)]
    assert exact_epsilon(laws[0], laws[1], Fraction(0)) <= 1


@pytest.mark.parametrize("claim", [Gaussian(scale=2, sensitivity=1), Concentrated(rho=Fraction(1, 8))])
def test_any_cost_can_be_a_claim(claim):
    def half(data, entropy):
        return data + noise.rounded_gaussian(100, entropy)

    class Fine:
        def __init__(self, scale):
            self.scale = scale

        def draws(self, data, count, entropy):
            return data + noise.rounded_gaussians(self.scale, count, entropy)

        function = half

    neighbours = (0, 100)
    assert not dp.audit.check(Fine(200), claim=claim, neighbours=neighbours, samples=20_000, entropy=Seeded(1)).broken
    assert dp.audit.check(Fine(50), claim=claim, neighbours=neighbours, samples=20_000, entropy=Seeded(2)).broken


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Bounded(epsilon=1), "epsilon = 1"),
        (Bounded(epsilon=0.1, delta=1e-6), "epsilon = 0.1, delta = 1e-6"),
        (Concentrated(rho=Fraction(1, 8)), "rho = 0.125"),
        (Gaussian(scale=2), "Gaussian noise of scale 2"),
        (dp.costs.DiscreteLaplace(scale=Fraction(2, 3), sensitivity=2), "of scale 0.666666 for sensitivity 2"),
        (dp.costs.Exponential(eta=1), "exponential mechanism of range 1"),
        (dp.costs.RandomizedResponse(truth=0.75), "randomized response among 2, true with probability 0.75"),
        (
            Gaussian(scale=2).sampled(rate=0.1).repeated(3),
            "3 times ((Gaussian noise of scale 2) on a sample of rate 0.1)",
        ),
        (Gaussian(scale=2) + ONE, "Gaussian noise of scale 2 and epsilon = 1"),
    ],
)
def test_claims_are_said_in_words(claim, words):
    assert claim_text(claim).endswith(words)
    assert "Fraction" not in claim_text(claim)


def test_several_claims_share_one_level():
    verdict = dp.audit.check(
        Noisy(1.5), claim=[ONE, Bounded(epsilon=2)], neighbours=[(0, 1), (5, 6)], samples=5_000, entropy=Seeded(3)
    )
    assert verdict.broken
    assert verdict.pairs == 2
    assert len(verdict.claims) == 2
    assert verdict.epsilon_at_least <= 1.5


def test_a_verdict_is_replayed_and_certified():
    verdict = dp.audit.check(Noisy(2), claim=ONE, neighbours=(0, 1), samples=5_000, entropy=Seeded(4))
    again = verdict.replay(entropy=Seeded(5))
    assert again.shown
    assert "AnswerEvent(of='answer'" in str(again)
    record = json.loads(verdict.to_json())
    jsonschema_rs.validate(dp.audit.SCHEMA, record)
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(dp.audit.SCHEMA, {**record, "method": "hope"})
    assert record["entropy"] == "testing: Seeded"
    assert "epsilon = 1 is BROKEN" in str(verdict)
    assert set(record["trials"][0]) == set(dp.audit.SCHEMA["properties"]["trials"]["items"]["properties"])
    names: dict[str, object] = {}
    exec(verdict.script, names)  # what the script states is an event
    assert names["event"] == verdict.event


def quarter(data, entropy):
    return data + noise.discrete_laplace(Fraction(1, 4), entropy)


def test_a_script_shows_the_event_again(capsys):
    """What was audited is imported, the two data sets are written down, the event is counted on both."""
    verdict = dp.audit.check(quarter, claim=ONE, neighbours=(0, 1), samples=1_000, entropy=Seeded(9))
    exec(str(verdict.replay(entropy=Seeded(10))), {})
    often, seldom = sorted(map(int, capsys.readouterr().out.strip("()\n").split(", ")), reverse=True)
    assert often > 5 * seldom
    local = dp.audit.check(lambda data, entropy: quarter(data, entropy), claim=ONE, neighbours=(0, 1), samples=1_000)
    assert "# print" in local.script, "what has no name cannot be imported"


def test_the_lines_of_a_newcomer_run_as_they_are():
    """The first page of the auditor and of the attacks, with the names a reader would fill in."""
    released_rows = [{"zip": i % 5, "birth": i % 7, "sex": i % 2, "illness": "flu"} for i in range(20)]
    voters = [{"zip": i % 5, "birth": i % 7, "sex": i % 2} for i in range(10)]
    assert dp.attacks.linkage(released_rows, voters, keys=["zip", "birth", "sex"], sensitive="illness").report()
    target, released_means, sample = dp.attacks.tracing_world(50, 1000, entropy=Seeded(1))
    assert dp.attacks.trace(target, released_means, reference=sample, form="centred").power_at(0.05) > 0.9
    drawn = iter(noise.rounded_gaussians(2048, 20_000, Seeded(2)).tolist())

    def peer_function(array):
        return float(array.sum()) + next(drawn) / 1024

    verdict = dp.audit.check(
        peer_function, claim=dp.costs.Gaussian(scale=2), neighbours=([0.0], [1.0]), adapter="array -> number"
    )
    assert not verdict.broken
    assert verdict.claims == (Gaussian(scale=2, sensitivity=1),)


def test_somebody_elses_function():
    state = iter(noise.discrete_laplaces(1, 10_000, Seeded(6)).tolist())

    def peer(array):
        assert isinstance(array, np.ndarray)
        return float(array.sum() + next(state) / 3)

    verdict = dp.audit.check(peer, claim=ONE, neighbours=([0, 0], [1, 0]), samples=4_000, adapter="array -> number")
    assert verdict.broken
    assert verdict.entropy == "its own"
    assert "could be seeded" in verdict.notes[0]


def test_errors_types_and_missing_values_are_events():
    def raises(data):
        if data:
            raise KeyError(data)
        return 0

    for target in (
        raises,
        lambda data: 1.0 if data else 1,
        lambda data: None if data else 0,
        lambda data: -0.0 if data else 0.0,
    ):
        verdict = dp.audit.check(target, claim=ONE, neighbours=(0, 1), samples=1_000)
        assert verdict.broken
    assert dp.audit.columns([dp.audit.answer_columns.Failure("KeyError")])["error"].names.tolist() == ["KeyError"]


def tells(data, entropy):
    raise ValueError(f"{data + noise.bernoulli(0.5, entropy)} rows are not enough")


@pytest.mark.parametrize("samples", [None, 1_000], ids=["by its law", "by draws"])
def test_the_text_of_an_error_is_seen(samples):
    verdict = dp.audit.check(tells, claim=ONE, neighbours=(0, 2), samples=samples)
    assert verdict.broken
    assert "rows are not enough" in str(verdict.event)


def test_an_error_without_a_text_is_an_answer_too():
    class Mute(Exception):
        def __str__(self):
            raise self

    assert dp.audit.answer_columns.Failure.of(Mute()).text == ""


def test_minus_infinity_is_at_most_everything_and_small_in_no_respect():
    seen = columns(np.array([-math.inf, 0.0, math.inf, math.nan]))
    assert AnswerEvent("answer", ((-math.inf, 0.0),)).count(seen, draws=4) == 2
    assert AnswerEvent("answer", ((-5.0, math.inf),)).count(seen, draws=4) == 2
    assert AnswerEvent("answer: exponent", ((-math.inf, 0.0),)).count(seen, draws=4) == 1
    assert str(AnswerEvent("answer: exponent", ((-math.inf, math.inf),))) == "the answer is a finite number"


@pytest.mark.parametrize(
    ("draws", "said"), [(lambda *_: np.zeros(3), "3"), (lambda *_: 1, "TypeError"), (lambda *_: {}["a"], "KeyError")]
)
def test_what_is_no_array_of_as_many_answers_is_refused(draws, said):
    odd = type("Odd", (), {"draws": draws, "function": print})
    with pytest.raises(InvalidArgument, match=f"must give 500 answers, it gave {said}"):
        dp.audit.check(odd(), claim=ONE, neighbours=(0, 1), samples=1_000)


def test_what_stands_in_a_column_depends_on_its_own_draw_alone():
    """A rare odd answer on one side must not change how all the others are read: this was a false alarm once."""

    def mostly(data, entropy):
        return {"a": 1} if data and noise.bernoulli(Fraction(1, 50), entropy) else {}

    verdict = dp.audit.check(
        mostly, claim=Bounded(epsilon=0, delta=Fraction(1, 40)), neighbours=(0, 1), samples=4_000, entropy=Seeded(8)
    )
    assert not verdict.broken
    for odd in (None, 2.5, math.nan, "x", True, 10**30):
        plain, mixed = columns([1, 2, 3]), columns([1, 2, odd])
        for name, column in mixed.items():
            other = plain.get(name)
            for kind in ("numbers", "names"):
                values = getattr(column, kind)
                if values is None or other is None or getattr(other, kind) is None:
                    continue
                assert values[:2].tolist() == getattr(other, kind)[:2].tolist()


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (AnswerEvent("answer", ((-math.inf, 0.0),)), "the answer is at most 0"),
        (AnswerEvent("answer", ((0.0, 2.0), (5.0, math.inf))), "the answer is above 0 and at most 2, or above 5"),
        (AnswerEvent("answer: place of the lowest bit", ((-math.inf, -54.0),)), "the answer is no multiple of 2**-53"),
        (
            AnswerEvent("answer: place of the lowest bit", ((-2.0, math.inf),)),
            "the answer is a multiple of 0.5 other than zero",
        ),
        (AnswerEvent("answer: exponent", ((2.0, math.inf),)), "the answer is at least 4 in absolute value"),
        (AnswerEvent("answer: exponent", ((-math.inf, 5.0),)), "the answer is below 32 in absolute value"),
        (AnswerEvent("answer: kind of number", names=("NaN",)), "the answer is NaN"),
        (AnswerEvent("answer: number of keys", ((2.0, math.inf),)), "the number of keys of the answer is above 2"),
        (AnswerEvent("error", names=("nothing there",)), "there is no error"),
        (AnswerEvent("error", names=("KeyError",)), "the error is KeyError"),
        (AnswerEvent("answer[3]", names=("nothing there",)), "answer[3] is not there"),
        (AnswerEvent("answer: keys", names=("['a']",)), "the keys of the answer are ['a']"),
        (AnswerEvent("answer[1] - answer[0]", ((0.0, math.inf),)), "answer[1] - answer[0] is above 0"),
        (AnswerEvent("answer", names=("0", "-1", "-2", "12")), "the answer is from -2 to 0 or 12"),
        (AnswerEvent("answer", ((-math.inf, 0.0), (5.0, math.inf))), "the answer is at most 0 or above 5"),
        (AnswerEvent("answer", names=("-4", "-2", "0", "2")), "the answer is a multiple of 2 from -4 to 2"),
        (AnswerEvent("answer", names=("1", "4", "7", "10")), "the answer is 1, 4 and so on up to 10"),
        (
            AnswerEvent("answer", names=tuple(str(k * k) for k in range(10))),
            "the answer is from 0 to 1 or 4 or 9 or 16 or 25 or 36 or one of 3 more up to 81",
        ),
        (
            AnswerEvent("answer", names=tuple(f"[0, {-k}]" for k in range(24))),
            "the answer is one of 24 lists such as [0, 0], [0, -1] and [0, -2], "
            "with 0 in the first place and -23 to 0 in the second place",
        ),
        (AnswerEvent("answer", names=tuple("abcdefgh")), "the answer is one of 8 values such as a, b and c"),
        (
            AnswerEvent("answer: place of the lowest bit", ((-2.0, -1.0), (0.0, 3.0), (4.0, math.inf))),
            "the largest power of two that divides the answer is 0.5 or from 2 to 8 or at least 32",
        ),
        (AnswerEvent("answer: place of the lowest bit", ((2.0, 3.0),)), "the answer is an odd multiple of 8"),
        (
            AnswerEvent("answer: exponent", ((0.0, 2.0), (4.0, math.inf))),
            "the answer is in absolute value at least 1 and below 4, or at least 16",
        ),
        (
            AnswerEvent("answer: sum: place of the lowest bit", ((-math.inf, 0.0),)),
            "the sum of the answer is no multiple of 2",
        ),
    ],
)
def test_events_are_said_in_words(event, words):
    assert str(event) == words


@pytest.mark.parametrize("number", [1.0, 3.0, 4.0, 0.25, 3.999, 1e-300, -5.0, 2.0**-54])
def test_the_words_of_sizes_and_bits_are_true(number):
    """A size of at least 2**k, and a multiple of 2**k, mean what the column says."""
    sample = columns([number])
    for power in range(-60, 8):
        larger = AnswerEvent("answer: exponent", ((float(power), math.inf),)).count(sample, draws=1)
        assert larger == (abs(number) >= 2.0**power)
        multiple = AnswerEvent("answer: place of the lowest bit", ((power - 1.0, math.inf),)).count(sample, draws=1)
        assert multiple == (Fraction(number) % Fraction(2) ** power == 0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"claim": ONE, "neighbours": (0, 1), "samples": 0}, "samples"),
        ({"claim": ONE, "neighbours": (0, 1), "samples": 100, "level": 0}, "level"),
        ({"claim": ONE, "neighbours": (0, 1), "samples": 100, "level": 1}, "level"),
        ({"claim": ONE, "neighbours": (0, 1), "samples": 20}, "no claim above epsilon = 0.464 can be refuted"),
        ({"tables": 3}, "small_tables"),
        ({"claim": "cheap", "neighbours": (0, 1)}, "claim must be a cost record"),
        ({"claim": 1.0, "neighbours": (0, 1)}, "claim is one of the cost records"),
        ({"claim": ONE, "neighbours": 3}, "pair"),
        ({"claim": ONE, "neighbours": (0, 1), "adapter": "horse -> cart"}, "adapter"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, match):
    with pytest.raises(InvalidArgument, match=match) as refusal:
        dp.audit.check(Noisy(1), **arguments)
    assert "\n" not in str(refusal.value)


def test_what_is_no_codebook_and_what_does_not_fit_into_memory_is_refused_in_one_line():
    for refused, match in (
        (lambda: dp.audit.small_tables(3), "made for a codebook"),
        (lambda: dp.attacks.reconstruct(dp.attacks.strawmen()[0], people=10**9, queries=10**9), "people times queries"),
        (lambda: dp.attacks.solve_tables(3, 2, []), "made-up data"),
    ):
        with pytest.raises(InvalidArgument, match=match) as refusal:
            refused()
        assert "\n" not in str(refusal.value)


def test_neighbours_must_be_neighbours():
    with pytest.raises(InvalidArgument, match="3 apart"):
        dp.audit.check(NUMBER >> dp.calculus.laplace(scale=1), neighbours=(0, 3))
    with pytest.raises(InvalidArgument, match="can be audited"):
        dp.audit.check(3, claim=ONE, neighbours=(0, 1))


def test_the_lines_of_a_claim_are_those_of_its_profile():
    for cost in (ONE, Gaussian(scale=1, sensitivity=1), Gaussian(scale=3, sensitivity=1).repeated(3)):
        curve = curve_of(cost)
        for loss, delta in zip(curve.losses, curve.deltas, strict=True):
            assert delta == pytest.approx(float(dp.delta(cost, epsilon=loss).upper), rel=1e-2, abs=1e-9)
