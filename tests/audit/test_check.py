"""The auditor's verdicts: broken where a promise is broken, silent where it is kept, bounds below the truth; draws are scripted."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable import noise
from deniable.audit import clopper_pearson, two_halves
from deniable.audit.answer_columns import columns
from deniable.audit.auditor import exact_epsilon
from deniable.audit.claims import curve_of
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


def test_what_is_true_is_not_refuted_more_often_than_the_level():
    assert runs(1.0, 2_000, 200, first=2000) <= 2


@pytest.mark.slow
def test_what_is_true_is_not_refuted_more_often_than_the_level_in_a_thousand_runs():
    assert runs(1.0, 2_000, 1000, first=2000) <= 10


def test_choosing_and_testing_on_the_same_draws_would_accuse_the_honest(monkeypatch):
    """The mutation: without the split, and without sharing the level, honest mechanisms are accused; so the split is needed."""

    def cheated(left, right, *, curve, error):
        sides = [columns(each) for each in (left, right)]
        chosen = two_halves.choose(*sides, draws=len(left), curve=curve)
        return [two_halves.try_event(c, *sides, draws=len(left), curve=curve, error=0.4) for c in chosen]

    honest = [Seeded(5000 + run) for run in range(60)]

    def accused() -> int:
        return sum(
            dp.audit.check(Noisy(1), claim=ONE, neighbours=(0, 1), samples=400, entropy=entropy).broken
            for entropy in honest
        )

    assert accused() == 0
    honest = [Seeded(5000 + run) for run in range(60)]
    monkeypatch.setattr("deniable.audit.auditor.two_halves", cheated)
    assert accused() > 3


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
    _conforms(record, dp.audit.SCHEMA)
    assert record["entropy"] == "testing: Seeded"
    assert "BROKEN" in str(verdict)
    names: dict[str, object] = {}
    exec(verdict.script, names)  # what the script states is an event
    assert names["event"] == verdict.event


def _conforms(value, schema):
    """The part of JSON schema that ours uses."""
    if "anyOf" in schema:
        assert any(_fits(value, each) for each in schema["anyOf"])
        return
    if "const" in schema:
        assert value == schema["const"]
    if "enum" in schema:
        assert value in schema["enum"]
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "number": (int, float),
        "integer": int,
        "boolean": bool,
        "null": type(None),
    }
    named = schema.get("type", [])
    named = [named] if isinstance(named, str) else named
    assert not named or any(isinstance(value, kinds[kind]) for kind in named), (value, schema)
    for key in schema.get("required", []):
        assert key in value
    for key, inner in schema.get("properties", {}).items():
        if isinstance(value, dict) and key in value:
            _conforms(value[key], inner)
    if isinstance(value, list) and "items" in schema:
        for each in value:
            _conforms(each, schema["items"])


def _fits(value, schema):
    try:
        _conforms(value, schema)
    except AssertionError:
        return False
    return True


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
    ("arguments", "match"),
    [
        ({"claim": ONE, "neighbours": (0, 1), "samples": 0}, "samples"),
        ({"claim": ONE, "neighbours": (0, 1), "samples": 100, "level": 0}, "level"),
        ({"claim": ONE, "neighbours": (0, 1), "samples": 100, "level": 1}, "level"),
        ({"claim": ONE, "neighbours": (0, 1), "samples": 20}, "nothing below epsilon"),
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
