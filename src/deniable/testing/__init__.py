"""For tests only: entropy stand-ins. Nothing in the product imports this package."""

from deniable.testing.entropy import Exhausted, Scripted, Seeded, Silent

__all__ = ["Exhausted", "Scripted", "Seeded", "Silent"]
