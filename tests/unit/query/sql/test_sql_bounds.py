"""Bounds and options written in a query: what one unit adds is clipped as said, priced as clipped, and named in the guarantee."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import deniable as dp
from deniable.accounting import Approximate
from deniable.errors import QueryRefused
from deniable.release.answer import Release
from deniable.release.session import Session
from tests.engines.sql_schemas import plain, session


@cache
def _clinic() -> Session:
    return session("clinic")


def _answer(query: str, **terms: Any) -> Release:
    release = _clinic().sql(query, epsilon=100, **terms)
    assert isinstance(release, Release)
    return release


def _truth(query: str) -> list[tuple[Any, ...]]:
    return plain("clinic").execute(query).fetchall()


_PARTS = "SELECT patient_id, specialty, SUM(duration) AS s, COUNT(*) AS n, COUNT(duration) AS d, AVG(duration) AS m FROM visits"
_PER_UNIT = f"{_PARTS} WHERE specialty IS NOT NULL GROUP BY ALL"


@pytest.mark.parametrize(
    ("written", "over_parts"),
    [
        ("SUM(duration, contribution_bounds_per_group => (0, 100))", "SUM(LEAST(s, 100))"),
        ("SUM(duration, contribution_bounds_per_group => (50, 100))", "SUM(LEAST(GREATEST(s, 50), 100)) FILTER (WHERE d > 0)"),
        ("SUM(duration - 60, contribution_bounds_per_group => (-30, 30))", "SUM(LEAST(GREATEST(s - 60 * d, -30), 30))"),
        ("COUNT(*, contribution_bounds_per_group => (0, 2))", "SUM(LEAST(n, 2))"),
        ("COUNT(duration, contribution_bounds_per_group => (0, 1))", "SUM(LEAST(d, 1))"),
    ],
)  # fmt: skip
def test_what_one_unit_adds_to_a_group_is_clipped(written: str, over_parts: str) -> None:
    release = _answer(f"SELECT specialty, {written} AS clipped FROM visits GROUP BY specialty")
    for key, value in _truth(f"SELECT specialty, {over_parts} FROM ({_PER_UNIT}) t GROUP BY specialty"):
        assert release.value("clipped", specialty=key) == value


def test_the_price_is_that_of_the_clip_and_the_guarantee_names_it() -> None:
    question = "SELECT SUM(duration, contribution_bounds_per_group => (0, {})) AS s FROM visits"
    errors = [str(_clinic().sql(f"EXPLAIN DP {question.format(end)}", epsilon=1, law="laplace")) for end in (10, 20)]
    assert "one unit moves it by at most 10 in each of 1 cell; discrete Laplace noise of scale 10" in errors[0]
    assert "one unit moves it by at most 20 in each of 1 cell; discrete Laplace noise of scale 20" in errors[1]
    assert "what it adds to s is clipped to [0, 10]" in _answer(question.format(10)).facts.contribution
    counted = "SELECT COUNT(*, contribution_bounds_per_group => (0, 3)) AS n FROM visits"
    assert "it counts at most 3 times in n" in _answer(counted).facts.contribution


def test_the_builder_says_the_same() -> None:
    query = _clinic().query("visits").group_by("specialty").agg(s=dp.sum("duration", clip=(0, 100)), n=dp.count(most=2))
    built = query.release(epsilon=7)
    spent = _clinic().spent
    written = _clinic().sql(
        "SELECT specialty, SUM(duration, contribution_bounds_per_group => (0, 100)) AS s, "
        "COUNT(*, contribution_bounds_per_group => (0, 2)) AS n FROM visits GROUP BY specialty",
        epsilon=7,
    )
    assert isinstance(written, Release)
    assert written.table == built.table
    assert _clinic().spent == spent, "the same query, so the stored answer"
    with pytest.raises(dp.errors.InvalidArgument, match="two rising numbers"):
        dp.sum("duration", clip=(3, 3))
    with pytest.raises(dp.errors.InvalidArgument, match="limit a summary per unit with bounds="):
        _clinic().query("visits").per_unit("patient_id", n=dp.count(most=2))


@pytest.mark.parametrize("keys", ["", "specialty"])
def test_an_average_with_bounds_per_group_is_the_mean_of_each_units_own(keys: str) -> None:
    by = f" GROUP BY {keys}" if keys else ""
    more = f"{keys}, " if keys else ""
    release = _answer(
        f"SELECT {more}AVG(duration, contribution_bounds_per_group => (0, 60)) AS a, "
        f"SUM(duration, contribution_bounds_per_group => (0, 90)) AS s, "
        f"COUNT(*, contribution_bounds_per_group => (0, 2)) AS n FROM visits WHERE specialty IS NOT NULL{by}"
    )
    parts = f"SELECT patient_id, {more}SUM(duration) s, COUNT(*) n, AVG(duration) m FROM visits"
    parts += " WHERE specialty IS NOT NULL GROUP BY ALL"
    for *key, average, total, count in _truth(
        f"SELECT {more}AVG(LEAST(m, 60)), SUM(LEAST(s, 90)), SUM(LEAST(n, 2)) FROM ({parts}) t{by}"
    ):
        chosen = {keys: key[0]} if keys else {}
        assert release.value("a", **chosen) == pytest.approx(average, abs=1 / 1024)
        assert release.value("s", **chosen) == total
        assert release.value("n", **chosen) == count
    assert "AVG with bounds per group is the mean over units of each unit's own average." in release.notes


def test_an_average_inside_a_sub_query_per_unit() -> None:
    inner = "SELECT patient_id, AVG(duration) AS m, COUNT(*) AS n FROM visits GROUP BY patient_id"
    release = _answer(f"SELECT AVG(m) AS a, COUNT(m) AS n FROM ({inner} HAVING AVG(cost) > 400) t")
    average, count = _truth(f"SELECT AVG(m), COUNT(m) FROM ({inner} HAVING AVG(cost) > 400) t")[0]
    assert release.value("a") == pytest.approx(average, abs=1 / 1024)
    assert release.value("n") == count
    assert any("AVG(duration) of one unit is rounded to a multiple of" in note for note in release.notes)


_SUMMARIES = {
    "count": ("COUNT(duration)", dp.count("duration")),
    "rows": ("COUNT(*)", dp.count()),
    "distinct": ("COUNT(DISTINCT duration)", dp.count_distinct("duration")),
    "sum": ("SUM(duration)", dp.sum("duration")),
    "mean": ("AVG(duration)", dp.mean("duration")),
    "min": ("MIN(duration)", dp.minimum("duration")),
    "max": ("MAX(duration)", dp.maximum("duration")),
    "median": ("MEDIAN(duration)", dp.median("duration")),
    "percentile": ("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY duration)", dp.median("duration")),
    "quarter": ("PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY duration)", dp.quantile("duration", 0.25)),
    "nearly all": ("PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY duration)", dp.quantile("duration", 0.9)),
    "mode": ("MODE(duration)", dp.mode("duration")),
    "ordered mode": ("MODE() WITHIN GROUP (ORDER BY duration)", dp.mode("duration")),
}


@pytest.mark.parametrize("name", _SUMMARIES)
def test_summaries_per_unit_are_alike_in_sql_and_builder(name: str) -> None:
    written, asked = _SUMMARIES[name]
    inner = f"SELECT patient_id, specialty, {written} AS m FROM visits GROUP BY patient_id, specialty"
    in_sql = _answer(f"SELECT SUM(CLAMP(m, 0, 70)) AS s, COUNT(m) AS n FROM ({inner}) t")
    rows = _clinic().query("visits").per_unit("patient_id", "specialty", m=asked, bounds={"m": (0, 70)})
    built = rows.agg(s=dp.sum("m"), n=dp.count("m")).release(epsilon=100)
    assert (built.value("s"), built.value("n")) == (in_sql.value("s"), in_sql.value("n"))
    lower = {"median": _SUMMARIES["percentile"][0], "mode": "MODE(duration ORDER BY duration)"}
    truth = inner.replace(written, lower.get(name, written))
    total, count = _truth(f"SELECT SUM(GREATEST(LEAST(m, 70), 0)), COUNT(m) FROM ({truth}) t")[0]
    assert built.value("n") == count
    if "mode" not in name:  # DuckDB breaks ties as it likes
        assert built.value("s") == pytest.approx(float(total), rel=1e-4)
    said = any("lower of two middle values" in note for note in in_sql.notes)
    assert said == (name == "median")


def test_which_quantile_is_explained() -> None:
    inner = (
        "SELECT patient_id, PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY duration) AS m FROM visits GROUP BY patient_id"
    )
    told = str(_clinic().sql(f"EXPLAIN DP SELECT COUNT(m) AS n FROM ({inner}) t", epsilon=1))
    assert "quantile(duration, 1/4)" in told


def test_other_summaries_per_unit_are_refused() -> None:
    for written in (
        "PERCENTILE_DISC(duration) WITHIN GROUP (ORDER BY duration)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY duration)",
        "MODE() WITHIN GROUP (ORDER BY duration DESC)", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY duration DESC)",
        "STDDEV(duration)",
    ):  # fmt: skip
        with pytest.raises(
            dp.errors.QueryRefused, match="per unit there are COUNT, SUM, AVG, MIN, MAX, MEDIAN, PERCENTILE_DISC"
        ):
            _answer(f"SELECT COUNT(m) AS n FROM (SELECT patient_id, {written} AS m FROM visits GROUP BY patient_id) t")


@pytest.mark.parametrize(
    "name", ["SUM", "AVG", "VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"]
)
def test_bounds_per_row_go_with_every_moment(name: str) -> None:
    bounded = _answer(f"SELECT {name}(duration, contribution_bounds_per_row => (10, 50)) AS x FROM visits")
    clamped = _answer(f"SELECT {name}(CLAMP(duration, 10, 50)) AS x FROM visits")
    assert bounded.value("x") == clamped.value("x")


def test_bounds_per_row_go_with_percentiles_in_their_own_dialect() -> None:
    query = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=100, privacy_unit_column=patient_id) "
        "PERCENTILE_CONT(duration, 0.5, contribution_bounds_per_row => (0, 60)) AS x FROM visits"
    )
    release = _clinic().sql(query, dialect="bigquery")
    assert isinstance(release, Release)
    assert release.value("x") == _answer("SELECT MEDIAN(CLAMP(duration, 0, 60)) AS x FROM visits").value("x")


def test_groups_with_too_few_units_are_left_out_by_their_noisy_number() -> None:
    units = dict(_truth("SELECT city, COUNT(DISTINCT patient_id) FROM visits WHERE city IS NOT NULL GROUP BY city"))
    most = max(units.values())
    release = _answer(
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(min_privacy_units_per_group = {most}) city, COUNT(*) AS n "
        "FROM visits GROUP BY city"
    )
    assert {group[0] for group in release.groups} == {city for city, count in units.items() if count == most}
    assert list(release.columns) == ["n"]


def test_the_strategy_must_fit_the_keys() -> None:
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = {}) {}, COUNT(*) AS n FROM visits GROUP BY 1"
    assert _answer(clause.format("PUBLIC_GROUPS", "specialty")).groups
    shown = _answer(clause.format("LAPLACE_THRESHOLD", "city"))
    assert any("Laplace" in each for each in shown.facts.mechanisms)
    for strategy, key, code in (
        ("PUBLIC_GROUPS", "city", "observed-keys"),
        ("LAPLACE_THRESHOLD", "specialty", "declared-keys"),
    ):
        with pytest.raises(QueryRefused) as refusal:
            _answer(clause.format(strategy, key))
        assert refusal.value.code == code


def test_places_in_a_query_with_bounds_are_those_of_the_text() -> None:
    query = "SELECT SUM(duration, contribution_bounds_per_group => (0, 9)) AS s,\n  AVG(nothing) FROM visits"
    with pytest.raises(QueryRefused) as refusal:
        _answer(query)
    assert refusal.value.span is not None
    assert (refusal.value.span.line, refusal.value.span.column, refusal.value.span.text) == (2, 7, "nothing")
    assert _answer(query.replace(", AVG(nothing)", "").replace(",\n  AVG(nothing)", "")).value("s") > 0


def test_a_stand_in_cannot_be_written_by_hand() -> None:
    with pytest.raises(QueryRefused):
        _answer("SELECT su_(duration) FROM visits")


def test_the_price_in_the_clause_is_the_price_charged() -> None:
    answer = _clinic().sql(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.25, privacy_unit_column = patient_id, max_groups_contributed = 3) "
        "specialty, SUM(duration, contribution_bounds_per_group => (0, 77)) AS s FROM visits GROUP BY specialty"
    )
    assert Approximate().read(answer.receipt.cost).loss == Fraction(1, 4)


def test_all_rows_of_a_unit_can_be_limited() -> None:
    release = _answer("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 2) COUNT(*) AS n FROM visits")
    rows = _truth("SELECT SUM(LEAST(n, 2)) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY patient_id) t")
    assert release.value("n") == rows[0][0]
