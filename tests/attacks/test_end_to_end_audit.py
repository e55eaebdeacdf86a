"""End to end: what a release shows on neighbouring tables differs by no more than what its session charged, exactly.

Every outcome of every draw is followed through the public API, so the verdicts are theorems about tiny tables, not samples,
and never change between runs. The same audit finds every fault that is planted behind the same API.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dp
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine, Result
from deniable.engines.reference import ReferenceEngine
from deniable.plan.nodes import GroupAgg, Plan, RowCount, Total
from deniable.query.allocation import Allocation
from deniable.query.columns import SliceColumn
from deniable.query.drawing import DrawnSlice
from deniable.query.measurements import Selection
from deniable.release import session_queries as sessions
from deniable.release.session import Session
from tests.attacks.end_to_end import Scenario, audited, in_memory, table
from tests.planted_noise import plant, scaled

__all__ = ["in_memory"]

pytestmark = pytest.mark.usefixtures("in_memory")

DAY = "2024-03-05"
ROW = (1, "u", "a", DAY, 1)
OTHER = (2, "v", "b", DAY, 2)
LARGEST = [(9, "u", "b", DAY, 2), (9, "u", "b", DAY, 2)]
"""A unit with as many rows as may count, or more, all of them as large as can be: it moves a sum and a rank as far as it may."""
BUSY = [(9, "rare", kind, DAY, x) for kind in ("a", "b") for x in (2, float("nan"), 1e300, "n/a", None, 2, 2)]
"""Everything one unit can do: both groups, many rows, odd cells."""

ONE = "{id: who, groups: 1, rows_per_group: 1}"
TWO = "{id: who, groups: 2, rows_per_group: 1}"
FINE = Fraction(1, 10**6)
FOUR = dp.budget(epsilon=4)


def _adaptive(session: Session) -> tuple[Any, Any]:
    """The second question depends on the first answer."""
    first = session.query().agg(n=dp.count()).release(epsilon=2)
    if first.value() > 1:
        return first, session.query().where("x = 2").agg(n=dp.count()).release(epsilon=2)
    return first, session.query().agg(units=dp.count_distinct("word")).release(epsilon=2)


def _twice(session: Session) -> tuple[Any, Any]:
    query = session.query().agg(n=dp.count())
    return query.release(epsilon=1), query.release(epsilon=1)


def _asked(*keys: str, epsilon: float = 2, **terms: Any) -> Callable[..., Callable[[Session], Any]]:
    def agg(**aggregates: Any) -> Callable[[Session], Any]:
        def ask(session: Session) -> Any:
            query = session.query().group_by(*keys) if keys else session.query()
            return query.agg(**aggregates).release(epsilon=epsilon, **terms)

        return ask

    return agg


def _totals(**terms: Any) -> Callable[[Session], Any]:
    return lambda session: session.query().group_by("kind").rollup().agg(n=dp.count()).release(**terms)


def _other(**terms: Any) -> Callable[[Session], Any]:
    return lambda session: session.query().group_by("word").with_other().agg(u=dp.count_distinct()).release(**terms)


def _chosen(**terms: Any) -> Callable[[Session], Any]:
    query = dp.count()
    return lambda session: (
        session.query().group_by("kind").agg(n=query).choose_bounds(most_groups=3, most_rows=3, **terms).release
    )


SCENARIOS = {
    "rows": Scenario("rows", table(ROW, OTHER), table(OTHER), _asked()(n=dp.count()), tail=FINE),
    "changed rows": Scenario(
        "changed rows",
        table(ROW, OTHER),
        table((3, "w", "b", DAY, 0), OTHER),
        _asked("kind", epsilon=4)(n=dp.count()),
        FOUR,
    ),
    "one unit in two groups": Scenario(
        TWO, table(ROW, *BUSY), table(ROW), _asked("kind", epsilon=4)(n=dp.count()), FOUR
    ),
    "a unit in more groups than it may": Scenario(ONE, table(ROW, *BUSY), table(ROW), _asked("kind")(n=dp.count())),
    "units": Scenario(ONE, table(ROW, *BUSY), table(ROW), _asked()(u=dp.count_distinct()), tail=FINE),
    "distinct words": Scenario(ONE, table(ROW, *BUSY), table(ROW), _asked()(d=dp.count_distinct("word")), tail=FINE),
    "a key nobody else has": Scenario(
        ONE,
        table(ROW, *BUSY),
        table(ROW),
        _asked("word", delta=0.05)(u=dp.count_distinct()),
        dp.budget(epsilon=2, delta=0.3),
    ),
    "sum with odd cells": Scenario(
        "{id: who, groups: 1, rows_per_group: 2}", table(ROW, *BUSY), table(ROW), _asked()(s=dp.sum("x")), tail=FINE
    ),
    "sum of the largest cells": Scenario(
        "{id: who, groups: 1, rows_per_group: 2}", table(ROW, *LARGEST), table(ROW), _asked()(s=dp.sum("x")), tail=FINE
    ),
    "mean": Scenario(ONE, table(ROW, *BUSY), table(ROW), _asked(epsilon=4)(m=dp.mean("x")), FOUR),
    "a share": Scenario(
        ONE, table(ROW, *BUSY), table(ROW), _asked(epsilon=6)(m=dp.mean("x > 1")), dp.budget(epsilon=6)
    ),
    "variance": Scenario(
        ONE, table(ROW, *BUSY), table(ROW), _asked(epsilon=9)(v=dp.variance("x")), dp.budget(epsilon=9), Fraction(1, 40)
    ),
    "median": Scenario(ONE, table(ROW, OTHER, *BUSY), table(ROW, OTHER), _asked()(m=dp.median("x"))),
    "median beside the largest cells": Scenario(
        ONE, table(ROW, OTHER, *LARGEST), table(ROW, OTHER), _asked()(m=dp.median("x"))
    ),
    "top values": Scenario(TWO, table(ROW, *BUSY), table(ROW), _asked()(t=dp.top_k("kind", 2))),
    "top values nobody declared": Scenario(
        ONE,
        table(ROW, *BUSY),
        table(ROW),
        _asked(delta=0.05)(t=dp.top_k("word", 2)),
        dp.budget(epsilon=2, delta=0.3),
    ),
    "histogram": Scenario(
        "{id: who, groups: 1, rows_per_group: 2}",
        table(ROW, *BUSY),
        table(ROW),
        _asked(epsilon=4)(h=dp.histogram("x", edges=[0, 1, 3])),
        FOUR,
    ),
    "entity and month": Scenario(
        "{id: who, period: {column: day, length: month}, groups: 1, rows_per_group: 1}",
        table(ROW, (1, "u", "b", "2024-04-01", 2), (1, "u", "b", "2024-04-30", 2)),
        table(ROW),
        _asked("kind")(n=dp.count()),
    ),
    "Gaussian": Scenario(
        ONE,
        table(ROW, *BUSY),
        table(ROW),
        _asked(delta=0.05, law="gaussian")(n=dp.count()),
        dp.budget(epsilon=2, delta=0.3),
        FINE,
    ),
    "the second question follows the first answer": Scenario(ONE, table(ROW, OTHER), table(ROW), _adaptive, FOUR),
    "the same question twice": Scenario(ONE, table(ROW, OTHER), table(ROW), _twice, tail=FINE),
    "totals": Scenario(ONE, table(ROW, *BUSY), table(ROW), _totals(epsilon=4), FOUR, Fraction(1, 1000)),
    "other rows": Scenario(
        ONE,
        table(ROW, *BUSY),
        table(ROW),
        _other(epsilon=4, delta=0.02),
        dp.budget(epsilon=4, delta=0.15),
        Fraction(1, 1000),
    ),
    "bounds chosen": Scenario(TWO, table(ROW, OTHER, *BUSY), table(ROW, OTHER), _chosen(epsilon=2)),
    "an empty table": Scenario(ONE, table(ROW), table(), _asked("kind")(n=dp.count())),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_seen_differs_by_at_most_what_was_charged(name: str) -> None:
    verdict = audited(SCENARIOS[name], DuckDBEngine)
    assert verdict.kept
    assert not verdict.broken


@pytest.mark.parametrize("name", ["rows", "a key nobody else has", "median", "top values", "the same question twice"])
def test_the_reference_engine_keeps_the_same_promise_and_the_price_is_not_idle(name: str) -> None:
    verdict = audited(SCENARIOS[name], ReferenceEngine)
    assert verdict.kept
    assert name in ("median", "top values", "a key nobody else has") or verdict.epsilon_at_least > 0.9


# The same audit on faults planted behind the same API ---------------------------------------------------------------------


class Unbounded:
    """An engine that forgets the caps: every group and every row of a unit counts."""

    def __init__(self, inner: Engine) -> None:
        self.inner, self.name = inner, inner.name

    def run(self, plan: Plan) -> Result:
        assert isinstance(plan, GroupAgg)
        return self.inner.run(
            replace(
                plan,
                bounding=replace(plan.bounding, groups=100),
                aggregates=tuple((name, _uncapped(aggregate)) for name, aggregate in plan.aggregates),
            )
        )

    def public(self, relation: Any) -> Any:
        return self.inner.public(relation)

    def close(self) -> None:
        self.inner.close()


def _uncapped(aggregate: Any) -> Any:
    match aggregate:
        case RowCount(_, of):
            return RowCount(100, of)
        case Total(of):
            return Total(of, Fraction(-100), Fraction(100))
        case _:
            return aggregate


class Quoting(Unbounded):
    """An engine that fails on what it sees."""

    def run(self, plan: Plan) -> Result:
        found = self.inner.run(plan)
        if any((column > 1).any() for column in found.columns.values()):
            raise ValueError("cannot convert 'rare'")
        return found


def _half_scale(patch: pytest.MonkeyPatch) -> None:
    plant(patch, "draw", scaled(2))


def _no_noise(patch: pytest.MonkeyPatch) -> None:
    plant(patch, "draw", lambda _: lambda self, count, entropy: np.zeros(count, dtype=np.int64))


def _one_draw_for_all(patch: pytest.MonkeyPatch) -> None:
    plant(patch, "draw", lambda draw: lambda self, count, entropy: np.repeat(draw(self, 1, entropy), count))


def _low_temperature(patch: pytest.MonkeyPatch) -> None:
    temperature = Selection.temperature
    patch.setattr(Selection, "temperature", lambda self, eta: temperature(self, eta) / 9)


def _spoilt_draw(patch: pytest.MonkeyPatch, spoil: Callable[[Result, DrawnSlice], DrawnSlice]) -> None:
    drawn = sessions.draw_slices
    patch.setattr(
        sessions,
        "draw_slices",
        lambda ready, result, *a: tuple(spoil(result, part) for part in drawn(ready, result, *a)),
    )


def _every_key_shown(patch: pytest.MonkeyPatch) -> None:
    drawn = sessions.draw_slices

    def lowest(bill: Allocation) -> Allocation:
        return replace(bill, thresholds=tuple(replace(each, at=-(10**9)) for each in bill.thresholds))

    patch.setattr(sessions, "draw_slices", lambda a, b, bill, d: drawn(a, b, lowest(bill), d))


def _no_stop(patch: pytest.MonkeyPatch) -> None:
    """Found values without the stop that hides rare ones."""
    drawn = sessions.draw_slices

    def low(bill: Allocation) -> Allocation:
        return replace(bill, margins=tuple(replace(each, at=0) for each in bill.margins))

    patch.setattr(sessions, "draw_slices", lambda a, b, bill, d: drawn(a, b, low(bill), d))


def _order_by_size(patch: pytest.MonkeyPatch) -> None:
    def spoil(result: Result, found: DrawnSlice) -> DrawnSlice:
        order = [1, 0] if sum(map(int, next(iter(result.columns.values())))) > 1 else [0, 1]
        columns = {name: replace(noisy, steps=noisy.steps[order]) for name, noisy in found.columns.items()}
        return replace(found, groups=tuple(found.groups[i] for i in order), columns=columns)

    _spoilt_draw(patch, spoil)


def _floats_when_large(patch: pytest.MonkeyPatch) -> None:
    def spoil(result: Result, found: DrawnSlice) -> DrawnSlice:
        if sum(map(int, next(iter(result.columns.values())))) <= 1:
            return found
        halves = {n: replace(c, steps=c.steps * 2, step=c.step / 2, grain=c.step / 2) for n, c in found.columns.items()}
        return replace(found, columns=halves)

    _spoilt_draw(patch, spoil)


def _empty_groups_hidden(patch: pytest.MonkeyPatch) -> None:
    def spoil(result: Result, found: DrawnSlice) -> DrawnSlice:
        kept = [i for i, group in enumerate(found.groups) if group in set(zip(*result.keys.values(), strict=True))]
        columns = {name: replace(noisy, steps=noisy.steps[kept]) for name, noisy in found.columns.items()}
        return replace(found, groups=tuple(found.groups[i] for i in kept), columns=columns)

    _spoilt_draw(patch, spoil)


def _totals_too_quiet(patch: pytest.MonkeyPatch) -> None:
    """The coarser level with an eighth of its noise."""
    _quieter(patch, lambda key: key.place == 1)


def _other_rows_too_quiet(patch: pytest.MonkeyPatch) -> None:
    """The rows of hidden groups with an eighth of their noise."""
    _quieter(patch, lambda key: key.other)


def _quieter(patch: pytest.MonkeyPatch, quieter: Callable[[SliceColumn], bool]) -> None:
    drawn = sessions.draw_slices

    def quiet(bill: Allocation) -> Allocation:
        noises = {name: replace(n, scale=n.scale / 8) if quieter(name) else n for name, n in bill.noises.items()}
        return replace(bill, noises=noises)

    patch.setattr(sessions, "draw_slices", lambda a, b, bill, d: drawn(a, b, quiet(bill), d))


FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "half the noise": ("units", _half_scale),
    "half the noise of a Gaussian": ("Gaussian", _half_scale),
    "half the noise of a sum": ("sum of the largest cells", _half_scale),
    "no noise": ("rows", _no_noise),
    "one draw for all groups": ("an empty table", _one_draw_for_all),
    "a ninth of the temperature": ("median beside the largest cells", _low_temperature),
    "every observed key shown": ("a key nobody else has", _every_key_shown),
    "found values without a stop": ("top values nobody declared", _no_stop),
    "groups ordered by size": ("one unit in two groups", _order_by_size),
    "a type that depends on the data": ("rows", _floats_when_large),
    "empty groups hidden": ("an empty table", _empty_groups_hidden),
    "a total with too little noise": ("totals", _totals_too_quiet),
    "other rows with too little noise": ("other rows", _other_rows_too_quiet),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = FAULTS[fault]
    plant(monkeypatch)
    assert audited(SCENARIOS[name], ReferenceEngine).broken


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("a unit in more groups than it may", Unbounded),
        ("one unit in two groups", Unbounded),
        ("sum with odd cells", Unbounded),
        ("units", Quoting),
    ],
)
def test_an_engine_without_bounds_or_with_errors_of_its_own_is_found(name: str, engine: Any) -> None:
    assert audited(SCENARIOS[name], ReferenceEngine, spoil=engine).broken


def test_a_second_answer_that_was_not_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that hands out a second draw for the price of the first."""
    honest = dp.ledger.Ledger.answer

    def generous(self: Any, cost: Any, run: Any, **asked: Any) -> Any:
        if self.spent.loss > 0:
            return replace(honest(self, cost, run, **asked), payload=run())
        return honest(self, cost, run, **asked)

    monkeypatch.setattr(dp.ledger.Ledger, "answer", generous)
    coarse = replace(SCENARIOS["the same question twice"], tail=Fraction(1, 20))
    assert audited(coarse, ReferenceEngine).broken
