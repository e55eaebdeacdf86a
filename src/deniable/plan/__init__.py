"""The plan of a query and what is public about it: codebook, expressions, relational nodes, static analysis."""
