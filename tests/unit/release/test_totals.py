"""Totals, sub-totals and other rows: charged like everything, adding up exactly, honest about their error."""

from collections import Counter
from itertools import combinations

import pytest

import deniable as dp
from deniable.accounting import budget
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument, QueryRefused
from deniable.plan.codebook import Codebook
from deniable.query import aggregates as ask
from deniable.query import answer_columns, compile_query, draw_slices
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.testing import Seeded, Silent

BOOK = """
format: 1
name: trips
unit: {id: who, groups: 3, rows_per_group: 2}
tables:
  trips:
    variables:
      who: {type: integer}
      city: {type: string, categories: [Lyon, Paris, Nice]}
      year: {type: integer, bounds: [2020, 2021]}
      site: {type: string}
      cost: {type: number, bounds: [0, 10], step: 0.1}
"""
WHO = [k // 3 for k in range(240)]
ROWS = {
    "who": WHO,
    "city": [["Lyon", "Paris", "Paris"][k % 3] for k in range(240)],
    "year": [2020 + (k // 3) % 2 for k in range(240)],
    "site": ["big" if k % 3 else f"rare {k % 40}" for k in range(240)],
    "cost": [(k % 11) * 0.9 for k in range(240)],
}


def asked(entropy, **money):
    codebook = Codebook.from_yaml(BOOK)
    engine = ReferenceEngine({"trips": ROWS}, codebook, key=7)
    return Dataset(engine, codebook=codebook).session(
        budget(**(money or {"epsilon": 10**9, "delta": 1e-3})), entropy=entropy
    )


def table(session):
    return session.query().group_by("city", "year")


def test_without_noise_every_level_is_the_plain_aggregate():
    answer = (
        table(asked(Silent()))
        .rollup()
        .agg(n=ask.count(), people=ask.count_distinct(), s=ask.sum("cost"))
        .release(epsilon=1)
    )
    assert answer.levels == (("city", "year"), ("city",), ())
    pairs = Counter(zip(ROWS["city"], ROWS["year"], strict=True))
    assert {(row["city"], row["year"]): row["n"] for row in answer.at("city", "year") if row["n"]} == pairs
    assert {row["city"]: row["n"] for row in answer.at("city")} == {"Lyon": 80, "Paris": 160, "Nice": 0}
    (total,) = answer.at()
    assert (total["n"], total["people"]) == (240, 80)  # a unit in two cities is one unit in all
    assert total["s"] == pytest.approx(sum(ROWS["cost"]))
    assert answer.value("people", city="Paris") == 80
    assert answer.value("n", city="Nice", year=2020) == 0


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("levels", ["rollup", "cube"])
def test_counts_sums_and_histograms_add_up_exactly(levels, law):
    query = getattr(table(asked(Seeded(3))), levels)()
    query = query.agg(n=ask.count(), s=ask.sum("cost"), m=ask.mean("cost"), h=ask.histogram("cost", edges=[0, 5, 10.1]))
    answer = query.release(epsilon=1, law=law)
    fine = answer.at("city", "year")
    for city in answer.at("city"):
        children = [row for row in fine if row["city"] == city["city"]]
        assert sum(row["n"] for row in children) == city["n"]
        assert sum(row["s"] for row in children) == city["s"]
        assert [sum(bins) for bins in zip(*(row["h"] for row in children), strict=True)] == city["h"]
    (total,) = answer.at()
    assert sum(row["n"] for row in fine) == total["n"] == sum(row["n"] for row in answer.at("city"))
    if levels == "cube":
        assert sum(row["s"] for row in answer.at("year")) == total["s"]
    assert any(a["n"] != b["n"] for a, b in zip(answer.table, answer.measured, strict=True))
    for row in answer.table:
        assert row["n_low"] <= row["n"] <= row["n_high"]
        assert 0 <= row["m_low"] <= (row["m_low"] if row["m"] is None else row["m"]) <= row["m_high"] <= 10
        assert (row["m"] is None) == ((row["m_low"], row["m_high"]) == (0, 10))


def test_a_total_without_the_table_by_all_keys_is_fitted_too():
    answer = table(asked(Seeded(1))).grouping_sets(["city"], ["year"]).agg(n=ask.count()).release(epsilon=1)
    assert answer.levels == (("city",), ("year",))
    assert sum(row["n"] for row in answer.at("city")) == sum(row["n"] for row in answer.at("year"))


@pytest.mark.parametrize("levels", ["rollup", "cube"])
def test_whole_numbers_are_not_negative_and_still_add_up(levels):
    query = getattr(table(asked(Seeded(8))), levels)().agg(n=ask.count(), s=ask.sum("cost")).whole_numbers()
    answer = query.release(epsilon=0.1)
    fine = answer.at("city", "year")
    assert all(isinstance(row["n"], int) and row["n"] >= 0 and row["s"] >= 0 for row in answer.table)
    assert sum(row["n"] for row in fine) == answer.value("n")
    for row in answer.at("city"):
        assert sum(child["n"] for child in fine if child["city"] == row["city"]) == row["n"]
    assert min(row["n"] for row in answer.measured) < 0  # what was drawn is kept
    lone = asked(Seeded(9)).query().group_by("city").agg(n=ask.count()).whole_numbers().release(epsilon=0.05)
    assert all(row["n"] >= 0 for row in lone.table)


@pytest.mark.parametrize("keys", [["site"], ["city", "site"]])
@pytest.mark.parametrize("other", [False, True])
def test_whole_numbers_of_groups_that_the_data_holds_have_no_table_to_fit(keys, other):
    query = asked(Seeded(7)).query().group_by(*keys)
    query = query.with_other() if other else query
    answer = query.agg(n=ask.count(), s=ask.sum("cost"), m=ask.mean("cost")).whole_numbers()
    answer = answer.release(epsilon=20, delta=1e-4)
    assert "big" in {row["site"] for row in answer.table}
    assert all(isinstance(row["n"], int) and row["n"] >= 0 and row["s"] >= 0 for row in answer.table)
    assert all(
        row["n_low"] <= row["n"] <= row["n_high"] and row["s_low"] <= row["s"] <= row["s_high"] for row in answer.table
    )


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_intervals_hold_the_truth_as_often_as_they_say(law):
    query = table(asked(Silent())).cube().agg(n=ask.count())
    true = query.release(epsilon=1).columns["n"].values
    ready, price = compile_query(query, query.runner.unit), query.price(epsilon=1, law=law)
    codebook = Codebook.from_yaml(BOOK)
    result = ReferenceEngine({"trips": ROWS}, codebook, key=7).run(ready.plan)
    inside = cells = 0
    for seed in range(100):
        (column,) = answer_columns(ready, draw_slices(ready, result, price.allocation, Seeded(seed)), price)
        held = [low <= value <= high for low, value, high in zip(column.lower, true, column.upper, strict=True)]
        inside, cells = inside + sum(held), cells + len(held)
    assert inside / cells >= 0.94  # the seeds are fixed: 1200 cells, twelve of one draw


def test_fitting_makes_totals_narrower_under_gaussian_noise():
    query = table(asked(Seeded(2))).rollup().agg(n=ask.count())
    answer = query.release(epsilon=0.5, law="gaussian")
    (total,) = answer.at()
    half = query.price(epsilon=0.5, law="gaussian").totals[1]
    assert "all groups together: n ±" in half
    assert (total["n_high"] - total["n_low"]) / 2 < float(half.split("±")[1])


def test_observed_groups_stay_hidden_on_every_level_and_totals_include_them():
    query = asked(Seeded(4)).query().group_by("site").rollup().agg(n=ask.count())
    answer = query.release(epsilon=20, delta=1e-4)
    assert {row["site"] for row in answer.at("site")} <= {"big", *(f"rare {k}" for k in range(40))}
    shown = sum(row["n"] for row in answer.at("site"))
    assert answer.value("n") > shown + 20
    assert "Totals include the rows of groups that are not shown." in answer.notes
    assert len(query.price(epsilon=20, delta=1e-4).thresholds) == 1


def test_other_rows_are_what_is_hidden_and_add_up_to_their_total():
    exact = asked(Silent()).query().group_by("site").with_other().agg(n=ask.count()).release(epsilon=20, delta=1e-4)
    shown = {row["site"] for row in exact.table} - {"other"}
    hidden = sum(site not in shown for site in ROWS["site"])
    assert exact.value("n", site="other") == hidden > 0
    assert exact.other == (*(False,) * len(shown), True)
    drawn = asked(Seeded(5)).query().group_by("site").rollup().with_other("elsewhere")
    answer = drawn.agg(n=ask.count(), people=ask.count_distinct(), m=ask.mean("cost")).release(epsilon=20, delta=1e-4)
    rows = {row["site"]: row for row in answer.table}
    assert sum(row["n"] for row in answer.at("site")) == answer.value("n")
    assert rows["elsewhere"]["people"] is None
    assert rows["elsewhere"]["m_low"] <= rows["elsewhere"]["m"] <= rows["elsewhere"]["m_high"]
    whole = drawn.agg(n=ask.count()).whole_numbers().release(epsilon=20, delta=1e-4)
    assert sum(row["n"] for row in whole.at("site")) == whole.value("n")
    assert all(isinstance(row["n"], int) for row in whole.table)


def test_other_rows_stand_under_every_declared_key():
    query = asked(Silent()).query().group_by("city", "site").with_other().agg(n=ask.count(), mid=ask.median("cost"))
    answer = query.release(epsilon=50, delta=1e-4)
    others = [row for row, other in zip(answer.table, answer.other, strict=True) if other]
    assert [row["city"] for row in others] == ["Lyon", "Paris", "Nice"]
    assert {row["site"] for row in others} == {"other"}
    assert sum(row["n"] for row in answer.table) == 240


def test_every_slice_is_paid_for():
    session = asked(Seeded(5), epsilon=1, delta=1e-6)
    plain = session.query().group_by("site").agg(n=ask.count())
    narrow, wide = plain.price(epsilon=1), plain.rollup().with_other().price(epsilon=1)
    assert wide.errors["n"].within > narrow.errors["n"].within
    assert wide.spend.loss == narrow.spend.loss == 1
    assert len(wide.allocation.noises) == 4  # rows and units by site, rows of the others, rows in all


def test_the_release_keeps_levels_and_what_was_measured(tmp_path):
    codebook = Codebook.from_yaml(BOOK)
    data = Dataset(ReferenceEngine({"trips": ROWS}, codebook, key=7), codebook=codebook)
    session = data.session(budget(epsilon=5), ledger=tmp_path / "t.ledger")
    first = table(session).rollup().agg(n=ask.count()).release(epsilon=1, request="once")
    again = session.fetch("once")
    assert (again.table, again.measured, again.levels, again.level) == (
        first.table,
        first.measured,
        first.levels,
        first.level,
    )
    assert isinstance(again, Release)
    assert "all" in str(first)
    assert "Lyon · 2020" in first.plot("n").svg
    assert "Lyon · None" not in first.plot("n").svg
    with pytest.raises(InvalidArgument, match="no level"):
        first.at("year")


def test_bad_levels_are_refused_in_a_line():
    query = table(asked(Silent()))
    with pytest.raises(InvalidArgument, match="is in none of the levels"):
        query.grouping_sets(["city"])
    with pytest.raises(InvalidArgument, match="each level is a list of keys"):
        query.grouping_sets(["city", "town"])
    with pytest.raises(InvalidArgument, match="each level is a list of keys"):
        query.grouping_sets("city")
    with pytest.raises(InvalidArgument, match="rollup comes after group_by"):
        asked(Silent()).query().rollup()
    with pytest.raises(InvalidArgument, match="no hidden groups"):
        query.with_other().agg(n=ask.count()).price(epsilon=1)
    with pytest.raises(QueryRefused, match="every group would hold one unit"):
        asked(Silent()).query().group_by("who").with_other().agg(n=ask.count()).price(epsilon=1)
    assert query.grouping_sets(["year", "city"]).levels is None


def test_whatever_is_hidden_one_unit_moves_the_others_by_at_most_the_price():
    session = asked(Silent())
    query = session.query().group_by("city", "site").with_other().agg(n=ask.count(), s=ask.sum("cost"))
    ready = compile_query(query, session.unit)
    moved = {str(entry.key): entry.sensitivity for entry in ready.measurements.additive if entry.key.other}
    assert set(moved) == {"m0@0+", "m1@0+"}
    codebook = Codebook.from_yaml(BOOK)
    whole = ReferenceEngine({"trips": ROWS}, codebook, key=7).run(ready.plan)
    for gone in (0, 7, 33):
        rows = {name: [c for c, who in zip(column, WHO, strict=True) if who != gone] for name, column in ROWS.items()}
        less = ReferenceEngine({"trips": rows}, codebook, key=7).run(ready.plan)
        for column, bound in (("m0", moved["m0@0+"]), ("m1", moved["m1@0+"])):
            for shown in (set(), {("Paris", "big")}, {("Lyon", "rare 0"), ("Paris", "big")}, {("Lyon", "rare 21")}):
                one, other = (hidden_sums(result, column, shown) for result in (whole, less))
                changes = [abs(one[city] - other[city]) for city in ("Lyon", "Paris", "Nice")]
                assert max(changes) <= bound.linf
                assert sum(changes) <= bound.l1
                assert sum(change > 0 for change in changes) <= bound.l0


def hidden_sums(result, column, shown):
    """What the groups outside `shown` hold, by city."""
    sums = Counter()
    for city, site, value in zip(
        result.keys["city"], result.keys["site"], result.columns[column].tolist(), strict=True
    ):
        sums[city] += 0 if (city, site) in shown else value
    return sums


@pytest.mark.parametrize("rows", [{name: [] for name in ROWS}, {name: column[:1] for name, column in ROWS.items()}])
@pytest.mark.parametrize("whole", [False, True])
def test_tables_with_nothing_to_show_are_answered(rows, whole):
    codebook = Codebook.from_yaml(BOOK)
    data = Dataset(ReferenceEngine({"trips": rows}, codebook, key=7), codebook=codebook)
    session = data.session(budget(epsilon=10, delta=1e-6), entropy=Seeded(1))
    query = session.query().group_by("city", "site").cube().with_other().agg(n=ask.count(), m=ask.mean("cost"))
    answer = (query.whole_numbers() if whole else query).release(epsilon=5)
    others = [row for row, other in zip(answer.table, answer.other, strict=True) if other]
    assert len(others) == 3 + 1  # by city and site one for each city, by site one
    assert sum(row["n"] for row in answer.at("city")) == answer.value("n")
    assert sum(row["n"] for row in answer.at("site")) == answer.value("n")


def test_levels_that_add_up_as_measured_are_left_alone():
    """With silent noise every level is right: fitting moved counts in the sixth digit and made them floats."""
    wards, sexes = [f"w{i:03}" for i in range(60)], [f"s{i}" for i in range(20)]
    rows = [(i, wards[i * 7 % 60], sexes[i * i % 20], i % 11) for i in range(500)]
    book = {
        "name": "t",
        "unit": "rows",
        "tables": {
            "t": {
                "variables": {
                    "p": "integer",
                    "a": {"type": "string", "categories": wards},
                    "b": {"type": "string", "categories": sexes},
                    "x": {"type": "number", "bounds": [0, 10], "step": 0.01},
                }
            }
        },
    }
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("p", "a", "b", "x"))}
    session = dp.Dataset(columns, codebook=book).session(dp.budget(epsilon=1000), entropy=Silent())
    for sets in ("GROUPING SETS ((a), (b), ())", "ROLLUP (a, b)", "CUBE (a, b)"):
        told = session.sql(f"SELECT a, b, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY {sets}", epsilon=300)
        for row in told.table:
            inside = [x for _, a, b, x in rows if row["a"] in (None, a) and row["b"] in (None, b)]
            assert type(row["n"]) is int
            assert row["n"] == len(inside)
            assert row["s"] == pytest.approx(sum(inside), rel=1e-12)
            assert not inside or row["m"] == pytest.approx(sum(inside) / len(inside), rel=1e-12)


_MANY = [f"k{place}" for place in range(8)]
_MANY_BOOK = {
    "name": "many",
    "unit": "rows",
    "tables": {
        "t": {
            "variables": {
                name: {"type": "string", "categories": [f"v{value}" for value in range(10)]} for name in _MANY
            }
        }
    },
}
_MANY_ROWS = {name: [f"v{(row * (place + 3) + place) % 10}" for row in range(40)] for place, name in enumerate(_MANY)}


def _many():
    session = dp.Dataset(_MANY_ROWS, codebook=_MANY_BOOK).session(dp.budget(epsilon=10**5), entropy=Seeded(1))
    return session.query().group_by(*_MANY)


def test_many_small_tables_of_many_keys_are_counted_in_one_query():
    """All keys together make a hundred million groups; the 28 tables by pairs have a hundred each."""
    pairs = list(combinations(_MANY, 2))
    answer = _many().grouping_sets(*pairs).agg(n=dp.count()).release(epsilon=28 * 60)
    assert len(answer.groups) == len(pairs) * 100
    assert any("need not add up" in note for note in answer.notes)
    for place, level in enumerate(answer.levels):
        columns = [_MANY.index(name) for name in level]
        found = {
            tuple(group[each] for each in columns): count
            for group, count, at in zip(answer.groups, answer["n"], answer.level, strict=True)
            if at == place
        }
        true = Counter(zip(*(_MANY_ROWS[name] for name in level), strict=True))
        assert found == {cell: true[cell] for cell in found}


def test_one_table_of_many_keys_is_refused_and_so_are_whole_numbers_made_of_it():
    with pytest.raises(QueryRefused, match="100,000,000 groups"):
        _many().agg(n=dp.count()).price(epsilon=1)
    with pytest.raises(QueryRefused, match="too-many-groups"):
        _many().grouping_sets(*combinations(_MANY, 2)).whole_numbers().agg(n=dp.count()).price(epsilon=1)
