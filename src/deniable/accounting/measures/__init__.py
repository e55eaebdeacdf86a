"""The ways to read a cost as a loss, one file each."""
