"""The codebook: strict, line-precise, the only source of schema."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from deniable.errors import InvalidArgument
from deniable.exact.figures import counted, plural
from deniable.plan.codebook import Codebook
from deniable.plan.unit import Length, Unit, row_unit, unit

TEXT = """\
format: 1
name: visits
unit: {id: patient, groups: 3, rows_per_group: 5}
variables:
  patient: integer
  ward: {type: string, categories: [heart, skin], other: rest, missing: {category: unknown}}
  minutes: {type: number, bounds: [0, 240], step: 0.25, provenance: opening hours}
  paid: {type: decimal, bounds: [0, 99.99], step: 0.01, missing: {impute: 0}, outside: missing}
  day: {type: date, bounds: [2020-01-01, 2024-12-31]}
  seen: timestamp
  urgent: boolean
  age: {type: integer, bounds: [0, 120], bins: [0, 18, 65, 120]}
"""


def test_reads_what_is_written() -> None:
    book = Codebook.from_yaml(TEXT)
    table = book["visits"]
    assert book.unit == unit("patient", groups=3, rows=5)
    assert table.unit == "patient"
    assert table["minutes"].facts().interval == (0, 240)
    assert table["minutes"].facts().step == Fraction(1, 4)
    assert table["ward"].values == ("heart", "skin", "rest", "unknown")
    assert not table["ward"].facts().nullable
    assert table["paid"].canonical(1.5) == 150
    assert table["age"].bins == (0, 18, 65, 120)


def test_yaml_and_record_round_trip() -> None:
    book = Codebook.from_yaml(TEXT)
    assert Codebook.from_yaml(book.to_yaml()) == book
    assert Codebook.from_record(book.to_record()) == book
    assert Codebook.from_yaml(book.to_yaml()).identity() == book.identity()


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("step: 0.25", "stp: 0.25", 7, "unknown field"),
        ("[0, 240]", "[240, 0]", 7, "reversed"),
        ("[0, 240]", "[0, .nan]", 7, "finite"),
        ("[0, 240]", "[0]", 7, "[lower, upper]"),
        ("type: number", "type: float", 7, "expected one of integer"),
        ("[heart, skin]", "[yes, no]", 6, "quotes"),
        ("groups: 3", "groups: 0", 3, "at least 1"),
        ("groups: 3", "groups: 2.5", 3, "whole number"),
        ("format: 1", "format: 9", 1, "format 1"),
        ("step: 0.01", "step: 0.03", 8, "power of ten"),
        ("{impute: 0}", "{impute: 100}", 8, "within its bounds"),
        ("[0, 18, 65, 120]", "[0, 0]", 12, "rising"),
        ("urgent: boolean", "urgent: {type: boolean, bounds: [0, 1]}", 11, "does not apply"),
        ("  urgent: boolean", "  day: date", 11, "written twice"),
        ("urgent: boolean", "urgent: !!python/object/apply:os.getcwd []", 11, "not plain YAML"),
    ],
)
def test_a_mistake_is_refused_with_its_line(old: str, new: str, line: int, says: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Codebook.from_yaml(TEXT.replace(old, new, 1), source="visits.yaml")
    assert f"line {line}" in str(refused.value)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "- 1", "variables: {}", "tables: {a: {variables: {x: integer}}, A: {variables: {x: integer}}}",
     "variables: {x: number}", "a: &x 1\nvariables: *x", "unit: {id: who}\nvariables: {x: integer}",
     "unit: {id: x}\nvariables: {x: boolean}", "variables: {x: {type: integer, step: 5}}"],
)  # fmt: skip
def test_what_is_no_codebook_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^[^\n]+$"):
        Codebook.from_yaml(text)


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="codebook init"):
        Codebook.load(tmp_path / "none.yaml")


def test_links_lead_to_the_unit() -> None:
    book = Codebook.from_yaml(
        """
unit: {id: customer, groups: 1, rows_per_group: 1}
tables:
  line: {links: [line.order_of -> orders.order], variables: {order_of: integer}}
  orders: {unit: buyer, variables: {order: integer, buyer: integer}}
  customers: {variables: {customer: integer}}
  nations: {public: true, variables: {nation: string}}
"""
    )
    assert [str(link) for link in book.path("line")] == ["order_of -> orders.order"]
    assert book.owner("line").name == "orders"
    assert book["customers"].unit == "customer"


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        (
            "a: {links: [x -> b.y], variables: {x: integer}}\n  b: {links: [y -> a.x], variables: {y: integer}}",
            "circle",
        ),
        ("a: {links: [x -> b.z], variables: {x: integer}}\n  b: {unit: y, variables: {y: integer}}", "not declared"),
        ("a: {links: [x], variables: {x: integer}}", "column -> table.column"),
        ("a: {variables: {x: integer}}", "public: true"),
        ("a: {unit: y, variables: {y: integer}}\n  b: {unit: y, variables: {y: string}}", "one type"),
        (
            "a: {links: [x -> b.y, z -> c.y], variables: {x: integer, z: integer}}\n"
            "  b: {unit: y, variables: {y: integer}}\n  c: {unit: y, variables: {y: integer}}",
            "reaches the unit twice",
        ),
    ],
)
def test_links_that_lead_nowhere_are_refused(tables: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        Codebook.from_yaml(f"unit: {{id: who}}\ntables:\n  {tables}\n")


def test_the_unit_is_stated_once() -> None:
    book = Codebook.from_yaml("variables: {who: integer}")
    mine = unit("who", groups=1, rows=2)
    assert book.with_unit(mine).with_unit(mine).unit == mine
    with pytest.raises(InvalidArgument, match="state one"):
        book.with_unit(mine).with_unit(unit("who", groups=2, rows=2))


def test_units_know_their_kinds() -> None:
    assert str(unit("who", period="day", per="week")) == "one who in one week of day"
    assert unit("who", period="day", per="week").period.length is Length.WEEK  # type: ignore[union-attr]
    assert row_unit(changed=True).is_row
    assert unit("who").groups is None, "there is no default bound"
    for bad in (lambda: unit(""), lambda: unit("x", groups=0), lambda: unit("x", period="d", per="eon")):
        with pytest.raises(InvalidArgument):
            bad()


def test_a_label_is_what_a_unit_is_called_and_nothing_else() -> None:
    plain = Codebook.from_yaml(TEXT)
    assert plain.unit is not None
    assert plain.unit.id is not None
    called = Codebook.from_record(plain.to_record() | {"unit": {"id": plain.unit.id, "label": "tail number"}})
    assert called.unit is not None
    assert called.unit.phrase.startswith("one tail number")
    assert Codebook.from_yaml(called.to_yaml()).unit.label == "tail number"  # type: ignore[union-attr]
    assert replace(called.unit, called=None) == called.unit
    assert str(called.unit) == str(replace(called.unit, called=None))  # what a ledger binds
    assert called.binding() == plain.binding()


@pytest.mark.parametrize("label", ["", " a", "a  b", "a_b", "x" * 41, "<b>", "a\nb"])
def test_a_label_is_a_few_words(label: str) -> None:
    with pytest.raises(InvalidArgument, match="a label is one or a few words"):
        Unit(id="a", called=label)


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("row", "rows"),
        ("person", "people"),
        ("family", "families"),
        ("day", "days"),
        ("box", "boxes"),
        ("small child", "small children"),
    ],
)
def test_several_of_something(one: str, several: str) -> None:
    assert plural(one) == several
    assert counted(1, one) == f"1 {one}"
    assert counted(2, one) == f"2 {several}"
