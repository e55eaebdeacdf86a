SELECT COUNT(*) AS n FROM answers
SELECT vote, COUNT(*) AS n, AVG(income) AS m FROM answers GROUP BY vote
SELECT vote, AVG(score) AS m, COUNT(score) AS n FROM answers GROUP BY vote ORDER BY m DESC
SELECT CASE WHEN age < 40 THEN 'young' WHEN age < 65 THEN 'middle' ELSE 'old' END AS cohort, COUNT(*) AS n FROM answers GROUP BY cohort
SELECT FLOOR(age / 10) AS decade, COUNT(*) AS n FROM answers GROUP BY decade
SELECT score, COUNT(*) AS n FROM answers WHERE score IS NOT NULL GROUP BY score
SELECT SUM(income) AS s FROM answers WHERE age BETWEEN 20 AND 30
SELECT STDDEV_POP(income) AS s, VAR_POP(score) AS v FROM answers
SELECT age > 50 AS older, vote, COUNT(*) AS n FROM answers GROUP BY age > 50, vote
SELECT COVAR_POP(age, income) AS c FROM answers
