"""What is remembered is remembered of one object, and the object is kept so that its identity stays its own."""

from __future__ import annotations

import gc

from deniable.plan import memo
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import Filter, scan
from deniable.plan.relation import schema, shape
from deniable.plan.translate import parse


def test_a_result_is_computed_once_for_each_object() -> None:
    calls: list[tuple[int, ...]] = []

    @memo.remembered
    def counted(given: tuple[int, ...]) -> int:
        calls.append(given)
        return sum(given)

    first = (1, 2, 3)
    equal = tuple(sorted(first))
    assert [counted(first), counted(first), counted(equal), counted(equal)] == [6, 6, 6, 6]
    assert len(calls) == 2


def test_new_objects_never_get_an_old_ones_result() -> None:
    @memo.remembered
    def same(given: tuple[int, ...]) -> int:
        return given[0]

    for number in range(3 * 4096):
        assert same((number,)) == number
    gc.collect()
    assert same((-1,)) == -1


def test_the_facts_of_one_relation_are_shared() -> None:
    book = Codebook.from_record(
        {"unit": "rows", "table": "t", "variables": {"x": {"type": "integer", "bounds": [0, 9]}}}
    )
    rows = scan(book)
    kept = Filter(rows, parse("x > 3", schema=schema(rows)))
    assert shape(kept) is shape(kept)
    assert schema(scan(book)) is schema(scan(book))
