"""The exact law of a mean's two noisy columns on neighbouring tables, against the loss that is charged: every draw is followed.

The columns are drawn by the code that every release runs, from the integers of an engine. Faults planted behind it are found.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dp
from deniable.audit.exact_law import OutputLaw, output_law
from deniable.engines.reference import ReferenceEngine
from deniable.exact import exp
from deniable.kernels import HalvesNoise, Law, Sensitivity
from deniable.plan.sensitivity import Halves
from deniable.query import drawing, measurements
from deniable.query.aggregates import measuring
from deniable.query.compile import compile_query
from deniable.query.drawing import draw_slices
from deniable.testing import Silent

Rows = list[tuple[int, int]]
"""Who, and a value."""

EPSILON = Fraction(2)
TAIL = Fraction(1, 500)
OTHERS: Rows = [(1, 0), (2, 1)]
LOW, HIGH = ([*OTHERS, (9, value)] for value in (0, 2))
BOTH = [*OTHERS, (9, 2), (9, 2), (9, 0)]
"""A unit with more rows than may count."""


@pytest.fixture(autouse=True)
def whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are spread in whole rows instead of parts of a thousandth: the same code, with few outcomes."""
    monkeypatch.setattr(measuring, "FINEST", 0)
    monkeypatch.setattr(measuring, "fine_bits", lambda most: 0)


def book(unit: str) -> dict[str, Any]:
    variables = {"p": "integer", "x": {"type": "integer", "bounds": [0, 2], "missing": {"impute": 0}}}
    return {"name": "v", "unit": unit, "tables": {"v": {"variables": variables}}}


ONE = {"id": "p", "groups": 1, "rows_per_group": 1}


def asked(rows: Rows, unit: Any, **aggregates: Any) -> Any:
    data = {"p": [who for who, _ in rows], "x": [value for _, value in rows]}
    session = dp.Dataset(data, codebook=book(unit)).session(dp.budget(epsilon=100, delta=1e-6), entropy=Silent())
    return session.query().agg(**(aggregates or {"m": dp.mean("x"), "n": dp.count()})), data


def law(rows: Rows, unit: Any = ONE, **aggregates: Any) -> OutputLaw:
    """The exact law of the noisy columns."""
    query, data = asked(rows, unit, **aggregates)
    compiled, priced = compile_query(query, query.runner.unit), query.price(epsilon=EPSILON)
    assert priced.allocation.means
    engine = ReferenceEngine({"v": data}, dp.Codebook.from_record(book(unit)), key=bytes(range(32)))
    result = engine.run(compiled.plan)

    def answer(entropy: Any) -> tuple[int, ...]:
        (drawn,) = draw_slices(compiled, result, priced.allocation, entropy)
        return tuple(int(column.steps[0]) for _, column in sorted(drawn.columns.items()))

    return output_law(answer, tail=TAIL)


def kept(first: OutputLaw, second: OutputLaw) -> bool:
    """Whether no answer is certainly more likely than the charge allows, in either direction."""
    factor = exp(EPSILON).upper
    return all(
        one.probability(answer).lower <= factor * other.probability(answer).upper
        for one, other in ((first, second), (second, first))
        for answer in one.chances
    )


