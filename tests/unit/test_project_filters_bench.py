"""The benchmark of filters, which counts and does not time: several side by side lose little to the best of them alone."""

from __future__ import annotations

import math

import pytest

from benchmarks import filters

QUICK = [name for name in filters.ROUNDS if "0.05" in name or "scale 20" in name or "table count" in name]


def check(name: str) -> None:
    found = filters.counted(filters.ROUNDS[name])
    assert found["with the workload"] >= math.floor(filters.WITH_WORKLOAD * found["best rule alone"])
    assert found["side by side"] >= math.floor(filters.WITHOUT * min(found["the same, order not suited"], leaks(name)))


def leaks(name: str) -> float:
    """How many rounds the reserve for leaks holds: nobody said that more would come."""
    usual = filters.BUDGET.filters()
    leak = usual.read(filters.composed(filters.ROUNDS[name])).leak
    return usual.reserve / leak if leak else math.inf


@pytest.mark.parametrize("name", QUICK)
def test_side_by_side_loses_little(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in filters.ROUNDS if name not in QUICK])
def test_side_by_side_loses_little_everywhere(name: str) -> None:
    check(name)


def test_a_round_counts_what_a_gate_takes() -> None:
    """The count is not a formula of the benchmark's own: a gate is charged until it refuses."""
    import deniable as dp

    parts = filters.ROUNDS["a pure count of 0.2 and a table count of (0.2, 1e-8)"]
    gate, rounds = dp.calculus.PrivacyFilter(filters.BUDGET.filters()), 0
    while True:
        try:
            for part in parts:
                gate.charge(part)
        except dp.errors.BudgetExceeded:
            break
        rounds += 1
    assert rounds == filters.counted(parts)["side by side"] == 3
