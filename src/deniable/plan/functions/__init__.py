"""Scalar functions: one class is one row of the table in `catalogue`, with all there is to know about a function."""
