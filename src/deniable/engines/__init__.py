"""Engines: the same plan gives the same exact integers on each; see `engine.Engine`."""
