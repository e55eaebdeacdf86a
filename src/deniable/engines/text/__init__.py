"""Text files: what a row of one is, and how its rows are taken once, when a data set is opened."""
