"""Synthetic data in two halves: `measured` touches the data and pays for it, `fitted` sees stored measurements only."""
