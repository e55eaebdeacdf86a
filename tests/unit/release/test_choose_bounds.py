"""Bounds chosen privately, and the view of bias against noise on rows that are nobody's."""

from collections import Counter
from fractions import Fraction

import pytest

from deniable.accounting import budget
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument
from deniable.kernels.laws import Law
from deniable.plan.codebook import Codebook
from deniable.query import aggregates as ask
from deniable.query import compile_query
from deniable.query.contribution import unit_contributions
from deniable.release.bounds_view import BoundCandidate
from deniable.release.dataset import Dataset, Rehearsal
from deniable.testing import Seeded, Silent

BOOK = """
format: 1
name: logs
unit: {id: user}
tables:
  logs:
    variables:
      user: {type: integer}
      site: {type: string}
      ward: {type: string, categories: [a, b]}
"""
TIMES = [
    1 + n % 10 for n in range(100)
]  # unit n has so many rows, each on a site of its own, and one more on the first
ROWS = {
    "user": [n for n, often in enumerate(TIMES) for _ in range(often + 1)],
    "site": [f"site {max(k - 1, 0)}" for often in TIMES for k in range(often + 1)],
    "ward": ["a" if k % 2 else "b" for often in TIMES for k in range(often + 1)],
}


def opened(rows=ROWS, entropy=None, kind=Dataset, **changes):
    codebook = Codebook.from_yaml(BOOK)
    data = kind(ReferenceEngine({"logs": {**rows, **changes}}, codebook, key=3), codebook=codebook)
    return data.session(budget(epsilon=5, delta=1e-6), entropy=entropy) if kind is Dataset else data


def counted(histogram):
    return dict(zip(histogram.bin.tolist(), histogram.count.tolist(), strict=True))


def by_site(session):
    return session.query().group_by("site").agg(n=ask.count())


def test_without_noise_the_quantiles_are_the_true_ones():
    chosen = by_site(opened(entropy=Silent())).choose_bounds(epsilon=1, share=0.9)
    assert (chosen.groups, chosen.rows) == (9, 2)
    assert (chosen.query.groups, chosen.query.rows) == (9, 2)
    everyone = opened(entropy=Silent()).query().agg(n=ask.count()).choose_bounds(epsilon=1, share=0.5)
    assert (everyone.groups, everyone.rows) == (1, 6)


@pytest.mark.parametrize(
    "changed",
    [
        lambda query: query.top(2, by="n"),
        lambda query: query.having("n", at_least=5).order_by("site"),
        lambda query: query.split(n=2),
        lambda query: query.keeping(first="user"),
        lambda query: query.keeping(sampled=True),
    ],
)
def test_what_is_asked_of_the_answer_alone_chooses_no_bounds(changed):
    query = changed(by_site(opened(entropy=Silent())))
    chosen = query.choose_bounds(epsilon=1, share=0.9)
    assert (chosen.groups, chosen.rows) == (9, 2)
    assert (chosen.query.views, chosen.query.choice, chosen.query.shares) == (query.views, query.choice, query.shares)


def test_it_is_charged_stored_and_given_again(tmp_path):
    codebook = Codebook.from_yaml(BOOK)
    data = Dataset(ReferenceEngine({"logs": ROWS}, codebook, key=3), codebook=codebook)
    session = data.session(budget(epsilon=1), ledger=tmp_path / "l.ledger")
    first = by_site(session).choose_bounds(epsilon=0.25)
    assert session.spent.loss == Fraction(1, 4)
    again = by_site(session).choose_bounds(epsilon=0.25)
    assert (again.groups, again.rows) == (first.groups, first.rows)
    assert session.spent.loss == Fraction(1, 4)
    assert first.release.receipt.charged.loss == Fraction(1, 4)
    assert "of the units fit within each" in str(first)


def test_one_unit_is_one_row_however_much_it_contributes():
    query = by_site(opened())
    most = {"groups": 50, "rows": 50}
    session = opened()
    asked = session.query()
    ready = compile_query(
        asked._on(unit_contributions(query, most))
        .agg(g=ask.quantile("groups", 0.9), r=ask.quantile("rows", 0.9))
        .bound(rows=1),
        session.unit,
    )
    assert [(part.sensitivity, part.groups) for part in ready.measurements.selections] == [(Fraction(9, 10), 1)] * 2
    heavy = {"user": [*ROWS["user"], *[500] * 300], "site": [*ROWS["site"], *(f"x {n}" for n in range(300))]}
    heavy["ward"] = [*ROWS["ward"], *["a"] * 300]
    usual, other = (ReferenceEngine({"logs": rows}, session.codebook, key=3).run(ready.plan) for rows in (ROWS, heavy))
    for name in ready.bins:
        before, after = (counted(result.histograms[name]) for result in (usual, other))
        assert sum(abs(before.get(place, 0) - after.get(place, 0)) for place in {*before, *after}) == 1


