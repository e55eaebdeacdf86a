"""Defects found in other libraries stay out of this one: each has a test that fails if it comes in.

Some tests live where their subject lives; the table says where, and a test sees that they are there.
"""

from fractions import Fraction

import pytest

import deniable as dp
from deniable import transformations as t
from deniable.audit.exact_law import output_law
from deniable.core import Keyed, Lattice, LInfinity, Numbers, PartitionDistance, Space, Vectors, integers, rows
from deniable.core.metric import AbsoluteDistance
from deniable.errors import SpaceMismatch
from deniable.testing.neighbours import data_sets, try_stability
from tests.docs.pages import is_a_test

ELSEWHERE = {
    "the delta of a threshold leaves out the mass at the threshold": (
        "tests/laws/test_privacy_keys.py::test_the_delta_of_a_new_key_is_reached",
        "tests/unit/mechanisms/test_selection.py::test_the_mass_at_the_threshold_counts",
    ),
    "resize under an ordered metric": ("tests/laws/test_couplings.py::test_resize_refuses_an_ordered_metric",),
    "squared deviations summed with rounding": (
        "tests/unit/transformations/test_constructors.py::test_squares_and_variances_are_exact_at_any_width",
    ),
    "missing values forgotten after cast and bin": (
        "tests/unit/transformations/test_constructors.py::test_bins_and_casts_say_whether_values_may_be_missing",
    ),
    "a cap of k rows that keeps k - 1": (
        "tests/laws/test_couplings.py::test_e25_truncation_keeps_light_users_whole_and_couples",
    ),
    "pairs of an odd number of rows": (
        "tests/laws/test_couplings.py::test_e08_pairs_move_by_two",
        "tests/laws/test_couplings.py::test_e08_cutting_before_the_shuffle_moves_three",
    ),
    "a norm clamp that rounding leads outside": (
        "tests/laws/test_stability.py::test_norm_clamp_is_exact_after_rounding",
        "tests/unit/transformations/test_constructors.py::test_norms_are_inside_the_ball_after_rounding",
    ),
    "NaN through clamp": (
        "tests/unit/transformations/test_constructors.py::test_nan_through_clamp_becomes_the_lower_bound",
    ),
    "sums of a moved label, around no middle": (
        "tests/laws/test_model_neighbours.py::test_a_moved_label_moves_sums_by_at_most_twice_a_row",
        "tests/laws/test_model_neighbours.py::test_sums_that_are_not_centred_are_caught",
    ),
    "copies and cross-validation that pay once": (
        "tests/unit/models/test_uses_of_models.py::test_cross_validation_on_a_budget_for_three_fits_gives_exactly_three",
        "tests/unit/models/test_uses_of_models.py::test_a_grid_search_on_a_budget_for_three_fits_gets_exactly_three",
        "tests/unit/models/test_uses_of_models.py::test_copies_pay_from_the_same_ledger",
    ),
    "classes, bounds or a domain taken from the data": (
        "tests/unit/models/test_estimators.py::test_a_column_without_bounds_is_refused_and_never_read_from_the_data",
        "tests/unit/models/test_estimators.py::test_bounds_taken_from_the_rows_break_the_promise",
        "tests/attacks/test_model_threats.py::test_a_value_nobody_declared_is_in_no_frame",
    ),
    "the exact number of rows in a divisor": (
        "tests/laws/test_model_neighbours.py::test_a_model_that_knows_the_exact_number_of_rows_is_caught",
    ),
    "a radius that is not squared": (
        "tests/unit/models/test_objective.py::test_a_radius_that_is_not_squared_is_caught",
    ),
    "an intercept that is not penalised": (
        "tests/unit/models/test_objective.py::test_an_intercept_that_is_not_penalised_is_caught",
    ),
    "inner budgets that do not add up": (
        "tests/laws/test_model_neighbours.py::test_inner_costs_add_up_to_the_declared_cost",
        "tests/laws/test_model_neighbours.py::test_a_step_that_was_not_planned_is_refused",
    ),
    "a sampler that is not the one accounted for": (
        "tests/unit/models/test_training.py::test_the_batch_that_is_charged_is_the_batch_that_is_drawn",
        "tests/laws/test_privacy_amplified.py::test_e29_what_is_charged_is_what_is_drawn",
    ),
    "parts by the order of rows": (
        "tests/unit/models/test_uses_of_models.py::test_parts_by_row_order_would_move_everybody",
        "tests/laws/test_network_synthesizers.py::test_teachers_by_row_order_are_caught",
        "tests/laws/test_folds.py::test_folds_by_the_order_of_rows_are_caught",
    ),
    "rows clipped one by one where units have several": (
        "tests/laws/test_model_neighbours.py::test_rows_clipped_one_by_one_are_caught",
    ),
    "missing numbers and infinities through a fit": ("tests/unit/models/test_estimators.py::test_data_never_raises",),
    "histogram keys from the data": (
        "tests/unit/transformations/test_constructors.py::test_histogram_keys_come_from_the_domain_never_from_data",
    ),
}


