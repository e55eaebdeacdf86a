"""Every answer with its error: in print, in `.table`, in frames and pictures, and true where bounds are wide."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction

import pytest

import deniable as dp
from deniable.audit.exact_law import output_law
from deniable.engines.reference import ReferenceEngine
from deniable.exact.figures import error_figures
from deniable.query import aggregates, answer_columns, compile_query, draw_slices
from deniable.query.aggregates import percentile
from deniable.release.answer import Release
from deniable.testing import Seeded, Silent

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {
        "v": {
            "variables": {
                "p": "integer",
                "x": {"type": "integer", "bounds": [0, 40]},
                "s": {"type": "string", "categories": ["a", "b", "c"]},
                "ward": {"type": "string", "categories": ["n", "w"]},
            }
        }
    },
}
DATA = {"p": list(range(60)), "x": [i % 41 for i in range(60)], "s": ["a", "b", "b"] * 20, "ward": ["n", "w"] * 30}
ASKED = {
    "correlation": aggregates.correlation("x", "x * x"),
    "count": aggregates.count(),
    "count_distinct": aggregates.count_distinct("s"),
    "covariance": aggregates.covariance("x", "x + 1"),
    "histogram": aggregates.histogram("x", edges=[0, 10, 40]),
    "mean": aggregates.mean("x"),
    "median": aggregates.median("x"),
    "quantile": aggregates.quantile("x", Fraction(1, 4)),
    "std": aggregates.std("x"),
    "sum": aggregates.sum("x"),
    "top_k": aggregates.top_k("s", 2),
    "variance": aggregates.variance("x"),
}


def session(entropy=None, data=DATA):
    return dp.Dataset(data, codebook=BOOK).session(dp.budget(epsilon=1000), entropy=entropy or Seeded(3))


def makers() -> set[str]:
    """Every function that makes an aggregate."""
    public = (getattr(aggregates, name) for name in dir(aggregates) if not name.startswith("_"))
    return {
        each.__name__ for each in public if inspect.isfunction(each) and each.__module__.startswith(aggregates.__name__)
    }


PER_UNIT = {"maximum", "minimum", "mode"}
"""What sums up one unit's rows and is never released by itself."""


def test_every_aggregate_is_walked():
    assert makers() <= set(ASKED) | PER_UNIT


@pytest.mark.parametrize("name", sorted(PER_UNIT))
def test_a_summary_of_one_unit_is_not_released(name):
    with pytest.raises(dp.DeniableError):
        session().query().agg(z=getattr(aggregates, name)("x")).release(epsilon=5)


@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize("name", sorted(set(ASKED) & makers()))
def test_every_answer_has_its_error(name, levels):
    asked = session().query().group_by("ward")
    answer = (asked.rollup() if levels else asked).agg(z=ASKED[name]).release(epsilon=5)
    for row in answer.table:
        assert {"z_low", "z_high"} <= set(row) or row.get("z_ranks", row.get("z_rows")) > 0
    lines = [line for line in str(answer).splitlines() if re.match(r"(n|w|all) ", line)]
    assert len(lines) == len(answer.table)
    assert all("±" in line or "–" in line or re.search(r"\[.*, .*\]", line) for line in lines), lines
    assert set(answer.to_columns()) == set(answer.table[0])
    assert list(answer.to_columns()) == answer._names()
    assert Release.from_bytes(_stored(answer)).table == answer.table
    if name != "top_k" and any(row["z"] is not None for row in answer.table if not levels or row["ward"]):
        picture = answer.plot("z").svg
        assert "error bars" in picture or "ranks" in picture


def _stored(answer: Release) -> bytes:
    from deniable.ledger.store import Packed, pack

    return pack(Packed(dict(answer._record), answer.facts.to_record()))


def test_levels_have_their_own_error():
    answer = session().query().group_by("ward").rollup().agg(m=dp.median("x"), n=dp.count()).release(epsilon=5)
    price = session().query().group_by("ward").rollup().agg(m=dp.median("x"), n=dp.count()).price(epsilon=5)
    assert answer.at("ward")[0]["m_ranks"] == price.errors["m"].within
    assert any(f"{error_figures(answer.at()[0]['m_ranks'])} ranks" in line for line in price.totals)


def test_errors_follow_their_rows_through_sql():
    answer = session().sql(
        "SELECT ward, QUANTILE(x, 0.9) AS m FROM v GROUP BY ward HAVING COUNT(*) > 0 ORDER BY ward DESC", epsilon=5
    )
    assert [row["ward"] for row in answer.table] == ["w", "n"]
    assert all(row["m_ranks"] > 0 for row in answer.table)


# Wide bounds ------------------------------------------------------------------------------------------------------------


def test_a_median_of_wide_bounds_is_still_near_the_median():
    """1,000 people, x = 0..99, bounds of 100,000 on both sides: the answer's rank was off by 60 with ± 0.01 ranks stated."""
    variables = {"p": "integer", "x": {"type": "integer", "bounds": [-100_000, 100_000]}}
    book = {**BOOK, "tables": {"v": {"variables": variables}}}
    data = dp.Dataset({"p": list(range(1000)), "x": [i % 100 for i in range(1000)]}, codebook=book)
    asked = data.session(dp.budget(epsilon=1000), entropy=Seeded(5)).query().agg(m=dp.median("x"))
    assert asked.release(epsilon=1000).value() in (49, 50)
    assert "bins" not in str(asked.price(epsilon=1))


@pytest.mark.parametrize("candidates", [4, 7, 64])
@pytest.mark.parametrize("q", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("values", [[3, 3, 4, 9, 21, 40, 40], [0] * 7, [40, 39, 38, 1, 2], [17]])
def test_the_stated_rank_error_holds_in_the_bin_that_is_named(monkeypatch, candidates, q, values):
    """Every outcome with its exact probability: some value in the released bin has a rank within the stated error."""
    monkeypatch.setattr(percentile, "_CANDIDATES", candidates)
    data = {"p": list(range(len(values))), "x": values, "s": ["a"] * len(values), "ward": ["n"] * len(values)}
    aggregate = dp.quantile("x", q if q < 1 else Fraction(999, 1000), interval=False)
    share = aggregate.q
    asked = session(Silent(), data).query().agg(m=aggregate)
    price, ready = asked.price(epsilon=2), compile_query(asked, asked.runner.unit)
    result = ReferenceEngine({"v": data}, asked.runner.codebook, key=7).run(ready.plan)
    within = price.errors["m"].within
    found = re.search(r"in bins of ([\d.]+)", str(price.errors["m"]))
    width = Fraction(found[1]) if found else Fraction(1)
    assert bool(found) == (candidates < 41)
    law = output_law(
        lambda e: answer_columns(ready, draw_slices(ready, result, price.allocation, e), price)[0].values[0]
    )
    missed = Fraction(0)
    for middle in law.chances:
        inside = [v for v in range(41) if abs(v - Fraction(middle)) <= (width - 1) / 2 or (v == middle)]
        off = min(_rank_distance(v, values, share) for v in inside)
        missed += law.probability(middle).lower if off > within else 0
    assert missed <= Fraction(1, 20)


def _rank_distance(value: int, values: list[int], q: Fraction) -> Fraction:
    """How far the wanted rank lies outside the ranks that `value` has among `values`."""
    below, above, wanted = sum(v < value for v in values), sum(v > value for v in values), q * len(values)
    return max(Fraction(0), below - wanted, wanted - (len(values) - above))
