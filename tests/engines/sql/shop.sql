SELECT region, COUNT(*) AS n, AVG(age) AS a FROM customers GROUP BY region
SELECT status, COUNT(*) AS n FROM orders GROUP BY status
SELECT status, COUNT(DISTINCT customer_id) AS people FROM orders GROUP BY status
SELECT SUM(quantity * price) AS revenue FROM items
SELECT SUM(price * (10 - quantity)) AS s, AVG(price) AS p FROM items WHERE quantity < 5
SELECT status, SUM(quantity) AS q FROM orders JOIN items ON orders.order_id = items.order_id GROUP BY status
SELECT o.status, SUM(i.quantity * i.price) AS r FROM orders o, items i WHERE o.order_id = i.order_id AND i.price > 10 GROUP BY o.status ORDER BY r
SELECT region, SUM(quantity) AS q FROM customers c JOIN orders o ON c.customer_id = o.customer_id JOIN items i ON i.order_id = o.order_id GROUP BY region
SELECT region, kind, SUM(quantity * price) AS r FROM customers, orders, items, products WHERE customers.customer_id = orders.customer_id AND items.order_id = orders.order_id AND items.product_id = products.product_id GROUP BY region, kind ORDER BY r DESC
SELECT kind, COUNT(*) AS n FROM items JOIN products USING (product_id) GROUP BY kind
SELECT kind, SUM(weight * quantity) AS w FROM products p JOIN items i ON p.product_id = i.product_id GROUP BY kind
SELECT COUNT(*) AS n FROM orders WHERE EXISTS (SELECT * FROM items WHERE items.order_id = orders.order_id AND quantity > 8)
SELECT status, COUNT(*) AS n FROM orders o WHERE NOT EXISTS (SELECT * FROM items i WHERE i.order_id = o.order_id) GROUP BY status
SELECT COUNT(*) AS n FROM orders WHERE order_id IN (SELECT order_id FROM items WHERE price > 49)
SELECT COUNT(*) AS n FROM customers WHERE customer_id IN (SELECT customer_id FROM orders WHERE status = 'done')
SELECT EXTRACT(year FROM placed) AS y, SUM(CASE WHEN kind = 'toy' THEN price ELSE 0 END) / SUM(price) AS share FROM orders o JOIN items i ON o.order_id = i.order_id JOIN products p ON p.product_id = i.product_id GROUP BY y ORDER BY y
SELECT c_count, COUNT(*) AS people FROM (SELECT c.customer_id, COUNT(o.order_id) AS c_count FROM customers c LEFT OUTER JOIN orders o ON c.customer_id = o.customer_id AND o.status <> 'done' GROUP BY c.customer_id) AS t GROUP BY c_count HAVING COUNT(*) >= 8 ORDER BY people DESC, c_count DESC
SELECT SUM(price) AS s FROM items, products WHERE (items.product_id = products.product_id AND kind = 'toy' AND quantity < 4) OR (items.product_id = products.product_id AND kind = 'book' AND quantity > 6)
SELECT COUNT(*) AS n FROM items i1 JOIN orders o ON i1.order_id = o.order_id WHERE i1.quantity > 5 AND o.placed < DATE '2024-01-01'
SELECT n1.kind AS a, COUNT(*) AS n FROM items i, products n1 WHERE i.product_id = n1.product_id AND n1.weight > 2 GROUP BY n1.kind
SELECT COUNT(*) AS n FROM (SELECT customer_id FROM customers UNION ALL SELECT customer_id FROM orders) t
SELECT kind, AVG(weight) AS w FROM products GROUP BY kind ORDER BY kind
SELECT date_diff('day', DATE '2023-01-01', placed) > 365 AS late, COUNT(*) AS n FROM orders GROUP BY 1
SELECT region, SUM(CASE WHEN status = 'done' THEN 1 ELSE 0 END) AS done, COUNT(*) AS n FROM customers JOIN orders USING (customer_id) WHERE age >= 30 GROUP BY region
SELECT COUNT(*) AS n FROM orders a JOIN orders b ON a.order_id = b.order_id
SELECT COUNT(*) AS n FROM orders a JOIN orders b ON a.customer_id = b.customer_id
