"""The exact law of everything a synthesizer stores, on two and three rows of two binary columns, against what it is charged."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.accounting import RuleKind
from deniable.audit.comparison import compare
from deniable.audit.exact_law import OutputLaw, output_law
from deniable.plan.codebook import Codebook
from deniable.synth.measured.coded import CellRows, Contribution
from deniable.synth.synthesis import Synthesis, synthesis

BOOK = Codebook.from_yaml("""
name: coins
unit: rows
tables:
  coins:
    variables:
      first: {type: string, categories: [a, b], missing: {category: a}}
      second: {type: string, categories: [a, b], missing: {category: a}}
""")
TWO = CellRows((np.array([0, 1]), np.array([0, 1])))
THREE = CellRows((np.array([0, 1, 1]), np.array([0, 1, 1])))


def coins(method: str, columns: object = "all", **options: object) -> Synthesis:
    return synthesis(BOOK, None, columns=columns, method=method, focus=(), rows=None, bins=None, options=options)


def laws(asked: Synthesis, kind: RuleKind, scale: Fraction, cut: Fraction, right: CellRows = THREE):
    mechanism = asked.at(kind, scale)

    def law(data: CellRows) -> OutputLaw:
        run = lambda entropy: json.dumps(mechanism.function(data, entropy).to_record())  # noqa: E731
        return output_law(run, tail=cut, cut=cut)

    return law(TWO), law(right), mechanism.cost(d_in=1)


CASES = [
    ("pairs", {}, RuleKind.GAUSSIAN, Fraction(1, 7), (0, 2, 6, 12)),
    ("tree", {}, RuleKind.GAUSSIAN, Fraction(1, 7), (0, 2, 6, 12)),
    ("mwem", {"rounds": 1}, RuleKind.PURE, Fraction(1, 20), (0, 1, 4)),
    ("mwem", {"rounds": 1}, RuleKind.CONCENTRATED, Fraction(1, 5), (0, 1, 4)),
    ("privbayes", {}, RuleKind.PURE, Fraction(1, 20), (0, 1, 4)),
    ("privbayes", {"score": "r"}, RuleKind.CONCENTRATED, Fraction(1, 5), (0, 1, 4)),
    ("aim", {"rounds": 1, "degree": 2}, RuleKind.CONCENTRATED, Fraction(1, 10), (0, 1, 4)),
]


@pytest.mark.parametrize(("method", "options", "kind", "scale", "losses"), CASES)
def test_what_is_stored_costs_what_is_charged(method, options, kind, scale, losses):
    cut = Fraction(1, 800 if kind is RuleKind.GAUSSIAN else 3000)
    left, right, cost = laws(coins(method, **options), kind, scale, cut)
    assert len(left.chances) >= 20
    assert left.lost < Fraction(1, 2)
    assert not compare(left, right, cost, losses=losses).broken
    cheap = replace(coins(method, **options)).at(kind, scale * 20).cost(d_in=1)
    assert compare(left, right, cheap, losses=losses).broken, "a cost that is far too low must be caught"


def test_a_unit_that_is_said_to_have_fewer_rows_than_it_has_is_caught():
    """The planted fault: two rows come at once while the plan believes that it is one."""
    asked = coins("tree", ["first"])
    fault = replace(asked, moved=Contribution(1))
    four = CellRows((np.array([0, 1, 1, 1]), np.array([0, 1, 1, 1])))
    losses = (0, 1, 2, 4)
    cut = Fraction(1, 10**6)
    assert compare(*laws(fault, RuleKind.GAUSSIAN, Fraction(1), cut, four), losses=losses).broken
    sound = replace(asked, moved=Contribution(2))
    assert not compare(*laws(sound, RuleKind.GAUSSIAN, Fraction(1), cut, four), losses=losses).broken


def test_cells_cut_by_private_quantiles_are_paid_for():
    """The cuts follow from a first noisy table, so the shape of the second is part of what is told."""
    book = Codebook.from_record(
        {
            "name": "ages",
            "unit": "rows",
            "tables": {"ages": {"variables": {"age": {"type": "integer", "bounds": [0, 2], "missing": {"impute": 0}}}}},
        }
    )
    told = {"columns": "all", "method": "tree", "focus": (), "rows": None, "bins": None, "options": {}}
    asked = synthesis(book, None, **told, quantiles={"age": 2})
    two, three = CellRows((np.array([0, 2]),)), CellRows((np.array([0, 2, 2]),))
    mechanism = asked.at(RuleKind.GAUSSIAN, Fraction(1, 4))

    def law(data: CellRows) -> OutputLaw:
        run = lambda entropy: json.dumps(mechanism.function(data, entropy).to_record())  # noqa: E731
        return output_law(run, tail=Fraction(1, 10**4), cut=Fraction(1, 10**4))

    left, right = law(two), law(three)
    assert len({json.loads(each)["attributes"][0]["edges"][1] for each in left.chances}) > 1
    assert not compare(left, right, mechanism.cost(d_in=1), losses=(0, 1, 4, 8)).broken
    cheap = asked.at(RuleKind.GAUSSIAN, Fraction(3)).cost(d_in=1)
    assert compare(left, right, cheap, losses=(0, 1, 4, 8)).broken
