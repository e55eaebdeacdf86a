"""Every row of the threats in docs/guarantee.md, id by id, with the tests that hold it."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import is_a_test, rows

NOISE = "tests/attacks/test_noise_threats.py::test_"
TABLES = "tests/attacks/test_table_threats.py::test_"
LEDGER = "tests/attacks/test_ledger_threats.py::test_"
SESSIONS = "tests/attacks/test_session_threats.py::test_"
SQL = "tests/attacks/test_sql_threats.py::test_"
TRAPS = "tests/attacks/test_sql_traps.py::test_"
OBJECTS = "tests/attacks/test_stateful_objects.py::test_"
WEB = "tests/server/test_web_threats.py::test_"
EXTREME = "tests/laws/test_extreme_integers.py::test_"

THREATS = {
    "F1": [
        NOISE + "f1_float_noise_gives_itself_away",
        NOISE + "f1_ours_has_one_support",
        NOISE + "f1_every_output_is_as_likely_under_a_neighbour_up_to_e_to_the_epsilon",
    ],
    "F5": [
        NOISE + "f5_large_values_keep_their_last_digit",
        NOISE + "f5_tiny_scales_are_exact",
        NOISE + "f5_huge_scales_are_exact_or_refused",
        NOISE + "f5_what_is_no_scale_is_refused",
    ],
    "F6": [TRAPS + "a_sum_is_exact_and_the_same_in_any_order", TABLES + "every_source_gives_the_same_integers"],
    "F7": [
        "tests/laws/test_stability.py::test_sums_never_overflow",
        "tests/engines/test_duckdb_hardening.py::test_sums_saturate_instead_of_failing",
        EXTREME + "vectors_and_scores_at_the_ends",
        EXTREME + "transformations_at_the_widest_bounds_they_take",
    ],
    "F8": [
        TABLES + "k4_f8_one_odd_cell_raises_nothing_and_moves_one_unit_only",
        TRAPS + "nan_and_infinities_are_missing_before_the_clamp",
        "tests/laws/test_no_data_raises.py::test_no_cell_raises_through_a_compositor",
    ],
    "F9": [TABLES + "f9_empty_tables_are_answered", SQL + "declared_groups_are_all_shown_when_empty"],
    "F10": [
        TABLES + "k4_f8_one_odd_cell_raises_nothing_and_moves_one_unit_only",
        "tests/laws/test_no_data_raises.py::test_members_become_members",
    ],
    "K1": [
        TABLES + "k1_a_unique_key_shows_with_probability_at_most_delta",
        SQL + "a_unique_key_is_hidden_by_the_threshold",
    ],
    "K2": [TABLES + "k2_an_outlier_opens_no_new_group_and_k5_types_stay"],
    "K3": [TABLES + "k3_the_order_of_rows_changes_nothing", TRAPS + "bounding_does_not_depend_on_the_order_of_rows"],
    "K4": [TABLES + "k4_f8_one_odd_cell_raises_nothing_and_moves_one_unit_only"],
    "K5": [
        TABLES + "k2_an_outlier_opens_no_new_group_and_k5_types_stay",
        TRAPS + "types_and_bounds_come_from_the_codebook",
    ],
    "T1": [
        NOISE + "t1_work_is_the_same_for_every_outcome",
        NOISE + "t1_a_proposal_costs_the_same_kept_or_refused",
        NOISE + "t1_choosing_costs_the_same_for_all_scores_of_one_length",
        NOISE + "t1_the_check_notices_a_sampler_whose_work_tells",
    ],
    "T2": [
        "tests/server/test_ticks.py::test_every_run_shorter_than_a_tick_leaves_at_one_time",
        "tests/server/test_ticks.py::test_a_longer_run_leaves_at_the_next_multiple",
    ],
    "T3": [
        WEB + "every_answer_has_the_headers_and_a_public_size",
        WEB + "two_data_sets_that_differ_in_one_person_look_the_same",
    ],
    "S1": [
        TABLES + "s1_no_expression_is_an_oracle",
        TRAPS + "what_could_raise_is_total_or_refused_from_the_text",
        SQL + "division_by_zero_is_missing_and_counted_out_not_raised",
    ],
    "S2": [
        "tests/unit/release/test_session.py::test_a_failure_after_the_charge_is_constant_stays_charged_and_retires",
        "tests/engines/test_duckdb_hardening.py::test_an_engine_error_tells_nothing",
        "tests/engines/test_postgres.py::test_connections_only_read_and_a_failure_has_one_constant_text",
        "tests/engines/test_spark.py::test_a_failure_has_one_constant_text",
        "tests/server/test_flow.py::test_a_failing_engine_gives_one_constant_text_and_stays_charged",
    ],
    "S3": [
        SQL + "refusals_prices_and_layout_do_not_depend_on_one_person",
        "tests/attacks/test_oracles_everywhere.py::test_one_person_shows_in_no_refusal_price_or_layout",
        LEDGER + "a_refusal_is_decided_before_data_is_touched",
    ],
    "S4": [TABLES + "s4_a_price_does_not_depend_on_the_data", SQL + "compiling_touches_no_engine"],
    "R1": [NOISE + "r1_no_seed_and_no_rerun_repeats_noise"],
    "R2": [NOISE + "r2_forked_workers_draw_different_noise"],
    "R3": [NOISE + "r3_threads_draw_different_noise"],
    "R4": [NOISE + "r4_a_restored_snapshot_does_not_repeat_vectors_and_few_scalars"],
    "B1": [
        LEDGER + "b1_sixteen_threads_times_five_tenths_of_one_are_granted_exactly_ten",
        LEDGER + "b1_threads_and_processes_together",
        TABLES + "b1_threads_share_one_budget",
        OBJECTS + "b1_sixteen_threads_get_what_was_paid_for",
    ],
    "B2": [
        LEDGER + "b2_one_query_allowed_and_four_forked_copies_answer_exactly_once",
        SESSIONS + "b2_a_session_forked_into_four_is_answered_once",
        OBJECTS + "b2_a_forked_object_answers_in_its_own_process_only",
    ],
    "B3": [
        LEDGER + "b3_killed_at_each_step_nothing_is_released_unspent_and_what_is_stored_can_be_fetched",
        LEDGER + "b3_killed_at_any_moment_every_answer_that_was_sent_is_charged_and_can_be_fetched",
        SESSIONS + "b3_a_session_killed_at_each_step_never_answers_uncharged_and_keeps_what_it_stored",
        "tests/server/test_crash.py::test_a_killed_worker",
    ],
    "B4": [LEDGER + "b4_the_same_request_twice_is_one_charge_and_the_same_bytes"],
    "B5": [
        LEDGER + "b5_ten_times_a_tenth_is_one",
        LEDGER + "b5_tiny_spends_are_not_lost_beside_large_ones",
        LEDGER + "b5_amounts_that_are_no_amounts_are_refused",
    ],
    "B6": [
        LEDGER + "b6_a_restored_older_file_is_detected_by_the_running_and_by_a_new_session",
        LEDGER + "b6_a_receipt_tells_too",
        SESSIONS + "b6_a_restored_ledger_is_refused_by_open_and_new_sessions",
    ],
    "B7": [LEDGER + "b7_an_edited_row_is_refused_or_found"],
    "B8": [
        LEDGER + "b8_a_ledger_cannot_be_pickled_or_sent_to_a_process",
        LEDGER + "b8_nothing_the_ledger_reads_can_make_objects",
        SESSIONS + "b8_a_codebook_makes_no_objects",
        OBJECTS + "b8_nothing_with_state_is_copied",
    ],
    "B9": [TABLES + "b9_colluding_analysts_share_the_cap_of_the_data_set"],
    "B10": [
        TABLES + "b10_one_file_under_two_ledgers_is_told_to_the_curator_alone",
        TABLES + "b10_what_is_noted_cannot_be_compared_without_the_key",
    ],
    "B11": [
        LEDGER + "b11_there_is_no_way_to_delete_and_sql_refuses",
        LEDGER + "b11_deleting_the_file_refunds_nothing",
        LEDGER + "b11_a_fresh_ledger_moved_over_the_used_one_refunds_nothing",
    ],
    "C1": [TABLES + "c1_a_self_join_cannot_multiply_a_unit", SQL + "a_self_join_cannot_raise_what_one_person_adds"],
    "C2": [TABLES + "c2_null_ids_are_dropped_and_duplicates_are_one_unit", TRAPS + "missing_units_keys_and_values"],
    "C3": [TRAPS + "order_limit_and_having_see_noise_only"],
    "C4": [TRAPS + "types_and_bounds_come_from_the_codebook"],
    "M1": [
        TABLES + "m1_repeated_and_rewritten_questions_are_drawn_once",
        SESSIONS + "m1_m3_repeating_in_new_sessions_or_under_other_names_draws_nothing_new",
    ],
    "M2": [
        SESSIONS + "m2_equivalent_questions_are_the_same_answer_or_are_charged",
        SQL + "equivalent_rewrites_and_views_of_one_release_share_one_charge_and_one_draw",
    ],
    "M3": [SESSIONS + "m1_m3_repeating_in_new_sessions_or_under_other_names_draws_nothing_new"],
    "W1": [
        WEB + "every_route_by_every_role",
        WEB + "absent_and_forbidden_look_the_same",
        WEB + "a_form_without_its_token_does_nothing",
        WEB + "another_host_name_and_bodies_without_measure_are_refused",
        "tests/server/test_webhooks.py::test_redirects_are_not_followed",
        WEB + "no_cell_of_a_csv_is_a_formula",
        WEB + "nothing_people_write_becomes_markup",
        WEB + "an_unexpected_failure_is_one_constant_text",
    ],
}


def _ids(cell: str) -> list[str]:
    """The ids of a row: "F1, F5", "K1–K5" or one alone."""
    ends = re.fullmatch(r"([A-Z])(\d+)–\1(\d+)", cell)
    return [f"{ends[1]}{n}" for n in range(int(ends[2]), int(ends[3]) + 1)] if ends else cell.split(", ")


def test_every_threat_of_the_guarantee_has_tests():
    stated = [threat for row in rows("docs/guarantee.md") for threat in _ids(row[0])]
    assert stated == list(THREATS)


@pytest.mark.parametrize("threat", THREATS)
def test_the_tests_of_a_threat_exist(threat):
    assert [test for test in THREATS[threat] if not is_a_test(test)] == []