NEIGHBOURS: dict[str, tuple[Any, Rows, Rows, dict[str, Any]]] = {
    "a unit at the upper bound": (ONE, OTHERS, HIGH, {}),
    "a unit at the lower bound": (ONE, LOW, OTHERS, {}),
    "a unit with too many rows": (ONE, OTHERS, BOTH, {}),
    "changed rows": ("changed rows", LOW, HIGH, {"m": dp.mean("x")}),
    "a share": (ONE, OTHERS, HIGH, {"m": dp.mean("x > 1"), "n": dp.count()}),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_what_is_drawn_keeps_to_what_is_charged(name: str) -> None:
    unit, left, right, aggregates = NEIGHBOURS[name]
    assert kept(law(left, unit, **aggregates), law(right, unit, **aggregates))


def test_the_columns_are_the_sum_and_the_difference_of_two_independent_halves() -> None:
    query, _ = asked(HIGH, ONE)
    noise, other = query.price(epsilon=EPSILON).allocation.noises.values()
    assert isinstance(noise, HalvesNoise)
    assert isinstance(other, HalvesNoise)
    assert noise.half == other.half
    assert noise.scale == 1
    found = law(HIGH)
    for total, count in found.chances:
        above, below = (count + total) // 2, (count - total) // 2
        wanted = noise.half.mass(above - 3) * noise.half.mass(
            below - 3
        )  # three rows with 0, 1 and 2: three above, three below
        seen = found.probability((total, count))
        assert seen.lower <= wanted.upper
        assert wanted.lower <= seen.upper


def _half_the_common_distance(patch: pytest.MonkeyPatch) -> None:
    """Planted: both halves priced as if a row moved each of them by half of what it moves both."""
    right = measurements.halves_sensitivity

    def wrong(*given: Any) -> Sensitivity:
        apart = right(*given)
        return replace(apart, l1=apart.l1 // 2)

    patch.setattr(measurements, "halves_sensitivity", wrong)


def _bounds_off_the_grid(patch: pytest.MonkeyPatch) -> None:
    """Planted: distances from bounds that lie a step farther out than the price says."""
    right = Halves.of
    patch.setattr(Halves, "of", lambda self, *given: right(replace(self, low=self.low - 1, high=self.high + 1), *given))


def _half_the_noise(patch: pytest.MonkeyPatch) -> None:
    right = drawing.HalvesNoise.half.fget
    assert right is not None
    patch.setattr(HalvesNoise, "half", property(lambda self: replace(right(self), scale=self.scale / 2)))


def _one_draw_for_both(patch: pytest.MonkeyPatch) -> None:
    """Planted: one draw moves both halves against one another, so that the count has no noise."""
    right = drawing.saturated_sum
    patch.setattr(drawing, "saturated_sum", lambda exact, noise: right(exact, np.stack([noise[0], -noise[0]])))


def _a_price_for_each(patch: pytest.MonkeyPatch) -> None:
    """Planted: every half priced with all of epsilon, as if the other stayed: wrong for a row that is changed."""
    right = measurements.halves_sensitivity
    patch.setattr(measurements, "halves_sensitivity", lambda *given: replace(right(*given), l1=right(*given).linf // 2))


FAULTS = {
    "half the common distance": (_half_the_common_distance, "a unit at the upper bound"),
    "bounds off the grid": (_bounds_off_the_grid, "a unit at the upper bound"),
    "half the noise": (_half_the_noise, "a unit at the lower bound"),
    "one draw for both halves": (_one_draw_for_both, "a unit at the upper bound"),
    "halves priced one by one": (_a_price_for_each, "changed rows"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, name = FAULTS[fault]
    plant(monkeypatch)
    unit, left, right, aggregates = NEIGHBOURS[name]
    assert not kept(law(left, unit, **aggregates), law(right, unit, **aggregates))


# Where halves are taken -------------------------------------------------------------------------------------------------


def halved(unit: Any = ONE, aggregates: Any = None, **terms: Any) -> int:
    """How many means of a query are measured in halves."""
    query, _ = asked(OTHERS, unit, **(aggregates or {}))
    return len(query.price(**(terms or {"epsilon": 1})).allocation.means)


def test_halves_are_taken_where_no_shown_number_is_worse_for_it() -> None:
    both = {"m": dp.mean("x"), "n": dp.count()}
    assert halved(aggregates=both) == halved(aggregates={"m": dp.mean("x")}) == 1
    assert halved("changed rows", {"m": dp.mean("x")}) == 1
    assert halved("changed rows", both) == 0, "one cell of changed rows: the count would be worse"
    assert halved(aggregates={**both, "s": dp.std("x"), "t": dp.mean("2 * x")}) == 1
    assert halved(aggregates={"s": dp.sum("x"), "n": dp.count()}) == 0, "nothing is averaged"


def test_a_number_that_a_filter_leaves_in_every_row_goes_with_the_count_of_all_rows() -> None:
    plain = {**book(ONE)["tables"]["v"]["variables"], "y": {"type": "integer", "bounds": [0, 9]}}
    named = {**book(ONE), "tables": {"v": {"variables": plain}}}
    session = dp.Dataset({"p": [1], "x": [0], "y": [3]}, codebook=named).session(dp.budget(epsilon=9))
    asked_of = session.query().where("y >= 0").agg(m=dp.mean("y"), n=dp.count())
    both = compile_query(asked_of, asked_of.runner.unit)
    assert [name for name, _ in both.plan.aggregates] == ["m0", "m1"], "one count for both"
    assert len(both.measurements.means) == 1
    alone = session.query().agg(m=dp.mean("y"), n=dp.count())
    apart = compile_query(alone, alone.runner.unit)
    assert [mean.count.column for mean in apart.measurements.means] == ["m1"], "not with the count of all rows, m2"


@pytest.mark.parametrize("law", [each for each in Law if each is not Law.LAPLACE])
def test_other_laws_bring_nothing_and_stay_as_they_are(law: Law) -> None:
    both = {"m": dp.mean("x"), "n": dp.count()}
    assert halved(aggregates=both, epsilon=1, delta=1e-7, law=law) == 0
    assert halved(aggregates=both, epsilon=1, delta=1e-7, law={"m": law}) == 0


def test_a_number_that_was_given_more_of_the_price_is_not_made_worse() -> None:
    query, _ = asked(OTHERS, ONE, m=dp.mean("x"), n=dp.count(), v=dp.variance("x"))
    assert query.split(n=2).price(epsilon=3).allocation.means
    assert not query.split(n=4).price(epsilon=3).allocation.means