def test_what_cannot_be_chosen_is_refused():
    codebook = Codebook.from_yaml(BOOK.replace("unit: {id: user}", "unit: rows"))
    rows = Dataset(ReferenceEngine({"logs": ROWS}, codebook, key=3), codebook=codebook).session(budget(epsilon=1))
    with pytest.raises(InvalidArgument, match="no bound to choose"):
        by_site(rows).choose_bounds(epsilon=0.5)
    with pytest.raises(InvalidArgument, match="total"):
        by_site(opened()).bound(total=4).choose_bounds(epsilon=0.5)
    with pytest.raises(InvalidArgument, match="share"):
        by_site(opened()).choose_bounds(epsilon=0.5, share=1.5)
    with pytest.raises(InvalidArgument, match="there is no default bound"):
        by_site(opened()).price(epsilon=0.5)


def test_a_bound_on_all_rows_of_a_unit():
    session = opened(entropy=Silent())
    answer = session.query().bound(total=3).agg(n=ask.count()).release(epsilon=1)
    assert answer.value("n") == sum(min(3, often + 1) for often in TIMES)
    grouped = session.query().bound(total=3).group_by("ward").agg(n=ask.count())
    assert sum(row["n"] for row in grouped.release(epsilon=1).table) == answer.value("n")
    assert "3 rows in all" in answer.facts.contribution
    (noisy,) = compile_query(grouped, session.unit).measurements.additive
    assert (noisy.sensitivity.l1, noisy.sensitivity.linf, noisy.sensitivity.l0) == (3, 3, 2)


def test_the_view_shows_what_bounds_lose_and_what_noise_they_need():
    view = opened(kind=Rehearsal).bounds_view(
        lambda s: s.query().group_by("ward").agg(n=ask.count()), total=[1, 4, 8, 11, 40], rho=0.5
    )
    true = Counter(ROWS["ward"])
    rows = {row["total"]: row for row in view.table}
    total = sum(true.values())
    assert rows[1]["kept"] == pytest.approx(100 / total)
    assert rows[1]["bias"] == pytest.approx((total - 100) / 2)
    assert rows[11]["bias"] == rows[40]["bias"] == 0
    assert rows[40]["noise"] == pytest.approx(40 * rows[1]["noise"], rel=1e-3)
    assert view.best in (8, 11)
    assert rows[40]["error"] == pytest.approx(rows[40]["noise"])
    assert "kept" in str(view)
    assert "<svg" in view.plot().svg


@pytest.mark.parametrize("law", list(Law))
def test_the_expected_error_is_the_mean_of_bias_and_noise_together(law):
    import numpy as np

    from deniable.kernels import noise_of

    shift, scale = 30.0, 40
    stated = BoundCandidate.of(1, np.array([100.0]), np.array([-shift]), noise_of(law, Fraction(scale, 2)), 2.0)
    draws = noise_of(law, Fraction(scale)).draw(20000, Seeded(1))
    assert stated.error == pytest.approx(float(np.abs(draws - shift).mean()), rel=0.03)
    assert stated.relative == pytest.approx(stated.error / 100)


def test_private_data_has_no_such_view():
    assert not hasattr(Dataset, "bounds_view")
    codebook = Codebook.from_yaml(BOOK)
    made_up = Dataset(ReferenceEngine({"logs": ROWS}, codebook, key=3), codebook=codebook).dummy(rows=50)
    assert isinstance(made_up, Rehearsal)
    with pytest.raises(InvalidArgument, match="candidates of one bound"):
        made_up.bounds_view(by_site, groups=[1], rows=[1], epsilon=1)
    with pytest.raises(InvalidArgument, match="a count or a sum"):
        opened(kind=Rehearsal).bounds_view(
            lambda s: s.query().group_by("ward").rollup().agg(n=ask.count()), groups=[1], epsilon=1
        )
