"""Time and long conversations: a clock that follows the data is noticed, a forgetful odometer is refuted, honest ones are not."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema_rs
import numpy as np
import pytest

import deniable as dp
from deniable import noise
from deniable.core import Lattice, Space
from deniable.core.gate import Odometer
from deniable.core.metric import AbsoluteDistance
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument
from deniable.testing import Seeded
from tests.docs.pages import ROOT
from tests.planted_noise import plant
from tests.shared_memory import ledgers_in_memory

__all__ = ["ledgers_in_memory"]

pytestmark = pytest.mark.usefixtures("ledgers_in_memory")

NUMBER = Space(Lattice(), AbsoluteDistance())
TURNS = 12
NOISE = NUMBER >> dp.calculus.gaussian(scale=Fraction(3, 2))


class Clock:
    """A clock that moves by what the work says, and a little by itself: tests see no real time."""

    def __init__(self) -> None:
        self.now, self.jitter = 0, iter(noise.uniforms_below(1000, 200_000, Seeded(9)).tolist())

    def __call__(self) -> int:
        self.now += next(self.jitter)
        return self.now


@pytest.mark.parametrize(
    ("work", "found"),
    [
        (lambda data, drawn: 500, False),
        (lambda data, drawn: 500 + 100 * data, True),
        (lambda data, drawn: 500 + 40 * drawn, True),
        (lambda data, drawn: 500 + 80 * abs(drawn), True),
    ],
    ids=["constant", "by data", "by the noise", "by its size"],
)
def test_a_clock_that_follows_data_or_noise_is_noticed(work, found):
    clock = Clock()

    def answer(data, entropy):
        drawn = noise.discrete_laplace(3, entropy)
        clock.now += work(data, drawn)
        return data + drawn

    report = dp.audit.timing(answer, neighbours=(0, 1), runs=2_000, entropy=Seeded(1), clock=clock)
    assert report.suspicious == found
    assert ("nothing" in str(report)) == (not found)


def test_answers_that_are_no_numbers_are_timed_all_the_same():
    report = dp.audit.timing(lambda data, entropy: "text", neighbours=(0, 1), runs=20, entropy=Seeded(2))
    assert (report.with_answer, report.with_size) == (0, 0)
    assert report.limit == pytest.approx(6.2 / 40**0.5)
    with pytest.raises(InvalidArgument, match="runs"):
        dp.audit.timing(lambda data: 1, neighbours=(0, 1), runs=2)


def test_rank_correlation_against_its_definition():
    values, other = np.array([3.0, 1, 1, 8, 5]), np.array([2.0, 2, 7, 9, 1])
    ranks = [[sum(b < a for b in each) + (sum(b == a for b in each) + 1) / 2 for a in each] for each in (values, other)]
    assert dp.audit.rank_correlation(values, other) == pytest.approx(np.corrcoef(ranks)[0, 1])
    assert dp.audit.rank_correlation(values, values**3) == pytest.approx(1)
    assert dp.audit.rank_correlation(values, np.ones(5)) == 0


def counting(data, entropy):
    return dp.calculus.odometer(data, NUMBER, budget=dp.budget(rho=0), entropy=entropy)


def asks_on(odometer):
    """Asks the same twelve times, and concludes from the sum."""
    return sum(odometer.release(NOISE) for _ in range(TURNS))


def test_twelve_questions_are_worth_what_the_odometer_says():
    verdict = dp.audit.long_run(asks_on, start=counting, neighbours=(0, 1), samples=1_500, entropy=Seeded(3))
    assert not verdict.broken
    assert verdict.claims[0].rho == TURNS * Fraction(2, 9)
    assert verdict.epsilon_at_least > 0.5


def test_an_odometer_that_forgets_repetitions_is_refuted(monkeypatch):
    charge = Odometer.charge
    monkeypatch.setattr(Odometer, "charge", lambda self, cost: None if self._charged else charge(self, cost))
    verdict = dp.audit.long_run(asks_on, start=counting, neighbours=(0, 1), samples=1_500, entropy=Seeded(4))
    assert verdict.broken


def test_a_reading_that_follows_the_answers_needs_a_claim():
    def stops_when_pleased(odometer):
        for _ in range(5):
            if odometer.release(NOISE) > 0:
                return

    with pytest.raises(InvalidArgument, match="give the claim"):
        dp.audit.long_run(stops_when_pleased, start=counting, neighbours=(0, 1), samples=1_000, entropy=Seeded(5))
    claim = NOISE.cost(d_in=1).repeated(5)
    assert not dp.audit.long_run(
        stops_when_pleased, start=counting, neighbours=(0, 1), samples=1_000, claim=claim, entropy=Seeded(5)
    ).broken
    with pytest.raises(InvalidArgument, match="counts what is spent"):
        dp.audit.long_run(lambda _: 1, start=lambda data, _: data, neighbours=(0, 1), samples=1_000)


BOOK = dp.Codebook.from_yaml(
    "format: 1\nname: tiny\nunit: rows\ntables: {tiny: {variables: {x: {type: integer, bounds: [0, 9]}}}}"
)


def session(rows, entropy):
    engine = ReferenceEngine({"tiny": {"x": rows}}, BOOK, key=7)
    return dp.Dataset(engine, codebook=BOOK).session(dp.budget(epsilon=20), entropy=entropy)


def two_counts(asked):
    """Two different questions that one row answers alike."""
    found = [
        asked.query().where(f"x >= {least}").agg(n=dp.count()).release(epsilon=Fraction(1, 8)).table[0]["n"]
        for least in (1, 2)
    ]
    return sum(found)


@pytest.mark.slow
def test_a_session_of_several_questions_is_worth_its_charges(monkeypatch):
    pair = ([5], [5, 9])
    verdict = dp.audit.long_run(two_counts, start=session, neighbours=pair, samples=80, entropy=Seeded(6))
    assert not verdict.broken
    assert verdict.claims[0].epsilon == Fraction(1, 4)
    plant(monkeypatch, "draw", lambda _: lambda self, count, entropy: np.zeros(count, dtype=np.int64))
    assert dp.audit.long_run(two_counts, start=session, neighbours=pair, samples=80, entropy=Seeded(7)).broken


@pytest.mark.parametrize(("name", "schema"), [("audit", dp.audit.SCHEMA), ("self-audit", dp.audit.SELF_SCHEMA)])
def test_the_schemas_beside_the_documentation_are_ours(name, schema):
    text = (ROOT / "docs" / "certificates" / f"{name}.schema.json").read_text(encoding="utf-8")
    assert json.loads(text) == schema
    assert jsonschema_rs.meta.is_valid(schema)
