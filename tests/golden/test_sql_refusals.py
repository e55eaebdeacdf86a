"""Every refusal of SQL, word for word: code, place, reason and what to write instead. Nothing is spent by a refusal.

`python -m tests.golden.test_sql_refusals` writes the file anew; read the difference before keeping it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from deniable.errors import QueryRefused
from deniable.release.session import Session
from tests.engines.sql_schemas import session

GOLDEN = Path(__file__).with_name("sql_refusals.json")

_CLINIC = """
SELECT COUNT(*) FROM visits WHERE duration > (SELECT duration FROM visits)
SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(cost) FROM visits w WHERE w.patient_id = v.patient_id)
SELECT COUNT(*) FROM visits v WHERE patient_id NOT IN (SELECT patient_id FROM visits w WHERE w.cost > v.cost)
SELECT v.day FROM visits v JOIN (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) t ON v.city = t.city
SELECT specialty FROM visits EXCEPT SELECT name FROM cities
SELECT * FROM visits
SELECT duration FROM visits
SELECT patient_id, duration FROM visits WHERE patient_id = 7
SELECT duration FROM visits ORDER BY duration DESC LIMIT 1
SELECT specialty, duration, COUNT(*) FROM visits GROUP BY specialty
SELECT COUNT(*), * FROM visits
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id
SELECT COUNT(*) FROM visits GROUP BY patient_id
SELECT COUNT(*) FROM nowhere
SELECT COUNT(*) FROM visits WHERE nothing > 1
SELECT COUNT(*) FROM visits v WHERE w.duration > 1
SELECT COUNT(*) FROM main.visits
SELECT COUNT(*) FROM read_csv('x.csv')
SELECT COUNT(*) FROM 'x.parquet'
SELECT COUNT(*) FROM information_schema.tables
SELECT COUNT(*) FROM duckdb_settings()
SELECT COUNT(*) FROM range(10)
SELECT 1
SELECT version()
SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits
DROP TABLE visits
INSERT INTO visits SELECT * FROM visits
CREATE TABLE x AS SELECT COUNT(*) FROM visits
COPY visits TO 'x.csv'
ATTACH 'x.db'
PRAGMA database_list
SET threads = 1
EXPLAIN SELECT COUNT(*) FROM visits
EXPLAIN ANALYZE SELECT COUNT(*) FROM visits
SELEC COUNT(*) FROM visits
SELECT COUNT( FROM visits
SELECT COUNT(*) FROM visits WHERE
SELECT SUM(patient_id) FROM visits
SELECT AVG(city) FROM visits
SELECT SUM(DISTINCT duration) FROM visits
SELECT COUNT(DISTINCT city, specialty) FROM visits
SELECT STRING_AGG(city, ',') FROM visits
SELECT ARRAY_AGG(duration) FROM visits
SELECT ANY_VALUE(city) FROM visits
SELECT FIRST(city) FROM visits
SELECT MODE(city) FROM visits
SELECT ARG_MAX(city, duration) FROM visits
SELECT BOOL_OR(urgent) FROM visits
SELECT APPROX_COUNT_DISTINCT(city) FROM visits
SELECT CORR(duration, duration) FROM visits
SELECT SUM(AVG(duration)) FROM visits
SELECT QUANTILE(duration, 1.5) FROM visits
SELECT QUANTILE(duration, cost) FROM visits
SELECT MAX(city) FROM visits
SELECT duration, RANK() OVER (ORDER BY duration) FROM visits
SELECT SUM(COUNT(*)) OVER () FROM visits
SELECT COUNT(*) OVER () FROM visits
SELECT city, SUM(duration) OVER (PARTITION BY city) AS s FROM visits
SELECT city, COUNT(*) AS n, SUM(duration) OVER (PARTITION BY city) AS s FROM visits GROUP BY city
SELECT AVG(r) AS a FROM (SELECT patient_id, SUM(duration) OVER (PARTITION BY patient_id) AS r FROM visits) t
SELECT VAR(duration) AS v FROM visits
SELECT city, STDEVP(duration) AS v FROM visits GROUP BY city
SELECT FOO(duration) AS v FROM visits
SELECT UUID() AS v FROM cities
SELECT version() AS v FROM cities
SELECT current_user AS v FROM cities
SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER () = 1
SELECT COUNT(*) FROM visits TABLESAMPLE 10%
SELECT COUNT(*) FROM visits USING SAMPLE 10
SELECT COUNT(*) FROM visits WHERE random() < 0.5
SELECT COUNT(*) FROM visits WHERE day < current_date
SELECT COUNT(*) FROM visits WHERE md5(city) = 'x'
SELECT COUNT(*) FROM visits WHERE duration // 2 = 1
SELECT COUNT(*) FROM visits WHERE duration / 0 > 1
SELECT COUNT(*) FROM visits WHERE ln(duration) > 1
SELECT COUNT(*) FROM visits WHERE sqrt(duration) > 1
SELECT COUNT(*) FROM visits WHERE CAST(city AS INTEGER) > 1
SELECT COUNT(*) FROM visits WHERE error('x') IS NULL
SELECT SUM(duration * duration * duration * duration * duration * duration * duration * duration * duration * duration) FROM visits
SELECT COUNT(*) FROM visits WHERE city ILIKE 'o%'
SELECT COUNT(*) FROM visits WHERE city SIMILAR TO 'O.*'
SELECT COUNT(*) FROM visits WHERE regexp_matches(city, 'O.*')
SELECT COUNT(*) FROM visits WHERE city < 'P'
SELECT COUNT(*) FROM visits WHERE city = NULL
SELECT COUNT(*) FROM visits WHERE duration = 'x'
SELECT COUNT(*) FROM visits WHERE duration
SELECT COUNT(*) FROM visits WHERE duration BETWEEN SYMMETRIC 5 AND 1
SELECT COUNT(*) FROM visits WHERE duration > (SELECT MAX(pop) FROM cities)
SELECT COUNT(*) FROM visits WHERE duration IN (SELECT born FROM patients)
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM patients WHERE born > 2000)
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p WHERE p.born < v.duration)
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p WHERE p.patient_id = v.patient_id) OR duration > 3
SELECT CASE WHEN EXISTS (SELECT 1 FROM patients WHERE patient_id = 7) THEN 1 ELSE 0 END FROM visits
SELECT COUNT(*) FROM visits WHERE city NOT IN (SELECT name FROM cities)
SELECT COUNT(*) FROM cities WHERE name IN (SELECT city FROM visits)
SELECT COUNT(*) FROM cities c LEFT JOIN visits v ON c.name = v.city
SELECT COUNT(*) FROM cities c WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.city = c.name)
SELECT COUNT(*) FROM visits a JOIN visits b ON a.city = b.city
SELECT COUNT(*) FROM visits a, visits b
SELECT COUNT(*) FROM visits a JOIN patients b ON a.duration = b.born
SELECT COUNT(*) FROM visits a FULL JOIN patients b ON a.patient_id = b.patient_id
SELECT COUNT(*) FROM visits a NATURAL JOIN patients b
SELECT COUNT(*) FROM visits a ASOF JOIN patients b ON a.patient_id >= b.patient_id
SELECT COUNT(*) FROM visits a LEFT JOIN patients b ON a.patient_id = b.patient_id AND a.duration > 3
SELECT COUNT(*) FROM visits, LATERAL (SELECT 1) t
SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 10) t
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY duration) t
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t
SELECT AVG(m) FROM (SELECT patient_id, STDDEV(duration) AS m FROM visits GROUP BY patient_id) t
SELECT AVG(m) FROM (SELECT patient_id, AVG(DISTINCT duration) AS m FROM visits GROUP BY patient_id) t
SELECT AVG(m) FROM (SELECT patient_id, AVG(city) AS m FROM visits GROUP BY patient_id) t
SELECT COUNT(*) FROM (SELECT city FROM visits UNION SELECT name FROM cities) t
SELECT COUNT(*) FROM (SELECT city FROM visits UNION ALL SELECT name FROM cities) t
SELECT COUNT(*) FROM (SELECT city FROM visits EXCEPT SELECT city FROM visits) t
WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT COUNT(*) FROM t, visits
SELECT specialty, COUNT(*) FROM visits GROUP BY GROUPING SETS ((specialty), (specialty))
SELECT specialty, COUNT(*) FROM visits GROUP BY ROLLUP (specialty), ROLLUP (specialty)
SELECT COUNT(*) FROM visits GROUP BY CUBE (specialty, city, urgent, day, duration, cost, seen)
SELECT GROUPING(city), COUNT(*) FROM visits GROUP BY ROLLUP (specialty)
SELECT GROUPING(), COUNT(*) FROM visits GROUP BY ROLLUP (specialty)
SELECT patient_id, COUNT(*) FROM visits GROUP BY ROLLUP (patient_id)
SELECT AVG(n) FROM (SELECT patient_id, specialty, COUNT(*) AS n FROM visits GROUP BY ROLLUP (patient_id, specialty)) t
SELECT specialty, AVG(duration, contribution_bounds_per_group => (0, 9)) FROM visits GROUP BY ROLLUP (specialty)
SELECT COUNT(*) FROM visits GROUP BY 7
SELECT COUNT(*) AS n FROM visits GROUP BY n
SELECT specialty, COUNT(*) FROM visits GROUP BY specialty ORDER BY 9
SELECT specialty, COUNT(*) FROM visits GROUP BY specialty ORDER BY duration
SELECT specialty, COUNT(*) FROM visits GROUP BY specialty HAVING duration > 3
SELECT specialty, COUNT(*) FROM visits GROUP BY specialty LIMIT duration
SELECT specialty, COUNT(*) FROM visits GROUP BY specialty LIMIT 10%
SELECT DISTINCT specialty, COUNT(*) FROM visits GROUP BY specialty
SELECT DISTINCT specialty FROM visits
SELECT DISTINCT ON (city) COUNT(*) FROM visits GROUP BY city
SELECT COUNT(*) AS n, SUM(duration) AS n FROM visits
SELECT ln(COUNT(*)) FROM visits
SELECT COUNT(*) // 2 FROM visits
SELECT city || COUNT(*) FROM visits GROUP BY city
SELECT m FROM (SELECT COUNT(*) AS n FROM visits)
SELECT name, unknown(pop) FROM cities
SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR city IN ('Oslo'))
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, wrong=2) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=x) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, privacy_unit_column=city) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_groups_contributed=0) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_contributed=0) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, min_privacy_units_per_group=1.5) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, group_selection_strategy=EXPONENTIAL) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=PUBLIC_GROUPS) city, COUNT(*) FROM visits GROUP BY city
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=LAPLACE_THRESHOLD) specialty, COUNT(*) FROM visits GROUP BY 1
SELECT SUM(duration, contribution_bounds_per_row => (10, 0)) FROM visits
SELECT SUM(duration, contribution_bounds_per_group => (1, 1)) FROM visits
SELECT SUM(patient_id, contribution_bounds_per_group => (0, 10)) FROM visits
SELECT SUM(duration, contribution_bounds_per_unit => (0, 10)) FROM visits
SELECT SUM(duration, contribution_bounds_per_row => 10) FROM visits
SELECT SUM(duration, 3, contribution_bounds_per_row => (0, 10)) FROM visits
SELECT COUNT(*, contribution_bounds_per_group => (1, 10)) FROM visits
SELECT COUNT(*, contribution_bounds_per_row => (0, 10)) FROM visits
SELECT COUNT(DISTINCT city, contribution_bounds_per_group => (0, 10)) FROM visits
SELECT MEDIAN(duration, contribution_bounds_per_group => (0, 10)) FROM visits
SELECT MAX(duration, contribution_bounds_per_row => (0, 10)) FROM visits
SELECT AVG(duration, contribution_bounds_per_group => (0, 10)), COUNT(*) FROM visits
SELECT AVG(duration, contribution_bounds_per_group => (0, 10)), SUM(cost, contribution_bounds_per_row => (0, 10)) FROM visits
"""

_SHOP = """
SELECT order_id, COUNT(*) FROM items GROUP BY order_id
SELECT COUNT(*) FROM items a JOIN items b ON a.product_id = b.product_id
SELECT COUNT(*) FROM items i JOIN customers c ON i.quantity = c.age
SELECT COUNT(*) FROM orders o JOIN items i ON o.order_id = i.product_id
SELECT order_id, SUM(price) FROM items GROUP BY order_id ORDER BY 2 DESC LIMIT 1
SELECT kind, COUNT(*) FROM products LEFT JOIN items USING (product_id) GROUP BY kind
SELECT AVG(quantity, contribution_bounds_per_group => (0, 10)) FROM items
"""

_SURVEY = """
SELECT COUNT(*) FROM answers a JOIN answers b ON a.age = b.age
SELECT COUNT(*) FROM (SELECT * FROM answers UNION ALL SELECT * FROM answers) t
"""

REFUSED = [
    (world, line)
    for world, text in (("clinic", _CLINIC), ("shop", _SHOP), ("survey", _SURVEY))
    for line in text.strip().splitlines()
]


@cache
def _session(world: str) -> Session:
    return session(world)


def _refusal(world: str, query: str) -> dict[str, object]:
    asked = _session(world)
    before = asked.spent
    with pytest.raises(QueryRefused) as caught:
        asked.sql(query, epsilon=1)
    assert asked.spent == before
    error = caught.value
    place = None if error.span is None else [error.span.line, error.span.column, error.span.text]
    return {"code": error.code, "reason": error.reason, "rewrite": error.rewrite, "place": place}


@cache
def _golden() -> dict[str, dict[str, object]]:
    read: dict[str, dict[str, object]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize(("world", "query"), REFUSED)
def test_a_refusal_says_the_same_as_before(world: str, query: str) -> None:
    assert _refusal(world, query) == _golden()[f"{world}: {query}"]


def test_the_golden_file_holds_these_refusals_and_no_others() -> None:
    assert set(_golden()) == {f"{world}: {query}" for world, query in REFUSED}


if __name__ == "__main__":
    said = {f"{world}: {query}": _refusal(world, query) for world, query in REFUSED}
    GOLDEN.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
