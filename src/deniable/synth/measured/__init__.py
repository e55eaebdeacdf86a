"""The half that touches data: bounded rows as cells, exact tables of them, and mechanisms that measure the tables."""
