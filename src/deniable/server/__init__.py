"""A server where budgets are asked for, granted, spent and accounted for: pages and REST in front, one worker that
touches data behind.

Nothing of it is loaded before it is used; it needs the `server` extra.
"""
