SELECT COUNT(*) FROM visits
SELECT COUNT(*) AS n FROM visits WHERE duration > 60
SELECT COUNT(1) AS n FROM visits
SELECT COUNT(duration) AS n FROM visits
SELECT COUNT(*) AS n, COUNT(duration) AS d, COUNT(city) AS c FROM visits
SELECT SUM(duration) AS s FROM visits
SELECT SUM(cost) AS s FROM visits
SELECT AVG(duration) AS m FROM visits
SELECT AVG(cost) AS m, SUM(cost) AS s, COUNT(*) AS n FROM visits
SELECT VAR_POP(duration) AS v FROM visits
SELECT VAR_SAMP(duration) AS v FROM visits
SELECT VARIANCE(duration) AS v FROM visits
SELECT STDDEV_POP(cost) AS v FROM visits
SELECT STDDEV_SAMP(duration) AS v FROM visits
SELECT STDDEV(duration) AS v, AVG(duration) AS m FROM visits
SELECT COVAR_POP(duration, cost) AS c FROM visits
SELECT COUNT(DISTINCT patient_id) AS people FROM visits
SELECT COUNT(DISTINCT specialty) AS kinds FROM visits
SELECT COUNT(DISTINCT city) AS cities FROM visits
SELECT COUNT(DISTINCT duration) AS lengths FROM visits
SELECT COUNT(DISTINCT patient_id) FILTER (WHERE urgent) AS people FROM visits
SELECT COUNT(*) FILTER (WHERE duration > 30) AS n FROM visits
SELECT SUM(cost) FILTER (WHERE city = 'Oslo') AS s FROM visits
SELECT AVG(cost) FILTER (WHERE city <> 'Oslo') AS s FROM visits
SELECT COUNT(duration) FILTER (WHERE urgent) AS n FROM visits
SELECT COUNT_IF(duration > 50) AS n FROM visits
SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty
SELECT specialty AS kind, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY kind
SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY 1 ORDER BY n DESC
SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY ALL ORDER BY 2
SELECT COUNT(*) AS n, specialty FROM visits WHERE specialty IS NOT NULL GROUP BY specialty
SELECT COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty ORDER BY n
SELECT specialty, AVG(duration) AS a, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty HAVING n > 50 ORDER BY a DESC LIMIT 5
SELECT specialty, AVG(cost) AS a FROM visits WHERE specialty IS NOT NULL GROUP BY specialty HAVING COUNT(*) > 185 ORDER BY a
SELECT specialty, AVG(cost) AS a FROM visits WHERE specialty IS NOT NULL GROUP BY specialty ORDER BY COUNT(*) DESC LIMIT 2
SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty ORDER BY n LIMIT 1 OFFSET 1
SELECT specialty, urgent, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY specialty, urgent
SELECT city, COUNT(*) AS n FROM visits WHERE city IS NOT NULL GROUP BY city
SELECT city, SUM(cost) AS s FROM visits WHERE city IS NOT NULL GROUP BY city ORDER BY city
SELECT city, COUNT(DISTINCT patient_id) AS people FROM visits WHERE city IS NOT NULL GROUP BY city
SELECT UPPER(city) AS c, COUNT(*) AS n FROM visits WHERE city IS NOT NULL GROUP BY UPPER(city)
SELECT LOWER(specialty) AS c, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY c
SELECT SUBSTRING(city, 1, 1) AS c, COUNT(*) AS n FROM visits WHERE city IS NOT NULL GROUP BY 1
SELECT duration > 60 AS long, COUNT(*) AS n FROM visits WHERE duration IS NOT NULL GROUP BY 1
SELECT CASE WHEN duration > 60 THEN 'long' ELSE 'short' END AS kind, COUNT(*) AS n FROM visits GROUP BY kind
SELECT CASE WHEN duration < 30 THEN 0 WHEN duration < 60 THEN 1 ELSE 2 END AS kind, SUM(cost) AS s FROM visits GROUP BY 1
SELECT CASE city WHEN 'Oslo' THEN 'N' ELSE 'S' END AS side, COUNT(*) AS n FROM visits GROUP BY 1
SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month
SELECT EXTRACT(month FROM day) AS month, SUM(cost) AS s FROM visits GROUP BY 1
SELECT EXTRACT(quarter FROM day) AS q, AVG(cost) AS s FROM visits GROUP BY 1 ORDER BY q DESC
SELECT year(day) AS y, COUNT(*) AS n FROM visits GROUP BY 1
SELECT EXTRACT(hour FROM seen) AS h, COUNT(*) AS n FROM visits GROUP BY 1
SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2024-02-01' AND DATE '2024-05-31'
SELECT COUNT(*) AS n FROM visits WHERE day >= '2024-06-01'
SELECT COUNT(*) AS n FROM visits WHERE seen < TIMESTAMP '2024-03-10 12:00:00'
SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2024-01-01' + INTERVAL 3 MONTH
SELECT COUNT(*) AS n FROM visits WHERE duration BETWEEN 10 AND 50
SELECT COUNT(*) AS n FROM visits WHERE duration NOT BETWEEN 10 AND 50
SELECT COUNT(*) AS n FROM visits WHERE city IN ('Oslo', 'Rome')
SELECT COUNT(*) AS n FROM visits WHERE city NOT IN ('Oslo', 'Rome')
SELECT COUNT(*) AS n FROM visits WHERE city LIKE 'R%'
SELECT COUNT(*) AS n FROM visits WHERE city NOT LIKE '%o%'
SELECT COUNT(*) AS n FROM visits WHERE duration IS NULL
SELECT COUNT(*) AS n FROM visits WHERE duration IS NULL OR city IS NULL
SELECT COUNT(*) AS n FROM visits WHERE NOT (duration > 30 AND city = 'Bern')
SELECT COUNT(*) AS n FROM visits WHERE urgent
SELECT COUNT(*) AS n FROM visits WHERE NOT urgent
SELECT COUNT(*) AS n FROM visits WHERE urgent IS TRUE
SELECT COUNT(*) AS n FROM visits WHERE duration % 10 = 0
SELECT COUNT(*) AS n FROM visits WHERE ABS(duration - 60) < 20
SELECT COUNT(*) AS n FROM visits WHERE LENGTH(city) = 4
SELECT COUNT(*) AS n FROM visits WHERE patient_id = 7
SELECT SUM(duration * 2 + 1) AS s FROM visits
SELECT SUM(cost - duration) AS s FROM visits
SELECT SUM(cost * duration) AS s FROM visits
SELECT AVG(duration / 2) AS s FROM visits
SELECT SUM(FLOOR(cost)) AS s FROM visits
SELECT SUM(ROUND(cost)) AS s FROM visits
SELECT SUM(LEAST(duration, 30)) AS s FROM visits WHERE duration IS NOT NULL
SELECT SUM(GREATEST(duration, 30)) AS s FROM visits WHERE duration IS NOT NULL
SELECT SUM(COALESCE(duration, 0)) AS s, COUNT(COALESCE(duration, 0)) AS n FROM visits
SELECT COUNT(NULLIF(duration, 0)) AS n FROM visits
SELECT SUM(CASE WHEN city = 'Oslo' THEN 1 ELSE 0 END) AS s FROM visits
SELECT SUM(CASE WHEN urgent THEN cost END) AS s FROM visits
SELECT SUM(cost) / COUNT(*) AS r FROM visits
SELECT 100.0 * SUM(CASE WHEN urgent THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM visits
SELECT specialty, SUM(cost) / COUNT(*) AS r, COUNT(*) + 1 AS m FROM visits WHERE specialty IS NOT NULL GROUP BY specialty ORDER BY r
SELECT AVG(cost) - AVG(duration) AS d FROM visits
SELECT -COUNT(*) AS n, ABS(COUNT(*) - 1000) AS m FROM visits
SELECT ROUND(AVG(cost), 1) AS r, FLOOR(AVG(cost)) AS f, CEIL(AVG(cost)) AS c FROM visits
SELECT CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END AS many FROM visits
SELECT NULLIF(COUNT(*), 0) AS n, COALESCE(COUNT(*), 0) AS m, GREATEST(COUNT(*), 5) AS g FROM visits
SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty HAVING COUNT(*) BETWEEN 10 AND 10000 AND specialty <> 'skin'
SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty HAVING specialty IN ('skin', 'eyes') OR COUNT(*) < 0
SELECT n + 1 AS m FROM (SELECT COUNT(*) AS n FROM visits) t
SELECT specialty, n FROM (SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY specialty) t WHERE n > 5 ORDER BY n DESC
WITH t AS (SELECT specialty, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE specialty IS NOT NULL GROUP BY specialty) SELECT specialty, s / n AS mean FROM t ORDER BY specialty
WITH a AS (SELECT * FROM visits WHERE urgent), b AS (SELECT duration, city FROM a WHERE duration > 10) SELECT COUNT(*) AS n, SUM(duration) AS s FROM b
SELECT SUM(twice) AS s FROM (SELECT duration * 2 AS twice FROM visits) t
SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE duration > 20) v WHERE v.city = 'Rome'
SELECT COUNT(*) AS n FROM (SELECT duration FROM visits UNION ALL SELECT duration FROM visits) t
SELECT SUM(x) AS s FROM (SELECT duration AS x FROM visits UNION ALL SELECT born FROM patients) t
SELECT country, COUNT(*) AS n FROM visits JOIN cities ON city = name GROUP BY country
SELECT c.country, AVG(v.cost) AS m FROM visits v JOIN cities c ON v.city = c.name WHERE c.pop > 200 GROUP BY c.country
SELECT COUNT(*) AS n FROM visits v LEFT JOIN cities c ON v.city = c.name WHERE c.name IS NULL
SELECT COUNT(*) AS n FROM visits v LEFT JOIN cities c ON v.city = c.name AND c.pop > 500 WHERE c.name IS NULL
SELECT SUM(pop) AS s FROM visits v, cities c WHERE v.city = c.name
SELECT COUNT(*) AS n FROM visits CROSS JOIN cities WHERE duration > 60
SELECT sex, COUNT(*) AS n, AVG(cost) AS m FROM visits JOIN patients USING (patient_id) GROUP BY sex
SELECT p.sex, COUNT(*) AS n FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex
SELECT sex, COUNT(DISTINCT v.patient_id) AS n FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id GROUP BY sex
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id AND v.duration > 100
SELECT COUNT(*) AS n FROM visits v RIGHT JOIN patients p ON p.patient_id = v.patient_id
SELECT COUNT(*) AS n FROM patients SEMI JOIN visits USING (patient_id)
SELECT COUNT(*) AS n FROM patients ANTI JOIN visits USING (patient_id)
SELECT COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.duration > 100)
SELECT COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.patient_id = p.patient_id AND v.urgent)
SELECT COUNT(*) AS n FROM visits WHERE city IN (SELECT name FROM cities WHERE pop > 200)
SELECT COUNT(*) AS n FROM visits WHERE city IS NOT NULL AND city NOT IN (SELECT name FROM cities WHERE pop > 200 AND name IS NOT NULL)
SELECT COUNT(*) AS n FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE duration > 60)
SELECT COUNT(*) AS n FROM visits WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 7)
SELECT AVG(CASE WHEN n > 20 THEN 20 ELSE LEAST(n, 20) END) AS m FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t
SELECT COUNT(*) AS n FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY patient_id) t WHERE s > 2000
SELECT COUNT(*) AS n FROM (SELECT patient_id, MAX(duration) AS m, MIN(duration) AS l FROM visits GROUP BY patient_id) t WHERE m - l > 60
SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient_id, city FROM visits WHERE city IS NOT NULL) t
SELECT city, COUNT(*) AS n FROM (SELECT patient_id, city FROM visits WHERE city IS NOT NULL GROUP BY patient_id, city) t GROUP BY city
SELECT LEAST(k, 3) AS cities, COUNT(*) AS n FROM (SELECT patient_id, COUNT(DISTINCT city) AS k FROM visits GROUP BY patient_id) t GROUP BY 1
SELECT COUNT(*) AS n FROM cities
SELECT country, pop FROM cities WHERE pop > (SELECT AVG(pop) FROM cities) ORDER BY pop
SELECT name, RANK() OVER (ORDER BY pop) AS r FROM cities ORDER BY name
SELECT specialty, urgent, COUNT(*) AS n, SUM(duration) AS s FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY ROLLUP (specialty, urgent)
SELECT specialty, urgent, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY CUBE (specialty, urgent) ORDER BY n DESC, specialty, urgent
SELECT specialty, urgent, GROUPING(specialty) AS a, GROUPING(specialty, urgent) AS b, COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY GROUPING SETS ((specialty, urgent), (urgent), ())
SELECT specialty, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY ROLLUP (specialty) HAVING GROUPING(specialty) = 1 OR n > 200
SELECT urgent, specialty AS kind, duration > 60 AS long, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL AND duration IS NOT NULL GROUP BY urgent, ROLLUP (specialty, 3)
SELECT CASE WHEN GROUPING(specialty) = 1 THEN 'all' ELSE specialty END AS label, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL GROUP BY GROUPING SETS (specialty, ()) ORDER BY n
SELECT city, COUNT(DISTINCT patient_id) AS people, COUNT(*) AS n FROM visits WHERE city IS NOT NULL GROUP BY ROLLUP (city)
SELECT specialty, urgent, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY GROUPING SETS (ROLLUP (specialty, urgent), urgent)
SELECT specialty, urgent, AVG(duration) AS m, VAR_POP(duration) AS v FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY CUBE (specialty, urgent)
SELECT specialty, n FROM (SELECT specialty, urgent, COUNT(*) AS n FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY ROLLUP (specialty, urgent)) AS t WHERE urgent IS NULL ORDER BY n DESC LIMIT 3
WITH t AS (SELECT specialty, urgent, GROUPING(urgent) AS whole, COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY ROLLUP (specialty, urgent)) SELECT specialty, n, m FROM t WHERE whole = 1 AND specialty IS NOT NULL
SELECT COALESCE(specialty, 'all') AS label, people FROM (SELECT specialty, COUNT(DISTINCT patient_id) AS people FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY GROUPING SETS ((specialty), ())) AS t ORDER BY label
WITH a AS (SELECT specialty, urgent, COUNT(*) AS n, SUM(duration) AS s FROM visits WHERE specialty IS NOT NULL AND urgent IS NOT NULL GROUP BY CUBE (specialty, urgent)), b AS (SELECT specialty, urgent, s / n AS m, n FROM a WHERE n > 20) SELECT specialty, urgent, m FROM b WHERE specialty IS NULL
SELECT city, SUM(n) AS n FROM (SELECT patient_id, city, LEAST(COUNT(*), 99) AS n FROM visits WHERE city IS NOT NULL GROUP BY patient_id, city) AS t GROUP BY ROLLUP (city)
SELECT COUNT(*) AS n FROM visits WHERE cost / duration <= 0.1
SELECT COUNT(*) AS n FROM visits WHERE duration / cost = 0.2
SELECT COUNT(*) AS n FROM visits WHERE duration / cost > 0.3 AND duration / cost < cost / 3
SELECT COUNT(*) AS n FROM visits WHERE duration / cost BETWEEN 0.05 AND 0.2 OR cost / duration IN (0.5, 4)
SELECT COUNT(*) AS n FROM visits WHERE LOWER(city) = 'oslo' AND UPPER(specialty) <> 'EYES'
