"""Categories that nobody declared: the exact law of what is stored, and how far one unit moves what is thresholded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from deniable.accounting import RuleKind
from deniable.audit.comparison import compare
from deniable.audit.exact_law import OutputLaw, output_law
from deniable.core.gate import PrivacyFilter
from deniable.cost import Bounded, composed
from deniable.engines.reference import ReferenceEngine
from deniable.engines.table_space import PrivateTables, table_space
from deniable.errors import BudgetExceeded
from deniable.kernels.key_threshold import new_key_chance
from deniable.plan.codebook import Codebook
from deniable.synth.measured import open_categories
from deniable.synth.measured.allowance import Allowance
from deniable.synth.synthesis import synthesis
from deniable.testing import Seeded

UNIT = "unit: {id: who, groups: 1, rows_per_group: 2}"
BOOK = f"""
name: towns
{UNIT}
tables:
  towns:
    variables:
      who: {{type: integer}}
      town: {{type: string}}
"""
ROWS = BOOK.replace(UNIT, "unit: rows").replace("      who: {type: integer}\n", "")
ALLOWANCE = Allowance.at(RuleKind.GAUSSIAN, Fraction(1, 3), Fraction(1, 8))
"""A tenth of it is noise of about one unit."""


def towns(book, method="tree", most=2):
    return synthesis(
        Codebook.from_yaml(book), None, columns=["town"], method=method, focus=(), rows=None, bins=None, options={},
        opened={"town": most},
    )  # fmt: skip


def tables(book, **columns):
    known = Codebook.from_yaml(book)
    return PrivateTables(ReferenceEngine({"towns": columns}, known, key=7), known)


def law(finding, data, fine=Fraction(1, 10**6)) -> OutputLaw:
    return output_law(lambda entropy: tuple(finding.function(data, entropy)), tail=fine, cut=fine)


def finding_of(asked):
    return open_categories._finding(asked.opened[0], table_space(asked.codebook), ALLOWANCE, 1)


LOSSES = (0, 1, 2, 4)
ALONE = [
    (["x"] * 4, ["x"] * 4 + ["y"]),  # a value of one person's own
    (["x"] * 4, ["x"] * 5),
    ([], ["y"]),
    (["x"], ["x", None]),
]


@pytest.mark.parametrize(("left", "right"), ALONE)
def test_the_values_that_are_shown_cost_their_noise_and_their_delta(left, right):
    finding = finding_of(towns(ROWS))
    laws = [law(finding, tables(ROWS, town=rows)) for rows in (left, right)]
    assert not compare(*laws, finding.cost(d_in=1), losses=LOSSES).broken
    if "y" in right:
        assert any("y" in shown for shown in laws[1].chances), "a delta of an eighth shows the value now and then"
        noise, leak = finding.cost(d_in=1).costs
        assert leak == Bounded(epsilon=0, delta=Fraction(1, 8))
        assert compare(*laws, noise, losses=LOSSES).broken, "without its delta the charge is too low"


@pytest.mark.parametrize(("unit", "right"), [(5, ["y", "z"]), (5, ["x", "y"]), (5, ["x", "x"])])
def test_a_unit_with_several_values_is_paid_for(unit, right):
    finding = finding_of(towns(BOOK))
    left = {"who": [1, 2, 3], "town": ["x"] * 3}
    more = {"who": [*left["who"], unit, unit], "town": [*left["town"], *right]}
    laws = [law(finding, tables(BOOK, **rows), Fraction(1, 10**4)) for rows in (left, more)]
    assert not compare(*laws, finding.cost(d_in=1), losses=LOSSES).broken


def test_a_threshold_that_is_too_low_is_caught(monkeypatch):
    monkeypatch.setattr(open_categories.OpenColumn, "threshold", lambda *_: 2)
    finding = finding_of(towns(ROWS))
    laws = [law(finding, tables(ROWS, town=rows)) for rows in ALONE[0]]
    assert compare(*laws, finding.cost(d_in=1), losses=LOSSES).broken


def test_what_is_found_and_what_is_measured_share_one_filter(monkeypatch):
    """Everything that is asked of the data, by its own costs, is within what is charged; a second look at the values is not."""
    asked, charged = towns(ROWS), []
    honest = PrivacyFilter.charge
    monkeypatch.setattr(
        PrivacyFilter, "charge", lambda self, cost: (charged.append((id(self), cost)), honest(self, cost))
    )
    data = tables(ROWS, town=["x"] * 50)
    asked.measure(asked._measurer(data, ALLOWANCE, Seeded(1)))
    assert len({gate for gate, _ in charged}) == 1
    assert len(charged) == 2
    assert ALLOWANCE.rule.fits(ALLOWANCE.rule.read(composed([cost for _, cost in charged])))
    twice = replace(asked, opened=asked.opened * 2)
    wrong = replace(ALLOWANCE, delta=ALLOWANCE.delta / 2)
    monkeypatch.setattr(open_categories, "Bounded", lambda **_: Bounded(epsilon=0, delta=ALLOWANCE.delta))
    with pytest.raises(BudgetExceeded):
        twice.measure(twice._measurer(data, wrong, Seeded(1)))


def test_one_unit_moves_as_many_values_as_it_has_rows_each_by_one():
    asked = towns(BOOK)
    [column] = asked.opened
    assert (column.moved.l0, column.moved.linf) == (2, 1)
    whole = {"who": [1, 1, 1, 2, 2, 3], "town": ["a", "b", "c", "a", "a", None]}
    for gone in (1, 2, 3):
        kept = [place for place, who in enumerate(whole["who"]) if who != gone]
        less = {name: [cells[place] for place in kept] for name, cells in whole.items()}
        here, there = (
            dict(zip(*(list(each) for each in open_categories._found(tables(BOOK, **rows), column.plan)), strict=True))
            for rows in (whole, less)
        )
        moved = {value: abs(here.get(value, 0) - there.get(value, 0)) for value in {*here, *there}}
        assert sum(map(bool, moved.values())) <= column.moved.l0
        assert max(moved.values()) <= column.moved.linf


def test_the_threshold_is_the_least_that_keeps_its_part_of_the_delta():
    asked = towns(BOOK)
    [column] = asked.opened
    allowance = Allowance.at(RuleKind.GAUSSIAN, Fraction(10), Fraction(1, 10**6))
    noise, threshold = column.noise(allowance, 1), column.threshold(allowance, 1)
    assert new_key_chance(threshold, noise=noise, apart=column.moved) <= Fraction(1, 10**6)
    assert new_key_chance(threshold - 1, noise=noise, apart=column.moved) > Fraction(1, 10**6)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_thresholds_of_all_open_columns_leak_what_is_charged_together(columns):
    """Each column's threshold hides with its part of the delta, which its own charge names: the parts come to the whole."""
    column, space = towns(ROWS).opened[0], table_space(Codebook.from_yaml(ROWS))
    noise = column.noise(ALLOWANCE, columns)
    chance = new_key_chance(column.threshold(ALLOWANCE, columns), noise=noise, apart=column.moved)
    assert columns * chance <= ALLOWANCE.delta
    leak = Bounded(epsilon=0, delta=ALLOWANCE.delta / columns)
    finding = open_categories._finding(column, space, ALLOWANCE, columns)
    assert finding.cost(d_in=1) == composed([noise.cost(column.moved), leak])