@pytest.mark.parametrize("defect", ELSEWHERE)
def test_the_defect_has_its_test(defect):
    assert [test for test in ELSEWHERE[defect] if not is_a_test(test)] == []


@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 2), Fraction(1, 7)])
def test_a_deviation_rounded_to_a_coarse_grid_pays_for_the_rounding(grid):
    """Rounding can move two results apart by a step more than the exact ones: the map must say so."""
    built = rows(integers(lower=0, upper=3), size=3) >> t.std(grid=grid)
    verdict = try_stability(built, data_sets([0, 1, 2, 3], sizes=[3]), Fraction(1))
    assert verdict.broken is None
    assert max(verdict.furthest) > built.map(d_in=1) - 2 * grid


def test_a_remainder_that_does_not_exist_is_never_missing():
    """x % 0 has no value; the domain says values are not missing, so the declared default stands in."""
    modulo = t.map_rows(lambda x: 7 % x, to=integers(lower=0, upper=6), default=0, author="a test")
    built = rows(integers(lower=0, upper=6)) >> modulo
    assert list(built.steps([0, 2, 3])) == [0, 1, 1]
    assert all(cell in built.target.domain.element for cell in built.steps([0, 1, 2, 3, 4, 5, 6]))
    assert not built.target.domain.element.missing
    assert isinstance((built >> t.total() >> dp.calculus.laplace(scale=6))([0, 2, 3]), int)


@pytest.mark.parametrize(
    "step",
    [
        dp.calculus.exponential(scale=1),
        *(dp.calculus.report_noisy_max(scale=1, noise=noise) for noise in dp.calculus.MaxNoise),
        dp.calculus.noisy_top_k(k=2, scale=1),
        dp.calculus.noisy_max_with_gap(scale=1),
        dp.calculus.one_shot_top_k(k=1, scale=1),
    ],
    ids=repr,
)
def test_a_noisy_maximum_never_returns_its_value(step):
    """All scores higher by a billion: the answer has the same law, so it holds nothing of how high the scores are."""
    mechanism = Space(Vectors(Lattice(), 3), LInfinity()) >> step
    low, high = (
        output_law(lambda e, d=data: str(mechanism.function(d, e)), tail=Fraction(1, 10**2)).chances
        for data in ([2, 1, 0], [10**9 + 2, 10**9 + 1, 10**9])
    )
    assert low == high


@pytest.mark.parametrize(
    "step", [dp.calculus.laplace(scale=1), dp.calculus.gaussian(scale=1), dp.calculus.exponential(scale=1)], ids=repr
)
def test_counts_under_keys_from_the_data_are_refused_without_a_threshold(step):
    with pytest.raises(SpaceMismatch, match="needs public keys"):
        Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance())) >> step


def test_infinities_and_nan_reach_no_sum():
    built = rows(Numbers()) >> t.clamp(lower=-1, upper=2) >> t.total()
    assert built.steps([float("nan"), float("inf"), float("-inf"), None]) * built.target.domain.step == -1 + 2 - 1 - 1
