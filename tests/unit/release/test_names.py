"""Names: no two columns of an answer share one, statements of the book are read as printed."""

from __future__ import annotations

import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.testing import Silent

BOOK = {
    "name": "inventory",
    "unit": {"id": "id", "groups": 1, "rows_per_group": 1},
    "tables": {
        "inventory": {
            "variables": {"id": "integer", "item": "string", "quantity": {"type": "integer", "bounds": [0, 10]}}
        }
    },
}
DATA = {"id": list(range(400)), "item": ["pen", "cup"] * 200, "quantity": [3, 5] * 200}


def session():
    return dp.Dataset(DATA, codebook=BOOK).session(dp.budget(epsilon=10, delta=0.1), entropy=Silent())


@pytest.mark.parametrize(
    "names",
    [
        {"item": dp.count()},
        {"ITEM": dp.count()},
        {"n": dp.count(), "n_low": dp.count_distinct()},
        {"n_high": dp.count_distinct(), "n": dp.count()},
        {"m": dp.median("quantity"), "m_ranks": dp.count()},
        {"m": dp.median("quantity"), "m_low": dp.count()},
        {"n": dp.count(), "N": dp.count_distinct()},
    ],
)
def test_two_columns_of_one_name_are_refused(names):
    with pytest.raises(InvalidArgument, match="choose another name"):
        session().query().group_by("item").agg(**names)


def test_names_that_do_not_meet_are_fine():
    asked = session().query().group_by("item").agg(m=dp.median("quantity"), m_rows=dp.count())
    assert set(asked.release(epsilon=1, delta=0.01).table[0]) >= {
        "item",
        "m",
        "m_low",
        "m_high",
        "m_ranks",
        "m_rows_low",
    }


def test_the_statement_of_the_book_is_answered_as_printed():
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1.0, delta=.01, privacy_unit_column=id) "
        "AVG(quantity) average_sales FROM inventory GROUP BY item;"
    )
    asked = session()
    assert {row["average_sales"] for row in asked.sql(text, dialect="bigquery").table} == {3.0, 5.0}
    assert asked.spent.loss == 1
    assert float(asked.spent.delta) == 0.01


SMARTNOISE = """
"":
  MySchema:
    MyTable:
      max_ids: 1
      id: {private_id: true, type: int}
      quantity: {type: int, lower: 0, upper: 10}
"""


def test_a_schema_of_smartnoise_may_stand_before_its_table():
    book = dp.from_smartnoise(SMARTNOISE)
    data = dp.Dataset({"MyTable": {"id": DATA["id"], "quantity": DATA["quantity"]}}, codebook=book)
    asked = data.session(dp.budget(epsilon=10), entropy=Silent())
    assert asked.sql("SELECT COUNT(*) AS n FROM MySchema.MyTable", epsilon=1).value("n") == 400
    assert asked.sql("SELECT COUNT(*) AS n FROM MyTable", epsilon=1).value("n") == 400
    with pytest.raises(dp.errors.QueryRefused, match="named alone"):
        asked.sql("SELECT COUNT(*) AS n FROM Other.MyTable", epsilon=1)
